//! Evaluates the right side of a dependent join for its domain: all combinations of values that
//! its columns of the left side have there. The domain is joined to what depends on it, as far down
//! as it can be, and its columns are handed up.
//!
//! ```text
//! filter               filter (domain x input)
//! join of both         a domain for each side, equal to each other
//! full join            as well; above it the values of either side
//! aggregate            the domain's columns are keys, too; without keys it is joined to a domain
//! window               the domain's columns are keys of its partitions, too
//! limit                a filter on the numbers of rows in each combination
//! ```

use std::collections::HashSet;

use nacre_functions::catalog::functions_named;
use nacre_functions::coercion::CoercionPathway;
use nacre_functions::resolution::resolve_operator;
use nacre_syntax::SourceRange;
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue};

use super::defaults::take_defaults;
use super::lookalikes::with_texts;
use super::{DependentJoin, UnnestingRule, new_column};
use crate::algebra::conjuncts::{conjunction, with_computed, with_filter};
use crate::algebra::{
    BoundWindowCall, BoundWindowFrame, CastStep, ColumnId, ColumnRenaming, ComputedColumn,
    ConstantValue, JoinVariant, QueryColumns, RelationalOperator, ScalarExpression, ScalarKind,
    SetInput, SetVariant, WindowColumn,
};
use crate::properties::{constant_count, has_open_order, never_fails, query_never_fails};

/// Operators that a domain has as they are: it is copied for each part that depends on it. Of
/// larger ones what only leaves out rows is left away; more values do no harm.
const DOMAIN_OPERATORS_WHOLE: usize = 8;
/// Operators that a domain may have.
const DOMAIN_OPERATORS_MAX: usize = 200;
/// Copies of a domain for one join.
const DOMAINS_MAX: usize = 16;

impl DependentJoin {
    /// Joins the left side and the right one, evaluated for the domain, by the domain's columns;
    /// returns a dependent join if there is no way.
    pub(super) fn over_domain(
        mut self,
        columns: &mut QueryColumns,
        rule: UnnestingRule,
    ) -> RelationalOperator {
        let mut keys: Vec<ColumnId> = self.outer.iter().copied().collect();
        keys.sort_unstable();
        self.left = with_texts(self.left, &self.right, &mut keys, columns);
        let source = domain_source(&self.left, &keys, rule);
        let mut pass =
            PushingPass { outer: &self.outer, source, keys, columns, copies: 0, is_ordered: false };
        let pushed = if pass.is_possible() { pass.push(&self.right) } else { None };
        let Some(pushed) = pushed else { return self.into_join() };
        let Some(equal) = pass.equalities(None, &pushed.domain) else { return self.into_join() };
        let Self { variant, left, conditions, above, outer, .. } = self;
        let conditions = conditions.into_iter().chain(equal).collect();
        let join =
            DependentJoin { variant, left, right: pushed.operator, conditions, above, outer };
        join.into_join()
    }
}

struct PushingPass<'p> {
    outer: &'p HashSet<ColumnId>,
    /// What has all values of the domain.
    source: RelationalOperator,
    /// Columns of the left side that the right one has.
    keys: Vec<ColumnId>,
    columns: &'p mut QueryColumns,
    copies: usize,
    /// Whether the order of rows may matter to an operator above.
    is_ordered: bool,
}

/// An operator that is evaluated for a domain, and the columns that have its values.
struct PushedOperator {
    operator: RelationalOperator,
    domain: ColumnRenaming,
}

