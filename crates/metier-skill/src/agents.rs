//! The folders in which agents look for skills. Data only: another agent is one more line.
//!
//! The registry searches them. The policy derives from them what no tool changes: an agent's folder
//! also holds its settings, hooks and servers, which start programs.

/// An agent's folders for skills, in the project and in the home directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentFolders {
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
    AgentFolders { project: &[OWN_SKILLS_FOLDER, ".agent/skill"], user: &[] }, // our own; the user's is `UserFolders::agent`
    AgentFolders { project: &[".agents/skills", ".agents/skill"], user: &[".agents/skills", ".agents/skill", ".config/agents/skills"] },
    AgentFolders { project: &[".claude/skills", ".claude/skill"], user: &[".claude/skills", ".claude/skill"] },
    AgentFolders { project: &[".codex/skills"], user: &[".codex/skills"] },
    AgentFolders { project: &[".opencode/skill", ".opencode/skills"], user: &[".config/opencode/skill", ".config/opencode/skills"] },
    AgentFolders { project: &[".gemini/skills"], user: &[".gemini/skills"] },
    AgentFolders { project: &[".github/skills"], user: &[".copilot/skills"] },
    AgentFolders { project: &[".goose/skills"], user: &[".config/goose/skills"] },
    AgentFolders { project: &[".qwen/skills"], user: &[".qwen/skills"] },
    AgentFolders { project: &[".cursor/skills"], user: &[".cursor/skills"] },
    AgentFolders { project: &[".warp/skills"], user: &[".warp/skills"] },
    AgentFolders { project: &[".factory/skills"], user: &[".factory/skills"] },
    AgentFolders { project: &[".kiro/skills"], user: &[".kiro/skills"] },
    AgentFolders { project: &[".kimi/skills"], user: &[".kimi/skills"] },
    AgentFolders { project: &[".crush/skills"], user: &[".config/crush/skills"] },
    AgentFolders { project: &[".roo/skills"], user: &[".roo/skills"] },
    AgentFolders { project: &[".pi/skills"], user: &[".pi/agent/skills"] },
    AgentFolders { project: &[".vibe/skills"], user: &[".vibe/skills"] },
];

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
