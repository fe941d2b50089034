//! What a tool is: a name, a risk, typed arguments, what a call touches, and the call.
//!
//! A tool says what it would touch and does it; whether it may is decided between the two by the
//! caller's policy ([`crate::Toolbox::plan`]). The arguments are read once, when the call is planned:
//! the value that was judged is the value that is called with.

use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_policy::Risk;
use metier_skill::WorkPath;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::ToolFailure;
use crate::output::{CallResult, ResultFilter};

/// A tool. Ours and those of other programs are written alike and go the same way: policy, ceiling,
/// approval, cancellation, masking, cap, record.
///
/// ```
/// use metier_tools::{CallContext, Risk, Tool, ToolFailure, ToolResult};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct AddArgs {
///     /// The numbers to add.
///     numbers: Vec<i64>,
///     /// What to count from; null: 0.
///     start: Option<i64>,
/// }
///
/// struct Add;
///
/// impl Tool for Add {
///     type Args = AddArgs;
///
///     fn name(&self) -> &str {
///         "add"
///     }
///
///     fn description(&self) -> &str {
///         "Add numbers."
///     }
///
///     fn risk(&self) -> Risk {
///         Risk::Low
///     }
///
///     fn call(&self, args: AddArgs, _: &CallContext) -> Result<ToolResult, ToolFailure> {
///         let sum = args.start.unwrap_or(0) + args.numbers.iter().sum::<i64>();
///         Ok(ToolResult::text(sum.to_string()))
///     }
/// }
///
/// # use metier_tools::Toolbox;
/// # use std::sync::Arc;
/// let tools = Toolbox::new().with_foreign(Add)?;
/// let planned = tools.plan("add", serde_json::json!({"numbers": [1, 2], "start": null}))?;
/// let permit = planned.decided(metier_policy::Effect::Allow, "", Arc::new(|_| true))?;
/// assert_eq!(permit.call(&metier_cancel::CancelToken::new())?.text, "3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Tool: Send + Sync + 'static {
    /// The arguments. Their JSON Schema, which a model is shown, is derived; the doc comments of the
    /// fields are its descriptions.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;

    /// What it is called by, in a model's action and in rules: `read_file`.
    fn name(&self) -> &str;

    /// What a model is told about it.
    fn description(&self) -> &str;

    /// How much harm it can do. For a tool that is not ours the policy goes by this: low is allowed,
    /// medium and high ask, and a rule about its name counts before either.
    fn risk(&self) -> Risk;

    /// What a call with these arguments would touch: what the policy is asked about. Nothing by
    /// default, so that the policy is asked about the tool as such. Changes nothing and sends nothing;
    /// it may look where links lead.
    fn touches(&self, args: &Self::Args) -> Result<Vec<Touch>, ToolFailure> {
        let _ = args;
        Ok(Vec::new())
    }

    /// Does what was decided on, on a thread of its own. A call that takes long listens to
    /// [`CallContext::cancel`]; one that does not is left behind when somebody cancels.
    fn call(&self, args: Self::Args, context: &CallContext) -> CallResult;
}

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
    /// A program and its arguments.
    Command(Vec<String>),
}

/// Judges what a call comes upon below what was decided on: a search reads many files. What it does
/// not pass is left out.
pub type Screen = Arc<dyn Fn(&Touch) -> bool + Send + Sync>;

/// What a call is given beside its arguments.
pub struct CallContext {
    pub(crate) cancel: CancelToken,
    pub(crate) touches: Vec<Touch>,
    pub(crate) screen: Screen,
    pub(crate) results: Arc<ResultFilter>,
}

impl CallContext {
    /// Ends the call.
    pub const fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// What was decided on: as [`Tool::touches`] gave it when the call was planned, links resolved.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// Whether something that the call came upon may be touched too.
    pub fn passes(&self, touch: &Touch) -> bool {
        (self.screen)(touch)
    }

    /// Stores bytes that are not shown; gives the reference.
    pub fn keep(&self, bytes: &[u8], hint: &str) -> Option<String> {
        self.results.store.put(bytes, hint).ok()
    }
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext").field("touches", &self.touches).finish_non_exhaustive()
    }
}
