//! An appender alone: what each replica costs, and how many bytes are written for a byte.

use std::time::{Duration, Instant};

use super::Run;
use super::scheme::{APPEND_VALUES, DYNAMIC, PLAIN, STATIC, Scheme, VALUE_BYTES, remove};
use crate::dataset::DataSet;
use crate::error::{Error, Result};
use crate::format::median;
use crate::report::{Measurement, Report};

/// Most values that one turn appends: three plain replicas of them are far larger than the caches.
const TURN_VALUES: u64 = 16 << 20;

/// The mixes of formats, each with one, two and three replicas.
const MIXES: [[Scheme; 3]; 4] = [
    [Scheme(&[PLAIN]), Scheme(&[PLAIN; 2]), Scheme(&[PLAIN; 3])],
    [Scheme(&[STATIC]), Scheme(&[STATIC; 2]), Scheme(&[STATIC; 3])],
    [Scheme(&[DYNAMIC]), Scheme(&[DYNAMIC; 2]), Scheme(&[DYNAMIC; 3])],
    [Scheme(&[STATIC]), Scheme(&[STATIC, DYNAMIC]), Scheme(&[STATIC, DYNAMIC, PLAIN])],
];

/// What one scheme did.
struct Figures {
    scheme: Scheme,
    times: Vec<Duration>,
    bytes_per_byte: f64,
}

/// Measures all mixes on one data set.
pub(super) fn run(run: &Run<'_>, report: &mut Report, set: DataSet) -> Result<()> {
    let count = run.values.min(TURN_VALUES);
    let values: Vec<i64> = set.values(count).map(i64::from).collect();
    let mut schemes = vec![Scheme(&[])];
    for scheme in MIXES.iter().flatten() {
        if !schemes.contains(scheme) {
            schemes.push(*scheme);
        }
    }
    let figures = |scheme| Figures { scheme, times: Vec::new(), bytes_per_byte: 0.0 };
    let mut all: Vec<Figures> = schemes.into_iter().map(figures).collect();
    for _ in 0..run.rounds {
        for one in &mut all {
            run.setup.interrupt.check()?;
            turn(run, &values, one)?;
        }
    }
    print(run, report, set, &all, values.len())
}

/// Appends all values to a new column.
fn turn(run: &Run<'_>, values: &[i64], figures: &mut Figures) -> Result<()> {
    if figures.scheme.0.is_empty() {
        figures.times.push(stage_only(values));
        return Ok(());
    }
    let mut column = figures.scheme.create(run, "append", values.len() as u64)?;
    let start = Instant::now();
    for part in values.chunks(APPEND_VALUES) {
        column.append(part).map_err(Error::replicated("append"))?;
    }
    column.commit().map_err(Error::replicated("append"))?;
    figures.times.push(start.elapsed());
    let written: u64 = column.wear().iter().map(|(_, _, _, bytes)| bytes).sum();
    figures.bytes_per_byte = written as f64 / (values.len() as u64 * VALUE_BYTES) as f64;
    drop(column);
    remove(run, "append")
}

/// What an append without any replica does: it copies the values to a buffer in the cache.
fn stage_only(values: &[i64]) -> Duration {
    let mut staging: Vec<i64> = Vec::with_capacity(APPEND_VALUES);
    let start = Instant::now();
    for part in values.chunks(APPEND_VALUES) {
        staging.clear();
        staging.extend_from_slice(part);
        std::hint::black_box(&mut staging);
    }
    start.elapsed()
}

fn print(
    run: &Run<'_>,
    report: &mut Report,
    set: DataSet,
    all: &[Figures],
    count: usize,
) -> Result<()> {
    let console = run.setup.console;
    console.line(format_args!(
        "\nAppending 1 MiB at a time, {}, 1 thread: M values/s, times one uncompressed replica, \
         bytes written a byte",
        set.name()
    ))?;
    let rate = |one: &Figures| count as f64 / 1e6 / median(&one.times).as_secs_f64().max(1e-9);
    let plain = all.iter().find(|one| one.scheme.0 == [PLAIN]).map_or(0.0, rate);
    for one in all {
        let (name, replicas, rate) = (one.scheme.name(), one.scheme.0.len(), rate(one));
        console.line(format_args!(
            "   {replicas} {name:<28} {rate:>9.1} {:>6.2}x {:>6.2}",
            rate / plain,
            one.bytes_per_byte
        ))?;
        let parameters = format!("data={},values={count},replicas={replicas}", set.name());
        let id = format!("append/{name}/{}/{parameters}", run.flavour);
        let measurement = Measurement::new(id, rate, "M values/s")
            .against("plain", plain)
            .emulated(run.is_emulated());
        report.add(&measurement)?;
        let id = format!("wear/{name}/{}/{parameters}", run.flavour);
        report
            .add(&Measurement::new(id, one.bytes_per_byte, "bytes/byte").against("values", 1.0))?;
    }
    Ok(())
}
