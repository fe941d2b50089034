//! The policy of this working directory: the configuration's rules, the places, the user's word.
//!
//! Every command that decides about a request gets its policy here, so that all decide alike.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use metier_config::Scope;
use metier_policy::{
    AbsolutePath, ExampleFault, Invoker, Memory, Places, Policy, PolicyError, TrustedFolders,
    UnixTime,
};
use metier_registry::{Index, Scan};
use metier_tools::ground::{absolute, places_of, real_path};
use metier_tools::{Kept, KeptError, LoadGate};

use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Fault, Result};
use crate::render::safe;

/// What a decision needs, apart from the request.
pub(crate) struct Guard {
    pub(crate) policy: Policy,
    pub(crate) answers: Memory,
    pub(crate) trusted: TrustedFolders,
    pub(crate) now: UnixTime,
    /// Hosts that flags of this run name.
    pub(crate) hosts: Vec<String>,
}

impl Guard {
    /// The policy as loading asks it.
    pub(crate) const fn load_gate<'a>(
        &'a self,
        index: &'a Index,
        invoker: Invoker,
    ) -> LoadGate<'a> {
        LoadGate {
            policy: &self.policy,
            answers: &self.answers,
            trusted: &self.trusted,
            now: self.now,
            invoker,
            index,
        }
    }
}

impl Context {
    /// The policy for what was found.
    pub(crate) fn guard(&self, find: &FindArgs, scan: &Scan) -> Result<Guard> {
        let workspace = self.workspace();
        let roots = self.roots(find);
        let places = places_of(&scan.index, &roots, &workspace, self.user.as_ref());
        let layers = self.settings.policy_layers().map_err(|error| unusable(&error))?;
        self.check_examples()?;
        let mut places = places.map_err(|error| unusable(&error))?;
        for file in self.config_files.iter().filter(|file| file.scope == Scope::Managed) {
            let own = absolute(&real_path(&file.path)).map_err(|error| unusable(&error))?;
            places = places.with_own(own);
        }
        let policy = layers
            .into_iter()
            .fold(Policy::new(places), Policy::with_layer)
            .with_preapproval(self.settings.execution.preapproval)
            .with_longest_memory(self.settings.execution.always);
        let (answers, trusted) = match &self.user {
            Some(user) => {
                let kept = Kept::in_state(&user.state);
                let answers = kept.answers().map_err(|error| not_kept(&error))?;
                (answers, kept.trusted().map_err(|error| not_kept(&error))?)
            }
            None => (Memory::default(), TrustedFolders::default()),
        };
        Ok(Guard { policy, answers, trusted, now: now(), hosts: Vec::new() })
    }

    /// Checks the examples beside the rules. They are judged in a workspace that is the same
    /// wherever the program runs.
    fn check_examples(&self) -> Result<()> {
        let home = self.user.as_ref().and_then(|user| absolute(&user.home).ok());
        let at = |path: &str| AbsolutePath::new(path).map_err(|error| unusable(&error));
        let places = match home {
            Some(home) => {
                let workspace = format!("{}/workspace", home.as_str().trim_end_matches('/'));
                Places::new(at(&workspace)?).with_home(home)
            }
            None => Places::new(at("/workspace")?),
        };
        let failed = self.settings.failed_examples(&places).map_err(|error| unusable(&error))?;
        let faults = failed.iter().map(example_fault).collect();
        CommandError::faulty(faults).map_or(Ok(()), Err)
    }

    /// The user's word: trusted folders and remembered answers.
    pub(crate) fn kept(&self) -> Result<Kept> {
        Ok(Kept::in_state(&self.user_folders()?.state))
    }

    /// Where work happens: the repository, or without one the working directory.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.repository().unwrap_or_else(|| self.working_dir.clone())
    }
}

fn example_fault(failed: &ExampleFault) -> Fault {
    Fault {
        code: "example-failed",
        file: failed.origin.clone(),
        line: failed.line.unwrap_or(1),
        column: 1,
        message: safe(&failed.message()).into_owned(),
        help: Some("change the rules, or what the example expects".to_owned()),
    }
}

/// The time now. A clock before 1970 is at its start.
pub(crate) fn now() -> UnixTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    UnixTime(since.unwrap_or_default().as_secs())
}

/// A time for people, to the minute.
pub(crate) fn time_text(time: UnixTime) -> String {
    let time = UNIX_EPOCH.checked_add(std::time::Duration::from_secs(time.0));
    let text = metier_registry::manage::utc_text(time.unwrap_or(UNIX_EPOCH));
    text.chars().take(16).collect::<String>().replace('T', " ")
}

/// A refusal of the policy's types, for people.
pub(crate) fn unusable(error: &PolicyError) -> CommandError {
    let message = safe(&error.to_string()).into_owned();
    let told = match error {
        PolicyError::BadRule { .. } => CommandError::failed(error.code(), message),
        _ => CommandError { code: error.code(), ..CommandError::usage(message) },
    };
    told.help(error.help())
}

/// A failure to read or write the user's word, for people.
pub(crate) fn not_kept(error: &KeptError) -> CommandError {
    let message = safe(&error.to_string()).into_owned();
    CommandError::failed(error.code(), message).help(safe(&error.help()).into_owned())
}
