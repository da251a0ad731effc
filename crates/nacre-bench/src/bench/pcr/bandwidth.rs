//! How fast the bytes of an uncompressed replica can be read at all.
//!
//! The kernel adds 64-bit words up, as the aggregate of plain values does, with neither blocks nor
//! checks; it runs over the same mapped bytes, whole blocks with their headers.

use nacre_column::replicated::{AccessHint, ReplicatedColumn};
use nacre_simd::{Kernel, Simd};

use super::Run;
use super::read::in_threads;
use super::scheme::{ONE_PLAIN, remove};
use crate::dataset::DataSet;
use crate::error::{Error, Result};
use crate::format::median;
use crate::report::{Measurement, Report};

/// Accumulators that do not wait for each other: four registers of eight words.
const SUMS: usize = 32;

/// Adds up the words of some bytes.
struct ReadWords<'a>(&'a [u8]);

impl Kernel for ReadWords<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd>(self, _simd: S) -> u64 {
        let mut sums = [0_u64; SUMS];
        for group in self.0.chunks_exact(SUMS * 8) {
            for (sum, word) in sums.iter_mut().zip(group.as_chunks::<8>().0) {
                *sum = sum.wrapping_add(u64::from_le_bytes(*word));
            }
        }
        sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
    }
}

/// Measures and prints the bandwidth.
pub(super) fn run(run: &Run<'_>, report: &mut Report) -> Result<()> {
    let column = ONE_PLAIN.fill(run, "bandwidth", DataSet::Random32, run.values)?;
    let mut baseline = None;
    for threads in run.threads() {
        let bytes_per_s = measure(run, threads, &column)?;
        let (rate, base) = (gib(bytes_per_s), *baseline.get_or_insert(gib(bytes_per_s)));
        let id = format!("read/plain/{}/values={},threads={threads}", run.flavour, run.values);
        report.add(&Measurement::new(id, rate, "GiB/s").against("threads=1", base))?;
        run.setup.console.line(format_args!(
            "   read bandwidth, {threads} thread(s): {rate:.2} GiB/s, {:.2} of one thread",
            rate / base
        ))?;
    }
    drop(column);
    remove(run, "bandwidth")
}

/// Reports what share of the bandwidth the aggregate of plain values reaches; the bandwidth is
/// measured again beside it.
pub(super) fn report_share(
    run: &Run<'_>,
    report: &mut Report,
    set: DataSet,
    threads: usize,
    aggregated_bytes_per_s: f64,
    column: &ReplicatedColumn,
) -> Result<()> {
    let (rate, all) = (gib(aggregated_bytes_per_s), gib(measure(run, threads, column)?));
    let id = format!(
        "aggregate-rate/plain/{}/data={},values={},threads={threads}",
        run.flavour,
        set.name(),
        run.values
    );
    report.add(&Measurement::new(id, rate, "GiB/s").against("read", all))?;
    run.setup.console.line(format_args!(
        "   aggregate of one uncompressed replica: {rate:.2} GiB/s, {:.0} % of the {all:.2} that \
         reading alone reaches",
        rate / all * 100.0
    ))
}

/// Returns bytes a second of all threads, each of which reads the whole replica.
fn measure(run: &Run<'_>, threads: usize, column: &ReplicatedColumn) -> Result<f64> {
    let snapshot = column.snapshot();
    let mut guards = Vec::new();
    for number in 0..snapshot.blocks() {
        let guard = snapshot.read(number, AccessHint::Sequential);
        guards.push(guard.map_err(Error::replicated("read a block"))?);
    }
    let blocks = guards.iter().map(|guard| guard.block());
    let blocks =
        blocks.collect::<std::result::Result<Vec<_>, _>>().map_err(Error::column("a block"))?;
    let bytes: usize = blocks.iter().map(|block| block.bytes().len()).sum();
    let mut times = Vec::new();
    for round in 0..=run.rounds {
        run.setup.interrupt.check()?;
        let (time, sum) = in_threads(threads, |_| {
            let sums = blocks.iter().map(|block| run.flavour.run(ReadWords(block.bytes())));
            Ok(i128::from(sums.fold(0_u64, u64::wrapping_add)))
        })?;
        std::hint::black_box(sum);
        if round > 0 {
            times.push(time);
        }
    }
    Ok((bytes * threads) as f64 / median(&times).as_secs_f64().max(1e-9))
}

fn gib(bytes_per_s: f64) -> f64 {
    bytes_per_s / (1_u64 << 30) as f64
}
