//! Functions of sets: their arguments are evaluated on SQL values, and values made as they are
//! asked for.

use std::sync::Arc;

use nacre_functions::catalog::{find_function, functions_named};
use nacre_functions::kernels::{KernelContext, SetKernel, regular_matches, set_kernel};
use nacre_plan::algebra::{ColumnId, RelationalOperator, SetFunctionColumn};
use nacre_types::catalog::TypeOid;
use nacre_types::{ExactNumeric, SqlType, SqlValue, ValueError, ValueSettings};

use super::columns::{ColumnPlace, LoweredRelation, collect_columns};
use super::error::{LoweringError, LoweringResult};
use super::form::ValueForm;
use super::joins::width;
use super::relations::{guarded_column, lower_relation};
use super::row_call::RowCall;
use super::row_expression::RowExpression;
use super::row_nodes::{bounds_of_type, form_of_rows, physical_value};
use super::session::session_settings;
use super::stored::StoredRelations;
use crate::error::{ExecError, ExecResult};
use crate::plan::{ExpandNode, PlanNode, SetColumn, SetValues};

/// `timestamp + interval` and `timestamptz + interval`.
const TIMESTAMP_PLUS: u32 = 2032;
const TIMESTAMPTZ_PLUS: u32 = 1189;

/// Microseconds of a day, and days of a month, as intervals are compared.
const DAY_MICROS: i128 = 86_400_000_000;
const MONTH_DAYS: i128 = 30;

/// What a function of sets does with its arguments.
enum SetMeaning {
    Integers,
    Numerics,
    /// With what adds a step.
    Moments(RowCall),
    Elements,
    /// With what makes an array of a text.
    Parts(RowCall),
    /// Groups of each match of a regular expression.
    Matches,
    /// Made at once.
    Kernel(SetCall),
}

/// A function of sets whose kernel is called.
struct SetCall {
    kernel: SetKernel,
    argument_types: Vec<SqlType>,
    result_type: SqlType,
    settings: Arc<ValueSettings>,
}

impl SetCall {
    fn apply(&self, values: &[SqlValue]) -> Result<Vec<SqlValue>, ValueError> {
        let context = KernelContext {
            argument_types: &self.argument_types,
            result_type: self.result_type,
            settings: &self.settings,
        };
        (self.kernel)(values, &context)
    }
}

/// Lowers sets for each row of an input, of whose columns `needed` are wanted.
///
/// # Errors
/// [`LoweringError::NotSupported`] for functions and arguments that are not there.
pub(super) fn lower_expand(
    relations: &dyn StoredRelations,
    input: &RelationalOperator,
    functions: &[SetFunctionColumn],
    ordinality: Option<ColumnId>,
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    let is_own = |column: &ColumnId| {
        ordinality == Some(*column) || functions.iter().any(|one| one.column == *column)
    };
    let mut wanted: Vec<ColumnId> = needed.iter().filter(|one| !is_own(one)).copied().collect();
    for argument in functions.iter().flat_map(|one| &one.arguments) {
        collect_columns(argument, &mut wanted);
    }
    let mut input = lower_relation(relations, input, &wanted)?;
    if input.column_may_fail {
        return Err(guarded_column());
    }
    let offset = width(&input.node);
    let (mut sets, mut may_fail) = (Vec::with_capacity(functions.len()), false);
    let mut columns = input.columns.clone();
    for (index, function) in functions.iter().enumerate() {
        let (set, form, fails) = lower_set(function, &input)?;
        may_fail |= fails;
        columns.add(function.column, ColumnPlace { index: offset + index, form });
        sets.push(set);
    }
    if let Some(column) = ordinality {
        let (index, form) = (offset + sets.len(), ValueForm::Integer);
        columns.add(column, ColumnPlace { index, form });
    }
    columns.forget_rounded();
    input.columns = columns;
    let has_ordinality = ordinality.is_some();
    let node = PlanNode::Expand(Box::new(ExpandNode { input: input.node, sets, has_ordinality }));
    Ok(LoweredRelation {
        node,
        row_may_fail: input.row_may_fail || may_fail,
        may_fail: input.may_fail || may_fail,
        gives_unmerged_rows: false,
        is_grouped: false,
        ..input
    })
}

