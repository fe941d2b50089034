//! Metier for people who build agents: what they need of the crates below, in one place.
//!
//! This crate holds no code of its own. It names the parts an agent uses first and re-exports the
//! rest as modules: [`skill`] (what a skill is), [`registry`] (finding skills), [`config`]
//! (settings) and [`fs`] (files and folders).
//!
//! # Skills in ten lines
//!
//! ```
//! use metier::{Places, ScanOptions, UserFolders, resolve, scan};
//! # let tmp = tempfile::tempdir().unwrap();
//! # let (working_dir, home) = (tmp.path().join("project"), tmp.path().join("home"));
//! # std::fs::create_dir_all(working_dir.join(".claude/skills/pdf")).unwrap();
//! # let text = "---\nname: pdf\ndescription: Fill PDF forms.\n---\n# PDF\n";
//! # std::fs::write(working_dir.join(".claude/skills/pdf/SKILL.md"), text).unwrap();
//!
//! let places = Places {
//!     user: Some(UserFolders::new(&home, None)),
//!     ..Places::at(working_dir)
//! };
//! let found = scan(&resolve(&places), &ScanOptions::default());
//! for entry in found.index.entries() {
//!     println!("{}: {}", entry.name(), entry.skill.description);
//! }
//! for ignored in &found.report.ignored {
//!     println!("{} [{}]: {}", ignored.path.display(), ignored.code, ignored.message);
//! }
//! # assert!(found.index.entries().iter().any(|entry| entry.name().as_str() == "pdf"));
//! ```
//!
//! # Judging one skill
//!
//! ```
//! let text = b"---\nname: pdf\ndescription: Use when: asked\n---\n# Body\n";
//! let parsed = metier::check(text, &metier::ParseOptions::default());
//! assert!(parsed.skill.is_some());
//! assert_eq!(parsed.diagnostics[0].code, metier::Code::YamlUnquotedColon);
//! ```

pub use metier_config as config;
pub use metier_fs as fs;
pub use metier_registry as registry;
pub use metier_skill as skill;

pub use metier_fs::UserFolders;
pub use metier_registry::roots::resolve;
pub use metier_registry::{
    Entry, Index, Lookup, Places, Registry, Report, Root, Scan, ScanOptions, scan,
};
pub use metier_skill::{
    Code, Diagnostic, ParseOptions, Parsed, Profile, Severity, Skill, SkillName, check, parse,
};
