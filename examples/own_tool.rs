//! A tool of our own: typed arguments, a declared risk, and failures that a model can act on.
//!
//! The doc comments of the arguments describe them to the model; their JSON Schema is derived.
//! A call goes through the same policy, approval, masking and record as the built-in tools: a low risk
//! is allowed, medium and high risks ask, and a rule in the user's configuration may say otherwise by the
//! tool's name (`{"permission": "convert", "pattern": "*", "effect": "deny"}`).
#![expect(clippy::print_stdout, reason = "an example prints")]

use metier::model::{Action, Decision, Scripted};
use metier::tools::schemars::{self, JsonSchema};
use metier::{CallContext, FailureCode, Metier, Risk, Tool, ToolFailure, ToolResult};
use serde::Deserialize;
use serde_json::json;

/// Converts lengths.
struct Convert;

#[derive(Deserialize, JsonSchema)]
struct ConvertArgs {
    /// The length in metres.
    metres: f64,
    /// The unit to convert to.
    unit: Unit,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Feet,
    Miles,
}

impl Tool for Convert {
    type Args = ConvertArgs;

    fn name(&self) -> &'static str {
        "convert"
    }

    fn description(&self) -> &'static str {
        "Convert a length in metres to another unit."
    }

    fn risk(&self) -> Risk {
        Risk::Low
    }

    fn call(&self, args: ConvertArgs, _: &CallContext) -> Result<ToolResult, ToolFailure> {
        if args.metres < 0.0 {
            let failure =
                ToolFailure::new(FailureCode::InvalidArguments, "a length is not negative");
            return Err(failure.with_help("give the length without a sign"));
        }
        let (factor, unit) = match args.unit {
            Unit::Feet => (3.280_84, "ft"),
            Unit::Miles => (0.000_621_371, "mi"),
        };
        Ok(ToolResult::text(format!("{:.2} {unit}", args.metres * factor)))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let project = tempfile::tempdir()?;
    // A model that calls the tool twice and then answers, in place of a real one.
    let model = Scripted::from_decisions(vec![
        Decision::to(Action::call("convert", json!({"metres": -1, "unit": "feet"}))),
        Decision::to(Action::call("convert", json!({"metres": 100, "unit": "feet"}))),
        Decision::to(Action::answer("100 m are 328.08 ft.")),
    ]);
    let run = Metier::open(project.path())?
        .session()
        .own_model(model)
        .tool(Convert)
        .on_event(|event| {
            if let metier::Event::ActionFinished { outcome, .. } = event {
                println!("{}", outcome.text.as_str());
            }
        })
        .run("How many feet are 100 metres?")?;
    println!("{}", run.answer());
    Ok(())
}
