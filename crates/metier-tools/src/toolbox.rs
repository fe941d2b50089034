//! The tools of a run, and the one way to call one: plan, decide, call.
//!
//! A [`Toolbox`] turns a name and arguments into a [`Planned`] call, which tells what it would touch
//! and has done nothing. The caller asks its policy, and [`Planned::decided`] turns an allowing answer
//! into a [`Permit`]: the only way to get one, good for one call, with these arguments on these things.
//! Only [`Permit::call`] reaches a tool, and every result goes through one [`ResultFilter`] on its way
//! back, so that nothing is called that was not decided on, and nothing is shown that was not masked.

use std::fmt;
use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_policy::{Effect, Permission, Risk};
use metier_skill::nearest;
use serde_json::Value;

use crate::failure::{FailureCode, ToolFailure, shown};
use crate::output::{CallResult, ResultFilter};
use crate::run_on_thread::run_on_thread;
use crate::schema::{read, schema_of};
use crate::tool::{CallContext, Screen, Tool, Touch};

/// Calls a tool with arguments that were read when the call was planned.
type PreparedCall = Box<dyn FnOnce(&CallContext) -> CallResult + Send>;

/// A tool whatever its arguments are; every [`Tool`] is one.
trait ErasedTool: Send + Sync {
    fn name(&self) -> &str;
    fn description(&self) -> &str;
    fn risk(&self) -> Risk;
    fn schema(&self) -> Value;
    fn plan(self: Arc<Self>, arguments: &Value) -> Result<(Vec<Touch>, PreparedCall), ToolFailure>;
}

impl<T: Tool> ErasedTool for T {
    fn name(&self) -> &str {
        Tool::name(self)
    }

    fn description(&self) -> &str {
        Tool::description(self)
    }

    fn risk(&self) -> Risk {
        Tool::risk(self)
    }

    fn schema(&self) -> Value {
        schema_of::<T::Args>()
    }

    fn plan(self: Arc<Self>, arguments: &Value) -> Result<(Vec<Touch>, PreparedCall), ToolFailure> {
        let args: T::Args = read(arguments)?;
        let touches = self.touches(&args)?;
        Ok((touches, Box::new(move |context| self.call(args, context))))
    }
}

/// A tool in a box. A clone is the same tool.
#[derive(Clone)]
pub struct BoxedTool {
    tool: Arc<dyn ErasedTool>,
    /// Whether the program that uses us brought it.
    is_foreign: bool,
}

impl BoxedTool {
    /// What it is called by.
    pub fn name(&self) -> &str {
        self.tool.name()
    }

    /// What a model is told about it.
    pub fn description(&self) -> &str {
        self.tool.description()
    }

    /// How much harm it can do.
    pub fn risk(&self) -> Risk {
        self.tool.risk()
    }

    /// The JSON Schema of its arguments: an object, all fields required and nullable, no others.
    pub fn schema(&self) -> Value {
        self.tool.schema()
    }

    /// The risk that the policy goes by, for a tool that is not ours. Ours have theirs there.
    pub fn declared_risk(&self) -> Option<Risk> {
        self.is_foreign.then(|| self.risk())
    }
}

impl fmt::Debug for BoxedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BoxedTool").field(&self.name()).finish()
    }
}

/// A call that nothing has been done for yet.
pub struct Planned {
    tool: BoxedTool,
    arguments: Value,
    touches: Vec<Touch>,
    call: PreparedCall,
    results: Arc<ResultFilter>,
}

impl Planned {
    /// The tool.
    pub const fn tool(&self) -> &BoxedTool {
        &self.tool
    }

