//! Errors of loading and unloading as errors of the SQL layer.

use nacre_ingest::{Error as IngestError, ErrorKind as IngestKind, ValueError};
use nacre_store::Error as StoreError;

use crate::error::{Error, ErrorKind};
use crate::from_store::{coded_store, kind_of, refusal, with_way_out};

/// Converts an error of a load; its place in the file becomes the context.
pub(crate) fn from_ingest(error: IngestError) -> Error {
    if let Some(refusal) = store_error(&error).and_then(refusal) {
        return match error.location() {
            Some(location) => refusal.with_context(location.to_string()),
            None => refusal,
        };
    }
    let kind = match error.kind() {
        IngestKind::NotSupported => ErrorKind::NotSupported,
        IngestKind::InvalidOption => ErrorKind::InvalidStatement,
        IngestKind::InvalidColumnReference | IngestKind::UndefinedColumn => {
            ErrorKind::UndefinedObject
        }
        IngestKind::NotNullViolation => ErrorKind::ConstraintViolation,
        IngestKind::Cancelled => ErrorKind::Cancelled,
        IngestKind::Internal => ErrorKind::Internal,
        IngestKind::Store => store_error(&error).map_or(ErrorKind::Io, kind_of),
        IngestKind::UndefinedFile
        | IngestKind::PermissionDenied
        | IngestKind::IsDirectory
        | IngestKind::FileChanged
        | IngestKind::Io => ErrorKind::Io,
        _ => ErrorKind::InvalidData,
    };
    let mut converted = coded(Error::new(kind, error.message()), error.kind());
    if let Some(detail) = error.detail() {
        converted = converted.with_detail(detail);
    }
    if let Some(hint) = error.hint() {
        converted = converted.with_hint(hint);
    }
    if let Some(store) = store_error(&error) {
        converted = with_way_out(coded_store(converted, store), store);
    }
    match error.location() {
        Some(location) => converted.with_context(location.to_string()),
        None => converted,
    }
}

/// Converts the error for a text that is no value of a type.
pub(crate) fn from_value(error: &ValueError) -> Error {
    let kind = match error.kind {
        IngestKind::NotSupported => ErrorKind::NotSupported,
        _ => ErrorKind::InvalidData,
    };
    let converted = coded(Error::new(kind, error.message.clone()), error.kind);
    match &error.detail {
        Some(detail) => converted.with_detail(detail.clone()),
        None => converted,
    }
}

/// Gives an error about a value its own code.
fn coded(error: Error, kind: IngestKind) -> Error {
    match kind {
        IngestKind::InvalidText => error.with_code("22P02"),
        IngestKind::NumberOutOfRange => error.with_code("22003"),
        IngestKind::InvalidDatetime => error.with_code("22007"),
        IngestKind::DatetimeOutOfRange => error.with_code("22008"),
        IngestKind::TooLong => error.with_code("22001"),
        IngestKind::InvalidByteSequence => error.with_code("22021"),
        IngestKind::BadCopyFormat => error.with_code("22P04"),
        IngestKind::NotNullViolation => error.with_code("23502"),
        _ => error,
    }
}

fn store_error(error: &IngestError) -> Option<&StoreError> {
    std::error::Error::source(error)?.downcast_ref()
}
