//! A type with its modifier, and the same opened up.
//!
//! [`SqlType`] is two integers, so that it is copied and compared like one. [`TypeKind`] is for
//! `match`: it has the modifier decoded.

use std::fmt;

use crate::error::ValueError;
use crate::types::catalog::{TypeClass, TypeEntry, TypeOid, find_type};
use crate::types::type_modifier::{IntervalFields, TypeModifier};
use crate::types::type_name::format_type;

/// A SQL type: the OID of `pg_type` and the modifier of a column or a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlType {
    oid: TypeOid,
    modifier: TypeModifier,
}

/// A [`SqlType`] for `match`. Lengths and precisions are `None` where the type has none.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Real,
    Double,
    /// `numeric`, or `numeric(precision, scale)`.
    Numeric(Option<(i32, i32)>),
    Text,
    /// `varchar`, or `varchar(n)` in characters.
    Varchar(Option<usize>),
    /// `bpchar`, or `char(n)` in characters.
    Bpchar(Option<usize>),
    Name,
    /// `"char"`: one byte.
    Char,
    /// A literal whose place has not given it a type yet.
    Unknown,
    CString,
    Bytea,
    Uuid,
    Json,
    Jsonb,
    Date,
    /// With the digits of a second's fraction, as in the next three.
    Time(Option<u32>),
    TimeTz(Option<u32>),
    Timestamp(Option<u32>),
    TimestampTz(Option<u32>),
    Interval(IntervalFields, Option<u32>),
    Bit(Option<usize>),
    Varbit(Option<usize>),
    /// `oid`, or a type such as `regclass` whose values are OIDs.
    Oid(TypeOid),
    /// `xid` or `cid`: an unsigned integer of 32 bits.
    TransactionId(TypeOid),
    /// A type such as `aclitem` that only catalogs and functions have: its values are texts.
    CatalogText(TypeOid),
    /// An array of elements that have this array's modifier.
    Array(SqlType),
    /// `record`: a row without a declared type.
    Record,
    /// A type of the catalog without values here, or one that a user defined.
    Other(TypeOid),
}

macro_rules! plain_types {
    ($($name:ident = $oid:ident, $words:literal;)*) => {
        impl SqlType {
            $(
                #[doc = concat!("`", $words, "` without a modifier.")]
                pub const $name: Self = Self::new(TypeOid::$oid);
            )*
        }
    };
}

plain_types! {
    BOOLEAN = BOOL, "boolean";
    SMALLINT = INT2, "smallint";
    INTEGER = INT4, "integer";
    BIGINT = INT8, "bigint";
    REAL = FLOAT4, "real";
    DOUBLE = FLOAT8, "double precision";
    NUMERIC = NUMERIC, "numeric";
    TEXT = TEXT, "text";
    VARCHAR = VARCHAR, "character varying";
    BPCHAR = BPCHAR, "bpchar";
    NAME = NAME, "name";
    CHAR = CHAR, "\"char\"";
    UNKNOWN = UNKNOWN, "unknown";
    CSTRING = CSTRING, "cstring";
    BYTEA = BYTEA, "bytea";
    UUID = UUID, "uuid";
    JSON = JSON, "json";
    JSONB = JSONB, "jsonb";
    DATE = DATE, "date";
    TIME = TIME, "time without time zone";
    TIMETZ = TIMETZ, "time with time zone";
    TIMESTAMP = TIMESTAMP, "timestamp without time zone";
    TIMESTAMPTZ = TIMESTAMPTZ, "timestamp with time zone";
    INTERVAL = INTERVAL, "interval";
    BIT = BIT, "bit";
    VARBIT = VARBIT, "bit varying";
    OID = OID, "oid";
    REGCLASS = REGCLASS, "regclass";
    REGTYPE = REGTYPE, "regtype";
    RECORD = RECORD, "record";
    VOID = VOID, "void";
}

impl SqlType {
    /// Makes the type without a modifier.
    pub const fn new(oid: TypeOid) -> Self {
        Self { oid, modifier: TypeModifier::NONE }
    }

    /// Gives the type another modifier.
    #[must_use]
    pub const fn with_modifier(self, modifier: TypeModifier) -> Self {
        Self { modifier, ..self }
    }

    /// Makes `numeric(precision, scale)`.
    ///
    /// # Errors
    /// As [`TypeModifier::of_numeric`].
    pub fn numeric(precision: i32, scale: i32) -> Result<Self, ValueError> {
        Ok(Self::NUMERIC.with_modifier(TypeModifier::of_numeric(precision, scale)?))
    }

    /// Makes `varchar(length)`.
    ///
    /// # Errors
    /// As [`TypeModifier::of_characters`].
    pub fn varchar(length: i32) -> Result<Self, ValueError> {
        Ok(Self::VARCHAR.with_modifier(TypeModifier::of_characters("varchar", length)?))
    }

    /// Makes `char(length)`.
    ///
    /// # Errors
    /// As [`TypeModifier::of_characters`].
    pub fn character(length: i32) -> Result<Self, ValueError> {
        Ok(Self::BPCHAR.with_modifier(TypeModifier::of_characters("char", length)?))
    }

    pub const fn oid(self) -> TypeOid {
        self.oid
    }

    pub const fn modifier(self) -> TypeModifier {
        self.modifier
    }

    /// Returns the same type without its modifier.
    #[must_use]
    pub const fn without_modifier(self) -> Self {
        Self::new(self.oid)
    }

    /// Returns the name of the type as messages have it: `character` for `character(5)`.
    pub fn plain_name(self) -> String {
        format_type(self.oid, None)
    }

