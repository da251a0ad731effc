//! `nacre bench tpch --estimates`: how far are the rows that the optimizer expects of joins from
//! those that the joins have?
//!
//! The measure of a join is its q-error: the rows that it has by those expected, or the other way
//! round, whichever is more, of at least one row each. Semi, anti and outer joins count as others
//! do. All come from `EXPLAIN (ANALYZE, FORMAT JSON)`. `nacre.join_filters` is off meanwhile: rows
//! that a join further up has no partner for are else left out by the scans below, and no join has
//! the rows that its estimate is about.
//!
//! # Source
//! Moerkotte, Neumann, Steidl: "Preventing bad plans by bounding the impact of cardinality
//! estimation errors", VLDB 2009, section 3.

use serde_json::Value;

use super::explained::{explained_plan, plan_inputs, unexpected};
use crate::bench::Setup;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::report::{Measurement, Report};
use crate::tpch::QUERIES;
use crate::workload::Query;

/// A join, and how many rows it should have and has.
#[derive(Clone, Debug, PartialEq)]
struct JoinRows {
    /// Its kind, and the tables of both sides.
    name: String,
    expected: f64,
    actual: f64,
}

impl JoinRows {
    fn q_error(&self) -> f64 {
        let (expected, actual) = (self.expected.max(1.0), self.actual.max(1.0));
        (expected / actual).max(actual / expected)
    }
}

/// Reports the q-errors of the joins of TPC-H.
pub(super) async fn report_estimates(
    setup: &Setup,
    nacre: &Engine,
    report: &mut Report,
) -> Result<()> {
    let console = setup.console;
    console.line(format_args!(
        "Rows of the joins of TPC-H at scale factor {}: the worst estimate of each query\n   \
         query  joins    q-error     expected       actual   join",
        setup.scale_factor
    ))?;
    nacre.query("SET nacre.engine = nacre").await?;
    nacre.query("SET nacre.join_filters = off").await?;
    let mut errors = Vec::new();
    for query in &QUERIES {
        setup.interrupt.check()?;
        let joins = measured_joins(setup, nacre, query).await?;
        errors.extend(joins.iter().map(JoinRows::q_error));
        let worst = joins.iter().max_by(|one, other| one.q_error().total_cmp(&other.q_error()));
        let Some(worst) = worst else { continue };
        add(setup, nacre, report, &format!("tpch-q{:02}", query.number), worst.q_error())?;
        console.line(format_args!(
            "   {:<6} {:>5} {:>10.2} {:>12.0} {:>12.0}   {}",
            query.name,
            joins.len(),
            worst.q_error(),
            worst.expected,
            worst.actual,
            worst.name
        ))?;
    }
    errors.sort_by(f64::total_cmp);
    let (Some(median), Some(worst)) = (errors.get(errors.len() / 2), errors.last()) else {
        return Err(Error::Deviation("the queries of TPC-H have no joins".to_owned()));
    };
    add(setup, nacre, report, "tpch-median", *median)?;
    add(setup, nacre, report, "tpch-worst", *worst)?;
    let count = errors.len();
    console.line(format_args!("   {count} joins: median {median:.2}, worst {worst:.2}"))
}

fn add(
    setup: &Setup,
    nacre: &Engine,
    report: &mut Report,
    structure: &str,
    q_error: f64,
) -> Result<()> {
    let parameters = format!("sf={},threads={}", setup.scale_factor, setup.threads);
    let id = format!("estimate/{structure}/nacre/{parameters}");
    report.add(&Measurement::new(id, q_error, "q-error").emulated(nacre.is_emulated()))
}

async fn measured_joins(setup: &Setup, nacre: &Engine, query: &Query) -> Result<Vec<JoinRows>> {
    let plan = explained_plan(nacre, &query.sql(setup.scale_factor)).await?;
    let mut joins = Vec::new();
    add_joins(&plan, &mut joins).ok_or_else(|| unexpected(query.name, "joins without rows"))?;
    Ok(joins)
}

/// Adds the joins of a plan; `None` if one has no rows.
fn add_joins(node: &Value, joins: &mut Vec<JoinRows>) -> Option<()> {
    let inputs = plan_inputs(node);
    if let Some(kind) = node["Join Type"].as_str() {
        let sides: Vec<String> = inputs.iter().map(table_names).collect();
        joins.push(JoinRows {
            name: format!("{} {}", kind.to_lowercase(), sides.join(" x ")),
            expected: node["Plan Rows"].as_f64()?,
            actual: node["Actual Rows"].as_f64()?,
        });
    }
    inputs.iter().try_for_each(|input| add_joins(input, joins))
}

/// Returns the tables that an operator reads.
fn table_names(node: &Value) -> String {
    let inputs = plan_inputs(node);
    let own = node["Relation Name"].as_str().map(str::to_owned);
    let names: Vec<String> = own.into_iter().chain(inputs.iter().map(table_names)).collect();
    match &names[..] {
        [] => node["Node Type"].as_str().unwrap_or_default().to_lowercase(),
        [name] => name.clone(),
        names => format!("({})", names.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn joins_are_found_below_other_operators() {
        let scan = |name: &str| json!({"Node Type": "Seq Scan", "Relation Name": name});
        let below = json!({
            "Node Type": "Hash Join", "Join Type": "Semi", "Plan Rows": 100, "Actual Rows": 0,
            "Plans": [scan("b"), {"Node Type": "Result", "Plans": [scan("c")]}],
        });
        let plan = json!({"Node Type": "Sort", "Plans": [{
            "Node Type": "Hash Join", "Join Type": "Inner", "Plan Rows": 5, "Actual Rows": 20,
            "Plans": [scan("a"), below],
        }]});
        let mut joins = Vec::new();
        add_joins(&plan, &mut joins).unwrap();
        let found: Vec<_> = joins.iter().map(|join| (join.name.as_str(), join.q_error())).collect();
        assert_eq!(found, [("inner a x (b c)", 4.0), ("semi b x c", 100.0)]);
        let unmeasured = json!({"Join Type": "Inner", "Plan Rows": 5});
        assert_eq!(add_joins(&unmeasured, &mut joins), None);
    }
}
