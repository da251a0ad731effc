//! Functions that make texts, byte strings or arrays ask for memory before they take it.
//!
//! A value has at most [`VALUE_BYTES_MAX`] bytes, as in PostgreSQL. What a batch of rows takes is
//! taken from what all queries share for as long as the batch is computed. Of functions that cannot
//! be asked how much they make, [`bound_of`] knows a bound by their arguments.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::value_blocks::{VALUE_BYTES_MAX, too_long};
use crate::cancellation::check_cancelled;
use crate::from_datafusion::external;
use crate::memory::check_available;

/// Batches whose results are shorter need not ask.
const BATCH_BYTES_FREE: u64 = 1 << 20;

/// Estimated bytes of the text of a number or a moment.
const PLAIN_BYTES: u64 = 48;

/// Copies of a result that a function and the casts around it may hold at once.
const COPIES: usize = 4;

/// Which argument of functions that are asked to make so much is the number.
const COUNT_PLACE: usize = 1;

/// Bytes of a view of a text, and of an element of an array.
const ELEMENT_BYTES: u64 = 16;

/// A number of bytes, by the lengths of texts and the values of numbers.
type Length = fn(&[u64]) -> u64;

/// How much a function makes of the arguments of a row.
#[derive(Clone, Copy)]
struct LengthBound {
    /// The length of the result, or less if that is not known before.
    asked: Length,
    /// What it may take.
    taken: Length,
    /// Whether numbers among the arguments count as what they are, and not as texts.
    has_counts: bool,
}

/// Returns the bound of a function's results; `None` if they are short.
fn bound_of(name: &str) -> Option<LengthBound> {
    const UNKNOWN: Length = |_| 0;
    let counting = |asked: Length, taken: Length| LengthBound { asked, taken, has_counts: true };
    let plain = |asked: Length, taken: Length| LengthBound { asked, taken, has_counts: false };
    Some(match name {
        "repeat" => counting(repeated, repeated),
        // A character has up to four bytes.
        "lpad" | "rpad" => {
            counting(|parts| part(parts, 1), |parts| part(parts, 1).saturating_mul(4))
        }
        // Most have fewer places than they may have.
        "replace" => plain(UNKNOWN, replaced),
        "regexp_replace" => counting(matched, matched),
        "concat" | "nacre_joined" => plain(sum_of_texts, sum),
        "concat_ws" => plain(sum_of_texts, separated),
        "nacre_joined_arrays" | "array_cat" | "array_remove" | "nacre_array" => {
            plain(UNKNOWN, many)
        }
        "reverse" | "overlay" | "left" | "right" | "substr" | "substring" | "split_part"
        | "ltrim" | "rtrim" | "btrim" | "decode" | "nacre_bytea" | "regexp_match" => {
            plain(UNKNOWN, sum)
        }
        // A letter may become three, and a character one of four bytes.
        "upper" | "lower" | "initcap" | "translate" | "encode" => {
            plain(UNKNOWN, |parts| sum(parts).saturating_mul(4))
        }
        // An element for each character, beside its text.
        "string_to_array" | "parse_ident" => {
            plain(UNKNOWN, |parts| sum(parts).saturating_mul(1 + ELEMENT_BYTES))
        }
        // They copy their arguments before they write them.
        "array_to_string" => plain(UNKNOWN, joined_elements),
        "quote_ident"
        | "quote_literal"
        | "quote_nullable"
        | "format"
        | "json_build_object"
        | "nacre_shown"
        | "nacre_varchar"
        | "nacre_bpchar"
        | "nacre_name"
        | "nacre_json"
        | "nacre_like_pattern"
        | "nacre_similar_pattern" => plain(UNKNOWN, many),
        _ if name.starts_with("nacre_") && name.ends_with("_array") => {
            plain(UNKNOWN, |parts| sum(parts).saturating_mul(1 + ELEMENT_BYTES))
        }
        _ => return None,
    })
}

fn repeated(parts: &[u64]) -> u64 {
    part(parts, 0).saturating_mul(part(parts, 1))
}

fn replaced(parts: &[u64]) -> u64 {
    let places = part(parts, 0) / part(parts, 1).max(1) + 1;
    part(parts, 0).saturating_add(places.saturating_mul(part(parts, 2)))
}

/// A pattern may match between any two bytes. Naming a group takes two bytes; all matches of one
/// group together are no longer than the text.
fn matched(parts: &[u64]) -> u64 {
    let (text, with) = (part(parts, 0), part(parts, 2));
    let places = if parts.len() > 3 { text.saturating_add(1) } else { 1 };
    let groups = (with / 2).saturating_mul(text);
    text.saturating_add(places.saturating_mul(with)).saturating_add(groups)
}

