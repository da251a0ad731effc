//! Rows of `pg_proc`.

use std::collections::HashMap;
use std::sync::LazyLock;

use nacre_types::catalog::{OidIndex, TypeOid};

use super::information_functions::information_functions;

/// The rows, ordered by OID; the first line names the columns.
const TABLE: &str = include_str!("pg_proc.tsv");

/// Fields of a row.
const FIELD_COUNT: usize = 15;

/// What a function is: `pg_proc.prokind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    Function,
    Aggregate(AggregateKind),
    Window,
    Procedure,
}

/// How an aggregate takes its arguments: `pg_aggregate.aggkind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateKind {
    Normal,
    /// With `WITHIN GROUP`; so many arguments are direct.
    OrderedSet {
        direct: usize,
    },
    /// An ordered set whose direct arguments are as many as its ordered ones.
    Hypothetical {
        direct: usize,
    },
}

/// Whether a function gives the same result for the same arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FunctionVolatility {
    /// Always.
    Immutable,
    /// Within a statement.
    Stable,
    /// Not even within a statement.
    Volatile,
}

/// A row of `pg_proc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionEntry {
    pub oid: u32,
    pub name: &'static str,
    pub kind: FunctionKind,
    /// The type of the elements of the last parameter, if that is `VARIADIC`.
    pub variadic_element: Option<TypeOid>,
    /// How many of the last parameters have defaults.
    pub default_count: usize,
    pub returns_set: bool,
    /// Whether the result is null as soon as an argument is.
    pub is_strict: bool,
    pub volatility: FunctionVolatility,
    pub result: TypeOid,
    /// The types of input parameters.
    pub arguments: Vec<TypeOid>,
    /// The types of all parameters, results among them; empty if there are only inputs.
    pub all_arguments: Vec<TypeOid>,
    /// A letter of `pg_proc.proargmodes` for each of `all_arguments`.
    pub modes: &'static str,
    /// The names of all parameters; empty if they have none.
    pub argument_names: Vec<&'static str>,
}

impl FunctionEntry {
    fn parse(line: &'static str) -> Option<Self> {
        let fields: Vec<&'static str> = line.split('\t').collect();
        if fields.len() != FIELD_COUNT {
            return None;
        }
        let types = |index: usize| -> Option<Vec<TypeOid>> {
            let words = fields[index].split_ascii_whitespace();
            words.map(|word| word.parse().ok().map(TypeOid)).collect()
        };
        let variadic: u32 = fields[3].parse().ok()?;
        Some(Self {
            oid: fields[0].parse().ok()?,
            name: fields[1],
            kind: parse_kind(fields[2], fields[13], fields[14])?,
            variadic_element: (variadic != 0).then_some(TypeOid(variadic)),
            default_count: fields[4].parse().ok()?,
            returns_set: fields[5] == "t",
            is_strict: fields[6] == "t",
            volatility: match fields[7] {
                "i" => FunctionVolatility::Immutable,
                "s" => FunctionVolatility::Stable,
                "v" => FunctionVolatility::Volatile,
                _ => return None,
            },
            result: TypeOid(fields[8].parse().ok()?),
            arguments: types(9)?,
            all_arguments: types(10)?,
            modes: fields[11],
            argument_names: fields[12].split_ascii_whitespace().collect(),
        })
    }
}

fn parse_kind(kind: &str, aggregate: &str, direct: &str) -> Option<FunctionKind> {
    Some(match kind {
        "f" => FunctionKind::Function,
        "w" => FunctionKind::Window,
        "p" => FunctionKind::Procedure,
        "a" => {
            let direct = direct.parse().ok()?;
            FunctionKind::Aggregate(match aggregate {
                "n" => AggregateKind::Normal,
                "o" => AggregateKind::OrderedSet { direct },
                "h" => AggregateKind::Hypothetical { direct },
                _ => return None,
            })
        }
        _ => return None,
    })
}

struct FunctionTable {
    /// Ordered by OID.
    entries: Vec<FunctionEntry>,
    by_oid: OidIndex,
    by_name: HashMap<&'static str, Vec<u32>>,
}

static FUNCTIONS: LazyLock<FunctionTable> = LazyLock::new(|| {
    let mut entries: Vec<FunctionEntry> =
        TABLE.lines().skip(1).filter_map(FunctionEntry::parse).collect();
    entries.sort_by_key(|entry| entry.oid);
    let mut by_name: HashMap<&'static str, Vec<u32>> = HashMap::new();
    for (index, entry) in (0..).zip(&entries) {
        by_name.entry(entry.name).or_default().push(index);
    }
    let by_oid = OidIndex::new(entries.iter().map(|entry| entry.oid));
    FunctionTable { entries, by_oid, by_name }
});

/// Returns all functions, ordered by OID.
pub fn all_functions() -> &'static [FunctionEntry] {
    &FUNCTIONS.entries
}

/// Returns the function with that OID.
pub fn find_function(oid: u32) -> Option<&'static FunctionEntry> {
    let found = FUNCTIONS.by_oid.find(oid).and_then(|index| FUNCTIONS.entries.get(index));
    found.or_else(|| information_functions().iter().find(|entry| entry.oid == oid))
}

/// Returns the functions of that name, ordered by OID; those of `information_schema` last.
pub fn functions_named(name: &str) -> impl Iterator<Item = &'static FunctionEntry> {
    let indexes = FUNCTIONS.by_name.get(name).map_or(&[][..], Vec::as_slice);
    let of_schema = information_functions().iter().filter(move |entry| entry.name == name);
    indexes.iter().map(|index| &FUNCTIONS.entries[*index as usize]).chain(of_schema)
}

#[cfg(test)]
mod tests {
    use nacre_types::catalog::find_type;

    use super::*;

    #[test]
    fn every_line_is_a_function_of_known_types() {
        assert_eq!(all_functions().len(), TABLE.lines().count() - 1);
        for entry in all_functions() {
            let types = entry.arguments.iter().chain(&entry.all_arguments).chain([&entry.result]);
            for oid in types {
                assert!(find_type(*oid).is_some(), "{} of {}", oid.0, entry.name);
            }
            assert!(entry.default_count <= entry.arguments.len(), "{}", entry.name);
        }
    }

    #[test]
    fn functions_are_found_by_name_and_oid() {
        let round: Vec<u32> = functions_named("round").map(|entry| entry.oid).collect();
        assert_eq!(round, [1342, 1707, 1708]);
        assert_eq!(find_function(1342).map(|entry| entry.name), Some("round"));
        for entry in all_functions() {
            assert_eq!(find_function(entry.oid), Some(entry));
        }
        assert_eq!((find_function(0), find_function(u32::MAX)), (None, None));
        assert_eq!(functions_named("no such").count(), 0);
    }

    #[test]
    fn aggregates_say_how_they_take_arguments() {
        let kind = |name| functions_named(name).map(|entry| entry.kind).next();
        let aggregate = |kind| Some(FunctionKind::Aggregate(kind));
        assert_eq!(kind("sum"), aggregate(AggregateKind::Normal));
        assert_eq!(kind("percentile_cont"), aggregate(AggregateKind::OrderedSet { direct: 1 }));
        assert_eq!(kind("row_number"), Some(FunctionKind::Window));
    }
}