impl PushingPass<'_> {
    /// Whether the left side has the same rows each time.
    fn is_possible(&self) -> bool {
        !self.source.any_expression(&ScalarExpression::is_volatile_call)
            && !has_open_order(&self.source)
            && count_operators(&self.source) <= DOMAIN_OPERATORS_MAX
    }

    /// Returns the domain, with columns of its own.
    fn domain(&mut self) -> Option<PushedOperator> {
        self.copies += 1;
        if self.copies > DOMAINS_MAX {
            return None;
        }
        let (copy, renaming) = self.source.with_new_columns(self.columns);
        let own = self.keys.iter().map(|key| renaming.get(key).copied());
        let keys: Vec<ColumnId> = own.collect::<Option<_>>()?;
        let domain = self.keys.iter().copied().zip(keys.iter().copied()).collect();
        let (input, aggregates) = (Box::new(copy), Vec::new());
        let operator = RelationalOperator::Aggregate { input, keys, aggregates, is_scalar: false };
        Some(PushedOperator { operator, domain })
    }

    fn is_dependent(&self, operator: &RelationalOperator) -> bool {
        !operator.free_columns().is_disjoint(self.outer)
    }

    /// Evaluates an operator for the domain.
    fn push(&mut self, operator: &RelationalOperator) -> Option<PushedOperator> {
        if !self.is_dependent(operator) {
            let PushedOperator { operator: own, domain } = self.domain()?;
            let operator = join(JoinVariant::Inner, own, operator.clone(), Vec::new());
            return Some(PushedOperator { operator, domain });
        }
        match operator {
            RelationalOperator::Filter { input, condition } => {
                let PushedOperator { operator, domain } = self.push(input)?;
                let condition = renamed(condition, &domain);
                let operator = RelationalOperator::Filter { input: Box::new(operator), condition };
                Some(PushedOperator { operator, domain })
            }
            RelationalOperator::Compute { input, columns } => {
                let PushedOperator { operator, domain } = self.push(input)?;
                let mut columns = columns.clone();
                columns.iter_mut().for_each(|one| one.value.rename(&domain));
                Some(PushedOperator { operator: with_computed(operator, columns), domain })
            }
            RelationalOperator::Expand { input, functions, ordinality } => {
                let PushedOperator { operator, domain } = self.push(input)?;
                let mut functions = functions.clone();
                let arguments = functions.iter_mut().flat_map(|one| &mut one.arguments);
                arguments.for_each(|one| one.rename(&domain));
                let (input, ordinality) = (Box::new(operator), *ordinality);
                let operator = RelationalOperator::Expand { input, functions, ordinality };
                Some(PushedOperator { operator, domain })
            }
            RelationalOperator::Sort { input, keys } if keys.is_empty() => {
                let pushed = self.push(input)?;
                let (input, keys) = (Box::new(pushed.operator), Vec::new());
                let operator = RelationalOperator::Sort { input, keys };
                Some(PushedOperator { operator, ..pushed })
            }
            // Rows of a query within an expression have no order, but where LIMIT takes some.
            RelationalOperator::Sort { input, .. } if !self.is_ordered => self.push(input),
            RelationalOperator::Aggregate { .. } => self.push_aggregate(operator),
            RelationalOperator::Join { variant, left, right, condition } => {
                self.push_join(*variant, [left, right], condition.as_ref())
            }
            RelationalOperator::Values { columns, rows } => self.push_values(columns, rows),
            RelationalOperator::SetOperation { variant, columns, inputs } => {
                self.push_set_operation(*variant, columns, inputs)
            }
            RelationalOperator::Window { input, partition, order, functions } => {
                self.is_ordered = true;
                let PushedOperator { operator, domain } = self.push(input)?;
                let mut window = RelationalOperator::Window {
                    input: Box::new(RelationalOperator::SingleRow),
                    partition: self.with_domain(partition, &domain),
                    order: order.clone(),
                    functions: functions.clone(),
                };
                window.expressions_mut().into_iter().for_each(|one| one.rename(&domain));
                window.inputs_mut().for_each(|own| own.clone_from(&operator));
                Some(PushedOperator { operator: window, domain })
            }
            RelationalOperator::Limit { input, count, offset } => {
                self.push_limit(input, count.as_ref(), offset.as_ref())
            }
            // An empty set has a row of no rows, for each combination.
            RelationalOperator::SingleRow
            | RelationalOperator::Sort { .. }
            | RelationalOperator::Scan { .. }
            | RelationalOperator::Sample { .. }
            | RelationalOperator::CommonScan { .. }
            | RelationalOperator::Series { .. }
            | RelationalOperator::GroupingSets { .. } => None,
        }
    }

    /// Returns columns with those of the domain behind them.
    fn with_domain(&self, columns: &[ColumnId], domain: &ColumnRenaming) -> Vec<ColumnId> {
        let own = columns.iter().map(|one| domain.get(one).copied().unwrap_or(*one));
        own.chain(self.keys.iter().filter_map(|key| domain.get(key).copied())).collect()
    }

    /// Numbers the rows of each combination of the domain, and keeps those that LIMIT would.
    fn push_limit(
        &mut self,
        input: &RelationalOperator,
        count: Option<&ScalarExpression>,
        offset: Option<&ScalarExpression>,
    ) -> Option<PushedOperator> {
        let (below, order) = match input {
            RelationalOperator::Sort { input, keys } => (&**input, keys.clone()),
            other => (other, Vec::new()),
        };
        let offset = offset.map_or(Some(0), constant_count).filter(|offset| *offset >= 0)?;
        let last = match count {
            Some(count) => Some(constant_count(count).filter(|count| *count >= 0)?),
            None => None,
        };
        let last = last.map(|count| offset.saturating_add(count));
        self.is_ordered = true;
        let PushedOperator { operator, domain } = self.push(below)?;
        let number = new_column("row_number", SqlType::BIGINT, self.columns);
        let call = BoundWindowCall {
            function: functions_named("row_number").next()?,
            arguments: Vec::new(),
            filter: None,
            result: SqlType::BIGINT,
        };
        let frame = BoundWindowFrame::default_frame();
        // Sorted rows have all their columns.
        let operator = match order[..] {
            [] => operator,
            _ => RelationalOperator::Sort { input: Box::new(operator), keys: Vec::new() },
        };
        let mut order = order;
        order.iter_mut().for_each(|key| key.value.rename(&domain));
        let numbered = RelationalOperator::Window {
            input: Box::new(operator),
            partition: self.with_domain(&[], &domain),
            order,
            functions: vec![WindowColumn { column: number, call, frame }],
        };
        let mut conditions = vec![compared(number, ">", offset)?];
        if let Some(last) = last {
            conditions.push(compared(number, "<=", last)?);
        }
        Some(PushedOperator { operator: with_filter(numbered, conditions), domain })
    }

    /// Evaluates rows that are written out: the rows of the domain with one of them each, together.
    fn push_values(
        &mut self,
        columns: &[ColumnId],
        rows: &[Vec<ScalarExpression>],
    ) -> Option<PushedOperator> {
        let mut inputs = Vec::with_capacity(rows.len());
        for row in rows {
            let own: Vec<ColumnId> = columns
                .iter()
                .map(|column| self.columns.get(*column).cloned())
                .collect::<Option<Vec<_>>>()?
                .into_iter()
                .map(|column| self.columns.add(column))
                .collect();
            let values = own.iter().zip(row);
            let values = values
                .map(|(column, value)| ComputedColumn { column: *column, value: value.clone() });
            let operator = with_computed(RelationalOperator::SingleRow, values.collect());
            inputs.push(SetInput { operator, columns: own });
        }
        self.push_set_operation(SetVariant::UnionAll, columns, &inputs)
    }

    /// Evaluates all inputs, which hand on the domain's columns, too.
    fn push_set_operation(
        &mut self,
        variant: SetVariant,
        columns: &[ColumnId],
        inputs: &[SetInput],
    ) -> Option<PushedOperator> {
        let mut pushed = Vec::with_capacity(inputs.len());
        for SetInput { operator, columns } in inputs {
            let PushedOperator { operator, domain } = self.push(operator)?;
            let columns = self.with_domain(columns, &domain);
            pushed.push(SetInput { operator, columns });
        }
        let mut columns = columns.to_vec();
        let mut domain = ColumnRenaming::new();
        for key in &self.keys {
            let column = self.columns.get(*key).cloned()?;
            let column = self.columns.add(column);
            columns.push(column);
            domain.insert(*key, column);
        }
        let operator = RelationalOperator::SetOperation { variant, columns, inputs: pushed };
        Some(PushedOperator { operator, domain })
    }

    fn push_aggregate(&mut self, operator: &RelationalOperator) -> Option<PushedOperator> {
        let RelationalOperator::Aggregate { input, keys, aggregates, is_scalar } = operator else {
            return None;
        };
        let PushedOperator { operator: input, domain } = self.push(input)?;
        let all = self.with_domain(keys, &domain);
        let mut aggregates = aggregates.clone();
        let expressions = aggregates.iter_mut().flat_map(|one| one.call.expressions_mut());
        expressions.for_each(|one| one.rename(&domain));
        let defaults = match is_scalar {
            true => take_defaults(&mut aggregates, self.columns),
            false => Vec::new(),
        };
        let input = Box::new(input);
        let grouped =
            RelationalOperator::Aggregate { input, keys: all, aggregates, is_scalar: false };
        if !is_scalar {
            return Some(PushedOperator { operator: grouped, domain });
        }
        let PushedOperator { operator: own, domain: outer } = self.domain()?;
        let equal = self.equalities(Some(&outer), &domain)?;
        let operator = with_computed(join(JoinVariant::Left, own, grouped, equal), defaults);
        Some(PushedOperator { operator, domain: outer })
    }

    fn push_join(
        &mut self,
        variant: JoinVariant,
        [left, right]: [&RelationalOperator; 2],
        condition: Option<&ScalarExpression>,
    ) -> Option<PushedOperator> {
        let is_dependent = [self.is_dependent(left), self.is_dependent(right)];
        match variant {
            JoinVariant::Right => return self.push_right_join([left, right], condition),
            JoinVariant::Full => return self.push_full_join([left, right], condition),
            _ => {}
        }
        // The right side alone, if no row of the left one is kept without it.
        if is_dependent == [false, true] && variant == JoinVariant::Inner {
            let PushedOperator { operator, domain } = self.push(right)?;
            let own = condition.map(|one| renamed(one, &domain));
            let operator = join(variant, left.clone(), operator, own.into_iter().collect());
            return Some(PushedOperator { operator, domain });
        }
        let PushedOperator { operator: left, domain } = self.push(left)?;
        let mut own: Vec<_> = condition.map(|one| renamed(one, &domain)).into_iter().collect();
        let right = self.push_beside(right, &domain, &mut own)?;
        Some(PushedOperator { operator: join(variant, left, right, own), domain })
    }

    /// Evaluates the other side of a join for the domain, if it depends on it, and adds the
    /// conditions that both sides have the same values of it.
    fn push_beside(
        &mut self,
        side: &RelationalOperator,
        domain: &ColumnRenaming,
        conditions: &mut Vec<ScalarExpression>,
    ) -> Option<RelationalOperator> {
        if !self.is_dependent(side) {
            return Some(side.clone());
        }
        let PushedOperator { operator, domain: own } = self.push(side)?;
        conditions.extend(self.equalities(Some(domain), &own)?);
        Some(operator)
    }

    /// Has all rows of the right side, for the domain.
    fn push_right_join(
        &mut self,
        [left, right]: [&RelationalOperator; 2],
        condition: Option<&ScalarExpression>,
    ) -> Option<PushedOperator> {
        let PushedOperator { operator: right, domain } = self.push(right)?;
        let mut own: Vec<_> = condition.map(|one| renamed(one, &domain)).into_iter().collect();
        let left = self.push_beside(left, &domain, &mut own)?;
        Some(PushedOperator { operator: join(JoinVariant::Right, left, right, own), domain })
    }

    /// Evaluates both sides for the domain; a row without a partner has the values of its side.
    fn push_full_join(
        &mut self,
        [left, right]: [&RelationalOperator; 2],
        condition: Option<&ScalarExpression>,
    ) -> Option<PushedOperator> {
        let PushedOperator { operator: left, domain } = self.push(left)?;
        let PushedOperator { operator: right, domain: other } = self.push(right)?;
        let mut own: Vec<_> = condition.map(|one| renamed(one, &domain)).into_iter().collect();
        own.extend(self.equalities(Some(&domain), &other)?);
        let (mut either, mut both) = (Vec::new(), ColumnRenaming::new());
        for key in &self.keys {
            let sql_type = self.columns.get(*key)?.sql_type;
            let column = |of: &ColumnRenaming| {
                let kind = ScalarKind::Column(*of.get(key)?);
                Some(ScalarExpression::new(kind, sql_type, SourceRange::default()))
            };
            let kind = ScalarKind::Coalesce(vec![column(&domain)?, column(&other)?]);
            let value = ScalarExpression::new(kind, sql_type, SourceRange::default());
            let column = new_column("either", sql_type, self.columns);
            either.push(ComputedColumn { column, value });
            both.insert(*key, column);
        }
        let joined = join(JoinVariant::Full, left, right, own);
        Some(PushedOperator { operator: with_computed(joined, either), domain: both })
    }

    /// Returns the conditions that both have the same values, also null; those of the left side of
    /// the join without `one`.
    fn equalities(
        &self,
        one: Option<&ColumnRenaming>,
        other: &ColumnRenaming,
    ) -> Option<Vec<ScalarExpression>> {
        let pair = |key: &ColumnId| {
            let left = one.map_or(Some(*key), |one| one.get(key).copied())?;
            let column = self.columns.get(*key)?;
            same(column.sql_type, left, *other.get(key)?, column.is_nullable)
        };
        self.keys.iter().map(pair).collect()
    }
}

