//! AND and OR whose right side is not computed for rows that the left side decides.
//!
//! The planner's operator computes the right side for all rows of a batch unless the left side
//! decides most of them. `b = 0 OR a / b > 3` then fails for rows that it should let through. So
//! the operator is another one where its right side may fail.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::arrow::compute::kernels::boolean::{and_kleene, or_kleene};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr,
    IsNullExpr, LikeExpr, Literal, NotExpr,
};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, HashJoinExecBuilder, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;

use crate::types::is_text;

type Expression = Arc<dyn PhysicalExpr>;
type PhysicalRule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;
type Plan = Arc<dyn ExecutionPlan>;

/// The rule that puts the operators in; it runs after all that look at conditions. Scans do it
/// themselves.
#[derive(Debug)]
pub(crate) struct LazyLogic;

impl PhysicalOptimizerRule for LazyLogic {
    fn optimize(&self, plan: Plan, _: &ConfigOptions) -> Result<Plan> {
        plan.transform_up(with_lazy_logic).map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "lazy_logic"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn with_lazy_logic(plan: Plan) -> Result<Transformed<Plan>> {
    let mut rewrite = LazyRewrite::default();
    let changed = if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        rewrite.filter(filter)?
    } else if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        rewrite.projection(projection)?
    } else if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let filter = rewrite.join_filter(join.filter())?;
        let changed = |filter| HashJoinExecBuilder::from(join).with_filter(Some(filter));
        filter.map(|filter| changed(filter).build_exec()).transpose()?
    } else if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let filter = rewrite.join_filter(join.filter())?;
        let changed = |filter| NestedLoopJoinExecBuilder::from(join).with_filter(Some(filter));
        let changed = filter.map(|filter| changed(filter).build()).transpose()?;
        changed.map(|join| Arc::new(join) as Plan)
    } else if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        rewrite.aggregate(aggregate)?
    } else if let Some(sort) = plan.downcast_ref::<SortExec>() {
        let order = rewrite.order(sort.expr(), &sort.input().schema())?;
        order.map(|order| {
            let sorted = SortExec::new(order, Arc::clone(sort.input())).with_fetch(sort.fetch());
            Arc::new(sorted.with_preserve_partitioning(sort.preserve_partitioning())) as Plan
        })
    } else if let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() {
        let order = rewrite.order(merge.expr(), &merge.input().schema())?;
        order.map(|order| {
            let merged = SortPreservingMergeExec::new(order, Arc::clone(merge.input()));
            Arc::new(merged.with_fetch(merge.fetch())) as Plan
        })
    } else {
        None
    };
    Ok(changed.map_or_else(|| Transformed::no(plan), Transformed::yes))
}

/// Puts the operators into the expressions of a plan's node; notes whether there were any.
#[derive(Default)]
struct LazyRewrite {
    is_changed: bool,
}

impl LazyRewrite {
    fn expr(&mut self, expr: &Expression, schema: &Schema) -> Result<Expression> {
        let expr = lazy_expr(Arc::clone(expr), schema)?;
        self.is_changed |= expr.transformed;
        Ok(expr.data)
    }

    fn filter(&mut self, filter: &FilterExec) -> Result<Option<Plan>> {
        let predicate = self.expr(filter.predicate(), &filter.input().schema())?;
        if !self.is_changed {
            return Ok(None);
        }
        let filter = FilterExecBuilder::from(filter).with_predicate(predicate).build()?;
        Ok(Some(Arc::new(filter)))
    }

    fn projection(&mut self, projection: &ProjectionExec) -> Result<Option<Plan>> {
        let schema = projection.input().schema();
        let mut exprs = Vec::with_capacity(projection.expr().len());
        for output in projection.expr() {
            let expr = self.expr(&output.expr, &schema)?;
            exprs.push(ProjectionExpr::new(expr, output.alias.clone()));
        }
        if !self.is_changed {
            return Ok(None);
        }
        Ok(Some(Arc::new(ProjectionExec::try_new(exprs, Arc::clone(projection.input()))?)))
    }

