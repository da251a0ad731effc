//! Rows about the users' relations and the catalogs themselves.

use nacre_store::Table;

use super::cells::{Cell, Row, columns};
use super::definitions::{self, method};
use super::fixed::{INFORMATION_SCHEMA, PG_CATALOG, PUBLIC, grants};
use super::objects::{Attribute, Kind, Objects, Relation, Rule, simple};
use super::roles::OWNER;
use super::{information_columns, pg_columns, type_rows};

/// A catalog of the system: number, name, schema, and columns.
pub(super) type SystemTable = (u32, &'static str, u32, &'static str);

/// Returns the catalogs of the system.
pub(super) fn system_tables() -> impl Iterator<Item = SystemTable> {
    let catalog = pg_columns::TABLES.iter().map(|one| (one.0, one.1, PG_CATALOG, one.2));
    let information = information_columns::TABLES.iter();
    catalog.chain(information.map(|one| (one.0, one.1, INFORMATION_SCHEMA, one.2)))
}

/// Whether a catalog of the system is a view.
fn is_view(oid: u32) -> bool {
    oid >= 12_000
}

/// Returns the rows of `pg_class`.
pub(super) fn classes(objects: &Objects) -> Vec<Row> {
    let mut rows: Vec<Row> = objects.relations.iter().map(|one| class(objects, one)).collect();
    for (oid, name, schema, list) in system_tables() {
        let mut row = any_class((oid, name), schema, if is_view(oid) { "v" } else { "r" });
        row.push(("relnatts", columns(list).count().into()));
        row.push(("reltuples", Cell::Float(-1.0)));
        rows.push(row);
    }
    rows
}

fn any_class((oid, name): (u32, &str), schema: u32, kind: &str) -> Row {
    let method = if kind == "r" { 2 } else { 0 };
    vec![
        ("oid", oid.into()),
        ("relname", name.into()),
        ("relnamespace", schema.into()),
        ("relowner", OWNER.0.into()),
        ("relkind", kind.into()),
        ("relam", Cell::from(method)),
        ("relpersistence", "p".into()),
        ("relispopulated", true.into()),
        ("relreplident", if kind == "r" { "d" } else { "n" }.into()),
        ("relhasrules", (kind == "v").into()),
    ]
}

fn class(objects: &Objects, relation: &Relation) -> Row {
    let mut row = any_class((relation.oid, &relation.name), PUBLIC, relation.letter());
    row.retain(|(name, _)| *name != "relowner");
    row.push(("relowner", objects.access_of(relation).owner.into()));
    if !matches!(relation.is, Kind::Index { .. }) {
        row.push(("relacl", grants(&objects.access, &relation.securable(), false)));
    }
    row.push(("relnatts", relation.attributes().len().into()));
    let has_storage = !matches!(relation.is, Kind::View(..));
    row.push(("relfilenode", if has_storage { relation.oid } else { 0 }.into()));
    let tuples = match &relation.is {
        Kind::Table(table) => {
            row.push(("relhasindex", has_index(objects, relation.oid).into()));
            row.push(("relchecks", table.rules().checks.len().into()));
            let has_keys = |one: &super::objects::Constraint| match &one.is {
                Rule::Foreign { parent_oid, .. } => {
                    one.table == relation.oid || *parent_oid == relation.oid
                }
                _ => false,
            };
            row.push(("relhastriggers", objects.constraints.iter().any(has_keys).into()));
            let rows = table.snapshot().rows();
            // A page is what PostgreSQL calls 8 KiB.
            row.push(("relpages", Cell::from((size(table) / 8192) as i64)));
            rows as f64
        }
        Kind::Index { definition, of, .. } => {
            row.retain(|(name, _)| *name != "relam");
            row.push(("relam", method(definition.kind).0.into()));
            of.snapshot().rows() as f64
        }
        Kind::View(..) => 0.0,
        Kind::Sequence(_) => 1.0,
    };
    row.push(("reltuples", Cell::Float(tuples)));
    row
}

fn has_index(objects: &Objects, oid: u32) -> bool {
    objects
        .relations
        .iter()
        .any(|one| matches!(&one.is, Kind::Index { table, .. } if *table == oid))
}

/// Returns the bytes that a table's rows take where they lie.
pub(super) fn size(table: &std::sync::Arc<Table>) -> u64 {
    table.snapshot().pool_bytes()
}

/// Returns the rows of `pg_attribute`.
pub(super) fn attributes(objects: &Objects) -> Vec<Row> {
    let mut rows = Vec::new();
    for relation in &objects.relations {
        let attributes = relation.attributes();
        rows.extend(
            attributes.iter().enumerate().map(|(at, one)| attribute(relation.oid, at, one)),
        );
    }
    for (oid, _, _, list) in system_tables() {
        for (at, column) in columns(list).enumerate() {
            rows.push(attribute(oid, at, &simple(column.name, column.type_name)));
        }
    }
    rows
}

fn attribute(relation: u32, at: usize, one: &Attribute) -> Row {
    let is_array = one.type_oid != one.pg_type.oid;
    let size = if is_array { -1 } else { one.pg_type.size };
    let is_by_value = matches!(size, 1 | 2 | 4 | 8);
    vec![
        ("attrelid", relation.into()),
        ("attname", one.name.as_str().into()),
        ("atttypid", one.type_oid.into()),
        ("attstattarget", (-1).into()),
        ("attlen", Cell::from(i32::from(size))),
        ("attnum", (at + 1).into()),
        ("attcacheoff", (-1).into()),
        ("atttypmod", one.modifier.into()),
        ("attndims", if is_array { 1 } else { 0 }.into()),
        ("attbyval", is_by_value.into()),
        ("attalign", type_rows::align(one.pg_type).into()),
        ("attstorage", type_rows::storage(one.pg_type, is_array).into()),
        ("attcompression", "".into()),
        ("attnotnull", (!one.is_nullable).into()),
        ("atthasdef", one.expression().is_some().into()),
        ("attidentity", one.identity().into()),
        ("attgenerated", "".into()),
        ("attislocal", true.into()),
        ("attcollation", type_rows::collation(one.pg_type).into()),
    ]
}

