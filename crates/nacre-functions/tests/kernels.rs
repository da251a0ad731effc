//! Compares every kernel with a PostgreSQL 15 server, where its programs are: the text of the
//! result or the SQLSTATE, over a grid of values of each argument type.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "what other tests need of it")]
mod server;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::LazyLock;

use nacre_functions::catalog::{FunctionEntry, find_function};
use nacre_functions::kernels::{
    KernelContext, KernelFallibility, all_kernels, is_system_function, scalar_kernel,
};
use nacre_types::catalog::{TypeOid, find_type};
use nacre_types::datetime::{SqlTimestamp, TimeZoneRules};
use nacre_types::{SqlType, SqlValue, ValueError, ValueSettings};

use server::TestServer;

/// Most calls of one function.
const CALLS_MAX: usize = 120;

/// Where clocks are set back and forth.
const ZONE: &str = "Europe/Berlin";

/// Most calls of a function whose patterns mean something for few texts.
const PATTERN_CALLS_MAX: usize = 4_000;

/// Functions that differ between two moments, or between two servers.
const CLOCK_FUNCTIONS: [&str; 7] = [
    "now",
    "transaction_timestamp",
    "statement_timestamp",
    "clock_timestamp",
    "timeofday",
    "random",
    "version",
];

/// Functions of regular expressions.
const REGULAR_FUNCTIONS: [&str; 17] = [
    "nameicregexne",
    "nameregexne",
    "nameicregexeq",
    "regexp_count",
    "regexp_instr",
    "regexp_like",
    "regexp_match",
    "regexp_replace",
    "regexp_split_to_array",
    "regexp_substr",
    "textregexeq",
    "textregexne",
    "texticregexeq",
    "texticregexne",
    "bpcharregexeq",
    "nameregexeq",
    "substring",
];

/// Functions that refuse some arguments.
const REFUSING: [&str; 12] = [
    "array_positions",
    "array_replace",
    "trim_array",
    "format",
    "make_interval",
    "to_char",
    "width_bucket",
    "array_append",
    "array_prepend",
    "array_cat",
    "array_position",
    "array_remove",
];

/// What PostgreSQL gets wrong: ages of infinities, and differences beyond 64 bits and products
/// beyond 32 bits, which wrap.
fn is_undefined(name: &str, expression: &str) -> bool {
    let has = |part: &str| expression.contains(part);
    let is_wrapped = has("2147483647'::int4") || has("-2147483648'::int4");
    name == "age" && has("infinity")
        || name == "timestamp_mi" && has("294276-12-31")
        || name == "to_char" && is_wrapped && has("V99")
}

/// Values of each type, and patterns of `to_char`: a name and texts, apart by tabs.
const VALUES: &str = include_str!("kernel_values.tsv");

static GRIDS: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let grid = |line: &'static str| {
        let mut fields = line.split('\t').map(|text| if text == "<newline>" { "\n" } else { text });
        Some((fields.next()?, fields.collect()))
    };
    VALUES.lines().filter_map(grid).collect()
});

/// Returns texts of values of a type.
fn grid(oid: TypeOid) -> &'static [&'static str] {
    grid_named(find_type(oid).map_or("", |entry| entry.name))
}

fn grid_named(name: &str) -> &'static [&'static str] {
    GRIDS.get(name).map_or(&[], Vec::as_slice)
}

/// Types that stand for a pseudo-type.
fn concrete(oid: TypeOid) -> &'static [TypeOid] {
    const SCALARS: &[TypeOid] = &[
        TypeOid::INT4,
        TypeOid::TEXT,
        TypeOid::BOOL,
        TypeOid::DATE,
        TypeOid::NUMERIC,
        TypeOid::BPCHAR,
    ];
    const ARRAYS: &[TypeOid] = &[TypeOid(1007), TypeOid(1009)];
    match find_type(oid).map_or("", |entry| entry.name) {
        "any" | "anyelement" | "anynonarray" | "anycompatible" => SCALARS,
        "anycompatiblenonarray" => SCALARS,
        "anyarray" | "anycompatiblearray" => ARRAYS,
        _ => &[],
    }
}

/// An argument of a call.
#[derive(Clone)]
struct Argument {
    sql_type: SqlType,
    /// `None` is null.
    text: Option<&'static str>,
}

impl Argument {
    fn sql(&self) -> String {
        let name = find_type(self.sql_type.oid()).unwrap().name;
        let name = if name == "char" { "\"char\"" } else { name };
        match self.text {
            None => format!("null::{name}"),
            Some(text) => format!(
                "E'{}'::{name}",
                text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n")
            ),
        }
    }

