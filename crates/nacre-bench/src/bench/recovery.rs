//! `nacre bench recovery`: from `kill -9` after many commits to the first answer and to service.
//!
//! Question: does a restart take longer, the more was committed since the database was opened?
//! Baseline: the smallest number of commits.
//!
//! For each number of commits: a process fills a table, commits that many transactions of one
//! update each, every hundredth with an insert, and is killed with SIGKILL while it holds the
//! database; checkpoints are written meanwhile as in every open database.
//! Then a new process is timed from just before its start until it has answered a query that reads
//! (`first-answer`), and until it has found a row by the index and committed an update of it
//! (`service`); what it read is compared with what was committed. The page cache is warm.
//!
//! # Source
//! [Muehlbauer16 2.4] recovery from a redo log; the bar is ours: bounded by what is hot, not by
//! history.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use nacre_column::ColumnType;
use nacre_sql::{Database, OpenOptions};
use nacre_store::ValueRef::Int;
use nacre_store::{IsolationLevel, RowId, Store};

use crate::bench::{Setup, first_lookup};
use crate::error::{Error, Result};
use crate::format::{count, megabytes, milliseconds};
use crate::oltp::table::{Indexed, column, int};
use crate::process::Child;
use crate::report::{Measurement, Report};
use crate::workspace::bytes_below;

const COMMITS: [u64; 3] = [10_000, 1_000_000, 10_000_000];
const COMMITS_QUICK: [u64; 2] = [1_000, 10_000];

/// Rows before the first commit that counts.
const ROWS: i64 = 10_000;

/// Transactions of which the first one inserts a row too.
const INSERT_EVERY: u64 = 100;

const TABLE: &str = "account";

/// Measures all numbers of commits, the largest `--values` if that is given, then first lookups.
pub(super) async fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let usual: &[u64] = if setup.is_quick { &COMMITS_QUICK } else { &COMMITS };
    let most = setup.values.unwrap_or(u64::MAX);
    let numbers: Vec<u64> = usual.iter().copied().filter(|commits| *commits <= most).collect();
    let console = setup.console;
    console.line("Restart after kill -9, from process start")?;
    console
        .line("      commits    first answer ms   service ms   MB on media   ratio of service")?;
    let mut baseline: Option<[(String, f64); 2]> = None;
    for commits in numbers {
        setup.interrupt.check()?;
        let directory = setup.workspace.path().join(format!("recovery-{commits}"));
        let [first, service] = restart(&directory, commits).await?;
        let bytes = bytes_below(&directory)?;
        let is_emulated = is_emulated(&directory)?;
        let mut known = Vec::new();
        let mut ratio = 1.0;
        for (name, time) in [("first-answer", first), ("service", service)] {
            let id = format!("recovery/{name}/nacre/commits={commits}");
            let value = time.as_secs_f64() * 1e3;
            let mut measured = Measurement::new(id.clone(), value, "ms").emulated(is_emulated);
            if let Some(all) = &baseline {
                let (other, value) = &all[known.len()];
                measured = measured.against(other.clone(), *value);
                ratio = measured.ratio().unwrap_or_default();
            }
            report.add(&measured)?;
            known.push((id, value));
        }
        baseline = baseline.or_else(|| known.try_into().ok());
        console.line(format_args!(
            "   {:>10} {:>18} {:>12} {:>13} {ratio:>18.2}",
            count(commits),
            milliseconds(first),
            milliseconds(service),
            megabytes(bytes)
        ))?;
        std::fs::remove_dir_all(&directory).map_err(Error::io("remove", &directory))?;
    }
    first_lookup::run(setup, report)
}

/// Commits, kills, and returns the times to the first answer and to service.
async fn restart(directory: &Path, commits: u64) -> Result<[Duration; 2]> {
    let arguments = |command: &str| -> [OsString; 3] {
        [command.into(), directory.into(), commits.to_string().into()]
    };
    let mut writer = Child::start(&arguments("transact"))?;
    let wanted = writer.line().await?.text;
    writer.kill().await?;
    let mut reader = Child::start(&arguments("serve"))?;
    let first = reader.line().await?;
    if first.text != wanted {
        return Err(Error::Deviation(format!(
            "`{}` before the kill, `{}` after it",
            wanted, first.text
        )));
    }
    let served = reader.line().await?;
    Ok([first.at - reader.started(), served.at - reader.started()])
}

