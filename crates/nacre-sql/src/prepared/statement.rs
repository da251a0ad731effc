//! A prepared statement.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{Ident, SelectItem, Statement as SqlStatement};
use nacre_column::ColumnType;
use nacre_store::{ColumnDef, Store, TableSchema, Value, ValueRef};

use super::infer::infer;
use super::parameters::{parameter, parameter_count};
use super::substitute::substitute;
use super::types::ParameterType;
use crate::columns::{NO_NAME, first_select};
use crate::cursors::Declaration;
use crate::dml;
use crate::engine::{GivenStatement, ParsedQuery};
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::session::Session;
use crate::settings::EngineChoice;
use crate::short::{Candidate, Scanned, key, scan};
use crate::statement_io::{Outcome, StatementIo};
use crate::transaction::Plain;

/// A statement of a session that is parsed and can be run many times with different parameters.
/// Clones share it.
///
/// Statements over one table that find their rows by an index, and INSERT of single rows, are
/// planned once, too.
#[derive(Clone, Debug)]
pub struct Statement(Arc<Prepared>);

#[derive(Debug)]
struct Prepared {
    sql: String,
    /// `None` if it has a syntax of its own.
    parsed: Option<ParsedStatement>,
    /// Whether `sql` may be parsed again: it is the client's text, or a printed one that surely
    /// means the same.
    is_readable: bool,
    /// What DECLARE says of the cursor whose query `parsed` is.
    cursor: Option<Declaration>,
    /// With what its plan is kept under; `None` if it is no short statement.
    scanned: Option<(Scanned<'static>, String)>,
    plain_control: Option<Plain>,
    types: Vec<ParameterType>,
    /// As a short statement wants their types.
    columns: Vec<Option<ColumnType>>,
    /// The parameters as the columns of a table, which values have to fit.
    parameters: TableSchema,
    /// The text as Nacre's own engine parses it; `None` if it is no query.
    query: OnceLock<Option<ParsedQuery>>,
    /// What was decided last.
    decision: Mutex<Option<EngineDecision>>,
}

/// Whether Nacre's own engine takes a statement with parameters, whatever their values: what is
/// described and what is answered have the types of one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EngineDecision {
    /// Of the definitions that it was made for.
    pub(crate) definitions: u64,
    pub(crate) choice: EngineChoice,
    pub(crate) is_taken: bool,
}

impl Statement {
    /// Prepares a statement that was parsed from `sql`, or is printed as that if it has no text.
    pub(crate) fn new(
        store: &Store,
        sql: &str,
        is_printed: bool,
        parsed: Option<ParsedStatement>,
        declared: &[Option<u32>],
        cursor: Option<Declaration>,
    ) -> Result<Self> {
        let is_readable = !is_printed || is_plain(sql);
        Self::with_declared(store, sql, is_readable, parsed, declared, cursor)
    }

    /// Returns the statement with other types of its parameters.
    pub(crate) fn with_types(&self, store: &Store, types: &[Option<u32>]) -> Result<Self> {
        let (parsed, cursor) = (self.0.parsed.clone(), self.0.cursor.clone());
        Self::with_declared(store, &self.0.sql, self.0.is_readable, parsed, types, cursor)
    }

