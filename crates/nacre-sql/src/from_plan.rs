//! Messages of the planner, which carry no kind of their own, worded as PostgreSQL words them.

use datafusion::arrow::datatypes::DataType;

use crate::error::{Error, ErrorKind};
use crate::types::type_name;

/// Functions that are called with OVER only.
const WINDOW_FUNCTIONS: [&str; 11] = [
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

/// Converts a message of the planner.
pub(crate) fn from_plan(message: &str) -> Error {
    let found = from_name(message)
        .or_else(|| from_function(message))
        .or_else(|| from_types(message))
        .or_else(|| from_grouping(message))
        .or_else(|| from_shape(message));
    found.unwrap_or_else(|| {
        let first_line = message.lines().next().unwrap_or(message);
        let rest = message[first_line.len()..].trim();
        let error = Error::new(ErrorKind::InvalidStatement, first_line);
        if rest.is_empty() { error } else { error.with_detail(rest) }
    })
}

pub(crate) fn quoted_in<'a>(message: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = message.split_once(before)?;
    rest.split_once(after).map(|(name, _)| name)
}

/// Returns what is between the two ends of a message that has both.
fn within<'a>(message: &'a str, start: &str, end: &str) -> Option<&'a str> {
    message.strip_prefix(start)?.strip_suffix(end)
}

fn invalid(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidStatement, message).with_code(code)
}

/// Returns PostgreSQL's name of a type that Arrow names so.
pub(crate) fn shown_type(name: &str) -> String {
    let name = name.trim();
    match name {
        // A text in quotes, or without a type.
        "Utf8" | "Null" => "unknown".to_owned(),
        _ => name.parse::<DataType>().map_or_else(|_| name.to_owned(), |found| type_name(&found)),
    }
}

fn from_name(message: &str) -> Option<Error> {
    if let Some(name) = quoted_in(message, "table '", "' not found") {
        let name = name.strip_prefix("nacre.").unwrap_or(name);
        let name = name.strip_prefix("public.").unwrap_or(name);
        let message = format!("relation \"{name}\" does not exist");
        let hint = "SHOW TABLES lists the tables there are.";
        return Some(Error::undefined_table(message).with_hint(hint));
    }
    if let Some(name) = within(message, "The window ", " is not defined!") {
        let message = format!("window \"{name}\" does not exist");
        return Some(Error::new(ErrorKind::UndefinedObject, message));
    }
    None
}

fn from_function(message: &str) -> Option<Error> {
    const HINT: &str = "No function matches the given name and argument types. You might need to \
                        add explicit type casts.";
    let missing = |call: &str| {
        let message = format!("function {call} does not exist");
        let error = Error::new(ErrorKind::UndefinedObject, message).with_code("42883");
        Some(error.with_hint(HINT))
    };
    if let Some(name) = quoted_in(message, "Invalid function '", "'") {
        if WINDOW_FUNCTIONS.contains(&name) {
            let message = format!("window function {name} requires an OVER clause");
            return Some(invalid("42809", message));
        }
        return missing(&format!("{name}()"));
    }
    // One of ours says it itself.
    if let Some(call) = quoted_in(message, "function ", " does not exist") {
        return missing(call.rsplit_once("function ").map_or(call, |(_, call)| call));
    }
    let start = "No function matches the given name and argument types '";
    if let Some((_, rest)) = message.split_once(start) {
        let call = rest.split_once("'.").map_or(rest, |(call, _)| call);
        return missing(&shown_call(call));
    }
    None
}

/// Returns a call such as `lower(Int64)` with PostgreSQL's names of types.
fn shown_call(call: &str) -> String {
    let Some((name, types)) = call.split_once('(') else { return call.to_owned() };
    let types = types.strip_suffix(')').unwrap_or(types);
    let mut parts = vec![String::new()];
    let mut depth = 0_usize;
    for one in types.chars() {
        match one {
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(one);
        }
    }
    let types: Vec<String> =
        parts.iter().filter(|part| !part.is_empty()).map(|part| shown_type(part)).collect();
    let name = if name == "substr" { "substring" } else { name };
    format!("{name}({})", types.join(", "))
}