/// Lowers a function; returns the form of its values, and whether it may fail.
fn lower_set(
    function: &SetFunctionColumn,
    input: &LoweredRelation,
) -> LoweringResult<(SetColumn, ValueForm, bool)> {
    let SetFunctionColumn { function: entry, arguments, result, .. } = function;
    let unknown = || LoweringError::not_supported(format!("function {}", entry.name));
    let mut read = |column, sql_type| {
        let ColumnPlace { index, form } = input.columns.get(column).ok()?;
        Some(RowExpression::Input { number: index, form, sql_type })
    };
    let mut compiled = Vec::with_capacity(arguments.len());
    for argument in arguments {
        compiled.push(RowExpression::compile(argument, &mut read).ok_or_else(unknown)?);
    }
    let types: Vec<SqlType> = arguments.iter().map(|one| one.sql_type).collect();
    let meaning = meaning_of(function, &types).ok_or_else(unknown)?;
    let form = form_of_rows(*result, false).ok_or_else(unknown)?;
    let may_fail = compiled.iter().any(RowExpression::may_fail)
        || match meaning {
            SetMeaning::Integers => types.len() > 2,
            SetMeaning::Elements => false,
            SetMeaning::Parts(ref call) => call.may_fail(),
            SetMeaning::Numerics
            | SetMeaning::Moments(_)
            | SetMeaning::Matches
            | SetMeaning::Kernel(_) => true,
        };
    let is_volatile = compiled.iter().any(RowExpression::is_volatile);
    let (meaning, result) = (Arc::new(meaning), *result);
    let make = move |row: &crate::plan::RowReader<'_>| -> ExecResult<SetValues> {
        let values: Result<Vec<_>, _> = compiled.iter().map(|one| one.evaluate(row)).collect();
        let values = set_values(&meaning, values.map_err(ExecError::of_value)?);
        let values = values.map_err(ExecError::of_value)?;
        Ok(Box::new(values.map(move |value| physical_value(value, result))))
    };
    let kind = (form.class(), bounds_of_type(result));
    let set = SetColumn::new(entry.name, kind, make).with_volatility(is_volatile);
    Ok((set, form, may_fail))
}

fn meaning_of(function: &SetFunctionColumn, types: &[SqlType]) -> Option<SetMeaning> {
    let call = |oid: u32, types: Vec<SqlType>, result: SqlType| {
        let constants = vec![None; types.len()];
        RowCall::of_function(find_function(oid)?, types, result, &constants)
    };
    if let Some(kernel) = set_kernel(function.function) {
        let (argument_types, result_type) = (types.to_vec(), function.result);
        let settings = session_settings();
        return Some(SetMeaning::Kernel(SetCall { kernel, argument_types, result_type, settings }));
    }
    match (function.function.name, function.result.oid()) {
        ("generate_series", TypeOid::INT4 | TypeOid::INT8) => Some(SetMeaning::Integers),
        ("generate_series", TypeOid::NUMERIC) => Some(SetMeaning::Numerics),
        ("generate_series", TypeOid::TIMESTAMP | TypeOid::TIMESTAMPTZ) => {
            let result = function.result;
            let oid =
                if result.oid() == TypeOid::TIMESTAMP { TIMESTAMP_PLUS } else { TIMESTAMPTZ_PLUS };
            let types = vec![result, types.get(2).copied()?];
            Some(SetMeaning::Moments(call(oid, types, result)?))
        }
        ("unnest", _) => Some(SetMeaning::Elements),
        ("regexp_matches", _) => Some(SetMeaning::Matches),
        (name @ ("string_to_table" | "regexp_split_to_table"), _) => {
            let is_regular = name == "regexp_split_to_table";
            let array = if is_regular { "regexp_split_to_array" } else { "string_to_array" };
            let mut all = functions_named(array);
            let array = all.find(|entry| entry.arguments.len() == types.len())?;
            Some(SetMeaning::Parts(call(array.oid, types.to_vec(), SqlType::TEXT.array()?)?))
        }
        _ => None,
    }
}

type ValueIterator = Box<dyn Iterator<Item = Result<SqlValue, ValueError>> + Send>;

