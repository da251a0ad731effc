//! Calls of kernels, for [`RowExpression`](super::row_expression).

use std::sync::Arc;

use nacre_functions::catalog::{FunctionEntry, FunctionVolatility, OperatorEntry, find_function};
use nacre_functions::kernels::{
    KernelContext, KernelFallibility, ScalarKernel, call_fallibility, scalar_kernel,
};
use nacre_types::{SqlType, SqlValue, ValueError, ValueSettings};

use super::session::session_settings;

/// A function or operator whose kernel is called.
#[derive(Debug)]
pub(super) struct RowCall {
    function: &'static FunctionEntry,
    kernel: ScalarKernel,
    argument_types: Vec<SqlType>,
    result_type: SqlType,
    settings: Arc<ValueSettings>,
    may_fail: bool,
}

impl RowCall {
    /// Makes a call of arguments of these types; `None` if it has no kernel, or not for these
    /// constants.
    pub(super) fn of_function(
        function: &'static FunctionEntry,
        argument_types: Vec<SqlType>,
        result_type: SqlType,
        constants: &[Option<&SqlValue>],
    ) -> Option<Self> {
        let kernel = scalar_kernel(function.oid)?;
        if !(kernel.accepts)(constants) {
            return None;
        }
        let fallibility = call_fallibility(function.oid, constants);
        Some(Self {
            function,
            kernel,
            argument_types,
            result_type,
            settings: session_settings(),
            may_fail: fallibility == KernelFallibility::ByValue,
        })
    }

    /// Makes a call of an operator, as [`Self::of_function`].
    pub(super) fn of_operator(
        operator: &'static OperatorEntry,
        operand_types: Vec<SqlType>,
        result_type: SqlType,
        constants: &[Option<&SqlValue>],
    ) -> Option<Self> {
        let function = find_function(operator.function)?;
        Self::of_function(function, operand_types, result_type, constants)
    }

    /// Whether it raises an error for some values. That a value is huge is left out.
    pub(super) fn may_fail(&self) -> bool {
        self.may_fail
    }

    /// Whether its function is volatile: equal arguments may give different values.
    pub(super) fn is_volatile(&self) -> bool {
        self.function.volatility == FunctionVolatility::Volatile
    }

    /// Computes a call.
    ///
    /// # Errors
    /// PostgreSQL's.
    pub(super) fn apply(&self, values: &[SqlValue]) -> Result<SqlValue, ValueError> {
        if self.function.is_strict && values.iter().any(SqlValue::is_null) {
            return Ok(SqlValue::Null);
        }
        (self.kernel.compute)(values, &self.context())
    }

    /// Returns what its kernel knows beside the values.
    pub(super) fn context(&self) -> KernelContext<'_> {
        KernelContext {
            argument_types: &self.argument_types,
            result_type: self.result_type,
            settings: &self.settings,
        }
    }
}
