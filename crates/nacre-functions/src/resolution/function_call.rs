//! Which function a call means.

use nacre_types::catalog::{CastContext, TypeOid, find_type, find_type_named};

use super::best_candidate::{CallCandidate, CandidateChoice, choose_candidate};
use crate::catalog::{FunctionEntry, functions_named};
use crate::coercion::{CoercionPathway, PolymorphismError, find_pathway, resolve_polymorphic};

/// A call as it is written.
#[derive(Clone, Copy, Debug)]
pub struct CallSignature<'a> {
    pub name: &'a str,
    pub arguments: &'a [TypeOid],
    /// Names of the last arguments, as in `f(1, b => 2)`.
    pub argument_names: &'a [&'a str],
    /// Whether the last argument has the word `VARIADIC`.
    pub is_variadic: bool,
}

/// The function that a call means.
#[derive(Clone, Debug, PartialEq)]
pub enum ResolvedFunction {
    Function {
        entry: &'static FunctionEntry,
        /// What the arguments become, in the order of the parameters that they go to.
        parameters: Vec<TypeOid>,
        result: TypeOid,
        /// For each argument in the call, the parameter it goes to.
        positions: Vec<usize>,
        /// Arguments from this one on are elements of the `VARIADIC` array.
        elements_from: Option<usize>,
        /// How many of the last parameters take their defaults.
        default_count: usize,
    },
    /// The name is a type's: `float8(x)` is `x::float8`.
    Cast(TypeOid),
}

/// Why a call means no function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionCallError {
    /// 42883.
    NotFound,
    /// 42725: several fit equally well.
    Ambiguous,
    /// 42804: a polymorphic function of literals alone.
    Undetermined,
    /// 42883: arguments of a polymorphic function that agree on no type.
    Inconsistent,
}

/// A function as a call of so many arguments could mean it.
#[derive(Clone, Debug)]
struct FunctionCandidate {
    entry: &'static FunctionEntry,
    /// As many as arguments, in their order.
    parameters: Vec<TypeOid>,
    positions: Vec<usize>,
    elements_from: Option<usize>,
    default_count: usize,
}

impl CallCandidate for FunctionCandidate {
    fn parameters(&self) -> &[TypeOid] {
        &self.parameters
    }
}

/// Returns the function that a call means.
///
/// ```text
/// round(integer)                round(double precision)
/// substring(text, unknown)      substring(text, text)
/// concat(text, integer, date)   concat(VARIADIC any), elements from argument 0 on
/// int8(text)                    a cast
/// ```
///
/// # Errors
/// No function fits, or none best, or a polymorphic one whose types cannot be told.
pub fn resolve_function(call: CallSignature<'_>) -> Result<ResolvedFunction, FunctionCallError> {
    let candidates = without_duplicates(
        functions_named(call.name).filter_map(|entry| candidate(entry, &call)).collect(),
    );
    let exact = candidates.iter().position(|one| one.parameters == call.arguments);
    if let Some(index) = exact {
        return finish(&candidates[index], call.arguments);
    }
    if let Some(target) = cast_target(&call) {
        return Ok(ResolvedFunction::Cast(target));
    }
    match choose_candidate(call.arguments, candidates) {
        CandidateChoice::One(best) => finish(&best, call.arguments),
        CandidateChoice::None => Err(FunctionCallError::NotFound),
        CandidateChoice::Ambiguous => Err(FunctionCallError::Ambiguous),
    }
}

fn finish(
    chosen: &FunctionCandidate,
    arguments: &[TypeOid],
) -> Result<ResolvedFunction, FunctionCallError> {
    let FunctionCandidate { entry, parameters, positions, elements_from, default_count } = chosen;
    let resolved = resolve_polymorphic(parameters, arguments, entry.result);
    let (parameters, result) = resolved.map_err(|error| match error {
        PolymorphismError::Undetermined => FunctionCallError::Undetermined,
        PolymorphismError::Inconsistent => FunctionCallError::Inconsistent,
    })?;
    Ok(ResolvedFunction::Function {
        entry,
        parameters,
        result,
        positions: positions.clone(),
        elements_from: *elements_from,
        default_count: *default_count,
    })
}

