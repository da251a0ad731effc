//! Nacre, a hybrid-memory database, as a library.
//!
//! Open a directory, run SQL, get Arrow record batches. All calls block; see [`Database`].
//!
//! ```
//! # fn main() -> Result<(), nacre::Error> {
//! let db = nacre::Database::open_in_memory()?;
//! db.execute("create table shell (name text primary key, layers integer not null)")?;
//! let file = std::env::temp_dir().join(format!("nacre-doc-{}.csv", std::process::id()));
//! std::fs::write(&file, "nautilus,30\nabalone,12\n").unwrap();
//! let loaded = db.execute(&format!("copy shell from '{}' (format csv)", file.display()))?;
//! std::fs::remove_file(&file).unwrap();
//! assert_eq!(loaded, 2);
//!
//! let batches = db.query("select sum(layers) as layers from shell")?;
//! assert_eq!(batches[0].schema().field(0).name(), "layers");
//! assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Invariants
//! 1. The library prints nothing and reads nothing from the terminal; only the `cli` module does.
//! 2. No type of an async runtime appears in the public interface.
//! # Features
//! `cli` (default) adds the command line; `--no-default-features` leaves the library alone.
//! # See
//! `docs/user-guide.md` for SQL and the command line, `examples/embedded.rs` for a whole program.

#![forbid(unsafe_code)]

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod database;
mod prepared;
pub mod settings;

pub use database::{Batches, Builder, Database};
pub use nacre_sql::datafusion::arrow;
pub use nacre_sql::{
    ColumnType, Error, ErrorKind, LostReplica, Position, RepairReport, Result, ScrubReport, Value,
};
pub use prepared::Prepared;
