//! Databases: opened once, used by any number of sessions.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;
use std::time::SystemTime;

use datafusion::execution::SessionState;
use datafusion::execution::runtime_env::RuntimeEnv;
use nacre_store::{Procedures, Store};

use crate::activity::Activities;
use crate::advisory_locks::{AdvisoryLocks, LockOwner};
use crate::checkpoint::checkpoint_bytes;
use crate::engine::{EngineCounts, EnginePool};
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::pg_catalog::{CatalogSources, Catalogs};
use crate::planner::Planner;
use crate::planner_state::{SessionPlanning, base_state};
use crate::sequences::{Given, identity_function};
use crate::served::way_in;
use crate::session::Session;
use crate::session_functions::session_functions;
use crate::settings::{SessionInfo, Settings};
use crate::upkeep::Upkeep;
use crate::{memory, pg_catalog, sequences};

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
    advisory_locks: Arc<AdvisoryLocks>,
    /// What queries of all sessions share.
    runtime: Arc<RuntimeEnv>,
    /// The workers of Nacre's own engine.
    engine: Arc<EnginePool>,
    /// What planners of all sessions share, once there was one.
    planning: Arc<OnceLock<Arc<SessionState>>>,
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
        let memory_bytes = memory::query_bytes(options.query_memory_bytes)?;
        let runtime = memory::runtime(memory_bytes)?;
        let engine = Arc::new(EnginePool::new(threads, memory_bytes));
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
        let (activities, advisory_locks) = (Arc::default(), Arc::default());
        let (opened, planning) = (SystemTime::now(), Arc::default());
        Ok(Self {
            store,
            threads,
            upkeep,
            opened,
            activities,
            advisory_locks,
            runtime,
            engine,
            planning,
        })
    }

    /// Starts a session of nobody in particular.
    pub fn session(&self) -> Session {
        self.session_for(SessionInfo::default())
    }

    /// Starts a session.
    pub fn session_for(&self, info: SessionInfo) -> Session {
        let store = self.store.for_session();
        let settings = Arc::new(Settings::new(info, store.clone()));
        let locks = LockOwner::new(Arc::clone(&self.advisory_locks), settings.info().process_id);
        let given = Arc::new(Given::default());
        let base = || Arc::new(base_state(&self.runtime, self.threads));
        let base = Arc::clone(self.planning.get_or_init(base));
        let sources = CatalogSources {
            activities: Arc::clone(&self.activities),
            advisory_locks: Arc::clone(&self.advisory_locks),
            opened: self.opened,
            given: Arc::clone(&given),
            session_locks: Arc::clone(locks.locks()),
        };
        let functions = {
            let catalogs = Catalogs::new(store.clone(), Arc::clone(&settings), sources.clone());
            let (store, settings, given) =
                (store.clone(), Arc::clone(&settings), Arc::clone(&given));
            let (activities, opened) = (Arc::clone(&self.activities), self.opened);
            let locks = Arc::clone(locks.locks());
            move || {
                let mut functions = sequences::functions(&store, &given, &settings);
                functions.extend(session_functions(&settings, &activities, &locks, opened));
                functions.extend(pg_catalog::functions(&catalogs));
                functions
            }
        };
        let planning = SessionPlanning::new(base, Box::new(functions));
        let identity = identity_function(&store, &given, &settings);
        let planner =
            Planner::new(store.clone(), planning, Arc::clone(&settings), sources, identity);
        Session::new(store, planner, &settings, given, locks, self)
    }

    /// Returns the storage engine below.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns who looks after the database, if anybody does.
    pub(crate) fn upkeep(&self) -> Option<Arc<Upkeep>> {
        self.upkeep.clone()
    }

    /// Returns the workers of Nacre's own engine.
    pub(crate) fn engine(&self) -> &Arc<EnginePool> {
        &self.engine
    }

    /// Returns how many queries each engine began.
    pub fn engine_counts(&self) -> EngineCounts {
        self.engine.counts()
    }

    /// Returns the number of worker threads of a query or load.
    pub fn threads(&self) -> usize {
        self.threads
    }
}
