//! How many levels of operators a plan has at least, before it is optimized.

use nacre_plan::algebra::{JoinVariant, QueryPlan, RelationalOperator};

use super::LEVELS_MAX;
use super::error::{LoweringError, LoweringResult};

/// Refuses a query whose plan has more levels than [`super::lower_query`] takes, however it is
/// optimized: those who optimize it first would do so in vain.
///
/// # Errors
/// [`LoweringError::TooManyLevels`], as there.
pub fn require_levels(query: &QueryPlan) -> LoweringResult<()> {
    let terms = query.common.iter().filter_map(|common| common.form.term()).map(|term| &term.root);
    let roots = query.common.iter().map(|common| &common.root).chain(terms).chain([&query.root]);
    match roots.map(levels_kept).max() {
        Some(levels) if levels > LEVELS_MAX => Err(too_many_levels()),
        _ => Ok(()),
    }
}

pub(super) fn too_many_levels() -> LoweringError {
    LoweringError::TooManyLevels { levels_max: LEVELS_MAX }
}

/// Counts groups above each other: each has a level of its own in any plan with rows. Inner joins
/// may be balanced, sides of outer ones left out, and other operators merged.
fn levels_kept(operator: &RelationalOperator) -> usize {
    let own = usize::from(matches!(
        operator,
        RelationalOperator::Aggregate { .. } | RelationalOperator::GroupingSets { .. }
    ));
    let below = match operator {
        RelationalOperator::Join { variant, left, right, .. } => match variant {
            JoinVariant::Inner | JoinVariant::Full => levels_kept(left).max(levels_kept(right)),
            JoinVariant::Right => levels_kept(right),
            JoinVariant::Left
            | JoinVariant::Semi
            | JoinVariant::Anti
            | JoinVariant::Single
            | JoinVariant::Mark(_) => levels_kept(left),
        },
        other => other.inputs().map(levels_kept).max().unwrap_or(0),
    };
    own + below
}

#[cfg(test)]
mod tests {
    use nacre_plan::algebra::QueryColumns;

    use super::*;

    /// Returns a query of groups above each other; every other level is the side of a join that
    /// may be left out if `is_outer`.
    fn groups(levels: usize, is_outer: bool) -> QueryPlan {
        let mut root = RelationalOperator::SingleRow;
        for level in 0..levels {
            let variant = if is_outer { JoinVariant::Left } else { JoinVariant::Inner };
            let (keys, aggregates) = (Vec::new(), Vec::new());
            let input = Box::new(root);
            root = RelationalOperator::Aggregate { input, keys, aggregates, is_scalar: true };
            if level % 2 == 0 {
                let (left, right) = (Box::new(RelationalOperator::SingleRow), Box::new(root));
                root = RelationalOperator::Join { variant, left, right, condition: None };
            }
        }
        let (columns, common) = (QueryColumns::default(), Vec::new());
        QueryPlan { columns, common, root, outputs: Vec::new(), parameters: Vec::new() }
    }

    #[test]
    fn groups_of_more_levels_than_a_plan_has_are_refused() {
        assert_eq!(require_levels(&groups(LEVELS_MAX, false)), Ok(()));
        assert_eq!(require_levels(&groups(LEVELS_MAX + 1, false)), Err(too_many_levels()));
        assert_eq!(require_levels(&groups(LEVELS_MAX + 1, true)), Ok(()));
    }
}
