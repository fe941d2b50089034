//! Reaching a host of the network, for every crate that does.
//!
//! | module | owns |
//! |---|---|
//! | `address` | which addresses belong to the public network, and which to a private one |
//! | `resolve` | the addresses of a name ([`Resolver`]) |
//! | `client` | what all our HTTP clients have in common: no proxies, cookies, redirects or compression |
//! | `causes` | why a request failed, without the address that it went to |
//! | `exchange` | what is asked for and what comes ([`WebGet`], [`WebReply`]) |
//! | `download` | one GET, bounded, redirects followed by hand ([`WebClient`]) |
//! | `url_parts` | questions about a URL |
//! | `error` | why nothing came ([`WebError`]) |
//!
//! Which hosts may be reached is the callers' decision. What holds everywhere: a name is resolved once, every
//! address of it is judged, and the connection goes to one of these and no other, because a second lookup
//! could give another address (DNS rebinding).

mod address;
mod causes;
mod client;
mod download;
mod error;
mod exchange;
mod resolve;
mod url_parts;

pub use address::{is_private_network, is_public, may_hand_out_keys};
pub use causes::{causes, is_tls};
pub use client::{client_builder, pinned_client};
pub use download::{HostJudge, WebClient, WebSink};
pub use error::{WebError, WebFault};
pub use exchange::{WebGet, WebReply, WebTimes};
pub use reqwest::Url;
pub use resolve::{Resolver, SystemResolver, resolve};
pub use url_parts::{authority, is_this_machine};
