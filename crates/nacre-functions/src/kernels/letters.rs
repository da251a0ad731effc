//! Cases of letters, one for one, as in the locale `C.UTF-8`: a letter whose other case is several
//! letters has none.

/// Returns the upper case of a letter.
pub(super) fn upper_letter(letter: char) -> char {
    only(letter.to_uppercase()).unwrap_or(letter)
}

/// Returns the lower case of a letter.
pub(super) fn lower_letter(letter: char) -> char {
    only(letter.to_lowercase()).unwrap_or(letter)
}

pub(super) fn upper_text(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_uppercase();
    }
    text.chars().map(upper_letter).collect()
}

pub(super) fn lower_text(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(lower_letter).collect()
}

fn only(mut letters: impl Iterator<Item = char>) -> Option<char> {
    letters.next().filter(|_| letters.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_one_other_case_or_none() {
        assert_eq!(upper_text("stra\u{df}e \u{e4}\u{fc} x1"), "STRA\u{df}E \u{c4}\u{dc} X1");
        assert_eq!(lower_text("\u{c4}\u{416} X"), "\u{e4}\u{436} x");
    }
}
