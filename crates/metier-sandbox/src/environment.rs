//! The environment of a script: built from nothing, by name. Pure.
//!
//! A variable that is neither named here nor declared by the caller is absent: no keys of the user,
//! no agent sockets, no proxies.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Error;

/// The directories that a script learns by its environment.
#[derive(Debug, Clone, Copy)]
pub struct ScriptPlaces<'a> {
    /// The skill's files, as the run sees them.
    pub skill_dir: &'a Path,
    /// Where the skill may keep data between runs.
    pub data_dir: &'a Path,
    /// The run's own directory, with `outputs/` and `tmp/` in it.
    pub work_dir: &'a Path,
    /// The folder of the interpreter.
    pub interpreter_dir: &'a Path,
}

/// Names that this module sets itself; a declaration cannot change them.
const RESERVED_NAMES: &[&str] = &[
    "HOME",
    "LANG",
    "LC_ALL",
    "PATH",
    "SKILL_DATA_DIR",
    "SKILL_DIR",
    "SKILL_OUTPUT_DIR",
    "TMPDIR",
];

/// Names that make a program load foreign code before its own; never passed on.
const LOADS_CODE: &[&str] = &["BASH_ENV", "ENV", "PERL5OPT", "PYTHONSTARTUP", "RUBYOPT"];

/// The environment for `places` with the `declared` variables in it.
pub fn environment(
    places: ScriptPlaces<'_>,
    declared: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Error> {
    for (name, value) in declared {
        let is_own = RESERVED_NAMES.contains(&name.as_str());
        let own = is_own.then_some("is set by the run itself");
        let fault = own.or_else(|| fault_of(name, value));
        if let Some(fault) = fault {
            return Err(Error::Plan { reason: format!("the variable {name:?} {fault}") });
        }
    }
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut path = "/usr/local/bin:/usr/bin:/bin".to_owned();
    if !["/usr/local/bin", "/usr/bin", "/bin"].map(Path::new).contains(&places.interpreter_dir) {
        path = format!("{}:{path}", text(places.interpreter_dir));
    }
    let mut env = declared.clone();
    env.extend(
        [
            // The system-wide git settings are hidden, which git would report as an error.
            ("GIT_ATTR_NOSYSTEM", "1".to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("HOME", text(places.work_dir)),
            ("LANG", "C.UTF-8".to_owned()),
            ("LC_ALL", "C.UTF-8".to_owned()),
            ("NO_COLOR", "1".to_owned()),
            ("PATH", path),
            // The skill's directory is read-only, and output should be seen as it is printed.
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            ("PYTHONUNBUFFERED", "1".to_owned()),
            ("SKILL_DATA_DIR", text(places.data_dir)),
            ("SKILL_DIR", text(places.skill_dir)),
            ("SKILL_OUTPUT_DIR", text(&places.work_dir.join("outputs"))),
            ("TMPDIR", text(&places.work_dir.join("tmp"))),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    Ok(env)
}

/// Why a variable is never passed on, if so.
pub(crate) fn fault_of(name: &str, value: &str) -> Option<&'static str> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_word) || name.as_bytes()[0].is_ascii_digit() {
        return Some("is not a valid variable name");
    }
    if name.starts_with("LD_") || name.starts_with("DYLD_") || LOADS_CODE.contains(&name) {
        return Some("makes programs load other code and is never passed on");
    }
    value.contains('\0').then_some("has a NUL byte in its value")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> ScriptPlaces<'static> {
        ScriptPlaces {
            skill_dir: Path::new("/s"),
            data_dir: Path::new("/d"),
            work_dir: Path::new("/w"),
            interpreter_dir: Path::new("/usr/bin"),
        }
    }

    fn declared(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn only_named_variables_are_there() {
        let env = environment(places(), &declared("API_KEY", "k")).expect("an environment");
        let names: Vec<&str> = env.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "API_KEY",
                "GIT_ATTR_NOSYSTEM",
                "GIT_CONFIG_NOSYSTEM",
                "HOME",
                "LANG",
                "LC_ALL",
                "NO_COLOR",
                "PATH",
                "PYTHONDONTWRITEBYTECODE",
                "PYTHONUNBUFFERED",
                "SKILL_DATA_DIR",
                "SKILL_DIR",
                "SKILL_OUTPUT_DIR",
                "TMPDIR",
            ]
        );
        assert_eq!(env["HOME"], "/w");
    }

    #[test]
    fn a_declaration_can_neither_load_code_nor_replace_our_own() {
        for name in ["LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "PATH", "HOME", "A=B", ""] {
            assert!(environment(places(), &declared(name, "x")).is_err(), "{name}");
        }
        assert!(environment(places(), &declared("A", "x\0y")).is_err());
    }
}
