//! Errors of the SQL front end as errors of the SQL layer, worded as PostgreSQL words them.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, DataFusionError, SchemaError};
use datafusion::sql::sqlparser::parser::ParserError;
use nacre_column::ColumnBuffer;

use crate::dml::push_syntax;
use crate::engine_words::without_engine_words;
use crate::error::{END_OF_INPUT, Error, ErrorKind, Position};
use crate::from_plan::{from_plan, quoted_in, shown_type};
use crate::single_rows::several_rows;
use crate::types::{stored_type, type_name};
use crate::unnest::{MISREAD, MISREAD_LATERAL};
use crate::{cancellation, parsing};

/// Converts an error of the front end; one of ours that travelled through it comes out unchanged.
pub(crate) fn from_datafusion(error: DataFusionError) -> Error {
    let position = error.diagnostic().and_then(|diagnostic| diagnostic.span).and_then(|span| {
        let (line, column) = (span.start.line as usize, span.start.column as usize);
        (line > 0).then_some(Position { line, column })
    });
    let converted = without_engine_words(convert(&error));
    match converted.position() {
        Some(_) => converted,
        None => converted.with_position(position),
    }
}

/// Has an error of ours travel through the front end; [`from_datafusion`] finds it again.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn convert(error: &DataFusionError) -> Error {
    match error {
        DataFusionError::SQL(error, _) => from_parser(error),
        DataFusionError::SchemaError(error, _) => from_schema(error),
        DataFusionError::Plan(message) if message.starts_with(NO_OUTER_COLUMNS) => {
            Error::not_supported(MISREAD).with_hint(SUBQUERY_HINT)
        }
        DataFusionError::Plan(message) => from_plan(message),
        DataFusionError::NotImplemented(message) => from_not_implemented(message),
        DataFusionError::Configuration(message) => {
            Error::new(ErrorKind::InvalidStatement, message.clone())
        }
        DataFusionError::ArrowError(error, _) => from_arrow(&error.to_string()),
        DataFusionError::Execution(message) => from_arrow(message),
        DataFusionError::ResourcesExhausted(message) => {
            let hint = "Have the query need less, or raise NACRE_QUERY_MEMORY_MIB.";
            Error::new(ErrorKind::OutOfMemory, "out of memory for queries")
                .with_detail(message.clone())
                .with_hint(hint)
        }
        DataFusionError::IoError(error) => Error::new(ErrorKind::Io, error.to_string()),
        DataFusionError::External(error) => match error.downcast_ref::<Error>() {
            Some(error) => error.clone(),
            None => match error.downcast_ref::<DataFusionError>() {
                Some(error) => convert(error),
                None => from_foreign(&error.to_string()),
            },
        },
        DataFusionError::Diagnostic(_, error) => convert(error),
        DataFusionError::Context(_, error) => convert(error),
        DataFusionError::Shared(error) => convert(error),
        DataFusionError::Collection(errors) => match errors.first() {
            Some(error) => convert(error),
            None => Error::new(ErrorKind::Internal, "an empty list of errors"),
        },
        DataFusionError::Internal(message) => {
            let message = message.split(".\nThis issue was likely").next().unwrap_or(message);
            Error::new(ErrorKind::InvalidStatement, format!("cannot be planned: {message}"))
        }
        other => Error::new(ErrorKind::Internal, format!("internal error: {other}"))
            .with_hint("This is a bug in Nacre. Please report it with the statement."),
    }
}

/// Converts an error of a library below the engine.
fn from_foreign(message: &str) -> Error {
    match message.split_once("regex parse error:") {
        Some((_, why)) => invalid_pattern(why),
        None => Error::new(ErrorKind::Internal, message),
    }
}

/// Converts an error of the parser, whose messages end in `at Line: 1, Column: 8`.
pub(crate) fn from_parser(error: &ParserError) -> Error {
    let text = match error {
        ParserError::ParserError(text) | ParserError::TokenizerError(text) => text,
        // The parser also ends with it when the statement has ended.
        ParserError::RecursionLimitExceeded if cancellation::is_cancelled() => {
            return cancellation::cancelled();
        }
        ParserError::RecursionLimitExceeded => return parsing::nested_too_deeply(),
    };
    let (text, position) = split_position(text);
    let error = match text.strip_prefix("Expected: ").and_then(|rest| rest.rsplit_once(", found: "))
    {
        Some((_, "EOF")) => Error::new(ErrorKind::Syntax, END_OF_INPUT),
        Some((_, found)) => {
            Error::new(ErrorKind::Syntax, format!("syntax error at or near \"{found}\""))
        }
        None => {
            return Error::new(ErrorKind::Syntax, format!("syntax error: {text}"))
                .with_position(position);
        }
    };
    error.with_detail(format!("{text}.")).with_position(position)
}

