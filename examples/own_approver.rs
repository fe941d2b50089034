//! An approver of our own: answers the questions that the policy leaves open.
//!
//! For most programs a function is enough: `.approve(|ask| ask.once())`. Implement the trait where the
//! answer needs the whole question, has to say who gave it, or is waited for. What a rule denies is
//! never asked about, so no approver can allow it.
#![expect(clippy::print_stdout, reason = "an example prints")]

use metier::agent::Op;
use metier::model::{Action, Decision, Scripted};
use metier::tools::schemars::{self, JsonSchema};
use metier::{
    Answer, Approval, Approver, CallContext, CancelToken, Metier, Question, Risk, Tool,
    ToolFailure, ToolResult,
};
use serde_json::json;

/// Lets messages go to our own team only.
struct TeamOnly;

impl Approver for TeamOnly {
    fn answer(&self, question: &Question<'_>, _: &CancelToken) -> Option<Approval> {
        println!("asked: {} ({})", question.op.describe(), question.reason);
        let answer = match question.op {
            Op::Tool { tool, args, .. } if tool == "send" && args["to"] == "team" => Answer::Once,
            // The model reads this reason.
            _ => Answer::Reject("only messages to the team are sent".to_owned()),
        };
        // With who answered, for the record. Without an answer (`None`) the run would wait.
        Some(Approval::new(answer, "team-only"))
    }
}

/// Sends messages. A high risk, so every call is a question unless a rule says otherwise.
struct SendMessage;

#[derive(serde::Deserialize, JsonSchema)]
struct SendArgs {
    /// The recipient.
    to: String,
    /// The message.
    text: String,
}

impl Tool for SendMessage {
    type Args = SendArgs;

    fn name(&self) -> &'static str {
        "send"
    }

    fn description(&self) -> &'static str {
        "Send a message."
    }

    fn risk(&self) -> Risk {
        Risk::High
    }

    fn call(&self, args: SendArgs, _: &CallContext) -> Result<ToolResult, ToolFailure> {
        println!("sent to {}: {}", args.to, args.text);
        Ok(ToolResult::text("sent"))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let project = tempfile::tempdir()?;
    let send = |to: &str| Decision::to(Action::call("send", json!({"to": to, "text": "hello"})));
    // A model that sends two messages and then answers, in place of a real one.
    let model = Scripted::from_decisions(vec![
        send("team"),
        send("everybody"),
        Decision::to(Action::answer("One message was sent.")),
    ]);
    let session = Metier::open(project.path())?.session().own_model(model);
    let run = session.tool(SendMessage).approver(TeamOnly).run("say hello to everybody")?;
    println!("{}", run.answer());
    Ok(())
}
