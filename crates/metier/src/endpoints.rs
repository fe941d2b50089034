//! The endpoints that are known by a name, as they stand here: where each is, and whether its key is
//! there. Nothing is sent, and no program that prints a key is run.

use metier_config::ModelSettings;
use metier_model::{NAMED_ENDPOINTS, NamedEndpoint, Provider};
use serde::Serialize;

use crate::key::reason_to_withhold;
use crate::open::Metier;

/// An endpoint, and what the user's settings and environment say about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EndpointStatus {
    /// The word before the colon in `NAME:MODEL`.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Where requests go.
    pub base_url: String,
    /// The variable that holds the key; nothing where it needs none, or where a program prints it.
    pub key_env: Option<String>,
    /// Whether there is a key.
    pub key: KeyState,
    /// Whether it is the one of the settings.
    pub configured: bool,
}

/// Whether there is a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// The variable is set.
    Set,
    /// The variable is not set.
    Missing,
    /// A program prints it (`model.key_command`).
    Command,
    /// None is needed, or none is sent to an address of one's own.
    NotNeeded,
}

impl Metier {
    /// The endpoints that `--model NAME:MODEL` and the settings can name.
    ///
    /// ```
    /// # use metier::{Environment, KeyState, Metier};
    /// # let dir = tempfile::tempdir()?;
    /// let environment = Environment::empty().with("OPENAI_API_KEY", "…");
    /// let metier = Metier::builder(&dir).without_user_folders().environment(environment).open()?;
    /// let endpoints = metier.endpoints();
    /// let openai = endpoints.iter().find(|endpoint| endpoint.name == "openai").unwrap();
    /// assert_eq!(openai.key, KeyState::Set);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn endpoints(&self) -> Vec<EndpointStatus> {
        NAMED_ENDPOINTS.iter().map(|named| self.endpoint(named)).collect()
    }

    fn endpoint(&self, named: &'static NamedEndpoint) -> EndpointStatus {
        let settings = &self.settings().model;
        let own = Some(settings).filter(|it| it.provider == Provider::Endpoint(named));
        let is_withheld = reason_to_withhold(own, named, self.environment()).is_some();
        let usual = named.key_env.filter(|_| !is_withheld);
        let key_env = own.and_then(|own| own.key_env.as_deref()).or(usual);
        let has_command = own.is_some_and(|own| own.key_command.is_some());
        let is_set =
            |name: &str| self.environment().text(name).is_some_and(|it| !it.trim().is_empty());
        let key = match key_env {
            _ if has_command => KeyState::Command,
            Some(name) if is_set(name) => KeyState::Set,
            Some(_) => KeyState::Missing,
            None => KeyState::NotNeeded,
        };
        EndpointStatus {
            name: named.name,
            about: named.about,
            base_url: self.address_of(named, own).unwrap_or_else(|| named.base_url.to_owned()),
            key_env: key_env.filter(|_| !has_command).map(str::to_owned),
            key,
            configured: own.is_some(),
        }
    }

    /// The address that the user gave an endpoint: in the settings, or in the environment
    /// (`OPENAI_BASE_URL`).
    pub(crate) fn address_of(
        &self,
        named: &NamedEndpoint,
        settings: Option<&ModelSettings>,
    ) -> Option<String> {
        let configured = settings.and_then(|settings| settings.base_url.clone());
        configured.or_else(|| {
            let address = self.environment().text(named.base_url_env?)?;
            Some(address.trim().to_owned()).filter(|address| !address.is_empty())
        })
    }
}
