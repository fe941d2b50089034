//! The kinds of files that a skill's description names: `summarise README.md` is not for one that is about
//! CSV files, whatever other words they share.
//!
//! A skill that names no kind is for all of them.

use crate::entities::extension;
use crate::leftover::without_refusals;

/// Kinds of files, each with its extensions and other words for it.
const FORMATS: &[&[&str]] = &[
    &["csv", "tsv"],
    &["xlsx", "xls", "excel", "xlsm"],
    &["pdf"],
    &["docx", "doc", "word"],
    &["pptx", "ppt", "powerpoint"],
    &["json", "jsonl", "ndjson"],
    &["yaml", "yml"],
    &["toml"],
    &["xml"],
    &["html", "htm"],
    &["md", "markdown"],
    &["txt"],
    &["png", "jpg", "jpeg", "gif", "webp", "svg", "image", "images", "photo", "photos"],
    &["mp3", "wav", "m4a", "flac", "audio"],
    &["mp4", "mov", "mkv", "webm", "video", "videos"],
    &["ipynb", "notebook", "notebooks"],
    &["sql", "sqlite"],
    &["parquet"],
];

/// Kinds whose files are data to look into: what stands in them is no summary of them.
const DATA: &[&str] = &["csv", "xlsx", "pdf", "docx", "pptx", "png", "mp3", "mp4", "parquet"];

/// The place of a kind in the table, by one of its words.
fn kind_of(word: &str) -> Option<usize> {
    let lower = word.to_lowercase();
    FORMATS.iter().position(|words| words.contains(&lower.as_str()))
}

/// Whether files with this extension are data, and not text that can be read as it is.
pub(crate) fn is_data(extension: &str) -> bool {
    kind_of(extension).is_some_and(|kind| DATA.contains(&FORMATS[kind][0]))
}

/// Whether a skill with this description says that it is about files of this kind.
pub(crate) fn names(description: &str, extension: &str) -> bool {
    let wanted = kind_of(extension);
    let description = without_refusals(description);
    let mut words = description.split(|c: char| !c.is_alphanumeric());
    wanted.is_some() && words.any(|word| kind_of(word) == wanted)
}

/// Whether a skill with this description may be about these files: it names the kind of one of them, or
/// no kind at all; so may it where a file's kind is not known.
pub(crate) fn fits(description: &str, files: &[String]) -> bool {
    let mut kinds = files.iter().filter_map(|file| extension(file)).map(kind_of).peekable();
    if kinds.peek().is_none() {
        return true;
    }
    let description = without_refusals(description);
    let words = description.split(|c: char| !c.is_alphanumeric());
    let named: Vec<usize> = words.filter_map(kind_of).collect();
    named.is_empty() || kinds.any(|kind| kind.is_none_or(|kind| named.contains(&kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_about_one_kind_of_file_is_not_for_another() {
        let fits = |description, file: &str| fits(description, &[file.to_owned()]);
        assert!(!fits("Summarise a CSV or TSV file.", "README.md"));
        assert!(fits("Summarise a CSV or TSV file.", "data/a.CSV"));
        assert!(fits("Summarise a CSV or TSV file.", "a.tsv"));
        assert!(fits("Summarise anything.", "README.md"));
        assert!(fits("Summarise a CSV file.", "a.unknown"));
        assert!(super::fits("Summarise a CSV file.", &[]));
        assert!(!fits("Summarise a CSV file. Do NOT use for Excel workbooks.", "a.xlsx"));
        assert!(!names("Summarise a CSV file. Do NOT use for Excel workbooks.", "xlsx"));
        assert!(names("Summarise a CSV file.", "TSV"));
    }
}
