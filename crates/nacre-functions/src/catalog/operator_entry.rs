//! Rows of `pg_operator`.

use std::collections::HashMap;
use std::sync::LazyLock;

use nacre_types::catalog::{OidIndex, TypeOid};

/// The rows, ordered by OID; the first line names the columns.
const TABLE: &str = include_str!("pg_operator.tsv");

/// Fields of a row.
const FIELD_COUNT: usize = 9;

/// A row of `pg_operator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorEntry {
    pub oid: u32,
    pub name: &'static str,
    /// `None` for an operator that stands before its only operand.
    pub left: Option<TypeOid>,
    pub right: TypeOid,
    pub result: TypeOid,
    /// OID of the function that computes it.
    pub function: u32,
    /// OID of the operator that gives the same with its operands exchanged.
    pub commutator: Option<u32>,
    /// OID of the operator that gives the opposite truth value.
    pub negator: Option<u32>,
}

impl OperatorEntry {
    fn parse(line: &'static str) -> Option<Self> {
        let fields: Vec<&'static str> = line.split('\t').collect();
        if fields.len() != FIELD_COUNT {
            return None;
        }
        let oid = |index: usize| fields[index].parse::<u32>().ok();
        let optional = |index: usize| oid(index).map(|oid| (oid != 0).then_some(oid));
        Some(Self {
            oid: oid(0)?,
            name: fields[1],
            left: optional(3)?.map(TypeOid),
            right: TypeOid(oid(4)?),
            result: TypeOid(oid(5)?),
            function: oid(6)?,
            commutator: optional(7)?,
            negator: optional(8)?,
        })
    }
}

struct OperatorTable {
    /// Ordered by OID.
    entries: Vec<OperatorEntry>,
    by_oid: OidIndex,
    by_name: HashMap<&'static str, Vec<u32>>,
}

static OPERATORS: LazyLock<OperatorTable> = LazyLock::new(|| {
    let mut entries: Vec<OperatorEntry> =
        TABLE.lines().skip(1).filter_map(OperatorEntry::parse).collect();
    entries.sort_by_key(|entry| entry.oid);
    let mut by_name: HashMap<&'static str, Vec<u32>> = HashMap::new();
    for (index, entry) in (0..).zip(&entries) {
        by_name.entry(entry.name).or_default().push(index);
    }
    let by_oid = OidIndex::new(entries.iter().map(|entry| entry.oid));
    OperatorTable { entries, by_oid, by_name }
});

/// Returns all operators, ordered by OID.
pub fn all_operators() -> &'static [OperatorEntry] {
    &OPERATORS.entries
}

/// Returns the operator with that OID.
pub fn find_operator(oid: u32) -> Option<&'static OperatorEntry> {
    OPERATORS.by_oid.find(oid).and_then(|index| OPERATORS.entries.get(index))
}

/// Returns the operators of that name, ordered by OID. `!=` is another name of `<>`.
pub fn operators_named(name: &str) -> impl Iterator<Item = &'static OperatorEntry> + use<> {
    let name = if name == "!=" { "<>" } else { name };
    let indexes = OPERATORS.by_name.get(name).map_or(&[][..], Vec::as_slice);
    indexes.iter().map(|index| &OPERATORS.entries[*index as usize])
}

#[cfg(test)]
mod tests {
    use nacre_types::catalog::find_type;

    use super::*;

    #[test]
    fn every_line_is_an_operator_of_known_types() {
        assert_eq!(all_operators().len(), TABLE.lines().count() - 1);
        for entry in all_operators() {
            for oid in [Some(entry.right), Some(entry.result), entry.left].into_iter().flatten() {
                assert!(find_type(oid).is_some(), "{} of {}", oid.0, entry.name);
            }
        }
    }

    #[test]
    fn commutators_and_negators_name_each_other() {
        for entry in all_operators() {
            if let Some(negator) = entry.negator.and_then(find_operator) {
                assert_eq!(negator.negator, Some(entry.oid), "{}", entry.name);
            }
            if let Some(commutator) = entry.commutator.and_then(find_operator) {
                assert_eq!(commutator.commutator, Some(entry.oid), "{}", entry.name);
                assert_eq!(
                    (commutator.left, Some(commutator.right)),
                    (Some(entry.right), entry.left)
                );
            }
        }
    }

    #[test]
    fn not_equal_has_two_names() {
        assert_eq!(operators_named("!=").count(), operators_named("<>").count());
        assert!(operators_named("-").any(|entry| entry.left.is_none()));
    }
}
