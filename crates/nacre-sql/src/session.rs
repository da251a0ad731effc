//! Databases and sessions: the one door through which SQL comes in.
//!
//! A statement is looked at by [`crate::copy`] first, then parsed by the front end. What changes
//! the database ([`crate::ddl`]) runs here; queries are planned by DataFusion over our scans;
//! everything else is refused, never half done.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::config::Dialect;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SendableRecordBatchStream, SessionStateBuilder};
use datafusion::optimizer::analyzer::resolve_grouping_function::ResolveGroupingFunction;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use nacre_ingest::Progress;
use nacre_store::Store;

use crate::catalog::StoreCatalog;
use crate::coerce::DecimalsMeetFloats;
use crate::copy::{CopyStatement, copy_from, copy_to, parse_copy};
use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_datafusion;
use crate::from_store::from_store;
use crate::names::{CATALOG, SCHEMA};
use crate::replicas::{alter_replicas, parse_alter};
use crate::scan::answer;
use crate::upkeep::Upkeep;
use crate::{columns, ddl, explain, rewrite, support};

/// How to open a database.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The database directory; `None` is a volatile database in DRAM.
    pub directory: Option<PathBuf>,
    /// Further memory domains, by name.
    pub domains: Vec<(String, PathBuf)>,
    /// Refuse every change; needs no write permission.
    pub is_read_only: bool,
    /// Worker threads of a query or load; `None` is one per hardware thread.
    pub threads: Option<usize>,
    /// Leave lost replicas as they are until [`Database::repair`]:
    /// no thread looks after them.
    pub is_unattended: bool,
}

/// Where `COPY ... FROM STDIN` reads, where `COPY ... TO STDOUT` writes, and who watches.
#[derive(Default)]
pub struct StatementIo {
    pub copy_in: Option<Box<dyn Read + Send>>,
    pub copy_out: Option<Box<dyn Write + Send>>,
    pub progress: Option<Arc<Progress>>,
}

/// What a statement answers.
pub enum Outcome {
    /// Rows, computed while the stream is read. Convert its errors with [`Error::from`].
    Rows { schema: SchemaRef, stream: SendableRecordBatchStream },
    /// A command tag as PostgreSQL gives it, such as `CREATE TABLE` or `COPY 25`.
    Command { tag: String },
}

/// An open database; clones share it.
#[derive(Clone)]
pub struct Database {
    store: Store,
    threads: usize,
    /// `None` if nothing may be changed or nobody is to look after it.
    upkeep: Option<Arc<Upkeep>>,
}

impl Database {
    /// Opens a database, creating it if the directory is absent or empty.
    ///
    /// # Errors
    /// [`ErrorKind::Open`] if the directory is in use, not permitted or something else;
    /// [`ErrorKind::DataCorrupted`] if the manifest is damaged beyond its replicas.
    pub fn open(options: OpenOptions) -> Result<Self> {
        let threads = match options.threads {
            Some(0) => {
                let message = "the number of threads must be at least 1";
                return Err(Error::new(ErrorKind::InvalidStatement, message));
            }
            Some(threads) => threads,
            None => available_parallelism().map_or(1, usize::from),
        };
        let store = Store::open(nacre_store::OpenOptions {
            directory: options.directory,
            domains: options.domains,
            is_read_only: options.is_read_only,
        })
        .map_err(from_store)?;
        let upkeep = match options.is_read_only || options.is_unattended {
            true => None,
            false => Some(Arc::new(Upkeep::start(&store)?)),
        };
        Ok(Self { store, threads, upkeep })
    }

    /// Starts a session.
    pub fn session(&self) -> Session {
        let mut config = SessionConfig::new()
            .with_default_catalog_and_schema(CATALOG, SCHEMA)
            .with_create_default_catalog_and_schema(false)
            .with_information_schema(true)
            .with_target_partitions(self.threads);
        let options = config.options_mut();
        options.sql_parser.dialect = Dialect::PostgreSQL;
        // 1.005 is a decimal and not the float next to it.
        options.sql_parser.parse_float_as_decimal = true;
        options.sql_parser.collect_spans = true;
        let runtime = RuntimeEnvBuilder::new().build_arc().unwrap_or_default();
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime)
            .with_default_features()
            .with_analyzer_rules(vec![
                Arc::new(ResolveGroupingFunction::new()),
                Arc::new(DecimalsMeetFloats),
                Arc::new(TypeCoercion::new()),
            ])
            .build();
        let context = SessionContext::new_with_state(state);
        context.register_catalog(CATALOG, Arc::new(StoreCatalog::new(self.store.clone())));
        let (store, upkeep) = (self.store.clone(), self.upkeep.clone());
        Session { store, context, threads: self.threads, _upkeep: upkeep }
    }

    /// Returns the storage engine below.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the number of worker threads of a query or load.
    pub fn threads(&self) -> usize {
        self.threads
    }
}

