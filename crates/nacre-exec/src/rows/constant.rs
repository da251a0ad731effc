//! Constant rows as a source.

use nacre_column::VECTOR_ROWS;

use crate::error::{ExecError, ExecResult};
use crate::pipeline::{PipelineSource, SlotInfo, SourceRun};
use crate::plan::{ConstantColumn, RowsNode};
use crate::value::{IntBounds, ScalarValue, ValueClass, VectorType};
use crate::vector::VectorBatch;

/// Rows of a morsel.
const MORSEL_ROWS: usize = 65_536;

/// Rows that a plan has.
#[derive(Debug)]
pub(crate) struct ConstantRowSource {
    node: RowsNode,
}

#[derive(Debug)]
struct ConstantRun {
    node: RowsNode,
    next: usize,
    end: usize,
}

impl ConstantRowSource {
    /// Takes the rows of a node.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if columns have other values than they say.
    pub(crate) fn new(node: &RowsNode) -> ExecResult<Self> {
        let is_whole = |column: &ConstantColumn| {
            column.values.len() == node.rows
                && column.values.iter().all(|value| value.class() == column.class)
        };
        if !node.columns.iter().all(is_whole) {
            return Err(ExecError::internal("constant rows have values of other classes"));
        }
        Ok(Self { node: node.clone() })
    }

    /// Returns types and bounds of the columns.
    pub(crate) fn outputs(&self) -> Vec<SlotInfo> {
        self.node.columns.iter().map(column_info).collect()
    }
}

fn column_info(column: &ConstantColumn) -> SlotInfo {
    let ints = column.values.iter().filter_map(|value| match value {
        ScalarValue::Int(value) => Some(IntBounds::of(*value)),
        _ => None,
    });
    let bounds = ints.reduce(IntBounds::union).unwrap_or(IntBounds::of(0));
    let vector_type = match column.class {
        ValueClass::Bool => VectorType::Bool,
        ValueClass::Int => VectorType::Int(bounds.width()),
        ValueClass::Float32 => VectorType::Float32,
        ValueClass::Float64 => VectorType::Float64,
        ValueClass::Bytes => VectorType::Bytes,
    };
    SlotInfo {
        vector_type,
        bounds: (column.class == ValueClass::Int).then_some(bounds),
        is_nullable: column.values.iter().any(|value| matches!(value, ScalarValue::Null(_))),
        dictionary: None,
    }
}

impl PipelineSource for ConstantRowSource {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn morsel_count(&self) -> usize {
        self.node.rows.div_ceil(MORSEL_ROWS)
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let next = morsel * MORSEL_ROWS;
        let end = self.node.rows.min(next + MORSEL_ROWS);
        Ok(Box::new(ConstantRun { node: self.node.clone(), next, end }))
    }
}

impl SourceRun for ConstantRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        let rows = self.next..self.end.min(self.next + VECTOR_ROWS);
        self.next = rows.end;
        (batch.rows, batch.selection) = (rows.len(), None);
        for (column, out) in self.node.columns.iter().zip(&mut batch.columns) {
            out.clear();
            column.values[rows.clone()].iter().try_for_each(|value| out.push_scalar(value))?;
            out.fill_validity();
        }
        Ok(!rows.is_empty())
    }
}
