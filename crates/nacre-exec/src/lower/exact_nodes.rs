//! Nodes on numerics of any scale ([`ValueForm::Exact`]) and packed characters, row by row.
//!
//! [`ValueForm::Exact`]: super::form::ValueForm::Exact

use nacre_types::{ExactNumeric, SqlType, SqlValue, ValueError};

use super::error::{LoweringError, LoweringResult};
use super::form::ValueForm;
use crate::error::{ExecError, ExecResult};
use crate::expression::{
    ExpressionGraph, ExpressionId, ExpressionNode, ForeignCall, ForeignFunction,
};
use crate::value::{
    IntBounds, RoundedTo, ScalarValue, ValueClass, decode_exact, encode_exact, encode_packed,
    encode_scaled, exact_key, packed_key, round_exact,
};
use crate::vector::{ColumnVector, VectorValues};

/// One more than any decimal of 38 digits: what is rounded lies within.
const ROUNDED_BOUNDS_MAX: i128 = 10_i128.pow(38);

/// Calls `work` for the rows that reach a call; it appends a value, or none for a null.
pub(super) fn each_active_row(
    call: &ForeignCall<'_>,
    out: &mut ColumnVector,
    mut work: impl FnMut(usize, &mut VectorValues) -> ExecResult<bool>,
) -> ExecResult<()> {
    for row in 0..call.rows {
        let is_active = call.active.is_none_or(|active| active.get(row));
        if !(is_active && work(row, &mut out.values)?) {
            out.values.push_default();
            out.mark_last_null();
        }
    }
    out.fill_validity();
    Ok(())
}

/// As [`each_active_row`], for rows that have no null argument.
fn each_full_row(
    call: &ForeignCall<'_>,
    out: &mut ColumnVector,
    mut work: impl FnMut(usize, &mut VectorValues) -> ExecResult<bool>,
) -> ExecResult<()> {
    let has_nulls = |argument: &&&ColumnVector| argument.validity.is_some();
    let nullable: Vec<&ColumnVector> = call.arguments.iter().filter(has_nulls).copied().collect();
    each_active_row(call, out, |row, values| {
        let is_full = !nullable.iter().any(|argument| argument.is_null(row));
        Ok(is_full && work(row, values)?)
    })
}

/// Appends bytes to a vector of such.
pub(super) fn push_bytes(values: &mut VectorValues, bytes: &[u8]) -> ExecResult<bool> {
    match values {
        VectorValues::Bytes(all) => {
            all.push(bytes);
            Ok(true)
        }
        _ => Err(ExecError::internal("a numeric of any scale among other values")),
    }
}

fn add(
    graph: &mut ExpressionGraph,
    function: ForeignFunction,
    arguments: Vec<ExpressionId>,
) -> LoweringResult<ExpressionId> {
    Ok(graph.add(ExpressionNode::Foreign { function, arguments })?)
}

/// Adds a function of one numeric that gives bytes.
fn add_bytes_function(
    graph: &mut ExpressionGraph,
    name: &str,
    input: ExpressionId,
    part: impl Fn(&[u8]) -> Result<&[u8], ValueError> + Send + Sync + 'static,
) -> LoweringResult<ExpressionId> {
    let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
        let input = call.arguments[0];
        let reader = input.dictionary_reader();
        each_full_row(call, out, |row, values| {
            input.with_bytes(row, reader.as_ref(), |bytes| {
                push_bytes(values, part(bytes).map_err(ExecError::of_value)?)
            })
        })
    };
    let (class, bounds) = (ValueClass::Bytes, IntBounds::I128);
    add(graph, ForeignFunction::new(name, kernel, class, bounds, true), vec![input])
}

/// Adds the values of `input`, which have that form, with the blanks at the end of each.
pub(super) fn packed_node(
    graph: &mut ExpressionGraph,
    input: ExpressionId,
    form: ValueForm,
) -> LoweringResult<ExpressionId> {
    if !matches!(form, ValueForm::Padded { .. }) {
        return Ok(input);
    }
    if let ExpressionNode::Constant(value) = graph.node(input) {
        let packed = packed_value(value.clone(), form)?;
        return Ok(graph.add(ExpressionNode::Constant(packed))?);
    }
    let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
        each_full_row(call, out, |row, values| {
            match packed_value(call.arguments[0].scalar(row), form)? {
                ScalarValue::Bytes(bytes) => push_bytes(values, &bytes),
                _ => Ok(false),
            }
        })
    };
    let (class, bounds) = (ValueClass::Bytes, IntBounds::I128);
    let function = ForeignFunction::new("characters with blanks", kernel, class, bounds, true);
    add(graph, function, vec![input])
}

