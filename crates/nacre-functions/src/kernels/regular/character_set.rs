//! Sets of characters: `.`, `[^a-z]`, `[[:alpha:]]`, `\w`.
//!
//! Classes are those of the locale `C.UTF-8`: decimal digits of other scripts are letters, and what
//! is neither a letter nor a blank nor a control character is punctuation.

use std::sync::LazyLock;

use regex::Regex;

use super::super::letters::{lower_letter, upper_letter};

/// Most letters of a range whose cases are looked up.
const CASED_RANGE_MAX: u32 = 1_024;

/// Blanks beyond ASCII, as a class of the crate `regex`.
const WIDE_SPACES: &str =
    r"\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}";

/// Decimal digits, of which the standard library knows those of ASCII alone.
static DECIMAL_DIGIT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\A\p{Nd}").ok());

/// A class with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharacterClass {
    Alpha,
    Alnum,
    Blank,
    Control,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Word,
    HexDigit,
}

impl CharacterClass {
    /// Returns the class of `[:name:]`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "alpha" => Self::Alpha,
            "alnum" => Self::Alnum,
            "blank" => Self::Blank,
            "cntrl" => Self::Control,
            "digit" => Self::Digit,
            "graph" => Self::Graph,
            "lower" => Self::Lower,
            "print" => Self::Print,
            "punct" => Self::Punct,
            "space" => Self::Space,
            "upper" => Self::Upper,
            "word" => Self::Word,
            "xdigit" => Self::HexDigit,
            _ => return None,
        })
    }

    pub(super) fn contains(self, letter: char) -> bool {
        match self {
            Self::Alpha => is_alnum(letter) && !letter.is_ascii_digit(),
            Self::Alnum => is_alnum(letter),
            Self::Blank => matches!(letter, ' ' | '\t') || !letter.is_ascii() && is_blank(letter),
            Self::Control => letter.is_control(),
            Self::Digit => letter.is_ascii_digit(),
            Self::Graph => !is_space(letter) && !letter.is_control(),
            Self::Lower => letter.is_lowercase(),
            Self::Print => !is_line_end(letter) && !letter.is_control(),
            Self::Punct => !is_alnum(letter) && Self::Graph.contains(letter),
            Self::Space => is_space(letter),
            Self::Upper => letter.is_uppercase(),
            Self::Word => letter == '_' || is_alnum(letter),
            Self::HexDigit => letter.is_ascii_hexdigit(),
        }
    }

    /// Returns the class as a part of one of the crate `regex`.
    fn translated(self) -> String {
        const ALNUM: &str = r"\p{Alphabetic}\p{Nd}";
        match self {
            Self::Alpha => format!(r"[{ALNUM}&&[^0-9]]"),
            Self::Alnum => ALNUM.to_owned(),
            Self::Blank => format!(r"[ \t{WIDE_SPACES}&&[^\x{{2028}}\x{{2029}}]]"),
            Self::Control => r"\p{Cc}".to_owned(),
            Self::Digit => "0-9".to_owned(),
            Self::Graph => format!(r"[^ \p{{Cc}}{WIDE_SPACES}]"),
            Self::Lower => r"\p{Lowercase}".to_owned(),
            Self::Print => r"[^\p{Cc}\x{2028}\x{2029}]".to_owned(),
            Self::Punct => format!(r"[^ \p{{Cc}}{WIDE_SPACES}{ALNUM}]"),
            Self::Space => format!(r" \x{{9}}-\x{{d}}{WIDE_SPACES}"),
            Self::Upper => r"\p{Uppercase}".to_owned(),
            Self::Word => format!("_{ALNUM}"),
            Self::HexDigit => "0-9a-fA-F".to_owned(),
        }
    }
}

fn is_alnum(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || !letter.is_ascii() && is_wide_alnum(letter)
}

fn is_wide_alnum(letter: char) -> bool {
    if letter.is_alphabetic() {
        return true;
    }
    let is_digit = |digit: &Regex| digit.is_match(letter.encode_utf8(&mut [0; 4]));
    letter.is_numeric() && DECIMAL_DIGIT.as_ref().is_some_and(is_digit)
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r') || !letter.is_ascii() && is_wide_space(letter)
}

/// Whether a character beyond ASCII is a blank at which lines may be broken.
fn is_wide_space(letter: char) -> bool {
    is_blank(letter) || is_line_end(letter)
}

fn is_blank(letter: char) -> bool {
    matches!(
        letter,
        '\u{1680}' | '\u{2000}'..='\u{2006}' | '\u{2008}'..='\u{200a}' | '\u{205f}' | '\u{3000}'
    )
}

fn is_line_end(letter: char) -> bool {
    matches!(letter, '\u{2028}' | '\u{2029}')
}

/// A set of characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CharacterSet {
    pub(super) ranges: Vec<(char, char)>,
    /// Classes, and whether the characters beside them are meant.
    pub(super) classes: Vec<(CharacterClass, bool)>,
    pub(super) is_negated: bool,
    pub(super) excludes_newline: bool,
}

