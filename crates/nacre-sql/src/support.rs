//! Which statements reach the planner: those that only read, and the queries for the rows of those
//! that change some.
//!
//! The planner accepts statements that its executor would run wrongly or not at all, so what is
//! not on the list here is refused before it is planned, and what was planned is checked again.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr as PlannedExpr, LogicalPlan};
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, JoinConstraint, JoinOperator, LockType, Query, Select, SetExpr,
    SetOperator, SetQuantifier, Statement, TableFactor, TableWithJoins, Visit, Visitor,
};

use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_datafusion;
use crate::names::fold;

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
        ParsedStatement::Reset(_) => Err(Error::not_supported("this form of RESET")),
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
        | Statement::ExplainTable { .. } => Ok(()),
        Statement::Explain { statement, .. } if is_explained(statement) => check_sql(statement),
        other => {
            let hint = "docs/limits.md lists what is not there yet.";
            Err(Error::not_supported(kind(other)).with_hint(hint))
        }
    }
}

/// Refuses row locks, which the planner would drop silently, and writing, wherever in the query.
fn check_query(query: &Query) -> Result<()> {
    let mut refuse = Refuse::default();
    match query.visit(&mut refuse) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Stops at the first part of a query that the planner would run as something else.
#[derive(Default)]
struct Refuse {
    depth: usize,
    /// Without AND and OR, which become trees.
    operators: usize,
}

/// Stack that a thread needs which polls statements: planning recurses over expressions, about
/// 25 KiB a level. Pages that are never touched cost nothing.
pub const STATEMENT_STACK_BYTES: usize = 512 << 20;

/// Deepest nesting of an expression; a chain of n operators nests n deep.
const DEPTH_MAX: usize = 12_000;

/// Deepest nesting of operators other than AND and OR: planning time grows with its square.
const OPERATORS_MAX: usize = 1_000;

/// Nodes that a plan may have with the queries of WITH and the views that it reads, each as often
/// as it is read.
const PLAN_NODES_MAX: usize = 10_000;

fn is_condition(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. })
}

impl Visitor for Refuse {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        if let Some(lock) = query.locks.first() {
            return refuse(match lock.lock_type {
                LockType::Share => "FOR SHARE",
                LockType::Update => "FOR UPDATE",
            });
        }
        check_set_expr(&query.body)
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Error> {
        if select.into.is_some() {
            return refuse("SELECT INTO");
        }
        check_names(select)?;
        select.from.iter().try_for_each(check_joins)
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        match factor {
            TableFactor::Table { sample: Some(_), .. }
            | TableFactor::Derived { sample: Some(_), .. } => refuse("TABLESAMPLE"),
            TableFactor::NestedJoin { table_with_joins, .. } => check_joins(table_with_joins),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        self.depth += 1;
        self.operators += usize::from(!is_condition(expr));
        if self.depth > DEPTH_MAX {
            let detail = format!("An expression is nested more than {DEPTH_MAX} deep.");
            return ControlFlow::Break(
                Error::too_complex(detail)
                    .with_hint("Use IN (...) or a join instead of a chain of conditions."),
            );
        }
        if self.operators > OPERATORS_MAX {
            let detail = format!("A chain of operators has more than {OPERATORS_MAX} terms.");
            let hint = "Compute it by an aggregate over VALUES, or in several columns.";
            return ControlFlow::Break(Error::too_complex(detail).with_hint(hint));
        }
        match expr {
            // The parser gives these operators a lower precedence than AND and OR.
            Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right)
                if matches!(
                    right.as_ref(),
                    Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. }
                ) =>
            {
                ControlFlow::Break(
                    Error::not_supported("IS DISTINCT FROM before AND or OR without parentheses")
                        .with_hint("Write (a IS DISTINCT FROM b) AND ..."),
                )
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        self.depth -= 1;
        self.operators -= usize::from(!is_condition(expr));
        ControlFlow::Continue(())
    }
}

/// Refuses two tables of the same name, which only the planner tells apart.
fn check_names(select: &Select) -> ControlFlow<Error> {
    let mut seen = BTreeSet::new();
    for from in &select.from {
        let joined = from.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&from.relation).chain(joined) {
            let name = match factor {
                TableFactor::Table { alias: Some(alias), .. }
                | TableFactor::Derived { alias: Some(alias), .. } => fold(&alias.name),
                TableFactor::Table { alias: None, name, args: None, .. } => {
                    match name.0.as_slice() {
                        [part] => part.as_ident().map(fold).unwrap_or_default(),
                        _ => continue,
                    }
                }
                _ => continue,
            };
            if !seen.insert(name.clone()) {
                let message = format!("table name \"{name}\" specified more than once");
                let error = Error::new(ErrorKind::InvalidStatement, message);
                return ControlFlow::Break(error.with_code("42712"));
            }
        }
    }
    ControlFlow::Continue(())
}

fn refuse(what: impl std::fmt::Display) -> ControlFlow<Error> {
    ControlFlow::Break(Error::not_supported(what))
}

fn check_set_expr(body: &SetExpr) -> ControlFlow<Error> {
    match body {
        SetExpr::Insert(statement)
        | SetExpr::Update(statement)
        | SetExpr::Delete(statement)
        | SetExpr::Merge(statement) => refuse(format_args!("{} in WITH", kind(statement))),
        SetExpr::SetOperation { op, set_quantifier, left, right } => {
            // The planner runs these as semi and anti joins, which forget how often a row comes.
            if matches!(op, SetOperator::Intersect | SetOperator::Except)
                && matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName)
            {
                return refuse(format_args!("{op} ALL"));
            }
            check_set_expr(left)?;
            check_set_expr(right)
        }
        _ => ControlFlow::Continue(()),
    }
}

