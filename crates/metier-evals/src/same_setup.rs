//! Whether this machine can carry out a plan that another one made: the same program, skills, model and
//! settings. A result from anything else would be kept under a fingerprint that is not its own. And whether
//! the plan asks for nothing that the plan's project does not have.

use metier::Metier;
use metier::skill::WorkPath;

use crate::error::{EvalError, Result};
use crate::own_loop::LoopSubject;
use crate::plan::EvalPlan;
use crate::planning::index_digest;
use crate::subject::EvalSubject;

/// An error that says what is different here, while anything is.
pub fn check_same_setup(plan: &EvalPlan, metier: &Metier, subject: &LoopSubject) -> Result<()> {
    let refuse = |message: String, help: &str| Err(EvalError::plan(message, help));
    for case in plan.cases.iter().filter(|case| !case.files.is_empty()) {
        // The author of a plan does not say where on this machine files are read.
        let is_inside = WorkPath::new(&case.origin.file).is_ok();
        if !is_inside || case.files.keys().any(|to| !case.contents.contains_key(to)) {
            let message = format!("the files of the case {} are not those of a project", case.id);
            return refuse(message, "make the plan from case files inside the project");
        }
    }
    let own = env!("CARGO_PKG_VERSION");
    if plan.harness != own {
        let message = format!(
            "the plan was made by version {} of the program, and this is {own}",
            plan.harness
        );
        return refuse(message, "use one version for all of a plan");
    }
    let (wanted, here) = (&plan.subject, subject.info());
    if (&wanted.provider, &wanted.model) != (&here.provider, &here.model) {
        let name = |provider: &str, model: &str| format!("{provider}:{model}");
        let (wanted, here) =
            (name(&wanted.provider, &wanted.model), name(&here.provider, &here.model));
        return refuse(
            format!("the plan is for the model {wanted}, and here {here} decides"),
            "name it with --model",
        );
    }
    // The author of a plan does not choose whom this machine sends answers to.
    if plan.judge.as_deref() != subject.judge() {
        let name =
            |judge: Option<&str>| judge.map_or("no model".to_owned(), |it| format!("`{it}`"));
        let message = format!(
            "by the plan {} judges answers, and here {}",
            name(plan.judge.as_deref()),
            name(subject.judge())
        );
        return refuse(message, "name the same model with --judge");
    }
    if *wanted != here {
        let message = "the settings here are not those that the plan was made with".to_owned();
        return refuse(
            message,
            "compare `metier config show` on both machines, --allow, --deny and --agent, and the files of scripted models",
        );
    }
    let scan = subject.scan();
    let changed = plan.skills.iter().find(|(name, digest)| {
        let here = scan.index.find(name).and_then(|entry| metier.content_digest(entry).ok());
        here.as_ref() != Some(digest)
    });
    if let Some((name, _)) = changed {
        let message = format!("the skill {name} here is not the one that the plan was made with");
        return refuse(message, "work in the same checkout, or make a new plan");
    }
    if index_digest(metier, scan) != plan.index_hash {
        let message =
            "the skills that are listed here are not those that the plan was made with".to_owned();
        return refuse(
            message,
            "work in the same checkout, with the same --root, or make a new plan",
        );
    }
    Ok(())
}
