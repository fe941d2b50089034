//! Lines of OpenSSH: `KIND KEY [COMMENT]` of a public key file, and `PRINCIPALS [OPTIONS] KIND KEY [COMMENT]`
//! of `allowed_signers`.
//!
//! An option limits what a key is good for. One that cannot be kept is an error: leaving it out would make
//! the key good for more.

use crate::error::SignatureError;
use crate::public_key::{NamedKey, PublicKey};
use crate::ssh_public::{SshKey, SshKeyKind};
use crate::ssh_signature::NAMESPACE;

/// The keys of a text, each with its comment or its principals as its name.
pub(crate) fn parse_lines(text: &str) -> Result<Vec<NamedKey>, SignatureError> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let keys: Result<Vec<NamedKey>, SignatureError> = lines.map(parse_line).collect();
    match keys {
        Ok(keys) if keys.is_empty() => Err(SignatureError::KeyFormat("there is no key in it")),
        other => other,
    }
}

fn parse_line(line: &str) -> Result<NamedKey, SignatureError> {
    const FORMAT: SignatureError = SignatureError::KeyFormat(
        "a line is neither an OpenSSH public key nor one of allowed_signers",
    );
    let words = words(line).ok_or(FORMAT)?;
    let is_kind = |word: &String| {
        ["ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"].iter().any(|start| word.starts_with(start))
    };
    let at = words.iter().position(is_kind).filter(|at| *at <= 2).ok_or(FORMAT)?;
    if at == 2 {
        check_options(&words[1])?;
    }
    // The name first: a key that cannot be used is called by its kind.
    SshKeyKind::of_name(&words[at]).map_err(SignatureError::UnsupportedKey)?;
    let key = SshKey::from_words(&words[at], words.get(at + 1).ok_or(FORMAT)?)?;
    let comment = words[at + 2..].join(" ");
    let name = if at == 0 { comment } else { words[0].clone() };
    Ok(NamedKey { name: Some(name).filter(|it| !it.is_empty()), key: PublicKey::ssh(key) })
}

fn check_options(options: &str) -> Result<(), SignatureError> {
    let unsupported = |what: &str| {
        let shown: String = what.chars().filter(char::is_ascii_graphic).take(40).collect();
        Err(SignatureError::UnsupportedKey(format!("the option `{shown}` of allowed_signers")))
    };
    for option in quoted_split(options, ',') {
        let (name, value) = option.split_once('=').unwrap_or((&option, ""));
        match name.to_ascii_lowercase().as_str() {
            "namespaces" => {
                let mut allowed = value.trim_matches('"').split(',');
                if !allowed.any(|it| it == NAMESPACE || it == "*") {
                    return unsupported(&format!("{option} without {NAMESPACE}"));
                }
            }
            _ => return unsupported(name),
        }
    }
    Ok(())
}

/// The words of a line; white space between quotation marks does not part them.
fn words(line: &str) -> Option<Vec<String>> {
    if !line.matches('"').count().is_multiple_of(2) {
        return None;
    }
    let line = line.replace('\t', " ");
    Some(quoted_split(&line, ' ').into_iter().filter(|word| !word.is_empty()).collect())
}

fn quoted_split(text: &str, separator: char) -> Vec<String> {
    let (mut parts, mut inside) = (vec![String::new()], false);
    for ch in text.chars() {
        inside ^= ch == '"';
        if ch == separator && !inside {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(ch);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII";

    #[test]
    fn the_name_is_the_comment_or_the_principals_and_limits_are_not_dropped() {
        let name = |line: String| parse_lines(&line).map(|keys| keys[0].name.clone());
        assert_eq!(name(format!("{KEY} ada@home")), Ok(Some("ada@home".to_owned())));
        assert_eq!(name(KEY.to_owned()), Ok(None));
        assert_eq!(name(format!("# people\nada@x,bob {KEY}")), Ok(Some("ada@x,bob".to_owned())));
        let limited = format!("ada namespaces=\"git,metier-pack\" {KEY} c");
        assert_eq!(name(limited), Ok(Some("ada".to_owned())));
        for line in [
            format!("ada namespaces=\"git\" {KEY}"),
            format!("ada cert-authority {KEY}"),
            format!("ada valid-before=\"20300101\" {KEY}"),
            "ada sk-ssh-ed25519@openssh.com AAAA".to_owned(),
        ] {
            assert_eq!(name(line).map_err(|error| error.code()), Err("key-unsupported"));
        }
        for line in
            ["", "# none", "ada", "ssh-ed25519", "ada \"x ssh-ed25519 AAAA", "ssh-ed25519 AAAA"]
        {
            assert_eq!(name(line.to_owned()).map_err(|error| error.code()), Err("key-format"));
        }
    }
}
