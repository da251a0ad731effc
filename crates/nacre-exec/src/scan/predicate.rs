//! Predicates that a scan evaluates by itself, on one column each.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use nacre_column::{CompareOp, Constant, Restriction};

use crate::vector::{INLINE_BYTES_MAX, StringView};

/// Decides on a string that is not null.
type StringTest = dyn Fn(&[u8]) -> bool + Send + Sync;

/// A predicate on the strings of a column that holds for no null, and that cannot fail: LIKE, or
/// any deterministic expression over the column.
#[derive(Clone)]
pub struct StringPredicate {
    /// For EXPLAIN.
    text: String,
    holds: Arc<StringTest>,
    equal: Option<Arc<ShortStrings>>,
}

/// Strings that values are equal to, or to none of them: each fits into a view.
#[derive(Debug)]
pub(crate) struct ShortStrings {
    /// As [`StringView::word`].
    pub(crate) words: Vec<u128>,
    pub(crate) is_negated: bool,
}

impl StringPredicate {
    /// Makes the predicate `holds`, which must not use the store.
    pub fn new(
        text: impl Into<String>,
        holds: impl Fn(&[u8]) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { text: text.into(), holds: Arc::new(holds), equal: None }
    }

    /// Makes the predicate that a string is one of `values`, or is none of them.
    pub(crate) fn one_of(values: Vec<Vec<u8>>, is_negated: bool) -> Self {
        let is_short = values.iter().all(|value| value.len() <= INLINE_BYTES_MAX);
        let word = |value: &Vec<u8>| StringView::new(value, &mut Vec::new()).word();
        let words = || values.iter().map(word).collect();
        let equal = is_short.then(|| Arc::new(ShortStrings { words: words(), is_negated }));
        let text = match (&values[..], is_negated) {
            ([_], false) => "= ?".to_owned(),
            ([_], true) => "<> ?".to_owned(),
            (_, false) => format!("in ({} values)", values.len()),
            (_, true) => format!("not in ({} values)", values.len()),
        };
        let holds = move |own: &[u8]| values.iter().any(|value| own == value) != is_negated;
        Self { equal, ..Self::new(text, holds) }
    }

    /// Returns the strings that values are compared with, if these are all short.
    pub(crate) fn short_strings(&self) -> Option<&ShortStrings> {
        self.equal.as_deref()
    }

    /// Returns the test.
    pub(crate) fn test(&self) -> &StringTest {
        self.holds.as_ref()
    }
}

/// Two are equal if one is a copy of the other.
impl PartialEq for StringPredicate {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.holds, &other.holds)
    }
}

impl Eq for StringPredicate {}

impl Hash for StringPredicate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.holds).hash(state);
    }
}

impl fmt::Debug for StringPredicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A condition that a scan can decide on encoded values.
#[derive(Clone, Debug)]
pub enum ScanPredicate {
    Restriction(Restriction),
    Strings(StringPredicate),
}

/// A condition and its column, by index in the table.
#[derive(Clone, Debug)]
pub struct ColumnPredicate {
    pub column: usize,
    pub predicate: ScanPredicate,
    /// Whether somebody above the scan checks it again, so that it may rest.
    pub is_hint: bool,
}

impl ColumnPredicate {
    /// Makes a condition that the scan alone decides.
    pub fn restriction(column: usize, restriction: Restriction) -> Self {
        Self { column, predicate: ScanPredicate::Restriction(restriction), is_hint: false }
    }

    /// Makes a condition on strings.
    pub fn strings(column: usize, predicate: StringPredicate) -> Self {
        Self { column, predicate: ScanPredicate::Strings(predicate), is_hint: false }
    }
}

/// Folds all ranges of whole numbers on one column into one, so that each column is compared once.
///
/// ```text
/// discount >= 5, quantity < 2400, discount <= 7
/// discount between 5 and 7, quantity <= 2399
/// ```
pub(super) fn fold_ranges(predicates: &[ColumnPredicate]) -> Vec<ColumnPredicate> {
    let mut folded: Vec<ColumnPredicate> = Vec::new();
    for predicate in predicates {
        let is_same = |other: &&mut ColumnPredicate| {
            other.column == predicate.column && other.is_hint == predicate.is_hint
        };
        let Some(range) = int_range(&predicate.predicate) else {
            folded.push(predicate.clone());
            continue;
        };
        let earlier = folded.iter_mut().filter(is_same).find_map(|other| {
            let range = int_range(&other.predicate)?;
            Some((other, range))
        });
        let (low, high) = range;
        match earlier {
            Some((other, (other_low, other_high))) => {
                other.predicate = range_predicate(low.max(other_low), high.min(other_high));
            }
            None => folded.push(ColumnPredicate {
                predicate: range_predicate(low, high),
                ..predicate.clone()
            }),
        }
    }
    folded
}

fn range_predicate(low: i128, high: i128) -> ScanPredicate {
    let int = Constant::Int;
    ScanPredicate::Restriction(match (low, high) {
        (i128::MIN, high) => Restriction::Compare { op: CompareOp::Le, value: int(high) },
        (low, i128::MAX) => Restriction::Compare { op: CompareOp::Ge, value: int(low) },
        (low, high) => Restriction::Between { low: int(low), high: int(high) },
    })
}

/// Returns the range that a predicate keeps, if it keeps one of whole numbers.
pub(super) fn int_range(predicate: &ScanPredicate) -> Option<(i128, i128)> {
    let ScanPredicate::Restriction(restriction) = predicate else { return None };
    match restriction {
        Restriction::Between { low: Constant::Int(low), high: Constant::Int(high) } => {
            Some((*low, *high))
        }
        Restriction::Compare { op, value: Constant::Int(value) } => match op {
            CompareOp::Eq => Some((*value, *value)),
            CompareOp::Lt => Some((i128::MIN, value.checked_sub(1)?)),
            CompareOp::Le => Some((i128::MIN, *value)),
            CompareOp::Gt => Some((value.checked_add(1)?, i128::MAX)),
            CompareOp::Ge => Some((*value, i128::MAX)),
            CompareOp::Ne => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_on_one_column_become_one() {
        let compare = |column, op, value| {
            let value = Constant::Int(value);
            ColumnPredicate::restriction(column, Restriction::Compare { op, value })
        };
        let folded = fold_ranges(&[
            compare(1, CompareOp::Ge, 5),
            compare(2, CompareOp::Lt, 2_400),
            compare(1, CompareOp::Le, 7),
            compare(1, CompareOp::Ne, 6),
        ]);
        let text: Vec<String> = folded
            .iter()
            .map(|one| format!("{} {:?}", one.column, int_range(&one.predicate)))
            .collect();
        assert_eq!(
            text,
            [
                "1 Some((5, 7))".to_owned(),
                format!("2 Some(({}, 2399))", i128::MIN),
                "1 None".to_owned()
            ]
        );
    }
}
