//! The last step of a query: what is kept as a number but shown by a name, and vectors.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, Result};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};

use crate::pg_types::TYPE_KEY;

/// Returns a plan that shows its columns of type `regclass` and the like as text.
pub(crate) fn shown(state: &SessionState, plan: LogicalPlan) -> Result<LogicalPlan> {
    if matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_)) {
        return Ok(plan);
    }
    let is_shown = |field: &Arc<Field>| function_for(field).is_some();
    if !plan.schema().fields().iter().any(is_shown) {
        return Ok(plan);
    }
    let mut exprs = Vec::new();
    for (qualifier, field) in plan.schema().iter() {
        let column = Expr::Column(Column::from((qualifier, field)));
        let Some(function) = function_for(field) else {
            exprs.push(column);
            continue;
        };
        let udf = state.udf(function)?;
        let args = match function {
            "array_to_string" => vec![column, lit(" ")],
            _ => vec![column],
        };
        exprs.push(udf.call(args).alias_qualified(qualifier.cloned(), field.name()));
    }
    LogicalPlanBuilder::from(plan).project(exprs)?.build()
}

/// Returns the function that shows values of a field.
fn function_for(field: &Field) -> Option<&'static str> {
    let type_name = field.metadata().get(TYPE_KEY)?;
    match (type_name.as_str(), field.data_type()) {
        ("regclass", DataType::Int64) => Some("nacre_regclass_text"),
        ("regtype", DataType::Int64) => Some("nacre_regtype_text"),
        ("regproc", DataType::Int64) => Some("nacre_regproc_text"),
        ("int2vector" | "oidvector", DataType::List(_)) => Some("array_to_string"),
        _ => None,
    }
}
