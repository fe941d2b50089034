//! The two rules by which layers become one value, and the record of where each came from.
//!
//! A preference: the project's word, else the user's, else the default. A guard (limits, budgets,
//! switches that protect): the stricter one wins, the default counting as the user's word, so that
//! a cloned project can tighten and never loosen. What a project asked for in vain is kept in
//! [`Explained::overruled`], so that `metier config` can show it.

use serde::Serialize;
use serde_json::Value as Json;

use crate::config::Config;
use crate::layer::{Layer, Scope};

/// The origin of a value that no file sets.
const DEFAULT: &str = "default";

/// One value that counts, and where it came from.
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
    /// What the project's file, or the user's against an administrator's, asked for in vain.
    pub overruled: Option<Overruled>,
}

/// A value that a file asked for and did not get, because it would loosen a guard.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Overruled {
    /// The value.
    pub value: Json,
    /// The file that asks for it.
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
    /// The project's word, else the user's, else the default.
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

    /// The user's word, else the default. `parse` refuses the key in a project's file; here the
    /// project is not even asked.
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

    /// The user's word or the default, unless an administrator's is stricter. A project is not asked.
    pub(crate) fn user_guard<T: Serialize>(
        &mut self,
        key: &str,
        default: T,
        stricter: impl Fn(&T, &T) -> bool,
        get: impl Fn(&Config) -> Option<T>,
    ) -> T {
        let (value, layer) = self.kept(default, stricter, &get);
        self.record(key, &value, layer);
        self.overrule_user(layer, get);
        value
    }

    /// Adds to the last note what the user asked for, where an administrator tightened it.
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

    /// The user's word or the default, or what an administrator tightened it to.
    fn kept<T>(
        &self,
        default: T,
        stricter: impl Fn(&T, &T) -> bool,
        get: impl Fn(&Config) -> Option<T>,
    ) -> (T, Option<&'l Layer>) {
        let (mut kept, mut layer) = first_of([self.user], default, &get);
        for managed in self.managed {
            if let Some(asked) = get(&managed.config).filter(|asked| stricter(asked, &kept)) {
                (kept, layer) = (asked, Some(managed));
            }
        }
        (kept, layer)
    }

    /// The user's word or the default, unless an administrator's or the project's is stricter.
    pub(crate) fn guard<T: Serialize + PartialEq>(
        &mut self,
        key: &str,
        default: T,
        stricter: impl Fn(&T, &T) -> bool,
        get: impl Fn(&Config) -> Option<T>,
    ) -> T {
        let (kept, layer) = self.kept(default, &stricter, &get);
        let asked = self.project.and_then(|project| Some((get(&project.config)?, project)));
        match asked {
            Some((asked, project)) if stricter(&asked, &kept) => {
                self.record(key, &asked, Some(project));
                asked
            }
            Some((asked, project)) if asked != kept => {
                self.record(key, &kept, layer);
                self.overrule(&asked, project);
                kept
            }
            _ => {
                self.record(key, &kept, layer);
                self.overrule_user(layer, get);
                kept
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
        self.guard(key, default, |asked, kept| asked < kept, |config| get(config).map(Into::into))
    }

    /// A limit on something in memory.
    pub(crate) fn size<N: Into<u32>>(
        &mut self,
        key: &str,
        default: usize,
        get: impl Fn(&Config) -> Option<N>,
    ) -> usize {
        let in_memory = |number: N| usize::try_from(number.into()).unwrap_or(usize::MAX);
        self.guard(key, default, |asked, kept| asked < kept, |config| get(config).map(in_memory))
    }

    /// A limit that nobody has to set: any number is stricter than none.
    pub(crate) fn limit_or_none<N: Into<u32>>(
        &mut self,
        key: &str,
        get: impl Fn(&Config) -> Option<N>,
    ) -> Option<u32> {
        self.guard(
            key,
            None,
            |asked, kept| is_shorter(*asked, *kept),
            |config| get(config).map(|number| Some(number.into())),
        )
    }

    /// Notes a value and the layer that set it.
    pub(crate) fn record(&mut self, key: &str, value: &impl Serialize, layer: Option<&Layer>) {
        self.record_at(key, key, value, layer);
    }

    /// Notes a value whose line is known only by the key that holds it.
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

    /// Adds to the last note what a file asked for instead.
    pub(crate) fn overrule(&mut self, asked: &impl Serialize, by: &Layer) {
        if let Some(row) = self.rows.last_mut() {
            row.overruled = Some(Overruled {
                value: json_of(asked),
                origin: by.origin.clone(),
                line: by.line_of(&row.key_path),
            });
        }
    }
}

/// Whether a limit is stricter than another one: any number is stricter than none.
pub(crate) fn is_shorter(asked: Option<u32>, kept: Option<u32>) -> bool {
    match (asked, kept) {
        (Some(asked), Some(kept)) => asked < kept,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// The first layer's word that there is, and that layer; else the default.
fn first_of<T, const N: usize>(
    layers: [Option<&Layer>; N],
    default: T,
    get: impl Fn(&Config) -> Option<T>,
) -> (T, Option<&Layer>) {
    let mut said = layers.into_iter().flatten();
    match said.find_map(|layer| Some((get(&layer.config)?, layer))) {
        Some((value, layer)) => (value, Some(layer)),
        None => (default, None),
    }
}

/// Our values are enums, numbers, strings and lists of them: they always have a JSON form.
fn json_of(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or(Json::Null)
}
