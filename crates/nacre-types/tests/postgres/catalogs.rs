//! The catalog's files, names of types, abbreviations of zones.

use nacre_types::catalog::all_types;
use nacre_types::datetime::TimeZoneRules;
use nacre_types::{TypeModifier, format_type, parse_type_name};

use super::{DifferenceGuard, OracleCase, check, quote, server};

const TYPES: &str = include_str!("../../src/types/catalog/pg_type.tsv");
const CASTS: &str = include_str!("../../src/types/catalog/pg_cast.tsv");
const ABBREVIATIONS: &str = include_str!("../../src/datetime/zone_abbreviations.tsv");

const TYPES_QUERY: &str = "copy (
  select oid, typname, typlen, typbyval, typtype, typcategory, typispreferred, typdelim, typelem,
    typarray, typalign, typstorage, typcollation, typinput::text, typoutput::text,
    typreceive::text, typsend::text, typmodin::text, typmodout::text, typanalyze::text,
    typsubscript::text
  from pg_type t
  where typnamespace = 'pg_catalog'::regnamespace and typtype in ('b', 'p', 'r', 'm')
    and (typelem = 0 or typtype = 'p'
      or exists (select from pg_type e
        where e.oid = t.typelem and e.typtype in ('b', 'p', 'r', 'm')))
    and oid < 10000
  order by oid) to stdout;";

const CASTS_QUERY: &str = "copy (
  select castsource, casttarget, s.typname, t.typname,
    coalesce((select proname from pg_proc where oid = castfunc), '-'), castcontext, castmethod
  from pg_cast join pg_type s on s.oid = castsource join pg_type t on t.oid = casttarget
  order by 1, 2) to stdout;";

/// Names of types, right and wrong ones.
const NAMES: [&str; 101] = [
    "int",
    "INT4",
    "Integer",
    "int8",
    "bigint",
    "smallint",
    "float",
    "float(24)",
    "float(25)",
    "float(0)",
    "float(54)",
    "float4",
    "real",
    "double precision",
    "double",
    "numeric",
    "decimal(3)",
    "dec(3,1)",
    "numeric(0)",
    "numeric(5,1001)",
    "numeric(1,2,3)",
    "numeric(3,-2)",
    "varchar",
    "varchar(3)",
    "varchar(0)",
    "character varying(5)",
    "char",
    "char(3)",
    "character",
    "nchar(4)",
    "national character varying(3)",
    "national char",
    "bpchar",
    "bpchar(4)",
    "\"char\"",
    "\"CHAR\"",
    "text",
    "text(3)",
    "name",
    "name(3)",
    "timestamp",
    "timestamp(3)",
    "timestamp without time zone",
    "timestamp(3) with time zone",
    "timestamptz(2)[]",
    "time",
    "time(2)",
    "time with time zone",
    "timetz",
    "interval",
    "interval(3)",
    "interval year",
    "interval year to month",
    "interval day to second(3)",
    "interval second(2)",
    "interval month to year",
    "bit",
    "bit(3)",
    "bit varying",
    "bit varying(4)",
    "varbit",
    "bit(0)",
    "\"bit\"",
    "int[]",
    "int4[3][]",
    "integer array",
    "int array[4]",
    "_int4",
    "pg_catalog.int4",
    "foo",
    "foo.int4",
    "",
    " ",
    "int4 x",
    "int(4)",
    "any",
    "\"any\"",
    "record",
    "point",
    "int4range",
    "uuid",
    "json",
    "jsonb",
    "json(3)",
    "boolean",
    "bool",
    "oid",
    "regclass",
    "xid8",
    "varchar(1,2)",
    "varchar(a)",
    "Decimal ( 3 , 2 )",
    "time(-1)",
    "char(10485761)",
    "bit(100000000)",
    "inet",
    "money",
    "tsvector",
    "anyarray",
    "unknown",
    "cstring",
];

fn without_head(table: &str) -> Vec<&str> {
    table.lines().skip(1).collect()
}

#[test]
fn catalog_files_are_those_of_the_server() {
    let _guard = DifferenceGuard;
    let Some(server) = server() else { return };
    let types = server.script(TYPES_QUERY);
    assert_eq!(without_head(TYPES), types.lines().collect::<Vec<_>>());
    let casts = server.script(CASTS_QUERY);
    assert_eq!(without_head(CASTS), casts.lines().collect::<Vec<_>>());
}

#[test]
fn type_names_are_formatted_as_there() {
    let _guard = DifferenceGuard;
    let mut cases = Vec::new();
    for entry in all_types() {
        for modifier in [None, Some(-1), Some(6), Some(262_150), Some(983_046)] {
            // Intervals refuse what are no fields of theirs.
            if entry.name.ends_with("interval") && modifier.is_some_and(|modifier| modifier > 0) {
                continue;
            }
            let argument = modifier.map_or("null".to_owned(), |modifier| modifier.to_string());
            let expression = format!("format_type({}, {argument})", entry.oid);
            let ours = format_type(entry.oid, modifier.map(TypeModifier));
            cases.push(OracleCase::new(expression, Ok(Some(ours))));
        }
    }
    check("", &cases);
}

#[test]
fn type_names_are_read_as_there() {
    let _guard = DifferenceGuard;
    // A name that does not exist is null there.
    let ours = |name: &str| match parse_type_name(name) {
        Ok(sql_type) => Ok(Some(format_type(sql_type.oid(), None))),
        Err(error) if error.sql_state() == "42704" => Ok(None),
        Err(error) => Err(error),
    };
    let cases: Vec<OracleCase> = NAMES
        .iter()
        .map(|name| OracleCase::new(format!("to_regtype({})", quote(name)), ours(name)))
        .collect();
    check("", &cases);
}

#[test]
fn abbreviations_have_the_offsets_of_the_server() {
    let _guard = DifferenceGuard;
    let mut cases = Vec::new();
    for line in ABBREVIATIONS.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        if let Ok(seconds) = fields[1].parse::<i32>() {
            let expression = format!(
                "(select extract(epoch from utc_offset)::int || ' ' || is_dst \
                 from pg_timezone_abbrevs \
                 where abbrev = upper('{}'))",
                fields[0]
            );
            let is_dst = if fields[2] == "t" { "true" } else { "false" };
            cases.push(OracleCase::new(expression, Ok(Some(format!("{seconds} {is_dst}")))));
        } else {
            assert!(TimeZoneRules::find(fields[3]).is_some(), "{line}");
        }
    }
    check("", &cases);
}
