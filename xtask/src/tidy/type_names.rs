//! One public type name means one thing in the whole workspace.
//!
//! Two types of one name in two crates meet in every front end, where only their paths tell them
//! apart. It compares the names of public structs, enums, traits, unions and aliases in the crates.

use std::collections::BTreeMap;

use super::finding::{Finding, is_our_rust, is_test_path};
use crate::syntax::{attributes, is_public, is_test_only};

/// Names that may stand for several types, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("Args", "every command of the command line has its own, as clap users expect"),
    ("Error", "the errors of a crate are one enum, and it may have the crate's own name for it"),
    ("Dir", "one type with one body for Unix and one for other systems"),
    ("Output", "every command of the command line has its own"),
];

/// Reports each public type name that stands for more than one type, at its first place.
pub(crate) fn check(files: &[(String, String)]) -> Vec<Finding> {
    let mut places: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, text) in files {
        if !is_our_rust(path) || is_test_path(path) || !path.starts_with("crates/") {
            continue;
        }
        // A file that does not parse is reported by `sizes`.
        let items = syn::parse_file(text).map(|file| file.items).unwrap_or_default();
        collect(path, &items, &mut places);
    }
    places.retain(|name, places| {
        places.len() > 1 && !EXCEPTIONS.iter().any(|(exception, _)| exception == name)
    });
    places.iter().map(|(name, places)| finding(name, places)).collect()
}

fn collect<'a>(
    path: &'a str,
    items: &[syn::Item],
    places: &mut BTreeMap<String, Vec<(&'a str, usize)>>,
) {
    for item in items.iter().filter(|item| !is_test_only(attributes(item))) {
        let (visibility, ident) = match item {
            syn::Item::Struct(it) => (&it.vis, &it.ident),
            syn::Item::Enum(it) => (&it.vis, &it.ident),
            syn::Item::Trait(it) => (&it.vis, &it.ident),
            syn::Item::Union(it) => (&it.vis, &it.ident),
            syn::Item::Type(it) => (&it.vis, &it.ident),
            syn::Item::Mod(module) => {
                let content = module.content.as_ref().map(|(_, items)| items.as_slice());
                collect(path, content.unwrap_or_default(), places);
                continue;
            }
            _ => continue,
        };
        if is_public(visibility) {
            let line = ident.span().start().line;
            places.entry(ident.to_string()).or_default().push((path, line));
        }
    }
}

fn finding(name: &str, places: &[(&str, usize)]) -> Finding {
    let (path, line) = places[0];
    let others: Vec<String> =
        places[1..].iter().map(|(path, line)| format!("{path}:{line}")).collect();
    let message =
        format!("`{name}` stands for {} types; also in {}", places.len(), others.join(", "));
    Finding::new(path, line, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, String)> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_public_name_with_two_meanings_is_reported_with_every_place() {
        let found = findings(&[
            ("crates/a/src/lib.rs", "pub struct Limits;\npub enum Alone {}\n"),
            ("crates/b/src/limits.rs", "\npub type Limits = u8;\n"),
        ]);
        assert_eq!(
            found,
            ["crates/a/src/lib.rs:1: `Limits` stands for 2 types; also in \
              crates/b/src/limits.rs:2"]
        );
    }

    #[test]
    fn private_types_tests_and_exceptions_do_not_count() {
        let found = findings(&[
            ("crates/a/src/lib.rs", "pub struct Limits;\npub struct Args;\n"),
            ("crates/b/src/lib.rs", "pub(crate) struct Limits;\npub struct Args;\n"),
            ("crates/c/src/lib.rs", "struct Limits;\n#[cfg(test)]\nmod t { pub struct Limits; }\n"),
            ("crates/c/tests/it/main.rs", "pub struct Limits;\n"),
        ]);
        assert_eq!(found, [""; 0]);
    }
}
