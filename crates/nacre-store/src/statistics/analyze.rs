//! ANALYZE: statistics of what no block has any of, kept in memory.

use std::collections::BTreeMap;

use nacre_column::{BlockStatistics, Sma, VECTOR_ROWS};

use super::column_summary::ColumnSummary;
use super::statistics_cache::{AnalyzedChunks, AnalyzedColumns};
use crate::chunk::Chunk;
use crate::error::Result;
use crate::hot::HotChunkRef;
use crate::manifest::LoadId;
use crate::table::TableSnapshot;

/// Statistics of the columns of a chunk, of those that have any.
type BlockStatisticsList = Vec<Option<BlockStatistics>>;

impl TableSnapshot {
    /// Collects statistics of these columns from the rows of hot chunks, and from blocks that were
    /// written by a version that kept none; they are used by queries planned from now on.
    ///
    /// # Errors
    /// A load that cannot be opened, a block that has no good replica.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn analyze(&self, columns: &[usize]) -> Result<()> {
        let cache = self.table().statistics();
        let before = cache.analyzed();
        let mut found = AnalyzedChunks::default();
        for chunk in self.hot_chunks() {
            let own = analyze_hot(chunk, columns);
            let kept = before.hot.get(&chunk.id());
            found.hot.insert(chunk.id(), self.joined(own, kept));
        }
        for (load, own) in self.analyze_loads(columns)? {
            let kept = before.loads.get(&load);
            found.loads.insert(load, self.joined(own, kept));
        }
        cache.set_analyzed(found);
        Ok(())
    }

    /// Puts summaries of some columns beside those that are kept of others.
    fn joined(
        &self,
        own: BTreeMap<usize, ColumnSummary>,
        kept: Option<&AnalyzedColumns>,
    ) -> AnalyzedColumns {
        let count = self.table().definition().columns.len();
        let mut all = kept.map_or_else(|| vec![None; count], |kept| kept.to_vec());
        own.into_iter().for_each(|(column, summary)| all[column] = Some(summary));
        all.into()
    }

    /// Summarizes columns of loads of which a chunk has no statistics.
    fn analyze_loads(
        &self,
        columns: &[usize],
    ) -> Result<BTreeMap<LoadId, BTreeMap<usize, ColumnSummary>>> {
        let chunks = self.chunks()?;
        let mut found: BTreeMap<LoadId, BTreeMap<usize, ColumnSummary>> = BTreeMap::new();
        // The chunks of a load follow each other.
        for of_load in chunks.chunk_by(|one, other| one.load_id() == other.load_id()) {
            let Some(load) = of_load.first().map(Chunk::load_id) else { continue };
            let known: Vec<BlockStatisticsList> = of_load.iter().map(Chunk::statistics).collect();
            let lacks = |column: usize| known.iter().any(|one| one[column].is_none());
            for column in columns.iter().copied().filter(|column| lacks(*column)) {
                let summary = summarize_column(of_load, &known, column)?;
                found.entry(load).or_default().insert(column, summary);
            }
        }
        Ok(found)
    }
}

/// Summarizes a column of a load, reading the blocks that have no statistics.
fn summarize_column(
    chunks: &[Chunk],
    known: &[BlockStatisticsList],
    column: usize,
) -> Result<ColumnSummary> {
    let mut summary = ColumnSummary::default();
    for (chunk, known) in chunks.iter().zip(known) {
        let read = match &known[column] {
            Some(_) => None,
            None => Some(BlockStatistics::of_values(&chunk.decode(column)?)),
        };
        summary.add_block(chunk.sma(column), known[column].as_ref().or(read.as_ref()));
    }
    Ok(summary)
}

/// Summarizes columns of the rows of a hot chunk that the snapshot sees.
fn analyze_hot(chunk: &HotChunkRef, columns: &[usize]) -> BTreeMap<usize, ColumnSummary> {
    let mut found: BTreeMap<usize, ColumnSummary> =
        columns.iter().map(|column| (*column, ColumnSummary::default())).collect();
    for start in (0..chunk.rows()).step_by(VECTOR_ROWS) {
        let (buffers, rows) = chunk.read(start..start + VECTOR_ROWS, columns);
        for (column, buffer) in columns.iter().zip(&buffers) {
            let (rows, null_count) = (rows.len() as u32, buffer.null_count() as u32);
            let sma = Sma { rows, null_count, ..Sma::empty() };
            let statistics = BlockStatistics::of_values(buffer);
            if let Some(summary) = found.get_mut(column) {
                summary.add_block(&sma, Some(&statistics));
            }
        }
    }
    found
}
