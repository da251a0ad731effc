//! Which statements reach the planner: those that only read.
//!
//! The planner accepts statements that its executor would run wrongly or not at all, so what is
//! not on the list here is refused before it is planned, and what was planned is checked again.

use std::ops::ControlFlow;

use datafusion::common::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    LockType, Query, Select, SetExpr, Statement, Visit, Visitor,
};

use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_datafusion;

/// Refuses statements that do more than read.
pub(crate) fn check(statement: &ParsedStatement) -> Result<()> {
    match statement {
        ParsedStatement::Statement(statement) => check_sql(statement),
        ParsedStatement::Explain(explain) => match explain.statement.as_ref() {
            ParsedStatement::Statement(inner) if !is_explained(inner) => {
                Err(Error::not_supported(format_args!("EXPLAIN {}", kind(inner))))
            }
            inner => check(inner),
        },
        ParsedStatement::CreateExternalTable(_) => {
            Err(Error::not_supported("CREATE EXTERNAL TABLE"))
        }
        ParsedStatement::CopyTo(_) => Err(Error::not_supported("this form of COPY")),
        ParsedStatement::Reset(_) => Err(Error::not_supported("RESET")),
    }
}

fn is_explained(statement: &Statement) -> bool {
    matches!(statement, Statement::Query(_))
}

fn check_sql(statement: &Statement) -> Result<()> {
    match statement {
        Statement::Query(query) => check_query(query),
        Statement::ShowTables { .. }
        | Statement::ShowColumns { .. }
        | Statement::ShowVariable { .. }
        | Statement::ExplainTable { .. } => Ok(()),
        Statement::Explain { statement, .. } if is_explained(statement) => check_sql(statement),
        other => {
            let error = Error::not_supported(kind(other));
            Err(match other {
                Statement::Insert(_) => {
                    error.with_hint("Load rows with COPY table FROM 'file' (FORMAT csv).")
                }
                _ => error.with_hint("docs/limits.md lists what is not there yet."),
            })
        }
    }
}

/// Refuses row locks, which the planner would drop silently, and writing, wherever in the query.
fn check_query(query: &Query) -> Result<()> {
    match query.visit(&mut Refuse) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(what) => Err(Error::not_supported(what)),
    }
}

/// Stops at the first query that does more than read.
struct Refuse;

impl Visitor for Refuse {
    type Break = String;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
        if let Some(lock) = query.locks.first() {
            let what = match lock.lock_type {
                LockType::Share => "FOR SHARE",
                LockType::Update => "FOR UPDATE",
            };
            return ControlFlow::Break(what.into());
        }
        match query.body.as_ref() {
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement) => {
                ControlFlow::Break(format!("{} in a query", kind(statement)))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<String> {
        match select.into {
            Some(_) => ControlFlow::Break("SELECT INTO".into()),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Returns the words that a statement begins with, as far as they name its kind.
fn kind(statement: &Statement) -> String {
    let text = statement.to_string();
    let words: Vec<&str> = text
        .split_whitespace()
        .take_while(|word| word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
        .take(2)
        .collect();
    match words.as_slice() {
        [] => "this statement".into(),
        [
            "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "TRUNCATE" | "SET" | "BEGIN" | "COMMIT",
            ..,
        ] => words[0].into(),
        _ => words.join(" "),
    }
}

/// Refuses plans that would change something.
pub(crate) fn check_plan(plan: &LogicalPlan) -> Result<()> {
    match plan {
        LogicalPlan::Dml(_) | LogicalPlan::Copy(_) | LogicalPlan::Ddl(_) => {
            Err(Error::new(ErrorKind::NotSupported, "not supported: statements of this kind"))
        }
        LogicalPlan::Statement(_) => Err(Error::not_supported("statements of this kind")),
        _ => Ok(()),
    }
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        from_datafusion(error)
    }
}
