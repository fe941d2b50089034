//! `metier models`: the endpoints that are known by a name and what is configured; `test` asks whether
//! a model answers, how it can be asked, and how fast; `script-schema` describes a scripted model's file.
//! Asking is `metier-model`'s; here are the flags and what is printed.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use metier::model::{EndpointTest, ModelInfo, OutputMode, Probe, Support, probe};
use metier::{EndpointStatus, KeyState};
use serde_json::json;

use crate::agent::signal::Interrupt;
use crate::commands::config::Schema;
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::safe;
use crate::render::style::{BOLD, CYAN, DIM, GREEN, RED, paint};
use crate::render::table::Table;

/// List the models that can be named, and test one.
///
/// Without a subcommand: the configured model, and the endpoints that `--model NAME:MODEL` reaches, with
/// their addresses and the variables that hold their keys. Nothing is sent.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier models
  metier config set model openai:gpt-5-mini
  metier models test
  metier models test --model openai:gpt-5-mini
  metier models test --json")]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    command: Option<ModelsCommand>,
}

#[derive(Debug, Subcommand)]
enum ModelsCommand {
    /// Send small requests: does the model answer, what does its endpoint support (JSON Schema, tool
    /// calls, streaming, context size), how fast is it?
    Test {
        /// The model: openai:NAME, anthropic:NAME, ollama:NAME, scripted:FILE, replay:RUN, router, ...
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
    },
    /// Print the JSON Schema of a scripted model's file.
    ScriptSchema,
}

impl ModelsArgs {
    /// Whether it needs no configuration.
    pub(crate) fn is_schema(&self) -> bool {
        matches!(self.command, Some(ModelsCommand::ScriptSchema))
    }
}

/// The configured model and the endpoints.
struct Models {
    configured: String,
    by_project: Vec<String>,
    endpoints: Vec<EndpointStatus>,
}

struct Tested {
    info: ModelInfo,
    /// What the project's file set about it.
    by_project: Vec<String>,
    probe: Probe,
}

pub(crate) fn script_schema() -> Box<dyn Output> {
    Box::new(Schema(metier::model::script_schema()))
}

pub(crate) fn run(args: &ModelsArgs, context: &Context) -> Result<Box<dyn Output>> {
    let wanted = match &args.command {
        None => return list(context),
        Some(ModelsCommand::ScriptSchema) => return Ok(script_schema()),
        Some(ModelsCommand::Test { model }) => model,
    };
    let interrupt = Interrupt::listen();
    let model = context.metier.model(wanted.as_deref(), &interrupt.token())?;
    let by_project = context.metier.model_settings_of_project(wanted.as_deref())?;
    if !by_project.is_empty() {
        print_note(&safe(&format!("the project changes the model: {}", by_project.join(", "))));
    }
    let probe = probe(&*model, &interrupt.token());
    Ok(Box::new(Tested { info: model.info(), by_project, probe }))
}

fn list(context: &Context) -> Result<Box<dyn Output>> {
    let model = &context.metier.settings().model;
    let configured = match &model.name {
        Some(name) => format!("{}:{name}", model.provider),
        None => model.provider.to_string(),
    };
    let by_project = context.metier.model_settings_of_project(None)?;
    Ok(Box::new(Models { configured, by_project, endpoints: context.metier.endpoints() }))
}

impl Output for Models {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let document = json!({
            "configured": self.configured,
            "model_by_project": self.by_project,
            "endpoints": self.endpoints,
        });
        write_json(&document, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let by_project = if self.by_project.is_empty() { "" } else { " (set by the project)" };
        writeln!(out, "Configured: {}{by_project}\n", paint(BOLD, safe(&self.configured)))?;
        let plain = anstyle::Style::new();
        let columns = [("MODEL", plain), ("ADDRESS", DIM), ("KEY", plain)];
        let mut table = Table::new(&columns);
        for endpoint in &self.endpoints {
            let variable = endpoint.key_env.as_deref().unwrap_or_default();
            let key = match endpoint.key {
                KeyState::Set => format!("{variable} (set)"),
                KeyState::Missing => format!("{variable} (not set)"),
                KeyState::Command => "printed by `model.key_command`".to_owned(),
                KeyState::NotNeeded => "none needed".to_owned(),
            };
            table.row(vec![
                format!("{}:NAME", endpoint.name),
                safe(&endpoint.base_url).into_owned(),
                safe(&key).into_owned(),
            ]);
        }
        for (model, about) in [
            ("scripted:FILE", "decisions from a file"),
            ("replay:RUN", "the replies of a recorded run"),
            ("router", "built in, offline"),
        ] {
            table.row(vec![model.to_owned(), about.to_owned(), "none needed".to_owned()]);
        }
        table.write(out)?;
        writeln!(
            out,
            "\nChoose one: metier config set model openai:NAME, or metier run --model openai:NAME"
        )
    }
}

/// What the endpoint can do, a line each.
fn write_endpoint(endpoint: &EndpointTest, out: &mut dyn Write) -> io::Result<()> {
    let support = |support: &Support| match support {
        Support::Held => "held".to_owned(),
        Support::Ignored => "ignored".to_owned(),
        Support::Refused(why) => format!("refused: {}", safe(why)),
    };
    let context = endpoint.context_tokens.map_or_else(
        || "not known; `model.params.window` sets it".to_owned(),
        |tokens| format!("{tokens} tokens"),
    );
    writeln!(out, "  JSON Schema: {}", support(&endpoint.json_schema))?;
    writeln!(out, "  tool calls: {}", support(&endpoint.tool_calls))?;
    writeln!(out, "  streaming: {}", if endpoint.streaming { "yes" } else { "no" })?;
    writeln!(out, "  context: {context}")
}

impl Tested {
    fn advise(&self, out: &mut dyn Write) -> io::Result<()> {
        out.flush()?;
        if let Some(advice) = self.probe.advice() {
            print_note(&format!("{}: {advice}", paint(CYAN, "help")));
        }
        Ok(())
    }
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
        let Probe { ok, mode, first_ms, total_ms, usage, error, fault, endpoint, .. } = &self.probe;
        if *ok {
            let mode = mode.map_or("no output mode", OutputMode::as_str);
            let ms = |time: &Option<u64>| time.map_or_else(String::new, |ms| format!("{ms} ms"));
            let tokens = usage.map_or(0, |usage| usage.input + usage.output);
            let works = paint(GREEN, "works");
            writeln!(
                out,
                "{works} {}: {mode}, first text after {}, {} in total, {tokens} tokens",
                safe(&who),
                ms(first_ms),
                ms(total_ms),
            )?;
            endpoint.as_ref().map_or(Ok(()), |endpoint| write_endpoint(endpoint, out))?;
            return self.advise(out);
        }
        let why = error.as_ref().map(ToString::to_string).or_else(|| fault.clone());
        writeln!(
            out,
            "{} {}: {}",
            paint(RED, "fails"),
            safe(&who),
            safe(&why.unwrap_or_default())
        )?;
        if let Some(endpoint) = endpoint {
            write_endpoint(endpoint, out)?;
        }
        self.advise(out)
    }

    fn exit(&self) -> Exit {
        if self.probe.ok { Exit::Done } else { Exit::Findings }
    }
}
