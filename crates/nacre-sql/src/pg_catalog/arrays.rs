//! Functions over arrays and vectors, for the queries that clients send to the catalogs.
//!
//! The planner is built without its own: they would cost more time to build than all of Nacre.

use super::cells::Cell;
use super::functions::{Call, Definition, Returns, define, define_for_nulls};
use crate::error::{Error, ErrorKind};
use crate::pg_types::TYPE_KEY;
use crate::types::{is_blank, trim_blanks};

type Outcome = crate::error::Result<Cell>;

/// Most elements of an array that [`super::expand`] makes rows of.
const PLACES: usize = 1664;

const INT4: Returns = Returns::Named("int4");

/// Returns the functions.
pub(super) fn functions() -> [Definition; 13] {
    [
        define_for_nulls("nacre_any", (3, 3), Returns::Named("bool"), any),
        define_for_nulls("nacre_all", (3, 3), Returns::Named("bool"), all),
        define_for_nulls("nacre_array", (0, usize::MAX), Returns::ListOfArguments, |_, args| {
            Ok(Cell::List(args.to_vec()))
        }),
        define("nacre_element", (2, 2), Returns::Element, element),
        define_for_nulls("array_to_string", (2, 3), Returns::Named("text"), to_string),
        define("array_upper", (2, 2), INT4, |call, args| {
            Ok(length(args).map(|length| length - 1 + first(call)).into())
        }),
        define("array_lower", (2, 2), INT4, |call, args| {
            Ok(length(args).map(|_| first(call)).into())
        }),
        define("nacre_last", (1, 1), INT4, |call, args| {
            let Cell::List(cells) = &args[0] else { return Ok(Cell::Null) };
            if cells.len() > PLACES {
                let what = format_args!("arrays of more than {PLACES} elements here");
                return Err(Error::not_supported(what));
            }
            Ok((cells.len() as i64 - 1 + first(call)).into())
        }),
        define("array_length", (2, 2), INT4, |_, args| Ok(length(args).into())),
        define("cardinality", (1, 1), INT4, |_, args| {
            let Cell::List(cells) = &args[0] else { return Ok(Cell::Null) };
            Ok(cells.len().into())
        }),
        define_for_nulls("array_cat", (2, 2), Returns::First, |_, args| {
            Ok(match (&args[0], &args[1]) {
                (Cell::List(one), Cell::List(other)) => {
                    Cell::List(one.iter().chain(other).cloned().collect())
                }
                (Cell::List(one), _) | (_, Cell::List(one)) => Cell::List(one.clone()),
                _ => Cell::Null,
            })
        }),
        define_for_nulls("array_position", (2, 2), INT4, |call, args| {
            let Cell::List(cells) = &args[0] else { return Ok(Cell::Null) };
            let place = cells.iter().position(|cell| is_same(cell, &args[1]));
            Ok(place.map(|place| place as i64 + first(call)).into())
        }),
        define_for_nulls("array_remove", (2, 2), Returns::First, |_, args| {
            let Cell::List(cells) = &args[0] else { return Ok(Cell::Null) };
            let kept = cells.iter().filter(|cell| !is_same(cell, &args[1]));
            Ok(Cell::List(kept.cloned().collect()))
        }),
    ]
}

/// Returns the number of the first element: vectors count from 0.
fn first(call: &Call<'_>) -> i64 {
    let of = call.fields.first().and_then(|field| field.metadata().get(TYPE_KEY));
    if of.is_some_and(|name| name.ends_with("vector")) { 0 } else { 1 }
}

/// Returns the length of the first argument, in its only dimension, if it is not empty.
fn length(args: &[Cell]) -> Option<i64> {
    match (&args[0], args[1].int()) {
        (Cell::List(cells), Some(1)) if !cells.is_empty() => i64::try_from(cells.len()).ok(),
        _ => None,
    }
}

fn element(call: &Call<'_>, args: &[Cell]) -> Outcome {
    let (Cell::List(cells), Some(at)) = (&args[0], args[1].int()) else { return Ok(Cell::Null) };
    let place = usize::try_from(at - first(call)).ok();
    Ok(place.and_then(|place| cells.get(place)).cloned().unwrap_or_default())
}

fn is_same(one: &Cell, other: &Cell) -> bool {
    one == other || (one.shown() == other.shown() && !matches!((one, other), (Cell::Null, _)))
}

