//! Constants of plans.

use std::hash::{Hash, Hasher};

use crate::value::ValueClass;

/// A constant; nulls are typed.
#[derive(Clone, Debug)]
pub enum ScalarValue {
    Null(ValueClass),
    Bool(bool),
    Int(i128),
    Float32(f32),
    Float64(f64),
    Bytes(Vec<u8>),
}

impl ScalarValue {
    /// Returns what kind of value it is.
    pub fn class(&self) -> ValueClass {
        match self {
            Self::Null(class) => *class,
            Self::Bool(_) => ValueClass::Bool,
            Self::Int(_) => ValueClass::Int,
            Self::Float32(_) => ValueClass::Float32,
            Self::Float64(_) => ValueClass::Float64,
            Self::Bytes(_) => ValueClass::Bytes,
        }
    }
}

/// Equal bits, so that a constant can be found again; not SQL's equality.
impl PartialEq for ScalarValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null(left), Self::Null(right)) => left == right,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Int(left), Self::Int(right)) => left == right,
            (Self::Float32(left), Self::Float32(right)) => left.to_bits() == right.to_bits(),
            (Self::Float64(left), Self::Float64(right)) => left.to_bits() == right.to_bits(),
            (Self::Bytes(left), Self::Bytes(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for ScalarValue {}

impl Hash for ScalarValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.class().hash(state);
        match self {
            Self::Null(_) => {}
            Self::Bool(value) => value.hash(state),
            Self::Int(value) => value.hash(state),
            Self::Float32(value) => value.to_bits().hash(state),
            Self::Float64(value) => value.to_bits().hash(state),
            Self::Bytes(value) => value.hash(state),
        }
    }
}
