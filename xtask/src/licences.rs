//! Every dependency comes from crates.io under a licence that `deny.toml` allows.
//!
//! Repeats the part of `cargo deny check licenses sources` that must hold on every change, without
//! needing that tool. Advisories need a network and are left to it.
//!
//! 1. The targets and the allow list are read from `deny.toml`.
//! 2. `cargo metadata` lists what is built for those targets with all features.
//! 3. Each SPDX expression is evaluated: one side of an `OR`, both sides of an `AND`. The old
//!    form `A/B` means `A OR B`.

use std::path::Path;

use crate::metadata::{self, Package};
use crate::report::{Failure, Finding};

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks the dependencies of the workspace under `root`.
///
/// # Errors
/// `deny.toml` or the output of cargo cannot be read.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>, Failure> {
    let text = std::fs::read_to_string(root.join("deny.toml"))
        .map_err(|error| Failure(format!("cannot read deny.toml: {error}")))?;
    let missing = |key: &str| Failure(format!("deny.toml has no list {key}"));
    let allow = string_list(&text, "licenses", "allow").ok_or_else(|| missing("licenses.allow"))?;
    let targets = string_list(&text, "graph", "targets").ok_or_else(|| missing("graph.targets"))?;
    let mut arguments = vec!["metadata", "--locked", "--all-features", "--format-version", "1"];
    for target in &targets {
        arguments.extend(["--filter-platform", target]);
    }
    let packages = metadata::packages(&metadata::cargo(root, &arguments)?, root)?;
    Ok(packages.iter().filter_map(|package| check_package(package, &allow)).collect())
}

fn check_package(package: &Package, allow: &[String]) -> Option<Finding> {
    let place = format!("{} {}", package.name, package.version);
    if let Some(source) = package.source.as_deref().filter(|source| *source != CRATES_IO) {
        return Some(Finding::new(place, "source", format!("{source} is not crates.io")));
    }
    let Some(expression) = package.license.as_deref() else {
        return Some(Finding::new(place, "licence", "names no SPDX expression"));
    };
    match is_allowed(expression, allow) {
        Some(true) => None,
        Some(false) => {
            let message = format!("{expression} is not covered by licenses.allow in deny.toml");
            Some(Finding::new(place, "licence", message))
        }
        None => Some(Finding::new(place, "licence", format!("cannot parse {expression}"))),
    }
}

/// Returns the strings of `key = ["a", "b"]` in `[table]`; just enough TOML for `deny.toml`.
fn string_list(text: &str, table: &str, key: &str) -> Option<Vec<String>> {
    let header = format!("[{table}]");
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != header).skip(1);
    let mut list = String::new();
    let mut line = lines.by_ref().take_while(|line| !line.starts_with('[')).find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then(|| value.trim_start())
    })?;
    line = line.strip_prefix('[')?;
    loop {
        let content = line.split('#').next().unwrap_or_default();
        match content.split_once(']') {
            Some((last, _)) => {
                list.push_str(last);
                break;
            }
            None => list.push_str(content),
        }
        line = lines.next()?;
    }
    let items = list.split(',').map(str::trim).filter(|item| !item.is_empty());
    items.map(|item| Some(item.strip_prefix('"')?.strip_suffix('"')?.to_owned())).collect()
}

/// Tells whether `allow` covers the SPDX `expression`; none if it cannot be parsed.
fn is_allowed(expression: &str, allow: &[String]) -> Option<bool> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let value = any_of(&tokens, &mut at, allow)?;
    (at == tokens.len()).then_some(value)
}

/// `all_of (OR all_of)*`
fn any_of(tokens: &[&str], at: &mut usize, allow: &[String]) -> Option<bool> {
    let mut value = all_of(tokens, at, allow)?;
    while tokens.get(*at) == Some(&"OR") {
        *at += 1;
        value |= all_of(tokens, at, allow)?;
    }
    Some(value)
}

/// `licence (AND licence)*`
fn all_of(tokens: &[&str], at: &mut usize, allow: &[String]) -> Option<bool> {
    let mut value = licence(tokens, at, allow)?;
    while tokens.get(*at) == Some(&"AND") {
        *at += 1;
        value &= licence(tokens, at, allow)?;
    }
    Some(value)
}

/// `"(" any_of ")"` or `id (WITH exception)?`
fn licence(tokens: &[&str], at: &mut usize, allow: &[String]) -> Option<bool> {
    let first = *tokens.get(*at)?;
    *at += 1;
    match first {
        "(" => {
            let value = any_of(tokens, at, allow)?;
            *at += 1;
            (tokens.get(*at - 1) == Some(&")")).then_some(value)
        }
        ")" | "OR" | "AND" | "WITH" => None,
        id if tokens.get(*at) == Some(&"WITH") => {
            let full = format!("{id} WITH {}", tokens.get(*at + 1)?);
            *at += 2;
            Some(allow.contains(&full))
        }
        id => Some(allow.iter().any(|allowed| allowed == id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow(list: &[&str]) -> Vec<String> {
        list.iter().map(|&item| item.to_owned()).collect()
    }

    #[test]
    fn expressions_follow_spdx() {
        let list = allow(&["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"]);
        for (expression, expected) in [
            ("MIT", Some(true)),
            ("GPL-3.0-only", Some(false)),
            ("GPL-3.0-only OR MIT", Some(true)),
            ("Unlicense/MIT", Some(true)),
            ("MIT AND BSD-3-Clause", Some(false)),
            ("(MIT OR Apache-2.0) AND Zlib", Some(true)),
            ("GPL-2.0-only OR MIT AND Zlib", Some(true)),
            ("Apache-2.0 WITH LLVM-exception", Some(true)),
            ("Apache-2.0", Some(false)),
            ("MIT OR", None),
            ("(MIT", None),
            ("MIT Zlib", None),
            ("", None),
        ] {
            assert_eq!(is_allowed(expression, &list), expected, "{expression}");
        }
    }

    #[test]
    fn package_needs_an_allowed_licence_and_source() {
        let list = allow(&["MIT"]);
        let package = |license: Option<&str>, source: Option<&str>| Package {
            license: license.map(str::to_owned),
            source: source.map(str::to_owned),
            ..Package::default()
        };
        assert_eq!(check_package(&package(Some("MIT"), Some(CRATES_IO)), &list), None);
        assert_eq!(check_package(&package(Some("MIT"), None), &list), None);
        let rule = |package: &Package| check_package(package, &list).map(|finding| finding.rule);
        assert_eq!(rule(&package(Some("Zlib"), None)), Some("licence"));
        assert_eq!(rule(&package(None, None)), Some("licence"));
        assert_eq!(rule(&package(Some("MIT"), Some("git+https://x"))), Some("source"));
    }

    #[test]
    fn lists_are_read_from_toml() {
        let text = concat!(
            "[graph]\ntargets = [\"a\"]\n\n",
            "[licenses]\nx = 1\nallow = [\n  \"MIT\", # why\n  \"B\",\n]\n",
        );
        assert_eq!(string_list(text, "licenses", "allow"), Some(allow(&["MIT", "B"])));
        assert_eq!(string_list(text, "graph", "targets"), Some(allow(&["a"])));
        assert_eq!(string_list(text, "graph", "allow"), None);
        assert_eq!(string_list("[a]\nb = [\"c\"", "a", "b"), None);
        assert_eq!(string_list("[a]\nb = [c]", "a", "b"), None);
    }
}
