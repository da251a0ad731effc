//! Control characters made visible, so that data can neither break a table nor steer a terminal.

use std::fmt::Write;

/// Appends text with control characters and text-direction marks escaped.
pub(super) fn push_visible(text: &str, out: &mut String) {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        out.push_str(text);
        return;
    }
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if c.is_control() && c.is_ascii() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            _ if c.is_control() || steers_text(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
}

/// Line and paragraph separators and marks that change the direction of the text after them.
fn steers_text(c: char) -> bool {
    matches!(c,
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
