//! How many rows an operator is expected to have. Never less than 1, never more than
//! [`ROWS_MAX`], so that costs are always numbers.

use std::sync::Arc;

use nacre_types::SqlValue;
use nacre_types::catalog::TypeOid;

use super::dependent_columns::determining_keys;
use super::selectivity::{
    ColumnProfile, ColumnProfiles, axis_of_value, axis_value, damped_product,
};
use super::spread::ValueSpread;
use super::statistics::RelationStatistics;
use crate::algebra::conjuncts::conjuncts_of;
use crate::algebra::{
    AggregateColumn, BoundAggregate, ColumnId, ColumnSource, CommonReference, JoinVariant,
    QueryColumns, RelationalOperator, ScalarExpression, ScannedColumn, SetInput, SetVariant,
};
use crate::definition::RelationDefinition;

/// The part of a table that TABLESAMPLE is expected to choose.
const SAMPLED_PART: f64 = 0.1;

/// Rows of a relation up to which values of which nothing is known are taken for different ones.
const ALL_DISTINCT_ROWS: f64 = 100.0;
/// Values that a function of sets is expected to give for a row.
const SET_ROWS: f64 = 10.0;

/// Rows of a relation of which nothing is known.
const ROWS_UNKNOWN: f64 = 1_000.0;
/// The most rows that are expected of anything.
pub(super) const ROWS_MAX: f64 = 1e18;

/// Estimates operators from the bottom up, collecting statistics of their columns.
pub(super) struct RowEstimator<'s> {
    statistics: &'s dyn RelationStatistics,
    columns: &'s QueryColumns,
    profiles: ColumnProfiles,
}

impl<'s> RowEstimator<'s> {
    pub(super) fn new(columns: &'s QueryColumns, statistics: &'s dyn RelationStatistics) -> Self {
        Self { statistics, columns, profiles: ColumnProfiles::default() }
    }

    /// Returns the statistics of the columns of the operators seen.
    pub(super) fn profiles(&self) -> &ColumnProfiles {
        &self.profiles
    }

    /// Estimates an operator other than an inner join from the rows of its inputs.
    pub(super) fn rows(&mut self, operator: &RelationalOperator, inputs: &[f64]) -> f64 {
        let input = inputs.first().copied().unwrap_or(1.0);
        bounded_rows(match operator {
            RelationalOperator::SingleRow => 1.0,
            RelationalOperator::Values { columns, rows } => {
                self.unknown_columns(columns, rows.len() as f64)
            }
            RelationalOperator::Scan { relation, columns } => self.scan(relation, columns),
            RelationalOperator::CommonScan { query, columns } => self.common_scan(query, columns),
            RelationalOperator::Series { arguments, .. } => {
                self.unknown_columns(&operator.own_columns(), series_rows(arguments))
            }
            RelationalOperator::Filter { condition, .. } => {
                input * self.profiles.apply(&conjuncts_of(condition))
            }
            RelationalOperator::Join { variant, condition, .. } => {
                let other = inputs.get(1).copied().unwrap_or(1.0);
                self.join(*variant, [input, other], condition.as_ref())
            }
            RelationalOperator::Expand { .. } => {
                self.unknown_columns(&operator.own_columns(), input * SET_ROWS)
            }
            RelationalOperator::Compute { columns, .. } => {
                for one in columns {
                    let mut profile = unknown_profile(input);
                    profile.spread = self.profiles.spread(&one.value);
                    if let Some(distinct) = self.profiles.distinct(&one.value) {
                        profile.distinct = distinct;
                    }
                    self.profiles.set(one.column, profile);
                }
                input
            }
            RelationalOperator::Aggregate { input: rows, keys, aggregates, .. } => {
                self.aggregate(&determining_keys(rows, keys), aggregates, input)
            }
            RelationalOperator::Window { functions, .. } => {
                for one in functions {
                    self.profiles.set(one.column, unknown_profile(input));
                }
                input
            }
            RelationalOperator::GroupingSets { keys, sets, aggregates, .. } => {
                let source = |index: &usize| keys.get(*index).map(|key| key.source);
                let of_set = |set: &Vec<usize>| set.iter().filter_map(source).collect::<Vec<_>>();
                let rows = sets.iter().map(|set| self.groups(&of_set(set), input)).sum();
                let columns = keys.iter().map(|key| key.column);
                let columns = columns.chain(aggregates.iter().map(|one| one.column));
                columns.for_each(|column| self.profiles.set(column, unknown_profile(rows)));
                rows
            }
            RelationalOperator::Sample { .. } => input * SAMPLED_PART,
            RelationalOperator::Sort { .. } => input,
            RelationalOperator::Limit { count, .. } => limited_rows(count.as_ref(), input),
            RelationalOperator::SetOperation { variant, columns, inputs: all } => {
                let rows = match variant {
                    SetVariant::UnionAll => inputs.iter().sum(),
                    SetVariant::Intersect | SetVariant::IntersectAll => {
                        inputs.iter().copied().fold(input, f64::min)
                    }
                    SetVariant::Except | SetVariant::ExceptAll => input,
                };
                self.set_columns(columns, all, rows);
                rows
            }
        })
    }

