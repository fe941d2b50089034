//! The rules by which the layers become one value, and the record of where each value came from.
//!
//! Every key follows one of two rules, and which one is a question of harm: what could the author of
//! a cloned project do to the person who opens it? A *preference* (how the catalog is written) does
//! none: the project's value, else the user's, else the default. A *guard* (a limit, a budget, a
//! switch that protects) would: a clone that raises `security.max_walk_entries`, switches
//! `block_angle_brackets_in_frontmatter` off or grants itself a thousand turns attacks the person who
//! merely ran `metier list` in it. So a guard takes the strictest value, and a project can tighten but
//! never loosen.
//!
//! The order is part of the defence. First comes the user's value or, without one, the default; the
//! default counts as the user's choice, since otherwise every key that the user left out would be the
//! project's to set. Then each administrator's file may tighten it, then the project's. The strictest
//! value would be the same in any order, but the origin that `metier config` names would not: at equal
//! strictness the user's own file is named, not a project's that changed nothing.
//! Where no value is stricter than another (a provider, a key, an address, the sandbox) a project
//! has no say at all (`user_only`, `user_guard`), and `check.rs` refuses the key in its file.
//!
//! A value that had no effect is not an error, because the same project must open for users with
//! different settings. It is kept in [`Explained::overruled`], so that `metier config` can show it.

use serde::Serialize;
use serde_json::Value as Json;

use crate::config::Config;
use crate::layer::{Layer, Scope};

/// The origin of a value that no file sets.
const DEFAULT: &str = "default";

/// One value in effect, and where it came from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explained {
    /// The key, such as `security.follow_symlinks` or `skill_roots[0]` (counted in its file).
    pub key_path: String,
    /// The value; `null` when there is no limit or no choice.
    pub value: Json,
    /// `default`, or the file.
    pub origin: String,
    /// The line in the file.
    pub line: Option<usize>,
    /// The value of a file that was overruled: the project's, or the user's by an administrator's.
    pub overruled: Option<Overruled>,
}

/// A value that has no effect, because it would loosen a guard.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Overruled {
    /// The value.
    pub value: Json,
    /// The file that sets it.
    pub origin: String,
    /// The line in the file.
    pub line: Option<usize>,
}

/// The layers, and the record as it grows.
pub(crate) struct Resolver<'l> {
    pub(crate) managed: &'l [Layer],
    pub(crate) user: Option<&'l Layer>,
    pub(crate) project: Option<&'l Layer>,
    pub(crate) rows: Vec<Explained>,
}

impl<'l> Resolver<'l> {
    /// The project's value, else the user's, else the default.
    pub(crate) fn preference<T: Serialize>(
        &mut self,
        key: &str,
        default: T,
        get: impl Fn(&Config) -> Option<T>,
    ) -> T {
        let (value, layer) = first_of([self.project, self.user], default, get);
        self.record(key, &value, layer);
        value
    }

    /// The user's value, else the default. `parse` refuses the key in a project's file; here the
    /// project's is not even looked at.
    pub(crate) fn user_only<T: Serialize>(
        &mut self,
        key: &str,
        default: T,
        get: impl Fn(&Config) -> Option<T>,
    ) -> T {
        let (value, layer) = first_of([self.user], default, get);
        self.record(key, &value, layer);
        value
    }

    /// The user's value or the default, unless an administrator's is stricter. A project's is not
    /// looked at.
    pub(crate) fn user_guard<T: Serialize>(
        &mut self,
        key: &str,
        default: T,
        stricter: impl Fn(&T, &T) -> bool,
        get: impl Fn(&Config) -> Option<T>,
    ) -> T {
        let (value, layer) = self.baseline(default, stricter, &get);
        self.record(key, &value, layer);
        self.overrule_user(layer, get);
        value
    }

    /// Adds the user's value to the last row, where an administrator tightened it.
    fn overrule_user<T: Serialize>(
        &mut self,
        layer: Option<&Layer>,
        get: impl Fn(&Config) -> Option<T>,
    ) {
        let is_managed = layer.is_some_and(|layer| layer.scope == Scope::Managed);
        let asked =
            self.user.filter(|_| is_managed).and_then(|user| Some((get(&user.config)?, user)));
        if let Some((asked, user)) = asked {
            self.overrule(&asked, user);
        }
    }

    /// What a project starts from: the user's value or the default, tightened by administrators.
    fn baseline<T>(
        &self,
        default: T,
        stricter: impl Fn(&T, &T) -> bool,
        get: impl Fn(&Config) -> Option<T>,
    ) -> (T, Option<&'l Layer>) {
        let (mut baseline, mut layer) = first_of([self.user], default, &get);
        for managed in self.managed {
            if let Some(asked) = get(&managed.config).filter(|asked| stricter(asked, &baseline)) {
                (baseline, layer) = (asked, Some(managed));
            }
        }
        (baseline, layer)
    }

