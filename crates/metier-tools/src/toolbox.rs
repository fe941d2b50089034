//! The tools of a run, and the one way to call one: plan, decide, call.
//!
//! A [`Toolbox`] turns a name and arguments into a [`PlannedCall`], which knows what it
//! would touch and has done nothing yet. The caller asks its policy, and [`PlannedCall::decided`]
//! turns `allow` into a [`CallPermit`]: the only way to get one, good for one call with these arguments.
//! Only [`CallPermit::call`] reaches a tool, and every result goes through one [`ResultFilter`] on its
//! way back, so that no tool is called without a decision and nothing is shown unmasked.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_fs::links_on_the_way;
use metier_policy::{Effect, Permission, Risk};
use metier_skill::{FailureCode, nearest};
use serde_json::Value;

use crate::failure::{ToolFailure, shown};
use crate::output::{CallResult, ResultFilter};
use crate::policy_facts::real_path;
use crate::run_on_thread::run_on_thread;
use crate::schema::{read, schema_of};
use crate::tool::{CallContext, Tool, Touch, TouchFilter};

/// Calls a tool with the arguments that were parsed when the call was planned.
type PreparedCall = Box<dyn FnOnce(&CallContext) -> CallResult + Send>;

/// A [`Tool`] without its argument type.
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

/// A shared handle to a tool; a clone refers to the same one.
#[derive(Clone)]
pub struct BoxedTool {
    tool: Arc<dyn ErasedTool>,
    /// Whether it belongs to the program that uses this library.
    is_foreign: bool,
}

impl BoxedTool {
    /// See [`Tool::name`].
    pub fn name(&self) -> &str {
        self.tool.name()
    }

    /// See [`Tool::description`].
    pub fn description(&self) -> &str {
        self.tool.description()
    }

    /// See [`Tool::risk`].
    pub fn risk(&self) -> Risk {
        self.tool.risk()
    }

    /// The JSON Schema of its arguments: an object, all fields required and nullable, no others.
    pub fn schema(&self) -> Value {
        self.tool.schema()
    }

    /// The declared risk, for a tool that is not built in. The policy knows the risk of the others.
    pub fn declared_risk(&self) -> Option<Risk> {
        self.is_foreign.then(|| self.risk())
    }
}

impl fmt::Debug for BoxedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BoxedTool").field(&self.name()).finish()
    }
}

/// A call that was parsed and checked, but not decided about or made.
pub struct PlannedCall {
    tool: BoxedTool,
    arguments: Value,
    touches: Vec<Touch>,
    call: PreparedCall,
    results: Arc<ResultFilter>,
}

impl PlannedCall {
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

    /// The permit for this call, if the policy allows it; otherwise `reason` is part of the failure.
    /// `filter` decides about what the call finds along the way.
    pub fn decided(
        self,
        effect: Effect,
        reason: &str,
        filter: TouchFilter,
    ) -> Result<CallPermit, ToolFailure> {
        let name = self.tool.name();
        match effect {
            Effect::Allow => Ok(CallPermit { planned: self, filter }),
            Effect::Deny => Err(ToolFailure::new(
                FailureCode::NotAllowed,
                format!("`{name}` is not allowed here: {reason}"),
            )),
            Effect::Ask => Err(ToolFailure::new(
                FailureCode::NeedsApproval,
                format!("`{name}` needs approval first: {reason}"),
            )),
        }
    }
}

impl fmt::Debug for PlannedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedCall")
            .field("tool", &self.tool.name())
            .field("arguments", &self.arguments)
            .field("touches", &self.touches)
            .finish_non_exhaustive()
    }
}

/// The permission to make one call. Only [`PlannedCall::decided`] gives it; the call consumes it.
pub struct CallPermit {
    planned: PlannedCall,
    filter: TouchFilter,
}