/// Returns the function as the call could mean it; `None` if the numbers do not fit.
fn candidate(entry: &'static FunctionEntry, call: &CallSignature<'_>) -> Option<FunctionCandidate> {
    let count = call.arguments.len();
    let own = entry.arguments.len();
    if !call.argument_names.is_empty() {
        return named_candidate(entry, call);
    }
    if call.is_variadic && entry.variadic_element.is_none() {
        return None;
    }
    let positions: Vec<usize> = (0..count).collect();
    let as_written = |default_count: usize| FunctionCandidate {
        entry,
        parameters: entry.arguments[..count].to_vec(),
        positions: positions.clone(),
        elements_from: None,
        default_count,
    };
    if let Some(element) = entry.variadic_element.filter(|_| !call.is_variadic)
        && count >= own
    {
        let from = own - 1;
        let mut parameters = entry.arguments[..from].to_vec();
        parameters.resize(count, element);
        let elements_from = Some(from);
        return Some(FunctionCandidate {
            entry,
            parameters,
            positions,
            elements_from,
            default_count: 0,
        });
    }
    match own.checked_sub(count)? {
        0 => Some(as_written(0)),
        missing if missing <= entry.default_count => Some(as_written(missing)),
        _ => None,
    }
}

/// Finds the parameters that named arguments go to.
fn named_candidate(
    entry: &'static FunctionEntry,
    call: &CallSignature<'_>,
) -> Option<FunctionCandidate> {
    let own = entry.arguments.len();
    let by_position = call.arguments.len().checked_sub(call.argument_names.len())?;
    if entry.variadic_element.is_some() || call.arguments.len() > own {
        return None;
    }
    let inputs = input_names(entry);
    let mut positions: Vec<usize> = (0..by_position).collect();
    for name in call.argument_names {
        let position = inputs.iter().position(|input| input == name)?;
        if positions.contains(&position) {
            return None;
        }
        positions.push(position);
    }
    let missing = own - call.arguments.len();
    let has_default = |position: usize| position >= own - entry.default_count;
    let is_complete = (0..own).all(|one| positions.contains(&one) || has_default(one));
    is_complete.then(|| FunctionCandidate {
        entry,
        parameters: positions.iter().map(|position| entry.arguments[*position]).collect(),
        positions,
        elements_from: None,
        default_count: missing,
    })
}

/// Returns the names of the parameters that take arguments.
fn input_names(entry: &FunctionEntry) -> Vec<&'static str> {
    let modes: Vec<&str> = entry.modes.split_ascii_whitespace().collect();
    let is_input = |index: usize| matches!(modes.get(index), None | Some(&("i" | "b" | "v")));
    let names = entry.argument_names.iter().enumerate();
    names.filter(|(index, _)| is_input(*index)).map(|(_, name)| *name).collect()
}

/// Of candidates with the same parameters keeps one: rather without `VARIADIC` elements, and with
/// fewer defaults.
fn without_duplicates(candidates: Vec<FunctionCandidate>) -> Vec<FunctionCandidate> {
    let mut kept: Vec<FunctionCandidate> = Vec::new();
    let rank = |one: &FunctionCandidate| (one.elements_from.is_some(), one.default_count);
    for candidate in candidates {
        match kept.iter_mut().find(|one| one.parameters == candidate.parameters) {
            Some(same) if rank(&candidate) < rank(same) => *same = candidate,
            Some(_) => {}
            None => kept.push(candidate),
        }
    }
    kept
}

