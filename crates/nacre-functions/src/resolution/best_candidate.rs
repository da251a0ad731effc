//! Narrows candidates down that all fit.

use nacre_types::catalog::{CastContext, TypeOid, find_type};

use crate::coercion::can_coerce_all;

/// The letter of the types of strings in `pg_type.typcategory`.
const STRING_CATEGORY: char = 'S';

/// Something with parameters that a call may mean.
pub(super) trait CallCandidate {
    /// The types of the parameters, as many as there are arguments.
    fn parameters(&self) -> &[TypeOid];
}

/// How many candidates fit a call best.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CandidateChoice<C> {
    None,
    One(C),
    Ambiguous,
}

/// Chooses among candidates none of which has just the arguments' types.
pub(super) fn choose_candidate<C: CallCandidate>(
    arguments: &[TypeOid],
    candidates: Vec<C>,
) -> CandidateChoice<C> {
    let fits =
        |candidate: &C| can_coerce_all(candidate.parameters(), arguments, CastContext::Implicit);
    let fitting: Vec<C> = candidates.into_iter().filter(fits).collect();
    if fitting.is_empty() {
        return CandidateChoice::None;
    }
    match best_candidate(arguments, fitting) {
        Some(best) => CandidateChoice::One(best),
        None => CandidateChoice::Ambiguous,
    }
}

/// Returns the best of candidates that all fit; `None` if there is no single best one.
///
/// Keeps, one after the other, until one is left: those with the most parameters of exactly the
/// arguments' types; with the most that are so or preferred; whose parameters for literals are of
/// the category that all candidates share, or strings, and preferred if one is; and the one that
/// fits if literals have the one type that all other arguments have.
fn best_candidate<C: CallCandidate>(arguments: &[TypeOid], candidates: Vec<C>) -> Option<C> {
    let is_unknown = |index: usize| arguments[index] == TypeOid::UNKNOWN;
    let known = || (0..arguments.len()).filter(|index| !is_unknown(*index));
    let exact = |candidate: &C, index: usize| candidate.parameters()[index] == arguments[index];
    let candidates =
        keep_most(candidates, |one| known().filter(|index| exact(one, *index)).count());
    if candidates.len() == 1 {
        return candidates.into_iter().next();
    }
    let preferred = |candidate: &C, index: usize| {
        let wanted = category_of(arguments[index]);
        let (category, is_preferred) = category_of_preferred(candidate.parameters()[index]);
        category == wanted && is_preferred
    };
    let candidates = keep_most(candidates, |one| {
        known().filter(|index| exact(one, *index) || preferred(one, *index)).count()
    });
    if candidates.len() == 1 {
        return candidates.into_iter().next();
    }
    if known().count() == arguments.len() {
        return None;
    }
    let unknown: Vec<usize> = (0..arguments.len()).filter(|index| is_unknown(*index)).collect();
    let candidates = keep_literal_categories(candidates, &unknown);
    if candidates.len() == 1 {
        return candidates.into_iter().next();
    }
    let mut types = known().map(|index| arguments[index]);
    let only = types.next().filter(|first| types.all(|next| next == *first))?;
    let same = vec![only; arguments.len()];
    let mut fitting = candidates
        .into_iter()
        .filter(|one| can_coerce_all(one.parameters(), &same, CastContext::Implicit));
    let last = fitting.next()?;
    fitting.next().is_none().then_some(last)
}

/// Keeps the candidates with the highest score.
fn keep_most<C>(candidates: Vec<C>, score: impl Fn(&C) -> usize) -> Vec<C> {
    let most = candidates.iter().map(&score).max().unwrap_or(0);
    candidates.into_iter().filter(|candidate| score(candidate) == most).collect()
}

/// The category that a literal takes on.
#[derive(Clone, Copy)]
struct LiteralCategory {
    category: char,
    has_preferred: bool,
}

/// Keeps the candidates whose parameters for literals are of the category that these take on; all
/// if a literal takes on none, or if no candidate is left.
fn keep_literal_categories<C: CallCandidate>(candidates: Vec<C>, unknown: &[usize]) -> Vec<C> {
    let categories: Option<Vec<LiteralCategory>> =
        unknown.iter().map(|index| literal_category(&candidates, *index)).collect();
    let Some(categories) = categories else {
        return candidates;
    };
    let fits = |candidate: &C| {
        unknown.iter().zip(&categories).all(|(index, literal)| {
            let (category, is_preferred) = category_of_preferred(candidate.parameters()[*index]);
            category == literal.category && (is_preferred || !literal.has_preferred)
        })
    };
    if candidates.iter().any(fits) {
        candidates.into_iter().filter(fits).collect()
    } else {
        candidates
    }
}

/// Returns the category that all candidates have for an argument, or strings if one has them.
fn literal_category<C: CallCandidate>(candidates: &[C], index: usize) -> Option<LiteralCategory> {
    let mut found: Option<LiteralCategory> = None;
    let mut is_mixed = false;
    for candidate in candidates {
        let (category, is_preferred) = category_of_preferred(candidate.parameters()[index]);
        match &mut found {
            Some(known) if known.category == category => known.has_preferred |= is_preferred,
            Some(known) if category == STRING_CATEGORY => {
                *known = LiteralCategory { category, has_preferred: is_preferred };
            }
            Some(_) => is_mixed = true,
            None => found = Some(LiteralCategory { category, has_preferred: is_preferred }),
        }
    }
    found.filter(|literal| !is_mixed || literal.category == STRING_CATEGORY)
}

fn category_of(oid: TypeOid) -> char {
    category_of_preferred(oid).0
}

/// Returns a type's category, and whether it is the preferred one of it.
fn category_of_preferred(oid: TypeOid) -> (char, bool) {
    find_type(oid).map_or(('U', false), |entry| (entry.category, entry.is_preferred))
}
