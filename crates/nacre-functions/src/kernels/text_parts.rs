//! Parts of texts and where they are.

use nacre_types::{SqlValue, ValueError};

use super::ScalarKernel;
use super::arguments::{count_value, int4, text, text_value};
use super::registry::KernelRow;

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "substr(text,int4) substring(text,int4)",
        ScalarKernel::total(|values, _| {
            substring(text(values, 0)?, int4(values, 1)?, None).map(SqlValue::Text)
        }),
    ),
    (
        "substr(text,int4,int4) substring(text,int4,int4)",
        ScalarKernel::partial(|values, _| {
            let length = Some(int4(values, 2)?);
            substring(text(values, 0)?, int4(values, 1)?, length).map(SqlValue::Text)
        }),
    ),
    (
        "left(text,int4)",
        ScalarKernel::total(|values, _| {
            let (text, count) = (text(values, 0)?, int4(values, 1)?);
            Ok(SqlValue::Text(text.chars().take(taken(text, count)).collect()))
        }),
    ),
    (
        "right(text,int4)",
        ScalarKernel::total(|values, _| {
            let (text, count) = (text(values, 0)?, int4(values, 1)?);
            // PostgreSQL's negation of the least number wraps.
            if count == i32::MIN {
                return Ok(SqlValue::Text(text.to_owned()));
            }
            let skipped = text.chars().count().saturating_sub(taken(text, count));
            Ok(SqlValue::Text(text.chars().skip(skipped).collect()))
        }),
    ),
    (
        "strpos(text,text) position(text,text)",
        ScalarKernel::total(|values, _| {
            let (text, part) = (text(values, 0)?, text(values, 1)?);
            let before = text.find(part).map(|at| text[..at].chars().count() + 1);
            Ok(count_value(before.unwrap_or(0)))
        }),
    ),
    (
        "starts_with(text,text)",
        ScalarKernel::total(|values, _| {
            Ok(SqlValue::Boolean(text(values, 0)?.starts_with(text(values, 1)?)))
        }),
    ),
    (
        "overlay(text,text,int4,int4)",
        ScalarKernel::partial(|values, _| {
            overlay(text(values, 0)?, text(values, 1)?, int4(values, 2)?, int4(values, 3)?)
        }),
    ),
    (
        "overlay(text,text,int4)",
        ScalarKernel::partial(|values, _| {
            let part = text(values, 1)?;
            let length = i32::try_from(part.chars().count()).unwrap_or(i32::MAX);
            overlay(text(values, 0)?, part, int4(values, 2)?, length)
        }),
    ),
    (
        "split_part(text,text,int4)",
        ScalarKernel::partial(|values, _| {
            split_part(text(values, 0)?, text(values, 1)?, int4(values, 2)?)
        }),
    ),
];

fn negative_length() -> ValueError {
    ValueError::substring("negative substring length not allowed")
}

/// Returns characters from a place that counts from 1 and may lie before the text.
pub(super) fn substring(text: &str, start: i32, length: Option<i32>) -> Result<String, ValueError> {
    if length.is_some_and(|length| length < 0) {
        return Err(negative_length());
    }
    let start = i64::from(start);
    let end = length.map_or(i64::MAX, |length| start + i64::from(length));
    let first = start.max(1);
    let skipped = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let count = usize::try_from((end - first).max(0)).unwrap_or(usize::MAX);
    Ok(text.chars().skip(skipped).take(count).collect())
}

/// Returns how many characters `left` and `right` take: a negative count leaves so many out.
fn taken(text: &str, count: i32) -> usize {
    match usize::try_from(count) {
        Ok(count) => count,
        Err(_) => text.chars().count().saturating_sub(count.unsigned_abs() as usize),
    }
}

fn overlay(text: &str, part: &str, start: i32, length: i32) -> Result<SqlValue, ValueError> {
    if start <= 0 {
        return Err(negative_length());
    }
    let behind = start.checked_add(length).ok_or_else(|| ValueError::range_of("integer"))?;
    let before = substring(text, 1, Some(start - 1))?;
    text_value(before + part + &substring(text, behind, None)?)
}

/// Returns one of the parts between separators, from 1, or from the end below zero.
fn split_part(text: &str, separator: &str, number: i32) -> Result<SqlValue, ValueError> {
    if number == 0 {
        return Err(ValueError::invalid_parameter("field position must not be zero"));
    }
    let place = number.unsigned_abs() as usize - 1;
    let part = if separator.is_empty() {
        (place == 0).then_some(text)
    } else if number > 0 {
        text.split(separator).nth(place)
    } else {
        // Separators are found from the start, also where they overlap.
        let parts: Vec<&str> = text.split(separator).collect();
        parts.len().checked_sub(place + 1).map(|index| parts[index])
    };
    Ok(SqlValue::Text(part.unwrap_or_default().to_owned()))
}
