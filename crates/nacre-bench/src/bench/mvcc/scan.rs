//! Scans of chunks with versions.

use std::hint::black_box;
use std::sync::Arc;

use nacre_column::CHUNK_ROWS;
use nacre_store::ValueRef::Int;
use nacre_store::{Snapshot, Table, Transaction};

use super::{Filled, LEVEL, rounds, scattered, seconds, text_of};
use crate::bench::Setup;
use crate::error::{Error, Result};
use crate::format::count;
use crate::report::{Measurement, Report};

/// Changes that a transaction makes.
const CHANGES: usize = 1_000;

/// Numbers of dirty rows; the largest is a hundredth of all at most.
const DIRTY: [u64; 2] = [10_000, 1_000_000];

/// Versions of each dirty row.
const VERSIONS: [usize; 2] = [1, 4];

/// Sizes of ranges that are compared with the usual one, which comes first.
const RANGES: [usize; 7] = [1_024, 256, 512, 2_048, 4_096, 8_192, 16_384];

/// Measures scans without dirty rows, and with some.
pub(super) fn run(setup: &Setup, report: &mut Report, rows: u64) -> Result<()> {
    setup.console.line(format_args!(
        "Sum of a column of {} rows, against plain vectors (ratio of rates, at most 1)",
        count(rows)
    ))?;
    setup.console.line("       dirty   versions   snapshot     ns/row   plain ns   ratio")?;
    let filled = Filled::new(setup, 1, rows, |_| {})?;
    let plain: Vec<Vec<i64>> = (0..rows.div_ceil(CHUNK_ROWS as u64))
        .map(|chunk| {
            let start = chunk * CHUNK_ROWS as u64;
            (start as i64..rows.min(start + CHUNK_ROWS as u64) as i64).collect()
        })
        .collect();
    let mut scan = Scan { setup, report, filled: &filled, plain: &plain, rows };
    let clean = filled.store.begin(LEVEL);
    scan.measure((0, 0), "newest", &clean.snapshot())?;
    clean.rollback();
    // Few rows have no room for many dirty ones.
    let mut all_dirty = DIRTY.map(|dirty| dirty.min(rows.div_ceil(100))).to_vec();
    all_dirty.dedup();
    for dirty in all_dirty {
        for versions in VERSIONS {
            // Each version needs a reader of its own, or it would be merged with the next.
            let mut readers: Vec<Transaction> = Vec::new();
            for version in 0..versions {
                readers.push(filled.store.begin(LEVEL));
                scan.dirty(dirty, version as i64)?;
            }
            let newest = filled.store.begin(LEVEL);
            scan.measure((dirty, versions), "newest", &newest.snapshot())?;
            scan.measure((dirty, versions), "oldest", &readers[0].snapshot())?;
        }
    }
    Ok(())
}

struct Scan<'a> {
    setup: &'a Setup,
    report: &'a mut Report,
    filled: &'a Filled,
    plain: &'a [Vec<i64>],
    rows: u64,
}

