//! Types as they are written.

use nacre_syntax::{
    BuiltinType, ExpressionKind, ExpressionNode, IntervalField, IntervalFields, LiteralValue,
    TypeKind, TypeName,
};
use nacre_types::{
    IntervalFields as KeptFields, SqlType, TypeModifier, ValueError, resolve_type_identifier,
    resolve_type_name,
};

use super::Binder;
use crate::error::BindError;

impl Binder<'_> {
    pub(super) fn bind_type_name(&mut self, name: &TypeName) -> Result<SqlType, BindError> {
        if name.is_setof {
            return Err(BindError::not_supported("SETOF", name.range));
        }
        let numbers =
            |all: &[ExpressionNode]| all.iter().map(modifier).collect::<Result<Vec<_>, _>>();
        let found = match &name.kind {
            TypeKind::Named { name: object, modifiers } => {
                let own = match &object.parts[..] {
                    [own] => own,
                    [schema, own] if schema.text == "pg_catalog" => own,
                    _ => return Err(BindError::not_supported("types of schemas", name.range)),
                };
                resolve_type_identifier(&own.text, &numbers(modifiers)?)
            }
            TypeKind::Builtin { which, modifiers } => {
                resolve_type_name(builtin_words(*which), &numbers(modifiers)?)
            }
            TypeKind::Interval(fields) => interval_type(*fields),
        };
        with_dimensions(name, found)
    }
}

fn with_dimensions(
    name: &TypeName,
    found: Result<SqlType, ValueError>,
) -> Result<SqlType, BindError> {
    let found = found.map_err(|error| BindError::of_value(&error, name.range))?;
    if name.dimensions.is_empty() {
        return Ok(found);
    }
    found.array().ok_or_else(|| BindError::not_supported("arrays of this type", name.range))
}

fn interval_type(written: IntervalFields) -> Result<SqlType, ValueError> {
    let fields = match written.span {
        None => KeptFields::ALL,
        Some((first, last)) => {
            let (from, to) = (field_word(first), field_word(last));
            let words = if first == last { from.to_owned() } else { format!("{from} to {to}") };
            // The grammar has no other spans than those that have a name.
            KeptFields::from_words(&words)
                .ok_or_else(|| ValueError::invalid_parameter("invalid INTERVAL type modifier"))?
        }
    };
    let modifier = TypeModifier::of_interval(fields, written.precision)?;
    Ok(SqlType::INTERVAL.with_modifier(modifier))
}

fn field_word(field: IntervalField) -> &'static str {
    match field {
        IntervalField::Year => "year",
        IntervalField::Month => "month",
        IntervalField::Day => "day",
        IntervalField::Hour => "hour",
        IntervalField::Minute => "minute",
        IntervalField::Second => "second",
    }
}

fn modifier(node: &ExpressionNode) -> Result<i32, BindError> {
    match &node.kind {
        ExpressionKind::Literal(LiteralValue::Integer(value)) => Ok(*value),
        _ => {
            let message = "type modifiers must be simple constants or identifiers";
            Err(BindError::new("42601", message, node.range))
        }
    }
}

pub(super) fn builtin_words(which: BuiltinType) -> &'static str {
    match which {
        BuiltinType::Smallint => "smallint",
        BuiltinType::Integer => "integer",
        BuiltinType::Bigint => "bigint",
        BuiltinType::Real => "real",
        BuiltinType::Double => "double precision",
        BuiltinType::Numeric => "numeric",
        BuiltinType::Boolean => "boolean",
        BuiltinType::Bit => "bit",
        BuiltinType::BitVarying => "bit varying",
        BuiltinType::Character => "character",
        BuiltinType::CharacterVarying => "character varying",
        BuiltinType::Time => "time without time zone",
        BuiltinType::TimeWithZone => "time with time zone",
        BuiltinType::Timestamp => "timestamp without time zone",
        BuiltinType::TimestampWithZone => "timestamp with time zone",
    }
}
