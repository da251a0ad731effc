//! Character strings with a length limit. Limits count characters, not bytes.

use super::ValueResult;
use crate::error::{ErrorKind, ValueError};

/// Cuts `text` to `max` characters if only blanks are lost, as `varchar(max)` does.
///
/// # Errors
/// `TooLong`.
pub fn parse_varchar(text: &[u8], max: u32) -> ValueResult<&[u8]> {
    if text.len() <= max as usize {
        return Ok(text);
    }
    cut(text, max).ok_or_else(|| too_long("character varying", max))
}

/// Cuts `text` to `chars` characters if only blanks are lost, then cuts trailing blanks: how a
/// `char(chars)` is stored.
///
/// # Errors
/// `TooLong`.
pub fn parse_char(text: &[u8], chars: u32) -> ValueResult<&[u8]> {
    let kept = if text.len() <= chars as usize {
        text
    } else {
        cut(text, chars).ok_or_else(|| too_long("character", chars))?
    };
    let blanks = kept.iter().rev().take_while(|byte| **byte == b' ').count();
    Ok(&kept[..kept.len() - blanks])
}

/// Returns the first `max` characters if the rest is blanks.
fn cut(text: &[u8], max: u32) -> Option<&[u8]> {
    // A byte that does not continue a character starts one.
    let mut starts = (0..text.len()).filter(|&i| text[i] & 0xc0 != 0x80);
    let end = starts.nth(max as usize).unwrap_or(text.len());
    text[end..].iter().all(|byte| *byte == b' ').then_some(&text[..end])
}

#[cold]
fn too_long(type_name: &str, max: u32) -> Box<ValueError> {
    ValueError::new(ErrorKind::TooLong, format!("value too long for type {type_name}({max})"))
}
