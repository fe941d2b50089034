//! What this and other agents call their tools, as the names stand in `allowed-tools`. Data only.
//!
//! The one list of our own names: rules, settings and decisions take theirs from here. Compared without regard to case, since the same tool is `Bash` here and `bash` there; written as their
//! agents write them, for "did you mean". Which permission each means is `metier-policy`'s.

/// What a tool's name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ToolMeaning {
    /// Loading a skill.
    LoadSkill,
    /// Reading a file.
    ReadFile,
    /// Listing a folder.
    ListDir,
    /// Searching in files.
    Grep,
    /// Running a skill's script.
    RunScript,
    /// Running a command.
    RunCommand,
    /// Writing a file.
    WriteFile,
    /// Deleting a file.
    DeleteFile,
    /// The network for a skill's script.
    ScriptNetwork,
    /// A request over the network.
    NetworkRequest,
    /// A patch, which may write and remove files.
    Patch,
    /// Another agent's shell, which starts commands and scripts and reaches the network.
    Shell,
    /// Known, without a counterpart here (a to-do list, a question to the user): it needs no permission and gives
    /// none.
    NoCounterpart,
}

/// What our own tools and permissions are called.
pub mod own_tools {
    /// Loading a skill.
    pub const LOAD_SKILL: &str = "load_skill";
    /// Reading a file.
    pub const READ_FILE: &str = "read_file";
    /// Listing a folder.
    pub const LIST_DIR: &str = "list_dir";
    /// Searching in files.
    pub const GREP: &str = "grep";
    /// Running a skill's script.
    pub const RUN_SCRIPT: &str = "run_script";
    /// Running a command.
    pub const RUN_COMMAND: &str = "run_command";
    /// Writing a file.
    pub const WRITE_FILE: &str = "write_file";
    /// Deleting a file.
    pub const DELETE_FILE: &str = "delete_file";
    /// The network for a skill's script.
    pub const SCRIPT_NETWORK: &str = "script_network";
    /// A request over the network.
    pub const NETWORK_REQUEST: &str = "network_request";
}

const OWN_NAMES: &[(ToolMeaning, &str)] = &[
    (ToolMeaning::LoadSkill, own_tools::LOAD_SKILL),
    (ToolMeaning::ReadFile, own_tools::READ_FILE),
    (ToolMeaning::ListDir, own_tools::LIST_DIR),
    (ToolMeaning::Grep, own_tools::GREP),
    (ToolMeaning::RunScript, own_tools::RUN_SCRIPT),
    (ToolMeaning::RunCommand, own_tools::RUN_COMMAND),
    (ToolMeaning::WriteFile, own_tools::WRITE_FILE),
    (ToolMeaning::DeleteFile, own_tools::DELETE_FILE),
    (ToolMeaning::ScriptNetwork, own_tools::SCRIPT_NETWORK),
    (ToolMeaning::NetworkRequest, own_tools::NETWORK_REQUEST),
];

/// What other agents call theirs, and other spellings of ours.
#[rustfmt::skip]
const OTHER_NAMES: &[(ToolMeaning, &[&str])] = &[
    (ToolMeaning::LoadSkill, &[
        "Skill", "activate_skill", "use_skill", "load_skills",
    ]),
    (ToolMeaning::ReadFile, &[
        "Read", "View", "cat", "NotebookRead", "read_many_files", "view_image", "ViewImage",
        "open_file",
    ]),
    (ToolMeaning::ListDir, &[
        "Glob", "LS", "List", "list_directory", "list_files", "find_files", "file_search",
        "glob_file_search",
    ]),
    (ToolMeaning::Grep, &[
        "Search", "search_files", "search_file_content", "grep_search", "grep_files", "ripgrep",
        "codebase_search",
    ]),
    (ToolMeaning::WriteFile, &[
        "Write", "Edit", "MultiEdit", "NotebookEdit", "Create", "create_file", "Replace",
        "edit_file", "StrReplace", "str_replace", "str_replace_editor", "str_replace_based_edit_tool",
        "search_replace", "insert", "write_to_file", "replace_in_file", "insert_content", "apply_diff",
        "text_editor", "developer__text_editor",
    ]),
    (ToolMeaning::DeleteFile, &[
        "Delete", "remove", "delete_files",
    ]),
    (ToolMeaning::NetworkRequest, &[
        "network", "WebFetch", "web_fetch", "Fetch", "fetch_url", "http_request",
    ]),
    (ToolMeaning::Patch, &[
        "apply_patch", "patch", "ApplyPatch",
    ]),
    (ToolMeaning::Shell, &[
        "Bash", "Shell", "local_shell", "exec", "exec_command", "unified_exec", "execute", "execute_command",
        "run_shell_command", "run_terminal_cmd", "run_in_terminal", "Terminal", "PowerShell",
        "developer__shell", "container.exec", "BashTool",
    ]),
    (ToolMeaning::NoCounterpart, &[
        "WebSearch", "web_search", "google_web_search", "Task", "Agent", "spawn_agent", "Subagent", "TodoWrite",
        "TodoRead", "Todo", "write_todos", "update_plan", "TaskCreate", "TaskList", "TaskUpdate", "TaskGet",
        "TaskOutput", "TaskStop", "AskUserQuestion", "ask_user", "ask_followup_question", "question",
        "ExitPlanMode", "EnterPlanMode", "EnterWorktree", "SlashCommand", "BashOutput", "KillShell", "KillBash",
        "save_memory", "LSP", "ToolSearch", "ListMcpResources", "ReadMcpResource", "SendMessage", "Monitor",
        "attempt_completion",
    ]),
];

/// What `name` stands for, without what it has in parentheses; `None` for a name that no known agent has.
pub fn tool_meaning(name: &str) -> Option<ToolMeaning> {
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    let own = OWN_NAMES.iter().find(|(_, known)| is(known)).map(|(meaning, _)| *meaning);
    let other = || OTHER_NAMES.iter().find(|(_, names)| names.iter().any(&is));
    own.or_else(|| other().map(|(meaning, _)| *meaning))
}

/// Every name that is known, our own first.
pub fn tool_names() -> impl Iterator<Item = &'static str> {
    let others = OTHER_NAMES.iter().flat_map(|(_, names)| *names).copied();
    OWN_NAMES.iter().map(|(_, name)| *name).chain(others)
}

/// Whether `name` can be a tool of a server or of another program's extension: such names have a place
/// in them (`mcp__db__query`, `azure-mcp/search`, `db.query`) or stand for many.
pub(crate) fn is_qualified(name: &str) -> bool {
    name.contains("__") || name.contains(['/', '.', ':', '*'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_each_tool_once() {
        let mut names: Vec<String> = tool_names().map(str::to_lowercase).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
