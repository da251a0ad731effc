//! Skipping chunks whose aggregates rule out a match.
//!
//! Restrictions are compared with the aggregates directly; what else the filters say goes through
//! DataFusion's pruning rules, which read the aggregates as arrays.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::conjunction;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use nacre_column::{ColumnType, Sma, may_match};
use nacre_store::Chunk;

use super::restriction::restriction;
use super::statistics::{max_scalar, min_scalar};
use crate::types::arrow_type;

/// The aggregates of a table's chunks as the pruning rules want them: one container a chunk.
struct ChunkStatistics<'a> {
    schema: SchemaRef,
    column_count: usize,
    chunks: &'a [Chunk],
}

/// Returns for each chunk whether a row of it may pass all of `filters` (over the table's columns).
pub(super) fn may_pass(
    chunks: &[Chunk],
    schema: &SchemaRef,
    column_types: &[ColumnType],
    filters: &[Arc<dyn PhysicalExpr>],
) -> Result<Vec<bool>> {
    let (mut restrictions, mut others) = (Vec::new(), Vec::new());
    for filter in filters {
        match restriction(filter, column_types) {
            Some(restriction) => restrictions.push(restriction),
            None => others.push(Arc::clone(filter)),
        }
    }
    let is_within = |chunk: &Chunk| {
        restrictions.iter().all(|(column, restriction)| may_match(chunk.sma(*column), restriction))
    };
    let within: Vec<bool> = chunks.iter().map(is_within).collect();
    if others.is_empty() || !within.contains(&true) {
        return Ok(within);
    }
    let builder = PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema));
    // A filter that the rules cannot read skips nothing.
    let Ok(pruning) = builder.try_build(conjunction(others)) else { return Ok(within) };
    let statistics =
        ChunkStatistics { schema: Arc::clone(schema), column_count: column_types.len(), chunks };
    let may_match = pruning.prune(&statistics)?;
    Ok(within
        .into_iter()
        .zip(may_match)
        .map(|(is_within, may_match)| is_within && may_match)
        .collect())
}

impl ChunkStatistics<'_> {
    /// Returns the index of a column that has aggregates: the ids of rows have none.
    fn index_of(&self, column: &Column) -> Option<usize> {
        let index = self.schema.index_of(&column.name).ok()?;
        (index < self.column_count).then_some(index)
    }

    fn collect(
        &self,
        column: &Column,
        value: impl Fn(&Sma, ColumnType) -> Option<ScalarValue>,
    ) -> Option<ArrayRef> {
        let (first, index) = (self.chunks.first()?, self.index_of(column)?);
        let column_type = first.column_type(index);
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
        let index = self.index_of(column)?;
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
