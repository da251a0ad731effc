//! A call that is its first argument, and has a name of its own: the planner names expressions
//! without their casts, and refuses two aggregates of one name.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The name of the function; its second argument is a text, the name.
pub(crate) const NAMED: &str = "nacre_named";

#[derive(Debug, PartialEq, Eq, Hash)]
struct Named {
    signature: Signature,
}

/// Makes the function.
pub(crate) fn named_function() -> Arc<ScalarUDF> {
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Named { signature }))
}

impl ScalarUDFImpl for Named {
    fn name(&self) -> &str {
        NAMED
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [one, _] => Ok(one.clone()),
            _ => internal_err!("{NAMED} has two arguments"),
        }
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match <[Expr; 2]>::try_from(args) {
            Ok([one, _]) => ExprSimplifyResult::Simplified(one),
            Err(args) => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(one) => Ok(one),
            None => internal_err!("{NAMED} has two arguments"),
        }
    }
}
