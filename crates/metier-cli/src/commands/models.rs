//! `metier models test`: whether the configured model answers, how it can be asked, and how fast.
//! Asking is `metier-model`'s; here are the flags and the line that is printed.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use metier::model::{ModelInfo, OutputMode, Probe, probe};
use serde_json::json;

use crate::agent::signal::Interrupt;
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::safe;
use crate::render::style::{CYAN, GREEN, RED, paint};

/// Test the configured model.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier models test
  metier models test --model openai:gpt-5-mini
  metier models test --json")]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    command: ModelsCommand,
}

#[derive(Debug, Subcommand)]
enum ModelsCommand {
    /// Send one small request: does the endpoint work, which output mode does it support, how fast is
    /// it?
    Test {
        /// The model: openai:NAME, anthropic:NAME, scripted:FILE, replay:RUN or router.
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
    },
}

struct Tested {
    info: ModelInfo,
    /// What the project's file set about it.
    by_project: Vec<String>,
    probe: Probe,
}

pub(crate) fn run(args: &ModelsArgs, context: &Context) -> Result<Box<dyn Output>> {
    let ModelsCommand::Test { model: wanted } = &args.command;
    let interrupt = Interrupt::listen();
    let model = context.metier.model(wanted.as_deref(), &interrupt.token())?;
    let by_project = context.metier.model_settings_of_project(wanted.as_deref())?;
    if !by_project.is_empty() {
        print_note(&safe(&format!("the project changes the model: {}", by_project.join(", "))));
    }
    let probe = probe(&*model, &interrupt.token());
    Ok(Box::new(Tested { info: model.info(), by_project, probe }))
}

impl Output for Tested {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(
            &json!({
                "model": self.info, "model_by_project": self.by_project, "test": self.probe
            }),
            out,
        )
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let who = format!("{}:{}", self.info.provider, self.info.name);
        let Probe { ok, mode, first_ms, total_ms, usage, error, fault, .. } = &self.probe;
        if *ok {
            let mode = mode.map_or("no output mode", OutputMode::as_str);
            let ms = |time: &Option<u64>| time.map_or_else(String::new, |ms| format!("{ms} ms"));
            let tokens = usage.map_or(0, |usage| usage.input + usage.output);
            let works = paint(GREEN, "works");
            return writeln!(
                out,
                "{works} {}: {mode}, first text after {}, {} in total, {tokens} tokens",
                safe(&who),
                ms(first_ms),
                ms(total_ms),
            );
        }
        let why = error.as_ref().map(ToString::to_string).or_else(|| fault.clone());
        writeln!(
            out,
            "{} {}: {}",
            paint(RED, "fails"),
            safe(&who),
            safe(&why.unwrap_or_default())
        )?;
        out.flush()?;
        if let Some(error) = error {
            print_note(&format!("{}: {}", paint(CYAN, "help"), error.kind.help()));
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.probe.ok { Exit::Done } else { Exit::Findings }
    }
}