impl CallPermit {
    /// Makes the call and waits for the result, or for `cancel`.
    pub fn call(self, cancel: &CancelToken) -> CallResult {
        let PlannedCall { tool, touches, call, results, .. } = self.planned;
        let context = CallContext {
            cancel: cancel.clone(),
            touches,
            filter: self.filter,
            results: Arc::clone(&results),
        };
        let answer = run_on_thread(cancel, move || call(&context));
        results.filter(tool.name(), answer)
    }
}

impl fmt::Debug for CallPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallPermit").field(&self.planned).finish()
    }
}

/// The tools of a run, by name.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Vec<BoxedTool>,
    results: Arc<ResultFilter>,
}

impl Toolbox {
    /// An empty toolbox.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the filter for every result.
    #[must_use]
    pub fn with_results(mut self, results: ResultFilter) -> Self {
        self.results = Arc::new(results);
        self
    }

    /// Adds a built-in tool, replacing one of the same name.
    #[must_use]
    pub fn with(mut self, tool: impl Tool) -> Self {
        self.tools.retain(|known| known.name() != tool.name());
        self.tools.push(BoxedTool { tool: Arc::new(tool), is_foreign: false });
        self
    }

    /// Adds a tool of the program that uses this library. Its name must not be that of a built-in tool,
    /// nor an alias of one in rules and `allowed-tools`, nor that of another tool: rules go by names.
    pub fn with_foreign(mut self, tool: impl Tool) -> Result<Self, ToolFailure> {
        let refused = |reason: String| ToolFailure::new(FailureCode::InvalidArguments, reason);
        let name = tool.name();
        Permission::foreign(name)
            .map_err(|error| refused(error.to_string()).with_help("give the tool another name"))?;
        if self.tools.iter().any(|known| known.name().eq_ignore_ascii_case(name)) {
            let message = format!("a tool called {} already exists", shown(name));
            return Err(refused(message).with_help("give the tool another name"));
        }
        self.tools.push(BoxedTool { tool: Arc::new(tool), is_foreign: true });
        Ok(self)
    }

    /// Adds the tools of another toolbox. A tool whose name is taken is left out: built-in tools are
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

    /// The tool called `name`; the failure suggests the nearest name.
    pub fn find(&self, name: &str) -> Result<&BoxedTool, ToolFailure> {
        if let Some(tool) = self.tools.iter().find(|tool| tool.name() == name) {
            return Ok(tool);
        }
        let message = format!("unknown tool {}", shown(name));
        let failure = ToolFailure::new(FailureCode::UnknownTool, message);
        Err(match nearest(name, self.tools.iter().map(BoxedTool::name)) {
            Some(near) => failure.with_help(format!("did you mean `{near}`?")),
            None => failure,
        })
    }

    /// Plans a call of the tool `name` with `arguments`, without making it.
    pub fn plan(&self, name: &str, arguments: Value) -> Result<PlannedCall, ToolFailure> {
        let tool = self.find(name)?.clone();
        // A panic is a bug in the tool; it must not end the run.
        let planned = catch_unwind(AssertUnwindSafe(|| Arc::clone(&tool.tool).plan(&arguments)));
        let panicked = |_| Err(ToolFailure::new(FailureCode::Failed, "the tool panicked"));
        let (mut touches, call) = planned.unwrap_or_else(panicked)?;
        if tool.is_foreign {
            touches = with_links_resolved(touches);
        }
        Ok(PlannedCall { tool, arguments, touches, call, results: Arc::clone(&self.results) })
    }
}

/// The policy decides about the file itself, and about every name that leads to it. Built-in tools see to
/// that themselves; another program's tool may follow links.
fn with_links_resolved(mut touches: Vec<Touch>) -> Vec<Touch> {
    let mut names = Vec::new();
    for touch in &mut touches {
        let Touch::Path { absolute, relative } = touch else { continue };
        names.extend(links_on_the_way(Path::new(absolute)).into_iter().map(|step| Touch::Path {
            absolute: step.path.to_string_lossy().into_owned(),
            relative: relative.clone(),
        }));
        *absolute = real_path(Path::new(absolute)).to_string_lossy().into_owned();
    }
    touches.extend(names);
    touches
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.tools).finish()
    }
}
