//! A database to talk to without `async`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use futures::TryStreamExt;
use nacre_sql::{Database, Error, OpenOptions, Outcome, PgType, Session, StatementIo, write_text};
use tokio::runtime::Runtime;

/// An open database with one session.
pub(crate) struct Connection {
    pub(crate) database: Database,
    session: Arc<Session>,
    runtime: Arc<Runtime>,
}

/// What a statement answered.
#[derive(Debug)]
pub(crate) enum Answer {
    Tag(String),
    /// Column types by sqllogictest's letters, and the rows as text, `NULL` for nulls.
    Rows(Vec<char>, Vec<Vec<String>>),
}

impl Connection {
    pub(crate) fn open(directory: Option<&Path>) -> Self {
        Self::try_open(directory).unwrap()
    }

    pub(crate) fn try_open(directory: Option<&Path>) -> Result<Self, Error> {
        let database = Database::open(OpenOptions {
            directory: directory.map(PathBuf::from),
            threads: Some(2),
            ..OpenOptions::default()
        })?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_stack_size(512 << 20)
            .enable_all()
            .build()
            .unwrap();
        let session = Arc::new(database.session());
        Ok(Self { session, database, runtime: Arc::new(runtime) })
    }

    /// Returns another session of the same database.
    pub(crate) fn another(&self) -> Self {
        let (database, runtime) = (self.database.clone(), Arc::clone(&self.runtime));
        Self { session: Arc::new(database.session()), database, runtime }
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub(crate) fn run(&self, sql: &str) -> Result<Answer, Error> {
        self.run_with(sql, StatementIo::default())
    }

    pub(crate) fn run_with(&self, sql: &str, io: StatementIo) -> Result<Answer, Error> {
        // On a worker, whose stack is large, as the shell does.
        let (session, sql) = (Arc::clone(&self.session), sql.to_owned());
        let answer = self.runtime.spawn(async move {
            match session.execute(&sql, io).await? {
                Outcome::Command { tag, .. } => Ok(Answer::Tag(tag)),
                Outcome::Rows { schema, stream, .. } => {
                    let batches: Vec<RecordBatch> = stream.try_collect().await?;
                    let types = schema.fields().iter().map(|field| letter(field));
                    let rows = batches.iter().map(rows_of).collect::<Result<Vec<_>, _>>()?;
                    Ok(Answer::Rows(types.collect(), rows.concat()))
                }
            }
        });
        self.runtime.block_on(answer).unwrap()
    }

    /// Runs a statement that must work.
    pub(crate) fn ok(&self, sql: &str) -> Answer {
        self.run(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    /// Runs a query that must work and returns its rows, columns joined by `|`.
    pub(crate) fn rows(&self, sql: &str) -> Vec<String> {
        match self.ok(sql) {
            Answer::Rows(_, rows) => rows.iter().map(|row| row.join("|")).collect(),
            Answer::Tag(tag) => panic!("{sql}: {tag}"),
        }
    }

    /// Returns the rows of what a statement answered.
    pub(crate) fn read(&self, outcome: Outcome) -> Vec<Vec<String>> {
        let Outcome::Rows { stream, .. } = outcome else { panic!("no rows") };
        let batches: Vec<RecordBatch> = self.runtime.block_on(stream.try_collect()).unwrap();
        batches.iter().flat_map(|batch| rows_of(batch).unwrap()).collect()
    }

    /// Runs a statement that must fail.
    pub(crate) fn error(&self, sql: &str) -> Error {
        match self.run(sql) {
            Err(error) => error,
            Ok(answer) => panic!("{sql}: {answer:?}"),
        }
    }
}

fn letter(field: &datafusion::arrow::datatypes::Field) -> char {
    use datafusion::arrow::datatypes::DataType;
    let data_type = field.data_type();
    match data_type {
        // Also one that is a text, since its digits depend on the value.
        _ if PgType::of_field(field).0.name == "numeric" => 'R',
        _ if data_type.is_integer() => 'I',
        _ if data_type.is_numeric() => 'R',
        DataType::Boolean => 'B',
        DataType::Date32 | DataType::Date64 => 'D',
        DataType::Timestamp(..) => 'P',
        _ => 'T',
    }
}

fn rows_of(batch: &RecordBatch) -> Result<Vec<Vec<String>>, Error> {
    (0..batch.num_rows())
        .map(|row| {
            batch
                .columns()
                .iter()
                .map(|column| {
                    let mut text = Vec::new();
                    let is_valid = write_text(column, row, &mut text)?;
                    let text = String::from_utf8(text).unwrap();
                    Ok(if is_valid { text } else { "NULL".into() })
                })
                .collect()
        })
        .collect()
}
