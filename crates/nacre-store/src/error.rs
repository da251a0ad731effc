//! Errors of the store.

use std::fmt;
use std::path::PathBuf;

use nacre_column::ColumnType;

use crate::id::{CommitTs, RowId};
use crate::value::ValueProblem;

/// Sorts errors by what the caller can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The database, a domain or a pool could not be opened as asked; open it differently.
    Open,
    /// A table with that name exists already.
    TableExists,
    /// No table has that name.
    UnknownTable,
    /// The table has no such column.
    UnknownColumn,
    /// The table has no such index.
    UnknownIndex,
    /// A definition contradicts itself.
    InvalidDefinition,
    /// A null in a column that forbids it.
    NullViolation,
    /// A value that its column cannot hold.
    InvalidValue,
    /// Two rows with the same key.
    DuplicateKey,
    /// A rule of the table refuses a row.
    RowRefused,
    /// A row refers to one that is not there.
    ForeignKeyViolation,
    /// Something else needs what is to be dropped.
    DependentObjects,
    /// A sequence has given its last value.
    SequenceExhausted,
    /// Another transaction changed what this one wrote or read; roll back and try again.
    SerializationConflict,
    /// The row does not exist for this transaction.
    UnknownRow,
    /// The transaction needs more memory than it may have; it was rolled back.
    TransactionTooLarge,
    /// The transaction was rolled back or failed before; begin another one.
    TransactionEnded,
    /// The database was opened read-only.
    ReadOnly,
    /// No procedure of that name is registered; open the database by a program that has it.
    UnknownProcedure,
    /// A procedure does something else than the redo log has of it; open the database by a program
    /// that has the procedure as it was.
    ProcedureChanged,
    /// A procedure refused its call.
    CallRefused,
    /// Nacre does not do that yet.
    NotSupported,
    /// Stored bytes are damaged; restore them from a copy.
    Damaged,
    /// No space left in a memory domain.
    NoSpace,
    /// The operating system failed a request.
    Io,
    /// A bug in Nacre.
    Internal,
}

/// An error of the store.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A memory domain or pool failed.
    Pmem(nacre_pmem::Error),
    /// The path is not a database directory.
    NotADatabase {
        path: PathBuf,
        reason: String,
    },
    /// No replica of the manifest can be used.
    ManifestDamaged {
        reasons: Vec<String>,
    },
    /// Committed changes are gone from all replicas of the redo log; the reasons say which.
    RedoDamaged {
        reasons: Vec<String>,
    },
    /// The redo log could not be made durable. Transactions that were committing may or may not be
    /// there after a restart; nothing more is committed until the database is opened again.
    RedoFailed {
        reason: String,
    },
    /// An archive or a backup is not what is needed, or the system refuses what is to be done.
    Archive {
        path: PathBuf,
        reason: String,
        kind: ErrorKind,
    },
    /// The media layout is of a version this program does not know.
    UnsupportedVersion {
        object: String,
        found: u32,
        supported: u32,
    },
    TableExists {
        table: String,
    },
    UnknownTable {
        table: String,
    },
    UnknownColumn {
        table: String,
        column: String,
    },
    UnknownIndex {
        index: String,
        table: String,
    },
    UnknownDomain {
        domain: String,
        table: String,
    },
    InvalidDefinition {
        reason: String,
    },
    NullViolation {
        table: String,
        column: String,
    },
    /// A value that its column cannot hold.
    InvalidValue {
        table: String,
        column: String,
        column_type: ColumnType,
        problem: ValueProblem,
    },
    DuplicateKey(Box<DuplicateKey>),
    /// Whoever evaluates the table's rules refuses a row that is loaded.
    RowRefused(Box<RowRefused>),
    ForeignKeyViolation(Box<ForeignKeyViolation>),
    /// `what` cannot be dropped; the reasons name what needs it.
    DependentObjects {
        what: String,
        reasons: Vec<String>,
    },
    /// A sequence has given its last value.
    SequenceExhausted(String),
    /// Another transaction, that committed since this one began or has not ended, changed what
    /// this one wants to write or has read.
    SerializationConflict {
        table: String,
        reason: String,
    },
    /// The table that a name stands for, or its definition, changed since this transaction's
    /// snapshot, or is changing: with a newer snapshot the statement may succeed.
    DefinitionChanged {
        table: String,
    },
    /// The row was deleted before this transaction's snapshot, by itself, or never was.
    UnknownRow {
        table: String,
        row: RowId,
    },
    /// The transaction was rolled back because it needed more memory than `bytes_max`.
    TransactionTooLarge {
        bytes_max: u64,
    },
    /// The transaction was rolled back before.
    TransactionEnded,
    ReadOnly,
    /// No procedure of that name is registered, and this commit of the redo log calls it, if one
    /// does. The database is as it was.
    UnknownProcedure {
        procedure: String,
        commit: Option<CommitTs>,
    },
    /// A procedure that is run again for a commit of the redo log does not do what it did: it is
    /// another one now, or what it does depends on more than its arguments and what it reads. The
    /// database is as it was.
    ProcedureChanged {
        procedure: String,
        commit: CommitTs,
        reason: String,
    },
    /// For procedures: why a call is refused.
    CallRefused(Box<dyn std::error::Error + Send + Sync>),
    /// Nacre does not do that yet.
    NotSupported {
        what: String,
    },
    /// No replica of a block is good. `object` names table, column and chunk, `reason` says what is
    /// wrong with each, `missing` names the domains of parts that are not there now.
    Damaged {
        object: String,
        reason: String,
        missing: Vec<String>,
    },
    /// The parts of a load that can be read do not tell what all its chunks are, because others are
    /// absent, cut or damaged. `object` names load and table, `missing` the domains of parts that
    /// are not there now.
    LoadDamaged {
        object: String,
        reason: String,
        missing: Vec<String>,
    },
    /// What lay behind a mapped block is gone: the file was cut, or its memory failed. `object` is
    /// as for `Damaged`.
    Lost {
        object: String,
        source: nacre_pmem::Error,
    },
    /// A broken assumption of the store's own.
    Internal {
        reason: String,
    },
}

