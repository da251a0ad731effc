//! What `nacre bench tpcc` and `nacre bench tatp` share: rounds in turn, and lines of a table.

use std::time::{Duration, Instant};

use crate::bench::Setup;
use crate::error::Result;
use crate::format::{count, median};
use crate::report::{Measurement, Report};

/// One of the sides that take turns.
pub(super) struct Side<'a> {
    pub(super) name: &'static str,
    /// Name of the side that this one is compared with.
    pub(super) baseline: Option<&'static str>,
    pub(super) is_emulated: bool,
    /// Runs the transactions of a round.
    pub(super) round: Box<dyn FnMut(u64) -> Result<()> + 'a>,
    times: Vec<Duration>,
}

impl<'a> Side<'a> {
    pub(super) fn new(
        name: &'static str,
        baseline: Option<&'static str>,
        round: impl FnMut(u64) -> Result<()> + 'a,
    ) -> Self {
        Self { name, baseline, is_emulated: false, round: Box::new(round), times: Vec::new() }
    }
}

/// Has all sides run `rounds` rounds of `transactions` each, in turn, after one that does not
/// count, and reports medians.
pub(super) fn take_turns(
    setup: &Setup,
    report: &mut Report,
    (workload, parameters): (&str, &str),
    (rounds, transactions): (u64, u64),
    sides: &mut [Side<'_>],
) -> Result<()> {
    for round in 0..=rounds {
        for side in &mut *sides {
            setup.interrupt.check()?;
            let start = Instant::now();
            (side.round)(round)?;
            if round > 0 {
                side.times.push(start.elapsed());
            }
        }
    }
    setup.console.line("   system                      tx/s      us/tx   ratio to")?;
    for side in &*sides {
        let rate = |side: &Side<'_>| transactions as f64 / median(&side.times).as_secs_f64();
        let id = |name: &str| format!("{workload}/mix/{name}/{parameters}");
        let mut measurement =
            Measurement::new(id(side.name), rate(side), "tx/s").emulated(side.is_emulated);
        let other = sides.iter().find(|other| Some(other.name) == side.baseline);
        if let Some(other) = other {
            measurement = measurement.against(id(other.name), rate(other));
        }
        let compared = match (measurement.ratio(), side.baseline) {
            (Some(ratio), Some(name)) => format!("{ratio:>7.3} {name}"),
            _ => String::new(),
        };
        setup.console.line(format_args!(
            "   {:<20} {:>11} {:>10.3} {compared}{}",
            side.name,
            count(rate(side) as u64),
            1e6 / rate(side),
            if side.is_emulated { ", emulated" } else { "" }
        ))?;
        report.add(&measurement)?;
    }
    Ok(())
}
