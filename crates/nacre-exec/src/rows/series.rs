//! Series of numbers as a source: each morsel makes its own part.

use nacre_column::VECTOR_ROWS;

use crate::error::{ExecError, ExecResult};
use crate::pipeline::{PipelineSource, SlotInfo, SourceRun};
use crate::plan::{SeriesColumn, SeriesNode};
use crate::value::{IntBounds, VectorType};
use crate::vector::VectorBatch;

/// Rows of a morsel.
const MORSEL_ROWS: u64 = 65_536;

/// Rows that are counted up.
#[derive(Debug)]
pub(crate) struct SeriesSource {
    node: SeriesNode,
    infos: Vec<SlotInfo>,
}

#[derive(Debug)]
struct SeriesRun {
    columns: Vec<SeriesColumn>,
    next: u64,
    end: u64,
}

impl SeriesSource {
    /// Takes the rows of a node.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if a value has more than 128 bits.
    pub(crate) fn new(node: &SeriesNode) -> ExecResult<Self> {
        let info = |column: &SeriesColumn| {
            let last = column.value(node.rows.saturating_sub(1))?;
            let bounds = IntBounds::of(column.start).union(IntBounds::of(last));
            let vector_type = VectorType::Int(bounds.width());
            Some(SlotInfo {
                vector_type,
                bounds: Some(bounds),
                is_nullable: false,
                dictionary: None,
            })
        };
        let infos = node.columns.iter().map(info).collect::<Option<_>>();
        let infos = infos.ok_or_else(|| ExecError::internal("a series is too long"))?;
        Ok(Self { node: node.clone(), infos })
    }

    /// Returns types and bounds of the columns.
    pub(crate) fn outputs(&self) -> Vec<SlotInfo> {
        self.infos.clone()
    }
}

impl PipelineSource for SeriesSource {
    fn name(&self) -> &'static str {
        "series"
    }

    fn morsel_count(&self) -> usize {
        self.node.rows.div_ceil(MORSEL_ROWS) as usize
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let next = morsel as u64 * MORSEL_ROWS;
        let end = self.node.rows.min(next.saturating_add(MORSEL_ROWS));
        Ok(Box::new(SeriesRun { columns: self.node.columns.clone(), next, end }))
    }
}

impl SourceRun for SeriesRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        let places = self.next..self.end.min(self.next + VECTOR_ROWS as u64);
        self.next = places.end;
        (batch.rows, batch.selection) = ((places.end - places.start) as usize, None);
        for (column, out) in self.columns.iter().zip(&mut batch.columns) {
            out.clear();
            // The last value has room, so all before it have.
            let values = places.clone().filter_map(|place| column.value(place));
            values.for_each(|value| out.values.push_int(value));
            out.fill_validity();
        }
        Ok(batch.rows > 0)
    }
}
