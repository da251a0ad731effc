//! Names of types.

use super::{ExpressionNode, ObjectName};
use crate::range::SourceRange;

/// A type as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// Which type, or of which type an array's elements are.
    pub kind: TypeKind,
    /// SETOF
    pub is_setof: bool,
    /// One entry a dimension, with its length if it was given.
    pub dimensions: Vec<Option<i32>>,
    /// Where it stands.
    pub range: SourceRange,
}

/// Which type a name means.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// Any name, with modifiers in parentheses.
    Named {
        /// The name.
        name: ObjectName,
        /// Empty without parentheses.
        modifiers: Vec<ExpressionNode>,
    },
    /// A type whose name is words of the grammar.
    Builtin {
        /// Which.
        which: BuiltinType,
        /// Empty without parentheses.
        modifiers: Vec<ExpressionNode>,
    },
    /// INTERVAL
    Interval(IntervalFields),
}

/// A type whose name is words of the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinType {
    /// SMALLINT
    Smallint,
    /// INT, INTEGER
    Integer,
    /// BIGINT
    Bigint,
    /// REAL, FLOAT(1) to FLOAT(24)
    Real,
    /// DOUBLE PRECISION, FLOAT, FLOAT(25) to FLOAT(53)
    Double,
    /// NUMERIC, DECIMAL, DEC
    Numeric,
    /// BOOLEAN
    Boolean,
    /// BIT
    Bit,
    /// BIT VARYING
    BitVarying,
    /// CHAR, CHARACTER, NCHAR
    Character,
    /// VARCHAR, CHARACTER VARYING
    CharacterVarying,
    /// TIME
    Time,
    /// TIME WITH TIME ZONE
    TimeWithZone,
    /// TIMESTAMP
    Timestamp,
    /// TIMESTAMP WITH TIME ZONE
    TimestampWithZone,
}

/// Which fields an interval has; `None` is all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalFields {
    /// From which field to which; one field is both.
    pub span: Option<(IntervalField, IntervalField)>,
    /// Digits of seconds.
    pub precision: Option<i32>,
}

/// A field of an interval, largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum IntervalField {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}