/// Cuts the place off a parser's message.
fn split_position(text: &str) -> (&str, Option<Position>) {
    let Some((before, place)) = text.rsplit_once(" at Line: ") else {
        return (text, None);
    };
    let Some((line, column)) = place.split_once(", Column: ") else {
        return (text, None);
    };
    match (line.parse(), column.parse()) {
        (Ok(line), Ok(column)) if line > 0 => (before, Some(Position { line, column })),
        _ => (before, None),
    }
}

fn from_schema(error: &SchemaError) -> Error {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => no_column(field, valid_fields),
        SchemaError::AmbiguousReference { field } => Error::new(
            ErrorKind::InvalidStatement,
            format!("column reference \"{}\" is ambiguous", field.name),
        )
        .with_code("42702"),
        other => Error::new(ErrorKind::InvalidStatement, other.to_string()),
    }
}

/// Columns that every table of PostgreSQL has.
const SYSTEM_COLUMNS: [&str; 6] = ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"];

/// Names that no user gave: of parts of plans, and hidden columns.
fn is_inner(name: &str) -> bool {
    name.contains(['(', ' ', '#'])
}

/// Returns the error for a column that does not exist among `valid`.
fn no_column(field: &Column, valid: &[Column]) -> Error {
    let made = |column: &Column, is_made: fn(&str) -> bool| {
        column.relation.as_ref().is_some_and(|relation| is_made(relation.table()))
    };
    let is_of_join = |column: &Column| made(column, is_of_join);
    if made(field, |name| name.starts_with("nacre "))
        || is_of_join(field)
        || valid.iter().any(is_of_join)
    {
        return Error::not_supported(MISREAD).with_hint(SUBQUERY_HINT);
    }
    let valid: Vec<&Column> = valid.iter().filter(|one| !is_inner(&one.name)).collect();
    let name = match &field.relation {
        Some(relation) => {
            let table = relation.table();
            let is_of = |one: &&Column| {
                one.relation.as_ref().is_some_and(|relation| relation.table() == table)
            };
            if !valid.is_empty() && !valid.iter().any(is_of) {
                let message = format!("missing FROM-clause entry for table \"{table}\"");
                return Error::undefined_table(message);
            }
            format!("{table}.{}", field.name)
        }
        None => format!("\"{}\"", field.name),
    };
    if SYSTEM_COLUMNS.contains(&field.name.as_str()) {
        return Error::not_supported(format_args!("the system column {}", field.name));
    }
    let error = Error::undefined_column(format!("column {name} does not exist"));
    let names: Vec<&str> = valid.iter().map(|one| one.name.as_str()).collect();
    match closest(&field.name, &names) {
        Some(name) => {
            let found = valid.iter().find(|one| one.name == name);
            let table = found.and_then(|one| one.relation.as_ref());
            let name = table.map_or(name.to_owned(), |table| format!("{}.{name}", table.table()));
            let hint = format!("Perhaps you meant to reference the column \"{name}\".");
            error.with_hint(hint)
        }
        None => error,
    }
}

fn from_not_implemented(message: &str) -> Error {
    if message.starts_with("wildcard * with AS alias") {
        return Error::new(ErrorKind::Syntax, "syntax error: an alias behind *");
    }
    if message.starts_with("Physical plan does not support undecorrelated Subquery") {
        return Error::not_supported(MISREAD_LATERAL);
    }
    let part = message.strip_prefix("Physical plan does not support logical expression ");
    let what = match part.and_then(|part| part.split(['(', ' ']).next()) {
        Some("InSubquery") => "IN with a query of this form",
        Some("Exists") => "EXISTS with a query of this form",
        Some("OuterReferenceColumn") => {
            return Error::not_supported(MISREAD_LATERAL);
        }
        Some("ScalarSubquery") => "this subquery, which refers to the outer query,",
        Some("AggregateFunction") => {
            let message = "aggregate functions are not allowed here";
            return Error::new(ErrorKind::InvalidStatement, message).with_code("42803");
        }
        Some("WindowFunction") => {
            let message = "window functions are not allowed here";
            return Error::new(ErrorKind::InvalidStatement, message).with_code("42P20");
        }
        _ if message == MISREAD => MISREAD,
        _ if message.starts_with("Unsupported CAST from ") => return from_no_cast(message),
        _ => return Error::not_supported(message.trim_end_matches('.')),
    };
    Error::not_supported(what).with_hint(SUBQUERY_HINT)
}

/// Words the message of a cast that there is not.
fn from_no_cast(message: &str) -> Error {
    let types = message.strip_prefix("Unsupported CAST from ");
    let types = types.and_then(|types| types.split_once(" to "));
    let message = match types {
        Some((from, to)) => format!("cannot cast type {} to {}", shown_type(from), shown_type(to)),
        None => message.to_owned(),
    };
    Error::new(ErrorKind::InvalidStatement, message).with_code("42846")
}

/// What the planner says of a subquery that refers to the outer query where it takes none.
const NO_OUTER_COLUMNS: &str = "Accessing outer reference columns is not allowed";

const SUBQUERY_HINT: &str = "Join the tables of both queries, or have the query refer to the outer \
                             query in conditions of WHERE only.";

