//! Runs plans over whole numbers and nulls, as they stand: joins by nested loops.

use std::collections::BTreeMap;

use nacre_plan::algebra::{
    AggregateColumn, ColumnId, QueryPlan, RelationalOperator, ScalarExpression, ScalarKind,
    TruthValue,
};
use nacre_types::SqlValue;

/// A number or a truth value (0 or 1); `None` is null.
pub(crate) type CellValue = Option<i64>;

/// Rows of tables by name.
pub(crate) type TableRows = BTreeMap<String, Vec<Vec<CellValue>>>;

/// PostgreSQL would have raised an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EvaluationFailure;

type EvaluationResult<T> = Result<T, EvaluationFailure>;

struct EvaluatedRows {
    columns: Vec<ColumnId>,
    rows: Vec<Vec<CellValue>>,
}

/// Returns the rows of the answer, sorted.
pub(crate) fn answer(
    plan: &QueryPlan,
    tables: &TableRows,
) -> EvaluationResult<Vec<Vec<CellValue>>> {
    let all = evaluate(&plan.root, tables)?;
    let place = |column: ColumnId| all.columns.iter().position(|own| *own == column).unwrap();
    let places: Vec<usize> = plan.outputs.iter().map(|output| place(output.column)).collect();
    let output = |row: &Vec<CellValue>| places.iter().map(|place| row[*place]).collect();
    let mut rows: Vec<Vec<CellValue>> = all.rows.iter().map(output).collect();
    rows.sort();
    Ok(rows)
}

fn evaluate(operator: &RelationalOperator, tables: &TableRows) -> EvaluationResult<EvaluatedRows> {
    match operator {
        RelationalOperator::SingleRow => Ok(EvaluatedRows { columns: vec![], rows: vec![vec![]] }),
        RelationalOperator::Scan { relation, columns } => {
            let stored = &tables[&relation.name];
            let row = |row: &Vec<CellValue>| columns.iter().map(|one| row[one.position]).collect();
            Ok(EvaluatedRows {
                columns: columns.iter().map(|one| one.column).collect(),
                rows: stored.iter().map(row).collect(),
            })
        }
        RelationalOperator::Filter { input, condition } => {
            let EvaluatedRows { columns, rows } = evaluate(input, tables)?;
            let mut kept = Vec::new();
            for row in rows {
                if is_true(condition, &columns, &row)? {
                    kept.push(row);
                }
            }
            Ok(EvaluatedRows { columns, rows: kept })
        }
        RelationalOperator::Join { .. } => join(operator, tables),
        RelationalOperator::Compute { input, columns: computed } => {
            let EvaluatedRows { mut columns, mut rows } = evaluate(input, tables)?;
            for row in &mut rows {
                let values: EvaluationResult<Vec<CellValue>> =
                    computed.iter().map(|one| value(&one.value, &columns, row)).collect();
                row.extend(values?);
            }
            columns.extend(computed.iter().map(|one| one.column));
            Ok(EvaluatedRows { columns, rows })
        }
        RelationalOperator::Aggregate { input, keys, aggregates, is_scalar } => {
            let input = evaluate(input, tables)?;
            group(&input, keys, aggregates, *is_scalar)
        }
        RelationalOperator::GroupingSets { .. } => panic!("no query here has grouping sets"),
        RelationalOperator::Sort { input, .. } => evaluate(input, tables),
        RelationalOperator::Limit { .. } => panic!("which rows LIMIT keeps is not defined"),
    }
}

fn join(operator: &RelationalOperator, tables: &TableRows) -> EvaluationResult<EvaluatedRows> {
    let RelationalOperator::Join { variant, left, right, condition } = operator else {
        panic!("no join")
    };
    let (left, right) = (evaluate(left, tables)?, evaluate(right, tables)?);
    let columns: Vec<ColumnId> = left.columns.iter().chain(&right.columns).copied().collect();
    let mut rows = Vec::new();
    let mut is_matched = vec![false; right.rows.len()];
    for one in &left.rows {
        let mut has_partner = false;
        for (index, other) in right.rows.iter().enumerate() {
            let row: Vec<CellValue> = one.iter().chain(other).copied().collect();
            let is_match = match condition {
                Some(condition) => is_true(condition, &columns, &row)?,
                None => true,
            };
            if is_match {
                has_partner = true;
                is_matched[index] = true;
                rows.push(row);
            }
        }
        if !has_partner && variant.keeps_left() {
            let nulls = vec![None; right.columns.len()];
            rows.push(one.iter().copied().chain(nulls).collect());
        }
    }
    for (other, is_matched) in right.rows.iter().zip(is_matched) {
        if !is_matched && variant.keeps_right() {
            let nulls = vec![None; left.columns.len()];
            rows.push(nulls.into_iter().chain(other.iter().copied()).collect());
        }
    }
    Ok(EvaluatedRows { columns, rows })
}

