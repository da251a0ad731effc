//! The functions over the catalogs. Each computes one value of one row's values.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::SystemTime;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use nacre_store::AccessState;
use nacre_types::parse_type_name;

use super::array_casts::several_dimensions;
use super::cells::{self, Cell};
use super::names::qualified_name;
use super::objects::{FIRST, Kind, Objects};
use super::provider::Catalogs;
use super::session_catalog::SessionCatalog;
use super::{
    array_casts, arrays, definitions, fixed, privileges, relation_rows, roles, type_rows, typed,
    view_rows,
};
use crate::activity::Activities;
use crate::advisory_locks::SessionLocks;
use crate::error::{Error, ErrorKind};
use crate::pg_types::TYPE_KEY;
use crate::sequences::SequenceCalls;
use crate::settings::Settings;

type Outcome = crate::error::Result<Cell>;

/// What a function is told of a call beside the values.
pub(super) struct Call<'a> {
    catalog: &'a SessionCatalog,
    /// The name of the function.
    pub(super) name: &'static str,
    /// The fields of the arguments.
    pub(super) fields: &'a [FieldRef],
}

impl<'a> Call<'a> {
    /// Makes a call of Nacre's own engine.
    pub(super) fn of(catalog: &'a SessionCatalog, name: &'static str) -> Self {
        Self { catalog, name, fields: &[] }
    }

    /// Returns the role that the session acts as.
    pub(super) fn acting(&self) -> u32 {
        self.settings().acting().oid
    }

    pub(super) fn settings(&self) -> &'a Settings {
        self.catalog.catalogs().settings()
    }

    /// Returns the sessions of the database.
    pub(super) fn activities(&self) -> &'a Activities {
        &self.catalog.catalogs().sources().activities
    }

    /// Returns what may be asked of sequences.
    pub(super) fn sequences(&self) -> SequenceCalls<'a> {
        let catalogs = self.catalog.catalogs();
        let (store, settings) = (catalogs.store(), catalogs.settings());
        SequenceCalls { store, given: &catalogs.sources().given, settings, is_free: false }
    }

    /// Returns the advisory locks of the session.
    pub(super) fn locks(&self) -> &'a SessionLocks {
        &self.catalog.catalogs().sources().session_locks
    }

    /// Returns when the database was opened.
    pub(super) fn opened(&self) -> SystemTime {
        self.catalog.catalogs().sources().opened
    }

    /// Returns roles, owners and grants.
    pub(super) fn access(&self) -> Arc<AccessState> {
        self.catalog.catalogs().access()
    }

    pub(super) fn objects(&self) -> &'a Objects {
        self.catalog.objects()
    }
}

