//! What would be decided about a request, by which rules, and why. Nothing is done and no
//! question is asked.

use std::path::{Path, PathBuf};

use metier_policy::{
    Effect, Invoker, Permission, PolicyDecision, Request, RequestContext, Subject, subject_of,
};
use metier_registry::{Entry, Scan};
use metier_skill::{Digest, RelPath, SkillId, nearest};
use metier_tools::ScriptDecision;
use metier_tools::policy_facts::{absolute, acting_skill, loaded_skill, real_path};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::open::Metier;
use crate::skills::find;

/// What would be decided about a request.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The decision, with what each layer said.
    #[serde(flatten)]
    pub decision: PolicyDecision,
    /// The decision about the network of a script, where it is not closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<PolicyDecision>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<&'static str>,
    /// The digest of the request as a model makes it.
    pub digest: Digest,
    /// The request.
    pub request: Request,
    /// The tool of ours that was likely meant, where the tool is unknown.
    #[serde(skip)]
    pub did_you_mean: Option<String>,
}

/// The skills that a request is judged with, by name or id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WithSkills {
    /// The skill that it is attributed to; it is loaded.
    pub skill: Option<String>,
    /// Other skills that are loaded: their ceilings hold what could do harm.
    pub loaded: Vec<String>,
}

impl WithSkills {
    /// Attributed to a skill.
    pub fn acting_for(skill: impl Into<String>) -> Self {
        Self { skill: Some(skill.into()), loaded: Vec::new() }
    }

    /// The same with another skill loaded.
    #[must_use]
    pub fn loaded(mut self, skill: impl Into<String>) -> Self {
        self.loaded.push(skill.into());
        self
    }

    /// The acting skill, and all that are loaded, each once.
    fn entries<'s>(&self, scan: &'s Scan) -> Result<(Option<&'s Entry>, Vec<&'s Entry>)> {
        let acting = self.skill.as_deref().map(|name| find(name, scan)).transpose()?;
        let mut all = Vec::from_iter(acting);
        for name in &self.loaded {
            let entry = find(name, scan)?;
            if all.iter().all(|known: &&Entry| known.id() != entry.id()) {
                all.push(entry);
            }
        }
        Ok((acting, all))
    }
}

/// A tool, and what the policy says about it here.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ToolRule {
    /// The tool.
    pub name: String,
    /// How much harm it can do.
    pub risk: String,
    /// What happens when it is called.
    pub effect: Effect,
    /// Why.
    pub reason: String,
    /// The skill whose ceiling refuses it, where one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<SkillId>,
    /// The digest of the request as a model makes it.
    pub request: Digest,
}

