//! Texts: lengths, letters, padding, replacement.
//!
//! Characters are those of UTF-8.

use nacre_types::{SqlValue, ValueError};

use super::ScalarKernel;
use super::arguments::{VALUE_BYTES_MAX, count_value, int4, text, text_value, too_large, unpadded};
use super::letters::{lower_letter, lower_text, upper_letter, upper_text};
use super::registry::KernelRow;

/// Largest length, and number of repetitions, that is taken: what makes longer texts has to ask for
/// memory first, which kernels do not. Constants above are refused before a query runs.
const LENGTH_MAX: i32 = 65_536;

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "length(text) char_length(text) character_length(text)",
        ScalarKernel::total(|values, _| Ok(count_value(text(values, 0)?.chars().count()))),
    ),
    (
        "length(bpchar) char_length(bpchar) character_length(bpchar)",
        ScalarKernel::total(|values, _| Ok(count_value(unpadded(values, 0)?.chars().count()))),
    ),
    (
        "octet_length(text) octet_length(bpchar)",
        ScalarKernel::total(|values, _| Ok(count_value(text(values, 0)?.len()))),
    ),
    (
        "bit_length(text)",
        ScalarKernel::partial(|values, _| {
            let bits = i32::try_from(text(values, 0)?.len() * 8);
            bits.map(SqlValue::Integer).map_err(|_| ValueError::range_of("integer"))
        }),
    ),
    (
        "upper(text)",
        ScalarKernel::total(|values, _| Ok(SqlValue::Text(upper_text(text(values, 0)?)))),
    ),
    (
        "lower(text)",
        ScalarKernel::total(|values, _| Ok(SqlValue::Text(lower_text(text(values, 0)?)))),
    ),
    ("initcap(text)", ScalarKernel::total(|values, _| Ok(capitalized(text(values, 0)?)))),
    (
        "reverse(text)",
        ScalarKernel::total(|values, _| {
            Ok(SqlValue::Text(text(values, 0)?.chars().rev().collect()))
        }),
    ),
    ("btrim(text)", ScalarKernel::total(|values, _| trimmed(text(values, 0)?, " ", true, true))),
    ("ltrim(text)", ScalarKernel::total(|values, _| trimmed(text(values, 0)?, " ", true, false))),
    ("rtrim(text)", ScalarKernel::total(|values, _| trimmed(text(values, 0)?, " ", false, true))),
    (
        "btrim(text,text)",
        ScalarKernel::total(|values, _| trimmed(text(values, 0)?, text(values, 1)?, true, true)),
    ),
    (
        "ltrim(text,text)",
        ScalarKernel::total(|values, _| trimmed(text(values, 0)?, text(values, 1)?, true, false)),
    ),
    (
        "rtrim(text,text)",
        ScalarKernel::total(|values, _| trimmed(text(values, 0)?, text(values, 1)?, false, true)),
    ),
    (
        "lpad(text,int4)",
        ScalarKernel::partial(|values, _| padded(text(values, 0)?, int4(values, 1)?, " ", true))
            .accepting(is_length_small),
    ),
    (
        "rpad(text,int4)",
        ScalarKernel::partial(|values, _| padded(text(values, 0)?, int4(values, 1)?, " ", false))
            .accepting(is_length_small),
    ),
    (
        "lpad(text,int4,text)",
        ScalarKernel::partial(|values, _| {
            padded(text(values, 0)?, int4(values, 1)?, text(values, 2)?, true)
        })
        .accepting(is_length_small),
    ),
    (
        "rpad(text,int4,text)",
        ScalarKernel::partial(|values, _| {
            padded(text(values, 0)?, int4(values, 1)?, text(values, 2)?, false)
        })
        .accepting(is_length_small),
    ),
    (
        "repeat(text,int4)",
        ScalarKernel::partial(|values, _| repeated(text(values, 0)?, int4(values, 1)?))
            .accepting(is_count_small),
    ),
    (
        "replace(text,text,text)",
        ScalarKernel::sized(|values, _| {
            replaced(text(values, 0)?, text(values, 1)?, text(values, 2)?)
        }),
    ),
    (
        "translate(text,text,text)",
        ScalarKernel::sized(|values, _| {
            translated(text(values, 0)?, text(values, 1)?, text(values, 2)?)
        }),
    ),
    (
        "ascii(text)",
        ScalarKernel::total(|values, _| {
            let first = text(values, 0)?.chars().next();
            Ok(SqlValue::Integer(first.map_or(0, |first| u32::from(first).cast_signed())))
        }),
    ),
    ("chr(int4)", ScalarKernel::partial(|values, _| character(int4(values, 0)?))),
];

