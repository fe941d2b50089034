//! The skill's own files that a body mentions: Markdown links and images, and mentions such as
//! `scripts/run.py` in a sentence or in inline code.
//!
//! Found by the Markdown parser, so that nothing inside a code block counts: what is there is
//! mostly about the user's own files. A mention has to earn its place, because a false alarm costs
//! the reader's trust: it names a folder that skills keep their files in and a file with a suffix,
//! and its line does not say that the file is only an example or still to be made. Pure; whether a
//! file is there is judged by `broken`.

pub(crate) mod broken;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// A file of the skill that a body mentions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The path below the skill's directory: decoded, without `./`, query and fragment.
    pub path: String,
    /// How it is spoken of.
    pub kind: ReferenceKind,
    /// Where, in bytes of the text.
    pub span: Range<usize>,
}

/// How a body mentions a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A Markdown link or image.
    Link,
    /// A path in a sentence or in inline code.
    Mention,
}

/// Folders whose files a skill mentions; the public specification names the first three.
const FOLDERS: &[&str] = &[
    "references/",
    "scripts/",
    "assets/",
    "reference/",
    "templates/",
    "examples/",
    "resources/",
    "rules/",
    "prompts/",
];

/// Before a path on its line: it is an example, or the reader is to make it.
const MADE: &[&str] = &[
    "create", "copy ", "save", "write ", "writes ", "generate", "output", "commit", "rename",
    "add a ", "add an ", "->", "\u{2192}",
];

/// Anywhere on its line: there need not be such a file.
const SUPPOSED: &[&str] = &[
    "e.g.",
    "for example",
    "for instance",
    "such as",
    "example:",
    "examples:",
    "example**",
    "examples**",
    "would be",
    "might be",
    "could be",
    "if it exists",
    "if present",
    "optional",
    "if you have",
    "create this",
];

/// How targets of links begin that are no files of a skill.
const ADDRESSES: &[&[u8]] = &[b"https://", b"http://", b"mailto:", b"#"];

/// No further than this is looked around a path, so that one endless line costs no more than many
/// short ones.
const MAX_CONTEXT_BYTES: usize = 2048;

/// The files that `text` mentions, in order. A path that appears several times is given
/// each time.
pub fn references(text: &str) -> Vec<Reference> {
    // Two bodies in three have nothing that could be one, and parsing Markdown is most of the work.
    if may_refer(text) { parse_references(text) } else { Vec::new() }
}

fn parse_references(text: &str) -> Vec<Reference> {
    let mut finder = Finder { text, found: Vec::new(), supposed: HashSet::new() };
    let mut run = Run::default();
    // Depth of code blocks, links and images, whose text is not searched for mentions.
    let mut closed = 0usize;
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        // The parser gives a text in pieces: `a_b` is three of them.
        if let Event::Text(piece) = &event
            && closed == 0
        {
            run.push(piece, &range);
            continue;
        }
        finder.mentions(&run);
        run.text.clear();
        match event {
            Event::Start(
                Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. },
            ) => {
                closed += 1;
                finder.link(link_type, &dest_url, range);
            }
            Event::Start(Tag::CodeBlock(_)) => closed += 1,
            Event::End(TagEnd::Link | TagEnd::Image | TagEnd::CodeBlock) => {
                closed = closed.saturating_sub(1);
            }
            Event::Code(piece) if closed == 0 => {
                run.push(&piece, &range);
                finder.mentions(&run);
                run.text.clear();
            }
            _ => {}
        }
    }
    finder.mentions(&run);
    finder.finish()
}

/// Whether there may be a reference, seen without parsing: `false` is certain. A link to a file needs
/// `](` with a target that is no address, or a definition's `]:`; a mention needs the name of a folder,
/// unless its slash is written as an escape or an entity, or a letter of it as an entity with a number.
fn may_refer(text: &str) -> bool {
    let bytes = text.as_bytes();
    let may_link = |at: usize| match bytes.get(at + 1) {
        Some(b':') => may_define(&bytes[..at]),
        Some(b'(') => {
            let target = &bytes[at + 2..];
            !ADDRESSES.iter().any(|start| target.starts_with(start))
        }
        _ => false,
    };
    let may_mention = |slash: usize| {
        let (before, after) = (&bytes[..slash], &bytes[slash + 1..]);
        let starts = |folder: &&str| {
            let name = folder.trim_end_matches('/').as_bytes();
            before.strip_suffix(name).is_some_and(may_start_a_path)
        };
        before.ends_with(b"\\") || (FOLDERS.iter().any(starts) && may_have_suffix(after))
    };
    let may_be_entity =
        |at: usize| bytes[at + 1..].starts_with(b"#") || bytes[at + 1..].starts_with(b"sol;");
    memchr::memchr3_iter(b']', b'/', b'&', bytes).any(|at| match bytes[at] {
        b']' => may_link(at),
        b'/' => may_mention(at),
        _ => may_be_entity(at),
    })
}

