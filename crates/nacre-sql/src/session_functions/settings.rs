//! `current_setting` and `set_config`.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};

use crate::error::{Error, ErrorKind};
use crate::settings::{Settings, unknown};

/// One of the two.
#[derive(Debug)]
struct SettingFunction {
    is_set: bool,
    settings: Arc<Settings>,
    signature: Signature,
}

/// Makes the functions.
pub(super) fn functions(settings: &Arc<Settings>) -> [Arc<ScalarUDF>; 2] {
    let (text, flag) = (|| DataType::Utf8, || DataType::Boolean);
    [false, true].map(|is_set| {
        let signature = match is_set {
            true => Signature::exact(vec![text(), text(), flag()], Volatility::Volatile),
            false => Signature::one_of(
                vec![
                    TypeSignature::Exact(vec![text()]),
                    TypeSignature::Exact(vec![text(), flag()]),
                ],
                // SET is no part of a query, but set_config may be.
                Volatility::Volatile,
            ),
        };
        let settings = Arc::clone(settings);
        Arc::new(ScalarUDF::new_from_impl(SettingFunction { is_set, settings, signature }))
    })
}

impl PartialEq for SettingFunction {
    fn eq(&self, other: &Self) -> bool {
        self.is_set == other.is_set && Arc::ptr_eq(&self.settings, &other.settings)
    }
}

impl Eq for SettingFunction {}

impl Hash for SettingFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.is_set.hash(state);
    }
}

impl ScalarUDFImpl for SettingFunction {
    fn name(&self) -> &str {
        if self.is_set { "set_config" } else { "current_setting" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays: Vec<ArrayRef> =
            args.args.into_iter().map(|arg| arg.into_array(rows)).collect::<Result<_>>()?;
        let values = (0..rows).map(|row| {
            self.value(&arrays, row).map_err(|error| DataFusionError::External(Box::new(error)))
        });
        let values: Vec<Option<String>> = values.collect::<Result<_>>()?;
        Ok(ColumnarValue::Array(Arc::new(StringArray::from(values))))
    }
}

impl SettingFunction {
    fn value(&self, arrays: &[ArrayRef], row: usize) -> crate::error::Result<Option<String>> {
        let text = |place: usize| {
            let array = arrays.get(place).map(|array| array.as_string::<i32>());
            array.filter(|array| array.is_valid(row)).map(|array| array.value(row))
        };
        let flag = |place: usize| {
            let array = arrays.get(place).map(|array| array.as_boolean());
            array.filter(|array| array.is_valid(row)).map(|array| array.value(row))
        };
        if !self.is_set {
            let Some(name) = text(0) else { return Ok(None) };
            return match (self.settings.shown(name), flag(1)) {
                (Some(value), _) => Ok(Some(value)),
                // Neither true nor absent, but null.
                (None, None) if arrays.len() > 1 => Ok(None),
                (None, Some(true)) => Ok(None),
                (None, _) => Err(unknown(name)),
            };
        }
        let Some(name) = text(0) else {
            let message = "SET requires parameter name";
            return Err(Error::new(ErrorKind::InvalidData, message).with_code("22004"));
        };
        self.settings.set(name, text(1), flag(2).unwrap_or(false)).map(Some)
    }
}
