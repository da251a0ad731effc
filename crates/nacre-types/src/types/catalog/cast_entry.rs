//! Rows of `pg_cast`.

use std::sync::LazyLock;

use super::TypeOid;

/// The rows, ordered by source and target; the first line names the columns.
const TABLE: &str = include_str!("pg_cast.tsv");

/// Where a cast may be applied; the later ones allow what the earlier ones do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CastContext {
    /// Anywhere in an expression.
    Implicit,
    /// Where a value is assigned to a column.
    Assignment,
    /// Only by `CAST` or `::`.
    Explicit,
}

/// How a cast is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CastMethod {
    /// By the function of that name, whose first parameter has the source's type.
    Function(&'static str),
    /// By writing the text of one type and reading it as the other.
    InputOutput,
    /// The bytes are the same.
    Binary,
}

/// A row of `pg_cast`.
#[derive(Clone, Copy, Debug)]
pub struct CastEntry {
    pub source: TypeOid,
    pub target: TypeOid,
    /// The smallest context in which it may be applied.
    pub context: CastContext,
    pub method: CastMethod,
}

impl CastEntry {
    fn parse(line: &'static str) -> Option<Self> {
        let mut fields = line.split('\t');
        let source = TypeOid(fields.next()?.parse().ok()?);
        let target = TypeOid(fields.next()?.parse().ok()?);
        let function = fields.nth(2)?;
        let context = match fields.next()? {
            "i" => CastContext::Implicit,
            "a" => CastContext::Assignment,
            "e" => CastContext::Explicit,
            _ => return None,
        };
        let method = match fields.next()? {
            "f" => CastMethod::Function(function),
            "i" => CastMethod::InputOutput,
            "b" => CastMethod::Binary,
            _ => return None,
        };
        Some(Self { source, target, context, method })
    }
}

static CASTS: LazyLock<Vec<CastEntry>> = LazyLock::new(|| {
    let mut casts: Vec<CastEntry> = TABLE.lines().skip(1).filter_map(CastEntry::parse).collect();
    casts.sort_by_key(|cast| (cast.source, cast.target));
    casts
});

/// Returns all casts, ordered by source and target. A cast from a type to itself applies the
/// type's modifier.
pub fn all_casts() -> &'static [CastEntry] {
    &CASTS
}

/// Returns the row of `pg_cast` for two types.
pub fn find_cast(source: TypeOid, target: TypeOid) -> Option<&'static CastEntry> {
    let casts = all_casts();
    let found = casts.binary_search_by_key(&(source, target), |cast| (cast.source, cast.target));
    found.ok().map(|index| &casts[index])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::catalog::find_type;

    #[test]
    fn every_line_is_a_cast_between_known_types() {
        assert_eq!(all_casts().len(), TABLE.lines().count() - 1);
        for cast in all_casts() {
            assert!(find_type(cast.source).is_some() && find_type(cast.target).is_some());
        }
    }

    #[test]
    fn contexts_are_those_of_postgresql() {
        let context = |source, target| find_cast(source, target).map(|cast| cast.context);
        assert_eq!(context(TypeOid::INT4, TypeOid::INT8), Some(CastContext::Implicit));
        assert_eq!(context(TypeOid::INT8, TypeOid::INT4), Some(CastContext::Assignment));
        assert_eq!(context(TypeOid::BOOL, TypeOid::INT4), Some(CastContext::Explicit));
        assert_eq!(context(TypeOid::INT4, TypeOid::DATE), None);
    }
}
