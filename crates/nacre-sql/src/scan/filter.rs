//! The filters of a scan, evaluated one after another on one vector at a time.
//!
//! 1. Restrictions are evaluated on encoded values, first of all.
//! 2. Other filters see only the rows that are left, once these are fewer than half, and always if
//!    they may fail: `b <> 0` lets `a / b > 3` see no zeros. They keep the planner's order.
//! 3. Filters that other operators found out while the query runs (dynamic filters of joins and
//!    sorts) are hints: the operator checks again. One that lets nearly all rows pass is not worth
//!    its time, so it rests and is tried again now and then.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute::kernels::boolean::and;
use datafusion::arrow::compute::{filter, prep_null_mask_filter};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use nacre_column::{ColumnType, Restriction};

use super::restriction::restriction;
use super::vectors::Vectors;
use crate::lazy_logic::{lazy_expr, may_fail};

/// A hint that lets more than this share of its rows pass rests: with three of four rows left,
/// what it saves above the scan no longer pays for a look-up per row.
const HINT_PASS_PERCENT_MAX: usize = 75;

/// Vectors that a hint rests: trying one in 32 costs about 3 % of always trying.
const HINT_REST_VECTORS: u32 = 31;

/// The rows of a vector that are left.
#[derive(Debug)]
pub(super) enum Rows {
    All,
    None,
    /// Those with a set bit; at least one, not all.
    Some(BooleanArray),
}

/// All filters of a scan.
#[derive(Debug)]
pub(super) struct Filters(Vec<RowFilter>);

#[derive(Debug)]
struct RowFilter {
    form: Form,
    is_hint: bool,
    /// Vectors for which a hint still rests.
    rest_vectors: u32,
}

#[derive(Debug)]
enum Form {
    /// On the encoded values of one column.
    Encoded { column: usize, restriction: Restriction },
    /// Over a batch of just the columns it looks at, named by their indexes in the table.
    Evaluated {
        expr: Arc<dyn PhysicalExpr>,
        columns: Vec<usize>,
        schema: SchemaRef,
        /// Whether it may fail for rows that those before it do not let through.
        may_fail: bool,
    },
}