/// Refuses joins whose common columns the planner would take from the wrong side.
fn check_joins(from: &TableWithJoins) -> ControlFlow<Error> {
    for join in &from.joins {
        let (side, constraint) = match &join.join_operator {
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
                ("RIGHT", constraint)
            }
            JoinOperator::FullOuter(constraint) => ("FULL", constraint),
            _ => continue,
        };
        let how = match constraint {
            JoinConstraint::Using(_) => "USING",
            JoinConstraint::Natural => "NATURAL",
            _ => continue,
        };
        return ControlFlow::Break(
            Error::not_supported(format_args!("{side} JOIN with {how}"))
                .with_hint("Write ON a.x = b.x, and coalesce(a.x, b.x) for the common column."),
        );
    }
    ControlFlow::Continue(())
}

/// Words that statements begin with which the parser does not know.
const UNKNOWN_STATEMENTS: [&str; 11] = [
    "ATTACH", "CLUSTER", "DETACH", "DO", "LISTEN", "LOAD", "NOTIFY", "REFRESH", "REINDEX",
    "REPLACE", "SECURITY",
];

/// Returns the error for a statement that is SQL elsewhere but that the parser does not know.
pub(crate) fn unsupported(sql: &str) -> Option<Error> {
    let mut words = sql.split_whitespace().map(str::to_ascii_uppercase);
    let word = words.next()?;
    let second = words.next().unwrap_or_default();
    let rest: Vec<String> = words.collect();
    let has = |lock: &[&str]| rest.windows(lock.len()).any(|part| part == lock);
    for lock in [&["FOR", "NO", "KEY", "UPDATE"][..], &["FOR", "KEY", "SHARE"]] {
        if word == "SELECT" && has(lock) {
            return Some(Error::not_supported(lock.join(" ")));
        }
    }
    match (word.as_str(), second.as_str()) {
        ("ALTER", "VIEW") => return Some(Error::not_supported("ALTER VIEW")),
        ("CREATE", "TABLE") => {
            let flat = sql.to_ascii_uppercase().split_whitespace().collect::<Vec<_>>().join(" ");
            if flat.contains("(LIKE ") || flat.contains("( LIKE ") {
                return Some(Error::not_supported("CREATE TABLE (LIKE ...)"));
            }
            if flat.contains(" AS EXECUTE ") {
                return Some(Error::not_supported("CREATE TABLE AS EXECUTE"));
            }
        }
        _ => {}
    }
    UNKNOWN_STATEMENTS.contains(&word.as_str()).then(|| Error::not_supported(word))
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

/// Refuses plans of too many nodes, each counted as often as it is read.
fn check_size(plan: &LogicalPlan) -> Result<()> {
    let mut nodes = 0;
    plan.apply_with_subqueries(|_| {
        nodes += 1;
        let is_over = nodes > PLAN_NODES_MAX;
        Ok(if is_over { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })
    .map_err(from_datafusion)?;
    if nodes <= PLAN_NODES_MAX {
        return Ok(());
    }
    let detail = format!(
        "The plan has more than {PLAN_NODES_MAX} nodes with the views and the queries of WITH, \
         each as often as it is read."
    );
    let hint = "Store what those that are read most often answer in a table.";
    Err(Error::too_complex(detail).with_hint(hint))
}

/// Refuses plans that would change something, and plans that are too large.
pub(crate) fn check_plan(plan: &LogicalPlan) -> Result<()> {
    check_size(plan)?;
    match plan {
        LogicalPlan::Dml(_) | LogicalPlan::Copy(_) | LogicalPlan::Ddl(_) => {
            Err(Error::new(ErrorKind::NotSupported, "not supported: statements of this kind"))
        }
        LogicalPlan::Statement(_) => Err(Error::not_supported("statements of this kind")),
        _ => check_unnest(plan),
    }
}

/// Refuses to unnest arrays of arrays, of which the planner would return the inner ones.
fn check_unnest(plan: &LogicalPlan) -> Result<()> {
    let is_list = |data_type: &DataType| matches!(data_type, DataType::List(_));
    let is_deep = |data_type: &DataType| match data_type {
        DataType::List(element) => is_list(element.data_type()),
        _ => false,
    };
    let mut is_found = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Unnest(unnest) = node {
            let fields = unnest.input.schema().fields();
            let mut lists = unnest.list_type_columns.iter().filter_map(|(at, _)| fields.get(*at));
            is_found |= lists.any(|field| is_deep(field.data_type()));
        }
        Ok(if is_found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })
    .map_err(from_datafusion)?;
    match is_found {
        true => Err(Error::not_supported("unnest of arrays of more than one dimension")),
        false => Ok(()),
    }
}

/// Refuses functions that change something.
///
/// # Errors
/// 25006.
pub(crate) fn check_unchanging(plan: &LogicalPlan) -> Result<()> {
    let mut found = None;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if let PlannedExpr::ScalarFunction(call) = part
                    && matches!(call.name(), "nextval" | "setval")
                {
                    found = Some(call.name().to_owned());
                    return Ok(TreeNodeRecursion::Stop);
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map_err(from_datafusion)?;
    match found {
        None => Ok(()),
        Some(name) => {
            let message = format!("cannot execute {name}() in a read-only transaction");
            Err(Error::new(ErrorKind::ReadOnly, message))
        }
    }
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        from_datafusion(error)
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        from_datafusion(error.into())
    }
}
