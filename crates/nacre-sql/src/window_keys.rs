//! An analyzer rule: what window functions are partitioned and ordered by are columns.
//!
//! The planner derives how an expression is ordered from its parts, and where it knows too little
//! of one (see [`crate::plan_check`]) it finds no partitions in rows that are sorted by it. So a
//! projection below the window computes such expressions, once for the sort and the window, and
//! one above it leaves them out.
//!
//! Arguments that no window function takes are refused here, too.
//!
//! It runs behind the coercion of types, so the types of frames and their bounds are known.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Window};
use datafusion::optimizer::AnalyzerRule;

use crate::functions::check_window_call;

/// The rule.
#[derive(Debug)]
pub(crate) struct WindowKeys;

impl AnalyzerRule for WindowKeys {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Window(window) => with_columns(window),
            other => Ok(Transformed::no(other)),
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        "window_keys"
    }
}

fn with_columns(window: Window) -> Result<Transformed<LogicalPlan>> {
    let mut keys = Keys::default();
    for expr in &window.window_expr {
        expr.apply(|part| {
            if let Expr::WindowFunction(call) = part {
                check_window_call(call)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        keys.gather(expr)?;
    }
    if keys.0.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Window(window)));
    }
    let outputs = window.schema.columns().into_iter().map(Expr::Column);
    let inputs = window.input.schema().columns().into_iter().map(Expr::Column);
    let computed = keys.0.iter().enumerate();
    let computed = computed.map(|(place, key)| key.clone().unalias().alias(name(place)));
    let input = LogicalPlanBuilder::from(window.input.as_ref().clone())
        .project(inputs.chain(computed))?
        .build()?;
    let names = NamePreserver::new_for_projection();
    let exprs = window.window_expr.into_iter().map(|expr| {
        let name = names.save(&expr);
        let replaced = expr.transform_down(|part| Ok(keys.replace(part)))?;
        Ok(name.restore(replaced.data))
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    let plan = LogicalPlanBuilder::from(input).window(exprs)?.project(outputs)?.build()?;
    Ok(Transformed::yes(plan))
}

fn name(place: usize) -> String {
    format!("nacre window key {place}")
}

/// The expressions that become columns, each of them once.
#[derive(Default)]
struct Keys(Vec<Expr>);

impl Keys {
    fn gather(&mut self, expr: &Expr) -> Result<()> {
        expr.apply(|part| {
            if let Expr::WindowFunction(function) = part {
                let params = &function.params;
                let sorted = params.order_by.iter().map(|sort| &sort.expr);
                for key in params.partition_by.iter().chain(sorted) {
                    if is_computed(key) && !self.0.contains(key) {
                        self.0.push(key.clone());
                    }
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .map(|_| ())
    }

    fn replace(&self, expr: Expr) -> Transformed<Expr> {
        let Expr::WindowFunction(mut function) = expr else { return Transformed::no(expr) };
        let params = &mut function.params;
        let sorted = params.order_by.iter_mut().map(|sort| &mut sort.expr);
        for key in params.partition_by.iter_mut().chain(sorted) {
            if let Some(place) = self.0.iter().position(|known| known == key) {
                *key = Expr::Column(Column::from_name(name(place)));
            }
        }
        Transformed::yes(Expr::WindowFunction(function))
    }
}

/// Whether an expression is worth a column; one of an outer query stays where it is known.
fn is_computed(expr: &Expr) -> bool {
    if let Expr::Alias(alias) = expr {
        return is_computed(&alias.expr);
    }
    let is_plain = matches!(expr, Expr::Column(_) | Expr::Literal(..));
    let is_subquery = |part: &Expr| {
        matches!(
            part,
            Expr::ScalarSubquery(_)
                | Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::SetComparison(_)
        )
    };
    !is_plain
        && !expr.contains_outer()
        && !expr.exists(|part| Ok(is_subquery(part))).unwrap_or(true)
}