    /// Notes columns of a set operation: values of different inputs are taken for different ones.
    fn set_columns(&mut self, columns: &[ColumnId], inputs: &[SetInput], rows: f64) {
        for (index, column) in columns.iter().enumerate() {
            let distinct = inputs
                .iter()
                .filter_map(|input| input.columns.get(index))
                .map(|own| self.profiles.get(*own).map_or(rows, |profile| profile.distinct));
            let distinct = distinct.sum::<f64>().clamp(1.0, rows.max(1.0));
            self.profiles.set(*column, ColumnProfile { distinct, ..unknown_profile(rows) });
        }
    }

    fn scan(&mut self, relation: &RelationDefinition, columns: &[ScannedColumn]) -> f64 {
        let rows = self.relation_rows(relation);
        for ScannedColumn { position, column } in columns {
            let known = self.statistics.column(relation.id, *position);
            let bounds = known.bounds.as_ref().and_then(|(low, high)| {
                let (low, high) = (axis_of_value(low)?, axis_of_value(high)?);
                (low <= high).then_some((low, high))
            });
            let is_key = relation.primary_key[..] == [*position];
            let distinct = match known.distinct_count {
                _ if is_key => rows,
                Some(count) => count as f64,
                None => {
                    let sql_type = relation.columns.get(*position).map(|own| own.sql_type.oid());
                    let values = known.bounds.as_ref().and_then(value_count);
                    guessed_distinct(rows, sql_type, values)
                }
            };
            let is_nullable = self.columns.get(*column).is_none_or(|column| column.is_nullable);
            let guessed_nulls = if is_nullable { 0.01 } else { 0.0 };
            let null_fraction = known.null_fraction.filter(|part| (0.0..=1.0).contains(part));
            self.profiles.set(
                *column,
                ColumnProfile {
                    distinct: distinct.clamp(1.0, rows),
                    null_fraction: null_fraction.unwrap_or(guessed_nulls),
                    bounds,
                    spread: None,
                    quantiles: known.quantiles,
                },
            );
        }
        rows
    }

    /// Notes columns of which nothing is known; returns their rows.
    fn unknown_columns(&mut self, columns: &[ColumnId], rows: f64) -> f64 {
        columns.iter().for_each(|one| self.profiles.set(*one, unknown_profile(rows)));
        rows
    }

    fn common_scan(&mut self, query: &CommonReference, columns: &[ScannedColumn]) -> f64 {
        let rows = bounded_rows(query.rows_expected.unwrap_or(ROWS_UNKNOWN));
        for ScannedColumn { position, column } in columns {
            let of_relation = self.columns.get(*column).and_then(|column| match column.source {
                ColumnSource::Relation { relation, position } => {
                    self.statistics.column(relation, position).distinct_count
                }
                ColumnSource::Computed | ColumnSource::RowCount => None,
            });
            let is_key = query.key.as_deref() == Some(&[*position]);
            let distinct = of_relation.filter(|_| !is_key).map_or(rows, |count| count as f64);
            let distinct = distinct.clamp(1.0, rows);
            self.profiles.set(*column, ColumnProfile { distinct, ..unknown_profile(rows) });
        }
        rows
    }

    /// Returns the rows of a relation, without conditions.
    pub(super) fn relation_rows(&self, relation: &RelationDefinition) -> f64 {
        let rows = self.statistics.row_count(relation.id);
        bounded_rows(rows.map_or(ROWS_UNKNOWN, |rows| rows as f64))
    }

