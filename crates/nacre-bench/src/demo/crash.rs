//! Step 4: kill a process in the middle of a load, then open the database again.
//!
//! The time to the first answer is that of a new process: from just before it is started to when
//! its answer has been read from a pipe.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::demo::{Story, lineitem};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::format::{count, milliseconds};
use crate::process::Child;
use crate::tpch::TABLES;
use crate::workload::CsvFile;

/// The table that is being loaded when its process is killed.
const SECOND_TABLE: &str = "lineitem2";

/// The kill comes when this share of the CSV file is in the store.
const KILL_AT: f64 = 0.4;

/// A small load may be over before the kill arrives; then the table is emptied and tried again.
const ATTEMPTS_MAX: u32 = 10;

/// What must be the same before and after: the rows of each table and sums over lineitem.
#[derive(Debug, PartialEq, Eq)]
struct Contents {
    rows: BTreeMap<&'static str, String>,
    lineitem_sums: String,
}

pub(super) async fn kill_and_restart(
    story: &Story,
    engine: Engine,
    files: &[CsvFile],
) -> Result<()> {
    let console = story.console;
    console.line("\n4. Load lineitem a second time in another process and kill it half-way")?;
    let before = contents(&engine).await?;
    let lineitem = lineitem(files)?;
    let mut engine = engine;
    let mut attempts = 0;
    loop {
        attempts += 1;
        engine.query(&lineitem.table.create_statement(SECOND_TABLE)).await?;
        drop(engine);
        let outcome = load_and_kill(story, lineitem).await?;
        match outcome {
            Some((done, total)) => {
                let share = done as f64 / total.max(1) as f64 * 100.0;
                console.line(format_args!(
                    "   killed with SIGKILL: {share:.0} % of the rows were written, none committed"
                ))?;
                break;
            }
            None if attempts == ATTEMPTS_MAX => {
                return Err(Error::Child(format!(
                    "the second load was over before the kill came, {attempts} times: \
                     try a larger --sf"
                )));
            }
            None => {
                engine = story.open().await?;
                engine.query(&format!("DROP TABLE {SECOND_TABLE}")).await?;
            }
        }
    }
    time_first_answer(story, &before).await?;
    let engine = story.open().await?;
    compare_contents(&before, &contents(&engine).await?)?;
    let second = engine.line(&format!("SELECT count(*) FROM {SECOND_TABLE}")).await?;
    if second != "0" {
        return Err(Error::Deviation(format!(
            "{SECOND_TABLE} has {second} rows, although its load was killed"
        )));
    }
    engine.query(&format!("DROP TABLE {SECOND_TABLE}")).await?;
    console
        .line("   all eight tables have the rows they had before, lineitem also the same sums")?;
    console
        .line(format_args!("   {SECOND_TABLE} has no row: nothing of the killed load is visible"))
}

/// Starts a load and kills it on its way; `None` if it was over before.
async fn load_and_kill(story: &Story, lineitem: &CsvFile) -> Result<Option<(u64, u64)>> {
    let arguments: [OsString; 4] = [
        "load".into(),
        story.database_directory.clone().into(),
        SECOND_TABLE.into(),
        lineitem.path.clone().into(),
    ];
    let mut child = Child::start(&arguments)?;
    let mut last;
    loop {
        last = child.line().await?.text;
        match progress_of(&last) {
            Some((done, total)) if (done as f64) < total as f64 * KILL_AT => {}
            _ => break,
        }
    }
    let rest = child.kill().await?;
    let is_over = |text: &str| text.starts_with("loaded");
    if is_over(&last) || rest.iter().any(|line| is_over(&line.text)) {
        return Ok(None);
    }
    let last = rest.last().map_or(last.as_str(), |line| line.text.as_str());
    let unknown = || Error::Child(format!("the child process wrote an unknown line `{last}`"));
    progress_of(last).map(Some).ok_or_else(unknown)
}

/// Reads `progress DONE TOTAL`.
fn progress_of(line: &str) -> Option<(u64, u64)> {
    let (done, total) = line.strip_prefix("progress ")?.split_once(' ')?;
    Some((done.parse().ok()?, total.parse().ok()?))
}

async fn time_first_answer(story: &Story, before: &Contents) -> Result<()> {
    let sql = "SELECT count(*) FROM lineitem";
    let arguments: [OsString; 3] =
        ["query".into(), story.database_directory.clone().into(), sql.into()];
    let mut child = Child::start(&arguments)?;
    let line = child.line().await?;
    let answer = line.text.strip_prefix("answer ").unwrap_or(&line.text);
    let expected = &before.rows["lineitem"];
    if answer != expected {
        return Err(Error::Deviation(format!("lineitem had {expected} rows, now {answer}")));
    }
    let rows = answer.parse().map_or_else(|_| answer.to_owned(), count);
    story.console.line(format_args!(
        "   a new process answered count(*) from lineitem = {rows} after {} ms",
        milliseconds(line.at - child.started())
    ))
}

async fn contents(engine: &Engine) -> Result<Contents> {
    let mut rows = BTreeMap::new();
    for table in &TABLES {
        let sql = format!("SELECT count(*) FROM {}", table.name);
        rows.insert(table.name, engine.line(&sql).await?);
    }
    let sums = "SELECT sum(l_orderkey), sum(l_partkey), sum(l_suppkey), sum(l_linenumber), \
                sum(l_quantity), sum(l_extendedprice), sum(l_discount), sum(l_tax), \
                min(l_shipdate), max(l_receiptdate), count(l_comment) FROM lineitem";
    Ok(Contents { rows, lineitem_sums: engine.line(sums).await? })
}

fn compare_contents(before: &Contents, after: &Contents) -> Result<()> {
    for (table, rows) in &before.rows {
        if after.rows.get(table) != Some(rows) {
            let now = after.rows.get(table).map_or("none", String::as_str);
            return Err(Error::Deviation(format!("{table} had {rows} rows, now {now}")));
        }
    }
    if before.lineitem_sums != after.lineitem_sums {
        return Err(Error::Deviation(format!(
            "sums over lineitem were {}, now {}",
            before.lineitem_sums, after.lineitem_sums
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_line_is_read_and_others_are_not() {
        assert_eq!(progress_of("progress 5 10"), Some((5, 10)));
        assert_eq!(progress_of("loaded 10"), None);
        assert_eq!(progress_of("progress x 10"), None);
    }

    #[test]
    fn lost_row_and_changed_sum_are_deviations() {
        let contents = |rows: &str, sums: &str| Contents {
            rows: BTreeMap::from([("orders", rows.to_owned())]),
            lineitem_sums: sums.to_owned(),
        };
        let before = contents("5", "1 2");
        assert!(compare_contents(&before, &contents("5", "1 2")).is_ok());
        let error = compare_contents(&before, &contents("4", "1 2")).unwrap_err();
        assert!(error.to_string().contains("orders had 5 rows, now 4"), "{error}");
        assert!(compare_contents(&before, &contents("5", "1 3")).is_err());
    }
}
