//! What columns and expressions of plans are called, for EXPLAIN.
//!
//! Columns of tables have their names. What is computed is written as an expression of names, with
//! a question mark for each constant: plans do not know the SQL types of their values.

use std::iter::{once, repeat_n};

use nacre_column::{ColumnType, Constant, Restriction};
use nacre_types::datetime::{SqlDate, SqlTimestamp};
use nacre_types::{ExactNumeric, SqlType, SqlValue, ValueSettings};

use super::node::{AggregateCall, AggregateFunction, SortKey};
use crate::expression::{ArithmeticOp, ExpressionGraph, ExpressionId, ExpressionNode};
use crate::value::ScalarValue;

/// Longest label, in characters; longer ones are cut.
const LABEL_CHARS_MAX: usize = 100;

/// Longest list, in bytes; the labels behind it are counted.
const LIST_BYTES_MAX: usize = 400;

/// Levels of an expression that are written.
const LEVELS_MAX: usize = 8;

/// Labels of the columns of an operator.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnLabels(pub(super) Vec<String>);

impl ColumnLabels {
    /// Returns the label of a column.
    pub(super) fn get(&self, column: usize) -> &str {
        self.0.get(column).map_or("?", String::as_str)
    }

    /// Returns the labels of some columns.
    pub(super) fn of(&self, columns: &[usize]) -> Vec<String> {
        columns.iter().map(|column| self.get(*column).to_owned()).collect()
    }

    /// Returns one label for each of so many columns.
    pub(super) fn repeated(label: &str, count: usize) -> Self {
        Self(vec![label.to_owned(); count])
    }

    /// Adds labels behind.
    pub(super) fn with(mut self, others: impl IntoIterator<Item = String>) -> Self {
        self.0.extend(others);
        self
    }

    /// Returns the labels of expressions over these columns.
    pub(super) fn of_expressions(
        &self,
        graph: &ExpressionGraph,
        ids: &[ExpressionId],
    ) -> Vec<String> {
        ids.iter().map(|id| self.of_expression(graph, *id)).collect()
    }

    fn of_expression(&self, graph: &ExpressionGraph, id: ExpressionId) -> String {
        let mut text = String::new();
        self.write_expression(graph, id, LEVELS_MAX, &mut text);
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        cut(inner.filter(|inner| is_balanced(inner)).unwrap_or(&text))
    }

    /// Returns the labels of the columns that an aggregate gives.
    pub(super) fn of_aggregate(&self, call: &AggregateCall) -> Vec<String> {
        if call.function.columns() == 1 {
            return vec![self.of_call(call)];
        }
        ["sum", "count"]
            .iter()
            .map(|part| cut(&format!("{part} of {}", self.of_call(call))))
            .collect()
    }

    /// Returns the label of a call of an aggregate.
    pub(super) fn of_call(&self, call: &AggregateCall) -> String {
        let (name, word) = match call.function {
            AggregateFunction::CountRows | AggregateFunction::Count => ("count", ""),
            AggregateFunction::Sum | AggregateFunction::ExactSum | AggregateFunction::CountSum => {
                ("sum", "")
            }
            AggregateFunction::Min | AggregateFunction::ExactMin => ("min", ""),
            AggregateFunction::Max | AggregateFunction::ExactMax => ("max", ""),
            AggregateFunction::AverageState | AggregateFunction::ExactState => ("avg", ""),
            AggregateFunction::CountDistinct => ("count", "distinct "),
            AggregateFunction::DistinctState => ("sum", "distinct "),
            AggregateFunction::Collect => ("collect", ""),
            AggregateFunction::Moments(_) => ("sums of floats", ""),
        };
        let argument = call.argument.map_or("*", |argument| self.get(argument));
        let filter = call.filter.map(|filter| format!(" filter (where {})", self.get(filter)));
        cut(&format!("{name}({word}{argument}){}", filter.unwrap_or_default()))
    }

    /// Returns the keys of a sort.
    pub(super) fn of_sort_keys(&self, keys: &[SortKey]) -> Vec<String> {
        let label = |key: &SortKey| {
            let direction = if key.is_descending { " desc" } else { "" };
            // The default is last in ascending order, and first in descending order.
            let nulls = match (key.is_nulls_first, key.is_descending) {
                (true, false) => " nulls first",
                (false, true) => " nulls last",
                _ => "",
            };
            format!("{}{direction}{nulls}", self.get(key.column))
        };
        keys.iter().map(label).collect()
    }

    fn write_expression(
        &self,
        graph: &ExpressionGraph,
        id: ExpressionId,
        levels: usize,
        text: &mut String,
    ) {
        use ExpressionNode as Node;
        if levels == 0 {
            return text.push_str("...");
        }
        let mut write = |parts: &[&str], inputs: &[ExpressionId]| {
            for (index, part) in parts.iter().enumerate() {
                text.push_str(part);
                if let Some(input) = inputs.get(index) {
                    self.write_expression(graph, *input, levels - 1, text);
                }
            }
        };
        match graph.node(id) {
            Node::Column { index, .. } => write(&[self.get(*index)], &[]),
            Node::Constant(ScalarValue::Null(_)) => write(&["null"], &[]),
            Node::Constant(ScalarValue::Bool(value)) => write(&[&value.to_string()], &[]),
            Node::Constant(_) => write(&["?"], &[]),
            Node::IntArithmetic { op, left, right, .. }
            | Node::FloatArithmetic { op, left, right } => {
                write(&["(", arithmetic_sign(*op), ")"], &[*left, *right]);
            }
            Node::Compare { op, left, right } => {
                write(&["(", &format!(" {op} "), ")"], &[*left, *right]);
            }
            Node::And { left, right } => write(&["(", " and ", ")"], &[*left, *right]),
            Node::Or { left, right } => write(&["(", " or ", ")"], &[*left, *right]),
            Node::Not { input } => write(&["(not ", ")"], &[*input]),
            Node::IsNull { input } => write(&["(", " is null)"], &[*input]),
            Node::StringTest { input, predicate } => {
                write(&["(", &format!(" {predicate:?})")], &[*input]);
            }
            Node::Case { condition, then, otherwise } => {
                let inputs = [*condition, *then, *otherwise];
                write(&["case when ", " then ", " else ", " end"], &inputs);
            }
            // Forms of values: not of the query.
            Node::CastInt { input, .. }
            | Node::Rescale { input, .. }
            | Node::IntToFloat { input, .. }
            | Node::CastFloat { input, .. } => {
                self.write_expression(graph, *input, levels, text);
            }
            Node::ExtractYear { input } => write(&["year(", ")"], &[*input]),
            Node::Foreign { function, arguments } => {
                let name = format!("{function:?}(");
                let separators = repeat_n(", ", arguments.len().saturating_sub(1));
                let parts: Vec<&str> = once(&*name).chain(separators).chain([")"]).collect();
                write(&parts, arguments);
            }
        }
    }
}