/// Returns the rows of `pg_attrdef`. A row's number follows from its table's and its column's.
pub(super) fn defaults(objects: &Objects) -> Vec<Row> {
    let mut rows = Vec::new();
    for relation in &objects.relations {
        for (at, one) in relation.attributes().iter().enumerate() {
            let Some(text) = one.expression() else { continue };
            let oid = i64::from(relation.oid) + ((at as i64 + 1) << 20);
            rows.push(vec![
                ("oid", (oid & i64::from(u32::MAX)).into()),
                ("adrelid", relation.oid.into()),
                ("adnum", (at + 1).into()),
                ("adbin", text.into()),
            ]);
        }
    }
    rows
}

/// Returns the rows of `pg_index`.
pub(super) fn indexes(objects: &Objects) -> Vec<Row> {
    let mut rows = Vec::new();
    for relation in &objects.relations {
        let Kind::Index { table, definition, .. } = &relation.is else { continue };
        let is_primary = definition.origin == nacre_store::index::IndexOrigin::PrimaryKey;
        let columns = definition.columns.iter();
        let numbers: Vec<i64> = columns.map(|column| *column as i64 + 1).collect();
        let count = numbers.len();
        let collations: Vec<u32> =
            relation.attributes().iter().map(|one| type_rows::collation(one.pg_type)).collect();
        rows.push(vec![
            ("indexrelid", relation.oid.into()),
            ("indrelid", (*table).into()),
            ("indnatts", count.into()),
            ("indnkeyatts", count.into()),
            ("indisunique", definition.is_unique.into()),
            ("indisprimary", is_primary.into()),
            ("indimmediate", true.into()),
            ("indisvalid", true.into()),
            ("indisready", true.into()),
            ("indislive", true.into()),
            ("indkey", numbers.into()),
            ("indcollation", collations.into()),
            ("indclass", vec![0_i64; count].into()),
            ("indoption", vec![0_i64; count].into()),
        ]);
    }
    rows
}

/// Returns the rows of `pg_constraint`.
pub(super) fn constraints(objects: &Objects) -> Vec<Row> {
    objects.constraints.iter().map(constraint).collect()
}

fn constraint(one: &super::objects::Constraint) -> Row {
    let numbers = |columns: &[usize]| -> Vec<i64> {
        columns.iter().map(|column| *column as i64 + 1).collect()
    };
    let letter = match &one.is {
        Rule::Primary(_) => "p",
        Rule::Unique(_) => "u",
        Rule::Check(_) => "c",
        Rule::Foreign { .. } => "f",
    };
    let mut row: Row = vec![
        ("oid", one.oid.into()),
        ("conname", one.name.as_str().into()),
        ("connamespace", PUBLIC.into()),
        ("contype", letter.into()),
        ("convalidated", true.into()),
        ("conrelid", one.table.into()),
        ("conindid", one.index.into()),
        ("conislocal", true.into()),
        ("connoinherit", (letter != "c").into()),
        ("confupdtype", " ".into()),
        ("confdeltype", " ".into()),
        ("confmatchtype", " ".into()),
    ];
    match &one.is {
        Rule::Primary(columns) | Rule::Unique(columns) => {
            row.push(("conkey", numbers(columns).into()));
        }
        Rule::Check(rule) => {
            row.push(("conkey", numbers(&definitions::columns_of_check(&one.of, rule)).into()));
            row.push(("conbin", rule.text.as_str().into()));
        }
        Rule::Foreign { key, parent_oid, .. } => {
            row.retain(|(name, _)| !name.starts_with("conf"));
            row.extend([
                ("confrelid", (*parent_oid).into()),
                ("conkey", numbers(&key.columns).into()),
                ("confkey", numbers(&key.referenced_columns).into()),
                ("confupdtype", definitions::action(key.on_update).into()),
                ("confdeltype", definitions::action(key.on_delete).into()),
                ("confmatchtype", "s".into()),
            ]);
        }
    }
    row
}

/// Returns the rows of `pg_sequence`.
pub(super) fn sequences(objects: &Objects) -> Vec<Row> {
    let mut rows = Vec::new();
    for relation in &objects.relations {
        let Kind::Sequence(sequence) = &relation.is else { continue };
        let def = sequence.def();
        rows.push(vec![
            ("seqrelid", relation.oid.into()),
            ("seqtypid", definitions::sequence_type(def).oid.into()),
            ("seqstart", def.start.into()),
            ("seqincrement", def.increment.into()),
            ("seqmax", def.max.into()),
            ("seqmin", def.min.into()),
            ("seqcache", 1.into()),
            ("seqcycle", def.cycles.into()),
        ]);
    }
    rows
}

/// Returns the rows of `pg_depend`: which sequences go with which columns.
pub(super) fn dependencies(objects: &Objects) -> Vec<Row> {
    let row = |(sequence, table, column, how): (&Relation, &Relation, usize, &'static str)| {
        vec![
            ("classid", 1259.into()),
            ("objid", sequence.oid.into()),
            ("refclassid", 1259.into()),
            ("refobjid", table.oid.into()),
            ("refobjsubid", column.into()),
            ("deptype", how.into()),
        ]
    };
    definitions::owners(objects).into_iter().map(row).collect()
}
