//! The files behind an index: a skill's directory, or the program itself.
//!
//! The catalog and the skill tool see skills only through small traits; this module implements them
//! over the disk. Names of files are open to both; a body comes in through the decision that loads the
//! skill, and through nothing else ([`GatedContents`]).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use metier_fs::{Dir, FileMark, RootError, SkillRoot, TreeFile, TreeLimits, list_files};
use metier_loader::tool::{LoadableSkill, SkillLibrary, SkillTool};
use metier_loader::{BodyLimits, LoadError, MemoryFiles, SkillFiles, load_body};
use metier_policy::Effect;
use metier_registry::catalog::{Catalog, CatalogRequest, CatalogText, Cataloger, SkillContents};
use metier_registry::{Entry, Index};
use metier_skill::fence::frontmatter_digest;
use metier_skill::{Digest, MAX_FILE_BYTES, RelPath, SkillId};
use serde::{Deserialize, Serialize};

use crate::gate::LoadGate;

/// Characters of a body that the `direct` format of a catalog shows.
const OPENING_CHARS: usize = 1000;
/// Files of a skill that the `awareness` format names.
const MAX_NAMED_FILES: usize = 20;

/// The skills of one index, with their files.
#[derive(Debug, Clone, Copy)]
pub struct IndexContents<'i> {
    index: &'i Index,
}

impl<'i> IndexContents<'i> {
    /// The skills of `index`.
    pub const fn new(index: &'i Index) -> Self {
        Self { index }
    }

    fn entry(self, skill: &LoadableSkill) -> Result<&'i Entry, LoadError> {
        self.index.find(&skill.id()).ok_or(LoadError::SkillNotFound)
    }
}

/// A skill's directory, held open. Its `SKILL.md` is read only while it has the frontmatter that the
/// index has: name, description and ceiling were taken from that.
struct IndexedFiles {
    root: SkillRoot,
    frontmatter: Digest,
}

impl SkillFiles for IndexedFiles {
    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, RootError> {
        let bytes = self.root.read(path, limit)?;
        let is_skill_file = path.as_str().eq_ignore_ascii_case("SKILL.md");
        if is_skill_file && frontmatter_digest(&bytes) != Some(self.frontmatter) {
            return Err(RootError::Changed);
        }
        Ok(bytes)
    }
}

/// The files of a skill as the loader reads them: its directory, held open, or the program itself.
pub fn open_files(entry: &Entry) -> Result<Box<dyn SkillFiles>, LoadError> {
    if let Some(files) = &entry.memory {
        let files = files.iter().map(|(path, bytes)| (path.to_owned(), bytes.to_vec()));
        return Ok(Box::new(MemoryFiles(files.collect())));
    }
    let root = SkillRoot::open(&entry.path).map_err(|_| LoadError::SkillNotFound)?;
    Ok(Box::new(IndexedFiles { root, frontmatter: entry.digest }))
}

/// The bytes of a skill's `SKILL.md`, which has the frontmatter that the index has.
pub(crate) fn skill_file(entry: &Entry, files: &dyn SkillFiles) -> Result<Vec<u8>, RootError> {
    let name = entry.file();
    let name = name.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    let path = RelPath::new(name).map_err(|_| RootError::Missing)?;
    files.read(&path, MAX_FILE_BYTES)
}

/// Fails where a skill no longer has the frontmatter that the index has.
pub fn check_frontmatter(entry: &Entry, files: &dyn SkillFiles) -> Result<(), LoadError> {
    match skill_file(entry, files) {
        Err(error @ RootError::Changed) => Err(LoadError::Changed(format!("SKILL.md: {error}"))),
        Err(_) => Err(LoadError::SkillNotFound),
        Ok(_) => Ok(()),
    }
}

/// What the file of a skill looks like now, as [`Entry::mark`] has it of then; `None` where it does not
/// lie in a folder, or is not there.
pub fn mark_now(entry: &Entry) -> Option<FileMark> {
    let file = entry.file();
    let stamp = Dir::open(file.parent()?).ok()?.stamp_below(Path::new(file.file_name()?)).ok()?;
    entry.mark.map(|_| stamp.mark())
}