    /// The user's value or the default, unless an administrator's or the project's is stricter.
    /// `stricter(asked, baseline)` says whether `asked` tightens; it must be false for equal values.
    pub(crate) fn guard<T: Serialize + PartialEq>(
        &mut self,
        key: &str,
        default: T,
        stricter: impl Fn(&T, &T) -> bool,
        get: impl Fn(&Config) -> Option<T>,
    ) -> T {
        let (baseline, layer) = self.baseline(default, &stricter, &get);
        let asked = self.project.and_then(|project| Some((get(&project.config)?, project)));
        match asked {
            Some((asked, project)) if stricter(&asked, &baseline) => {
                self.record(key, &asked, Some(project));
                asked
            }
            Some((asked, project)) if asked != baseline => {
                self.record(key, &baseline, layer);
                self.overrule(&asked, project);
                baseline
            }
            _ => {
                self.record(key, &baseline, layer);
                self.overrule_user(layer, get);
                baseline
            }
        }
    }

    /// The smaller of the user's number (or the default) and the project's.
    pub(crate) fn limit<N: Into<u32>>(
        &mut self,
        key: &str,
        default: u32,
        get: impl Fn(&Config) -> Option<N>,
    ) -> u32 {
        self.guard(
            key,
            default,
            |asked, baseline| asked < baseline,
            |config| get(config).map(Into::into),
        )
    }

    /// A limit on something in memory.
    pub(crate) fn size<N: Into<u32>>(
        &mut self,
        key: &str,
        default: usize,
        get: impl Fn(&Config) -> Option<N>,
    ) -> usize {
        let in_memory = |number: N| usize::try_from(number.into()).unwrap_or(usize::MAX);
        self.guard(
            key,
            default,
            |asked, baseline| asked < baseline,
            |config| get(config).map(in_memory),
        )
    }

    /// A limit with no default: any number is stricter than none.
    pub(crate) fn limit_or_none<N: Into<u32>>(
        &mut self,
        key: &str,
        get: impl Fn(&Config) -> Option<N>,
    ) -> Option<u32> {
        self.guard(
            key,
            None,
            |asked, baseline| is_shorter(*asked, *baseline),
            |config| get(config).map(|number| Some(number.into())),
        )
    }

    /// Adds a row for a value and the layer that set it.
    pub(crate) fn record(&mut self, key: &str, value: &impl Serialize, layer: Option<&Layer>) {
        self.record_at(key, key, value, layer);
    }

    /// The same for a value whose line is known only by the key that holds it.
    pub(crate) fn record_at(
        &mut self,
        key: &str,
        placed_key: &str,
        value: &impl Serialize,
        layer: Option<&Layer>,
    ) {
        self.rows.push(Explained {
            key_path: key.to_owned(),
            value: json_of(value),
            origin: layer.map_or(DEFAULT, Layer::origin).to_owned(),
            line: layer.and_then(|layer| layer.line_of(placed_key)),
            overruled: None,
        });
    }

    /// Adds to the last row the value of a file that was overruled.
    pub(crate) fn overrule(&mut self, asked: &impl Serialize, by: &Layer) {
        let key = self.rows.last().map(|row| row.key_path.clone()).unwrap_or_default();
        self.overrule_at(&key, asked, by);
    }

    /// The same for a value that stands under another key in its file.
    pub(crate) fn overrule_at(&mut self, key: &str, asked: &impl Serialize, by: &Layer) {
        if let Some(row) = self.rows.last_mut() {
            row.overruled = Some(Overruled {
                value: json_of(asked),
                origin: by.origin.clone(),
                line: by.line_of(key),
            });
        }
    }
}

/// Whether a limit is stricter than another one: any number is stricter than none.
pub(crate) fn is_shorter(asked: Option<u32>, baseline: Option<u32>) -> bool {
    match (asked, baseline) {
        (Some(asked), Some(baseline)) => asked < baseline,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// The value of the first layer that has one, and that layer; else the default.
fn first_of<T, const N: usize>(
    layers: [Option<&Layer>; N],
    default: T,
    get: impl Fn(&Config) -> Option<T>,
) -> (T, Option<&Layer>) {
    match layers.into_iter().flatten().find_map(|layer| Some((get(&layer.config)?, layer))) {
        Some((value, layer)) => (value, Some(layer)),
        None => (default, None),
    }
}

/// Our values are enums, numbers, strings and lists of them: they always have a JSON form.
fn json_of(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or(Json::Null)
}
