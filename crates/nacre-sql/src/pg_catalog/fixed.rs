//! Rows that are the same in every database, or follow from its name.

use nacre_store::{AccessState, Securable};

use super::cells::{Cell, Row};
use super::roles::OWNER;
use crate::privileges::{Kind as PrivilegeKind, acl_text, grants_of};
use crate::settings::{SettingInfo, Settings};

/// Numbers of the schemas.
pub(super) const PG_CATALOG: u32 = 11;
pub(super) const PUBLIC: u32 = 2200;
pub(super) const INFORMATION_SCHEMA: u32 = 13_000;
pub(super) const NACRE_CATALOG: u32 = 13_001;

/// Number of the one database.
pub(super) const DATABASE: u32 = 5;

/// Number of the tablespace that it lies in.
const TABLESPACE: u32 = 1663;

/// UTF8 among the encodings.
pub(super) const UTF8: i64 = 6;

/// Schemas: number and name.
pub(super) const SCHEMAS: [(u32, &str); 4] = [
    (PG_CATALOG, "pg_catalog"),
    (PUBLIC, crate::names::SCHEMA),
    (INFORMATION_SCHEMA, "information_schema"),
    (NACRE_CATALOG, crate::names::SYSTEM_SCHEMA),
];

/// Access methods: number, name and handler.
pub(super) const METHODS: [(u32, &str, &str); 3] =
    [(2, "heap", "t"), (403, "btree", "i"), (405, "hash", "i")];

/// Returns the grants of an object as the catalogs show them; null if nobody said anything, unless
/// it `is_always` shown.
pub(super) fn grants(state: &AccessState, object: &Securable, is_always: bool) -> Cell {
    let access = state.object(object);
    if access.grants.is_none() && !is_always {
        return Cell::Null;
    }
    let grants = grants_of(PrivilegeKind::of(object), access);
    grants.iter().map(|grant| acl_text(state, grant)).collect::<Vec<_>>().into()
}

pub(super) fn schemas(state: &AccessState) -> Vec<Row> {
    let row = |(oid, name): (u32, &'static str)| {
        let (owner, grants) = match oid {
            PUBLIC => {
                let owner = state.object(&Securable::Schema).owner;
                (owner, grants(state, &Securable::Schema, true))
            }
            _ => (OWNER.0, Cell::Null),
        };
        vec![
            ("oid", oid.into()),
            ("nspname", name.into()),
            ("nspowner", owner.into()),
            ("nspacl", grants),
        ]
    };
    SCHEMAS.into_iter().map(row).collect()
}

pub(super) fn methods() -> Vec<Row> {
    let row = |(oid, name, kind): (u32, &'static str, &'static str)| {
        vec![("oid", oid.into()), ("amname", name.into()), ("amtype", kind.into())]
    };
    METHODS.into_iter().map(row).collect()
}

pub(super) fn databases(state: &AccessState, name: &str) -> Vec<Row> {
    vec![vec![
        ("oid", DATABASE.into()),
        ("datname", name.into()),
        ("datdba", state.object(&Securable::Database).owner.into()),
        ("datacl", grants(state, &Securable::Database, false)),
        ("encoding", UTF8.into()),
        ("datlocprovider", "c".into()),
        ("datallowconn", true.into()),
        ("datconnlimit", (-1).into()),
        ("datfrozenxid", 3.into()),
        ("datminmxid", 1.into()),
        ("dattablespace", TABLESPACE.into()),
        ("datcollate", "C".into()),
        ("datctype", "C.UTF-8".into()),
    ]]
}

pub(super) fn tablespaces() -> Vec<Row> {
    let row = |(oid, name): (u32, &'static str)| {
        vec![("oid", oid.into()), ("spcname", name.into()), ("spcowner", OWNER.0.into())]
    };
    [(TABLESPACE, "pg_default"), (1664, "pg_global")].into_iter().map(row).collect()
}

pub(super) fn collations() -> Vec<Row> {
    let row = |(oid, name, provider): (u32, &'static str, &'static str)| {
        let locale = if provider == "d" { Cell::Null } else { name.into() };
        vec![
            ("oid", oid.into()),
            ("collname", name.into()),
            ("collnamespace", PG_CATALOG.into()),
            ("collowner", OWNER.0.into()),
            ("collprovider", provider.into()),
            ("collisdeterministic", true.into()),
            ("collencoding", (-1).into()),
            ("collcollate", locale.clone()),
            ("collctype", locale),
        ]
    };
    [(100, "default", "d"), (950, "C", "c"), (951, "POSIX", "c")].into_iter().map(row).collect()
}

pub(super) fn languages() -> Vec<Row> {
    let row = |(oid, name): (u32, &'static str)| {
        vec![("oid", oid.into()), ("lanname", name.into()), ("lanowner", OWNER.0.into())]
    };
    [(12, "internal"), (13, "c"), (14, "sql")].into_iter().map(row).collect()
}

pub(super) fn settings(settings: &Settings) -> Vec<Row> {
    let row = |one: SettingInfo| {
        let (min, max) = one.bounds.unzip();
        vec![
            ("name", one.name.into()),
            ("setting", one.value.into()),
            ("unit", one.unit.into()),
            ("short_desc", one.description.into()),
            ("context", one.context.into()),
            ("vartype", one.kind.into()),
            ("source", one.source.into()),
            ("min_val", min.into()),
            ("max_val", max.into()),
            (
                "enumvals",
                match one.choices {
                    [] => Cell::Null,
                    choices => choices.to_vec().into(),
                },
            ),
            ("boot_val", one.default.into()),
            ("reset_val", one.reset.into()),
        ]
    };
    settings.list().into_iter().map(row).collect()
}

/// Returns the rows of `pg_get_keywords()`.
pub(super) fn keywords() -> Vec<Row> {
    let row = |(word, category, is_label): (&'static str, char, bool)| {
        let described = match category {
            'U' => "unreserved",
            'C' => "unreserved (cannot be function or type name)",
            'T' => "reserved (can be function or type name)",
            _ => "reserved",
        };
        vec![
            ("word", word.into()),
            ("catcode", category.to_string().into()),
            ("barelabel", is_label.into()),
            ("catdesc", described.into()),
            ("baredesc", if is_label { "can be bare label" } else { "requires AS" }.into()),
        ]
    };
    super::keywords::all().into_iter().map(row).collect()
}
