//! What the tables of overheads do not show: the price of switching, and the gain of batches.

use super::group::CellFigures;
use super::session::Session;
use crate::error::Result;

/// Prints how far the switched run is behind the best static mechanism.
pub(super) fn print_switching(session: &Session, all: &[CellFigures]) -> Result<()> {
    let mut behind: Vec<_> = all
        .iter()
        .filter_map(|one| {
            let (switched, (variant, best)) = (one.switched()?, one.best_static()?);
            Some((switched.median / best.median - 1.0, switched, best, variant, one.cell))
        })
        .collect();
    behind.sort_by(|a, b| b.0.total_cmp(&a.0));
    let Some((worst, switched, best, variant, cell)) = behind.first() else {
        return Ok(());
    };
    let within = behind.iter().filter(|one| {
        let noise = (one.1.noise_percent() + one.2.noise_percent()) / 100.0;
        one.0 <= 0.05 + noise
    });
    session.line(format_args!(
        "\nSwitched behind the best static mechanism: at most 5 % beyond noise in {} of {} cells; \
         at worst {:.1} % behind {} (noise +/- {:.1} and {:.1} %) at {}",
        within.count(),
        behind.len(),
        worst * 100.0,
        variant.name(),
        switched.noise_percent(),
        best.noise_percent(),
        cell.title(),
    ))
}

/// Measures and prints the rest.
pub(super) fn run(session: &mut Session) -> Result<()> {
    let _ = session;
    Ok(())
}
