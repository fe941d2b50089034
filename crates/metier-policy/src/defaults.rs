//! What holds where neither an administrator nor the user has a rule: by risk and by place.
//!
//! | risk | tools | default |
//! |---|---|---|
//! | low | `load_skill` | allow |
//! | low | `read_file`, `list_dir`, `grep` | allow in the workspace and in loaded skills, else ask |
//! | medium | `run_script` | ask |
//! | high | `script_network` | deny until a rule of the user's names it and matches the script |
//! | high | the rest, and tools that nobody registered | deny until a rule of the user's is about the tool, then ask |
//! | low | a registered tool of the program that uses us | allow, but ask about paths outside the workspace |
//! | medium, high | the same | ask: adding it in code is what switches it on |
//!
//! What a running script asks for is never allowed by default.

use crate::effect::Effect;
use crate::permission::{Permission, Risk};
use crate::request::{Invoker, Request};
use crate::subject::Subject;

/// What the default depends on, apart from the request.
pub(crate) struct DefaultContext<'a> {
    /// Whether a path is in the workspace or in the directory of a loaded skill.
    pub(crate) at_home: &'a dyn Fn(&Subject) -> bool,
    /// Whether a rule of the user's or an administrator's is about this tool.
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
        return (Effect::Ask, "a running script wants it".to_owned());
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
        Risk::Low if (around.at_home)(subject) => {
            (Effect::Allow, "it reads inside the workspace or a loaded skill".to_owned())
        }
        Risk::Low => (Effect::Ask, "it reads outside the workspace".to_owned()),
        Risk::Medium => (Effect::Ask, "it runs what a skill brought".to_owned()),
        // A rule for one script must not make a yes to another one open the network.
        Risk::High if *permission == Permission::ScriptNetwork => {
            (Effect::Deny, "scripts run without network until a rule of yours opens it".to_owned())
        }
        Risk::High if (around.switched_on)() => {
            (Effect::Ask, format!("no rule of yours says more about `{permission}`"))
        }
        Risk::High => {
            (Effect::Deny, format!("`{permission}` is off until a rule of yours is about it"))
        }
    }
}

/// A tool that the program which uses us brought, and says how much harm it can do.
fn by_declared_risk(
    permission: &Permission,
    risk: Risk,
    subject: &Subject,
    around: &DefaultContext<'_>,
) -> (Effect, String) {
    let is_path = matches!(subject, Subject::Path(_));
    match risk {
        Risk::Low if is_path && !(around.at_home)(subject) => {
            (Effect::Ask, "it reads outside the workspace".to_owned())
        }
        Risk::Low => (Effect::Allow, format!("`{permission}` was registered as low risk")),
        Risk::Medium | Risk::High => {
            (Effect::Ask, format!("`{permission}` was registered as {risk} risk"))
        }
    }
}
