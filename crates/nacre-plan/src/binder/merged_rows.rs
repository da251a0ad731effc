//! MERGE: the query for pairs of a source's row and one of the relation that is changed, or none.
//!
//! ```text
//! merge into t using s on t.a = s.a when matched and s.b > 0 then update set b = s.b
//!                                   when not matched then insert values (s.a, s.b)
//! row id, clause, case when clause = 0 then s.b end, case when clause = 1 then s.a end, ...
//!     <- Compute [case when row id is not null and s.b > 0 then 0 when row id is null then 1 end]
//!     <- Left join <- s, Scan t [row id, a, b]
//! ```
//!
//! # Invariants
//! 1. The first output is the id of a row, or null; the second one the number of the clause that
//!    applies, or null.
//! 2. What may fail is computed for the pairs of its clause alone.

use std::sync::Arc;

use nacre_syntax::{
    ColumnTarget, ExpressionKind, ExpressionNode, MergeAction, MergeClause, MergeStatement,
    OverridingKind, SetAssignment, SourceRange,
};
use nacre_types::{SqlType, SqlValue, ValueSettings};

use super::changed_rows::{BoundAssignment, ChangedColumn};
use super::expressions::ExpressionPlace;
use super::inserted_rows::{inserted_columns, require_count};
use super::joins::{join, side_by_side};
use super::scope::{Scope, ScopeTable};
use super::subqueries::BoundQuery;
use super::subquery_joins::has_subquery;
use super::{Binder, bind_sharing_queries};
use crate::algebra::conjuncts::{split_conjunction, with_computed};
use crate::algebra::{
    CaseArm, ComputedColumn, JoinVariant, OutputColumn, QueryPlan, RelationalOperator,
    ScalarExpression, ScalarKind,
};
use crate::definition::{RelationCatalog, RelationDefinition};
use crate::error::BindError;
use crate::properties::never_fails;

/// What MERGE changes.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedRows {
    pub relation: Arc<RelationDefinition>,
    pub query: QueryPlan,
    pub clauses: Vec<MergedClause>,
}

/// What a clause of MERGE does with its pairs.
#[derive(Clone, Debug, PartialEq)]
pub enum MergedClause {
    Nothing,
    Delete,
    Update {
        /// What SET names, in its order; then, if whole rows are wanted, all other columns.
        columns: Vec<ChangedColumn>,
        /// How many SET names.
        assigned: usize,
    },
    /// All columns.
    Insert(Vec<ChangedColumn>),
}

/// Binds MERGE; `has_whole_rows` has updates give the columns that SET does not name. `declared`
/// are types of parameters, as for [`super::bind_parameterized`].
///
/// # Errors
/// What PostgreSQL refuses, and 0A000 for what is not there yet.
pub fn bind_merged_rows(
    catalog: &dyn RelationCatalog,
    settings: &ValueSettings,
    merge: &MergeStatement,
    has_whole_rows: bool,
    declared: &[Option<SqlType>],
) -> Result<MergedRows, BindError> {
    if !merge.returning.is_empty() {
        return Err(BindError::not_supported("RETURNING of MERGE", merge.range));
    }
    let bind = |binder: &mut Binder<'_>| {
        binder.bind_change(merge.with.as_ref(), |binder| {
            binder.bind_merge_clauses(merge, has_whole_rows)
        })
    };
    let (query, (relation, clauses)) = bind_sharing_queries(catalog, settings, declared, bind)?;
    Ok(MergedRows { relation, query, clauses })
}

type BoundMerge = (Arc<RelationDefinition>, Vec<MergedClause>);

/// What the clauses of MERGE see.
struct MergedPairs {
    relation: Arc<RelationDefinition>,
    /// The columns of the relation.
    own: Scope,
    /// Those of a pair.
    both: Scope,
    /// Those of the source.
    source: Scope,
    /// The number of the clause.
    chosen: ScalarExpression,
}

