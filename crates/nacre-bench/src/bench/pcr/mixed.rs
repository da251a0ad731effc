//! Threads that aggregate or append, by a ratio of aggregators.
//!
//! Every thread goes through a list of tasks that is the same for all schemes. An aggregate reads
//! the whole of one column; an append adds 1 MiB to another one of the same scheme, so that what is
//! aggregated does not grow. One thread appends at a time.
//!
//! # Source
//! [Zarubin22 4.2.3] Figure 4.8: ratios of aggregators from 0 to 100 %, against two uncompressed
//! replicas.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nacre_column::replicated::ReplicatedColumn;

use super::Run;
use super::operator::Operator;
use super::read::in_threads;
use super::scheme::{APPEND_VALUES, PAIRS, Scheme, TWO_PLAIN, remove};
use crate::dataset::DataSet;
use crate::error::{Error, Result};
use crate::format::median;
use crate::report::{Measurement, Report};
use crate::workload::Random;

/// Most values of the column that is aggregated: a few milliseconds, so that no task outweighs the
/// others.
const VALUES_MAX: u64 = 8 << 20;

/// Tasks of each thread in a turn.
const TASKS: usize = 40;
const TASKS_QUICK: usize = 6;

/// Percent of tasks that aggregate.
const RATIOS: [u64; 11] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
const RATIOS_QUICK: [u64; 3] = [0, 50, 100];

/// A scheme's columns and times by ratio.
struct Contestant {
    scheme: Scheme,
    name: String,
    read: ReplicatedColumn,
    times: Vec<Vec<Duration>>,
}

/// Measures all ratios on one data set.
pub(super) fn run(run: &Run<'_>, report: &mut Report, set: DataSet) -> Result<()> {
    let values = run.values.min(VALUES_MAX);
    let ratios: &[u64] = if run.setup.is_quick { &RATIOS_QUICK } else { &RATIOS };
    let mut all = Vec::new();
    for (index, scheme) in PAIRS.into_iter().enumerate() {
        let name = format!("mixed{index}");
        let read = scheme.fill(run, &name, set, values)?;
        all.push(Contestant { scheme, name, read, times: vec![Vec::new(); ratios.len()] });
    }
    let part: Vec<i64> = set.values(APPEND_VALUES as u64).map(i64::from).collect();
    for (index, ratio) in ratios.iter().enumerate() {
        for _ in 0..run.rounds {
            for one in &mut all {
                run.setup.interrupt.check()?;
                let time = turn(run, one, *ratio, &part)?;
                one.times[index].push(time);
            }
        }
    }
    print(run, report, set, ratios, &all)?;
    for one in all {
        drop(one.read);
        remove(run, &one.name)?;
    }
    Ok(())
}

fn tasks(run: &Run<'_>) -> usize {
    if run.setup.is_quick { TASKS_QUICK } else { TASKS }
}

/// Lets all threads go through their tasks once.
fn turn(run: &Run<'_>, one: &Contestant, ratio: u64, part: &[i64]) -> Result<Duration> {
    let (threads, tasks) = (run.setup.threads.max(1), tasks(run));
    let room = (threads * tasks * APPEND_VALUES) as u64;
    let target = Mutex::new(one.scheme.create(run, "appended", room)?);
    let reader = one.read.reader();
    let (time, _) = in_threads(threads, |thread| {
        let mut random = Random::of_row(300 + ratio, thread as u64);
        for _ in 0..tasks {
            if random.below(100) < ratio {
                Operator::Aggregate.run(&reader.snapshot(), run.flavour)?;
            } else {
                let mut column = target.lock().unwrap_or_else(PoisonError::into_inner);
                column.append(part).map_err(Error::replicated("append"))?;
            }
        }
        Ok(0)
    })?;
    drop(target);
    remove(run, "appended")?;
    Ok(time)
}

fn print(
    run: &Run<'_>,
    report: &mut Report,
    set: DataSet,
    ratios: &[u64],
    all: &[Contestant],
) -> Result<()> {
    let threads = run.setup.threads.max(1);
    let console = run.setup.console;
    console.line(format_args!(
        "\nMixed, {}, {threads} thread(s): tasks/s by percent of aggregators, and times two \
         uncompressed replicas",
        set.name()
    ))?;
    let rate =
        |times: &[Duration]| (threads * tasks(run)) as f64 / median(times).as_secs_f64().max(1e-9);
    let Some(base) = all.iter().find(|one| one.scheme == TWO_PLAIN) else {
        return Ok(());
    };
    let percents: String = ratios.iter().map(|ratio| format!(" {ratio:>6} %")).collect();
    console.line(format_args!("   {:<28}{percents}", ""))?;
    for one in all {
        let mut cells = String::new();
        for ((ratio, times), base) in ratios.iter().zip(&one.times).zip(&base.times) {
            let (rate, base) = (rate(times), rate(base));
            cells.push_str(&match one.scheme == TWO_PLAIN {
                true => format!(" {rate:>8.1}"),
                false => format!(" {:>7.2}x", rate / base),
            });
            let id = format!(
                "mixed/{}/{}/data={},aggregators={ratio},threads={threads}",
                one.scheme.name(),
                run.flavour,
                set.name()
            );
            let measurement = Measurement::new(id, rate, "tasks/s");
            let measurement = measurement.against(TWO_PLAIN.name(), base);
            report.add(&measurement.emulated(run.is_emulated()))?;
        }
        console.line(format_args!("   {:<28}{cells}", one.scheme.name()))?;
    }
    Ok(())
}
