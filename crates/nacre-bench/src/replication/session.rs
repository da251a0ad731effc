//! What the parts of a run share: choices, where to write, how far we are.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::csv::CsvFile;
use super::options::{AccessPattern, Choices, PageSize, Workload};
use super::rounds::WARM_UP_SHARE;
use super::verdict::Verdict;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::progress::Steps;
use crate::report::{Console, Report};

/// Time of a slice that counts: long enough for thousands of updates, short against changes of the
/// machine's speed.
const SLICE: Duration = Duration::from_millis(10);

/// Time that the slices of a quick run may take together.
const QUICK_BUDGET: Duration = Duration::from_secs(9);

/// Contestants that are measured between two runs of the baseline.
pub(super) const VARIANTS_PER_BASELINE: usize = 4;

/// Static mechanisms in a final beside the one that the switch takes.
pub(super) const FINAL_STATICS: usize = 2;

/// One cell of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) workload: Workload,
    pub(super) access: AccessPattern,
    pub(super) update_bytes: usize,
    pub(super) replicas: usize,
    pub(super) pages: PageSize,
}

/// State of a run.
pub(super) struct Session {
    pub(super) choices: Choices,
    pub(super) directory: PathBuf,
    pub(super) report: Report,
    pub(super) csv: CsvFile,
    /// How the switch did in the finals so far.
    pub(super) verdicts: Vec<Verdict>,
    pub(super) console: Console,
    pub(super) interrupt: Interrupt,
    /// Flush flavour, for ids.
    pub(super) flush: String,
    pub(super) is_emulated: bool,
    /// Time of one measurement, without that of warming up.
    pub(super) slice: Duration,
    pub(super) progress: Steps,
    /// When nothing more is begun, if the run must end in time.
    pub(super) deadline: Option<Instant>,
}

impl Cell {
    /// Returns the id of a measurement in this cell.
    pub(super) fn id(&self, name: &str, flush: &str) -> String {
        let Self { workload, access, update_bytes, replicas, pages } = self;
        format!(
            "replicate/{name}/{flush}/workload={},access={},update_bytes={update_bytes},\
             replicas={replicas},pages={}",
            workload.name(),
            access.name(),
            pages.name()
        )
    }

    /// Returns what the cell is, for the progress line.
    pub(super) fn title(&self) -> String {
        let (workload, access) = (self.workload.name(), self.access.name());
        let (update_bytes, replicas) = (self.update_bytes, replicas_text(self.replicas));
        format!("{workload}, {access}, {update_bytes} B, {replicas}, {}", self.pages)
    }

    /// Returns the cell of the baseline: the same without replicas.
    pub(super) fn baseline(self) -> Self {
        Self { replicas: 0, ..self }
    }
}

impl Choices {
    /// Returns how many slices a run has.
    pub(super) fn slice_count(&self, has_library: bool) -> usize {
        let libraries = if has_library { 2 } else { 0 };
        let variants = self.variants.len();
        let slices = variants + variants.div_ceil(VARIANTS_PER_BASELINE) + libraries;
        let finalists = if variants > 1 { variants.min(FINAL_STATICS + 2) } else { 0 };
        let cells = self.workloads.len()
            * self.pages.len()
            * self.replicas.len()
            * self.accesses.len()
            * self.update_bytes.len();
        cells * (slices * self.rounds + finalists * self.final_rounds())
    }

    /// Returns how often each finalist runs.
    pub(super) fn final_rounds(&self) -> usize {
        self.rounds * 2 + 1
    }

    /// Returns the time of a slice.
    pub(super) fn slice(&self, has_library: bool) -> Duration {
        if !self.is_quick {
            return SLICE;
        }
        // Fits: nobody asks for 2^32 slices within seconds.
        let count = self.slice_count(has_library).clamp(1, u32::MAX as usize) as u32;
        let counted = QUICK_BUDGET / count * WARM_UP_SHARE / (WARM_UP_SHARE + 1);
        counted.clamp(Duration::from_millis(1), SLICE)
    }
}

impl Session {
    /// Whether nothing more is to be begun.
    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Prints a line on standard output.
    pub(super) fn line(&self, text: impl std::fmt::Display) -> Result<()> {
        self.progress.clear();
        self.console.line(text)
    }
}

/// Writes a number of replicas.
pub(super) fn replicas_text(replicas: usize) -> String {
    if replicas == 1 { "1 replica".to_owned() } else { format!("{replicas} replicas") }
}

#[cfg(test)]
mod tests {
    use super::super::options::ReplicationArgs;
    use super::*;

    #[test]
    fn id_names_mechanism_flush_and_every_parameter() {
        let cell = Cell {
            workload: Workload::Cs,
            access: AccessPattern::Uniform,
            update_bytes: 4,
            replicas: 2,
            pages: PageSize::Large,
        };
        assert_eq!(
            cell.id("SF+PF", "clwb"),
            "replicate/SF+PF/clwb/workload=cs,access=uniform,update_bytes=4,replicas=2,pages=2m"
        );
        assert_eq!(cell.baseline().replicas, 0);
    }

    #[test]
    fn quick_slices_fit_the_budget() {
        let args = ReplicationArgs { is_quick: true, ..Default::default() };
        let choices = Choices::make(&args).unwrap();
        let count = choices.slice_count(true) as u32;
        assert!(choices.slice(true) * count <= QUICK_BUDGET, "{count} slices");
    }
}
