//! Types, constraints, indexes and views as SQL text, as PostgreSQL's `pg_get_*` functions and
//! `format_type` write them.

use std::ops::ControlFlow;

use datafusion::arrow::datatypes::DataType;
use datafusion::sql::sqlparser::ast::{Expr, Visit, Visitor};
use nacre_store::index::IndexKind;
use nacre_store::{ForeignKeyAction, Table};

use super::objects::{Constraint, Kind, Objects, Relation, Rule};
use crate::names::fold;
use crate::parsing::statement_parser;
use crate::pg_types::PgType;

/// Returns the name that SQL has for a type; with its modifier, if that is known.
pub(super) fn type_name(oid: u32, modifier: Option<i32>) -> String {
    let found = crate::pg_types::PG_TYPES
        .into_iter()
        .find(|one| one.oid == oid || (one.array_oid != 0 && one.array_oid == oid));
    let Some(found) = found else { return "???".to_owned() };
    let brackets = if found.oid == oid { "" } else { "[]" };
    let with = |name: &str, size: String| format!("{name}({size}){brackets}");
    let name = sql_name(found, modifier.is_some_and(|modifier| modifier >= 0));
    match (found.name, modifier.filter(|modifier| *modifier >= 4)) {
        ("numeric", Some(modifier)) => {
            let both = modifier - 4;
            with(name, format!("{},{}", both >> 16, both & 0x7ff))
        }
        ("varchar" | "bpchar", Some(modifier)) => with(name, (modifier - 4).to_string()),
        _ => format!("{name}{brackets}"),
    }
}

fn sql_name(pg_type: PgType, has_modifier: bool) -> &'static str {
    match pg_type.name {
        "bool" => "boolean",
        "int2" => "smallint",
        "int4" => "integer",
        "int8" => "bigint",
        "float4" => "real",
        "float8" => "double precision",
        "bpchar" if has_modifier => "character",
        "bpchar" => "bpchar",
        "varchar" => "character varying",
        "time" => "time without time zone",
        "timestamp" => "timestamp without time zone",
        "timestamptz" => "timestamp with time zone",
        "char" => "\"char\"",
        name => name,
    }
}

/// Returns the number of the type that a name in SQL stands for.
pub(super) fn type_named(name: &str) -> Option<u32> {
    let name = name.trim();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
    if let Some(element) = name.strip_suffix("[]") {
        let oid = type_named(element)?;
        return PgType::with_oid(oid).map(|found| found.array_oid).filter(|oid| *oid != 0);
    }
    if name == "\"char\"" {
        return PgType::named("char").map(|found| found.oid);
    }
    let name = name.split('(').next().unwrap_or(name).trim().to_lowercase();
    let name = match name.as_str() {
        "boolean" => "bool",
        "smallint" => "int2",
        "integer" | "int" => "int4",
        "bigint" => "int8",
        "real" => "float4",
        "double precision" => "float8",
        "character" | "char" => "bpchar",
        "character varying" => "varchar",
        "decimal" => "numeric",
        "time without time zone" => "time",
        "timestamp without time zone" => "timestamp",
        "timestamp with time zone" => "timestamptz",
        name => name,
    };
    if let Some(element) = name.strip_prefix('_') {
        return PgType::named(element).map(|found| found.array_oid).filter(|oid| *oid != 0);
    }
    PgType::named(name).map(|found| found.oid)
}

