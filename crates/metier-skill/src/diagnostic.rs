//! A diagnostic: a code, a place, a sentence about the user's text, and how to fix it.
//!
//! The same values reach the terminal, JSON, SARIF and the library. A diagnostic does not know its
//! file; [`DiagnosticAt`] pairs it with one for output.

use std::fmt;
use std::ops::Range;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::codes::Code;
use crate::source_map::{position, saturate};
use crate::text_edit::TextEdit;

/// How bad a diagnostic is. An error keeps the skill out of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Note,
    /// The skill works here, but something is wrong with it.
    Warning,
    /// The skill stays out of the index.
    Error,
}

impl Severity {
    /// The word used in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One finding about a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of finding it is.
    pub code: Code,
    /// How bad it is under the profile that was asked for.
    pub severity: Severity,
    /// The bytes of the file it is about.
    pub span: Range<u32>,
    /// Line of the span's start, from 1; 0 when it is about the file as a whole.
    pub line: u32,
    /// Column of the span's start in characters, from 1; 0 when it is about the file as a whole.
    pub column: u32,
    /// A sentence about the user's text.
    pub message: Box<str>,
    /// The edit that fixes it, where one is safe.
    pub fix: Option<Box<TextEdit>>,
}

impl Diagnostic {
    /// A finding about the file as a whole.
    pub fn about_file(code: Code, severity: Severity, message: impl Into<Box<str>>) -> Self {
        Self { code, severity, span: 0..0, line: 0, column: 0, message: message.into(), fix: None }
    }

    /// A finding about `span` of `bytes`.
    pub(crate) fn at(
        code: Code,
        severity: Severity,
        bytes: &[u8],
        span: Range<usize>,
        message: impl Into<Box<str>>,
    ) -> Self {
        let start = position(bytes, span.start);
        Self {
            code,
            severity,
            span: saturate(span.start)..saturate(span.end.max(span.start)),
            line: start.line,
            column: start.column,
            message: message.into(),
            fix: None,
        }
    }

    /// How to fix it.
    pub fn help(&self) -> &'static str {
        self.code.info().fix_advice
    }

    /// The diagnostic with the file it is about, for output.
    pub fn in_file<'a>(&'a self, file: &'a str) -> DiagnosticAt<'a> {
        DiagnosticAt { file: Some(file), diagnostic: self }
    }
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DiagnosticAt { file: None, diagnostic: self }.serialize(serializer)
    }
}

/// A diagnostic and the file it is about: the JSON form of every report.
#[derive(Debug, Clone, Copy)]
pub struct DiagnosticAt<'a> {
    file: Option<&'a str>,
    diagnostic: &'a Diagnostic,
}

impl Serialize for DiagnosticAt<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let it = self.diagnostic;
        let mut out = serializer.serialize_struct("Diagnostic", 8)?;
        out.serialize_field("code", &it.code)?;
        out.serialize_field("severity", &it.severity)?;
        if let Some(file) = self.file {
            out.serialize_field("file", file)?;
        }
        if it.line > 0 {
            out.serialize_field("line", &it.line)?;
            out.serialize_field("column", &it.column)?;
        }
        out.serialize_field("message", &it.message)?;
        out.serialize_field("help", it.help())?;
        out.serialize_field("fixable", &it.fix.is_some())?;
        let rejected_by = it.code.info().rejected_by;
        if !rejected_by.is_empty() {
            out.serialize_field("rejected_by", rejected_by)?;
        }
        out.end()
    }
}
