//! What functions and operators compute: one kernel for each `pg_proc` row that is here.
//!
//! 1. [`scalar_kernel`] finds the kernel of a function by its OID; an operator has that of its
//!    function, a call by name the same.
//! 2. The caller looks at `FunctionEntry::is_strict`: kernels of strict functions never see nulls.
//! 3. Kernels are registered by name and argument types, as `substr(text,int4)`, or for operators
//!    by symbol and classes of types; a test finds each of them in the catalog.
//!
//! # Invariants
//! 1. A kernel gives PostgreSQL's value or SQLSTATE, or it is not here.
//! 2. What a session sets comes in [`KernelContext`].
//! 3. Kernels of volatile functions count as what may fail: whoever may not move or repeat one may
//!    do neither with the other.
//! # See
//! `tests/kernels.rs` compares every kernel with a PostgreSQL 15 server.

mod arguments;
mod arrays;
mod bytes;
mod casts;
mod comparisons;
mod concatenation;
mod datetimes;
mod expression_forms;
mod fallibility;
mod fields;
mod floats;
mod integers;
mod intervals;
mod json_texts;
mod letters;
mod md5;
mod number_digits;
mod number_format;
mod number_reading;
mod numerics;
mod patterns;
mod periods;
mod quoting;
mod registry;
mod regular;
mod session_facts;
mod set_kernels;
mod similar;
mod sizes;
mod system_functions;
mod template;
mod text_parts;
mod texts;
mod time_fields;
mod time_format;
mod time_reading;

use nacre_types::{SqlType, SqlValue, ValueError, ValueSettings};

pub use comparisons::{compare_values, extreme_of};
pub use expression_forms::{
    array_form, field_form, letter_form, quantified_form, row_form, slice_form, subscript_form,
    variadic_form,
};
pub use fallibility::{call_fallibility, cast_never_fails, has_text};
pub use registry::{all_kernels, scalar_kernel};
pub use regular::regular_matches;
pub use set_kernels::{SetKernel, set_kernel};
pub use system_functions::is_system_function;

pub(crate) use json_texts::{append_json, append_json_key};

/// What a call knows beside its values.
#[derive(Clone, Copy, Debug)]
pub struct KernelContext<'c> {
    /// The types of the arguments of the call.
    pub argument_types: &'c [SqlType],
    pub result_type: SqlType,
    pub settings: &'c ValueSettings,
}

/// Computes a call.
///
/// # Errors
/// PostgreSQL's.
pub type KernelFunction = fn(&[SqlValue], &KernelContext<'_>) -> Result<SqlValue, ValueError>;

/// When a kernel raises an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelFallibility {
    /// Never.
    Never,
    /// Only if a value has more than a hundred thousand digits, or a gigabyte.
    BySize,
    /// For some arguments.
    ByValue,
}

/// What computes a function.
#[derive(Clone, Copy, Debug)]
pub struct ScalarKernel {
    pub compute: KernelFunction,
    pub fallibility: KernelFallibility,
    /// Looks at the arguments that are constants, `None` for others: whether the kernel has them.
    pub accepts: fn(&[Option<&SqlValue>]) -> bool,
}

impl ScalarKernel {
    const fn new(compute: KernelFunction, fallibility: KernelFallibility) -> Self {
        Self { compute, fallibility, accepts: |_| true }
    }

    /// Makes a kernel that never fails.
    const fn total(compute: KernelFunction) -> Self {
        Self::new(compute, KernelFallibility::Never)
    }

    /// Makes a kernel that only huge values make fail.
    const fn sized(compute: KernelFunction) -> Self {
        Self::new(compute, KernelFallibility::BySize)
    }

    /// Makes a kernel that fails for some arguments.
    const fn partial(compute: KernelFunction) -> Self {
        Self::new(compute, KernelFallibility::ByValue)
    }

    /// Restricts the constants that the kernel has.
    const fn accepting(mut self, accepts: fn(&[Option<&SqlValue>]) -> bool) -> Self {
        self.accepts = accepts;
        self
    }
}
