//! Calls of functions that do not exist: the error names the types of the arguments.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use crate::error::{Error, ErrorKind, Position};
use crate::from_datafusion::external;
use crate::types::type_name;

/// What a call of a function that does not exist becomes: name, line, column, and its arguments.
pub(crate) const UNKNOWN: &str = "nacre_unknown";

#[derive(Debug, PartialEq, Eq, Hash)]
struct Unknown {
    signature: Signature,
}

pub(super) fn function() -> Arc<ScalarUDF> {
    let signature = Signature::variadic_any(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Unknown { signature }))
}

impl ScalarUDFImpl for Unknown {
    fn name(&self) -> &str {
        UNKNOWN
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Err(DataFusionError::Internal(format!("{UNKNOWN} has no type")))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let name = match args.scalar_arguments.first() {
            Some(Some(ScalarValue::Utf8(Some(name)) | ScalarValue::Utf8View(Some(name)))) => {
                name.clone()
            }
            _ => String::new(),
        };
        let number = |place: usize| match args.scalar_arguments.get(place) {
            Some(Some(ScalarValue::Int64(Some(value)))) => usize::try_from(*value).unwrap_or(0),
            _ => 0,
        };
        let arguments = args.arg_fields.iter().zip(args.scalar_arguments).skip(3);
        let types: Vec<String> = arguments
            .map(|(field, literal)| match literal {
                Some(ScalarValue::Int64(Some(value))) if i32::try_from(*value).is_ok() => {
                    "integer".to_owned()
                }
                Some(ScalarValue::Utf8(_) | ScalarValue::Utf8View(_) | ScalarValue::Null) => {
                    "unknown".to_owned()
                }
                _ => type_name(field.data_type()),
            })
            .collect();
        let message = format!("function {name}({}) does not exist", types.join(", "));
        let hint = "No function matches the given name and argument types. You might need to add \
                    explicit type casts.";
        let (line, column) = (number(1), number(2));
        let position = (line > 0).then_some(Position { line, column });
        let error = Error::new(ErrorKind::UndefinedObject, message).with_code("42883");
        Err(external(error.with_hint(hint).with_position(position)))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(DataFusionError::Internal(format!("{UNKNOWN} has no value")))
    }
}
