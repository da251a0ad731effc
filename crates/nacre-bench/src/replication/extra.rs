//! What batches gain: the same updates, durable together instead of one by one.

use super::contestant::{Contestant, check_identical};
use super::measure::{Series, Spread, Work};
use super::nacre::{ColumnUpdate, NacreColumn, Place};
use super::options::{AccessPattern, Variant, Workload};
use super::pages::{populate, set_pages};
use super::session::{Cell, Session};
use crate::error::{Error, Result};
use crate::report::Measurement;

/// Updates that are made durable together.
const BATCHES: [usize; 3] = [8, 32, 128];

/// Sizes of updates in batches.
const BATCH_UPDATE_BYTES: [usize; 2] = [4, 64];

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
        populate(&column.files())?;
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
        let is_counted = round > 0;
        single.rates.extend(is_counted.then_some(baseline));
        for (batch, series) in &mut batches {
            column.set_update(ColumnUpdate::Batch(*batch));
            let rate = column.slice(&mut work, session.slice)?;
            if is_counted {
                series.push(rate, baseline);
            }
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