/// Whether the `]` that follows may end the label of a definition: its bracket is on an earlier line, or
/// nothing but the marks of quotes and lists is before it on this one.
fn may_define(before: &[u8]) -> bool {
    let line = &before[memchr::memrchr(b'\n', before).map_or(0, |end| end + 1)..];
    let Some(open) = memchr::memrchr(b'[', line) else { return true };
    let marks = &line[..open];
    marks.ends_with(b"\\") || marks.iter().all(|byte| b" \t>*+-.)0123456789".contains(byte))
}

/// Whether [`starts_a_path`] may hold where the parser has seen this before a path. It takes away marks
/// such as `_` and `>`; the bytes here stay.
fn may_start_a_path(before: &[u8]) -> bool {
    let before = before.strip_suffix(b"./").unwrap_or(before);
    !before.last().is_some_and(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'/' | b'$' | b'}' | b'%')
    })
}

/// Whether the path that starts here may have a suffix: a dot, as it is or written in another way.
fn may_have_suffix(path: &[u8]) -> bool {
    let end = path.iter().find(|byte| **byte == b'.' || !is_path_byte(**byte));
    matches!(end, Some(b'.' | b'\\' | b'&'))
}

/// Text that the parser gave in adjacent pieces.
#[derive(Default)]
struct Run {
    text: String,
    range: Range<usize>,
}

impl Run {
    fn push(&mut self, piece: &str, range: &Range<usize>) {
        if self.text.is_empty() {
            self.range.start = range.start;
        }
        self.text.push_str(piece);
        self.range.end = range.end;
    }
}

struct Finder<'t> {
    text: &'t str,
    found: Vec<Reference>,
    /// Paths of which the text says somewhere that they need not be there.
    supposed: HashSet<String>,
}

impl Finder<'_> {
    fn link(&mut self, kind: LinkType, target: &str, range: Range<usize>) {
        if matches!(kind, LinkType::Autolink | LinkType::Email) {
            return;
        }
        let Some(path) = own_path(target) else { return };
        // The target itself, where it is in the link as it was read.
        let inside = self.text[range.clone()].rfind(target);
        let span =
            inside.map_or(range.clone(), |at| range.start + at..range.start + at + target.len());
        self.found.push(Reference { path, kind: ReferenceKind::Link, span });
    }

    fn mentions(&mut self, run: &Run) {
        if run.text.is_empty() {
            return;
        }
        let source = &self.text[run.range.clone()];
        for word in mentioned(&run.text) {
            let Some(path) = own_path(&run.text[word.clone()]) else { continue };
            // Where the parser changed the text (escapes, entities, the marks of inline code) the
            // word is looked for, and a long stretch is the span as a whole.
            let span = if source == run.text {
                run.range.start + word.start..run.range.start + word.end
            } else {
                let near = Some(source).filter(|source| source.len() <= MAX_CONTEXT_BYTES);
                let at = near.and_then(|source| source.find(&run.text[word.clone()]));
                at.map_or(run.range.clone(), |at| {
                    run.range.start + at..run.range.start + at + word.len()
                })
            };
            if self.is_supposed(&span) {
                self.supposed.insert(path);
                continue;
            }
            self.found.push(Reference { path, kind: ReferenceKind::Mention, span });
        }
    }

    /// Whether its line says that the file is an example, or still to be made.
    fn is_supposed(&self, span: &Range<usize>) -> bool {
        let from = self.text.floor_char_boundary(span.start.saturating_sub(MAX_CONTEXT_BYTES));
        let to = self.text.floor_char_boundary(self.text.len().min(span.end + MAX_CONTEXT_BYTES));
        let before = &self.text[from..span.start];
        let after = &self.text[span.end..to];
        let before = before.rsplit('\n').next().unwrap_or(before).to_lowercase();
        let after = after.split('\n').next().unwrap_or(after).to_lowercase();
        MADE.iter().any(|word| before.contains(word))
            || SUPPOSED.iter().any(|word| before.contains(word) || after.contains(word))
    }

    fn finish(self) -> Vec<Reference> {
        let Self { mut found, supposed, .. } = self;
        found.retain(|it| it.kind == ReferenceKind::Link || !supposed.contains(&it.path));
        found
    }
}

