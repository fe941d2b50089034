//! The default where neither an administrator nor the user has a rule: by risk and by path.
//!
//! | risk | tools | default |
//! |---|---|---|
//! | low | `load_skill` | allow |
//! | low | `read_file`, `list_dir`, `grep` | allow in the workspace and in loaded skills, else ask |
//! | medium | `run_script` | ask |
//! | high | `script_network` | deny until a rule names it and matches the script |
//! | high | the rest, and unregistered tools | deny until an allow or ask rule names the tool, then ask |
//! | low | a registered tool of another program | allow, but ask about paths outside the workspace |
//! | medium, high | the same | ask: adding it in code is what switches it on |
//!
//! A request by a running script is never allowed by default.

use crate::effect::Effect;
use crate::permission::{Permission, Risk};
use crate::request::{Invoker, Request};
use crate::subject::Subject;

/// What the default depends on besides the request.
pub(crate) struct DefaultContext<'a> {
    /// Whether a path is in the workspace or in the directory of a loaded skill.
    pub(crate) in_reach: &'a dyn Fn(&Subject) -> bool,
    /// Whether the user or an administrator has an allow or ask rule for this tool.
    pub(crate) switched_on: &'a dyn Fn() -> bool,
}

/// The default and its reason.
pub(crate) fn by_risk(
    request: &Request,
    subject: &Subject,
    around: &DefaultContext<'_>,
) -> (Effect, String) {
    let permission = &request.permission;
    let (effect, why) = match (permission, request.declared_risk) {
        (Permission::Other(_), Some(risk)) => by_declared_risk(permission, risk, subject, around),
        _ => by_own_risk(permission, subject, around),
    };
    if request.invoker == Invoker::Script && effect == Effect::Allow {
        return (Effect::Ask, "a running script requests it".to_owned());
    }
    (effect, why)
}

fn by_own_risk(
    permission: &Permission,
    subject: &Subject,
    around: &DefaultContext<'_>,
) -> (Effect, String) {
    match permission.risk() {
        Risk::Low if *permission == Permission::LoadSkill => {
            (Effect::Allow, "skills may be loaded".to_owned())
        }
        Risk::Low if (around.in_reach)(subject) => {
            (Effect::Allow, "it reads inside the workspace or a loaded skill".to_owned())
        }
        Risk::Low => (Effect::Ask, "it reads outside the workspace".to_owned()),
        Risk::Medium => (Effect::Ask, "it runs a script from a skill".to_owned()),
        // A rule for one script must not let the approval of another script open the network.
        Risk::High if *permission == Permission::ScriptNetwork => (
            Effect::Deny,
            "scripts have no network by default; add an allow or ask rule".to_owned(),
        ),
        Risk::High if (around.switched_on)() => {
            (Effect::Ask, format!("no rule matches this use of `{permission}`"))
        }
        Risk::High => {
            (Effect::Deny, format!("`{permission}` is off by default; add an allow or ask rule"))
        }
    }
}

/// A tool of another program, by the risk that it was registered with.
fn by_declared_risk(
    permission: &Permission,
    risk: Risk,
    subject: &Subject,
    around: &DefaultContext<'_>,
) -> (Effect, String) {
    let is_path = matches!(subject, Subject::Path(_));
    match risk {
        Risk::Low if is_path && !(around.in_reach)(subject) => {
            (Effect::Ask, "it reads outside the workspace".to_owned())
        }
        Risk::Low => (Effect::Allow, format!("`{permission}` was registered as low risk")),
        Risk::Medium | Risk::High => {
            (Effect::Ask, format!("`{permission}` was registered as {risk} risk"))
        }
    }
}
