//! The Responses protocol of `OpenAI`: what it wants and what it says. `openai` chooses it.
//! Chat completions are what all other providers speak; this is for models that speak nothing else.

pub(crate) mod reply;
pub(crate) mod request;
