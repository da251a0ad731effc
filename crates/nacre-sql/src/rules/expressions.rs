//! Expressions over the columns of one table, compiled to be evaluated on rows at hand.
//!
//! They mean what they mean in a query: the same rewrites of syntax, the same coercion of types.
//! What is evaluated is DataFusion's physical expression, without a plan around it.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::TreeNode;
use datafusion::execution::SessionState;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    EmptyRelation, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Volatility,
};
use datafusion::physical_plan::PhysicalExpr;
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, ExprWithAlias, Query, Visit, Visitor};
use datafusion::sql::sqlparser::tokenizer::Token;

use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::{from_datafusion, from_parser};
use crate::parsing::statement_parser;
use crate::planner::Planner;
use crate::planning_cost::PlanningCost;
use crate::rewrite::rewrite_expr;
use crate::simplification::simplify_value;

/// What an expression is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    Default,
    /// The DEFAULT of an identity column.
    Identity,
    Check,
}

/// Compiled expressions.
#[derive(Debug)]
pub(crate) struct Expressions {
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    types: Vec<DataType>,
    /// Names of the columns that each one reads.
    columns: Vec<Vec<String>>,
    /// Whether none has anything that is fixed for a statement, such as `now()`.
    is_lasting: bool,
}

impl Clause {
    fn singular(self) -> &'static str {
        match self {
            Clause::Default | Clause::Identity => "DEFAULT expression",
            Clause::Check => "check constraint",
        }
    }

    fn refuse(self, what: &str, code: &'static str) -> Error {
        let message = format!("{what} are not allowed in {}s", self.singular());
        Error::new(ErrorKind::InvalidStatement, message).with_code(code)
    }
}

/// Parses the text of an expression.
///
/// # Errors
/// `Syntax`.
pub(crate) fn parse(text: &str) -> Result<SqlExpr> {
    let parsed = statement_parser(text).and_then(|mut parser| {
        let expr = parser.parse_expr()?;
        parser.expect_token(&Token::EOF)?;
        Ok(expr)
    });
    parsed.map_err(|error| from_parser(&error))
}

impl Expressions {
    /// Compiles expressions over `columns`.
    ///
    /// # Errors
    /// 42703, 42804 and the like; 0A000 for subqueries, 42803 for aggregates, 42P20 for windows.
    pub(crate) fn compile(
        planner: &Planner,
        columns: &DFSchema,
        clause: Clause,
        exprs: Vec<SqlExpr>,
    ) -> Result<Self> {
        let mut compiled =
            Self { exprs: Vec::new(), types: Vec::new(), columns: Vec::new(), is_lasting: true };
        if exprs.is_empty() {
            return Ok(compiled);
        }
        let state = match clause {
            Clause::Identity => planner.state_for_identity()?,
            Clause::Default | Clause::Check => planner.state(),
        };
        let mut logical = Vec::with_capacity(exprs.len());
        for (number, mut expr) in exprs.into_iter().enumerate() {
            refuse_subqueries(&expr, clause)?;
            PlanningCost::of_syntax(&state, &expr).require_bounded()?;
            rewrite_expr(&state, &mut expr)?;
            let expr = ExprWithAlias { expr, alias: None };
            let expr = state.create_logical_expr_from_sql_expr(expr, columns);
            let expr = expr.map_err(|error| unplanned(from_datafusion(error), clause))?;
            refuse_aggregates(&expr, clause)?;
            logical.push(expr.alias(number.to_string()));
        }
        let analyzed = analyze(&state, columns, logical)?;
        for expr in analyzed {
            compiled.is_lasting &= !expr.exists(|part| Ok(is_of_statement(part)))?;
            let mut read: Vec<String> =
                expr.column_refs().iter().map(|column| column.name.clone()).collect();
            read.sort_unstable();
            compiled.columns.push(read);
            compiled.types.push(expr.get_type(columns)?);
            compiled.exprs.push(physical(&state, columns, expr)?);
        }
        Ok(compiled)
    }

    /// Returns the type of an expression.
    pub(crate) fn data_type(&self, number: usize) -> Option<&DataType> {
        self.types.get(number)
    }

    /// Whether the expressions mean the same in other statements.
    pub(crate) fn is_lasting(&self) -> bool {
        self.is_lasting
    }

    /// Returns the names of the columns that an expression reads.
    pub(crate) fn columns_of(&self, number: usize) -> &[String] {
        self.columns.get(number).map_or(&[], Vec::as_slice)
    }

    /// Evaluates one expression: a value for each row of `batch`, which has the columns that the
    /// expressions were compiled for.
    ///
    /// # Errors
    /// Those of evaluating, such as 22012.
    pub(crate) fn evaluate(&self, number: usize, batch: &RecordBatch) -> Result<ArrayRef> {
        let expr = self.exprs.get(number).ok_or_else(|| {
            Error::new(ErrorKind::Internal, "internal error: an expression was not compiled")
        })?;
        let value = expr.evaluate(batch)?;
        Ok(value.into_array(batch.num_rows())?)
    }
}

/// Whether the value of an expression is found once for a statement.
fn is_of_statement(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call)
        if call.func.signature().volatility == Volatility::Stable)
}

/// Brings types together as a query does, and drops the names.
fn analyze(state: &SessionState, columns: &DFSchema, exprs: Vec<Expr>) -> Result<Vec<Expr>> {
    let schema = Arc::new(columns.clone());
    let input = LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema });
    let plan = LogicalPlanBuilder::from(input).project(exprs)?.build()?;
    let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
    match plan {
        LogicalPlan::Projection(projection) => {
            Ok(projection.expr.into_iter().map(Expr::unalias).collect())
        }
        _ => Err(Error::new(ErrorKind::Internal, "internal error: an expression became a plan")),
    }
}

/// Puts in what is fixed for the statement, such as `now()`, and makes it run.
fn physical(state: &SessionState, columns: &DFSchema, expr: Expr) -> Result<Arc<dyn PhysicalExpr>> {
    let context = SimplifyContext::builder()
        .with_schema(Arc::new(columns.clone()))
        .with_config_options(Arc::clone(state.config_options()))
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    let expr = simplify_value(expr, columns, context)?;
    Ok(state.create_physical_expr(expr, columns)?)
}

/// Words the planner's error for the clause.
fn unplanned(error: Error, clause: Clause) -> Error {
    match (clause, error.sqlstate()) {
        (Clause::Default, "42703") => {
            Error::new(ErrorKind::NotSupported, "cannot use column reference in DEFAULT expression")
        }
        _ => error,
    }
}

fn refuse_subqueries(expr: &SqlExpr, clause: Clause) -> Result<()> {
    struct Queries;
    impl Visitor for Queries {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    match expr.visit(&mut Queries) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => {
            let message = format!("cannot use subquery in {}", clause.singular());
            Err(Error::new(ErrorKind::NotSupported, message))
        }
    }
}

fn refuse_aggregates(expr: &Expr, clause: Clause) -> Result<()> {
    let has = |wanted: fn(&Expr) -> bool| expr.exists(|part| Ok(wanted(part)));
    if has(|part| matches!(part, Expr::WindowFunction(_)))? {
        return Err(clause.refuse("window functions", "42P20"));
    }
    if has(|part| matches!(part, Expr::AggregateFunction(_)))? {
        return Err(clause.refuse("aggregate functions", "42803"));
    }
    Ok(())
}