/// Returns the types on both sides of an operator, and that: `Int64 + Utf8`.
fn sides(text: &str) -> Option<(String, String, String)> {
    let operators = [
        " IS NOT DISTINCT FROM ",
        " IS DISTINCT FROM ",
        " AND ",
        " OR ",
        " !~* ",
        " !~ ",
        " ~* ",
        " ~ ",
        " + ",
        " - ",
        " * ",
        " / ",
        " % ",
        " = ",
        " != ",
        " <= ",
        " >= ",
        " < ",
        " > ",
        " || ",
        " & ",
        " | ",
        " # ",
    ];
    let operator = operators.into_iter().find(|operator| text.contains(operator))?;
    let (left, right) = text.split_once(operator)?;
    Some((shown_type(left), operator.trim().to_owned(), shown_type(right)))
}

fn no_operator(left: &str, operator: &str, right: &str) -> Error {
    let operator = match operator {
        "!=" => "<>",
        "IS DISTINCT FROM" | "IS NOT DISTINCT FROM" => "=",
        other => other,
    };
    let message = format!("operator does not exist: {left} {operator} {right}");
    invalid("42883", message).with_hint(
        "No operator matches the given name and argument types. You might need to add explicit \
         type casts.",
    )
}

/// Returns the error for an argument that is no condition.
pub(crate) fn no_condition(of: &str, is: &str) -> Error {
    invalid("42804", format!("argument of {of} must be type boolean, not type {is}"))
}

fn from_types(message: &str) -> Option<Error> {
    let condition = |of: &str, is: &str| Some(no_condition(of, &shown_type(is)));
    if message.starts_with("Cannot create filter with non-boolean predicate") {
        let (_, is) = message.rsplit_once(" returning ")?;
        return condition("WHERE", is);
    }
    if let Some(is) = message.strip_prefix("Join condition must be boolean type, but got ") {
        return condition("JOIN/ON", is);
    }
    let not = "Unary operator 'NOT' requires a boolean expression, got ";
    if let Some(is) = message.strip_prefix(not) {
        return condition("NOT", is);
    }
    if let Some((_, text)) = message.split_once("for logical boolean operation ") {
        let (left, operator, right) = sides(text)?;
        let is = if left == "boolean" { right } else { left };
        return Some(no_condition(&operator, &is));
    }
    let between = [
        "Cannot get result type for temporal operation ",
        "Cannot infer common string type for string concat operation ",
        "Cannot infer common argument type for regex operation ",
    ];
    if let Some(rest) = between.into_iter().find_map(|start| message.strip_prefix(start)) {
        let text = rest.split(": ").next().unwrap_or(rest);
        let (left, operator, right) = sides(text)?;
        return Some(no_operator(&left, &operator, &right));
    }
    let arithmetic = within(message, "Cannot coerce arithmetic expression ", " to valid types");
    let compared = message.split_once("for comparison operation ").map(|(_, text)| text);
    if let Some(text) = arithmetic.or(compared) {
        let (left, operator, right) = sides(text)?;
        return Some(no_operator(&left, &operator, &right));
    }
    let like = "There isn't a common type to coerce ";
    if let Some(text) = within(message, like, " in LIKE expression") {
        let (left, right) = text.split_once(" and ")?;
        return Some(no_operator(&shown_type(left), "~~", &shown_type(right)));
    }
    None
}

