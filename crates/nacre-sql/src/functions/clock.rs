//! `clock_timestamp`, the time at which each batch of rows is computed, and `now`, that at which
//! the transaction began.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use datafusion::arrow::array::TimestampMicrosecondArray;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use crate::types::{UTC, zoned};

#[derive(Debug, PartialEq, Eq, Hash)]
struct Clock {
    signature: Signature,
}

/// Makes the function.
pub(super) fn function() -> Arc<ScalarUDF> {
    let signature = Signature::nullary(Volatility::Volatile);
    Arc::new(ScalarUDF::new_from_impl(Clock { signature }))
}

impl ScalarUDFImpl for Clock {
    fn name(&self) -> &str {
        "clock_timestamp"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(zoned())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values: TimestampMicrosecondArray =
            (0..args.number_rows).map(|_| Some(now_us())).collect();
        Ok(ColumnarValue::Array(Arc::new(values.with_timezone(UTC))))
    }
}

/// As the planner's own, in the unit that columns have.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Now {
    signature: Signature,
    aliases: [String; 1],
}

/// Makes `now`.
pub(crate) fn now() -> Arc<ScalarUDF> {
    let signature = Signature::nullary(Volatility::Stable);
    Arc::new(ScalarUDF::new_from_impl(Now { signature, aliases: ["current_timestamp".into()] }))
}

impl ScalarUDFImpl for Now {
    fn name(&self) -> &str {
        "now"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(zoned())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(Field::new("now", zoned(), false)))
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let Some(began) = context.query_execution_start_time() else {
            return Ok(ExprSimplifyResult::Original(args));
        };
        let micros = Some(began.timestamp_micros());
        let moment = ScalarValue::TimestampMicrosecond(micros, Some(UTC.into()));
        Ok(ExprSimplifyResult::Simplified(Expr::Literal(moment, None)))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("now() is a literal before a plan runs")
    }
}

/// Returns the microseconds that it is since 1970.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