fn is_emulated(directory: &Path) -> Result<bool> {
    let options = OpenOptions {
        directory: Some(directory.to_path_buf()),
        is_read_only: true,
        ..OpenOptions::default()
    };
    let database = Database::open(options).map_err(Error::nacre("open the database"))?;
    Ok(database.store().domains().iter().any(|domain| domain.durability().emulated))
}

/// The child that commits; returns what a reader must find.
pub(crate) fn transact(directory: &Path, commits: u64) -> Result<(Database, String)> {
    let database = open(directory)?;
    let answer = commit(database.store(), commits).map_err(Error::store("commit transactions"))?;
    Ok((database, answer))
}

/// Fills the table, commits, and returns what a reader must find.
fn commit(store: &Store, commits: u64) -> nacre_store::Result<String> {
    let columns = vec![column("id", ColumnType::Integer), column("balance", ColumnType::BigInt)];
    let account = Indexed::create(store, TABLE, columns, 1)?;
    let mut first = store.begin(IsolationLevel::Serializable);
    let rows: Vec<RowId> = (0..ROWS)
        .map(|id| first.insert(&account.table, &[Int(id), Int(0)]))
        .collect::<nacre_store::Result<_>>()?;
    first.commit()?;
    for number in 0..commits {
        let mut transaction = store.begin(IsolationLevel::Serializable);
        let id = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as i64 % ROWS;
        transaction.update(&account.table, rows[id as usize], &[(1, Int(number as i64))])?;
        if number.is_multiple_of(INSERT_EVERY) {
            let id = ROWS + (number / INSERT_EVERY) as i64;
            transaction.insert(&account.table, &[Int(id), Int(number as i64)])?;
        }
        transaction.commit()?;
    }
    answer(store, &account)
}

/// The child that is timed: opens, hands its answer to `tell`, and then serves a client.
pub(crate) fn serve(directory: &Path, tell: impl FnOnce(&str) -> Result<()>) -> Result<()> {
    let failed = || Error::store("serve a client");
    let database = open(directory)?;
    let store = database.store();
    let account = Indexed::open(store, TABLE).map_err(failed())?;
    tell(&answer(store, &account).map_err(failed())?)?;
    let mut transaction = store.begin(IsolationLevel::Serializable);
    let mut row = None;
    let key = [Int(ROWS / 2)];
    transaction
        .lookup(&account.table, &account.index, &key, &[1], |found, _| row = Some(found))
        .map_err(failed())?;
    let row = row.ok_or_else(|| Error::Deviation("a row is not found by its key".into()))?;
    transaction.update(&account.table, row, &[(1, Int(-1))]).map_err(failed())?;
    transaction.commit().map(drop).map_err(failed())
}

fn open(directory: &Path) -> Result<Database> {
    let directory = Some(directory.to_path_buf());
    let options = OpenOptions { directory, ..OpenOptions::default() };
    Database::open(options).map_err(Error::nacre("open the database"))
}

/// Reads all rows: how many there are, and the sum of their balances.
fn answer(store: &Store, account: &Indexed) -> nacre_store::Result<String> {
    let mut reader = store.begin(IsolationLevel::Serializable);
    let (mut rows, mut sum) = (0_u64, 0_i64);
    reader.scan(&account.table, &[], &[1], |_, values| {
        rows += 1;
        sum = sum.wrapping_add(int(values[0]));
    })?;
    Ok(format!("{rows} rows, sum {sum}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_opens_again_finds_all_commits_and_can_go_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("database");
        let (database, wanted) = transact(&path, 200).unwrap();
        drop(database);
        assert!(wanted.starts_with("10002 rows, sum "), "{wanted}");
        let mut told = Vec::new();
        serve(&path, |line| {
            told.push(line.to_owned());
            Ok(())
        })
        .unwrap();
        assert_eq!(told, std::slice::from_ref(&wanted));
        // Its one update replaced a balance by -1.
        let database = open(&path).unwrap();
        let account = Indexed::open(database.store(), TABLE).unwrap();
        assert_ne!(answer(database.store(), &account).unwrap(), wanted);
    }
}
