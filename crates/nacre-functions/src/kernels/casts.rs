//! Functions of `pg_cast`, which calls may name as well: `date(timestamp)`.

use nacre_types::catalog::{CastContext, CastEntry, CastMethod, TypeOid, all_casts};
use nacre_types::{SqlType, SqlValue, ValueError, cast_value};

use super::fallibility::{cast_never_fails, has_text};
use super::{KernelContext, ScalarKernel};

/// The functions of casts that have values here, with their kernels.
pub(super) fn cast_kernels() -> impl Iterator<Item = (&'static str, TypeOid, ScalarKernel)> {
    all_casts().iter().filter_map(cast_kernel)
}

fn cast_kernel(cast: &'static CastEntry) -> Option<(&'static str, TypeOid, ScalarKernel)> {
    let CastMethod::Function(name) = cast.method else { return None };
    let is_here = has_text(SqlType::new(cast.source)) && has_text(SqlType::new(cast.target));
    if !is_here || cast.source == cast.target {
        return None;
    }
    let is_total = cast_never_fails(cast.source, cast.target);
    let kernel =
        if is_total { ScalarKernel::total(converted) } else { ScalarKernel::partial(converted) };
    Some((name, cast.source, kernel))
}

fn converted(values: &[SqlValue], context: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    let value = values.first().cloned().unwrap_or(SqlValue::Null);
    let source = context.argument_types.first().copied();
    let source = source.ok_or_else(|| ValueError::internal("a cast of nothing"))?;
    cast_value(value, source, context.result_type, CastContext::Explicit, context.settings)
}