/// One user's conversation with a database.
pub struct Session {
    store: Store,
    context: SessionContext,
    threads: usize,
    /// A session may outlive the handle that started it.
    _upkeep: Option<Arc<Upkeep>>,
}

impl Session {
    /// Runs one statement. Dropping the future or the stream cancels it.
    ///
    /// # Errors
    /// As [`ErrorKind`] sorts them; a failed statement has changed nothing.
    pub async fn execute(&self, sql: &str, io: StatementIo) -> Result<Outcome> {
        self.run(sql, io).await.map_err(|error| error.located_in(sql))
    }

    async fn run(&self, sql: &str, io: StatementIo) -> Result<Outcome> {
        if let Some(copy) = parse_copy(sql)? {
            let rows = self.copy(&copy, io).await?;
            return Ok(Outcome::Command { tag: format!("COPY {rows}") });
        }
        if let Some(alter) = parse_alter(sql)? {
            return Ok(Outcome::Command { tag: alter_replicas(&self.store, alter)? });
        }
        let dialect = Dialect::PostgreSQL;
        let statement =
            self.context.state().sql_to_statement(sql, &dialect).map_err(|error| {
                support::unsupported(sql).unwrap_or_else(|| from_datafusion(error))
            })?;
        if let ParsedStatement::Statement(inner) = &statement
            && let Some(tag) = self.define(inner)?
        {
            return Ok(Outcome::Command { tag });
        }
        support::check(&statement)?;
        let stream = self.query(statement).await?;
        Ok(Outcome::Rows { schema: stream.schema(), stream })
    }

    /// Returns the names of tables and, for each, its columns, for completion.
    pub fn completions(&self) -> Vec<(String, Vec<String>)> {
        self.store
            .tables()
            .iter()
            .map(|table| {
                let schema = table.schema();
                let columns = schema.columns.iter().map(|column| column.name.clone()).collect();
                (schema.name.clone(), columns)
            })
            .collect()
    }

    /// Runs statements that define or drop tables; `None` if it is another one.
    fn define(&self, statement: &SqlStatement) -> Result<Option<String>> {
        match statement {
            SqlStatement::CreateTable(create) => ddl::create_table(&self.store, create).map(Some),
            SqlStatement::Drop { object_type, if_exists, names, .. } => {
                ddl::drop_tables(&self.store, object_type, names, *if_exists).map(Some)
            }
            _ => Ok(None),
        }
    }

    async fn copy(&self, copy: &CopyStatement, io: StatementIo) -> Result<u64> {
        let progress = io.progress.unwrap_or_default();
        if copy.is_from {
            return copy_from(&self.store, copy, io.copy_in, progress, self.threads).await;
        }
        let statement = copy.query()?;
        support::check(&statement)?;
        let stream = self.query(statement).await?;
        copy_to(copy, stream, io.copy_out, &progress).await
    }

    /// Plans a statement that only reads and starts it.
    async fn query(&self, mut statement: ParsedStatement) -> Result<SendableRecordBatchStream> {
        let state = self.context.state();
        let names = columns::names(&mut statement);
        rewrite::rewrite(&mut statement)?;
        let explain = explain::verbosity(&statement);
        let plan = state.statement_to_plan(statement).await.map_err(from_datafusion)?;
        support::check_plan(&plan)?;
        let stream = answer(state, plan).await.map_err(from_datafusion)?;
        Ok(match (names, explain) {
            (Some(names), _) => columns::rename(stream, &names),
            (None, Some(is_verbose)) => explain::as_lines(stream, is_verbose),
            (None, None) => stream,
        })
    }
}
