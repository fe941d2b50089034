//! Requests to install: a program or an agent asks for skills, a person decides.
//!
//! A request is a file of the user's state and no more than a wish: nothing is fetched, looked at or installed
//! because of it. Who approves it goes through the same plan as any installation, and what lands is switched off
//! and not trusted. The id of a request is the digest of what it asks for, so one that was altered is not the one
//! that was filed, and asking twice is asking once.

use std::path::{Path, PathBuf};

use metier_config::Scope;
use metier_fs::{read_bounded, read_dir_names, remove_file, writable_by_others, write_private};
use metier_pack::{InstallPlan, InstallRequest, InstallTarget, PlanView};
use metier_policy::UnixTime;
use metier_skill::text::shell_word;
use metier_skill::{Digest, SkillId, SkillName, Source};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::guard::now;
use crate::open::Metier;

const FOLDER: &str = "install-requests";
const MAX_REQUESTS: usize = 200;
/// The code of a change that counts, and is not finished.
pub(crate) const UNFINISHED: &str = "unfinished";
const MAX_BYTES: u64 = 64 << 10;
/// Characters of a field; what a program writes is shown to a person.
const MAX_CHARS: usize = 2000;
const MAX_SKILLS: usize = 200;
/// Characters of an id: enough for a few hundred requests.
const ID_CHARS: usize = 12;

/// A request to install skills, which waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FiledRequest {
    /// What it is called by.
    pub id: String,
    /// The source, as it was given.
    pub source: String,
    /// Only the skills of these names; all of them when empty.
    pub skills: Vec<String>,
    /// Why, in the words of the program that asks.
    pub reason: String,
    /// Who asks.
    pub by: String,
    /// Where relative paths start.
    pub dir: String,
    /// The project that it is for; nothing outside of one.
    pub project: Option<String>,
    /// When it was filed.
    pub filed_at: UnixTime,
}

impl FiledRequest {
    fn digest_id(&self) -> String {
        let mut parts = vec![
            "metier-install-request/1",
            &self.source,
            &self.reason,
            &self.by,
            &self.dir,
            self.project.as_deref().unwrap_or_default(),
        ];
        parts.extend(self.skills.iter().map(String::as_str));
        let digest = Digest::of_parts(parts.into_iter().map(str::as_bytes)).to_string();
        digest.trim_start_matches("sha256:").chars().take(ID_CHARS).collect()
    }
}