/// The stretches of `text` that name a file in one of the folders of a skill.
fn mentioned(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut done = 0;
    for slash in memchr::memchr_iter(b'/', text.as_bytes()) {
        let named = |folder: &&&str| text[..=slash].ends_with(**folder);
        let Some(folder) = FOLDERS.iter().find(named) else { continue };
        let start = slash + 1 - folder.len();
        if start < done || !starts_a_path(&text[..start]) {
            continue;
        }
        let length = text[start..].bytes().take_while(|byte| is_path_byte(*byte)).count();
        let after = text[start + length..].chars().next();
        let word = text[start..start + length].trim_end_matches(['.', '-', '/']);
        // `references/*.md`, `scripts/{name}.py`, `assets/<file>.png`: a pattern, not a file.
        let whole = !after.is_some_and(|ch| matches!(ch, '*' | '{' | '<' | '[' | '$' | '%' | '\\'));
        if whole && has_suffix(word) && !word.contains("...") {
            found.push(start..start + word.len());
        }
        done = start + length;
    }
    found
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'+')
}

/// Whether a path may start after `before`: at a boundary, or behind `./` at one. `my-scripts/a`,
/// `../scripts/a`, `/scripts/a` and `$DIR/scripts/a` are paths that start earlier.
fn starts_a_path(before: &str) -> bool {
    let before = before.strip_suffix("./").unwrap_or(before);
    let last = before.chars().next_back();
    !last.is_some_and(|ch| {
        ch.is_ascii_alphanumeric()
            || matches!(ch, '_' | '-' | '.' | '/' | '\\' | '~' | '$' | '}' | '>' | ']' | '%' | ':')
    })
}

