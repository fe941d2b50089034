//! Lists of plugins that a repository or directory brings: which skills each plugin has. Read only.

/// Whether a file lists plugins or describes one.
pub(crate) fn is_manifest(path: &[u8]) -> bool {
    let ends = |name: &[u8]| {
        path == name || path.strip_suffix(name).is_some_and(|before| before.ends_with(b"/"))
    };
    path == b".claude-plugin/marketplace.json"
        || path == b".agents/plugins/marketplace.json"
        || ends(b".claude-plugin/plugin.json")
}
