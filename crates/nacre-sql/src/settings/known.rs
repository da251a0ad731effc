//! The settings that Nacre knows, by PostgreSQL's names.
//!
//! Those that PostgreSQL's planner and storage have, and that programs set at their start, are
//! taken and have no effect, since no answer depends on them. Where only one value holds here,
//! [`Known::only`] refuses the others.

use super::characteristics::LEVELS;
use super::engine_choice::EngineChoice;
use super::kind::{Kind, Unit};
use super::scan_settings::ScanSettings;

/// A setting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The value of a session that says nothing.
    pub(super) default: &'static str,
    /// The values that hold here; all if there are none.
    pub(super) only: &'static [&'static str],
    pub(super) access: Access,
    /// Whether clients are told when the value changes.
    pub(super) is_reported: bool,
    pub(super) description: &'static str,
}

/// Who may set a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    User,
    /// Those that the role may, if it is a superuser.
    Superuser,
    /// Belongs to the open transaction, which decides.
    Transaction,
    /// Who the session is of may say who it acts as.
    Identity,
    /// Fixed when the program was built or the database opened.
    Internal,
    /// Fixed when the server was started.
    Server,
}

/// What `server_version` and `version()` begin with: clients read the number in front.
const SERVER_VERSION: &str = concat!("15.0 (Nacre ", env!("CARGO_PKG_VERSION"), ")");

/// Returns what `version()` answers.
pub(crate) fn version_text() -> String {
    format!("PostgreSQL {SERVER_VERSION} on {}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

const FLAG: Kind = Kind::Boolean;
const TIME: Kind = integer_of(Unit::Milliseconds, 0, i32::MAX as i64);
const COST: Kind = Kind::Real { min: 0.0, max: f64::MAX };
const LEVEL: Kind = Kind::Choice { values: &LEVELS, synonyms: &[] };
const MESSAGES: Kind = Kind::Choice {
    values: &[
        "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error",
    ],
    synonyms: &[("debug", "debug2"), ("info", "notice")],
};
const ON_WORDS: [(&str, &str); 6] =
    [("true", "on"), ("false", "off"), ("yes", "on"), ("no", "off"), ("1", "on"), ("0", "off")];

const fn integer_of(unit: Unit, min: i64, max: i64) -> Kind {
    Kind::Integer { min, max, unit }
}

const fn count(min: i64, max: i64) -> Kind {
    integer_of(Unit::One, min, max)
}

const fn choice(values: &'static [&'static str]) -> Kind {
    Kind::Choice { values, synonyms: &[] }
}

const fn known(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    description: &'static str,
) -> Known {
    let (only, access): (&[&str], _) = (&[], Access::User);
    Known { name, kind, default, only, access, is_reported: false, description }
}

impl Known {
    const fn only(self, only: &'static [&'static str]) -> Self {
        Self { only, ..self }
    }

    const fn by(self, access: Access) -> Self {
        Self { access, ..self }
    }

    const fn reported(self) -> Self {
        Self { is_reported: true, ..self }
    }

    /// Returns the setting of that name, in any case of letters.
    pub(super) fn named(name: &str) -> Option<&'static Known> {
        ALL.iter().find(|known| known.name.eq_ignore_ascii_case(name))
    }
}

