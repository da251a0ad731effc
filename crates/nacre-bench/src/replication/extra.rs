//! What the tables of overheads do not show: how good the switch chooses, what batches gain.

use super::contestant::{Contestant, check_identical};
use super::group::CellFigures;
use super::measure::{Series, Spread, Work};
use super::nacre::{ColumnUpdate, NacreColumn, Place};
use super::options::{AccessPattern, Variant, Workload};
use super::pages::set_pages;
use super::session::{Cell, Session};
use crate::error::{Error, Result};
use crate::report::Measurement;

/// Updates that are made durable together.
const BATCHES: [usize; 3] = [8, 32, 128];

/// Sizes of updates in batches.
const BATCH_UPDATE_BYTES: [usize; 2] = [4, 64];

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

/// Measures what batches gain: the same updates, durable together instead of one by one.
pub(super) fn run_batches(session: &mut Session) -> Result<()> {
    if !session.choices.workloads.contains(&Workload::Cs) {
        return Ok(());
    }
    let pages = session.choices.pages[0];
    session.line(format_args!(
        "\nBatches, cs, uniform, {pages}: M updates/s one by one, and the gain in batches"
    ))?;
    let columns = BATCHES.map(|batch| format!("{batch:>7}"));
    session.line(format_args!("   replicas  update  one by one {}", columns.join("")))?;
    let mut counts = vec![0];
    counts.extend(session.choices.replicas.iter().filter(|count| **count > 0));
    for replicas in counts {
        let directory = session.directory.clone();
        let pool_bytes = session.choices.pool_bytes;
        let place = Place { directory: &directory, name: "batch", pool_bytes, replicas, pages };
        let mut column = NacreColumn::create(place, ColumnUpdate::Single)?;
        set_pages(&column.files(), pages)?;
        column.select(Variant::Switched)?;
        for update_bytes in BATCH_UPDATE_BYTES {
            let access = AccessPattern::Uniform;
            let cell = Cell { workload: Workload::Cs, access, update_bytes, replicas, pages };
            run_batch_cell(session, &mut column, cell)?;
        }
        check_identical(&column)?;
        let files = column.files();
        drop(column);
        for file in files {
            std::fs::remove_file(&file).map_err(Error::io("remove", &file))?;
        }
    }
    Ok(())
}

/// Measures one size, one by one and in batches in turn.
fn run_batch_cell(session: &mut Session, column: &mut NacreColumn, cell: Cell) -> Result<()> {
    let places = column.places(cell.update_bytes);
    let mut work = Work::new(cell.access, cell.update_bytes, places);
    let mut single = Series::default();
    let mut batches = BATCHES.map(|batch| (batch, Series::default()));
    for round in 0..=session.choices.rounds {
        session.interrupt.check()?;
        column.set_update(ColumnUpdate::Single);
        let baseline = column.slice(&mut work, session.slice)?;
        single.rates.push(baseline);
        for (batch, series) in &mut batches {
            column.set_update(ColumnUpdate::Batch(*batch));
            series.push(column.slice(&mut work, session.slice)?, baseline);
        }
        if round == 0 {
            single.clear();
            batches.iter_mut().for_each(|(_, series)| series.clear());
        }
    }
    let rate = Spread::of(&single.rates).median * 1e-6;
    let single_id = cell.id("switched", &session.flush);
    let mut gains = String::new();
    for (batch, series) in &batches {
        let gain = 1.0 / Spread::of(&series.slowdowns).median;
        gains.push_str(&format!("{gain:>7.2}"));
        let id = format!("{},batch={batch}", cell.id("batch", &session.flush));
        let batch_rate = Spread::of(&series.rates).median * 1e-6;
        let measurement = Measurement::new(id, batch_rate, "M updates/s")
            .against(single_id.clone(), rate)
            .paired(gain)
            .emulated(session.is_emulated);
        session.report.add(&measurement)?;
    }
    let size = format!("{} B", cell.update_bytes);
    session.line(format_args!("   {:>8}  {size:>6}  {rate:>10.3} {gains}", cell.replicas))
}
