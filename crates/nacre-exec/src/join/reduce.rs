//! What a finished build side tells the scan of the probe side: which keys there are.

use std::sync::Arc;

use super::build::JoinBuildSink;
use crate::scan::KeySet;
use crate::vector::{BitVector, ColumnVector, VectorValues};

/// The keys of a join by one whole number.
#[derive(Debug)]
pub(crate) struct JoinKeySet {
    sink: Arc<JoinBuildSink>,
}

impl JoinKeySet {
    pub(crate) fn new(sink: &Arc<JoinBuildSink>) -> Self {
        Self { sink: Arc::clone(sink) }
    }
}

impl KeySet for JoinKeySet {
    fn overlaps(&self, min: i128, max: i128) -> bool {
        let range = self.sink.table().ok().and_then(|table| table.range());
        range.is_some_and(|keys| min <= i128::from(keys.max) && i128::from(keys.min) <= max)
    }

    fn is_selective(&self) -> bool {
        self.sink.table().is_ok_and(|table| table.is_small())
    }

    fn select(&self, column: &ColumnVector) -> BitVector {
        let rows = column.values.len();
        let Ok(table) = self.sink.table() else { return BitVector::filled(rows, true) };
        let mut bits = match &column.values {
            VectorValues::Int16(values) => bits_of(values, |key| table.may_have(key.into())),
            VectorValues::Int32(values) => bits_of(values, |key| table.may_have(key.into())),
            VectorValues::Int64(values) => bits_of(values, |key| table.may_have(key)),
            VectorValues::Int128(values) => {
                bits_of(values, |key| i64::try_from(key).is_ok_and(|key| table.may_have(key)))
            }
            _ => BitVector::filled(rows, true),
        };
        if let Some(validity) = &column.validity {
            bits.and_with(validity);
        }
        bits
    }
}

/// Returns a bit for each value that `may_have` holds for.
fn bits_of<T: Copy>(values: &[T], may_have: impl Fn(T) -> bool) -> BitVector {
    let mut words = vec![0; values.len().div_ceil(64)];
    for (word, some) in words.iter_mut().zip(values.chunks(64)) {
        for (bit, value) in some.iter().enumerate() {
            *word |= u64::from(may_have(*value)) << bit;
        }
    }
    BitVector::from_words(words, values.len())
}
