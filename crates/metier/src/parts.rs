//! What is public of the parts below, by the part it belongs to.
//!
//! A front end shows skills, decisions, events and reports, so their types are here, each named on
//! purpose; what puts a run together is not: that is [`crate::Metier`]'s.

/// What a skill is: parsing, diagnostics, checked names and paths.
pub mod skill {
    pub use metier_skill::{
        Code, Diagnostic, DiagnosticAt, Digest, FailureCode, FileNames, Limits, ParseOptions,
        Parsed, Profile, RelPath, Severity, Skill, SkillId, SkillName, Source, TextEdit, WorkPath,
        apply_edits, check, check_references, estimate_tokens, fence, nearest, parse, text,
    };

    /// YAML, read within limits to a tree with places.
    pub mod yaml {
        pub use metier_skill::yaml::{
            Node, NodeKind, Style, YamlError, YamlLimits, parse_document,
        };
    }
}

/// Finding skills: the index, the report, the catalog's formats, making and deleting skills.
pub mod registry {
    pub use metier_registry::{
        Change, ChangeKind, Conflict, Entry, Ignored, Index, MemorySkill, MemorySkillFiles,
        Registry, Root, RootReport, RootState, Scan, ScanOptions, ScanReport, ShadowReason,
        Shadowed, SwitchedSkill, parallel, scan,
    };

    /// The list of skills that a model is shown.
    pub mod catalog {
        pub use metier_registry::catalog::{Catalog, CatalogEntry, CatalogFormat, DisplayLevel};
    }

    /// Ranking requests over names and descriptions.
    pub mod search {
        pub use metier_registry::search::{Document, Hit, SearchIndex};
    }

    /// Making, deleting and restoring skills.
    pub mod manage {
        pub use metier_registry::manage::{
            Backup, Backups, Created, Deletion, ManageError, SkillDraft, TemplateScript,
            check_new_name, create,
        };
    }

    /// Which folders are searched.
    pub mod roots {
        pub use metier_registry::roots::project_roots;
    }

    /// Changes as they happen.
    pub mod watch {
        pub use metier_registry::watch::{WatchEvent, watch};
    }
}

/// Reading skills: bodies, resources, limits and reports.
pub mod loader {
    pub use metier_loader::{
        BodyLimits, BodySize, LineRange, LoadError, Loaded, MemoryFiles, NextPart, Part,
        ResourceLimits, ResourceQuery, SkillFiles, count_lines, is_surely_whole, load_body,
        load_raw, measure_body,
    };
}

/// Shipping skills: archives, plans, the lock, and what verifying found.
pub mod pack {
    pub use metier_pack::{
        AcceptedBefore, ArchiveError, ArchiveFault, ArchiveKind, Dependencies, DiffAgainst,
        Download, DownloadSettings, ExportedLock, Fetch, FetchError, FetchFault, FetchProgress,
        FetchWanted, Fetched, FetchedKind, Fetchers, FileChange, FileDiff, FileDifference,
        FileState, ForeignLock, ForeignSkill, FoundInSkill, GIT_VARIABLES, GitFault, GitFetch,
        GitRemote, GitSource, HttpsSource, InstallPlan, InstallQuestions, InstallRequest,
        InstallSource, InstallTarget, InstalledSkill, LeftOut, LeftOutReason, LinkAction,
        LinkState, LocalSource, LockUse, LockedSkill, NoQuestions, NotExchanged, NotUpdated,
        NotUpdatedReason, Obstacle, ObstacleReason, OciSource, Overwrite, PackError, PackLayout,
        PackLimits, PackOptions, PackPlan, Packed, PackedSkill, PickableSkill, PlaceJudge,
        PlaceRole, PlanView, PlannedAction, PlannedFinding, PlannedLink, PlannedSkill, ReadAt,
        RequiredSkill, SUPPORTED, ShippedFile, SignedPack, SignerChange, SignerRules,
        SilentProgress, SkillChanges, SkillDiff, SkillProblem, SourceAccess, SourceDenial,
        SourceKind, SourceOrigin, SourcePlace, SourcePolicy, SourceProblem, SourceQuestion,
        SourceRuleScope, SourceRules, SourceUrl, SourceVerdict, ToolsChange, UncheckedSignature,
        UpdateRequest, UpstreamState, VerifiedLink, VerifiedPack, VerifiedPackSkill, VerifiedSkill,
        VerifyScan, VerifyState, WellKnownSource, inspect_archive, parse_source, read_foreign_lock,
    };
}

