//! Every source belongs to a module tree, has a header, and crate roots say what they promise.
//!
//! | rule | what is found |
//! |---|---|
//! | `module-tree` | a `.rs` file that no target reaches through `mod` or `include!` |
//! | `mod-rs` | a `mod.rs` below `src` with more than docs, attributes, `mod` and `use` |
//! | `header` | a file without `//!` at its head; test files may go without (below) |
//! | `crate-root` | root docs absent or past [`ROOT_DOC_LINES_MAX`] lines; unsafe lint absent |
//! | `unsafe-reason` | unsafe code allowed in a module of a denying crate without a reason |
//!
//! Without a header may be: `tests.rs` beside the module that it tests, and files of up to
//! [`TRIVIAL_LINES_MAX`] lines below a `tests` or `benches` folder.

use std::collections::BTreeSet;

use crate::layering::{self, UnsafeCode};
use crate::metadata::Package;
use crate::report::Finding;
use crate::rust_text::{RustText, is_word_char, line_number};
use crate::tree::{SourceFile, Tree};

const ROOT_DOC_LINES_MAX: usize = 60;

const TRIVIAL_LINES_MAX: usize = 20;

const FUZZ_MANIFEST: &str = "fuzz/Cargo.toml";

/// A module or file that a source names.
#[derive(Debug, PartialEq, Eq)]
enum Child {
    /// `mod a { mod b; }` in this file gives `["a", "b"]`.
    Module(Vec<String>),
    /// `#[path = "..."]` or `include!("...")`, relative to the file's folder.
    File(String),
}

/// Checks the sources of `tree`, which belong to `packages`.
pub(super) fn check(tree: &Tree, packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let targets = packages.iter().flat_map(|package| &package.targets);
    let fuzz_roots = fuzz_roots(tree);
    let roots = targets.map(|target| target.path.as_str());
    let reached = reachable(tree, roots.chain(fuzz_roots.iter().map(String::as_str)));
    for (file, rust) in tree.rust_files() {
        if !reached.contains(&file.path) {
            let message = "no module tree reaches this file";
            findings.push(Finding::new(&file.path, "module-tree", message));
        }
        if file.file_name() == "mod.rs" && file.path.contains("src/") {
            findings.extend(check_mod_rs(file, rust));
        }
        if !is_trivial_test(file) && !has_header(&file.text) {
            let message = "starts without a module header (`//!`)";
            findings.push(Finding::at(&file.path, 1, "header", message));
        }
    }
    for package in packages {
        check_crate(tree, package, &mut findings);
    }
    findings
}

/// Returns the roots of the fuzz targets and of what they share. They are a workspace of their own,
/// so the packages do not tell; [`FUZZ_MANIFEST`] names each target by its path.
fn fuzz_roots(tree: &Tree) -> Vec<String> {
    let Some(manifest) = tree.file(FUZZ_MANIFEST) else {
        return Vec::new();
    };
    let path = |line: &str| line.strip_prefix("path = \"")?.strip_suffix('"').map(str::to_owned);
    let targets = manifest.text.lines().filter_map(path);
    let folder = folder_of(FUZZ_MANIFEST);
    targets.chain(["src/lib.rs".to_owned()]).map(|target| join(folder, &target)).collect()
}

