//! The columns of the rows that a function gives.

use nacre_types::SqlType;
use nacre_types::catalog::TypeOid;

use crate::catalog::FunctionEntry;
use crate::coercion::resolve_polymorphic;

/// A column of the rows that a function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowColumn {
    pub name: &'static str,
    pub sql_type: SqlType,
}

/// Returns the columns of the rows that a function gives of arguments of these types; `None` if it
/// gives other values.
pub fn row_columns(function: &FunctionEntry, arguments: &[SqlType]) -> Option<Vec<RowColumn>> {
    if function.result != TypeOid::RECORD {
        return None;
    }
    let types: Vec<TypeOid> = arguments.iter().map(|one| one.oid()).collect();
    let modes = function.modes.split_ascii_whitespace();
    let parameters = function.all_arguments.iter().zip(modes).zip(&function.argument_names);
    let results = parameters.filter(|((_, mode), _)| matches!(*mode, "o" | "b" | "t"));
    let column = |((oid, _), name): ((&TypeOid, &str), &&'static str)| {
        let resolved = resolve_polymorphic(&function.arguments, &types, *oid).ok()?;
        Some(RowColumn { name, sql_type: SqlType::new(resolved.1) })
    };
    results.map(column).collect::<Option<Vec<_>>>().filter(|columns| !columns.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::functions_named;

    #[test]
    fn rows_have_the_columns_of_the_catalog() {
        let columns = |name, types: &[SqlType]| {
            let entry = functions_named(name).next().unwrap();
            let columns = row_columns(entry, types).unwrap_or_default();
            columns.iter().map(|one| (one.name, one.sql_type)).collect::<Vec<_>>()
        };
        let ints = SqlType::INTEGER.array().unwrap();
        let expanded = columns("_pg_expandarray", &[ints]);
        assert_eq!(expanded, [("x", SqlType::INTEGER), ("n", SqlType::INTEGER)]);
        let names: Vec<_> = columns("aclexplode", &[ints]).iter().map(|one| one.0).collect();
        assert_eq!(names, ["grantor", "grantee", "privilege_type", "is_grantable"]);
        assert_eq!(columns("pg_get_keywords", &[]).len(), 5);
        assert_eq!(columns("upper", &[SqlType::TEXT]), []);
    }
}
