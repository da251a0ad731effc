//! Ids of the rows that UPDATE and DELETE change, and what their columns get.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use nacre_plan::binder::{ChangedRows, RowChangingStatement, bind_changed_rows};
use nacre_plan::optimizer::optimize;
use nacre_store::{RowId, RowPlace};
use nacre_syntax::{Statement, parse_statement};
use nacre_types::ValueSettings;

use support::statements::TestDatabase;

/// Rows that lie in chunks of a load, of the 50 of the table.
const FROZEN_ROWS: usize = 30;

const CHUNK_ROWS: usize = 20;

/// Runs the query for the rows of a change; returns the `id` that the place of each row says, and
/// the other outputs.
fn changed(sql: &str) -> Vec<(usize, Vec<String>)> {
    let (database, _) = TestDatabase::of_rows(50, FROZEN_ROWS, CHUNK_ROWS);
    let statement = parse_statement(sql).unwrap().unwrap();
    let change = match &statement {
        Statement::Update(update) => RowChangingStatement::Update(update),
        Statement::Delete(delete) => RowChangingStatement::Delete(delete),
        other => panic!("{other:?} changes no rows"),
    };
    let bind = bind_changed_rows(&database, &ValueSettings::default(), change, false, &[]);
    let ChangedRows { query, .. } = bind.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let rows = database.run_plan(&optimize(query, &database), sql).unwrap();
    let mut found: Vec<_> = rows
        .into_iter()
        .map(|mut row| {
            let others = row.split_off(1);
            let id: i64 = row[0].parse().unwrap();
            (own_id(RowId(id as u64)), others)
        })
        .collect();
    found.sort();
    found
}

fn own_id(id: RowId) -> usize {
    match id.place() {
        RowPlace::Frozen { chunk, offset, .. } => chunk as usize * CHUNK_ROWS + usize::from(offset),
        RowPlace::Hot { offset, .. } => FROZEN_ROWS + usize::from(offset),
    }
}

/// Returns ids with one output each.
fn with_values(rows: &[(usize, &str)]) -> Vec<(usize, Vec<String>)> {
    rows.iter().map(|(id, value)| (*id, vec![(*value).to_owned()])).collect()
}

#[test]
fn ids_are_those_of_frozen_and_hot_rows() {
    let all: Vec<usize> = changed("delete from t").into_iter().map(|(id, _)| id).collect();
    assert_eq!(all, (0..50).collect::<Vec<_>>());
    let few = "delete from t where id in (0, 19, 20, 29, 30, 49)";
    let few: Vec<usize> = changed(few).into_iter().map(|(id, _)| id).collect();
    assert_eq!(few, [0, 19, 20, 29, 30, 49]);
}

#[test]
fn ids_stay_with_the_values_of_joins() {
    let sql = "update t set k = u.id from t u where u.id + 1 = t.id and t.id % 10 = 0";
    let expected = [(10, "9"), (20, "19"), (30, "29"), (40, "39")];
    assert_eq!(changed(sql), with_values(&expected));
    // Either side of the join.
    let sql = "update t set k = v.n from (select id, id * 2 as n from t where id > 47) v \
               where v.id = t.id";
    assert_eq!(changed(sql), with_values(&[(48, "96"), (49, "98")]));
}

#[test]
fn values_are_of_the_types_of_their_columns() {
    let sql = "update t set n = id / 8.0, s = id where id = 31";
    assert_eq!(changed(sql), vec![(31, vec!["3.88".to_owned(), "31".to_owned()])]);
    let sql = "update t set k = (select max(u.id) from t u where u.id < t.id) where id = 30";
    assert_eq!(changed(sql), with_values(&[(30, "29")]));
}