/// The names of a skill's readable files: hidden files, links and special files are left out. Opens
/// none of them.
pub fn file_names(entry: &Entry) -> Vec<String> {
    if let Some(files) = &entry.memory {
        return files.iter().map(|(path, _)| path.to_owned()).collect();
    }
    let (files, _) = list_files(&entry.path, TreeLimits::default()).unwrap_or_default();
    let readable =
        |file: &TreeFile| !file.link && !file.special && RelPath::new(&file.path).is_ok();
    files.into_iter().filter(readable).map(|file| file.path).collect()
}

impl SkillLibrary for IndexContents<'_> {
    fn open(&self, skill: &LoadableSkill) -> Result<Box<dyn SkillFiles>, LoadError> {
        open_files(self.entry(skill)?)
    }

    fn file_names(&self, skill: &LoadableSkill) -> Vec<String> {
        let names = self.entry(skill).map(file_names).unwrap_or_default();
        names.into_iter().filter(|name| !name.eq_ignore_ascii_case("SKILL.md")).collect()
    }
}

/// What stands in the skill's directory itself: `SKILL.md` first, a folder as `templates/`.
fn top_level(files: Vec<String>) -> Vec<String> {
    let name = |file: String| match file.split_once('/') {
        Some((folder, _)) => format!("{folder}/"),
        None => file,
    };
    let mut names: Vec<String> = files.into_iter().map(name).collect();
    names.sort_by_key(|name| (!name.eq_ignore_ascii_case("SKILL.md"), name.clone()));
    names.dedup();
    names
}

impl SkillContents for IndexContents<'_> {
    fn files(&self, entry: &Entry) -> Vec<String> {
        let mut names = top_level(file_names(entry));
        let more = names.len().saturating_sub(MAX_NAMED_FILES);
        names.truncate(MAX_NAMED_FILES);
        if more > 0 {
            names.push(format!("and {more} more"));
        }
        names
    }

    /// Nothing: without a gate there is no decision that a body could come in by.
    fn opening(&self, _: &Entry) -> Option<String> {
        None
    }
}

/// The skills of one index, and the openings of those bodies that may be loaded without a question.
#[derive(Debug)]
pub struct GatedContents<'g> {
    gate: LoadGate<'g>,
    limits: BodyLimits,
    /// What was decided about each skill whose opening was asked for.
    judged: RefCell<BTreeMap<SkillId, Option<Opened>>>,
}

#[derive(Debug, Clone)]
struct Opened {
    body: ShownBody,
    text: String,
}

/// A body that is shown, and the decision by which it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownBody {
    /// The skill.
    pub skill: SkillId,
    /// Why it may be shown.
    pub reason: String,
    /// The digest of the request that was allowed.
    pub request: Digest,
}

impl<'g> GatedContents<'g> {
    /// The skills of the gate's index. `limits` are those of loading.
    pub const fn new(gate: LoadGate<'g>, limits: BodyLimits) -> Self {
        Self { gate, limits, judged: RefCell::new(BTreeMap::new()) }
    }

    /// The bodies that a catalog shows, in its order.
    pub fn shown(&self, catalog: &CatalogText) -> Vec<ShownBody> {
        let judged = self.judged.borrow();
        let opened = catalog.described.iter().filter_map(|id| judged.get(id)?.as_ref());
        opened.map(|opened| opened.body.clone()).collect()
    }

    fn open(&self, entry: &Entry) -> Option<Opened> {
        let judgement = self.gate.judge(entry);
        let request = judgement.request.as_ref().ok()?.digest();
        if judgement.decision.effect != Effect::Allow {
            return None;
        }
        let body = load_body(&*open_files(entry).ok()?, &self.limits).ok()?.text;
        let text = metier_skill::text::clip(&body, OPENING_CHARS).into_owned();
        let reason = judgement.decision.reason.clone();
        let body = ShownBody { skill: entry.id(), reason, request };
        judgement.still_holds(entry).then_some(Opened { body, text })
    }
}

