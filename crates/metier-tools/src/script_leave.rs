//! Whether a script may run, and whether with the network: two requests about one script.
//!
//! The network is open for a script only where a rule about `script_network` says so. Where that rule
//! asks, one question is asked about both; where nothing is said, the script runs without.

use metier_policy::{Decision, Effect, Permission, Policy, Request, Situation};
use metier_sandbox::Network;
use metier_skill::Digest;

/// What the policy says about running a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptLeave {
    run: (Request, Decision),
    /// Nothing where the network stays closed.
    network: Option<(Request, Decision)>,
}

impl ScriptLeave {
    /// Judges a request of `run_script`, and what it would be with the network.
    pub fn judge(policy: &Policy, request: Request, situation: &Situation<'_>) -> Self {
        let mut wider = request.clone();
        wider.permission = Permission::ScriptNetwork;
        let network = policy.decide(&wider, situation);
        let run = policy.decide(&request, situation);
        let is_open = request.permission == Permission::RunScript && network.effect > Effect::Deny;
        Self { run: (request, run), network: is_open.then_some((wider, network)) }
    }

    /// What may be done: the stricter of the two answers.
    pub fn effect(&self) -> Effect {
        let network = self.network.as_ref().map(|(_, decision)| decision.effect);
        network.map_or(self.run.1.effect, |network| network.min(self.run.1.effect))
    }

    /// What the policy says about running it at all.
    pub const fn decision(&self) -> &Decision {
        &self.run.1
    }

    /// The network that it gets if it runs.
    pub const fn network(&self) -> Network {
        if self.network.is_some() { Network::Open } else { Network::Closed }
    }

    /// The requests that somebody has to answer; one answer counts for all of them.
    pub fn asked(&self) -> impl Iterator<Item = &(Request, Decision)> {
        let both = std::iter::once(&self.run).chain(&self.network);
        let may_be_asked = self.run.1.effect > Effect::Deny;
        both.filter(move |(_, decision)| may_be_asked && decision.effect == Effect::Ask)
    }

    /// The digest that an approval names. With the network it is another request: an approval of the
    /// script alone does not open it.
    pub fn digest(&self) -> Digest {
        self.network.as_ref().map_or_else(|| self.run.0.digest(), |(request, _)| request.digest())
    }

    /// Why, in sentences: of the answers that count.
    pub fn sentences(&self) -> Vec<String> {
        let both = std::iter::once(&self.run).chain(&self.network);
        let counts = both.filter(|(_, decision)| decision.effect == self.effect());
        counts.flat_map(|(_, decision)| decision.sentences()).collect()
    }
}
