//! Byte strings: parts, encodings, digests.

use nacre_types::{SqlType, SqlValue, ValueError};

use super::ScalarKernel;
use super::arguments::{
    VALUE_BYTES_MAX, bytes, count_value, int4, text, text_value, too_large, whole,
};
use super::md5::md5_digits;
use super::registry::KernelRow;

/// Characters of a line of base64.
const LINE_CHARS: usize = 76;

const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "length(bytea) octet_length(bytea)",
        ScalarKernel::total(|values, _| Ok(count_value(bytes(values, 0)?.len()))),
    ),
    (
        "byteacat(bytea,bytea)",
        ScalarKernel::sized(|values, _| {
            bytes_value([bytes(values, 0)?, bytes(values, 1)?].concat())
        }),
    ),
    (
        "substr(bytea,int4) substring(bytea,int4)",
        ScalarKernel::total(|values, _| substring(bytes(values, 0)?, int4(values, 1)?, None)),
    ),
    (
        "substr(bytea,int4,int4) substring(bytea,int4,int4)",
        ScalarKernel::partial(|values, _| {
            substring(bytes(values, 0)?, int4(values, 1)?, Some(int4(values, 2)?))
        }),
    ),
    (
        "position(bytea,bytea)",
        ScalarKernel::total(|values, _| {
            let (all, part) = (bytes(values, 0)?, bytes(values, 1)?);
            let found = match part.len() {
                0 => Some(0),
                length => all.windows(length).position(|window| window == part),
            };
            Ok(count_value(found.map_or(0, |place| place + 1)))
        }),
    ),
    (
        "btrim(bytea,bytea)",
        ScalarKernel::total(|values, _| trimmed(bytes(values, 0)?, bytes(values, 1)?, true, true)),
    ),
    (
        "ltrim(bytea,bytea)",
        ScalarKernel::total(|values, _| trimmed(bytes(values, 0)?, bytes(values, 1)?, true, false)),
    ),
    (
        "rtrim(bytea,bytea)",
        ScalarKernel::total(|values, _| trimmed(bytes(values, 0)?, bytes(values, 1)?, false, true)),
    ),
    (
        "get_byte(bytea,int4)",
        ScalarKernel::partial(|values, _| {
            let (all, place) = (bytes(values, 0)?, int4(values, 1)?);
            let byte = usize::try_from(place).ok().and_then(|place| all.get(place));
            let byte = byte.ok_or_else(|| out_of_range(place.into(), all.len()))?;
            Ok(SqlValue::Integer((*byte).into()))
        }),
    ),
    (
        "set_byte(bytea,int4,int4)",
        ScalarKernel::partial(|values, _| {
            let (mut all, place) = (bytes(values, 0)?.to_vec(), int4(values, 1)?);
            let length = all.len();
            let byte = usize::try_from(place).ok().and_then(|place| all.get_mut(place));
            // The lowest eight bits count.
            *byte.ok_or_else(|| out_of_range(place.into(), length))? = int4(values, 2)? as u8;
            Ok(SqlValue::Bytea(all))
        }),
    ),
    (
        "get_bit(bytea,int8)",
        ScalarKernel::partial(|values, _| {
            let (all, place) = (bytes(values, 0)?, whole(values, 1)?);
            let byte = usize::try_from(place / 8).ok().filter(|_| place >= 0);
            let byte = byte.and_then(|byte| all.get(byte));
            let byte = byte.ok_or_else(|| out_of_range(place, all.len() * 8))?;
            Ok(SqlValue::Integer(i32::from(byte >> (place % 8) & 1)))
        }),
    ),
    (
        "bit_count(bytea)",
        ScalarKernel::total(|values, _| {
            let ones = bytes(values, 0)?.iter().map(|byte| i64::from(byte.count_ones()));
            Ok(SqlValue::BigInt(ones.sum()))
        }),
    ),
    (
        "md5(text)",
        ScalarKernel::total(|values, _| text_value(md5_digits(text(values, 0)?.as_bytes()))),
    ),
    ("md5(bytea)", ScalarKernel::total(|values, _| text_value(md5_digits(bytes(values, 0)?)))),
    (
        "encode(bytea,text)",
        ScalarKernel::partial(|values, _| encode(bytes(values, 0)?, text(values, 1)?)),
    ),
    (
        "decode(text,text)",
        ScalarKernel::partial(|values, context| match encoding_named(text(values, 1)?)? {
            BinaryTextEncoding::Hex => decode_hex(text(values, 0)?),
            BinaryTextEncoding::Base64 => decode_base64(text(values, 0)?),
            BinaryTextEncoding::Escape => decode_escape(text(values, 0)?, context),
        }),
    ),
];

/// How bytes are written.
#[derive(Clone, Copy)]
enum BinaryTextEncoding {
    Base64,
    Hex,
    Escape,
}

fn encoding_named(name: &str) -> Result<BinaryTextEncoding, ValueError> {
    match name.to_ascii_lowercase().as_str() {
        "base64" => Ok(BinaryTextEncoding::Base64),
        "hex" => Ok(BinaryTextEncoding::Hex),
        "escape" => Ok(BinaryTextEncoding::Escape),
        _ => Err(ValueError::invalid_parameter(format!("unrecognized encoding: \"{name}\""))),
    }
}

