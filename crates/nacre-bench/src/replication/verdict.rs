//! Whether the switch keeps up with the best static mechanism: the sum of the finals.

use super::options::Variant;
use super::rounds::{CellFigures, Final};
use super::session::{Cell, Session};
use crate::error::Result;

/// How far the switch may be behind the best static mechanism, in percent, beside noise.
const BEHIND_PERCENT_MAX: f64 = 5.0;

/// What came of the final of one cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    cell: Cell,
    last: Final,
    chosen: Option<Variant>,
}

impl Verdict {
    fn of(figures: &CellFigures) -> Option<Verdict> {
        Some(Verdict { cell: figures.cell, last: figures.last?, chosen: figures.chosen })
    }

    fn is_good(&self) -> bool {
        self.last.is_within(BEHIND_PERCENT_MAX)
    }
}

/// Prints in how many of these cells the switch keeps up, and each in which it does not; keeps the
/// verdicts for the end of the run.
pub(super) fn print(session: &mut Session, all: &[CellFigures]) -> Result<()> {
    let mut verdicts: Vec<Verdict> = all.iter().filter_map(Verdict::of).collect();
    if verdicts.is_empty() {
        return Ok(());
    }
    session.line(format_args!("\n{}", tally(&verdicts)))?;
    let behind = |verdict: &Verdict| verdict.last.behind_percent();
    verdicts.sort_by(|a, b| behind(b).total_cmp(&behind(a)));
    for verdict in verdicts.iter().filter(|verdict| !verdict.is_good()) {
        session.line(describe(verdict))?;
    }
    session.verdicts.extend(verdicts);
    Ok(())
}

/// Prints in how many cells of the whole run the switch keeps up.
pub(super) fn print_all(session: &Session) -> Result<()> {
    match session.verdicts.as_slice() {
        [] => Ok(()),
        verdicts => session.line(format_args!("\nAll cells of this run: {}", tally(verdicts))),
    }
}

fn tally(verdicts: &[Verdict]) -> String {
    let good = verdicts.iter().filter(|verdict| verdict.is_good()).count();
    format!(
        "switched is within {BEHIND_PERCENT_MAX} % beyond noise of the best static mechanism in \
         {good} of {} cells",
        verdicts.len()
    )
}

fn describe(verdict: &Verdict) -> String {
    let Verdict { cell, last, chosen } = verdict;
    let chosen = chosen.map_or("several".to_owned(), |chosen| chosen.name().to_owned());
    format!(
        "   {}: {:.1} % behind {}, noise +/- {:.1} %; it took {chosen}",
        cell.title(),
        last.behind_percent(),
        last.best.name(),
        last.slowdown.noise_percent()
    )
}