/// All settings, in the order of their names.
pub(super) static ALL: [Known; 89] = [
    known("application_name", Kind::Text, "", "Name of the program, as it says.").reported(),
    known(
        "backslash_quote",
        Kind::Choice { values: &["safe_encoding", "on", "off"], synonyms: &ON_WORDS },
        "safe_encoding",
        "Whether \\' is a quote in a string; of strings with escapes only.",
    ),
    known("block_size", count(0, i32::MAX as i64), "8192", "Bytes of PostgreSQL's pages.")
        .by(Access::Internal),
    known("bytea_output", choice(&["escape", "hex"]), "hex", "How bytea is written.")
        .only(&["hex"]),
    known("check_function_bodies", FLAG, "on", "Without effect."),
    known("client_encoding", Kind::Encoding, "UTF8", "Encoding of what clients send and get.")
        .reported(),
    known("client_min_messages", MESSAGES, "notice", "The least messages that clients get."),
    known(
        "constraint_exclusion",
        choice(&["partition", "on", "off"]),
        "partition",
        "Without effect.",
    ),
    known("cursor_tuple_fraction", Kind::Real { min: 0.0, max: 1.0 }, "0.1", "Without effect."),
    known("data_checksums", FLAG, "on", "Whether what is stored has checksums.")
        .by(Access::Internal),
    known("DateStyle", Kind::DateStyle, "ISO, MDY", "How dates are written.").reported(),
    known("default_statistics_target", count(1, 10_000), "100", "Without effect."),
    known("default_table_access_method", Kind::Text, "heap", "Without effect.").only(&["heap"]),
    known("default_tablespace", Kind::Text, "", "Without effect.").only(&["", "pg_default"]),
    known("default_text_search_config", Kind::Text, "pg_catalog.simple", "Without effect."),
    known("default_toast_compression", choice(&["pglz", "lz4"]), "pglz", "Without effect."),
    known("default_transaction_deferrable", FLAG, "off", "Without effect.").only(&["off"]),
    known(
        "default_transaction_isolation",
        LEVEL,
        "serializable",
        "Isolation level of new transactions.",
    ),
    known("default_transaction_read_only", FLAG, "off", "Whether new transactions only read.")
        .reported(),
    known(
        "effective_cache_size",
        integer_of(Unit::Pages, 1, i32::MAX as i64),
        "524288",
        "Without effect.",
    ),
    known("enable_bitmapscan", FLAG, "on", "Without effect."),
    known("enable_hashagg", FLAG, "on", "Without effect."),
    known("enable_hashjoin", FLAG, "on", "Without effect."),
    known("enable_indexonlyscan", FLAG, "on", "Without effect."),
    known("enable_indexscan", FLAG, "on", "Without effect."),
    known("enable_material", FLAG, "on", "Without effect."),
    known("enable_mergejoin", FLAG, "on", "Without effect."),
    known("enable_nestloop", FLAG, "on", "Without effect."),
    known("enable_seqscan", FLAG, "on", "Without effect."),
    known("enable_sort", FLAG, "on", "Without effect."),
    known("escape_string_warning", FLAG, "on", "Without effect."),
    known("extra_float_digits", count(-15, 3), "1", "Floats are written exactly.")
        .only(&["1", "2", "3"]),
    known("from_collapse_limit", count(1, i32::MAX as i64), "8", "Without effect."),
    known("geqo", FLAG, "on", "Without effect."),
    known(
        "idle_in_transaction_session_timeout",
        TIME,
        "0",
        "Longest time between statements of a block.",
    ),
    known("idle_session_timeout", TIME, "0", "Longest time between statements outside a block."),
    known("in_hot_standby", FLAG, "off", "Whether the server replays another one's log.")
        .by(Access::Internal)
        .reported(),
    known("integer_datetimes", FLAG, "on", "Whether timestamps are whole microseconds.")
        .by(Access::Internal)
        .reported(),
    known(
        "IntervalStyle",
        choice(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
        "postgres",
        "How intervals are written.",
    )
    .only(&["postgres"])
    .reported(),
    known("is_superuser", FLAG, "on", "Whether the user may do everything.")
        .by(Access::Internal)
        .reported(),
    known("jit", FLAG, "on", "Without effect."),
    known("join_collapse_limit", count(1, i32::MAX as i64), "8", "Without effect."),
    known("lc_collate", Kind::Text, "C", "How text is ordered.").by(Access::Internal),
    known("lc_ctype", Kind::Text, "C.UTF-8", "What letters are.").by(Access::Internal),
    known("lc_messages", Kind::Text, "C", "Language of messages.")
        .only(&["", "C", "POSIX"])
        .by(Access::Superuser),
    known("lc_monetary", Kind::Text, "C", "Without effect."),
    known("lc_numeric", Kind::Text, "C", "Without effect."),
    known("lc_time", Kind::Text, "C", "Without effect."),
    known("lo_compat_privileges", FLAG, "off", "Without effect.").by(Access::Superuser),
    known("lock_timeout", TIME, "0", "Longest wait for an advisory lock."),
    known(
        "maintenance_work_mem",
        integer_of(Unit::Kilobytes, 1024, i32::MAX as i64),
        "65536",
        "Without effect.",
    ),
    known("max_connections", count(1, 262_143), "100", "Most sessions at once.").by(Access::Server),
    known("max_identifier_length", count(0, i32::MAX as i64), "63", "Most bytes of a name.")
        .by(Access::Internal),
    known("max_index_keys", count(0, i32::MAX as i64), "32", "Most columns of an index.")
        .by(Access::Internal),
    known("max_parallel_workers", count(0, 1024), "8", "Without effect."),
    known("max_parallel_workers_per_gather", count(0, 1024), "2", "Without effect."),
    known("max_prepared_transactions", count(0, 262_143), "0", "Prepared transactions.")
        .by(Access::Server),
    known(
        "nacre.engine",
        choice(&EngineChoice::WORDS),
        "auto",
        "Engine of queries; auto is Nacre's own where it supports the whole query.",
    ),
    known(
        "nacre.join_filters",
        FLAG,
        "on",
        "Whether scans leave out rows whose keys no join wants; without, EXPLAIN counts all.",
    ),
    known(
        "nacre.scan_restrictions",
        FLAG,
        "on",
        "Whether scans decide conditions on encoded values; without, filters above them do.",
    ),
    known(
        "nacre.vector_rows",
        choice(&ScanSettings::VECTOR_ROWS),
        "8192",
        "Rows that scans read at once.",
    ),
    known(
        "password_encryption",
        choice(&["md5", "scram-sha-256"]),
        "scram-sha-256",
        "Without effect.",
    ),
    known(
        "plan_cache_mode",
        choice(&["auto", "force_generic_plan", "force_custom_plan"]),
        "auto",
        "Without effect.",
    ),
    known("quote_all_identifiers", FLAG, "off", "Without effect."),
    known("random_page_cost", COST, "4", "Without effect."),
    known("role", Kind::Text, "none", "The role that the session acts as.").by(Access::Identity),
    known("row_security", FLAG, "on", "Without effect."),
    known("search_path", Kind::Names, "\"$user\", public", "Schemas that current_schemas lists."),
    known("seq_page_cost", COST, "1", "Without effect."),
    known("server_encoding", Kind::Text, "UTF8", "Encoding of what is stored.")
        .by(Access::Internal)
        .reported(),
    known("server_version", Kind::Text, SERVER_VERSION, "Version of the server.")
        .by(Access::Internal)
        .reported(),
    known("server_version_num", count(0, i32::MAX as i64), "150000", "Version as a number.")
        .by(Access::Internal),
    known("session_authorization", Kind::Text, "", "The user that the session is of.")
        .by(Access::Identity)
        .reported(),
    known("shared_buffers", integer_of(Unit::Pages, 16, 1_073_741_823), "16384", "Without effect.")
        .by(Access::Server),
    known("standard_conforming_strings", FLAG, "on", "Whether \\ is a letter in strings.")
        .only(&["on"])
        .reported(),
    known("statement_timeout", TIME, "0", "Longest time of a statement."),
    known("synchronize_seqscans", FLAG, "on", "Without effect."),
    known(
        "synchronous_commit",
        Kind::Choice {
            values: &["local", "remote_write", "remote_apply", "on", "off"],
            synonyms: &ON_WORDS,
        },
        "on",
        "Whether COMMIT waits until its changes are durable.",
    ),
    known("temp_buffers", integer_of(Unit::Pages, 100, 1_073_741_823), "1024", "Without effect."),
    known("temp_tablespaces", Kind::Names, "", "Without effect."),
    known("TimeZone", Kind::TimeZone, "UTC", "The time zone of timestamps.").reported(),
    known("timezone_abbreviations", Kind::Text, "Default", "Without effect."),
    known("transaction_deferrable", FLAG, "off", "Without effect.").only(&["off"]),
    known("transaction_isolation", LEVEL, "serializable", "Isolation level of the transaction.")
        .by(Access::Transaction),
    known("transaction_read_only", FLAG, "off", "Whether the transaction only reads.")
        .by(Access::Transaction),
    known("transform_null_equals", FLAG, "off", "Whether = NULL means IS NULL.").only(&["off"]),
    known("wal_level", choice(&["minimal", "replica", "logical"]), "replica", "Without effect.")
        .by(Access::Server),
    known("work_mem", integer_of(Unit::Kilobytes, 64, i32::MAX as i64), "4096", "Without effect."),
    known("xmloption", choice(&["content", "document"]), "content", "Without effect."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_defaults_hold() {
        let lower: Vec<String> = ALL.iter().map(|known| known.name.to_lowercase()).collect();
        assert!(lower.is_sorted(), "{lower:?}");
        for known in &ALL {
            let read = known.kind.read(known.name, known.default).unwrap();
            assert_eq!(read, known.default, "{}", known.name);
            assert!(known.only.is_empty() || known.only.contains(&known.default));
        }
    }
}
