//! The levels of the house: a crate uses only crates of lower levels.
//!
//! It reads what `cargo metadata` says about the members, so that renamed and inherited
//! dependencies are seen for what they are. Development dependencies are free.

use serde_json::Value;

use super::finding::Finding;

/// The crates by level, lowest first. A new crate takes its place here.
const LEVELS: &[&[&str]] = &[
    &["metier-cancel", "metier-skill"],
    &["metier-policy", "metier-fs", "metier-net", "metier-scan", "metier-sign"],
    &["metier-model", "metier-sandbox", "metier-registry", "metier-loader"],
    &["metier-tools", "metier-router"],
    &["metier-agent", "metier-pack"],
    &["metier-config"],
    &["metier"],
    &["metier-evals"],
    &["metier-serve"],
    &["metier-cli"],
];

/// Members that are never shipped; nothing that is shipped may use them.
const OUTSIDE: &[&str] = &["metier-testkit", "xtask"];

/// A member of the workspace and what its build needs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(super) name: String,
    /// The manifest, for the finding.
    pub(super) manifest: String,
    /// Normal and build dependencies; development ones are left out.
    pub(super) uses: Vec<String>,
}

/// The members in the output of `cargo metadata --no-deps`.
pub(crate) fn members(metadata: &Value) -> Vec<Member> {
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .map(|package| Member {
            name: text_of(&package["name"]),
            manifest: relative(&text_of(&package["manifest_path"]), root),
            uses: package["dependencies"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| text_of(&dependency["name"]))
                .collect(),
        })
        .collect()
}

/// Reports a member without a place, and each dependency that does not point downwards.
pub(crate) fn check(members: &[Member]) -> Vec<Finding> {
    members.iter().flat_map(check_member).collect()
}

fn check_member(member: &Member) -> Vec<Finding> {
    let own_level = level_of(&member.name);
    let is_outside = OUTSIDE.contains(&member.name.as_str());
    if own_level.is_none() && !is_outside {
        let message = format!("`{}` has no level yet: give it one in xtask's levels", member.name);
        return vec![Finding::new(&member.manifest, 1, message)];
    }
    let wrong = member.uses.iter().filter_map(|used| match (own_level, level_of(used)) {
        _ if OUTSIDE.contains(&used.as_str()) => Some(format!(
            "`{}` uses `{used}`, which may only be a development dependency",
            member.name
        )),
        (Some(own), Some(other)) if other >= own => Some(format!(
            "`{}` (level {own}) uses `{used}` (level {other}); a crate uses only lower levels",
            member.name
        )),
        _ => None,
    });
    wrong.map(|message| Finding::new(&member.manifest, 1, message)).collect()
}

fn level_of(name: &str) -> Option<usize> {
    LEVELS.iter().position(|names| names.contains(&name))
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn relative(path: &str, root: &str) -> String {
    path.strip_prefix(root).unwrap_or(path).trim_start_matches('/').to_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn member(name: &str, uses: &[&str]) -> Member {
        Member {
            name: name.to_owned(),
            manifest: format!("crates/{name}/Cargo.toml"),
            uses: uses.iter().map(|used| (*used).to_owned()).collect(),
        }
    }

    #[test]
    fn dependencies_that_point_downwards_pass() {
        let members = [
            member("metier-skill", &["serde"]),
            member("metier-registry", &["metier-skill", "metier-fs", "rayon"]),
            member("metier-testkit", &["metier-registry"]),
            member("xtask", &["anyhow"]),
        ];
        assert_eq!(check(&members), []);
    }

    #[test]
    fn a_dependency_upwards_or_sideways_is_reported() {
        let findings = check(&[
            member("metier-skill", &["metier-fs"]),
            member("metier-loader", &["metier-registry"]),
            member("metier", &["metier-cli"]),
        ]);
        assert_eq!(findings.len(), 3);
        assert_eq!(
            findings[0].to_string(),
            "crates/metier-skill/Cargo.toml:1: `metier-skill` (level 0) uses `metier-fs` \
             (level 1); a crate uses only lower levels"
        );
    }

    #[test]
    fn a_crate_without_a_level_is_reported() {
        assert_eq!(check(&[member("metier-magic", &[])]).len(), 1);
    }

    #[test]
    fn the_test_kit_is_a_development_dependency_only() {
        assert_eq!(check(&[member("metier-cli", &["metier-testkit"])]).len(), 1);
    }

    #[test]
    fn metadata_gives_normal_and_build_dependencies_by_their_real_names() {
        let metadata = serde_json::json!({
            "workspace_root": "/w",
            "packages": [{
                "name": "metier-fs",
                "manifest_path": "/w/crates/metier-fs/Cargo.toml",
                "dependencies": [
                    {"name": "metier-skill", "kind": null, "rename": "skill"},
                    {"name": "cc", "kind": "build"},
                    {"name": "metier-testkit", "kind": "dev"},
                ],
            }],
        });
        assert_eq!(members(&metadata), [member("metier-fs", &["metier-skill", "cc"])]);
    }
}
