//! `coalesce`, `greatest` and `least` for texts in quotes, too, which have the type of the others.
//!
//! The planner asks for the type of a call before it looks at literals, and finds none for a date
//! and a text, or takes numbers for texts. Columns of texts that meet other types are refused by
//! [`crate::comparable`], and literals become values by [`crate::coerce`].

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::functions::core;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use crate::cancellation::check_cancelled;
use crate::types::{common_moment, is_bytes, is_text};

#[derive(Debug, PartialEq, Eq, Hash)]
struct Unifying {
    planned: Arc<ScalarUDF>,
    signature: Signature,
}

/// Makes the functions.
pub(super) fn functions() -> [Arc<ScalarUDF>; 3] {
    [core::coalesce(), core::greatest(), core::least()].map(|planned| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Unifying { planned, signature }))
    })
}

impl ScalarUDFImpl for Unifying {
    fn name(&self) -> &str {
        self.planned.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if let Some(moment) = common_moment(types) {
            return Ok(vec![moment; types.len()]);
        }
        let others: Vec<DataType> = types.iter().filter(|one| !is_text(one)).cloned().collect();
        if others.iter().all(DataType::is_null) {
            return self.planned.coerce_types(types);
        }
        if others.iter().all(is_bytes) {
            return Ok(vec![DataType::BinaryView; types.len()]);
        }
        let unified = self.planned.coerce_types(&others)?;
        match unified.first() {
            Some(one) => Ok(vec![one.clone(); types.len()]),
            None => internal_err!("{} of nothing", self.name()),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.planned.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        check_cancelled()?;
        self.planned.return_field_from_args(args)
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        check_cancelled()?;
        self.planned.simplify(args, context)
    }

    fn short_circuits(&self) -> bool {
        self.planned.short_circuits()
    }

    fn conditional_arguments<'a>(
        &self,
        args: &'a [Expr],
    ) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.planned.conditional_arguments(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.planned.invoke_with_args(args)
    }
}
