//! Ids of cases: those that are written, and for the others the first words of the request.
//!
//! An id that follows the words stays when cases are added before it, so that a result is still found.

use std::collections::{BTreeMap, HashSet};

use crate::case::Case;
use crate::error::CaseFault;

/// Words and characters of a request that make an id.
const MAX_WORDS: usize = 6;
const MAX_CHARS: usize = 48;

/// Gives an id to every case; the same written twice is a fault.
pub(crate) fn name_all(cases: &mut [Case]) -> Vec<CaseFault> {
    let mut faults = Vec::new();
    let mut written: BTreeMap<&str, String> = BTreeMap::new();
    // An id of a list of another format is only unique in its file.
    let is_local = |case: &Case| case.origin.is_foreign;
    for case in cases.iter().filter(|case| !case.id.is_empty() && !is_local(case)) {
        let place = format!("{}:{}", case.origin.file, case.origin.line);
        if let Some(first) = written.get(case.id.as_str()) {
            faults.push(CaseFault {
                file: case.origin.file.clone(),
                line: case.origin.line,
                column: 1,
                message: format!("the id `{}` is the same as in {first}", case.id),
                help: Some("give each case an id of its own, or none".to_owned()),
            });
            continue;
        }
        written.insert(&case.id, place);
    }
    let mut taken: HashSet<String> = written.into_keys().map(str::to_owned).collect();
    for case in cases.iter_mut() {
        if !case.id.is_empty() && !is_local(case) {
            continue;
        }
        let words = if case.id.is_empty() { slug(&case.input) } else { slug(&case.id) };
        let base = match &case.skill {
            Some(skill) => format!("{skill}/{words}"),
            None => words,
        };
        let mut id = base.clone();
        let mut count = 1;
        while !taken.insert(id.clone()) {
            count += 1;
            id = format!("{base}-{count}");
        }
        case.id = id;
    }
    faults
}

/// The first words of a text, as an id.
fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let joined = words.take(MAX_WORDS).collect::<Vec<_>>().join("-").to_lowercase();
    let short: String = joined.chars().take(MAX_CHARS).collect();
    match short.trim_end_matches('-') {
        "" => "case".to_owned(),
        slug => slug.to_owned(),
    }
}
