//! Errors of the store as errors of the SQL layer.

use nacre_store::{Error as StoreError, ErrorKind as StoreKind, ValueProblem};

use crate::error::{Error, ErrorKind};

/// Converts an error of the store, adding the way out where there is one.
pub(crate) fn from_store(error: StoreError) -> Error {
    if let Some(own) = refusal(&error) {
        return own;
    }
    let converted = match &error {
        StoreError::UnknownTable { .. } => Error::undefined_table(error.to_string()),
        StoreError::UnknownColumn { .. } => Error::undefined_column(error.to_string()),
        StoreError::DependentObjects { what, .. } => coded_store(
            Error::new(
                kind_of(&error),
                format!("cannot drop {what} because other objects depend on it"),
            ),
            &error,
        ),
        _ => coded_store(Error::new(kind_of(&error), error.to_string()), &error),
    };
    with_way_out(converted, &error)
}

/// Returns the error of this layer for a row that it refused.
pub(crate) fn refusal(error: &StoreError) -> Option<Error> {
    match error {
        StoreError::RowRefused(refused) => refused.reason.downcast_ref::<Error>().cloned(),
        _ => None,
    }
}

/// Gives an error about rows or what depends on a table its own code.
pub(crate) fn coded_store(converted: Error, error: &StoreError) -> Error {
    match error {
        StoreError::NullViolation { table, column } => {
            converted.with_code("23502").of_column(table, column)
        }
        StoreError::DuplicateKey(key) => {
            converted.with_code("23505").of_constraint(&key.table, &key.constraint)
        }
        StoreError::ForeignKeyViolation(key) => {
            converted.with_code("23503").of_constraint(&key.table, &key.constraint)
        }
        StoreError::DependentObjects { .. } => converted.with_code("2BP01"),
        StoreError::InvalidValue { problem: ValueProblem::OutOfRange, .. } => {
            converted.with_code("22003")
        }
        StoreError::InvalidValue { problem: ValueProblem::TooLong, .. } => {
            converted.with_code("22001")
        }
        StoreError::InvalidValue { problem: ValueProblem::NotUtf8, .. } => {
            converted.with_code("22021")
        }
        StoreError::SequenceExhausted(_) => converted.with_code("2200H"),
        StoreError::TransactionEnded => converted.with_code("25P02"),
        StoreError::DefinitionChanged { .. } | StoreError::UnknownIndex { .. } => {
            converted.of_definition_change()
        }
        _ => converted,
    }
}

/// Returns what the caller can do about an error of the store.
pub(crate) fn kind_of(error: &StoreError) -> ErrorKind {
    match error.kind() {
        StoreKind::Open | StoreKind::UnknownProcedure | StoreKind::ProcedureChanged => {
            ErrorKind::Open
        }
        StoreKind::TableExists => ErrorKind::DuplicateObject,
        StoreKind::UnknownTable | StoreKind::UnknownColumn | StoreKind::UnknownIndex => {
            ErrorKind::UndefinedObject
        }
        StoreKind::InvalidDefinition | StoreKind::DependentObjects | StoreKind::CallRefused => {
            ErrorKind::InvalidStatement
        }
        StoreKind::NullViolation
        | StoreKind::DuplicateKey
        | StoreKind::RowRefused
        | StoreKind::ForeignKeyViolation => ErrorKind::ConstraintViolation,
        StoreKind::InvalidValue | StoreKind::SequenceExhausted => ErrorKind::InvalidData,
        StoreKind::TransactionTooLarge => ErrorKind::OutOfMemory,
        StoreKind::SerializationConflict => ErrorKind::SerializationFailure,
        StoreKind::TransactionEnded => ErrorKind::TransactionState,
        StoreKind::ReadOnly => ErrorKind::ReadOnly,
        StoreKind::NotSupported => ErrorKind::NotSupported,
        StoreKind::Damaged => ErrorKind::DataCorrupted,
        StoreKind::NoSpace => ErrorKind::DiskFull,
        StoreKind::Internal => ErrorKind::Internal,
        _ => ErrorKind::Io,
    }
}

/// Says how much space is missing for an error of a full file system.
fn hint_of_shortage(error: &StoreError) -> Option<String> {
    let StoreError::Pmem(error) = error else { return None };
    let shortage = error.shortage()?;
    let missing = shortage.wanted_bytes.saturating_sub(shortage.free_bytes);
    Some(format!(
        "Nothing was changed. At least {missing} bytes are missing, and {} more for each other \
         replica. DROP TABLE and TRUNCATE free space on a full device, too.",
        shortage.wanted_bytes
    ))
}

/// Adds to `converted` the details of `error` and what the user can do, unless it says so already.
pub(crate) fn with_way_out(converted: Error, error: &StoreError) -> Error {
    let converted = match error {
        StoreError::DuplicateKey(duplicate) if converted.detail().is_none() => converted
            .with_detail(format!(
                "Key ({})=({}) already exists.",
                duplicate.columns, duplicate.key
            )),
        StoreError::ForeignKeyViolation(violation) if converted.detail().is_none() => {
            let (columns, key) = (&violation.columns, &violation.key);
            converted.with_detail(match violation.is_parent_changed {
                true => format!(
                    "Key ({columns})=({key}) is still referenced from table \"{}\".",
                    violation.table
                ),
                false => format!(
                    "Key ({columns})=({key}) is not present in table \"{}\".",
                    violation.referenced
                ),
            })
        }
        StoreError::DependentObjects { reasons, .. } if converted.detail().is_none() => {
            converted.with_detail(reasons.join("\n"))
        }
        _ => converted,
    };
    if converted.hint().is_some() {
        return converted;
    }
    if let Some(hint) = hint_of_missing(error).or_else(|| hint_of_shortage(error)) {
        return converted.with_hint(hint);
    }
    let hint = match converted.kind() {
        ErrorKind::ReadOnly if matches!(error, StoreError::ReadOnly) => {
            "Open the database without --readonly to change it."
        }
        ErrorKind::ReadOnly | ErrorKind::Open if error.is_for_writers() => {
            "To read only, open it with --readonly."
        }
        ErrorKind::DataCorrupted if matches!(error, StoreError::ManifestDamaged { .. }) => {
            "The pools are not affected. Restore one manifest file from a copy of the same state."
        }
        ErrorKind::DataCorrupted if matches!(error, StoreError::LoadDamaged { .. }) => {
            "No row of this table can be read; other tables are not affected. Restore the file \
             from a copy, or drop the table and load it again."
        }
        ErrorKind::DataCorrupted if matches!(error, StoreError::RedoDamaged { .. }) => {
            "The database is opened only with all commits that were acknowledged. Restore one of \
             the files of the redo log from a copy, or the database from a backup and its archive."
        }
        ErrorKind::DataCorrupted => {
            "Other columns and chunks are not affected. Drop the table and load it again, or \
             restore the database's files from a copy."
        }
        ErrorKind::DiskFull => "Nothing was changed.",
        ErrorKind::SerializationFailure => "The transaction might succeed if it is run again.",
        _ => return converted,
    };
    converted.with_hint(hint)
}

/// Returns the way to a memory domain that is not there.
fn hint_of_missing(error: &StoreError) -> Option<String> {
    let name = match error {
        StoreError::UnknownDomain { domain, .. } => domain,
        StoreError::Damaged { missing, .. } | StoreError::LoadDamaged { missing, .. } => {
            missing.first()?
        }
        _ => return None,
    };
    Some(format!(
        "What lies in a memory domain that is missing is not lost: open the database with --domain \
         {name}=PATH when \"{name}\" is there."
    ))
}
