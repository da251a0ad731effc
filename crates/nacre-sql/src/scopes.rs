//! Names of tables that a subquery refers to in the queries around it.
//!
//! The planner reads `item.id` as a field of a column `item` if the inner query has such a column,
//! before it looks for a table of that name further out. With the schema before it, it is a
//! column of a table and nothing else.

use datafusion::sql::sqlparser::ast::{Expr, Ident, Select, TableFactor};

use crate::names::{SCHEMA, fold};

/// The queries around the one that is looked at, each with the names of its tables.
#[derive(Default)]
pub(crate) struct Scopes(Vec<Vec<String>>);

impl Scopes {
    pub(crate) fn enter(&mut self, select: &Select) {
        let factors = select.from.iter().flat_map(|from| {
            let joined = from.joins.iter().map(|join| &join.relation);
            std::iter::once(&from.relation).chain(joined)
        });
        self.0.push(factors.filter_map(name).collect());
    }

    pub(crate) fn leave(&mut self) {
        self.0.pop();
    }

    /// Puts the schema before a table of an outer query.
    pub(crate) fn qualify(&self, expr: &mut Expr) {
        let Some((inner, outer)) = self.0.split_last() else { return };
        let Expr::CompoundIdentifier(parts) = expr else { return };
        let [table, _] = parts.as_slice() else { return };
        let table = fold(table);
        if !inner.contains(&table) && outer.iter().any(|names| names.contains(&table)) {
            parts.insert(0, Ident::new(SCHEMA));
        }
    }
}

/// Returns the name of a table or query in FROM; none of tables of the system, which have schemas
/// of their own.
fn name(factor: &TableFactor) -> Option<String> {
    let name = match factor {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } => fold(&alias.name),
        TableFactor::Table { name, alias: None, args: None, .. } => match name.0.as_slice() {
            [part] => fold(part.as_ident()?),
            _ => return None,
        },
        _ => return None,
    };
    (!name.starts_with("pg_")).then_some(name)
}