fn group(
    input: &EvaluatedRows,
    keys: &[ColumnId],
    aggregates: &[AggregateColumn],
    is_scalar: bool,
) -> EvaluationResult<EvaluatedRows> {
    let place = |column: &ColumnId| input.columns.iter().position(|own| own == column).unwrap();
    let mut groups: BTreeMap<Vec<CellValue>, Vec<&Vec<CellValue>>> = BTreeMap::new();
    if is_scalar {
        groups.insert(Vec::new(), Vec::new());
    }
    for row in &input.rows {
        let key = keys.iter().map(|key| row[place(key)]).collect();
        groups.entry(key).or_default().push(row);
    }
    let mut rows = Vec::new();
    for (key, members) in groups {
        let mut row = key;
        for one in aggregates {
            row.push(aggregate(one, &input.columns, &members)?);
        }
        rows.push(row);
    }
    let columns = keys.iter().copied().chain(aggregates.iter().map(|one| one.column)).collect();
    Ok(EvaluatedRows { columns, rows })
}

fn aggregate(
    one: &AggregateColumn,
    columns: &[ColumnId],
    members: &[&Vec<CellValue>],
) -> EvaluationResult<CellValue> {
    let Some(argument) = one.call.arguments.first() else {
        return Ok(Some(members.len() as i64));
    };
    let values: EvaluationResult<Vec<CellValue>> =
        members.iter().map(|row| value(argument, columns, row)).collect();
    let values: Vec<i64> = values?.into_iter().flatten().collect();
    Ok(match one.call.function.name {
        "count" => Some(values.len() as i64),
        "sum" => (!values.is_empty()).then(|| values.iter().sum()),
        other => panic!("{other} is not evaluated"),
    })
}

fn constant(value: &SqlValue) -> CellValue {
    match value {
        SqlValue::Null => None,
        SqlValue::Boolean(value) => Some((*value).into()),
        SqlValue::Integer(value) => Some((*value).into()),
        SqlValue::BigInt(value) => Some(*value),
        other => panic!("{other:?} is not evaluated"),
    }
}

/// Whether a condition is true. Its conjuncts are evaluated in order, and none after one that is
/// not true, as PostgreSQL does.
fn is_true(
    condition: &ScalarExpression,
    columns: &[ColumnId],
    row: &[CellValue],
) -> EvaluationResult<bool> {
    let ScalarKind::And(operands) = &condition.kind else {
        return Ok(value(condition, columns, row)? == Some(1));
    };
    for operand in operands {
        if !is_true(operand, columns, row)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn value(
    expression: &ScalarExpression,
    columns: &[ColumnId],
    row: &[CellValue],
) -> EvaluationResult<CellValue> {
    let of = |one: &ScalarExpression| value(one, columns, row);
    let negated = |value: CellValue| value.map(|value| 1 - value);
    Ok(match &expression.kind {
        ScalarKind::Column(column) => {
            row[columns.iter().position(|own| own == column).expect("a column of the input")]
        }
        ScalarKind::Constant(value) => constant(&value.0),
        ScalarKind::Cast { operand, .. } => of(operand)?,
        ScalarKind::And(operands) => connect(operands, false, &of)?,
        ScalarKind::Or(operands) => connect(operands, true, &of)?,
        ScalarKind::Not(operand) => negated(of(operand)?),
        ScalarKind::IsNull(operand) => Some(of(operand)?.is_none().into()),
        ScalarKind::IsTruth { operand, value } => {
            let wanted = match value {
                TruthValue::True => Some(1),
                TruthValue::False => Some(0),
                TruthValue::Unknown => None,
            };
            Some((of(operand)? == wanted).into())
        }
        ScalarKind::IsDistinct { operands, .. } => {
            Some((of(&operands[0])? != of(&operands[1])?).into())
        }
        ScalarKind::Operator { operator, operands } => {
            let values: EvaluationResult<Vec<CellValue>> = operands.iter().map(of).collect();
            operate(operator.name, &values?)?
        }
        ScalarKind::Quantified { operator, operand, elements, is_all } => {
            let own = of(operand)?;
            let test = |element: &ScalarExpression| operate(operator.name, &[own, of(element)?]);
            connect(elements, !is_all, &test)?
        }
        ScalarKind::Coalesce(arguments) => {
            for argument in arguments {
                if let Some(value) = of(argument)? {
                    return Ok(Some(value));
                }
            }
            None
        }
        other => panic!("{other:?} is not evaluated"),
    })
}

/// Connects truth values by OR, or by AND, and stops at the first that decides.
fn connect(
    operands: &[ScalarExpression],
    is_or: bool,
    of: &dyn Fn(&ScalarExpression) -> EvaluationResult<CellValue>,
) -> EvaluationResult<CellValue> {
    let mut all = Some((!is_or).into());
    for operand in operands {
        match of(operand)? {
            Some(value) if (value == 1) == is_or => return Ok(Some(value)),
            None => all = None,
            Some(_) => {}
        }
    }
    Ok(all)
}

fn operate(name: &str, values: &[CellValue]) -> EvaluationResult<CellValue> {
    let [Some(left), Some(right)] = values else { return Ok(None) };
    Ok(Some(match name {
        "=" => (left == right).into(),
        "<>" => (left != right).into(),
        "<" => (left < right).into(),
        "<=" => (left <= right).into(),
        ">" => (left > right).into(),
        ">=" => (left >= right).into(),
        "+" => left + right,
        "-" => left - right,
        "/" => left.checked_div(*right).ok_or(EvaluationFailure)?,
        other => panic!("{other} is not evaluated"),
    }))
}
