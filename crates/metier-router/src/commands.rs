//! The commands that a skill's body gives: lines that run a file of the skill.
//!
//! Fenced blocks and inline code are read, nothing else. A command counts when its program, or the
//! first argument of an interpreter, is a script among the skill's files; whatever stands before the
//! path (`{baseDir}/`, `$SKILL_DIR/`, `./`) is a way to write the skill's folder. No shell will look at
//! the words, so what follows a pipe or a redirection is left away.

/// A command line that runs a script of the skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    /// The script, as the skill's list of files has it.
    pub(crate) script: String,
    /// Its arguments, placeholders included.
    pub(crate) words: Vec<String>,
    /// The line of the body that it stands in, for what it says about it.
    pub(crate) line: String,
}

const INTERPRETERS: &[&str] = &[
    "bash", "bun", "deno", "node", "perl", "php", "pwsh", "python", "python3", "ruby", "sh", "tsx",
    "uv", "zsh", "lua", "run",
];
const SCRIPTS: &[&str] =
    &["bash", "cjs", "js", "lua", "mjs", "php", "pl", "ps1", "py", "rb", "sh", "ts", "zsh"];

/// The commands of a body, in order, each once.
pub(crate) fn commands(body: &str, files: &[String]) -> Vec<Command> {
    let mut found: Vec<Command> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut continued = String::new();
    let mut add = |text: &str, line: &str| {
        if let Some((script, words)) = command(text, files) {
            let known = found.iter().any(|known| known.script == script && known.words == words);
            if !known {
                found.push(Command { script, words, line: line.trim().to_owned() });
            }
        }
    };
    for line in body.lines() {
        let bare = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {
                continued.push_str(bare.strip_prefix("$ ").unwrap_or(bare));
                if continued.ends_with('\\') {
                    continued.pop();
                    continue;
                }
                let text = std::mem::take(&mut continued);
                add(&text, &text);
            }
            (None, None) => {
                for code in line.split('`').skip(1).step_by(2) {
                    add(code, line);
                }
            }
        }
    }
    found
}

/// The option with which scripts of this skill speak a language, where the body names it in inline code, as in
/// "add `--lang zh`".
pub(crate) fn language_option(body: &str, language: &str) -> Option<[String; 2]> {
    body.split('`').skip(1).step_by(2).find_map(|code| {
        let (option, value) = code.split_once(' ')?;
        let says = ["--lang", "--language", "--locale"].contains(&option) && value == language;
        says.then(|| [option.to_owned(), value.to_owned()])
    })
}

/// The script and the words of one command, if it runs a script of the skill.
fn command(text: &str, files: &[String]) -> Option<(String, Vec<String>)> {
    let mut words = split(text)?;
    let is_setting = |word: &String| {
        let (name, _) = word.split_once('=').unwrap_or(("", ""));
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
    };
    while words.first().is_some_and(is_setting) {
        words.remove(0);
    }
    while words.first().is_some_and(|word| INTERPRETERS.contains(&word.as_str())) {
        words.remove(0);
        // Options of the interpreter; a module is no file.
        while words.first().is_some_and(|word| word.starts_with('-')) {
            if words.remove(0) == "-m" {
                return None;
            }
        }
    }
    let script = script(words.first()?, files)?;
    words.remove(0);
    Some((script, words))
}

/// The file of the skill that a word names.
fn script(word: &str, files: &[String]) -> Option<String> {
    let word = word.strip_prefix("./").unwrap_or(word);
    let is_script = |file: &&String| match file.rsplit_once('.') {
        Some((_, suffix)) if !suffix.contains('/') => SCRIPTS.contains(&suffix),
        _ => file.starts_with("scripts/"),
    };
    let named = |file: &&String| {
        word == file.as_str()
            || word.strip_suffix(file.as_str()).is_some_and(|before| {
                // `/other/scripts/run.sh` would be a file of another skill.
                before.ends_with('/') && (before.contains(['{', '$', '<']) || is_skill_dir(before))
            })
    };
    files.iter().filter(is_script).filter(named).max_by_key(|file| file.len()).cloned()
}

fn is_skill_dir(before: &str) -> bool {
    before.starts_with("path/to/") || before.split('/').any(|part| part == "skills")
}

/// The words of a command as a shell would cut them, up to a pipe, a redirection or the next command;
/// nothing when a quote stays open.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quote, mut any) = (None, false);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                any = true;
            }
            (None, '|' | ';' | '&') => break,
            (None, '>') if word.is_empty() || word.ends_with(char::is_numeric) => {
                word.clear();
                break;
            }
            (None, '#') if word.is_empty() && !any => break,
            (None, c) if c.is_whitespace() => {
                // `<input file>` is one placeholder.
                if word.starts_with('<') && !word.contains('>') {
                    word.push('-');
                } else if !word.is_empty() || any {
                    words.push(std::mem::take(&mut word));
                    any = false;
                }
            }
            (_, c) => word.push(c),
        }
    }
    if quote.is_some() {
        return None;
    }
    if !word.is_empty() || any {
        words.push(word);
    }
    Some(words)
}
