//! `nacre bench planning`: from the text of a query to its plan.
//!
//! Question: how long do parsing, binding, optimizing and lowering take? Baseline: DataFusion, by
//! which queries of the same texts are planned under `nacre.engine = datafusion`; for it the time
//! of all of EXPLAIN counts, and it is compared with that of Nacre's. Bars: the median of TPC-H at
//! most 1 ms, none above 4 ms; 12 relations in a clique at most 20 ms; a query of one row by its
//! key at most 50 us; and any order of the relations in FROM gives the same plan.
//!
//! How: both explain a query in turn, over loaded rows, whose statistics the optimizer asks for;
//! medians count. The steps are those that `EXPLAIN (SUMMARY, COSTS OFF)` says. Queries are those
//! of TPC-H, SSB and, by `--folder`, TPC-DS, and shapes of their own ([`subjects`]). Then each
//! query is explained with its relations in other orders, and the texts of the plans are compared.
//!
//! Kept equal: the database, the session, the text. Not equal: DataFusion's EXPLAIN writes a
//! logical plan besides.

mod from_lists;
mod subjects;

use std::time::{Duration, Instant};

use serde_json::Value;

use super::explained::explained;
use super::tpcds::DsFolder;
use crate::bench::Setup;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::format::median;
use crate::report::{Measurement, Report};
use crate::workload::{Answer, Random};
use from_lists::with_shuffled_relations;
use subjects::{PlannedQuery, PlanningGroup, shape_group, ssb_group, tpcds_group, tpch_group};

/// How often a query is planned, unless that takes longer than [`QUERY_TIME_MAX`].
const REPETITIONS: usize = 101;
const REPETITIONS_QUICK: usize = 15;
/// How often it is planned in any case.
const REPETITIONS_MIN: usize = 3;

/// How long a query is planned again and again.
const QUERY_TIME_MAX: Duration = Duration::from_secs(3);
const QUERY_TIME_MAX_QUICK: Duration = Duration::from_millis(150);

/// Orders of FROM that are tried for each query.
const ORDERS: u64 = 20;
const ORDERS_QUICK: u64 = 3;

/// The steps, as EXPLAIN calls them and as ids do.
const STEPS: [(&str, &str); 4] = [
    ("Parse Time", "parse"),
    ("Bind Time", "bind"),
    ("Optimize Time", "optimize"),
    ("Compile Time", "lower"),
];

/// The baseline's name in reports.
const BASELINE: &str = "datafusion";

/// Times of planning a query again and again.
#[derive(Default)]
struct PlanningSamples {
    /// By step.
    steps: [Vec<Duration>; STEPS.len()],
    /// All steps.
    planning: Vec<Duration>,
    /// EXPLAIN, by Nacre and by DataFusion.
    ours: Vec<Duration>,
    theirs: Vec<Duration>,
}

/// What a group's queries took, for their median and mean.
#[derive(Default)]
struct GroupTally {
    queries: usize,
    /// Medians of those that Nacre plans.
    plans: Vec<Duration>,
    /// Logarithms of the ratios of EXPLAIN.
    ratios: Vec<f64>,
}

pub(super) async fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    // Tells early if there is no such folder.
    let folder = setup.folder.as_deref().map(DsFolder::read).transpose()?;
    measure_group(setup, report, tpch_group(setup).await?).await?;
    measure_group(setup, report, ssb_group(setup).await?).await?;
    if let Some(folder) = folder {
        measure_group(setup, report, tpcds_group(setup, &folder).await?).await?;
    }
    measure_group(setup, report, shape_group(setup).await?).await
}

async fn measure_group(setup: &Setup, report: &mut Report, group: PlanningGroup) -> Result<()> {
    let console = setup.console;
    console.line(format_args!("\n{}: planning in us, medians", group.title))?;
    console.line(
        "   query         parse     bind optimize    lower      plan    EXPLAIN  DataFusion  ratio",
    )?;
    let mut tally = GroupTally::default();
    for query in &group.queries {
        let samples = measure(setup, &group.nacre, query).await?;
        report_query(setup, report, query, &samples)?;
        tally.add(&samples);
    }
    if let (Some(workload), Some(query)) = (group.workload, group.queries.first()) {
        report_workload(setup, report, workload, &query.parameters, &tally)?;
    }
    report_orders(setup, report, &group).await
}

/// Has both plan a query in turn.
async fn measure(setup: &Setup, nacre: &Engine, query: &PlannedQuery) -> Result<PlanningSamples> {
    let (repetitions, time_max) = if setup.is_quick {
        (REPETITIONS_QUICK, QUERY_TIME_MAX_QUICK)
    } else {
        (REPETITIONS, QUERY_TIME_MAX)
    };
    let mut samples = PlanningSamples::default();
    let start = Instant::now();
    for turn in 0..repetitions {
        setup.interrupt.check()?;
        if turn >= REPETITIONS_MIN && start.elapsed() > time_max {
            break;
        }
        nacre.query("SET nacre.engine = auto").await?;
        samples.add_steps(&explained(nacre, "COSTS OFF, SUMMARY", &query.sql).await?)?;
        samples.ours.push(timed_explain(nacre, query).await?.0);
        nacre.query("SET nacre.engine = datafusion").await?;
        samples.theirs.push(timed_explain(nacre, query).await?.0);
    }
    nacre.query("SET nacre.engine = auto").await?;
    Ok(samples)
}

/// Returns how long EXPLAIN of a query takes, and the plan.
async fn timed_explain(nacre: &Engine, query: &PlannedQuery) -> Result<(Duration, Answer)> {
    let explain = format!("EXPLAIN (COSTS OFF) {}", query.sql);
    let start = Instant::now();
    let plan = nacre.query(&explain).await?;
    Ok((start.elapsed(), plan))
}

