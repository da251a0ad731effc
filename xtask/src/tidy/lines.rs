//! Rules that look at one line at a time.
//!
//! | rule | files | what is found |
//! |---|---|---|
//! | `columns` | `.rs` | lines past [`COLUMNS_MAX`] |
//! | `ascii` | `.rs` | any byte that is not ASCII; tests write such text as escapes |
//! | `blanks` | all but `.slt` | tabs and trailing blanks |
//! | `leftover` | `.rs` | debugging macros in code, reminders in comments |
//! | `paths` | all | absolute paths of one machine |

use crate::report::Finding;
use crate::rust_text::{is_word_char, line_number};
use crate::tree::SourceFile;

const COLUMNS_MAX: usize = 100;

/// Macros that only debugging and unfinished code use. In pieces, as are the two lists below, so
/// that this file keeps the rules.
const MACROS: [&str; 3] = ["dbg", "todo", "unimplemented"];

const REMINDERS: [&str; 3] = [concat!("FIX", "ME"), concat!("XX", "X"), concat!("TO", "DO")];

/// The folder that a package was built in.
const MANIFEST_DIRECTORY: &str = concat!("env!(\"CARGO_", "MANIFEST_DIR\")");

/// Folders that exist on one machine only.
const MACHINE_FOLDERS: [&str; 2] = ["work", "root"];

/// Checks one file.
pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if file.extension() == "rs" {
            check_rust_line(&file.path, index + 1, line, &mut findings);
        }
        if file.extension() != "slt" {
            check_blanks(&file.path, index + 1, line, &mut findings);
        }
        check_paths(&file.path, index + 1, line, &mut findings);
    }
    if let Some(rust) = &file.rust {
        for (offset, word) in rust.words() {
            let is_macro = rust.code[offset + word.len()..].starts_with('!');
            if is_macro && MACROS.contains(&word) {
                let line = line_number(&rust.code, offset);
                let message = format!("{word}! does not belong into finished code");
                findings.push(Finding::at(&file.path, line, "leftover", message));
            }
        }
        for (index, line) in rust.comments.lines().enumerate() {
            let words = line.split(|c| !is_word_char(c));
            for word in words.filter(|word| REMINDERS.contains(word)) {
                let message = format!("{word} in a comment: do it, or open an issue");
                findings.push(Finding::at(&file.path, index + 1, "leftover", message));
            }
        }
    }
    findings
}

fn check_rust_line(path: &str, number: usize, line: &str, findings: &mut Vec<Finding>) {
    let columns = line.chars().count();
    if columns > COLUMNS_MAX {
        let message = format!("{columns} columns, at most {COLUMNS_MAX}");
        findings.push(Finding::at(path, number, "columns", message));
    }
    if line.contains(MANIFEST_DIRECTORY) {
        let message = "a build that another clone reuses has the path of this one: tests run in \
                       their package's folder, so a relative path will do";
        findings.push(Finding::at(path, number, "paths", message));
    }
    if let Some(c) = line.chars().find(|c| !c.is_ascii()) {
        let message = format!(
            "U+{:04X} is not ASCII: write an escape in a literal, words in a comment",
            u32::from(c)
        );
        findings.push(Finding::at(path, number, "ascii", message));
    }
}

fn check_blanks(path: &str, number: usize, line: &str, findings: &mut Vec<Finding>) {
    if line.contains('\t') {
        findings.push(Finding::at(path, number, "blanks", "tab"));
    }
    if line.ends_with([' ', '\t', '\r']) {
        findings.push(Finding::at(path, number, "blanks", "trailing blank"));
    }
}

fn check_paths(path: &str, number: usize, line: &str, findings: &mut Vec<Finding>) {
    for folder in MACHINE_FOLDERS {
        let absolute = format!("/{folder}/");
        let starts = line.match_indices(&absolute).map(|(start, _)| start);
        // `a/work/b` is a relative path and fine.
        let is_absolute = |start: usize| {
            !line[..start].ends_with(|c: char| is_word_char(c) || matches!(c, '.' | '-' | '/'))
        };
        if starts.into_iter().any(is_absolute) {
            let message = format!("{absolute} is a path of one machine");
            findings.push(Finding::at(path, number, "paths", message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        check(&SourceFile::new(path, text)).iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn clean_source_has_no_findings() {
        let text = "//! Header.\n\nfn a() {\n    let todo = \"dbg!(1)\";\n}\n";
        assert_eq!(rules("a.rs", text), [""; 0]);
    }

    #[test]
    fn long_lines_are_found_in_sources_only() {
        let line = "x".repeat(101);
        assert_eq!(rules("a.rs", &line), ["columns"]);
        assert_eq!(rules("a.rs", &line[1..]), [""; 0]);
        assert_eq!(rules("a.md", &line), [""; 0]);
    }

    #[test]
    fn text_that_is_not_ascii_is_found_in_sources_only() {
        assert_eq!(rules("a.rs", "// \u{e9}"), ["ascii"]);
        assert_eq!(rules("a.md", "\u{e9}"), [""; 0]);
    }

    #[test]
    fn paths_of_the_build_are_found() {
        assert_eq!(rules("a.rs", &format!("let a = {MANIFEST_DIRECTORY};")), ["paths"]);
        assert_eq!(rules("a.rs", "let a = var_os(\"CARGO_MANIFEST_DIR\");"), [""; 0]);
    }

    #[test]
    fn tabs_and_trailing_blanks_are_found() {
        assert_eq!(rules("a.toml", "a\tb\nc \n"), ["blanks", "blanks"]);
        assert_eq!(rules("a.slt", "a\tb\n"), [""; 0]);
    }

    #[test]
    fn leftovers_are_found_in_code_and_comments() {
        assert_eq!(rules("a.rs", "fn a() { dbg!(1); }"), ["leftover"]);
        assert_eq!(rules("a.rs", "fn a() { todo!() }"), ["leftover"]);
        assert_eq!(rules("a.rs", &format!("// {} later", REMINDERS[0])), ["leftover"]);
        assert_eq!(rules("a.rs", &format!("let a = \"{}\";", REMINDERS[1])), [""; 0]);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        let folder = MACHINE_FOLDERS[0];
        assert_eq!(rules("a.md", &format!("see /{folder}/main")), ["paths"]);
        assert_eq!(rules("a.md", &format!("see net/{folder}/main")), [""; 0]);
    }
}
