//! What a tool is, and the one way to call it: plan, decide, call.
//!
//! A [`Toolbox`] turns a name and arguments into a [`Planned`] call, which tells what it would touch
//! and has done nothing. The caller asks its policy, and [`Planned::decided`] turns the verdict into
//! a [`Permit`]: the only way to get one, good for one call, with these arguments on these things.
//! [`Tool::call`] takes nothing else, so that nothing is called that was not decided on.

use std::fmt;
use std::sync::Arc;

use metier_policy::Risk;
use metier_sandbox::Network;
use metier_skill::{Digest, RelPath, SkillId, WorkPath, nearest};
use serde::Serialize;
use serde_json::Value;

use crate::apart::CallFuture;
use crate::failure::{FailureCode, ToolFailure, shown};
use metier_cancel::CancelToken;

/// One thing that a call touches, as a policy compares it with its rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Touch {
    /// A file or directory.
    Path {
        /// Where it is, absolute, `/` between names, without links.
        absolute: String,
        /// The same below the workspace or the skill's directory.
        relative: WorkPath,
    },
    /// A host, in lower case, with a port where it is not the usual one.
    Host(String),
    /// A script of a skill, with its arguments.
    Script {
        /// The skill.
        skill: SkillId,
        /// The script's path in it.
        path: RelPath,
        /// The arguments.
        args: Vec<String>,
        /// The content of the skill that is meant.
        content: Digest,
    },
    /// A program and its arguments.
    Command(Vec<String>),
}

/// A tool.
pub trait Tool: Send + Sync {
    /// What it is called by: `read_file`.
    fn name(&self) -> &'static str;
    /// How much harm it can do.
    fn risk(&self) -> Risk;
    /// What a model is told about it.
    fn description(&self) -> &str;
    /// The JSON Schema of its arguments: an object, all fields required and nullable, no others.
    fn schema(&self) -> Value;
    /// What a call with these arguments would touch. Changes nothing and sends nothing; it may look
    /// where links lead.
    fn plan(&self, arguments: &Value) -> Result<Vec<Touch>, ToolFailure>;
    /// Does what was decided on. Any runtime can wait for it; dropping it, or `cancel`, stops it.
    fn call(&self, permit: Permit, cancel: &CancelToken) -> CallFuture;
}

/// What a policy says about a planned call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may be done.
    Allow,
    /// It may not, for this reason.
    Deny(String),
    /// Somebody must approve it first; this is what to do.
    Ask(String),
}

/// Judges what a call comes upon below what was decided on: a search reads many files. What it does
/// not pass is left out.
pub type Screen = Arc<dyn Fn(&Touch) -> bool + Send + Sync>;

/// A call that nothing has been done for yet.
#[derive(Clone)]
pub struct Planned {
    tool: Arc<dyn Tool>,
    arguments: Value,
    touches: Vec<Touch>,
}

impl Planned {
    /// The tool.
    pub fn tool(&self) -> &dyn Tool {
        &*self.tool
    }

    /// The arguments.
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// What it would touch: what the policy is asked about.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// The permit for this call, if the verdict is to allow. `screen` judges what the call comes
    /// upon.
    pub fn decided(self, verdict: Verdict, screen: Screen) -> Result<Permit, ToolFailure> {
        let name = self.tool.name();
        match verdict {
            Verdict::Allow => Ok(Permit { planned: self, screen, network: Network::Closed }),
            Verdict::Deny(reason) => Err(ToolFailure::new(
                FailureCode::NotAllowed,
                format!("`{name}` is not allowed here: {reason}"),
            )),
            Verdict::Ask(what) => Err(ToolFailure::new(
                FailureCode::NeedsApproval,
                format!("`{name}` needs an approval first: {what}"),
            )),
        }
    }
}

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned")
            .field("tool", &self.tool.name())
            .field("arguments", &self.arguments)
            .field("touches", &self.touches)
            .finish()
    }
}

/// The leave to make one call. Only [`Planned::decided`] gives it; it is used up by the call.
pub struct Permit {
    planned: Planned,
    screen: Screen,
    network: Network,
}

impl Permit {
    /// Makes the call.
    pub fn call(self, cancel: &CancelToken) -> CallFuture {
        let tool = Arc::clone(&self.planned.tool);
        tool.call(self, cancel)
    }

    /// What was decided on, for the tool `name`: a permit is good for no other.
    pub fn for_tool(&self, name: &str) -> Result<(&Value, &[Touch]), ToolFailure> {
        let own = self.planned.tool.name();
        if own != name {
            let told = format!("a permit for `{own}` was shown to `{name}`");
            return Err(ToolFailure::new(FailureCode::Failed, told));
        }
        Ok((&self.planned.arguments, &self.planned.touches))
    }

    /// The same with this network for what the call runs.
    #[must_use]
    pub fn with_network(self, network: Network) -> Self {
        Self { network, ..self }
    }

    /// The network of what the call runs.
    pub const fn network(&self) -> Network {
        self.network
    }

    /// Whether something that the call came upon may be touched too.
    pub fn passes(&self, touch: &Touch) -> bool {
        (self.screen)(touch)
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Permit").field(&self.planned).finish()
    }
}

/// The tools of a run, by name.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
}

impl Toolbox {
    /// A box with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool; it takes the place of one of the same name.
    #[must_use]
    pub fn with(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.retain(|known| known.name() != tool.name());
        self.tools.push(Arc::new(tool));
        self
    }

    /// The tools, in the order in which they were added.
    pub fn tools(&self) -> impl Iterator<Item = &dyn Tool> {
        self.tools.iter().map(|tool| &**tool)
    }

    /// The tool called `name`; the failure names the nearest one.
    pub fn find(&self, name: &str) -> Result<&Arc<dyn Tool>, ToolFailure> {
        if let Some(tool) = self.tools.iter().find(|tool| tool.name() == name) {
            return Ok(tool);
        }
        let told = format!("there is no tool {}", shown(name));
        let failure = ToolFailure::new(FailureCode::UnknownTool, told);
        Err(match nearest(name, self.tools.iter().map(|tool| tool.name())) {
            Some(near) => failure.with_help(format!("did you mean `{near}`?")),
            None => failure,
        })
    }

    /// The call of the tool `name` with `arguments`; nothing has been done when it is there.
    pub fn plan(&self, name: &str, arguments: Value) -> Result<Planned, ToolFailure> {
        let tool = Arc::clone(self.find(name)?);
        let touches = tool.plan(&arguments)?;
        Ok(Planned { tool, arguments, touches })
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| tool.name())).finish()
    }
}
