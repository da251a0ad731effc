//! Arrays of any number of dimensions with any lower bounds.

use super::SqlValue;
use super::settings::ValueSettings;
use crate::error::ValueError;
use crate::types::sql_type::SqlType;

/// Most dimensions of an array.
pub const ARRAY_DIMENSIONS_MAX: usize = 6;

/// Most elements of an array: what fits 1 GiB of pointers.
pub(crate) const ARRAY_ELEMENTS_MAX: usize = 134_217_727;

/// A dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArrayDimension {
    pub length: usize,
    /// The subscript of the first element.
    pub lower_bound: i32,
}

/// An array; elements in row-major order.
///
/// # Invariants
/// 1. The product of the lengths is the count of elements; without elements there is no dimension.
#[derive(Clone, Debug)]
pub struct SqlArray {
    element_type: SqlType,
    dimensions: Vec<ArrayDimension>,
    elements: Vec<SqlValue>,
}

impl SqlArray {
    /// Makes an array of one dimension with subscripts from 1.
    pub fn from_elements(element_type: SqlType, elements: Vec<SqlValue>) -> Self {
        let dimensions = match elements.len() {
            0 => Vec::new(),
            length => vec![ArrayDimension { length, lower_bound: 1 }],
        };
        Self { element_type, dimensions, elements }
    }

    /// Makes a value of `int2vector` or `oidvector`, whose subscripts begin with 0.
    pub fn vector_of(element_type: SqlType, elements: Vec<SqlValue>) -> Self {
        let dimensions = match elements.len() {
            0 => Vec::new(),
            length => vec![ArrayDimension { length, lower_bound: 0 }],
        };
        Self { element_type, dimensions, elements }
    }

    /// Makes an array of given dimensions.
    ///
    /// # Errors
    /// 54000 for too many dimensions, 2202E if lengths and elements do not go together.
    pub fn with_dimensions(
        element_type: SqlType,
        dimensions: Vec<ArrayDimension>,
        elements: Vec<SqlValue>,
    ) -> Result<Self, ValueError> {
        if dimensions.len() > ARRAY_DIMENSIONS_MAX {
            return Err(too_many_dimensions(dimensions.len()));
        }
        let mut count = usize::from(!dimensions.is_empty());
        for dimension in &dimensions {
            count = count.checked_mul(dimension.length).ok_or_else(too_large)?;
            let last = i64::from(dimension.lower_bound) + dimension.length as i64;
            if count > ARRAY_ELEMENTS_MAX {
                return Err(too_large());
            }
            if last > i64::from(i32::MAX) {
                let message = format!("array lower bound is too large: {}", dimension.lower_bound);
                return Err(ValueError::limit_exceeded(message));
            }
        }
        if count != elements.len() {
            return Err(ValueError::array_subscript("wrong number of array elements"));
        }
        let dimensions = if count == 0 { Vec::new() } else { dimensions };
        Ok(Self { element_type, dimensions, elements })
    }

    pub fn element_type(&self) -> SqlType {
        self.element_type
    }

    pub fn dimensions(&self) -> &[ArrayDimension] {
        &self.dimensions
    }

    pub fn elements(&self) -> &[SqlValue] {
        &self.elements
    }

    /// Makes an array of the same shape with other elements.
    ///
    /// # Errors
    /// The first error of `map`.
    pub(crate) fn map_elements(
        self,
        element_type: SqlType,
        map: impl FnMut(SqlValue) -> Result<SqlValue, ValueError>,
    ) -> Result<Self, ValueError> {
        let elements = self.elements.into_iter().map(map).collect::<Result<_, _>>()?;
        Ok(Self { element_type, dimensions: self.dimensions, elements })
    }

    /// Appends the text: bounds unless they begin with 1, braces for each dimension, quotes where
    /// the text of an element would be read as something else.
    pub(super) fn write(&self, settings: &ValueSettings, out: &mut String) {
        if self.elements.is_empty() {
            out.push_str("{}");
            return;
        }
        if self.dimensions.iter().any(|dimension| dimension.lower_bound != 1) {
            for dimension in &self.dimensions {
                let lower = i64::from(dimension.lower_bound);
                let upper = lower + dimension.length as i64 - 1;
                out.push_str(&format!("[{lower}:{upper}]"));
            }
            out.push('=');
        }
        let delimiter = self.element_type.entry().map_or(',', |entry| entry.delimiter);
        let mut text = String::new();
        for (index, element) in self.elements.iter().enumerate() {
            let (opened, closed) = self.braces_at(index);
            if index > 0 {
                out.push(delimiter);
            }
            out.extend(std::iter::repeat_n('{', opened));
            if element.is_null() {
                out.push_str("NULL");
            } else {
                text.clear();
                element.write_text(self.element_type, settings, &mut text);
                write_element(&text, delimiter, out);
            }
            out.extend(std::iter::repeat_n('}', closed));
        }
    }

    /// Appends the text of a value of `int2vector` or `oidvector`.
    pub(super) fn write_vector(&self, settings: &ValueSettings, out: &mut String) {
        for (index, element) in self.elements.iter().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            element.write_text(self.element_type, settings, out);
        }
    }

    /// Returns how many braces open before an element and close behind it.
    fn braces_at(&self, index: usize) -> (usize, usize) {
        let mut size = 1;
        let (mut opened, mut closed) = (0, 0);
        for dimension in self.dimensions.iter().rev() {
            size *= dimension.length;
            opened += usize::from(index.is_multiple_of(size));
            closed += usize::from(index % size == size - 1);
        }
        (opened, closed)
    }
}

fn write_element(text: &str, delimiter: char, out: &mut String) {
    let is_special = |one: char| {
        matches!(one, '"' | '\\' | '{' | '}')
            || one == delimiter
            || crate::input_text::is_space(one)
    };
    if !text.is_empty() && !text.eq_ignore_ascii_case("null") && !text.contains(is_special) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for one in text.chars() {
        if matches!(one, '"' | '\\') {
            out.push('\\');
        }
        out.push(one);
    }
    out.push('"');
}

pub(super) fn too_many_dimensions(count: usize) -> ValueError {
    let message = format!(
        "number of array dimensions ({count}) exceeds the maximum allowed ({ARRAY_DIMENSIONS_MAX})"
    );
    ValueError::limit_exceeded(message)
}

pub(super) fn too_large() -> ValueError {
    let message = format!("array size exceeds the maximum allowed ({ARRAY_ELEMENTS_MAX})");
    ValueError::limit_exceeded(message)
}
