//! Takes the words of the engine out of messages for clients: names of functions that stand for
//! syntax, Arrow's names of types, prefixes, and forms of its trees.
//!
//! What stands in double quotes is a name or a value of the user's and stays.

use datafusion::arrow::datatypes::DataType;
use tracing::debug;

use crate::error::{Error, ErrorKind};
use crate::types::type_name;

/// Beginnings that say which part of the engine an error comes from.
const PREFIXES: [&str; 10] = [
    "Execution error: ",
    "Error during planning: ",
    "This feature is not implemented: ",
    "Arrow error: ",
    "External error: ",
    "Internal error: ",
    "Invalid argument error: ",
    "Compute error: ",
    "Cast error: ",
    "Schema error: ",
];

/// Words that only a reader of the engine's source knows.
const ENGINE_WORDS: [&str; 16] = [
    "DataFusion",
    "Arrow",
    "LogicalPlan",
    "Logical plan",
    "logical expression",
    "Physical",
    "physical plan",
    "ExprPlanner",
    "sqltorel",
    "ScalarValue",
    "ScalarFunction",
    "RecordBatch",
    "TypeSignature",
    "UDF",
    " { ",
    "Expr(",
];

/// Functions of ours that stand for syntax, and how they are shown. Others lose their prefix.
const SHOWN_FUNCTIONS: [(&str, &str); 14] = [
    ("nacre_any", "ANY"),
    ("nacre_all", "ALL"),
    ("nacre_array", "ARRAY"),
    ("nacre_element", "array subscript"),
    ("nacre_series", "generate_series"),
    ("nacre_similar_pattern", "SIMILAR TO"),
    ("nacre_like_pattern", "LIKE"),
    ("nacre_quotient", "/"),
    ("nacre_float_quotient", "/"),
    ("nacre_product", "*"),
    ("nacre_interval_times", "*"),
    ("nacre_difference", "-"),
    ("nacre_sum", "+"),
    ("nacre_rint", "round"),
];

/// Schemas and views that users read.
const PUBLIC_NAMES: [&str; 9] = [
    "nacre_archive",
    "nacre_catalog",
    "nacre_columns",
    "nacre_domains",
    "nacre_indexes",
    "nacre_replicas",
    "nacre_tables",
    "nacre_transactions",
    "nacre_wear",
];

/// Beginning of the names of our functions.
const OWN_PREFIX: &str = "nacre_";

/// Words an error for clients.
pub(crate) fn without_engine_words(error: Error) -> Error {
    let message = in_users_words(error.message());
    let has_engine_words = |text: &str| ENGINE_WORDS.iter().any(|word| outside_quotes(text, word));
    let detail = error.detail().map(in_users_words);
    let (message, detail) = match has_engine_words(&message) {
        false => (message, detail.filter(|detail| !has_engine_words(detail))),
        true => {
            debug!(message = error.message(), "an error is told in other words");
            (general_message(error.kind()), None)
        }
    };
    error.with_texts(message, detail)
}

/// Returns a message by the kind of the error alone.
fn general_message(kind: ErrorKind) -> String {
    match kind {
        ErrorKind::Internal => "internal error: the statement could not be run".to_owned(),
        ErrorKind::InvalidStatement => "the statement cannot be planned".to_owned(),
        ErrorKind::InvalidData => "a value does not fit".to_owned(),
        _ => "not supported: an expression or query of this form".to_owned(),
    }
}

fn outside_quotes(text: &str, word: &str) -> bool {
    text.split('"').step_by(2).any(|part| part.contains(word))
}

/// Replaces names of types and functions, and takes prefixes away.
fn in_users_words(text: &str) -> String {
    let mut begin = text;
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| begin.strip_prefix(prefix)) {
        begin = rest;
    }
    let mut out = String::with_capacity(begin.len());
    let (mut rest, mut is_quoted) = (begin, false);
    while let Some(one) = rest.chars().next() {
        let is_begin = !out.ends_with(|one: char| one.is_alphanumeric() || one == '_');
        if !is_quoted
            && is_begin
            && let Some((shown, length)) = shown_type(rest).or_else(|| shown_function(rest))
        {
            out.push_str(&shown);
            rest = &rest[length..];
            continue;
        }
        is_quoted ^= one == '"';
        out.push(one);
        rest = &rest[one.len_utf8()..];
    }
    out
}

