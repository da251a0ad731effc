//! What can be chosen for a transaction, and how settings spell it.

use nacre_store::IsolationLevel;

/// What can be chosen for a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Characteristics {
    pub(crate) level: IsolationLevel,
    pub(crate) is_read_only: bool,
    /// Whether COMMIT returns only when the changes are durable.
    pub(crate) is_synchronous: bool,
}

/// The values of `transaction_isolation`.
pub(super) const LEVELS: [&str; 4] =
    ["serializable", "repeatable read", "read committed", "read uncommitted"];

/// Returns the level that a value of `transaction_isolation` stands for.
pub(super) fn level_named(text: &str) -> IsolationLevel {
    match text {
        // As PostgreSQL: nobody sees what is not committed.
        "read committed" | "read uncommitted" => IsolationLevel::ReadCommitted,
        "repeatable read" => IsolationLevel::RepeatableRead,
        _ => IsolationLevel::Serializable,
    }
}

/// Returns the value of `transaction_isolation` for a level.
pub(crate) fn level_name(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::Serializable => "serializable",
        IsolationLevel::RepeatableRead => "repeatable read",
        IsolationLevel::ReadCommitted => "read committed",
    }
}

/// Returns how settings show a flag.
pub(super) fn on_or_off(flag: bool) -> &'static str {
    if flag { "on" } else { "off" }
}