/// What a skill could do to its user: findings with evidence, rules, accepted findings.
pub mod scan {
    pub use metier_scan::{
        Coverage, FindingReport, FindingSeverity, InspectedFile, InvalidSuppressions,
        MAX_INSPECTED, NotInspected, ScanFinding, ScanRule, Scanner, Suppression, Suppressions,
        rule, rules,
    };
}

/// Signatures: keys, who signed, and what is wrong with a signature.
pub mod sign {
    pub use metier_sign::{
        ContentDifference, KeyKind, NAMESPACE, NamedKey, OMS_FILE, PublicKey, SidecarKind,
        SignatureError, Signer, SignerTrust, SigningKey, TrustedKey, TrustedKeys,
    };
    /// The version that passwords are handed over in: they are wiped from memory after use.
    pub use zeroize::Zeroizing;
}

/// Who may do what: decisions, answers, questions.
pub mod policy {
    pub use metier_policy::{
        AlwaysScope, Answer, AnswerScope, AskEvent, AskListener, Asks, Effect, FollowedFolder,
        LayerDecision, Lifetime, PendingAsk, Permission, PolicyDecision, RememberedAnswer, Request,
        Risk, RuleAt, TrustStatus, TrustedFolder, TrustedFolders, UnixTime,
    };
}

/// Settings: what counts, and where it came from.
pub mod config {
    pub use metier_config::{AgentSettings, Explained, Scope, Settings, json_schema};
}

/// Files, opened safely.
pub mod fs {
    pub use metier_fs::{
        AppendError, AppendFile, Durability, EntryKind, FileLock, FolderAccess, HeldDir,
        HeldDirError, LockError, PiecewiseFile, ReadError, TreeFile, TreeLimits, UpdateError,
        UserFolders, WorkRoot, canonical, entry_kind, exists, is_dir, is_link, is_open_to_others,
        list_files, modified, read_bounded, read_dir_names, remove_file, remove_tree,
        replace_shared, tree_mark, update_private, utc_text, write_atomic, write_private,
    };
}

/// Models: the trait, what they decide, and trying one.
pub mod model {
    pub use metier_model::{
        Action, Decision, EndpointTest, Finish, LoadedText, Message, Model, ModelError,
        ModelErrorKind, ModelInfo, OfferedSkill, OutputMode, PastAction, Plan, PlanStep,
        PlanUpdate, Probe, Reply, Role, Scripted, SkillRef, StepStatus, StreamEvent, Support,
        ToolOffer, TrailEntry, Turn, Usage, View, model::Sink, probe, script_schema,
    };
}

/// Running scripts: the sandbox's tiers and reports.
pub mod sandbox {
    pub use metier_sandbox::{
        NetworkAccess, SandboxProbe, SandboxReport, SearchPath, StopReason, Tier,
    };
}

/// Tools: writing one, what a run deleted, and what a script left.
pub mod tools {
    pub use metier_tools::{
        CallContext, FailureCode, Risk, Tool, ToolFailure, ToolResult, Touch, Trash, TrashedFile,
    };
    /// The version that [`Tool::Args`] derives its schema with.
    pub use schemars;

    /// Scripts of skills.
    pub mod script {
        pub use metier_tools::script::ScriptOutcome;
    }
}

/// The loop: events, records, resume, replay and export.
pub mod agent {
    pub use metier_agent::{
        Approval, Approver, AskApprover, AskDetails, AutoApprove, BudgetSetting, Difference, Event,
        Mode, NoApprover, Note, Observer, Op, Outcome, PlanAuthor, Question, Record, RunFolder,
        RunId, RunLimits, ScriptTerms, SilentObserver, Spent, State, Status, Summary, event, fold,
    };

    /// Whether a record is what was written.
    pub mod audit {
        pub use metier_agent::audit::{AuditReport, Finding, RecordVerdict};
    }

    /// A record in the formats of others.
    pub mod export {
        pub use metier_agent::export::{Content, RecordedRun, atif, otel};
    }
}
