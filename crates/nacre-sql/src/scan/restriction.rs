//! Filters that a scan can evaluate on encoded values.
//!
//! `column op constant`, `column IN (constants)`, `IS [NOT] NULL`, and a boolean column by itself
//! become [`Restriction`]s. Everything else, and everything over floats (whose order of NaN and
//! -0 differs between Arrow and PostgreSQL, so one query must use one of them), is left to the
//! filter's own evaluation over arrays.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use nacre_column::{ColumnType, CompareOp, Constant, Physical, Restriction};

/// Returns the column (by index in the table) and the restriction that `filter` stands for.
pub(super) fn restriction(
    filter: &Arc<dyn PhysicalExpr>,
    column_types: &[ColumnType],
) -> Option<(usize, Restriction)> {
    let column_of = |expr: &Arc<dyn PhysicalExpr>| {
        let index = expr.downcast_ref::<Column>()?.index();
        let column_type = *column_types.get(index)?;
        let is_float = matches!(column_type.physical(), Physical::Float32 | Physical::Float64);
        (!is_float).then_some((index, column_type))
    };
    if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
        let op = compare_op(*binary.op())?;
        let (op, column, literal) = match column_of(binary.left()) {
            Some(column) => (op, column, binary.right()),
            None => (op.flipped(), column_of(binary.right())?, binary.left()),
        };
        let value = constant(literal, column.1)?;
        return Some((column.0, Restriction::Compare { op, value }));
    }
    if let Some(list) = filter.downcast_ref::<InListExpr>() {
        let (index, column_type) = column_of(list.expr())?;
        if list.negated() {
            return None;
        }
        let values = list.list().iter().map(|value| constant(value, column_type));
        return Some((index, Restriction::InSet(values.collect::<Option<_>>()?)));
    }
    if let Some(is_null) = filter.downcast_ref::<IsNullExpr>() {
        return Some((column_of(is_null.arg())?.0, Restriction::IsNull));
    }
    if let Some(is_not_null) = filter.downcast_ref::<IsNotNullExpr>() {
        return Some((column_of(is_not_null.arg())?.0, Restriction::IsNotNull));
    }
    let (flag, expected) = match filter.downcast_ref::<NotExpr>() {
        Some(not) => (not.arg(), 0),
        None => (filter, 1),
    };
    let (index, column_type) = column_of(flag)?;
    let is_true = Restriction::Compare { op: CompareOp::Eq, value: Constant::Int(expected) };
    (column_type == ColumnType::Boolean).then_some((index, is_true))
}

fn compare_op(op: Operator) -> Option<CompareOp> {
    Some(match op {
        Operator::Eq => CompareOp::Eq,
        Operator::NotEq => CompareOp::Ne,
        Operator::Lt => CompareOp::Lt,
        Operator::LtEq => CompareOp::Le,
        Operator::Gt => CompareOp::Gt,
        Operator::GtEq => CompareOp::Ge,
        _ => return None,
    })
}

/// Returns a literal of exactly the column's type as a constant; `None` for nulls and others.
fn constant(expr: &Arc<dyn PhysicalExpr>, column_type: ColumnType) -> Option<Constant> {
    let value = expr.downcast_ref::<Literal>()?.value();
    Some(match (column_type, value) {
        (ColumnType::Boolean, ScalarValue::Boolean(Some(value))) => {
            Constant::Int(i128::from(*value))
        }
        (ColumnType::SmallInt, ScalarValue::Int16(Some(value))) => Constant::Int((*value).into()),
        (ColumnType::Integer, ScalarValue::Int32(Some(value))) => Constant::Int((*value).into()),
        (ColumnType::BigInt, ScalarValue::Int64(Some(value))) => Constant::Int((*value).into()),
        (ColumnType::Date, ScalarValue::Date32(Some(value))) => Constant::Int((*value).into()),
        (ColumnType::Timestamp, ScalarValue::TimestampMicrosecond(Some(value), None))
        | (ColumnType::TimestampTz, ScalarValue::TimestampMicrosecond(Some(value), Some(_))) => {
            Constant::Int((*value).into())
        }
        (ColumnType::Decimal { scale, .. }, ScalarValue::Decimal128(Some(value), _, found))
            if *found == scale as i8 =>
        {
            Constant::Int(*value)
        }
        (
            ColumnType::Varchar { .. } | ColumnType::Char { .. },
            ScalarValue::Utf8View(Some(value))
            | ScalarValue::Utf8(Some(value))
            | ScalarValue::LargeUtf8(Some(value)),
        ) => Constant::Bytes(value.as_bytes().to_vec()),
        (
            ColumnType::Bytea,
            ScalarValue::BinaryView(Some(value))
            | ScalarValue::Binary(Some(value))
            | ScalarValue::LargeBinary(Some(value)),
        ) => Constant::Bytes(value.clone()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::physical_expr::expressions::{col, in_list, lit};

    use super::*;

    const TYPES: [ColumnType; 3] =
        [ColumnType::Integer, ColumnType::Decimal { precision: 5, scale: 2 }, ColumnType::Double];

    fn schema() -> Schema {
        Schema::new(vec![
            Field::new("i", DataType::Int32, true),
            Field::new("d", DataType::Decimal128(5, 2), true),
            Field::new("f", DataType::Float64, true),
        ])
    }

    fn compare(column: &str, op: Operator, value: ScalarValue) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(col(column, &schema()).unwrap(), op, lit(value)))
    }

    #[test]
    fn comparisons_with_constants_become_restrictions() {
        let restricted =
            restriction(&compare("i", Operator::Lt, ScalarValue::Int32(Some(7))), &TYPES);
        let value = Constant::Int(7);
        assert_eq!(restricted, Some((0, Restriction::Compare { op: CompareOp::Lt, value })));
        let turned: Arc<dyn PhysicalExpr> =
            Arc::new(BinaryExpr::new(lit(7_i32), Operator::Lt, col("i", &schema()).unwrap()));
        let value = Constant::Int(7);
        assert_eq!(
            restriction(&turned, &TYPES),
            Some((0, Restriction::Compare { op: CompareOp::Gt, value }))
        );
        let list =
            in_list(col("i", &schema()).unwrap(), vec![lit(1_i32), lit(2_i32)], &false, &schema());
        let set = Restriction::InSet(vec![Constant::Int(1), Constant::Int(2)]);
        assert_eq!(restriction(&list.unwrap(), &TYPES), Some((0, set)));
    }

    #[test]
    fn what_would_mean_something_else_is_left_alone() {
        let null = compare("i", Operator::Eq, ScalarValue::Int32(None));
        let other_type = compare("i", Operator::Eq, ScalarValue::Int64(Some(1)));
        let other_scale = compare("d", Operator::Eq, ScalarValue::Decimal128(Some(1), 5, 1));
        let float = compare("f", Operator::Lt, ScalarValue::Float64(Some(1.0)));
        let distinct = compare("i", Operator::IsDistinctFrom, ScalarValue::Int32(Some(1)));
        for filter in [null, other_type, other_scale, float, distinct] {
            assert_eq!(restriction(&filter, &TYPES), None, "{filter}");
        }
    }
}
