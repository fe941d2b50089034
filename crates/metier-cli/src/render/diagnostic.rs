//! A diagnostic drawn under its source line.
//!
//! The source line is made safe for a terminal first, and the span follows it there.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use metier::skill::text::escape_lines;
use metier::skill::{Diagnostic, Severity};

use crate::render::safe;
use crate::render::table::terminal_width;

/// The diagnostic with its source line, for people. `source` is the file's content.
pub(crate) fn draw(diagnostic: &Diagnostic, file: &str, source: &[u8]) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let message = safe(&diagnostic.message);
    let file = safe(file);
    let title = level.primary_title(message.as_ref()).id(diagnostic.code.as_str());
    let line = (diagnostic.line > 0).then(|| source_line(source, diagnostic));
    let mut group = match &line {
        Some((text, span)) => {
            let annotation = AnnotationKind::Primary.span(span.clone());
            let snippet = Snippet::source(text.as_str())
                .path(file.as_ref())
                .line_start(diagnostic.line as usize);
            title.element(snippet.annotation(annotation))
        }
        None => Group::with_title(title).element(annotate_snippets::Origin::path(file.as_ref())),
    };
    group = group.element(Level::HELP.message(diagnostic.help()));
    let rejected_by = diagnostic.code.info().rejected_by;
    let rejects = format!("also rejected by {}", rejected_by.join(", "));
    if !rejected_by.is_empty() && diagnostic.severity != Severity::Note {
        group = group.element(Level::NOTE.message(rejects.as_str()));
    }
    let width = terminal_width().unwrap_or(120);
    Renderer::styled().decor_style(DecorStyle::Ascii).term_width(width).render(&[group])
}

/// The line a diagnostic starts on, safe for a terminal, and its span in that text.
fn source_line(source: &[u8], diagnostic: &Diagnostic) -> (String, Range<usize>) {
    let start = (diagnostic.span.start as usize).min(source.len());
    let end = (diagnostic.span.end as usize).clamp(start, source.len());
    let line_start = source[..start].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let line_end =
        source[start..].iter().position(|b| *b == b'\n').map_or(source.len(), |at| start + at);
    let piece = |range: Range<usize>| {
        let text = String::from_utf8_lossy(&source[range]).into_owned();
        // A tab stays a tab: the drawing counts it as the one character it is.
        escape_lines(text.trim_end_matches('\r')).into_owned()
    };
    let before = piece(line_start..start);
    let marked = piece(start..end.min(line_end));
    let after = piece(end.min(line_end)..line_end);
    let span = before.len()..before.len() + marked.len();
    (format!("{before}{marked}{after}"), span)
}