/// Returns characters, which have that form, with the blanks at their end.
pub(super) fn packed_value(value: ScalarValue, form: ValueForm) -> ExecResult<ScalarValue> {
    let mut bytes = Vec::new();
    match form.decode(value, SqlType::BPCHAR)? {
        SqlValue::Null => return Ok(ScalarValue::Null(ValueClass::Bytes)),
        value => encode_packed(&value, &mut bytes),
    }
    Ok(ScalarValue::Bytes(bytes))
}

/// Adds what is equal, and in order, as the values of `input` are, which have that form.
///
/// # Errors
/// [`LoweringError::NotSupported`] for values without keys.
pub(super) fn form_key_node(
    graph: &mut ExpressionGraph,
    input: ExpressionId,
    form: ValueForm,
) -> LoweringResult<ExpressionId> {
    match form {
        ValueForm::Exact { .. } => key_node(graph, input),
        ValueForm::Packed { has_keys: true } => {
            add_bytes_function(graph, "key of value", input, packed_key)
        }
        ValueForm::Packed { .. } => {
            Err(LoweringError::not_supported("comparisons of values without an order"))
        }
        _ => Ok(input),
    }
}

/// As [`form_key_node`], for packed values and for characters that are compared with such.
pub(super) fn packed_key_node(
    graph: &mut ExpressionGraph,
    input: ExpressionId,
    form: ValueForm,
) -> LoweringResult<ExpressionId> {
    if let ValueForm::Packed { .. } = form {
        return form_key_node(graph, input, form);
    }
    let packed = packed_node(graph, input, form)?;
    form_key_node(graph, packed, ValueForm::Packed { has_keys: true })
}

/// Adds what is equal, and in order, as the numerics of `input` are.
pub(super) fn key_node(
    graph: &mut ExpressionGraph,
    input: ExpressionId,
) -> LoweringResult<ExpressionId> {
    if let ExpressionNode::Constant(ScalarValue::Bytes(bytes)) = graph.node(input)
        && let Ok(key) = exact_key(bytes)
    {
        let key = ScalarValue::Bytes(key.to_vec());
        return Ok(graph.add(ExpressionNode::Constant(key))?);
    }
    add_bytes_function(graph, "key of numeric", input, exact_key)
}

/// Adds the same numerics; those that stand for errors raise them.
pub(super) fn checked_node(
    graph: &mut ExpressionGraph,
    input: ExpressionId,
) -> LoweringResult<ExpressionId> {
    add_bytes_function(graph, "checked numeric", input, |bytes| exact_key(bytes).map(|_| bytes))
}

/// Adds the whole numbers that numerics become in a scale.
pub(super) fn rounded_node(
    graph: &mut ExpressionGraph,
    input: ExpressionId,
    scale: u16,
    target: RoundedTo,
) -> LoweringResult<ExpressionId> {
    if let ExpressionNode::Constant(ScalarValue::Bytes(bytes)) = graph.node(input)
        && let Ok(Some(rounded)) = round_exact(bytes, scale, target)
    {
        return Ok(graph.int(rounded)?);
    }
    let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
        let input = call.arguments[0];
        let reader = input.dictionary_reader();
        each_full_row(call, out, |row, values| {
            let rounded = input.with_bytes(row, reader.as_ref(), |bytes| {
                round_exact(bytes, scale, target).map_err(ExecError::of_value)
            })?;
            rounded.into_iter().for_each(|rounded| values.push_int(rounded));
            Ok(rounded.is_some())
        })
    };
    let bounds = IntBounds::new(-ROUNDED_BOUNDS_MAX, ROUNDED_BOUNDS_MAX);
    let function = ForeignFunction::new("rounded numeric", kernel, ValueClass::Int, bounds, true);
    add(graph, function, vec![input])
}

