//! `encode` and `decode`: bytes as texts in base64, hexadecimal digits or with escapes.
//!
//! Lines of base64 have 76 characters, and the last group is padded.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{BinaryViewType, DataType, StringViewType};
use datafusion::logical_expr::Volatility;
use nacre_ingest::parse::parse_bytea;

use super::scalar::Definition;
use super::value_blocks::ValueBlocks;
use crate::error::{Error, ErrorKind, Result};
use crate::from_ingest::from_value;
use crate::types::{is_bytes, is_text};

/// Characters of a line of base64.
const LINE_CHARS: usize = 76;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// How bytes are written.
#[derive(Clone, Copy)]
enum ByteEncoding {
    Base64,
    Hex,
    Escape,
}

pub(super) fn functions() -> [Definition; 2] {
    let volatility = Volatility::Immutable;
    [
        Definition {
            name: "encode",
            takes: |types| match types {
                // A text in quotes becomes bytes.
                [of, name] if is_name(name) && is_bytes(of) => {
                    Some(vec![DataType::BinaryView, DataType::Utf8View])
                }
                [of, name] if is_name(name) && is_name(of) => Some(vec![DataType::Utf8View; 2]),
                _ => None,
            },
            returns: |_, _| DataType::Utf8View,
            volatility,
            body: encoded,
        },
        Definition {
            name: "decode",
            takes: |types| match types {
                [of, name] if is_name(name) && is_name(of) => Some(vec![DataType::Utf8View; 2]),
                _ => None,
            },
            returns: |_, _| DataType::BinaryView,
            volatility,
            body: decoded,
        },
    ]
}

/// Whether a type is that of a text, or has none.
fn is_name(one: &DataType) -> bool {
    is_text(one) || one == &DataType::Null
}

fn invalid(message: impl Into<String>) -> Error {
    Error::invalid_parameter(message.into())
}

fn named(name: &str) -> Result<ByteEncoding> {
    match name.to_ascii_lowercase().as_str() {
        "base64" => Ok(ByteEncoding::Base64),
        "hex" => Ok(ByteEncoding::Hex),
        "escape" => Ok(ByteEncoding::Escape),
        _ => Err(invalid(format!("unrecognized encoding: \"{name}\""))),
    }
}

fn encoded(args: &[ArrayRef], rows: usize, _: &DataType) -> Result<ArrayRef> {
    let names = args[1].as_string_view();
    let mut made = ValueBlocks::<StringViewType>::new(rows);
    for row in 0..rows {
        if args.iter().any(|array| array.is_null(row)) {
            made.push_null();
            continue;
        }
        let parsed;
        let bytes = match args[0].data_type() {
            DataType::BinaryView => args[0].as_binary_view().value(row),
            _ => {
                let text = args[0].as_string_view().value(row);
                parsed = parse_bytea(text.as_bytes()).map_err(|error| from_value(&error))?;
                parsed.as_slice()
            }
        };
        encode(bytes, named(names.value(row))?, &mut made)?;
        made.end_value()?;
    }
    made.finish()
}

fn encode(
    bytes: &[u8],
    encoding: ByteEncoding,
    out: &mut ValueBlocks<StringViewType>,
) -> Result<()> {
    match encoding {
        ByteEncoding::Hex => {
            out.reserve(bytes.len().saturating_mul(2))?;
            bytes.iter().try_for_each(|byte| {
                let [high, low] = [byte >> 4, byte & 15].map(|one| DIGITS[usize::from(one)]);
                out.append(&[high, low])
            })
        }
        ByteEncoding::Escape => bytes.iter().try_for_each(|byte| match byte {
            0 | 0x80.. => {
                let digit = |shift: u8| b'0' + (byte >> shift & 7);
                out.append(&[b'\\', digit(6), digit(3), digit(0)])
            }
            b'\\' => out.append(b"\\\\"),
            byte => out.append(&[*byte]),
        }),
        ByteEncoding::Base64 => {
            let signs = bytes.len().div_ceil(3).saturating_mul(4);
            out.reserve(signs.saturating_add(signs / LINE_CHARS))?;
            for (number, group) in bytes.chunks(3).enumerate() {
                if number > 0 && (number * 4).is_multiple_of(LINE_CHARS) {
                    out.append(b"\n")?;
                }
                let at = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
                let bits = at(0) << 16 | at(1) << 8 | at(2);
                let sign = |place: u32| SIGNS[(bits >> (18 - 6 * place) & 63) as usize];
                let mut four = [sign(0), sign(1), sign(2), sign(3)];
                four[group.len() + 1..].fill(b'=');
                out.append(&four)?;
            }
            Ok(())
        }
    }
}