/// Returns the files that `roots` reach.
fn reachable<'a>(tree: &Tree, roots: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    // The folder in which the file's child modules lie comes with each file.
    let mut open: Vec<(String, String)> =
        roots.map(|root| (root.to_owned(), folder_of(root).to_owned())).collect();
    while let Some((path, module_folder)) = open.pop() {
        let Some((file, rust)) =
            tree.file(&path).and_then(|file| Some((file, file.rust.as_ref()?)))
        else {
            continue;
        };
        if !reached.insert(path.clone()) {
            continue;
        }
        for child in children(&file.text, rust) {
            match child {
                Child::Module(names) => {
                    let stem = join(&module_folder, &names.join("/"));
                    open.push((format!("{stem}.rs"), stem.clone()));
                    open.push((format!("{stem}/mod.rs"), stem));
                }
                Child::File(name) => {
                    let path = join(folder_of(&path), &name);
                    let folder = folder_of(&path).to_owned();
                    open.push((path, folder));
                }
            }
        }
    }
    reached
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Joins two paths, resolving `.` and `..`.
pub(super) fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the modules and files that the source names.
fn children(text: &str, rust: &RustText) -> Vec<Child> {
    let code = rust.code.as_str();
    let mut found = Vec::new();
    // Inline modules around the current place, with the brace depth inside each.
    let mut inline: Vec<(usize, String)> = Vec::new();
    let mut depth = 0;
    let mut path: Option<String> = None;
    let mut words = rust.words().peekable();
    let mut skip_to = 0;
    for (index, byte) in code.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                inline.retain(|(inside, _)| *inside < depth);
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        if index < skip_to || words.peek().is_none_or(|(start, _)| *start != index) {
            continue;
        }
        let Some((_, word)) = words.next() else { break };
        let after = index + word.len();
        match word {
            "path" if code[..index].trim_end().ends_with("#[") => path = literal(text, after),
            "include" if code[after..].starts_with('!') => {
                found.extend(literal(text, after).map(Child::File));
            }
            "mod" => {
                let Some((start, name)) = words.peek() else {
                    break;
                };
                let end = start + name.len();
                let name = (*name).to_owned();
                let rest = code[end..].trim_start();
                skip_to = end;
                words.next();
                if rest.starts_with('{') {
                    inline.push((depth + 1, name));
                } else if rest.starts_with(';') {
                    let outer = inline.iter().map(|(_, name)| name.clone());
                    let names = outer.chain([name]).collect();
                    found.push(path.take().map_or(Child::Module(names), Child::File));
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the string literal that follows `start` on its line.
fn literal(text: &str, start: usize) -> Option<String> {
    let line = text[start..].lines().next()?;
    line.split('"').nth(1).map(str::to_owned)
}

fn is_trivial_test(file: &SourceFile) -> bool {
    let in_folder = |name: &str| file.path.split('/').any(|part| part == name);
    if file.file_name() == "tests.rs" && in_folder("src") {
        return true;
    }
    let is_small = file.text.lines().count() <= TRIVIAL_LINES_MAX;
    is_small && (in_folder("tests") || in_folder("benches"))
}

fn has_header(text: &str) -> bool {
    text.trim_start().starts_with("//!")
}

/// Finds the first item of a `mod.rs` that is neither `mod name;` nor `use`.
fn check_mod_rs(file: &SourceFile, rust: &RustText) -> Option<Finding> {
    let code = rust.code.as_str();
    let mut at = 0;
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        let rest = &code[at..];
        if rest.is_empty() {
            return None;
        }
        at += if rest.starts_with("#[") || rest.starts_with("#![") {
            attribute_bytes(rest)
        } else {
            match reexport_bytes(rest) {
                Some(bytes) => bytes,
                None => {
                    let message = "holds more than docs, modules and re-exports";
                    let line = line_number(code, at);
                    return Some(Finding::at(&file.path, line, "mod-rs", message));
                }
            }
        };
    }
}

fn attribute_bytes(rest: &str) -> usize {
    let mut depth = 0;
    for (index, byte) in rest.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' if depth == 1 => return index + 1,
            b']' => depth -= 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the size of the `mod name;` or `use path;` that `rest` starts with.
fn reexport_bytes(rest: &str) -> Option<usize> {
    let mut item = rest;
    if let Some(after) = item.strip_prefix("pub") {
        item = after.trim_start();
        if item.starts_with('(') {
            item = item.split_once(')')?.1.trim_start();
        }
    }
    let word = item.split(|c| !is_word_char(c)).next()?;
    let end = rest.find(';')? + 1;
    let is_inline = word == "mod" && rest[..end].contains('{');
    (matches!(word, "mod" | "use") && !is_inline).then_some(end)
}

fn check_crate(tree: &Tree, package: &Package, findings: &mut Vec<Finding>) {
    let unsafe_code = layering::rule_of(&package.name).map(|rule| rule.unsafe_code);
    let roots =
        package.targets.iter().filter(|target| matches!(target.kind.as_str(), "lib" | "bin"));
    for root in roots {
        let Some(file) = tree.file(&root.path) else {
            continue;
        };
        let Some(rust) = &file.rust else { continue };
        let doc_lines = file.text.lines().filter(|line| line.starts_with("//!")).count();
        if doc_lines == 0 || doc_lines > ROOT_DOC_LINES_MAX {
            let message = format!("root docs have {doc_lines} lines, 1 to {ROOT_DOC_LINES_MAX}");
            findings.push(Finding::at(&file.path, 1, "crate-root", message));
        }
        let forbids = rust.code.contains("#![forbid(unsafe_code)]");
        let denies = forbids || rust.code.contains("#![deny(unsafe_code)]");
        let missing = match unsafe_code {
            Some(UnsafeCode::Forbidden) if !forbids => "forbid",
            Some(UnsafeCode::Denied) if !denies => "deny",
            _ => continue,
        };
        let message = format!("{} needs #![{missing}(unsafe_code)] in its roots", package.name);
        findings.push(Finding::at(&file.path, 1, "crate-root", message));
    }
    if unsafe_code == Some(UnsafeCode::Denied) {
        let root = package.targets.iter().find(|target| target.kind == "lib");
        let source_folder = root.map_or("", |root| folder_of(&root.path));
        for (file, rust) in tree.rust_files() {
            if file.path.starts_with(&format!("{source_folder}/")) {
                findings.extend(unreasoned(file, rust));
            }
        }
    }
}

/// Finds the places that allow unsafe code without telling why.
fn unreasoned(file: &SourceFile, rust: &RustText) -> Vec<Finding> {
    let code = rust.code.as_str();
    let mut findings = Vec::new();
    for (start, _) in code.match_indices("allow(") {
        let arguments = code[start..].split(')').next().unwrap_or_default();
        if arguments.contains("unsafe_code") && !arguments.contains("reason") {
            let line = line_number(code, start);
            let message = "allow(unsafe_code) needs a reason = \"...\"";
            findings.push(Finding::at(&file.path, line, "unsafe-reason", message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Target;

    fn package(name: &str, targets: &[(&str, &str)]) -> Package {
        let target =
            |&(kind, path): &(&str, &str)| Target { kind: kind.to_owned(), path: path.to_owned() };
        let targets = targets.iter().map(target).collect();
        Package { name: name.to_owned(), targets, ..Package::default() }
    }

    fn rules(files: &[(&str, &str)], packages: &[Package]) -> Vec<&'static str> {
        check(&Tree::from_files(files), packages).iter().map(|finding| finding.rule).collect()
    }

    /// Rules broken by one file of the crate `name`, reached as its library.
    fn lib_rules(name: &str, text: &str) -> Vec<&'static str> {
        rules(&[("a/src/lib.rs", text)], &[package(name, &[("lib", "a/src/lib.rs")])])
    }

    #[test]
    fn children_are_found() {
        let text = "mod a;\n#[cfg(test)]\npub(crate) mod b;\n#[path = \"x/y.rs\"]\nmod c;\n\
                    mod d { mod e; }\nmod f;\ninclude!(\"g.rs\");\n// mod no;\n\
                    macro_rules! m { ($n:ident) => { mod $n; } }\n";
        let module = |names: &[&str]| Child::Module(names.iter().map(|&n| n.to_owned()).collect());
        let found: Vec<_> = children(text, &RustText::new(text));
        assert_eq!(found[0], module(&["a"]));
        assert_eq!(found[1], module(&["b"]));
        assert_eq!(found[2], Child::File("x/y.rs".to_owned()));
        assert_eq!(found[3], module(&["d", "e"]));
        assert_eq!(found[4], module(&["f"]));
        assert_eq!(found[5], Child::File("g.rs".to_owned()));
    }

    #[test]
    fn targets_of_the_fuzz_workspace_are_roots() {
        let fuzz = [
            ("fuzz/Cargo.toml", "[[bin]]\nname = \"a_fuzz\"\npath = \"a_fuzz.rs\"\n"),
            ("fuzz/a_fuzz.rs", "//! A.\n"),
            ("fuzz/src/lib.rs", "//! Shared.\nmod b;\n"),
            ("fuzz/src/b.rs", "//! B.\n"),
        ];
        assert_eq!(rules(&fuzz, &[]), [""; 0]);
        assert_eq!(rules(&fuzz[1..], &[]), ["module-tree"; 3]);
    }

    #[test]
    fn file_outside_every_module_tree_is_found() {
        let files = [
            ("a/src/lib.rs", "//! A.\n#![forbid(unsafe_code)]\nmod b;\nmod c;\n"),
            ("a/src/b.rs", "//! B.\nmod d;\n"),
            ("a/src/b/d.rs", "//! D.\n"),
            ("a/src/c/mod.rs", "//! C.\nmod e;\n"),
            ("a/src/c/e.rs", "//! E.\n"),
            ("a/tests/t.rs", "mod support;\n"),
            ("a/tests/support/mod.rs", "fn help() {}\n"),
        ];
        let targets = [("lib", "a/src/lib.rs"), ("test", "a/tests/t.rs")];
        assert_eq!(rules(&files, &[package("nacre-sql", &targets)]), [""; 0]);
        assert_eq!(rules(&files, &[package("nacre-sql", &targets[..1])]).len(), 2);
    }

    #[test]
    fn paths_are_joined() {
        assert_eq!(join("a/b", "../c.rs"), "a/c.rs");
        assert_eq!(join("", "./c.rs"), "c.rs");
        assert_eq!(join("a", "../../c"), "../c");
    }

    #[test]
    fn mod_rs_holds_docs_and_reexports_only() {
        let found = |text: &str| {
            check_mod_rs(&SourceFile::new("src/a/mod.rs", text), &RustText::new(text)).is_some()
        };
        assert!(!found("//! A.\n#![allow(x)]\nmod b;\npub(crate) mod c;\n#[cfg(test)]\nmod t;\n"));
        assert!(!found("//! A.\n/// B.\npub use b::{C, D};\nuse e as f;\n"));
        assert!(found("//! A.\nfn b() {}\n"));
        assert!(found("//! A.\nmod b { const C: u8 = 1; }\n"));
        assert!(found("//! A.\npub struct B;\n"));
    }

    #[test]
    fn header_is_needed_but_for_trivial_tests() {
        let needs = |path: &str, text: &str| {
            let file = SourceFile::new(path, text);
            !is_trivial_test(&file) && !has_header(&file.text)
        };
        assert!(needs("src/a.rs", "fn a() {}"));
        assert!(!needs("src/a.rs", "//! A.\nfn a() {}"));
        assert!(!needs("src/a/tests.rs", &"\n".repeat(300)));
        assert!(!needs("tests/a.rs", "mod b;\n"));
        assert!(needs("tests/a.rs", &"fn a() {}\n".repeat(21)));
    }

    #[test]
    fn crate_root_has_docs_and_its_unsafe_lint() {
        assert_eq!(lib_rules("nacre-sql", "//! A.\n#![forbid(unsafe_code)]\n"), [""; 0]);
        assert_eq!(lib_rules("nacre-sql", "//! A.\n#![deny(unsafe_code)]\n"), ["crate-root"]);
        assert_eq!(lib_rules("nacre-column", "//! A.\n#![deny(unsafe_code)]\n"), [""; 0]);
        assert_eq!(lib_rules("nacre-column", "//! A.\n"), ["crate-root"]);
        assert_eq!(lib_rules("nacre-pmem", "//! A.\n"), [""; 0]);
        assert_eq!(lib_rules("nacre-pmem", &"//! A.\n".repeat(61)), ["crate-root"]);
    }

    #[test]
    fn allowing_unsafe_code_needs_a_reason() {
        let root = "//! A.\n#![deny(unsafe_code)]\n";
        let allowed = |what: &str| lib_rules("nacre-store", &format!("{root}#[allow({what})]\n"));
        assert_eq!(allowed("unsafe_code, reason = \"kernel\""), [""; 0]);
        assert_eq!(allowed("unsafe_code"), ["unsafe-reason"]);
        assert_eq!(allowed("dead_code"), [""; 0]);
    }
}
