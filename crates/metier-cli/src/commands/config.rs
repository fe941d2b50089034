//! `metier config`: the settings in effect, where each comes from, and the schema of the files.
//!
//! The rules are `metier-config`'s; this file only shows what came of them.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use metier::SettingChange;
use metier::config::{Explained, json_schema};
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::list::path_text;
use crate::context::Context;
use crate::error::Result;
use crate::output::{Output, heading, write_json};
use crate::render::safe;
use crate::render::style::{DIM, YELLOW, paint};
use crate::render::table::Table;

/// Show the settings in effect here and where each comes from.
///
/// The user's settings are in ~/.agent/config.json, a project's in its .agent/config.json; comments
/// and trailing commas are allowed. A project can tighten a guard, never loosen one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier config
  metier config --json
  metier config set model openai:gpt-5-mini
  metier config set budgets.turns 20
  metier config add sources.allow github.com/anthropics
  metier config schema > config.schema.json")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show the settings in effect (the default).
    Show,
    /// Print the JSON Schema of the configuration files.
    Schema,
    /// Set one key of your own configuration file; comments and the rest of it stay.
    ///
    /// `model` takes PROVIDER:NAME (`metier models` lists the providers). What was set for another
    /// provider (its address, key and parameters) is taken out and shown.
    Set {
        /// The key, such as `model`, `profile` or `budgets.turns`.
        key: String,
        /// The value: JSON, or a text without quotes.
        value: String,
    },
    /// Add a value to a list of your own configuration file; what is in the list stays.
    Add {
        /// The key of a list, such as `sources.allow`.
        key: String,
        /// The value: JSON, or a text without quotes.
        value: String,
    },
}

impl ConfigArgs {
    pub(crate) fn is_schema(&self) -> bool {
        matches!(self.what, Some(What::Schema))
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    files: &'a [FileRow],
    settings: &'a [Explained],
}

#[derive(Serialize)]
struct FileRow {
    scope: &'static str,
    path: String,
    exists: bool,
    /// Why it is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<String>,
}

struct Configuration {
    files: Vec<FileRow>,
    settings: Vec<Explained>,
}

/// A JSON Schema, printed as it is.
pub(crate) struct Schema(pub(crate) Value);

struct Set {
    /// `=`, or `has` where a value was added to a list.
    verb: &'static str,
    key: String,
    value: String,
    change: SettingChange,
}

pub(crate) fn schema() -> Box<dyn Output> {
    Box::new(Schema(json_schema()))
}

pub(crate) fn run(args: &ConfigArgs, context: &Context) -> Result<Box<dyn Output>> {
    let (key, value, verb, change) = match &args.what {
        Some(What::Set { key, value }) => {
            (key, value, "=", context.metier.set_setting(key, value)?)
        }
        Some(What::Add { key, value }) => {
            (key, value, "has", context.metier.add_setting(key, value)?)
        }
        Some(What::Show | What::Schema) | None => return Ok(show(context)),
    };
    Ok(Box::new(Set { verb, key: key.clone(), value: value.clone(), change }))
}

fn show(context: &Context) -> Box<dyn Output> {
    let files = context.metier.config_files().iter().map(|file| FileRow {
        scope: file.scope.as_str(),
        path: file.path.to_string_lossy().into_owned(),
        exists: file.exists,
        skipped: file.skipped.as_ref().map(ToString::to_string),
    });
    Box::new(Configuration {
        files: files.collect(),
        settings: context.metier.settings().explain().to_vec(),
    })
}

impl Output for Set {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let SettingChange { file, changed, removed, .. } = &self.change;
        let removed: serde_json::Map<String, Value> = removed.iter().cloned().collect();
        let document = json!({
            "key": self.key, "value": self.value, "file": file, "changed": changed,
            "removed": removed,
        });
        write_json(&document, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let file = path_text(&self.change.file);
        let (key, value) = (safe(&self.key), safe(&self.value));
        if self.change.changed {
            writeln!(out, "{key} {} {value} in {file}", self.verb)?;
        } else {
            writeln!(out, "{key} {} {value} already in {file}", self.verb)?;
        }
        for (key, value) in &self.change.removed {
            let value = value.to_string();
            writeln!(
                out,
                "{}: {key} = {} is removed: it was for another provider",
                paint(YELLOW, "note"),
                safe(&value)
            )?;
        }
        Ok(())
    }
}

impl Output for Schema {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(out, &self.0)?;
        Ok(())
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        self.json(out)?;
        writeln!(out)
    }
}

impl Output for Configuration {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&Shown { files: &self.files, settings: &self.settings }, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        heading(out, "Files")?;
        for file in &self.files {
            let state = match file.skipped {
                Some(_) => " (not used)",
                None if file.exists => "",
                None => " (missing)",
            };
            writeln!(
                out,
                "  {:8} {}{}",
                file.scope,
                path_text(file.path.as_ref()),
                paint(DIM, state)
            )?;
        }
        writeln!(out)?;
        let plain = anstyle::Style::new();
        let mut table = Table::new(&[("SETTING", plain), ("VALUE", plain), ("FROM", DIM)]);
        for row in &self.settings {
            let origin = match row.line {
                Some(line) => format!("{}:{line}", row.origin),
                None => row.origin.clone(),
            };
            let value = serde_json::to_string(&row.value).unwrap_or_default();
            table.row(vec![
                safe(&row.key_path).into_owned(),
                safe(&value).into_owned(),
                safe(&origin).into_owned(),
            ]);
        }
        table.write(out)?;
        for row in &self.settings {
            if let Some(overruled) = &row.overruled {
                let line = overruled.line.map_or_else(String::new, |line| format!(":{line}"));
                writeln!(
                    out,
                    "{}: {}{line} sets {} = {}, which would loosen a guard; it is ignored",
                    paint(YELLOW, "warning"),
                    safe(&overruled.origin),
                    row.key_path,
                    safe(&overruled.value.to_string()),
                )?;
            }
        }
        Ok(())
    }
}
