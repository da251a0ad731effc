//! What all readers of texts share.

/// Returns whether PostgreSQL skips the character around a value.
pub(crate) fn is_space(one: char) -> bool {
    matches!(one, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

/// Drops blanks at both ends.
pub(crate) fn trim_spaces(text: &str) -> &str {
    text.trim_matches(is_space)
}
