//! Which crate may use which, and where unsafe code, Arrow and `async` are allowed.
//!
//! [`CRATES`] is the norm; the order is lowest first. Edges are checked for every kind of
//! dependency, also for tests: a test that needs a higher crate belongs into that crate.
//!
//! # Invariants
//! 1. A crate uses only crates that stand above it in the table and in its `may_use`.
//! 2. `nacre-bench` is used by `nacre` alone, behind a feature (decision 0002).
//! 3. DataFusion and Arrow are known only where `knows_arrow` is set.
//! 4. Crates below execution are not `async`.

use crate::metadata::Package;
use crate::report::Finding;

/// What a crate may do about unsafe code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnsafeCode {
    /// `#![forbid(unsafe_code)]` in every root.
    Forbidden,
    /// `#![deny(unsafe_code)]` in every root, allowed per module with a reason.
    Denied,
    /// Allowed; each block says why it is sound.
    Allowed,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct CrateRule {
    pub(crate) name: &'static str,
    /// Our crates that it may use.
    may_use: &'static [&'static str],
    /// Our crates that it may use only as optional dependencies.
    may_use_optionally: &'static [&'static str],
    pub(crate) unsafe_code: UnsafeCode,
    knows_arrow: bool,
    is_async: bool,
}

const fn low(
    name: &'static str,
    may_use: &'static [&'static str],
    unsafe_code: UnsafeCode,
) -> CrateRule {
    let may_use_optionally = &[];
    CrateRule {
        name,
        may_use,
        may_use_optionally,
        unsafe_code,
        knows_arrow: false,
        is_async: false,
    }
}

const fn high(
    name: &'static str,
    may_use: &'static [&'static str],
    unsafe_code: UnsafeCode,
) -> CrateRule {
    let may_use_optionally = &[];
    CrateRule { name, may_use, may_use_optionally, unsafe_code, knows_arrow: true, is_async: true }
}

/// All crates of the workspace, lowest first. Rows of crates that do not exist yet are kept, so
/// that they come into being in their place.
pub(crate) const CRATES: [CrateRule; 17] = [
    low("nacre-access", &[], UnsafeCode::Forbidden),
    low("nacre-pmem", &[], UnsafeCode::Allowed),
    low("nacre-simd", &[], UnsafeCode::Allowed),
    low("nacre-types", &[], UnsafeCode::Forbidden),
    low("nacre-column", &["nacre-pmem", "nacre-simd"], UnsafeCode::Denied),
    low("nacre-store", &["nacre-pmem", "nacre-simd", "nacre-column"], UnsafeCode::Denied),
    low("nacre-syntax", &[], UnsafeCode::Forbidden),
    low("nacre-functions", &["nacre-types"], UnsafeCode::Forbidden),
    low("nacre-plan", &["nacre-types", "nacre-syntax", "nacre-functions"], UnsafeCode::Forbidden),
    CrateRule {
        is_async: true,
        ..low(
            "nacre-exec",
            &[
                "nacre-simd",
                "nacre-types",
                "nacre-column",
                "nacre-store",
                // In tests alone, which begin with the text of a statement.
                "nacre-syntax",
                "nacre-functions",
                "nacre-plan",
            ],
            UnsafeCode::Denied,
        )
    },
    CrateRule {
        is_async: true,
        ..low(
            "nacre-ingest",
            &["nacre-pmem", "nacre-simd", "nacre-column", "nacre-store", "nacre-exec"],
            UnsafeCode::Forbidden,
        )
    },
    high(
        "nacre-sql",
        &[
            "nacre-access",
            "nacre-types",
            "nacre-column",
            "nacre-store",
            "nacre-syntax",
            "nacre-functions",
            "nacre-plan",
            "nacre-exec",
            "nacre-ingest",
        ],
        UnsafeCode::Forbidden,
    ),
    high("nacre-cluster", &["nacre-store", "nacre-exec", "nacre-sql"], UnsafeCode::Forbidden),
    high(
        "nacre-server",
        &["nacre-access", "nacre-types", "nacre-sql", "nacre-cluster"],
        UnsafeCode::Forbidden,
    ),
    high(
        "nacre-bench",
        &[
            "nacre-pmem",
            "nacre-simd",
            "nacre-column",
            "nacre-store",
            "nacre-exec",
            "nacre-ingest",
            "nacre-sql",
            "nacre-cluster",
            "nacre-server",
        ],
        UnsafeCode::Denied,
    ),
    CrateRule {
        may_use_optionally: &["nacre-bench"],
        ..high(
            "nacre",
            &[
                "nacre-access",
                "nacre-pmem",
                "nacre-simd",
                "nacre-types",
                "nacre-column",
                "nacre-store",
                "nacre-exec",
                "nacre-ingest",
                "nacre-sql",
                "nacre-cluster",
                "nacre-server",
            ],
            UnsafeCode::Forbidden,
        )
    },
    low("xtask", &[], UnsafeCode::Forbidden),
];

