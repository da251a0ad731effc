//! Nacre as the workloads use it: statements in, answers and times out.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use nacre_ingest::Progress;
use nacre_sql::{Database, ErrorKind, OpenOptions, Outcome, Session, StatementIo};

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::workload::{Answer, CsvFile};

/// How long [`Engine::open`] waits for a database that somebody still holds: threads of a query
/// that was cancelled, or a process that was killed, may need a moment to let go.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(2);

/// An open database with one session.
pub struct Engine {
    database: Database,
    session: Session,
}

/// Which engine ran a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryEngine {
    Nacre,
    DataFusion,
}

/// What a load did.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    pub rows: u64,
    pub time: Duration,
}

impl QueryEngine {
    /// Returns the name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nacre => "nacre",
            Self::DataFusion => "datafusion",
        }
    }
}

impl Engine {
    /// Opens or creates the database in a directory.
    pub async fn open(directory: &Path, threads: Option<usize>) -> Result<Self> {
        let options = OpenOptions {
            directory: Some(directory.to_path_buf()),
            threads,
            ..OpenOptions::default()
        };
        let start = Instant::now();
        let database = loop {
            match Database::open(options.clone()) {
                Err(error)
                    if error.kind() == ErrorKind::Open && start.elapsed() < LOCK_WAIT_MAX =>
                {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                opened => {
                    let action = format!("open {}", directory.display());
                    break opened.map_err(Error::nacre(action))?;
                }
            }
        };
        Ok(Self::of(database))
    }

    /// Opens or creates a database with options, such as further memory domains.
    pub fn open_with(options: OpenOptions) -> Result<Self> {
        Ok(Self::of(Database::open(options).map_err(Error::nacre("open a database"))?))
    }

    fn of(database: Database) -> Self {
        let session = database.session();
        Self { database, session }
    }

    /// Returns the database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Tells whether any of its domains only imitates durability.
    pub fn is_emulated(&self) -> bool {
        self.database.store().domains().iter().any(|domain| domain.durability().emulated)
    }

    /// Does the work that the database does in the background, such as filling replicas in DRAM.
    pub(crate) fn finish_replicas(&self, interrupt: &Interrupt) -> Result<()> {
        loop {
            interrupt.check()?;
            let step = self.database.store().maintain_step();
            // Each step writes blocks that were missing, so the loop ends.
            if step.map_err(Error::store("fill the replicas"))?.is_idle() {
                return Ok(());
            }
        }
    }

    /// Runs a statement and returns its rows, and no rows for a command.
    pub async fn query(&self, sql: &str) -> Result<Answer> {
        self.try_query(sql).await?.map_err(Error::nacre(format_args!("run `{sql}`")))
    }

    /// Like [`query`](Self::query), but hands out Nacre's own error where one is expected.
    pub async fn try_query(&self, sql: &str) -> Result<nacre_sql::Result<Answer>> {
        let run = async {
            match self.session.execute(sql, StatementIo::default()).await? {
                Outcome::Command { .. } => Ok(None),
                Outcome::Rows { schema, stream, .. } => {
                    let batches: Vec<_> = stream.try_collect().await?;
                    Ok(Some((schema, batches)))
                }
            }
        };
        match run.await {
            Ok(None) => Ok(Ok(Answer::default())),
            Ok(Some((schema, batches))) => Answer::from_batches(&schema, &batches).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Like [`try_query`](Self::try_query); also returns which engine ran the query.
    pub(crate) async fn try_query_by(
        &self,
        sql: &str,
    ) -> Result<(nacre_sql::Result<Answer>, QueryEngine)> {
        let before = self.database.engine_counts().nacre;
        let answer = self.try_query(sql).await?;
        let is_own = self.database.engine_counts().nacre > before;
        Ok((answer, if is_own { QueryEngine::Nacre } else { QueryEngine::DataFusion }))
    }

    /// Runs a query that answers one row of exact numbers or text, and returns it as a line.
    pub async fn line(&self, sql: &str) -> Result<String> {
        Ok(self.query(sql).await?.to_line())
    }

    /// Creates the table of a CSV file and loads the file into it.
    pub async fn create_and_load(&self, file: &CsvFile, progress: Arc<Progress>) -> Result<Loaded> {
        self.query(&file.table.create_statement(file.table.name)).await?;
        self.load(file.table.name, &file.path, progress).await
    }

    /// Loads a CSV file with a header into a table.
    pub async fn load(&self, table: &str, csv: &Path, progress: Arc<Progress>) -> Result<Loaded> {
        let path = csv.to_string_lossy().replace('\'', "''");
        let sql = format!("COPY {table} FROM '{path}' (FORMAT csv, HEADER)");
        let io = StatementIo { progress: Some(progress), ..StatementIo::default() };
        let start = Instant::now();
        let outcome = self.session.execute(&sql, io).await;
        let time = start.elapsed();
        match outcome.map_err(Error::nacre(format_args!("load {table}")))? {
            Outcome::Command { tag, .. } => {
                let rows = tag.strip_prefix("COPY ").and_then(|rows| rows.parse().ok());
                let rows = rows.ok_or_else(|| {
                    Error::Deviation(format!("loading {table} was answered with `{tag}`"))
                })?;
                Ok(Loaded { rows, time })
            }
            Outcome::Rows { .. } => {
                Err(Error::Deviation(format!("loading {table} was answered with rows")))
            }
        }
    }
}
