//! `pg_typeof`.

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use crate::pg_types::PgType;

/// The name of the type of an expression, whatever its value.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct TypeOf {
    signature: Signature,
}

impl TypeOf {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Stable) }
    }
}

impl ScalarUDFImpl for TypeOf {
    fn name(&self) -> &str {
        "pg_typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let name = args.arg_fields.first().map(|field| sql_name(field));
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(name)))
    }
}

/// Returns the name that SQL has for the type of a field.
fn sql_name(field: &Field) -> String {
    if field.data_type() == &DataType::Null {
        return "unknown".to_owned();
    }
    let (found, oid) = PgType::of_field(field);
    let name = match found.name {
        "bool" => "boolean",
        "int2" => "smallint",
        "int4" => "integer",
        "int8" => "bigint",
        "float4" => "real",
        "float8" => "double precision",
        "bpchar" => "character",
        "varchar" => "character varying",
        "time" => "time without time zone",
        "timestamp" => "timestamp without time zone",
        "timestamptz" => "timestamp with time zone",
        "char" => "\"char\"",
        name => name,
    };
    match oid == found.array_oid {
        true => format!("{name}[]"),
        false => name.to_owned(),
    }
}
