//! Rows of `pg_stats` and `pg_statistic`: what planners of queries know of columns.
//!
//! There is a row for each column of which a block or ANALYZE tells something. Common values,
//! histograms and correlations are not kept in a form that these catalogs have, so they are null.

use std::sync::Arc;

use nacre_column::{ColumnType, Physical};
use nacre_store::{ColumnDef, ColumnEstimates, Store, Table};

use super::cells::{Cell, Row};
use super::objects::{Kind, Objects};
use crate::names::SCHEMA;
use crate::privileges::{Acting, SELECT};

/// Of this part of the rows being different values, PostgreSQL takes their number to grow with the
/// rows and shows it as a part of them, below 0.
const SCALING_PART: f64 = 0.1;

/// What is known of a column.
struct ColumnFacts {
    /// From 1.
    number: usize,
    name: String,
    null_fraction: f64,
    average_bytes: i64,
    distinct: f64,
}

/// Returns the rows of `pg_stats`, of tables that the role may read.
pub(super) fn columns(objects: &Objects, store: &Store, acting: Acting) -> Vec<Row> {
    let mut rows = Vec::new();
    for relation in &objects.relations {
        let Kind::Table(table) = &relation.is else { continue };
        if acting.require_table(store, table, SELECT).is_err() {
            continue;
        }
        rows.extend(column_facts(table).into_iter().map(|facts| -> Row {
            vec![
                ("schemaname", SCHEMA.into()),
                ("tablename", relation.name.as_str().into()),
                ("attname", facts.name.into()),
                ("inherited", false.into()),
                ("null_frac", Cell::Float(facts.null_fraction)),
                ("avg_width", facts.average_bytes.into()),
                ("n_distinct", Cell::Float(facts.distinct)),
            ]
        }));
    }
    rows
}

/// Returns the rows of `pg_statistic`.
pub(super) fn statistics(objects: &Objects) -> Vec<Row> {
    let mut rows = Vec::new();
    for relation in &objects.relations {
        let Kind::Table(table) = &relation.is else { continue };
        rows.extend(column_facts(table).into_iter().map(|facts| -> Row {
            let kinds = ["stakind1", "stakind2", "stakind3", "stakind4", "stakind5"];
            let mut row = vec![
                ("starelid", relation.oid.into()),
                ("staattnum", facts.number.into()),
                ("stainherit", false.into()),
                ("stanullfrac", Cell::Float(facts.null_fraction)),
                ("stawidth", facts.average_bytes.into()),
                ("stadistinct", Cell::Float(facts.distinct)),
            ];
            row.extend(kinds.map(|kind| (kind, Cell::Int(0))));
            row
        }));
    }
    rows
}

fn column_facts(table: &Arc<Table>) -> Vec<ColumnFacts> {
    let statistics = table.committed().statistics();
    let schema = table.schema();
    let facts = |(index, column): (usize, &ColumnDef)| {
        let estimates = statistics.column(index);
        Some(ColumnFacts {
            number: index + 1,
            name: column.name.clone(),
            null_fraction: estimates.null_fraction?,
            average_bytes: average_bytes(column.column_type, &estimates),
            distinct: distinct_values(&estimates),
        })
    };
    schema.columns.iter().enumerate().filter_map(facts).collect()
}

/// Returns the bytes of a value as it is stored plain, on average.
fn average_bytes(column_type: ColumnType, estimates: &ColumnEstimates) -> i64 {
    match column_type.physical() {
        Physical::Bytes => estimates.string_bytes.map_or(0, |bytes| bytes.round() as i64),
        _ => column_type.plain_bytes() as i64,
    }
}

/// Returns the number of different values as PostgreSQL shows it: 0 if it is not known.
fn distinct_values(estimates: &ColumnEstimates) -> f64 {
    let Some(count) = estimates.distinct else { return 0.0 };
    let part = count / (estimates.rows as f64).max(1.0);
    if part > SCALING_PART { -part } else { count.round() }
}
