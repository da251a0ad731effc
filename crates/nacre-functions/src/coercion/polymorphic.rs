//! Parameters whose type is that of their arguments: `anyelement`, `anyarray`, `anycompatible`.
//!
//! Those of the first family have one type; an argument of that type has to be exactly it. Those
//! of the second one take the common type of their arguments. Ranges of either family are there,
//! so that choices are PostgreSQL's; their values are not.

use nacre_types::catalog::{CastContext, TypeOid, find_type};

use super::common_type::common_type;
use super::pathway::{array_element, can_coerce};

/// What a polymorphic type stands for, if its family's type is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PolymorphicKind {
    Element,
    /// An element that is no array.
    NonArray,
    Enum,
    Array,
    Range,
    Multirange,
}

/// Which family of polymorphic types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PolymorphicFamily {
    Any,
    Compatible,
}

/// The types of a family's arguments cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolymorphismError {
    /// All arguments are literals without a type.
    Undetermined,
    /// No type fits all arguments.
    Inconsistent,
}

fn kind_of(oid: TypeOid) -> Option<(PolymorphicFamily, PolymorphicKind)> {
    use PolymorphicFamily::{Any, Compatible};
    Some(match oid.0 {
        2283 => (Any, PolymorphicKind::Element),
        2776 => (Any, PolymorphicKind::NonArray),
        3500 => (Any, PolymorphicKind::Enum),
        2277 => (Any, PolymorphicKind::Array),
        3831 => (Any, PolymorphicKind::Range),
        4537 => (Any, PolymorphicKind::Multirange),
        5077 => (Compatible, PolymorphicKind::Element),
        5079 => (Compatible, PolymorphicKind::NonArray),
        5078 => (Compatible, PolymorphicKind::Array),
        5080 => (Compatible, PolymorphicKind::Range),
        4538 => (Compatible, PolymorphicKind::Multirange),
        _ => return None,
    })
}

/// Whether a parameter of this type takes arguments of several types.
pub fn is_polymorphic(oid: TypeOid) -> bool {
    kind_of(oid).is_some()
}

/// The element type that arguments of both families say; `None` if none says one.
#[derive(Clone, Copy, Debug, Default)]
struct FamilyTypes {
    any: Option<TypeOid>,
    compatible: Option<TypeOid>,
}

/// Whether arguments of types `sources` agree on the types of polymorphic parameters.
pub(super) fn is_consistent(targets: &[TypeOid], sources: &[TypeOid]) -> bool {
    family_types(targets, sources).is_some()
}

/// Returns the element type that an argument says for a parameter; `Err` if it does not fit it.
fn element_said(kind: PolymorphicKind, source: TypeOid) -> Result<Option<TypeOid>, ()> {
    if source == TypeOid::UNKNOWN {
        return Ok(None);
    }
    match kind {
        PolymorphicKind::Element => Ok(Some(source)),
        PolymorphicKind::NonArray if array_element(source).is_none() => Ok(Some(source)),
        PolymorphicKind::Array => array_element(source).map(Some).ok_or(()),
        // No type of the catalog is an enum; ranges have no values here.
        _ => Err(()),
    }
}

fn family_types(targets: &[TypeOid], sources: &[TypeOid]) -> Option<FamilyTypes> {
    let (mut types, mut compatible) = (FamilyTypes::default(), Vec::new());
    for (target, source) in targets.iter().zip(sources) {
        let Some((family, kind)) = kind_of(*target) else {
            continue;
        };
        let Some(said) = element_said(kind, *source).ok()? else {
            continue;
        };
        match family {
            PolymorphicFamily::Any if types.any.is_none_or(|known| known == said) => {
                types.any = Some(said);
            }
            PolymorphicFamily::Any => return None,
            PolymorphicFamily::Compatible => compatible.push(said),
        }
    }
    if !compatible.is_empty() {
        let common = common_type(&compatible).ok()?;
        let fits = |said: &TypeOid| can_coerce(common, *said, CastContext::Implicit);
        if !compatible.iter().all(fits) {
            return None;
        }
        types.compatible = Some(common);
    }
    Some(types)
}

/// Returns the types of parameters and result when the arguments have types `sources`.
///
/// ```text
/// array_append(anycompatiblearray, anycompatible) of integer[], bigint
///     parameters bigint[], bigint; result bigint[]
/// ```
///
/// # Errors
/// [`PolymorphismError::Undetermined`] if only literals without a type are there;
/// [`PolymorphismError::Inconsistent`] if no type fits.
pub fn resolve_polymorphic(
    targets: &[TypeOid],
    sources: &[TypeOid],
    result: TypeOid,
) -> Result<(Vec<TypeOid>, TypeOid), PolymorphismError> {
    let types = family_types(targets, sources).ok_or(PolymorphismError::Inconsistent)?;
    let resolved = |oid: TypeOid| -> Result<TypeOid, PolymorphismError> {
        let Some((family, kind)) = kind_of(oid) else {
            return Ok(oid);
        };
        let element = match family {
            PolymorphicFamily::Any => types.any.ok_or(PolymorphismError::Undetermined)?,
            // Literals alone are texts.
            PolymorphicFamily::Compatible => types.compatible.unwrap_or(TypeOid::TEXT),
        };
        match kind {
            PolymorphicKind::Array => {
                let array = find_type(element).and_then(|entry| entry.array);
                array.ok_or(PolymorphismError::Inconsistent)
            }
            _ => Ok(element),
        }
    };
    let parameters = targets.iter().map(|oid| resolved(*oid)).collect::<Result<_, _>>()?;
    Ok((parameters, resolved(result)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_resolve_to_one_type_or_the_common_one() {
        let (array, element) = (TypeOid(2277), TypeOid(2283));
        let (int4, int8) = (TypeOid::INT4, TypeOid::INT8);
        let (int4s, int8s, unknown) = (TypeOid(1007), TypeOid(1016), TypeOid::UNKNOWN);
        let resolved = resolve_polymorphic(&[array, element], &[int4s, unknown], element);
        assert_eq!(resolved, Ok((vec![int4s, int4], int4)));
        let inconsistent = resolve_polymorphic(&[array, element], &[int4s, int8], element);
        assert_eq!(inconsistent, Err(PolymorphismError::Inconsistent));
        let (array, element) = (TypeOid(5078), TypeOid(5077));
        let resolved = resolve_polymorphic(&[array, element], &[int4s, int8], array);
        assert_eq!(resolved, Ok((vec![int8s, int8], int8s)));
    }

    #[test]
    fn literals_alone_say_no_type() {
        let (element, unknown) = (TypeOid(2283), TypeOid::UNKNOWN);
        let alone = resolve_polymorphic(&[element], &[unknown], element);
        assert_eq!(alone, Err(PolymorphismError::Undetermined));
    }
}
