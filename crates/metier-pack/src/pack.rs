//! Packing: a directory of skills becomes one archive, byte for byte the same on every machine.
//!
//! Entries are sorted by their bytes, have one time, and the modes 644 and 755; the packer is written in
//! Rust and looks at neither the processor nor the number of cores. What is left out is said.
//!
//! | module | owns |
//! |---|---|
//! | `manifest` | `manifest.json`, the list of digests in an archive |
//! | `zip_writer`, `tar_writer` | the two formats |
//! | `deflate` | the packer |
//! | `oci_writer` | an OCI layout around a gzipped tar |

mod deflate;
mod manifest;
mod oci_writer;
mod tar_writer;
mod zip_writer;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use metier_fs::{PiecewiseFile, TreeReader, WholeFile};
use metier_scan::{SECRET_RULE, ScanFinding};
use metier_sign::SidecarKind;
use metier_skill::{Digest, Profile};
use serde::Serialize;

use crate::archive::{ArchiveFault, ArchiveKind, unpack};
use crate::directory::read_directory_without;
use crate::error::PackError;
use crate::facts::SkillProblem;
use crate::left_out::{LeftOut, LeftOutReason};
use crate::limits::PackLimits;
use crate::outgoing::Outgoing;
use crate::review::report_of;
use crate::skills_in::{FoundSkill, skills_in};

pub(crate) use manifest::{MANIFEST_FILE, PackManifest, check_manifest};
use tar_writer::{TarPacking, TarWriter};
use zip_writer::ZipWriter;

/// How skills lie in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PackLayout {
    /// Each in a folder of its name.
    #[default]
    Folders,
    /// One skill, with `SKILL.md` at the top.
    Flat,
}

/// What an archive is to be.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PackOptions {
    /// The format.
    pub kind: ArchiveKind,
    /// How the skills lie in it.
    pub layout: PackLayout,
    /// Whether `manifest.json` is written. A flat archive has none: it would be a file of the skill.
    pub with_manifest: bool,
    /// Only the skills of these names; all of them when empty.
    pub skills: Vec<String>,
    /// How skills are judged.
    pub profile: Profile,
    /// How large it may be.
    pub limits: PackLimits,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            kind: ArchiveKind::Zip,
            layout: PackLayout::Folders,
            with_manifest: true,
            skills: Vec::new(),
            profile: Profile::Strict,
            limits: PackLimits::default(),
        }
    }
}

/// What would be packed, or was.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PackPlan {
    /// The format.
    pub kind: ArchiveKind,
    /// The skills, by name.
    pub skills: Vec<PackedSkill>,
    /// What is there and is not packed.
    pub left_out: Vec<LeftOut>,
    /// What looks like a key or a token in the files that are packed; the files are called as in the archive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<ScanFinding>,
    #[serde(skip)]
    source: PathBuf,
    #[serde(skip)]
    found: Vec<FoundSkill>,
    #[serde(skip)]
    options: PackOptions,
}

/// A skill in a pack.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PackedSkill {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The digest of its tree.
    pub tree: Digest,
    /// How many files it has.
    pub files: usize,
    /// Bytes of all of them.
    pub bytes: u64,
    /// What could be better in it.
    pub warnings: Vec<SkillProblem>,
}

/// An archive, or an OCI layout, that was written.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Packed {
    /// Where it is.
    pub path: String,
    /// Bytes of the archive.
    pub bytes: u64,
    /// The digest of the file; of a layout, that of the manifest.
    pub digest: Digest,
    /// The tag in an OCI layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// What is in it.
    #[serde(flatten)]
    pub plan: PackPlan,
}

/// What packing the directory at `source` would come to. Nothing is written.
pub fn plan_pack(source: &Path, options: PackOptions) -> Result<PackPlan, PackError> {
    plan_pack_without(Vec::new(), source, options)
}

/// The same, as if what is at the paths `without` in the source were not there.
fn plan_pack_without(
    without: Vec<String>,
    source: &Path,
    options: PackOptions,
) -> Result<PackPlan, PackError> {
    let outgoing = Outgoing::nowhere(options.profile).inspected();
    let mut tree = read_directory_without(&without, source, &options.limits, outgoing)?;
    for dir in without.iter().filter_map(|path| Some(path.rsplit_once('/')?.0)) {
        // The folder that it is written to is there without it, too.
        let is_inside =
            |path: &String| path.strip_prefix(dir).is_some_and(|it| it.starts_with('/'));
        let is_seen = |path: &String| path == dir || is_inside(path);
        if !tree.files.iter().any(|it| is_inside(&it.path)) && !tree.empty_dirs.iter().any(is_seen)
        {
            tree.empty_dirs.push(dir.to_owned());
        }
    }
    tree.empty_dirs.sort();
    let found = skills_in(&tree, &source.to_string_lossy(), &options.skills)?;
    if options.layout == PackLayout::Flat && found.len() > 1 {
        return Err(PackError::FlatOfSeveral {
            source: source.to_string_lossy().into_owned(),
            has: found.iter().map(|skill| skill.summary.name.to_string()).collect(),
        });
    }
    let skills = found.iter().map(|skill| PackedSkill {
        name: skill.summary.name.to_string(),
        version: skill.summary.version.clone(),
        tree: skill.tree.digest(),
        files: skill.tree.files.len(),
        bytes: skill.tree.bytes(),
        warnings: skill.warnings.clone(),
    });
    let left_out = found.iter().flat_map(|skill| {
        let inside =
            |it: &LeftOut| LeftOut { path: joined(&skill.dir, &it.path), reason: it.reason };
        skill.tree.left_out.iter().map(inside)
    });
    Ok(PackPlan {
        kind: options.kind,
        skills: skills.collect(),
        left_out: without
            .into_iter()
            .map(|path| LeftOut { path, reason: LeftOutReason::EarlierPack })
            .chain(left_out)
            .collect(),
        findings: found.iter().flat_map(secrets_in).collect(),
        source: source.to_owned(),
        found,
        options,
    })
}

