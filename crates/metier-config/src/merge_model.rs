//! The model that the files together choose.
//!
//! Requests hold the user's files and a key, so a project cannot choose who receives them; a scripted or
//! replayed model from a clone would be a model that the clone's author wrote. Only `router`, which sends
//! nothing, is a choice that tightens. A name and parameters are meant for one provider, so they are
//! dropped together with a provider that was refused or replaced. Which parameters a project may set is
//! in `project_params.rs`; the limit on a reply it can only lower, under whatever name.

use std::collections::BTreeMap;

use metier_agent::RunLimits;
use metier_model::Provider;
use serde_json::{Map, Value as Json};

use crate::config::{Config, ModelConfig};
use crate::key_path::{Segment, render};
use crate::layer::Layer;
use crate::project_params::{REPLY_LIMITS, other_spellings};
use crate::resolve::Resolver;
use crate::settings::{ModelSettings, PlanSetting};

pub(crate) fn model(r: &mut Resolver<'_>) -> ModelSettings {
    let own = r.user.and_then(|layer| own_provider(&layer.config.model));
    let provider = provider(r, own);
    let reads_a_file = matches!(provider, Provider::Scripted | Provider::Replay);
    let switched = own.is_some_and(|own| own != provider);
    let inherited = r.user.filter(|_| !switched);
    let asked = r.project.and_then(|layer| projects_provider(&layer.config.model));
    let refused = asked.is_some_and(|asked| asked != provider);
    let whole_user = std::mem::replace(&mut r.user, inherited);
    let model_name = |c: &Config| c.model.name.clone().map(Some);
    let is_mock = r.project.is_some_and(is_mock);
    let name = if refused || reads_a_file || is_mock {
        r.guard("model.name", None, |_, _| false, model_name)
    } else {
        r.preference("model.name", None, model_name)
    };
    let base_url = r.user_only("model.base_url", None, |c| c.model.base_url.clone().map(Some));
    let key_env = r.user_only("model.key_env", None, |c| c.model.key_env.clone().map(Some));
    let key_command =
        r.user_only("model.key_command", None, |c| c.model.key_command.clone().map(Some));
    let plan = r.preference("model.plan", PlanSetting::default(), |c| c.model.plan);
    let params = params(r, r.project.filter(|_| !refused && !is_mock));
    r.user = whole_user;
    ModelSettings { provider, name, base_url, key_env, key_command, plan, params }
}

/// What the user's `mock` stands for: a script where one is named, else the offline model.
fn own_provider(model: &ModelConfig) -> Option<Provider> {
    model.provider.map(|provider| match (provider, &model.name) {
        (Provider::Mock, Some(_)) => Provider::Scripted,
        (Provider::Mock, None) => Provider::Router,
        (provider, _) => provider,
    })
}

/// What a project's `mock` stands for: scripts come from the user alone.
fn projects_provider(model: &ModelConfig) -> Option<Provider> {
    model
        .provider
        .map(|provider| if provider == Provider::Mock { Provider::Router } else { provider })
}

fn is_mock(layer: &Layer) -> bool {
    layer.config.model.provider == Some(Provider::Mock)
}

/// The user's provider, unless the project chooses the offline one. Where the user chose none, a
/// project's `mock` is named as the origin although it changes nothing: the run says what it means.
fn provider(r: &mut Resolver<'_>, own: Option<Provider>) -> Provider {
    const KEY: &str = "model.provider";
    let asked = r.project.and_then(|layer| Some((projects_provider(&layer.config.model)?, layer)));
    let baseline = own.unwrap_or(Provider::Router);
    match asked {
        Some((Provider::Router, project))
            if baseline != Provider::Router || own.is_none() && is_mock(project) =>
        {
            r.record(KEY, &Provider::Router, Some(project));
            Provider::Router
        }
        asked => {
            r.record(KEY, &baseline, r.user.filter(|_| own.is_some()));
            if let Some((asked, project)) = asked.filter(|(asked, _)| *asked != baseline) {
                r.overrule(&asked, project);
            }
            baseline
        }
    }
}

/// The user's parameters, with those that the project may set in their place.
fn params(r: &mut Resolver<'_>, project: Option<&Layer>) -> Map<String, Json> {
    let mut params = Map::new();
    let mut setters: BTreeMap<String, &Layer> = BTreeMap::new();
    for layer in [r.user, project].into_iter().flatten() {
        let is_project = project.is_some_and(|project| std::ptr::eq(project, layer));
        for (key, value) in &layer.config.model.params {
            if is_project && REPLY_LIMITS.contains(&key.as_str()) {
                continue;
            }
            for other in other_spellings(key).filter(|_| is_project) {
                params.remove(other);
                setters.remove(other);
            }
            params.insert(key.clone(), value.clone());
            setters.insert(key.clone(), layer);
        }
    }
    let refused = lower_limit(&mut params, &mut setters, project);
    for (key, layer) in setters {
        let path = path_of(&key);
        // The checker keeps the lines of the keys that it knows.
        let placed = if layer.line_of(&path).is_some() { path.as_str() } else { "model.params" };
        r.record_at(&path, placed, &params[&key], Some(layer));
        if let Some(refused) = refused.as_ref().filter(|refused| refused.own_key == Some(&key)) {
            r.overrule_at(&path_of(refused.key), &refused.asked, refused.layer);
        }
    }
    if let Some(refused) = refused.filter(|refused| refused.own_key.is_none()) {
        r.record(&path_of(refused.key), &RunLimits::default().reply_tokens, None);
        r.overrule(&refused.asked, refused.layer);
    } else if params.is_empty() {
        r.record("model.params", &params, None);
    }
    params
}

/// A limit of the project's that has no effect.
struct RefusedLimit<'l> {
    /// As the project spells it.
    key: &'l str,
    asked: u64,
    layer: &'l Layer,
    /// As the user spells it, where the user sets one.
    own_key: Option<&'static str>,
}

/// Takes the project's limit on a reply where it is lower than the user's, or than the default. All
/// spellings are one limit: a project must not lift one of them by setting another.
fn lower_limit<'l>(
    params: &mut Map<String, Json>,
    setters: &mut BTreeMap<String, &'l Layer>,
    project: Option<&'l Layer>,
) -> Option<RefusedLimit<'l>> {
    let project = project?;
    let set = |key: &&'static str| Some((*key, project.config.model.params.get(*key)?.as_u64()?));
    let (key, asked) = REPLY_LIMITS.iter().filter_map(set).min_by_key(|(_, asked)| *asked)?;
    let own_key = REPLY_LIMITS.into_iter().find(|key| params.contains_key(*key));
    let own = match own_key {
        // A value that is no number is an error of the user's, which the adapter reports.
        Some(key) => params[key].as_u64().unwrap_or(0),
        None => RunLimits::default().reply_tokens.into(),
    };
    if asked < own {
        for spelling in REPLY_LIMITS {
            params.remove(spelling);
            setters.remove(spelling);
        }
        params.insert(key.to_owned(), asked.into());
        setters.insert(key.to_owned(), project);
        return None;
    }
    (asked > own).then_some(RefusedLimit { key, asked, layer: project, own_key })
}

fn path_of(param: &str) -> String {
    render(&[Segment::Key("model"), Segment::Key("params"), Segment::Key(param)])
}
