//! Acting as an agent: a runtime whose policy, model and budgets are narrowed by a named agent of the
//! settings. Everything that decides goes through the same policy, so the catalog, search, loading and
//! every tool are narrowed alike.

use std::sync::{Arc, Mutex};

use metier_config::AgentSettings;
use metier_skill::nearest;

use crate::error::{Error, Result};
use crate::open::Metier;

impl Metier {
    /// The same runtime, acting as the agent `name`: one of the settings, `read-only` or `full`. An agent
    /// narrows what may be done, and never widens it.
    ///
    /// ```
    /// use metier::policy::Effect;
    /// use metier::{Metier, WithSkills};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?.with_agent("read-only")?;
    /// let skill = WithSkills::acting_for("csv-summary");
    /// let explained = metier.explain("run_script", &["scripts/summarise.sh"], &skill)?;
    /// assert_eq!(explained.decision.effect, Effect::Deny);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_agent(&self, name: &str) -> Result<Self> {
        let Some(agent) = self.settings().agent(name)? else {
            let names = self.settings().agent_names();
            let help = match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "the agents are {}; `agents` in the settings defines more",
                    names.join(", ")
                ),
            };
            return Err(Error::usage(format!("unknown agent `{name}`")).with_help(help));
        };
        let mut inner = self.inner.again();
        inner.agent = Some(Arc::new(agent));
        // What was found stays so; what may be seen of it is decided anew.
        inner.snapshot = Mutex::new(self.snapshot());
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The agent that this runtime acts as.
    pub fn agent(&self) -> Option<&AgentSettings> {
        self.inner.agent.as_deref()
    }
}
