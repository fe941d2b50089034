//! Which of our permissions a tool's name in `allowed-tools` means. Data only.
//!
//! The names, ours and other agents', are `metier_skill`'s table. What stands in parentheses after a
//! name is read by what the name means.

use metier_skill::{ToolMeaning, tool_meaning};

use crate::permission::Permission::{
    self, DeleteFile, Grep, ListDir, LoadSkill, NetworkRequest, ReadFile, RunCommand, RunScript,
    ScriptNetwork, WriteFile,
};

/// How the text in parentheses after a name is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    /// A path, a pattern of ours.
    Pattern,
    /// A command, as in `Bash(git:*)`.
    Command,
    /// A host, as in `WebFetch(domain:example.com)`, or an address.
    Address,
}

/// What a known name means.
pub(crate) struct NamedTool {
    pub(crate) means: &'static [Permission],
    pub(crate) argument: Argument,
}

/// What `name` means; `None` for a name that is in no table.
pub(crate) fn named_tool(name: &str) -> Option<NamedTool> {
    use Argument::{Address, Command, Pattern};
    let (means, argument): (&'static [Permission], Argument) = match tool_meaning(name)? {
        ToolMeaning::LoadSkill => (&[LoadSkill], Pattern),
        ToolMeaning::ReadFile => (&[ReadFile], Pattern),
        ToolMeaning::ListDir => (&[ListDir], Pattern),
        ToolMeaning::Grep => (&[Grep], Pattern),
        ToolMeaning::RunScript => (&[RunScript], Command),
        ToolMeaning::RunCommand => (&[RunCommand], Command),
        ToolMeaning::WriteFile => (&[WriteFile], Pattern),
        ToolMeaning::DeleteFile => (&[DeleteFile], Pattern),
        ToolMeaning::ScriptNetwork => (&[ScriptNetwork], Command),
        ToolMeaning::NetworkRequest => (&[NetworkRequest], Address),
        ToolMeaning::Patch => (&[WriteFile, DeleteFile], Pattern),
        // What a shell of another agent starts reaches the network; a skill's script is started by a
        // command there.
        ToolMeaning::Shell => (&[RunCommand, RunScript, ScriptNetwork], Command),
        // `NoCounterpart`, and whatever is new: a known name that grants nothing.
        _ => (&[], Pattern),
    };
    Some(NamedTool { means, argument })
}

/// Which programs run scripts with which endings, for `Bash(python:*)` on `scripts/a.py`.
pub(crate) const INTERPRETERS: &[(&[&str], &[&str])] = &[
    (&[".py"], &["python", "python3", "uv run", "uv"]),
    (&[".sh", ".bash"], &["bash", "sh", "zsh"]),
    (&[".zsh"], &["zsh"]),
    (&[".js", ".mjs", ".cjs"], &["node", "bun", "deno run"]),
    (&[".ts", ".mts", ".tsx"], &["npx tsx", "tsx", "ts-node", "bun", "deno run", "node"]),
    (&[".pl"], &["perl"]),
    (&[".rb"], &["ruby"]),
    (&[".r", ".R"], &["Rscript"]),
    (&[".ps1"], &["pwsh", "powershell"]),
    (&[".lua"], &["lua"]),
    (&[".php"], &["php"]),
];
