//! The fetcher for everything that comes over our own HTTP client.
//! It only hands each kind of source to its module.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_net::WebTimes;

use super::http::{DownloadSettings, FetchWatch, PlaceJudge};
use super::{Fetch, FetchProgress, FetchWanted, Fetched, https, oci, well_known};
use crate::error::PackError;
use crate::limits::PackLimits;
use crate::source::InstallSource;

/// Fetches archives at URLs, lists of hosts, and artifacts of registries.
#[derive(Debug, Clone)]
pub struct Download {
    settings: DownloadSettings,
}

impl Download {
    /// Reaches the hosts that `judge` allows: that of a source, and those it leads to.
    pub fn new(judge: Arc<PlaceJudge>) -> Self {
        Self { settings: DownloadSettings { judge, docker: None, times: WebTimes::default() } }
    }

    /// Passwords of registries are in the `config.json` of this folder.
    #[must_use]
    pub fn with_docker_folder(mut self, folder: Option<PathBuf>) -> Self {
        self.settings.docker = folder;
        self
    }
}

impl Fetch for Download {
    fn fetch(
        &self,
        source: &InstallSource,
        wanted: FetchWanted<'_>,
        into: &Path,
        limits: &PackLimits,
        progress: &dyn FetchProgress,
        cancel: &CancelToken,
    ) -> Result<Fetched, PackError> {
        let (settings, pinned) = (&self.settings, wanted.pinned);
        let watch = FetchWatch { progress, cancel };
        match source {
            InstallSource::Https(source) => {
                Ok(https::fetch(settings, source, pinned, into, limits, watch)?)
            }
            InstallSource::Oci(source) => {
                Ok(oci::fetch(settings, source, pinned, into, limits, watch)?)
            }
            // The lists of two days differ where one skill was added. What is locked is compared skill by
            // skill when it is installed.
            InstallSource::WellKnown(source) => {
                well_known::fetch(settings, source, wanted.skills, into, limits, watch)
            }
            InstallSource::Local(_) | InstallSource::Git(_) => Err(PackError::UnsupportedSource {
                source: source.recorded(),
                kind: source.kind().noun(),
            }),
        }
    }
}
