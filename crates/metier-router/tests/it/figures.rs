//! The figures of search and of the offline model on real requests, printed with `--nocapture`.
//!
//! The trigger queries of ten authors are asked of a shelf of about 160 skills and of one of about 1,200:
//! is the right skill found first, does the offline model pick it, does it fire when it should and only
//! then, and is it shown with its description in a catalog of 2,000 tokens? By halves of the skills: the
//! first five were looked at when the search was written, of the others only the sums. Ten skills say
//! little, so a thousand phrases that descriptions quote as requests are asked too, each held apart from the
//! description that is searched: of a shelf that has its skill, and of one that has not.
//!
//! The floors are below what is reached, by about the width of the intervals: they catch a loss, not noise.

use std::collections::HashSet;
use std::path::Path;

use metier_model::{Action, OfferedSkill, ToolOffer, View};
use metier_registry::catalog::{CatalogRequest, Cataloger, DisplayLevel, MetadataOnly};
use metier_registry::search::{Document, SearchIndex};
use metier_registry::{Root, Scan, ScanOptions, scan};
use metier_skill::{Profile, Source};
use metier_testkit::{TestHome, corpus_dir, corpus_skills, corpus_texts};
use serde_json::Value;

use crate::support::{Scene, decide};

/// The skills whose misses were looked at.
const SEEN: &[&str] =
    &["math-olympiad", "pr-description-skill", "tailwind", "autoconsultant", "automake"];
/// The tokens of a catalog.
const BUDGET: usize = 2000;
/// The skills with quoted phrases are asked for them in so many shelves.
const SHELVES: usize = 25;

/// A request, the skill that it is about, and whether that should fire.
struct Case {
    request: String,
    skill: String,
    wanted: bool,
}

/// Hits among cases.
#[derive(Default, Clone, Copy)]
struct Share {
    of: usize,
    part: usize,
}

impl Share {
    fn count(&mut self, hit: bool) {
        self.of += 1;
        self.part += usize::from(hit);
    }

    fn at_least(self, per_cent: usize) -> bool {
        self.part * 100 >= self.of * per_cent
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} of {}", self.part as f64 / self.of.max(1) as f64, self.of)
    }
}

#[derive(Default)]
struct Figures {
    first: Share,
    picked: Share,
    right: Share,
    shown: Share,
}

impl Figures {
    fn print(&self, what: &str) {
        let Self { first, picked, right, shown } = self;
        println!("{what:<24} first {first}  picked {picked}  fires rightly {right}  shown {shown}");
    }
}

fn root(path: &Path) -> Root {
    let (source, path) = (Source::Explicit, path.to_owned());
    Root { source, path, plugin: None, required: true, absent: false, foreign: None }
}

/// The trigger file's skills as skills in `sets` and `catalogue` below `dir`, and its cases.
fn trigger_cases(dir: &Path) -> Option<Vec<Case>> {
    let file = corpus_dir()?.join("triggers.json");
    let triggers: Value =
        serde_json::from_slice(&std::fs::read(file).expect("triggers")).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let mut cases = Vec::new();
    for part in ["sets", "catalogue"] {
        for (at, skill) in triggers[part].as_array().expect("a list").iter().enumerate() {
            let folder = dir.join(format!("{part}/{at}"));
            std::fs::create_dir_all(&folder).expect("makes");
            let (name, description) = (&skill["name"], &skill["description"]);
            let head = format!("---\nname: {name}\ndescription: {description}\n---\n");
            std::fs::write(folder.join("SKILL.md"), head).expect("writes");
            for query in skill["queries"].as_array().into_iter().flatten() {
                let (request, wanted) = (text(&query[0]), query[1] == Value::Bool(true));
                cases.push(Case { request, skill: text(name), wanted });
            }
        }
    }
    Some(cases)
}

fn scan_all(roots: &[Root]) -> Scan {
    let builtin = false;
    scan(roots, &ScanOptions { profile: Profile::Lenient, builtin, ..ScanOptions::default() })
}

fn offered(scan: &Scan) -> Vec<OfferedSkill> {
    let entries = scan.index.entries().iter();
    entries
        .map(|entry| OfferedSkill {
            name: entry.name().as_str().to_owned(),
            source: "explicit".to_owned(),
            description: entry.skill.description.to_string(),
        })
        .collect()
}

/// The skill that the offline model picks, with the tools that could answer instead.
fn picked(scene: &mut Scene, request: &str) -> Option<String> {
    request.clone_into(&mut scene.view.request);
    match decide(scene).action {
        Action::SelectSkills { skills, .. } => skills.into_iter().next().map(|skill| skill.name),
        _ => None,
    }
}