/// An output of the query.
enum MergedOutput {
    Column(OutputColumn),
    Value(String, ScalarExpression),
}

impl Binder<'_> {
    fn bind_merge_clauses(
        &mut self,
        merge: &MergeStatement,
        has_whole_rows: bool,
    ) -> Result<(BoundQuery, BoundMerge), BindError> {
        let (mut root, mut pairs, id) = self.bind_pairs(merge)?;
        let row =
            ScalarExpression::new(ScalarKind::Column(id.column), SqlType::BIGINT, merge.range);
        pairs.chosen = self.bind_choice(&merge.clauses, &pairs, &row)?;
        root = self.join_subqueries(root, vec![&mut pairs.chosen])?;
        let (sql_type, range) = (SqlType::INTEGER, merge.range);
        let column = self.add_query_column("clause", sql_type, range)?;
        let chosen = ScalarExpression::new(ScalarKind::Column(column), sql_type, range);
        let value = std::mem::replace(&mut pairs.chosen, chosen);
        root = with_computed(root, vec![ComputedColumn { column, value }]);
        let clause = OutputColumn { name: "clause".to_owned(), column, sql_type };
        let mut outputs = vec![MergedOutput::Column(id), MergedOutput::Column(clause)];
        let mut clauses = Vec::with_capacity(merge.clauses.len());
        for (number, clause) in (0..).zip(&merge.clauses) {
            let first = outputs.len();
            clauses.push(match &clause.action {
                MergeAction::Nothing => MergedClause::Nothing,
                MergeAction::Delete => MergedClause::Delete,
                MergeAction::Update(assignments) => {
                    self.bind_merged_update(&pairs, assignments, has_whole_rows, &mut outputs)?
                }
                MergeAction::Insert { columns, overriding, values } => {
                    if *overriding == Some(OverridingKind::User) {
                        let what = "OVERRIDING USER VALUE";
                        return Err(BindError::not_supported(what, clause.range));
                    }
                    let values = values.as_deref();
                    self.bind_merged_insert(&pairs, columns, (values, clause.range), &mut outputs)?
                }
            });
            for output in outputs[first..].iter_mut() {
                self.guard_output(output, &pairs.chosen, number)?;
            }
        }
        let values = outputs.iter_mut().filter_map(MergedOutput::value_mut).collect();
        root = self.join_subqueries(root, values)?;
        let mut computed = Vec::new();
        let outputs = outputs.into_iter().map(|output| match output {
            MergedOutput::Column(column) => column,
            MergedOutput::Value(name, value) => {
                let sql_type = value.sql_type;
                let column = self.column_of(&name, value, &mut computed);
                OutputColumn { name, column, sql_type }
            }
        });
        let outputs = outputs.collect();
        Ok(((with_computed(root, computed), outputs), (pairs.relation, clauses)))
    }

    /// Joins the source to the relation; returns the output that is the id of a row, too.
    fn bind_pairs(
        &mut self,
        merge: &MergeStatement,
    ) -> Result<(RelationalOperator, MergedPairs, OutputColumn), BindError> {
        let table = &merge.table.name;
        let relation = self.find_changed_relation(table)?;
        let (target, id) = self.scan_with_row_ids(&relation, table, merge.alias.as_ref())?;
        let (target, own) = target;
        let outer = self.out_of_reach.len();
        self.out_of_reach.extend(own.tables.iter().map(|table| table.name.clone()));
        let bound = self.bind_from(std::slice::from_ref(&merge.source));
        let hidden = self.out_of_reach.split_off(outer);
        let (from, mut source) = bound?;
        source.out_of_reach.extend(hidden);
        let has_inserts = merge.clauses.iter().any(|clause| !clause.is_matched);
        let variant = if has_inserts { JoinVariant::Left } else { JoinVariant::Inner };
        if has_inserts {
            self.make_nullable(&own);
            self.columns.make_nullable(id.column);
        }
        let is_same = |one: &&ScopeTable| own.tables.iter().any(|table| table.name == one.name);
        if let Some(same) = source.tables.iter().find(is_same) {
            let message = format!("name \"{}\" specified more than once", same.name);
            let detail = "The name is used both as MERGE target table and data source.";
            return Err(BindError::new("42712", message, merge.source.range).with_detail(detail));
        }
        let mut visible = source.clone();
        visible.out_of_reach.clear();
        let both = side_by_side(own.clone(), visible, merge.source.range)?;
        let condition =
            self.bind(&merge.condition, ExpressionPlace::new(&both, "JOIN conditions"))?;
        let condition = Some(self.coerce_to_boolean(condition, "JOIN/ON")?);
        let condition = self.fold_join_condition(variant, condition, [&from, &target]);
        let root = match condition {
            Some(condition) if has_subquery(&condition) && !has_inserts => {
                self.filter_rows(join(variant, from, target, None), condition)?
            }
            Some(mut condition) if has_subquery(&condition) => {
                let [from, target] = self.join_queries_of_on([from, target], &mut condition)?;
                join(variant, from, target, Some(condition))
            }
            condition => join(variant, from, target, condition),
        };
        let chosen = ScalarExpression::constant(SqlValue::Null, SqlType::INTEGER, merge.range);
        Ok((root, MergedPairs { relation, own, both, source, chosen }, id))
    }

    /// Returns the number of the first clause that applies to a pair.
    fn bind_choice(
        &mut self,
        clauses: &[MergeClause],
        pairs: &MergedPairs,
        row: &ScalarExpression,
    ) -> Result<ScalarExpression, BindError> {
        let mut arms = Vec::with_capacity(clauses.len());
        // By whether a row was matched: whether a clause takes all pairs that come to it.
        let mut takes_all = [false; 2];
        for (number, clause) in (0..).zip(clauses) {
            let MergeClause { is_matched, condition, range, .. } = clause;
            let takes_all = &mut takes_all[usize::from(*is_matched)];
            if *takes_all {
                let message = "unreachable WHEN clause specified after unconditional WHEN clause";
                return Err(BindError::new("42601", message, *range));
            }
            *takes_all = condition.is_none();
            let boolean = |kind| ScalarExpression::new(kind, SqlType::BOOLEAN, *range);
            let mut test = boolean(ScalarKind::IsNull(Box::new(row.clone())));
            if *is_matched {
                test = boolean(ScalarKind::Not(Box::new(test)));
            }
            if let Some(condition) = condition {
                let scope = if *is_matched { &pairs.both } else { &pairs.source };
                let place = ExpressionPlace::new(scope, "MERGE WHEN conditions");
                let condition = self.bind(condition, place)?;
                let condition = ending_condition(self.coerce_to_boolean(condition, "WHEN")?);
                test = boolean(ScalarKind::And(vec![test, condition]));
            }
            arms.push(CaseArm { condition: test, result: integer(number, *range) });
        }
        let kind = ScalarKind::Case { arms, otherwise: None };
        Ok(ScalarExpression::new(kind, SqlType::INTEGER, row.range))
    }

    fn bind_merged_update(
        &mut self,
        pairs: &MergedPairs,
        assignments: &[SetAssignment],
        has_whole_rows: bool,
        outputs: &mut Vec<MergedOutput>,
    ) -> Result<MergedClause, BindError> {
        let (mut bound, mut queries) = (Vec::new(), Vec::new());
        for assignment in assignments {
            let rows = (&*pairs.relation, &pairs.both);
            self.bind_assignment(rows, assignment, &mut bound, &mut queries)?;
            if !queries.is_empty() {
                let what = "assignments of queries to several columns in MERGE";
                return Err(BindError::not_supported(what, assignment.value.range));
            }
        }
        let assigned = bound.len();
        let mut columns = Vec::with_capacity(assigned);
        for BoundAssignment { position, value } in bound {
            let output = value.map(|value| {
                let name = pairs.relation.columns[position].name.clone();
                outputs.push(MergedOutput::Value(name, value));
                outputs.len() - 1
            });
            columns.push(ChangedColumn { position, output, is_default: None });
        }
        if has_whole_rows {
            for (position, column) in pairs.own.columns.iter().enumerate() {
                if columns.iter().any(|one| one.position == position) {
                    continue;
                }
                outputs.push(MergedOutput::Value(column.name.to_string(), column.value.clone()));
                let output = Some(outputs.len() - 1);
                columns.push(ChangedColumn { position, output, is_default: None });
            }
        }
        Ok(MergedClause::Update { columns, assigned })
    }

    fn bind_merged_insert(
        &mut self,
        pairs: &MergedPairs,
        names: &[ColumnTarget],
        (values, range): (Option<&[ExpressionNode]>, SourceRange),
        outputs: &mut Vec<MergedOutput>,
    ) -> Result<MergedClause, BindError> {
        let targets = inserted_columns(&pairs.relation, names)?;
        let values = values.unwrap_or_default();
        require_count(&targets, names, values.len(), range)?;
        let place = ExpressionPlace::new(&pairs.source, "VALUES");
        let column = |position| ChangedColumn { position, output: None, is_default: None };
        let mut columns: Vec<ChangedColumn> =
            (0..pairs.relation.columns.len()).map(column).collect();
        for (position, node) in targets.iter().zip(values) {
            if node.kind == ExpressionKind::Default {
                continue;
            }
            let column = &pairs.relation.columns[*position];
            let value = self.bind(node, place)?;
            let value = self.assign(value, column)?;
            outputs.push(MergedOutput::Value(column.name.clone(), value));
            columns[*position].output = Some(outputs.len() - 1);
        }
        Ok(MergedClause::Insert(columns))
    }

    /// Has a value be computed only where `chosen` is the number of its clause, if it may fail.
    fn guard_output(
        &mut self,
        output: &mut MergedOutput,
        chosen: &ScalarExpression,
        number: i32,
    ) -> Result<(), BindError> {
        let MergedOutput::Value(_, value) = output else { return Ok(()) };
        if never_fails(value) && !has_subquery(value) {
            return Ok(());
        }
        let (sql_type, range) = (value.sql_type, value.range);
        let null = ScalarExpression::constant(SqlValue::Null, sql_type, range);
        let result = std::mem::replace(value, null);
        let operands = vec![chosen.clone(), integer(number, range)];
        let condition = self.apply_operator("=", operands, range)?;
        let kind = ScalarKind::Case { arms: vec![CaseArm { condition, result }], otherwise: None };
        *value = ScalarExpression::new(kind, sql_type, range);
        Ok(())
    }
}

impl MergedOutput {
    fn value_mut(&mut self) -> Option<&mut ScalarExpression> {
        match self {
            Self::Value(_, value) => Some(value),
            Self::Column(_) => None,
        }
    }
}

fn integer(value: i32, range: SourceRange) -> ScalarExpression {
    ScalarExpression::constant(SqlValue::Integer(value), SqlType::INTEGER, range)
}

/// Makes a condition that ends at the first part that is not true: those behind a null may fail.
fn ending_condition(condition: ScalarExpression) -> ScalarExpression {
    let range = condition.range;
    let mut parts = Vec::new();
    split_conjunction(condition, &mut parts);
    let last = parts.pop().unwrap_or_else(|| {
        ScalarExpression::constant(SqlValue::Boolean(true), SqlType::BOOLEAN, range)
    });
    parts.into_iter().rev().fold(last, |result, condition| {
        let kind = if never_fails(&result) && !has_subquery(&result) {
            ScalarKind::And(vec![condition, result])
        } else {
            ScalarKind::Case { arms: vec![CaseArm { condition, result }], otherwise: None }
        };
        ScalarExpression::new(kind, SqlType::BOOLEAN, range)
    })
}
