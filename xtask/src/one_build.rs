//! `cargo run` and `cargo test --workspace` build their dependencies once, not twice.
//!
//! Cargo unifies the features of a dependency over the packages that one command builds, tests
//! included. If a test dependency switches on a feature of a package deep below DataFusion, the two
//! commands disagree, and each switch between them compiles DataFusion again: minutes on two cores.
//!
//! 1. `cargo tree` lists every package below `nacre` with its features.
//! 2. The same for the whole workspace with test dependencies.
//! 3. A set of features that only the first list has means a second build.
//!
//! The remedy is to ask for the missing features in a crate that `nacre` uses, with a comment.

use std::collections::BTreeMap;
use std::path::Path;

use crate::metadata;
use crate::report::{Failure, Finding};

/// Features of our crates that their own tests switch on: only our crates are built twice.
const OWN_TESTS: [(&str, &str); 1] = [("nacre-pmem", "sim")];

/// Features, comma-separated, of each build of a package; host and target builds may differ.
type Builds<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// Compares the two commands in the workspace under `root`.
///
/// # Errors
/// `cargo tree` fails.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>, Failure> {
    let tree = |selection: &[&str]| {
        let fixed = ["tree", "--locked", "--prefix", "none", "--format", "{p}|{f}"];
        metadata::cargo(root, &[&fixed[..], selection].concat())
    };
    let run = tree(&["--package", "nacre", "--edges", "normal,build"])?;
    let test = tree(&["--workspace", "--edges", "normal,build,dev"])?;
    Ok(compare(&builds(&run), &builds(&test)))
}

fn builds(tree: &str) -> Builds<'_> {
    let mut builds = Builds::new();
    for line in tree.lines() {
        let Some((package, features)) = line.split_once('|') else {
            continue;
        };
        let features = features.trim_end_matches("(*)").trim_end();
        let name = package.split_once(' ').map_or(package, |(name, _)| name);
        let features = if OWN_TESTS.contains(&(name, features)) { "" } else { features };
        let known = builds.entry(package).or_default();
        if !known.contains(&features) {
            known.push(features);
        }
    }
    builds
}

fn compare(run: &Builds<'_>, test: &Builds<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (package, run_builds) in run {
        let test_builds = test.get(package).map(Vec::as_slice).unwrap_or_default();
        for features in run_builds.iter().filter(|features| !test_builds.contains(features)) {
            let message = format!(
                "cargo run builds it with [{features}], cargo test --workspace with [{}]",
                test_builds.join("] and [")
            );
            findings.push(Finding::new(*package, "one-build", message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_features_are_one_build() {
        let run = builds("nacre v1|\na v1|std\nb v2|\n");
        let test = builds("nacre v1|\na v1|std (*)\nb v2|\nb v2|std\nc v1|x\n");
        assert_eq!(compare(&run, &test), []);
    }

    #[test]
    fn feature_from_a_test_dependency_is_found() {
        let run = builds("a v1|");
        let test = builds("a v1|std");
        assert_eq!(compare(&run, &test).len(), 1);
    }
}
