//! An optimizer rule: what `x IN (query)` looks for has a name of its own.
//!
//! A cast that makes the two sides comparable keeps the name of its column. When the query becomes
//! a join, the columns that it compares with the outer query come beside it, of which one may have
//! that name.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The rule; it runs before subqueries become joins.
#[derive(Debug)]
pub(crate) struct Members;

impl OptimizerRule for Members {
    fn name(&self) -> &str {
        "members"
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        plan.transform_up_with_subqueries(|node| {
            node.map_expressions(|expr| expr.transform_up(named))
        })
    }
}

fn named(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::InSubquery(mut test) = expr else { return Ok(Transformed::no(expr)) };
    let LogicalPlan::Projection(projection) = test.subquery.subquery.as_ref() else {
        return Ok(Transformed::no(Expr::InSubquery(test)));
    };
    let [member @ (Expr::Cast(_) | Expr::TryCast(_))] = &projection.expr[..] else {
        return Ok(Transformed::no(Expr::InSubquery(test)));
    };
    let member = member.clone().alias("__member");
    let named = Projection::try_new(vec![member], Arc::clone(&projection.input))?;
    test.subquery.subquery = Arc::new(LogicalPlan::Projection(named));
    Ok(Transformed::yes(Expr::InSubquery(test)))
}