/// Whether a table's name is one that the planner gave to a subquery.
fn is_of_join(name: &str) -> bool {
    name.starts_with("__") && name.contains("_sq_")
}

/// Sorts run-time messages of Arrow and DataFusion, which carry no kind of their own.
fn from_arrow(message: &str) -> Error {
    let lower = message.to_lowercase();
    if let Some(name) = quoted_in(message, "Placeholder '", "' was not provided a value") {
        let message = format!("there is no parameter {name}");
        return Error::new(ErrorKind::UndefinedObject, message).with_code("42P02");
    }
    if lower.contains("divide by zero") {
        return Error::new(ErrorKind::InvalidData, "division by zero").with_code("22012");
    }
    if lower.contains("scalar subquery returned more than one row") {
        return several_rows();
    }
    if let Some(why) = message.split_once("regex parse error:").map(|(_, rest)| rest) {
        return invalid_pattern(why);
    }
    let message = ["Cast error: ", "Arithmetic overflow: ", "Parser error: ", "Compute error: "]
        .into_iter()
        .find_map(|prefix| message.strip_prefix(prefix))
        .unwrap_or(message);
    let known = from_overflow(message).or_else(|| from_cast(message));
    known.unwrap_or_else(|| Error::new(ErrorKind::InvalidData, message))
}

/// Converts the message of an invalid regular expression; its last line has the reason.
fn invalid_pattern(why: &str) -> Error {
    let why = why.rsplit_once("error: ").map_or(why, |(_, why)| why).trim();
    let message = format!("invalid regular expression: {why}");
    Error::new(ErrorKind::InvalidData, message).with_code("2201B")
}

/// Words the messages of operators and functions whose result does not fit, for which a type is
/// told by the number in them: it is the least one of its type, or a decimal.
fn from_overflow(message: &str) -> Option<Error> {
    let is_overflow = message.starts_with("Overflow happened on")
        || message.contains(" overflow on abs(")
        || message.starts_with("Signed integer overflow");
    if !is_overflow {
        return None;
    }
    let is_least = |least: i64| {
        let least = least.to_string();
        let mut numbers = message.split(|c: char| !(c.is_ascii_digit() || c == '-'));
        numbers.any(|number| number == least)
    };
    let message = match () {
        () if is_least(i16::MIN.into()) => "smallint out of range",
        () if is_least(i32::MIN.into()) => "integer out of range",
        () if is_least(i64::MIN) => "bigint out of range",
        () => "numeric field overflow",
    };
    Some(Error::new(ErrorKind::InvalidData, message).with_code("22003"))
}

/// Words the messages of casts whose value does not fit.
fn from_cast(message: &str) -> Option<Error> {
    let out_of_range =
        |message: String| Some(Error::new(ErrorKind::InvalidData, message).with_code("22003"));
    if message.contains(" is too large to store in a Decimal")
        || message.contains(" is too small to store in a Decimal")
    {
        return out_of_range("numeric field overflow".into());
    }
    let misfit =
        message.strip_prefix("Can't cast value ").and_then(|rest| rest.rsplit_once(" to type "));
    let misfit = misfit.or_else(|| {
        message.strip_prefix("value of ").and_then(|rest| rest.rsplit_once(" is out of range "))
    });
    if let Some((_, name)) = misfit {
        let data_type: DataType = name.parse().ok()?;
        return out_of_range(format!("{} out of range", type_name(&data_type)));
    }
    let rest = message.strip_prefix("Cannot cast string '")?;
    let (text, name) = rest.rsplit_once("' to value of ")?;
    let data_type: DataType = name.strip_suffix(" type")?.parse().ok()?;
    let error = push_syntax(text, &mut ColumnBuffer::new(stored_type(&data_type)?)).err();
    Some(error.unwrap_or_else(|| {
        let name = type_name(&data_type);
        let message = format!("invalid input syntax for type {name}: \"{text}\"");
        Error::new(ErrorKind::InvalidData, message).with_code("22P02")
    }))
}

/// Returns the name that differs from `wanted` by at most two letters, if there is one.
fn closest<'a>(wanted: &str, names: &[&'a str]) -> Option<&'a str> {
    let (distance, name) =
        names.iter().map(|name| (edit_distance(wanted, name), *name)).min_by_key(|pair| pair.0)?;
    (distance <= 2 && distance < wanted.chars().count()).then_some(name)
}

/// Levenshtein distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, right) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_cut_off_parser_messages() {
        let error = ParserError::ParserError(
            "Expected: an expression, found: FROM at Line: 2, Column: 8".into(),
        );
        let error = from_parser(&error);
        assert_eq!(error.message(), "syntax error at or near \"FROM\"");
        assert_eq!(error.position(), Some(Position { line: 2, column: 8 }));
    }

    #[test]
    fn misspelt_name_is_recognised() {
        assert_eq!(closest("l_ordrkey", &["l_orderkey", "l_partkey"]), Some("l_orderkey"));
        assert_eq!(closest("x", &["y"]), None);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }
}
