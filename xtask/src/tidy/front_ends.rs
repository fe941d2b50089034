//! Front ends stand on the crate `metier` and on no part below it.
//!
//! What the binary can do, a program written against the library can then do with the same
//! guarantees. It reads the members that `levels.rs` takes from `cargo metadata`; development
//! dependencies are free.

use super::finding::Finding;
use super::levels::Member;

/// Each front end, and which of our crates it may use.
const FRONT_ENDS: &[(&str, &[&str])] = &[
    ("metier-cli", &["metier", "metier-evals"]),
    ("metier-evals", &["metier"]),
    ("metier-serve", &["metier", "metier-evals"]),
];

/// Reports each front end that uses one of our crates besides those it may use.
pub(crate) fn check(members: &[Member]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in members {
        let Some((name, may_use)) = FRONT_ENDS.iter().find(|(name, _)| *name == member.name) else {
            continue;
        };
        let ours = member.uses.iter().filter(|used| used.starts_with("metier"));
        for used in ours.filter(|used| !may_use.contains(&used.as_str())) {
            let message = format!("`{name}` is a front end and may not use `{used}` directly");
            findings.push(Finding::new(&member.manifest, 1, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::levels::tests::member;
    use super::*;

    #[test]
    fn a_front_end_on_the_library_passes() {
        let members = [
            member("metier-cli", &["metier", "clap"]),
            member("metier-serve", &["metier", "metier-evals"]),
            member("metier-agent", &["metier-tools"]),
        ];
        assert_eq!(check(&members), []);
    }

    #[test]
    fn a_front_end_on_a_part_below_is_reported() {
        let members = [
            member("metier-cli", &["metier", "metier-agent"]),
            member("metier-evals", &["metier-serve"]),
        ];
        let findings = check(&members);
        assert_eq!(findings.len(), 2);
        assert_eq!(
            findings[0].to_string(),
            "crates/metier-cli/Cargo.toml:1: `metier-cli` is a front end and may not use \
             `metier-agent` directly"
        );
    }
}