    /// Returns a join's condition, if it has some of the operators.
    fn join_filter(&mut self, filter: Option<&JoinFilter>) -> Result<Option<JoinFilter>> {
        let Some(filter) = filter else { return Ok(None) };
        let expr = self.expr(filter.expression(), filter.schema())?;
        let columns = filter.column_indices().to_vec();
        let changed = || JoinFilter::new(expr, columns, Arc::clone(filter.schema()));
        Ok(self.is_changed.then(changed))
    }

    fn order(&mut self, order: &LexOrdering, schema: &Schema) -> Result<Option<LexOrdering>> {
        let mut keys = Vec::with_capacity(order.len());
        for key in order {
            keys.push(PhysicalSortExpr::new(self.expr(&key.expr, schema)?, key.options));
        }
        Ok(LexOrdering::new(keys).filter(|_| self.is_changed))
    }

    /// Returns an aggregate with the operators, unless it takes states of others.
    fn aggregate(&mut self, aggregate: &AggregateExec) -> Result<Option<Plan>> {
        let is_raw = matches!(
            aggregate.mode(),
            AggregateMode::Partial | AggregateMode::Single | AggregateMode::SinglePartitioned
        );
        if !is_raw {
            return Ok(None);
        }
        let schema = aggregate.input_schema();
        let group_by = aggregate.group_expr();
        let mut groups = Vec::with_capacity(group_by.expr().len());
        for (expr, name) in group_by.expr() {
            groups.push((self.expr(expr, &schema)?, name.clone()));
        }
        let mut filters = Vec::with_capacity(aggregate.filter_expr().len());
        for filter in aggregate.filter_expr() {
            filters.push(filter.as_ref().map(|filter| self.expr(filter, &schema)).transpose()?);
        }
        let mut calls = Vec::with_capacity(aggregate.aggr_expr().len());
        for call in aggregate.aggr_expr() {
            let parts = call.all_expressions();
            let exprs = |rewrite: &mut Self, exprs: Vec<Expression>| {
                exprs.iter().map(|expr| rewrite.expr(expr, &schema)).collect::<Result<Vec<_>>>()
            };
            let (args, order) = (exprs(self, parts.args)?, exprs(self, parts.order_by_exprs)?);
            calls.push(match call.with_new_expressions(args, order) {
                Some(call) => Arc::new(call),
                None => Arc::clone(call),
            });
        }
        if !self.is_changed {
            return Ok(None);
        }
        let group_by = PhysicalGroupBy::new(
            groups,
            group_by.null_expr().to_vec(),
            group_by.groups().to_vec(),
            group_by.has_grouping_set(),
        );
        let input = Arc::clone(aggregate.input());
        let changed =
            AggregateExec::try_new(*aggregate.mode(), group_by, calls, filters, input, schema)?;
        Ok(Some(Arc::new(changed.with_limit_options(aggregate.limit_options()))))
    }
}

/// The planner's rule that moves projections down, which takes a join's condition apart: it would
/// compute the right side of an AND or OR below the join, for all rows.
#[derive(Debug)]
pub(crate) struct WholeJoinFilters(PhysicalRule);

impl WholeJoinFilters {
    /// Puts the guard around a rule if it is that one.
    pub(crate) fn guard(rule: PhysicalRule) -> PhysicalRule {
        if rule.name() == "ProjectionPushdown" { Arc::new(Self(rule)) } else { rule }
    }
}