    fn with_declared(
        store: &Store,
        sql: &str,
        is_readable: bool,
        parsed: Option<ParsedStatement>,
        declared: &[Option<u32>],
        cursor: Option<Declaration>,
    ) -> Result<Self> {
        let types = match &parsed {
            Some(ParsedStatement::Statement(inner)) => {
                let count = parameter_count(inner)?;
                infer(store, inner, declared, count.max(declared.len()))?
            }
            _ => Vec::new(),
        };
        let parsed = parsed.map(without_names);
        let column = |(index, parameter): (usize, &ParameterType)| ColumnDef {
            name: format!("${}", index + 1),
            column_type: parameter.column,
            is_nullable: true,
            replicas: None,
        };
        let parameters = TableSchema {
            name: "parameters".into(),
            columns: types.iter().enumerate().map(column).collect(),
            primary_key: None,
            primary_key_name: String::new(),
            replicas: None,
        };
        // The values of a short statement are in the form of columns.
        let is_stored = types.iter().all(|one| !one.is_named && !one.is_numeric());
        let columns: Vec<_> = types.iter().map(|one| Some(one.column)).collect();
        let may_be_short = is_stored && is_readable;
        let scanned = scan(sql).filter(|_| may_be_short).map(Scanned::into_owned);
        let scanned = scanned.map(|scanned| {
            let key = key(&scanned, &columns);
            (scanned, key)
        });
        let plain_control = Plain::of(sql);
        let sql = sql.into();
        Ok(Self(Arc::new(Prepared {
            sql,
            parsed,
            is_readable,
            cursor,
            scanned,
            plain_control,
            types,
            columns,
            parameters,
            query: OnceLock::new(),
            decision: Mutex::default(),
        })))
    }

    /// Returns the query that Nacre's own engine may take.
    pub(crate) fn query(&self) -> Option<&ParsedQuery> {
        if !self.0.is_readable || self.0.cursor.is_some() {
            return None;
        }
        self.0.query.get_or_init(|| ParsedQuery::of(&self.0.sql)).as_ref()
    }

