//! The rows of a cursor, which take their memory from what all queries share.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayData, ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::compute::interleave;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use futures::TryStreamExt;

use crate::error::Result;

/// What a batch and each of its columns take besides their values, about.
const ARRAY_BYTES: usize = 128;

/// Rows that are kept until the last one who reads them is gone.
#[derive(Debug)]
pub(crate) struct KeptRows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// Given back with the rows.
    _reservation: MemoryReservation,
}

impl KeptRows {
    /// Reads all rows of a query.
    ///
    /// # Errors
    /// Those of the query; 53200 if the rows need more memory than there is for queries.
    pub(crate) async fn read(
        mut stream: SendableRecordBatchStream,
        pool: &Arc<dyn MemoryPool>,
    ) -> Result<Self> {
        let reservation = MemoryConsumer::new("cursor").register(pool);
        let (schema, mut batches, mut seen) = (stream.schema(), Vec::new(), HashSet::new());
        while let Some(batch) = stream.try_next().await? {
            let columns = batch.columns().iter();
            let values: usize = columns.map(|column| new_bytes(&column.to_data(), &mut seen)).sum();
            reservation.try_grow(values + ARRAY_BYTES * (1 + batch.num_columns()))?;
            batches.push(batch);
        }
        Ok(Self { schema, batches, _reservation: reservation })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// Returns the rows from `begin` to `end`, the last one first.
    pub(super) fn reversed(&self, begin: u64, end: u64) -> Result<RecordBatch> {
        let mut places = Vec::with_capacity((end - begin) as usize);
        let mut from = 0;
        for (number, batch) in self.batches.iter().enumerate() {
            let to = from + batch.num_rows() as u64;
            let of_batch = begin.max(from)..end.min(to);
            places.extend(of_batch.map(|row| (number, (row - from) as usize)));
            from = to;
        }
        places.reverse();
        let column = |index: usize| -> Result<ArrayRef> {
            let arrays: Vec<&dyn Array> =
                self.batches.iter().map(|batch| batch.column(index).as_ref()).collect();
            Ok(interleave(&arrays, &places)?)
        };
        let columns: Vec<ArrayRef> =
            (0..self.schema.fields().len()).map(column).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// Returns the bytes of the buffers of an array that are not among those `seen`: batches that are
/// parts of a larger one share them.
fn new_bytes(data: &ArrayData, seen: &mut HashSet<usize>) -> usize {
    let nulls = data.nulls().map(|nulls| nulls.buffer());
    let mut of_buffer = |buffer: &Buffer| {
        let is_new = seen.insert(buffer.data_ptr().as_ptr() as usize);
        if is_new { buffer.capacity() } else { 0 }
    };
    let own: usize = data.buffers().iter().chain(nulls).map(&mut of_buffer).sum();
    own + data.child_data().iter().map(|child| new_bytes(child, seen)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::Int64Array;

    use super::*;

    #[test]
    fn parts_of_an_array_are_counted_once() {
        let array = Int64Array::from_iter_values(0..1_000);
        let mut seen = HashSet::new();
        let bytes = new_bytes(&array.slice(0, 10).to_data(), &mut seen);
        assert!(bytes >= 8_000, "{bytes}");
        assert_eq!(new_bytes(&array.slice(500, 10).to_data(), &mut seen), 0);
    }
}
