//! What a tool is: a name, a risk, typed arguments, what a call touches, and the call.
//!
//! A tool declares what a call would touch, the caller's policy decides, and only then is the tool
//! called ([`crate::Toolbox::plan`]). The arguments are parsed once, when the call is planned: the
//! value that was decided about is the value that is used.

use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_policy::Risk;
use metier_skill::WorkPath;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::ToolFailure;
use crate::output::{CallResult, ResultFilter};

/// A tool. Built-in tools and those of other programs implement the same trait and are handled the
/// same way: policy, ceiling, approval, cancellation, masking, cap, record.
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
    /// The arguments. The JSON Schema that the model sees is derived from this type, with the doc
    /// comments of the fields as descriptions.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;

    /// The name, in a model's action and in rules: `read_file`.
    fn name(&self) -> &str;

    /// The description for the model.
    fn description(&self) -> &str;

    /// How much harm it can do. This is the policy's default for a tool that is not built in: low is
    /// allowed, medium and high ask. A rule about the tool's name overrides it.
    fn risk(&self) -> Risk;

    /// What a call with these arguments would touch: the policy is asked about each of them. By default
    /// nothing, so that the policy is asked about the tool itself. Must not change or send anything;
    /// it may resolve links.
    fn touches(&self, args: &Self::Args) -> Result<Vec<Touch>, ToolFailure> {
        let _ = args;
        Ok(Vec::new())
    }

    /// Makes the call, on its own thread. A long call should check [`CallContext::cancel`]; one that
    /// does not is abandoned when the user cancels.
    fn call(&self, args: Self::Args, context: &CallContext) -> CallResult;
}

/// One thing that a call touches, as the policy matches it against its rules.
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

/// Decides about what a call finds along the way: a search below a directory reads many files. What
/// does not pass is left out.
pub type TouchFilter = Arc<dyn Fn(&Touch) -> bool + Send + Sync>;

/// What a call gets besides its arguments.
pub struct CallContext {
    pub(crate) cancel: CancelToken,
    pub(crate) touches: Vec<Touch>,
    pub(crate) filter: TouchFilter,
    pub(crate) results: Arc<ResultFilter>,
}

impl CallContext {
    /// The token that cancels the call.
    pub const fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// What the policy decided about: as [`Tool::touches`] returned it when the call was planned, with
    /// links resolved.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// Whether something else that the call found may be touched.
    pub fn passes(&self, touch: &Touch) -> bool {
        (self.filter)(touch)
    }

    /// Stores bytes that are not shown, with secrets masked, and returns the reference to them.
    pub fn keep(&self, bytes: &[u8], hint: &str) -> Option<String> {
        self.results.store.put(&self.results.mask_bytes(bytes).0, hint).ok()
    }
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext").field("touches", &self.touches).finish_non_exhaustive()
    }
}