    /// Returns which engine takes the statement, if that was decided.
    pub(crate) fn decision(&self) -> Option<EngineDecision> {
        *self.0.decision.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn decide(&self, decision: EngineDecision) {
        *self.0.decision.lock().unwrap_or_else(PoisonError::into_inner) = Some(decision);
    }

    /// Returns the statement's text.
    pub fn sql(&self) -> &str {
        &self.0.sql
    }

    /// Whether both are one statement.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the types of the parameters.
    pub fn parameter_types(&self) -> &[ParameterType] {
        &self.0.types
    }

    /// Returns the value that a text stands for as the parameter of that number from 0; `None` is
    /// null.
    ///
    /// # Errors
    /// 22P02, 22003 and the like; 42P02 if there is no such parameter.
    pub fn parse_parameter(&self, index: usize, text: Option<&str>) -> Result<Value> {
        let Some(parameter) = self.0.types.get(index) else {
            let message = format!("there is no parameter ${}", index + 1);
            return Err(Error::new(ErrorKind::UndefinedObject, message).with_code("42P02"));
        };
        text.map_or(Ok(Value::Null), |text| parameter.parse(text))
    }

    /// Runs the statement in the session that prepared it. Values are in the form in which columns
    /// of the parameters' types store them, numbers of any scale in that of their text
    /// ([`Statement::parse_parameter`]).
    ///
    /// # Errors
    /// 42601 if there are more or fewer values than parameters, 22003 and the like for values that
    /// are none of the parameters' types; those of the statement.
    pub async fn execute(&self, session: &Session, values: &[Value]) -> Result<Outcome> {
        session.execute_prepared(self, values, StatementIo::default()).await
    }

    /// Returns the columns of the rows that the statement answers; `None` if it gives none, or if
    /// only running it tells.
    ///
    /// # Errors
    /// Those of planning it.
    pub async fn columns(&self, session: &Session) -> Result<Option<SchemaRef>> {
        let nulls = vec![Value::Null; self.0.types.len()];
        if self.0.cursor.is_some() {
            return Ok(None);
        }
        if let Some(schema) = session.describe_compiled(self, &nulls).await? {
            return Ok(Some(schema));
        }
        match self.with_values(&nulls)? {
            Some(statement) => {
                let (sql, types) = (self.sql(), self.parameter_types());
                session.describe(statement, GivenStatement { sql, types, values: &nulls }).await
            }
            None => session.describe_own(&self.0.sql),
        }
    }

    /// Whether it is a query or a change of rows, whose names and types mean something before it
    /// runs.
    pub(crate) fn has_meaning(&self) -> bool {
        let Some(ParsedStatement::Statement(inner)) = &self.0.parsed else { return false };
        let is_query = matches!(inner.as_ref(), SqlStatement::Query(_));
        self.0.cursor.is_none() && (is_query || dml::writes(inner).is_some())
    }

    /// What its plan is kept under if it is a short one.
    pub(crate) fn short_key(&self) -> Option<&str> {
        self.0.scanned.as_ref().map(|(_, key)| key.as_str())
    }

    /// The cursor that the statement declares.
    pub(crate) fn cursor(&self) -> Option<&Declaration> {
        self.0.cursor.as_ref()
    }

    /// Returns what it does if it is BEGIN, COMMIT or ROLLBACK and nothing else.
    pub(crate) fn plain_control(&self) -> Option<Plain> {
        self.0.plain_control
    }

    /// Returns the statement as one that may be short, with parameters that fit.
    pub(crate) fn candidate<'a>(&'a self, parameters: &'a [Value]) -> Option<Candidate<'a>> {
        let (scanned, key) = self.0.scanned.as_ref()?;
        Some(Candidate { sql: &self.0.sql, scanned, key, parameters, types: &self.0.columns })
    }

    /// The parameters as the columns of a table.
    pub(crate) fn parameters(&self) -> &TableSchema {
        &self.0.parameters
    }

    /// Refuses more or fewer values than parameters.
    pub(crate) fn check_count(&self, count: usize, name: Option<&str>) -> Result<()> {
        let expected = self.0.parameters.columns.len();
        if count == expected {
            return Ok(());
        }
        let name = name.map_or_else(String::new, |name| format!(" \"{name}\""));
        let message = format!("wrong number of parameters for prepared statement{name}");
        let detail = format!("Expected {expected} parameters but got {count}.");
        Err(Error::new(ErrorKind::Syntax, message).with_detail(detail))
    }

    /// Checks values and brings them into the form of the parameters.
    pub(crate) fn fit(&self, values: &[Value]) -> Result<Vec<Value>> {
        self.check_count(values.len(), None)?;
        let fit = |(index, value): (usize, &Value)| match (value, self.0.types.get(index)) {
            // A number of any scale, as it was parsed.
            (Value::Bytes(_), Some(parameter)) if parameter.is_numeric() => Ok(value.clone()),
            _ => {
                let fitted = value.as_ref().fit(&self.0.parameters, index);
                fitted.map(ValueRef::to_value).map_err(from_store)
            }
        };
        values.iter().enumerate().map(fit).collect()
    }

    /// Returns the statement with values, which fit, in the place of its parameters; `None` if it
    /// has a syntax of its own.
    pub(crate) fn with_values(&self, values: &[Value]) -> Result<Option<ParsedStatement>> {
        let mut parsed = self.0.parsed.clone();
        if let (Some(ParsedStatement::Statement(inner)), false) = (&mut parsed, values.is_empty()) {
            substitute(inner, &self.0.types, values)?;
        }
        Ok(parsed)
    }
}

/// Whether a printed text has neither quotes nor escapes nor comments, which may be printed in a
/// way that is parsed as something else.
fn is_plain(sql: &str) -> bool {
    let bytes = sql.as_bytes();
    let is_dollar_quote =
        |pair: &[u8]| pair[0] == b'$' && !pair.get(1).is_some_and(u8::is_ascii_digit);
    !bytes.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'\\'))
        && !bytes.windows(2).any(|pair| pair == b"--" || pair == b"/*" || is_dollar_quote(pair))
}

/// Says that outputs which are parameters have no name: with their values in their places they
/// would be called after the types of these.
fn without_names(mut statement: ParsedStatement) -> ParsedStatement {
    if let ParsedStatement::Statement(inner) = &mut statement
        && let SqlStatement::Query(query) = inner.as_mut()
        && let Some(select) = first_select(query)
    {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = &*item
                && parameter(expr).is_some()
            {
                let (expr, alias) = (expr.clone(), Ident::with_quote('"', NO_NAME));
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
    }
    statement
}