/// Returns the bytes of the word that a text begins with.
fn word_length(text: &str) -> usize {
    text.find(|one: char| !(one.is_ascii_alphanumeric() || one == '_')).unwrap_or(text.len())
}

/// Returns the function that a text begins with as it is shown, and the length of its name.
fn shown_function(text: &str) -> Option<(String, usize)> {
    let word = &text[..word_length(text)];
    let bare = word.strip_prefix(OWN_PREFIX).filter(|bare| !bare.is_empty())?;
    if PUBLIC_NAMES.contains(&word) {
        return None;
    }
    let shown = SHOWN_FUNCTIONS.iter().find(|(name, _)| *name == word).map(|(_, shown)| *shown);
    Some((shown.unwrap_or(bare).to_owned(), word.len()))
}

/// Returns the type of Arrow that a text begins with as PostgreSQL names it, and the length of its
/// name.
fn shown_type(text: &str) -> Option<(String, usize)> {
    let word = &text[..word_length(text)];
    let has_parts = match word {
        "Int8" | "Int16" | "Int32" | "Int64" | "UInt8" | "UInt16" | "UInt32" | "UInt64"
        | "Float16" | "Float32" | "Float64" | "Utf8" | "Utf8View" | "LargeUtf8" | "BinaryView"
        | "LargeBinary" | "Date32" | "Date64" | "Boolean" => false,
        "Decimal32" | "Decimal64" | "Decimal128" | "Decimal256" | "Timestamp" | "Time32"
        | "Time64" | "Interval" | "Duration" | "List" | "LargeList" | "FixedSizeList"
        | "Struct" | "Map" => true,
        _ => return None,
    };
    let length = match has_parts {
        false => word.len(),
        true => word.len() + parenthesized(&text[word.len()..])?,
    };
    let shown = match text[..length].parse::<DataType>() {
        Ok(data_type) => type_name(&data_type),
        Err(_) => match word {
            "Struct" | "Map" => "record",
            "List" | "LargeList" | "FixedSizeList" => "anyarray",
            "Timestamp" => "timestamp",
            "Time32" | "Time64" => "time",
            "Interval" | "Duration" => "interval",
            _ => "numeric",
        }
        .to_owned(),
    };
    Some((shown, length))
}

/// Returns the bytes of what a text begins with in parentheses.
fn parenthesized(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, one) in text.char_indices() {
        match one {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then_some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: ErrorKind, message: &str) -> String {
        without_engine_words(Error::new(kind, message)).message().to_owned()
    }

    #[test]
    fn types_and_functions_have_the_names_that_users_know() {
        let kind = ErrorKind::InvalidData;
        for (message, shown) in [
            ("Cannot cast x to Int32", "Cannot cast x to integer"),
            (
                "Execution error: Cast error: Decimal128(10, 2) is not Timestamp(\u{b5}s)",
                "numeric is not timestamp without time zone",
            ),
            (
                "function nacre_series(text) does not exist",
                "function generate_series(text) does not exist",
            ),
            ("function nacre_uuid_array(text)", "function uuid_array(text)"),
            (
                "relation nacre_replicas, List(Int64), Struct(\"a\": Int64)",
                "relation nacre_replicas, bigint[], record",
            ),
            ("Int64Array of MyInt64 and Interval", "Int64Array of MyInt64 and Interval"),
        ] {
            assert_eq!(told(kind, message), shown);
        }
    }

    #[test]
    fn what_the_user_wrote_stays() {
        for message in [
            "invalid input syntax for type integer: \"Int64 { } nacre_any Arrow\"",
            "column \"nacre_element\" does not exist",
            "relation \"DataFusion\" does not exist",
        ] {
            assert_eq!(told(ErrorKind::InvalidData, message), message);
        }
    }

    #[test]
    fn trees_of_the_engine_are_not_shown() {
        let message = "not supported: Physical plan does not support logical expression X(Y { z })";
        let error = Error::new(ErrorKind::NotSupported, message).with_detail("LogicalPlan");
        let error = without_engine_words(error);
        assert_eq!(error.message(), "not supported: an expression or query of this form");
        assert_eq!((error.sqlstate(), error.detail()), ("0A000", None));
    }
}