/// Begins each word with a capital; a word is letters and digits.
fn capitalized(text: &str) -> SqlValue {
    let mut is_within = false;
    let letters = text.chars().map(|letter| {
        let new = if is_within { lower_letter(letter) } else { upper_letter(letter) };
        is_within = letter.is_alphanumeric();
        new
    });
    SqlValue::Text(letters.collect())
}

fn trimmed(text: &str, set: &str, at_start: bool, at_end: bool) -> Result<SqlValue, ValueError> {
    let is_cut = |letter: char| set.contains(letter);
    let text = if at_start { text.trim_start_matches(is_cut) } else { text };
    let text = if at_end { text.trim_end_matches(is_cut) } else { text };
    Ok(SqlValue::Text(text.to_owned()))
}

/// Brings a text to a length: cuts its end, or fills.
fn padded(text: &str, length: i32, fill: &str, is_left: bool) -> Result<SqlValue, ValueError> {
    let length = usize::try_from(length).unwrap_or(0);
    let own = text.chars().count();
    if own >= length {
        return Ok(SqlValue::Text(text.chars().take(length).collect()));
    }
    if fill.is_empty() {
        return Ok(SqlValue::Text(text.to_owned()));
    }
    if length > LENGTH_MAX as usize {
        let what = format!("texts of more than {LENGTH_MAX} characters by this function");
        return Err(ValueError::not_supported(what));
    }
    let filler: String = fill.chars().cycle().take(length - own).collect();
    text_value(if is_left { filler + text } else { text.to_owned() + &filler })
}

/// Whether the second argument, if it is a constant, makes no long text of a short one.
fn is_length_small(constants: &[Option<&SqlValue>]) -> bool {
    match constants.get(1) {
        Some(Some(SqlValue::Integer(length))) => *length <= LENGTH_MAX,
        _ => true,
    }
}

/// As [`is_length_small`], of constants alone: how long a result is depends on the text, too.
fn is_count_small(constants: &[Option<&SqlValue>]) -> bool {
    constants.get(1).is_some_and(Option::is_some) && is_length_small(constants)
}

fn repeated(text: &str, count: i32) -> Result<SqlValue, ValueError> {
    let count = usize::try_from(count).unwrap_or(0);
    match text.len().checked_mul(count) {
        Some(bytes) if bytes <= VALUE_BYTES_MAX - 4 => Ok(SqlValue::Text(text.repeat(count))),
        _ => Err(too_large()),
    }
}

fn replaced(text: &str, from: &str, to: &str) -> Result<SqlValue, ValueError> {
    if from.is_empty() {
        return Ok(SqlValue::Text(text.to_owned()));
    }
    let count = if to.len() > from.len() { text.matches(from).count() } else { 0 };
    match (to.len().saturating_sub(from.len())).checked_mul(count) {
        Some(more) if text.len() + more <= VALUE_BYTES_MAX => text_value(text.replace(from, to)),
        _ => Err(too_large()),
    }
}

/// Exchanges characters of `from` for those of `to` at the same place, or for nothing.
fn translated(text: &str, from: &str, to: &str) -> Result<SqlValue, ValueError> {
    let to: Vec<char> = to.chars().collect();
    let letters =
        text.chars().filter_map(|letter| match from.chars().position(|one| one == letter) {
            Some(place) => to.get(place).copied(),
            None => Some(letter),
        });
    text_value(letters.collect::<String>())
}

fn character(number: i32) -> Result<SqlValue, ValueError> {
    if number == 0 {
        return Err(ValueError::limit_exceeded("null character not permitted"));
    }
    let Ok(number) = u32::try_from(number) else {
        return Err(ValueError::invalid_parameter("character number must be positive"));
    };
    match char::from_u32(number) {
        Some(one) => Ok(SqlValue::Text(one.to_string())),
        None if number > 0x10_ffff => {
            let message = format!("requested character too large for encoding: {number}");
            Err(ValueError::limit_exceeded(message))
        }
        None => {
            let message = format!("requested character not valid for encoding: {number}");
            Err(ValueError::limit_exceeded(message))
        }
    }
}
