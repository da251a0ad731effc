//! The users' tables, indexes, views, sequences and constraints, with their numbers.
//!
//! # Invariants
//! 1. No two objects have the same number, and none has one below [`FIRST`].
//! 2. An object keeps its number as long as it is there, over restarts too: a table's follows from
//!    the store's number for it, those of others from their names. Should two names ever give the
//!    same number, the later one in the order of names gets the next free one.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use nacre_store::index::{IndexDef, IndexOrigin};
use nacre_store::{
    AccessState, CheckRule, ColumnDefault, ForeignKeyDef, Identity, ObjectAccess, SEQUENCES_TABLE,
    Securable, Sequence, Store, Table, ViewDef,
};
use nacre_types::SqlType;

use crate::engine::view_types;
use crate::pg_types::PgType;

/// The first number of an object of users.
pub(super) const FIRST: u32 = 16_384;

/// Where the numbers begin that follow from names.
const NAMED: u32 = 1 << 30;

/// A table, index, view or sequence.
#[derive(Clone)]
pub(super) struct Relation {
    pub(super) oid: u32,
    pub(super) name: String,
    pub(super) is: Kind,
}

#[derive(Clone)]
pub(super) enum Kind {
    Table(Arc<Table>),
    Index {
        table: u32,
        definition: IndexDef,
        of: Arc<Table>,
    },
    /// With the types of its columns, if they are known.
    View(Arc<ViewDef>, Option<Vec<SqlType>>),
    Sequence(Arc<Sequence>),
}

/// A column of a relation.
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) pg_type: PgType,
    /// Number of the type, which may be an array.
    pub(super) type_oid: u32,
    pub(super) modifier: i32,
    pub(super) is_nullable: bool,
    pub(super) default: Option<ColumnDefault>,
}

/// A constraint of a table.
pub(super) struct Constraint {
    pub(super) oid: u32,
    pub(super) name: String,
    pub(super) table: u32,
    /// Number of the index that it is kept by; 0 without one.
    pub(super) index: u32,
    pub(super) of: Arc<Table>,
    pub(super) is: Rule,
}

pub(super) enum Rule {
    Primary(Vec<usize>),
    Unique(Vec<usize>),
    Check(CheckRule),
    Foreign { key: ForeignKeyDef, parent: Arc<Table>, parent_oid: u32 },
}

/// All of them as they are now.
pub(super) struct Objects {
    /// Who owns them, and what they grant.
    pub(super) access: Arc<AccessState>,
    pub(super) relations: Vec<Relation>,
    pub(super) constraints: Vec<Constraint>,
}

/// Gives numbers away.
struct Numbers(BTreeSet<u32>);

/// Returns the number of a table, unless it takes what else is there to tell.
pub(crate) fn table_number(table: &Table) -> Option<u32> {
    let number = u32::try_from(table.id().number()).ok();
    number.filter(|number| *number < NAMED - FIRST).map(|number| FIRST + number)
}

impl Numbers {
    fn table(&mut self, table: &Table) -> u32 {
        match table_number(table) {
            Some(number) => {
                self.0.insert(number);
                number
            }
            None => self.named("table", &table.id().number().to_string()),
        }
    }

    fn named(&mut self, kind: &str, name: &str) -> u32 {
        // FNV-1a.
        let bytes = kind.bytes().chain([0]).chain(name.bytes());
        let hash = bytes
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let mut number = NAMED | (hash & (NAMED - 1));
        while !self.0.insert(number) {
            number = NAMED | (number.wrapping_add(1) & (NAMED - 1));
        }
        number
    }
}

impl Objects {
    /// Collects them.
    pub(super) fn of(store: &Store) -> Self {
        let mut numbers = Numbers(BTreeSet::new());
        let tables: Vec<(u32, Arc<Table>)> = store
            .tables()
            .into_iter()
            .filter(|table| table.schema().name != SEQUENCES_TABLE)
            .map(|table| (numbers.table(&table), table))
            .collect();
        let mut relations = Vec::new();
        for (oid, table) in &tables {
            let name = table.schema().name.clone();
            relations.push(Relation { oid: *oid, name, is: Kind::Table(Arc::clone(table)) });
            for index in store.indexes_of(table) {
                let definition = index.definition().clone();
                let name = definition.name.clone();
                // What finds the rows of a foreign key is not an index to PostgreSQL.
                if definition.origin == IndexOrigin::ForeignKey {
                    continue;
                }
                let of = Arc::clone(table);
                let is = Kind::Index { table: *oid, definition, of };
                relations.push(Relation { oid: numbers.named("index", &name), name, is });
            }
        }
        for view in store.views() {
            let (name, types) = (view.name.clone(), view_types(store, &view));
            let is = Kind::View(view, types);
            relations.push(Relation { oid: numbers.named("view", &name), name, is });
        }
        for sequence in store.sequences().unwrap_or_default() {
            let name = sequence.def().name.clone();
            let is = Kind::Sequence(sequence);
            relations.push(Relation { oid: numbers.named("sequence", &name), name, is });
        }
        let constraints = constraints(&tables, &relations, &mut numbers);
        Self { access: store.access(), relations, constraints }
    }

