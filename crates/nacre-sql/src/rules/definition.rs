//! Rules as CREATE TABLE and ALTER TABLE give them, checked against the table that they are for.

use datafusion::sql::sqlparser::ast::{
    CheckConstraint, DataType as SqlType, Expr as SqlExpr, Ident, SequenceOptions, Value,
};
use nacre_column::ColumnType;
use nacre_store::{
    CheckRule, ColumnDef, ColumnDefault, Identity, NAME_BYTES_MAX, SequenceDef, Store, TableRules,
    TableSchema,
};

use super::checks::Checks;
use super::defaults::DefaultValues;
use crate::dml::check_default;
use crate::error::{Error, ErrorKind, Result};
use crate::names::fold;
use crate::planner::Planner;
use crate::relations::require_free;
use crate::sequences::sequence_def;

/// Returns an expression without the parentheses around all of it: what describes a rule writes
/// them again, and its text is to make the same rule.
fn without_parentheses(mut expr: &SqlExpr) -> &SqlExpr {
    while let SqlExpr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// Returns a default without what describes one adds: parentheses, and the type of a literal text.
fn plain_default(expr: &SqlExpr) -> &SqlExpr {
    let expr = without_parentheses(expr);
    if let SqlExpr::Cast { expr: inner, data_type, .. } = expr
        && let SqlExpr::Value(value) = &**inner
        && let (Value::SingleQuotedString(_), SqlType::Text | SqlType::CharacterVarying(None)) =
            (&value.value, data_type)
    {
        return inner;
    }
    expr
}

/// Rules that are being read.
#[derive(Debug, Default)]
pub(crate) struct RulesBuilder {
    /// By the names of their columns.
    defaults: Vec<(String, ColumnDefault)>,
    /// Columns that draw from a sequence of their own, which has no name yet.
    sequences: Vec<(String, SequenceDef)>,
    checks: Vec<(Option<String>, String)>,
}

impl RulesBuilder {
    /// Adds `DEFAULT expr` of a column.
    ///
    /// # Errors
    /// 42601 if the column has one.
    pub(crate) fn add_default(&mut self, table: &str, column: &str, expr: &SqlExpr) -> Result<()> {
        let text = plain_default(expr).to_string();
        let default = ColumnDefault { text, identity: None, sequence: None };
        self.put_default(table, column, default)
    }

    /// Adds a column that draws from a sequence of its own: a serial or an identity column.
    ///
    /// # Errors
    /// 42601 if the column has a default; 22023.
    pub(crate) fn add_sequence(
        &mut self,
        table: &str,
        column: &str,
        column_type: ColumnType,
        identity: Option<Identity>,
        options: &[SequenceOptions],
    ) -> Result<()> {
        let is_integer =
            matches!(column_type, ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt);
        if !is_integer {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(Error::invalid_parameter(message));
        }
        let sequence = sequence_def("", column_type, options)?;
        let default = ColumnDefault { text: String::new(), identity, sequence: None };
        self.put_default(table, column, default)?;
        self.sequences.push((column.to_owned(), sequence));
        Ok(())
    }

    /// Gives the sequences names that are free, and returns them, to be created.
    ///
    /// # Errors
    /// That of a damaged block.
    pub(crate) fn name_sequences(
        &mut self,
        store: &Store,
        table: &str,
    ) -> Result<Vec<SequenceDef>> {
        let mut named: Vec<SequenceDef> = Vec::new();
        for (column, sequence) in std::mem::take(&mut self.sequences) {
            let is_taken = |name: &str| {
                require_free(store, name).is_err() || named.iter().any(|other| other.name == name)
            };
            let name = free_name(table, Some(&column), "seq", is_taken);
            for (_, default) in self.defaults.iter_mut().filter(|(known, _)| *known == column) {
                default.text = nextval_of(&name);
                default.sequence = Some(name.clone());
            }
            named.push(SequenceDef { name, ..sequence });
        }
        Ok(named)
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
        self.checks.push((name, without_parentheses(&check.expr).to_string()));
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
            if default.sequence.is_none() {
                require_assignable(planner, &schema.columns[column], &default.text)?;
            }
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
    free_name(table, column, "check", is_taken)
}

/// Returns a name that the system chooses, with a number if it is taken.
fn free_name(
    table: &str,
    column: Option<&str>,
    label: &str,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let mut name = object_name(table, column, label);
    let mut number = 0_u32;
    while is_taken(&name) {
        number += 1;
        name = object_name(table, column, &format!("{label}{number}"));
    }
    name
}

/// Returns the expression that draws from a sequence.
fn nextval_of(sequence: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let name = match sequence.bytes().all(is_plain) {
        true => sequence.to_owned(),
        false => Ident::with_quote('"', sequence).to_string(),
    };
    format!("nextval('{}')", name.replace('\'', "''"))
}

/// Joins the parts of a name that the system chooses; what is too long is cut off the longer of
/// table and column.
fn object_name(table: &str, column: Option<&str>, label: &str) -> String {
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
