//! `allowed-tools` as a ceiling: what is not listed is refused while acting for that skill.
//!
//! Other agents read the field as a grant. Here it only restricts: a skill cannot grant itself
//! anything. Names of other agents' tools are read by the table in
//! `metier_skill`; an unknown name stands for another program's tool of that name, and is
//! reported ([`Ceiling::unknown`]).

use crate::pattern::{Pattern, PermissionPattern};
use crate::permission::Permission;
use crate::subject::{Subject, SubjectSpellings};
use crate::tool_names::{Argument, INTERPRETERS, NamedTool, named_tool};
use crate::wildcard::Wildcard;
use crate::words::MatchMode;

/// The upper limit of what may be done for a skill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ceiling {
    written: Vec<String>,
    grants: Vec<Grant>,
    unknown: Vec<String>,
}

/// One thing that is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    /// The entry of `allowed-tools` that it comes from.
    written: String,
    permission: PermissionPattern,
    /// Everything, where nothing stands in parentheses.
    pattern: Option<Pattern>,
    /// Whether the pattern is one of commands, which may start scripts.
    commands: bool,
}

impl Ceiling {
    /// Reads the entries of `allowed-tools`.
    pub fn from_allowed_tools<S: AsRef<str>>(entries: impl IntoIterator<Item = S>) -> Self {
        let mut ceiling = Self::default();
        for entry in entries {
            ceiling.add(entry.as_ref().trim());
        }
        ceiling
    }

    /// The names that are in no table, as written.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// The entries, as written.
    pub fn written(&self) -> &[String] {
        &self.written
    }

    fn add(&mut self, entry: &str) {
        self.written.push(entry.to_owned());
        let (name, argument) = match entry.split_once('(') {
            Some((name, rest)) => (name.trim(), rest.strip_suffix(')')),
            None => (entry, None),
        };
        // `Bash()` lists nothing, and must not be taken for `Bash`.
        let unclosed = entry.contains('(') && argument.is_none_or(|text| text.trim().is_empty());
        let argument = argument.map(str::trim);
        match named_tool(name) {
            _ if unclosed => self.unknown.push(entry.to_owned()),
            Some(tool) => self.add_known(entry, &tool, argument),
            None => self.add_foreign(entry, name),
        }
    }

    fn add_known(&mut self, entry: &str, tool: &NamedTool, argument: Option<&str>) {
        // `Bash(git add:*, git commit:*)` lists two. A comma inside a path would be odder than that.
        let arguments: Vec<Option<&str>> = match argument {
            None => vec![None],
            Some(list) => list.split(',').map(|one| Some(one.trim())).collect(),
        };
        for argument in arguments {
            let pattern = argument.filter(|text| *text != "*").map(|text| match tool.argument {
                Argument::Address => Pattern::new(host_of(text)),
                Argument::Pattern | Argument::Command => Pattern::new(text),
            });
            self.grants.extend(tool.means.iter().map(|permission| Grant {
                written: entry.to_owned(),
                permission: PermissionPattern::One(permission.clone()),
                pattern: pattern.clone(),
                commands: tool.argument == Argument::Command,
            }));
        }
    }

    fn add_foreign(&mut self, entry: &str, name: &str) {
        let mut grant = |permission| {
            let written = entry.to_owned();
            // What stands in a foreign tool's parentheses is its own language. Where it is not
            // understood it cannot be enforced, so nothing is given by it.
            self.grants.push(Grant { written, permission, pattern: None, commands: false });
        };
        if entry.contains('(') {
            self.unknown.push(entry.to_owned());
            return;
        }
        if name == "*" {
            return grant(PermissionPattern::Like(Wildcard::new("*")));
        }
        if let Some(server) = name.strip_prefix("mcp__") {
            grant(PermissionPattern::Like(Wildcard::new(name)));
            // `mcp__server` alone means all of its tools.
            if !server.contains("__") {
                grant(PermissionPattern::Like(Wildcard::new(&format!("{name}__*"))));
            }
            return;
        }
        if let Ok(permission) = Permission::named(name) {
            grant(PermissionPattern::One(permission));
        }
        self.unknown.push(entry.to_owned());
    }

    /// The entry that lists this, if any does.
    pub(crate) fn listing(
        &self,
        permission: &Permission,
        spellings: &SubjectSpellings<'_>,
    ) -> Option<&str> {
        let fits = |grant: &&Grant| {
            grant.permission.matches(permission)
                && grant.pattern.as_ref().is_none_or(|pattern| {
                    pattern.matches(spellings, MatchMode::Exact)
                        || (grant.commands && starts_script(pattern, spellings.subject))
                })
        };
        self.grants.iter().find(fits).map(|grant| grant.written.as_str())
    }
}

/// Whether a pattern of commands covers a way to start the script: by itself or by an interpreter.
fn starts_script(pattern: &Pattern, subject: &Subject) -> bool {
    let Subject::Script { path, args, .. } = subject else { return false };
    let path = path.as_str();
    let line = |start: &str, path: String| -> Vec<String> {
        let start = start.split_whitespace().map(str::to_owned);
        start.chain([path]).chain(args.iter().cloned()).collect()
    };
    let interpreters = INTERPRETERS
        .iter()
        .filter(|(endings, _)| endings.iter().any(|ending| path.ends_with(ending)))
        .flat_map(|(_, programs)| programs.iter());
    std::iter::once(&"").chain(interpreters).any(|program| {
        pattern.matches_words(&line(program, path.to_owned()))
            || pattern.matches_words(&line(program, format!("./{path}")))
    })
}

