//! RETURNING in Nacre's own engine: hands the rows that a statement is about to write to its query.

use std::sync::Arc;

use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use nacre_exec::lower::{GivenColumn, GivenRows, StoredColumnValues};
use nacre_store::{Table, ValueRef};
use nacre_types::SqlValue;

use super::rows::{RowBatch, Rows, require_room};
use crate::engine::{ChangedBatch, EnginePool, ReturningQuery};
use crate::error::Result;
use crate::planner::Planner;
use crate::transaction::Moment;

/// Rows that the query is given at a time: they lie beside those that are written.
const ROWS_AT_ONCE: usize = 1 << 17;

/// The query of RETURNING, and what the rows were found with.
#[derive(Debug)]
pub(super) struct ReturningRows {
    query: ReturningQuery,
    /// The outputs with values of other tables; `None` for what is not read.
    outputs: Vec<Option<usize>>,
    /// The values of each, one for each row that was found.
    others: Vec<Vec<SqlValue>>,
    bytes: usize,
}

impl ReturningRows {
    pub(super) fn new(query: ReturningQuery, outputs: Vec<Option<usize>>) -> Self {
        let others = outputs.iter().map(|_| Vec::new()).collect();
        Self { query, outputs, others, bytes: 0 }
    }

    /// Takes the values of other tables that some rows of a batch were found with.
    ///
    /// # Errors
    /// Those that values stand for; 53200.
    pub(super) fn take_others(&mut self, batch: &ChangedBatch<'_>, rows: &[u32]) -> Result<()> {
        for (output, values) in self.outputs.iter().zip(&mut self.others) {
            let Some(output) = *output else { continue };
            for row in rows {
                let value = batch.value(output, *row)?;
                self.bytes += size_of::<SqlValue>();
                if let SqlValue::Text(text) = &value {
                    self.bytes += text.len();
                }
                values.push(value);
            }
            require_room(self.bytes)?;
        }
        Ok(())
    }

    /// Computes what is answered of all rows that are written.
    ///
    /// # Errors
    /// Those of the query.
    pub(super) async fn answer(
        &self,
        planner: &Planner,
        moment: &Moment,
        pool: &EnginePool,
        table: &Table,
        written: &[&Rows],
    ) -> Result<SendableRecordBatchStream> {
        let (mut answered, mut first) = (Vec::new(), 0);
        for rows in written {
            let mut rest = rows.batches();
            while !rest.is_empty() {
                let mut count = 0;
                let is_room = |batch: &&RowBatch| {
                    count += batch.len();
                    count <= ROWS_AT_ONCE
                };
                let batches = rest.iter().take_while(is_room).count().max(1);
                let (some, others) = rest.split_at(batches);
                let given = self.given_rows(table, (rows.columns(), some), first);
                first += some.iter().map(RowBatch::len).sum::<usize>();
                answered.extend(self.query.answer(planner, moment, pool, given).await?);
                rest = others;
            }
        }
        let batches = stream::iter(answered.into_iter().map(Ok));
        let schema = Arc::clone(self.query.schema());
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }

    /// Returns rows as the query reads them; they are those from the number `first` on.
    fn given_rows(
        &self,
        table: &Table,
        (held, batches): (&[usize], &[RowBatch]),
        first: usize,
    ) -> GivenRows {
        let schema = table.schema();
        let count = batches.iter().map(RowBatch::len).sum::<usize>();
        let stored = schema.columns.iter().enumerate().map(|(position, column)| {
            let place = held.iter().position(|held| *held == position);
            let Some(place) = place.filter(|_| self.query.reads(position)) else {
                return GivenColumn::Unread;
            };
            let values = batches.iter().flat_map(|batch| {
                let buffer = &batch.columns[place];
                (0..batch.len()).map(move |row| ValueRef::of(buffer, row))
            });
            GivenColumn::Stored(StoredColumnValues::of(column.column_type, values))
        });
        let others = self.others.iter().map(|values| match values.get(first..first + count) {
            Some(values) => GivenColumn::Values(values.to_vec()),
            None => GivenColumn::Unread,
        });
        GivenRows::new(count, stored.chain(others).collect())
    }
}
