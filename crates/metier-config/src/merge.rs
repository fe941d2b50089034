//! Layers become settings: every key once, with its default and the rule that joins the files.
//!
//! The two rules, and why a key follows the one or the other, are in `resolve.rs`. Three places need
//! more than a rule, each because of what a cloned project could do:
//!
//! - `model`: see `merge_model.rs`.
//! - `skills`: off wins. Inside one file an id is more precise than a name; across files it is not, or
//!   a project could switch `user:pdf` back on after the user switched `pdf` off.
//! - `permissions`: the files' rules stay separate layers instead of one list, because in one list the
//!   last matching rule wins, and a project's `allow` would undo the user's `deny`. The policy joins
//!   the layers by the strictest answer.
//!
//! A default comes from the type that the value has (`Limits`, `RunLimits`, …), so that a library user
//! who takes the type's default gets what the command line gets.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use metier_agent::RunLimits;
use metier_loader::{BodyLimits, OverLimit};
use metier_policy::{Lifetime, PlacedExample, PlacedRule, Preapproval};
use metier_registry::ScanOptions;
use metier_registry::catalog::CatalogFormat;
use metier_sandbox::Tier;
use metier_skill::{Limits, Profile, Source};
use metier_tools::OutputCap;

use crate::agents;
use crate::key_path::{Segment, render};
use crate::layer::{Layer, Scope};
use crate::merge_model;
use crate::resolve::{Resolver, is_shorter};
use crate::settings::{
    CatalogSettings, ConfiguredRoot, ExecutionSettings, PermissionLayer, Settings, WalkSettings,
};
use crate::sources;

/// Tokens of the list of skills: two per cent of a window of 200,000.
const CATALOG_TOKENS: u32 = 4000;
/// Seconds until a script is stopped.
const SCRIPT_SECONDS: u32 = 60;

impl Settings {
    /// Merges the defaults, the user's file (of [`Scope::User`]) and the project's (of
    /// [`Scope::Project`]).
    ///
    /// A project decides on preferences. It can tighten but not loosen limits, budgets, `profile` and
    /// the switches under `security`; it can switch a skill off but not on; of the providers it can
    /// choose only the offline one. Lists and maps are joined: `skill_roots` (the project's first),
    /// `require_approval_for`, `model.params` (the project's entry wins, of those it may set), `skills`, `permissions` (each
    /// file's own layer).
    pub fn merge(user: Option<&Layer>, project: Option<&Layer>) -> Self {
        Self::merge_managed(&[], user, project)
    }

    /// The same where administrators have files too (of [`Scope::Managed`]): they can tighten what a
    /// project can, and also what a project has no say in.
    pub fn merge_managed(managed: &[Layer], user: Option<&Layer>, project: Option<&Layer>) -> Self {
        debug_assert!(managed.iter().all(|layer| layer.scope == Scope::Managed));
        debug_assert!(user.is_none_or(|layer| layer.scope == Scope::User));
        debug_assert!(project.is_none_or(|layer| layer.scope == Scope::Project));
        let mut r = Resolver { managed, user, project, rows: Vec::new() };
        // In the order of the documentation, which is that of `explain`.
        let skill_roots = skill_roots(&mut r);
        let profile = r.guard(
            "profile",
            Profile::Strict,
            |asked, baseline| (asked, baseline) == (&Profile::Strict, &Profile::Lenient),
            |c| c.profile,
        );
        let model = merge_model::model(&mut r);
        let execution = execution(&mut r);
        let (limits, body_limits, walk) = security(&mut r);
        let permissions = permissions(&mut r);
        // An agent's budgets lower these, whose rows come further down.
        let mut later = Resolver { managed, user, project, rows: Vec::new() };
        let run_limits = budgets(&mut later);
        let agents = agents::merge(&mut r, &later.rows);
        let enable_skills = enable_skills(&mut r);
        let (skills, off_by_project) = skills(&mut r);
        let sources = sources::merge(&mut r);
        r.rows.append(&mut later.rows);
        Self {
            skill_roots,
            profile,
            model,
            execution,
            limits,
            body_limits,
            walk,
            permissions,
            agents,
            enable_skills,
            skills,
            off_by_project,
            sources,
            run_limits,
            catalog: catalog(&mut r),
            trusted_keys: r.user_only("trusted_keys", Vec::new(), |c| {
                (!c.trusted_keys.is_empty()).then(|| c.trusted_keys.clone())
            }),
            explained: r.rows,
        }
    }
}

fn skill_roots(r: &mut Resolver<'_>) -> Vec<ConfiguredRoot> {
    let mut roots = Vec::new();
    for layer in [r.project, r.user].into_iter().flatten() {
        for (i, path) in layer.config.skill_roots.iter().enumerate() {
            r.record(&format!("skill_roots[{i}]"), path, Some(layer));
            let (path, origin) = (path.clone(), layer.origin.clone());
            roots.push(ConfiguredRoot { path, origin, scope: layer.scope });
        }
    }
    if roots.is_empty() {
        r.record("skill_roots", &[(); 0], None);
    }
    roots
}

