//! Naming one skill, and searching for one.
//!
//! An error about a name says why the skill is not there, or which one was likely meant.

use std::sync::Arc;

use metier_policy::Invoker;
use metier_registry::search::{Document, SearchIndex};
use metier_registry::{Entry, Scan};
use metier_skill::{FailureCode, SkillId, nearest};

use crate::error::{Error, Result};
use crate::open::Metier;

/// A skill that a search found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SearchHit {
    /// The skill.
    pub entry: Arc<Entry>,
    /// How well it fits; comparable within one search only.
    pub score: f32,
    /// The words that matched.
    pub matched: Vec<String>,
}

impl Metier {
    /// The skill that `name` means: a name, `source:name` or `name@source`.
    pub fn skill(&self, name: &str) -> Result<Arc<Entry>> {
        let scan = self.skills();
        let entry = find(name, &scan)?;
        Ok(Arc::new(entry.clone()))
    }

    /// The skills that are switched on and that no rule keeps from being loaded, by name.
    pub fn usable_skills(&self) -> Result<Vec<Arc<Entry>>> {
        let scan = self.skills();
        let guard = self.guard(&scan)?;
        let gate = guard.load_gate(&scan.index, Invoker::User);
        let is_usable = |entry: &&Arc<Entry>| entry.enabled && gate.denied(entry).is_none();
        Ok(scan.index.entries().iter().filter(is_usable).cloned().collect())
    }

    /// Skills for these words, best first. Words may be misspelt, in English or Chinese; a whole
    /// request works too. What a rule keeps from being loaded is not found, as it is in no catalog.
    ///
    /// ```
    /// # use metier::Metier;
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// let hits = metier.search("totals of a spreadsheet, csv", 3)?;
    /// assert_eq!(hits[0].entry.name().as_str(), "csv-summary");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn search(&self, words: &str, limit: usize) -> Result<Vec<SearchHit>> {
        let entries = self.usable_skills()?;
        let documents = entries.iter().map(|entry| Document {
            name: entry.name().as_str(),
            description: &entry.skill.description,
        });
        let hits = SearchIndex::build(documents).rank(words, limit);
        let hits = hits.into_iter().map(|hit| SearchHit {
            entry: Arc::clone(&entries[hit.document]),
            score: hit.score,
            matched: hit.matched,
        });
        Ok(hits.collect())
    }
}

/// The skill that `name` means, or an error that says what to do.
pub fn find<'s>(name: &str, scan: &'s Scan) -> Result<&'s Entry> {
    scan.index.find(name).ok_or_else(|| not_found(name, scan))
}

/// The same skill, or an error where it is switched off.
pub fn enabled(entry: &Entry) -> Result<&Entry> {
    if entry.enabled {
        return Ok(entry);
    }
    let id = entry.id();
    Err(Error::failed("skill-disabled", format!("{id} is switched off"))
        .with_help(format!("`metier enable {id}` switches it on")))
}

fn not_found(name: &str, scan: &Scan) -> Error {
    let bare = name.parse::<SkillId>().map_or(name.to_owned(), |id| id.name.to_string());
    let ignored = scan
        .report
        .ignored
        .iter()
        .find(|line| line.path.file_name().is_some_and(|dir| dir == bare.as_str()));
    if let Some(line) = ignored {
        let place = line.line.map_or_else(String::new, |number| format!(":{number}"));
        let message = format!(
            "`{name}` is not listed: {} [{}] {}{place}",
            line.message,
            line.code,
            line.path.display()
        );
        return Error::failed("skill-ignored", message)
            .with_help(format!("{} `metier check` shows the line.", line.code.info().fix_advice));
    }
    let names = scan.index.entries().iter().map(|entry| entry.name().as_str());
    let help = match nearest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`metier list --all` shows every skill, and why others were left out".to_owned(),
    };
    Error::failed(FailureCode::SkillNotFound.as_str(), format!("there is no skill `{name}` here"))
        .with_help(help)
}