/// Computes a value.
pub(super) type FunctionBody = fn(&Call<'_>, &[Cell]) -> Outcome;

/// What type a function returns.
#[derive(Clone, Copy)]
pub(super) enum Returns {
    /// That of this name.
    Named(&'static str),
    /// That of the elements of its first argument.
    Element,
    /// That of its first argument.
    First,
    /// A list of what its arguments are.
    ListOfArguments,
}

/// A function.
pub(super) struct Definition {
    pub(super) name: &'static str,
    /// Fewest and most arguments.
    pub(super) count: (usize, usize),
    /// Whether it is null as soon as an argument is.
    pub(super) is_strict: bool,
    pub(super) returns: Returns,
    pub(super) body: FunctionBody,
}

pub(super) const fn define(
    name: &'static str,
    count: (usize, usize),
    returns: Returns,
    body: FunctionBody,
) -> Definition {
    Definition { name, count, is_strict: true, returns, body }
}

pub(super) const fn define_for_nulls(
    name: &'static str,
    count: (usize, usize),
    returns: Returns,
    body: FunctionBody,
) -> Definition {
    Definition { name, count, is_strict: false, returns, body }
}

const TEXT: Returns = Returns::Named("text");
const BOOL: Returns = Returns::Named("bool");
const INT4: Returns = Returns::Named("int4");
const INT8: Returns = Returns::Named("int8");
const OID: Returns = Returns::Named("oid");

const FUNCTIONS: [Definition; 59] = [
    define("pg_stat_get_numscans", (1, 1), INT8, not_counted),
    define("pg_stat_get_tuples_returned", (1, 1), INT8, not_counted),
    define("pg_stat_get_tuples_fetched", (1, 1), INT8, not_counted),
    define("pg_stat_get_blocks_fetched", (1, 1), INT8, not_counted),
    define("pg_stat_get_blocks_hit", (1, 1), INT8, not_counted),
    define("pg_get_userbyid", (1, 1), Returns::Named("name"), |call, args| {
        Ok(roles::name_of(&call.access(), int(args, 0)).into())
    }),
    define_for_nulls("format_type", (2, 2), TEXT, |_, args| {
        let modifier = args.get(1).and_then(Cell::int).and_then(|one| i32::try_from(one).ok());
        Ok(match args.first().and_then(Cell::int) {
            None => Cell::Null,
            Some(0) => "-".into(),
            Some(oid) => definitions::type_name(u32::try_from(oid).unwrap_or(0), modifier).into(),
        })
    }),
    define("pg_get_expr", (2, 3), TEXT, |_, args| Ok(args[0].clone())),
    define("pg_get_constraintdef", (1, 2), TEXT, |call, args| {
        let is_pretty = is_true(args.get(1));
        let found = call.objects().constraint(int(args, 0));
        Ok(found.map(|one| definitions::constraint(one, is_pretty)).into())
    }),
    define("pg_get_indexdef", (1, 3), TEXT, |call, args| {
        let column = args.get(1).and_then(Cell::int).unwrap_or(0);
        let is_pretty = is_true(args.get(2));
        let column = usize::try_from(column).unwrap_or(0);
        let found = call.objects().relation(int(args, 0));
        Ok(found.and_then(|one| definitions::index(one, column, is_pretty)).into())
    }),
    define("pg_get_viewdef", (1, 2), TEXT, |call, args| {
        let oid = relation_of(call, &args[0])?;
        Ok(call.objects().relation(oid).and_then(definitions::view).into())
    }),
    define("pg_get_serial_sequence", (2, 2), TEXT, serial_sequence),
    define("pg_sequence_last_value", (1, 1), INT8, sequence_last_value),
    define("acldefault", (2, 2), Returns::Named("_aclitem"), privileges::default_acl),
    define("nacre_aclexplode", (1, 1), Returns::Named("_text"), privileges::exploded),
    define("nacre_acl_grantor", (1, 1), OID, |_, args| Ok(privileges::part_of_grant(args, 0))),
    define("nacre_acl_grantee", (1, 1), OID, |_, args| Ok(privileges::part_of_grant(args, 1))),
    define("nacre_acl_is_grantable", (1, 1), BOOL, |_, args| {
        Ok(privileges::part_of_grant(args, 2))
    }),
    define("nacre_acl_privilege_type", (1, 1), TEXT, |_, args| {
        Ok(privileges::part_of_grant(args, 3))
    }),
    define("pg_get_partkeydef", (1, 1), TEXT, nothing),
    define("pg_get_triggerdef", (1, 2), TEXT, nothing),
    define("pg_get_ruledef", (1, 2), TEXT, nothing),
    define("pg_get_functiondef", (1, 1), TEXT, nothing),
    define("pg_get_function_result", (1, 1), TEXT, nothing),
    define("pg_get_function_arguments", (1, 1), TEXT, nothing),
    define("pg_get_function_identity_arguments", (1, 1), TEXT, nothing),
    define("pg_get_statisticsobjdef_columns", (1, 1), TEXT, nothing),
    define("obj_description", (1, 2), TEXT, nothing),
    define("col_description", (2, 2), TEXT, nothing),
    define("shobj_description", (2, 2), TEXT, nothing),
    // Nothing is partitioned.
    define("pg_partition_ancestors", (1, 1), OID, nothing),
    define("pg_encoding_to_char", (1, 1), Returns::Named("name"), |_, args| {
        Ok(if int(args, 0) == fixed::UTF8 { "UTF8" } else { "" }.into())
    }),
    define("pg_char_to_encoding", (1, 1), INT4, |_, args| {
        let name = args[0].text().unwrap_or_default().to_lowercase().replace('-', "");
        Ok(if name == "utf8" { fixed::UTF8 } else { -1 }.into())
    }),
    define("getdatabaseencoding", (0, 0), Returns::Named("name"), |_, _| Ok("UTF8".into())),
    define("pg_client_encoding", (0, 0), Returns::Named("name"), |_, _| Ok("UTF8".into())),
    define("pg_relation_is_publishable", (1, 1), BOOL, |call, args| {
        let oid = relation_of(call, &args[0])?;
        let found = call.objects().relation(oid);
        Ok(found.map(|one| matches!(one.is, Kind::Table(_))).into())
    }),
    define("pg_is_other_temp_schema", (1, 1), BOOL, |_, _| Ok(false.into())),
    define("pg_my_temp_schema", (0, 0), OID, |_, _| Ok(0.into())),
    define("pg_tablespace_location", (1, 1), TEXT, |_, _| Ok("".into())),
    define("pg_relation_size", (1, 2), INT8, heap_size),
    define("pg_table_size", (1, 1), INT8, heap_size),
    define("pg_indexes_size", (1, 1), INT8, indexes_size),
    define("pg_total_relation_size", (1, 1), INT8, |call, args| {
        let (heap, indexes) = (heap_size(call, args)?, indexes_size(call, args)?);
        let sum = heap.int().zip(indexes.int()).map(|(heap, indexes)| heap + indexes);
        Ok(sum.into())
    }),
    define("pg_database_size", (1, 1), INT8, |call, args| {
        let is_this = match &args[0] {
            Cell::Text(name) => name == crate::names::CATALOG,
            other => other.int() == Some(fixed::DATABASE.into()),
        };
        if !is_this {
            let message = match &args[0] {
                Cell::Text(name) => format!("database \"{name}\" does not exist"),
                _ => return Ok(Cell::Null),
            };
            return Err(Error::new(ErrorKind::UndefinedObject, message).with_code("3D000"));
        }
        Ok(Cell::from(view_rows::database_size(call.objects()) as i64))
    }),
    define("pg_size_pretty", (1, 1), TEXT, |_, args| Ok(size_pretty(int(args, 0)).into())),
    define("quote_ident", (1, 1), TEXT, |_, args| {
        Ok(args[0].shown().map(|name| definitions::quoted(&name)).into())
    }),
    define("quote_literal", (1, 1), TEXT, |_, args| {
        Ok(args[0].shown().map(|text| literal(&text)).into())
    }),
    define_for_nulls("quote_nullable", (1, 1), TEXT, |_, args| {
        Ok(args[0].shown().map_or("NULL".to_owned(), |text| literal(&text)).into())
    }),
    define_for_nulls("json_build_object", (1, usize::MAX), Returns::Named("json"), json_object),
    define_for_nulls("format", (1, usize::MAX), TEXT, format),
    define("to_regclass", (1, 1), Returns::Named("regclass"), |call, args| {
        Ok(find_relation(call, args[0].text().unwrap_or_default())?.into())
    }),
    define("to_regtype", (1, 1), Returns::Named("regtype"), |_, args| {
        let named = parse_type_name(args[0].text().unwrap_or_default());
        Ok(named.ok().map(|of| of.oid().0).into())
    }),
    define("to_regnamespace", (1, 1), OID, |_, args| {
        Ok(schema_named(args[0].text().unwrap_or_default()).into())
    }),
    define("nacre_oid", (1, 1), OID, |_, args| number(&args[0], "oid")),
    define("nacre_regclass", (1, 1), Returns::Named("regclass"), |call, args| {
        relation_of(call, &args[0]).map(Cell::from)
    }),
    define("nacre_regtype", (1, 1), Returns::Named("regtype"), |_, args| {
        known(&args[0], "type", |name| definitions::type_named(name).map(i64::from))
    }),
    define("nacre_regproc", (1, 1), Returns::Named("regproc"), |_, args| {
        known(&args[0], "function", |name| {
            let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
            let all = type_rows::functions();
            all.iter().find(|(_, known)| *known == name).map(|(oid, _)| i64::from(*oid))
        })
    }),
    define("nacre_regnamespace", (1, 1), OID, |_, args| {
        known(&args[0], "schema", |name| schema_named(name).map(i64::from))
    }),
    define("nacre_regrole", (1, 1), OID, |call, args| {
        let state = call.access();
        known(&args[0], "role", |name| state.role_named(name).map(|role| i64::from(role.oid)))
    }),
];

/// Those that show a number by the name of what it stands for.
const NAMES: [Definition; 5] = [
    define("nacre_regclass_text", (1, 1), TEXT, |call, args| {
        let oid = relation_of(call, &args[0])?;
        Ok(relation_name(call, oid).into())
    }),
    define("nacre_regtype_text", (1, 1), TEXT, |_, args| {
        let oid = match &args[0] {
            Cell::Text(name) => definitions::type_named(name),
            other => other.int().and_then(|oid| u32::try_from(oid).ok()),
        };
        Ok(match oid {
            Some(0) => "-".to_owned(),
            Some(oid) => match definitions::type_name(oid, None) {
                name if name == "???" => oid.to_string(),
                name => name,
            },
            None => args[0].shown().unwrap_or_default(),
        }
        .into())
    }),
    define("nacre_regproc_text", (1, 1), TEXT, |_, args| {
        let all = type_rows::functions();
        let found = all.iter().find(|(oid, _)| i64::from(*oid) == int(args, 0));
        Ok(match (found, args[0].int()) {
            (Some((_, name)), _) => (*name).into(),
            (None, Some(0)) => "-".into(),
            _ => args[0].shown().into(),
        })
    }),
    define("nacre_regnamespace_text", (1, 1), TEXT, |_, args| {
        let found = fixed::SCHEMAS.iter().find(|(oid, _)| i64::from(*oid) == int(args, 0));
        Ok(found.map_or_else(|| args[0].shown(), |(_, name)| Some((*name).to_owned())).into())
    }),
    define("nacre_regrole_text", (1, 1), TEXT, |call, args| {
        Ok(match roles::find(&call.access(), int(args, 0)) {
            Some(role) => definitions::quoted(&role.name).into(),
            None => args[0].shown().into(),
        })
    }),
];

/// Those that ask whether an object is found without its schema: names and, but for the first,
/// all the same.
const IS_VISIBLE: [&str; 9] = [
    "pg_type_is_visible",
    "pg_function_is_visible",
    "pg_operator_is_visible",
    "pg_opclass_is_visible",
    "pg_opfamily_is_visible",
    "pg_collation_is_visible",
    "pg_conversion_is_visible",
    "pg_ts_config_is_visible",
    "pg_statistics_obj_is_visible",
];

/// Those that ask what a role may do.
const PRIVILEGES: [Definition; 12] = [
    define("has_table_privilege", (2, 3), BOOL, |call, args| {
        privileges::of_table(call, args, false)
    }),
    define("has_any_column_privilege", (2, 3), BOOL, |call, args| {
        privileges::of_table(call, args, false)
    }),
    define("has_column_privilege", (3, 4), BOOL, |call, args| {
        privileges::of_table(call, args, true)
    }),
    define("has_schema_privilege", (2, 3), BOOL, privileges::of_schema),
    define("has_database_privilege", (2, 3), BOOL, privileges::of_database),
    define("has_sequence_privilege", (2, 3), BOOL, privileges::of_sequence),
    define("has_function_privilege", (2, 3), BOOL, |call, args| {
        privileges::of_others(call, args, true)
    }),
    define("has_language_privilege", (2, 3), BOOL, |call, args| {
        privileges::of_others(call, args, true)
    }),
    define("has_tablespace_privilege", (2, 3), BOOL, |call, args| {
        privileges::of_others(call, args, false)
    }),
    define("has_type_privilege", (2, 3), BOOL, |call, args| {
        privileges::of_others(call, args, true)
    }),
    define("has_server_privilege", (2, 3), BOOL, |call, args| {
        privileges::of_others(call, args, false)
    }),
    define("pg_has_role", (2, 3), BOOL, privileges::has_role),
];

/// Returns the functions that Nacre's own engine asks for, too.
pub(super) fn definitions() -> impl Iterator<Item = Definition> {
    let visible = IS_VISIBLE.map(|name| define(name, (1, 1), BOOL, |_, _| Ok(true.into())));
    let table_is_visible = define("pg_table_is_visible", (1, 1), BOOL, table_is_visible);
    FUNCTIONS.into_iter().chain(visible).chain(PRIVILEGES).chain([table_is_visible])
}

/// Makes the functions of a new session.
pub(crate) fn functions(catalogs: &Catalogs) -> Vec<Arc<ScalarUDF>> {
    definitions()
        .chain(NAMES)
        .chain(arrays::functions())
        .chain(typed::functions())
        .map(|definition| Function::new(definition, catalogs.clone()))
        .map(|function| Arc::new(ScalarUDF::new_from_impl(function)))
        .chain(array_casts::functions())
        .collect()
}

fn int(args: &[Cell], place: usize) -> i64 {
    args.get(place).and_then(Cell::int).unwrap_or(-1)
}

fn is_true(cell: Option<&Cell>) -> bool {
    match cell {
        Some(Cell::Bool(value)) => *value,
        Some(Cell::Text(text)) => matches!(text.as_str(), "t" | "true" | "on" | "yes" | "1"),
        _ => false,
    }
}

fn json_text(text: &str) -> String {
    let mut json = String::from("\"");
    for one in text.chars() {
        match one {
            '"' | '\\' => json.extend(['\\', one]),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            one if one < ' ' => json.push_str(&format!("\\u{:04x}", u32::from(one))),
            one => json.push(one),
        }
    }
    json.push('"');
    json
}

fn json_value(cell: &Cell) -> String {
    match cell {
        Cell::Null => "null".to_owned(),
        Cell::Bool(value) => value.to_string(),
        Cell::Int(value) => value.to_string(),
        Cell::Float(value) => value.to_string(),
        Cell::Text(text) => json_text(text),
        Cell::List(cells) => {
            format!("[{}]", cells.iter().map(json_value).collect::<Vec<_>>().join(","))
        }
    }
}

fn json_object(_: &Call<'_>, args: &[Cell]) -> Outcome {
    if !args.len().is_multiple_of(2) {
        let message = "argument list must have even number of elements";
        return Err(Error::new(ErrorKind::InvalidData, message).with_code("22023"));
    }
    let mut pairs = Vec::with_capacity(args.len() / 2);
    for pair in args.chunks_exact(2) {
        let Some(key) = pair[0].shown() else {
            let message = "argument of json_build_object for a key is null";
            return Err(Error::new(ErrorKind::InvalidData, message).with_code("22004"));
        };
        pairs.push(format!("{} : {}", json_text(&key), json_value(&pair[1])));
    }
    Ok(format!("{{{}}}", pairs.join(", ")).into())
}

/// Puts values into a text in the places of `%s`, `%I` and `%L`.
fn format(_: &Call<'_>, args: &[Cell]) -> Outcome {
    let Some(pattern) = args[0].text() else { return Ok(Cell::Null) };
    let mut values = args[1..].iter();
    let mut text = String::new();
    let mut chars = pattern.chars();
    while let Some(one) = chars.next() {
        if one != '%' {
            text.push(one);
            continue;
        }
        let kind = chars.next();
        if kind == Some('%') {
            text.push('%');
            continue;
        }
        let Some(value) = values.next().map(Cell::shown) else {
            let message = "too few arguments for format()";
            return Err(Error::new(ErrorKind::InvalidData, message).with_code("22023"));
        };
        match (kind, value) {
            (Some('s'), value) => text.push_str(&value.unwrap_or_default()),
            (Some('I'), Some(value)) => text.push_str(&definitions::quoted(&value)),
            (Some('L'), Some(value)) => text.push_str(&literal(&value)),
            (Some('L'), None) => text.push_str("NULL"),
            (Some('I'), None) => {
                let message = "null values cannot be formatted as an SQL identifier";
                return Err(Error::new(ErrorKind::InvalidData, message).with_code("22004"));
            }
            _ => return Err(Error::not_supported("this form of format()")),
        }
    }
    Ok(text.into())
}

/// How often something happened is not counted.
fn not_counted(_: &Call<'_>, _: &[Cell]) -> Outcome {
    Ok(Cell::Int(0))
}

fn nothing(_: &Call<'_>, _: &[Cell]) -> Outcome {
    Ok(Cell::Null)
}

fn literal(text: &str) -> String {
    let quoted = format!("'{}'", text.replace('\'', "''").replace('\\', "\\\\"));
    if text.contains('\\') { format!(" E{quoted}") } else { quoted }
}

fn number(cell: &Cell, type_name: &str) -> Outcome {
    cell.int().map(Cell::from).ok_or_else(|| {
        let text = cell.shown().unwrap_or_default();
        let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
        Error::new(ErrorKind::InvalidData, message).with_code("22P02")
    })
}

/// Returns a number, or that of the object of a name.
fn known(cell: &Cell, kind: &str, find: impl Fn(&str) -> Option<i64>) -> Outcome {
    let text = match cell {
        Cell::Text(text) => text.trim(),
        other => return Ok(other.clone()),
    };
    if text == "-" {
        return Ok(0.into());
    }
    if let Ok(number) = text.parse::<i64>() {
        return Ok(number.into());
    }
    find(text).map(Cell::from).ok_or_else(|| {
        let message = format!("{kind} \"{text}\" does not exist");
        let code = match kind {
            "schema" => "3F000",
            "function" => "42883",
            _ => "42704",
        };
        Error::new(ErrorKind::UndefinedObject, message).with_code(code)
    })
}

pub(super) fn schema_named(name: &str) -> Option<u32> {
    fixed::SCHEMAS.iter().find(|(_, known)| *known == name).map(|(oid, _)| *oid)
}

/// Returns the number of the relation of a name.
///
/// # Errors
/// 42602 for an invalid name.
fn find_relation(call: &Call<'_>, name: &str) -> crate::error::Result<Option<i64>> {
    let parts = qualified_name(name)?;
    let (schema, name) = match parts.as_slice() {
        [name] => (None, name),
        [schema, name] | [_, schema, name] => (Some(schema.as_str()), name),
        _ => return Ok(None),
    };
    let system = relation_rows::system_names().find(|(_, known, of)| {
        let is_of = match schema {
            Some(schema) => schema_named(schema) == Some(*of),
            None => *of == fixed::PG_CATALOG,
        };
        *known == name && is_of
    });
    if let Some((oid, ..)) = system {
        return Ok(Some(oid.into()));
    }
    if schema.is_some_and(|schema| schema != crate::names::SCHEMA) {
        return Ok(None);
    }
    Ok(call.objects().named(name).map(|one| one.oid.into()))
}

/// Returns the number of a relation that is given by its number or by its name.
pub(super) fn relation_of(call: &Call<'_>, cell: &Cell) -> crate::error::Result<i64> {
    let text = match cell {
        Cell::Text(text) => text.trim(),
        other => return Ok(other.int().unwrap_or(0)),
    };
    if text == "-" {
        return Ok(0);
    }
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    find_relation(call, text)?
        .ok_or_else(|| Error::undefined_table(format!("relation \"{text}\" does not exist")))
}

/// Returns the name of a relation as `regclass` shows it.
pub(super) fn relation_name(call: &Call<'_>, oid: i64) -> String {
    if oid == 0 {
        return "-".to_owned();
    }
    if oid < i64::from(FIRST) {
        let found = relation_rows::system_names().find(|(known, ..)| i64::from(*known) == oid);
        return match found {
            Some((_, name, fixed::PG_CATALOG)) => name.to_owned(),
            Some((_, name, fixed::NACRE_CATALOG)) => {
                format!("{}.{name}", crate::names::SYSTEM_SCHEMA)
            }
            Some((_, name, ..)) => format!("information_schema.{name}"),
            None => oid.to_string(),
        };
    }
    let found = call.objects().relation(oid);
    found.map_or_else(|| oid.to_string(), |one| definitions::quoted(&one.name))
}

fn table_is_visible(call: &Call<'_>, args: &[Cell]) -> Outcome {
    let oid = int(args, 0);
    if oid >= i64::from(FIRST) {
        return Ok(call.objects().relation(oid).map(|_| true).into());
    }
    let found = relation_rows::system_names().find(|(known, ..)| i64::from(*known) == oid);
    Ok(found.map(|(_, _, schema)| schema == fixed::PG_CATALOG).into())
}

fn serial_sequence(call: &Call<'_>, args: &[Cell]) -> Outcome {
    let table = relation_of(call, &args[0])?;
    let column = args[1].text().unwrap_or_default();
    let objects = call.objects();
    let relation = objects.relation(table);
    let place = relation.and_then(|one| one.attributes().iter().position(|one| one.name == column));
    let Some(place) = place else {
        let name = relation.map_or("", |one| one.name.as_str());
        let message = format!("column \"{column}\" of relation \"{name}\" does not exist");
        return Err(Error::undefined_column(message));
    };
    let found = definitions::owners(objects)
        .into_iter()
        .find(|(_, of, at, _)| i64::from(of.oid) == table && *at == place + 1);
    Ok(found.map(|(one, ..)| format!("public.{}", definitions::quoted(&one.name))).into())
}

/// Returns the value that a sequence gave last; null if it gave none.
fn sequence_last_value(call: &Call<'_>, args: &[Cell]) -> Outcome {
    let oid = relation_of(call, &args[0])?;
    let found = call.objects().relation(oid);
    Ok(match found.map(|one| &one.is) {
        Some(Kind::Sequence(sequence)) => match sequence.position() {
            (value, true) => value.into(),
            (_, false) => Cell::Null,
        },
        _ => Cell::Null,
    })
}

fn heap_size(call: &Call<'_>, args: &[Cell]) -> Outcome {
    let oid = relation_of(call, &args[0])?;
    if oid < i64::from(FIRST) {
        return Ok(0.into());
    }
    let bytes = call.objects().relation(oid).map(|one| match &one.is {
        Kind::Table(table) => relation_rows::size(table),
        Kind::Index { definition, of, .. } => index_size(of, &definition.name),
        Kind::View(..) | Kind::Sequence(_) => 0,
    });
    Ok(bytes.map(|bytes| bytes as i64).into())
}

fn index_size(table: &nacre_store::Table, name: &str) -> u64 {
    let found = table.indexes().into_iter().find(|index| index.definition().name == name);
    found.map_or(0, |index| index.bytes() as u64)
}

fn indexes_size(call: &Call<'_>, args: &[Cell]) -> Outcome {
    let oid = relation_of(call, &args[0])?;
    let bytes = call.objects().relation(oid).map(|one| match &one.is {
        Kind::Table(table) => table.indexes().iter().map(|index| index.bytes() as i64).sum(),
        _ => 0,
    });
    Ok(bytes.into())
}

/// Writes a size with the unit that leaves fewer than five digits, halves rounded up.
fn size_pretty(bytes: i64) -> String {
    let units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let mut size = i128::from(bytes);
    let mut unit = 0;
    // Twice the number from kB on, so that the last half is there to be rounded.
    while size.abs() >= if unit == 0 { 10 * 1024 } else { 20 * 1024 - 1 } && unit + 1 < units.len()
    {
        size = if unit == 0 { size >> 9 } else { size >> 10 };
        unit += 1;
    }
    let shown = if unit == 0 { size } else { (size + size.signum()) / 2 };
    format!("{shown} {}", units[unit])
}

/// A function of a session.
struct Function {
    definition: Definition,
    signature: Signature,
    catalogs: Catalogs,
}

impl Function {
    fn new(definition: Definition, catalogs: Catalogs) -> Self {
        let (fewest, most) = definition.count;
        let counts = (fewest..=most).map(|count| match count {
            0 => TypeSignature::Nullary,
            count => TypeSignature::Any(count),
        });
        let signature = match most {
            usize::MAX => Signature::variadic_any(Volatility::Stable),
            _ => Signature::one_of(counts.collect(), Volatility::Stable),
        };
        Self { definition, signature, catalogs }
    }

    /// Whether it would have to do with arrays of arrays.
    fn is_deep(&self, args: &[FieldRef]) -> bool {
        let makes_lists = matches!(self.definition.returns, Returns::ListOfArguments);
        args.iter().any(|field| match field.data_type() {
            DataType::List(element) => makes_lists || is_list(element.data_type()),
            _ => false,
        })
    }

    fn field(&self, args: &[FieldRef]) -> Field {
        let (name, first) = (self.definition.name, args.first());
        match (self.definition.returns, first) {
            (Returns::Named(type_name), _) => cells::field(name, type_name),
            (Returns::Element, Some(field)) => {
                let element = match field.data_type() {
                    DataType::List(element) => element.data_type().clone(),
                    other => other.clone(),
                };
                // A vector is told from an array by the name of its own type.
                let metadata = field.metadata().clone();
                let is_vector = metadata.get(TYPE_KEY).is_some_and(|of| of.ends_with("vector"));
                let element = Field::new(name, element, true);
                if is_vector { element } else { element.with_metadata(metadata) }
            }
            (Returns::First, Some(field)) => field.as_ref().clone().with_name(name),
            (Returns::ListOfArguments, _) => list_of(name, args),
            (_, None) => Field::new(name, DataType::Null, true),
        }
    }
}

fn is_list(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(_))
}

/// Returns the field of lists of what arguments are: integers of the widest, any number as double
/// or decimal, else texts.
fn list_of(name: &str, args: &[FieldRef]) -> Field {
    let known = || args.iter().filter(|field| field.data_type() != &DataType::Null);
    let all = |is: fn(&DataType) -> bool| known().all(|field| is(field.data_type()));
    let first = known().next();
    let element = match first.map(|field| field.data_type().clone()) {
        None => DataType::Utf8View,
        Some(_)
            if all(|one| one.is_decimal() || one.is_integer()) && !all(DataType::is_integer) =>
        {
            let scales = known().filter_map(|field| match field.data_type() {
                DataType::Decimal128(_, scale) => Some(*scale),
                _ => None,
            });
            DataType::Decimal128(38, scales.max().unwrap_or(0))
        }
        Some(
            one @ (DataType::Boolean
            | DataType::Int16
            | DataType::Int32
            | DataType::Float32
            | DataType::Float64
            | DataType::Date32
            | DataType::Timestamp(..)),
        ) if known().all(|field| *field.data_type() == one) => one,
        Some(_) if all(DataType::is_integer) => DataType::Int64,
        Some(_) if all(|one| one.is_integer() || one.is_floating()) => DataType::Float64,
        Some(_) => DataType::Utf8View,
    };
    let field = Field::new(name, DataType::List(Arc::new(Field::new("item", element, true))), true);
    // What a list of names or numbers of objects is called.
    let named = first.and_then(|field| field.metadata().get(TYPE_KEY));
    match named.filter(|named| known().all(|field| field.metadata().get(TYPE_KEY) == Some(named))) {
        Some(named) => field.with_metadata([(TYPE_KEY.to_owned(), named.clone())].into()),
        None => field,
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.definition.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.definition.name == other.definition.name
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition.name.hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.definition.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let fields = types.iter().map(|one| Arc::new(Field::new("", one.clone(), true)));
        Ok(self.field(&fields.collect::<Vec<_>>()).data_type().clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        if self.is_deep(args.arg_fields) {
            return Err(DataFusionError::External(Box::new(several_dimensions())));
        }
        Ok(Arc::new(self.field(args.arg_fields).with_nullable(true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let are_scalars = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if are_scalars { 1 } else { rows };
        let arrays: Vec<ArrayRef> =
            args.args.into_iter().map(|arg| arg.into_array(rows)).collect::<Result<_>>()?;
        let catalog = SessionCatalog::new(self.catalogs.clone());
        let (name, fields) = (self.definition.name, args.arg_fields.as_slice());
        let call = Call { catalog: &catalog, name, fields };
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let cells = arrays.iter().map(|array| Cell::of(array, row));
            let cells: Vec<Cell> = cells.collect::<Result<_>>()?;
            if self.definition.is_strict && cells.iter().any(Cell::is_null) {
                values.push(Cell::Null);
                continue;
            }
            let value = (self.definition.body)(&call, &cells);
            values.push(value.map_err(|error| DataFusionError::External(Box::new(error)))?);
        }
        let array = cells::array(args.return_field.data_type(), &values)?;
        match are_scalars {
            true => {
                let value = ScalarValue::try_from_array(&array, 0)?;
                Ok(ColumnarValue::Scalar(value))
            }
            false => Ok(ColumnarValue::Array(array)),
        }
    }
}
