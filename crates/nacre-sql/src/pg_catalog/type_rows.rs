//! The rows of `pg_type`, and of `pg_proc` those that `pg_type` refers to.

use super::cells::{Cell, Row};
use super::roles::OWNER;
use crate::pg_types::{PG_TYPES, PgType};

/// What `pg_type` says of a type beyond [`PgType`]: category, alignment, storage, number of the
/// element, and the functions that read and write it as text and in binary.
struct Facts {
    name: &'static str,
    category: &'static str,
    align: &'static str,
    storage: &'static str,
    is_preferred: bool,
    element: u32,
    functions: [(u32, &'static str); 4],
}

const fn facts(
    (name, is_preferred): (&'static str, bool),
    (category, align, storage): (&'static str, &'static str, &'static str),
    element: u32,
    functions: [(u32, &'static str); 4],
) -> Facts {
    Facts { name, category, align, storage, is_preferred, element, functions }
}

const FACTS: [Facts; 31] = [
    facts(
        ("bool", true),
        ("B", "c", "p"),
        0,
        [(1242, "boolin"), (1243, "boolout"), (2436, "boolrecv"), (2437, "boolsend")],
    ),
    facts(
        ("bytea", false),
        ("U", "i", "x"),
        0,
        [(1244, "byteain"), (31, "byteaout"), (2412, "bytearecv"), (2413, "byteasend")],
    ),
    facts(
        ("char", false),
        ("Z", "c", "p"),
        0,
        [(1245, "charin"), (33, "charout"), (2434, "charrecv"), (2435, "charsend")],
    ),
    facts(
        ("name", false),
        ("S", "c", "p"),
        18,
        [(34, "namein"), (35, "nameout"), (2422, "namerecv"), (2423, "namesend")],
    ),
    facts(
        ("int8", false),
        ("N", "d", "p"),
        0,
        [(460, "int8in"), (461, "int8out"), (2408, "int8recv"), (2409, "int8send")],
    ),
    facts(
        ("int2", false),
        ("N", "s", "p"),
        0,
        [(38, "int2in"), (39, "int2out"), (2404, "int2recv"), (2405, "int2send")],
    ),
    facts(
        ("int2vector", false),
        ("A", "i", "p"),
        21,
        [
            (40, "int2vectorin"),
            (41, "int2vectorout"),
            (2410, "int2vectorrecv"),
            (2411, "int2vectorsend"),
        ],
    ),
    facts(
        ("int4", false),
        ("N", "i", "p"),
        0,
        [(42, "int4in"), (43, "int4out"), (2406, "int4recv"), (2407, "int4send")],
    ),
    facts(
        ("regproc", false),
        ("N", "i", "p"),
        0,
        [(44, "regprocin"), (45, "regprocout"), (2444, "regprocrecv"), (2445, "regprocsend")],
    ),
    facts(
        ("text", true),
        ("S", "i", "x"),
        0,
        [(46, "textin"), (47, "textout"), (2414, "textrecv"), (2415, "textsend")],
    ),
    facts(
        ("oid", true),
        ("N", "i", "p"),
        0,
        [(1798, "oidin"), (1799, "oidout"), (2418, "oidrecv"), (2419, "oidsend")],
    ),
    facts(
        ("xid", false),
        ("U", "i", "p"),
        0,
        [(50, "xidin"), (51, "xidout"), (2440, "xidrecv"), (2441, "xidsend")],
    ),
    facts(
        ("oidvector", false),
        ("A", "i", "p"),
        26,
        [
            (54, "oidvectorin"),
            (55, "oidvectorout"),
            (2420, "oidvectorrecv"),
            (2421, "oidvectorsend"),
        ],
    ),
    facts(
        ("json", false),
        ("U", "i", "x"),
        0,
        [(321, "json_in"), (322, "json_out"), (323, "json_recv"), (324, "json_send")],
    ),
    facts(
        ("pg_node_tree", false),
        ("Z", "i", "x"),
        0,
        [
            (195, "pg_node_tree_in"),
            (196, "pg_node_tree_out"),
            (197, "pg_node_tree_recv"),
            (198, "pg_node_tree_send"),
        ],
    ),
    facts(
        ("float4", false),
        ("N", "i", "p"),
        0,
        [(200, "float4in"), (201, "float4out"), (2424, "float4recv"), (2425, "float4send")],
    ),
    facts(
        ("float8", true),
        ("N", "d", "p"),
        0,
        [(214, "float8in"), (215, "float8out"), (2426, "float8recv"), (2427, "float8send")],
    ),
    facts(
        ("unknown", false),
        ("X", "c", "p"),
        0,
        [(109, "unknownin"), (110, "unknownout"), (2416, "unknownrecv"), (2417, "unknownsend")],
    ),
    facts(
        ("aclitem", false),
        ("U", "i", "p"),
        0,
        [(1031, "aclitemin"), (1032, "aclitemout"), (0, "-"), (0, "-")],
    ),
    facts(
        ("bpchar", false),
        ("S", "i", "x"),
        0,
        [(1044, "bpcharin"), (1045, "bpcharout"), (2430, "bpcharrecv"), (2431, "bpcharsend")],
    ),
    facts(
        ("varchar", false),
        ("S", "i", "x"),
        0,
        [(1046, "varcharin"), (1047, "varcharout"), (2432, "varcharrecv"), (2433, "varcharsend")],
    ),
    facts(
        ("date", false),
        ("D", "i", "p"),
        0,
        [(1084, "date_in"), (1085, "date_out"), (2468, "date_recv"), (2469, "date_send")],
    ),
    facts(
        ("time", false),
        ("D", "d", "p"),
        0,
        [(1143, "time_in"), (1144, "time_out"), (2470, "time_recv"), (2471, "time_send")],
    ),
    facts(
        ("timestamp", false),
        ("D", "d", "p"),
        0,
        [
            (1312, "timestamp_in"),
            (1313, "timestamp_out"),
            (2474, "timestamp_recv"),
            (2475, "timestamp_send"),
        ],
    ),
    facts(
        ("timestamptz", true),
        ("D", "d", "p"),
        0,
        [
            (1150, "timestamptz_in"),
            (1151, "timestamptz_out"),
            (2476, "timestamptz_recv"),
            (2477, "timestamptz_send"),
        ],
    ),
    facts(
        ("interval", true),
        ("T", "d", "p"),
        0,
        [
            (1160, "interval_in"),
            (1161, "interval_out"),
            (2478, "interval_recv"),
            (2479, "interval_send"),
        ],
    ),
    facts(
        ("numeric", false),
        ("N", "i", "m"),
        0,
        [
            (1701, "numeric_in"),
            (1702, "numeric_out"),
            (2460, "numeric_recv"),
            (2461, "numeric_send"),
        ],
    ),
    facts(
        ("regclass", false),
        ("N", "i", "p"),
        0,
        [
            (2218, "regclassin"),
            (2219, "regclassout"),
            (2452, "regclassrecv"),
            (2453, "regclasssend"),
        ],
    ),
    facts(
        ("regtype", false),
        ("N", "i", "p"),
        0,
        [(2220, "regtypein"), (2221, "regtypeout"), (2454, "regtyperecv"), (2455, "regtypesend")],
    ),
    facts(
        ("record", false),
        ("P", "d", "x"),
        0,
        [(2290, "record_in"), (2291, "record_out"), (2402, "record_recv"), (2403, "record_send")],
    ),
    facts(
        ("uuid", false),
        ("U", "c", "p"),
        0,
        [(2952, "uuid_in"), (2953, "uuid_out"), (2961, "uuid_recv"), (2962, "uuid_send")],
    ),
];

/// Those that read and write arrays.
const ARRAY_FUNCTIONS: [(u32, &str); 4] =
    [(750, "array_in"), (751, "array_out"), (2400, "array_recv"), (2401, "array_send")];

/// Returns the rows of `pg_type`.
pub(super) fn types() -> Vec<Row> {
    let mut rows = Vec::new();
    for pg_type in PG_TYPES {
        let Some(facts) = FACTS.iter().find(|facts| facts.name == pg_type.name) else { continue };
        rows.push(scalar(pg_type, facts));
        if pg_type.array_oid != 0 {
            rows.push(array(pg_type, facts));
        }
    }
    rows
}

fn scalar(pg_type: PgType, facts: &Facts) -> Row {
    let is_pseudo = matches!(pg_type.name, "unknown" | "record");
    let is_by_value = matches!(pg_type.size, 1 | 2 | 4 | 8);
    let mut row = common(facts.align, facts.functions);
    row.extend([
        ("oid", pg_type.oid.into()),
        ("typname", pg_type.name.into()),
        ("typlen", Cell::from(i32::from(pg_type.size))),
        ("typbyval", is_by_value.into()),
        ("typtype", if is_pseudo { "p" } else { "b" }.into()),
        ("typcategory", facts.category.into()),
        ("typispreferred", facts.is_preferred.into()),
        ("typelem", facts.element.into()),
        ("typarray", pg_type.array_oid.into()),
        ("typstorage", facts.storage.into()),
        ("typcollation", collation(pg_type).into()),
    ]);
    row
}

fn array(pg_type: PgType, facts: &Facts) -> Row {
    let align = if facts.align == "d" { "d" } else { "i" };
    let mut row = common(align, ARRAY_FUNCTIONS);
    row.extend([
        ("oid", pg_type.array_oid.into()),
        ("typname", format!("_{}", pg_type.name).into()),
        ("typlen", (-1).into()),
        ("typtype", if pg_type.name == "record" { "p" } else { "b" }.into()),
        ("typcategory", if pg_type.name == "record" { "P" } else { "A" }.into()),
        ("typelem", pg_type.oid.into()),
        ("typstorage", "x".into()),
        ("typcollation", collation(pg_type).into()),
    ]);
    row
}

fn common(align: &str, functions: [(u32, &str); 4]) -> Row {
    let [input, output, receive, send] = functions.map(|(oid, _)| Cell::from(oid));
    vec![
        ("typnamespace", super::fixed::PG_CATALOG.into()),
        ("typowner", OWNER.0.into()),
        ("typisdefined", true.into()),
        ("typdelim", ",".into()),
        ("typinput", input),
        ("typoutput", output),
        ("typreceive", receive),
        ("typsend", send),
        ("typalign", align.into()),
        ("typtypmod", (-1).into()),
    ]
}

/// Returns the number of the collation that values of a type have; 0 if they have none.
pub(super) fn collation(pg_type: PgType) -> u32 {
    match pg_type.name {
        "text" | "varchar" | "bpchar" | "pg_node_tree" => 100,
        "name" => 950,
        _ => 0,
    }
}

/// Returns number and name of the functions of types, in the order of the numbers.
pub(super) fn functions() -> Vec<(u32, &'static str)> {
    let all = FACTS.iter().flat_map(|facts| facts.functions);
    let mut all: Vec<_> = all.chain(ARRAY_FUNCTIONS).filter(|(oid, _)| *oid != 0).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the rows of `pg_proc`.
pub(super) fn procedures() -> Vec<Row> {
    let row = |(oid, name): (u32, &'static str)| {
        vec![
            ("oid", oid.into()),
            ("proname", name.into()),
            ("pronamespace", super::fixed::PG_CATALOG.into()),
            ("proowner", OWNER.0.into()),
            ("prolang", 12.into()),
            ("procost", Cell::Float(1.0)),
            ("prokind", "f".into()),
            ("proisstrict", true.into()),
            ("provolatile", "i".into()),
            ("proparallel", "s".into()),
            ("pronargs", 1.into()),
            ("proargtypes", Cell::List(vec![2275.into()])),
            ("prosrc", name.into()),
        ]
    };
    functions().into_iter().map(row).collect()
}

/// Returns the letter of a type's alignment.
pub(super) fn align(pg_type: PgType) -> &'static str {
    FACTS.iter().find(|facts| facts.name == pg_type.name).map_or("i", |facts| facts.align)
}

/// Returns the letter of how values of a type, or arrays of them, are stored.
pub(super) fn storage(pg_type: PgType, is_array: bool) -> &'static str {
    match FACTS.iter().find(|facts| facts.name == pg_type.name) {
        Some(facts) if !is_array => facts.storage,
        _ => "x",
    }
}
