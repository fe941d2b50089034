//! What other agents call their tools, and which of ours each means. Data only.
//!
//! The names appear in `allowed-tools` of skills that were written for those agents. Compared without
//! regard to case, since the same tool is `Bash` here and `bash` there. A tool that has no
//! counterpart here (a to-do list, a question to the user) needs no permission and gives none.

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

/// A name and what it means.
pub(crate) struct ToolName {
    pub(crate) names: &'static [&'static str],
    pub(crate) means: &'static [Permission],
    pub(crate) argument: Argument,
}

const fn tool(
    names: &'static [&'static str],
    means: &'static [Permission],
    argument: Argument,
) -> ToolName {
    ToolName { names, means, argument }
}

use Argument::{Address, Command, Pattern};

/// All names that are known, in lower case.
pub(crate) const TOOL_NAMES: &[ToolName] = &[
    // Our own names come first: a name that is ours means ours.
    tool(&["load_skill"], &[LoadSkill], Pattern),
    tool(&["read_file"], &[ReadFile], Pattern),
    tool(&["list_dir"], &[ListDir], Pattern),
    tool(&["grep"], &[Grep], Pattern),
    tool(&["run_script"], &[RunScript], Command),
    tool(&["run_command"], &[RunCommand], Command),
    tool(&["write_file"], &[WriteFile], Pattern),
    tool(&["delete_file"], &[DeleteFile], Pattern),
    tool(&["script_network"], &[ScriptNetwork], Command),
    tool(&["network_request", "network"], &[NetworkRequest], Address),
    // Reading.
    tool(
        &[
            "read",
            "view",
            "cat",
            "notebookread",
            "read_many_files",
            "view_image",
            "viewimage",
            "open_file",
        ],
        &[ReadFile],
        Pattern,
    ),
    tool(
        &[
            "glob",
            "ls",
            "list",
            "list_directory",
            "list_files",
            "find_files",
            "file_search",
            "glob_file_search",
        ],
        &[ListDir],
        Pattern,
    ),
    tool(
        &[
            "search",
            "search_files",
            "search_file_content",
            "grep_search",
            "grep_files",
            "ripgrep",
            "codebase_search",
        ],
        &[Grep],
        Pattern,
    ),
    // Writing. A patch may remove files.
    tool(
        &[
            "write",
            "edit",
            "multiedit",
            "notebookedit",
            "create",
            "create_file",
            "replace",
            "edit_file",
            "strreplace",
            "str_replace",
            "str_replace_editor",
            "str_replace_based_edit_tool",
            "search_replace",
            "insert",
            "write_to_file",
            "replace_in_file",
            "insert_content",
            "apply_diff",
            "text_editor",
            "developer__text_editor",
        ],
        &[WriteFile],
        Pattern,
    ),
    tool(&["apply_patch", "patch", "applypatch"], &[WriteFile, DeleteFile], Pattern),
    tool(&["delete", "remove", "delete_files"], &[DeleteFile], Pattern),
    // Running. A skill's script is started by a command there.
    tool(
        &[
            "bash",
            "shell",
            "local_shell",
            "exec",
            "exec_command",
            "unified_exec",
            "execute",
            "execute_command",
            "run_shell_command",
            "run_terminal_cmd",
            "run_in_terminal",
            "terminal",
            "powershell",
            "developer__shell",
            "container.exec",
            "bashtool",
        ],
        &[RunCommand, RunScript, ScriptNetwork],
        Command,
    ),
    // The network. What a shell of another agent starts reaches it, so those above list it too.
    tool(
        &["webfetch", "web_fetch", "fetch", "fetch_url", "http_request"],
        &[NetworkRequest],
        Address,
    ),
    // Skills.
    tool(&["skill", "activate_skill", "use_skill", "load_skills"], &[LoadSkill], Pattern),
    // No counterpart here: known names that grant nothing.
    tool(
        &[
            "websearch",
            "web_search",
            "google_web_search",
            "task",
            "agent",
            "spawn_agent",
            "subagent",
            "todowrite",
            "todoread",
            "todo",
            "write_todos",
            "update_plan",
            "taskcreate",
            "tasklist",
            "taskupdate",
            "taskget",
            "taskoutput",
            "taskstop",
            "askuserquestion",
            "ask_user",
            "ask_followup_question",
            "question",
            "exitplanmode",
            "enterplanmode",
            "enterworktree",
            "slashcommand",
            "bashoutput",
            "killshell",
            "killbash",
            "save_memory",
            "lsp",
            "toolsearch",
            "listmcpresources",
            "readmcpresource",
            "sendmessage",
            "monitor",
            "attempt_completion",
        ],
        &[],
        Pattern,
    ),
];

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