    /// Estimates a join from the rows of its sides.
    pub(super) fn join(
        &self,
        variant: JoinVariant,
        [left, right]: [f64; 2],
        condition: Option<&ScalarExpression>,
    ) -> f64 {
        let conjuncts = condition.map(conjuncts_of).unwrap_or_default();
        let selectivity = self.profiles.of_all(&conjuncts);
        let matched = left * right * selectivity;
        match variant {
            JoinVariant::Semi => return matched.min(left),
            // Half of the rows, if each had a partner.
            JoinVariant::Anti => return (left - matched).max(left / 2.0),
            JoinVariant::Single | JoinVariant::Mark(_) => return left,
            JoinVariant::Inner | JoinVariant::Left | JoinVariant::Right | JoinVariant::Full => {}
        }
        let kept_left = if variant.keeps_left() { left } else { 0.0 };
        let kept_right = if variant.keeps_right() { right } else { 0.0 };
        matched.max(kept_left).max(kept_right)
    }

    /// Estimates groups of so many rows, and notes what is aggregated.
    fn aggregate(&mut self, keys: &[ColumnId], columns: &[AggregateColumn], input: f64) -> f64 {
        let rows = self.groups(keys, input);
        for AggregateColumn { column, call } in columns {
            let spread = self.spread(call, input / rows.max(1.0));
            self.profiles.set(*column, ColumnProfile { spread, ..unknown_profile(rows) });
        }
        rows
    }

    /// Returns how an aggregate of groups of so many rows is spread, if that is known.
    fn spread(&self, call: &BoundAggregate, rows: f64) -> Option<ValueSpread> {
        if call.is_distinct || call.filter.is_some() {
            return None;
        }
        let argument = call.arguments.first().and_then(|argument| self.profiles.spread(argument));
        ValueSpread::of_aggregate(call.function.name, rows, argument)
    }

    fn groups(&self, keys: &[ColumnId], rows: f64) -> f64 {
        let parts = keys.iter().map(|key| {
            let profile = self.profiles.get(*key);
            1.0 / profile.map_or(rows.sqrt(), |profile| profile.distinct).max(1.0)
        });
        (1.0 / damped_product(parts.collect())).min(rows)
    }
}

/// Returns how many rows a LIMIT leaves.
fn limited_rows(count: Option<&ScalarExpression>, rows: f64) -> f64 {
    count.and_then(axis_value).map_or(rows, |count| rows.min(count))
}

/// Returns how many values there are from the first argument to the second one.
fn series_rows(arguments: &[ScalarExpression]) -> f64 {
    let value = |index: usize| arguments.get(index).and_then(axis_value);
    bounded_rows(match (value(0), value(1), arguments.len()) {
        (Some(start), Some(stop), 2) => stop - start + 1.0,
        (Some(start), Some(stop), _) => {
            value(2).map_or(ROWS_UNKNOWN, |step| (stop - start) / step + 1.0)
        }
        _ => ROWS_UNKNOWN,
    })
}

fn unknown_profile(rows: f64) -> ColumnProfile {
    let (distinct, quantiles) = (rows.max(1.0), Arc::default());
    ColumnProfile { distinct, null_fraction: 0.01, bounds: None, spread: None, quantiles }
}

/// Returns rows within the limits of an estimate.
pub(super) fn bounded_rows(rows: f64) -> f64 {
    if rows.is_nan() { ROWS_MAX } else { rows.clamp(1.0, ROWS_MAX) }
}

/// Returns how many values there are between bounds of a type whose values can be counted.
fn value_count((low, high): &(SqlValue, SqlValue)) -> Option<f64> {
    let number = |value: &SqlValue| match value {
        SqlValue::SmallInt(value) => Some(f64::from(*value)),
        SqlValue::Integer(value) => Some(f64::from(*value)),
        SqlValue::BigInt(value) => Some(*value as f64),
        SqlValue::Date(date) => Some(f64::from(date.0)),
        _ => None,
    };
    Some(number(high)? - number(low)? + 1.0)
}

fn guessed_distinct(rows: f64, sql_type: Option<TypeOid>, values: Option<f64>) -> f64 {
    match (values, sql_type) {
        (Some(values), _) => values.min(rows),
        (None, Some(TypeOid::BOOL)) => 2.0,
        // Small tables list things, each once.
        _ => (rows / 10.0).max(ALL_DISTINCT_ROWS).min(rows),
    }
}