/// Compares two values; `None` if one is null.
fn compare(one: &Cell, operator: &str, other: &Cell) -> crate::error::Result<Option<bool>> {
    if one.is_null() || other.is_null() {
        return Ok(None);
    }
    let order = match (one.int(), other.int(), one, other) {
        (Some(left), Some(right), Cell::Int(_), _) | (Some(left), Some(right), _, Cell::Int(_)) => {
            left.cmp(&right)
        }
        _ if is_number(one) || is_number(other) => {
            let number = |cell: &Cell| cell.shown().and_then(|text| text.parse::<f64>().ok());
            match (number(one), number(other)) {
                (Some(left), Some(right)) => left.total_cmp(&right),
                _ => one.shown().cmp(&other.shown()),
            }
        }
        _ => one.shown().cmp(&other.shown()),
    };
    Ok(Some(match operator {
        "=" => order.is_eq(),
        "<>" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        other => {
            return Err(Error::not_supported(format_args!(
                "the operator {other} with ANY or ALL of an array"
            )));
        }
    }))
}

fn is_number(cell: &Cell) -> bool {
    matches!(cell, Cell::Int(_) | Cell::Float(_))
}

fn members(cell: &Cell) -> crate::error::Result<Option<Vec<Cell>>> {
    match cell {
        Cell::List(cells) => Ok(Some(cells.clone())),
        Cell::Text(text) => Ok(Some(parse_array(text)?.into_iter().map(Cell::from).collect())),
        _ => Ok(None),
    }
}

fn any(_: &Call<'_>, args: &[Cell]) -> Outcome {
    let Some(members) = members(&args[2])? else { return Ok(Cell::Null) };
    let operator = args[1].text().unwrap_or_default();
    let mut has_null = false;
    for member in &members {
        match compare(&args[0], operator, member)? {
            Some(true) => return Ok(true.into()),
            Some(false) => {}
            None => has_null = true,
        }
    }
    Ok(if has_null { Cell::Null } else { false.into() })
}

fn all(_: &Call<'_>, args: &[Cell]) -> Outcome {
    let Some(members) = members(&args[2])? else { return Ok(Cell::Null) };
    let operator = args[1].text().unwrap_or_default();
    let mut has_null = false;
    for member in &members {
        match compare(&args[0], operator, member)? {
            Some(false) => return Ok(false.into()),
            Some(true) => {}
            None => has_null = true,
        }
    }
    Ok(if has_null { Cell::Null } else { true.into() })
}

fn to_string(_: &Call<'_>, args: &[Cell]) -> Outcome {
    let (Cell::List(cells), Some(between)) = (&args[0], args[1].shown()) else {
        return Ok(Cell::Null);
    };
    let for_null = args.get(2).and_then(Cell::shown);
    let texts = cells.iter().filter_map(|cell| cell.shown().or_else(|| for_null.clone()));
    Ok(texts.collect::<Vec<_>>().join(&between).into())
}

/// Reads an array of one dimension such as `{a,"b c",NULL}`.
///
/// # Errors
/// 22P02.
pub(super) fn parse_array(text: &str) -> crate::error::Result<Vec<Option<String>>> {
    let malformed = || {
        let message = format!("malformed array literal: \"{text}\"");
        Error::new(ErrorKind::InvalidData, message).with_code("22P02")
    };
    let inside = trim_blanks(text).strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let inside = inside.ok_or_else(malformed)?;
    let mut elements = Vec::new();
    let (mut one, mut was_quoted, mut is_quoted) = (String::new(), false, false);
    let mut chars = inside.chars();
    let finish = |one: &mut String, was_quoted: &mut bool| {
        let text = std::mem::take(one);
        let was_quoted = std::mem::take(was_quoted);
        match was_quoted {
            true => Ok(Some(text)),
            false if trim_blanks(&text).is_empty() => Err(malformed()),
            false if trim_blanks(&text).eq_ignore_ascii_case("null") => Ok(None),
            false => Ok(Some(trim_blanks(&text).to_owned())),
        }
    };
    while let Some(next) = chars.next() {
        match next {
            '"' => (is_quoted, was_quoted) = (!is_quoted, true),
            '\\' => one.push(chars.next().ok_or_else(malformed)?),
            ',' if !is_quoted => elements.push(finish(&mut one, &mut was_quoted)?),
            '{' | '}' if !is_quoted => return Err(malformed()),
            // Blanks around an element in quotes.
            next if was_quoted && !is_quoted && is_blank(next) => {}
            '\0'.. if was_quoted && !is_quoted => return Err(malformed()),
            next => one.push(next),
        }
    }
    if is_quoted {
        return Err(malformed());
    }
    if !trim_blanks(inside).is_empty() {
        elements.push(finish(&mut one, &mut was_quoted)?);
    }
    Ok(elements)
}