/// The keys and tokens in a skill. What else a scan finds, its author knows, and `metier scan` says.
fn secrets_in(skill: &FoundSkill) -> Vec<ScanFinding> {
    let mut findings = report_of(&skill.tree).findings;
    findings.retain(|finding| finding.rule == SECRET_RULE);
    for finding in &mut findings {
        finding.file = joined(&skill.dir, &finding.file);
    }
    findings
}

impl PackPlan {
    /// The name of the archive, unless another one is chosen.
    pub fn file_name(&self) -> String {
        let name = match &self.skills[..] {
            [skill] => skill.name.clone(),
            _ => self
                .source
                .file_name()
                .map_or("skills".into(), |name| name.to_string_lossy().into_owned()),
        };
        match self.kind {
            ArchiveKind::Zip => format!("{name}.zip"),
            ArchiveKind::TarGz => format!("{name}.tar.gz"),
            ArchiveKind::Tar => format!("{name}.tar"),
        }
    }

    /// The plan for an archive at `target`. What stands there, and its signatures, is left out where it lies in the
    /// source: each pack would hold the one before.
    pub fn leaving_out(self, target: &Path) -> Result<Self, PackError> {
        let real = |path: &Path| metier_fs::canonical(path).ok();
        let folder = target.parent().filter(|it| !it.as_os_str().is_empty());
        let (Some(folder), Some(top)) =
            (real(folder.unwrap_or(Path::new("."))), real(&self.source))
        else {
            return Ok(self);
        };
        let (Some(name), Ok(inner)) = (target.file_name(), folder.strip_prefix(&top)) else {
            return Ok(self);
        };
        let inner: Vec<_> = inner.iter().map(|part| part.to_string_lossy()).collect();
        let at = joined(&inner.join("/"), &name.to_string_lossy());
        let signatures = SidecarKind::ALL.map(|kind| format!("{at}{}", kind.suffix()));
        let own: Vec<String> = std::iter::once(at).chain(signatures).collect();
        let files = self
            .found
            .iter()
            .flat_map(|skill| skill.tree.files.iter().map(|file| joined(&skill.dir, &file.path)));
        let without: Vec<String> = files.filter(|path| own.contains(path)).collect();
        if without.is_empty() {
            return Ok(self);
        }
        plan_pack_without(without, &self.source, self.options)
    }

    /// Writes the archive to `target`, over the file that stands there.
    pub fn write(self, target: &Path) -> Result<Packed, PackError> {
        let plan = self.leaving_out(target)?;
        plan.write_whole(target)
    }

    fn write_whole(self, target: &Path) -> Result<Packed, PackError> {
        let written = |error| PackError::not_written(target, error);
        let mut file = WholeFile::create(target).map_err(written)?;
        let mut writer: Box<dyn ArchiveWriter> = match self.kind {
            ArchiveKind::Zip => Box::new(ZipWriter::new(&mut file)),
            ArchiveKind::TarGz => Box::new(TarWriter::new(&mut file, TarPacking::Gzip)),
            ArchiveKind::Tar => Box::new(TarWriter::new(&mut file, TarPacking::Plain)),
        };
        self.write_entries(writer.as_mut(), target)?;
        writer.finish().map_err(written)?;
        drop(writer);
        let (digest, bytes) = self.check(target, file.path())?;
        file.finish().map_err(written)?;
        let path = target.to_string_lossy().into_owned();
        Ok(Packed { path, bytes, digest, tag: None, plan: self })
    }

    /// Reads the archive as an installation would, before it counts: what could not be installed is not a pack. Gives its digest and its bytes.
    fn check(&self, target: &Path, written: &Path) -> Result<(Digest, u64), PackError> {
        let unreadable = |error: io::Error| PackError::not_readable(target, error);
        let file = PiecewiseFile::open(written)
            .map_err(|e| unreadable(io::Error::other(e.to_string())))?;
        let outgoing = Outgoing::nowhere(self.options.profile);
        unpack(&file, self.kind, &self.options.limits, outgoing)
            .map_err(|error| PackError::archive(target, error))?;
        Digest::of_reader(file.reader()).map_err(unreadable)
    }

