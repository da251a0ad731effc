//! All kernels, by OID of their function.

use std::collections::HashMap;
use std::sync::LazyLock;

use nacre_types::catalog::{TypeOid, find_type_named};

use super::expression_forms::form_kernel;
use super::{
    ScalarKernel, arrays, bytes, casts, comparisons, concatenation, datetimes, fields, floats,
    integers, intervals, json_texts, number_format, number_reading, numerics, patterns, periods,
    quoting, regular, session_facts, similar, sizes, system_functions, text_parts, texts,
    time_format, time_reading,
};
use crate::catalog::{FunctionEntry, OperatorEntry, all_operators, functions_named};

/// A kernel with the functions that it computes: `left(text,int4)`, several apart by blanks.
pub(super) type KernelRow = (&'static str, ScalarKernel);

/// The kernels that are registered by name.
const TABLES: [&[KernelRow]; 25] = [
    arrays::KERNELS,
    bytes::KERNELS,
    concatenation::KERNELS,
    datetimes::KERNELS,
    fields::KERNELS,
    floats::KERNELS,
    integers::KERNELS,
    intervals::KERNELS,
    json_texts::KERNELS,
    number_format::KERNELS,
    number_reading::KERNELS,
    numerics::KERNELS,
    patterns::KERNELS,
    periods::KERNELS,
    quoting::KERNELS,
    regular::KERNELS,
    regular::REPLACING_KERNELS,
    regular::SEARCHING_KERNELS,
    session_facts::KERNELS,
    similar::KERNELS,
    sizes::KERNELS,
    text_parts::KERNELS,
    texts::KERNELS,
    time_format::KERNELS,
    time_reading::KERNELS,
];

static KERNELS: LazyLock<HashMap<u32, ScalarKernel>> = LazyLock::new(|| {
    let by_operator = all_operators()
        .iter()
        .filter_map(|operator| operator_kernel(operator).map(|kernel| (operator.function, kernel)));
    let rows = TABLES.into_iter().flatten();
    let by_name = rows.flat_map(|(names, kernel)| {
        names.split(' ').filter_map(move |name| Some((function_of(name)?, *kernel)))
    });
    let by_cast = casts::cast_kernels().filter_map(|(name, source, kernel)| {
        let is_own = |entry: &&FunctionEntry| entry.arguments == [source];
        functions_named(name).find(is_own).map(|entry| (entry.oid, kernel))
    });
    let by_system = system_functions::KERNELS.iter().flat_map(|(name, kernel)| {
        let functions = functions_named(name).filter(|entry| !entry.returns_set);
        functions.map(|entry| (entry.oid, *kernel))
    });
    by_cast.chain(by_operator).chain(by_system).chain(by_name).collect()
});

/// Returns what computes the function with that OID.
pub fn scalar_kernel(oid: u32) -> Option<ScalarKernel> {
    KERNELS.get(&oid).copied().or_else(|| form_kernel(oid))
}

/// Returns the OIDs of all functions that have a kernel, in ascending order.
pub fn all_kernels() -> Vec<u32> {
    let mut all: Vec<u32> = KERNELS.keys().copied().collect();
    all.sort_unstable();
    all
}

/// Returns the kernel of operators that several types have.
fn operator_kernel(operator: &OperatorEntry) -> Option<ScalarKernel> {
    comparisons::operator_kernel(operator)
        .or_else(|| integers::operator_kernel(operator))
        .or_else(|| floats::operator_kernel(operator))
        .or_else(|| numerics::operator_kernel(operator))
}

/// Returns the OID of the function with that name and these types.
fn function_of(signature: &str) -> Option<u32> {
    let (name, types) = signature.strip_suffix(')')?.split_once('(')?;
    let words = types.split(',').filter(|word| !word.is_empty());
    let types = words.map(|word| find_type_named(word).map(|entry| entry.oid));
    let types = types.collect::<Option<Vec<TypeOid>>>()?;
    functions_named(name).find(|entry| entry.arguments == types).map(|entry| entry.oid)
}

#[cfg(test)]
mod tests {
    use super::super::KernelFallibility;
    use super::*;
    use crate::catalog::{FunctionKind, FunctionVolatility, find_function};

    #[test]
    fn every_kernel_is_a_function_of_the_catalog() {
        for (names, _) in TABLES.into_iter().flatten() {
            for name in names.split(' ') {
                assert!(function_of(name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn every_function_of_the_system_is_in_the_catalog() {
        for (name, _) in system_functions::KERNELS {
            assert!(functions_named(name).next().is_some(), "{name}");
        }
    }

    #[test]
    fn kernels_are_no_sets_or_aggregates_and_volatile_ones_may_fail() {
        for oid in all_kernels() {
            let entry = find_function(oid).unwrap_or_else(|| panic!("{oid} is no function"));
            assert_eq!(entry.kind, FunctionKind::Function, "{}", entry.name);
            assert!(!entry.returns_set, "{entry:?}");
            let may_fail =
                scalar_kernel(oid).is_some_and(|one| one.fallibility == KernelFallibility::ByValue);
            assert!(may_fail || entry.volatility != FunctionVolatility::Volatile, "{entry:?}");
        }
    }

    #[test]
    fn functions_have_one_kernel() {
        let mut seen = HashMap::new();
        for (names, _) in TABLES.into_iter().flatten() {
            for name in names.split(' ') {
                assert!(seen.insert(function_of(name), name).is_none(), "{name} twice");
            }
        }
    }
}
