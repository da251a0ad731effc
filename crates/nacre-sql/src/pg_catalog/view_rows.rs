//! Rows of PostgreSQL's views over its catalogs.

use super::cells::{Cell, Row};
use super::definitions;
use super::fixed::DATABASE;
use super::objects::{Kind, Objects, Relation};
use super::relation_rows::size;
use crate::names::{CATALOG, SCHEMA};

/// Returns the rows of a view; none for those that have none in Nacre.
pub(super) fn rows(objects: &Objects, name: &str) -> Vec<Row> {
    let row: fn(&Objects, &Relation) -> Option<Row> = match name {
        "pg_tables" => table,
        "pg_views" => view,
        "pg_indexes" => index,
        "pg_sequences" => sequence,
        "pg_stat_user_tables" | "pg_stat_all_tables" => table_statistics,
        "pg_stat_user_indexes" | "pg_stat_all_indexes" => index_statistics,
        "pg_stat_database" => return vec![database_statistics()],
        _ => return Vec::new(),
    };
    objects.relations.iter().filter_map(|relation| row(objects, relation)).collect()
}

fn table(objects: &Objects, relation: &Relation) -> Option<Row> {
    let Kind::Table(table) = &relation.is else { return None };
    let is_of =
        |one: &Relation| matches!(&one.is, Kind::Index { table, .. } if *table == relation.oid);
    Some(vec![
        ("schemaname", SCHEMA.into()),
        ("tablename", relation.name.as_str().into()),
        ("tableowner", objects.owner_of(relation).into()),
        ("hasindexes", objects.relations.iter().any(is_of).into()),
        ("hastriggers", table.has_foreign_keys().into()),
    ])
}

fn view(objects: &Objects, relation: &Relation) -> Option<Row> {
    Some(vec![
        ("definition", definitions::view(relation)?.into()),
        ("schemaname", SCHEMA.into()),
        ("viewname", relation.name.as_str().into()),
        ("viewowner", objects.owner_of(relation).into()),
    ])
}

fn index(_: &Objects, relation: &Relation) -> Option<Row> {
    let Kind::Index { of, .. } = &relation.is else { return None };
    Some(vec![
        ("schemaname", SCHEMA.into()),
        ("tablename", of.schema().name.as_str().into()),
        ("indexname", relation.name.as_str().into()),
        ("indexdef", definitions::index(relation, 0, false).into()),
    ])
}

fn sequence(objects: &Objects, relation: &Relation) -> Option<Row> {
    let Kind::Sequence(sequence) = &relation.is else { return None };
    let def = sequence.def();
    let (last, is_called) = sequence.position();
    Some(vec![
        ("schemaname", SCHEMA.into()),
        ("sequencename", relation.name.as_str().into()),
        ("sequenceowner", objects.owner_of(relation).into()),
        ("data_type", definitions::sequence_type(def).oid.into()),
        ("start_value", def.start.into()),
        ("min_value", def.min.into()),
        ("max_value", def.max.into()),
        ("increment_by", def.increment.into()),
        ("cycle", def.cycles.into()),
        ("cache_size", 1.into()),
        ("last_value", if is_called { last.into() } else { Cell::Null }),
    ])
}

fn table_statistics(_: &Objects, relation: &Relation) -> Option<Row> {
    let Kind::Table(table) = &relation.is else { return None };
    Some(vec![
        ("relid", relation.oid.into()),
        ("schemaname", SCHEMA.into()),
        ("relname", relation.name.as_str().into()),
        ("n_live_tup", Cell::from(i64::try_from(table.committed().rows()).unwrap_or(i64::MAX))),
    ])
}

fn index_statistics(_: &Objects, relation: &Relation) -> Option<Row> {
    let Kind::Index { table, of, .. } = &relation.is else { return None };
    Some(vec![
        ("relid", (*table).into()),
        ("indexrelid", relation.oid.into()),
        ("schemaname", SCHEMA.into()),
        ("relname", of.schema().name.as_str().into()),
        ("indexrelname", relation.name.as_str().into()),
    ])
}

fn database_statistics() -> Row {
    vec![("datid", DATABASE.into()), ("datname", CATALOG.into())]
}

/// Returns the bytes of all tables.
pub(super) fn database_size(objects: &Objects) -> u64 {
    let sizes = objects.relations.iter().map(|one| match &one.is {
        Kind::Table(table) => size(table),
        _ => 0,
    });
    sizes.sum()
}
