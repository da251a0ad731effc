//! Names of types: what SQL writes, and what PostgreSQL's `format_type` answers.
//!
//! [`parse_type_name`] reads the whole of a type's text as `'...'::regtype` and the shell take it:
//! synonyms of SQL, names of `pg_type`, modifiers, fields of intervals, arrays. The grammar of
//! statements is not here; it calls [`resolve_type_name`] with the words and modifiers it has read.

mod reader;

use crate::error::ValueError;
use crate::types::catalog::{TypeOid, find_type, find_type_named};
use crate::types::sql_type::SqlType;
use crate::types::type_modifier::{IntervalFields, TypeModifier};

use reader::NameReader;

/// Words of SQL for types whose name in `pg_type` is another one.
const SYNONYMS: [(&str, TypeOid); 32] = [
    ("bigint", TypeOid::INT8),
    ("bit", TypeOid::BIT),
    ("bit varying", TypeOid::VARBIT),
    ("boolean", TypeOid::BOOL),
    ("char", TypeOid::BPCHAR),
    ("char varying", TypeOid::VARCHAR),
    ("character", TypeOid::BPCHAR),
    ("character varying", TypeOid::VARCHAR),
    ("dec", TypeOid::NUMERIC),
    ("decimal", TypeOid::NUMERIC),
    ("double precision", TypeOid::FLOAT8),
    ("float", TypeOid::FLOAT8),
    ("int", TypeOid::INT4),
    ("integer", TypeOid::INT4),
    ("interval", TypeOid::INTERVAL),
    ("national char", TypeOid::BPCHAR),
    ("national char varying", TypeOid::VARCHAR),
    ("national character", TypeOid::BPCHAR),
    ("national character varying", TypeOid::VARCHAR),
    ("nchar", TypeOid::BPCHAR),
    ("nchar varying", TypeOid::VARCHAR),
    ("numeric", TypeOid::NUMERIC),
    ("real", TypeOid::FLOAT4),
    ("smallint", TypeOid::INT2),
    ("time", TypeOid::TIME),
    ("time with time zone", TypeOid::TIMETZ),
    ("time without time zone", TypeOid::TIME),
    ("timestamp", TypeOid::TIMESTAMP),
    ("timestamp with time zone", TypeOid::TIMESTAMPTZ),
    ("timestamp without time zone", TypeOid::TIMESTAMP),
    ("varchar", TypeOid::VARCHAR),
    ("bpchar", TypeOid::BPCHAR),
];

/// Returns the type that words of SQL or a name of `pg_type` name, without a modifier; `words` are
/// in lower case with single blanks.
pub fn find_type_by_words(words: &str) -> Option<TypeOid> {
    match SYNONYMS.iter().find(|(name, _)| *name == words) {
        Some((_, oid)) => Some(*oid),
        None => find_type_named(words).map(|entry| entry.oid),
    }
}

/// Returns the type that words of SQL or a name of `pg_type` name, with modifiers applied.
///
/// `char` and `bit` without a length have length 1, `float(p)` is `real` up to 24 bits.
///
/// # Errors
/// 42704 for an unknown name, 22023 for modifiers that the type refuses, 42601 for modifiers of a
/// type without any.
pub fn resolve_type_name(words: &str, modifiers: &[i32]) -> Result<SqlType, ValueError> {
    if words == "float" {
        return float_type(modifiers);
    }
    let oid = find_type_by_words(words).ok_or_else(|| unknown_type(words))?;
    let is_keyword = SYNONYMS.iter().any(|(name, _)| *name == words && *name != "bpchar");
    let implied: &[i32] = match oid {
        TypeOid::BPCHAR | TypeOid::BIT if is_keyword && modifiers.is_empty() => &[1],
        _ => modifiers,
    };
    Ok(SqlType::new(oid).with_modifier(modifier_of(oid, implied)?))
}

/// Returns the type that an identifier names, with modifiers applied: `"char"` in quotes is a type
/// of one byte, and `"integer"` is none.
///
/// # Errors
/// As [`resolve_type_name`].
pub fn resolve_type_identifier(name: &str, modifiers: &[i32]) -> Result<SqlType, ValueError> {
    let entry = find_type_named(name).ok_or_else(|| unknown_type(name))?;
    Ok(SqlType::new(entry.oid).with_modifier(modifier_of(entry.oid, modifiers)?))
}

fn unknown_type(name: &str) -> ValueError {
    ValueError::undefined_object(format!("type \"{name}\" does not exist"))
}

