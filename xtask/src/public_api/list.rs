//! Walks what is public in a crate and writes one line an item, sorted by the item's path.
//!
//! A re-export is listed by its public path with the members of the item it means; the module of
//! another crate is listed item by item. Implementations of traits are not listed.

use std::collections::{BTreeMap, BTreeSet};

use super::render::tokens;
use super::resolve::{Place, Target, ident_of, leaves, resolve};
use super::source::Crates;
use crate::syntax::is_public;

/// A line and the path it is sorted by.
type Lines = BTreeSet<(String, String)>;

/// Inherent `impl` blocks by the module and name of their type.
type Impls<'a> = BTreeMap<(Place, String), Vec<&'a syn::ItemImpl>>;

/// The public items of the crate `facade`.
pub(super) fn public_items(crates: &Crates, facade: &str) -> Vec<String> {
    let impls = inherent_impls(crates);
    let mut walk = Walk { crates, impls, lines: Lines::new(), open: Vec::new() };
    walk.module(&Place::root(facade), facade);
    walk.lines.into_iter().map(|(_, line)| line).collect()
}

fn inherent_impls(crates: &Crates) -> Impls<'_> {
    let mut impls = Impls::new();
    for (name, krate) in crates {
        for (module, items) in &krate.modules {
            let place = Place { krate: name.clone(), module: module.clone() };
            for item in items {
                if let syn::Item::Impl(block) = item
                    && block.trait_.is_none()
                    && let syn::Type::Path(path) = &*block.self_ty
                {
                    let segments: Vec<String> =
                        path.path.segments.iter().map(|it| it.ident.to_string()).collect();
                    for target in resolve(crates, &place, &segments) {
                        if let Target::Item(home, item) = target
                            && let Some(ident) = ident_of(item)
                        {
                            impls.entry((home, ident.to_string())).or_default().push(block);
                        }
                    }
                }
            }
        }
    }
    impls
}

struct Walk<'a> {
    crates: &'a Crates,
    impls: Impls<'a>,
    lines: Lines,
    /// The modules that are being listed, so that a re-export of a parent ends.
    open: Vec<Place>,
}