    /// Returns who owns a relation and what it grants.
    pub(super) fn access_of(&self, relation: &Relation) -> &ObjectAccess {
        self.access.object(&relation.securable())
    }

    /// Returns the name of who owns a relation.
    pub(super) fn owner_of(&self, relation: &Relation) -> String {
        super::roles::name_of(&self.access, self.access_of(relation).owner.into())
    }

    pub(super) fn relation(&self, oid: i64) -> Option<&Relation> {
        self.relations.iter().find(|one| i64::from(one.oid) == oid)
    }

    pub(super) fn named(&self, name: &str) -> Option<&Relation> {
        self.relations.iter().find(|one| one.name == name)
    }

    pub(super) fn constraint(&self, oid: i64) -> Option<&Constraint> {
        self.constraints.iter().find(|one| i64::from(one.oid) == oid)
    }
}

fn constraints(
    tables: &[(u32, Arc<Table>)],
    relations: &[Relation],
    numbers: &mut Numbers,
) -> Vec<Constraint> {
    let mut found = Vec::new();
    let index_named = |name: &str| {
        let index = relations.iter().find(|one| one.name == name);
        index.map_or(0, |index| index.oid)
    };
    for (oid, table) in tables {
        let mut add = |name: &str, index: u32, is: Rule| {
            let (of, name) = (Arc::clone(table), name.to_owned());
            let number = numbers.named("constraint", &format!("{oid}\0{name}"));
            found.push(Constraint { oid: number, name, table: *oid, index, of, is });
        };
        let keys = relations.iter().filter_map(|one| match &one.is {
            Kind::Index { table, definition, .. } if table == oid => Some((one.oid, definition)),
            _ => None,
        });
        for (index, definition) in keys {
            match definition.origin {
                IndexOrigin::PrimaryKey => {
                    add(&definition.name, index, Rule::Primary(definition.columns.clone()));
                }
                IndexOrigin::Unique => {
                    add(&definition.name, index, Rule::Unique(definition.columns.clone()));
                }
                IndexOrigin::ForeignKey | IndexOrigin::Statement => {}
            }
        }
        for check in &table.rules().checks {
            add(&check.name, 0, Rule::Check(check.clone()));
        }
        for key in table.foreign_keys() {
            let parent = key.referenced.unwrap_or_else(|| table.id());
            let Some((parent_oid, parent)) = tables.iter().find(|(_, one)| one.id() == parent)
            else {
                continue;
            };
            let kept_by = relations.iter().find_map(|one| match &one.is {
                Kind::Index { table, definition, .. }
                    if table == parent_oid
                        && definition.is_unique
                        && is_same_set(&definition.columns, &key.referenced_columns) =>
                {
                    Some(one.name.as_str())
                }
                _ => None,
            });
            let index = kept_by.map_or(0, index_named);
            let (parent, parent_oid, name) = (Arc::clone(parent), *parent_oid, key.name.clone());
            add(&name, index, Rule::Foreign { key, parent, parent_oid });
        }
    }
    found
}

fn is_same_set(one: &[usize], other: &[usize]) -> bool {
    one.len() == other.len() && one.iter().all(|column| other.contains(column))
}

impl Relation {
    /// Returns what privileges on it are on; an index has those of its table.
    pub(super) fn securable(&self) -> Securable {
        match &self.is {
            Kind::Table(table) | Kind::Index { of: table, .. } => Securable::Table(table.id()),
            Kind::View(..) => Securable::View(self.name.clone()),
            Kind::Sequence(_) => Securable::Sequence(self.name.clone()),
        }
    }

