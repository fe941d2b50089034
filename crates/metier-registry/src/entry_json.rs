//! An entry as JSON, written directly.
//!
//! `metier list --json` renders a hundred thousand entries; the generic serialiser looks at each
//! byte of each text for something to escape, and nearly always finds nothing. This writer asks once
//! for the whole text. A test holds it to the generic serialiser's output, byte for byte, over the
//! corpus.

use metier_skill::{Diagnostic, Value};
use serde::Serialize;

use crate::index::Entry;

impl Entry {
    /// Appends the entry as a JSON object: exactly what its `Serialize` gives.
    pub fn append_json(&self, out: &mut Vec<u8>) {
        let skill = &self.skill;
        let name = skill.name.as_str();
        let source = self.source.as_str().as_bytes();
        out.extend_from_slice(b"{\"id\":\"");
        out.extend_from_slice(source);
        let start = out.len();
        text(out, name);
        // The source's word needs no escape; a colon takes the place of the name's opening quote.
        out[start] = b':';
        out.extend_from_slice(b",\"name\":");
        text(out, name);
        out.extend_from_slice(b",\"description\":");
        text(out, &skill.description);
        out.extend_from_slice(b",\"source\":\"");
        out.extend_from_slice(source);
        out.extend_from_slice(b"\",\"path\":");
        path(out, &self.path);
        if !self.copies.is_empty() {
            out.extend_from_slice(b",\"copies\":");
            value(out, &self.copies);
        }
        out.extend_from_slice(b",\"controls\":{\"disable_model_invocation\":");
        switch(out, skill.controls.disable_model_invocation);
        out.extend_from_slice(b",\"user_invocable\":");
        switch(out, skill.controls.user_invocable);
        out.extend_from_slice(b",\"allowed_tools\":");
        match &skill.controls.allowed_tools {
            None => out.extend_from_slice(b"null"),
            Some(tools) => {
                out.push(b'[');
                list(out, tools, |out, tool| text(out, tool));
            }
        }
        out.extend_from_slice(b",\"run_mode\":\"");
        out.extend_from_slice(skill.controls.run_mode.as_str().as_bytes());
        out.extend_from_slice(b"\"},\"meta\":{");
        self.append_meta(out);
        out.extend_from_slice(b"},\"enabled\":");
        switch(out, self.enabled);
        out.extend_from_slice(b",\"digest\":\"");
        out.extend_from_slice(&self.digest.to_text());
        out.extend_from_slice(b"\",\"diagnostics\":");
        out.push(b'[');
        list(out, &self.diagnostics, diagnostic);
        out.push(b'}');
    }

    fn append_meta(&self, out: &mut Vec<u8>) {
        let details = self.skill.details();
        let start = out.len();
        let key = |out: &mut Vec<u8>, key: &str| {
            if out.len() > start {
                out.push(b',');
            }
            out.push(b'"');
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(b"\":");
        };
        for (name, content) in details.texts() {
            if let Some(content) = content {
                key(out, name);
                text(out, content);
            }
        }
        if !details.paths.is_empty() {
            key(out, "paths");
            value(out, &details.paths);
        }
        if !details.metadata.is_empty() {
            key(out, "metadata");
            fields(out, &details.metadata);
        }
        if !details.unknown.is_empty() {
            key(out, "unknown");
            fields(out, &details.unknown);
        }
    }
}

/// In a real collection every second skill has one, and they are a third of the listing.
fn diagnostic(out: &mut Vec<u8>, it: &Diagnostic) {
    let about = it.code.info();
    out.extend_from_slice(b"{\"code\":\"");
    // The code, the severity, the advice and the names of tools are the house's own words; only the
    // advice holds quotes.
    out.extend_from_slice(about.code.as_bytes());
    out.extend_from_slice(b"\",\"severity\":\"");
    out.extend_from_slice(it.severity.as_str().as_bytes());
    out.push(b'"');
    if it.line > 0 {
        out.extend_from_slice(b",\"line\":");
        value(out, &it.line);
        out.extend_from_slice(b",\"column\":");
        value(out, &it.column);
    }
    out.extend_from_slice(b",\"message\":");
    text(out, &it.message);
    out.extend_from_slice(b",\"help\":");
    text(out, about.fix_advice);
    out.extend_from_slice(b",\"fixable\":");
    switch(out, it.fix.is_some());
    if !about.rejected_by.is_empty() {
        out.extend_from_slice(b",\"rejected_by\":[");
        list(out, about.rejected_by, |out, tool| text(out, tool));
    }
    out.push(b'}');
}

fn list<T>(out: &mut Vec<u8>, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

/// A map of whatever an author wrote.
fn fields(out: &mut Vec<u8>, entries: &[(Box<str>, Value)]) {
    out.push(b'{');
    for (at, (key, content)) in entries.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        text(out, key);
        out.push(b':');
        untyped(out, content);
    }
    out.push(b'}');
}

fn untyped(out: &mut Vec<u8>, content: &Value) {
    match content {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Text(content) => text(out, content),
        Value::Map(inner) => fields(out, inner),
        Value::List(items) => {
            out.push(b'[');
            list(out, items, untyped);
        }
    }
}

fn switch(out: &mut Vec<u8>, on: bool) {
    out.extend_from_slice(if on { b"true" } else { b"false" });
}

fn path(out: &mut Vec<u8>, path: &std::path::Path) {
    match path.to_str() {
        Some(path) => text(out, path),
        None => text(out, &path.to_string_lossy()),
    }
}

fn text(out: &mut Vec<u8>, content: &str) {
    let bytes = content.as_bytes();
    out.reserve(content.len() + 2);
    // Without an early way out, so that the compiler looks at many bytes at a time.
    let special = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
    if !bytes.iter().fold(false, |any, byte| any | special(byte)) {
        out.push(b'"');
        out.extend_from_slice(bytes);
        out.push(b'"');
        return;
    }
    if bytes.iter().any(|byte| *byte < b' ') {
        return value(out, content);
    }
    out.push(b'"');
    let mut from = 0;
    for at in memchr::memchr2_iter(b'"', b'\\', bytes) {
        out.extend_from_slice(&bytes[from..at]);
        out.push(b'\\');
        from = at;
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

/// Anything, by the generic serialiser.
fn value(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        // Writing to memory does not fail, and these values are all texts, lists and maps of texts.
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}