/// Returns the type if the name is a type's and the call means a cast to it.
fn cast_target(call: &CallSignature<'_>) -> Option<TypeOid> {
    let &[source] = call.arguments else {
        return None;
    };
    if call.is_variadic || !call.argument_names.is_empty() {
        return None;
    }
    let target = find_type_named(call.name)?.oid;
    if source == TypeOid::UNKNOWN {
        return Some(target);
    }
    match find_pathway(target, source, CastContext::Explicit)? {
        CoercionPathway::Same => Some(target),
        CoercionPathway::InputOutput => {
            let is_row_as_text = source == TypeOid::RECORD
                && find_type(target).is_some_and(|entry| entry.category == 'S');
            (!is_row_as_text).then_some(target)
        }
        CoercionPathway::Function | CoercionPathway::Elements => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &[TypeOid]) -> Result<ResolvedFunction, FunctionCallError> {
        resolve_function(CallSignature { name, arguments, argument_names: &[], is_variadic: false })
    }

    fn types(name: &str, arguments: &[TypeOid]) -> Option<(Vec<TypeOid>, TypeOid)> {
        match call(name, arguments) {
            Ok(ResolvedFunction::Function { parameters, result, .. }) => Some((parameters, result)),
            _ => None,
        }
    }

    const INT4: TypeOid = TypeOid::INT4;
    const TEXT: TypeOid = TypeOid::TEXT;
    const UNKNOWN: TypeOid = TypeOid::UNKNOWN;

    #[test]
    fn functions_are_those_that_postgresql_takes() {
        let float8 = TypeOid::FLOAT8;
        assert_eq!(types("round", &[INT4]), Some((vec![float8], float8)));
        assert_eq!(types("substring", &[TEXT, UNKNOWN]), Some((vec![TEXT, TEXT], TEXT)));
        assert_eq!(types("substring", &[TEXT, INT4]), Some((vec![TEXT, INT4], TEXT)));
        assert_eq!(types("length", &[UNKNOWN]), Some((vec![TEXT], INT4)));
        assert_eq!(types("abs", &[UNKNOWN]), Some((vec![float8], float8)));
        assert_eq!(types("sum", &[INT4]), Some((vec![INT4], TypeOid::INT8)));
        assert_eq!(call("round", &[TypeOid::BOOL]), Err(FunctionCallError::NotFound));
        assert_eq!(call("no_such", &[]), Err(FunctionCallError::NotFound));
        assert_eq!(call("to_char", &[UNKNOWN, UNKNOWN]), Err(FunctionCallError::Ambiguous));
    }

    #[test]
    fn names_of_types_are_casts() {
        assert_eq!(call("int8", &[TEXT]), Ok(ResolvedFunction::Cast(TypeOid::INT8)));
        assert_eq!(call("date", &[UNKNOWN]), Ok(ResolvedFunction::Cast(TypeOid::DATE)));
        assert_eq!(types("int8", &[INT4]), Some((vec![INT4], TypeOid::INT8)));
    }

    #[test]
    fn variadic_elements_and_named_arguments_find_their_parameters() {
        let concat = call("concat", &[TEXT, INT4]);
        assert!(matches!(concat, Ok(ResolvedFunction::Function { elements_from: Some(0), .. })));
        let named = resolve_function(CallSignature {
            name: "make_interval",
            arguments: &[INT4, INT4],
            argument_names: &["hours", "days"],
            is_variadic: false,
        });
        let Ok(ResolvedFunction::Function { positions, default_count, .. }) = named else {
            panic!("{named:?}");
        };
        assert_eq!((positions, default_count), (vec![4, 3], 5));
    }

    #[test]
    fn polymorphic_functions_take_the_arguments_types() {
        let (int4s, int8s) = (TypeOid(1007), TypeOid(1016));
        let appended = types("array_append", &[int4s, TypeOid::INT8]);
        assert_eq!(appended, Some((vec![int8s, TypeOid::INT8], int8s)));
        assert_eq!(call("array_length", &[UNKNOWN, INT4]), Err(FunctionCallError::Undetermined));
    }
}
