//! Readers: each operator over every scheme, by the number of threads.
//!
//! Each thread runs the whole operator; all begin together, and the time ends with the last. So
//! with two threads as many queries run as there are threads, and the rate counts all of them.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use nacre_column::replicated::ReplicatedColumn;

use super::operator::Operator;
use super::scheme::{ONE_PLAIN, PAIRS, Scheme, VALUE_BYTES, remove};
use super::{Run, bandwidth};
use crate::dataset::DataSet;
use crate::error::{Error, Result};
use crate::format::median;
use crate::report::{Measurement, Report};

/// Time that a turn takes at least: a query is repeated so often.
const TURN: Duration = Duration::from_millis(10);
const REPETITIONS_MAX: usize = 32;

/// A column of each scheme.
struct Column {
    scheme: Scheme,
    name: String,
    column: ReplicatedColumn,
    /// Of one query, as a part of each turn.
    times: Vec<Duration>,
}

/// Measures all operators on one data set.
pub(super) fn run(run: &Run<'_>, report: &mut Report, set: DataSet) -> Result<()> {
    let mut columns = Vec::new();
    for (index, scheme) in [ONE_PLAIN].into_iter().chain(PAIRS).enumerate() {
        let name = format!("read{index}");
        let column = scheme.fill(run, &name, set, run.values)?;
        columns.push(Column { scheme, name, column, times: Vec::new() });
    }
    let console = run.setup.console;
    console.line(format_args!(
        "\nReading, {}: {}; queries/s of all threads, and times one uncompressed replica",
        set.name(),
        set.description()
    ))?;
    let operators = Operator::all(set, run.values);
    for threads in run.threads() {
        let names: String =
            operators.iter().map(|operator| format!(" {:>17}", operator.name())).collect();
        let title = format!("{threads} thread{}", if threads == 1 { "" } else { "s" });
        console.line(format_args!("   {title:<28}{names}"))?;
        let mut cells = vec![String::new(); columns.len()];
        let mut plain_aggregate = None;
        for operator in &operators {
            measure(run, operator, threads, &mut columns)?;
            let rates: Vec<f64> =
                columns.iter().map(|column| rate(&column.times, threads)).collect();
            if matches!(operator, Operator::Aggregate) {
                plain_aggregate = rates.first().copied();
            }
            for ((column, cell), &rate) in columns.iter().zip(&mut cells).zip(&rates) {
                cell.push_str(&format!(" {rate:>10.2} {:>5.2}x", rate / rates[0]));
                let measurement = measurement(run, set, operator, threads, column, rate);
                let baseline = ONE_PLAIN.name();
                report.add(&measurement.against(baseline, rates[0]))?;
            }
        }
        for (column, cell) in columns.iter().zip(&cells) {
            console.line(format_args!("   {:<28}{cell}", column.scheme.name()))?;
        }
        if let Some(rate) = plain_aggregate {
            let bytes = rate * (run.values * VALUE_BYTES) as f64;
            bandwidth::report_share(run, report, set, threads, bytes, &columns[0].column)?;
        }
    }
    print_bytes(run, report, set, &columns)?;
    for column in columns {
        drop(column.column);
        remove(run, &column.name)?;
    }
    Ok(())
}

