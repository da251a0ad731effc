//! `string_to_array`, `parse_ident`, `num_nulls`, `num_nonnulls`, patterns of LIKE, and values as
//! texts.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, ListBuilder, StringViewArray, StringViewBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::logical_expr::Volatility;

use super::scalar::Definition;
use crate::error::{Error, Result};
use crate::text::write_text;
use crate::types::is_text;

pub(super) fn functions() -> [Definition; 5] {
    let volatility = Volatility::Immutable;
    [
        Definition {
            name: "string_to_array",
            takes: |types| {
                let are_texts = types.iter().all(|one| is_text(one) || one == &DataType::Null);
                (matches!(types.len(), 2 | 3) && are_texts)
                    .then(|| vec![DataType::Utf8View; types.len()])
            },
            returns: |_, _| texts(),
            volatility,
            body: string_to_array,
        },
        Definition {
            name: "parse_ident",
            takes: |types| match types {
                [text] if is_text(text) => Some(vec![DataType::Utf8View]),
                [text, DataType::Boolean] if is_text(text) => {
                    Some(vec![DataType::Utf8View, DataType::Boolean])
                }
                _ => None,
            },
            returns: |_, _| texts(),
            volatility,
            body: parse_ident,
        },
        counted("num_nulls"),
        counted("num_nonnulls"),
        like_pattern(),
    ]
}

/// Makes what writes values as PostgreSQL does.
pub(super) fn shown() -> Definition {
    Definition {
        name: "nacre_shown",
        takes: |types| (types.len() == 1).then(|| types.to_vec()),
        returns: |_, _| DataType::Utf8View,
        volatility: Volatility::Stable,
        body: |args, rows, _| {
            let mut texts = StringViewBuilder::with_capacity(rows);
            let mut text = Vec::new();
            for row in 0..rows {
                if args[0].is_null(row) {
                    texts.append_null();
                    continue;
                }
                text.clear();
                write_text(&args[0], row, &mut text)?;
                texts.append_value(String::from_utf8_lossy(&text));
            }
            Ok(Arc::new(texts.finish()))
        },
    }
}

/// What a pattern of LIKE becomes whose escape character is not the backslash.
pub(crate) const LIKE_PATTERN: &str = "nacre_like_pattern";

/// Returns a pattern with backslashes for the escape character `by`; it may have none.
pub(crate) fn escaped_by_backslashes(pattern: &str, by: Option<char>) -> String {
    let mut new = String::new();
    let mut chars = pattern.chars();
    while let Some(one) = chars.next() {
        match one {
            one if Some(one) == by => {
                new.push('\\');
                new.extend(chars.next());
            }
            '\\' => new.push_str("\\\\"),
            one => new.push(one),
        }
    }
    new
}

fn like_pattern() -> Definition {
    Definition {
        name: LIKE_PATTERN,
        takes: |types| match types {
            [one, by] if is_text(one) && is_text(by) => Some(vec![DataType::Utf8View; 2]),
            [DataType::Null, by] if is_text(by) => Some(vec![DataType::Utf8View; 2]),
            _ => None,
        },
        returns: |_, _| DataType::Utf8View,
        volatility: Volatility::Immutable,
        body: |args, _, _| {
            let (patterns, escapes) = (args[0].as_string_view(), args[1].as_string_view());
            let made = patterns.iter().zip(escapes).map(|pair| match pair {
                (Some(pattern), Some(by)) => {
                    Some(escaped_by_backslashes(pattern, by.chars().next()))
                }
                _ => None,
            });
            Ok(Arc::new(made.collect::<StringViewArray>()))
        },
    }
}

fn counted(name: &'static str) -> Definition {
    Definition {
        name,
        takes: |types| (!types.is_empty()).then(|| types.to_vec()),
        returns: |_, _| DataType::Int32,
        volatility: Volatility::Immutable,
        body: match name {
            "num_nulls" => |args, rows, _| Ok(count(args, rows, true)),
            _ => |args, rows, _| Ok(count(args, rows, false)),
        },
    }
}

fn count(args: &[ArrayRef], rows: usize, of_nulls: bool) -> ArrayRef {
    let is_null =
        |array: &ArrayRef, row| array.is_null(row) || array.data_type() == &DataType::Null;
    let counts = (0..rows).map(|row| {
        let count = args.iter().filter(|array| is_null(array, row) == of_nulls).count();
        i32::try_from(count).ok()
    });
    Arc::new(counts.collect::<Int32Array>())
}

fn texts() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Utf8View, true)))
}

fn string_to_array(args: &[ArrayRef], rows: usize, _: &DataType) -> Result<ArrayRef> {
    let (values, between) = (args[0].as_string_view(), args[1].as_string_view());
    let for_null: Option<&StringViewArray> = args.get(2).map(|array| array.as_string_view());
    let mut lists = ListBuilder::new(StringViewBuilder::new());
    for row in 0..rows {
        if values.is_null(row) {
            lists.append_null();
            continue;
        }
        let text = values.value(row);
        let null = for_null.filter(|array| array.is_valid(row)).map(|array| array.value(row));
        let mut push = |part: &str| match null == Some(part) {
            true => lists.values().append_null(),
            false => lists.values().append_value(part),
        };
        match between.is_valid(row).then(|| between.value(row)) {
            _ if text.is_empty() => {}
            // Without a separator each character is an element.
            None => text.chars().for_each(|one| push(one.encode_utf8(&mut [0; 4]))),
            Some("") => push(text),
            Some(between) => text.split(between).for_each(&mut push),
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

/// Takes the parts of names such as `public."My table"`.
fn parse_ident(args: &[ArrayRef], rows: usize, _: &DataType) -> Result<ArrayRef> {
    let values = args[0].as_string_view();
    let mut lists = ListBuilder::new(StringViewBuilder::new());
    for row in 0..rows {
        if values.is_null(row) {
            lists.append_null();
            continue;
        }
        let is_strict = args.get(1).is_none_or(|array| array.as_boolean().value(row));
        for part in ident_parts(values.value(row), is_strict)? {
            lists.values().append_value(part);
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

fn ident_parts(text: &str, is_strict: bool) -> Result<Vec<String>> {
    let invalid =
        || Error::invalid_parameter(format!("string is not a valid identifier: \"{text}\""));
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut part = String::new();
            let mut chars = quoted.char_indices().peekable();
            let end = loop {
                match chars.next().ok_or_else(invalid)? {
                    (at, '"') if chars.peek().map(|(_, one)| *one) != Some('"') => break at,
                    (_, '"') => {
                        chars.next();
                        part.push('"');
                    }
                    (_, one) => part.push(one),
                }
            };
            parts.push(part);
            rest = quoted[end + 1..].trim_start();
        } else {
            let is_part = |at: usize, one: char| {
                one.is_alphabetic() || one == '_' || (at > 0 && (one.is_numeric() || one == '$'))
            };
            let end = rest
                .char_indices()
                .find(|(at, one)| !is_part(*at, *one))
                .map_or(rest.len(), |(at, _)| at);
            if end == 0 {
                return Err(invalid());
            }
            parts.push(rest[..end].to_lowercase());
            rest = rest[end..].trim_start();
        }
        match rest.strip_prefix('.') {
            Some(behind) => rest = behind.trim_start(),
            None if rest.is_empty() || !is_strict => return Ok(parts),
            None => return Err(invalid()),
        }
    }
}
