//! The functions of `information_schema`, which `pg_proc.tsv` does not have.

use std::sync::LazyLock;

use nacre_types::catalog::TypeOid;

use super::function_entry::{FunctionEntry, FunctionKind, FunctionVolatility};

/// OIDs from here on are none of PostgreSQL's; [`kernels`](crate::kernels) has those behind them.
const FIRST_OID: u32 = 0xfe00_0000;

const ANY_ARRAY: TypeOid = TypeOid(2277);
const ANY_ELEMENT: TypeOid = TypeOid(2283);

static INFORMATION_FUNCTIONS: LazyLock<[FunctionEntry; 1]> = LazyLock::new(|| {
    [FunctionEntry {
        oid: FIRST_OID,
        name: "_pg_expandarray",
        kind: FunctionKind::Function,
        variadic_element: None,
        default_count: 0,
        returns_set: true,
        is_strict: true,
        volatility: FunctionVolatility::Immutable,
        result: TypeOid::RECORD,
        arguments: vec![ANY_ARRAY],
        all_arguments: vec![ANY_ARRAY, ANY_ELEMENT, TypeOid::INT4],
        modes: "i o o",
        argument_names: vec!["", "x", "n"],
    }]
});

/// Returns the functions of `information_schema`.
pub(super) fn information_functions() -> &'static [FunctionEntry] {
    INFORMATION_FUNCTIONS.as_slice()
}

/// Whether there is a function of that name in `information_schema`.
pub fn is_information_function(name: &str) -> bool {
    information_functions().iter().any(|entry| entry.name == name)
}