fn sum(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |sum, one| sum.saturating_add(*one))
}

/// Without the values that are no texts, whose lengths are only estimated.
fn sum_of_texts(parts: &[u64]) -> u64 {
    sum(parts).saturating_sub(PLAIN_BYTES * parts.len() as u64)
}

fn separated(parts: &[u64]) -> u64 {
    sum(parts).saturating_add(part(parts, 0).saturating_mul(parts.len() as u64))
}

/// An element has a separator and, if it is null, the text for that.
fn joined_elements(parts: &[u64]) -> u64 {
    let more = sum(&parts[1..]);
    let elements = part(parts, 0) / ELEMENT_BYTES + 1;
    part(parts, 0).saturating_mul(4).saturating_add(elements.saturating_mul(more))
}

fn many(parts: &[u64]) -> u64 {
    sum(parts).saturating_mul(6)
}

struct BoundedFunction {
    planned: Arc<ScalarUDF>,
    /// Volatile if the result is too long to be a constant of a plan.
    signature: Signature,
    bound: LengthBound,
    pool: Arc<dyn MemoryPool>,
}

/// Has a function take memory from `pool` if it makes something long.
pub(crate) fn bounded(planned: Arc<ScalarUDF>, pool: &Arc<dyn MemoryPool>) -> Arc<ScalarUDF> {
    match bound_of(planned.name()) {
        Some(bound) => {
            let (pool, signature) = (Arc::clone(pool), planned.signature().clone());
            Arc::new(ScalarUDF::new_from_impl(BoundedFunction { planned, signature, bound, pool }))
        }
        None => planned,
    }
}

fn part(parts: &[u64], place: usize) -> u64 {
    parts.get(place).copied().unwrap_or(0)
}

/// Returns what computes a call with constants whose result may be long when the query runs; `None`
/// for other calls. The planner would put the result into the plan, and into names of columns.
pub(crate) fn deferred(function: &ScalarUDF, args: &[Expr]) -> Option<Arc<ScalarUDF>> {
    let own = function.inner().downcast_ref::<BoundedFunction>()?;
    if constant_bytes(own, args)? <= BATCH_BYTES_FREE {
        return None;
    }
    let mut signature = own.signature.clone();
    signature.volatility = Volatility::Volatile;
    let (planned, pool) = (Arc::clone(&own.planned), Arc::clone(&own.pool));
    let deferred = BoundedFunction { planned, signature, bound: own.bound, pool };
    Some(Arc::new(ScalarUDF::new_from_impl(deferred)))
}

/// Returns a bound of what a call with constants makes; `None` for a call that the planner does not
/// compute, and for one whose result is about as long as arguments of unknown length.
fn constant_bytes(function: &BoundedFunction, args: &[Expr]) -> Option<u64> {
    let mut parts = Vec::with_capacity(args.len());
    for (place, arg) in args.iter().enumerate() {
        let length = match arg {
            Expr::Literal(value, _) => scalar_length(value, function.bound.has_counts).ok(),
            // That of `repeat`, `lpad` and `rpad`.
            _ if function.bound.has_counts && place == COUNT_PLACE => None,
            _ => constant_length(arg),
        };
        parts.push(match length {
            Some(length) => length,
            None if multiplies(function.name()) && is_constant(arg) => u64::MAX,
            None => return None,
        });
    }
    Some((function.bound.taken)(&parts))
}

