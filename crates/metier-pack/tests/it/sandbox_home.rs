//! A home of its own for each test: a project, a user's state, and a snapshot of everything in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use metier_pack::{InstallRequest, InstallTarget, PackError, PlanView};
use metier_skill::Source;

pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("dir");
        for name in ["project/.agent/skills/mine", "state", "outside"] {
            fs::create_dir_all(dir.path().join(name)).expect("dirs");
        }
        let home = Self { dir };
        home.write("outside/secret", "secret");
        home.write(
            "project/.agent/skills/mine/SKILL.md",
            "---\nname: mine\ndescription: Mine.\n---\n",
        );
        home
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    pub(crate) fn write(&self, below: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().expect("a parent")).expect("dirs");
        fs::write(&path, bytes).expect("writes");
        path
    }

    pub(crate) fn read(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).expect("reads")
    }

    pub(crate) fn target(&self) -> Result<InstallTarget, PackError> {
        let project = self.path("project");
        let root = project.join(".agent/skills");
        InstallTarget::new(&root, &project, Source::Project, &self.path("state"))
    }

    pub(crate) fn request(&self, source: &str) -> InstallRequest {
        InstallRequest::new(source, self.dir.path())
    }

    pub(crate) fn install(&self, source: &str) -> Result<PlanView, PackError> {
        self.target()?.plan_install(&self.request(source))?.carry_out()
    }

    /// Everything there is: paths, kinds, modes and bytes.
    pub(crate) fn snapshot(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        snapshot(self.dir.path(), "", &mut all);
        all
    }
}

fn snapshot(top: &Path, below: &str, all: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(top.join(below)).expect("lists") {
        let entry = entry.expect("an entry");
        let path = format!("{below}/{}", entry.file_name().to_string_lossy())
            .trim_start_matches('/')
            .to_owned();
        let data = entry.metadata().expect("there");
        #[cfg(unix)]
        let mode = std::os::unix::fs::PermissionsExt::mode(&data.permissions());
        #[cfg(not(unix))]
        let mode = 0;
        if data.is_dir() {
            all.insert(path.clone(), format!("{mode:o}"));
            snapshot(top, &path, all);
        } else if data.is_symlink() {
            all.insert(
                path,
                format!("-> {}", fs::read_link(entry.path()).expect("a link").display()),
            );
        } else {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            all.insert(path, format!("{mode:o} {}", metier_skill::Digest::of(&bytes)));
        }
    }
}
