//! Every `NACRE_` variable, in one place.
//!
//! Nacre needs no configuration. The variables force a choice that is otherwise made by looking at
//! the machine, so that one machine can test them all; what cannot be followed is an error that
//! names the variable, not a silent fallback.

use std::fmt::Write;

/// A variable of the environment that Nacre reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// What it may be set to.
    pub values: &'static str,
    /// What happens without it.
    pub default: &'static str,
    /// What it decides.
    pub meaning: &'static str,
}

/// Every variable.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "NACRE_SIMD",
        values: "scalar sse4.2 avx2 avx512 neon",
        default: "the widest here",
        meaning: "instruction set of scans and loads",
    },
    Setting {
        name: "NACRE_FLUSH",
        values: "clflush clflushopt clwb msync none",
        default: "the best here",
        meaning: "how bytes are made durable; none turns durability off",
    },
    Setting {
        name: "NACRE_STREAM",
        values: "none sse2 avx avx512",
        default: "the widest here",
        meaning: "how new blocks are written to mapped memory",
    },
    Setting {
        name: "NACRE_DOMAIN_KIND",
        values: "pmem file shm",
        default: "probed",
        meaning: "what a domain is taken for; shm emulates pmem",
    },
    Setting {
        name: "NACRE_GRANULARITY",
        values: "byte cache_line page",
        default: "that of the kind",
        meaning: "what must be flushed to be durable",
    },
    Setting {
        name: "NACRE_LARGE_PAGES",
        values: "auto off",
        default: "auto",
        meaning: "whether pools in memory are mapped by 2 MiB pages",
    },
    Setting {
        name: "NACRE_PROFILE",
        values: "a file, or empty for none",
        default: "$XDG_CONFIG_HOME/nacre/profile",
        meaning: "what `nacre calibrate` measured; decides how replicas are written",
    },
    Setting {
        name: "NACRE_SCRUB_HOURS",
        values: "a whole number, 0 for never",
        default: "168",
        meaning: "how often a database that stays open is scrubbed",
    },
    Setting {
        name: "NACRE_CHECKPOINT_MIB",
        values: "a whole number, 0 for never",
        default: "128",
        meaning: "by how much the redo log grows before cold rows are frozen and it is truncated",
    },
    Setting {
        name: "NACRE_QUERY_MEMORY_MIB",
        values: "a whole number, 0 for no limit",
        default: "2/3 of the memory",
        meaning: "what all queries of a database together may take",
    },
    Setting {
        name: "NACRE_SPILL_MIB",
        values: "a whole number, 0 for no limit",
        default: "102400",
        meaning: "what temporary files of queries may take; TMPDIR names their directory",
    },
    Setting {
        name: "NACRE_LOG",
        values: "off error warn info debug trace, PART=LEVEL",
        default: "info",
        meaning: "what `nacre serve` logs; --log-level overrules it",
    },
    Setting {
        name: "NACRE_PASSWORD",
        values: "a text",
        default: "none",
        meaning: "the password that `nacre serve` gives the superuser while it has none",
    },
    Setting {
        name: "NACRE_HISTORY",
        values: "a file, or empty for none",
        default: "$XDG_STATE_HOME/nacre/history",
        meaning: "where the shell keeps its history",
    },
];

/// Returns the variables as a text table.
pub fn table() -> String {
    let mut text = String::from("Environment (nothing needs to be set):\n");
    let width = |column: fn(&Setting) -> usize| SETTINGS.iter().map(column).max().unwrap_or(0);
    let (names, values) = (width(|s| s.name.len()), width(|s| s.values.len()));
    for Setting { name, values: allowed, default, meaning } in SETTINGS {
        let _ = writeln!(text, "  {name:names$}  {allowed:values$}  {meaning} [{default}]");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Collects `"NACRE_..."` string literals of all `.rs` files below a directory.
    fn collect(directory: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                for piece in text.split("\"NACRE_").skip(1) {
                    let name: String =
                        piece.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect();
                    // Tests beside the sources have variables of their own.
                    let is_ours = !name.is_empty() && !name.starts_with("TEST_");
                    if is_ours && piece[name.len()..].starts_with('"') {
                        found.insert(format!("NACRE_{name}"));
                    }
                }
            }
        }
    }

    #[test]
    fn every_variable_that_the_sources_read_is_listed() {
        let crates = Path::new("..");
        let mut found = BTreeSet::new();
        for entry in std::fs::read_dir(crates).unwrap() {
            let sources = entry.unwrap().path().join("src");
            if sources.is_dir() && !sources.starts_with(crates.join("nacre-bench")) {
                collect(&sources, &mut found);
            }
        }
        let listed: BTreeSet<String> =
            SETTINGS.iter().map(|setting| setting.name.to_owned()).collect();
        assert_eq!(found, listed);
    }

    #[test]
    fn table_names_each_variable_once() {
        for setting in SETTINGS {
            assert_eq!(table().matches(setting.name).count(), 1, "{}", setting.name);
        }
    }
}
