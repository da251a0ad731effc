//! What the grammar has a syntax of its own for, beside a PostgreSQL 15 server where its programs
//! are: OVERLAPS, AT TIME ZONE, SIMILAR TO, ESCAPE; and functions beside them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

#[path = "support/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "what other tests need of it")]
#[path = "../../nacre-functions/tests/server/mod.rs"]
mod server;
mod support;

use postgres::compare;
use support::statements::TestDatabase;

const STATEMENTS: &[&str] = &[
    "select (date '2024-01-01', date '2024-02-01') overlaps (date '2024-01-15', null)",
    "select id, (d, interval '400 days') overlaps (date '1970-02-01', date '1970-03-01') from t",
    "select id, (d, d + 10) overlaps (null, date '1970-02-01') from t",
    "select id, (time '10:00', interval '1 hour') overlaps (time '10:30', time '09:00') from t \
     where id < 3",
    "select (date '2024-01-01', date '2024-02-01', null) overlaps (null, null)",
    "select id, (d + time '10:00') at time zone 'Europe/Berlin' at time zone 'UTC' from t",
    "select timestamp '2024-11-03 01:30' at time zone 'America/New_York'",
    "select id from t where s similar to '(a|b)%' or s similar to '_[b-d]+'",
    "select id from t where s not similar to 'a#%' escape '#' and id < 30",
    "select id from t where substring(s from 1 for 1) in ('a', 'b', '') or id = 3",
    "select id, substring(s from 1 for 1) not in ('a', 'b', 'a text of more than 12 bytes') from t",
    "select id, s || '' in ('a', null, 'B/c', 'a text of more than 12 bytes') from t",
    "select id from t where lower(s) = 'a' or lower(s) = 'b' or lower(s) = 'c' or s is null",
    "select id, upper(s) <> 'A' and upper(s) <> 'B' and upper(s) <> 'no text of 12 bytes' from t",
    "select 'ab' similar to 'a%' escape null, 'a%' similar to 'a\\%'",
    "select id from t where s like 'a!_%' escape '!' or s ilike 'B/%' escape '/'",
    "select id, s not like s escape 'a' from t where id < 40",
    "select localtime(-1)",
    "select array[a] in ('{1}', '{2}') from t where id < 20",
    "select array[a] <> '{1}', array[a] not in (array[k], '{3}') from t where id < 20",
    "select date_trunc('day', timestamptz '2024-03-31 23:30+00', 'Europe/Berlin') at time zone \
     'UTC'",
    "select date_bin('15 minutes', timestamp '2020-02-11 15:44:17', timestamp '2001-01-01')",
    "select to_char(f, 'FM9999.99') from t where id < 50",
    "select regexp_replace(s, '^(.)(.*)$', '\\2\\1') from t where id < 50",
];

#[test]
fn special_forms_mean_what_they_do_in_postgresql() {
    let (database, rows) = TestDatabase::of_rows(120, 60, 40);
    let statements: Vec<String> = STATEMENTS.iter().map(|sql| (*sql).to_owned()).collect();
    if let Some(count) = compare(&database, &rows, &statements) {
        assert!(count + 5 >= statements.len(), "{count} of {} have rows", statements.len());
    }
}