    /// Returns the letter of `pg_class.relkind`.
    pub(super) fn letter(&self) -> &'static str {
        match self.is {
            Kind::Table(_) => "r",
            Kind::Index { .. } => "i",
            Kind::View(..) => "v",
            Kind::Sequence(_) => "S",
        }
    }

    /// Returns the columns.
    pub(super) fn attributes(&self) -> Vec<Attribute> {
        match &self.is {
            Kind::Table(table) => {
                let rules = table.rules();
                let all = 0..table.schema().columns.len();
                let attribute = |column| {
                    let mut attribute = stored(table, column)?;
                    attribute.default = rules.defaults.get(&column).cloned();
                    Some(attribute)
                };
                all.filter_map(attribute).collect()
            }
            Kind::Index { definition, of, .. } => {
                let attribute = |column: &usize| {
                    let attribute = stored(of, *column)?;
                    Some(Attribute { is_nullable: true, ..attribute })
                };
                definition.columns.iter().filter_map(attribute).collect()
            }
            Kind::View(view, types) => {
                let type_of = |place: usize| types.as_ref()?.get(place).copied();
                let columns = view.columns.iter().enumerate().map(|(place, column)| {
                    of_type(&column.name, type_of(place).unwrap_or(SqlType::TEXT))
                });
                columns.collect()
            }
            Kind::Sequence(_) => {
                [("last_value", "int8"), ("log_cnt", "int8"), ("is_called", "bool")]
                    .map(|(name, type_name)| Attribute {
                        is_nullable: false,
                        ..simple(name, type_name)
                    })
                    .into()
            }
        }
    }
}

fn stored(table: &Table, column: usize) -> Option<Attribute> {
    let schema = table.schema();
    let definition = schema.columns.get(column)?;
    let (pg_type, modifier) = PgType::of_column(definition.column_type);
    Some(Attribute {
        name: definition.name.clone(),
        pg_type,
        type_oid: pg_type.oid,
        modifier,
        is_nullable: definition.is_nullable,
        default: None,
    })
}

/// Returns a column of a type without any rules.
fn of_type(name: &str, sql_type: SqlType) -> Attribute {
    let element = sql_type.element().filter(|_| !sql_type.is_vector()).unwrap_or(sql_type);
    let pg_type = element.entry().and_then(|entry| PgType::in_catalog(entry.name));
    let pg_type = pg_type.unwrap_or_else(|| PgType::of_arrow(&DataType::Utf8));
    Attribute {
        name: name.to_owned(),
        pg_type,
        type_oid: sql_type.oid().0,
        modifier: sql_type.modifier().0,
        is_nullable: true,
        default: None,
    }
}

/// Returns the column that a field of a view is.
pub(super) fn shown(field: &datafusion::arrow::datatypes::Field) -> Attribute {
    let (pg_type, type_oid) = PgType::of_field(field);
    let modifier = match field.data_type() {
        DataType::Decimal128(precision, scale) => {
            ((i32::from(*precision) << 16) | i32::from(*scale)) + 4
        }
        _ => -1,
    };
    let name = field.name().clone();
    Attribute { name, pg_type, type_oid, modifier, is_nullable: true, default: None }
}

/// Returns a column without any rules.
pub(super) fn simple(name: &str, type_name: &str) -> Attribute {
    let element = type_name.strip_prefix('_').unwrap_or(type_name);
    let pg_type = PgType::named(element).unwrap_or_else(|| PgType::of_arrow(&DataType::Utf8));
    let type_oid = if type_name.starts_with('_') { pg_type.array_oid } else { pg_type.oid };
    let name = name.to_owned();
    Attribute { name, pg_type, type_oid, modifier: -1, is_nullable: true, default: None }
}

impl Attribute {
    /// Returns the letter of `pg_attribute.attidentity`.
    pub(super) fn identity(&self) -> &'static str {
        match self.default.as_ref().and_then(|default| default.identity) {
            Some(Identity::Always) => "a",
            Some(Identity::ByDefault) => "d",
            None => "",
        }
    }

    /// Returns what `pg_attrdef` tells of the column; nothing of an identity column.
    pub(super) fn expression(&self) -> Option<String> {
        let default = self.default.as_ref().filter(|default| default.identity.is_none())?;
        let text = default.text.trim();
        if let Some(name) = text.strip_prefix("nextval('").and_then(|rest| rest.strip_suffix("')"))
        {
            return Some(format!("nextval('{name}'::regclass)"));
        }
        let quoted = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        Some(match quoted {
            Some(inside) if !inside.replace("''", "").contains('\'') => {
                let name = super::definitions::type_name(self.type_oid, None);
                format!("{text}::{name}")
            }
            _ => text.to_owned(),
        })
    }
}
