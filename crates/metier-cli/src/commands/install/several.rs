//! Several installations, one after the other: for several agents, and for each source of a foreign lock.
//! One that fails does not hide what was done before it, nor stop what comes after it.

use std::io::{self, Write};

use metier::pack::InstallTarget;
use serde::Serialize;

use super::{InstallArgs, Installed, install_into};
use crate::context::Context;
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, write_json};
use crate::render::safe;
use crate::render::style::{BOLD, DIM, RED, paint};

/// What was installed, a document for each folder and source, and what was not.
#[derive(Serialize)]
pub(in crate::commands) struct SeveralInstalled {
    targets: Vec<Installed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<FailedInstall>,
}

/// An installation that failed.
#[derive(Serialize)]
struct FailedInstall {
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// The skills that were chosen; all of the source where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skills: Vec<String>,
    #[serde(flatten)]
    error: CommandError,
}

/// Carries them all out. Where there is only one, its failure is the command's.
pub(in crate::commands) fn install_all(
    all: &[InstallArgs],
    context: &Context,
    json: bool,
) -> Result<SeveralInstalled> {
    let mut steps: Vec<(&InstallArgs, InstallTarget)> = Vec::new();
    for args in all {
        steps.extend(targets(args, context)?.into_iter().map(|target| (args, target)));
    }
    let is_one = steps.len() == 1;
    let mut done = SeveralInstalled { targets: Vec::new(), failed: Vec::new() };
    for (args, target) in steps {
        let folder = target.root().to_string_lossy().into_owned();
        match install_into(target, args, context, json) {
            Ok(installed) => done.targets.push(installed),
            Err(error) if is_one || error.exit == Exit::Interrupted => return Err(error),
            Err(error) => done.failed.push(FailedInstall {
                target: folder,
                source: args.source.clone(),
                skills: args.how.skill.clone(),
                error,
            }),
        }
    }
    Ok(done)
}

/// The folders that are meant. All of them first: a name that is wrong stops everything.
fn targets(args: &InstallArgs, context: &Context) -> Result<Vec<InstallTarget>> {
    let scope = args.how.scope.chosen();
    if args.how.agent.is_empty() || args.how.link {
        return Ok(vec![context.metier.install_target(scope)?]);
    }
    let all = args.how.agent.iter().map(|agent| context.metier.agent_target(agent, scope));
    let all: std::result::Result<Vec<InstallTarget>, metier::Error> = all.collect();
    Ok(all?)
}

impl FailedInstall {
    /// What it was about.
    fn what(&self) -> String {
        match (&self.source, self.skills.as_slice()) {
            (Some(source), []) => safe(source).into_owned(),
            (Some(source), skills) => format!("{} from {}", safe(&skills.join(", ")), safe(source)),
            (None, _) => safe(&self.target).into_owned(),
        }
    }
}

impl Output for SeveralInstalled {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        self.targets.iter().try_for_each(|installed| installed.human(out))?;
        for failed in &self.failed {
            let what = paint(BOLD, failed.what());
            let place = paint(DIM, format!("in {}", safe(&failed.target)));
            writeln!(out, "{} {what}  {place}", paint(RED, "not installed"))?;
            writeln!(out, "  {}", failed.error.message)?;
            if let Some(help) = &failed.error.help {
                writeln!(out, "  {}", paint(DIM, help))?;
            }
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        let exits = || self.failed.iter().map(|failed| failed.error.exit);
        match exits().next() {
            None => Exit::Done,
            // What only needs a yes can be asked for again; one that failed for another reason counts more.
            Some(_) if exits().all(|exit| exit == Exit::Denied) => Exit::Denied,
            Some(_) => Exit::Findings,
        }
    }
}
