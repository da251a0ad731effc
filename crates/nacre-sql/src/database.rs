//! Databases: opened once, used by any number of sessions.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::SystemTime;

use datafusion::execution::FunctionRegistry;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::ScalarUDF;
use nacre_store::{Procedures, Store};

use crate::activity::Activities;
use crate::checkpoint::checkpoint_bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::functions::{bounded, bounded_aggregate, common_functions, ranks};
use crate::planner::Planner;
use crate::sequences::{Given, functions, identity_function};
use crate::served::way_in;
use crate::session::Session;
use crate::session_functions::session_functions;
use crate::settings::{SessionInfo, Settings};
use crate::upkeep::Upkeep;
use crate::{memory, pg_catalog, planner_state};

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
    /// Bytes that all queries together may take; `None` is what NACRE_QUERY_MEMORY_MIB says, or two
    /// thirds of the machine's memory.
    pub query_memory_bytes: Option<usize>,
    /// What [`Store::call`] of [`Database::store`] can call.
    pub procedures: Procedures,
}

/// An open database; clones share it.
#[derive(Clone)]
pub struct Database {
    store: Store,
    threads: usize,
    /// `None` if nothing may be changed or nobody is to look after it.
    upkeep: Option<Arc<Upkeep>>,
    opened: SystemTime,
    pub(crate) activities: Arc<Activities>,
    /// What queries of all sessions share.
    runtime: Arc<RuntimeEnv>,
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
        let runtime = memory::runtime(options.query_memory_bytes)?;
        let directory = options.directory.clone();
        let store = Store::open(nacre_store::OpenOptions {
            directory: options.directory,
            domains: options.domains,
            is_read_only: options.is_read_only,
            checkpoint_bytes: checkpoint_bytes()?,
            procedures: options.procedures,
            ..nacre_store::OpenOptions::default()
        })
        .map_err(|error| {
            let holder = error.lock_holder();
            let way_in = holder.zip(directory).and_then(|(pid, path)| way_in(&path, pid));
            match way_in {
                Some(url) => from_store(error).with_hint(format!(
                    "That process serves the database: `nacre --connect {url}` works with it."
                )),
                None => from_store(error),
            }
        })?;
        let upkeep = match options.is_read_only || options.is_unattended {
            true => None,
            false => Some(Arc::new(Upkeep::start(&store)?)),
        };
        let activities = Arc::default();
        Ok(Self { store, threads, upkeep, opened: SystemTime::now(), activities, runtime })
    }

    /// Starts a session of nobody in particular.
    pub fn session(&self) -> Session {
        self.session_for(SessionInfo::default())
    }

    /// Starts a session.
    pub fn session_for(&self, info: SessionInfo) -> Session {
        let mut state = planner_state::new(&self.runtime, self.threads);
        let store = self.store.for_session();
        let settings = Arc::new(Settings::new(info, store.clone()));
        let of_session = session_functions(&settings, &self.activities, self.opened);
        let given = Arc::new(Given::default());
        let of_catalogs = pg_catalog::functions(&store, &settings);
        let of_sequences = functions(&store, &given, &settings);
        let common = common_functions();
        let all = common.into_iter().chain(of_sequences).chain(of_session).chain(of_catalogs);
        for function in all {
            // What it takes the place of, such as the planner's own version(), is not missed.
            let _ = state.register_udf(function);
        }
        let is_own = |function: &&Arc<ScalarUDF>| {
            // Skips functions that are registered under an alias only.
            let own = state.scalar_functions().get(function.name());
            own.is_some_and(|own| Arc::ptr_eq(own, function))
        };
        let planned: Vec<_> =
            state.scalar_functions().values().filter(is_own).map(Arc::clone).collect();
        for function in planned {
            let asking = bounded(Arc::clone(&function), &self.runtime.memory_pool);
            if !Arc::ptr_eq(&asking, &function) {
                let _ = state.register_udf(asking);
            }
        }
        let _ = state.register_udaf(bounded_aggregate(&self.runtime.memory_pool));
        for function in ranks(&state) {
            let _ = state.register_udwf(function);
        }
        let identity = identity_function(&store, &given, &settings);
        let activities = Arc::clone(&self.activities);
        let planner =
            Planner::new(store.clone(), state, Arc::clone(&settings), activities, identity);
        Session::new(store, planner, &settings, given, self)
    }

    /// Returns the storage engine below.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns who looks after the database, if anybody does.
    pub(crate) fn upkeep(&self) -> Option<Arc<Upkeep>> {
        self.upkeep.clone()
    }

    /// Returns the number of worker threads of a query or load.
    pub fn threads(&self) -> usize {
        self.threads
    }
}