impl CharacterSet {
    /// Makes the set of one character.
    pub(super) fn of(letter: char) -> Self {
        Self { ranges: vec![(letter, letter)], ..Self::default() }
    }

    /// Makes the set of all characters, but for a newline perhaps.
    pub(super) fn any(excludes_newline: bool) -> Self {
        Self { is_negated: true, excludes_newline, ..Self::default() }
    }

    /// Makes the set of a class, or of what is beside it.
    pub(super) fn of_class(class: CharacterClass, is_opposite: bool) -> Self {
        Self { classes: vec![(class, is_opposite)], ..Self::default() }
    }

    pub(super) fn contains(&self, letter: char) -> bool {
        if self.excludes_newline && letter == '\n' {
            return false;
        }
        let in_range = |(low, high): &(char, char)| (*low..=*high).contains(&letter);
        let in_class =
            |(class, is_opposite): &(CharacterClass, bool)| class.contains(letter) != *is_opposite;
        let is_named = self.ranges.iter().any(in_range) || self.classes.iter().any(in_class);
        is_named != self.is_negated
    }

    /// Whether it has a class to which locales add characters.
    pub(super) fn is_local(&self) -> bool {
        let is_fixed = |class| matches!(class, CharacterClass::Digit | CharacterClass::HexDigit);
        !self.classes.iter().all(|(class, _)| is_fixed(*class))
    }

    /// Adds the other cases of all letters; `None` for ranges that are too long.
    pub(super) fn without_case(mut self) -> Option<Self> {
        let own = std::mem::take(&mut self.ranges);
        for (low, high) in &own {
            let length = u32::from(*high) - u32::from(*low);
            if *high > '\u{7f}' && length > CASED_RANGE_MAX {
                return None;
            }
            for letter in *low..=*high {
                for other in [lower_letter(letter), upper_letter(letter)] {
                    if other != letter {
                        self.ranges.push((other, other));
                    }
                }
            }
        }
        self.ranges.extend(own);
        for (class, _) in &mut self.classes {
            if matches!(class, CharacterClass::Lower | CharacterClass::Upper) {
                *class = CharacterClass::Alpha;
            }
        }
        Some(self)
    }

    /// Returns the set as a class of the crate `regex`.
    pub(super) fn translated(&self) -> String {
        let mut inner = String::new();
        for (low, high) in &self.ranges {
            let (low, high) = (u32::from(*low), u32::from(*high));
            inner.push_str(&format!(r"\x{{{low:x}}}-\x{{{high:x}}}"));
        }
        for (class, is_opposite) in &self.classes {
            let class = class.translated();
            inner.push_str(&if *is_opposite { format!("[^{class}]") } else { class });
        }
        let all = if self.excludes_newline { r"[^\n]" } else { r"[\s\S]" };
        match (inner.is_empty(), self.is_negated) {
            (true, true) => all.to_owned(),
            (true, false) => r"[^\s\S]".to_owned(),
            (false, false) if self.excludes_newline => format!(r"[{inner}&&[^\n]]"),
            (false, false) => format!("[{inner}]"),
            (false, true) if self.excludes_newline => format!(r"[^\n{inner}]"),
            (false, true) => format!("[^{inner}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All classes with their names.
    const NAMES: [&str; 13] = [
        "alpha", "alnum", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
        "upper", "word", "xdigit",
    ];

    #[test]
    fn classes_and_their_translations_have_the_same_characters() {
        for name in NAMES {
            let class = CharacterClass::named(name).unwrap();
            for is_opposite in [false, true] {
                let set = CharacterSet::of_class(class, is_opposite);
                let regex = Regex::new(&format!(r"\A{}\z", set.translated())).unwrap();
                // Of later ones the standard library and the crate know different editions.
                for letter in ('\0'..='\u{27f}').chain('\u{2000}'..='\u{206f}') {
                    let is_match = regex.is_match(letter.encode_utf8(&mut [0; 4]));
                    assert_eq!(set.contains(letter), is_match, "{name} {letter:?}");
                }
            }
        }
    }

    #[test]
    fn letters_of_other_scripts_are_those_of_the_locale() {
        let is = |name: &str, letter| CharacterClass::named(name).unwrap().contains(letter);
        assert!(is("alpha", '\u{e4}') && is("alpha", '\u{663}') && !is("digit", '\u{663}'));
        assert!(!is("alnum", '\u{b2}') && is("punct", '\u{b2}') && is("punct", '\u{a0}'));
        assert!(is("space", '\u{2028}') && !is("print", '\u{2028}') && !is("space", '\u{a0}'));
    }

    #[test]
    fn sets_without_case_have_both_cases() {
        let set = CharacterSet { ranges: vec![('a', 'c')], ..CharacterSet::default() };
        let set = set.without_case().unwrap();
        assert!(set.contains('B') && set.contains('b') && !set.contains('D'));
        // Other letters have cases in ASCII, but are none of theirs.
        assert!(!CharacterSet::of('k').without_case().unwrap().contains('\u{212a}'));
        let wide =
            CharacterSet { ranges: vec![('\u{400}', '\u{9000}')], ..CharacterSet::default() };
        assert_eq!(wide.without_case(), None);
    }
}
