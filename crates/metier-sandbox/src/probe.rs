//! What this machine can hold: for each tier a child that tries forbidden acts and must fail.
//!
//! Version numbers and "it is installed" say little: user namespaces may be switched off by a
//! setting, Landlock by a boot parameter, either by a container. So the real helper runs, and in
//! place of a program it tries the acts of [`ProbeAct`].

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::tier::Tier;

/// What the probe child is pointed at.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Targets {
    /// A file outside of its roots.
    pub(crate) secret: PathBuf,
    /// The process that asked.
    pub(crate) parent: u32,
    /// A port on loopback on which the parent listens.
    pub(crate) port: u16,
}

/// An act that is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeAct {
    /// Writing in the working directory. It must succeed, or the failures prove nothing.
    WriteWorkDir,
    /// Reading a file outside.
    ReadOutside,
    /// Writing a file outside.
    WriteOutside,
    /// Changing the mode of a file outside.
    ChangeOutside,
    /// Reading the environment of the parent.
    ReadParent,
    /// Sending a signal to the parent.
    SignalParent,
    /// Connecting to loopback.
    ConnectTcp,
    /// Making a socket for datagrams.
    SendUdp,
    /// Making a socket of the kind that agents and container engines listen on.
    UnixSocket,
    /// Entering a new user namespace.
    NewNamespace,
    /// Being traced.
    Trace,
}

impl ProbeAct {
    const fn says(self) -> &'static str {
        match self {
            Self::WriteWorkDir => "write in its working directory",
            Self::ReadOutside => "read a file outside",
            Self::WriteOutside => "write a file outside",
            Self::ChangeOutside => "change the mode of a file outside",
            Self::ReadParent => "read the environment of its parent",
            Self::SignalParent => "send a signal to its parent",
            Self::ConnectTcp => "connect to a port",
            Self::SendUdp => "make a datagram socket",
            Self::UnixSocket => "make a local socket",
            Self::NewNamespace => "enter a new namespace",
            Self::Trace => "use ptrace",
        }
    }

    /// Older kernels let signals out of Landlock; that alone does not cost the tier.
    const fn is_required(self, tier: Tier) -> bool {
        !matches!((self, tier), (Self::SignalParent, Tier::Medium))
    }
}

/// What came of an act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeAttempt {
    /// The act.
    pub act: ProbeAct,
    /// Why it failed; none when it succeeded.
    pub error: Option<String>,
}

/// A feature of this machine, for `metier doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxFeature {
    /// Its name.
    pub name: &'static str,
    /// Whether it is there and works.
    pub present: bool,
    /// What was seen, or why not.
    pub detail: String,
}

/// One tier on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TierProbe {
    /// The tier.
    pub tier: Tier,
    /// Why it does not hold here; none when it does.
    pub missing: Option<String>,
    /// What was tried.
    pub attempts: Vec<ProbeAttempt>,
}

/// What this machine can hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxProbe {
    /// The best tier that holds.
    pub best: Tier,
    /// Every tier that was tried, strongest first.
    pub tiers: Vec<TierProbe>,
    /// What they are made of.
    pub features: Vec<SandboxFeature>,
}

impl SandboxProbe {
    /// Tries the tiers with this helper. Files are made below `scratch` and removed again.
    pub fn run(helper: &Path, scratch: &Path) -> Result<Self, Error> {
        crate::platform::probe(helper, scratch)
    }

    /// The tier to run with, or why nothing may run: `least` is the least that the user accepts.
    pub fn tier_for(&self, least: Tier) -> Result<Tier, Error> {
        if self.best >= least {
            return Ok(self.best);
        }
        let missing = self.tiers.iter().filter(|probe| probe.tier <= least.max(Tier::Medium));
        let missing: Vec<String> = missing
            .filter_map(|probe| Some(format!("{}: {}", probe.tier, probe.missing.as_ref()?)))
            .collect();
        let missing = if missing.is_empty() {
            "no other tier exists on this system".to_owned()
        } else {
            missing.join("; ")
        };
        Err(Error::TierTooLow { best: self.best, least, missing })
    }
}

impl TierProbe {
    /// Judges the attempts of a tier: the one allowed act succeeded, no forbidden one did.
    pub(crate) fn judge(tier: Tier, attempts: Vec<ProbeAttempt>) -> Self {
        let failed = |attempt: &&ProbeAttempt| {
            let allowed = attempt.act == ProbeAct::WriteWorkDir;
            attempt.act.is_required(tier) && allowed != attempt.error.is_none()
        };
        let missing = match attempts.iter().find(failed) {
            _ if attempts.is_empty() => Some("the probe printed nothing".to_owned()),
            Some(ProbeAttempt { act: ProbeAct::WriteWorkDir, error }) => {
                let error = error.as_deref().unwrap_or_default();
                Some(format!("a child could not {}: {error}", ProbeAct::WriteWorkDir.says()))
            }
            Some(attempt) => Some(format!("a child could {}", attempt.act.says())),
            None => None,
        };
        Self { tier, missing, attempts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(succeeds: &[ProbeAct]) -> Vec<ProbeAttempt> {
        [
            ProbeAct::WriteWorkDir,
            ProbeAct::ReadOutside,
            ProbeAct::SignalParent,
            ProbeAct::ConnectTcp,
        ]
        .map(|act| {
            let error = (!succeeds.contains(&act)).then(|| "no".to_owned());
            ProbeAttempt { act, error }
        })
        .to_vec()
    }

    fn missing(tier: Tier, succeeds: &[ProbeAct]) -> Option<String> {
        TierProbe::judge(tier, attempts(succeeds)).missing
    }

    #[test]
    fn a_tier_holds_when_every_forbidden_act_failed_and_the_allowed_one_did_not() {
        assert_eq!(missing(Tier::Strong, &[ProbeAct::WriteWorkDir]), None);
        let read = [ProbeAct::WriteWorkDir, ProbeAct::ReadOutside];
        assert_eq!(
            missing(Tier::Medium, &read).as_deref(),
            Some("a child could read a file outside")
        );
    }

    #[test]
    fn a_probe_in_which_nothing_works_proves_nothing() {
        assert!(missing(Tier::Strong, &[]).is_some());
        assert!(TierProbe::judge(Tier::Strong, Vec::new()).missing.is_some());
    }

    #[test]
    fn an_old_kernel_that_lets_signals_out_keeps_the_medium_tier_and_not_the_strong_one() {
        let acts = [ProbeAct::WriteWorkDir, ProbeAct::SignalParent];
        assert_eq!(missing(Tier::Medium, &acts), None);
        assert!(missing(Tier::Strong, &acts).is_some());
    }

    #[test]
    fn below_the_least_tier_the_refusal_names_what_is_missing_and_the_override() {
        let medium = TierProbe::judge(Tier::Medium, attempts(&[]));
        let probe = SandboxProbe { best: Tier::None, tiers: vec![medium], features: Vec::new() };
        assert_eq!(probe.tier_for(Tier::None).ok(), Some(Tier::None));
        let error = probe.tier_for(Tier::Medium).expect_err("refused");
        assert!(error.to_string().contains("could not write in its working directory"));
        assert!(error.hint().contains("execution.min_tier"));
    }
}
