//! An analyzer rule: a scalar subquery that refers to the outer query gives the value of its one
//! row, or null without one, as in PostgreSQL.
//!
//! The planner takes only such subqueries of this kind that aggregate, since it runs them as
//! joins. So the values of all rows are gathered in a list, which is an aggregate, and the outer
//! query takes the one value out of the list; more than one are an error, but only for a row that
//! asks for them.
//!
//! A value that is null only for want of a row is marked as one that may be null ([`Nullable`]),
//! and so is whatever subqueries take from a query around them.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::functions_aggregate::expr_fn::array_agg;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Subquery, Volatility,
};
use datafusion::optimizer::AnalyzerRule;

use crate::error::{Error, ErrorKind};
use crate::unnest::references;

static ONLY_VALUE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(OnlyValue { signature }))
});

static NULLABLE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Nullable { signature }))
});

/// The rule; it runs before types are brought together.
#[derive(Debug)]
pub(crate) struct SingleRows;

impl AnalyzerRule for SingleRows {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(expr.transform_up(single)?.update_data(|expr| name.restore(expr)))
            })?
            .map_data(LogicalPlan::recompute_schema)
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        "single_rows"
    }
}

/// Returns the error for a subquery that gives several rows where one value is wanted.
pub(crate) fn several_rows() -> Error {
    let message = "more than one row returned by a subquery used as an expression";
    Error::new(ErrorKind::InvalidStatement, message).with_code("21000")
}

/// Gathers the rows of a scalar subquery that may have several.
fn single(expr: Expr) -> Result<Transformed<Expr>> {
    let subquery = match expr {
        Expr::ScalarSubquery(subquery) => subquery,
        // It may be of such a subquery, which was taken for one that is never null.
        Expr::OuterReferenceColumn(field, column) if !field.is_nullable() => {
            let field = Arc::new(field.as_ref().clone().with_nullable(true));
            return Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)));
        }
        other => return Ok(Transformed::no(other)),
    };
    let plan = &subquery.subquery;
    let is_single = plan.max_rows().is_some_and(|rows| rows <= 1);
    let [column] = &plan.schema().columns()[..] else {
        return Ok(Transformed::no(Expr::ScalarSubquery(subquery)));
    };
    let outer_ref_columns = references(plan)?;
    if is_single || outer_ref_columns.is_empty() {
        let is_null_without_row =
            !subquery.subquery.schema().field(0).is_nullable() && !has_always_row(plan);
        let value = Expr::ScalarSubquery(Subquery { outer_ref_columns, ..subquery });
        return Ok(match is_null_without_row {
            true => Transformed::yes(NULLABLE.call(vec![value])),
            false => Transformed::no(value),
        });
    }
    // Columns that the subquery compares with the outer query come beside it.
    let values = array_agg(Expr::Column(column.clone())).alias("__values");
    let gathered = LogicalPlanBuilder::from(plan.as_ref().clone())
        .aggregate(Vec::<Expr>::new(), vec![values])?
        .build()?;
    let subquery = Subquery { subquery: Arc::new(gathered), outer_ref_columns, ..subquery };
    let only = ONLY_VALUE.call(vec![Expr::ScalarSubquery(subquery)]);
    Ok(Transformed::yes(only))
}

/// Whether a query of one value cannot be without a row.
fn has_always_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => has_always_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_always_row(&alias.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        _ => false,
    }
}

/// Gives the value of a subquery as it is. The planner takes the value for one that is never null
/// if the subquery's column has no nulls, though it is null if there is no row.
#[derive(Debug)]
struct Nullable {
    signature: Signature,
}

// There is one such function.
impl PartialEq for Nullable {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Nullable {}

impl Hash for Nullable {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl ScalarUDFImpl for Nullable {
    fn name(&self) -> &str {
        "value_or_null"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [one] => Ok(one.clone()),
            _ => internal_err!("value_or_null of something else than a value"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [one] => Ok(one.clone()),
            _ => internal_err!("value_or_null without a value"),
        }
    }
}

/// Takes the value out of a list of at most one.
#[derive(Debug)]
struct OnlyValue {
    signature: Signature,
}

// There is one such function.
impl PartialEq for OnlyValue {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OnlyValue {}

impl Hash for OnlyValue {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl ScalarUDFImpl for OnlyValue {
    fn name(&self) -> &str {
        "only_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::List(field)] => Ok(field.data_type().clone()),
            _ => internal_err!("only_value of something else than a list"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(lists) = args.args.first() else {
            return internal_err!("only_value without a list");
        };
        let lists: ArrayRef = lists.to_array(args.number_rows)?;
        let lists = lists.as_list::<i32>();
        let place = |row: usize| match lists.is_null(row) {
            true => Ok(None),
            false => match lists.value_length(row) {
                0 => Ok(None),
                1 => Ok(u32::try_from(lists.value_offsets()[row]).ok()),
                _ => Err(DataFusionError::External(Box::new(several_rows()))),
            },
        };
        let places = (0..lists.len()).map(place).collect::<Result<UInt32Array>>()?;
        Ok(ColumnarValue::Array(take(lists.values(), &places, None)?))
    }
}
