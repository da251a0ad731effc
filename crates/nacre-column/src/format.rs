//! The formats that a block can be in, one module each.
//!
//! | format | for | section `values` | sections `offsets`, `heap` |
//! |---|---|---|---|
//! | [`plain`] | all types | fixed-width values | the strings end to end |
//! | [`static_bp`] | whole numbers | differences to a base, bit-packed | none |
//! | [`dictionary`] | strings | codes, bit-packed | the distinct strings, ascending |

pub(crate) mod dictionary;
pub(crate) mod plain;
pub(crate) mod static_bp;

use std::fmt;

use crate::{ColumnType, Physical};

/// Names the encoding of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// The values as they are, each in the bytes its type needs.
    Plain,
    /// Differences to a frame of reference in one bit width for the block.
    StaticBp,
    /// Ordered dictionary with bit-packed codes.
    Dictionary,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Plain, Self::StaticBp, Self::Dictionary];

    /// Returns the name, as `SHOW` and `EXPLAIN` print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::StaticBp => "static_bp",
            Self::Dictionary => "dict",
        }
    }

    /// Tells whether values of `column_type` can be stored in this format.
    pub fn can_hold(self, column_type: ColumnType) -> bool {
        match self {
            Self::Plain => true,
            Self::StaticBp => {
                matches!(column_type.physical(), Physical::Int64 | Physical::Int128)
            }
            Self::Dictionary => column_type.physical() == Physical::Bytes,
        }
    }

    /// Returns the byte that stands for this format on media.
    pub(crate) fn tag(self) -> u8 {
        match self {
            Self::Plain => 1,
            Self::StaticBp => 2,
            Self::Dictionary => 3,
        }
    }

    /// Returns the format that `tag` stands for.
    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.tag() == tag)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
