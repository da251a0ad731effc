//! What a decision of the online switch costs.
//!
//! Two figures. *Alone*: a loop that detects the access pattern and looks the mechanism up, minus
//! the same loop without both. *In place*: the time of an update that is switched minus that of an
//! update by the very mechanism that the switch chooses, in turn; it hides what the processor does
//! beside the stores, and holds the noise of two much longer loops.

use std::hint::black_box;
use std::time::Instant;

use nacre_pmem::Domain;
use nacre_pmem::switch::{PatternDetector, Profile, Switch, SwitchReport};

use super::contestant::Contestant;
use super::measure::{Series, Spread, Work};
use super::nacre::{ColumnUpdate, NacreColumn, Place};
use super::options::{AccessPattern, Variant, Workload};
use super::pages::{populate, set_pages};
use super::session::{Cell, Session};
use crate::error::{Error, Result};
use crate::report::Measurement;

/// Decisions of one round.
const DECISIONS: u64 = 2_000_000;
const DECISIONS_QUICK: u64 = 200_000;

const UPDATE_BYTES: usize = 4;

/// Measures and prints the cost of a decision.
pub(super) fn run(session: &mut Session, domain: &Domain) -> Result<()> {
    let Some(replicas) = session.choices.replicas.iter().copied().find(|count| *count > 0) else {
        return Ok(());
    };
    let alone = measure_alone(session, domain, replicas)?;
    session.line(format_args!(
        "\nCost of a decision of the switch: {:.2} ns alone (+/- {:.2})",
        alone.median,
        (alone.quartiles.1 - alone.quartiles.0) / 2.0
    ))?;
    let id = format!("switch/decide/{}/replicas={replicas}", session.flush);
    session.report.add(&Measurement::new(id, alone.median, "ns").between(alone.min, alone.max))?;
    if session.choices.workloads.contains(&Workload::Cs) {
        measure_in_place(session, domain, replicas)?;
    }
    Ok(())
}

fn resolve(domain: &Domain, replicas: usize) -> Result<Switch> {
    let failed = || Error::pmem("resolve the switch");
    let flush = domain.flush_flavour();
    let report = SwitchReport::load(Profile::path().as_deref(), flush).map_err(failed())?;
    Switch::resolve(&report.tree, domain.kind(), flush, replicas).map_err(failed())
}

fn measure_alone(session: &Session, domain: &Domain, replicas: usize) -> Result<Spread> {
    let switch = resolve(domain, replicas)?;
    let mut detector = PatternDetector::new();
    let mut times = Vec::new();
    let count = if session.choices.is_quick { DECISIONS_QUICK } else { DECISIONS };
    for _ in 0..=session.choices.rounds.max(3) {
        session.interrupt.check()?;
        let without = time(count, |offset| {
            black_box(offset);
        });
        let with = time(count, |offset| {
            let is_sequential = detector.observe(offset, UPDATE_BYTES as u64);
            black_box(switch.choose(is_sequential, false, black_box(UPDATE_BYTES)));
        });
        times.push(with - without);
    }
    Ok(Spread::of(&times[1..]))
}

/// Returns the nanoseconds of one call, for scattered offsets.
#[inline(always)]
fn time(count: u64, mut call: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    let mut offset = 1_u64;
    for _ in 0..count {
        offset = offset.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        call(offset >> 34);
    }
    start.elapsed().as_nanos() as f64 / count as f64
}

fn measure_in_place(session: &mut Session, domain: &Domain, replicas: usize) -> Result<()> {
    let pages = session.choices.pages[0];
    let directory = session.directory.clone();
    let pool_bytes = session.choices.pool_bytes;
    let place = Place { directory: &directory, name: "decision", pool_bytes, replicas, pages };
    let mut column = NacreColumn::create(place, ColumnUpdate::Single)?;
    set_pages(&column.files(), pages)?;
    populate(&column.files())?;
    let chosen = resolve(domain, replicas)?.mechanism(false, false, UPDATE_BYTES);
    let places = column.places(UPDATE_BYTES);
    let mut work = Work::new(AccessPattern::Uniform, UPDATE_BYTES, places);
    let mut times = [Series::default(), Series::default()];
    for round in 0..=session.choices.rounds * 2 {
        for (variant, series) in [Variant::Static(chosen), Variant::Switched].iter().zip(&mut times)
        {
            session.interrupt.check()?;
            column.select(*variant)?;
            let rate = column.slice(&mut work, session.slice)?;
            if round > 0 {
                series.rates.push(1e9 / rate);
            }
        }
    }
    let differences: Vec<f64> = std::iter::zip(&times[1].rates, &times[0].rates)
        .map(|(switched, fixed)| switched - fixed)
        .collect();
    let spread = Spread::of(&differences);
    session.line(format_args!(
        "   in place: {:.1} ns ({:.1} to {:.1}) of {:.1} ns, switched minus {} at {replicas} \
         replicas, {UPDATE_BYTES} B uniform",
        spread.median,
        spread.min,
        spread.max,
        Spread::of(&times[1].rates).median,
        chosen.name()
    ))?;
    let (workload, access) = (Workload::Cs, AccessPattern::Uniform);
    let cell = Cell { workload, access, update_bytes: UPDATE_BYTES, replicas, pages };
    let id = cell.id("switched-minus-chosen", &session.flush);
    let measurement = Measurement::new(id, spread.median, "ns")
        .between(spread.min, spread.max)
        .emulated(session.is_emulated);
    session.report.add(&measurement)?;
    let files = column.files();
    drop(column);
    files.iter().try_for_each(|file| std::fs::remove_file(file).map_err(Error::io("remove", file)))
}
