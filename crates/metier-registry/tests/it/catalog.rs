//! The catalog over a thousand real skills and the trigger queries of ten authors: is the right one
//! shown within two thousand tokens, among many and among some, and does the prefix stay the same from turn to turn?

use std::collections::HashSet;
use std::path::Path;

use metier_registry::catalog::{
    Catalog, CatalogRequest, Cataloger, DisplayLevel, DisplayReason, MetadataOnly,
};
use metier_registry::{Scan, ScanOptions, scan};
use metier_skill::Profile;
use metier_testkit::{corpus_dir, corpus_skills};
use serde_json::Value;

use crate::support::{options, root};

const BUDGET: usize = 2000;

/// The trigger file's skills and catalogue written as skills, alone or with the corpus, as one index.
fn everything(dir: &Path, with_corpus: bool) -> Option<(Scan, Vec<(String, String)>)> {
    let file = corpus_dir()?.join("triggers.json");
    let triggers: Value =
        serde_json::from_slice(&std::fs::read(file).expect("triggers")).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let mut queries = Vec::new();
    let parts = ["sets", "catalogue"].into_iter();
    let skills = parts.flat_map(|part| {
        triggers[part].as_array().expect("a list").iter().map(move |skill| (part, skill))
    });
    for (at, (part, skill)) in skills.enumerate() {
        let folder = dir.join(format!("{part}/{at}"));
        std::fs::create_dir_all(&folder).expect("makes");
        let head =
            format!("---\nname: {}\ndescription: {}\n---\n", skill["name"], skill["description"]);
        std::fs::write(folder.join("SKILL.md"), head).expect("writes");
        for query in skill["queries"].as_array().into_iter().flatten() {
            if query[1] == Value::Bool(true) {
                queries.push((text(&skill["name"]), text(&query[0])));
            }
        }
    }
    let skills = corpus_skills(dir)?;
    let options = ScanOptions { profile: Profile::Lenient, ..options() };
    // The skills that are asked for come first, where another has the same name.
    let roots = [root(&dir.join("sets")), root(&dir.join("catalogue")), root(&skills)];
    let roots = if with_corpus { &roots[..] } else { &roots[..2] };
    Some((scan(roots, &options), queries))
}

#[test]
fn the_right_skill_is_shown_in_full_among_a_thousand() {
    shown_in_full(true, 1000, 95);
}

#[test]
fn the_right_skill_is_shown_in_full_among_some_hundred() {
    shown_in_full(false, 150, 97);
}

/// Of the requests that should fire, at least `goal` per cent are shown the description of their skill.
fn shown_in_full(with_corpus: bool, least: usize, goal: usize) {
    let dir = tempfile::tempdir().expect("dir");
    let Some((scan, queries)) = everything(dir.path(), with_corpus) else {
        return;
    };
    let cataloger = Cataloger::new(&scan.index, &|_| None);
    let count = scan.index.entries().len();
    assert!(count > least, "{count}");
    let (mut hits, mut shown) = (0usize, 0usize);
    let mut prefixes = HashSet::new();
    for (turn, (name, request)) in queries.iter().enumerate() {
        let wanted = CatalogRequest {
            budget: Some(BUDGET),
            request: Some(request),
            turn: turn as u64,
            ..CatalogRequest::default()
        };
        let catalog = cataloger.catalog(&wanted, &MetadataOnly);
        assert!(catalog.tokens <= BUDGET, "{}", catalog.tokens);
        assert_eq!(catalog.placed.len(), count);
        assert!(catalog.shown(DisplayLevel::Omitted).all(|placed| !placed.message.is_empty()));
        shown += catalog.shown(DisplayLevel::Full).count();
        nothing_near_the_top_is_skipped(&catalog);
        if catalog.shown(DisplayLevel::Full).any(|placed| &placed.name == name) {
            hits += 1;
        } else {
            println!("not shown: {name} for {request:?}");
        }
        prefixes.insert(catalog.prefix);
    }
    let (low, high) = wilson(hits, queries.len());
    println!(
        "recall@shown {hits}/{} = {:.1} % (95 % interval {low:.1} to {high:.1}), {:.1} descriptions \
         of {count} skills in {BUDGET} tokens",
        queries.len(),
        100.0 * hits as f64 / queries.len() as f64,
        shown as f64 / queries.len() as f64,
    );
    assert_eq!(prefixes.len(), 1, "the prefix followed the request");
    assert!(hits * 100 >= queries.len() * goal, "{hits} of {}", queries.len());
}

/// The best twenty have a description, cut where it is long, before any that is ranked below them.
fn nothing_near_the_top_is_skipped(catalog: &Catalog) {
    let without = catalog.placed.iter().filter(|placed| placed.shown != DisplayLevel::Full);
    let best_without = without.filter_map(|placed| placed.rank).min().unwrap_or(usize::MAX);
    let ranked = catalog.shown(DisplayLevel::Full).filter(|it| it.reason == DisplayReason::Ranked);
    let last_with = ranked.filter_map(|placed| placed.rank).max().unwrap_or_default();
    assert!(
        best_without > 20 || last_with <= 20,
        "number {best_without} has no description, and {last_with} has one"
    );
}

/// The Wilson interval of a share, in per cent.
fn wilson(hits: usize, of: usize) -> (f64, f64) {
    let (n, z) = (of as f64, 1.96_f64);
    let p = hits as f64 / n;
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / (1.0 + z * z / n);
    (100.0 * (middle - half), 100.0 * (middle + half))
}
