//! An analyzer rule: texts in quotes, and texts of columns, become values of the type that they are
//! cast to, by PostgreSQL's syntax and with its errors; casts of numbers to whole ones round, those
//! of floats to decimals keep the digits that are sure, and those of moments and floats to text
//! write them as PostgreSQL does.
//!
//! It runs behind the planner's own coercion of types, which casts a literal to the type of what
//! it meets. The planner would read texts of moments and intervals by Arrow's syntax, and cut off
//! what is behind the point.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, ScalarUDF};
use datafusion::optimizer::AnalyzerRule;
use nacre_column::ColumnBuffer;
use nacre_ingest::parse::{
    parse_date, parse_decimal, parse_time, parse_timestamp, parse_timestamptz,
};

use crate::dml::push_syntax;
use crate::error::{Error, ErrorKind};
use crate::from_datafusion::external;
use crate::from_ingest::from_value;
use crate::functions::{decimal_of_float, now_us, parse_interval, text_in};
use crate::plan_expressions::rewrite_expressions;
use crate::types::{is_text, stored_type, trim_blanks};

const DAY_US: i64 = 86_400_000_000;

/// The rule.
#[derive(Debug)]
pub(crate) struct Literals {
    /// What rounds floats, half to even.
    rint: Arc<ScalarUDF>,
    /// What writes values as texts.
    shown: Arc<ScalarUDF>,
    /// When the transaction began.
    now: Arc<ScalarUDF>,
}

impl Literals {
    pub(crate) fn new(rint: Arc<ScalarUDF>, shown: Arc<ScalarUDF>, now: Arc<ScalarUDF>) -> Self {
        Self { rint, shown, now }
    }

    fn cast(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let Expr::Cast(Cast { expr: inner, field }) = expr else {
            return Ok(Transformed::no(expr));
        };
        let target = field.data_type();
        if let Expr::Literal(literal, _) = inner.as_ref()
            && let Some(Some(text)) = literal.try_as_str()
        {
            if is_moment(target) && trim_blanks(text).eq_ignore_ascii_case("now") {
                let func = Arc::clone(&self.now);
                let now = Expr::ScalarFunction(ScalarFunction { func, args: Vec::new() });
                return Ok(Transformed::yes(Expr::Cast(Cast { expr: Box::new(now), field })));
            }
            if let Some(value) = value_of(text, target).map_err(external)? {
                return Ok(Transformed::yes(Expr::Literal(value, None)));
            }
        }
        if inner.get_type(schema).is_ok_and(|from| is_text(&from))
            && let Some(func) = text_in(target, value_of)
        {
            let call = ScalarFunction { func, args: vec![*inner] };
            return Ok(Transformed::yes(Expr::ScalarFunction(call)));
        }
        if is_text(target) && inner.get_type(schema).is_ok_and(|from| is_written(&from)) {
            let func = Arc::clone(&self.shown);
            let text = Expr::ScalarFunction(ScalarFunction { func, args: vec![*inner] });
            return Ok(Transformed::yes(match target {
                DataType::Utf8View => text,
                _ => Expr::Cast(Cast { expr: Box::new(text), field }),
            }));
        }
        if matches!(target, DataType::Decimal128(..))
            && inner.get_type(schema).is_ok_and(|from| from.is_floating())
        {
            let call = ScalarFunction { func: decimal_of_float(target), args: vec![*inner] };
            return Ok(Transformed::yes(Expr::ScalarFunction(call)));
        }
        if !target.is_signed_integer() {
            return Ok(Transformed::no(Expr::Cast(Cast { expr: inner, field })));
        }
        let rounded = match inner.get_type(schema) {
            Ok(DataType::Decimal128(precision, scale)) if scale > 0 => {
                // The cast between decimals rounds half away from zero.
                let whole = DataType::Decimal128(precision, 0);
                Expr::Cast(Cast::new(inner, whole))
            }
            Ok(DataType::Float32 | DataType::Float64) if !is_rounded(&inner) => {
                let args = vec![Expr::Cast(Cast::new(inner, DataType::Float64))];
                Expr::ScalarFunction(ScalarFunction { func: Arc::clone(&self.rint), args })
            }
            _ => return Ok(Transformed::no(Expr::Cast(Cast { expr: inner, field }))),
        };
        Ok(Transformed::yes(Expr::Cast(Cast { expr: Box::new(rounded), field })))
    }
}

fn is_moment(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Timestamp(..))
}

