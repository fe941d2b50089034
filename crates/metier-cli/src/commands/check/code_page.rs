//! `metier check --explain CODE`: what a diagnostic means, why it matters and how to fix it.
//! The words are the table's in `metier-skill`; this file finds the code and draws it.

use std::io::{self, Write};

use metier::skill::{Code, Profile, nearest};
use serde::Serialize;

use crate::error::{CommandError, Result};
use crate::output::{Output, heading, write_json};
use crate::render::safe;
use crate::render::style::{CYAN, paint};

/// A diagnostic code, explained.
pub(super) struct CodePage(Code);

/// The page of a code.
pub(super) fn find(word: &str) -> Result<CodePage> {
    let spelled = word.trim().to_lowercase();
    if let Some(code) = Code::find(&spelled) {
        return Ok(CodePage(code));
    }
    let near = nearest(&spelled, Code::ALL.iter().map(|code| code.as_str()));
    Err(CommandError::usage(format!("there is no diagnostic `{}`", safe(word))).help(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "codes are shown in brackets: warning[yaml-unquoted-colon]; `metier explain` is about tools"
            .to_owned(),
    }))
}

#[derive(Serialize)]
struct Document {
    code: Code,
    what: &'static str,
    why: &'static str,
    fix: &'static str,
    severity: Severities,
    rejected_by: &'static [&'static str],
}

/// How severe it is in each profile; null where a profile does not report it.
#[derive(Serialize)]
struct Severities {
    strict: Option<&'static str>,
    lenient: Option<&'static str>,
    spec: Option<&'static str>,
}

impl CodePage {
    fn severity(&self, profile: Profile) -> Option<&'static str> {
        self.0.severity(profile).map(metier::skill::Severity::as_str)
    }
}

impl Output for CodePage {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let info = self.0.info();
        let severity = Severities {
            strict: self.severity(Profile::Strict),
            lenient: self.severity(Profile::Lenient),
            spec: self.severity(Profile::Spec),
        };
        let (what, why, fix) = (info.what, info.why, info.fix_advice);
        let rejected_by = info.rejected_by;
        write_json(&Document { code: self.0, what, why, fix, severity, rejected_by }, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let info = self.0.info();
        heading(out, info.code)?;
        writeln!(out, "{}\n", info.what)?;
        let shown = |profile| self.severity(profile).unwrap_or("not reported");
        let severity = format!(
            "strict {}, lenient {}, spec {}",
            shown(Profile::Strict),
            shown(Profile::Lenient),
            shown(Profile::Spec)
        );
        let rejected_by = info.rejected_by.join(", ");
        for (name, text) in [
            ("why", info.why),
            ("fix", info.fix_advice),
            ("severity", &severity),
            ("rejected by", &rejected_by),
        ] {
            if !text.is_empty() {
                writeln!(out, "{}: {text}", paint(CYAN, name))?;
            }
        }
        Ok(())
    }
}
