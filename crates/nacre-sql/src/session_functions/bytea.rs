//! `x::bytea`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, BinaryViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use nacre_ingest::parse::parse_bytea;

use crate::error::Error;
use crate::from_ingest::from_value;
use crate::types::{is_bytes, is_text};

/// The bytes that a text stands for, as `\x00ff` or with escapes; bytes are what they are.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ToBytea {
    signature: Signature,
}

impl ToBytea {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for ToBytea {
    fn name(&self) -> &str {
        "nacre_bytea"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [of] if is_text(of) || is_bytes(of) || *of == DataType::Null => {
                Ok(DataType::BinaryView)
            }
            _ => {
                let of = types.first().map(crate::types::type_name).unwrap_or_default();
                let message = format!("cannot cast type {of} to bytea");
                let error = Error::new(crate::error::ErrorKind::InvalidStatement, message);
                Err(DataFusionError::External(Box::new(error.with_code("42846"))))
            }
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let mut bytes = BinaryViewBuilder::with_capacity(rows);
        for value in args.args.into_iter().take(1) {
            let value = value.into_array(rows)?;
            if !is_text(value.data_type()) {
                return Ok(ColumnarValue::Array(cast(&value, &DataType::BinaryView)?));
            }
            let texts = cast(&value, &DataType::Utf8View)?;
            for text in texts.as_string_view() {
                let one = text.map(|text| parse_bytea(text.as_bytes())).transpose();
                bytes.append_option(
                    one.map_err(|error| DataFusionError::External(Box::new(from_value(&error))))?,
                );
            }
        }
        Ok(ColumnarValue::Array(Arc::new(bytes.finish())))
    }
}