/// Beginnings of the names that belong to DataFusion and Arrow.
const ARROW: [&str; 4] = ["arrow", "datafusion", "parquet", "sqlparser"];

/// Beginnings of the names that make a crate `async`.
const ASYNC: [&str; 3] = ["tokio", "futures", "async-"];

/// Returns the row of the crate `name`.
pub(crate) fn rule_of(name: &str) -> Option<&'static CrateRule> {
    CRATES.iter().find(|rule| rule.name == name)
}

/// Checks the dependencies of our packages against the table.
pub(crate) fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        match rule_of(&package.name) {
            Some(rule) => check_package(package, rule, &mut findings),
            None => findings.push(finding(
                package,
                "is in no row of the table in xtask/src/layering.rs".to_owned(),
            )),
        }
    }
    findings
}

fn check_package(package: &Package, rule: &CrateRule, findings: &mut Vec<Finding>) {
    let starts = |name: &str, list: &[&str]| list.iter().any(|start| name.starts_with(start));
    for dependency in &package.dependencies {
        let name = dependency.name.as_str();
        if name == package.name {
            // Its tests switch on a feature of the crate itself.
            continue;
        }
        if rule_of(name).is_some() {
            if rule.may_use_optionally.contains(&name) {
                if !dependency.is_optional {
                    findings.push(finding(package, format!("may use {name} only as optional")));
                }
            } else if !rule.may_use.contains(&name) {
                let allowed = match rule.may_use {
                    [] => "none of our crates".to_owned(),
                    names => format!("only {}", names.join(", ")),
                };
                findings.push(finding(package, format!("uses {name}, but may use {allowed}")));
            }
        } else if starts(name, &ARROW) && !rule.knows_arrow {
            findings.push(finding(
                package,
                format!("uses {name}, but only nacre-sql and above know DataFusion and Arrow"),
            ));
        } else if starts(name, &ASYNC) && !rule.is_async {
            findings.push(finding(
                package,
                format!("uses {name}, but nothing below nacre-exec is async"),
            ));
        }
    }
}

fn finding(package: &Package, message: String) -> Finding {
    Finding::new(&package.name, "layering", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    fn package(name: &str, dependencies: &[(&str, bool)]) -> Package {
        let dependencies = dependencies
            .iter()
            .map(|&(name, is_optional)| Dependency { name: name.to_owned(), is_optional })
            .collect();
        Package { name: name.to_owned(), dependencies, ..Package::default() }
    }

    fn count(name: &str, dependencies: &[(&str, bool)]) -> usize {
        check(&[package(name, dependencies)]).len()
    }

    #[test]
    fn table_has_no_edge_upwards() {
        for (index, rule) in CRATES.iter().enumerate() {
            for used in rule.may_use.iter().chain(rule.may_use_optionally) {
                let below = CRATES[..index].iter().any(|lower| lower.name == *used);
                assert!(below, "{} may use {used}, which is not below it", rule.name);
            }
        }
    }

    #[test]
    fn tests_may_switch_on_a_feature_of_their_own_crate() {
        assert_eq!(count("nacre-pmem", &[("nacre-pmem", false)]), 0);
    }

    #[test]
    fn edge_downwards_is_accepted() {
        assert_eq!(count("nacre-store", &[("nacre-column", false), ("crc32c", false)]), 0);
    }

    #[test]
    fn edge_that_is_not_in_the_table_is_found() {
        assert_eq!(count("nacre-column", &[("nacre-store", false)]), 1);
        assert_eq!(count("nacre-sql", &[("nacre-bench", true)]), 1);
    }

    #[test]
    fn bench_is_optional_for_the_binary() {
        assert_eq!(count("nacre", &[("nacre-bench", true)]), 0);
        assert_eq!(count("nacre", &[("nacre-bench", false)]), 1);
    }

    #[test]
    fn arrow_is_known_at_the_sql_edge_and_above() {
        assert_eq!(count("nacre-sql", &[("datafusion", false), ("tokio", false)]), 0);
        assert_eq!(count("nacre-ingest", &[("arrow-array", false)]), 1);
        assert_eq!(count("nacre-ingest", &[("tokio", false)]), 0);
        assert_eq!(count("nacre-store", &[("futures-util", false)]), 1);
    }

    #[test]
    fn crate_without_a_row_is_found() {
        assert_eq!(count("nacre-common", &[]), 1);
    }
}
