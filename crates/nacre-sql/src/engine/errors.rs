//! Errors of binding, lowering and execution as errors of the SQL layer.

use nacre_exec::ExecError;
use nacre_exec::lower::LoweringError;
use nacre_plan::BindError;
use nacre_syntax::SourceRange;

use crate::error::{Error, ErrorKind, position_of};
use crate::from_store::from_store;

/// Converts an error of the binder, with its place in `sql`.
pub(super) fn from_bind(error: BindError, sql: &str) -> Error {
    let kind = match error.sql_state {
        "0A000" => ErrorKind::NotSupported,
        "42601" => ErrorKind::Syntax,
        "57014" => ErrorKind::Cancelled,
        "42P01" | "42703" | "42883" | "42704" => ErrorKind::UndefinedObject,
        code if code.starts_with("22") => ErrorKind::InvalidData,
        _ => ErrorKind::InvalidStatement,
    };
    let mut converted = Error::new(kind, error.text.message).with_code(error.sql_state);
    if let Some(detail) = error.text.detail {
        converted = converted.with_detail(detail);
    }
    if let Some(hint) = error.text.hint {
        converted = converted.with_hint(hint);
    }
    let place = |range: SourceRange| position_of(sql, range.start as usize);
    converted.with_position(error.range.map(place))
}

/// Converts an error of lowering.
pub(super) fn from_lowering(error: LoweringError) -> Error {
    match error {
        LoweringError::ConstantFails { error } => {
            let text = error.text();
            let mut converted = Error::new(ErrorKind::InvalidData, text.message.clone())
                .with_code(error.sql_state());
            if let Some(detail) = &text.detail {
                converted = converted.with_detail(detail.clone());
            }
            if let Some(hint) = &text.hint {
                converted = converted.with_hint(hint.clone());
            }
            converted
        }
        LoweringError::NotSupported { .. } => {
            Error::new(ErrorKind::NotSupported, error.to_string())
        }
        LoweringError::TooManyLevels { .. } => {
            Error::new(ErrorKind::InvalidStatement, error.to_string()).with_code("54001")
        }
        LoweringError::Stopped => Error::new(ErrorKind::Cancelled, error.to_string()),
        _ => Error::new(ErrorKind::Internal, error.to_string()),
    }
}

/// Converts an error of execution.
pub(crate) fn from_exec(error: ExecError) -> Error {
    let message = error.to_string();
    match error {
        ExecError::Store(error) => from_store(*error),
        ExecError::NumericOutOfRange { .. } => {
            Error::new(ErrorKind::InvalidData, message).with_code("22003")
        }
        ExecError::DivisionByZero => Error::new(ErrorKind::InvalidData, message).with_code("22012"),
        ExecError::MoreThanOneRow => {
            Error::new(ErrorKind::InvalidStatement, message).with_code("21000")
        }
        ExecError::OutOfMemory { .. } => Error::new(ErrorKind::OutOfMemory, message)
            .with_hint("NACRE_QUERY_MEMORY_MIB gives queries more memory."),
        ExecError::DiskFull { .. } => Error::new(ErrorKind::DiskFull, message).with_hint(
            "Free space there, set TMPDIR to another directory, or raise NACRE_SPILL_MIB.",
        ),
        ExecError::SpillFailed { .. } => Error::new(ErrorKind::Io, message)
            .with_hint("TMPDIR names another directory for temporary files."),
        ExecError::Canceled | ExecError::DeadlineExceeded => {
            Error::new(ErrorKind::Cancelled, message)
        }
        ExecError::Function { sqlstate, .. } => {
            Error::new(ErrorKind::InvalidData, message).with_code(sqlstate)
        }
        _ => Error::new(ErrorKind::Internal, message),
    }
}