impl Metier {
    /// What would be decided if a model called `tool` on `args` (a skill, a path, a script of the
    /// skill with its arguments, a command, a host) with these skills.
    ///
    /// ```
    /// use metier::policy::Effect;
    /// use metier::{WithSkills, Metier};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// let explained = metier.explain("read_file", &["notes.md"], &WithSkills::default())?;
    /// assert_eq!(explained.decision.effect, Effect::Allow);
    /// let skill = WithSkills::acting_for("csv-summary");
    /// let explained = metier.explain("run_script", &["scripts/summarise.sh"], &skill)?;
    /// assert_eq!(explained.decision.effect, Effect::Ask);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(
        &self,
        tool: &str,
        args: &[impl AsRef<str>],
        skills: &WithSkills,
    ) -> Result<Explanation> {
        let args: Vec<String> = args.iter().map(|word| word.as_ref().to_owned()).collect();
        let scan = self.skills();
        let guard = self.guard(&scan)?;
        let permission = Permission::named(tool)?;
        let (named, with) = skills.entries(&scan)?;
        let (subject, entry) = self.subject(&args, &permission, named, &scan, &guard)?;
        let mut request = Request::new(permission, Vec::from_iter(subject)).by(Invoker::Model);
        let known = |entry: &Entry| loaded_skill(entry, &guard.policy, &guard.trusted);
        let mut loaded: Vec<_> = with.into_iter().map(known).collect();
        if let Some(entry) = entry {
            let skill = acting_skill(entry, &guard.trusted).map_err(|error| {
                let message = format!("the content of {} cannot be verified: {error}", entry.id());
                Error::failed("no-digest", message).with_help(error.help())
            })?;
            request = request.acting_for(skill);
            if loaded.iter().all(|skill| skill.id != entry.id()) {
                loaded.push(known(entry));
            }
        }
        let situation = RequestContext { loaded: &loaded, memory: &guard.answers, now: guard.now };
        let decided = ScriptDecision::explain(&guard.policy, request, &situation);
        let (request, mut decision) = (decided.request().clone(), decided.decision().clone());
        let network =
            decided.network_decision().filter(|_| decision.effect > Effect::Deny).cloned();
        if let Some(network) = network.as_ref().filter(|it| it.effect < decision.effect) {
            // One question is asked about both.
            (decision.effect, decision.reason) = (network.effect, network.reason.clone());
            decision.waiver = None;
        }
        let did_you_mean = match &request.permission {
            Permission::Other(_) => {
                let ours: Vec<Permission> = Permission::ours().collect();
                nearest(tool, ours.iter().map(Permission::as_str)).map(str::to_owned)
            }
            _ => None,
        };
        let (help, digest) = (decision.help(), decided.digest());
        Ok(Explanation { decision, network, help, digest, request, did_you_mean })
    }

    /// The tools, and what the policy says about each here, with these skills.
    pub fn tool_rules(&self, skills: &WithSkills) -> Result<Vec<ToolRule>> {
        let scan = self.skills();
        let guard = self.guard(&scan)?;
        let (entry, with) = skills.entries(&scan)?;
        let known = |entry: &Entry| loaded_skill(entry, &guard.policy, &guard.trusted);
        let loaded: Vec<_> = with.into_iter().map(known).collect();
        let situation = RequestContext { loaded: &loaded, memory: &guard.answers, now: guard.now };
        let workspace = absolute(&self.workspace())?;
        let mut rules = Vec::new();
        for permission in Permission::ours() {
            let subjects = match &permission {
                Permission::ReadFile | Permission::ListDir | Permission::Grep => {
                    vec![Subject::Path(workspace.clone())]
                }
                // A plain file in it: no tool changes the workspace itself.
                Permission::WriteFile | Permission::DeleteFile => {
                    vec![Subject::Path(absolute(&self.workspace().join("file"))?)]
                }
                Permission::LoadSkill => {
                    entry.map(|entry| Subject::Skill(entry.id())).into_iter().collect()
                }
                _ => Vec::new(),
            };
            let mut request = Request::new(permission.clone(), subjects).by(Invoker::Model);
            if let Some(skill) = entry.and_then(|entry| acting_skill(entry, &guard.trusted).ok()) {
                request = request.acting_for(skill);
            }
            let decision = guard.policy.decide(&request, &situation);
            let deciding = decision.deciding();
            let ceiling = deciding.and_then(|by| by.ceiling.as_ref());
            rules.push(ToolRule {
                name: permission.to_string(),
                risk: permission.risk().to_string(),
                effect: decision.effect,
                reason: deciding.map_or_else(String::new, |by| by.because.clone()),
                ceiling: ceiling.map(|refusal| refusal.skill.clone()),
                request: request.digest(),
            });
        }
        Ok(rules)
    }

    /// What the request is about, and the skill that it is for.
    fn subject<'s>(
        &self,
        args: &[String],
        permission: &Permission,
        named: Option<&'s Entry>,
        scan: &'s Scan,
        guard: &Guard,
    ) -> Result<(Option<Subject>, Option<&'s Entry>)> {
        let subject = match permission {
            Permission::LoadSkill => {
                let entry = match (args.first(), named) {
                    (Some(name), _) => find(name, scan)?,
                    (None, Some(entry)) => entry,
                    (None, None) => return Err(missing("a skill", "name the skill to load")),
                };
                return Ok((Some(Subject::Skill(entry.id())), Some(entry)));
            }
            Permission::RunScript | Permission::ScriptNetwork => {
                let Some(entry) = named else {
                    let help = "name the skill with --skill, and the script's path in it";
                    return Err(missing("a skill", help));
                };
                let Some((script, rest)) = args.split_first() else {
                    let help = "name it by its path in the skill, such as scripts/build.sh";
                    return Err(missing("a script", help));
                };
                Subject::script(entry.id(), script_path(script)?, rest.to_vec())?
            }
            Permission::ReadFile
            | Permission::ListDir
            | Permission::Grep
            | Permission::WriteFile
            | Permission::DeleteFile => {
                let [path] = args else {
                    return Err(missing("one path", "name one file or directory"));
                };
                Subject::Path(absolute(&real_path(&self.typed_path(path)))?)
            }
            _ if args.is_empty() => return Ok((None, named)),
            _ => subject_of(permission, args, guard.policy.places())?,
        };
        Ok((Some(subject), named))
    }

    /// A path as it was typed: `~/` may come from a quoted argument.
    pub(crate) fn typed_path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        match (path.strip_prefix("~"), self.home()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => self.base_dir().join(path),
        }
    }
}

/// A script's path, checked as text.
pub(crate) fn script_path(text: &str) -> Result<RelPath> {
    RelPath::new(text)
        .map_err(|fault| Error::usage(format!("`{text}` is not a path in a skill: {fault}")))
}

fn missing(what: &str, help: &str) -> Error {
    Error::usage(format!("the request needs {what}")).with_help(help)
}
