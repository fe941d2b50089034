//! A file holds one idea and a function one step of it: their lengths can be measured.
//!
//! Code that is compiled for tests only does not count. A file of tests may be longer, as it is read
//! case by case; its functions are not measured. Tables of data are listed with their reasons.

use syn::visit::Visit;

use super::finding::{Finding, is_our_rust, is_test_path};
use crate::syntax::{attributes, is_test_only, lines_of};

const FILE_LINES: usize = 450;
const FUNCTION_LINES: usize = 100;
const TEST_FILE_LINES: usize = 1000;

/// Files, or functions as `path::name`, that may be longer, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

/// Reports a file or a function that is too long.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    if !is_our_rust(path) {
        return Vec::new();
    }
    let total = text.lines().count();
    if is_test_path(path) {
        return if total > TEST_FILE_LINES {
            let message = format!("{total} lines of tests, the limit is {TEST_FILE_LINES}");
            vec![Finding::new(path, TEST_FILE_LINES, message)]
        } else {
            Vec::new()
        };
    }
    let file = match syn::parse_file(text) {
        Ok(file) => file,
        Err(error) => {
            let message = format!("cannot be parsed: {error}");
            return vec![Finding::new(path, error.span().start().line, message)];
        }
    };
    let mut measured = Measured::default();
    measured.visit_file(&file);
    let lines = total - measured.test_lines;
    let mut findings = Vec::new();
    if lines > FILE_LINES && !is_exception(path) {
        let message = format!("{lines} lines without tests, the limit is {FILE_LINES}: split it");
        findings.push(Finding::new(path, FILE_LINES, message));
    }
    for function in measured.functions.iter().filter(|it| it.lines > FUNCTION_LINES) {
        let Function { name, line, lines } = function;
        if !is_exception(&format!("{path}::{name}")) {
            let message =
                format!("`{name}` has {lines} lines, the limit is {FUNCTION_LINES}: split it");
            findings.push(Finding::new(path, *line, message));
        }
    }
    findings
}

fn is_exception(place: &str) -> bool {
    EXCEPTIONS.iter().any(|(name, _)| *name == place)
}

struct Function {
    name: String,
    line: usize,
    /// From `fn` to the closing brace; doc comments and attributes do not count.
    lines: usize,
}

#[derive(Default)]
struct Measured {
    functions: Vec<Function>,
    /// Lines of items that are compiled for tests only.
    test_lines: usize,
}

impl Measured {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let line = lines_of(signature).0;
        let lines = lines_of(block).1 + 1 - line;
        self.functions.push(Function { name: signature.ident.to_string(), line, lines });
    }
}

impl<'ast> Visit<'ast> for Measured {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_test_only(attributes(item)) {
            let (first, last) = lines_of(item);
            self.test_lines += last + 1 - first;
        } else {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test_only(&function.attrs) {
            self.add(&function.sig, &function.block);
            syn::visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
        }
        syn::visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/a/src/b.rs";

    fn constants(lines: usize) -> String {
        "const A: u8 = 1;\n".repeat(lines)
    }

    fn function(lines: usize) -> String {
        format!("/// Doc.\n#[inline]\nfn long() {{\n{}}}\n", "    f();\n".repeat(lines - 2))
    }

    #[test]
    fn a_file_over_the_limit_is_reported() {
        assert_eq!(check(PATH, &constants(FILE_LINES)), []);
        assert_eq!(check(PATH, &constants(FILE_LINES + 1)).len(), 1);
    }

    #[test]
    fn a_function_over_the_limit_is_reported_where_it_begins() {
        assert_eq!(check(PATH, &function(FUNCTION_LINES)), []);
        let findings = check(PATH, &function(FUNCTION_LINES + 1));
        assert!(findings[0].to_string().starts_with("crates/a/src/b.rs:3: "), "{findings:?}");
        assert!(findings[0].to_string().contains("`long` has 101 lines"));
    }

    #[test]
    fn a_method_is_measured_like_a_function() {
        let text = format!("struct A;\nimpl A {{\n{}}}\n", function(FUNCTION_LINES + 1));
        assert_eq!(check(PATH, &text).len(), 1);
    }

    #[test]
    fn code_for_tests_does_not_count() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(300));
        let text = format!("{}{tests}#[cfg(test)]\nmod other;\n", constants(FILE_LINES));
        assert_eq!(check(PATH, &text), []);
    }

    #[test]
    fn a_file_of_tests_has_a_limit_of_its_own() {
        let path = "crates/a/tests/it/scan.rs";
        assert_eq!(check(path, &constants(TEST_FILE_LINES)), []);
        assert_eq!(check(path, &constants(TEST_FILE_LINES + 1)).len(), 1);
    }

    #[test]
    fn a_file_that_is_no_rust_is_reported() {
        assert_eq!(check(PATH, "fn (\n").len(), 1);
    }
}