/// Adds numerics of any scale that are decimals of one; `shown` has the digits that each shows, if
/// these are not all.
pub(super) fn decimal_node(
    graph: &mut ExpressionGraph,
    input: ExpressionId,
    scale: u16,
    shown: Option<ExpressionId>,
) -> LoweringResult<ExpressionId> {
    match graph.node(input) {
        ExpressionNode::Constant(ScalarValue::Int(unscaled)) if shown.is_none() => {
            let mut bytes = Vec::new();
            encode_scaled(*unscaled, scale, &mut bytes);
            return Ok(graph.add(ExpressionNode::Constant(ScalarValue::Bytes(bytes)))?);
        }
        ExpressionNode::Constant(ScalarValue::Null(_)) => {
            let null = ScalarValue::Null(ValueClass::Bytes);
            return Ok(graph.add(ExpressionNode::Constant(null))?);
        }
        _ => {}
    }
    let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
        let mut bytes = Vec::new();
        each_full_row(call, out, |row, values| {
            bytes.clear();
            let shown = (call.arguments.len() > 1).then_some(1);
            let (unscaled, scale) = shown_decimal(call, (0, shown), row, scale)?;
            encode_scaled(unscaled, scale, &mut bytes);
            push_bytes(values, &bytes)
        })
    };
    let (class, bounds) = (ValueClass::Bytes, IntBounds::I128);
    let function = ForeignFunction::new("numeric of decimal", kernel, class, bounds, true);
    add(graph, function, std::iter::once(input).chain(shown).collect())
}

fn int(call: &ForeignCall<'_>, argument: usize, row: usize) -> ExecResult<i128> {
    let value = call.arguments[argument].values.int(row);
    value.ok_or_else(|| ExecError::internal("a decimal that is no whole number"))
}

/// Returns an argument, a decimal of that scale, without the zeros that it does not show if another
/// one says how many digits it does.
pub(super) fn shown_decimal(
    call: &ForeignCall<'_>,
    (value, shown): (usize, Option<usize>),
    row: usize,
    scale: u16,
) -> ExecResult<(i128, u16)> {
    let unscaled = int(call, value, row)?;
    let Some(shown) = shown else { return Ok((unscaled, scale)) };
    // Scales are at most 38, and the digits that are not shown zeros.
    let shown = u16::try_from(int(call, shown, row)?).unwrap_or(scale).min(scale);
    Ok((unscaled / 10_i128.pow((scale - shown).into()), shown))
}

/// Adds a function that gives numerics.
fn add_numeric_function(
    graph: &mut ExpressionGraph,
    name: &str,
    arguments: Vec<ExpressionId>,
    compute: impl Fn(&ForeignCall<'_>, usize) -> ExecResult<Option<ExactNumeric>>
    + Send
    + Sync
    + 'static,
) -> LoweringResult<ExpressionId> {
    let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
        let mut bytes = Vec::new();
        each_full_row(call, out, |row, values| {
            let Some(value) = compute(call, row)? else { return Ok(false) };
            bytes.clear();
            encode_exact(&value, &mut bytes);
            push_bytes(values, &bytes)
        })
    };
    let (class, bounds) = (ValueClass::Bytes, IntBounds::I128);
    add(graph, ForeignFunction::new(name, kernel, class, bounds, true), arguments)
}

/// Adds averages: sums of a scale, of whose digits `shown` says how many count, by counts; null of
/// no values.
pub(super) fn average_node(
    graph: &mut ExpressionGraph,
    [sum, count]: [ExpressionId; 2],
    scale: u16,
    shown: Option<ExpressionId>,
) -> LoweringResult<ExpressionId> {
    let arguments = [Some(sum), Some(count), shown].into_iter().flatten().collect();
    add_numeric_function(graph, "average", arguments, move |call, row| {
        let (sum, count) = (int(call, 0, row)?, int(call, 1, row)?);
        let mut sum = ExactNumeric::from_scaled(sum, scale).map_err(ExecError::of_value)?;
        if call.arguments.len() > 2 {
            // A scale is at most 38.
            sum = sum.truncate(int(call, 2, row)? as i32).map_err(ExecError::of_value)?;
        }
        average(&sum, count)
    })
}

/// Adds averages of numerics of any scale: sums by counts.
pub(super) fn exact_average_node(
    graph: &mut ExpressionGraph,
    [sum, count]: [ExpressionId; 2],
) -> LoweringResult<ExpressionId> {
    add_numeric_function(graph, "average", vec![sum, count], move |call, row| {
        let sum =
            call.arguments[0].with_bytes(row, None, decode_exact).map_err(ExecError::of_value)?;
        average(&sum, int(call, 1, row)?)
    })
}

