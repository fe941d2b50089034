//! What a skill without a fitting command has to say about a request: one file that its body points
//! to, and the section of the body that is about doing it; and how a text begins.
//!
//! Counts shared words; understands nothing.

use metier_skill::text::for_model;
use metier_skill::{Heading, outline, references};

use crate::fill::{shared, telling_words};

/// Characters of a section that an answer repeats.
const MAX_CHARS: usize = 4000;
/// Headings under which skills say what to do.
const INSTRUCTION_HEADINGS: &[&str] = &[
    "steps",
    "instructions",
    "usage",
    "workflow",
    "how to",
    "quick start",
    "process",
    "procedure",
];

/// The text file that the body points to and that shares most words with the request, if any does:
/// by its own name, or by the line that mentions it.
pub(crate) fn reference(body: &str, files: &[String], request: &str) -> Option<String> {
    let words = telling_words(request);
    let is_text = |path: &str| {
        [".md", ".txt", ".rst"].iter().any(|suffix| path.ends_with(suffix)) && path != "SKILL.md"
    };
    let mut best: Option<(usize, String)> = None;
    for reference in references(body) {
        let path = reference.path;
        if !is_text(&path) || !files.contains(&path) {
            continue;
        }
        let start = body[..reference.span.start].rfind('\n').map_or(0, |at| at + 1);
        let end =
            body[reference.span.end..].find('\n').map_or(body.len(), |at| reference.span.end + at);
        let about = telling_words(&format!("{} {path}", body.get(start..end).unwrap_or_default()));
        let common = shared(&words, &about);
        // The first of equals: it stands earlier in the skill.
        if common > 0 && best.as_ref().is_none_or(|(most, _)| common > *most) {
            best = Some((common, path));
        }
    }
    best.map(|(_, path)| path)
}

/// The section of the body to show: one whose heading is about doing, or else the one that shares most
/// words with the request, or else the beginning.
pub(crate) fn section(body: &str, request: &str) -> String {
    let headings = outline(body);
    let text = |heading: &Heading| body.get(heading.section.clone()).unwrap_or_default();
    let doing = headings.iter().find(|heading| {
        let title = heading.text.to_lowercase();
        heading.level > 1 && INSTRUCTION_HEADINGS.iter().any(|word| title.contains(word))
    });
    let words = telling_words(request);
    let common = |heading: &Heading| shared(&words, &telling_words(text(heading)));
    let found = doing.map(text).or_else(|| {
        let inner = headings.iter().filter(|heading| heading.level > 1);
        let best = inner.rev().max_by_key(|heading| common(heading));
        best.filter(|heading| common(heading) > 0).map(text)
    });
    cut(found.unwrap_or(body).trim(), MAX_CHARS)
}

/// The first characters of a text or of a part of one, with a mark where it was cut. Judged as it is
/// given: the rest of the text may have been what excused a character.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let head = match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => {
            let head = &text[..at];
            // At a line's end, unless that loses much.
            let end = head.rfind('\n').filter(|&line| line > at / 2).unwrap_or(at);
            format!("{}\n…", text[..end].trim_end())
        }
    };
    for_model(&head).into_owned()
}

/// The title and the first paragraph of a text; badges, images and markup lines are passed over.
pub(crate) fn opening(text: &str) -> String {
    let mut title = None;
    let mut paragraph: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        let passed =
            line.starts_with(['<', '!', '[', '|', '-', '=', '>', '`']) && paragraph.is_empty();
        match line.strip_prefix('#') {
            Some(heading) if paragraph.is_empty() => {
                title.get_or_insert(heading.trim_start_matches('#').trim());
            }
            _ if line.is_empty() && paragraph.is_empty() || passed => {}
            None if !line.is_empty() => paragraph.push(line),
            _ => break,
        }
    }
    let paragraph = paragraph.join("\n");
    match title {
        Some(title) if !title.is_empty() => format!("{title}\n\n{paragraph}").trim_end().to_owned(),
        _ => paragraph,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opening_is_the_title_and_the_first_paragraph() {
        let readme = "# Metier\n\n[![badge](x)](y)\n<p>logo</p>\n\nRuns skills.\nSafely.\n\n## Install\n\nMore.\n";
        assert_eq!(opening(readme), "Metier\n\nRuns skills.\nSafely.");
        assert_eq!(opening("Just words.\n\nMore."), "Just words.");
    }
}