impl Walk<'_> {
    fn add(&mut self, path: &str, line: String) {
        self.lines.insert((path.to_owned(), line));
    }

    fn module(&mut self, place: &Place, path: &str) {
        if self.open.contains(place) {
            return;
        }
        self.add(path, format!("pub mod {path}"));
        self.contents(place, path);
    }

    fn contents(&mut self, place: &Place, path: &str) {
        self.open.push(place.clone());
        for item in place.items(self.crates) {
            match item {
                syn::Item::Mod(it) if is_public(&it.vis) => {
                    let name = it.ident.to_string();
                    self.module(&place.child(&name), &format!("{path}::{name}"));
                }
                syn::Item::Use(it) if is_public(&it.vis) => self.import(place, it, path),
                _ => {
                    if let Some(ident) = ident_of(item)
                        && visibility(item).is_some_and(is_public)
                    {
                        self.item(place, item, &format!("{path}::{ident}"));
                    }
                }
            }
        }
        self.open.pop();
    }

    fn import(&mut self, place: &Place, import: &syn::ItemUse, path: &str) {
        for leaf in leaves(&import.tree) {
            let targets = resolve(self.crates, place, &leaf.path);
            let name = leaf.name.as_ref().map(|name| format!("{path}::{name}"));
            if targets.is_empty() {
                let public = name.unwrap_or_else(|| format!("{path}::*"));
                let line = format!("pub use {public} = {}", leaf.path.join("::"));
                self.add(&public, line);
                continue;
            }
            for target in targets {
                match (target, &name) {
                    (Target::Module(module), Some(name)) => self.module(&module, name),
                    (Target::Module(module), None) if !self.open.contains(&module) => {
                        self.contents(&module, path);
                    }
                    (Target::Module(_), None) => {}
                    (Target::Item(home, item), Some(name)) => self.item(&home, item, name),
                    (Target::Item(home, item), None) => self.variants_of_glob(&home, item, path),
                }
            }
        }
    }

    /// `pub use Enum::*` makes each variant an item of the module.
    fn variants_of_glob(&mut self, _home: &Place, item: &syn::Item, path: &str) {
        if let syn::Item::Enum(it) = item {
            for variant in &it.variants {
                self.variant(variant, &format!("{path}::{}", variant.ident));
            }
        }
    }

    fn item(&mut self, home: &Place, item: &syn::Item, path: &str) {
        match item {
            syn::Item::Struct(it) => {
                let mark = non_exhaustive(&it.attrs);
                self.add(path, format!("{mark}pub struct {path}{}", tokens(&it.generics)));
                self.fields(&it.fields, path, Shown::PublicOnly);
            }
            syn::Item::Enum(it) => {
                let mark = non_exhaustive(&it.attrs);
                self.add(path, format!("{mark}pub enum {path}{}", tokens(&it.generics)));
                for variant in &it.variants {
                    self.variant(variant, &format!("{path}::{}", variant.ident));
                }
            }
            syn::Item::Trait(it) => self.a_trait(it, path),
            syn::Item::Fn(it) => self.function(&it.sig, path),
            syn::Item::Type(it) => {
                let generics = tokens(&it.generics);
                self.add(path, format!("pub type {path}{generics} = {}", tokens(&it.ty)));
            }
            syn::Item::Const(it) => {
                self.add(path, format!("pub const {path}: {}", tokens(&it.ty)));
            }
            syn::Item::Static(it) => {
                self.add(path, format!("pub static {path}: {}", tokens(&it.ty)));
            }
            syn::Item::Union(_) => self.add(path, format!("pub union {path}")),
            _ => {}
        }
        let Some(ident) = ident_of(item) else {
            return;
        };
        let blocks = self.impls.get(&(home.clone(), ident.to_string())).cloned();
        for block in blocks.into_iter().flatten() {
            self.methods(block, path);
        }
    }

    fn methods(&mut self, block: &syn::ItemImpl, path: &str) {
        for item in &block.items {
            match item {
                syn::ImplItem::Fn(it) if is_public(&it.vis) => {
                    self.function(&it.sig, &format!("{path}::{}", it.sig.ident));
                }
                syn::ImplItem::Const(it) if is_public(&it.vis) => {
                    let path = format!("{path}::{}", it.ident);
                    self.add(&path, format!("pub const {path}: {}", tokens(&it.ty)));
                }
                _ => {}
            }
        }
    }

    fn a_trait(&mut self, it: &syn::ItemTrait, path: &str) {
        let above = if it.supertraits.is_empty() {
            String::new()
        } else {
            format!(": {}", tokens(&it.supertraits))
        };
        self.add(path, format!("pub trait {path}{}{above}", tokens(&it.generics)));
        for item in &it.items {
            match item {
                syn::TraitItem::Fn(it) => {
                    self.function(&it.sig, &format!("{path}::{}", it.sig.ident));
                }
                syn::TraitItem::Type(it) => {
                    let path = format!("{path}::{}", it.ident);
                    self.add(&path, format!("pub type {path}"));
                }
                syn::TraitItem::Const(it) => {
                    let path = format!("{path}::{}", it.ident);
                    self.add(&path, format!("pub const {path}: {}", tokens(&it.ty)));
                }
                _ => {}
            }
        }
    }

    fn variant(&mut self, variant: &syn::Variant, path: &str) {
        let payload = match &variant.fields {
            syn::Fields::Unnamed(fields) => {
                let types: Vec<String> =
                    fields.unnamed.iter().map(|field| tokens(&field.ty)).collect();
                format!("({})", types.join(", "))
            }
            syn::Fields::Named(_) | syn::Fields::Unit => String::new(),
        };
        self.add(path, format!("pub {path}{payload}"));
        if let syn::Fields::Named(_) = &variant.fields {
            self.fields(&variant.fields, path, Shown::All);
        }
    }

    fn fields(&mut self, fields: &syn::Fields, path: &str, shown: Shown) {
        for (at, field) in fields.iter().enumerate() {
            if shown == Shown::All || is_public(&field.vis) {
                let name = field.ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string);
                let path = format!("{path}::{name}");
                self.add(&path, format!("pub {path}: {}", tokens(&field.ty)));
            }
        }
    }

    fn function(&mut self, signature: &syn::Signature, path: &str) {
        let text = tokens(signature);
        let (before, after) = text.split_once("fn ").unwrap_or(("", &text));
        let rest = after.strip_prefix(&signature.ident.to_string()).unwrap_or(after);
        self.add(path, format!("pub {before}fn {path}{}", rest.trim_end_matches(',')));
    }
}

/// Which fields are listed: those of a variant are as public as the variant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    PublicOnly,
    All,
}