/// The figures of the cases, for the skills that were seen and the others.
fn figures(scan: &Scan, cases: &[Case]) -> [Figures; 2] {
    let skills = offered(scan);
    let documents =
        skills.iter().map(|skill| Document { name: &skill.name, description: &skill.description });
    let search = SearchIndex::build(documents);
    let cataloger = Cataloger::new(&scan.index, &|_| None);
    let tool = |name: &str| ToolOffer {
        name: name.to_owned(),
        description: String::new(),
        schema: Value::Null,
    };
    let tools = ["list_dir", "read_file", "grep"].map(tool);
    let view = View { offered: skills.clone().into(), tools: tools.into(), ..View::default() };
    let mut scene = Scene { view, past: Vec::new() };
    let mut halves = [Figures::default(), Figures::default()];
    for (turn, case) in cases.iter().enumerate() {
        let half = &mut halves[usize::from(!SEEN.contains(&case.skill.as_str()))];
        let best = search.rank_scores(&case.request, 1);
        let first = best.first().is_some_and(|hit| skills[hit.0].name == case.skill);
        // What is not first does not fire: the model, which builds an index each time, is spared the rest.
        let fires = first && picked(&mut scene, &case.request).is_some_and(|it| it == case.skill);
        half.right.count(fires == case.wanted);
        if !case.wanted {
            continue;
        }
        half.picked.count(fires);
        half.first.count(first);
        let wanted = CatalogRequest {
            budget: Some(BUDGET),
            request: Some(&case.request),
            turn: turn as u64,
            ..CatalogRequest::default()
        };
        let catalog = cataloger.catalog(&wanted, &MetadataOnly);
        let full = catalog.shown(DisplayLevel::Full).any(|placed| placed.name == case.skill);
        half.shown.count(full);
    }
    halves
}

#[test]
fn trigger_queries_in_a_small_and_a_large_shelf() {
    let home = TestHome::new();
    let Some(cases) = trigger_cases(home.path()) else { return };
    let Some(corpus) = corpus_skills(home.path()) else { return };
    // The skills that are asked for come first, where another has the same name.
    let roots = [root(&home.path().join("sets")), root(&home.path().join("catalogue"))];
    let small = scan_all(&roots);
    let large = scan_all(&[roots.as_slice(), &[root(&corpus)]].concat());
    for (scan, first, picked, right, shown) in [(&small, 78, 70, 80, 90), (&large, 63, 60, 76, 88)]
    {
        let count = scan.index.entries().len();
        let halves = figures(scan, &cases);
        for (figures, half) in halves.iter().zip(["seen", "others"]) {
            figures.print(&format!("{count} skills, {half}"));
            assert!(figures.first.at_least(first), "first, {half} of {count}");
            assert!(figures.picked.at_least(picked), "picked, {half} of {count}");
            assert!(figures.right.at_least(right), "fires rightly, {half} of {count}");
            assert!(figures.shown.at_least(shown), "shown, {half} of {count}");
        }
    }
}

/// A skill of the corpus, without the phrases that its description quotes as requests.
struct Apart {
    name: String,
    description: String,
    phrases: Vec<String>,
}

fn without_phrases(skill: OfferedSkill) -> Apart {
    let mut parts = skill.description.split('"');
    let mut description = parts.next().unwrap_or_default().to_owned();
    let mut phrases = Vec::new();
    while let (Some(quoted), Some(behind)) = (parts.next(), parts.next()) {
        let for_it = !description.to_lowercase().contains("not ");
        let is_request = (3..20).contains(&quoted.split_whitespace().count());
        if for_it && is_request && phrases.len() < 2 {
            phrases.push(quoted.to_owned());
        } else {
            description.push_str(quoted);
        }
        description.push_str(behind);
    }
    Apart { name: skill.name, description, phrases }
}

#[test]
fn quoted_phrases_fire_the_skill_they_were_taken_from_and_little_else() {
    let home = TestHome::new();
    let Some(texts) = corpus_texts() else { return };
    for (at, text) in texts.iter().enumerate() {
        let folder = home.path().join(format!("texts/{at}"));
        std::fs::create_dir_all(&folder).expect("makes");
        std::fs::write(folder.join("SKILL.md"), &text.bytes).expect("writes");
    }
    let found = scan_all(&[root(&home.path().join("texts"))]);
    let skills: Vec<Apart> = offered(&found).into_iter().map(without_phrases).collect();
    let shelf = |number: usize| skills.iter().skip(number % SHELVES).step_by(SHELVES);
    let (mut first, mut fired, mut strange) = Default::default();
    let count: fn(&mut Share, bool) = Share::count;
    for number in 0..SHELVES {
        let own: Vec<&Apart> = shelf(number).collect();
        let documents =
            own.iter().map(|it| Document { name: &it.name, description: &it.description });
        let index = SearchIndex::build(documents);
        for skill in &own {
            for phrase in &skill.phrases {
                let best = index.rank(phrase, 1).into_iter().next();
                let found = best.filter(|hit| own[hit.document].name == skill.name);
                count(&mut first, found.is_some());
                count(&mut fired, found.is_some_and(|hit| hit.fires()));
            }
        }
        // Skills of one maker are named alike and do alike: a sibling on the shelf may well fire.
        let family = |name: &str| name.split(['-', '_']).next().unwrap_or_default().to_owned();
        let here: HashSet<String> = own.iter().map(|skill| family(&skill.name)).collect();
        let strangers = shelf(number + 1).filter(|skill| !here.contains(&family(&skill.name)));
        for phrase in strangers.flat_map(|skill| &skill.phrases) {
            let best = index.rank(phrase, 1).into_iter().next();
            count(&mut strange, best.is_some_and(|hit| hit.fires()));
        }
    }
    println!("quoted phrases: first {first}  fired {fired}  fired without its skill {strange}");
    assert!(first.of > 500, "{}", first.of);
    assert!(first.at_least(65) && fired.at_least(55), "first {first}, fired {fired}");
    assert!(!strange.at_least(35), "fired without its skill: {strange}");
}