fn arithmetic_sign(op: ArithmeticOp) -> &'static str {
    match op {
        ArithmeticOp::Add => " + ",
        ArithmeticOp::Subtract => " - ",
        ArithmeticOp::Multiply => " * ",
        ArithmeticOp::Divide => " / ",
        ArithmeticOp::Remainder => " % ",
    }
}

/// Whether each parenthesis of a text closes one before it.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0i32;
    text.chars().all(|one| {
        depth += i32::from(one == '(') - i32::from(one == ')');
        depth >= 0
    })
}

/// Returns a text without what is too long.
fn cut(text: &str) -> String {
    match text.char_indices().nth(LABEL_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Writes labels one behind the other.
pub(super) fn label_list(labels: &[String], separator: &str) -> String {
    let mut text = String::new();
    for (index, label) in labels.iter().enumerate() {
        if text.len() > LIST_BYTES_MAX {
            return format!("{text}{separator}... ({} more)", labels.len() - index);
        }
        if index > 0 {
            text.push_str(separator);
        }
        text.push_str(label);
    }
    text
}

/// Writes a restriction of a column of a type, with its constants as values of that.
pub(super) fn restriction_text(restriction: &Restriction, column_type: ColumnType) -> String {
    let text = |value: &Constant| constant_text(value, column_type);
    match restriction {
        Restriction::Compare { op, value } => format!("{op} {}", text(value)),
        Restriction::Between { low, high } => format!("between {} and {}", text(low), text(high)),
        Restriction::InSet(values) => {
            let values: Vec<_> = values.iter().map(text).collect();
            format!("in ({})", label_list(&values, ", "))
        }
        other => other.to_string(),
    }
}

fn constant_text(constant: &Constant, column_type: ColumnType) -> String {
    let Constant::Int(number) = constant else { return constant.to_string() };
    let micros = || SqlTimestamp::from_unix_micros(i64::try_from(*number).ok()?).ok();
    let value = match column_type {
        ColumnType::Boolean => Some((SqlValue::Boolean(*number != 0), SqlType::BOOLEAN)),
        ColumnType::Decimal { scale, .. } => {
            let value = ExactNumeric::from_scaled(*number, scale.into()).ok();
            value.map(|value| (SqlValue::Numeric(value), SqlType::NUMERIC))
        }
        ColumnType::Date => {
            let days = i64::try_from(*number).ok();
            let date = days.and_then(|days| SqlDate::from_unix_days(days).ok());
            date.map(|date| (SqlValue::Date(date), SqlType::DATE))
        }
        ColumnType::Timestamp => micros().map(|at| (SqlValue::Timestamp(at), SqlType::TIMESTAMP)),
        ColumnType::TimestampTz => {
            micros().map(|at| (SqlValue::TimestampTz(at), SqlType::TIMESTAMPTZ))
        }
        _ => None,
    };
    let Some((value, sql_type)) = value else { return constant.to_string() };
    let mut text = String::new();
    value.write_text(sql_type, &ValueSettings::default(), &mut text);
    match value {
        SqlValue::Boolean(is_true) => is_true.to_string(),
        SqlValue::Numeric(_) => text,
        _ => format!("'{text}'"),
    }
}

#[cfg(test)]
mod tests {
    use nacre_column::CompareOp;

    use super::*;

    #[test]
    fn constants_of_restrictions_are_values_of_the_type() {
        let less =
            |number| Restriction::Compare { op: CompareOp::Lt, value: Constant::Int(number) };
        let decimal = ColumnType::Decimal { precision: 12, scale: 2 };
        let cases = [
            (less(19_783), ColumnType::Date, "< '2024-03-01'"),
            (less(-5), decimal, "< -0.05"),
            (less(1_000_000), ColumnType::Timestamp, "< '1970-01-01 00:00:01'"),
            (less(1), ColumnType::Boolean, "< true"),
            (less(i128::MAX), ColumnType::Date, "< 170141183460469231731687303715884105727"),
            (less(7), ColumnType::BigInt, "< 7"),
            (
                Restriction::Between { low: Constant::Int(100), high: Constant::Int(250) },
                decimal,
                "between 1.00 and 2.50",
            ),
            (
                Restriction::InSet(vec![Constant::Bytes(b"a".to_vec()), Constant::Int(0)]),
                ColumnType::Date,
                "in ('a', '1970-01-01')",
            ),
            (Restriction::IsNull, decimal, "is null"),
        ];
        for (restriction, column_type, text) in cases {
            assert_eq!(restriction_text(&restriction, column_type), text);
        }
    }
}
