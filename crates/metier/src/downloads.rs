//! What downloads of sources get of this machine.
//! That is where Docker keeps passwords, and who judges hosts.

use std::path::PathBuf;
use std::sync::Arc;

use metier_pack::{Download, PlaceRole, SourceDenial, SourcePlace, SourceVerdict};

use crate::open::Metier;

impl Metier {
    /// Fetches archives at URLs, lists of hosts and artifacts of registries. A host that a source leads to may
    /// be one of which no rule says anything: who allowed the source has allowed it to lead there. One that a
    /// rule denies, or that a closed list does not have, is not reached.
    pub(crate) fn download(&self) -> Download {
        let policy = self.settings().sources.clone();
        let judge = move |place: &SourcePlace, role: PlaceRole| match policy.judge_place(place) {
            SourceVerdict::Denied(denial) => {
                // A list has what people call a registry, and not each of its servers.
                let is_named = matches!(denial, SourceDenial::Pattern { .. });
                if role == PlaceRole::PartOfSource && !is_named {
                    return Ok(());
                }
                Err(format!("{} {denial}", place.host.as_deref().unwrap_or_default()))
            }
            SourceVerdict::Allowed | SourceVerdict::Ask => Ok(()),
        };
        Download::new(Arc::new(judge)).with_docker_folder(self.docker_folder())
    }

    /// The folder that Docker reads, as Docker finds it.
    fn docker_folder(&self) -> Option<PathBuf> {
        let environment = self.environment();
        let named = environment.variable("DOCKER_CONFIG").map(PathBuf::from);
        named.or_else(|| Some(environment.home()?.join(".docker")))
    }
}
