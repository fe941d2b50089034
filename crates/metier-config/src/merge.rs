//! Layers become settings: every key once, with its default and the rule that joins the files.
//!
//! The rules themselves are in `resolve.rs`. The defaults are those of the design.

use std::collections::{BTreeMap, BTreeSet};

use metier_skill::Source;

use crate::config::{CatalogFormat, Config, MinTier, OverLongBody, Profile, Provider};
use crate::key_path::{Segment, render};
use crate::layer::{Layer, Scope};
use crate::resolve::{Resolver, is_shorter};
use crate::settings::{
    BudgetSettings, CatalogSettings, ConfiguredRoot, ExecutionSettings, ModelSettings,
    PermissionLayer, PlacedExample, PlacedRule, SecuritySettings, Settings,
};

impl Settings {
    /// Merges the defaults, the user's file (of [`Scope::User`]) and the project's (of
    /// [`Scope::Project`]).
    ///
    /// A project's word counts for preferences; limits, budgets, `profile` and the switches under
    /// `security` it can tighten but not loosen, and a skill it can switch off but not on. Of the
    /// providers it can choose the offline one alone, and a model that is a file it cannot name. Lists
    /// and maps are joined: `skill_roots` (project's first), `require_approval_for`, `model.params`
    /// (project's entry wins), `skills`, `permissions` (kept apart).
    pub fn merge(user: Option<&Layer>, project: Option<&Layer>) -> Self {
        Self::merge_managed(&[], user, project)
    }

