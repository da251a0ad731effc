//! How values lie in vectors.

use nacre_column::{ColumnType, Physical};

use super::IntBounds;

/// Bits of a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntWidth {
    I16,
    I32,
    I64,
    I128,
}

impl IntWidth {
    /// Returns the bytes of a value.
    pub fn bytes(self) -> usize {
        match self {
            Self::I16 => 2,
            Self::I32 => 4,
            Self::I64 => 8,
            Self::I128 => 16,
        }
    }
}

/// What a value is, before bounds decide how it lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueClass {
    Bool,
    /// Whole numbers, unscaled decimals, dates and times.
    Int,
    Float32,
    Float64,
    /// Byte strings, text or not.
    Bytes,
}

impl ValueClass {
    /// Returns the class of a column's values.
    pub fn of(column_type: ColumnType) -> Self {
        match column_type.physical() {
            _ if column_type == ColumnType::Boolean => Self::Bool,
            Physical::Int64 | Physical::Int128 => Self::Int,
            Physical::Float32 => Self::Float32,
            Physical::Float64 => Self::Float64,
            Physical::Bytes => Self::Bytes,
        }
    }
}

/// How the values of a vector lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VectorType {
    /// One bit a row.
    Bool,
    Int(IntWidth),
    Float32,
    Float64,
    /// Places in a query-wide table of strings.
    Code,
    /// 16-byte views.
    Bytes,
}

impl VectorType {
    /// Returns how values of a class lie, whole numbers within `bounds`.
    pub fn of_class(class: ValueClass, bounds: IntBounds) -> Self {
        match class {
            ValueClass::Bool => Self::Bool,
            ValueClass::Int => Self::Int(bounds.width()),
            ValueClass::Float32 => Self::Float32,
            ValueClass::Float64 => Self::Float64,
            ValueClass::Bytes => Self::Bytes,
        }
    }

    /// Returns the class of the values.
    pub fn class(self) -> ValueClass {
        match self {
            Self::Bool => ValueClass::Bool,
            Self::Int(_) => ValueClass::Int,
            Self::Float32 => ValueClass::Float32,
            Self::Float64 => ValueClass::Float64,
            Self::Code | Self::Bytes => ValueClass::Bytes,
        }
    }
}
