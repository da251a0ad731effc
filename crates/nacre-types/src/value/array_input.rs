//! Texts of arrays: `[2:3]={{1,2},{3,NULL}}`.
//!
//! 1. Bounds in brackets, if there are any.
//! 2. The braces are gone through once; elements are read by their type.
//! 3. All sub-arrays of a dimension have the same length.

use super::SqlValue;
use super::array::{
    ARRAY_DIMENSIONS_MAX, ARRAY_ELEMENTS_MAX, ArrayDimension, SqlArray, too_large,
    too_many_dimensions,
};
use super::settings::ValueSettings;
use crate::error::ValueError;
use crate::input_text::{is_space, trim_spaces};
use crate::sql_type::SqlType;

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArrayState {
    /// An element, a brace that opens, or, if empty, one that closes.
    LevelStart,
    /// Behind a comma: an element, or a brace that opens.
    ItemStart,
    /// Behind an element: a comma or a brace that closes.
    ElementEnd,
    /// Behind a sub-array: the same.
    LevelEnd,
}

/// A token of an array's text.
enum ArrayToken {
    Open,
    Close,
    Delimiter,
    /// An element, and whether it is the word for null.
    Element(String, bool),
    End,
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
    let (lengths, elements) = reader.read_elements(element_type, settings)?;
    if elements.is_empty() {
        if !bounds.is_empty() {
            return Err(reader.malformed("Specified array dimensions do not match array contents."));
        }
        return Ok(SqlArray::from_elements(element_type, elements));
    }
    let dimensions: Vec<ArrayDimension> = match bounds.as_slice() {
        [] => lengths
            .iter()
            .map(|length| ArrayDimension { length: *length, lower_bound: 1 })
            .collect(),
        bounds => {
            let own: Vec<usize> = bounds.iter().map(|dimension| dimension.length).collect();
            if own != lengths {
                let detail = "Specified array dimensions do not match array contents.";
                return Err(reader.malformed(detail));
            }
            bounds.to_vec()
        }
    };
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
            self.skip_spaces();
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
            if upper == i32::MAX {
                return Err(ValueError::limit_exceeded(format!(
                    "array upper bound is too large: {upper}"
                )));
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
        match self.rest.starts_with('{') {
            true => Ok(bounds),
            false => Err(self.malformed("Array contents must start with \"{\".")),
        }
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
        // As C reads numbers: what is not one is 0, what is too large the largest.
        Ok(Some(match number.parse::<i64>() {
            Ok(value) => value.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
            Err(_) => 0,
        }))
    }

    /// Reads everything in braces; returns the length of each dimension and the elements.
    fn read_elements(
        &mut self,
        element_type: SqlType,
        settings: &ValueSettings,
    ) -> Result<(Vec<usize>, Vec<SqlValue>), ValueError> {
        let mut elements = Vec::new();
        // Of each open brace the items so far, and of each dimension the length once it is known.
        let mut open: Vec<usize> = Vec::new();
        let mut lengths: Vec<Option<usize>> = Vec::new();
        let mut state = ArrayState::LevelStart;
        loop {
            match self.next_token(state)? {
                ArrayToken::End => return Err(self.malformed("Unexpected end of input.")),
                ArrayToken::Open => {
                    let is_first = open.is_empty();
                    let is_allowed =
                        is_first || matches!(state, ArrayState::LevelStart | ArrayState::ItemStart);
                    // Elements lie at the deepest level only.
                    let is_element_level = lengths.len() == open.len() && !elements.is_empty();
                    if !is_allowed || is_element_level {
                        return Err(self.unexpected('{'));
                    }
                    if open.len() >= ARRAY_DIMENSIONS_MAX {
                        return Err(too_many_dimensions(open.len() + 1));
                    }
                    open.push(0);
                    if lengths.len() < open.len() {
                        lengths.push(None);
                    }
                    state = ArrayState::LevelStart;
                }
                ArrayToken::Close => {
                    let depth = open.len();
                    let is_empty_array = state == ArrayState::LevelStart && depth == 1;
                    let is_end = matches!(state, ArrayState::ElementEnd | ArrayState::LevelEnd);
                    if !is_end && !is_empty_array {
                        return Err(self.unexpected('}'));
                    }
                    let count = open.pop().unwrap_or(0);
                    match lengths[depth - 1] {
                        Some(length) if length != count => return Err(self.ragged()),
                        _ => lengths[depth - 1] = Some(count),
                    }
                    match open.last_mut() {
                        Some(count) => *count += 1,
                        None => break,
                    }
                    state = ArrayState::LevelEnd;
                }
                ArrayToken::Delimiter => {
                    if !matches!(state, ArrayState::ElementEnd | ArrayState::LevelEnd) {
                        return Err(self.unexpected(self.delimiter));
                    }
                    state = ArrayState::ItemStart;
                }
                ArrayToken::Element(text, is_null) => {
                    let is_start = matches!(state, ArrayState::LevelStart | ArrayState::ItemStart);
                    if !is_start || lengths.len() != open.len() {
                        return Err(self.malformed("Unexpected array element."));
                    }
                    if elements.len() >= ARRAY_ELEMENTS_MAX {
                        return Err(too_large());
                    }
                    elements.push(match is_null {
                        true => SqlValue::Null,
                        false => SqlValue::parse(&text, element_type, settings)?,
                    });
                    if let Some(count) = open.last_mut() {
                        *count += 1;
                    }
                    state = ArrayState::ElementEnd;
                }
            }
        }
        if !trim_spaces(self.rest).is_empty() {
            return Err(self.malformed("Junk after closing right brace."));
        }
        Ok((lengths.into_iter().map(|length| length.unwrap_or(0)).collect(), elements))
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
        let is_start = matches!(state, ArrayState::LevelStart | ArrayState::ItemStart);
        if self.take('"') {
            if !is_start {
                return Err(self.malformed("Unexpected array element."));
            }
            return self.read_quoted();
        }
        self.read_plain()
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
        Ok(ArrayToken::Element(text, false))
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
        Ok(ArrayToken::Element(text, is_null))
    }
}
