//! `md5`.

use std::fmt::Write;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, StringBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use md5::{Digest, Md5 as Hasher};

/// The hash of a text or of bytes, as 32 hexadecimal digits.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Md5 {
    signature: Signature,
}

impl Md5 {
    pub(super) fn new() -> Self {
        let types = [DataType::Utf8, DataType::Binary];
        let types = types.map(|data_type| TypeSignature::Exact(vec![data_type]));
        Self { signature: Signature::one_of(types.into(), Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Md5 {
    fn name(&self) -> &str {
        "md5"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let mut hashes = StringBuilder::with_capacity(rows, rows * 32);
        for value in args.args.into_iter().take(1) {
            let value = value.into_array(rows)?;
            let texts = value.as_string_opt::<i32>();
            for row in 0..rows {
                if value.is_null(row) {
                    hashes.append_null();
                    continue;
                }
                let bytes = match texts {
                    Some(texts) => texts.value(row).as_bytes(),
                    None => value.as_binary::<i32>().value(row),
                };
                for byte in Hasher::digest(bytes) {
                    // Writing into memory does not fail.
                    let _ = write!(hashes, "{byte:02x}");
                }
                hashes.append_value("");
            }
        }
        Ok(ColumnarValue::Array(Arc::new(hashes.finish())))
    }
}
