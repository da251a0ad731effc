//! `pg_sleep`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Longest wait: ten years.
const SECONDS_MAX: f64 = 315_360_000.0;

/// Waits without holding a thread; dropping the query ends the wait.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sleep {
    signature: Signature,
}

/// Makes the function.
pub(super) fn function() -> ScalarUDF {
    let signature = Signature::exact(vec![DataType::Float64], Volatility::Volatile);
    AsyncScalarUDF::new(Arc::new(Sleep { signature })).into_scalar_udf()
}

impl ScalarUDFImpl for Sleep {
    fn name(&self) -> &str {
        "pg_sleep"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(DataFusionError::Internal("pg_sleep waits".to_owned()))
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for Sleep {
    async fn invoke_async_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let Some(seconds) = args.args.into_iter().next() else {
            return Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(None)));
        };
        let seconds = seconds.into_array(rows)?;
        for seconds in seconds.as_primitive::<Float64Type>().iter().flatten() {
            if seconds > 0.0 {
                let wait = Duration::from_secs_f64(seconds.min(SECONDS_MAX));
                tokio::time::sleep(wait).await;
            }
        }
        // PostgreSQL's void is an empty text.
        let void = ScalarValue::Utf8View(Some(String::new()));
        Ok(ColumnarValue::Array(void.to_array_of_size(rows)?))
    }
}