/// Two rows of a table have the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    pub table: String,
    pub constraint: String,
    /// Key columns as text, such as `a, b`.
    pub columns: String,
    /// Key values as text, such as `1, x`.
    pub key: String,
    /// The chunk of this load that holds the later of the two rows, and its row there; `None` if
    /// that one was inserted by a transaction.
    pub loaded_at: Option<(u64, u32)>,
}

/// Why a row is refused.
#[derive(Debug)]
pub struct RowRefused {
    /// That of whoever refuses it.
    pub reason: Box<dyn std::error::Error + Send + Sync>,
    /// The chunk of the load and the row in it, if it is known.
    pub loaded_at: Option<(u64, u32)>,
}

/// A row refers to a key that is not there, or no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeyViolation {
    /// The table whose rows refer.
    pub table: String,
    pub constraint: String,
    /// The table that they refer to.
    pub referenced: String,
    /// Columns as text, such as `a, b`: the referring ones, or the referenced ones if the key was
    /// taken away.
    pub columns: String,
    /// Their values as text, such as `1, x`.
    pub key: String,
    /// Whether the key was taken away.
    pub is_parent_changed: bool,
}

/// Result of the store.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns what kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Pmem(error) => match error.kind() {
                nacre_pmem::ErrorKind::NoSpace => ErrorKind::NoSpace,
                nacre_pmem::ErrorKind::ReadOnly => ErrorKind::ReadOnly,
                nacre_pmem::ErrorKind::Locked { .. }
                | nacre_pmem::ErrorKind::NotFound
                | nacre_pmem::ErrorKind::PermissionDenied
                | nacre_pmem::ErrorKind::Foreign
                | nacre_pmem::ErrorKind::TooNew => ErrorKind::Open,
                _ => ErrorKind::Io,
            },
            Self::NotADatabase { .. } | Self::UnsupportedVersion { .. } => ErrorKind::Open,
            Self::Archive { kind, .. } => *kind,
            Self::ManifestDamaged { .. }
            | Self::RedoDamaged { .. }
            | Self::Damaged { .. }
            | Self::LoadDamaged { .. } => ErrorKind::Damaged,
            Self::TableExists { .. } => ErrorKind::TableExists,
            Self::UnknownTable { .. } => ErrorKind::UnknownTable,
            Self::UnknownColumn { .. } => ErrorKind::UnknownColumn,
            Self::UnknownIndex { .. } => ErrorKind::UnknownIndex,
            Self::UnknownDomain { .. } | Self::InvalidDefinition { .. } => {
                ErrorKind::InvalidDefinition
            }
            Self::NullViolation { .. } => ErrorKind::NullViolation,
            Self::InvalidValue { .. } => ErrorKind::InvalidValue,
            Self::SerializationConflict { .. } | Self::DefinitionChanged { .. } => {
                ErrorKind::SerializationConflict
            }
            Self::UnknownRow { .. } => ErrorKind::UnknownRow,
            Self::TransactionTooLarge { .. } => ErrorKind::TransactionTooLarge,
            Self::TransactionEnded => ErrorKind::TransactionEnded,
            Self::DuplicateKey(_) => ErrorKind::DuplicateKey,
            Self::RowRefused(_) => ErrorKind::RowRefused,
            Self::ForeignKeyViolation(_) => ErrorKind::ForeignKeyViolation,
            Self::DependentObjects { .. } => ErrorKind::DependentObjects,
            Self::SequenceExhausted(_) => ErrorKind::SequenceExhausted,
            Self::UnknownProcedure { .. } => ErrorKind::UnknownProcedure,
            Self::ProcedureChanged { .. } => ErrorKind::ProcedureChanged,
            Self::CallRefused(_) => ErrorKind::CallRefused,
            Self::ReadOnly => ErrorKind::ReadOnly,
            Self::NotSupported { .. } => ErrorKind::NotSupported,
            Self::Lost { .. } | Self::RedoFailed { .. } => ErrorKind::Io,
            Self::Internal { .. } => ErrorKind::Internal,
        }
    }
}