    fn write_entries(
        &self,
        writer: &mut dyn ArchiveWriter,
        target: &Path,
    ) -> Result<(), PackError> {
        let written = |error| PackError::not_written(target, error);
        let tree =
            TreeReader::open(&self.source).map_err(|e| PackError::not_readable(&self.source, e))?;
        let is_flat = self.options.layout == PackLayout::Flat;
        let mut entries: Vec<(String, PackEntry<'_>)> = Vec::new();
        for skill in &self.found {
            let top = if is_flat { "" } else { skill.summary.name.as_str() };
            for file in &skill.tree.files {
                let from = joined(&skill.dir, &file.path);
                entries.push((joined(top, &file.path), PackEntry::File { from, file }));
            }
            for dir in &skill.tree.empty_dirs {
                entries.push((format!("{}/", joined(top, dir)), PackEntry::Directory));
            }
        }
        if self.options.with_manifest && !is_flat {
            let manifest = PackManifest::of(&self.found).to_bytes();
            entries.push((MANIFEST_FILE.to_owned(), PackEntry::Bytes(manifest)));
        }
        entries.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
        for (path, entry) in entries {
            match entry {
                PackEntry::Directory => writer.directory(&path).map_err(written)?,
                PackEntry::Bytes(bytes) => {
                    let entry =
                        NewEntry { path: &path, executable: false, size: bytes.len() as u64 };
                    let opened = &mut || -> io::Result<Box<dyn Read>> {
                        Ok(Box::new(io::Cursor::new(bytes.clone())))
                    };
                    pack_file(writer, entry, opened).map_err(written)?;
                }
                PackEntry::File { from, file } => {
                    let changed = || {
                        let fault = ArchiveFault::Changed;
                        PackError::in_directory(&self.source, fault, Some(from.clone()))
                    };
                    let entry =
                        NewEntry { path: &path, executable: file.executable, size: file.size };
                    let opened = &mut || -> io::Result<Box<dyn Read>> {
                        let opened = tree
                            .open_file(&from)
                            .map_err(|error| io::Error::other(error.to_string()))?;
                        Ok(Box::new(opened.file))
                    };
                    if pack_file(writer, entry, opened).map_err(written)? != file.digest {
                        return Err(changed());
                    }
                }
            }
        }
        Ok(())
    }
}

enum PackEntry<'f> {
    Directory,
    Bytes(Vec<u8>),
    File { from: String, file: &'f crate::shipped_tree::ShippedFile },
}

/// A file that is to be packed.
#[derive(Clone, Copy)]
struct NewEntry<'p> {
    path: &'p str,
    executable: bool,
    /// Bytes. If there are fewer or more, that is an error.
    size: u64,
}

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Deflated,
    /// As it is, because it would pack so tightly that a reader takes it for a bomb.
    Stored,
}

/// Packs a file, which may be opened twice; gives the digest of what was packed.
fn pack_file(
    writer: &mut dyn ArchiveWriter,
    entry: NewEntry<'_>,
    open: &mut dyn FnMut() -> io::Result<Box<dyn Read>>,
) -> io::Result<Digest> {
    let mut content = open()?;
    let mut reader = Checked::new(&mut content);
    if writer.file(entry, Packing::Deflated, &mut reader)? {
        return Ok(reader.digest());
    }
    let mut content = open()?;
    let mut reader = Checked::new(&mut content);
    writer.file(entry, Packing::Stored, &mut reader)?;
    Ok(reader.digest())
}

/// An archive that is being written, entry by entry, in the order of the entries' names.
trait ArchiveWriter {
    /// A file with this content. False when nothing was written, because it has to be stored.
    fn file(
        &mut self,
        entry: NewEntry<'_>,
        packing: Packing,
        content: &mut dyn Read,
    ) -> io::Result<bool>;
    /// An empty directory, whose path ends in `/`.
    fn directory(&mut self, path: &str) -> io::Result<()>;
    /// The end.
    fn finish(&mut self) -> io::Result<()>;
}

/// A reader that digests what goes by.
struct Checked<'r> {
    inner: &'r mut dyn Read,
    hasher: sha2::Sha256,
}

impl<'r> Checked<'r> {
    fn new(inner: &'r mut dyn Read) -> Self {
        Self { inner, hasher: sha2::Digest::new() }
    }

    fn digest(self) -> Digest {
        Digest::from_bytes(sha2::Digest::finalize(self.hasher).into())
    }
}

impl Read for Checked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        sha2::Digest::update(&mut self.hasher, &buffer[..read]);
        Ok(read)
    }
}

/// `below` in the directory `dir`, which may be empty.
pub(crate) fn joined(dir: &str, below: &str) -> String {
    if dir.is_empty() { below.to_owned() } else { format!("{dir}/{below}") }
}
