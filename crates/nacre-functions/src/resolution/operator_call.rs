//! Which operator stands between operands.

use nacre_types::catalog::TypeOid;

use super::best_candidate::{CallCandidate, CandidateChoice, choose_candidate};
use crate::catalog::{OperatorEntry, operators_named};
use crate::coercion::resolve_polymorphic;

/// The operator that an expression means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedOperator {
    pub entry: &'static OperatorEntry,
    /// What the operands become: the left one first.
    pub operands: Vec<TypeOid>,
    pub result: TypeOid,
}

/// Why an expression means no operator; SQLSTATE 42883 and 42725.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorCallError {
    NotFound,
    /// Several fit equally well.
    Ambiguous,
}

/// An operator with its operands in an array; one that stands before its only operand has that
/// twice.
struct OperatorCandidate {
    entry: &'static OperatorEntry,
    operands: [TypeOid; 2],
}

impl OperatorCandidate {
    fn new(entry: &'static OperatorEntry) -> Self {
        Self { entry, operands: [entry.left.unwrap_or(entry.right), entry.right] }
    }

    /// Whether the operands are those of the operator. A literal beside an operand of a known type
    /// is first taken as that type.
    fn is_exact(&self, operands: &[TypeOid]) -> bool {
        match operands {
            [TypeOid::UNKNOWN, known] | [known, TypeOid::UNKNOWN] => {
                self.operands == [*known, *known]
            }
            _ => self.parameters() == operands,
        }
    }
}

impl CallCandidate for OperatorCandidate {
    fn parameters(&self) -> &[TypeOid] {
        if self.entry.left.is_some() { &self.operands } else { &self.operands[1..] }
    }
}

/// Returns the operator of that name for one or two operands.
///
/// ```text
/// + of integer, bigint         int84pl backwards: integer + bigint = bigint
/// = of integer, unknown        integer = integer
/// || of unknown, unknown       text || text
/// ```
///
/// # Errors
/// No operator fits, or none best.
pub fn resolve_operator(
    name: &str,
    operands: &[TypeOid],
) -> Result<ResolvedOperator, OperatorCallError> {
    // Most calls are exact: only others need a list of what the name may mean.
    let candidates = || {
        operators_named(name)
            .filter(|entry| entry.left.is_some() == (operands.len() == 2))
            .map(OperatorCandidate::new)
    };
    let chosen = match candidates().find(|candidate| candidate.is_exact(operands)) {
        Some(exact) => CandidateChoice::One(exact),
        None => choose_candidate(operands, candidates().collect()),
    };
    match chosen {
        CandidateChoice::One(chosen) => {
            let entry = chosen.entry;
            let resolved = resolve_polymorphic(chosen.parameters(), operands, entry.result);
            let (operands, result) = resolved.map_err(|_| OperatorCallError::NotFound)?;
            Ok(ResolvedOperator { entry, operands, result })
        }
        CandidateChoice::None => Err(OperatorCallError::NotFound),
        CandidateChoice::Ambiguous => Err(OperatorCallError::Ambiguous),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(
        name: &str,
        operands: &[TypeOid],
    ) -> Result<(Vec<TypeOid>, TypeOid), OperatorCallError> {
        resolve_operator(name, operands).map(|found| (found.operands, found.result))
    }

    #[test]
    fn operators_are_those_that_postgresql_takes() {
        let (int4, int8, numeric) = (TypeOid::INT4, TypeOid::INT8, TypeOid::NUMERIC);
        let (text, unknown, date) = (TypeOid::TEXT, TypeOid::UNKNOWN, TypeOid::DATE);
        assert_eq!(resolved("+", &[int4, int8]), Ok((vec![int4, int8], int8)));
        assert_eq!(resolved("+", &[int4, numeric]), Ok((vec![numeric, numeric], numeric)));
        assert_eq!(resolved("=", &[int4, unknown]), Ok((vec![int4, int4], TypeOid::BOOL)));
        assert_eq!(resolved("||", &[unknown, unknown]), Ok((vec![text, text], text)));
        assert_eq!(resolved("-", &[date, date]), Ok((vec![date, date], int4)));
        assert_eq!(resolved("=", &[int4, text]), Err(OperatorCallError::NotFound));
        assert_eq!(resolved("+", &[unknown, unknown]), Err(OperatorCallError::Ambiguous));
        assert_eq!(resolved("-", &[int4]), Ok((vec![int4], int4)));
        assert_eq!(resolved("-", &[unknown]), Err(OperatorCallError::Ambiguous));
        assert_eq!(
            resolved("=", &[TypeOid::VARCHAR, unknown]).map(|found| found.0),
            Ok(vec![text, text])
        );
        assert_eq!(resolved("@@@@", &[int4, int4]), Err(OperatorCallError::NotFound));
    }

    #[test]
    fn operators_of_arrays_take_the_elements_type() {
        let (int4s, int8, int8s) = (TypeOid(1007), TypeOid::INT8, TypeOid(1016));
        assert_eq!(resolved("||", &[int4s, int8]), Ok((vec![int8s, int8], int8s)));
        assert_eq!(resolved("=", &[int4s, int4s]), Ok((vec![int4s, int4s], TypeOid::BOOL)));
    }
}
