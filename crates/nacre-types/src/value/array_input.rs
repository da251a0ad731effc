//! Texts of arrays: `[2:3]={{1,2},{3,NULL}}`.
//!
//! 1. Bounds in brackets, if there are any.
//! 2. The braces are gone through once: their form is checked, elements are cut out.
//! 3. Lengths are compared with the bounds; then elements are read by their type.

use super::SqlValue;
use super::array::{
    ARRAY_DIMENSIONS_MAX, ARRAY_ELEMENTS_MAX, ArrayDimension, SqlArray, too_large,
    too_many_dimensions,
};
use super::settings::ValueSettings;
use crate::error::ValueError;
use crate::input_text::{is_space, trim_spaces};
use crate::types::sql_type::SqlType;

/// What was read last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArrayState {
    Start,
    LevelStart,
    /// A delimiter behind an element.
    ElementDelimiter,
    /// A delimiter behind a sub-array.
    LevelDelimiter,
    Element,
    LevelEnd,
}

/// A token of an array's text.
enum ArrayToken {
    Open,
    Close,
    Delimiter,
    /// An element; `None` is null.
    Element(Option<String>),
    End,
}

/// The contents of the braces.
#[derive(Default)]
struct ArrayShape {
    elements: Vec<Option<String>>,
    /// Of each open brace the items so far.
    open: Vec<usize>,
    /// Of each dimension the length, once a sub-array of it is closed.
    lengths: Vec<Option<usize>>,
    /// Whether there are elements beside sub-arrays.
    is_ragged: bool,
}

struct ArrayReader<'a> {
    source: &'a str,
    rest: &'a str,
    delimiter: char,
}

/// Reads the text of an array.
pub(super) fn parse_array(
    text: &str,
    element_type: SqlType,
    settings: &ValueSettings,
) -> Result<SqlArray, ValueError> {
    let delimiter = element_type.entry().map_or(',', |entry| entry.delimiter);
    let mut reader = ArrayReader { source: text, rest: text, delimiter };
    let bounds = reader.read_bounds()?;
    // Messages of what is inside the braces begin with them.
    let mut inner = ArrayReader { source: reader.rest, ..reader };
    let ArrayShape { elements: texts, lengths, .. } = inner.read_shape()?;
    let lengths: Vec<usize> = if texts.is_empty() {
        Vec::new()
    } else {
        lengths.into_iter().map(|length| length.unwrap_or(0)).collect()
    };
    let dimensions: Vec<ArrayDimension> = match bounds.as_slice() {
        [] => lengths.iter().map(|&length| ArrayDimension { length, lower_bound: 1 }).collect(),
        bounds if bounds.iter().map(|dimension| dimension.length).eq(lengths) => bounds.to_vec(),
        _ => {
            let detail = "Specified array dimensions do not match array contents.";
            return Err(reader.malformed(detail));
        }
    };
    let read = |text: Option<String>| match text {
        Some(text) => SqlValue::parse(&text, element_type, settings),
        None => Ok(SqlValue::Null),
    };
    let elements = texts.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    SqlArray::with_dimensions(element_type, dimensions, elements)
}

