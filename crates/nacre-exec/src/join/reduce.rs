//! What a finished build side tells the scan of the probe side: which keys there are.

use std::sync::Arc;

use super::build::JoinBuildSink;
use super::key_bits::JoinKeySummary;
use crate::scan::KeySet;
use crate::vector::{BitVector, ColumnVector, VectorValues};

/// The values of a key that is a whole number.
#[derive(Debug)]
pub(crate) struct JoinKeySet {
    sink: Arc<JoinBuildSink>,
    /// Of the keys of a row.
    word: usize,
}

impl JoinKeySet {
    pub(crate) fn new(sink: &Arc<JoinBuildSink>, word: usize) -> Self {
        Self { sink: Arc::clone(sink), word }
    }

    fn summary(&self) -> Option<&JoinKeySummary> {
        self.sink.table().ok()?.key_summary(self.word)
    }
}

impl KeySet for JoinKeySet {
    fn overlaps(&self, min: i128, max: i128) -> bool {
        if self.sink.spilled().is_some() {
            return true;
        }
        let range = self.summary().and_then(|summary| summary.range);
        range.is_some_and(|keys| min <= i128::from(keys.max) && i128::from(keys.min) <= max)
    }

    fn range(&self) -> Option<(i128, i128)> {
        if self.sink.spilled().is_some() {
            return None;
        }
        let keys = self.summary()?.range?;
        Some((keys.min.into(), keys.max.into()))
    }

    fn is_selective(&self) -> bool {
        self.summary().is_some_and(|summary| summary.bits.is_some())
    }

    fn select(&self, column: &ColumnVector) -> BitVector {
        let rows = column.values.len();
        let keys = self.summary().and_then(|summary| summary.bits.as_ref());
        let Some(keys) = keys else { return BitVector::filled(rows, true) };
        let words = match &column.values {
            VectorValues::Int16(values) => keys.select(values, |key| Some(key.into())),
            VectorValues::Int32(values) => keys.select(values, |key| Some(key.into())),
            VectorValues::Int64(values) => keys.select(values, Some),
            VectorValues::Int128(values) => keys.select(values, |key| key.try_into().ok()),
            _ => return BitVector::filled(rows, true),
        };
        let mut bits = BitVector::from_words(words, rows);
        if let Some(validity) = &column.validity {
            bits.and_with(validity);
        }
        bits
    }
}