fn visibility(item: &syn::Item) -> Option<&syn::Visibility> {
    match item {
        syn::Item::Const(it) => Some(&it.vis),
        syn::Item::Enum(it) => Some(&it.vis),
        syn::Item::Fn(it) => Some(&it.vis),
        syn::Item::Static(it) => Some(&it.vis),
        syn::Item::Struct(it) => Some(&it.vis),
        syn::Item::Trait(it) => Some(&it.vis),
        syn::Item::Type(it) => Some(&it.vis),
        syn::Item::Union(it) => Some(&it.vis),
        _ => None,
    }
}

fn non_exhaustive(attrs: &[syn::Attribute]) -> &'static str {
    let is_marked = attrs.iter().any(|attr| attr.path().is_ident("non_exhaustive"));
    if is_marked { "#[non_exhaustive] " } else { "" }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::source::Crate;
    use super::*;

    /// The lines for `top`, from files named `crate/path`.
    fn listed(files: &[(&str, &str)]) -> Vec<String> {
        let read = |path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| (*text).to_owned())
        };
        let mut crates = Crates::new();
        for (name, _) in files.iter().filter(|(name, _)| name.ends_with("/lib.rs")) {
            let krate = name.trim_end_matches("/lib.rs").to_owned();
            crates.insert(krate, Crate::read(Path::new(name), &read).unwrap());
        }
        public_items(&crates, "top")
    }

    #[test]
    fn own_items_are_listed_with_their_public_members() {
        let text = "
            #[non_exhaustive]
            pub struct Agent<'a> { pub name: &'a str, secret: u8 }
            impl<'a> Agent<'a> {
                pub fn open(dir: &Path) -> Result<Self> { todo() }
                fn hidden(&self) {}
                pub const MAX: usize = 1;
            }
            impl Default for Agent<'_> { fn default() -> Self { todo() } }
            pub enum Ask { Once, For { seconds: u64 }, Other(String, u8) }
            pub trait Tool: Send { fn call(&self, args: &Value) -> Answer; }
            pub(crate) fn not_public() {}
            pub fn init() {}
            #[cfg(test)]
            mod tests { pub fn a() {} }
        ";
        assert_eq!(
            listed(&[("top/lib.rs", text)]),
            [
                "pub mod top",
                "#[non_exhaustive] pub struct top::Agent<'a>",
                "pub const top::Agent::MAX: usize",
                "pub top::Agent::name: &'a str",
                "pub fn top::Agent::open(dir: &Path) -> Result<Self>",
                "pub enum top::Ask",
                "pub top::Ask::For",
                "pub top::Ask::For::seconds: u64",
                "pub top::Ask::Once",
                "pub top::Ask::Other(String, u8)",
                "pub trait top::Tool: Send",
                "pub fn top::Tool::call(&self, args: &Value) -> Answer",
                "pub fn top::init()",
            ]
        );
    }

    #[test]
    fn a_re_export_is_followed_to_the_item_through_files_imports_and_globs() {
        let found = listed(&[
            ("top/lib.rs", "pub use below::{Name, load as read, Other};\npub use serde::Value;"),
            (
                "below/lib.rs",
                "mod name;\nmod inner { mod deep { pub struct Other; }\n pub use self::deep::*; }\n\
                 pub use crate::name::Name;\npub use inner::Other;\npub fn load() {}",
            ),
            ("below/name.rs", "mod methods;\npub struct Name(pub String);"),
            ("below/name/methods.rs", "use super::Name;\nimpl Name { pub fn get(&self) {} }"),
        ]);
        assert_eq!(
            found,
            [
                "pub mod top",
                "pub struct top::Name",
                "pub top::Name::0: String",
                "pub fn top::Name::get(&self)",
                "pub struct top::Other",
                "pub use top::Value = serde::Value",
                "pub fn top::read()",
            ]
        );
    }

    #[test]
    fn a_whole_crate_and_a_glob_are_listed_item_by_item() {
        let below = ("below/lib.rs", "pub mod part { pub const A: u8 = 1; }\npub struct B;");
        let lines =
            ["pub struct top::x::B", "pub mod top::x::part", "pub const top::x::part::A: u8"];
        let mut expected = vec!["pub mod top", "pub mod top::x"];
        expected.extend(lines);
        assert_eq!(listed(&[("top/lib.rs", "pub use below as x;"), below]), expected);
        let glob = listed(&[("top/lib.rs", "pub mod x { pub use below::*; }"), below]);
        assert_eq!(glob, expected);
    }

    #[test]
    fn a_module_that_exports_its_parent_ends() {
        let found =
            listed(&[("top/lib.rs", "pub mod a { pub use crate as whole; pub fn f() {} }")]);
        assert_eq!(found, ["pub mod top", "pub mod top::a", "pub fn top::a::f()"]);
    }
}
