//! What downloads of sources get of this machine: where Docker keeps passwords, and who judges hosts.

use std::path::PathBuf;
use std::sync::Arc;

use metier_pack::{Download, PlaceJudge};

use crate::open::Metier;

impl Metier {
    /// Fetches archives at URLs, lists of hosts and artifacts of registries; `judge` is asked about each host.
    pub(crate) fn download(&self, judge: Arc<PlaceJudge>) -> Download {
        Download::new(judge).with_docker_folder(self.docker_folder())
    }

    /// The folder that Docker reads, as Docker finds it.
    fn docker_folder(&self) -> Option<PathBuf> {
        let environment = self.environment();
        let named = environment.variable("DOCKER_CONFIG").map(PathBuf::from);
        named.or_else(|| Some(environment.home()?.join(".docker")))
    }
}
