//! What loading costs beside what it cannot do without: reading and hashing the file, and one pass
//! of the Markdown parser.
//!
//! Prints one line a round: `case<TAB>bytes<TAB>loaded ns<TAB>floor ns`. Floor and loader run in
//! turns, and the first of them changes from round to round. `cargo xtask bench loading` runs and
//! judges it. Arguments: the number of rounds, and a word that chooses cases, for a profiler.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench reads files the plain way too, and ends where one cannot be read"
)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use metier_fs::SkillRoot;
use metier_loader::{BodyLimits, ResourceLimits, ResourceQuery, load_body, load_resource};
use metier_skill::Digest;
use pulldown_cmark::{Options, Parser};

/// Bodies as most are, with twice as much and more, and one that is trimmed.
const BODIES: &[(&str, usize, &str)] = &[
    ("body of 5 KB", 5_000, "-"),
    ("body of 12 KB", 12_000, "-"),
    ("body of 12 KB, not all ASCII", 12_000, "\u{2014} \u{8868}\u{683c} \u{2192}"),
    ("body of 200 KB, trimmed", 200_000, "-"),
];
const SECTION_FILE: usize = 1_990_000;

fn main() {
    // `cargo bench` adds `--bench` to what it was given.
    let words: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let rounds = words.first().and_then(|word| word.parse().ok()).unwrap_or(30);
    let chosen = |case: &str| words.get(1).is_none_or(|word| case.contains(word.as_str()));
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (case, size, dash) in BODIES.iter().filter(|(case, ..)| chosen(case)) {
        let skill = dir.path().join(case);
        let file = write_skill(&skill, *size, dash);
        // What has to be trimmed has to be parsed too.
        let trimmed = *size > 40_000;
        let floor = || {
            let bytes = std::fs::read(&file).expect("reads");
            black_box(Digest::of(&bytes));
            if trimmed {
                black_box(parse(std::str::from_utf8(&bytes).expect("text")));
            }
        };
        let ours = || {
            let root = SkillRoot::open(&skill).expect("opens");
            let loaded = load_body(&root, &BodyLimits::default()).expect("loads");
            assert_eq!(black_box(loaded).report.truncated, trimmed);
        };
        measure(case, *size, rounds, 2_000_000 / size, &floor, &ours);
    }
    let skill = dir.path().join("section");
    write_skill(&skill, SECTION_FILE, "-");
    let text = std::fs::read_to_string(skill.join("SKILL.md")).expect("reads");
    let root = SkillRoot::open(&skill).expect("opens");
    let sections = [("section at the start", "Part 3"), ("section at the end", "Part 2500")];
    for (case, hint) in sections.into_iter().filter(|(case, _)| chosen(case)) {
        let query = ResourceQuery { section: Some(hint), ..ResourceQuery::default() };
        let floor = || {
            black_box(parse(&text));
        };
        let ours = || {
            let loaded = load_resource(&root, "SKILL.md", &query, &ResourceLimits::default());
            let loaded = black_box(loaded).expect("loads");
            assert!(loaded.report.section.is_some() && !loaded.text.is_empty());
        };
        measure(&format!("{case} of a 2 MB file"), SECTION_FILE, rounds, 1, &floor, &ours);
    }
}

/// One pass of the parser, with the options of the outline.
fn parse(text: &str) -> usize {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options).into_offset_iter().count()
}

/// Times `times` calls of each in every round, in turns.
fn measure(
    case: &str,
    size: usize,
    rounds: usize,
    times: usize,
    floor: &dyn Fn(),
    ours: &dyn Fn(),
) {
    let timed = |work: &dyn Fn()| {
        let start = Instant::now();
        for _ in 0..times {
            work();
        }
        start.elapsed().as_nanos() / times as u128
    };
    // One round that is not counted.
    let _ = (timed(floor), timed(ours));
    for round in 0..rounds {
        let (floor, ours) = if round % 2 == 0 {
            let first = timed(floor);
            (first, timed(ours))
        } else {
            let first = timed(ours);
            (timed(floor), first)
        };
        println!("{case}\t{size}\t{ours}\t{floor}");
    }
}

/// A skill whose `SKILL.md` has about `size` bytes of what instructions are made of.
fn write_skill(dir: &Path, size: usize, dash: &str) -> PathBuf {
    let mut text = "---\nname: bench\ndescription: Measures.\n---\n\n# Bench\n\n".to_owned();
    let mut part = 0;
    while text.len() < size {
        part += 1;
        text.push_str(&format!(
            "## Part {part}\n\nRead the *order* first, then `scripts/run.py` with its **number**; see \
             [the guide](references/guide.md) for more words about it than stand here.\n\n\
             - Check the sum, and the date of part {part}.\n- Leave the rest as it is.\n\n\
             ```sh\npython scripts/run.py --order {part} --out outputs/{part}.pdf\n```\n\n\
             A paragraph of ordinary words follows, because most of a manual is made of them {dash} and a \
             second sentence, so that there is something to read in every part of it.\n\n\
             | field | meaning |\n|---|---|\n| order | the number |\n| out | the file |\n\n"
        ));
    }
    std::fs::create_dir_all(dir).expect("makes the directory");
    let file = dir.join("SKILL.md");
    std::fs::write(&file, text).expect("writes");
    file
}
