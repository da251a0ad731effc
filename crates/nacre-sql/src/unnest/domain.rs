//! The values that an outer query hands to a subquery, carried through the subquery's plan.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, NullEquality, Result, TableReference};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{Distinct, FetchType, SkipType};
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, Projection,
    SortExpr, SubqueryAlias, Union, Window, binary_expr, lit, when,
};

use super::references::{rebind, references};

/// Different values of columns of an outer query.
pub(super) struct Domain<'a> {
    /// The outer query, which has them.
    outer: &'a LogicalPlan,
    columns: Vec<Column>,
    /// Relations that were named so far.
    names: &'a mut usize,
}

/// A plan that has the columns of a domain, too, and what they are qualified with.
struct Carrying {
    plan: LogicalPlan,
    domain: TableReference,
}

impl<'a> Domain<'a> {
    pub(super) fn new(outer: &'a LogicalPlan, columns: Vec<Column>, names: &'a mut usize) -> Self {
        Self { outer, columns, names }
    }

    /// Joins a scalar subquery, which has at most one row for each of the values, to a plan with
    /// the columns of the outer query. Returns the column with its value, too; `None` for a
    /// subquery that is not understood.
    pub(super) fn join(
        &mut self,
        onto: LogicalPlan,
        query: &LogicalPlan,
    ) -> Result<Option<(LogicalPlan, Column)>> {
        let [value] = &query.schema().columns()[..] else { return Ok(None) };
        let Some(Carrying { plan, domain }) = self.carry(query)? else { return Ok(None) };
        let relation = self.name();
        let mut items =
            vec![Expr::Column(value.clone()).alias_qualified(Some(relation.clone()), "value")];
        let keys = self.keys(&domain);
        items.extend(keys.iter().cloned().map(Expr::Column));
        let plan = LogicalPlanBuilder::from(plan).project(items)?.build()?;
        let joined = LogicalPlanBuilder::from(onto)
            .join_detailed(
                plan,
                JoinType::Left,
                (self.columns.clone(), keys),
                None,
                NullEquality::NullEqualsNull,
            )?
            .build()?;
        Ok(Some((joined, Column::new(Some(relation), "value"))))
    }

    /// Makes an ordinary join of one whose right side is `query`, which has any number of rows for
    /// each of the values. `None` for a query that is not understood.
    pub(super) fn join_rows(
        &mut self,
        join: &Join,
        query: &LogicalPlan,
    ) -> Result<Option<LogicalPlan>> {
        let Some(Carrying { plan, domain }) = self.carry(query)? else { return Ok(None) };
        let keys = self.keys(&domain);
        let renamed = join.right.schema().columns().into_iter().zip(query.schema().columns());
        let mut items: Vec<Expr> = renamed
            .map(|(new, old)| Expr::Column(old).alias_qualified(new.relation, new.name))
            .collect();
        items.extend(keys.iter().cloned().map(Expr::Column));
        let plan = LogicalPlanBuilder::from(plan).project(items)?.build()?;
        let on = (self.columns.clone(), keys);
        let condition = join.filter.clone();
        let kept = join.schema.columns().into_iter().map(Expr::Column);
        LogicalPlanBuilder::from(join.left.as_ref().clone())
            .join_detailed(plan, join.join_type, on, condition, NullEquality::NullEqualsNull)?
            .project(kept)?
            .build()
            .map(Some)
    }

    fn name(&mut self) -> TableReference {
        *self.names += 1;
        TableReference::bare(format!("nacre outer {}", self.names))
    }

    fn keys(&self, domain: &TableReference) -> Vec<Column> {
        let key = |number| Column::new(Some(domain.clone()), format!("key {number}"));
        (0..self.columns.len()).map(key).collect()
    }

    /// Returns the values alone.
    fn values(&mut self) -> Result<Carrying> {
        let domain = self.name();
        let columns = self.columns.iter().zip(self.keys(&domain));
        let items: Vec<Expr> = columns
            .map(|(column, key)| {
                Expr::Column(column.clone()).alias_qualified(Some(domain.clone()), key.name)
            })
            .collect();
        let plan =
            LogicalPlanBuilder::from(self.outer.clone()).project(items)?.distinct()?.build()?;
        Ok(Carrying { plan, domain })
    }

