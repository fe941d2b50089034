//! What runs a script: its first line, else its suffix; never its exec bit, which archives and
//! checkouts lose. Pure: takes a path and the first bytes, gives candidates for `locate`.

use crate::error::Error;

/// The programs of which the first that is installed runs a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The script's path in the skill, for messages.
    pub script: String,
    /// In the order of preference.
    pub candidates: Vec<Runtime>,
    /// Whether the script names packages that have to be installed for it (PEP 723).
    pub needs_packages: bool,
}

/// One program and the arguments that stand before the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// The name to look for.
    pub program: String,
    /// What stands between the program and the script.
    pub args: Vec<String>,
}

/// Programs by name, each with what stands between it and the script.
type Programs = &'static [(&'static str, &'static [&'static str])];

/// Suffixes, and who runs them.
const SUFFIXES: &[(&str, Programs)] = &[
    ("py", &[("python3", &[]), ("python", &[])]),
    ("sh", &[("bash", &[]), ("sh", &[])]),
    ("bash", &[("bash", &[])]),
    ("zsh", &[("zsh", &[])]),
    ("js", &[("node", &[]), ("bun", &[])]),
    ("mjs", &[("node", &[]), ("bun", &[])]),
    ("cjs", &[("node", &[]), ("bun", &[])]),
    // The permissions of deno are not the boundary here; the sandbox is.
    ("ts", &[("bun", &[]), ("deno", &["run", "--allow-all"])]),
    ("mts", &[("bun", &[]), ("deno", &["run", "--allow-all"])]),
    ("rb", &[("ruby", &[])]),
    ("pl", &[("perl", &[])]),
    ("php", &[("php", &[])]),
    ("lua", &[("lua", &[])]),
    ("r", &[("Rscript", &[])]),
    ("awk", &[("awk", &["-f"])]),
];

impl Interpreter {
    /// What runs the script at `path`, which begins with `head`: give at least the comment block at
    /// its top, better the whole file.
    pub fn of(path: &str, head: &[u8]) -> Result<Self, Error> {
        let candidates = by_first_line(head).map(|runtime| vec![runtime]);
        let candidates = candidates.or_else(|| by_suffix(path)).unwrap_or_default();
        let Some(first) = candidates.first() else {
            return Err(Error::NoInterpreter { script: path.to_owned() });
        };
        let is_python = first.program.starts_with("python");
        let needs_packages = is_python && names_packages(head);
        let candidates = if needs_packages {
            vec![runtime("uv", &["run", "--no-project", "--script"])]
        } else {
            candidates
        };
        Ok(Self { script: path.to_owned(), candidates, needs_packages })
    }
}

fn runtime(program: &str, args: &[&str]) -> Runtime {
    let args = args.iter().map(|argument| (*argument).to_owned()).collect();
    Runtime { program: program.to_owned(), args }
}

fn by_suffix(path: &str) -> Option<Vec<Runtime>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, suffix) = name.rsplit_once('.')?;
    let known = SUFFIXES.iter().find(|(known, _)| known.eq_ignore_ascii_case(suffix));
    known.map(|(_, programs)| programs.iter().map(|(name, args)| runtime(name, args)).collect())
}

/// `#!/usr/bin/env python3`, `#!/bin/bash -e`, `#!/usr/bin/env -S uv run --script`. Only the name of
/// the program counts: where it is installed is this machine's business, not the author's.
fn by_first_line(head: &[u8]) -> Option<Runtime> {
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line.get(..line.len().min(512))?).ok()?;
    let mut words = line.split_whitespace();
    let mut program = base_name(words.next()?);
    if program == "env" {
        let is_option = |word: &&str| word.starts_with('-') || word.contains('=');
        program = base_name(words.find(|word| !is_option(word))?);
    }
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
    if program.is_empty() || program.starts_with('-') || !program.bytes().all(is_plain) {
        return None;
    }
    let program = if program == "nodejs" { "node" } else { program };
    Some(runtime(program, &words.collect::<Vec<_>>()))
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a `# /// script` block lists packages. One that lists none needs nothing but Python.
fn names_packages(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().map(str::trim_end);
    if !lines.any(|line| line == "# /// script") {
        return false;
    }
    let block = lines.take_while(|line| *line != "# ///" && line.starts_with('#'));
    let block: String = block
        .map(|line| line.trim_start_matches('#').trim())
        .filter(|line| !line.starts_with('#'))
        .collect::<Vec<_>>()
        .join(" ");
    let Some((_, list)) = block.split_once("dependencies") else { return false };
    let list = list.trim_start().strip_prefix('=').unwrap_or_default().trim_start();
    let list = list.strip_prefix('[').unwrap_or_default().trim_start();
    list.starts_with(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, head: &str) -> Vec<String> {
        let found = Interpreter::of(path, head.as_bytes()).expect("an interpreter");
        let line = |runtime: &Runtime| {
            let words = [vec![runtime.program.clone()], runtime.args.clone()].concat();
            words.join(" ")
        };
        found.candidates.iter().map(line).collect()
    }

    #[test]
    fn the_first_line_counts_before_the_suffix() {
        assert_eq!(of("scripts/x.sh", "#!/usr/bin/env python3\n"), ["python3"]);
        assert_eq!(of("x", "#!/bin/bash -eu\r\necho"), ["bash -eu"]);
        assert_eq!(of("x", "#!/usr/bin/env -S A=b perl -w\n"), ["perl -w"]);
        assert_eq!(of("x", "#! /opt/homebrew/bin/node\n"), ["node"]);
    }

    #[test]
    fn without_a_first_line_the_suffix_counts() {
        assert_eq!(of("scripts/x.py", "print()"), ["python3", "python"]);
        assert_eq!(of("X.PY", ""), ["python3", "python"]);
        assert_eq!(of("a.b/x.mjs", ""), ["node", "bun"]);
    }

    #[test]
    fn without_either_nothing_is_guessed() {
        for path in ["x", "x.exe", ".py/x", "x."] {
            assert!(Interpreter::of(path, b"\x7fELF").is_err(), "{path}");
        }
        assert!(Interpreter::of("x", b"#!\n").is_err());
        assert!(Interpreter::of("x", b"#!/bin/$(id)\n").is_err());
    }

    #[test]
    fn a_block_with_packages_needs_uv_and_one_without_does_not() {
        let block = |list: &str| {
            format!(
                "# /// script\n# requires-python = \">=3.9\"\n# dependencies = [{list}]\n# ///\nimport x\n"
            )
        };
        assert_eq!(of("x.py", &block("\"requests\"")), ["uv run --no-project --script"]);
        assert_eq!(of("x.py", &block("\n#   'rich',\n# ")), ["uv run --no-project --script"]);
        assert_eq!(of("x.py", &block("")), ["python3", "python"]);
        assert_eq!(of("x.py", "# dependencies = [\"a\"]\n"), ["python3", "python"]);
    }
}
