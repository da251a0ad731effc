//! The vectors of a morsel, of a frozen chunk or a hot one.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::common::Result;
use nacre_column::Restriction;

use super::hot::HotMorsel;
use super::open_morsel::OpenMorsel;

/// The morsel at hand.
#[derive(Debug)]
pub(super) enum Vectors {
    Frozen(OpenMorsel),
    Hot(HotMorsel),
}

impl Vectors {
    /// Goes on to the next vector of at most `rows_max` rows; false at the end.
    pub(super) fn advance(&mut self, rows_max: usize) -> bool {
        match self {
            Self::Frozen(morsel) => morsel.advance(rows_max),
            Self::Hot(morsel) => morsel.advance(rows_max),
        }
    }

    /// Returns the number of rows of the present vector.
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Frozen(morsel) => morsel.rows(),
            Self::Hot(morsel) => morsel.rows(),
        }
    }

    /// Returns which rows of the present vector the snapshot sees; `None` if all.
    pub(super) fn visible(&self) -> Option<BooleanArray> {
        match self {
            Self::Frozen(morsel) => morsel.visible(),
            Self::Hot(_) => None,
        }
    }

    /// Returns the values of `column` in the present vector.
    pub(super) fn column(&mut self, column: usize) -> Result<ArrayRef> {
        match self {
            Self::Frozen(morsel) => morsel.column(column),
            Self::Hot(morsel) => morsel.column(column),
        }
    }

    /// Returns which rows of the present vector match `restriction` on `column`.
    pub(super) fn select(
        &mut self,
        column: usize,
        restriction: &Restriction,
    ) -> Result<BooleanBuffer> {
        match self {
            Self::Frozen(morsel) => morsel.select(column, restriction),
            Self::Hot(morsel) => morsel.select(column, restriction),
        }
    }
}

/// What every morsel of a scan is read for.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// Columns of the filters and of the output, by index in the table.
    pub(super) columns: Arc<[usize]>,
    /// How many columns the table has.
    pub(super) column_count: usize,
}
