//! Each of the 35 queries in SERIALIZABLE transactions, prepared and executed again: if another
//! transaction changes the answer, the one that has read it does not commit.

use std::collections::HashMap;

use nacre_bench::Engine;
use nacre_bench::workload::{Answer, Query, Table, compare};

use crate::workloads::LoadedWorkload;

/// Changes of rows that are tried until one changes the answer.
const TRIES: usize = 5;

/// A change takes one of so many rows at least, of large tables.
const PART_MAX: usize = 200;

/// Tables of fewer rows are made what they were after each change, so that queries have answers.
const RESTORED_ROWS_MAX: usize = 2_000;

struct Sessions<'a> {
    workload: &'a LoadedWorkload,
    reader: Engine,
    writer: Engine,
    /// By table: how many rows it had.
    rows: HashMap<&'static str, usize>,
}

impl<'a> Sessions<'a> {
    async fn of(workload: &'a LoadedWorkload) -> Self {
        let mut rows = HashMap::new();
        for table in workload.tables {
            let session = workload.engine.another_session();
            let count =
                session.line(&format!("SELECT count(*) FROM {}", table.name)).await.unwrap();
            let count = count.parse().unwrap();
            rows.insert(table.name, count);
            if count <= RESTORED_ROWS_MAX {
                let name = table.name;
                let sql = format!("CREATE TABLE {name}_before AS SELECT * FROM {name}");
                session.query(&sql).await.unwrap();
            }
        }
        let (reader, writer) =
            (workload.engine.another_session(), workload.engine.another_session());
        workload.engine.query("CREATE TABLE unread (n integer)").await.unwrap();
        Self { workload, reader, writer, rows }
    }

    /// Returns a statement that changes some rows of a table.
    fn change(&self, table: &Table, columns: &[usize], number: usize) -> String {
        let (name, key) = (table.name, table.columns[0].name);
        let part = (self.rows[name] / 4).clamp(1, PART_MAX);
        let some = format!("{key} % {part} = {}", number * 7 % part);
        let is_key = |column: &usize| table.primary_key.contains(&table.columns[*column].name);
        let changed = columns.iter().copied().filter(|column| !is_key(column));
        let changed: Vec<&str> = changed.map(|column| table.columns[column].name).collect();
        match changed.get(number % (changed.len() + 1)) {
            Some(column) => {
                let other = format!("SELECT max({column}) FROM {name} WHERE {key} % 3 = 1");
                format!("UPDATE {name} SET {column} = ({other}) WHERE {some}")
            }
            None => format!("DELETE FROM {name} WHERE {some}"),
        }
    }

    /// Changes rows of a table in a block, if possible so that the query answers something else,
    /// and commits; returns whether it does.
    async fn change_answer(
        &self,
        query: &Query,
        (table, columns): (&Table, &[usize]),
        before: &Answer,
    ) -> bool {
        for number in 0..TRIES {
            self.writer.query("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
            let sql = self.change(table, columns, number + query.number as usize);
            self.writer.query(&sql).await.unwrap();
            let after = self.writer.query(&self.workload.sql(query)).await.unwrap();
            let is_changed = compare(&after, before, query.order_by).is_err();
            if is_changed || number + 1 == TRIES {
                self.writer.query("COMMIT").await.unwrap();
                return is_changed;
            }
            self.writer.query("ROLLBACK").await.unwrap();
        }
        false
    }

    async fn restore(&self, table: &Table) {
        let name = table.name;
        if self.rows[name] <= RESTORED_ROWS_MAX {
            self.writer.query(&format!("DELETE FROM {name}")).await.unwrap();
            let sql = format!("INSERT INTO {name} SELECT * FROM {name}_before");
            self.writer.query(&sql).await.unwrap();
        }
    }

    /// Returns how many tables have rows that mattered to the query.
    async fn read_and_change(&self, query: &Query) -> usize {
        let (workload, reader) = (self.workload, &self.reader);
        reader.query("SET nacre.engine = nacre").await.unwrap();
        reader.query(&format!("PREPARE q AS {}", workload.sql(query))).await.unwrap();
        reader.query("EXECUTE q").await.unwrap();
        let mut changed = 0;
        for (table, columns) in workload.columns(query) {
            reader.query("BEGIN ISOLATION LEVEL SERIALIZABLE").await.unwrap();
            let before = reader.query("EXECUTE q").await.unwrap();
            reader.query("INSERT INTO unread VALUES (1)").await.unwrap();
            let is_changed = self.change_answer(query, (table, &columns), &before).await;
            let outcome = reader.try_query("COMMIT").await.unwrap();
            if is_changed {
                let code = outcome.err().map(|error| error.sqlstate().to_owned());
                let what = format!("{}, {}", query.name, table.name);
                assert_eq!(code.as_deref(), Some("40001"), "{what}");
                changed += 1;
            }
            self.restore(table).await;
        }
        reader.query("DEALLOCATE q").await.unwrap();
        changed
    }
}

async fn change_all(workload: &LoadedWorkload) {
    let sessions = Sessions::of(workload).await;
    for query in workload.queries {
        let changed = sessions.read_and_change(query).await;
        println!("{}: {changed} tables", query.name);
        assert!(changed > 0, "{}: no change of rows has changed the answer", query.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_of_tpch_logs_what_it_reads() {
    let directory = tempfile::tempdir().unwrap();
    change_all(&LoadedWorkload::tpch(directory.path()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_of_ssb_logs_what_it_reads() {
    let directory = tempfile::tempdir().unwrap();
    change_all(&LoadedWorkload::ssb(directory.path()).await).await;
}