fn set_values(
    meaning: &Arc<SetMeaning>,
    values: Vec<SqlValue>,
) -> Result<ValueIterator, ValueError> {
    let is_null = values.iter().any(SqlValue::is_null);
    match &**meaning {
        SetMeaning::Parts(call) => Ok(elements(call.apply(&values)?)),
        _ if is_null => Ok(Box::new(std::iter::empty())),
        SetMeaning::Kernel(call) => Ok(Box::new(call.apply(&values)?.into_iter().map(Ok))),
        SetMeaning::Matches => Ok(Box::new(regular_matches(&values)?.into_iter().map(Ok))),
        SetMeaning::Elements => Ok(elements(values.into_iter().next().unwrap_or(SqlValue::Null))),
        SetMeaning::Integers => integers(&values),
        SetMeaning::Numerics => numerics(&values),
        SetMeaning::Moments(_) => moments(Arc::clone(meaning), values),
    }
}

fn elements(array: SqlValue) -> ValueIterator {
    match array {
        SqlValue::Array(array) => Box::new(array.elements().to_vec().into_iter().map(Ok)),
        _ => Box::new(std::iter::empty()),
    }
}

fn no_step() -> ValueError {
    ValueError::invalid_parameter("step size cannot equal zero")
}

fn integers(values: &[SqlValue]) -> Result<ValueIterator, ValueError> {
    let number = |value: &SqlValue| match value {
        SqlValue::Integer(value) => i64::from(*value),
        SqlValue::BigInt(value) => *value,
        _ => 0,
    };
    let is_long = matches!(values.first(), Some(SqlValue::BigInt(_)));
    let [start, stop] = [0, 1].map(|at| values.get(at).map_or(0, number));
    let step = values.get(2).map_or(1, number);
    if step == 0 {
        return Err(no_step());
    }
    let mut next = Some(start);
    Ok(Box::new(std::iter::from_fn(move || {
        let value = next.filter(|value| if step > 0 { *value <= stop } else { *value >= stop })?;
        next = value.checked_add(step);
        Some(Ok(match i32::try_from(value) {
            Ok(value) if !is_long => SqlValue::Integer(value),
            _ => SqlValue::BigInt(value),
        }))
    })))
}

fn numerics(values: &[SqlValue]) -> Result<ValueIterator, ValueError> {
    let mut all = Vec::with_capacity(3);
    for (value, name) in values.iter().zip(["start value", "stop value", "step size"]) {
        let SqlValue::Numeric(value) = value else {
            return Err(ValueError::internal("a numeric series of other values"));
        };
        let refused = match (value.is_nan(), value.is_infinite()) {
            (true, _) => "NaN",
            (_, true) => "infinity",
            _ => {
                all.push(value.clone());
                continue;
            }
        };
        return Err(ValueError::invalid_parameter(format!("{name} cannot be {refused}")));
    }
    let step = all.get(2).cloned().unwrap_or_else(|| ExactNumeric::from(1));
    if step.is_zero() {
        return Err(no_step());
    }
    let (mut next, stop) = (all.first().cloned(), all.get(1).cloned());
    let is_up = step > ExactNumeric::ZERO;
    Ok(Box::new(std::iter::from_fn(move || {
        let (value, stop) = (next.take()?, stop.as_ref()?);
        if if is_up { value > *stop } else { value < *stop } {
            return None;
        }
        match value.add(&step) {
            Ok(sum) => next = Some(sum),
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(SqlValue::Numeric(value)))
    })))
}

fn moments(meaning: Arc<SetMeaning>, values: Vec<SqlValue>) -> Result<ValueIterator, ValueError> {
    let moment = |value: &SqlValue| match value {
        SqlValue::Timestamp(moment) | SqlValue::TimestampTz(moment) => Some(*moment),
        _ => None,
    };
    let [first, last, SqlValue::Interval(step)] = &values[..] else {
        return Err(ValueError::internal("a series of other moments"));
    };
    let days = i128::from(step.months) * MONTH_DAYS + i128::from(step.days);
    let size = days * DAY_MICROS + i128::from(step.micros);
    if size == 0 {
        return Err(no_step());
    }
    let (mut next, stop) = (Some(first.clone()), moment(last));
    let step = values[2].clone();
    Ok(Box::new(std::iter::from_fn(move || {
        let value = next.take()?;
        let (own, stop) = (moment(&value)?, stop?);
        if if size > 0 { own > stop } else { own < stop } {
            return None;
        }
        let SetMeaning::Moments(add) = &*meaning else { return None };
        match add.apply(&[value.clone(), step.clone()]) {
            Ok(sum) => next = Some(sum),
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(value))
    })))
}
