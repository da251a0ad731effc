//! Reads sets in brackets, and what is behind a backslash.

use super::character_set::{CharacterClass, CharacterSet};
use super::parser::PatternParser;
use super::pattern::{PatternAssertion, PatternError, PatternNode};

const ESCAPE: PatternError = PatternError::Malformed("invalid escape \\ sequence");
const RANGE: PatternError = PatternError::Malformed("invalid character range");
const BRACKETS: PatternError = PatternError::Malformed("brackets [] not balanced");

/// Most digits of `\x`.
const HEX_DIGITS_MAX: usize = 255;

/// What is behind a backslash.
enum EscapeMeaning {
    Letter(char),
    Class(CharacterClass, bool),
    Assertion(PatternAssertion),
}

/// Takes what is behind a backslash, outside of brackets.
pub(super) fn escape(parser: &mut PatternParser<'_>) -> Result<PatternNode, PatternError> {
    match escape_meaning(parser)? {
        EscapeMeaning::Letter(letter) => parser.set(CharacterSet::of(letter)),
        EscapeMeaning::Class(class, is_opposite) => {
            parser.set(CharacterSet::of_class(class, is_opposite))
        }
        EscapeMeaning::Assertion(assertion) => Ok(PatternNode::Assertion(assertion)),
    }
}

fn escape_meaning(parser: &mut PatternParser<'_>) -> Result<EscapeMeaning, PatternError> {
    use CharacterClass as C;
    use PatternAssertion as A;
    let letter = parser.next().ok_or(ESCAPE)?;
    Ok(match letter {
        letter if !letter.is_ascii_alphanumeric() => EscapeMeaning::Letter(letter),
        'd' => EscapeMeaning::Class(C::Digit, false),
        'D' => EscapeMeaning::Class(C::Digit, true),
        's' => EscapeMeaning::Class(C::Space, false),
        'S' => EscapeMeaning::Class(C::Space, true),
        'w' => EscapeMeaning::Class(C::Word, false),
        'W' => EscapeMeaning::Class(C::Word, true),
        'A' => EscapeMeaning::Assertion(A::TextStart),
        'Z' => EscapeMeaning::Assertion(A::TextEnd),
        'm' => EscapeMeaning::Assertion(A::WordStart),
        'M' => EscapeMeaning::Assertion(A::WordEnd),
        'y' => EscapeMeaning::Assertion(A::WordBoundary),
        'Y' => EscapeMeaning::Assertion(A::NoWordBoundary),
        // A reference to a group, or an octal number.
        '1'..='9' => return Err(PatternError::Unknown),
        letter => EscapeMeaning::Letter(escaped_letter(letter, parser)?),
    })
}

/// Returns the character that a letter or `0` behind a backslash stands for.
fn escaped_letter(letter: char, parser: &mut PatternParser<'_>) -> Result<char, PatternError> {
    Ok(match letter {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'B' => '\\',
        'c' => {
            let control = u32::from(parser.next().ok_or(ESCAPE)?) & 0x1f;
            char::from_u32(control).ok_or(ESCAPE)?
        }
        'e' => '\u{1b}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        'u' => number(parser, 16, 4, 4)?,
        'U' => number(parser, 16, 8, 8)?,
        'x' => number(parser, 16, 1, HEX_DIGITS_MAX)?,
        '0' if parser.peek().is_some_and(|next| next.is_digit(8)) => number(parser, 8, 1, 2)?,
        '0' => '\0',
        _ => return Err(ESCAPE),
    })
}

/// Takes the digits of a character's number.
fn number(
    parser: &mut PatternParser<'_>,
    radix: u32,
    least: usize,
    most: usize,
) -> Result<char, PatternError> {
    let (mut value, mut count) = (0_u32, 0);
    while count < most
        && let Some(digit) = parser.peek().and_then(|next| next.to_digit(radix))
    {
        parser.next();
        value =
            value.checked_mul(radix).and_then(|value| value.checked_add(digit)).ok_or(ESCAPE)?;
        count += 1;
    }
    if count < least {
        return Err(ESCAPE);
    }
    char::from_u32(value).ok_or(ESCAPE)
}

/// Takes the rest of a set such as `[^a-z]`.
pub(super) fn bracket(parser: &mut PatternParser<'_>) -> Result<PatternNode, PatternError> {
    let mut set = CharacterSet { is_negated: parser.take("^"), ..CharacterSet::default() };
    set.excludes_newline = set.is_negated && parser.flags.stops_at_lines;
    let mut is_first = true;
    loop {
        if parser.rest.is_empty() {
            return Err(BRACKETS);
        }
        if !is_first && parser.take("]") {
            break;
        }
        let is_range_sign = parser.rest.starts_with('-') && !parser.rest.starts_with("-]");
        if is_range_sign && !is_first {
            return Err(RANGE);
        }
        is_first = false;
        match element(parser)? {
            EscapeMeaning::Class(class, is_opposite) => {
                set.classes.push((class, is_opposite));
                if parser.rest.starts_with('-') && !parser.rest.starts_with("-]") {
                    return Err(RANGE);
                }
            }
            EscapeMeaning::Letter(low) => {
                let high = range_end(parser, low)?;
                if high < low {
                    return Err(RANGE);
                }
                set.ranges.push((low, high));
            }
            EscapeMeaning::Assertion(_) => return Err(ESCAPE),
        }
    }
    parser.set(set)
}

/// Takes the end of a range, if that is one.
fn range_end(parser: &mut PatternParser<'_>, low: char) -> Result<char, PatternError> {
    if !parser.rest.starts_with('-') || parser.rest.starts_with("-]") {
        return Ok(low);
    }
    parser.next();
    match element(parser)? {
        EscapeMeaning::Letter(high) => Ok(high),
        EscapeMeaning::Class(..) => Err(RANGE),
        EscapeMeaning::Assertion(_) => Err(ESCAPE),
    }
}

/// Takes a character or a class of a set.
fn element(parser: &mut PatternParser<'_>) -> Result<EscapeMeaning, PatternError> {
    if parser.take("\\") {
        return escape_meaning(parser);
    }
    for (open, close) in [("[:", ":]"), ("[.", ".]"), ("[=", "=]")] {
        if !parser.take(open) {
            continue;
        }
        let (name, rest) = parser.rest.split_once(close).ok_or(BRACKETS)?;
        parser.rest = rest;
        if open == "[:" {
            let class = CharacterClass::named(name);
            let class = class.ok_or(PatternError::Malformed("invalid character class"))?;
            return Ok(EscapeMeaning::Class(class, false));
        }
        let mut letters = name.chars();
        return match (letters.next(), letters.next()) {
            (Some(letter), None) => Ok(EscapeMeaning::Letter(letter)),
            // A name such as `hyphen`.
            _ => Err(PatternError::Unknown),
        };
    }
    parser.next().map(EscapeMeaning::Letter).ok_or(BRACKETS)
}