/// Returns the condition that a column of `bigint` compares so with a number.
fn compared(column: ColumnId, symbol: &str, number: i64) -> Option<ScalarExpression> {
    let range = SourceRange::default();
    let bigint = |kind| ScalarExpression::new(kind, SqlType::BIGINT, range);
    let operator = resolve_operator(symbol, &[TypeOid::INT8, TypeOid::INT8]).ok()?.entry;
    let number = ScalarKind::Constant(ConstantValue(SqlValue::BigInt(number)));
    let operands = vec![bigint(ScalarKind::Column(column)), bigint(number)];
    Some(ScalarExpression::new(
        ScalarKind::Operator { operator, operands },
        SqlType::BOOLEAN,
        range,
    ))
}

/// Returns the condition that two columns have the same value.
fn same(
    sql_type: SqlType,
    left: ColumnId,
    right: ColumnId,
    is_nullable: bool,
) -> Option<ScalarExpression> {
    let range = SourceRange::default();
    let boolean = |kind| ScalarExpression::new(kind, SqlType::BOOLEAN, range);
    let operator = resolve_operator("=", &[sql_type.oid(), sql_type.oid()]).ok()?.entry;
    let compared = SqlType::new(operator.right);
    let operand = |column: ColumnId| {
        let own = ScalarExpression::new(ScalarKind::Column(column), sql_type, range);
        // Arrays are compared by the operator of any arrays.
        if compared.oid() == sql_type.oid() || compared.is_pseudo() {
            return own;
        }
        let method = CastStep::Type(CoercionPathway::Same);
        ScalarExpression::new(ScalarKind::Cast { operand: Box::new(own), method }, compared, range)
    };
    let operands = vec![operand(left), operand(right)];
    Some(match is_nullable {
        false => boolean(ScalarKind::Operator { operator, operands }),
        true => {
            let distinct = boolean(ScalarKind::IsDistinct { operator, operands });
            boolean(ScalarKind::Not(Box::new(distinct)))
        }
    })
}

