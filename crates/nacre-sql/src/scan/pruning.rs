//! Skipping chunks whose aggregates rule out a match.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::conjunction;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use nacre_column::Sma;
use nacre_store::Chunk;

use super::statistics::{max_scalar, min_scalar};
use crate::types::arrow_type;

/// The aggregates of a table's chunks as the pruning rules want them: one container a chunk.
struct ChunkStatistics<'a> {
    schema: SchemaRef,
    chunks: &'a [Chunk],
}

/// Returns the chunks in which a row may pass all of `filters` (over the table's columns).
pub(super) fn prune(
    chunks: &[Chunk],
    schema: &SchemaRef,
    filters: &[Arc<dyn PhysicalExpr>],
) -> Result<Vec<Chunk>> {
    if filters.is_empty() || chunks.is_empty() {
        return Ok(chunks.to_vec());
    }
    let predicate = conjunction(filters.iter().cloned());
    // A filter that the rules cannot read skips nothing.
    let builder = PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema));
    let Ok(pruning) = builder.try_build(predicate) else {
        return Ok(chunks.to_vec());
    };
    let may_match = pruning.prune(&ChunkStatistics { schema: Arc::clone(schema), chunks })?;
    let kept = chunks.iter().zip(may_match).filter(|(_, may_match)| *may_match);
    Ok(kept.map(|(chunk, _)| chunk.clone()).collect())
}

impl ChunkStatistics<'_> {
    fn collect(
        &self,
        column: &Column,
        value: impl Fn(&Sma, nacre_column::ColumnType) -> Option<ScalarValue>,
    ) -> Option<ArrayRef> {
        let index = self.schema.index_of(&column.name).ok()?;
        let column_type = self.chunks.first()?.column_type(index);
        let null = ScalarValue::try_from(&arrow_type(column_type)).ok()?;
        let values = self
            .chunks
            .iter()
            .map(|chunk| value(chunk.sma(index), column_type).unwrap_or_else(|| null.clone()));
        ScalarValue::iter_to_array(values).ok()
    }
}

impl PruningStatistics for ChunkStatistics<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.collect(column, min_scalar)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.collect(column, max_scalar)
    }

    fn num_containers(&self) -> usize {
        self.chunks.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let index = self.schema.index_of(&column.name).ok()?;
        let counts = self.chunks.iter().map(|chunk| u64::from(chunk.sma(index).null_count));
        Some(Arc::new(UInt64Array::from_iter_values(counts)))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let counts = self.chunks.iter().map(|chunk| chunk.rows() as u64);
        Some(Arc::new(UInt64Array::from_iter_values(counts)))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
