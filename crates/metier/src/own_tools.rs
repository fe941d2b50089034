//! Tools that a program brings: taken by a session, checked when it runs.
//!
//! A builder cannot fail half-way, so a name that cannot be taken is kept as the error of the run.
//! Everything else about such a tool is as for ours: policy, ceiling, approval, masking, record.

use metier_tools::{Tool, ToolFailure, Toolbox};

use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;

/// The tools of a session, or why one of them cannot be taken.
#[derive(Debug, Clone)]
pub(crate) struct OwnTools(std::result::Result<Toolbox, ToolFailure>);

impl Default for OwnTools {
    fn default() -> Self {
        Self(Ok(Toolbox::new()))
    }
}

impl OwnTools {
    fn add(&mut self, tool: impl Tool) {
        if let Ok(tools) = &mut self.0 {
            self.0 = std::mem::take(tools).with_foreign(tool);
        }
    }

    /// The tools, for the executor of a run.
    pub(crate) fn toolbox(&self) -> Result<Toolbox> {
        self.0.clone().map_err(|failure| {
            let message = format!("a tool of this session cannot be used: {}", failure.message);
            Error::new(ErrorKind::Usage, "tool-name", message).with_help(failure.help)
        })
    }
}

impl Session {
    /// Offers a tool of the caller's own to the model. The policy goes by its declared risk (low is
    /// allowed, medium and high ask), unless a rule names it; a skill that lists `allowed-tools` has
    /// to list it. A name that is one of ours, or was given before, is an error of the run.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.rules.own_tools.push(tool.name().to_owned());
        self.tools.add(tool);
        self
    }
}
