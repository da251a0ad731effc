//! Statements that are prepared once and run with different values.

use std::sync::Arc;

use arrow::array::RecordBatch;
use nacre_sql::datafusion::arrow;
use nacre_sql::{ColumnType, Outcome, Result, Statement, StatementIo, Value};

use crate::database::{Batches, Database};

/// A prepared statement, in the session of the handle that prepared it. Clones share it.
///
/// ```
/// # fn main() -> Result<(), nacre::Error> {
/// use nacre::Value;
/// let db = nacre::Database::open_in_memory()?;
/// db.execute("create table shell (name text primary key, layers integer not null)")?;
/// let insert = db.prepare("insert into shell values ($1, $2)")?;
/// insert.execute(&[Value::Bytes(b"abalone".into()), Value::Int(12)])?;
/// let grow = db.prepare("update shell set layers = layers + $1 where name = $2")?;
/// assert_eq!(grow.execute(&[Value::Int(3), Value::Bytes(b"abalone".into())])?, 1);
/// let layers = db.prepare("select layers from shell where name = $1")?;
/// let rows = layers.query(&[layers.parse_parameter(0, Some("abalone"))?])?;
/// assert_eq!(rows[0].num_rows(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Prepared {
    database: Database,
    statement: Statement,
}

impl Prepared {
    pub(crate) fn new(database: &Database, statement: Statement) -> Self {
        Self { database: database.clone(), statement }
    }

    /// Returns the types of the parameters `$1`, `$2` and so on.
    pub fn parameter_types(&self) -> Vec<ColumnType> {
        self.statement.parameter_types().iter().map(|one| one.column).collect()
    }

    /// Returns the value that a text stands for as the parameter of that number from 0; `None` is
    /// null.
    ///
    /// # Errors
    /// For texts that are no value of the parameter's type.
    pub fn parse_parameter(&self, index: usize, text: Option<&str>) -> Result<Value> {
        self.statement.parse_parameter(index, text)
    }

    /// Runs the statement and returns its number of rows, as [`Database::execute`] does.
    ///
    /// # Errors
    /// Those of the statement, and for values that do not suit its parameters.
    pub fn execute(&self, values: &[Value]) -> Result<u64> {
        let outcome = self.start(values)?;
        self.database.count(outcome)
    }

    /// Runs the statement and returns all its rows, as [`Database::query`] does.
    ///
    /// # Errors
    /// As [`Prepared::execute`].
    pub fn query(&self, values: &[Value]) -> Result<Vec<RecordBatch>> {
        let outcome = self.start(values)?;
        Batches::of(&self.database, outcome).collect()
    }

    fn start(&self, values: &[Value]) -> Result<Outcome> {
        let (statement, values) = (self.statement.clone(), values.to_vec());
        let session = Arc::clone(self.database.session());
        self.database.run(async move {
            session.execute_prepared(&statement, &values, StatementIo::default()).await
        })?
    }
}
