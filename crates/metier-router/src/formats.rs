//! The kinds of files that a skill's description names: `summarise README.md` is not for one that is about
//! CSV files, whatever other words they share.
//!
//! A skill that names no kind is for all of them.

use crate::entities::extension;

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

/// Whether a skill with this description may be about these files: it names the kind of one of them, or
/// no kind at all; so may it where a file's kind is not known.
pub(crate) fn fits(description: &str, files: &[String]) -> bool {
    let kind_of = |word: &str| {
        let lower = word.to_lowercase();
        FORMATS.iter().position(|words| words.contains(&lower.as_str()))
    };
    let mut kinds = files.iter().filter_map(|file| extension(file)).map(kind_of).peekable();
    if kinds.peek().is_none() {
        return true;
    }
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
    }
}
