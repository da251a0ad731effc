//! Expressions that the planner reads differently from PostgreSQL, or not at all.
//!
//! - `x::timestamp(3)` is rounded; the planner would cut off, and knows 0, 3, 6 and 9 digits.
//! - `x AT TIME ZONE 'zone'` is `timezone('zone', x)`, and has a zone where `x` has none.
//! - `interval '1 year 04:05'` and `interval '5' day` are casts of texts, which
//!   [`crate::literals`] reads.
//! - `extract(second FROM x)` and `extract(epoch FROM x)` are decimals with six digits.
//! - `(a, b) OVERLAPS (c, d)` is a condition on the four.
//! - `~x` is `-1 - x`, `|/ x` is `sqrt(x)`; `float` is `double precision`;
//!   `substring(x FROM 'pattern')` is what the pattern finds.
//! - `x SIMILAR TO 'a%'` is `x ~ '^(?:a.*)$'`.
//! - Frames of windows have their intervals in their own form.
//! - A call of a function that is not there becomes one of [`UNKNOWN`].

use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, DateTimeField, ExactNumberInfo, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArguments, Interval, Spanned, UnaryOperator, Value,
    WindowFrameBound, WindowSpec, WindowType,
};

use crate::functions::{EPOCH, ROUNDED, UNKNOWN, call, null_window_call, similar, synonym, word};
use crate::names::fold;

/// Returns what stands for an expression; `None` for one that stays.
pub(crate) fn expression(expr: &mut Expr, state: &SessionState) -> Option<Expr> {
    if let Some(digits) = fewer_digits(expr) {
        return Some(call(ROUNDED, vec![take(expr), number(&digits.to_string())]));
    }
    match expr {
        Expr::Identifier(ident) => word(ident),
        Expr::Function(function) => {
            if let Some(WindowType::WindowSpec(spec)) = &mut function.over {
                frame(spec);
            }
            let found = null_window_call(function).or_else(|| synonym(function));
            found.or_else(|| seconds_of(function)).or_else(|| unknown(function, state))
        }
        Expr::AtTimeZone { timestamp, time_zone } => {
            Some(call("timezone", vec![take(time_zone), take(timestamp)]))
        }
        Expr::Interval(interval) => interval_with_unit(interval),
        Expr::Extract { field, expr: of, .. } => extract(field, of),
        Expr::UnaryOp { op, expr: inner } => match op {
            UnaryOperator::BitwiseNot => {
                let inner = nested(take(inner));
                Some(nested(binary(number("-1"), BinaryOperator::Minus, inner)))
            }
            UnaryOperator::PGSquareRoot => Some(call("sqrt", vec![take(inner)])),
            UnaryOperator::PGCubeRoot => Some(call("cbrt", vec![take(inner)])),
            UnaryOperator::PGAbs => Some(call("abs", vec![take(inner)])),
            _ => None,
        },
        Expr::BinaryOp { left, op: BinaryOperator::Overlaps, right } => overlaps(left, right),
        Expr::Substring { expr: of, substring_from: Some(from), substring_for: None, .. } => {
            let Expr::Value(value) = from.as_ref() else { return None };
            if !matches!(value.value, Value::SingleQuotedString(_)) {
                return None;
            }
            let found = call("regexp_match", vec![take(of), take(from)]);
            Some(call("nacre_element", vec![found, number("1")]))
        }
        // The planner would not look for the function that asks for memory.
        Expr::Overlay { expr: of, overlay_what, overlay_from, overlay_for } => {
            let mut args = vec![take(of), take(overlay_what), take(overlay_from)];
            args.extend(overlay_for.as_deref_mut().map(take));
            Some(call("overlay", args))
        }
        Expr::SimilarTo { negated, expr: of, pattern, escape_char } => {
            Some(similar(take(of), take(pattern), escape_char.as_ref(), *negated))
        }
        Expr::TypedString(typed) => {
            with_micros(&mut typed.data_type);
            None
        }
        Expr::Cast { data_type, .. } => {
            with_micros(data_type);
            match data_type {
                DataType::Float(ExactNumberInfo::Precision(1..=24)) => *data_type = DataType::Real,
                DataType::Float(_) => *data_type = DataType::DoublePrecision,
                _ => {}
            }
            None
        }
        _ => None,
    }
}

/// Returns `interval '1' day` as a cast of `1 day`.
fn interval_with_unit(interval: &Interval) -> Option<Expr> {
    let Expr::Value(value) = interval.value.as_ref() else { return None };
    let Value::SingleQuotedString(text) = &value.value else { return None };
    let text = match &interval.leading_field {
        None => text.clone(),
        // `interval '1' day to hour` is rare, and refused.
        Some(_) if interval.last_field.is_some() => return None,
        Some(unit) => format!("{text} {unit}"),
    };
    Some(cast(string(text), DataType::Interval { fields: None, precision: None }))
}

/// Gives timestamps the digits that columns have; the planner's own have nine, and fewer years.
fn with_micros(data_type: &mut DataType) {
    if let DataType::Timestamp(digits @ None, _) = data_type {
        *digits = Some(6);
    }
}

/// Returns how many digits behind the point a moment is cast to, if these are fewer than it has; it
/// is then cast to all of them.
fn fewer_digits(expr: &mut Expr) -> Option<u64> {
    let data_type = match expr {
        Expr::Cast { data_type, .. } => data_type,
        Expr::TypedString(typed) => &mut typed.data_type,
        _ => return None,
    };
    let DataType::Timestamp(Some(digits), _) = data_type else { return None };
    let asked = std::mem::replace(digits, 6);
    (asked < 6).then_some(asked)
}