    fn value(&self, settings: &ValueSettings) -> SqlValue {
        match self.text {
            None => SqlValue::Null,
            Some(text) => SqlValue::parse(text, self.sql_type, settings)
                .unwrap_or_else(|error| panic!("{text} of {:?}: {error}", self.sql_type)),
        }
    }
}

/// Returns the lists of types with which a function is called.
fn type_lists(entry: &FunctionEntry) -> Vec<Vec<TypeOid>> {
    let pseudo = entry.arguments.iter().any(|oid| !concrete(*oid).is_empty());
    let is_array = entry.arguments.iter().any(|oid| [2277, 5078].contains(&oid.0));
    let count = if pseudo && !is_array {
        6
    } else if pseudo {
        2
    } else {
        1
    };
    let mut lists: Vec<Vec<TypeOid>> = (0..count)
        .map(|pick| {
            let own = |oid: &TypeOid| {
                let all = concrete(*oid);
                if all.is_empty() { *oid } else { all[pick % all.len()] }
            };
            let mut list: Vec<TypeOid> = entry.arguments.iter().map(own).collect();
            if entry.variadic_element.is_some() && pick % 2 == 1 {
                list.push([TypeOid::TEXT, TypeOid::FLOAT8, TypeOid::BOOL][pick / 2]);
            }
            list
        })
        .collect();
    lists.dedup();
    lists
}

/// Returns calls with some of all combinations of arguments.
fn calls(entry: &FunctionEntry, types: &[TypeOid]) -> Vec<Vec<Argument>> {
    let columns: Vec<Vec<Option<&'static str>>> = types
        .iter()
        .enumerate()
        .map(|(index, oid)| {
            let null = (!entry.is_strict).then_some(None);
            let is_regular = REGULAR_FUNCTIONS.contains(&entry.name)
                && types.get(1).is_some_and(|own| *own == TypeOid::TEXT);
            let is_whole = entry.name == "regexp_replace" && types.len() == 3;
            let values = match (entry.name, index) {
                ("to_char", 1) if find_type(types[0]).is_some_and(|one| one.category == 'N') => {
                    grid_named("number pattern")
                }
                ("to_char", 1) => grid_named("time pattern"),
                (_, 0) if is_whole => grid_named("replaced text"),
                (_, 1) if is_whole => grid_named("whole pattern"),
                ("regexp_replace", 2) => grid_named("replacement"),
                ("substring", 1) if types.get(2) == Some(&TypeOid::TEXT) => {
                    grid_named("similar pattern")
                }
                ("substring", 2) if *oid == TypeOid::TEXT => grid_named("escape"),
                (_, 0) if is_regular => grid_named("regular text"),
                (_, 1) if is_regular => grid_named("regular pattern"),
                (_, 2..) if is_regular && *oid == TypeOid::TEXT => grid_named("flags"),
                (_, 2..) if is_regular => grid_named("small number"),
                ("to_number", 0) => grid_named("number text"),
                ("to_number", 1) => grid_named("number pattern"),
                ("format", 0) => grid_named("format pattern"),
                ("pg_size_bytes", _) => grid_named("size text"),
                ("to_date" | "to_timestamp", 0) if types.len() == 2 => grid_named("time text"),
                ("to_date" | "to_timestamp", 1) => grid_named("reading pattern"),
                _ => grid(*oid),
            };
            values.iter().map(|text| Some(*text)).chain(null).collect()
        })
        .collect();
    let total: usize = columns.iter().map(Vec::len).product();
    // Of patterns each means something for few values.
    let names = ["to_char", "to_date", "to_timestamp", "to_number", "format"];
    let has_patterns = names.contains(&entry.name) || REGULAR_FUNCTIONS.contains(&entry.name);
    let most = if has_patterns { PATTERN_CALLS_MAX } else { CALLS_MAX };
    // A step without a divisor in common with the lengths visits all rows and columns.
    let step = if total <= most { 1 } else { (total / most) | 1 };
    (0..total)
        .step_by(step)
        .map(|number| {
            let mut rest = number;
            let pick = |(oid, column): (&TypeOid, &Vec<Option<&'static str>>)| {
                let text = column[rest % column.len()];
                rest /= column.len();
                Argument { sql_type: SqlType::new(*oid), text }
            };
            types.iter().zip(&columns).map(pick).collect()
        })
        .collect()
}