/// Divides as PostgreSQL's `avg` does.
fn average(sum: &ExactNumeric, count: i128) -> ExecResult<Option<ExactNumeric>> {
    if count == 0 {
        return Ok(None);
    }
    sum.divide(&ExactNumeric::from(count)).map(Some).map_err(ExecError::of_value)
}

/// What a variance, or its square root, is computed of.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviationKind {
    /// Of sums of decimals; `None` for numerics of any scale.
    pub(super) scale: Option<u16>,
    /// Of sums of squares, likewise.
    pub(super) squares_scale: Option<u16>,
    pub(super) is_sample: bool,
    pub(super) is_root: bool,
}

impl DeviationKind {
    /// Returns what the squares of so many values are divided by.
    fn divisor(self, count: i128) -> i128 {
        if self.is_sample { count - 1 } else { count }
    }
}

/// Adds variances or their square roots of sums, counts, and sums of squares; null of too few
/// values.
pub(super) fn deviation_node(
    graph: &mut ExpressionGraph,
    inputs: [ExpressionId; 3],
    kind: DeviationKind,
) -> LoweringResult<ExpressionId> {
    add_numeric_function(graph, "deviation", inputs.to_vec(), move |call, row| {
        let count = int(call, 1, row)?;
        if count <= i128::from(kind.is_sample) {
            return Ok(None);
        }
        if let Some(deviation) = small_deviation(call, row, count, kind)? {
            return deviation.map(Some).map_err(ExecError::of_value);
        }
        let number = |argument: usize, scale: Option<u16>| match scale {
            Some(scale) => {
                let unscaled = int(call, argument, row)?;
                ExactNumeric::from_scaled(unscaled, scale).map_err(ExecError::of_value)
            }
            None => call.arguments[argument]
                .with_bytes(row, None, decode_exact)
                .map_err(ExecError::of_value),
        };
        let (sum, squares) = (number(0, kind.scale)?, number(2, kind.squares_scale)?);
        deviation([&sum, &squares], count, kind).map(Some).map_err(ExecError::of_value)
    })
}

fn deviation(
    [sum, squares]: [&ExactNumeric; 2],
    count: i128,
    kind: DeviationKind,
) -> Result<ExactNumeric, ValueError> {
    let divisor = ExactNumeric::from(kind.divisor(count));
    let count = ExactNumeric::from(count);
    let above = count.multiply(squares)?.subtract(&sum.multiply(sum)?)?;
    deviation_of_quotient(&above, &count.multiply(&divisor)?, kind)
}

/// As [`deviation`], of sums and squares of decimals whose products fit 128 bits; `None` for
/// others.
fn small_deviation(
    call: &ForeignCall<'_>,
    row: usize,
    count: i128,
    kind: DeviationKind,
) -> ExecResult<Option<Result<ExactNumeric, ValueError>>> {
    let Some(scale) = kind.scale.filter(|scale| kind.squares_scale == scale.checked_mul(2)) else {
        return Ok(None);
    };
    let (sum, squares) = (int(call, 0, row)?, int(call, 2, row)?);
    let products = count.checked_mul(squares).zip(sum.checked_mul(sum));
    let above = products.and_then(|(squares, sum)| squares.checked_sub(sum));
    let Some((above, below)) = above.zip(count.checked_mul(kind.divisor(count))) else {
        return Ok(None);
    };
    Ok(Some(
        ExactNumeric::from_scaled(above, 2 * scale)
            .and_then(|above| deviation_of_quotient(&above, &ExactNumeric::from(below), kind)),
    ))
}

/// Returns the variance that a quotient is, or its square root.
fn deviation_of_quotient(
    above: &ExactNumeric,
    below: &ExactNumeric,
    kind: DeviationKind,
) -> Result<ExactNumeric, ValueError> {
    if above.is_zero() {
        return Ok(ExactNumeric::ZERO);
    }
    let variance = above.divide(below)?;
    match variance.scale().filter(|_| kind.is_root) {
        Some(scale) => variance.square_root(scale),
        None => Ok(variance),
    }
}

/// Adds the squares of numerics of any scale.
pub(super) fn square_node(
    graph: &mut ExpressionGraph,
    input: ExpressionId,
) -> LoweringResult<ExpressionId> {
    add_numeric_function(graph, "square", vec![input], |call, row| {
        let input = call.arguments[0];
        let reader = input.dictionary_reader();
        let value = input.with_bytes(row, reader.as_ref(), decode_exact);
        value.and_then(|value| value.multiply(&value)).map(Some).map_err(ExecError::of_value)
    })
}