impl ArrayReader<'_> {
    fn malformed(&self, detail: &str) -> ValueError {
        let message = format!("malformed array literal: \"{}\"", self.source);
        ValueError::invalid_text(message).with_detail(detail)
    }

    fn unexpected(&self, one: char) -> ValueError {
        self.malformed(&format!("Unexpected \"{one}\" character."))
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(is_space);
    }

    fn take(&mut self, one: char) -> bool {
        match self.rest.strip_prefix(one) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads `[lower:upper]` or `[length]` for each dimension, and the equals sign.
    fn read_bounds(&mut self) -> Result<Vec<ArrayDimension>, ValueError> {
        let mut bounds = Vec::new();
        loop {
            self.skip_spaces();
            if !self.take('[') {
                break;
            }
            if bounds.len() >= ARRAY_DIMENSIONS_MAX {
                return Err(too_many_dimensions(bounds.len() + 1));
            }
            let mut lower = 1;
            let Some(mut upper) = self.read_bound()? else {
                let detail = "\"[\" must introduce explicitly-specified array dimensions.";
                return Err(self.malformed(detail));
            };
            if self.take(':') {
                lower = upper;
                let behind = self.read_bound()?;
                upper = behind.ok_or_else(|| self.malformed("Missing array dimension value."))?;
            }
            if !self.take(']') {
                return Err(self.malformed("Missing \"]\" after array dimensions."));
            }
            if upper < lower {
                let message = "upper bound cannot be less than lower bound";
                return Err(ValueError::array_subscript(message));
            }
            let length = i64::from(upper) - i64::from(lower) + 1;
            let length = usize::try_from(length).map_err(|_| too_large())?;
            bounds.push(ArrayDimension { length, lower_bound: lower });
        }
        if bounds.is_empty() {
            if !self.rest.starts_with('{') {
                let detail = "Array value must start with \"{\" or dimension information.";
                return Err(self.malformed(detail));
            }
            return Ok(bounds);
        }
        if !self.take('=') {
            return Err(self.malformed("Missing \"=\" after array dimensions."));
        }
        self.skip_spaces();
        if !self.rest.starts_with('{') {
            return Err(self.malformed("Array contents must start with \"{\"."));
        }
        Ok(bounds)
    }

    /// Reads a bound; `None` without digits.
    fn read_bound(&mut self) -> Result<Option<i32>, ValueError> {
        let is_part = |one: char| one.is_ascii_digit() || matches!(one, '-' | '+');
        let end = self.rest.find(|one| !is_part(one)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        if number.is_empty() {
            return Ok(None);
        }
        self.rest = rest;
        // As C reads numbers: the start that is one, else 0; what is too large is the largest.
        let sign = usize::from(number.starts_with(['-', '+']));
        let digits = number[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let value = match digits {
            0 => 0,
            _ => number[..sign + digits].parse::<i64>().unwrap_or(i64::MAX),
        };
        Ok(Some(value.clamp(i32::MIN.into(), i32::MAX.into()) as i32))
    }

    /// Goes through everything in braces.
    fn read_shape(&mut self) -> Result<ArrayShape, ValueError> {
        let mut shape = ArrayShape::default();
        let mut state = ArrayState::Start;
        loop {
            let token = self.next_token(state)?;
            state = match (token, state) {
                (ArrayToken::End, _) => return Err(self.malformed("Unexpected end of input.")),
                (
                    ArrayToken::Open,
                    ArrayState::Start | ArrayState::LevelStart | ArrayState::LevelDelimiter,
                ) => {
                    shape.open()?;
                    ArrayState::LevelStart
                }
                (ArrayToken::Open, _) => return Err(self.unexpected('{')),
                (ArrayToken::Close, state) => {
                    let is_empty = state == ArrayState::LevelStart && shape.open.len() == 1;
                    if !is_empty && !matches!(state, ArrayState::Element | ArrayState::LevelEnd) {
                        return Err(self.unexpected('}'));
                    }
                    if !shape.close() {
                        return Err(self.ragged());
                    }
                    if shape.open.is_empty() {
                        break;
                    }
                    ArrayState::LevelEnd
                }
                (ArrayToken::Delimiter, ArrayState::Element) => ArrayState::ElementDelimiter,
                (ArrayToken::Delimiter, ArrayState::LevelEnd) => ArrayState::LevelDelimiter,
                (ArrayToken::Delimiter, _) => return Err(self.unexpected(self.delimiter)),
                (ArrayToken::Element(text), _) => {
                    // All elements lie in the last dimension.
                    shape.is_ragged |= shape.lengths.len() != shape.open.len();
                    shape.push(text)?;
                    ArrayState::Element
                }
            };
        }
        if !trim_spaces(self.rest).is_empty() {
            return Err(self.malformed("Junk after closing right brace."));
        }
        if shape.is_ragged { Err(self.ragged()) } else { Ok(shape) }
    }

    fn ragged(&self) -> ValueError {
        self.malformed("Multidimensional arrays must have sub-arrays with matching dimensions.")
    }

    fn next_token(&mut self, state: ArrayState) -> Result<ArrayToken, ValueError> {
        self.skip_spaces();
        if self.take('{') {
            return Ok(ArrayToken::Open);
        }
        if self.take('}') {
            return Ok(ArrayToken::Close);
        }
        if self.take(self.delimiter) {
            return Ok(ArrayToken::Delimiter);
        }
        if self.rest.is_empty() {
            return Ok(ArrayToken::End);
        }
        if !matches!(state, ArrayState::LevelStart | ArrayState::ElementDelimiter) {
            return Err(if self.rest.starts_with('\\') {
                self.unexpected('\\')
            } else {
                self.malformed("Unexpected array element.")
            });
        }
        if self.take('"') { self.read_quoted() } else { self.read_plain() }
    }

    fn read_quoted(&mut self) -> Result<ArrayToken, ValueError> {
        let mut text = String::new();
        let mut chars = self.rest.chars();
        loop {
            match chars.next() {
                None => return Err(self.malformed("Unexpected end of input.")),
                Some('"') => break,
                Some('\\') => match chars.next() {
                    Some(one) => text.push(one),
                    None => return Err(self.malformed("Unexpected end of input.")),
                },
                Some(one) => text.push(one),
            }
        }
        self.rest = chars.as_str();
        Ok(ArrayToken::Element(Some(text)))
    }

    fn read_plain(&mut self) -> Result<ArrayToken, ValueError> {
        let mut text = String::new();
        // The end of what is kept: blanks behind it are not part of the element.
        let mut kept = 0;
        let mut has_escape = false;
        let mut chars = self.rest.chars();
        loop {
            let before = chars.as_str();
            match chars.next() {
                None => return Err(self.malformed("Unexpected end of input.")),
                Some('"') => return Err(self.malformed("Unexpected array element.")),
                Some('{') => return Err(self.unexpected('{')),
                Some('\\') => match chars.next() {
                    Some(one) => {
                        has_escape = true;
                        text.push(one);
                        kept = text.len();
                    }
                    None => return Err(self.malformed("Unexpected end of input.")),
                },
                Some(one) if one == '}' || one == self.delimiter => {
                    self.rest = before;
                    break;
                }
                Some(one) => {
                    text.push(one);
                    if !is_space(one) {
                        kept = text.len();
                    }
                }
            }
        }
        text.truncate(kept);
        let is_null = !has_escape && text.eq_ignore_ascii_case("null");
        Ok(ArrayToken::Element((!is_null).then_some(text)))
    }
}

impl ArrayShape {
    fn open(&mut self) -> Result<(), ValueError> {
        self.is_ragged |= self.lengths.len() == self.open.len() && !self.elements.is_empty();
        if self.open.len() >= ARRAY_DIMENSIONS_MAX {
            return Err(too_many_dimensions(self.open.len() + 1));
        }
        self.open.push(0);
        if self.lengths.len() < self.open.len() {
            self.lengths.push(None);
        }
        Ok(())
    }

    /// Returns false if another sub-array of the dimension had another length.
    fn close(&mut self) -> bool {
        let Some(count) = self.open.pop() else { return false };
        if let Some(outer) = self.open.last_mut() {
            *outer += 1;
        }
        let length = self.lengths[self.open.len()].get_or_insert(count);
        *length == count
    }

    fn push(&mut self, text: Option<String>) -> Result<(), ValueError> {
        if self.elements.len() >= ARRAY_ELEMENTS_MAX {
            return Err(too_large());
        }
        self.elements.push(text);
        if let Some(count) = self.open.last_mut() {
            *count += 1;
        }
        Ok(())
    }
}