impl PlanningSamples {
    /// Adds the steps that a document says; there are none if DataFusion planned the query.
    fn add_steps(&mut self, document: &Value) -> Result<()> {
        if document["Engine"] != "nacre" {
            return Ok(());
        }
        let time = |value: &Value| {
            let milliseconds = value.as_f64();
            milliseconds.map(|one| Duration::from_secs_f64(one.max(0.0) / 1e3)).ok_or_else(|| {
                Error::Deviation("EXPLAIN does not say how long planning took".to_owned())
            })
        };
        for ((name, _), samples) in STEPS.iter().zip(&mut self.steps) {
            samples.push(time(&document["Planning"][name])?);
        }
        self.planning.push(time(&document["Planning Time"])?);
        Ok(())
    }
}

fn report_query(
    setup: &Setup,
    report: &mut Report,
    query: &PlannedQuery,
    samples: &PlanningSamples,
) -> Result<()> {
    let id =
        |operation: &str| format!("{operation}/{}/nacre/{}", query.structure, query.parameters);
    let add = |report: &mut Report, operation: &str, times: &[Duration]| -> Result<String> {
        let (Some(min), Some(max)) = (times.iter().min(), times.iter().max()) else {
            return Ok("-".to_owned());
        };
        let value = microseconds(median(times));
        let measurement = Measurement::new(id(operation), value, "us");
        report.add(&measurement.between(microseconds(*min), microseconds(*max)))?;
        Ok(format!("{value:.0}"))
    };
    let mut cells = String::new();
    for ((_, step), times) in STEPS.iter().zip(&samples.steps) {
        cells.push_str(&format!(" {:>8}", add(report, step, times)?));
    }
    let plan = add(report, "plan", &samples.planning)?;
    let [ours, theirs] = [&samples.ours, &samples.theirs].map(|times| microseconds(median(times)));
    let explain = Measurement::new(id("explain"), ours, "us").against(BASELINE, theirs);
    report.add(&explain)?;
    setup.console.line(format_args!(
        "   {:<10}{cells} {plan:>9} {ours:>10.0} {theirs:>11.0} {:>6.2}",
        query.title,
        explain.ratio().unwrap_or_default()
    ))
}

impl GroupTally {
    fn add(&mut self, samples: &PlanningSamples) {
        self.queries += 1;
        if !samples.planning.is_empty() {
            self.plans.push(median(&samples.planning));
        }
        let [ours, theirs] =
            [&samples.ours, &samples.theirs].map(|times| median(times).as_secs_f64().max(1e-9));
        self.ratios.push((ours / theirs).ln());
    }
}

/// Reports the median and the longest planning of a workload's queries, and the mean of the ratios.
fn report_workload(
    setup: &Setup,
    report: &mut Report,
    workload: &str,
    parameters: &str,
    tally: &GroupTally,
) -> Result<()> {
    let GroupTally { queries, plans, ratios } = tally;
    let (middle, longest) = (median(plans), plans.iter().max().copied().unwrap_or_default());
    for (name, time) in [("median", middle), ("max", longest)] {
        let id = format!("plan/{workload}-{name}/nacre/{parameters}");
        report.add(&Measurement::new(id, microseconds(time), "us"))?;
    }
    let mean = (ratios.iter().sum::<f64>() / ratios.len().max(1) as f64).exp();
    setup.console.line(format_args!(
        "   {} of {queries} planned by Nacre: median {:.0} us, longest {:.0} us; geometric mean of \
         the ratios {mean:.2}",
        plans.len(),
        microseconds(middle),
        microseconds(longest),
    ))
}

/// Reports how many queries have another plan if FROM has another order.
async fn report_orders(setup: &Setup, report: &mut Report, group: &PlanningGroup) -> Result<()> {
    let orders = if setup.is_quick { ORDERS_QUICK } else { ORDERS };
    let mut changed: Vec<&str> = Vec::new();
    for (index, query) in group.queries.iter().enumerate() {
        setup.interrupt.check()?;
        let mut random = Random::of_row(900, index as u64);
        let plan = timed_explain(&group.nacre, query).await?.1.to_line();
        for _ in 0..orders {
            let sql = with_shuffled_relations(&query.sql, &mut random);
            if sql == query.sql {
                continue;
            }
            let explain = format!("EXPLAIN (COSTS OFF) {sql}");
            if group.nacre.query(&explain).await?.to_line() != plan {
                changed.push(&query.title);
                break;
            }
        }
    }
    let structure = group.workload.unwrap_or("shapes");
    let id = format!("changed-plans/{structure}/nacre/orders={orders}");
    report.add(&Measurement::new(id, changed.len() as f64, "queries"))?;
    let found = match &changed[..] {
        [] => "the same plan".to_owned(),
        changed => format!("another plan of {}", changed.join(", ")),
    };
    setup.console.line(format_args!("   FROM in {orders} other orders: {found}"))
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_are_read_from_what_explain_answers() {
        let mut samples = PlanningSamples::default();
        let planning = json!({
            "Parse Time": 0.25, "Bind Time": 0.5, "Optimize Time": 1.0, "Compile Time": 2.0,
        });
        let document =
            json!({"Engine": "nacre", "Planning": planning, "Planning Time": 3.75, "Plan": {}});
        samples.add_steps(&document).unwrap();
        let steps = samples.steps.each_ref().map(|step| step[0].as_micros());
        assert_eq!((steps, samples.planning[0].as_micros()), ([250, 500, 1_000, 2_000], 3_750));
        samples.add_steps(&json!({"Engine": "datafusion"})).unwrap();
        assert_eq!(samples.planning.len(), 1);
        assert!(samples.add_steps(&json!({"Engine": "nacre"})).is_err());
    }
}