/// Whether an expression is an interval in quotes.
fn is_interval(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { data_type: DataType::Interval { .. }, .. } => true,
        Expr::Nested(inner) => is_interval(inner),
        _ => false,
    }
}

fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::Value(Value::Null.into()))
}

fn string(text: String) -> Expr {
    Expr::Value(Value::SingleQuotedString(text).into())
}

fn number(digits: &str) -> Expr {
    Expr::Value(Value::Number(digits.to_owned(), false).into())
}

pub(crate) fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

pub(crate) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    let kind = CastKind::Cast;
    Expr::Cast { kind, expr: Box::new(expr), data_type, array: false, format: None }
}

/// Returns seconds with what is behind the point.
fn extract(field: &DateTimeField, of: &mut Expr) -> Option<Expr> {
    let part = |name: &str, of: Expr| call("date_part", vec![string(name.to_owned()), of]);
    match field {
        DateTimeField::Second | DateTimeField::Seconds => {
            let micros = part("microsecond", take(of));
            Some(nested(binary(micros, BinaryOperator::Multiply, number("0.000001"))))
        }
        DateTimeField::Epoch => Some(call(EPOCH, vec![take(of)])),
        // They are numbers that divide as such.
        other => Some(cast(part(&other.to_string(), take(of)), digits())),
    }
}

/// The type of what is a whole number for PostgreSQL's `numeric`.
fn digits() -> DataType {
    DataType::Numeric(ExactNumberInfo::PrecisionAndScale(10, 0))
}

/// The same for `date_part('second', x)`, which is a double.
fn seconds_of(function: &mut Function) -> Option<Expr> {
    let [part] = function.name.0.as_slice() else { return None };
    if fold(part.as_ident()?) != "date_part" {
        return None;
    }
    let FunctionArguments::List(list) = &mut function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(field)), one] = list.args.as_mut_slice() else {
        return None;
    };
    let Expr::Value(value) = field else { return None };
    let Value::SingleQuotedString(text) = &value.value else { return None };
    let part = text.to_ascii_lowercase();
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(of)) = one else { return None };
    match part.as_str() {
        "epoch" => return Some(cast(call(EPOCH, vec![take(of)]), DataType::DoublePrecision)),
        "second" | "seconds" => {}
        _ => {
            let part = call("date_part", vec![string(part), take(of)]);
            return Some(cast(part, DataType::DoublePrecision));
        }
    }
    let micros = call("date_part", vec![string("microsecond".to_owned()), take(of)]);
    let million = cast(number("1000000"), DataType::DoublePrecision);
    Some(nested(binary(micros, BinaryOperator::Divide, million)))
}

/// Writes the intervals of a frame as the planner reads them.
pub(crate) fn frame(spec: &mut WindowSpec) {
    let Some(frame) = &mut spec.window_frame else { return };
    for bound in [Some(&mut frame.start_bound), frame.end_bound.as_mut()].into_iter().flatten() {
        use WindowFrameBound::{Following, Preceding};
        let (Preceding(Some(offset)) | Following(Some(offset))) = bound else { continue };
        let text = match offset.as_ref() {
            Expr::Cast { expr, data_type: DataType::Interval { .. }, .. } => match expr.as_ref() {
                Expr::Value(text) => text.clone(),
                _ => continue,
            },
            _ => continue,
        };
        **offset = Expr::Interval(Interval {
            value: Box::new(Expr::Value(text)),
            leading_field: None,
            leading_precision: None,
            last_field: None,
            fractional_seconds_precision: None,
        });
    }
}

/// Two spans overlap if each begins before the other ends; one that has no length is a moment.
fn overlaps(left: &mut Expr, right: &mut Expr) -> Option<Expr> {
    let (first, second) = (span(left)?, span(right)?);
    let least = |(a, b): &(Expr, Expr)| call("least", vec![a.clone(), b.clone()]);
    let greatest = |(a, b): &(Expr, Expr)| call("greatest", vec![a.clone(), b.clone()]);
    let before = |one, other| binary(one, BinaryOperator::Lt, other);
    let meet = binary(
        before(least(&first), greatest(&second)),
        BinaryOperator::And,
        before(least(&second), greatest(&first)),
    );
    let same = binary(least(&first), BinaryOperator::Eq, least(&second));
    Some(nested(binary(meet, BinaryOperator::Or, same)))
}

/// Returns the two ends of a span; the second may be how long it is.
fn span(expr: &mut Expr) -> Option<(Expr, Expr)> {
    let Expr::Tuple(parts) = expr else { return None };
    let [begin, end] = parts.as_slice() else { return None };
    let end = match is_interval(end) {
        true => nested(binary(begin.clone(), BinaryOperator::Plus, end.clone())),
        false => end.clone(),
    };
    Some((begin.clone(), end))
}

/// Makes a call of a function that is not there the one that says so.
fn unknown(function: &Function, state: &SessionState) -> Option<Expr> {
    let parts: Vec<String> =
        function.name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
    let name = parts.join(".");
    let is_known = state.scalar_functions().contains_key(&name)
        || state.aggregate_functions().contains_key(&name)
        || state.window_functions().contains_key(&name)
        || matches!(name.as_str(), "unnest" | "grouping" | "array");
    let FunctionArguments::List(list) = &function.args else { return None };
    if is_known {
        return None;
    }
    let given = list.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    let given = given.collect::<Option<Vec<Expr>>>()?;
    let place = function.name.span().start;
    let mut args =
        vec![string(name), number(&place.line.to_string()), number(&place.column.to_string())];
    args.extend(given);
    Some(call(UNKNOWN, args))
}