/// Whether the last name has a suffix, as the files that people mention have.
fn has_suffix(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(stem, suffix)| {
        !stem.is_empty()
            && (1..=10).contains(&suffix.len())
            && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && suffix.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

/// The path below the skill's directory that a link's target means; `None` for a URL, an anchor, an
/// absolute path, a placeholder, a way out of the skill, or a single word.
fn own_path(target: &str) -> Option<String> {
    let target = target.trim();
    let target = target.split(['#', '?']).next().unwrap_or_default();
    let odd = |ch: char| matches!(ch, '<' | '>' | '{' | '}' | '$' | '*' | '|' | '\\' | ':' | '"');
    if target.is_empty() || target.starts_with(['/', '~', '@']) || target.contains(odd) {
        return None;
    }
    let decoded = decoded(target);
    if decoded.chars().any(char::is_control) || decoded.contains("...") {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for name in decoded.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    let path = names.join("/");
    // `[text](url)` and `[licence](LICENSE)`: a word is more often a placeholder than a file.
    (path.contains('/') || has_suffix(&path)).then_some(path)
}

/// `%20` and the like as the bytes they stand for; unchanged where that gives no text.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digit = |at: usize| tail.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (first, digit(0), digit(1)) {
            bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn paths(text: &str) -> Vec<String> {
        references(text).into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn links_images_and_mentions_are_found_with_their_spans() {
        let text = "See [the guide](references/guide.md#top \"T\"), ![logo](./assets/a%20b.png), \
                    `python scripts/run_all.py --x` and references/my_notes.md.\n\n[r]: templates/a.md\n[x][r]\n";
        let found = references(text);
        let spans: Vec<&str> = found.iter().map(|it| &text[it.span.clone()]).collect();
        assert_eq!(
            found.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(),
            [
                "references/guide.md",
                "assets/a b.png",
                "scripts/run_all.py",
                "references/my_notes.md",
                "templates/a.md"
            ]
        );
        assert_eq!(
            spans,
            [
                "references/guide.md#top",
                "./assets/a%20b.png",
                "scripts/run_all.py",
                "references/my_notes.md",
                "[x][r]"
            ]
        );
        assert_eq!(found[0].kind, ReferenceKind::Link);
        assert_eq!(found[2].kind, ReferenceKind::Mention);
    }

    #[test]
    fn what_is_not_a_file_of_the_skill_is_no_reference() {
        for text in [
            "[a](https://x.y/references/a.md) <https://x.y/scripts/a.py> [m](mailto:a@b.c) [t](#top)",
            "[a](/references/a.md) [b](~/scripts/a.py) [c](../other/a.md) [d](references/../../a.md)",
            "`/opt/scripts/a.py` `~/scripts/a.py` `../scripts/a.py` `my-scripts/a.py` `x/scripts/a.py`",
            "`scripts/<name>.py` `scripts/{name}.py` `references/*.md` `$DIR/scripts/a.py` `{baseDir}/scripts/a.py`",
            "[t](url) [licence](LICENSE) [p](<file>) [q]({path}.md) [r](path/...)",
            "```sh\npython scripts/a.py\n[a](references/a.md)\n```\n\n    scripts/b.py\n",
            "Put code into `scripts/` and texts into references/. Version scripts/1.2 too.",
            "<img src=\"assets/a.png\">\n",
        ] {
            assert_eq!(paths(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_file_that_is_an_example_or_still_to_be_made_is_none() {
        for text in [
            "- **Examples**: `references/finance.md` for schemas",
            "A `scripts/rotate.py` script would be helpful.",
            "Copy `x` to `references/config.json`.\n\nNever show `references/config.json`.",
            "Use a file such as references/a.md.",
        ] {
            assert_eq!(paths(text), [""; 0], "{text}");
        }
        // A link is a promise whatever its line says.
        assert_eq!(paths("For example [this](references/a.md)."), ["references/a.md"]);
        // What follows the path is about something else.
        assert_eq!(paths("Run `scripts/a.py` to create the output."), ["scripts/a.py"]);
    }

    #[test]
    fn punctuation_and_other_scripts_end_a_path() {
        assert_eq!(
            paths("Read references/a.md, (scripts/b.sh) or \"assets/c.png\"."),
            ["references/a.md", "scripts/b.sh", "assets/c.png"]
        );
        assert_eq!(
            paths("\u{8bf7}\u{8bfb}references/a.md\u{6587}\u{4ef6}\u{3002}"),
            ["references/a.md"]
        );
        assert_eq!(paths(r"references/my\_file.md"), ["references/my_file.md"]);
    }

    #[test]
    fn what_only_the_parser_reads_as_a_path_is_found() {
        for text in [
            r"scripts\/a.py",
            "scripts&#47;a.py",
            "scripts&sol;a.py",
            "&#115;cripts/a.py",
            "_scripts/a.py_",
            r"scripts/a\.py",
            "scripts/a&period;py",
            "<b>scripts/a.py</b>",
            ">scripts/a.py",
            "[x][r]\n\n> [r]: scripts/a.py\n",
            "[x\ny]\n\n* 1. [x\ny]: scripts/a.py\n",
            r"[x\[]

[x\[]: scripts/a.py",
            "[x]( <scripts/a.py>)",
            "![y](./scripts/a.py)",
        ] {
            assert_eq!(paths(text), ["scripts/a.py"], "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_text_that_is_not_parsed_has_no_reference(
            text in "(references/|scripts|/|&period;|py|\\\\|&sol;|&#(47|x73|115);|a\\.md|\\./|[\\[\\]():<>`#! \n*_~.$}%|-]|https://|http:|x){0,24}"
        ) {
            prop_assert_eq!(references(&text), parse_references(&text));
        }

        #[test]
        fn any_text_gets_an_answer_and_spans_stay_in_it(
            text in "([\\PC\n`*_<>%]{0,6}|references/|scripts/|a\\.md|\\.\\./|\\./|\\[x\\]\\(|\\)|!|%2[0-9a-z]|```|\u{8868}|&amp;|\\\\_| ){0,20}"
        ) {
            for it in references(&text) {
                prop_assert!(it.span.start <= it.span.end && it.span.end <= text.len());
                prop_assert!(text.is_char_boundary(it.span.start) && text.is_char_boundary(it.span.end));
                prop_assert!(!it.path.is_empty() && !it.path.starts_with('/'));
                prop_assert!(it.path.split('/').all(|name| !name.is_empty() && name != ".." && name != "."));
            }
        }
    }
}
