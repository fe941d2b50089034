//! The folders in which agents look for skills. Data only: another agent is one more line.
//!
//! The registry searches them. The policy derives from them what no tool changes: an agent's folder
//! also holds its settings, hooks and servers, which start programs.

/// An agent's folders for skills, in the project and in the home directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentFolders {
    /// What `--agent` calls it.
    pub name: &'static str,
    /// Below a directory of a project.
    pub project: &'static [&'static str],
    /// Below the home directory.
    pub user: &'static [&'static str],
}

/// Where Metier itself keeps a project's skills.
pub const OWN_SKILLS_FOLDER: &str = ".agent/skills";

/// Every agent whose folders are read, in the order of precedence.
#[rustfmt::skip]
pub const AGENT_FOLDERS: &[AgentFolders] = &[
    AgentFolders { name: "metier", project: &[OWN_SKILLS_FOLDER, ".agent/skill"], user: &[] }, // our own; the user's is `UserFolders::agent`
    AgentFolders { name: "agents", project: &[".agents/skills", ".agents/skill"], user: &[".agents/skills", ".agents/skill", ".config/agents/skills"] },
    AgentFolders { name: "claude", project: &[".claude/skills", ".claude/skill"], user: &[".claude/skills", ".claude/skill"] },
    AgentFolders { name: "codex", project: &[".codex/skills"], user: &[".codex/skills"] },
    AgentFolders { name: "opencode", project: &[".opencode/skill", ".opencode/skills"], user: &[".config/opencode/skill", ".config/opencode/skills"] },
    AgentFolders { name: "gemini", project: &[".gemini/skills"], user: &[".gemini/skills"] },
    AgentFolders { name: "copilot", project: &[".github/skills"], user: &[".copilot/skills"] },
    AgentFolders { name: "goose", project: &[".goose/skills"], user: &[".config/goose/skills"] },
    AgentFolders { name: "qwen", project: &[".qwen/skills"], user: &[".qwen/skills"] },
    AgentFolders { name: "cursor", project: &[".cursor/skills"], user: &[".cursor/skills"] },
    AgentFolders { name: "warp", project: &[".warp/skills"], user: &[".warp/skills"] },
    AgentFolders { name: "factory", project: &[".factory/skills"], user: &[".factory/skills"] },
    AgentFolders { name: "kiro", project: &[".kiro/skills"], user: &[".kiro/skills"] },
    AgentFolders { name: "kimi", project: &[".kimi/skills"], user: &[".kimi/skills"] },
    AgentFolders { name: "crush", project: &[".crush/skills"], user: &[".config/crush/skills"] },
    AgentFolders { name: "roo", project: &[".roo/skills"], user: &[".roo/skills"] },
    AgentFolders { name: "pi", project: &[".pi/skills"], user: &[".pi/agent/skills"] },
    AgentFolders { name: "vibe", project: &[".vibe/skills"], user: &[".vibe/skills"] },
];

/// The agent of that name.
pub fn agent_named(name: &str) -> Option<&'static AgentFolders> {
    AGENT_FOLDERS.iter().find(|agent| agent.name == name)
}

/// The folder that holds a folder of skills: `.claude` of `.claude/skills`.
pub fn agent_folder(skills: &'static str) -> Option<&'static str> {
    skills.rsplit_once('/').map(|(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_folder_stands_twice_and_each_is_inside_an_agents_own() {
        let mut all: Vec<&str> =
            AGENT_FOLDERS.iter().flat_map(|agent| agent.project).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        for folder in AGENT_FOLDERS.iter().flat_map(|agent| agent.project.iter().chain(agent.user))
        {
            assert!(folder.starts_with('.') && !folder.ends_with('/'), "{folder}");
            assert!(agent_folder(folder).is_some_and(|own| own != ".config"), "{folder}");
        }
    }
}
