//! A workbench for tests: a temporary workspace with the tools over it.
//!
//! [`Bench::call`] goes the whole way of a call with a policy that allows everything.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use metier_cancel::CancelToken;
use metier_fs::{HeldDir, WorkRoot};
use metier_policy::Effect;
use metier_tools::{
    CallResult, DeleteFile, Grep, ListDir, OutputCap, OutputStore, ReadFile, ResultFilter,
    ToolWorkspace, Toolbox, Touch, Trash, WriteFile,
};
use serde_json::Value;

/// A workspace in a temporary directory, with things outside beside it.
pub(crate) struct Bench {
    _dir: tempfile::TempDir,
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) trash: Arc<Trash>,
    pub(crate) tools: Toolbox,
    pub(crate) tool_workspace: Arc<ToolWorkspace>,
}

#[derive(Default)]
pub(crate) struct MemoryStore(pub(crate) Mutex<Vec<Vec<u8>>>);

impl OutputStore for MemoryStore {
    fn put(&self, bytes: &[u8], hint: &str) -> std::io::Result<String> {
        let mut kept = self.0.lock().unwrap();
        kept.push(bytes.to_vec());
        Ok(format!("{hint}-{}", kept.len()))
    }
}

impl Bench {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::in_dir(tempfile::tempdir().unwrap(), files)
    }

    pub(crate) fn in_dir(dir: tempfile::TempDir, files: &[(&str, &str)]) -> Self {
        let top = dir.path().canonicalize().unwrap();
        let (workspace, outside) = (top.join("workspace"), top.join("outside"));
        std::fs::create_dir_all(&workspace).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("secret"), "secret").unwrap();
        for (path, text) in files {
            put(&workspace.join(path), text);
        }
        let skill = top.join("pdf");
        put(&skill.join("SKILL.md"), "---\nname: pdf\ndescription: d\n---\n# pdf\nneedle\n");
        put(&skill.join(".env"), "KEY=needle");
        let store = Arc::new(MemoryStore::default());
        let tool_workspace = ToolWorkspace::new(WorkRoot::open(&workspace).unwrap())
            .with_skill("pdf", &skill)
            .unwrap();
        let at = Arc::new(tool_workspace);
        let trash = Arc::new(Trash::new(HeldDir::at(&top.join("run/trash"))));
        let kept = Arc::clone(&store) as Arc<dyn OutputStore>;
        let results =
            ResultFilter { cap: OutputCap { chars: 2000 }, store: kept, ..ResultFilter::default() };
        let tools = Toolbox::new()
            .with_results(results)
            .with(ReadFile::new(Arc::clone(&at)))
            .with(ListDir::new(Arc::clone(&at)))
            .with(Grep::new(Arc::clone(&at)))
            .with(WriteFile::new(Arc::clone(&at)))
            .with(DeleteFile::new(Arc::clone(&at), Arc::clone(&trash)));
        #[cfg(feature = "network")]
        let tools = tools.with(metier_tools::NetworkRequest::new(
            metier_tools::NetworkSettings::new(metier_tools::HostList::default()),
        ));
        Self { _dir: dir, workspace, outside, store, trash, tools, tool_workspace: at }
    }

    /// Plans, allows and makes a call.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> CallResult {
        let planned = self.tools.plan(tool, arguments)?;
        let permit = planned.decided(Effect::Allow, "", Arc::new(|_: &Touch| true))?;
        permit.call(&CancelToken::new())
    }

    /// The code of the failure that a call ends in.
    pub(crate) fn code(&self, tool: &str, arguments: Value) -> &'static str {
        match self.call(tool, arguments) {
            Ok(result) => panic!("no failure: {}", result.text),
            Err(failure) => failure.code.as_str(),
        }
    }
}

pub(crate) fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A pipe without a writer: opening it the usual way would block for ever.
#[cfg(unix)]
pub(crate) fn pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo").success());
}
