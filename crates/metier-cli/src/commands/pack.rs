//! `metier pack`: a directory of skills becomes one archive, the same bytes on every machine.
//! Packing is `metier-pack`'s; this file names the archive and says what was left out.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use metier::fs::{EntryKind, entry_kind, exists, is_dir};
use metier::pack::{ArchiveKind, PackLayout, PackPlan, Packed};
use metier::sign::SidecarKind;
use serde::Serialize;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::findings::finding_line;
use crate::render::plan::left_out_lines;
use crate::render::style::{BOLD, DIM, GREEN, YELLOW, paint};
use crate::render::{bytes, count, safe};

/// Pack a skill, or a directory of skills, into an archive.
///
/// Two packs of the same files are equal, byte for byte, on any machine. Version control, secrets such as .env,
/// caches and links are left out, and named. The archive holds a manifest.json with the digest of every file.
/// With --oci a directory is written that programs for container images can copy to a registry.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier pack skills/pdf                    writes pdf.zip
  metier pack skills/pdf -o pdf.skill
  metier pack skills -o all.tar.gz          every skill below skills
  metier pack skills/pdf --flat -o pdf.zip  SKILL.md at the top of the archive
  metier pack skills/pdf --oci pdf-oci      for registries: skopeo copy oci:pdf-oci docker://ghcr.io/me/pdf:1
  metier pack skills/pdf --dry-run")]
pub(crate) struct PackArgs {
    /// A skill's directory, or one with several skills.
    source: PathBuf,
    /// The archive: a name that ends in .zip, .skill, .tar.gz or .tgz.
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write an OCI layout to this directory instead, which must not exist.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "force"])]
    oci: Option<PathBuf>,
    /// Only these skills (may be repeated).
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    skill: Vec<String>,
    /// Put SKILL.md at the top of the archive, not into a folder. For one skill; without manifest.json.
    #[arg(long)]
    flat: bool,
    /// Leave manifest.json out.
    #[arg(long)]
    no_manifest: bool,
    /// Replace the archive if it exists.
    #[arg(long)]
    force: bool,
    /// Show what would be packed, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct Planned {
    dry_run: bool,
    path: String,
    #[serde(flatten)]
    plan: PackPlan,
}

#[derive(Serialize)]
struct Written {
    dry_run: bool,
    #[serde(flatten)]
    packed: Packed,
}

pub(crate) fn run(args: &PackArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = &context.metier;
    let mut options = metier.pack_options();
    options.kind = match &args.output {
        Some(output) => kind_of(output)?,
        None if args.oci.is_some() => ArchiveKind::TarGz,
        None => ArchiveKind::Zip,
    };
    options.layout = if args.flat { PackLayout::Flat } else { PackLayout::Folders };
    options.with_manifest = !args.no_manifest;
    options.skills.clone_from(&args.skill);
    let plan = metier.plan_pack(&args.source, options)?;
    if let Some(dir) = &args.oci {
        return run_oci(plan, &metier.working_dir().join(dir), args.dry_run);
    }
    let name = args.output.clone().unwrap_or_else(|| PathBuf::from(plan.file_name()));
    let output = metier.working_dir().join(&name);
    if is_dir(&output) {
        let message = format!("{} is a directory", output.display());
        return Err(CommandError::failed("already-exists", safe(&message)).help("name a file"));
    }
    if entry_kind(&output).is_some_and(|kind| kind != EntryKind::File) {
        let message = format!("{} is not a regular file, and is not replaced", output.display());
        return Err(
            CommandError::failed("already-exists", safe(&message)).help("name another file")
        );
    }
    let plan = plan.leaving_out(&output).map_err(metier::Error::from)?;
    if entry_kind(&output).is_some() && !args.force && !args.dry_run {
        let message = format!("{} exists already", output.display());
        return Err(CommandError::failed("already-exists", safe(&message))
            .help("--force replaces it; -o names another file"));
    }
    if args.dry_run {
        let path = output.to_string_lossy().into_owned();
        return Ok(Box::new(Planned { dry_run: true, path, plan }));
    }
    let packed = plan.write(&output).map_err(metier::Error::from)?;
    for kind in SidecarKind::ALL {
        let signature = format!("{}{}", packed.path, kind.suffix());
        if exists(Path::new(&signature)) {
            let signature = safe(&signature);
            print_note(&format!(
                "{signature} is of the archive that was there before: sign this one"
            ));
        }
    }
    Ok(Box::new(Written { dry_run: false, packed }))
}

fn run_oci(plan: PackPlan, dir: &Path, dry_run: bool) -> Result<Box<dyn Output>> {
    if dry_run {
        let path = dir.to_string_lossy().into_owned();
        return Ok(Box::new(Planned { dry_run: true, path, plan }));
    }
    if entry_kind(dir).is_some() {
        let message = format!("{} exists already", dir.display());
        return Err(CommandError::failed("already-exists", safe(&message))
            .help("name a directory that does not exist"));
    }
    let packed = plan.write_oci(dir).map_err(metier::Error::from)?;
    Ok(Box::new(Written { dry_run: false, packed }))
}

fn kind_of(path: &Path) -> Result<ArchiveKind> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
    if ends(&[".zip", ".skill"]) {
        Ok(ArchiveKind::Zip)
    } else if ends(&[".tar.gz", ".tgz"]) {
        Ok(ArchiveKind::TarGz)
    } else {
        let message = format!("{} does not say what kind of archive it is", path.display());
        Err(CommandError::usage(safe(&message))
            .help("let the name end in .zip, .skill, .tar.gz or .tgz"))
    }
}

fn write_skills(plan: &PackPlan, out: &mut dyn Write) -> io::Result<()> {
    for skill in &plan.skills {
        let version =
            skill.version.as_ref().map_or_else(String::new, |it| format!(" {}", safe(it)));
        let size = format!("{}, {}", count(skill.files, "file"), bytes(skill.bytes));
        let name = paint(BOLD, safe(&skill.name));
        writeln!(out, "  {name}{version}  {size}  {}", paint(DIM, skill.tree))?;
    }
    out.flush()?;
    for problem in plan.skills.iter().flat_map(|skill| &skill.warnings) {
        let (line, code) = (problem.line, problem.code);
        let warning = paint(YELLOW, "warning");
        print_note(&format!("{warning}: SKILL.md:{line}: {} [{code}]", safe(&problem.message)));
    }
    for line in left_out_lines(&plan.left_out) {
        print_note(&line);
    }
    for finding in &plan.findings {
        print_note(&finding_line(finding));
        print_note(&format!("      {}", safe(&finding.evidence)));
    }
    Ok(())
}

impl Output for Planned {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "would write {}", paint(BOLD, safe(&self.path)))?;
        write_skills(&self.plan, out)
    }
}

impl Output for Written {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let packed = &self.packed;
        let path = paint(BOLD, safe(&packed.path));
        writeln!(out, "{} {path}  {}", paint(GREEN, "packed"), bytes(packed.bytes))?;
        let tag =
            packed.tag.as_ref().map_or_else(String::new, |tag| format!("  tag {}", safe(tag)));
        writeln!(out, "  {}{tag}", paint(DIM, packed.digest))?;
        write_skills(&packed.plan, out)
    }
}
