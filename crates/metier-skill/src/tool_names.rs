//! What this and other agents call their tools, as the names stand in `allowed-tools`. Data only.
//!
//! Compared without regard to case, since the same tool is `Bash` here and `bash` there; written as their
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

/// Every name that is known.
#[rustfmt::skip]
const TOOL_NAMES: &[(ToolMeaning, &[&str])] = &[
    (ToolMeaning::LoadSkill, &[
        "load_skill", "Skill", "activate_skill", "use_skill", "load_skills",
    ]),
    (ToolMeaning::ReadFile, &[
        "read_file", "Read", "View", "cat", "NotebookRead", "read_many_files", "view_image", "ViewImage",
        "open_file",
    ]),
    (ToolMeaning::ListDir, &[
        "list_dir", "Glob", "LS", "List", "list_directory", "list_files", "find_files", "file_search",
        "glob_file_search",
    ]),
    (ToolMeaning::Grep, &[
        "grep", "Search", "search_files", "search_file_content", "grep_search", "grep_files", "ripgrep",
        "codebase_search",
    ]),
    (ToolMeaning::RunScript, &[
        "run_script",
    ]),
    (ToolMeaning::RunCommand, &[
        "run_command",
    ]),
    (ToolMeaning::WriteFile, &[
        "write_file", "Write", "Edit", "MultiEdit", "NotebookEdit", "Create", "create_file", "Replace",
        "edit_file", "StrReplace", "str_replace", "str_replace_editor", "str_replace_based_edit_tool",
        "search_replace", "insert", "write_to_file", "replace_in_file", "insert_content", "apply_diff",
        "text_editor", "developer__text_editor",
    ]),
    (ToolMeaning::DeleteFile, &[
        "delete_file", "Delete", "remove", "delete_files",
    ]),
    (ToolMeaning::ScriptNetwork, &[
        "script_network",
    ]),
    (ToolMeaning::NetworkRequest, &[
        "network_request", "network", "WebFetch", "web_fetch", "Fetch", "fetch_url", "http_request",
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
    let has = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    TOOL_NAMES.iter().find(|(_, names)| has(names)).map(|(meaning, _)| *meaning)
}

/// Every name that is known, our own first.
pub fn tool_names() -> impl Iterator<Item = &'static str> {
    TOOL_NAMES.iter().flat_map(|(_, names)| *names).copied()
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