/// Quotes a name where SQL needs it.
pub(super) fn quoted(name: &str) -> String {
    let is_plain = name.bytes().enumerate().all(|(place, byte)| {
        byte.is_ascii_lowercase() || byte == b'_' || (place > 0 && byte.is_ascii_digit())
    });
    match is_plain && !name.is_empty() && !super::keywords::is_reserved(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

fn columns(table: &Table, columns: &[usize]) -> String {
    let schema = table.schema();
    let names = columns.iter().filter_map(|column| schema.columns.get(*column));
    names.map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ")
}

/// Returns the definition of a constraint.
pub(super) fn constraint(of: &Constraint, is_pretty: bool) -> String {
    match &of.is {
        Rule::Primary(key) => format!("PRIMARY KEY ({})", columns(&of.of, key)),
        Rule::Unique(key) => format!("UNIQUE ({})", columns(&of.of, key)),
        Rule::Check(rule) if is_pretty => format!("CHECK ({})", rule.text),
        Rule::Check(rule) => format!("CHECK (({}))", rule.text),
        Rule::Foreign { key, parent, .. } => {
            let mut text = format!(
                "FOREIGN KEY ({}) REFERENCES {}({})",
                columns(&of.of, &key.columns),
                quoted(&parent.schema().name),
                columns(parent, &key.referenced_columns)
            );
            for (event, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
                if action != ForeignKeyAction::NoAction {
                    text += &format!(" ON {event} {}", action.to_string().to_uppercase());
                }
            }
            text
        }
    }
}

/// Returns the definition of an index, or only its column of that number from 1.
pub(super) fn index(relation: &Relation, column: usize, is_pretty: bool) -> Option<String> {
    let Kind::Index { definition, of, .. } = &relation.is else { return None };
    if column > 0 {
        let key = definition.columns.get(column - 1..column);
        return Some(key.map_or_else(String::new, |key| columns(of, key)));
    }
    let unique = if definition.is_unique { "UNIQUE " } else { "" };
    let schema = if is_pretty { "" } else { "public." };
    Some(format!(
        "CREATE {unique}INDEX {} ON {schema}{} USING {} ({})",
        quoted(&relation.name),
        quoted(&of.schema().name),
        method(definition.kind).1,
        columns(of, &definition.columns)
    ))
}

/// Returns number and name of the access method that PostgreSQL has for a kind of index.
pub(super) fn method(kind: IndexKind) -> (u32, &'static str) {
    match kind {
        IndexKind::Hash => (405, "hash"),
        IndexKind::Art | IndexKind::Hybrid => (403, "btree"),
    }
}

/// Returns the query of a view.
pub(super) fn view(relation: &Relation) -> Option<String> {
    match &relation.is {
        Kind::View(view, _) => Some(format!(" {};", view.text)),
        _ => None,
    }
}

/// Returns the sequence that goes with a column, and how: `a` for serial, `i` for identity.
pub(super) fn owners(objects: &Objects) -> Vec<(&Relation, &Relation, usize, &'static str)> {
    let mut found = Vec::new();
    for relation in &objects.relations {
        let Kind::Table(table) = &relation.is else { continue };
        for (column, default) in &table.rules().defaults {
            let Some(sequence) = default.sequence.as_deref() else { continue };
            let how = if default.identity.is_some() { "i" } else { "a" };
            if let Some(sequence) = objects.named(sequence) {
                found.push((sequence, relation, column + 1, how));
            }
        }
    }
    found
}

/// Returns the columns that a CHECK names, in the order of the table.
pub(super) fn columns_of_check(table: &Table, rule: &nacre_store::CheckRule) -> Vec<usize> {
    struct Names(Vec<String>);
    impl Visitor for Names {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(ident) => self.0.push(fold(ident)),
                Expr::CompoundIdentifier(parts) => self.0.extend(parts.last().map(fold)),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let parsed = statement_parser(&rule.text).and_then(|mut parser| parser.parse_expr());
    let mut names = Names(Vec::new());
    if let Ok(expr) = parsed {
        let _ = expr.visit(&mut names);
    }
    let schema = table.schema();
    let is_named = |column: &usize| names.0.contains(&schema.columns[*column].name);
    (0..schema.columns.len()).filter(is_named).collect()
}

/// Returns the letter for what becomes of rows that refer to a key that goes.
pub(super) fn action(action: ForeignKeyAction) -> &'static str {
    match action {
        ForeignKeyAction::NoAction => "a",
        ForeignKeyAction::Restrict => "r",
        ForeignKeyAction::Cascade => "c",
        ForeignKeyAction::SetNull => "n",
        ForeignKeyAction::SetDefault => "d",
    }
}

/// Returns the type of a sequence's values, which its bounds tell.
pub(super) fn sequence_type(def: &nacre_store::SequenceDef) -> PgType {
    let is_within = |low: i64, high: i64| def.min >= low && def.max == high;
    let name = if is_within(i16::MIN.into(), i16::MAX.into()) {
        "int2"
    } else if is_within(i32::MIN.into(), i32::MAX.into()) {
        "int4"
    } else {
        "int8"
    };
    PgType::named(name).unwrap_or_else(|| PgType::of_arrow(&DataType::Int64))
}