    /// Returns the row of the catalog; `None` for a type that a user defined.
    pub fn entry(self) -> Option<&'static TypeEntry> {
        find_type(self.oid)
    }

    /// Returns the type of the array's elements, with the array's modifier.
    pub fn element(self) -> Option<Self> {
        let entry = self.entry().filter(|entry| entry.is_array())?;
        entry.element.map(|oid| Self { oid, ..self })
    }

    /// Returns whether it is `int2vector` or `oidvector`.
    pub fn is_vector(self) -> bool {
        self.entry().is_some_and(TypeEntry::is_vector)
    }

    /// Returns the type of arrays of this type, with its modifier; `None` without one.
    pub fn array(self) -> Option<Self> {
        self.entry()?.array.map(|oid| Self { oid, ..self })
    }

    /// Returns the letter of `pg_type.typcategory`; `U` for a type that a user defined.
    pub fn category(self) -> char {
        self.entry().map_or('U', |entry| entry.category)
    }

    pub fn is_preferred(self) -> bool {
        self.entry().is_some_and(|entry| entry.is_preferred)
    }

    pub fn is_pseudo(self) -> bool {
        self.entry().is_some_and(|entry| entry.class == TypeClass::Pseudo)
    }

    /// Opens the type up for `match`.
    pub fn kind(self) -> TypeKind {
        let modifier = self.modifier;
        match self.oid {
            TypeOid::BOOL => TypeKind::Boolean,
            TypeOid::INT2 => TypeKind::SmallInt,
            TypeOid::INT4 => TypeKind::Integer,
            TypeOid::INT8 => TypeKind::BigInt,
            TypeOid::FLOAT4 => TypeKind::Real,
            TypeOid::FLOAT8 => TypeKind::Double,
            TypeOid::NUMERIC => TypeKind::Numeric(modifier.numeric()),
            TypeOid::TEXT => TypeKind::Text,
            TypeOid::VARCHAR => TypeKind::Varchar(modifier.characters()),
            TypeOid::BPCHAR => TypeKind::Bpchar(modifier.characters()),
            TypeOid::NAME => TypeKind::Name,
            TypeOid::CHAR => TypeKind::Char,
            TypeOid::UNKNOWN => TypeKind::Unknown,
            TypeOid::CSTRING => TypeKind::CString,
            TypeOid::BYTEA => TypeKind::Bytea,
            TypeOid::UUID => TypeKind::Uuid,
            TypeOid::JSON => TypeKind::Json,
            TypeOid::JSONB => TypeKind::Jsonb,
            TypeOid::DATE => TypeKind::Date,
            TypeOid::TIME => TypeKind::Time(modifier.second_digits()),
            TypeOid::TIMETZ => TypeKind::TimeTz(modifier.second_digits()),
            TypeOid::TIMESTAMP => TypeKind::Timestamp(modifier.second_digits()),
            TypeOid::TIMESTAMPTZ => TypeKind::TimestampTz(modifier.second_digits()),
            TypeOid::INTERVAL => {
                TypeKind::Interval(modifier.interval_fields(), modifier.interval_digits())
            }
            TypeOid::BIT => TypeKind::Bit(modifier.bits()),
            TypeOid::VARBIT => TypeKind::Varbit(modifier.bits()),
            TypeOid::RECORD => TypeKind::Record,
            TypeOid::XID | TypeOid::CID => TypeKind::TransactionId(self.oid),
            oid if is_object_id(oid) => TypeKind::Oid(oid),
            oid if is_catalog_text(oid) => TypeKind::CatalogText(oid),
            oid => match self.element() {
                Some(element) => TypeKind::Array(element),
                None => TypeKind::Other(oid),
            },
        }
    }
}

/// Returns whether only catalogs have the type, whose values are kept as texts here.
fn is_catalog_text(oid: TypeOid) -> bool {
    matches!(
        oid,
        TypeOid::ACLITEM
            | TypeOid::ANYARRAY
            | TypeOid::INET
            | TypeOid::PG_DEPENDENCIES
            | TypeOid::PG_LSN
            | TypeOid::PG_MCV_LIST
            | TypeOid::PG_NDISTINCT
            | TypeOid::PG_NODE_TREE
            | TypeOid::VOID
    )
}

/// Returns whether values of the type are OIDs.
fn is_object_id(oid: TypeOid) -> bool {
    matches!(
        oid,
        TypeOid::OID
            | TypeOid::REGPROC
            | TypeOid::REGPROCEDURE
            | TypeOid::REGOPER
            | TypeOid::REGOPERATOR
            | TypeOid::REGCLASS
            | TypeOid::REGTYPE
            | TypeOid::REGCONFIG
            | TypeOid::REGDICTIONARY
            | TypeOid::REGNAMESPACE
            | TypeOid::REGROLE
            | TypeOid::REGCOLLATION
    )
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_type(self.oid, Some(self.modifier)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_their_modifiers_decoded() {
        assert_eq!(SqlType::numeric(15, 2).unwrap().kind(), TypeKind::Numeric(Some((15, 2))));
        assert_eq!(SqlType::varchar(7).unwrap().kind(), TypeKind::Varchar(Some(7)));
        assert_eq!(SqlType::INTEGER.kind(), TypeKind::Integer);
        assert_eq!(SqlType::REGCLASS.kind(), TypeKind::Oid(TypeOid::REGCLASS));
        assert_eq!(SqlType::new(TypeOid(600)).kind(), TypeKind::Other(TypeOid(600)));
    }

    #[test]
    fn arrays_keep_the_modifier_of_their_elements() {
        let numeric = SqlType::numeric(5, 1).unwrap();
        let array = numeric.array().unwrap();
        assert_eq!(array.kind(), TypeKind::Array(numeric));
        assert_eq!(array.to_string(), "numeric(5,1)[]");
        assert_eq!(array.array(), None);
    }
}
