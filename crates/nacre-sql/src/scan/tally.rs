//! How many blocks of which format a scan opened, for `EXPLAIN ANALYZE`.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use nacre_column::Format;

/// Counts blocks by their format; clones count together.
#[derive(Clone)]
pub(super) struct Tally {
    metrics: ExecutionPlanMetricsSet,
    partition: usize,
    counts: Arc<Mutex<Vec<(Format, Count)>>>,
}

impl Tally {
    /// Makes a tally whose counts are among the metrics of `partition`.
    pub(super) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        Self { metrics: metrics.clone(), partition, counts: Arc::default() }
    }

    /// Counts a block that is to be read.
    pub(super) fn opened(&self, format: Format) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, count)) = counts.iter().find(|(known, _)| *known == format) {
            return count.add(1);
        }
        let name = format!("blocks_{format}");
        let count = MetricBuilder::new(&self.metrics).counter(name, self.partition);
        count.add(1);
        counts.push((format, count));
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tally of partition {}", self.partition)
    }
}