/// Lets all schemes take turns with one operator, and compares their answers.
fn measure(
    run: &Run<'_>,
    operator: &Operator,
    threads: usize,
    columns: &mut [Column],
) -> Result<()> {
    let mut expected = None;
    let mut shortest = TURN;
    // This round maps pages and verifies blocks; it is not measured.
    for column in columns.iter_mut() {
        run.setup.interrupt.check()?;
        column.times.clear();
        let snapshot = column.column.snapshot();
        let (time, answer) = in_threads(threads, |_| operator.run(&snapshot, run.flavour))?;
        if *expected.get_or_insert(answer) != answer {
            let (operator, scheme) = (operator.name(), column.scheme.name());
            let message = format!("{operator} on {scheme} answers {answer}");
            return Err(Error::Deviation(message));
        }
        shortest = shortest.min(time);
    }
    let repetitions = TURN.as_nanos().div_ceil(shortest.as_nanos().max(1)) as usize;
    let repetitions = repetitions.clamp(1, REPETITIONS_MAX);
    for _ in 0..run.rounds {
        for column in columns.iter_mut() {
            run.setup.interrupt.check()?;
            let snapshot = column.column.snapshot();
            let (time, _) = in_threads(threads, |_| {
                let runs = (0..repetitions).map(|_| operator.run(&snapshot, run.flavour));
                runs.sum::<Result<i128>>()
            })?;
            column.times.push(time / repetitions as u32);
        }
    }
    Ok(())
}

/// Runs `work` in several threads at once; returns the time until the last is done, and the sum of
/// the answers.
pub(super) fn in_threads(
    threads: usize,
    work: impl Fn(usize) -> Result<i128> + Sync,
) -> Result<(Duration, i128)> {
    let barrier = Barrier::new(threads);
    let run = |thread: usize| {
        barrier.wait();
        let start = Instant::now();
        work(thread).map(|answer| (start, Instant::now(), answer))
    };
    let run = &run;
    let outcomes: Vec<Result<(Instant, Instant, i128)>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        let mine = run(0);
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| match worker.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        [mine].into_iter().chain(others.into_iter().map(join)).collect()
    });
    let done = outcomes.into_iter().collect::<Result<Vec<_>>>()?;
    let start = done.iter().map(|one| one.0).min();
    let end = done.iter().map(|one| one.1).max();
    let time = start.zip(end).map_or(Duration::ZERO, |(start, end)| end - start);
    Ok((time, done.iter().map(|one| one.2).sum()))
}

/// Queries a second.
fn rate(times: &[Duration], threads: usize) -> f64 {
    threads as f64 / median(times).as_secs_f64().max(1e-9)
}

fn measurement(
    run: &Run<'_>,
    set: DataSet,
    operator: &Operator,
    threads: usize,
    column: &Column,
    rate_median: f64,
) -> Measurement {
    let id = format!(
        "{}/{}/{}/data={},values={},threads={threads}",
        operator.name(),
        column.scheme.name(),
        run.flavour,
        set.name(),
        run.values
    );
    let of = |time: Option<&Duration>| {
        threads as f64 / time.copied().unwrap_or_default().as_secs_f64().max(1e-9)
    };
    Measurement::new(id, rate_median, "queries/s")
        .between(of(column.times.iter().max()), of(column.times.iter().min()))
        .emulated(run.is_emulated())
}

/// Prints the bytes of all replicas of each scheme, and how many reads each replica served.
fn print_bytes(run: &Run<'_>, report: &mut Report, set: DataSet, columns: &[Column]) -> Result<()> {
    let logical = (run.values * VALUE_BYTES) as f64;
    let console = run.setup.console;
    console.line("   bytes of all replicas a byte of values; share of the reads by replica")?;
    for column in columns {
        let replicas = column.column.reader().replicas();
        let bytes: u64 = replicas.iter().map(|replica| replica.bytes).sum();
        let reads: u64 = replicas.iter().map(|replica| replica.reads).sum();
        let share = |reads_of_one: u64| reads_of_one as f64 * 100.0 / reads.max(1) as f64;
        let shares: String =
            replicas.iter().map(|replica| format!(" {:>3.0} %", share(replica.reads))).collect();
        let scheme = column.scheme.name();
        let ratio = bytes as f64 / logical;
        console.line(format_args!("   {scheme:<28} {ratio:>10.2}  {shares}"))?;
        let id = format!("size/{scheme}/any/data={},values={}", set.name(), run.values);
        report.add(&Measurement::new(id, ratio, "bytes/byte").against("values", 1.0))?;
    }
    Ok(())
}
