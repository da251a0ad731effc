//! What only a database and a session know: the objects that names mean, and what functions over
//! catalogs answer.

use std::fmt;

use super::SqlValue;
use crate::error::ValueError;
use crate::types::catalog::TypeOid;
use crate::types::sql_type::SqlType;

/// A call of a function that the database or the session answers.
#[derive(Clone, Copy, Debug)]
pub struct SystemCall<'c> {
    /// The function's name in `pg_proc`.
    pub function: &'static str,
    /// Its arguments, none of which is null if the function is strict.
    pub arguments: &'c [SqlValue],
    /// Their types.
    pub argument_types: &'c [SqlType],
    pub result_type: SqlType,
}

/// Answers for the objects of a database, as one session sees them.
pub trait SystemCatalog: fmt::Debug + Send + Sync {
    /// Returns the number of the object that a text names, of a type such as `regclass`.
    ///
    /// # Errors
    /// PostgreSQL's for unknown names: 42P01, 42883, 42704, 3F000; 42602 for an invalid name.
    fn object_named(&self, type_oid: TypeOid, name: &str) -> Result<u32, ValueError>;

    /// Returns the name of an object as texts of a type such as `regclass` have it; `None` if there
    /// is no such object.
    fn object_name(&self, type_oid: TypeOid, oid: u32) -> Option<String>;

    /// Computes a call.
    ///
    /// # Errors
    /// PostgreSQL's; `not supported` for functions that are not known.
    fn call(&self, call: SystemCall<'_>) -> Result<SqlValue, ValueError>;

    /// Computes a call of a function of sets.
    ///
    /// # Errors
    /// As [`Self::call`].
    fn call_set(&self, call: SystemCall<'_>) -> Result<Vec<SqlValue>, ValueError>;
}
