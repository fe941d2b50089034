//! The policy of this working directory: the settings' rules, the places, trust and remembered
//! answers.
//!
//! Everything that decides about a request gets its policy here, so that all ways in decide alike.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use metier_config::Scope;
use metier_policy::{
    AbsolutePath, AnswerMemory, Effect, Invoker, Permission, PlacedRule, Policy, PolicyPlaces,
    Rule, RuleLayer, RuleSource, TrustedFolders, UnixTime,
};
use metier_registry::{Index, Scan};
use metier_tools::policy_facts::{absolute, places_of, real_path};
use metier_tools::{LoadGate, PolicyStore};

use crate::error::{Error, ErrorKind, Result};
use crate::open::Metier;

/// What a decision needs, apart from the request.
#[derive(Clone)]
pub(crate) struct Guard {
    pub(crate) policy: Arc<Policy>,
    pub(crate) answers: AnswerMemory,
    pub(crate) trusted: TrustedFolders,
    pub(crate) now: UnixTime,
    /// Hosts that rules of this run name.
    pub(crate) hosts: Vec<String>,
}

/// Rules for one run, as they are typed: `PERMISSION` or `PERMISSION:PATTERN`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunRules {
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    /// Names of tools that the caller brings: rules may be about them too.
    pub(crate) own_tools: Vec<String>,
}

impl RunRules {
    /// These rules, with what was denied when a run began. A tool that it denied need not be here any
    /// more.
    pub(crate) fn with_denied(&self, denied: &[String]) -> Self {
        let mut rules = self.clone();
        rules.own_tools.extend(denied.iter().map(|text| tool_of(text).to_owned()));
        rules.deny.splice(0..0, denied.iter().cloned());
        rules
    }
}

/// The tool that a rule is about.
fn tool_of(text: &str) -> &str {
    text.split_once(':').map_or(text, |(tool, _)| tool)
}

impl Guard {
    /// The policy as loading asks it.
    pub(crate) fn load_gate<'a>(&'a self, index: &'a Index, invoker: Invoker) -> LoadGate<'a> {
        LoadGate {
            policy: &self.policy,
            answers: &self.answers,
            trusted: &self.trusted,
            now: self.now,
            invoker,
            index,
        }
    }

    /// Adds the rules of one run. What the user allows for a run is the user's word, like a rule of
    /// the user's file; what is denied for it holds against every other rule.
    pub(crate) fn with_rules(mut self, rules: &RunRules) -> Result<Self> {
        let layers = [
            (RuleSource::User, "--allow", &rules.allow, Effect::Allow),
            (RuleSource::Run, "--deny", &rules.deny, Effect::Deny),
        ];
        for (source, origin, texts, effect) in layers {
            if texts.is_empty() {
                continue;
            }
            for text in texts {
                check_known(origin, text, &rules.own_tools)?;
            }
            let placed = texts.iter().map(|text| {
                let (permission, pattern) = text.split_once(':').unwrap_or((text, "*"));
                let (permission, pattern) = (permission.to_owned(), pattern.to_owned());
                PlacedRule { rule: Rule { permission, pattern, effect }, line: None }
            });
            let layer = RuleLayer::new(source, origin, placed)
                .map_err(|error| Error { kind: ErrorKind::Usage, ..error.into() })?;
            self.policy = Arc::new(Arc::unwrap_or_clone(self.policy).with_layer(layer));
        }
        self.hosts = rules.allow.iter().filter_map(|text| host(text)).map(str::to_owned).collect();
        Ok(self)
    }
}

/// A rule about a tool that does not exist would change nothing, unnoticed.
fn check_known(flag: &str, text: &str, own_tools: &[String]) -> Result<()> {
    let name = tool_of(text);
    let is_pattern = name.contains(['*', '?']);
    let is_own = own_tools.iter().any(|own| own == name);
    if is_pattern || is_own || !matches!(Permission::named(name), Ok(Permission::Other(_))) {
        return Ok(());
    }
    Err(Error::usage(format!("{flag}: unknown tool `{name}`")).with_help(
        "write load_skill, read_file, list_dir, grep, run_script, run_command, write_file, \
         delete_file, network_request or script_network, optionally followed by `:PATTERN`",
    ))
}

/// The host that a rule is about.
fn host(text: &str) -> Option<&str> {
    let (permission, pattern) = text.split_once(':')?;
    is_network(permission).then_some(pattern)
}

fn is_network(permission: &str) -> bool {
    matches!(permission, "network" | "network_request")
}

impl Metier {
    /// The policy for what was found.
    pub(crate) fn guard(&self, scan: &Scan) -> Result<Guard> {
        let settings = self.settings();
        let mut layers = settings.policy_layers()?;
        layers.extend(self.agent().map(|agent| agent.layers.clone()).unwrap_or_default());
        self.check_examples()?;
        let mut places = places_of(
            &scan.index,
            &self.roots(),
            &self.workspace(),
            self.inner.protected.as_ref(),
        )?;
        // The user's, or a temporary one that is not among the protected folders.
        if self.user_folders().is_none() {
            places = places.with_own(absolute(&real_path(&self.state_dir()?))?);
        }
        for file in self.config_files().iter().filter(|file| file.scope == Scope::Managed) {
            places = places.with_own(absolute(&real_path(&file.path))?);
        }
        let policy = layers
            .into_iter()
            .fold(Policy::new(places), Policy::with_layer)
            .with_preapproval(settings.execution.preapproval)
            .with_longest_memory(settings.execution.always);
        let (answers, trusted) = match self.user_folders() {
            Some(user) => {
                let store = PolicyStore::in_state(&user.state);
                (store.answers()?, store.trusted()?)
            }
            None => (AnswerMemory::default(), TrustedFolders::default()),
        };
        Ok(Guard { policy: Arc::new(policy), answers, trusted, now: now(), hosts: Vec::new() })
    }

    /// Checks the examples beside the rules. They are judged in a workspace that is the same
    /// wherever the program runs.
    fn check_examples(&self) -> Result<()> {
        let home = self.home().and_then(|home| absolute(home).ok());
        let places = match home {
            Some(home) => {
                let workspace = format!("{}/workspace", home.as_str().trim_end_matches('/'));
                PolicyPlaces::new(AbsolutePath::new(&workspace)?).with_home(home)
            }
            None => PolicyPlaces::new(AbsolutePath::new("/workspace")?),
        };
        let failed = self.settings().failed_examples(&places)?;
        Error::examples(&failed).map_or(Ok(()), Err)
    }

    /// Where the user's trust and remembered answers are kept.
    pub(crate) fn policy_store(&self) -> Result<PolicyStore> {
        Ok(PolicyStore::in_state(&self.require_user_folders()?.state))
    }

    /// Hosts that rules of the user or an administrator open.
    pub(crate) fn configured_hosts(&self) -> Vec<String> {
        self.settings().network_hosts().map(str::to_owned).collect()
    }
}

/// The time now. A clock before 1970 is at its start.
pub(crate) fn now() -> UnixTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    UnixTime(since.unwrap_or_default().as_secs())
}