    /// The arguments as they came.
    pub const fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// What it would touch: what the policy is asked about.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// The permit for this call, if the policy's answer is to allow; `reason` stands in the failure
    /// otherwise. `screen` judges what the call comes upon.
    pub fn decided(
        self,
        effect: Effect,
        reason: &str,
        screen: Screen,
    ) -> Result<Permit, ToolFailure> {
        let name = self.tool.name();
        match effect {
            Effect::Allow => Ok(Permit { planned: self, screen }),
            Effect::Deny => Err(ToolFailure::new(
                FailureCode::NotAllowed,
                format!("`{name}` is not allowed here: {reason}"),
            )),
            Effect::Ask => Err(ToolFailure::new(
                FailureCode::NeedsApproval,
                format!("`{name}` needs an approval first: {reason}"),
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
            .finish_non_exhaustive()
    }
}

/// The permission to make one call. Only [`Planned::decided`] gives it; it is used up by the call.
pub struct Permit {
    planned: Planned,
    screen: Screen,
}

impl Permit {
    /// Makes the call and waits for it. `cancel` ends it.
    pub fn call(self, cancel: &CancelToken) -> CallResult {
        let Planned { tool, touches, call, results, .. } = self.planned;
        let context = CallContext {
            cancel: cancel.clone(),
            touches,
            screen: self.screen,
            results: Arc::clone(&results),
        };
        let answer = run_on_thread(cancel, move || call(&context));
        results.filter(tool.name(), answer)
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
    tools: Vec<BoxedTool>,
    results: Arc<ResultFilter>,
}

impl Toolbox {
    /// A box with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what every result goes through.
    #[must_use]
    pub fn with_results(mut self, results: ResultFilter) -> Self {
        self.results = Arc::new(results);
        self
    }

    /// Adds a tool of ours; it takes the place of one of the same name.
    #[must_use]
    pub fn with(mut self, tool: impl Tool) -> Self {
        self.tools.retain(|known| known.name() != tool.name());
        self.tools.push(BoxedTool { tool: Arc::new(tool), is_foreign: false });
        self
    }

    /// Adds a tool of the program that uses us. Its name must not be one of ours, nor one that rules
    /// and `allowed-tools` take for one of ours, nor that of another tool: a rule is about a name.
    pub fn with_foreign(mut self, tool: impl Tool) -> Result<Self, ToolFailure> {
        let refused = |reason: String| ToolFailure::new(FailureCode::InvalidArguments, reason);
        let name = tool.name();
        Permission::foreign(name)
            .map_err(|error| refused(error.to_string()).with_help("give the tool another name"))?;
        if self.tools.iter().any(|known| known.name().eq_ignore_ascii_case(name)) {
            let told = format!("there is a tool called {} already", shown(name));
            return Err(refused(told).with_help("give the tool another name"));
        }
        self.tools.push(BoxedTool { tool: Arc::new(tool), is_foreign: true });
        Ok(self)
    }

    /// Adds the tools of another box. One of the same name as one that is here is left out: ours are
    /// never replaced.
    #[must_use]
    pub fn with_all(mut self, other: &Self) -> Self {
        for tool in &other.tools {
            if self.tools.iter().all(|known| known.name() != tool.name()) {
                self.tools.push(tool.clone());
            }
        }
        self
    }

    /// The tools, in the order in which they were added.
    pub fn tools(&self) -> &[BoxedTool] {
        &self.tools
    }

    /// The tool called `name`; the failure names the nearest one.
    pub fn find(&self, name: &str) -> Result<&BoxedTool, ToolFailure> {
        if let Some(tool) = self.tools.iter().find(|tool| tool.name() == name) {
            return Ok(tool);
        }
        let told = format!("there is no tool {}", shown(name));
        let failure = ToolFailure::new(FailureCode::UnknownTool, told);
        Err(match nearest(name, self.tools.iter().map(BoxedTool::name)) {
            Some(near) => failure.with_help(format!("did you mean `{near}`?")),
            None => failure,
        })
    }

    /// The call of the tool `name` with `arguments`; nothing has been done when it is there.
    pub fn plan(&self, name: &str, arguments: Value) -> Result<Planned, ToolFailure> {
        let tool = self.find(name)?.clone();
        let (touches, call) = Arc::clone(&tool.tool).plan(&arguments)?;
        Ok(Planned { tool, arguments, touches, call, results: Arc::clone(&self.results) })
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.tools).finish()
    }
}
