//! Where installed skills are, for the commands that change or compare them: the folder that is named, or the first
//! one that has the skill, the project's before the user's.

use metier::config::Scope;
use metier::pack::InstallTarget;

use crate::context::Context;
use crate::error::Result;
use crate::scope::ScopeArgs;

/// The folder that the first of `names` is installed in; without names, where `metier install` would install.
pub(super) fn installed_target(
    names: &[String],
    scope: ScopeArgs,
    context: &Context,
) -> Result<InstallTarget> {
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
