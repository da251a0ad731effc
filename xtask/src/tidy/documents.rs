//! Documents name files that exist, and the README holds the test command.
//!
//! | rule | what is found |
//! |---|---|
//! | `link` | a Markdown link to a file that is not there |
//! | `mention` | a path in backticks below one of [`FOLDERS`] that is not there |
//! | `test-command` | a README without exactly one code block marked [`MARKER`] |
//!
//! Code blocks and, for links, code spans are left out. Links with a scheme and links within a page
//! are not followed.

use super::modules::join;
use crate::report::{Failure, Finding};
use crate::tree::{SourceFile, Tree};

/// Stands after the language on the first line of the code block that CI runs:
/// three backticks, `sh test-command`.
const MARKER: &str = "test-command";

const README: &str = "README.md";

/// Folders whose mention in backticks must be true.
const FOLDERS: [&str; 6] = ["crates/", "docs/", "fuzz/", "tests/", "xtask/", ".ci/"];

/// Checks all documents of `tree`.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.extension() == "md") {
        check_document(tree, file, &mut findings);
    }
    if let Err(failure) = test_command(tree) {
        findings.push(Finding::new(README, "test-command", failure.to_string()));
    }
    findings
}

/// Returns the test command that the README promises, one command a line.
///
/// If lines of the block start with `$ `, those are the commands and the rest is their output;
/// otherwise every line is a command.
///
/// # Errors
/// There is not exactly one marked block, or it is empty.
pub(crate) fn test_command(tree: &Tree) -> Result<String, Failure> {
    let readme = tree.file(README).ok_or_else(|| Failure(format!("{README} is absent")))?;
    let mut blocks = Vec::new();
    let mut lines = readme.text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        let block = lines.by_ref().take_while(|line| !line.trim_start().starts_with("```"));
        let block: Vec<&str> = block.map(str::trim).filter(|line| !line.is_empty()).collect();
        if info.split_whitespace().any(|word| word == MARKER) {
            blocks.push(block);
        }
    }
    let [block] = &blocks[..] else {
        let count = blocks.len();
        return Err(Failure(format!("{count} code blocks are marked `{MARKER}`, 1 expected")));
    };
    let prompted: Vec<&str> = block.iter().filter_map(|line| line.strip_prefix("$ ")).collect();
    let commands = if prompted.is_empty() { block.clone() } else { prompted };
    if commands.is_empty() {
        return Err(Failure(format!("the code block marked `{MARKER}` is empty")));
    }
    Ok(commands.join("\n"))
}

fn check_document(tree: &Tree, file: &SourceFile, findings: &mut Vec<Finding>) {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut in_block = false;
    for (index, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        if in_block {
            continue;
        }
        // Odd parts of the split stand between backticks.
        let parts: Vec<&str> = line.split('`').collect();
        for span in parts.iter().skip(1).step_by(2) {
            if is_mention(span) && !tree.exists(span.trim_end_matches('/')) {
                let message = format!("`{span}` does not exist");
                findings.push(Finding::at(&file.path, index + 1, "mention", message));
            }
        }
        let text: Vec<&str> = parts.iter().step_by(2).copied().collect();
        for target in targets(&text.join("")) {
            let path = target.split('#').next().unwrap_or_default();
            let is_followed = !path.is_empty() && !path.contains(':');
            if is_followed && !tree.exists(&join(folder, path)) {
                let message = format!("link to {target}, which does not exist");
                findings.push(Finding::at(&file.path, index + 1, "link", message));
            }
        }
    }
}

fn is_mention(span: &str) -> bool {
    let is_path_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    FOLDERS.iter().any(|folder| span.starts_with(folder)) && span.chars().all(is_path_char)
}

/// Returns the targets of `[text](target)` and of the definition `[text]: target`.
fn targets(line: &str) -> Vec<&str> {
    let mut found: Vec<&str> = line
        .match_indices("](")
        .filter_map(|(start, _)| line[start + 2..].split([')', ' ']).next())
        .collect();
    if line.starts_with('[')
        && let Some((_, target)) = line.split_once("]: ")
    {
        found.extend(target.split_whitespace().next());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD_README: (&str, &str) = ("README.md", "```sh test-command\ncargo test\n```\n");

    fn rules(document: &str) -> Vec<&'static str> {
        let tree = Tree::from_files(&[
            GOOD_README,
            ("docs/a.md", document),
            ("docs/b.md", ""),
            ("crates/x/src/lib.rs", ""),
        ]);
        check(&tree).iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn links_to_files_that_exist_are_accepted() {
        let text = "[b](b.md) [c](../crates/x/src/lib.rs#L1 \"t\") [d](#top)\n\
                    [e](https://example.org/x.md)\n[f]: ../README.md\n";
        assert_eq!(rules(text), [""; 0]);
    }

    #[test]
    fn links_to_files_that_do_not_exist_are_found() {
        assert_eq!(rules("see [c](c.md) and [`d`](../d.md)"), ["link", "link"]);
        assert_eq!(rules("[f]: f.md\n"), ["link"]);
    }

    #[test]
    fn code_is_not_followed() {
        assert_eq!(rules("```\n[c](c.md)\n```\n`[c](c.md)`\n"), [""; 0]);
    }

    #[test]
    fn mentioned_paths_exist() {
        assert_eq!(rules("`crates/x/` and `docs/b.md` and `crates/NAME/x*`"), ["mention"; 0]);
        assert_eq!(rules("`crates/y/src/lib.rs`"), ["mention"]);
    }

    #[test]
    fn test_command_is_read_from_the_marked_block() {
        let command = |text: &str| test_command(&Tree::from_files(&[("README.md", text)]));
        assert_eq!(command(GOOD_README.1).unwrap(), "cargo test");
        let prompted =
            "```\nother\n```\n```console test-command\n$ cargo test\nok. 3 passed\n```\n";
        assert_eq!(command(prompted).unwrap(), "cargo test");
        assert!(command("```sh\ncargo test\n```\n").is_err());
        assert!(command("```sh test-command\n```\n").is_err());
        assert!(command(&GOOD_README.1.repeat(2)).is_err());
        assert!(test_command(&Tree::from_files(&[])).is_err());
    }
}