    /// The same where administrators have files too (of [`Scope::Managed`]): they tighten what the
    /// user set, as a project does, and where a project has no say too.
    pub fn merge_managed(managed: &[Layer], user: Option<&Layer>, project: Option<&Layer>) -> Self {
        debug_assert!(managed.iter().all(|layer| layer.scope == Scope::Managed));
        debug_assert!(user.is_none_or(|layer| layer.scope == Scope::User));
        debug_assert!(project.is_none_or(|layer| layer.scope == Scope::Project));
        let mut r = Resolver { managed, user, project, rows: Vec::new() };
        Self {
            skill_roots: skill_roots(&mut r),
            profile: r.guard(
                "profile",
                Profile::Strict,
                |asked, kept| (asked, kept) == (&Profile::Strict, &Profile::Lenient),
                |c| c.profile,
            ),
            model: model(&mut r),
            execution: execution(&mut r),
            security: security(&mut r),
            permissions: permissions(&mut r),
            skills: skills(&mut r),
            budgets: BudgetSettings {
                turns: r.limit("budgets.turns", 12, |c| c.budgets.turns),
                tool_calls: r.limit("budgets.tool_calls", 30, |c| c.budgets.tool_calls),
                script_runs: r.limit("budgets.script_runs", 10, |c| c.budgets.script_runs),
                wall_s: r.limit_or_none("budgets.wall_s", |c| c.budgets.wall_s).map(u64::from),
                tokens: r.limit_or_none("budgets.tokens", |c| c.budgets.tokens).map(u64::from),
            },
            catalog: CatalogSettings {
                format: r.preference("catalog.format", CatalogFormat::Lines, |c| c.catalog.format),
                budget_tokens: r.preference("catalog.budget_tokens", None, |c| {
                    c.catalog.budget_tokens.map(|tokens| Some(tokens.get()))
                }),
            },
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

fn model(r: &mut Resolver<'_>) -> ModelSettings {
    let user = r.user.map(|layer| &layer.config.model);
    // To whom requests and a key are sent is the user's choice, and a file in a clone would be a model
    // that the clone's author wrote. A project can only keep everything here.
    let provider = r.guard(
        "model.provider",
        Provider::Router,
        |asked, kept| asked != kept && *asked == Provider::Router,
        |c| c.model.provider,
    );
    let of_a_file = |provider: &Provider| matches!(provider, Provider::Scripted | Provider::Replay);
    // A name and parameters are spelled for a provider: under another one they mean nothing.
    let switched = user.and_then(|model| model.provider).is_some_and(|own| own != provider);
    let inherited = r.user.filter(|_| !switched);
    let asked = r.project.and_then(|layer| layer.config.model.provider);
    let refused = asked.is_some_and(|asked| asked != provider);
    let whole_user = std::mem::replace(&mut r.user, inherited);
    let named = |c: &Config| c.model.name.clone().map(Some);
    let name = if refused || of_a_file(&provider) {
        r.guard("model.name", None, |_, _| false, named)
    } else {
        r.preference("model.name", None, named)
    };
    let base_url = r.user_only("model.base_url", None, |c| c.model.base_url.clone().map(Some));
    let key_env = r.user_only("model.key_env", None, |c| c.model.key_env.clone().map(Some));
    let key_command =
        r.user_only("model.key_command", None, |c| c.model.key_command.clone().map(Some));
    let mut params = serde_json::Map::new();
    let mut setters = BTreeMap::new();
    for layer in [r.user, r.project.filter(|_| !refused)].into_iter().flatten() {
        for (key, value) in &layer.config.model.params {
            params.insert(key.clone(), value.clone());
            setters.insert(key, layer);
        }
    }
    for (key, layer) in setters {
        let path = render(&[Segment::Key("model"), Segment::Key("params"), Segment::Key(key)]);
        r.record_at(&path, "model.params", &params[key], Some(layer));
    }
    if params.is_empty() {
        r.record("model.params", &params, None);
    }
    r.user = whole_user;
    ModelSettings { provider, name, base_url, key_env, key_command, params }
}

fn execution(r: &mut Resolver<'_>) -> ExecutionSettings {
    let mut approvals = BTreeSet::new();
    for layer in r.managed.iter().chain([r.user, r.project].into_iter().flatten()) {
        for (i, target) in layer.config.execution.require_approval_for.iter().enumerate() {
            r.record(&format!("execution.require_approval_for[{i}]"), target, Some(layer));
            approvals.insert(*target);
        }
    }
    if approvals.is_empty() {
        r.record("execution.require_approval_for", &[(); 0], None);
    }
    let timeout_s = r.limit("execution.timeout_s", 60, |c| c.execution.timeout_s);
    ExecutionSettings {
        require_approval_for: approvals.into_iter().collect(),
        timeout_s: timeout_s.into(),
        max_output_chars: r
            .size("execution.max_output_chars", 12_000, |c| c.execution.max_output_chars),
        env: r.user_only("execution.env", Vec::new(), |c| c.execution.env.clone()),
        require_sandbox: r.user_guard(
            "execution.require_sandbox",
            true,
            |asked, kept| *asked && !kept,
            |c| c.execution.require_sandbox,
        ),
        min_tier: r.user_guard(
            "execution.min_tier",
            MinTier::Medium,
            |asked, kept| strength(*asked) > strength(*kept),
            |c| c.execution.min_tier,
        ),
        always_expires_s: r
            .user_guard(
                "execution.always_expires_s",
                None,
                |asked, kept| is_shorter(*asked, *kept),
                |c| c.execution.always_expires_s.map(|seconds| Some(seconds.get())),
            )
            .map(u64::from),
        allowed_tools_approve: r.user_guard(
            "execution.allowed_tools_approve",
            false,
            |asked, kept| !asked && *kept,
            |c| c.execution.allowed_tools_approve,
        ),
    }
}

fn strength(tier: MinTier) -> u8 {
    match tier {
        MinTier::None => 0,
        MinTier::Macos | MinTier::Medium => 1,
        MinTier::Strong => 2,
    }
}

fn security(r: &mut Resolver<'_>) -> SecuritySettings {
    let switched_on = |asked: &bool, kept: &bool| *asked && !kept;
    let switched_off = |asked: &bool, kept: &bool| !asked && *kept;
    SecuritySettings {
        max_skill_body_lines: r
            .size("security.max_skill_body_lines", 500, |c| c.security.max_skill_body_lines),
        max_skill_body_chars: r
            .size("security.max_skill_body_chars", 40_000, |c| c.security.max_skill_body_chars),
        over_long_body: r.guard(
            "security.over_long_body",
            OverLongBody::Trim,
            |asked, kept| (asked, kept) == (&OverLongBody::Refuse, &OverLongBody::Trim),
            |c| c.security.over_long_body,
        ),
        block_angle_brackets_in_frontmatter: r.guard(
            "security.block_angle_brackets_in_frontmatter",
            true,
            switched_on,
            |c| c.security.block_angle_brackets_in_frontmatter,
        ),
        follow_symlinks: r
            .guard("security.follow_symlinks", true, switched_off, |c| c.security.follow_symlinks),
        max_frontmatter_lines: r
            .size("security.max_frontmatter_lines", 200, |c| c.security.max_frontmatter_lines),
        max_frontmatter_line_chars: r.size("security.max_frontmatter_line_chars", 500, |c| {
            c.security.max_frontmatter_line_chars
        }),
        max_frontmatter_bytes: r
            .size("security.max_frontmatter_bytes", 65_536, |c| c.security.max_frontmatter_bytes),
        max_description_chars: r
            .size("security.max_description_chars", 8192, |c| c.security.max_description_chars),
        max_walk_depth: r.size("security.max_walk_depth", 6, |c| c.security.max_walk_depth),
        max_walk_entries: r
            .size("security.max_walk_entries", 1_000_000, |c| c.security.max_walk_entries),
    }
}

fn permissions(r: &mut Resolver<'_>) -> Vec<PermissionLayer> {
    let mut layers = Vec::new();
    for layer in r.managed.iter().chain([r.user, r.project].into_iter().flatten()) {
        let mut rules = Vec::new();
        for (i, rule) in layer.config.permissions.iter().enumerate() {
            let key = format!("permissions[{i}]");
            r.record(&key, rule, Some(layer));
            let line = layer.line_of(&key).unwrap_or(1);
            rules.push(PlacedRule { rule: rule.clone(), line });
        }
        let mut examples = Vec::new();
        for (i, example) in layer.config.permission_examples.iter().enumerate() {
            let key = format!("permission_examples[{i}]");
            r.record(&key, example, Some(layer));
            let line = layer.line_of(&key).unwrap_or(1);
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
struct Word<'l> {
    enabled: bool,
    layer: &'l Layer,
    key: &'l str,
}

impl<'l> Word<'l> {
    fn about(id: &str, layer: Option<&'l Layer>) -> Option<Self> {
        let layer = layer?;
        let named = id.split_once(':').filter(|(source, _)| source.parse::<Source>().is_ok());
        let keys = [Some(id), named.map(|(_, name)| name)];
        let (key, skill) =
            keys.into_iter().flatten().find_map(|key| layer.config.skills.get_key_value(key))?;
        Some(Self { enabled: skill.enabled, layer, key })
    }
}

fn skill_key(id: &str) -> String {
    render(&[Segment::Key("skills"), Segment::Key(id), Segment::Key("enabled")])
}

/// A skill is off when either file says so. Without this a clone could switch on what the user
/// switched off, by the same key or by a more precise one.
fn skills(r: &mut Resolver<'_>) -> BTreeMap<String, bool> {
    let layers = [r.user, r.project];
    let ids: BTreeSet<&String> =
        layers.into_iter().flatten().flat_map(|layer| layer.config.skills.keys()).collect();
    let mut entries = BTreeMap::new();
    for id in ids {
        let words = layers.map(|layer| Word::about(id, layer));
        let [user, project] = &words;
        // The user's word first: where both say off, it is the user's that cannot be undone here.
        let off = words.iter().flatten().find(|word| !word.enabled);
        let Some(counts) = off.or(project.as_ref()).or(user.as_ref()) else { continue };
        r.record_at(&skill_key(id), &skill_key(counts.key), &counts.enabled, Some(counts.layer));
        let asked = project.as_ref().filter(|word| word.key == id.as_str() && word.enabled);
        if let Some(asked) = asked.filter(|_| !counts.enabled) {
            r.overrule(&asked.enabled, asked.layer);
        }
        entries.insert(id.clone(), counts.enabled);
    }
    if entries.is_empty() {
        r.record("skills", &serde_json::Map::new(), None);
    }
    entries
}
