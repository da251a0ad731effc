//! Rows about the users' relations and the catalogs themselves.

use nacre_store::Table;

use super::cells::{Cell, Row, columns};
use super::definitions::{self, method};
use super::fixed::{INFORMATION_SCHEMA, NACRE_CATALOG, PG_CATALOG, PUBLIC, grants};
use super::objects::{Attribute, Kind, Objects, Relation, Rule, simple};
use super::roles::OWNER;
use super::{information_columns, pg_columns, type_rows};
use crate::views::system_views;

/// A catalog of the system: number, name, schema, and columns.
pub(super) type SystemTable = (u32, &'static str, u32, &'static str);

/// Returns the catalogs of the system.
pub(super) fn system_tables() -> impl Iterator<Item = SystemTable> {
    let catalog = pg_columns::TABLES.iter().map(|one| (one.0, one.1, PG_CATALOG, one.2));
    let information = information_columns::TABLES.iter();
    catalog.chain(information.map(|one| (one.0, one.1, INFORMATION_SCHEMA, one.2)))
}

/// The first number of a view of `nacre_catalog`.
const OWN_VIEWS_FIRST: u32 = 13_100;

/// Returns number, name and schema of all relations that users did not make. `pg_class` has no
/// views of `nacre_catalog`: tools take everything outside of PostgreSQL's schemas for users'.
pub(super) fn system_names() -> impl Iterator<Item = (u32, &'static str, u32)> {
    let tables = system_tables().map(|(oid, name, schema, _)| (oid, name, schema));
    let own = (OWN_VIEWS_FIRST..).zip(system_views());
    tables.chain(own.map(|(oid, (name, _))| (oid, name, NACRE_CATALOG)))
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
            let rows = table.committed().rows();
            // A page is what PostgreSQL calls 8 KiB.
            row.push(("relpages", Cell::from((size(table) / 8192) as i64)));
            rows as f64
        }
        Kind::Index { definition, of, .. } => {
            row.retain(|(name, _)| *name != "relam");
            row.push(("relam", method(definition.kind).0.into()));
            of.committed().rows() as f64
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

/// Numbers of the catalogs that objects are in.
const CLASSES: u32 = 1259;
const CONSTRAINTS: u32 = 2606;

/// An object, or the column of that number of a relation.
type DependencyEnd = (u32, u32, usize);

/// Returns the rows of `pg_depend`: which sequences go with which columns, which constraints and
/// indexes with which columns, and which indexes with which constraints.
pub(super) fn dependencies(objects: &Objects) -> Vec<Row> {
    let owned = definitions::owners(objects).into_iter().map(|(sequence, table, column, how)| {
        depends((CLASSES, sequence.oid, 0), (CLASSES, table.oid, column), how)
    });
    let constraints = objects.constraints.iter().flat_map(constraint_dependencies);
    let indexes = objects.relations.iter().flat_map(|one| index_dependencies(objects, one));
    owned.chain(constraints).chain(indexes).collect()
}

fn depends(on: DependencyEnd, what: DependencyEnd, how: &'static str) -> Row {
    let ((class, object, part), (to_class, to_object, to_part)) = (on, what);
    vec![
        ("classid", class.into()),
        ("objid", object.into()),
        ("objsubid", part.into()),
        ("refclassid", to_class.into()),
        ("refobjid", to_object.into()),
        ("refobjsubid", to_part.into()),
        ("deptype", how.into()),
    ]
}

/// A constraint goes with its columns, and keeps those that it refers to.
fn constraint_dependencies(one: &super::objects::Constraint) -> Vec<Row> {
    let this = (CONSTRAINTS, one.oid, 0);
    let on = |table: u32, columns: &[usize], how: &'static str| -> Vec<Row> {
        let ends = columns.iter().map(|column| (CLASSES, table, column + 1));
        ends.map(|end| depends(this, end, how)).collect()
    };
    match &one.is {
        Rule::Primary(columns) | Rule::Unique(columns) => on(one.table, columns, "a"),
        Rule::Check(rule) => {
            // Once for the constraint of the table, once for the expression.
            let columns = definitions::columns_of_check(&one.of, rule);
            ["a", "n"].into_iter().flat_map(|how| on(one.table, &columns, how)).collect()
        }
        Rule::Foreign { key, parent_oid, .. } => {
            let mut rows = on(one.table, &key.columns, "a");
            rows.extend(on(*parent_oid, &key.referenced_columns, "n"));
            if one.index != 0 {
                rows.push(depends(this, (CLASSES, one.index, 0), "n"));
            }
            rows
        }
    }
}

/// An index goes with its constraint, or else with its columns.
fn index_dependencies(objects: &Objects, relation: &Relation) -> Vec<Row> {
    let Kind::Index { table, definition, .. } = &relation.is else { return Vec::new() };
    let this = (CLASSES, relation.oid, 0);
    let is_keeper = |one: &&super::objects::Constraint| {
        one.index == relation.oid && matches!(one.is, Rule::Primary(_) | Rule::Unique(_))
    };
    if let Some(constraint) = objects.constraints.iter().find(is_keeper) {
        return vec![depends(this, (CONSTRAINTS, constraint.oid, 0), "i")];
    }
    let columns = definition.columns.iter();
    columns.map(|column| depends(this, (CLASSES, *table, column + 1), "a")).collect()
}
