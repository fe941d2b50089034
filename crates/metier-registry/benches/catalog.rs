//! What a ranked catalog of a thousand skills costs beside the unranked list of the same skills.
//!
//! Prints one line a round, as the bench of `metier-loader` does: `case<TAB>bytes<TAB>ranked
//! ns<TAB>list ns`; both run in turns. `cargo xtask bench loading` runs and judges it. Arguments:
//! the number of rounds.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench writes files the plain way, and ends where one cannot be written"
)]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use metier_registry::catalog::{CatalogRequest, Cataloger, MetadataOnly};
use metier_registry::{Index, Root, ScanOptions, scan};
use metier_skill::Source;

const SKILLS: usize = 1000;
const BUDGET: usize = 2000;
const REQUEST: &str =
    "take the numbers of this spreadsheet and fill in the pdf form for the tax office";
const VERBS: &[&str] = &["Fills", "Reads", "Reviews", "Converts", "Summarises", "Plans", "Tests"];
const THINGS: &[&str] = &[
    "pdf forms",
    "spreadsheets",
    "release notes",
    "photos",
    "tax returns",
    "contracts",
    "web pages",
    "databases",
    "logs",
    "invoices",
    "calendars",
    "unit tests",
    "diagrams",
];
const ENDS: &[&str] = &[
    "checks the result against the rules of the team",
    "keeps the original untouched and says what was left out",
    "asks before anything is sent to someone else",
    "works in English, Chinese and German",
    "writes a report that a person can read in a minute",
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let rounds: usize = words.first().and_then(|word| word.parse().ok()).unwrap_or(30);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let index = skills(dir.path());
    let list = || {
        let catalog = Cataloger::new(&index, &|_| None);
        catalog.catalog(&CatalogRequest::default(), &MetadataOnly).text()
    };
    let wanted = CatalogRequest {
        budget: Some(BUDGET),
        request: Some(REQUEST),
        ..CatalogRequest::default()
    };
    let ranked = || Cataloger::new(&index, &|_| None).catalog(&wanted, &MetadataOnly).text();
    let session = Cataloger::new(&index, &|_| None);
    let again = || session.catalog(&wanted, &MetadataOnly).text();
    let bytes = list().len();
    for (case, ours) in [
        ("catalog of 1,000 skills, ranked", &ranked as &dyn Fn() -> String),
        ("catalog of 1,000 skills, ranked again in a session", &again),
    ] {
        let _ = black_box((ours(), list()));
        for round in 0..rounds {
            let (ours, floor) = if round % 2 == 0 {
                let first = timed(ours);
                (first, timed(&list))
            } else {
                let first = timed(&list);
                (timed(ours), first)
            };
            println!("{case}\t{bytes}\t{ours}\t{floor}");
        }
    }
}

fn timed(work: &dyn Fn() -> String) -> u128 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_nanos()
}

/// An index of skills whose descriptions have the length that public ones have.
fn skills(dir: &Path) -> Index {
    for at in 0..SKILLS {
        let (verb, thing) = (VERBS[at % VERBS.len()], THINGS[at % THINGS.len()]);
        let (other, end) = (THINGS[(at / 7) % THINGS.len()], ENDS[at % ENDS.len()]);
        let name = format!("skill-{at:04}");
        let text = format!(
            "---\nname: {name}\ndescription: {verb} {thing} and {other}, variant {at}; {end}. Use \
             when someone has {thing}, mentions {other}, or wants to know what is in them.\n---\n"
        );
        std::fs::create_dir(dir.join(&name)).expect("makes a directory");
        std::fs::write(dir.join(&name).join("SKILL.md"), text).expect("writes");
    }
    let root = Root {
        source: Source::Explicit,
        path: dir.to_owned(),
        plugin: None,
        required: true,
        absent: false,
        foreign: None,
    };
    scan(&[root], &ScanOptions { builtin: false, ..ScanOptions::default() }).index
}
