//! `nacre bench limits`: eight queries of TPC-H next to hand-written kernels.
//!
//! Question: how far is the engine from what the machine allows? Baseline: for each query a kernel
//! of tight loops over plain arrays in DRAM ([`crate::limits`]), and below it the time in which the
//! memory could be read that the kernel reads. Kept equal: the rows, the threads, warm caches, and
//! turns: after one unmeasured run each, whose answers must be equal, the two run one after the
//! other. Medians are reported. Kept different: the engine checks for overflow, sees versions,
//! reads encoded blocks and plans for any parameters; the kernels do none of that.
//!
//! # Source
//! [Muehlbauer16 8.3] Table 8.3. Differs: also with all threads; the chapter has one.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bench::Setup;
use crate::engine::Engine;
use crate::error::Result;
use crate::format::median;
use crate::limits::{CycleCounter, KERNELS, KernelRun, QueryKernel, TpchArrays, read_bandwidth};
use crate::report::{Measurement, Report};
use crate::tpch::{QUERIES, generate_until};
use crate::workload::Query;

const GIB: f64 = (1_u64 << 30) as f64;

/// Memory that is read for the bound.
const BANDWIDTH_BYTES: usize = 512 << 20;
const BANDWIDTH_BYTES_QUICK: usize = 64 << 20;

/// Both contestants with one number of threads.
struct LimitsContest<'a> {
    setup: &'a Setup,
    nacre: Engine,
    arrays: &'a TpchArrays,
    threads: usize,
    /// Bytes a second.
    bandwidth: f64,
    counter: Option<CycleCounter>,
    parameters: String,
}

/// What turns of a query give.
struct LimitsTimes {
    ours: Duration,
    kernel: Duration,
    /// Of one run of the kernel.
    cycles: Option<u64>,
    run: KernelRun,
}

pub(super) async fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let csv = setup.workspace.subdirectory("csv")?;
    let files = generate_until(setup.scale_factor, &csv, setup.threads, &setup.interrupt)?;
    let directory = setup.workspace.path().join("database");
    let engine = Engine::open(&directory, Some(setup.threads)).await?;
    for file in &files {
        setup.interrupt.check()?;
        engine.create_and_load(file, Arc::default()).await?;
    }
    engine.finish_replicas(&setup.interrupt)?;
    drop(engine);
    let arrays = TpchArrays::generate(setup.scale_factor, &setup.interrupt)?;
    let mut threads = vec![1, setup.threads];
    threads.dedup();
    for threads in threads {
        let bytes = if setup.is_quick { BANDWIDTH_BYTES_QUICK } else { BANDWIDTH_BYTES };
        let contest = LimitsContest {
            setup,
            nacre: Engine::open(&directory, Some(threads)).await?,
            arrays: &arrays,
            threads,
            bandwidth: read_bandwidth(bytes, threads),
            counter: CycleCounter::open(),
            parameters: format!("sf={},threads={threads}", setup.scale_factor),
        };
        contest.run(report).await?;
    }
    Ok(())
}

impl LimitsContest<'_> {
    async fn run(&self, report: &mut Report) -> Result<()> {
        let console = self.setup.console;
        let repetitions = if self.setup.is_quick { 3 } else { 7 };
        console.line(format_args!(
            "\nTPC-H at scale factor {}, threads: {}, median of {repetitions} runs in turn; memory \
             is read at {:.1} GiB/s",
            self.setup.scale_factor,
            self.threads,
            self.bandwidth / GIB
        ))?;
        console.line(
            "   query      Nacre ms   kernel ms   ratio   kernel: ns/row     GiB/s   MiB read   \
             bound ms   cycles/row",
        )?;
        for kernel in &KERNELS {
            // Queries are numbered from 1.
            let query = &QUERIES[kernel.query as usize - 1];
            let times = self.measure(kernel, query, repetitions).await?;
            self.report_query(report, query, &times)?;
        }
        Ok(())
    }

    async fn measure(
        &self,
        kernel: &QueryKernel,
        query: &Query,
        repetitions: usize,
    ) -> Result<LimitsTimes> {
        let sql = query.sql(self.setup.scale_factor);
        let answer = self.nacre.query(&sql).await?;
        let run = (kernel.run)(self.arrays, self.threads);
        query.check(&answer, &run.answer, "the kernel")?;
        let (mut ours, mut theirs, mut cycles) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..repetitions {
            self.setup.interrupt.check()?;
            let start = Instant::now();
            self.nacre.query(&sql).await?;
            ours.push(start.elapsed());
            let before = self.cycles();
            let start = Instant::now();
            black_box((kernel.run)(self.arrays, self.threads));
            theirs.push(start.elapsed());
            cycles.extend(self.cycles().zip(before).map(|(after, before)| after - before));
        }
        cycles.sort_unstable();
        let cycles = cycles.get(cycles.len() / 2).copied();
        Ok(LimitsTimes { ours: median(&ours), kernel: median(&theirs), cycles, run })
    }

    fn cycles(&self) -> Option<u64> {
        self.counter.as_ref().and_then(CycleCounter::read)
    }

    fn report_query(&self, report: &mut Report, query: &Query, times: &LimitsTimes) -> Result<()> {
        let (structure, parameters) = (format!("tpch-q{:02}", query.number), &self.parameters);
        let (ours, kernel) = (times.ours.as_secs_f64(), times.kernel.as_secs_f64().max(1e-9));
        let bytes = times.run.bytes as f64;
        let (rate, bound) = (bytes / kernel, bytes / self.bandwidth);
        let id = format!("query/{structure}-limit/nacre/{parameters}");
        let measurement = Measurement::new(id, ours * 1e3, "ms").against("kernel", kernel * 1e3);
        report.add(&measurement.emulated(self.nacre.is_emulated()))?;
        let id = format!("read/{structure}/kernel/{parameters}");
        let bandwidth = self.bandwidth / GIB;
        report
            .add(&Measurement::new(id, rate / GIB, "GiB/s").against("read bandwidth", bandwidth))?;
        // The work of all threads together, so that it can be compared with that of one.
        let rows = times.run.rows.max(1) as f64;
        let cycles = times.cycles.map(|cycles| format!("{:.1}", cycles as f64 / rows));
        self.setup.console.line(format_args!(
            "   {:<8} {:>10.1} {:>11.1} {:>7.2} {:>16.2} {:>9.2} {:>10.1} {:>10.1} {:>12}",
            query.name,
            ours * 1e3,
            kernel * 1e3,
            ours / kernel,
            kernel * 1e9 / rows,
            rate / GIB,
            bytes / (1 << 20) as f64,
            bound * 1e3,
            cycles.as_deref().unwrap_or("-")
        ))
    }
}
