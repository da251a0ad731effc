//! Writes the metrics in Prometheus' text format, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use nacre_sql::Database;

use super::counters::{Counters, KINDS};
use crate::options::ServerOptions;

/// The text as it grows.
struct Text(String);

impl Text {
    /// Begins a family of samples.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (number, (label, text)) in labels.iter().enumerate() {
            let before = if number == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(text));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    /// A family of one sample.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns all metrics; maps pools that are not mapped yet, so it may wait for a device.
pub(super) fn metrics(
    database: &Database,
    counters: &Counters,
    options: &ServerOptions,
    sessions: usize,
) -> String {
    let mut text = Text(String::new());
    let version = env!("CARGO_PKG_VERSION");
    text.family("nacre_build_info", "gauge", "The version of the program; always 1.");
    text.sample("nacre_build_info", &[("version", version)], 1);
    let up = counters.started.elapsed().as_secs();
    text.single("nacre_uptime_seconds", "gauge", "Time since the server was started.", up);
    of_sessions(&mut text, counters, options, sessions);
    of_statements(&mut text, counters);
    of_store(&mut text, database);
    text.0
}

fn of_sessions(text: &mut Text, counters: &Counters, options: &ServerOptions, sessions: usize) {
    text.single("nacre_sessions", "gauge", "Sessions that there are.", sessions);
    let help = "Sessions that there may be.";
    text.single("nacre_sessions_max", "gauge", help, options.connections_max);
    let help = "Sessions that began.";
    text.single("nacre_sessions_begun_total", "counter", help, counters.sessions());
    let help = "Connections that were not let in.";
    text.single("nacre_connections_refused_total", "counter", help, counters.refusals());
}

fn of_statements(text: &mut Text, counters: &Counters) {
    let name = "nacre_statements_total";
    text.family(name, "counter", "Statements that came to their end, by kind.");
    for (kind, count) in KINDS.iter().zip(counters.statements()) {
        text.sample(name, &[("kind", kind)], count);
    }
    let name = "nacre_statement_errors_total";
    text.family(name, "counter", "Statements and commits that failed, by SQLSTATE.");
    for (sqlstate, count) in counters.failures() {
        text.sample(name, &[("sqlstate", &sqlstate)], count);
    }
    let help = "Rows that COPY wrote to tables or to clients.";
    text.single("nacre_copied_rows_total", "counter", help, counters.copied_rows());
}

fn of_store(text: &mut Text, database: &Database) {
    let store = database.store();
    let help = "Number of the last commit that changed something.";
    text.single("nacre_commits_total", "counter", help, store.last_commit().0);
    let help = "Transactions that have not ended.";
    text.single("nacre_transactions", "gauge", help, store.transactions().len());
    let help = "Older versions of rows that are kept.";
    text.single("nacre_row_versions", "gauge", help, store.version_count());
    let redo = store.redo_info();
    text.single("nacre_redo_log_bytes", "gauge", "Bytes of the redo log.", redo.bytes);
    if let Some(age) = redo.checkpoint_age {
        let help = "Time since the redo log was truncated last.";
        text.single("nacre_checkpoint_age_seconds", "gauge", help, age.as_secs());
    }
    let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
    for replica in store.replicas() {
        *bytes.entry(replica.domain).or_default() += replica.bytes;
    }
    let name = "nacre_replica_bytes";
    text.family(name, "gauge", "Bytes of replicas of columns, by memory domain.");
    for (domain, bytes) in bytes {
        text.sample(name, &[("domain", &domain)], bytes);
    }
    let mut written: BTreeMap<(String, String), u64> = BTreeMap::new();
    for wear in store.wear() {
        *written.entry((wear.domain, wear.cause.to_string())).or_default() += wear.bytes;
    }
    let name = "nacre_written_bytes_total";
    text.family(name, "counter", "Bytes written by memory domain and cause, such as repair.");
    for ((domain, cause), bytes) in written {
        text.sample(name, &[("domain", &domain), ("cause", &cause)], bytes);
    }
    let help = "Memory domains that are not there.";
    text.single("nacre_missing_domains", "gauge", help, store.missing_domains().len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut text = Text(String::new());
        text.sample("a", &[("b", "\"\\\n"), ("c", "d")], 1);
        text.sample("e", &[], 0.5);
        assert_eq!(text.0, "a{b=\"\\\"\\\\\\n\",c=\"d\"} 1\ne 0.5\n");
    }
}