/// Whether Arrow writes values of a type otherwise than PostgreSQL.
fn is_written(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Float32
            | DataType::Float64
            | DataType::Timestamp(..)
            | DataType::Interval(_)
            | DataType::Duration(_)
            | DataType::Time64(_)
            | DataType::List(_)
    )
}

/// Whether an expression is a float without digits behind the point.
fn is_rounded(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(call) => {
            matches!(call.func.name(), "nacre_rint" | "floor" | "ceil") && call.args.len() == 1
        }
        _ => false,
    }
}

impl AnalyzerRule for Literals {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| expr.transform_up(|part| self.cast(part, schema)))
    }

    fn name(&self) -> &str {
        "texts_as_values"
    }
}

/// Returns the value of a type that a text stands for; `None` for types that others read.
fn value_of(text: &str, target: &DataType) -> crate::error::Result<Option<ScalarValue>> {
    let column_type = match target {
        DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Boolean => stored_type(target),
        DataType::Decimal128(precision, scale) => {
            let digits = u8::try_from(*scale).unwrap_or(0);
            let value = parse_decimal(text.as_bytes(), *precision, digits);
            let value = value.map_err(|error| from_value(&error))?;
            return Ok(Some(ScalarValue::Decimal128(Some(value), *precision, *scale)));
        }
        DataType::Date32 => return date(text).map(|days| Some(ScalarValue::Date32(Some(days)))),
        DataType::Timestamp(unit, zone) => {
            return timestamp(text, *unit, zone.as_ref()).map(Some);
        }
        DataType::Time64(unit) => {
            let micros = parse_time(text.as_bytes()).map_err(|error| from_value(&error))?;
            return Ok(match unit {
                TimeUnit::Microsecond => Some(ScalarValue::Time64Microsecond(Some(micros))),
                TimeUnit::Nanosecond => Some(ScalarValue::Time64Nanosecond(Some(micros * 1_000))),
                _ => None,
            });
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = parse_interval(text)?;
            return Ok(Some(ScalarValue::IntervalMonthDayNano(Some(value))));
        }
        _ => None,
    };
    let Some(column_type) = column_type else { return Ok(None) };
    let mut buffer = ColumnBuffer::new(column_type);
    push_syntax(text, &mut buffer)?;
    let cast = ScalarValue::Utf8(Some(trim_blanks(text).to_owned()));
    // The text is well formed; Arrow reads the same number.
    match cast.cast_to(target) {
        Ok(value) if !value.is_null() => Ok(Some(value)),
        _ => Ok(None),
    }
}

/// Returns the moment that a word stands for.
fn special(text: &str) -> Option<i64> {
    let midnight = |days: i64| (now_us().div_euclid(DAY_US) + days) * DAY_US;
    Some(match trim_blanks(text).to_ascii_lowercase().as_str() {
        "epoch" => 0,
        "now" => now_us(),
        "today" => midnight(0),
        "tomorrow" => midnight(1),
        "yesterday" => midnight(-1),
        _ => return None,
    })
}

fn date(text: &str) -> crate::error::Result<i32> {
    match special(text) {
        Some(micros) => Ok(i32::try_from(micros.div_euclid(DAY_US)).unwrap_or(i32::MAX)),
        None => parse_date(text.as_bytes()).map_err(|error| from_value(&error)),
    }
}

fn timestamp(
    text: &str,
    unit: TimeUnit,
    zone: Option<&Arc<str>>,
) -> crate::error::Result<ScalarValue> {
    let micros = match (special(text), zone) {
        (Some(micros), _) => Ok(micros),
        (None, None) => parse_timestamp(text.as_bytes()),
        (None, Some(_)) => parse_timestamptz(text.as_bytes()),
    };
    let micros = micros.map_err(|error| from_value(&error))?;
    let zone = zone.cloned();
    Ok(match unit {
        TimeUnit::Second => ScalarValue::TimestampSecond(Some(micros.div_euclid(1_000_000)), zone),
        TimeUnit::Millisecond => {
            ScalarValue::TimestampMillisecond(Some(micros.div_euclid(1_000)), zone)
        }
        TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(Some(micros), zone),
        TimeUnit::Nanosecond => {
            let nanos = micros.checked_mul(1_000).ok_or_else(|| {
                let message = format!("timestamp out of range: \"{text}\"");
                Error::new(ErrorKind::InvalidData, message)
                    .with_code("22008")
                    .with_detail("Literals have the years 1677 to 2262.")
            })?;
            ScalarValue::TimestampNanosecond(Some(nanos), zone)
        }
    })
}
