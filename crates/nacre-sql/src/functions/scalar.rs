//! A scalar function over arrays: its types, and a body that computes a batch of rows.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use crate::cancellation::check_cancelled;
use crate::from_datafusion::external;
use crate::types::type_name;

/// What computes the rows of a batch; there are as many of each argument as rows.
pub(super) type Body = fn(&[ArrayRef], usize, &DataType) -> crate::error::Result<ArrayRef>;

/// A function.
pub(super) struct Definition {
    pub(super) name: &'static str,
    /// The types that the body gets for arguments of these types; `None` if there is no function
    /// for them.
    pub(super) takes: fn(&[DataType]) -> Option<Vec<DataType>>,
    /// The type of the result for what the body gets, some of which may be literals.
    pub(super) returns: fn(&[DataType], &[Option<&ScalarValue>]) -> DataType,
    pub(super) volatility: Volatility,
    pub(super) body: Body,
}

struct Function {
    definition: Definition,
    signature: Signature,
}

impl Definition {
    /// Makes the function.
    pub(super) fn made(self) -> Arc<ScalarUDF> {
        let signature = Signature::user_defined(self.volatility);
        Arc::new(ScalarUDF::new_from_impl(Function { definition: self, signature }))
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.definition.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.definition.name == other.definition.name
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition.name.hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.definition.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        (self.definition.takes)(types).ok_or_else(|| {
            let names: Vec<String> = types.iter().map(type_name).collect();
            let (name, types) = (self.definition.name, names.join(", "));
            DataFusionError::Plan(format!("function {name}({types}) does not exist"))
        })
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok((self.definition.returns)(types, &[]))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        check_cancelled()?;
        let types: Vec<DataType> =
            args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let data_type = (self.definition.returns)(&types, args.scalar_arguments);
        Ok(Arc::new(Field::new(self.definition.name, data_type, true)))
    }

    /// Any value of the type; the type is what operators over this function ask for.
    fn evaluate_bounds(&self, inputs: &[&Interval]) -> Result<Interval> {
        let types: Vec<DataType> = inputs.iter().map(|input| input.data_type()).collect();
        let taken = (self.definition.takes)(&types);
        let returned = taken.map_or(DataType::Null, |types| (self.definition.returns)(&types, &[]));
        Interval::make_unbounded(&returned)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)))
            && self.definition.volatility != Volatility::Volatile;
        let rows = if is_constant { 1 } else { args.number_rows };
        let arrays: Vec<ArrayRef> =
            args.args.into_iter().map(|arg| arg.into_array(rows)).collect::<Result<_>>()?;
        let array = (self.definition.body)(&arrays, rows, args.return_field.data_type())
            .map_err(external)?;
        Ok(match is_constant {
            true => {
                let value = ScalarValue::try_from_array(&array, 0)?;
                ColumnarValue::Scalar(value)
            }
            false => ColumnarValue::Array(array),
        })
    }
}
