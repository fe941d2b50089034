//! One of our crates as a tree of modules with their items.
//!
//! It follows `mod x;` to the file, as the compiler does on Unix; modules for tests are left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::syntax::{attributes, is_test_only};

/// Our crates by the name that code uses for them.
pub(super) type Crates = BTreeMap<String, Crate>;

/// How a file is read; `None` when it is not there.
type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// A crate: its modules by their path from the root, which is the empty path.
#[derive(Default)]
pub(super) struct Crate {
    pub(super) modules: BTreeMap<Vec<String>, Vec<syn::Item>>,
}

impl Crate {
    /// Reads the crate whose `lib.rs` is `root`.
    pub(super) fn read(root: &Path, read: Read<'_>) -> Result<Self> {
        let mut source = Self::default();
        let dir = root.parent().context("a crate's root has no parent directory")?;
        let items = parse(root, read)?;
        source.add(Vec::new(), items, &Location { dir: dir.to_owned(), file_dir: dir }, read)?;
        Ok(source)
    }

    fn add(
        &mut self,
        path: Vec<String>,
        items: Vec<syn::Item>,
        location: &Location<'_>,
        read: Read<'_>,
    ) -> Result<()> {
        let mut kept = Vec::new();
        for mut item in items {
            if is_test_only(attributes(&item)) {
                continue;
            }
            if let syn::Item::Mod(module) = &mut item {
                let name = module.ident.to_string();
                let child: Vec<String> = path.iter().cloned().chain([name.clone()]).collect();
                if let Some((_, items)) = module.content.take() {
                    let dir = location.dir.join(&name);
                    let location = Location { dir, file_dir: location.file_dir };
                    self.add(child, items, &location, read)?;
                } else {
                    let file = location.file_of(module, read)?;
                    let file_dir = file.parent().unwrap_or(location.file_dir).to_owned();
                    let is_mod_rs = file.file_name().is_some_and(|it| it == "mod.rs");
                    let dir = if is_mod_rs { file_dir.clone() } else { file.with_extension("") };
                    let items = parse(&file, read)?;
                    self.add(child, items, &Location { dir, file_dir: &file_dir }, read)?;
                }
            }
            kept.push(item);
        }
        self.modules.insert(path, kept);
        Ok(())
    }
}

/// Where the files of a module's children are.
struct Location<'a> {
    /// The directory of the children's files.
    dir: PathBuf,
    /// The directory of the file itself, which a `#[path]` starts from.
    file_dir: &'a Path,
}

impl Location<'_> {
    fn file_of(&self, module: &syn::ItemMod, read: Read<'_>) -> Result<PathBuf> {
        if let Some(path) = module.attrs.iter().find_map(path_attribute) {
            return Ok(self.file_dir.join(path));
        }
        let name = module.ident.to_string();
        let files = [self.dir.join(format!("{name}.rs")), self.dir.join(&name).join("mod.rs")];
        files
            .into_iter()
            .find(|file| read(file).is_some())
            .with_context(|| format!("no file for `mod {name}` in {}", self.dir.display()))
    }
}

/// The path in `#[path = ".."]` or `#[cfg_attr(unix, path = "..")]`, for Linux.
fn path_attribute(attribute: &syn::Attribute) -> Option<String> {
    let text = match &attribute.meta {
        syn::Meta::NameValue(value) if value.path.is_ident("path") => {
            crate::public_api::render::tokens(&value.value)
        }
        syn::Meta::List(list) if list.path.is_ident("cfg_attr") => {
            let text = list.tokens.to_string();
            let (condition, path) = text.split_once("path =")?;
            let is_this_system =
                matches!(condition.trim_end_matches([' ', ',']), "unix" | "target_os = \"linux\"");
            is_this_system.then(|| path.to_owned())?
        }
        _ => return None,
    };
    Some(text.trim().trim_matches('"').to_owned())
}

fn parse(file: &Path, read: Read<'_>) -> Result<Vec<syn::Item>> {
    let text = read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let parsed = syn::parse_file(&text);
    Ok(parsed.with_context(|| format!("{} cannot be parsed", file.display()))?.items)
}