fn from_grouping(message: &str) -> Option<Error> {
    let ungrouped = |column: &str| {
        let message = format!(
            "column \"{column}\" must appear in the GROUP BY clause or be used in an aggregate \
             function"
        );
        Some(invalid("42803", message))
    };
    if let Some(column) = quoted_in(message, "column \"", "\" must appear in the GROUP BY") {
        return ungrouped(column.rsplit_once('"').map_or(column, |(_, column)| column));
    }
    if let Some(rest) = message.strip_prefix("HAVING clause references: ")
        && rest.contains(" must appear in the GROUP BY")
    {
        return ungrouped(rest.split([' ', ',']).next().unwrap_or(rest));
    }
    if message.starts_with("Aggregate functions are not allowed in the WHERE clause") {
        return Some(invalid("42803", "aggregate functions are not allowed in WHERE"));
    }
    if message.starts_with("Argument ") && message.contains(" to grouping function is not in ") {
        let message =
            "arguments to GROUPING must be grouping expressions of the associated query level";
        return Some(invalid("42803", message));
    }
    if let Some(place) = quoted_in(message, "Cannot find column with position ", " ") {
        let message = format!("GROUP BY position {place} is not in select list");
        return Some(invalid("42P10", message));
    }
    if message.starts_with("Aggregate function calls cannot be nested") {
        return Some(invalid("42803", "aggregate function calls cannot be nested"));
    }
    None
}

fn from_shape(message: &str) -> Option<Error> {
    let data = |code: &'static str, message: &str| {
        Some(Error::new(ErrorKind::InvalidData, message).with_code(code))
    };
    if message.starts_with("LIMIT must be >= 0") {
        return data("2201W", "LIMIT must not be negative");
    }
    if message.starts_with("OFFSET must be >=0") || message.starts_with("OFFSET must be >= 0") {
        return data("2201X", "OFFSET must not be negative");
    }
    for clause in ["LIMIT", "OFFSET"] {
        let start = format!("Expected {clause} to be an integer or null, but got ");
        if let Some(is) = message.strip_prefix(&start) {
            let is = shown_type(is);
            let message = format!("argument of {clause} must be type bigint, not type {is}");
            return Some(invalid("42804", message));
        }
    }
    if let Some(kind) = message.strip_suffix(" queries have different number of columns") {
        let message = format!("each {kind} query must have the same number of columns");
        return Some(Error::new(ErrorKind::Syntax, message));
    }
    if let Some(place) = quoted_in(message, "Order by column out of bounds, specified: ", ",") {
        let message = format!("ORDER BY position {place} is not in select list");
        return Some(invalid("42P10", message));
    }
    if message.starts_with("For SELECT DISTINCT, ORDER BY expressions") {
        let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
        return Some(invalid("42P10", message));
    }
    if message.starts_with("SELECT DISTINCT ON expressions must match") {
        return Some(invalid("42P10", message));
    }
    if message.starts_with("Inconsistent data length across values list") {
        return Some(Error::new(ErrorKind::Syntax, "VALUES lists must all be the same length"));
    }
    if message.starts_with("Inconsistent data type across values list") {
        let (was, found) = message.split_once(". Was ")?.1.split_once(" but found ")?;
        let (was, found) = (shown_type(was), shown_type(found));
        return Some(invalid("42804", format!("VALUES types {was} and {found} cannot be matched")));
    }
    if let Some(rest) = message.strip_prefix("Source table contains ") {
        let (has, rest) = rest.split_once(" columns but only ")?;
        let named = rest.split(' ').next()?;
        let message = format!("table has {has} columns available but {named} columns specified");
        return Some(invalid("42P10", message));
    }
    if message.starts_with("Too many columns! The subquery should only return one column") {
        return Some(Error::new(ErrorKind::Syntax, "subquery must return only one column"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(message: &str) -> (&'static str, String) {
        let error = from_plan(message);
        (error.sqlstate(), error.message().to_owned())
    }

    #[test]
    fn types_of_arguments_have_postgresqls_names() {
        let message = "No function matches the given name and argument types 'f(Decimal128(5, 1), \
                       Utf8View)'. You might need to add explicit type casts.";
        let (code, message) = told(message);
        assert_eq!((code, message.as_str()), ("42883", "function f(numeric, text) does not exist"));
    }

    #[test]
    fn operators_are_named_with_their_sides() {
        let (code, message) =
            told("Cannot coerce arithmetic expression Boolean + Int64 to valid types");
        assert_eq!(code, "42883");
        assert_eq!(message, "operator does not exist: boolean + bigint");
    }

    #[test]
    fn messages_of_no_known_form_stay() {
        assert_eq!(told("no form\nmore"), ("42000", "no form".to_owned()));
    }
}