fn execution(r: &mut Resolver<'_>) -> ExecutionSettings {
    let mut approvals = BTreeSet::new();
    for layer in r.managed.iter().chain([r.user, r.project].into_iter().flatten()) {
        for (i, target) in layer.config.execution.require_approval_for.iter().enumerate() {
            r.record(&format!("execution.require_approval_for[{i}]"), target, Some(layer));
            approvals.insert(target.clone());
        }
    }
    if approvals.is_empty() {
        r.record("execution.require_approval_for", &[(); 0], None);
    }
    let timeout_s = r.limit("execution.timeout_s", SCRIPT_SECONDS, |c| c.execution.timeout_s);
    let output_chars = r.size("execution.max_output_chars", OutputCap::default().chars, |c| {
        c.execution.max_output_chars
    });
    let env = r.user_only("execution.env", Vec::new(), |c| c.execution.env.clone());
    let require_sandbox = r.user_guard(
        "execution.require_sandbox",
        true,
        |asked, baseline| *asked && !baseline,
        |c| c.execution.require_sandbox,
    );
    let min_tier = r.user_guard(
        "execution.min_tier",
        Tier::LEAST_BY_DEFAULT,
        |asked, baseline| strength(*asked) > strength(*baseline),
        |c| c.execution.min_tier,
    );
    let always_s = r.user_guard(
        "execution.always_expires_s",
        None,
        |asked, baseline| is_shorter(*asked, *baseline),
        |c| c.execution.always_expires_s.map(|seconds| Some(seconds.get())),
    );
    let approves = r.user_guard(
        "execution.allowed_tools_approve",
        false,
        |asked, baseline| !asked && *baseline,
        |c| c.execution.allowed_tools_approve,
    );
    ExecutionSettings {
        require_approval_for: approvals.into_iter().collect(),
        timeout: Duration::from_secs(timeout_s.into()),
        output_cap: OutputCap { chars: output_chars },
        env,
        min_tier: if require_sandbox { min_tier } else { Tier::None },
        always: always_s.map_or(Lifetime::Unlimited, |seconds| Lifetime::Seconds(seconds.into())),
        preapproval: if approves { Preapproval::TrustedSkills } else { Preapproval::Never },
    }
}

/// The tiers as users compare them. `macos` and `medium` are the same promise on different systems,
/// so neither tightens the other; `Tier`'s own order is for what one machine can do.
fn strength(tier: Tier) -> u8 {
    match tier {
        Tier::None => 0,
        Tier::Macos | Tier::Medium => 1,
        Tier::Strong => 2,
    }
}

fn security(r: &mut Resolver<'_>) -> (Limits, BodyLimits, WalkSettings) {
    let switched_on = |asked: &bool, baseline: &bool| *asked && !baseline;
    let switched_off = |asked: &bool, baseline: &bool| !asked && *baseline;
    let (limits, body, scan) = (Limits::default(), BodyLimits::default(), ScanOptions::default());
    let body_limits = BodyLimits {
        lines: r
            .size("security.max_skill_body_lines", body.lines, |c| c.security.max_skill_body_lines),
        chars: r
            .size("security.max_skill_body_chars", body.chars, |c| c.security.max_skill_body_chars),
        over: r.guard(
            "security.over_long_body",
            body.over,
            |asked, baseline| (asked, baseline) == (&OverLimit::Refuse, &OverLimit::Trim),
            |c| c.security.over_long_body,
        ),
        ..body
    };
    let block_angle_brackets = r.guard(
        "security.block_angle_brackets_in_frontmatter",
        limits.block_angle_brackets,
        switched_on,
        |c| c.security.block_angle_brackets_in_frontmatter,
    );
    let follow_symlinks =
        r.guard("security.follow_symlinks", scan.follow_links, switched_off, |c| {
            c.security.follow_symlinks
        });
    let limits = Limits {
        frontmatter_lines: r.size(
            "security.max_frontmatter_lines",
            limits.frontmatter_lines,
            |c| c.security.max_frontmatter_lines,
        ),
        frontmatter_line_chars: r.size(
            "security.max_frontmatter_line_chars",
            limits.frontmatter_line_chars,
            |c| c.security.max_frontmatter_line_chars,
        ),
        frontmatter_bytes: r.size(
            "security.max_frontmatter_bytes",
            limits.frontmatter_bytes,
            |c| c.security.max_frontmatter_bytes,
        ),
        description_chars: r.size(
            "security.max_description_chars",
            limits.description_chars,
            |c| c.security.max_description_chars,
        ),
        body_lines: body_limits.lines,
        body_chars: body_limits.chars,
        block_angle_brackets,
    };
    let walk = WalkSettings {
        follow_symlinks,
        max_depth: r.size("security.max_walk_depth", scan.max_depth, |c| c.security.max_walk_depth),
        max_entries: r
            .size("security.max_walk_entries", scan.max_entries, |c| c.security.max_walk_entries),
    };
    (limits, body_limits, walk)
}

/// Off in either spelling is off.
fn enable_skills(r: &mut Resolver<'_>) -> bool {
    r.guard(
        "enable_skills",
        true,
        |asked, baseline| !asked && *baseline,
        |c| match (c.enable_skills, c.enable_skills_too) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(true) && other.unwrap_or(true)),
        },
    )
}