/// Returns a bound of the length of a constant that is no count, if it is a literal or a call.
fn constant_length(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Literal(value, _) => scalar_length(value, false).ok(),
        Expr::Cast(Cast { expr, .. }) => constant_length(expr),
        Expr::ScalarFunction(call) => match call.func.inner().downcast_ref::<BoundedFunction>() {
            Some(function) if !is_volatile(&call.func) => constant_bytes(function, &call.args),
            // Results of the others are short.
            None if is_constant(expr) => Some(PLAIN_BYTES),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a function may make much of arguments that are short, or that are numbers.
fn multiplies(name: &str) -> bool {
    matches!(name, "repeat" | "lpad" | "rpad" | "replace" | "regexp_replace")
}

/// Whether the planner computes an expression.
fn is_constant(expr: &Expr) -> bool {
    let is_other = |part: &Expr| match part {
        Expr::ScalarFunction(call) => is_volatile(&call.func),
        Expr::Literal(..)
        | Expr::Alias(_)
        | Expr::Cast(_)
        | Expr::TryCast(_)
        | Expr::BinaryExpr(_)
        | Expr::Case(_)
        | Expr::Not(_)
        | Expr::Negative(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::Between(_)
        | Expr::InList(_)
        | Expr::Like(_)
        | Expr::SimilarTo(_) => false,
        _ => true,
    };
    expr.exists(|part| Ok(is_other(part))).is_ok_and(|is_other| !is_other)
}

fn is_volatile(function: &ScalarUDF) -> bool {
    function.signature().volatility == Volatility::Volatile
}

impl BoundedFunction {
    /// Returns how many bytes the results of a batch take at most.
    fn bytes(&self, args: &[ColumnarValue], rows: usize) -> Result<u64> {
        let is_constant = args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { rows };
        let lengths: Vec<ArgumentLengths> =
            args.iter().map(|arg| self.lengths(arg)).collect::<Result<_>>()?;
        let mut parts = vec![0; lengths.len()];
        let mut sum = 0_u64;
        for row in 0..rows {
            for (part, of) in parts.iter_mut().zip(&lengths) {
                *part = of.at(row);
            }
            if (self.bound.asked)(&parts) > VALUE_BYTES_MAX {
                return Err(external(too_long()));
            }
            sum = sum.saturating_add((self.bound.taken)(&parts));
        }
        Ok(sum)
    }

    fn lengths(&self, value: &ColumnarValue) -> Result<ArgumentLengths> {
        Ok(match value {
            ColumnarValue::Array(array) => {
                ArgumentLengths::Each(lengths_of(array, self.bound.has_counts)?)
            }
            ColumnarValue::Scalar(scalar) => {
                ArgumentLengths::Same(scalar_length(scalar, self.bound.has_counts)?)
            }
        })
    }
}

/// The lengths of texts, or the values of numbers.
enum ArgumentLengths {
    Same(u64),
    Each(Vec<u64>),
}

impl ArgumentLengths {
    fn at(&self, row: usize) -> u64 {
        match self {
            Self::Same(one) => *one,
            Self::Each(each) => each.get(row).copied().unwrap_or(0),
        }
    }
}

/// Returns the length of a value without a copy of its text.
fn scalar_length(value: &ScalarValue, has_counts: bool) -> Result<u64> {
    if let Some(text) = value.try_as_str() {
        return Ok(text.map_or(0, |text| text.len() as u64));
    }
    if let ScalarValue::Binary(bytes)
    | ScalarValue::LargeBinary(bytes)
    | ScalarValue::BinaryView(bytes) = value
    {
        return Ok(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64));
    }
    Ok(lengths_of(&value.to_array()?, has_counts)?.first().copied().unwrap_or(0))
}

/// Returns the lengths of values; of numbers what they are, if that counts.
pub(super) fn lengths_of(array: &ArrayRef, has_counts: bool) -> Result<Vec<u64>> {
    Ok(match array.data_type() {
        DataType::Utf8 => lengths(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => lengths(array.as_string::<i64>().iter()),
        DataType::Utf8View => lengths(array.as_string_view().iter()),
        DataType::Binary => lengths(array.as_binary::<i32>().iter()),
        DataType::LargeBinary => lengths(array.as_binary::<i64>().iter()),
        DataType::BinaryView => lengths(array.as_binary_view().iter()),
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let mut ends = vec![0_u64];
            for length in lengths_of(lists.values(), false)? {
                let before = ends.last().copied().unwrap_or(0);
                ends.push(before.saturating_add(length).saturating_add(ELEMENT_BYTES));
            }
            let end = |at: i32| usize::try_from(at).ok().and_then(|at| ends.get(at)).copied();
            let spans = lists.value_offsets().windows(2);
            spans.map(|span| end(span[1]).unwrap_or(0) - end(span[0]).unwrap_or(0)).collect()
        }
        one if one.is_integer() && has_counts => {
            let numbers = cast(array, &DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>().iter();
            numbers.map(|one| u64::try_from(one.unwrap_or(0)).unwrap_or(0)).collect()
        }
        _ => vec![PLAIN_BYTES; array.len()],
    })
}

fn lengths<T: AsRef<[u8]>>(values: impl Iterator<Item = Option<T>>) -> Vec<u64> {
    values.map(|value| value.map_or(0, |value| value.as_ref().len() as u64)).collect()
}

impl fmt::Debug for BoundedFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for BoundedFunction {
    fn eq(&self, other: &Self) -> bool {
        self.planned == other.planned && self.signature == other.signature
    }
}

impl Eq for BoundedFunction {}

impl Hash for BoundedFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.planned.hash(state);
    }
}

impl ScalarUDFImpl for BoundedFunction {
    fn name(&self) -> &str {
        self.planned.name()
    }

    fn aliases(&self) -> &[String] {
        self.planned.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        self.planned.inner().is_strict()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.planned.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.planned.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        check_cancelled()?;
        self.planned.return_field_from_args(args)
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.planned.inner().simplify(args, context)
    }

    fn evaluate_bounds(&self, inputs: &[&Interval]) -> Result<Interval> {
        self.planned.inner().evaluate_bounds(inputs)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.planned.inner().output_ordering(inputs)
    }

    fn preserves_lex_ordering(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.planned.inner().preserves_lex_ordering(inputs)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let bytes = self.bytes(&args.args, args.number_rows)?;
        let reservation = MemoryConsumer::new(self.name().to_owned()).register(&self.pool);
        if bytes > BATCH_BYTES_FREE {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            reservation.try_grow(bytes)?;
            check_available(bytes.saturating_mul(COPIES))?;
        }
        self.planned.invoke_with_args(args)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int32Array, ListArray, StringArray};
    use datafusion::arrow::datatypes::Int32Type;
    use datafusion::execution::SessionStateBuilder;
    use datafusion::execution::memory_pool::UnboundedMemoryPool;
    use datafusion::logical_expr::{Operator, binary_expr, col, lit};

    use super::*;

    #[test]
    fn lengths_are_those_of_bytes() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a\u{e4}"), None]));
        assert_eq!(lengths_of(&texts, false).unwrap(), [3, 0]);
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1_000_000, -1]));
        assert_eq!(lengths_of(&numbers, true).unwrap(), [1_000_000, 0]);
        assert_eq!(lengths_of(&numbers, false).unwrap(), [PLAIN_BYTES; 2]);
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([
            Some(vec![Some(1), None]),
            None,
        ]));
        let two = 2 * (PLAIN_BYTES + ELEMENT_BYTES);
        assert_eq!(lengths_of(&lists, true).unwrap(), [two, 0]);
    }

    #[test]
    fn bounds_hold_for_what_functions_make() {
        let taken = |name: &str, parts: &[u64]| (bound_of(name).unwrap().taken)(parts);
        assert_eq!(taken("repeat", &[3, 5]), 15);
        assert_eq!(taken("nacre_joined", &[900 << 20, 900 << 20]), 1800 << 20);
        assert!((bound_of("nacre_joined").unwrap().asked)(&[900 << 20; 2]) > VALUE_BYTES_MAX);
        // "{a,b}" with a separator of four bytes.
        assert!(taken("array_to_string", &[2 * ELEMENT_BYTES, 4]) >= 6);
        assert!(taken("replace", &[10, 1, 5]) >= 50);
        assert!(bound_of("length").is_none());
    }

    #[test]
    fn long_results_of_constants_are_kept_out_of_plans() {
        let pool: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        let planned = SessionStateBuilder::new().with_default_features().build();
        let function = |name: &str| bounded(Arc::clone(&planned.scalar_functions()[name]), &pool);
        let call = |name: &str, args: Vec<Expr>| function(name).call(args);
        let is_deferred = |name: &str, args: Vec<Expr>| deferred(&function(name), &args).is_some();
        let one = || call("chr", vec![lit(97_i64)]);
        let many = || binary_expr(lit(9_000_i64), Operator::Multiply, lit(100_000_i64));
        for args in [
            vec![lit("a"), lit(900_000_000_i64)],
            vec![one(), lit(900_000_000_i64)],
            vec![lit("a"), many()],
            vec![call("repeat", vec![one(), lit(9_000_i64)]), lit(100_000_i64)],
        ] {
            assert!(is_deferred("repeat", args.clone()), "{args:?}");
        }
        assert!(is_deferred("lpad", vec![lit("a"), many(), lit("b")]));
        assert!(is_deferred("upper", vec![call("repeat", vec![lit("a"), lit(9_000_000_i64)])]));
        for args in [
            vec![lit("a"), lit(9_i64)],
            vec![one(), lit(9_i64)],
            // The planner computes none of these.
            vec![col("a"), lit(900_000_000_i64)],
            vec![lit("a"), col("a")],
            vec![call("random", vec![]), many()],
        ] {
            assert!(!is_deferred("repeat", args.clone()), "{args:?}");
        }
        assert!(!is_deferred("replace", vec![one(), lit("a"), lit("b")]));
        assert!(!is_deferred("upper", vec![one()]));
    }
}
