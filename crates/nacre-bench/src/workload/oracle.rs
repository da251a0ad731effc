//! The oracle: plain DataFusion over the same CSV files, read by Arrow's own CSV reader.
//!
//! The tables are read once into memory, so that all queries parse the files once. Columns that no
//! query looks at are left out if the caller says so: for TPC-H that halves the memory.

use std::sync::Arc;

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::execution::context::SessionContext;
use datafusion::execution::options::CsvReadOptions;
use datafusion::prelude::{Expr, SessionConfig, coalesce, col, lit};

use crate::error::{Error, Result};
use crate::workload::{Answer, Column, ColumnKind, CsvFile};

/// DataFusion with the tables in memory.
pub struct Oracle {
    context: SessionContext,
}

/// Makes a DataFusion context that sees each CSV file as a table.
///
/// Decimal literals are exact, as in Nacre; all else is DataFusion's default.
pub async fn csv_context(files: &[CsvFile], threads: usize) -> Result<SessionContext> {
    let config = SessionConfig::new()
        .with_target_partitions(threads.max(1))
        .set_bool("datafusion.sql_parser.parse_float_as_decimal", true);
    let context = SessionContext::new_with_config(config);
    for file in files {
        let schema = file.table.arrow_schema();
        let options = CsvReadOptions::new().has_header(true).schema(&schema);
        let path = file.path.to_string_lossy();
        context
            .register_csv(file.table.name, path, options)
            .await
            .map_err(Error::datafusion(format_args!("open {}", file.path.display())))?;
    }
    Ok(context)
}

impl Oracle {
    /// Reads all columns.
    pub async fn for_everything(files: &[CsvFile], threads: usize) -> Result<Self> {
        Self::without(files, threads, &[]).await
    }

    /// Reads all columns but those that are named.
    pub async fn without(files: &[CsvFile], threads: usize, columns: &[&str]) -> Result<Self> {
        let context = csv_context(files, threads).await?;
        for file in files {
            let name = file.table.name;
            let table = read(&context, file, columns)
                .await
                .map_err(Error::datafusion(format_args!("read {}", file.path.display())))?;
            let replace = || {
                context.deregister_table(name)?;
                context.register_table(name, Arc::new(table))
            };
            replace().map_err(Error::datafusion(format_args!("keep {name} in memory")))?;
        }
        Ok(Self { context })
    }

    /// Runs a query.
    pub async fn query(&self, sql: &str) -> Result<Answer> {
        run_in(&self.context, sql).await
    }
}

async fn read(
    context: &SessionContext,
    file: &CsvFile,
    without: &[&str],
) -> datafusion::error::Result<MemTable> {
    let columns = file.table.columns.iter().filter(|column| !without.contains(&column.name));
    let values: Vec<Expr> = columns.map(value_of).collect();
    let frame = context.table(file.table.name).await?.select(values)?;
    let schema = Arc::clone(frame.schema().inner());
    let partitions: Vec<Vec<RecordBatch>> = frame.collect_partitioned().await?;
    MemTable::try_new(schema, partitions)
}

/// Returns the value of a column. DataFusion reads a field without characters as a null, quoted or
/// not; in a text it is an empty one.
fn value_of(column: &Column) -> Expr {
    let value = col(column.name);
    match column.kind {
        ColumnKind::Text => {
            let empty = ScalarValue::Utf8View(Some(String::new()));
            coalesce(vec![value, lit(empty)]).alias(column.name)
        }
        _ => value,
    }
}

/// Runs a query in a DataFusion context and collects its answer.
pub(crate) async fn run_in(context: &SessionContext, sql: &str) -> Result<Answer> {
    let run = async {
        let frame = context.sql(sql).await?;
        let schema = Arc::clone(frame.schema().inner());
        Ok((schema, frame.collect().await?))
    };
    let (schema, batches) = run.await.map_err(Error::datafusion("run a query"))?;
    Answer::from_batches(&schema, &batches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpch::{QUERIES, UNUSED_COLUMNS, generate};

    #[tokio::test]
    async fn oracle_answers_all_queries_and_has_the_generated_rows() {
        let directory = tempfile::tempdir().unwrap();
        let scale_factor = 0.01;
        let files = generate(scale_factor, directory.path(), 2).unwrap();
        let oracle = Oracle::without(&files, 2, &UNUSED_COLUMNS).await.unwrap();
        for file in &files {
            let count = oracle.query(&format!("select count(*) from {}", file.table.name)).await;
            assert_eq!(count.unwrap().to_line(), file.rows.to_string(), "{}", file.table.name);
        }
        for query in &QUERIES {
            let answer = oracle.query(&query.sql(scale_factor)).await.unwrap();
            assert!(query.order_by.iter().all(|&column| column < answer.columns.len()));
        }
    }

    #[tokio::test]
    async fn decimals_are_read_and_computed_exactly() {
        let directory = tempfile::tempdir().unwrap();
        let files = generate(0.01, directory.path(), 1).unwrap();
        let oracle = Oracle::without(&files, 1, &UNUSED_COLUMNS).await.unwrap();
        let answer = oracle.query("select 1.005 + 0.1, sum(n_nationkey) * 0.01 from nation").await;
        assert_eq!(answer.unwrap().to_line(), "1.105 3");
    }
}
