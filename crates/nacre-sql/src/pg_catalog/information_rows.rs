//! Rows of `information_schema`.

use nacre_store::index::IndexOrigin;
use nacre_store::{AccessState, ForeignKeyAction, Identity, PUBLIC_ROLE, Securable, Table};

use super::cells::{Cell, Row, columns};
use super::definitions;
use super::fixed::SCHEMAS;
use super::information_columns;
use super::objects::{Attribute, Constraint, Kind, Objects, Relation, Rule, shown, simple};
use super::pg_columns;
use super::roles::{self, OWNER};
use crate::names::{CATALOG, SCHEMA, SYSTEM_SCHEMA};
use crate::pg_types::PgType;
use crate::privileges::{Acting, Kind as PrivilegeKind, grant_rows, grants_of, is_member};
use crate::views::system_views;

/// Returns the rows of a view.
pub(super) fn rows(objects: &Objects, acting: Acting, name: &str) -> Vec<Row> {
    match name {
        "schemata" => schemata(&objects.access),
        "information_schema_catalog_name" => vec![vec![("catalog_name", CATALOG.into())]],
        "tables" => tables(objects),
        "columns" => all_columns(objects),
        "views" => objects.relations.iter().filter_map(view).collect(),
        "sequences" => objects.relations.iter().filter_map(sequence).collect(),
        "table_constraints" => objects.constraints.iter().map(constraint).collect(),
        "key_column_usage" => objects.constraints.iter().flat_map(key_columns).collect(),
        "constraint_column_usage" => objects.constraints.iter().flat_map(used_columns).collect(),
        "constraint_table_usage" => objects.constraints.iter().filter_map(used_table).collect(),
        "referential_constraints" => {
            objects.constraints.iter().filter_map(|one| reference(objects, one)).collect()
        }
        "check_constraints" => objects.constraints.iter().filter_map(check).collect(),
        "table_privileges" | "role_table_grants" => {
            let sees_public = name == "table_privileges";
            let of = |one| privileges(objects, one, acting, sees_public);
            objects.relations.iter().flat_map(of).collect()
        }
        "enabled_roles" => {
            let state = &objects.access;
            let enabled = state.roles().filter(|role| is_member(state, acting.oid, role.oid));
            enabled.map(|role| vec![("role_name", role.name.as_str().into())]).collect()
        }
        "applicable_roles" | "administrable_role_authorizations" => {
            memberships(&objects.access, acting, name == "applicable_roles")
        }
        "character_sets" => vec![vec![
            ("character_set_name", "UTF8".into()),
            ("character_repertoire", "UCS".into()),
            ("form_of_use", "UTF8".into()),
            ("default_collate_catalog", CATALOG.into()),
        ]],
        _ => Vec::new(),
    }
}

fn yes(value: bool) -> Cell {
    if value { "YES" } else { "NO" }.into()
}

