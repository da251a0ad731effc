//! How a value of one type becomes one of another.

use nacre_types::catalog::{CastContext, CastMethod, TypeOid, find_cast, find_type};

use super::polymorphic::{is_consistent, is_polymorphic};

/// The letter of the types of strings in `pg_type.typcategory`.
pub(crate) const STRING_CATEGORY: char = 'S';

/// How a value becomes one of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoercionPathway {
    /// The value is the same.
    Same,
    /// By the cast function of `pg_cast`.
    Function,
    /// By the text of the value.
    InputOutput,
    /// Element by element.
    Elements,
}

/// Types whose texts are written and read alike in all sessions.
const IMMUTABLE_TEXTS: [TypeOid; 13] = [
    TypeOid::BOOL,
    TypeOid::INT2,
    TypeOid::INT4,
    TypeOid::INT8,
    TypeOid::FLOAT4,
    TypeOid::FLOAT8,
    TypeOid::NUMERIC,
    TypeOid::TEXT,
    TypeOid::VARCHAR,
    TypeOid::BPCHAR,
    TypeOid::BYTEA,
    TypeOid::UUID,
    TypeOid::JSON,
];

/// Whether PostgreSQL casts constants when it plans a query: not if settings have a say, such as
/// the time zone or the order of a date's parts.
pub fn is_immutable_cast(pathway: CoercionPathway, source: TypeOid, target: TypeOid) -> bool {
    let both = [source, target];
    match pathway {
        CoercionPathway::Same => true,
        CoercionPathway::Function => !both.contains(&TypeOid::TIMESTAMPTZ),
        CoercionPathway::InputOutput => both.iter().all(|one| IMMUTABLE_TEXTS.contains(one)),
        CoercionPathway::Elements => false,
    }
}

/// Returns how a value of `source` becomes one of `target` in this context; `None` if it cannot.
///
/// ```text
/// integer to bigint    implicit    Function
/// bigint to integer    implicit    None (Function by assignment)
/// integer to text      assignment  InputOutput
/// integer[] to text[]  assignment  Elements
/// ```
pub fn find_pathway(
    target: TypeOid,
    source: TypeOid,
    context: CastContext,
) -> Option<CoercionPathway> {
    if target == source {
        return Some(CoercionPathway::Same);
    }
    if let Some(cast) = find_cast(source, target) {
        return (cast.context <= context).then_some(match cast.method {
            CastMethod::Function(_) => CoercionPathway::Function,
            CastMethod::InputOutput => CoercionPathway::InputOutput,
            CastMethod::Binary => CoercionPathway::Same,
        });
    }
    // Vectors of system catalogs have a fixed shape, which other arrays do not become.
    let is_vector = target == TypeOid::OIDVECTOR || target == TypeOid::INT2VECTOR;
    if let (Some(target), Some(source)) = (array_element(target), array_element(source))
        && !is_vector
        && find_pathway(target, source, context).is_some()
    {
        return Some(CoercionPathway::Elements);
    }
    let by_text = match context {
        CastContext::Implicit => false,
        CastContext::Assignment => is_string(target),
        CastContext::Explicit => is_string(target) || is_string(source),
    };
    by_text.then_some(CoercionPathway::InputOutput)
}

/// Whether a value of `source` may become one of `target`, which may be a pseudo-type.
pub fn can_coerce(target: TypeOid, source: TypeOid, context: CastContext) -> bool {
    can_coerce_all(&[target], &[source], context)
}

/// Whether arguments of types `sources` may go to parameters of types `targets`, of which there
/// are as many; polymorphic parameters have to agree on a type.
pub fn can_coerce_all(targets: &[TypeOid], sources: &[TypeOid], context: CastContext) -> bool {
    let each = targets.iter().zip(sources);
    let fits = |(target, source): (&TypeOid, &TypeOid)| {
        target == source
            || *target == TypeOid(ANY)
            || is_polymorphic(*target)
            || *source == TypeOid::UNKNOWN
            || find_pathway(*target, *source, context).is_some()
            || (*target == TypeOid(RECORD_ARRAY) && is_composite_array(*source))
    };
    each.clone().all(fits) && is_consistent(targets, sources)
}

/// OID of the pseudo-type `any`.
const ANY: u32 = 2276;

/// OID of the pseudo-type `record[]`.
const RECORD_ARRAY: u32 = 2287;

fn is_composite_array(source: TypeOid) -> bool {
    array_element(source) == Some(TypeOid::RECORD)
}

/// Returns the type of an array's elements; `None` for other types.
pub(crate) fn array_element(oid: TypeOid) -> Option<TypeOid> {
    find_type(oid).filter(|entry| entry.is_array()).and_then(|entry| entry.element)
}

/// Returns the letter of a type's category; pseudo-types and unknown types have P and X.
pub(crate) fn category(oid: TypeOid) -> char {
    find_type(oid).map_or('U', |entry| entry.category)
}

/// Whether a type is the preferred one of this category.
pub(crate) fn is_preferred(category: char, oid: TypeOid) -> bool {
    find_type(oid).is_some_and(|entry| entry.category == category && entry.is_preferred)
}

fn is_string(oid: TypeOid) -> bool {
    category(oid) == STRING_CATEGORY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_allow_more_and_more() {
        use CastContext::{Assignment, Explicit, Implicit};
        let (int4, int8, text) = (TypeOid::INT4, TypeOid::INT8, TypeOid::TEXT);
        assert_eq!(find_pathway(int8, int4, Implicit), Some(CoercionPathway::Function));
        assert_eq!(find_pathway(int4, int8, Implicit), None);
        assert_eq!(find_pathway(int4, int8, Assignment), Some(CoercionPathway::Function));
        assert_eq!(find_pathway(text, int4, Implicit), None);
        assert_eq!(find_pathway(text, int4, Assignment), Some(CoercionPathway::InputOutput));
        assert_eq!(find_pathway(int4, text, Assignment), None);
        assert_eq!(find_pathway(int4, text, Explicit), Some(CoercionPathway::InputOutput));
        assert_eq!(find_pathway(text, TypeOid::VARCHAR, Implicit), Some(CoercionPathway::Same));
    }

    #[test]
    fn arrays_go_where_their_elements_go() {
        use CastContext::{Assignment, Implicit};
        let (int4s, int8s, texts) = (TypeOid(1007), TypeOid(1016), TypeOid(1009));
        assert_eq!(find_pathway(int8s, int4s, Implicit), Some(CoercionPathway::Elements));
        assert_eq!(find_pathway(texts, int4s, Implicit), None);
        assert_eq!(find_pathway(texts, int4s, Assignment), Some(CoercionPathway::Elements));
    }

    #[test]
    fn polymorphic_parameters_agree() {
        use CastContext::Implicit;
        let (any_element, any_array) = (TypeOid(2283), TypeOid(2277));
        let (int4, text, int4s) = (TypeOid::INT4, TypeOid::TEXT, TypeOid(1007));
        assert!(can_coerce_all(&[any_array, any_element], &[int4s, int4], Implicit));
        assert!(can_coerce_all(&[any_array, any_element], &[int4s, TypeOid::UNKNOWN], Implicit));
        assert!(!can_coerce_all(&[any_array, any_element], &[int4s, text], Implicit));
        assert!(!can_coerce_all(&[any_array], &[int4], Implicit));
        assert!(can_coerce(TypeOid(ANY), text, Implicit));
    }
}
