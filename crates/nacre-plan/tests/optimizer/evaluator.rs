//! Runs plans over whole numbers and nulls, as they stand: joins by nested loops, dependent ones
//! with the row of the left side.

use std::cell::RefCell;
use std::collections::BTreeMap;

use nacre_plan::algebra::{
    AggregateColumn, BoundSortKey, ColumnId, CommonForm, CommonQuery, JoinVariant, QueryPlan,
    RelationalOperator, ScalarExpression, ScalarKind, ScannedColumn, SetVariant, TruthValue,
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

thread_local! {
    /// Values that are computed once, by the places of their queries.
    static ONCE: RefCell<BTreeMap<usize, EvaluationResult<CellValue>>> =
        const { RefCell::new(BTreeMap::new()) };
    /// Queries that are called, by their places, and the tables that they read.
    static CALLED: RefCell<BTreeMap<usize, (CommonQuery, TableRows)>> =
        const { RefCell::new(BTreeMap::new()) };
}

/// Columns of the queries around one, and their values.
#[derive(Clone, Default)]
struct OuterRow {
    columns: Vec<ColumnId>,
    row: Vec<CellValue>,
}

impl OuterRow {
    /// Returns these behind columns of one's own.
    fn behind(&self, columns: &[ColumnId], row: &[CellValue]) -> Self {
        Self {
            columns: columns.iter().chain(&self.columns).copied().collect(),
            row: row.iter().chain(&self.row).copied().collect(),
        }
    }

    fn value(&self, expression: &ScalarExpression) -> EvaluationResult<CellValue> {
        value(expression, &self.columns, &self.row)
    }

    fn is_true(&self, condition: &ScalarExpression) -> EvaluationResult<bool> {
        is_true(condition, &self.columns, &self.row)
    }
}

struct EvaluatedRows {
    columns: Vec<ColumnId>,
    rows: Vec<Vec<CellValue>>,
}

/// Returns the rows of the answer, sorted.
pub(crate) fn answer(
    plan: &QueryPlan,
    tables: &TableRows,
) -> EvaluationResult<Vec<Vec<CellValue>>> {
    let mut tables = tables.clone();
    ONCE.with_borrow_mut(BTreeMap::clear);
    CALLED.with_borrow_mut(BTreeMap::clear);
    for (index, query) in plan.common.iter().enumerate() {
        if let CommonForm::Call(_) = query.form {
            let called = (query.clone(), tables.clone());
            CALLED.with_borrow_mut(|queries| queries.insert(index, called));
            continue;
        }
        let rows = rows_of(&query.root, &query.outputs, &tables);
        if query.form == CommonForm::Value {
            let value = rows.and_then(|rows| match &rows[..] {
                [] => Ok(None),
                [row] => Ok(row[0]),
                _ => Err(EvaluationFailure),
            });
            ONCE.with_borrow_mut(|values| values.insert(index, value));
            continue;
        }
        tables.insert(common_name(index), rows?);
    }
    let outputs: Vec<ColumnId> = plan.outputs.iter().map(|output| output.column).collect();
    let mut rows = rows_of(&plan.root, &outputs, &tables)?;
    rows.sort();
    Ok(rows)
}

/// Whether a value that is computed once is an error in the plan that was evaluated last: its query
/// has several rows, or fails.
pub(crate) fn has_failing_value() -> bool {
    ONCE.with_borrow(|values| values.values().any(Result::is_err))
}

/// Runs the query at a place for one row of arguments.
fn call(index: usize, arguments: Vec<CellValue>) -> EvaluationResult<CellValue> {
    let (query, mut tables) = CALLED.with_borrow(|queries| queries[&index].clone());
    let row = std::iter::once(Some(0)).chain(arguments).collect();
    tables.insert(common_name(index), vec![row]);
    let rows = rows_of(&query.root, &query.outputs, &tables)?;
    Ok(rows.first().and_then(|row| row[1]))
}

/// Returns what the rows of a query that is computed once are called among the tables.
fn common_name(index: usize) -> String {
    format!("common {index}")
}

/// Returns columns of all rows of an operator.
fn rows_of(
    root: &RelationalOperator,
    outputs: &[ColumnId],
    tables: &TableRows,
) -> EvaluationResult<Vec<Vec<CellValue>>> {
    let all = evaluate(root, tables, &OuterRow::default())?;
    let place = |column: &ColumnId| all.columns.iter().position(|own| own == column).unwrap();
    let places: Vec<usize> = outputs.iter().map(place).collect();
    let output = |row: &Vec<CellValue>| places.iter().map(|place| row[*place]).collect();
    Ok(all.rows.iter().map(output).collect())
}

fn evaluate(
    operator: &RelationalOperator,
    tables: &TableRows,
    outer: &OuterRow,
) -> EvaluationResult<EvaluatedRows> {
    match operator {
        RelationalOperator::SingleRow => Ok(EvaluatedRows { columns: vec![], rows: vec![vec![]] }),
        RelationalOperator::Scan { relation, columns } => {
            Ok(scanned(&tables[&relation.name], columns))
        }
        RelationalOperator::CommonScan { query, columns } => {
            Ok(scanned(&tables[&common_name(query.index)], columns))
        }
        RelationalOperator::Filter { input, condition } => {
            let EvaluatedRows { columns, rows } = evaluate(input, tables, outer)?;
            let mut kept = Vec::new();
            for row in rows {
                if outer.behind(&columns, &row).is_true(condition)? {
                    kept.push(row);
                }
            }
            Ok(EvaluatedRows { columns, rows: kept })
        }
        RelationalOperator::Join { .. } => join(operator, tables, outer),
        RelationalOperator::Compute { input, columns: computed } => {
            let EvaluatedRows { mut columns, mut rows } = evaluate(input, tables, outer)?;
            for row in &mut rows {
                let seen = outer.behind(&columns, row);
                let values: EvaluationResult<Vec<CellValue>> =
                    computed.iter().map(|one| seen.value(&one.value)).collect();
                row.extend(values?);
            }
            columns.extend(computed.iter().map(|one| one.column));
            Ok(EvaluatedRows { columns, rows })
        }
        RelationalOperator::Aggregate { input, keys, aggregates, is_scalar } => {
            let input = evaluate(input, tables, outer)?;
            group(&input, keys, aggregates, *is_scalar, outer)
        }
        RelationalOperator::Sort { input, keys } => {
            let EvaluatedRows { columns, mut rows } = evaluate(input, tables, outer)?;
            rows.sort_by_key(|row| sort_key(keys, &outer.behind(&columns, row)));
            Ok(EvaluatedRows { columns, rows })
        }
        RelationalOperator::Values { columns, rows } => {
            let row = |row: &Vec<ScalarExpression>| {
                row.iter().map(|one| outer.value(one)).collect::<EvaluationResult<_>>()
            };
            let rows: EvaluationResult<Vec<Vec<CellValue>>> = rows.iter().map(row).collect();
            Ok(EvaluatedRows { columns: columns.clone(), rows: rows? })
        }
        RelationalOperator::SetOperation { .. } => set_operation(operator, tables, outer),
        RelationalOperator::Window { .. } => number_rows(operator, tables, outer),
        RelationalOperator::Limit { input, count, offset } => {
            let EvaluatedRows { columns, rows } = evaluate(input, tables, outer)?;
            let number = |one: &Option<ScalarExpression>, other: usize| match one {
                Some(one) => outer.value(one).map(|value| value.unwrap() as usize),
                None => Ok(other),
            };
            let (offset, count) = (number(offset, 0)?, number(count, rows.len())?);
            let rows = rows.into_iter().skip(offset).take(count).collect();
            Ok(EvaluatedRows { columns, rows })
        }
        _ => panic!("no query here has grouping sets, functions of sets or samples"),
    }
}

fn scanned(stored: &[Vec<CellValue>], columns: &[ScannedColumn]) -> EvaluatedRows {
    let row = |row: &Vec<CellValue>| columns.iter().map(|one| row[one.position]).collect();
    EvaluatedRows {
        columns: columns.iter().map(|one| one.column).collect(),
        rows: stored.iter().map(row).collect(),
    }
}

/// Puts the rows of inputs together.
fn set_operation(
    operator: &RelationalOperator,
    tables: &TableRows,
    outer: &OuterRow,
) -> EvaluationResult<EvaluatedRows> {
    let RelationalOperator::SetOperation { variant, columns, inputs } = operator else {
        panic!("another operator")
    };
    let mut evaluated = Vec::new();
    for input in inputs {
        let all = evaluate(&input.operator, tables, outer)?;
        let place = |column| all.columns.iter().position(|own| own == column).unwrap();
        let places: Vec<usize> = input.columns.iter().map(place).collect();
        let row = |row: &Vec<CellValue>| places.iter().map(|place| row[*place]).collect();
        evaluated.push(all.rows.iter().map(row).collect());
    }
    Ok(EvaluatedRows { columns: columns.clone(), rows: combine(*variant, evaluated) })
}

/// Adds the numbers of rows in their partitions.
fn number_rows(
    operator: &RelationalOperator,
    tables: &TableRows,
    outer: &OuterRow,
) -> EvaluationResult<EvaluatedRows> {
    let RelationalOperator::Window { input, partition, order, functions } = operator else {
        panic!("another operator")
    };
    let EvaluatedRows { mut columns, mut rows } = evaluate(input, tables, outer)?;
    assert!(functions.iter().all(|one| one.call.function.name == "row_number"));
    let places: Vec<usize> = partition
        .iter()
        .map(|column| columns.iter().position(|own| own == column).unwrap())
        .collect();
    rows.sort_by_key(|row| sort_key(order, &outer.behind(&columns, row)));
    let mut numbers: BTreeMap<Vec<CellValue>, i64> = BTreeMap::new();
    for row in &mut rows {
        let key = places.iter().map(|place| row[*place]).collect();
        let number = numbers.entry(key).or_default();
        *number += 1;
        row.extend(functions.iter().map(|_| Some(*number)));
    }
    columns.extend(functions.iter().map(|one| one.column));
    Ok(EvaluatedRows { columns, rows })
}

/// Returns what a row is sorted by.
fn sort_key(keys: &[BoundSortKey], row: &OuterRow) -> Vec<(bool, i64)> {
    let part = |key: &BoundSortKey| {
        let value = row.value(&key.value).unwrap();
        let sign = if key.is_descending { -1 } else { 1 };
        (value.is_none() != key.nulls_first, value.map_or(0, |value| value * sign))
    };
    keys.iter().map(part).collect()
}

fn join(
    operator: &RelationalOperator,
    tables: &TableRows,
    outer: &OuterRow,
) -> EvaluationResult<EvaluatedRows> {
    let RelationalOperator::Join { variant, left, right, condition } = operator else {
        panic!("no join")
    };
    let is_dependent = !right.free_columns().is_empty();
    let left = evaluate(left, tables, outer)?;
    let mut right_rows = match is_dependent {
        true => EvaluatedRows { columns: Vec::new(), rows: Vec::new() },
        false => evaluate(right, tables, outer)?,
    };
    let mut rows = Vec::new();
    let mut is_matched = vec![false; right_rows.rows.len()];
    for one in &left.rows {
        if is_dependent {
            assert!(!variant.keeps_right(), "a dependent join that keeps the right side");
            right_rows = evaluate(right, tables, &outer.behind(&left.columns, one))?;
            is_matched = vec![false; right_rows.rows.len()];
        }
        let columns: Vec<ColumnId> =
            left.columns.iter().chain(&right_rows.columns).copied().collect();
        let mut partners = 0;
        for (index, other) in right_rows.rows.iter().enumerate() {
            let row: Vec<CellValue> = one.iter().chain(other).copied().collect();
            let is_match = match condition {
                Some(condition) => outer.behind(&columns, &row).is_true(condition)?,
                None => true,
            };
            if is_match {
                partners += 1;
                is_matched[index] = true;
                if variant.has_right() {
                    rows.push(row);
                }
            }
        }
        match variant {
            JoinVariant::Semi if partners > 0 => rows.push(one.clone()),
            JoinVariant::Anti if partners == 0 => rows.push(one.clone()),
            JoinVariant::Mark(_) => {
                rows.push(one.iter().copied().chain([Some((partners > 0).into())]).collect());
            }
            JoinVariant::Single if partners > 1 => return Err(EvaluationFailure),
            JoinVariant::Left | JoinVariant::Full | JoinVariant::Single if partners == 0 => {
                let nulls = vec![None; visible_columns(right).len()];
                rows.push(one.iter().copied().chain(nulls).collect());
            }
            _ => {}
        }
    }
    for (other, is_matched) in right_rows.rows.iter().zip(is_matched) {
        if !is_matched && variant.keeps_right() {
            let nulls = vec![None; left.columns.len()];
            rows.push(nulls.into_iter().chain(other.iter().copied()).collect());
        }
    }
    let mut columns = left.columns;
    match variant {
        JoinVariant::Semi | JoinVariant::Anti => {}
        JoinVariant::Mark(column) => columns.push(*column),
        _ => columns.extend(visible_columns(right)),
    }
    Ok(EvaluatedRows { columns, rows })
}

/// Returns the columns that an operator hands on, in the order in which they are evaluated.
fn visible_columns(operator: &RelationalOperator) -> Vec<ColumnId> {
    match operator {
        RelationalOperator::Aggregate { keys, aggregates, .. } => {
            keys.iter().copied().chain(aggregates.iter().map(|one| one.column)).collect()
        }
        RelationalOperator::SetOperation { columns, .. } => columns.clone(),
        RelationalOperator::Join { variant, left, right, .. } => {
            let mut columns = visible_columns(left);
            match variant {
                JoinVariant::Semi | JoinVariant::Anti => {}
                JoinVariant::Mark(column) => columns.push(*column),
                _ => columns.extend(visible_columns(right)),
            }
            columns
        }
        _ => {
            let below = operator.inputs().flat_map(visible_columns);
            below.chain(operator.own_columns()).collect()
        }
    }
}

/// Takes row by row what the right side has away from the left one.
fn combine(variant: SetVariant, inputs: Vec<Vec<Vec<CellValue>>>) -> Vec<Vec<CellValue>> {
    if variant == SetVariant::UnionAll {
        return inputs.concat();
    }
    let [left, mut right]: [Vec<Vec<CellValue>>; 2] = inputs.try_into().unwrap();
    let (mut common, mut rest) = (Vec::new(), Vec::new());
    for row in left {
        match right.iter().position(|other| *other == row) {
            Some(place) => {
                if matches!(variant, SetVariant::IntersectAll | SetVariant::ExceptAll) {
                    right.swap_remove(place);
                }
                common.push(row);
            }
            None => rest.push(row),
        }
    }
    let is_except = matches!(variant, SetVariant::Except | SetVariant::ExceptAll);
    let mut rows = if is_except { rest } else { common };
    if matches!(variant, SetVariant::Intersect | SetVariant::Except) {
        rows.sort();
        rows.dedup();
    }
    rows
}

fn group(
    input: &EvaluatedRows,
    keys: &[ColumnId],
    aggregates: &[AggregateColumn],
    is_scalar: bool,
    outer: &OuterRow,
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
            row.push(aggregate(one, &input.columns, &members, outer)?);
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
    outer: &OuterRow,
) -> EvaluationResult<CellValue> {
    let Some(argument) = one.call.arguments.first() else {
        return Ok(Some(members.len() as i64));
    };
    let values: EvaluationResult<Vec<CellValue>> =
        members.iter().map(|row| outer.behind(columns, row).value(argument)).collect();
    let values: Vec<i64> = values?.into_iter().flatten().collect();
    Ok(match one.call.function.name {
        "count" => Some(values.len() as i64),
        "min" => values.iter().min().copied(),
        // False is 0.
        "max" | "bool_or" => values.iter().max().copied(),
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
        ScalarKind::Cast { operand, .. } | ScalarKind::Proven(operand) => of(operand)?,
        ScalarKind::Once(reference) => ONCE.with_borrow(|values| values[&reference.index])?,
        ScalarKind::Call { index, arguments, .. } => {
            let arguments: EvaluationResult<Vec<CellValue>> = arguments.iter().map(of).collect();
            call(*index, arguments?)?
        }
        ScalarKind::OnlyValue { value, count } => match of(count)? {
            Some(2..) => return Err(EvaluationFailure),
            _ => of(value)?,
        },
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
        ScalarKind::Case { arms, otherwise } => {
            for arm in arms {
                if of(&arm.condition)? == Some(1) {
                    return of(&arm.result);
                }
            }
            match otherwise {
                Some(otherwise) => of(otherwise)?,
                None => None,
            }
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
