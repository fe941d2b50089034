//! The little argument parsing that the commands need: switches, values, and the words between.
//!
//! A clap dependency would double the time to build this tool, which every check waits for.

use std::fmt;

use anyhow::Result;

/// A wrong command line; `main` turns it into exit code 2.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// What was typed after a command's name.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    switches: Vec<String>,
    values: Vec<(String, String)>,
    /// The words that are no flags, in order.
    pub(crate) words: Vec<String>,
}

impl Flags {
    /// Reads `args`, in which `switches` stand alone and `values` take one (`--a V` or `--a=V`).
    pub(crate) fn parse(args: &[String], switches: &[&str], values: &[&str]) -> Result<Self> {
        let mut flags = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (name, inline) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (arg.as_str(), None),
            };
            if values.contains(&name) {
                let value = inline.or_else(|| args.next().cloned());
                let value = value.ok_or_else(|| UsageError(format!("{name} needs a value")))?;
                flags.values.push((name.to_owned(), value));
            } else if switches.contains(&name) && inline.is_none() {
                flags.switches.push(name.to_owned());
            } else if name.starts_with('-') {
                return Err(UsageError(format!("no option `{arg}`; see `cargo xtask help`")).into());
            } else {
                flags.words.push(arg.clone());
            }
        }
        Ok(flags)
    }

    /// Whether the switch was given.
    pub(crate) fn has(&self, switch: &str) -> bool {
        self.switches.iter().any(|given| given == switch)
    }

    /// Every value given for `name`.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let given = self.values.iter().filter(|(given, _)| given == name);
        given.map(|(_, value)| value.as_str()).collect()
    }

    /// The last number given for `name`, else `default`.
    pub(crate) fn number(&self, name: &str, default: u32) -> Result<u32> {
        self.all(name).last().map_or(Ok(default), |text| number(name, text))
    }

    /// The comma-separated numbers given for `name`, else `default`.
    pub(crate) fn numbers(&self, name: &str, default: &[u32]) -> Result<Vec<u32>> {
        match self.all(name).last() {
            None => Ok(default.to_vec()),
            Some(text) => text.split(',').map(|one| number(name, one.trim())).collect(),
        }
    }
}

fn number(name: &str, text: &str) -> Result<u32> {
    match text.replace('_', "").parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(UsageError(format!("{name}: `{text}` is no positive number")).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Flags> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Flags::parse(&args, &["--write"], &["--sizes", "--repeats"])
    }

    #[test]
    fn switches_values_and_words_may_stand_in_any_order() {
        let flags = parse("discovery --sizes=10,20 --write --repeats 3").unwrap();
        assert_eq!(flags.words, ["discovery"]);
        assert!(flags.has("--write"));
        assert_eq!(flags.numbers("--sizes", &[1]).unwrap(), [10, 20]);
        assert_eq!(flags.number("--repeats", 9).unwrap(), 3);
    }

    #[test]
    fn what_was_not_given_has_its_default() {
        let flags = parse("").unwrap();
        assert!(!flags.has("--write"));
        assert_eq!(flags.numbers("--sizes", &[7]).unwrap(), [7]);
        assert_eq!(flags.number("--repeats", 9).unwrap(), 9);
    }

    #[test]
    fn an_unknown_option_a_missing_value_and_a_bad_number_are_usage_errors() {
        assert!(parse("--wirte").unwrap_err().is::<UsageError>());
        assert!(parse("--sizes").unwrap_err().is::<UsageError>());
        let flags = parse("--repeats 0").unwrap();
        assert!(flags.number("--repeats", 9).unwrap_err().is::<UsageError>());
    }
}
