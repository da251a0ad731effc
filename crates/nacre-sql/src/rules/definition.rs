//! Rules as CREATE TABLE and ALTER TABLE give them, checked against the table that they are for.

use datafusion::sql::sqlparser::ast::{CheckConstraint, Expr as SqlExpr, Ident};
use nacre_store::{CheckRule, ColumnDef, ColumnDefault, NAME_BYTES_MAX, TableRules, TableSchema};

use super::checks::Checks;
use super::defaults::DefaultValues;
use crate::dml::check_default;
use crate::error::{Error, ErrorKind, Result};
use crate::names::fold;
use crate::planner::Planner;

/// Rules that are being read.
#[derive(Debug, Default)]
pub(crate) struct RulesBuilder {
    /// By the names of their columns.
    defaults: Vec<(String, ColumnDefault)>,
    checks: Vec<(Option<String>, String)>,
}

impl RulesBuilder {
    /// Adds `DEFAULT expr` of a column.
    ///
    /// # Errors
    /// 42601 if the column has one.
    pub(crate) fn add_default(&mut self, table: &str, column: &str, expr: &SqlExpr) -> Result<()> {
        let default = ColumnDefault { text: expr.to_string(), identity: None };
        self.put_default(table, column, default)
    }

    fn put_default(&mut self, table: &str, column: &str, default: ColumnDefault) -> Result<()> {
        if self.defaults.iter().any(|(known, _)| known == column) {
            let message =
                format!("multiple default values specified for column \"{column}\" of \"{table}\"");
            return Err(Error::new(ErrorKind::Syntax, message));
        }
        self.defaults.push((column.to_owned(), default));
        Ok(())
    }

    /// Adds a CHECK constraint, whose name may be given before it.
    ///
    /// # Errors
    /// `not supported`.
    pub(crate) fn add_check(
        &mut self,
        name: Option<&Ident>,
        check: &CheckConstraint,
    ) -> Result<()> {
        if check.enforced.is_some() {
            return Err(Error::not_supported("CHECK ... ENFORCED"));
        }
        let name = name.or(check.name.as_ref()).map(fold);
        self.checks.push((name, check.expr.to_string()));
        Ok(())
    }

    /// Checks the rules against a table and adds them to those it has. `is_taken` tells which names
    /// other constraints of the table have.
    ///
    /// # Errors
    /// Those of compiling, 42804; 22P02 and the like for literals; 42710 for a name that is taken.
    pub(crate) fn build(
        self,
        planner: &Planner,
        schema: &TableSchema,
        mut rules: TableRules,
        is_taken: impl Fn(&str) -> bool,
    ) -> Result<TableRules> {
        for (name, default) in self.defaults {
            let Some(column) = schema.column_index(&name) else { continue };
            require_assignable(planner, &schema.columns[column], &default.text)?;
            rules.defaults.insert(column, default);
        }
        for (name, text) in self.checks {
            let name_of = |rules: &TableRules, name: &str| {
                is_taken(name) || rules.checks.iter().any(|check| check.name == name)
            };
            let mut check = CheckRule { name: String::new(), text };
            let compiled = Checks::compile(planner, schema, std::slice::from_ref(&check))?;
            check.name = match name {
                Some(name) if name_of(&rules, &name) => {
                    let table = &schema.name;
                    let message =
                        format!("constraint \"{name}\" for relation \"{table}\" already exists");
                    return Err(Error::new(ErrorKind::DuplicateObject, message).with_code("42710"));
                }
                Some(name) => name,
                None => {
                    chosen_name(&schema.name, compiled.columns_of(0), |name| name_of(&rules, name))
                }
            };
            rules.checks.push(check);
        }
        rules.checks.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(rules)
    }
}

/// Refuses a default that its column cannot take.
fn require_assignable(planner: &Planner, column: &ColumnDef, text: &str) -> Result<()> {
    let expr = super::parse(text)?;
    check_default(&expr, column, || DefaultValues::type_of(planner, text))
}

/// Chooses the name of a check as PostgreSQL does: after the table, and the column if there is one
/// only, with a number if it is taken.
fn chosen_name(table: &str, columns: &[String], is_taken: impl Fn(&str) -> bool) -> String {
    let column = match columns {
        [column] => Some(column.as_str()),
        _ => None,
    };
    let mut name = object_name(table, column, "check");
    let mut number = 0_u32;
    while is_taken(&name) {
        number += 1;
        name = object_name(table, column, &format!("check{number}"));
    }
    name
}

/// Joins the parts of a name that the system chooses; what is too long is cut off the longer of
/// table and column.
pub(crate) fn object_name(table: &str, column: Option<&str>, label: &str) -> String {
    let (mut table, mut column) = (table.to_owned(), column.map(str::to_owned));
    loop {
        let name = match &column {
            Some(column) => format!("{table}_{column}_{label}"),
            None => format!("{table}_{label}"),
        };
        if name.len() <= NAME_BYTES_MAX {
            return name;
        }
        match &mut column {
            Some(column) if column.len() > table.len() => column.pop(),
            _ => table.pop(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_names_are_those_of_postgresql() {
        let name = |columns: &[&str], taken: &[&str]| {
            let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
            chosen_name("t", &columns, |name| taken.contains(&name))
        };
        assert_eq!(name(&["a"], &[]), "t_a_check");
        assert_eq!(name(&["a", "b"], &[]), "t_check");
        assert_eq!(name(&["a"], &["t_a_check", "t_a_check1"]), "t_a_check2");
        let long = object_name(&"t".repeat(63), Some(&"c".repeat(40)), "check");
        assert_eq!(long, format!("{}_{}_check", "t".repeat(28), "c".repeat(28)));
    }
}
