//! The trees that discovery is measured on: skills in the shapes and sizes that real ones have.
//!
//! The text of a skill is a function of its number alone, so that two runs measure the same bytes.
//! Frontmatter has about 430 bytes and the body about 5 KB, the averages of public skills.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result};

/// Skills in one group of a grouped tree.
const GROUP: u32 = 100;

/// How skills lie below the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shape {
    /// `root/<skill>/SKILL.md`
    Flat,
    /// `root/<group>/<skill>/SKILL.md`
    Grouped,
    /// The real collection, flat.
    Real,
    /// Ten copies of it under other names, flat.
    Copies,
}

impl Shape {
    /// The word in tables.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Grouped => "grouped",
            Self::Real => "real",
            Self::Copies => "real, ten copies",
        }
    }

    /// How many directories a skill lies below the root.
    pub(crate) const fn depth(self) -> u32 {
        match self {
            Self::Flat | Self::Real | Self::Copies => 1,
            Self::Grouped => 2,
        }
    }

    fn skill_dir(self, root: &Path, number: u32) -> PathBuf {
        match self {
            Self::Flat | Self::Real | Self::Copies => root.join(name(number)),
            Self::Grouped => root.join(format!("group-{:05}", number / GROUP)).join(name(number)),
        }
    }
}

/// Writes a flat tree of `count` skills below `root`.
pub(crate) fn write(root: &Path, count: u32) -> Result<()> {
    let writers = thread::available_parallelism().map_or(1, usize::from);
    let each = count.div_ceil(u32::try_from(writers)?).max(1);
    thread::scope(|scope| {
        let starts = (0..count).step_by(usize::try_from(each)?);
        let writers: Vec<_> = starts
            .map(|start| {
                let numbers = start..count.min(start + each);
                scope.spawn(move || numbers.into_iter().try_for_each(|n| write_skill(root, n)))
            })
            .collect();
        for writer in writers {
            writer.join().map_err(|_| anyhow::anyhow!("a writer of the tree panicked"))??;
        }
        Ok(())
    })
}

/// Moves the skills of a flat tree into groups below `grouped`; making them again takes minutes.
pub(crate) fn regroup(flat: &Path, grouped: &Path, count: u32) -> Result<()> {
    for number in 0..count {
        let to = Shape::Grouped.skill_dir(grouped, number);
        if let Some(group) = to.parent().filter(|_| number.is_multiple_of(GROUP)) {
            fs::create_dir(group).with_context(|| format!("cannot make {}", group.display()))?;
        }
        fs::rename(Shape::Flat.skill_dir(flat, number), &to)
            .with_context(|| format!("cannot make {}", to.display()))?;
    }
    Ok(())
}

fn write_skill(root: &Path, number: u32) -> Result<()> {
    let dir = Shape::Flat.skill_dir(root, number);
    let files = [
        ("SKILL.md", skill_text(number)),
        ("scripts/run.py", "#!/usr/bin/env python3\nprint(\"done\")\n".to_owned()),
        ("references/ref.md", format!("# Reference of {}\n\n{}\n", name(number), LINE.repeat(8))),
    ];
    for sub in ["scripts", "references"] {
        fs::create_dir_all(dir.join(sub))
            .with_context(|| format!("cannot make {}", dir.display()))?;
    }
    for (file, text) in files {
        let path = dir.join(file);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn name(number: u32) -> String {
    let topic = TOPICS[number as usize % TOPICS.len()];
    format!("{topic}-{number:06}")
}

/// The whole `SKILL.md` of one skill.
fn skill_text(number: u32) -> String {
    format!("---\n{}---\n{}", frontmatter(number), body(number))
}

/// Of twenty skills 12 are plain, 3 quoted, 2 have a block description, 3 metadata and tools.
fn frontmatter(number: u32) -> String {
    let name = name(number);
    let topic = TOPICS[number as usize % TOPICS.len()];
    let verb = VERBS[number as usize % VERBS.len()];
    let what = format!(
        "{verb} {topic} files and checks the result against the rules of the team (set {number})."
    );
    let when = format!(
        "Use when the user asks to read, convert, merge, split or review {topic} documents, \
         mentions a {topic} attachment, or wants a report about one; not for plain questions that \
         need no file. Handles large inputs in parts, keeps the original \
         untouched and says what it left out."
    );
    let license = "license: Apache-2.0\n";
    match number % 20 {
        0..12 => format!("name: {name}\ndescription: {what} {when}\n{license}"),
        12..15 => {
            format!("name: {name}\ndescription: \"{what} \\\"Quick\\\" mode: {when}\"\n{license}")
        }
        15 => format!("name: {name}\ndescription: >\n  {what}\n  {when}\n{license}"),
        16 => format!("name: {name}\ndescription: |\n  {what}\n  {when}\n{license}"),
        _ => format!(
            "name: {name}\ndescription: {what} Use when {topic} files are mentioned, and for \
             reports about them in any language.\n{license}allowed-tools: Read, Grep, \
             Bash(git:*), Bash(python3 scripts/run.py:*)\nmetadata:\n  author: example-org\n  \
             version: \"1.{}\"\n  category: documents\n  short-description: {verb} {topic} files\n",
            number % 10
        ),
    }
}

fn body(number: u32) -> String {
    let mut text = format!("\n# {}\n", name(number));
    for section in ["When to use", "Steps", "Scripts", "References", "Limits"] {
        let _ = write!(text, "\n## {section}\n\n");
        for step in 1..=7 {
            let _ = writeln!(text, "{step}. {LINE}");
        }
    }
    text
}

const LINE: &str = "Read the file in parts, run `scripts/run.py --check` on each, and keep what \
                    it prints for the summary at the end of the answer.";
const TOPICS: &[&str] =
    &["pdf", "xlsx", "docx", "slides", "invoice", "log", "schema", "release", "sql"];
const VERBS: &[&str] = &["Reads", "Converts", "Reviews", "Merges", "Summarises", "Fills", "Drafts"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frontmatter_and_body_have_the_average_sizes_of_real_skills() {
        let average =
            |part: fn(u32) -> String| (0..1000).map(|n| part(n).len()).sum::<usize>() / 1000;
        let frontmatter = average(frontmatter);
        assert!((400..460).contains(&frontmatter), "{frontmatter}");
        let body = average(body);
        assert!((4500..5500).contains(&body), "{body}");
    }

    #[test]
    fn the_four_kinds_of_frontmatter_have_their_shares() {
        let share = |mark: &str| (0..1000).filter(|n| frontmatter(*n).contains(mark)).count();
        assert_eq!(share("description: \""), 150);
        assert_eq!(share("description: >\n"), 50);
        assert_eq!(share("description: |\n"), 50);
        assert_eq!(share("metadata:\n"), 150);
    }

    #[test]
    fn a_plain_description_has_no_colon_that_yaml_would_trip_over() {
        let plain = frontmatter(0);
        let line = plain.lines().nth(1).unwrap();
        assert_eq!(line.matches(": ").count(), 1, "{line}");
        assert!(!line.contains(" #"));
    }
}