impl Error {
    /// Tells whether opening read-only may succeed where this is why opening for writing did not.
    pub fn is_for_writers(&self) -> bool {
        use nacre_pmem::ErrorKind::{Locked, PermissionDenied, ReadOnly};
        match self {
            Self::Pmem(error) => {
                matches!(error.kind(), Locked { .. } | PermissionDenied | ReadOnly)
            }
            _ => false,
        }
    }

    /// Returns the process that has the directory locked where that is the error, or that it is not
    /// known which one has.
    #[allow(clippy::option_option, reason = "no lock, and nobody knows whose, are two things")]
    pub fn lock_holder(&self) -> Option<Option<u32>> {
        match self {
            Self::Pmem(error) => match error.kind() {
                nacre_pmem::ErrorKind::Locked { pid } => Some(pid),
                _ => None,
            },
            _ => None,
        }
    }

    /// Makes another error that says the same, as far as a domain can cause it.
    pub(crate) fn again(&self) -> Error {
        match self {
            Self::Pmem(error) => Self::Pmem(nacre_pmem::Error::again(error)),
            Self::UnknownDomain { domain, table } => {
                Self::UnknownDomain { domain: domain.clone(), table: table.clone() }
            }
            other => Self::Internal { reason: other.to_string() },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pmem(error) => error.fmt(f),
            Self::NotADatabase { path, reason } => {
                write!(f, "{} is not a Nacre database: {reason}", path.display())
            }
            Self::ManifestDamaged { reasons } => {
                write!(f, "no replica of the manifest can be used: {}", reasons.join("; "))
            }
            Self::Archive { path, reason, .. } => write!(f, "{}: {reason}", path.display()),
            Self::RedoDamaged { reasons } => write!(f, "redo log: {}", reasons.join("; ")),
            Self::RedoFailed { reason } => {
                write!(f, "the redo log failed, open the database again: {reason}")
            }
            Self::UnsupportedVersion { object, found, supported } => write!(
                f,
                "{object} has layout version {found}; this program knows version {supported}: \
                 export the tables by the program that wrote them and load them into a new one"
            ),
            Self::TableExists { table } => write!(f, "relation \"{table}\" already exists"),
            Self::UnknownTable { table } => write!(f, "relation \"{table}\" does not exist"),
            Self::UnknownColumn { table, column } => {
                write!(f, "column \"{column}\" of relation \"{table}\" does not exist")
            }
            Self::UnknownIndex { index, table } => {
                write!(f, "index \"{index}\" of relation \"{table}\" does not exist")
            }
            Self::UnknownDomain { domain, table } => {
                write!(f, "memory domain \"{domain}\" of table \"{table}\" is not open")
            }
            Self::InvalidDefinition { reason } => f.write_str(reason),
            Self::SequenceExhausted(reason) => f.write_str(reason),
            Self::NullViolation { table, column } => write!(
                f,
                "null value in column \"{column}\" of relation \"{table}\" violates not-null \
                 constraint"
            ),
            Self::InvalidValue { table, column, column_type, problem } => write!(
                f,
                "value {problem} type {column_type} in column \"{column}\" of relation \"{table}\""
            ),
            Self::SerializationConflict { table, reason } => write_conflict(f, table, reason),
            Self::DefinitionChanged { table } => write_conflict(f, table, "its definition changed"),
            Self::UnknownRow { table, row } => {
                write!(f, "relation \"{table}\" has no row at {row}")
            }
            Self::TransactionTooLarge { bytes_max } => {
                write!(f, "the transaction needs more than {bytes_max} bytes and was rolled back")
            }
            Self::TransactionEnded => f.write_str("the transaction was rolled back before"),
            Self::DuplicateKey(duplicate) => duplicate.fmt(f),
            Self::RowRefused(refused) => refused.reason.fmt(f),
            Self::ForeignKeyViolation(violation) => violation.fmt(f),
            Self::DependentObjects { what, reasons } => write_dependents(f, what, reasons),
            Self::UnknownProcedure { procedure, commit } => write_unknown(f, procedure, *commit),
            Self::ProcedureChanged { procedure, commit, reason } => {
                write_changed(f, procedure, *commit, reason)
            }
            Self::CallRefused(reason) => reason.fmt(f),
            Self::ReadOnly => f.write_str("the database is open read-only"),
            Self::NotSupported { what } => write!(f, "not supported: {what}"),
            Self::Damaged { object, reason, .. } | Self::LoadDamaged { object, reason, .. } => {
                write!(f, "{object}: {reason}")
            }
            Self::Lost { object, source } => write!(f, "{object}: {source}"),
            Self::Internal { reason } => write!(f, "internal error: {reason}"),
        }
    }
}