impl Metier {
    /// Files a request to install skills of `source`, for a person to approve. Nothing is looked at or installed.
    ///
    /// ```
    /// # use metier::{Environment, Metier};
    /// # let dir = tempfile::tempdir()?;
    /// # let environment = Environment::empty().with_home(dir.path());
    /// let metier = Metier::builder(&dir).environment(environment).open()?;
    /// let filed = metier.file_install_request("packs/pdf.zip", &[], "to fill the form", "my-agent")?;
    /// assert_eq!(metier.install_requests()?, [filed]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file_install_request(
        &self,
        source: &str,
        skills: &[String],
        reason: &str,
        by: &str,
    ) -> Result<FiledRequest> {
        let too_long = [source, reason, by].iter().any(|text| text.chars().count() > MAX_CHARS);
        let bad_name = skills.iter().any(|name| SkillName::new(name).is_err());
        if source.trim().is_empty() || too_long || bad_name || skills.len() > MAX_SKILLS {
            let message = "a request has a source, names of skills, and short texts";
            return Err(Error::usage(message).with_help(format!(
                "at most {MAX_CHARS} characters in each text, and {MAX_SKILLS} names"
            )));
        }
        let mut request = FiledRequest {
            id: String::new(),
            source: source.to_owned(),
            skills: skills.to_vec(),
            reason: reason.to_owned(),
            by: by.to_owned(),
            dir: self.working_dir().to_string_lossy().into_owned(),
            project: self.repository().map(|top| top.to_string_lossy().into_owned()),
            filed_at: now(),
        };
        request.id = request.digest_id();
        let folder = self.requests_folder()?;
        let others = read_dir_names(&folder).unwrap_or_default();
        let is_new = !others.iter().any(|name| *name == file_name(&request.id));
        if is_new && others.len() >= MAX_REQUESTS {
            let message = format!("{MAX_REQUESTS} install requests wait already");
            return Err(Error::failed("too-many-requests", message)
                .with_help("`metier requests` lists them; approve or reject some"));
        }
        let path = folder.join(file_name(&request.id));
        let unwritten = |error: std::io::Error| {
            Error::failed("not-written", format!("{} cannot be written: {error}", path.display()))
                .with_help("check the permissions and the free space there")
        };
        let bytes = serde_json::to_vec_pretty(&request).map_err(|error| unwritten(error.into()))?;
        write_private(&path, &bytes).map_err(unwritten)?;
        Ok(request)
    }

    /// The requests that wait, oldest first. A file that other accounts can write, or that does not say what its
    /// name says, is none.
    pub fn install_requests(&self) -> Result<Vec<FiledRequest>> {
        let folder = self.requests_folder()?;
        let names = read_dir_names(&folder).unwrap_or_default();
        let mut found: Vec<FiledRequest> =
            names.iter().take(MAX_REQUESTS * 2).filter_map(|name| read(&folder, name)).collect();
        found.sort_by(|a, b| (a.filed_at, &a.id).cmp(&(b.filed_at, &b.id)));
        Ok(found)
    }

    /// The request of this id.
    pub fn filed_request(&self, id: &str) -> Result<FiledRequest> {
        let found = self.install_requests()?.into_iter().find(|request| request.id == id);
        found.ok_or_else(|| {
            Error::failed(
                "request-not-found",
                format!("there is no pending install request `{id}`"),
            )
            .with_help("`metier requests` lists them")
        })
    }

    /// Forgets a request; nothing is installed.
    pub fn reject_install_request(&self, id: &str) -> Result<FiledRequest> {
        let request = self.filed_request(id)?;
        self.forget_request(&request)?;
        Ok(request)
    }

    /// What a request asks for, to be planned with [`Metier::plan_install`]. An error in another project than the
    /// one that it is for.
    pub fn requested_install(&self, request: &FiledRequest) -> Result<InstallRequest> {
        let here = self.repository().map(|top| top.to_string_lossy().into_owned());
        if request.project != here {
            let place = request.project.as_deref().unwrap_or(&request.dir);
            let message = format!("the request `{}` is for {place}", request.id);
            return Err(Error::failed("other-project", message).with_help(format!(
                "metier -C {} requests approve {}",
                shell_word(place),
                shell_word(&request.id)
            )));
        }
        let mut wanted = InstallRequest::new(&request.source, PathBuf::from(&request.dir));
        wanted.skills.clone_from(&request.skills);
        wanted.profile = self.profile();
        Ok(wanted)
    }

    /// Carries out the plan of a request that a person approved. What lands is switched off before it is there,
    /// and is not trusted.
    pub fn carry_out_request(
        &self,
        request: &FiledRequest,
        target: &InstallTarget,
        plan: InstallPlan,
    ) -> Result<PlanView> {
        let (scope, source) = if target.is_users() {
            (Scope::User, Source::User)
        } else {
            (Scope::Project, Source::Project)
        };
        let landing = plan.view().landing();
        let names: Vec<String> = landing.map(|skill| skill.name.clone()).collect();
        let mut switched = Vec::new();
        let mut switch_off = || -> Result<()> {
            for name in &names {
                let Ok(name) = SkillName::new(name) else { continue };
                let id = SkillId { source, name }.to_string();
                if self.switch_skill(scope, &id, false)? {
                    switched.push(id);
                }
            }
            Ok(())
        };
        let done = switch_off().and_then(|()| self.carry_out(plan));
        // One that stopped in the middle is finished by the next command, and lands then.
        if done.as_ref().is_err_and(|error| error.code != UNFINISHED) {
            for id in &switched {
                // What stays switched off is named by `metier list`.
                let _ = self.switch_skill(scope, id, true);
            }
        }
        let done = done?;
        self.forget_request(request)?;
        Ok(done)
    }

    fn forget_request(&self, request: &FiledRequest) -> Result<()> {
        let path = self.requests_folder()?.join(file_name(&request.id));
        remove_file(&path).map_err(|error| {
            Error::failed("not-written", format!("{} cannot be removed: {error}", path.display()))
                .with_help("check the permissions there")
        })
    }

    fn requests_folder(&self) -> Result<PathBuf> {
        Ok(self.require_user_folders()?.state.join(FOLDER))
    }
}

fn file_name(id: &str) -> String {
    format!("{id}.json")
}

fn read(folder: &Path, name: &str) -> Option<FiledRequest> {
    let id = name.strip_suffix(".json")?;
    let path = folder.join(name);
    if writable_by_others(&path).is_some() {
        return None;
    }
    let bytes = read_bounded(&path, MAX_BYTES).ok()?;
    let request: FiledRequest = serde_json::from_slice(&bytes).ok()?;
    let is_it = request.id == id && request.digest_id() == id;
    is_it.then_some(request)
}