fn decoded(args: &[ArrayRef], rows: usize, _: &DataType) -> Result<ArrayRef> {
    let (texts, names) = (args[0].as_string_view(), args[1].as_string_view());
    let mut made = ValueBlocks::<BinaryViewType>::new(rows);
    for row in 0..rows {
        if texts.is_null(row) || names.is_null(row) {
            made.push_null();
            continue;
        }
        let text = texts.value(row);
        match named(names.value(row))? {
            ByteEncoding::Base64 => decode_base64(text, &mut made)?,
            ByteEncoding::Hex => decode_hex(text, &mut made)?,
            ByteEncoding::Escape => decode_escape(text, &mut made)?,
        }
        made.end_value()?;
    }
    made.finish()
}

fn decode_hex(text: &str, out: &mut ValueBlocks<BinaryViewType>) -> Result<()> {
    let mut high = None;
    for one in text.chars().filter(|one| !matches!(one, ' ' | '\n' | '\t' | '\r')) {
        let digit = one.to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let digit = digit.ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{one}\"")));
        high = match (high, digit?) {
            (None, digit) => Some(digit),
            (Some(high), digit) => {
                out.append(&[high << 4 | digit])?;
                None
            }
        };
    }
    match high {
        None => Ok(()),
        Some(_) => Err(invalid("invalid hexadecimal data: odd number of digits")),
    }
}

fn decode_base64(text: &str, out: &mut ValueBlocks<BinaryViewType>) -> Result<()> {
    let (mut bits, mut count, mut kept) = (0_u32, 0, 3);
    for one in text.chars().filter(|one| !matches!(one, ' ' | '\n' | '\t' | '\r')) {
        let value = match one {
            '=' if kept < 3 => 0,
            '=' if count >= 2 => {
                kept = count - 1;
                0
            }
            '=' => return Err(invalid("unexpected \"=\" while decoding base64 sequence")),
            one => {
                let found = SIGNS.iter().position(|sign| char::from(*sign) == one);
                found.and_then(|found| u32::try_from(found).ok()).ok_or_else(|| {
                    let message = "invalid symbol \"%\" found while decoding base64 sequence";
                    invalid(message.replace('%', one.encode_utf8(&mut [0; 4])))
                })?
            }
        };
        (bits, count) = (bits << 6 | value, count + 1);
        if count == 4 {
            let [_, bytes @ ..] = bits.to_be_bytes();
            out.append(&bytes[..kept])?;
            (bits, count) = (0, 0);
        }
    }
    match count {
        0 => Ok(()),
        _ => Err(invalid("invalid base64 end sequence")
            .with_hint("Input data is missing padding, is truncated, or is otherwise corrupted.")),
    }
}

fn decode_escape(text: &str, out: &mut ValueBlocks<BinaryViewType>) -> Result<()> {
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = match (first, behind) {
            (b'\\', [b'\\', behind @ ..]) => {
                out.append(b"\\")?;
                behind
            }
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', behind @ ..]) => {
                out.append(&[(a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')])?;
                behind
            }
            (b'\\', _) => {
                let message = "invalid input syntax for type bytea";
                return Err(Error::new(ErrorKind::InvalidData, message).with_code("22P02"));
            }
            (first, behind) => {
                out.append(&[first])?;
                behind
            }
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: &[u8], encoding: ByteEncoding) -> String {
        let mut made = ValueBlocks::<StringViewType>::new(1);
        encode(bytes, encoding, &mut made).unwrap();
        made.end_value().unwrap();
        made.finish().unwrap().as_string_view().value(0).to_owned()
    }

    fn read(
        text: &str,
        decode: fn(&str, &mut ValueBlocks<BinaryViewType>) -> Result<()>,
    ) -> Vec<u8> {
        let mut made = ValueBlocks::<BinaryViewType>::new(1);
        decode(text, &mut made).unwrap();
        made.end_value().unwrap();
        made.finish().unwrap().as_binary_view().value(0).to_vec()
    }

    #[test]
    fn base64_is_padded_and_has_lines() {
        for (bytes, text) in
            [(&b""[..], ""), (b"\0", "AA=="), (b"\0\xff", "AP8="), (b"\0\xff\x01", "AP8B")]
        {
            assert_eq!(written(bytes, ByteEncoding::Base64), text);
            assert_eq!(read(text, decode_base64), bytes);
        }
        let long = written(&[0; 58], ByteEncoding::Base64);
        assert_eq!(long, format!("{}\nAA==", "A".repeat(76)));
        assert_eq!(written(&[0; 57], ByteEncoding::Base64), "A".repeat(76));
        assert_eq!(read(&long, decode_base64), [0; 58]);
    }

    #[test]
    fn every_byte_comes_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(read(&written(&bytes, ByteEncoding::Hex), decode_hex), bytes);
        assert_eq!(read(&written(&bytes, ByteEncoding::Escape), decode_escape), bytes);
        assert_eq!(read(&written(&bytes, ByteEncoding::Base64), decode_base64), bytes);
        assert_eq!(written(b"\0\xff\\a", ByteEncoding::Escape), "\\000\\377\\\\a");
    }
}