impl PhysicalOptimizerRule for WholeJoinFilters {
    fn optimize(&self, plan: Plan, config: &ConfigOptions) -> Result<Plan> {
        let has_lazy_filter = plan.exists(|node| {
            let join = node.downcast_ref::<NestedLoopJoinExec>();
            let filter = LazyRewrite::default().join_filter(join.and_then(|join| join.filter()))?;
            Ok(filter.is_some())
        })?;
        if has_lazy_filter { Ok(plan) } else { self.0.optimize(plan, config) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Puts the operator in the place of each AND and OR whose right side may fail.
pub(crate) fn lazy_expr(expr: Expression, schema: &Schema) -> Result<Transformed<Expression>> {
    expr.transform_up(|expr| {
        let Some(binary) = expr.downcast_ref::<BinaryExpr>() else {
            return Ok(Transformed::no(expr));
        };
        let decisive = match binary.op() {
            Operator::And => false,
            Operator::Or => true,
            _ => return Ok(Transformed::no(expr)),
        };
        if !may_fail(binary.right(), schema) {
            return Ok(Transformed::no(expr));
        }
        let (left, right) = (Arc::clone(binary.left()), Arc::clone(binary.right()));
        Ok(Transformed::yes(Arc::new(LazyOperator { left, right, decisive })))
    })
}

/// Whether an expression may fail for some values.
pub(crate) fn may_fail(expr: &Expression, schema: &Schema) -> bool {
    let mut may_fail = false;
    let looked_at = expr.apply(|part| {
        may_fail |= !is_safe(part, schema);
        Ok(if may_fail { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    may_fail || looked_at.is_err()
}

/// Whether an expression never fails if its parts do not.
fn is_safe(expr: &Expression, schema: &Schema) -> bool {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return binary.op().supports_propagation() || binary.op().is_logic_operator();
    }
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        let from = cast.expr().data_type(schema);
        return from.is_ok_and(|from| is_safe_cast(&from, cast.cast_type()));
    }
    expr.is::<Column>()
        || expr.is::<Literal>()
        || expr.is::<NotExpr>()
        || expr.is::<IsNullExpr>()
        || expr.is::<IsNotNullExpr>()
        || expr.is::<InListExpr>()
        || expr.is::<LikeExpr>()
        || expr.is::<CaseExpr>()
        || expr.is::<DynamicFilterPhysicalExpr>()
        || expr.is::<LazyOperator>()
}

/// Whether all values of a type are values of another.
fn is_safe_cast(from: &DataType, to: &DataType) -> bool {
    let widths = (from.primitive_width(), to.primitive_width());
    match (from, to) {
        _ if from == to => true,
        _ if from.is_integer() && to.is_integer() => widths.0 <= widths.1,
        _ if from.is_floating() && to.is_floating() => widths.0 <= widths.1,
        _ if from.is_integer() && to.is_floating() => true,
        (DataType::Decimal128(digits, scale), DataType::Decimal128(wider, finer)) => {
            let whole = |digits: &u8, scale: &i8| i16::from(*digits) - i16::from(*scale);
            scale <= finer && whole(digits, scale) <= whole(wider, finer)
        }
        (
            DataType::Int16 | DataType::Int32 | DataType::Int64,
            DataType::Decimal128(digits, scale),
        ) => {
            // Of the greatest bigint.
            i16::from(*digits) - i16::from(*scale) >= 19
        }
        _ => is_text(from) && is_text(to),
    }
}

/// The operator.
#[derive(Debug, Eq)]
struct LazyOperator {
    left: Expression,
    right: Expression,
    /// What the left side decides with: true for OR, false for AND.
    decisive: bool,
}

impl PartialEq for LazyOperator {
    fn eq(&self, other: &Self) -> bool {
        self.decisive == other.decisive && self.left.eq(&other.left) && self.right.eq(&other.right)
    }
}

impl Hash for LazyOperator {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.left.hash(state);
        self.right.hash(state);
        self.decisive.hash(state);
    }
}

impl fmt::Display for LazyOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.decisive { "OR" } else { "AND" };
        write!(f, "({} {operator} {})", self.left, self.right)
    }
}

impl PhysicalExpr for LazyOperator {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        Ok(self.left.nullable(schema)? || self.right.nullable(schema)?)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let left = self.left.evaluate(batch)?.into_array(batch.num_rows())?;
        let left = as_boolean_array(&left)?;
        // A null does not decide.
        let undecided: BooleanArray =
            left.iter().map(|value| Some(value != Some(self.decisive))).collect();
        if undecided.true_count() == 0 {
            return Ok(ColumnarValue::Array(Arc::new(left.clone())));
        }
        let right = self.right.evaluate_selection(batch, &undecided)?;
        let right = right.into_array(batch.num_rows())?;
        let right = as_boolean_array(&right)?;
        let decided = if self.decisive { or_kleene(left, right) } else { and_kleene(left, right) };
        Ok(ColumnarValue::Array(Arc::new(decided?)))
    }

    fn children(&self) -> Vec<&Expression> {
        vec![&self.left, &self.right]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Expression>) -> Result<Expression> {
        match <[Expression; 2]>::try_from(children) {
            Ok([left, right]) => Ok(Arc::new(Self { left, right, decisive: self.decisive })),
            Err(_) => internal_err!("AND and OR have two sides"),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};
    use datafusion::arrow::datatypes::Field;
    use datafusion::physical_expr::expressions::{col, lit};
    use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

    use super::*;

    fn schema() -> Schema {
        Schema::new(vec![
            Field::new("t", DataType::Utf8, true),
            Field::new("k", DataType::Int64, true),
            Field::new("s", DataType::Int16, true),
            Field::new("d", DataType::Decimal128(10, 2), true),
        ])
    }

    fn binary(left: Expression, op: Operator, right: Expression) -> Expression {
        Arc::new(BinaryExpr::new(left, op, right))
    }

    /// Makes a condition that fails for texts that are no numbers.
    fn fragile(schema: &Schema) -> Expression {
        let number = CastExpr::new(col("t", schema).unwrap(), DataType::Int64, None);
        binary(Arc::new(number), Operator::Gt, lit(5_i64))
    }

    #[test]
    fn rows_that_are_decided_are_not_computed() {
        let schema = schema().project(&[0, 1]).unwrap();
        let texts: ArrayRef =
            Arc::new(StringArray::from(vec![Some("x"), Some("9"), Some("1"), None, Some("7")]));
        let numbers: ArrayRef =
            Arc::new(Int64Array::from(vec![Some(0), Some(1), Some(1), Some(1), None]));
        let batch = RecordBatch::try_new(Arc::new(schema.clone()), vec![texts, numbers]).unwrap();
        for (op, test, wanted) in [
            (Operator::Or, Operator::Eq, [Some(true), Some(true), Some(false), None, Some(true)]),
            (Operator::And, Operator::NotEq, [Some(false), Some(true), Some(false), None, None]),
        ] {
            let guard = binary(col("k", &schema).unwrap(), test, lit(0_i64));
            let plain = binary(guard, op, fragile(&schema));
            assert!(plain.evaluate(&batch).is_err(), "{op}");
            let lazy = lazy_expr(plain, &schema).unwrap();
            assert!(lazy.transformed);
            let found = lazy.data.evaluate(&batch).unwrap().into_array(5).unwrap();
            let found: Vec<_> = as_boolean_array(&found).unwrap().iter().collect();
            assert_eq!(found, wanted, "{op}");
        }
    }

    #[test]
    fn rules_that_take_conditions_of_joins_apart_are_guarded() {
        let rules = PhysicalOptimizer::new().rules.into_iter().map(WholeJoinFilters::guard);
        let guarded = rules.filter(|rule| format!("{rule:?}").starts_with("WholeJoinFilters"));
        assert_eq!(guarded.count(), 2);
    }

    #[test]
    fn conditions_that_cannot_fail_stay_as_they_are() {
        let schema = schema();
        let column = |name| col(name, &schema).unwrap();
        let cast = |name, to| -> Expression { Arc::new(CastExpr::new(column(name), to, None)) };
        let safe = [
            column("k"),
            cast("s", DataType::Int64),
            cast("s", DataType::Float32),
            cast("k", DataType::Decimal128(21, 2)),
            cast("d", DataType::Decimal128(12, 3)),
            binary(column("k"), Operator::Lt, lit(3_i64)),
        ];
        for expr in safe {
            assert!(!may_fail(&expr, &schema), "{expr}");
        }
        let fallible = [
            cast("k", DataType::Int16),
            cast("k", DataType::Decimal128(20, 2)),
            cast("d", DataType::Decimal128(12, 5)),
            cast("d", DataType::Decimal128(10, 1)),
            cast("t", DataType::Int64),
            binary(column("k"), Operator::Divide, column("k")),
            fragile(&schema),
        ];
        for expr in fallible {
            assert!(may_fail(&expr, &schema), "{expr}");
        }
    }
}
