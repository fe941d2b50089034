//! Whether a script may run, and whether it gets the network: two requests about one script.
//!
//! A script gets the network only where a rule about `script_network` allows or asks. Where that rule
//! asks, one prompt covers both requests; without such a rule the script runs offline.

use metier_policy::{Effect, Permission, Policy, PolicyDecision, Request, RequestContext};
use metier_sandbox::NetworkAccess;
use metier_skill::Digest;

/// The policy's decision about running a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptDecision {
    run: (Request, PolicyDecision),
    /// `None` where the network stays closed.
    network: Option<(Request, PolicyDecision)>,
}

impl ScriptDecision {
    /// Decides about a request of `run_script`, and about the same with the network.
    pub fn judge(policy: &Policy, request: Request, situation: &RequestContext<'_>) -> Self {
        Self::judge_by(request, |request| policy.decide(request, situation))
    }

    /// The same, with the rules that were overruled.
    pub fn explain(policy: &Policy, request: Request, situation: &RequestContext<'_>) -> Self {
        Self::judge_by(request, |request| policy.explain(request, situation))
    }

    fn judge_by(request: Request, decide: impl Fn(&Request) -> PolicyDecision) -> Self {
        let run = decide(&request);
        let network = (request.permission == Permission::RunScript).then(|| {
            let wider = Request { permission: Permission::ScriptNetwork, ..request.clone() };
            let decision = decide(&wider);
            (wider, decision)
        });
        let network = network.filter(|(_, decision)| decision.effect > Effect::Deny);
        Self { run: (request, run), network }
    }

    /// The decision about the network, where it is not closed.
    pub fn network_decision(&self) -> Option<&PolicyDecision> {
        self.network.as_ref().map(|(_, decision)| decision)
    }

    /// The request of `run_script`.
    pub const fn request(&self) -> &Request {
        &self.run.0
    }

    /// The stricter of the two effects.
    pub fn effect(&self) -> Effect {
        let network = self.network.as_ref().map(|(_, decision)| decision.effect);
        network.map_or(self.run.1.effect, |network| network.min(self.run.1.effect))
    }

    /// The decision about running the script at all.
    pub const fn decision(&self) -> &PolicyDecision {
        &self.run.1
    }

    /// The network that it gets if it runs.
    pub const fn network(&self) -> NetworkAccess {
        if self.network.is_some() { NetworkAccess::Open } else { NetworkAccess::Closed }
    }

    /// The requests that need an answer; one answer applies to all of them.
    pub fn asked(&self) -> impl Iterator<Item = &(Request, PolicyDecision)> {
        let both = std::iter::once(&self.run).chain(&self.network);
        let may_be_asked = self.run.1.effect > Effect::Deny;
        both.filter(move |(_, decision)| may_be_asked && decision.effect == Effect::Ask)
    }

    /// The digest that an approval names. With the network it is another request: an approval of the
    /// script alone does not open it.
    pub fn digest(&self) -> Digest {
        self.network.as_ref().map_or_else(|| self.run.0.digest(), |(request, _)| request.digest())
    }

    /// Why, from the decisions that have the final effect. An open network is always mentioned.
    pub fn reason(&self) -> String {
        let is_open = self.network.is_some() && self.effect() > Effect::Deny;
        let open = is_open.then(|| "it runs with the network open".to_owned());
        let reasons = self.counting().map(|decision| decision.reason.clone());
        open.into_iter().chain(reasons).collect::<Vec<_>>().join("; ")
    }

    /// What each layer says, for the record.
    pub fn layer_sentences(&self) -> Vec<String> {
        self.counting().flat_map(PolicyDecision::layer_sentences).collect()
    }

    /// The decisions that have the final effect.
    fn counting(&self) -> impl Iterator<Item = &PolicyDecision> {
        let both = std::iter::once(&self.run).chain(&self.network).map(|(_, decision)| decision);
        both.filter(|decision| decision.effect == self.effect())
    }
}
