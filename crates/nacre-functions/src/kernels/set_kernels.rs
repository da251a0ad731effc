//! Functions of sets whose values are made at once.

use nacre_types::{SqlRecord, SqlType, SqlValue, SystemCall, ValueError};

use super::KernelContext;
use super::arguments::{array, int4};
use crate::catalog::FunctionEntry;

/// Computes the values of a set; none of its arguments is null.
///
/// # Errors
/// PostgreSQL's.
pub type SetKernel = fn(&[SqlValue], &KernelContext<'_>) -> Result<Vec<SqlValue>, ValueError>;

macro_rules! ask {
    ($name:literal) => {
        ($name, |values, context| ask($name, values, context))
    };
}

const KERNELS: [(&str, SetKernel); 8] = [
    ("_pg_expandarray", expanded_array),
    ("generate_subscripts", subscripts),
    // There are no partitions and no notifications.
    ("pg_partition_ancestors", |_, _| Ok(Vec::new())),
    ("pg_listening_channels", |_, _| Ok(Vec::new())),
    ask!("aclexplode"),
    ask!("pg_get_keywords"),
    ask!("pg_options_to_table"),
    ask!("pg_show_all_settings"),
];

/// Returns what computes the set of a function; `None` of sets that are made value by value.
pub fn set_kernel(function: &FunctionEntry) -> Option<SetKernel> {
    let found = KERNELS.iter().find(|(name, _)| *name == function.name);
    found.filter(|_| function.returns_set).map(|(_, kernel)| *kernel)
}

fn ask(
    function: &'static str,
    arguments: &[SqlValue],
    context: &KernelContext<'_>,
) -> Result<Vec<SqlValue>, ValueError> {
    let Some(catalog) = &context.settings.catalog else {
        let message = format!("{function}() needs the catalogs of a database");
        return Err(ValueError::not_supported(message));
    };
    let KernelContext { argument_types, result_type, .. } = *context;
    catalog.call_set(SystemCall { function, arguments, argument_types, result_type })
}

/// Makes a row of each element of an array and its number.
fn expanded_array(values: &[SqlValue], _: &KernelContext<'_>) -> Result<Vec<SqlValue>, ValueError> {
    let array = array(values, 0)?;
    let row = |(number, element): (i32, &SqlValue)| {
        let element = (array.element_type(), element.clone());
        let number = (SqlType::INTEGER, SqlValue::Integer(number));
        SqlValue::Record(Box::new(SqlRecord::new(vec![element, number])))
    };
    Ok((1..).zip(array.elements()).map(row).collect())
}

fn subscripts(values: &[SqlValue], _: &KernelContext<'_>) -> Result<Vec<SqlValue>, ValueError> {
    let dimension = usize::try_from(int4(values, 1)?).ok().and_then(|one| one.checked_sub(1));
    let dimensions = array(values, 0)?.dimensions();
    let Some(own) = dimension.and_then(|one| dimensions.get(one)) else { return Ok(Vec::new()) };
    // Subscripts fit 32 bits.
    let mut all: Vec<SqlValue> =
        (0..own.length as i32).map(|place| SqlValue::Integer(own.lower_bound + place)).collect();
    if values.get(2) == Some(&SqlValue::Boolean(true)) {
        all.reverse();
    }
    Ok(all)
}
