//! `clock_timestamp`: the time at which each batch of rows is computed.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use datafusion::arrow::array::TimestampMicrosecondArray;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
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

/// Returns the microseconds that it is since 1970.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
