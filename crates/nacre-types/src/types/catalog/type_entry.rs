//! Rows of `pg_type`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{OidIndex, TypeOid};

/// The rows, ordered by OID; the first line names the columns.
const TABLE: &str = include_str!("pg_type.tsv");

/// Fields of a row.
const FIELD_COUNT: usize = 21;

/// What a type is made of: `pg_type.typtype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeClass {
    /// A base type; arrays are base types, too.
    Base,
    /// A pseudo-type: of parameters and results of functions only.
    Pseudo,
    /// A range.
    Range,
    /// A set of ranges.
    Multirange,
}

/// A row of `pg_type`.
#[derive(Clone, Copy, Debug)]
pub struct TypeEntry {
    pub oid: TypeOid,
    pub name: &'static str,
    /// Bytes of a value; -1 with a length word, -2 for strings that end in a zero byte.
    pub length: i16,
    pub is_by_value: bool,
    pub class: TypeClass,
    /// The letter of `pg_type.typcategory`.
    pub category: char,
    /// Whether it is the preferred type of its category.
    pub is_preferred: bool,
    /// What separates elements in an array's text.
    pub delimiter: char,
    /// The type of elements of an array, or of a type with subscripts such as `point`.
    pub element: Option<TypeOid>,
    /// The type of arrays of it.
    pub array: Option<TypeOid>,
    /// The letter of `pg_type.typalign`: c, s, i or d.
    pub alignment: char,
    /// The letter of `pg_type.typstorage`: p, e, m or x.
    pub storage: char,
    /// The OID of the default collation; 0 without one.
    pub collation: u32,
    pub input_function: &'static str,
    pub output_function: &'static str,
    pub receive_function: Option<&'static str>,
    pub send_function: Option<&'static str>,
    pub modifier_input_function: Option<&'static str>,
    pub modifier_output_function: Option<&'static str>,
    pub analyze_function: Option<&'static str>,
    pub subscript_function: Option<&'static str>,
}

impl TypeEntry {
    /// Returns whether it is an array, `int2vector` and `oidvector` among them.
    pub fn is_array(&self) -> bool {
        self.element.is_some() && self.subscript_function == Some("array_subscript_handler")
    }

    /// Returns whether it is `int2vector` or `oidvector`: an array with subscripts from 0 that has
    /// a text of its own.
    pub fn is_vector(&self) -> bool {
        self.is_array() && self.storage == 'p'
    }

    fn parse(line: &'static str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        if fields.len() != FIELD_COUNT {
            return None;
        }
        let letter = |index: usize| fields[index].chars().next();
        let oid = |index: usize| fields[index].parse().ok().map(TypeOid);
        let optional_oid = |index: usize| oid(index).map(|oid| (oid.0 != 0).then_some(oid));
        let function = |index: usize| (fields[index] != "-").then_some(fields[index]);
        Some(Self {
            oid: oid(0)?,
            name: fields[1],
            length: fields[2].parse().ok()?,
            is_by_value: fields[3] == "t",
            class: match fields[4] {
                "b" => TypeClass::Base,
                "p" => TypeClass::Pseudo,
                "r" => TypeClass::Range,
                "m" => TypeClass::Multirange,
                _ => return None,
            },
            category: letter(5)?,
            is_preferred: fields[6] == "t",
            delimiter: letter(7)?,
            element: optional_oid(8)?,
            array: optional_oid(9)?,
            alignment: letter(10)?,
            storage: letter(11)?,
            collation: fields[12].parse().ok()?,
            input_function: fields[13],
            output_function: fields[14],
            receive_function: function(15),
            send_function: function(16),
            modifier_input_function: function(17),
            modifier_output_function: function(18),
            analyze_function: function(19),
            subscript_function: function(20),
        })
    }
}

struct TypeTable {
    /// Ordered by OID.
    entries: Vec<TypeEntry>,
    by_oid: OidIndex,
    by_name: HashMap<&'static str, usize>,
}

static TYPES: LazyLock<TypeTable> = LazyLock::new(|| {
    let mut entries: Vec<TypeEntry> = TABLE.lines().skip(1).filter_map(TypeEntry::parse).collect();
    entries.sort_by_key(|entry| entry.oid);
    let by_name = entries.iter().enumerate().map(|(index, entry)| (entry.name, index)).collect();
    let by_oid = OidIndex::new(entries.iter().map(|entry| entry.oid.0));
    TypeTable { entries, by_oid, by_name }
});

/// Returns all types, ordered by OID.
pub fn all_types() -> &'static [TypeEntry] {
    &TYPES.entries
}

/// Returns the type with that OID.
pub fn find_type(oid: TypeOid) -> Option<&'static TypeEntry> {
    TYPES.by_oid.find(oid.0).and_then(|index| TYPES.entries.get(index))
}

/// Returns the type with that name in `pg_type`, such as `int4` or `_int4`.
pub fn find_type_named(name: &str) -> Option<&'static TypeEntry> {
    TYPES.by_name.get(name).map(|index| &all_types()[*index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_type() {
        assert_eq!(all_types().len(), TABLE.lines().count() - 1);
    }

    #[test]
    fn arrays_and_elements_name_each_other() {
        for entry in all_types() {
            if let Some(array) = entry.array {
                let array = find_type(array).expect("array type");
                assert_eq!(array.element, Some(entry.oid), "{}", entry.name);
                assert!(array.is_array(), "{}", array.name);
            }
        }
        assert!(!find_type_named("point").expect("point").is_array());
    }

    #[test]
    fn types_are_found_by_name_and_oid() {
        let entry = find_type_named("int4").expect("int4");
        assert_eq!((entry.oid, entry.length, entry.category), (TypeOid::INT4, 4, 'N'));
        assert_eq!(find_type(TypeOid(1007)).expect("int4[]").name, "_int4");
        assert!(find_type(TypeOid(99_999)).is_none());
        assert!(find_type_named("integer").is_none());
    }
}