impl Filters {
    /// Takes filters over the columns of a table of these types.
    pub(super) fn try_new(
        filters: &[Arc<dyn PhysicalExpr>],
        table_schema: &SchemaRef,
        column_types: &[ColumnType],
    ) -> Result<Self> {
        let filters = filters
            .iter()
            .map(|filter| {
                Ok(RowFilter {
                    form: Form::try_new(filter, table_schema, column_types)?,
                    is_hint: is_dynamic(filter)?,
                    rest_vectors: 0,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let (encoded, mut others): (Vec<_>, Vec<_>) =
            filters.into_iter().partition(|filter| matches!(filter.form, Form::Encoded { .. }));
        others.sort_by_key(|filter| filter.is_hint);
        Ok(Self(encoded.into_iter().chain(others).collect()))
    }

    /// Returns the columns that the filters look at, by index in the table.
    pub(super) fn columns(&self) -> Vec<usize> {
        let columns = self.0.iter().flat_map(|filter| match &filter.form {
            Form::Encoded { column, .. } => std::slice::from_ref(column),
            Form::Evaluated { columns, .. } => columns,
        });
        columns.copied().collect()
    }

    /// Evaluates all filters on the rows of the present vector of `open` that are visible.
    pub(super) fn evaluate(&mut self, open: &mut Vectors) -> Result<Rows> {
        let mut mask = open.visible();
        match mask.as_ref().map(BooleanArray::true_count) {
            Some(0) => return Ok(Rows::None),
            None if open.rows() == 0 => return Ok(Rows::None),
            _ => {}
        }
        for filter in &mut self.0 {
            if filter.rest_vectors > 0 {
                filter.rest_vectors -= 1;
                continue;
            }
            let before = mask.as_ref().map_or(open.rows(), BooleanArray::true_count);
            let left = filter.form.evaluate(open, mask.as_ref())?;
            let after = left.true_count();
            if filter.is_hint && after * 100 > before * HINT_PASS_PERCENT_MAX {
                filter.rest_vectors = HINT_REST_VECTORS;
            }
            match after {
                0 => return Ok(Rows::None),
                count if count == open.rows() => mask = None,
                _ => mask = Some(left),
            }
        }
        Ok(mask.map_or(Rows::All, Rows::Some))
    }
}

/// Tells whether a part of `filter` becomes known only while the query runs.
fn is_dynamic(filter: &Arc<dyn PhysicalExpr>) -> Result<bool> {
    let mut is_dynamic = false;
    filter.apply(|expr| {
        is_dynamic |= expr.downcast_ref::<DynamicFilterPhysicalExpr>().is_some();
        Ok(if is_dynamic { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(is_dynamic)
}

impl Form {
    fn try_new(
        filter: &Arc<dyn PhysicalExpr>,
        table_schema: &SchemaRef,
        column_types: &[ColumnType],
    ) -> Result<Self> {
        if let Some((column, restriction)) = restriction(filter, column_types) {
            return Ok(Self::Encoded { column, restriction });
        }
        let mut columns: Vec<usize> =
            collect_columns(filter).iter().map(|column| column.index()).collect();
        columns.sort_unstable();
        let schema: SchemaRef = Arc::new(table_schema.project(&columns)?);
        let expr = reassign_expr_columns(Arc::clone(filter), &schema)?;
        let expr = lazy_expr(expr, &schema)?.data;
        let may_fail = may_fail(&expr, &schema);
        Ok(Self::Evaluated { expr, columns, schema, may_fail })
    }

    /// Returns which rows pass, of those set in `mask` if there is one.
    fn evaluate(&self, open: &mut Vectors, mask: Option<&BooleanArray>) -> Result<BooleanArray> {
        let (expr, columns, schema, may_fail) = match self {
            Self::Encoded { column, restriction } => {
                let selected = BooleanArray::new(open.select(*column, restriction)?, None);
                return Ok(match mask {
                    Some(mask) => and(mask, &selected)?,
                    None => selected,
                });
            }
            Self::Evaluated { expr, columns, schema, may_fail } => {
                (expr, columns, schema, *may_fail)
            }
        };
        let arrays = columns.iter().map(|&column| open.column(column)).collect::<Result<_>>()?;
        match mask {
            Some(mask) if may_fail || mask.true_count() * 2 < mask.len() => {
                let arrays: Vec<ArrayRef> = arrays;
                let left =
                    arrays.iter().map(|array| filter(array, mask)).collect::<Result<_, _>>()?;
                let verdict = verdict(expr, schema, left, mask.true_count())?;
                Ok(spread(mask, &verdict))
            }
            Some(mask) => Ok(and(mask, &verdict(expr, schema, arrays, open.rows())?)?),
            None => verdict(expr, schema, arrays, open.rows()),
        }
    }
}

/// Evaluates `expr` over `rows` rows; null counts as false.
fn verdict(
    expr: &Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
    arrays: Vec<ArrayRef>,
    rows: usize,
) -> Result<BooleanArray> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?;
    let verdict = expr.evaluate(&batch)?.into_array(rows)?;
    let verdict = as_boolean_array(&verdict)?;
    Ok(match verdict.null_count() {
        0 => verdict.clone(),
        _ => prep_null_mask_filter(verdict),
    })
}

/// Clears the set bits of `mask` whose place among the set bits has a false `verdict`.
///
/// ```text
/// mask      0 1 1 0 1
/// verdict     1 0   1
/// result    0 1 0 0 1
/// ```
fn spread(mask: &BooleanArray, verdict: &BooleanArray) -> BooleanArray {
    let mut words = vec![0_u64; mask.len().div_ceil(64)];
    for (row, passes) in mask.values().set_indices().zip(verdict.values()) {
        words[row / 64] |= u64::from(passes) << (row % 64);
    }
    let bits = datafusion::arrow::buffer::Buffer::from_vec(words);
    BooleanArray::new(BooleanBuffer::new(bits, 0, mask.len()), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_spread_over_the_rows_that_were_left() {
        let mask: BooleanArray = (0..200).map(|row| Some(row % 3 == 0)).collect();
        let verdict: BooleanArray = (0..67).map(|place| Some(place % 2 == 0)).collect();
        let expected: BooleanArray = (0..200).map(|row| Some(row % 6 == 0)).collect();
        assert_eq!(spread(&mask, &verdict), expected);
    }
}
