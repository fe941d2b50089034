//! The public items of the crate `metier`, for the snapshot `docs/public-api.txt`.
//!
//! `source.rs` reads our crates into module trees, `resolve.rs` follows a re-export to the item it
//! means, `list.rs` walks what is public, `render.rs` writes a signature on one line. It works on the
//! source alone, so that it needs neither nightly Rust nor a build. What a macro makes is not seen: a
//! re-export of it is listed as `pub use`, like one of a crate that is not ours.

mod list;
mod render;
mod resolve;
mod source;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use self::source::{Crate, Crates};
use crate::workspace::Workspace;

/// The crate whose items are listed.
const FACADE: &str = "metier";

/// The text of `docs/public-api.txt`.
pub(crate) fn snapshot(workspace: &Workspace) -> Result<String> {
    let crates = load(workspace)?;
    let lines = list::public_items(&crates, FACADE);
    let mut text =
        format!("# The public items of the crate `{FACADE}`, written by `cargo xtask gen`.\n");
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

fn load(workspace: &Workspace) -> Result<Crates> {
    let metadata = workspace.metadata()?;
    let mut crates = Crates::default();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let Some(root) = library_root(package) else {
            continue;
        };
        let name = package["name"].as_str().unwrap_or_default().replace('-', "_");
        let read = |path: &std::path::Path| fs::read_to_string(path).ok();
        let source =
            Crate::read(&root, &read).with_context(|| format!("cannot read the crate `{name}`"))?;
        crates.insert(name, source);
    }
    Ok(crates)
}

/// The `lib.rs` of a package that has a library.
fn library_root(package: &Value) -> Option<PathBuf> {
    let targets = package["targets"].as_array()?;
    let is_library = |target: &&Value| {
        target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "lib"))
    };
    let library = targets.iter().find(is_library)?;
    library["src_path"].as_str().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facade_of_this_workspace_can_be_listed() {
        let text = snapshot(&Workspace::find().unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert!(lines.contains(&"pub mod metier"), "{text}");
        assert!(lines.iter().all(|line| line.contains("metier")), "{text}");
        assert!(lines.iter().any(|line| line.starts_with("pub fn metier::")), "{text}");
    }
}