/// Returns a part of an operator that has all values of `keys` that it has.
fn domain_source(
    operator: &RelationalOperator,
    keys: &[ColumnId],
    rule: UnnestingRule,
) -> RelationalOperator {
    if count_operators(operator) <= DOMAIN_OPERATORS_WHOLE && !has_open_order(operator) {
        return operator.clone();
    }
    let has_all = |operator: &RelationalOperator, columns: &HashSet<ColumnId>| {
        let mut made = HashSet::new();
        operator.collect_made_columns(&mut made);
        columns.is_subset(&made)
    };
    let keys_of = |operator| has_all(operator, &keys.iter().copied().collect());
    match operator {
        RelationalOperator::Filter { input, condition } => {
            let input = domain_source(input, keys, rule);
            let mut used = HashSet::new();
            condition.collect_columns(&mut used);
            // What may fail does so for rows that a part left away has kept from it.
            if never_fails(condition) && has_all(&input, &used) {
                with_filter(input, vec![condition.clone()])
            } else {
                input
            }
        }
        RelationalOperator::Compute { input, .. } | RelationalOperator::Sort { input, .. }
            if keys_of(input) =>
        {
            domain_source(input, keys, rule)
        }
        RelationalOperator::Join { variant, left, .. }
            if !variant.keeps_right() && *variant != JoinVariant::Inner && keys_of(left) =>
        {
            domain_source(left, keys, rule)
        }
        RelationalOperator::Join { variant: JoinVariant::Inner, left, right, .. } => {
            match (keys_of(left), keys_of(right)) {
                (true, _) => domain_source(left, keys, rule),
                (false, true) => domain_source(right, keys, rule),
                (false, false) => operator.clone(),
            }
        }
        // Which rows these choose is open: the domain has the values of all.
        RelationalOperator::Limit { input, .. }
        | RelationalOperator::Sample { input, .. }
        | RelationalOperator::Window { input, .. }
            if rule == UnnestingRule::AnyRows && keys_of(input) =>
        {
            let source = domain_source(input, keys, rule);
            if query_never_fails(&source) { source } else { operator.clone() }
        }
        _ => operator.clone(),
    }
}

fn join(
    variant: JoinVariant,
    left: RelationalOperator,
    right: RelationalOperator,
    conditions: Vec<ScalarExpression>,
) -> RelationalOperator {
    let (left, right) = (Box::new(left), Box::new(right));
    RelationalOperator::Join { variant, left, right, condition: conjunction(conditions) }
}

fn renamed(expression: &ScalarExpression, renaming: &ColumnRenaming) -> ScalarExpression {
    let mut expression = expression.clone();
    expression.rename(renaming);
    expression
}

fn count_operators(operator: &RelationalOperator) -> usize {
    1 + operator.inputs().map(count_operators).sum::<usize>()
}