fn bytes_value(bytes: Vec<u8>) -> Result<SqlValue, ValueError> {
    if bytes.len() > VALUE_BYTES_MAX { Err(too_large()) } else { Ok(SqlValue::Bytea(bytes)) }
}

fn out_of_range(place: i64, length: usize) -> ValueError {
    let last = length as i64 - 1;
    ValueError::array_subscript(format!("index {place} out of valid range, 0..{last}"))
}

fn substring(all: &[u8], start: i32, length: Option<i32>) -> Result<SqlValue, ValueError> {
    if length.is_some_and(|length| length < 0) {
        return Err(ValueError::substring("negative substring length not allowed"));
    }
    let start = i64::from(start);
    let end = length.map_or(i64::MAX, |length| start + i64::from(length));
    let bound = |place: i64| usize::try_from(place - 1).unwrap_or(0).min(all.len());
    let first = bound(start);
    Ok(SqlValue::Bytea(all[first..bound(end).max(first)].to_vec()))
}

fn trimmed(all: &[u8], set: &[u8], at_start: bool, at_end: bool) -> Result<SqlValue, ValueError> {
    let is_kept = |byte: &u8| !set.contains(byte);
    let start = if at_start { all.iter().position(is_kept).unwrap_or(all.len()) } else { 0 };
    let rest = &all[start..];
    let length =
        if at_end { rest.iter().rposition(is_kept).map_or(0, |last| last + 1) } else { rest.len() };
    Ok(SqlValue::Bytea(rest[..length].to_vec()))
}

fn encode(bytes: &[u8], name: &str) -> Result<SqlValue, ValueError> {
    let mut out = String::new();
    match encoding_named(name)? {
        BinaryTextEncoding::Hex => {
            bytes.iter().for_each(|byte| out.push_str(&format!("{byte:02x}")))
        }
        BinaryTextEncoding::Escape => bytes.iter().for_each(|byte| match byte {
            0 | 0x80.. => out.push_str(&format!("\\{byte:03o}")),
            b'\\' => out.push_str("\\\\"),
            byte => out.push(char::from(*byte)),
        }),
        BinaryTextEncoding::Base64 => {
            for (number, group) in bytes.chunks(3).enumerate() {
                let at = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
                let bits = at(0) << 16 | at(1) << 8 | at(2);
                let sign = |place: u32| SIGNS[(bits >> (18 - 6 * place) & 63) as usize];
                let mut four = [sign(0), sign(1), sign(2), sign(3)];
                four[group.len() + 1..].fill(b'=');
                out.extend(four.map(char::from));
                if group.len() == 3 && ((number + 1) * 4).is_multiple_of(LINE_CHARS) {
                    out.push('\n');
                }
            }
        }
    }
    text_value(out)
}

fn is_skipped(letter: &char) -> bool {
    matches!(letter, ' ' | '\n' | '\t' | '\r')
}

fn decode_hex(text: &str) -> Result<SqlValue, ValueError> {
    let mut out = Vec::with_capacity(text.len() / 2);
    let mut high = None;
    for letter in text.chars() {
        // Blanks may stand between bytes, not between their digits.
        if high.is_none() && is_skipped(&letter) {
            continue;
        }
        let digit = letter.to_digit(16).ok_or_else(|| {
            ValueError::invalid_parameter(format!("invalid hexadecimal digit: \"{letter}\""))
        })?;
        high = match high {
            None => Some(digit),
            Some(high) => {
                out.push((high << 4 | digit) as u8);
                None
            }
        };
    }
    if high.is_some() {
        return Err(ValueError::invalid_parameter(
            "invalid hexadecimal data: odd number of digits",
        ));
    }
    Ok(SqlValue::Bytea(out))
}

fn decode_base64(text: &str) -> Result<SqlValue, ValueError> {
    let (mut bits, mut count, mut kept) = (0_u32, 0, 3);
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for letter in text.chars().filter(|letter| !is_skipped(letter)) {
        let value = match letter {
            '=' if kept < 3 => 0,
            '=' if count >= 2 => {
                kept = count - 1;
                0
            }
            '=' => {
                let message = "unexpected \"=\" while decoding base64 sequence";
                return Err(ValueError::invalid_parameter(message));
            }
            letter => {
                SIGNS.iter().position(|sign| char::from(*sign) == letter).ok_or_else(|| {
                    let symbol = format!("invalid symbol \"{letter}\"");
                    let message = format!("{symbol} found while decoding base64 sequence");
                    ValueError::invalid_parameter(message)
                })? as u32
            }
        };
        (bits, count) = (bits << 6 | value, count + 1);
        if count == 4 {
            let [_, group @ ..] = bits.to_be_bytes();
            out.extend(&group[..kept]);
            (bits, count) = (0, 0);
        }
    }
    if count != 0 {
        return Err(ValueError::invalid_parameter("invalid base64 end sequence")
            .with_hint("Input data is missing padding, is truncated, or is otherwise corrupted."));
    }
    Ok(SqlValue::Bytea(out))
}

/// Reads bytes with escapes as the type's own form does, which begins with `\x` in the other one.
fn decode_escape(text: &str, context: &super::KernelContext<'_>) -> Result<SqlValue, ValueError> {
    if let Some(rest) = text.strip_prefix("\\x") {
        let message = format!("invalid input syntax for type bytea: \"\\x{rest}\"");
        return Err(ValueError::invalid_text(message));
    }
    SqlValue::parse(text, SqlType::BYTEA, context.settings)
}
