//! Which item a path in a `use` means: modules, imports, globs and our other crates are followed.
//!
//! A name may mean a type and a function at once, so the answer is a list.

use syn::UseTree;

use super::source::Crates;

/// A module of one of our crates.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) krate: String,
    pub(super) module: Vec<String>,
}

impl Place {
    /// The root module of a crate.
    pub(super) fn root(krate: &str) -> Self {
        Self { krate: krate.to_owned(), module: Vec::new() }
    }

    pub(super) fn child(&self, name: &str) -> Self {
        let mut module = self.module.clone();
        module.push(name.to_owned());
        Self { krate: self.krate.clone(), module }
    }

    fn parent(&self) -> Self {
        let mut module = self.module.clone();
        module.pop();
        Self { krate: self.krate.clone(), module }
    }

    /// The items of the module; none when it is not one of ours.
    pub(super) fn items<'a>(&self, crates: &'a Crates) -> &'a [syn::Item] {
        let krate = crates.get(&self.krate);
        krate.and_then(|it| it.modules.get(&self.module)).map(Vec::as_slice).unwrap_or_default()
    }
}

/// What a path means.
#[derive(Clone)]
pub(super) enum Target<'a> {
    Module(Place),
    Item(Place, &'a syn::Item),
}

/// One leaf of a `use`: the path it names, and the name it gets (`None` for a glob).
pub(super) struct Leaf {
    pub(super) path: Vec<String>,
    pub(super) name: Option<String>,
}

/// The leaves of a `use` tree.
pub(super) fn leaves(tree: &UseTree) -> Vec<Leaf> {
    let mut found = Vec::new();
    collect_leaves(tree, &mut Vec::new(), &mut found);
    found
}

fn collect_leaves(tree: &UseTree, path: &mut Vec<String>, found: &mut Vec<Leaf>) {
    match tree {
        UseTree::Path(it) => {
            path.push(it.ident.to_string());
            collect_leaves(&it.tree, path, found);
            path.pop();
        }
        UseTree::Name(it) => {
            let leaf = with(path, &it.ident.to_string());
            found.push(Leaf { name: leaf.last().cloned(), path: leaf });
        }
        UseTree::Rename(it) => {
            let leaf = with(path, &it.ident.to_string());
            found.push(Leaf { path: leaf, name: Some(it.rename.to_string()) });
        }
        UseTree::Glob(_) => found.push(Leaf { path: path.clone(), name: None }),
        UseTree::Group(it) => {
            for tree in &it.items {
                collect_leaves(tree, path, found);
            }
        }
    }
}

fn with(path: &[String], name: &str) -> Vec<String> {
    let mut path = path.to_vec();
    if name != "self" {
        path.push(name.to_owned());
    }
    path
}

/// What `path` means when it is written in the module `place`.
pub(super) fn resolve<'a>(crates: &'a Crates, place: &Place, path: &[String]) -> Vec<Target<'a>> {
    resolve_at(crates, place, path, 0)
}

/// Imports may point at each other; no real chain is this long.
const MAX_DEPTH: usize = 16;

fn resolve_at<'a>(
    crates: &'a Crates,
    place: &Place,
    path: &[String],
    depth: usize,
) -> Vec<Target<'a>> {
    let Some((first, rest)) = path.split_first() else {
        return vec![Target::Module(place.clone())];
    };
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    let start = match first.as_str() {
        "crate" => Some(Place::root(&place.krate)),
        "self" => Some(place.clone()),
        "super" => Some(place.parent()),
        _ => None,
    };
    if let Some(start) = start {
        return resolve_at(crates, &start, rest, depth + 1);
    }
    let mut targets = lookup(crates, place, first, depth + 1);
    if targets.is_empty() && crates.contains_key(first) {
        targets.push(Target::Module(Place::root(first)));
    }
    if rest.is_empty() {
        return targets;
    }
    let modules = targets.into_iter().filter_map(|target| match target {
        Target::Module(place) => Some(place),
        Target::Item(..) => None,
    });
    modules.flat_map(|place| inside(crates, &place, rest, depth + 1)).collect()
}

/// What `path` means inside the module: like [`resolve_at`], but no crate's name is looked up.
fn inside<'a>(crates: &'a Crates, place: &Place, path: &[String], depth: usize) -> Vec<Target<'a>> {
    let Some((first, rest)) = path.split_first() else {
        return vec![Target::Module(place.clone())];
    };
    if first == "super" {
        return inside(crates, &place.parent(), rest, depth);
    }
    let targets = lookup(crates, place, first, depth);
    if rest.is_empty() {
        return targets;
    }
    let modules = targets.into_iter().filter_map(|target| match target {
        Target::Module(place) => Some(place),
        Target::Item(..) => None,
    });
    modules.flat_map(|place| inside(crates, &place, rest, depth)).collect()
}

/// What `name` means in the module: its own items first, then imports, then globs.
fn lookup<'a>(crates: &'a Crates, place: &Place, name: &str, depth: usize) -> Vec<Target<'a>> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    let items = place.items(crates);
    let mut found: Vec<Target<'a>> = Vec::new();
    for item in items {
        match item {
            syn::Item::Mod(module) if module.ident == name => {
                found.push(Target::Module(place.child(name)));
            }
            _ if ident_of(item).is_some_and(|ident| ident == name) => {
                found.push(Target::Item(place.clone(), item));
            }
            _ => {}
        }
    }
    if !found.is_empty() {
        return found;
    }
    let imports: Vec<Leaf> = items.iter().flat_map(imports_of).collect();
    let named = imports.iter().filter(|leaf| leaf.name.as_deref() == Some(name));
    found.extend(named.flat_map(|leaf| resolve_at(crates, place, &leaf.path, depth + 1)));
    if found.is_empty() {
        let globs = imports.iter().filter(|leaf| leaf.name.is_none() && leaf.path != ["super"]);
        for glob in globs {
            for target in resolve_at(crates, place, &glob.path, depth + 1) {
                if let Target::Module(module) = target {
                    found.extend(lookup(crates, &module, name, depth + 1));
                }
            }
        }
    }
    found
}

fn imports_of(item: &syn::Item) -> Vec<Leaf> {
    if let syn::Item::Use(it) = item { leaves(&it.tree) } else { Vec::new() }
}

/// The name of an item that a path can mean; modules are looked up separately.
pub(super) fn ident_of(item: &syn::Item) -> Option<&syn::Ident> {
    match item {
        syn::Item::Const(it) => Some(&it.ident),
        syn::Item::Enum(it) => Some(&it.ident),
        syn::Item::Fn(it) => Some(&it.sig.ident),
        syn::Item::Static(it) => Some(&it.ident),
        syn::Item::Struct(it) => Some(&it.ident),
        syn::Item::Trait(it) => Some(&it.ident),
        syn::Item::Type(it) => Some(&it.ident),
        syn::Item::Union(it) => Some(&it.ident),
        _ => None,
    }
}
