//! Changing one configuration file as text, under a lock: a skill is switched on or off.
//! Comments and the rest of the file stay as they are.

use metier_config::{ConfigError, MAX_CONFIG_BYTES, Scope, set_skill_enabled};
use metier_fs::{UpdateError, update_file};

use crate::error::{Error, Result};
use crate::open::Metier;

impl Metier {
    /// Switches the skill `id` on or off in the file of `scope`; gives whether the file changed. The
    /// other file may disagree: what counts in the end are the merged settings of a runtime that is
    /// opened afterwards.
    pub fn switch_skill(&self, scope: Scope, id: &str, enabled: bool) -> Result<bool> {
        self.edit_config(scope, |text, file| set_skill_enabled(text, file, scope, id, enabled))
    }

    /// The file in which the skill `id` has to be switched on to be used; `None` for one that is on. Where both files
    /// switch it off it is the project's, and the user's afterwards.
    pub fn switched_off_in(&self, id: &str) -> Option<Scope> {
        if self.settings().is_skill_enabled(id) {
            return None;
        }
        let name = id.split_once(':').map_or(id, |(_, name)| name);
        let options = self.settings().scan_options();
        let mut switches = options.switches.iter();
        let is_projects = switches.any(|it| (it.key == id || it.key == name) && it.off_by_project);
        Some(if is_projects { Scope::Project } else { Scope::User })
    }

    /// Changes the text of the configuration file of `scope` under a lock; gives whether it changed.
    pub(crate) fn edit_config(
        &self,
        scope: Scope,
        change: impl FnOnce(&str, &str) -> std::result::Result<String, Vec<ConfigError>>,
    ) -> Result<bool> {
        let file = self.config_target(scope)?;
        let shown = file.to_string_lossy().into_owned();
        let unreadable = |reason: String| {
            let message = format!("the configuration {shown} cannot be read: {reason}");
            Error::failed("config-unreadable", message)
                .with_help("fix the file or move it away; it was not changed")
        };
        let edit = |before: Option<Vec<u8>>| {
            let is_new = before.is_none();
            let before = String::from_utf8(before.unwrap_or_else(|| b"{}".to_vec()))
                .map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
            let mut after = change(&before, &shown).map_err(Error::config)?;
            if is_new {
                after.push('\n');
            }
            Ok(after.into_bytes())
        };
        update_file(&file, MAX_CONFIG_BYTES as u64, edit).map_err(|error| match error {
            UpdateError::Refused(error) => error,
            UpdateError::Read(error) => unreadable(error.to_string()),
            UpdateError::Busy(lock) => {
                let message = format!("another process has been changing {shown} for too long");
                Error::failed("config-busy", message)
                    .with_help(format!("try again; the process holds {}", lock.display()))
            }
            UpdateError::Write(error) => {
                Error::failed("not-written", format!("{shown} cannot be written: {error}"))
                    .with_help("it is as it was; check the permissions and the free space there")
            }
            _ => Error::failed("internal", format!("{shown} was not changed")),
        })
    }
}