    /// Replaces columns of the outer query by those of the domain; names stay.
    fn bind(&self, plan: &LogicalPlan, expr: Expr, domain: &TableReference) -> Result<Expr> {
        let name = NamePreserver::new(plan).save(&expr);
        let keys = self.keys(domain);
        let expr = rebind(plan, expr, &|part| match part {
            Expr::OuterReferenceColumn(field, column) => {
                let number = self.columns.iter().position(|outer| outer == column)?;
                let key = &keys[number];
                let field = field.as_ref().clone().with_name(&key.name).with_nullable(true);
                Some(Expr::OuterReferenceColumn(Arc::new(field), key.clone()))
            }
            _ => None,
        })?;
        let bound = expr.transform(|part| match part {
            Expr::OuterReferenceColumn(field, column) => {
                match self.columns.iter().position(|outer| *outer == column) {
                    Some(number) => Ok(Transformed::yes(Expr::Column(keys[number].clone()))),
                    None => Ok(Transformed::no(Expr::OuterReferenceColumn(field, column))),
                }
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(name.restore(bound.data))
    }

    fn bind_all(
        &self,
        plan: &LogicalPlan,
        exprs: &[Expr],
        domain: &TableReference,
    ) -> Result<Vec<Expr>> {
        exprs.iter().map(|expr| self.bind(plan, expr.clone(), domain)).collect()
    }

    fn key_exprs(&self, domain: &TableReference) -> impl Iterator<Item = Expr> {
        self.keys(domain).into_iter().map(Expr::Column)
    }

    /// Returns what `plan` computes, for each of the values.
    fn carry(&mut self, plan: &LogicalPlan) -> Result<Option<Carrying>> {
        if references(plan)?.is_empty() {
            let Carrying { plan: values, domain } = self.values()?;
            let plan = LogicalPlanBuilder::from(values).cross_join(plan.clone())?.build()?;
            return Ok(Some(Carrying { plan, domain }));
        }
        match plan {
            LogicalPlan::Filter(filter) => {
                let Some(input) = self.carry(&filter.input)? else { return Ok(None) };
                let condition = self.bind(plan, filter.predicate.clone(), &input.domain)?;
                let built = LogicalPlanBuilder::from(input.plan).filter(condition)?.build()?;
                Ok(Some(Carrying { plan: built, domain: input.domain }))
            }
            LogicalPlan::Projection(projection) => {
                let Some(input) = self.carry(&projection.input)? else { return Ok(None) };
                self.project(plan, projection, input).map(Some)
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let Some(input) = self.carry(&alias.input)? else { return Ok(None) };
                self.rename(alias, input).map(Some)
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let Some(input) = self.carry(input)? else { return Ok(None) };
                let built = LogicalPlanBuilder::from(input.plan).distinct()?.build()?;
                Ok(Some(Carrying { plan: built, domain: input.domain }))
            }
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.carry(&sort.input),
            LogicalPlan::Limit(_) => self.limit(plan),
            LogicalPlan::Aggregate(_) => self.aggregate(plan),
            LogicalPlan::Window(window) => self.window(plan, window),
            LogicalPlan::Join(join) => self.join_of(plan, join),
            LogicalPlan::Union(union) => self.union(union),
            _ => Ok(None),
        }
    }

    fn project(
        &self,
        plan: &LogicalPlan,
        projection: &Projection,
        input: Carrying,
    ) -> Result<Carrying> {
        let Carrying { plan: input, domain } = input;
        let mut exprs = self.bind_all(plan, &projection.expr, &domain)?;
        exprs.extend(self.key_exprs(&domain));
        let built = Projection::try_new(exprs, Arc::new(input)).map(LogicalPlan::Projection)?;
        Ok(Carrying { plan: built, domain })
    }

    /// Gives the columns that an alias names these names, and leaves those of the domain.
    fn rename(&self, alias: &SubqueryAlias, input: Carrying) -> Result<Carrying> {
        let Carrying { plan: input, domain } = input;
        let renamed = alias.schema.columns().into_iter().zip(alias.input.schema().columns());
        let mut items: Vec<Expr> = renamed
            .map(|(new, old)| Expr::Column(old).alias_qualified(new.relation, new.name))
            .collect();
        items.extend(self.key_exprs(&domain));
        let built = LogicalPlanBuilder::from(input).project(items)?.build()?;
        Ok(Carrying { plan: built, domain })
    }

    /// Numbers the rows for each of the values.
    fn limit(&mut self, plan: &LogicalPlan) -> Result<Option<Carrying>> {
        let LogicalPlan::Limit(limit) = plan else { return Ok(None) };
        let (SkipType::Literal(skip), FetchType::Literal(fetch)) =
            (limit.get_skip_type()?, limit.get_fetch_type()?)
        else {
            return Ok(None);
        };
        // Below a projection is what the rows are sorted by.
        let (above, below) = match limit.input.as_ref() {
            LogicalPlan::Projection(projection) => (Some(projection), &projection.input),
            _ => (None, &limit.input),
        };
        let (order, input): (Vec<SortExpr>, _) = match below.as_ref() {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => (sort.expr.clone(), &sort.input),
            _ => (Vec::new(), below),
        };
        let Some(Carrying { plan: carried, domain }) = self.carry(input)? else { return Ok(None) };
        let bind = |key: SortExpr| -> Result<SortExpr> {
            let expr = self.bind(below, key.expr.clone(), &domain)?;
            Ok(SortExpr { expr, ..key })
        };
        let order = order.into_iter().map(bind).collect::<Result<Vec<_>>>()?;
        let partition = self.key_exprs(&domain).collect();
        let number = match order.is_empty() {
            true => row_number().partition_by(partition).build()?,
            false => row_number().partition_by(partition).order_by(order).build()?,
        };
        let kept: Vec<Expr> = carried.schema().columns().into_iter().map(Expr::Column).collect();
        let place = Expr::Column(Column::from_name(number.schema_name().to_string()));
        let mut wanted = place.clone().gt(lit(skip as u64));
        if let Some(fetch) = fetch {
            wanted = wanted.and(place.lt_eq(lit(skip.saturating_add(fetch) as u64)));
        }
        let plan = LogicalPlanBuilder::from(carried)
            .window(vec![number])?
            .filter(wanted)?
            .project(kept)?
            .build()?;
        let limited = Carrying { plan, domain };
        match above {
            Some(projection) => self.project(&limit.input, projection, limited).map(Some),
            None => Ok(Some(limited)),
        }
    }

    /// Gives each of the values windows of its own.
    fn window(&mut self, plan: &LogicalPlan, window: &Window) -> Result<Option<Carrying>> {
        let Some(Carrying { plan: input, domain }) = self.carry(&window.input)? else {
            return Ok(None);
        };
        let names = NamePreserver::new_for_projection();
        let partitioned = |expr: &Expr| -> Result<Expr> {
            let name = names.save(expr);
            let bound = self.bind(plan, expr.clone(), &domain)?.transform(|part| match part {
                Expr::WindowFunction(mut function) => {
                    function.params.partition_by.extend(self.key_exprs(&domain));
                    Ok(Transformed::yes(Expr::WindowFunction(function)))
                }
                other => Ok(Transformed::no(other)),
            })?;
            Ok(name.restore(bound.data))
        };
        let exprs = window.window_expr.iter().map(partitioned).collect::<Result<Vec<_>>>()?;
        let built = LogicalPlanBuilder::from(input).window(exprs)?.build()?;
        Ok(Some(Carrying { plan: built, domain }))
    }

    fn aggregate(&mut self, plan: &LogicalPlan) -> Result<Option<Carrying>> {
        let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(None) };
        if aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
            return Ok(None);
        }
        let Some(Carrying { plan: input, domain }) = self.carry(&aggregate.input)? else {
            return Ok(None);
        };
        let mut groups = self.bind_all(plan, &aggregate.group_expr, &domain)?;
        groups.extend(self.key_exprs(&domain));
        let computed = self.bind_all(plan, &aggregate.aggr_expr, &domain)?;
        let grouped = LogicalPlanBuilder::from(input).aggregate(groups, computed)?.build()?;
        if !aggregate.group_expr.is_empty() {
            return Ok(Some(Carrying { plan: grouped, domain }));
        }
        // There is a row for values without any, too.
        let Carrying { plan: values, domain: all } = self.values()?;
        let keys = (self.keys(&all), self.keys(&domain));
        let joined = LogicalPlanBuilder::from(values)
            .join_detailed(grouped, JoinType::Left, keys, None, NullEquality::NullEqualsNull)?
            .build()?;
        let mut items = Vec::with_capacity(aggregate.aggr_expr.len() + self.columns.len());
        let outputs = plan.schema().iter().zip(&aggregate.aggr_expr);
        for ((relation, field), expr) in outputs {
            let column = Expr::Column(Column::new(relation.cloned(), field.name()));
            let Expr::AggregateFunction(call) = expr.clone().unalias_nested().data else {
                return Ok(None);
            };
            let empty = call.func.default_value(field.data_type())?;
            let value = match empty.is_null() {
                true => column,
                false => {
                    let value = when(column.clone().is_null(), lit(empty)).otherwise(column)?;
                    value.alias_qualified(relation.cloned(), field.name())
                }
            };
            items.push(value);
        }
        items.extend(self.key_exprs(&all));
        let plan = LogicalPlanBuilder::from(joined).project(items)?.build()?;
        Ok(Some(Carrying { plan, domain: all }))
    }

    /// Each part carries the values, in columns of the same names.
    fn union(&mut self, union: &Union) -> Result<Option<Carrying>> {
        let domain = self.name();
        let mut parts = Vec::with_capacity(union.inputs.len());
        for input in &union.inputs {
            let Some(carried) = self.carry(input)? else { return Ok(None) };
            let outputs = union.schema.columns().into_iter().zip(input.schema().columns());
            let mut items: Vec<Expr> = outputs
                .map(|(new, old)| Expr::Column(old).alias_qualified(new.relation, new.name))
                .collect();
            let keys = self.keys(&carried.domain).into_iter().zip(self.keys(&domain));
            items.extend(
                keys.map(|(old, new)| Expr::Column(old).alias_qualified(new.relation, new.name)),
            );
            parts.push(Arc::new(LogicalPlanBuilder::from(carried.plan).project(items)?.build()?));
        }
        let Some(first) = parts.first() else { return Ok(None) };
        let schema = Arc::clone(first.schema());
        let outputs: Vec<Column> = schema.columns();
        let made = LogicalPlan::Union(Union::try_new_with_loose_types(parts)?);
        // A union's columns belong to no table.
        let named = made.schema().columns().into_iter().zip(outputs);
        let kept: Vec<Expr> = named
            .map(|(old, new)| Expr::Column(old).alias_qualified(new.relation, new.name))
            .collect();
        let plan = LogicalPlanBuilder::from(made).project(kept)?.build()?;
        Ok(Some(Carrying { plan, domain }))
    }

    /// Both sides carry the values where both need them, and are paired by them, too.
    fn join_of(&mut self, plan: &LogicalPlan, join: &Join) -> Result<Option<Carrying>> {
        let refers = |side: &LogicalPlan| references(side).map(|found| !found.is_empty());
        let (in_left, in_right) = match join.join_type {
            JoinType::Inner => {
                let in_right = refers(&join.right)?;
                (refers(&join.left)? || !in_right, in_right)
            }
            JoinType::Left => (true, refers(&join.right)?),
            JoinType::Right => (refers(&join.left)?, true),
            _ => return Ok(None),
        };
        let left = if in_left { self.carry(&join.left)? } else { None };
        let right = if in_right { self.carry(&join.right)? } else { None };
        if left.is_none() && in_left || right.is_none() && in_right {
            return Ok(None);
        }
        let preserved = if join.join_type == JoinType::Right { &right } else { &left };
        let found = preserved.as_ref().or(left.as_ref()).or(right.as_ref());
        let Some(domain) = found.map(|side| side.domain.clone()) else { return Ok(None) };
        let mut conditions = Vec::new();
        for (one, other) in &join.on {
            let (one, other) = (one.clone(), other.clone());
            let equal = one.eq(other);
            conditions.push(self.bind(plan, equal, &domain)?);
        }
        if let Some(filter) = &join.filter {
            conditions.push(self.bind(plan, filter.clone(), &domain)?);
        }
        if let (Some(left), Some(right)) = (&left, &right) {
            let pairs = self.keys(&left.domain).into_iter().zip(self.keys(&right.domain));
            conditions.extend(pairs.map(|(one, other)| {
                let op = Operator::IsNotDistinctFrom;
                binary_expr(Expr::Column(one), op, Expr::Column(other))
            }));
        }
        if join.null_equality == NullEquality::NullEqualsNull {
            return Ok(None);
        }
        let side = |carried: Option<Carrying>, plain: &Arc<LogicalPlan>| match carried {
            Some(carried) => carried.plan,
            None => plain.as_ref().clone(),
        };
        let (left, right) = (side(left, &join.left), side(right, &join.right));
        let joined =
            LogicalPlanBuilder::from(left).join_on(right, join.join_type, conditions)?.build()?;
        // Others find the columns that the join had, and those of one domain.
        let mut kept: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
        kept.extend(self.key_exprs(&domain));
        let plan = LogicalPlanBuilder::from(joined).project(kept)?.build()?;
        Ok(Some(Carrying { plan, domain }))
    }
}