impl Scan<'_> {
    /// Changes rows here and there.
    fn dirty(&self, dirty: u64, version: i64) -> Result<()> {
        dirty_rows(self.setup, self.filled, (dirty, self.rows), version)
    }

    fn measure(
        &mut self,
        (dirty, versions): (u64, usize),
        name: &str,
        snapshot: &Snapshot,
    ) -> Result<()> {
        let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
        let mut seen = None;
        for _ in 0..rounds(self.setup) {
            self.setup.interrupt.check()?;
            let (mut sum, mut plain_sum) = (0_i64, 0_i64);
            ours = ours.min(seconds(|| {
                sum = sum_of(&self.filled.table, snapshot);
                Ok(())
            })?);
            theirs = theirs.min(seconds(|| {
                let add = |sum: i64, value: &i64| sum.wrapping_add(*value);
                let chunks = self.plain.iter();
                plain_sum = chunks.map(|chunk| black_box(chunk).iter().fold(0, add)).sum();
                Ok(())
            })?);
            if *seen.get_or_insert(sum) != sum || dirty == 0 && sum != plain_sum {
                return Err(Error::Deviation(format!("a snapshot adds up to {sum}")));
            }
        }
        let per_row = |time: f64| time * 1e9 / self.rows as f64;
        let id = |name: &str| {
            format!(
                "scan/{name}/mvcc/rows={},dirty={dirty},versions={versions}",
                text_of(self.rows)
            )
        };
        // The ratio is that of rates: 0.95 is 5 percent slower.
        let measured = Measurement::new(id(name), per_row(ours), "ns/row")
            .against(id("plain"), per_row(theirs))
            .paired(theirs / ours);
        self.report.add(&measured)?;
        self.setup.console.line(format_args!(
            "   {:>9} {versions:>10}   {name:<8} {:>10.3} {:>10.3} {:>7.3}",
            count(dirty),
            per_row(ours),
            per_row(theirs),
            theirs / ours
        ))
    }
}

fn sum_of(table: &Arc<Table>, snapshot: &Snapshot) -> i64 {
    let seen = table.snapshot_at(snapshot);
    seen.hot_chunks().iter().fold(0, |sum: i64, chunk| sum.wrapping_add(chunk.sum_i64(0)))
}

fn dirty_rows(
    setup: &Setup,
    filled: &Filled,
    (dirty, rows): (u64, u64),
    version: i64,
) -> Result<()> {
    let all: Vec<u64> = scattered(dirty, rows).collect();
    for some in all.chunks(CHANGES) {
        setup.interrupt.check()?;
        let mut transaction = filled.store.begin(LEVEL);
        for row in some {
            let changes = [(0, Int(-1 - version))];
            transaction
                .update(&filled.table, Filled::id(*row), &changes)
                .map_err(Error::store("change rows"))?;
        }
        transaction.commit().map_err(Error::store("change rows"))?;
    }
    Ok(())
}

/// Measures the same scan by the rows of a range.
pub(super) fn positions(setup: &Setup, report: &mut Report, rows: u64) -> Result<()> {
    let dirty = rows.div_ceil(1_000);
    setup.console.line(format_args!(
        "Sum of {} rows, {} of them dirty, newest snapshot, by rows of a range of positions",
        count(rows),
        count(dirty)
    ))?;
    setup.console.line("     range     ns/row   ratio to 1,024")?;
    let tables: Vec<Filled> = RANGES
        .iter()
        .map(|range| Filled::new(setup, 1, rows, |table| table.set_position_rows(*range)))
        .collect::<Result<_>>()?;
    let readers: Vec<[Transaction; 2]> = tables
        .iter()
        .map(|filled| {
            let before = filled.store.begin(LEVEL);
            dirty_rows(setup, filled, (dirty, rows), 0)?;
            Ok([before, filled.store.begin(LEVEL)])
        })
        .collect::<Result<_>>()?;
    let mut best = [f64::MAX; RANGES.len()];
    for _ in 0..rounds(setup) {
        setup.interrupt.check()?;
        for ((best, filled), [_, newest]) in best.iter_mut().zip(&tables).zip(&readers) {
            *best = best.min(seconds(|| {
                black_box(sum_of(&filled.table, &newest.snapshot()));
                Ok(())
            })?);
        }
    }
    let per_row = |time: f64| time * 1e9 / rows as f64;
    let id = |range: usize| format!("positions/newest/mvcc/range={range},dirty={dirty}");
    for (range, time) in RANGES.iter().zip(best) {
        let measured = Measurement::new(id(*range), per_row(time), "ns/row")
            .against(id(RANGES[0]), per_row(best[0]));
        report.add(&measured)?;
        setup.console.line(format_args!(
            "   {:>7} {:>10.3} {:>10.3}",
            count(*range as u64),
            per_row(time),
            time / best[0]
        ))?;
    }
    Ok(())
}
