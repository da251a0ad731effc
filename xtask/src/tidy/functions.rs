//! No function crosses 70 lines.
//!
//! Counted from the line of `fn` to the line of its closing brace. Functions that were longer when
//! the rule came are listed in `xtask/long-functions.txt`, one `PATH FUNCTION LINES` a line.
//!
//! # Invariants
//! 1. An entry is exact: a function that shrank or went takes its entry along.
//! 2. The list only shrinks: against the last commit and the one before it (where git is there to
//!    ask), no entry is new and none has grown.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::report::{Failure, Finding};
use crate::rust_text::{RustText, closing_brace, is_word_char, line_number};
use crate::tree::Tree;

const LINES_MAX: usize = 70;

const LIST: &str = "xtask/long-functions.txt";

/// Lengths by path and name.
type Lengths = BTreeMap<(String, String), usize>;

#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    /// 1-based number of the line with `fn`.
    line: usize,
    lines: usize,
}

/// Checks all sources of `tree` against the list under `root`.
///
/// # Errors
/// The list is absent or has a line that cannot be parsed.
pub(super) fn check(tree: &Tree, root: &Path) -> Result<Vec<Finding>, Failure> {
    let text = std::fs::read_to_string(root.join(LIST))
        .map_err(|error| Failure(format!("cannot read {LIST}: {error}")))?;
    let listed = parse_list(&text)?;
    let mut findings = compare(tree, &listed);
    for revision in ["HEAD", "HEAD^"] {
        if let Some(old) = committed_list(root, revision) {
            findings.extend(growth(&listed, &parse_list(&old)?));
        }
    }
    findings.dedup();
    Ok(findings)
}

fn parse_list(text: &str) -> Result<Lengths, Failure> {
    let mut lengths = Lengths::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let entry = match fields[..] {
            [path, name, lines] => lines.parse().ok().map(|lines| (path, name, lines)),
            _ => None,
        };
        let (path, name, lines) =
            entry.ok_or_else(|| Failure(format!("{LIST}: `{line}` is not PATH FUNCTION LINES")))?;
        lengths.insert((path.to_owned(), name.to_owned()), lines);
    }
    Ok(lengths)
}

fn committed_list(root: &Path, revision: &str) -> Option<String> {
    let object = format!("{revision}:{LIST}");
    let output = Command::new("git").args(["show", &object]).current_dir(root).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns what the list has and `old` has not.
fn growth(listed: &Lengths, old: &Lengths) -> Vec<Finding> {
    let is_growth =
        |(key, lines): &(&(String, String), &usize)| old.get(*key).copied() < Some(**lines);
    let grown = listed.iter().filter(is_growth);
    let message = |(_, name): &(String, String)| format!("the list may only shrink: {name}");
    grown.map(|(key, _)| Finding::new(LIST, "function-length", message(key))).collect()
}

/// Returns the functions past the limit that are not listed, and entries that are not exact.
fn compare(tree: &Tree, listed: &Lengths) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut longest = Lengths::new();
    for (file, rust) in tree.rust_files() {
        for function in functions(rust) {
            if function.lines <= LINES_MAX {
                continue;
            }
            let key = (file.path.clone(), function.name.clone());
            if !listed.contains_key(&key) {
                let message =
                    format!("{} has {} lines, at most {LINES_MAX}", function.name, function.lines);
                let rule = "function-length";
                findings.push(Finding::at(&file.path, function.line, rule, message));
            }
            let entry = longest.entry(key).or_default();
            *entry = function.lines.max(*entry);
        }
    }
    for ((path, name), lines) in listed {
        let message = match longest.get(&(path.clone(), name.clone())) {
            Some(now) if now == lines => continue,
            Some(now) if now > lines => format!("{name} grew from {lines} to {now} lines"),
            Some(now) => format!("{name} shrank to {now} lines: put {now} into {LIST}"),
            None => format!("{name} is no longer past {LINES_MAX}: remove it from {LIST}"),
        };
        findings.push(Finding::new(path, "function-length", message));
    }
    findings
}

/// Returns the functions with a body, nested ones and those in macros included.
fn functions(rust: &RustText) -> Vec<Function> {
    let code = rust.code.as_str();
    let mut found = Vec::new();
    for (start, _) in rust.words().filter(|(_, word)| *word == "fn") {
        let rest = &code[start + 2..];
        let name = rest.trim_start();
        let length = name.find(|c| !is_word_char(c) && c != '$').unwrap_or(name.len());
        // `fn(u8) -> u8` is a type.
        if length == 0 {
            continue;
        }
        let signature = start + 2 + (rest.len() - name.len()) + length;
        let Some(open) = body(code, signature) else {
            continue;
        };
        let Some(close) = closing_brace(code, open) else {
            continue;
        };
        let line = line_number(code, start);
        let lines = line_number(code, close) - line + 1;
        found.push(Function { name: name[..length].to_owned(), line, lines });
    }
    found
}

/// Returns the offset of the brace that opens the body of the signature at `start`; none if the
/// signature ends without a body.
fn body(code: &str, start: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (index, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(index),
            b';' if depth == 0 => return None,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    a();\n".repeat(lines - 2))
    }

    fn list(lines: usize) -> Lengths {
        parse_list(&format!("# comment\n\na.rs long {lines}\n")).unwrap()
    }

    #[test]
    fn functions_are_found_with_their_lengths() {
        let text = "trait T { fn no_body(&self, a: [u8; 2]); }\n\
                    fn one() -> fn(u8) -> u8 { \"}\"; x }\n\
                    fn outer()\nwhere\n    A: B,\n{\n    fn inner() {\n    }\n}\n\
                    macro_rules! m { (fn $name:ident) => { fn $name() {\n} }; }\n";
        let found: Vec<_> = functions(&RustText::new(text))
            .into_iter()
            .map(|function| (function.name, function.line, function.lines))
            .collect();
        let expected = [("one", 2, 1), ("outer", 3, 7), ("inner", 7, 2), ("$name", 10, 2)];
        assert_eq!(found, expected.map(|(name, line, lines)| (name.to_owned(), line, lines)));
    }

    #[test]
    fn function_past_the_limit_is_found() {
        let none = Lengths::new();
        assert_eq!(compare(&Tree::from_files(&[("a.rs", &source(70))]), &none), []);
        assert_eq!(compare(&Tree::from_files(&[("a.rs", &source(71))]), &none).len(), 1);
    }

    #[test]
    fn listed_function_must_have_its_listed_length() {
        let tree = Tree::from_files(&[("a.rs", &source(80))]);
        assert_eq!(compare(&tree, &list(80)), []);
        assert_eq!(compare(&tree, &list(79)).len(), 1);
        assert_eq!(compare(&tree, &list(81)).len(), 1);
        assert_eq!(compare(&Tree::from_files(&[("a.rs", &source(70))]), &list(80)).len(), 1);
    }

    #[test]
    fn list_only_shrinks() {
        assert_eq!(growth(&list(80), &list(80)), []);
        assert_eq!(growth(&list(80), &list(90)), []);
        assert_eq!(growth(&Lengths::new(), &list(90)), []);
        assert_eq!(growth(&list(91), &list(90)).len(), 1);
        assert_eq!(growth(&list(80), &Lengths::new()).len(), 1);
    }

    #[test]
    fn malformed_list_is_a_failure() {
        assert!(parse_list("a.rs long").is_err());
        assert!(parse_list("a.rs long many").is_err());
    }
}
