//! Floats as decimals: a `real` has the six digits that are sure to be its own, a
//! `double precision` 15 of them, as in PostgreSQL.

use std::fmt::Write;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use nacre_ingest::parse::parse_decimal;

use crate::from_datafusion::external;
use crate::from_ingest::from_value;

const REAL_DIGITS: usize = 6;
const DOUBLE_DIGITS: usize = 15;

/// Casts floats to `target`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct DecimalOfFloat {
    target: DataType,
    signature: Signature,
}

/// Makes what casts floats to a type of decimals.
pub(crate) fn decimal_of_float(target: &DataType) -> Arc<ScalarUDF> {
    let (target, signature) = (target.clone(), Signature::any(1, Volatility::Immutable));
    Arc::new(ScalarUDF::new_from_impl(DecimalOfFloat { target, signature }))
}

/// Casts floats to decimals.
///
/// # Errors
/// 22003 for numbers that do not fit, `not supported` for NaN.
pub(crate) fn decimals_of_floats(
    floats: &ArrayRef,
    precision: u8,
    scale: i8,
) -> crate::error::Result<ArrayRef> {
    let is_real = floats.data_type() == &DataType::Float32;
    let digits = if is_real { REAL_DIGITS } else { DOUBLE_DIGITS };
    // A real is the same number as a double.
    let floats = cast(floats, &DataType::Float64)?;
    let places = u8::try_from(scale).unwrap_or(0);
    let mut text = String::new();
    let mut decimal = |value: f64| {
        text.clear();
        // A string takes everything.
        let _ = write!(text, "{value:.0$e}", digits - 1);
        parse_decimal(text.as_bytes(), precision, places).map_err(|error| from_value(&error))
    };
    let values = floats.as_primitive::<Float64Type>().iter();
    let decimals = values.map(|value| value.map(&mut decimal).transpose());
    let decimals = decimals.collect::<crate::error::Result<Decimal128Array>>()?;
    Ok(Arc::new(decimals.with_precision_and_scale(precision, scale)?))
}

impl ScalarUDFImpl for DecimalOfFloat {
    fn name(&self) -> &str {
        "nacre_decimal_of_float"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.target.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (Some(arg), &DataType::Decimal128(precision, scale)) =
            (args.args.into_iter().next(), &self.target)
        else {
            return internal_err!("{} makes decimals of floats", self.name());
        };
        let is_constant = matches!(arg, ColumnarValue::Scalar(_));
        let floats = arg.into_array(if is_constant { 1 } else { args.number_rows })?;
        let decimals = decimals_of_floats(&floats, precision, scale).map_err(external)?;
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&decimals, 0)?),
            false => ColumnarValue::Array(decimals),
        })
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Float32Array, Float64Array};
    use datafusion::arrow::datatypes::Decimal128Type;

    use super::*;

    fn shown(floats: ArrayRef) -> Vec<String> {
        let decimals = decimals_of_floats(&floats, 38, 10).unwrap();
        let decimals = decimals.as_primitive::<Decimal128Type>();
        (0..decimals.len()).map(|row| decimals.value_as_string(row)).collect()
    }

    #[test]
    fn floats_have_the_digits_that_are_their_own() {
        let reals: ArrayRef = Arc::new(Float32Array::from(vec![0.1, 1_234_567.0, -2.5e-7, 1e-20]));
        let expected = ["0.1000000000", "1234570.0000000000", "-0.0000002500", "0.0000000000"];
        assert_eq!(shown(reals), expected);
        let doubles: ArrayRef =
            Arc::new(Float64Array::from(vec![0.1, 1.0 / 3.0, 1_234_567.890_123_456_7]));
        assert_eq!(shown(doubles), ["0.1000000000", "0.3333333333", "1234567.8901234600"]);
    }

    #[test]
    fn halves_are_those_of_the_shown_digits() {
        // The double is a little less than 1.005.
        let half: ArrayRef = Arc::new(Float64Array::from(vec![1.005, -1.005]));
        let rounded = decimals_of_floats(&half, 10, 2).unwrap();
        assert_eq!(rounded.as_primitive::<Decimal128Type>().values(), &[101, -101]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for value in [1e300, f64::INFINITY, f64::NAN] {
            let floats: ArrayRef = Arc::new(Float64Array::from(vec![value]));
            let error = decimals_of_floats(&floats, 10, 2).unwrap_err();
            let expected = if value.is_nan() { "0A000" } else { "22003" };
            assert_eq!(error.sqlstate(), expected, "{value}");
        }
    }
}