/// Returns the three columns that name something.
fn named(keys: [&'static str; 3], schema: &str, name: &str) -> Row {
    let [catalog_key, schema_key, name_key] = keys;
    vec![(catalog_key, CATALOG.into()), (schema_key, schema.into()), (name_key, name.into())]
}

const TABLE: [&str; 3] = ["table_catalog", "table_schema", "table_name"];
const CONSTRAINT: [&str; 3] = ["constraint_catalog", "constraint_schema", "constraint_name"];

fn schemata(state: &AccessState) -> Vec<Row> {
    let row = |(_, name): (u32, &'static str)| {
        let owner = match name == SCHEMA {
            true => roles::name_of(state, state.object(&Securable::Schema).owner.into()),
            false => OWNER.1.to_owned(),
        };
        let mut row = named(["catalog_name", "schema_name", "schema_owner"], name, &owner);
        row.push(("sql_path", Cell::Null));
        row
    };
    SCHEMAS.into_iter().map(row).collect()
}

fn tables(objects: &Objects) -> Vec<Row> {
    let mut rows = Vec::new();
    for relation in &objects.relations {
        let kind = match relation.is {
            Kind::Table(_) => "BASE TABLE",
            Kind::View(..) => "VIEW",
            _ => continue,
        };
        rows.push(table(SCHEMA, &relation.name, kind));
    }
    for (oid, name, _) in pg_columns::TABLES {
        let kind = if oid < 12_000 { "BASE TABLE" } else { "VIEW" };
        rows.push(table(super::PG_CATALOG, name, kind));
    }
    for (_, name, _) in information_columns::TABLES {
        rows.push(table(super::INFORMATION_SCHEMA, name, "VIEW"));
    }
    rows.extend(system_views().map(|(name, _)| table(SYSTEM_SCHEMA, name, "VIEW")));
    rows
}

fn table(schema: &str, name: &str, kind: &str) -> Row {
    let is_table = kind == "BASE TABLE" && schema == SCHEMA;
    let mut row = named(TABLE, schema, name);
    row.extend([
        ("table_type", kind.into()),
        ("is_insertable_into", yes(is_table)),
        ("is_typed", yes(false)),
    ]);
    row
}

fn all_columns(objects: &Objects) -> Vec<Row> {
    let mut rows = Vec::new();
    for relation in &objects.relations {
        if !matches!(relation.is, Kind::Table(_) | Kind::View(..)) {
            continue;
        }
        for (at, one) in relation.attributes().iter().enumerate() {
            let mut row = column(SCHEMA, &relation.name, at, one);
            if let Some(name) = one.default.as_ref().and_then(|one| one.sequence.as_deref()) {
                identity(&mut row, objects, one, name);
            }
            row.push(("is_updatable", yes(matches!(relation.is, Kind::Table(_)))));
            rows.push(row);
        }
    }
    for (name, schema) in system_views() {
        for (at, field) in schema.fields().iter().enumerate() {
            let mut row = column(SYSTEM_SCHEMA, name, at, &shown(field));
            row.push(("is_updatable", yes(false)));
            rows.push(row);
        }
    }
    let catalogs = pg_columns::TABLES.iter().map(|one| (super::PG_CATALOG, one));
    let information = information_columns::TABLES.iter();
    let information = information.map(|one| (super::INFORMATION_SCHEMA, one));
    for (schema, (_, name, list)) in catalogs.chain(information) {
        for (at, one) in columns(list).enumerate() {
            let mut row = column(schema, name, at, &simple(one.name, one.type_name));
            row.push(("is_updatable", yes(false)));
            rows.push(row);
        }
    }
    rows
}

fn identity(row: &mut Row, objects: &Objects, one: &Attribute, name: &str) {
    let Some(identity) = one.default.as_ref().and_then(|default| default.identity) else { return };
    let Some(Relation { is: Kind::Sequence(sequence), .. }) = objects.named(name) else { return };
    let def = sequence.def();
    row.retain(|(name, _)| *name != "is_identity");
    row.extend([
        ("is_identity", yes(true)),
        (
            "identity_generation",
            if identity == Identity::Always { "ALWAYS" } else { "BY DEFAULT" }.into(),
        ),
        ("identity_start", def.start.to_string().into()),
        ("identity_increment", def.increment.to_string().into()),
        ("identity_maximum", def.max.to_string().into()),
        ("identity_minimum", def.min.to_string().into()),
        ("identity_cycle", yes(def.cycles)),
    ]);
}

fn column(schema: &str, table: &str, at: usize, one: &Attribute) -> Row {
    let is_array = one.type_oid != one.pg_type.oid;
    let data_type = match is_array {
        true => "ARRAY".to_owned(),
        false => match one.pg_type.name {
            "bpchar" => "character".to_owned(),
            _ => definitions::type_name(one.type_oid, None),
        },
    };
    let type_name = match is_array {
        true => format!("_{}", one.pg_type.name),
        false => one.pg_type.name.to_owned(),
    };
    let mut row = named(TABLE, schema, table);
    row.extend([
        ("column_name", one.name.as_str().into()),
        ("ordinal_position", (at + 1).into()),
        ("column_default", one.expression().into()),
        ("is_nullable", yes(one.is_nullable)),
        ("data_type", data_type.into()),
        ("udt_catalog", CATALOG.into()),
        ("udt_schema", super::PG_CATALOG.into()),
        ("udt_name", type_name.into()),
        ("dtd_identifier", (at + 1).to_string().into()),
        ("is_self_referencing", yes(false)),
        ("is_identity", yes(false)),
        ("identity_cycle", yes(false)),
        ("is_generated", "NEVER".into()),
    ]);
    if !is_array {
        measures(&mut row, one.pg_type, one.modifier);
    }
    row
}

/// Says how long or how precise values of a type may be.
fn measures(row: &mut Row, pg_type: PgType, modifier: i32) {
    let binary: Option<i32> = match pg_type.name {
        "int2" => Some(16),
        "int4" => Some(32),
        "int8" => Some(64),
        "float4" => Some(24),
        "float8" => Some(53),
        _ => None,
    };
    if let Some(bits) = binary {
        row.push(("numeric_precision", bits.into()));
        row.push(("numeric_precision_radix", 2.into()));
        if pg_type.name.starts_with("int") {
            row.push(("numeric_scale", 0.into()));
        }
        return;
    }
    match pg_type.name {
        "numeric" => {
            row.push(("numeric_precision_radix", 10.into()));
            if modifier >= 4 {
                row.push(("numeric_precision", ((modifier - 4) >> 16).into()));
                row.push(("numeric_scale", ((modifier - 4) & 0x7ff).into()));
            }
        }
        "varchar" | "bpchar" | "text" => {
            let chars = (modifier >= 4).then_some(modifier - 4);
            row.push(("character_maximum_length", chars.into()));
            let bytes = chars.map_or(1 << 30, |chars| chars.saturating_mul(4));
            row.push(("character_octet_length", bytes.into()));
        }
        "date" => row.push(("datetime_precision", 0.into())),
        "time" | "timestamp" | "timestamptz" | "interval" => {
            row.push(("datetime_precision", 6.into()));
        }
        _ => {}
    }
}

fn view(relation: &Relation) -> Option<Row> {
    let definition = definitions::view(relation)?;
    let mut row = named(TABLE, SCHEMA, &relation.name);
    row.extend([
        ("view_definition", definition.into()),
        ("check_option", "NONE".into()),
        ("is_updatable", yes(false)),
        ("is_insertable_into", yes(false)),
        ("is_trigger_updatable", yes(false)),
        ("is_trigger_deletable", yes(false)),
        ("is_trigger_insertable_into", yes(false)),
    ]);
    Some(row)
}

fn sequence(relation: &Relation) -> Option<Row> {
    let Kind::Sequence(sequence) = &relation.is else { return None };
    let def = sequence.def();
    let pg_type = definitions::sequence_type(def);
    let mut row =
        named(["sequence_catalog", "sequence_schema", "sequence_name"], SCHEMA, &relation.name);
    row.push(("data_type", definitions::type_name(pg_type.oid, None).into()));
    measures(&mut row, pg_type, -1);
    row.extend([
        ("start_value", def.start.to_string().into()),
        ("minimum_value", def.min.to_string().into()),
        ("maximum_value", def.max.to_string().into()),
        ("increment", def.increment.to_string().into()),
        ("cycle_option", yes(def.cycles)),
    ]);
    Some(row)
}

fn constraint(one: &Constraint) -> Row {
    let kind = match one.is {
        Rule::Primary(_) => "PRIMARY KEY",
        Rule::Unique(_) => "UNIQUE",
        Rule::Check(_) => "CHECK",
        Rule::Foreign { .. } => "FOREIGN KEY",
    };
    let mut row = named(CONSTRAINT, SCHEMA, &one.name);
    row.extend(named(TABLE, SCHEMA, &one.of.schema().name));
    row.extend([
        ("constraint_type", kind.into()),
        ("is_deferrable", yes(false)),
        ("initially_deferred", yes(false)),
        ("enforced", yes(true)),
    ]);
    if kind == "UNIQUE" {
        row.push(("nulls_distinct", yes(true)));
    }
    row
}

fn column_name(table: &Table, column: usize) -> Cell {
    table.schema().columns.get(column).map(|one| one.name.clone()).into()
}

fn key_columns(one: &Constraint) -> Vec<Row> {
    let (columns, referenced) = match &one.is {
        Rule::Primary(columns) | Rule::Unique(columns) => (columns, None),
        Rule::Foreign { key, parent, .. } => (&key.columns, Some((key, parent))),
        Rule::Check(_) => return Vec::new(),
    };
    let row = |(at, column): (usize, &usize)| {
        let mut row = named(CONSTRAINT, SCHEMA, &one.name);
        row.extend(named(TABLE, SCHEMA, &one.of.schema().name));
        row.push(("column_name", column_name(&one.of, *column)));
        row.push(("ordinal_position", (at + 1).into()));
        if let Some((key, parent)) = referenced {
            let place = key.referenced_columns.get(at).and_then(|column| {
                let key = unique_key(parent, &key.referenced_columns)?;
                key.iter().position(|one| one == column)
            });
            row.push(("position_in_unique_constraint", place.map(|place| place + 1).into()));
        }
        row
    };
    columns.iter().enumerate().map(row).collect()
}

/// Returns the key of a table that has the columns, in its own order.
fn unique_key(table: &Table, columns: &[usize]) -> Option<Vec<usize>> {
    let is_same = |key: &[usize]| {
        key.len() == columns.len() && columns.iter().all(|column| key.contains(column))
    };
    let primary = table.schema().primary_key.clone().filter(|key| is_same(key));
    primary.or_else(|| {
        let unique = table.indexes().into_iter().map(|index| index.definition().clone());
        unique
            .filter(|definition| definition.origin == IndexOrigin::Unique)
            .map(|definition| definition.columns)
            .find(|key| is_same(key))
    })
}

fn used_columns(one: &Constraint) -> Vec<Row> {
    let checked;
    let (table, columns) = match &one.is {
        Rule::Primary(columns) | Rule::Unique(columns) => (&one.of, columns),
        Rule::Check(rule) => {
            checked = definitions::columns_of_check(&one.of, rule);
            (&one.of, &checked)
        }
        Rule::Foreign { key, parent, .. } => (parent, &key.referenced_columns),
    };
    let row = |column: &usize| {
        let mut row = named(TABLE, SCHEMA, &table.schema().name);
        row.push(("column_name", column_name(table, *column)));
        row.extend(named(CONSTRAINT, SCHEMA, &one.name));
        row
    };
    columns.iter().map(row).collect()
}

fn used_table(one: &Constraint) -> Option<Row> {
    let table = match &one.is {
        Rule::Primary(_) | Rule::Unique(_) => &one.of,
        Rule::Foreign { parent, .. } => parent,
        Rule::Check(_) => return None,
    };
    let mut row = named(TABLE, SCHEMA, &table.schema().name);
    row.extend(named(CONSTRAINT, SCHEMA, &one.name));
    Some(row)
}

fn reference(objects: &Objects, one: &Constraint) -> Option<Row> {
    let Rule::Foreign { key, .. } = &one.is else { return None };
    let unique = objects.relation(i64::from(one.index)).map(|index| index.name.clone());
    let rule = |action: ForeignKeyAction| Cell::from(action.to_string().to_uppercase());
    let mut row = named(CONSTRAINT, SCHEMA, &one.name);
    row.extend([
        ("unique_constraint_catalog", CATALOG.into()),
        ("unique_constraint_schema", SCHEMA.into()),
        ("unique_constraint_name", unique.into()),
        ("match_option", "NONE".into()),
        ("update_rule", rule(key.on_update)),
        ("delete_rule", rule(key.on_delete)),
    ]);
    Some(row)
}

fn check(one: &Constraint) -> Option<Row> {
    let Rule::Check(rule) = &one.is else { return None };
    let mut row = named(CONSTRAINT, SCHEMA, &one.name);
    row.push(("check_clause", format!("(({}))", rule.text).into()));
    Some(row)
}

/// Returns what a table or view grants to and by roles that the session may be; those to everybody
/// are in one of the two views only.
fn privileges(
    objects: &Objects,
    relation: &Relation,
    acting: Acting,
    sees_public: bool,
) -> Vec<Row> {
    if !matches!(relation.is, Kind::Table(_) | Kind::View(..)) {
        return Vec::new();
    }
    let (state, access) = (&objects.access, objects.access_of(relation));
    let name = |role: u32| match role {
        PUBLIC_ROLE => "PUBLIC".to_owned(),
        role => roles::name_of(state, role.into()),
    };
    let is_own = |role: u32| is_member(state, acting.oid, role);
    let mut rows = Vec::new();
    for grant in grants_of(PrivilegeKind::of(&relation.securable()), access) {
        let is_public = grant.grantee == PUBLIC_ROLE;
        if !(is_own(grant.grantor) || is_own(grant.grantee) || is_public && sees_public) {
            continue;
        }
        for (_, privilege, is_grantable) in grant_rows(&grant) {
            let is_grantable = is_grantable || grant.grantee == access.owner;
            let mut row = named(TABLE, SCHEMA, &relation.name);
            row.extend([
                ("grantor", name(grant.grantor).into()),
                ("grantee", name(grant.grantee).into()),
                ("privilege_type", privilege.into()),
                ("is_grantable", yes(is_grantable)),
                ("with_hierarchy", yes(privilege == "SELECT")),
            ]);
            rows.push(row);
        }
    }
    rows
}

/// Returns the memberships of roles that the session may be, all or those with admin option.
fn memberships(state: &AccessState, acting: Acting, are_all: bool) -> Vec<Row> {
    let members = state.roles().filter(|role| is_member(state, acting.oid, role.oid));
    let rows = members.flat_map(|member| {
        let of = member.member_of.iter().filter(|one| are_all || one.is_admin);
        of.map(|membership| {
            vec![
                ("grantee", member.name.as_str().into()),
                ("role_name", roles::name_of(state, membership.role.into()).into()),
                ("is_grantable", yes(membership.is_admin)),
            ]
        })
    });
    rows.collect()
}
