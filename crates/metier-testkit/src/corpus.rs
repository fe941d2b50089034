//! The corpus of real skills, which lives beside the project and not in it.
//!
//! Where it is absent, a test says so in one loud line and passes without it.

use std::io::Read;
use std::path::{Path, PathBuf};

/// One `SKILL.md` of the corpus.
pub struct CorpusText {
    /// Its path in the collection it comes from.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The corpus directory: `METIER_CORPUS`, or `../shared/corpus` beside the project.
pub fn corpus_dir() -> Option<PathBuf> {
    let named = std::env::var_os("METIER_CORPUS").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let dir = named.unwrap_or_else(beside);
    present(dir, "METIER_CORPUS")
}

/// A file of the research folder beside the corpus.
pub fn research_file(name: &str) -> Option<PathBuf> {
    let file = corpus_dir()?.join("../research").join(name);
    present(file, "METIER_CORPUS")
}

fn present(path: PathBuf, variable: &str) -> Option<PathBuf> {
    if path.exists() {
        return Some(path);
    }
    crate::not_tested(format_args!(
        "{} is absent; set {variable} to run this part",
        path.display()
    ));
    None
}

/// The `SKILL.md` texts of the messy collections; `None` where the corpus is absent.
pub fn corpus_texts() -> Option<Vec<CorpusText>> {
    let file = std::fs::File::open(corpus_dir()?.join("texts.jsonl.gz")).expect("corpus texts");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip of UTF-8 lines");
    Some(text.lines().map(record).collect())
}

fn record(line: &str) -> CorpusText {
    let value: serde_json::Value = serde_json::from_str(line).expect("a JSON line");
    let path = value["path"].as_str().expect("path").to_owned();
    let bytes = match value["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => unhex(value["bytes"].as_str().expect("text or bytes")),
    };
    CorpusText { path, bytes }
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| {
            let digits = std::str::from_utf8(pair).expect("hex digits");
            u8::from_str_radix(digits, 16).expect("hex digits")
        })
        .collect()
}

/// Unpacks the whole skill folders of the corpus below `into` and gives the folder that holds them.
pub fn corpus_skills(into: &Path) -> Option<PathBuf> {
    let file = std::fs::File::open(corpus_dir()?.join("skills.tar.gz")).expect("corpus skills");
    tar::Archive::new(flate2::read::GzDecoder::new(file)).unpack(into).expect("unpacks");
    Some(into.join("skills"))
}