fn float_type(modifiers: &[i32]) -> Result<SqlType, ValueError> {
    match modifiers {
        [] => Ok(SqlType::DOUBLE),
        [..=0] => {
            let message = "precision for type float must be at least 1 bit";
            Err(ValueError::invalid_parameter(message))
        }
        [..=24] => Ok(SqlType::REAL),
        [..=53] => Ok(SqlType::DOUBLE),
        _ => {
            let message = "precision for type float must be less than 54 bits";
            Err(ValueError::invalid_parameter(message))
        }
    }
}

/// Encodes the integers in parentheses behind a type.
///
/// # Errors
/// 22023 for modifiers that the type refuses, 42601 for a type without modifiers.
pub fn modifier_of(oid: TypeOid, modifiers: &[i32]) -> Result<TypeModifier, ValueError> {
    let entry = find_type(oid);
    let element = entry.filter(|entry| entry.is_array()).and_then(|entry| entry.element);
    if let Some(element) = element {
        return modifier_of(element, modifiers);
    }
    let invalid = || ValueError::invalid_parameter("invalid type modifier");
    match (oid, modifiers) {
        (_, []) => Ok(TypeModifier::NONE),
        (TypeOid::NUMERIC, [precision]) => TypeModifier::of_numeric(*precision, 0),
        (TypeOid::NUMERIC, [precision, scale]) => TypeModifier::of_numeric(*precision, *scale),
        (TypeOid::NUMERIC, _) => {
            Err(ValueError::invalid_parameter("invalid NUMERIC type modifier"))
        }
        (TypeOid::VARCHAR, [length]) => TypeModifier::of_characters("varchar", *length),
        (TypeOid::BPCHAR, [length]) => TypeModifier::of_characters("char", *length),
        (TypeOid::BIT, [length]) => TypeModifier::of_bits("bit", *length),
        (TypeOid::VARBIT, [length]) => TypeModifier::of_bits("varbit", *length),
        (TypeOid::TIME, [digits]) => TypeModifier::of_seconds("TIME", "", *digits),
        (TypeOid::TIMETZ, [digits]) => TypeModifier::of_seconds("TIME", " WITH TIME ZONE", *digits),
        (TypeOid::TIMESTAMP, [digits]) => TypeModifier::of_seconds("TIMESTAMP", "", *digits),
        (TypeOid::TIMESTAMPTZ, [digits]) => {
            TypeModifier::of_seconds("TIMESTAMP", " WITH TIME ZONE", *digits)
        }
        (TypeOid::INTERVAL, [digits]) => {
            TypeModifier::of_interval(IntervalFields::ALL, Some(*digits))
        }
        _ => match entry {
            Some(entry) if entry.modifier_input_function.is_none() => {
                let name = entry.name;
                let message = format!("type modifier is not allowed for type \"{name}\"");
                Err(ValueError::syntax_error(message))
            }
            _ => Err(invalid()),
        },
    }
}

/// Reads a type's text: a name or words, modifiers, fields of an interval, brackets of an array.
///
/// # Errors
/// 42704 for an unknown name, 42601 for text that is malformed, 22023 for refused modifiers.
pub fn parse_type_name(text: &str) -> Result<SqlType, ValueError> {
    NameReader::new(text).read_type()
}