/// The host in `domain:example.com`, `https://example.com/path` or `example.com`.
fn host_of(text: &str) -> &str {
    let text = text.strip_prefix("domain:").or_else(|| text.strip_prefix("url:")).unwrap_or(text);
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    text.split('/').next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::PolicyPlaces;
    use crate::subject::AbsolutePath;

    fn lists(entries: &[&str], permission: &Permission, subject: &Subject) -> bool {
        let places = PolicyPlaces::new(AbsolutePath::new("/w").expect("a path"));
        let ceiling = Ceiling::from_allowed_tools(entries);
        ceiling.listing(permission, &SubjectSpellings::new(subject, &places)).is_some()
    }

    #[test]
    fn empty_parentheses_list_nothing() {
        let subject = Subject::command(["git", "log"]).expect("a command");
        for entry in ["Bash()", "Bash( )", "Bash("] {
            assert!(!lists(&[entry], &Permission::RunCommand, &subject), "{entry}");
        }
        assert!(lists(&["Bash"], &Permission::RunCommand, &subject));
    }

    #[test]
    fn names_of_other_agents_mean_our_tools() {
        let path = Subject::path("/w/a.md").expect("a path");
        for (entry, ours) in [
            ("Read", Permission::ReadFile),
            ("read_file", Permission::ReadFile),
            ("Write", Permission::WriteFile),
            ("MultiEdit", Permission::WriteFile),
            ("apply_patch", Permission::DeleteFile),
            ("Glob", Permission::ListDir),
            ("Grep", Permission::Grep),
            ("Read(*.md)", Permission::ReadFile),
            ("Edit(./a.md)", Permission::WriteFile),
        ] {
            for permission in Permission::ours() {
                let expected = permission == ours
                    || (entry == "apply_patch" && permission == Permission::WriteFile);
                assert_eq!(lists(&[entry], &permission, &path), expected, "{entry} {permission}");
            }
        }
        assert!(!lists(&["Read(*.txt)"], &Permission::ReadFile, &path));
        assert!(lists(&["*"], &Permission::WriteFile, &path));
    }

    #[test]
    fn commands_are_matched_word_by_word() {
        let command = |line: &str| Subject::command(line.split(' ')).expect("a command");
        let entries = ["Bash(git:*)", "Bash(npm run test:*, jq *)"];
        for line in ["git push", "npm run test:unit", "jq . a.json", "npm run test -- -v"] {
            assert!(lists(&entries, &Permission::RunCommand, &command(line)), "{line}");
        }
        for line in ["gitx", "/tmp/git log", "npm install", "sh -c git", "rm -rf /"] {
            assert!(!lists(&entries, &Permission::RunCommand, &command(line)), "{line}");
        }
        assert!(lists(&["Bash"], &Permission::RunCommand, &command("rm -rf /")));
        assert!(!lists(&["Bash(git"], &Permission::RunCommand, &command("git log")));
    }

    #[test]
    fn a_script_is_listed_by_the_command_that_would_start_it() {
        let script = |path: &str| {
            let path = metier_skill::RelPath::new(path).expect("a path");
            Subject::script("user:pdf".parse().expect("an id"), path, vec!["--all".into()])
                .expect("a script")
        };
        let run = Permission::RunScript;
        for (entry, path, expected) in [
            ("Bash", "scripts/a.py", true),
            ("Bash(python:*)", "scripts/a.py", true),
            ("Bash(python3 scripts/*)", "scripts/a.py", false),
            ("Bash(python3 scripts/* *)", "scripts/a.py", true),
            ("Bash(python:*)", "scripts/a.sh", false),
            ("Bash(git:*)", "scripts/a.py", false),
            ("Bash(scripts/a.sh:*)", "scripts/a.sh", true),
            ("Bash(./scripts/a.sh *)", "scripts/a.sh", true),
            ("run_script", "scripts/a.py", true),
            ("run_script(pdf/scripts/a.py)", "scripts/a.py", true),
            ("Read", "scripts/a.py", false),
        ] {
            assert_eq!(lists(&[entry], &run, &script(path)), expected, "{entry} {path}");
        }
    }

    #[test]
    fn hosts_come_from_domains_and_addresses() {
        let host = Subject::host("docs.example.com").expect("a host");
        for (entry, expected) in [
            ("WebFetch", true),
            ("WebFetch(domain:docs.example.com)", true),
            ("WebFetch(domain:*.example.com)", true),
            ("WebFetch(https://docs.example.com/a/*)", true),
            ("WebFetch(domain:example.com)", false),
            ("WebSearch", false),
        ] {
            assert_eq!(lists(&[entry], &Permission::NetworkRequest, &host), expected, "{entry}");
        }
    }

    #[test]
    fn unknown_names_are_reported_and_grant_no_built_in_tool() {
        let entries =
            ["Read", "TodoWrite", "mcp__db__query", "mcp__web", "Pyhton", "Magic(x)", "Bash(a"];
        let ceiling = Ceiling::from_allowed_tools(entries);
        assert_eq!(ceiling.unknown(), ["Pyhton", "Magic(x)", "Bash(a"]);
        assert_eq!(ceiling.written().len(), entries.len());
        let nothing = Subject::Text(String::new());
        let foreign = |name| Permission::named(name).expect("a name");
        assert!(lists(&entries, &foreign("mcp__db__query"), &nothing));
        assert!(!lists(&entries, &foreign("mcp__db__drop"), &nothing));
        assert!(lists(&entries, &foreign("mcp__web__get"), &nothing));
        assert!(lists(&entries, &foreign("Pyhton"), &nothing));
        assert!(!lists(&entries, &Permission::RunCommand, &nothing));
    }
}
