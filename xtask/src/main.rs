//! Checks over the source tree: `cargo run -p xtask -- COMMAND`, or `cargo test -p xtask`.
//!
//! What the compiler and clippy do not enforce and a reader relies on:
//!
//! 1. `tidy`: the form of sources and documents ([`tidy`]).
//! 2. `layering`: which crate may use which ([`layering`]).
//! 3. `licences`: every dependency is covered by `deny.toml` ([`licences`]).
//! 4. `one-build`: `cargo run` and `cargo test --workspace` share their build ([`one_build`]).
//! 5. `all`: the four above. `test-command` prints the test command that the README promises.
//!
//! # Invariants
//! 1. Knows nothing of databases and depends on `serde_json` only, so it builds in seconds.
//! 2. Changes no file: every check reads and reports.
//! 3. Every rule has a test with a sample that breaks it and one that keeps it.

#![forbid(unsafe_code)]

mod layering;
mod licences;
mod metadata;
mod one_build;
mod report;
mod rust_text;
mod tidy;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;

use metadata::Workspace;
use report::{Failure, Finding};
use tree::Tree;

const USAGE: &str = "usage: cargo run -p xtask -- \
                     tidy | layering | licences | one-build | all | test-command";

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    if command == "test-command" {
        return print_test_command();
    }
    let checks: &[Check] = match command.as_str() {
        "tidy" => &[tidy_findings],
        "layering" => &[layering_findings],
        "licences" => &[licences::check],
        "one-build" => &[one_build::check],
        "all" => &[tidy_findings, layering_findings, licences::check, one_build::check],
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut count = 0;
    for check in checks {
        match check(&root()) {
            Ok(findings) => {
                count += findings.len();
                findings.iter().for_each(|finding| println!("{finding}"));
            }
            Err(failure) => {
                eprintln!("xtask {command}: {failure}");
                return ExitCode::from(2);
            }
        }
    }
    if count > 0 {
        eprintln!("xtask {command}: {count} findings");
        return ExitCode::FAILURE;
    }
    println!("xtask {command}: ok");
    ExitCode::SUCCESS
}

/// One check over the tree whose root is given.
type Check = fn(&std::path::Path) -> Result<Vec<Finding>, Failure>;

/// Returns the root of the repository: the folder above this package. Cargo names the package that
/// it runs, so that a build shared by several clones looks at the one it was called in; without it,
/// the present folder is taken.
fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let above = package.as_deref().and_then(std::path::Path::parent);
    above.map_or_else(|| PathBuf::from("."), PathBuf::from)
}

fn tidy_findings(root: &std::path::Path) -> Result<Vec<Finding>, Failure> {
    tidy::check(&Tree::read(root)?, &Workspace::read(root)?)
}

fn layering_findings(root: &std::path::Path) -> Result<Vec<Finding>, Failure> {
    Ok(layering::check(&Workspace::read(root)?.packages))
}

fn print_test_command() -> ExitCode {
    match Tree::read(&root()).and_then(|tree| tidy::test_command(&tree)) {
        Ok(command) => {
            println!("{command}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("xtask test-command: {failure}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_clean(findings: Result<Vec<Finding>, Failure>) {
        match findings {
            Ok(findings) => {
                let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
                assert!(lines.is_empty(), "{} findings:\n{}", lines.len(), lines.join("\n"));
            }
            Err(failure) => panic!("{failure}"),
        }
    }

    #[test]
    fn this_tree_is_tidy() {
        assert_clean(tidy_findings(&root()));
    }

    #[test]
    fn this_workspace_keeps_its_layers() {
        assert_clean(layering_findings(&root()));
    }

    #[test]
    fn licences_of_this_workspace_are_allowed() {
        assert_clean(licences::check(&root()));
    }

    #[test]
    fn run_and_test_share_one_build() {
        assert_clean(one_build::check(&root()));
    }
}