/// Returns the name that PostgreSQL's `format_type` gives a type of the catalog: words of SQL, the
/// modifier in parentheses, brackets of an array.
///
/// A modifier of `None` is a name without the question of a modifier; [`TypeModifier::NONE`] is a
/// type without one, and differs for `char` and `bit`, whose bare words have a length of 1.
pub fn format_type(oid: TypeOid, modifier: Option<TypeModifier>) -> String {
    let Some(entry) = find_type(oid) else {
        return if oid.0 == 0 { "-".to_owned() } else { "???".to_owned() };
    };
    if let Some(element) = entry.element.filter(|_| entry.is_array() && !entry.is_vector()) {
        return format!("{}[]", format_type(element, modifier));
    }
    let given = modifier.filter(|modifier| modifier.0 >= 0);
    match oid {
        TypeOid::BOOL => "boolean".to_owned(),
        TypeOid::INT2 => "smallint".to_owned(),
        TypeOid::INT4 => "integer".to_owned(),
        TypeOid::INT8 => "bigint".to_owned(),
        TypeOid::FLOAT4 => "real".to_owned(),
        TypeOid::FLOAT8 => "double precision".to_owned(),
        TypeOid::BPCHAR if given.is_none() && modifier.is_some() => "bpchar".to_owned(),
        TypeOid::BIT if given.is_none() && modifier.is_some() => "\"bit\"".to_owned(),
        TypeOid::BPCHAR => with_number("character", given.and_then(TypeModifier::characters)),
        TypeOid::VARCHAR => {
            with_number("character varying", given.and_then(TypeModifier::characters))
        }
        TypeOid::BIT => with_number("bit", given.and_then(TypeModifier::bits)),
        TypeOid::VARBIT => with_number("bit varying", given.and_then(TypeModifier::bits)),
        TypeOid::NUMERIC => match given.and_then(TypeModifier::numeric) {
            Some((precision, scale)) => format!("numeric({precision},{scale})"),
            None => "numeric".to_owned(),
        },
        TypeOid::TIME => seconds_name("time", given, "without"),
        TypeOid::TIMETZ => seconds_name("time", given, "with"),
        TypeOid::TIMESTAMP => seconds_name("timestamp", given, "without"),
        TypeOid::TIMESTAMPTZ => seconds_name("timestamp", given, "with"),
        TypeOid::INTERVAL => interval_name(given),
        _ => {
            let name = quoted(entry.name);
            with_number(&name, given.map(|modifier| modifier.0))
        }
    }
}

fn with_number(name: &str, number: Option<impl std::fmt::Display>) -> String {
    match number {
        Some(number) => format!("{name}({number})"),
        None => name.to_owned(),
    }
}

fn seconds_name(name: &str, modifier: Option<TypeModifier>, zone: &str) -> String {
    let name = with_number(name, modifier.and_then(TypeModifier::second_digits));
    format!("{name} {zone} time zone")
}

fn interval_name(modifier: Option<TypeModifier>) -> String {
    let Some(modifier) = modifier else { return "interval".to_owned() };
    let mut name = "interval".to_owned();
    if let Some(words) = modifier.interval_fields().words().filter(|words| !words.is_empty()) {
        name.push(' ');
        name.push_str(words);
    }
    with_number(&name, modifier.interval_digits())
}

/// Quotes a name of the catalog that SQL would read as something else.
fn quoted(name: &str) -> String {
    match name {
        "any" | "char" | "bit" => format!("\"{name}\""),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(text: &str) -> String {
        match parse_type_name(text) {
            Ok(sql_type) => sql_type.to_string(),
            Err(error) => format!("{} {error}", error.sql_state()),
        }
    }

    #[test]
    fn synonyms_name_the_same_type() {
        for (text, name) in [
            ("int", "integer"),
            ("INT4", "integer"),
            ("double precision", "double precision"),
            ("Double   Precision", "double precision"),
            ("float(24)", "real"),
            ("float(25)", "double precision"),
            ("char", "character(1)"),
            ("bpchar", "bpchar"),
            ("\"char\"", "\"char\""),
            ("national character varying(3)", "character varying(3)"),
            ("timestamptz(2)[]", "timestamp(2) with time zone[]"),
            ("timestamp (3) with time zone", "timestamp(3) with time zone"),
            ("time without time zone", "time without time zone"),
            ("interval day to second(3)", "interval day to second(3)"),
            ("interval(2)", "interval(2)"),
            ("numeric( 5 , -2 )", "numeric(5,-2)"),
            ("pg_catalog.int4", "integer"),
            ("_int4", "integer[]"),
            ("int array[4]", "integer[]"),
            ("int[3][]", "integer[]"),
            ("bit", "bit(1)"),
            ("\"bit\"", "\"bit\""),
        ] {
            assert_eq!(name_of(text), name, "{text}");
        }
    }

    #[test]
    fn malformed_names_are_refused() {
        for (text, message) in [
            ("foo", "42704 type \"foo\" does not exist"),
            ("int(4)", "42601 syntax error at or near \"(\""),
            ("text(3)", "42601 type modifier is not allowed for type \"text\""),
            ("varchar(0)", "22023 length for type varchar must be at least 1"),
            ("numeric(1,2,3)", "22023 invalid NUMERIC type modifier"),
            ("float(0)", "22023 precision for type float must be at least 1 bit"),
            ("", "42601 invalid type name \"\""),
            ("int4 x", "42601 syntax error at or near \"x\""),
            ("time(-1)", "42601 syntax error at or near \"-\""),
        ] {
            assert_eq!(name_of(text), message, "{text}");
        }
    }
}