impl SkillContents for GatedContents<'_> {
    fn files(&self, entry: &Entry) -> Vec<String> {
        IndexContents::new(self.gate.index).files(entry)
    }

    /// The home directory as `~`, as people write it and as it is shown to a provider.
    fn shown_path(&self, entry: &Entry) -> String {
        let path = entry.path.to_string_lossy().into_owned();
        let home = self.gate.policy.places().home().map(|home| home.as_str());
        let below = home.and_then(|home| path.strip_prefix(home)).filter(|it| it.starts_with('/'));
        below.map_or_else(|| path.clone(), |below| format!("~{below}"))
    }

    fn opening(&self, entry: &Entry) -> Option<String> {
        let mut judged = self.judged.borrow_mut();
        let opened = judged.entry(entry.id()).or_insert_with(|| self.open(entry));
        opened.as_ref().map(|opened| opened.text.clone())
    }
}

/// The skill tool for what a model may see, and the catalog that describes it; `None` when there are
/// no skills to show.
pub fn skill_tool(
    index: &Index,
    cataloger: &Cataloger,
    wanted: &CatalogRequest<'_>,
    limits: BodyLimits,
) -> Option<(SkillTool, Catalog)> {
    let catalog = cataloger.catalog(wanted, &IndexContents::new(index));
    let offered = cataloger.offered(wanted).map(|entry| LoadableSkill {
        name: entry.name().as_str().to_owned(),
        source: entry.source,
        path: entry.path.to_string_lossy().into_owned(),
        digest: entry.digest,
    });
    let tool = SkillTool::new(&catalog.text(), offered.collect(), limits)?;
    Some((tool, catalog))
}

#[cfg(test)]
mod tests {
    use metier_loader::tool::AllowAll;
    use metier_registry::catalog::{CatalogFormat, DisplayLevel};
    use metier_registry::{Root, ScanOptions, scan};
    use metier_skill::Source;
    use serde_json::json;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes files")]
    fn a_tool_offers_what_the_catalog_shows_and_loads_it() {
        let dir = tempfile::tempdir().expect("dir");
        for (name, more) in [("pdf", ""), ("mine", "disable-model-invocation: true\n")] {
            let folder = dir.path().join(name);
            std::fs::create_dir_all(folder.join("scripts")).expect("makes");
            let text = format!(
                "---\nname: {name}\ndescription: AskDetails {name}.\n{more}---\n# {name}\n"
            );
            std::fs::write(folder.join("SKILL.md"), text).expect("writes");
            std::fs::write(folder.join("scripts/run.sh"), "echo").expect("writes");
        }
        let root = Root {
            source: Source::Explicit,
            path: dir.path().to_owned(),
            plugin: None,
            required: true,
            absent: false,
            foreign: None,
        };
        let scan = scan(&[root], &ScanOptions { builtin: true, ..ScanOptions::default() });
        let cataloger = Cataloger::new(&scan.index, &|_| None);
        let wanted = CatalogRequest { format: CatalogFormat::Tool, ..CatalogRequest::default() };
        let (mut tool, catalog) =
            skill_tool(&scan.index, &cataloger, &wanted, BodyLimits::default()).expect("a tool");
        let shown: Vec<&str> =
            catalog.shown(DisplayLevel::Full).map(|one| one.name.as_str()).collect();
        assert_eq!(tool.schema()["properties"]["name"]["enum"], json!(shown));
        assert!(shown.contains(&"pdf") && shown.contains(&"write-skill"));
        assert!(!tool.description().contains("mine"));
        let contents = IndexContents::new(&scan.index);
        let loaded = tool.execute(&json!({"name": "pdf"}), &contents, &AllowAll).expect("loads");
        assert!(loaded.output.contains("# pdf\n"), "{}", loaded.output);
        assert!(loaded.output.contains("[Skill Files: scripts/run.sh]"), "{}", loaded.output);
        let builtin =
            tool.execute(&json!({"name": "write-skill"}), &contents, &AllowAll).expect("loads");
        assert!(builtin.metadata.tokens > 100);
        let hidden = tool.execute(&json!({"name": "mine"}), &contents, &AllowAll);
        assert_eq!(hidden.expect_err("hidden").code().as_str(), "SkillNotFound");
    }
}
