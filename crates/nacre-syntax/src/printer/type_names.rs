//! Names of types.

use super::SqlPrinter;
use crate::tree::{BuiltinType, IntervalField, IntervalFields, TypeKind, TypeName};

impl SqlPrinter {
    pub(super) fn type_name(&mut self, type_name: &TypeName) {
        self.put_if(type_name.is_setof, "SETOF");
        self.type_kind(&type_name.kind);
        for length in &type_name.dimensions {
            match length {
                Some(length) => self.glue(&format!("[{length}]")),
                None => self.glue("[]"),
            }
        }
    }

    pub(super) fn type_kind(&mut self, kind: &TypeKind) {
        match kind {
            TypeKind::Named { name, modifiers } => {
                self.object(name);
                self.optional_parens(modifiers, Self::expression);
            }
            TypeKind::Builtin { which, modifiers } => {
                let (before, behind) = builtin_words(*which);
                self.put(before);
                self.optional_parens(modifiers, Self::expression);
                self.put_if(!behind.is_empty(), behind);
            }
            TypeKind::Interval(fields) => {
                self.put("interval");
                self.interval_fields(*fields);
            }
        }
    }

    pub(super) fn interval_fields(&mut self, fields: IntervalFields) {
        if let Some((first, last)) = fields.span {
            self.put(field_word(first));
            if last != first {
                self.put("TO");
                self.put(field_word(last));
            }
        }
        if let Some(precision) = fields.precision {
            self.glue(&format!("({precision})"));
        }
    }
}

/// Returns the words before the modifiers of a type, and those behind them.
fn builtin_words(which: BuiltinType) -> (&'static str, &'static str) {
    match which {
        BuiltinType::Smallint => ("smallint", ""),
        BuiltinType::Integer => ("integer", ""),
        BuiltinType::Bigint => ("bigint", ""),
        BuiltinType::Real => ("real", ""),
        BuiltinType::Double => ("double precision", ""),
        BuiltinType::Numeric => ("numeric", ""),
        BuiltinType::Boolean => ("boolean", ""),
        BuiltinType::Bit => ("bit", ""),
        BuiltinType::BitVarying => ("bit varying", ""),
        BuiltinType::Character => ("character", ""),
        BuiltinType::CharacterVarying => ("character varying", ""),
        BuiltinType::Time => ("time", ""),
        BuiltinType::TimeWithZone => ("time", "with time zone"),
        BuiltinType::Timestamp => ("timestamp", ""),
        BuiltinType::TimestampWithZone => ("timestamp", "with time zone"),
    }
}

fn field_word(field: IntervalField) -> &'static str {
    match field {
        IntervalField::Year => "YEAR",
        IntervalField::Month => "MONTH",
        IntervalField::Day => "DAY",
        IntervalField::Hour => "HOUR",
        IntervalField::Minute => "MINUTE",
        IntervalField::Second => "SECOND",
    }
}
