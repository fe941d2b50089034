//! Where installed skills are, for the commands that change or compare them: the folder that is named, or the first
//! one that has the skill, the project's before the user's.

use metier::config::Scope;
use metier::pack::InstallTarget;

use crate::context::Context;
use crate::error::Result;
use crate::scope::ScopeArgs;

/// Our own folder, where the folder of `agent` has links to all of these skills of it.
pub(super) fn linked_target(
    agent: &str,
    names: &[String],
    scope: ScopeArgs,
    context: &Context,
) -> Result<Option<InstallTarget>> {
    let own = context.metier.install_target(scope.chosen())?;
    for name in names {
        if !own.is_linked(name, agent).map_err(metier::Error::from)? {
            return Ok(None);
        }
    }
    Ok(Some(own).filter(|_| !names.is_empty()))
}

/// The folder of `agent`; without one the folder that the first of `names` is installed in, and without names where
/// `metier install` would install.
pub(super) fn installed_target(
    agent: Option<&str>,
    names: &[String],
    scope: ScopeArgs,
    context: &Context,
) -> Result<InstallTarget> {
    if let Some(agent) = agent {
        let target = context.metier.agent_target(agent, scope.chosen())?;
        // What the agent has a link to is installed in our own folder.
        let linked = linked_target(agent, names, scope, context)?;
        return Ok(linked.unwrap_or(target));
    }
    let Some(first) = names.first().filter(|_| scope.chosen().is_none()) else {
        return Ok(context.metier.install_target(scope.chosen())?);
    };
    for scope in [Scope::Project, Scope::User] {
        let Ok(target) = context.metier.install_target(Some(scope)) else { continue };
        if target.is_installed(first).map_err(metier::Error::from)? {
            return Ok(target);
        }
    }
    Ok(context.metier.install_target(None)?)
}
