//! Which files are worked on: those that are given, and what looks like a path in the request.
//!
//! Generous on purpose: a path that was not meant shows one skill more, a path that was missed hides
//! the skill that was needed. Text only; nothing is looked up on the disk.

use super::CatalogRequest;

/// Bytes of a request in which paths are looked for.
const MAX_REQUEST_BYTES: usize = 16 * 1024;

/// The files that are worked on, relative to the project where that is known.
pub(super) fn worked_on(wanted: &CatalogRequest<'_>) -> Vec<String> {
    let mut paths = Vec::new();
    let mut add = |text: &str| {
        let text = text.replace('\\', "/");
        let below = wanted.bases.iter().filter_map(|base| {
            let base = base.to_str()?.trim_end_matches('/');
            text.strip_prefix(base)?.strip_prefix('/').map(str::to_owned)
        });
        let mut found: Vec<String> = below.collect();
        found.push(text);
        paths.extend(found.iter().filter_map(|path| normal(path)));
    };
    wanted.files.iter().for_each(|file| add(file));
    let text = wanted.request.unwrap_or_default();
    let text = &text[..text.floor_char_boundary(MAX_REQUEST_BYTES)];
    for word in text.split_whitespace() {
        // The word as it is, and its stretches of plain characters: a path may stand in a sentence
        // without blanks.
        let plain = |c: char| c.is_ascii_alphanumeric() || "/\\._-+@~()[]".contains(c);
        let stretches = word.split(|c| !plain(c)).filter(|part| part.len() < word.len());
        for part in [word].into_iter().chain(stretches) {
            if let Some(path) = path_in(part) {
                add(path);
            }
        }
    }
    paths
}

/// The path in a word, without quotes, marks and line numbers around it.
fn path_in(word: &str) -> Option<&str> {
    let mut path = word.trim_matches(|c: char| !c.is_alphanumeric() && !"/._~".contains(c));
    path = path.strip_suffix("'s").unwrap_or(path);
    path = path.split_once("#L").map_or(path, |(before, _)| before);
    while let Some((before, number)) = path.rsplit_once(':')
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    {
        path = before;
    }
    let end = |c: char| ".,:;!?".contains(c) || !c.is_alphanumeric() && !"/_-".contains(c);
    let path = path.trim_end_matches(end);
    let has_suffix = path.rsplit_once('.').is_some_and(|(name, end)| {
        !name.is_empty() && (1..=8).contains(&end.len()) && end.chars().all(char::is_alphanumeric)
    });
    (has_suffix || path.contains(['/', '\\']) && !path.contains("://")).then_some(path)
}

/// The path without `.` and `..`; nothing when it leads out of where it starts.
fn normal(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            other => parts.push(other),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn paths_are_found_as_people_write_them() {
        for request in [
            "fix src/main.rs",
            "fix src/main.rs:12:3 please",
            "look at \"src/main.rs\".",
            "@src/main.rs#L10",
            "src/main.rs's errors",
            "(see `src/main.rs`)",
            "\u{8bf7}\u{770b}src/main.rs\u{ff0c}\u{8c22}\u{8c22}",
            "./src/main.rs,",
            "src\\\\main.rs",
            "/home/me/shop/src/main.rs",
            "src/old/../main.rs",
        ] {
            let bases = [PathBuf::from("/home/me/shop")];
            let wanted = CatalogRequest {
                request: Some(request),
                bases: &bases,
                ..CatalogRequest::default()
            };
            let found = worked_on(&wanted);
            assert!(found.contains(&"src/main.rs".to_owned()), "{request:?} gives {found:?}");
        }
    }

    #[test]
    fn words_are_no_paths() {
        for request in ["is this clean?", "version 2. Then stop...", "ask me", "a:b", "../../etc"] {
            let wanted = CatalogRequest { request: Some(request), ..CatalogRequest::default() };
            assert_eq!(worked_on(&wanted), Vec::<String>::new(), "{request:?}");
        }
    }
}
