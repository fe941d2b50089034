//! Metier for people who build agents: what they need of the crates below, in one place.
//!
//! This crate holds no code of its own. It names the parts an agent uses first and re-exports the
//! rest as modules: [`skill`] (what a skill is), [`registry`] (finding skills), [`config`]
//! (settings), [`loader`] (reading one body or one part of one file), [`policy`] (who may do what),
//! [`tools`] (what an agent does, skills included), [`sandbox`] (running scripts), [`model`] (models and
//! what they decide), [`agent`] (the loop, its record, resume and replay) and [`fs`] (files and folders).
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
//! # Reading one skill
//!
//! ```
//! use metier::{BodyLimits, ResourceLimits, ResourceQuery, SkillRoot, load_body, load_resource};
//! # let tmp = tempfile::tempdir().unwrap();
//! # let dir = tmp.path().join("pdf");
//! # std::fs::create_dir_all(dir.join("references")).unwrap();
//! # std::fs::write(dir.join("SKILL.md"), "---\nname: pdf\ndescription: d\n---\n# PDF\n").unwrap();
//! # std::fs::write(dir.join("references/forms.md"), "# Forms\n## Fields\nNames.\n").unwrap();
//!
//! let root = SkillRoot::open(&dir)?;
//! let body = load_body(&root, &BodyLimits::default())?;
//! assert_eq!(body.text, "# PDF\n");
//! let query = ResourceQuery { section: Some("Fields"), ..ResourceQuery::default() };
//! let part = load_resource(&root, "references/forms.md", &query, &ResourceLimits::default())?;
//! assert_eq!(part.text, "## Fields\nNames.\n");
//! let refused = load_resource(&root, "../secret", &query, &ResourceLimits::default());
//! assert_eq!(refused.unwrap_err().code(), "PathTraversalBlocked");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Showing skills to a model
//!
//! ```
//! use metier::catalog::{CatalogRequest, Cataloger, Format};
//! use metier::loader::tool::AllowAll;
//! use metier::{BodyLimits, SkillShelf, skill_tool};
//! # let found = metier::scan(&[], &metier::ScanOptions::default());
//!
//! let cataloger = Cataloger::new(&found.index, &|_| None);
//! let wanted = CatalogRequest {
//!     format: Format::Tool,
//!     budget: Some(2000),
//!     request: Some("is this csv clean?"),
//!     ..CatalogRequest::default()
//! };
//! // Nothing is registered when there is nothing to show.
//! if let Some((mut tool, _)) = skill_tool(&found.index, &cataloger, &wanted, BodyLimits::default()) {
//!     println!("{} {}", tool.description(), tool.schema());
//!     let call = serde_json::json!({"name": "profile-csv"});
//!     let loaded = tool.execute(&call, &SkillShelf::new(&found.index), &AllowAll)?;
//!     println!("{}\n{}", loaded.title, loaded.output);
//!     # assert!(loaded.output.contains("Profile a CSV file"));
//! }
//! # Ok::<(), metier::loader::tool::ToolError>(())
//! ```
//!
//! # A whole agent
//!
//! Who decides, who does it and who answers questions are three traits; here a fixed sequence decides
//! and nothing can be done but load skills.
//!
//! ```
//! use metier::agent::hands::Judged;
//! use metier::agent::op::{Op, Outcome};
//! use metier::CancelToken;
//! use metier::agent::{Agent, Hands, Nobody, RunFolder, RunId, Setup, Status, Unheard};
//! use metier::model::{Action, Decision, Model, Scripted};
//!
//! struct NoHands;
//! impl Hands for NoHands {
//!     fn judge(&self, op: &Op, _loaded: &[String]) -> Judged {
//!         Judged::impossible(Outcome::failed("NotAllowed", format!("no {}", op.describe())))
//!     }
//! }
//!
//! let answer = Action::FinalAnswer { text: "Hello.".to_owned(), data: None };
//! let model = Scripted::from_decisions(vec![Decision::to(answer)]);
//! let setup = Setup {
//!     request: "greet me".to_owned(),
//!     files: Vec::new(),
//!     system: metier::model::instructions(&[]),
//!     opening: "greet me".to_owned(),
//!     model: model.info(),
//!     tools: Vec::new(),
//!     chosen: Vec::new(),
//!     limits: Default::default(),
//!     denied: Vec::new(),
//!     mode: Default::default(),
//!     is_inner: false,
//!     index_hash: metier::skill::Digest::of(b"no skills"),
//!     skills: Vec::new(),
//! };
//! # let runs = tempfile::tempdir().unwrap();
//! # let runs = runs.path();
//! let folder = RunFolder::new(runs, RunId::new("my-first-run")?);
//! let agent = Agent {
//!     model: &model,
//!     hands: &NoHands,
//!     approver: &Nobody,
//!     observer: &Unheard,
//!     cancel: &CancelToken::new(),
//! };
//! let state = agent.run(&folder, setup)?;
//! assert_eq!(state.finished().map(|end| end.status), Some(Status::Completed));
//! assert!(metier::agent::audit::audit(&folder)?.findings.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The real hands are [`agent::Workshop`], the words of the prompt [`agent::brief::Brief`].
//!
//! # Judging one skill
//!
//! ```
//! let text = b"---\nname: pdf\ndescription: Use when: asked\n---\n# Body\n";
//! let parsed = metier::check(text, &metier::ParseOptions::default());
//! assert!(parsed.skill.is_some());
//! assert_eq!(parsed.diagnostics[0].code, metier::Code::YamlUnquotedColon);
//! ```

pub use metier_agent as agent;
pub use metier_config as config;
pub use metier_fs as fs;
pub use metier_loader as loader;
pub use metier_model as model;
pub use metier_policy as policy;
pub use metier_registry as registry;
pub use metier_sandbox as sandbox;
pub use metier_skill as skill;
pub use metier_tools as tools;

pub use metier_cancel::CancelToken;
pub use metier_fs::{SkillRoot, UserFolders};
pub use metier_loader::{
    BodyLimits, LoadError, Loaded, ResourceLimits, ResourceQuery, load_body, load_resource,
};
pub use metier_registry::catalog;
pub use metier_registry::roots::resolve;
pub use metier_registry::{Entry, Index, Places, Registry, Report, Root, Scan, ScanOptions, scan};
pub use metier_skill::{
    Code, Diagnostic, ParseOptions, Parsed, Profile, Severity, Skill, SkillName, check, parse,
};
pub use metier_tools::{SkillShelf, skill_tool};
