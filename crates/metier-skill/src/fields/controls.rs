//! The fields that limit what a skill may do and who may start it.
//!
//! Each is read exactly or not at all: what cannot be read keeps the skill out in every profile,
//! because a guess could grant more than its author intended.

use std::ops::Range;

use super::Fields;
use crate::codes::Code;
use crate::glob::glob_fault;
use crate::nearest::nearest;
use crate::skill::RunMode;
use crate::text;
use crate::tool_names::{is_qualified, tool_meaning, tool_names};
use crate::tools::{ToolSeparators, split_tools};
use crate::yaml::{Node, NodeKind};

/// Characters of a tool's name in a message.
const MAX_TOOL_CHARS: usize = 60;

impl Fields<'_, '_, '_> {
    pub(super) fn allowed_tools(&mut self, value: &Node<'_>) {
        let span = value.span.clone();
        let mut separators = ToolSeparators::CommasAndBlanks;
        // Each with its place, so that a message points at the line it is about.
        let pieces: Vec<(&str, &Range<usize>)> = match &value.kind {
            NodeKind::Scalar { .. } if value.is_null() => Vec::new(),
            NodeKind::Scalar { text, .. } => vec![(text, &span)],
            NodeKind::List(items) => {
                separators = ToolSeparators::Commas;
                let texts = items.iter().filter_map(|item| Some((item.text()?, &item.span)));
                let texts: Vec<_> = texts.collect();
                if texts.len() < items.len() {
                    self.collector.report(
                        Code::ControlUnreadable,
                        &span,
                        "`allowed-tools` contains a value that is not text",
                    );
                    return;
                }
                texts
            }
            NodeKind::Map(_) => {
                self.collector.report(
                    Code::ControlUnreadable,
                    &span,
                    "`allowed-tools` is a map, not a list",
                );
                return;
            }
        };
        let is_odd = |ch: char| ch.is_control() && !ch.is_whitespace();
        if pieces.iter().any(|(piece, _)| piece.contains(is_odd)) {
            let message = "`allowed-tools` contains a control character";
            self.collector.report(Code::ControlUnreadable, &span, message);
            return;
        }
        let mut tools: Vec<Box<str>> = Vec::new();
        for (piece, place) in pieces {
            let Ok(split) = split_tools(piece, separators) else {
                let message = "a parenthesis in `allowed-tools` is not closed";
                self.collector.report(Code::AllowedToolsUnbalanced, place, message);
                return;
            };
            for tool in &split {
                self.known_tool(tool, place);
            }
            tools.extend(split);
        }
        if tools.is_empty() {
            self.collector.report(
                Code::AllowedToolsEmpty,
                &span,
                "`allowed-tools` lists nothing, so the skill may use no tools",
            );
        }
        self.controls.allowed_tools = Some(tools.into());
    }

    fn known_tool(&mut self, tool: &str, span: &Range<usize>) {
        let name = tool.split('(').next().unwrap_or(tool).trim();
        if tool_meaning(name).is_some() || is_qualified(name) {
            return;
        }
        let quoted = text::quoted(name, MAX_TOOL_CHARS);
        let message = match nearest(name, tool_names()) {
            Some(near) => {
                format!("unknown tool {quoted} in `allowed-tools`; did you mean `{near}`?")
            }
            None => format!("unknown tool {quoted} in `allowed-tools`"),
        };
        self.collector.report(Code::AllowedToolsUnknown, span, message);
    }

    pub(super) fn switch(&mut self, field: &str, value: &Node<'_>) -> Option<bool> {
        let on = match value.text().map(str::trim) {
            Some("true" | "True" | "TRUE" | "yes" | "Yes" | "on" | "On") => Some(true),
            Some("false" | "False" | "FALSE" | "no" | "No" | "off" | "Off") => Some(false),
            _ => None,
        };
        if on.is_none() {
            self.collector.report(
                Code::SwitchNotBoolean,
                &value.span,
                format!("`{field}` is neither `true` nor `false`"),
            );
        }
        on
    }

    /// `context: fork` is another agent's spelling of `run-mode: subagent`; `run-mode` itself wins
    /// wherever it stands.
    pub(super) fn context(&mut self, value: &Node<'_>) {
        match value.text().map(str::trim) {
            Some("fork") if !self.has_run_mode => self.controls.run_mode = RunMode::Subagent,
            Some("fork") => {}
            _ => self.collector.report(
                Code::RunModeUnknown,
                &value.span,
                "`context` has no effect unless it is `fork`",
            ),
        }
    }

    pub(super) fn run_mode(&mut self, value: &Node<'_>) {
        self.has_run_mode = true;
        match value.text().map(str::trim) {
            Some("inline") => self.controls.run_mode = RunMode::Inline,
            Some("subagent") => self.controls.run_mode = RunMode::Subagent,
            _ => self.collector.report(
                Code::RunModeUnknown,
                &value.span,
                "`run-mode` is neither `inline` nor `subagent`",
            ),
        }
    }

    pub(super) fn paths(&mut self, value: &Node<'_>) -> Vec<Box<str>> {
        let texts: Option<Vec<(&str, &Node<'_>)>> = match &value.kind {
            NodeKind::Scalar { .. } if value.is_null() => Some(Vec::new()),
            NodeKind::Scalar { text, .. } => {
                Some(split_globs(text).into_iter().map(|glob| (glob, value)).collect())
            }
            NodeKind::List(items) => items.iter().map(|item| Some((item.text()?, item))).collect(),
            NodeKind::Map(_) => None,
        };
        let Some(texts) = texts else {
            let message = "`paths` is not a list of strings";
            self.collector.report(Code::ControlUnreadable, &value.span, message);
            return Vec::new();
        };
        let mut globs = Vec::with_capacity(texts.len());
        for (text, node) in texts {
            let glob = text.trim();
            if let Some(fault) = glob_fault(glob) {
                let message = format!("`{glob}` in `paths` is not a valid glob: {fault}");
                self.collector.report(Code::PathsGlobInvalid, &node.span, message);
            }
            if !glob.is_empty() {
                globs.push(glob.into());
            }
        }
        globs
    }
}

/// Globs split at commas, never inside braces: `src/*.{ts,tsx}` is one.
fn split_globs(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    text.split(|ch| {
        match ch {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        ch == ',' && depth == 0
    })
    .collect()
}
