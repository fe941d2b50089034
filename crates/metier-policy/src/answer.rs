//! What can be said to an ask, and to which kind of ask it is an answer.
//!
//! Front ends give answers, records keep them; what follows from one is the caller's.

use serde::{Deserialize, Serialize};

use crate::decision::PolicyDecision;
use crate::memory::Lifetime;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Yes, this time.
    Once,
    /// Yes, and do not ask again; the waiter remembers it.
    Always,
    /// The same for so many seconds.
    AlwaysFor(u64),
    /// Yes, and do not ask about this script again, whatever its arguments; for so many seconds, if
    /// given. About anything but a script it is [`Self::Always`].
    AlwaysScript(Option<u64>),
    /// The ceilings that the question names are lifted for the run. The only yes to such a question,
    /// and no answer to any other: what says "once" to everything lifts nothing.
    Lift,
    /// No, with a message for the model, which may be empty.
    Reject(String),
}

impl From<Lifetime> for Answer {
    fn from(lifetime: Lifetime) -> Self {
        match lifetime {
            Lifetime::Unlimited => Self::Always,
            Lifetime::Seconds(seconds) => Self::AlwaysFor(seconds),
        }
    }
}

impl Answer {
    /// Yes to this script whatever its arguments, for this long.
    pub const fn script_for(lifetime: Lifetime) -> Self {
        match lifetime {
            Lifetime::Unlimited => Self::AlwaysScript(None),
            Lifetime::Seconds(seconds) => Self::AlwaysScript(Some(seconds)),
        }
    }

    /// How long to remember it; `None` if not at all.
    pub const fn lifetime(&self) -> Option<Lifetime> {
        match self {
            Self::Always | Self::AlwaysScript(None) => Some(Lifetime::Unlimited),
            Self::AlwaysFor(seconds) | Self::AlwaysScript(Some(seconds)) => {
                Some(Lifetime::Seconds(*seconds))
            }
            Self::Once | Self::Lift | Self::Reject(_) => None,
        }
    }

    /// Whether the request may be done.
    pub const fn permits(&self) -> bool {
        matches!(self, Self::Once | Self::Always | Self::AlwaysFor(_) | Self::AlwaysScript(_))
    }

    /// Whether it can be the answer to a question about this decision.
    pub const fn fits(&self, decision: &PolicyDecision) -> bool {
        match self {
            Self::Reject(_) => true,
            Self::Lift => decision.asks_to_lift(),
            Self::Once | Self::Always | Self::AlwaysFor(_) | Self::AlwaysScript(_) => {
                !decision.asks_to_lift()
            }
        }
    }
}