fn write_dependents(f: &mut fmt::Formatter<'_>, what: &str, reasons: &[String]) -> fmt::Result {
    write!(f, "cannot drop {what} because {}", reasons.join("; "))
}

fn write_conflict(f: &mut fmt::Formatter<'_>, table: &str, reason: &str) -> fmt::Result {
    write!(
        f,
        "could not serialize access to relation \"{table}\" due to concurrent update: {reason}"
    )
}

fn write_unknown(
    f: &mut fmt::Formatter<'_>,
    procedure: &str,
    commit: Option<CommitTs>,
) -> fmt::Result {
    write!(f, "procedure \"{procedure}\" is not registered")?;
    match commit {
        None => Ok(()),
        Some(commit) => write!(
            f,
            ", and commit {} of the redo log calls it: open the database by a program that \
             registers it, and checkpoint there",
            commit.0
        ),
    }
}

fn write_changed(
    f: &mut fmt::Formatter<'_>,
    procedure: &str,
    commit: CommitTs,
    reason: &str,
) -> fmt::Result {
    write!(
        f,
        "procedure \"{procedure}\" does not do again what it did in commit {} of the redo log: \
         {reason}; open the database by a program that has the procedure as it was, and checkpoint \
         there",
        commit.0
    )
}

impl fmt::Display for DuplicateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "duplicate key value violates unique constraint \"{}\"", self.constraint)
    }
}

impl fmt::Display for ForeignKeyViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, constraint, referenced, .. } = self;
        match self.is_parent_changed {
            true => write!(
                f,
                "update or delete on table \"{referenced}\" violates foreign key constraint \
                 \"{constraint}\" on table \"{table}\""
            ),
            false => write!(
                f,
                "insert or update on table \"{table}\" violates foreign key constraint \
                 \"{constraint}\""
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Pmem(error) | Self::Lost { source: error, .. } => Some(error),
            Self::CallRefused(reason) => reason.source(),
            _ => None,
        }
    }
}

impl From<nacre_pmem::Error> for Error {
    fn from(error: nacre_pmem::Error) -> Self {
        Self::Pmem(error)
    }
}