/// Returns what a kernel answers: the text in hexadecimal digits, `NULL` or a SQLSTATE.
fn answer(
    entry: &FunctionEntry,
    arguments: &[Argument],
    result_type: SqlType,
    settings: &ValueSettings,
) -> Option<String> {
    let kernel = scalar_kernel(entry.oid).unwrap();
    let values: Vec<SqlValue> = arguments.iter().map(|one| one.value(settings)).collect();
    let constants: Vec<Option<&SqlValue>> = values.iter().map(Some).collect();
    if !(kernel.accepts)(&constants) {
        return None;
    }
    let types: Vec<SqlType> = arguments.iter().map(|one| one.sql_type).collect();
    let context = KernelContext { argument_types: &types, result_type, settings };
    let written = |value: SqlValue| -> Result<String, ValueError> {
        Ok(match value.to_text(result_type, settings) {
            None => "NULL".to_owned(),
            Some(text) => text.bytes().fold(String::from("="), |mut out, byte| {
                let _ = write!(out, "{byte:02x}");
                out
            }),
        })
    };
    match (kernel.compute)(&values, &context).and_then(written) {
        Ok(text) => Some(text),
        Err(error) if error.sql_state() == "0A000" && refuses(entry.name) => None,
        Err(error) => {
            let is_total = kernel.fallibility == KernelFallibility::Never;
            assert!(!is_total, "{} never fails, but: {error}", entry.name);
            Some(error.sql_state().to_owned())
        }
    }
}

fn refuses(name: &str) -> bool {
    REFUSING.contains(&name) || REGULAR_FUNCTIONS.contains(&name)
}

/// Shows a text of hexadecimal digits.
fn shown(answer: &str) -> String {
    let Some(digits) = answer.strip_prefix('=') else { return answer.to_owned() };
    let bytes: Vec<u8> = (0..digits.len() / 2)
        .map(|index| u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).unwrap())
        .collect();
    format!("'{}'", String::from_utf8_lossy(&bytes))
}

#[test]
fn kernels_answer_as_postgresql_does() {
    let Some(server) = TestServer::start() else {
        return;
    };
    let mut settings = ValueSettings::default();
    settings.datetime.time_zone = TimeZoneRules::find(ZONE).unwrap();
    // Times without a zone have that of the day.
    settings.datetime.now = Some(SqlTimestamp::UNIX_EPOCH);
    let (mut expressions, mut ours, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for oid in all_kernels() {
        let entry = find_function(oid).unwrap();
        let is_clock = entry.name == "age" && entry.arguments.len() == 1;
        // A text of `regclass` needs a database, too.
        let is_of_database = is_system_function(entry.name) || entry.name == "regclass";
        if CLOCK_FUNCTIONS.contains(&entry.name) || is_clock || is_of_database {
            continue;
        }
        for types in type_lists(entry) {
            for call in calls(entry, &types) {
                // Polymorphic results are arrays of the type of an argument.
                let is_array = |oid: &&TypeOid| find_type(**oid).is_some_and(|one| one.is_array());
                let is_pseudo = SqlType::new(entry.result).is_pseudo();
                let result = types.iter().find(is_array).filter(|_| is_pseudo);
                let result_type = SqlType::new(*result.unwrap_or(&entry.result));
                let Some(answer) = answer(entry, &call, result_type, &settings) else { continue };
                let arguments: Vec<String> = call.iter().map(Argument::sql).collect();
                expressions.push(format!(
                    "pg_catalog.\"{}\"({})",
                    entry.name,
                    arguments.join(", ")
                ));
                ours.push(answer);
                names.push(entry.name);
            }
        }
    }
    let theirs = server.values_of(ZONE, &expressions);
    assert_eq!(theirs.len(), expressions.len());
    let mut by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (index, expression) in expressions.iter().enumerate() {
        let (own, other) = (&ours[index], &theirs[index]);
        if own != other && !is_undefined(names[index], expression) {
            let line = format!("{expression}: {}, PostgreSQL {}", shown(own), shown(other));
            by_name.entry(names[index]).or_default().push(line);
        }
    }
    let mut report = String::new();
    for (name, lines) in &by_name {
        let _ = writeln!(report, "{name}: {} differ", lines.len());
        for line in lines.iter().take(4) {
            let _ = writeln!(report, "    {line}");
        }
    }
    let count = all_kernels().len();
    println!("{} calls of {count} functions", expressions.len());
    assert!(by_name.is_empty(), "of {} calls of {count} functions:\n{report}", expressions.len());
}