fn budgets(r: &mut Resolver<'_>) -> RunLimits {
    let usual = RunLimits::default();
    let turns = r.limit("budgets.turns", usual.turns, |c| c.budgets.turns);
    let tool_calls = r.limit("budgets.tool_calls", usual.tool_calls, |c| c.budgets.tool_calls);
    let script_runs = r.limit("budgets.script_runs", usual.script_runs, |c| c.budgets.script_runs);
    let wall_s = r.limit_or_none("budgets.wall_s", |c| c.budgets.wall_s);
    let tokens = r.limit_or_none("budgets.tokens", |c| c.budgets.tokens);
    let skills_a_turn =
        r.limit("budgets.skills_a_turn", usual.skills_a_turn, |c| c.budgets.skills_a_turn);
    let wall_ms = wall_s.map(|seconds| u64::from(seconds) * 1000);
    let tokens = tokens.map(u64::from);
    RunLimits { turns, tool_calls, script_runs, wall_ms, tokens, skills_a_turn, ..usual }
}

fn catalog(r: &mut Resolver<'_>) -> CatalogSettings {
    let format = r.preference("catalog.format", CatalogFormat::default(), |c| c.catalog.format);
    let tokens = r.preference("catalog.budget_tokens", CATALOG_TOKENS, |c| {
        c.catalog.budget_tokens.map(std::num::NonZeroU32::get)
    });
    CatalogSettings { format, budget_tokens: usize::try_from(tokens).unwrap_or(usize::MAX) }
}

fn permissions(r: &mut Resolver<'_>) -> Vec<PermissionLayer> {
    let mut layers = Vec::new();
    for layer in r.managed.iter().chain([r.user, r.project].into_iter().flatten()) {
        let mut rules = Vec::new();
        for (i, rule) in layer.config.permissions.iter().enumerate() {
            let key = format!("permissions[{i}]");
            r.record(&key, rule, Some(layer));
            let line = layer.line_of(&key);
            rules.push(PlacedRule { rule: rule.clone(), line });
        }
        let mut examples = Vec::new();
        for (i, example) in layer.config.permission_examples.iter().enumerate() {
            let key = format!("permission_examples[{i}]");
            r.record(&key, example, Some(layer));
            let line = layer.line_of(&key);
            examples.push(PlacedExample { example: example.clone(), line });
        }
        if !rules.is_empty() || !examples.is_empty() {
            layers.push(PermissionLayer {
                origin: layer.origin.clone(),
                scope: layer.scope,
                rules,
                examples,
            });
        }
    }
    if layers.iter().all(|layer| layer.rules.is_empty()) {
        r.record("permissions", &[(); 0], None);
    }
    if layers.iter().all(|layer| layer.examples.is_empty()) {
        r.record("permission_examples", &[(); 0], None);
    }
    layers
}

/// What one file says about a skill: under its id, or else under its name alone.
struct SkillSetting<'l> {
    enabled: bool,
    layer: &'l Layer,
    key: &'l str,
}

impl<'l> SkillSetting<'l> {
    fn find(id: &str, layer: Option<&'l Layer>) -> Option<Self> {
        let layer = layer?;
        let name = id.split_once(':').filter(|(source, _)| source.parse::<Source>().is_ok());
        let keys = [Some(id), name.map(|(_, name)| name)];
        let (key, skill) =
            keys.into_iter().flatten().find_map(|key| layer.config.skills.get_key_value(key))?;
        Some(Self { enabled: skill.enabled, layer, key })
    }
}

fn skill_key(id: &str) -> String {
    render(&[Segment::Key("skills"), Segment::Key(id), Segment::Key("enabled")])
}

/// A skill is off when either file says so.
fn skills(r: &mut Resolver<'_>) -> (BTreeMap<String, bool>, BTreeSet<String>) {
    let layers = [r.user, r.project];
    let ids: BTreeSet<&String> =
        layers.into_iter().flatten().flat_map(|layer| layer.config.skills.keys()).collect();
    let (mut entries, mut off_by_project) = (BTreeMap::new(), BTreeSet::new());
    for id in ids {
        let found = layers.map(|layer| SkillSetting::find(id, layer));
        let [user, project] = &found;
        // The user's first: where both say off, the project's file is not the one to change.
        let off = found.iter().flatten().find(|setting| !setting.enabled);
        let Some(used) = off.or(project.as_ref()).or(user.as_ref()) else { continue };
        r.record_at(&skill_key(id), &skill_key(used.key), &used.enabled, Some(used.layer));
        let asked = project.as_ref().filter(|asked| asked.key == id.as_str() && asked.enabled);
        if let Some(asked) = asked.filter(|_| !used.enabled) {
            r.overrule(&asked.enabled, asked.layer);
        }
        entries.insert(id.clone(), used.enabled);
        if project.as_ref().is_some_and(|setting| !setting.enabled) {
            off_by_project.insert(id.clone());
        }
    }
    if entries.is_empty() {
        r.record("skills", &serde_json::Map::new(), None);
    }
    (entries, off_by_project)
}
