//! The check of finished plans, in the place of the planner's own.
//!
//! The planner derives how an expression is ordered from its parts. Where it knows too little of
//! one - the range of `sqrt`'s argument, the type of what `lower` returns - it takes that for an
//! order that is not known at all, even behind a sort by this very expression, and its check
//! refuses the plan. So this one takes an input as sorted, too, if it is sorted by the same
//! expressions.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_expr_common::sort_expr::LexRequirement;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::sanity_checker::check_finiteness_requirements;
use datafusion::physical_plan::execution_plan::InvariantLevel;
use datafusion::physical_plan::{
    ChildSatisfactionOptions, ExecutionPlan, ExecutionPlanProperties, displayable,
};

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The rule.
#[derive(Debug)]
pub(crate) struct PlanCheck;

impl PlanCheck {
    /// Puts this rule in the place of the planner's.
    pub(crate) fn replace(rule: Rule) -> Rule {
        if rule.name() == PlanCheck.name() { Arc::new(Self) } else { rule }
    }
}

impl PhysicalOptimizerRule for PlanCheck {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.apply(|node| {
            check_finiteness_requirements(node.as_ref(), &config.optimizer)?;
            check_inputs(node)?;
            node.check_invariants(InvariantLevel::Executable)?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(plan)
    }

    fn name(&self) -> &str {
        "SanityCheckPlan"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Checks that the inputs of an operator are ordered and distributed as it has to have them.
fn check_inputs(node: &Arc<dyn ExecutionPlan>) -> Result<()> {
    let distributions = node.input_distribution_requirements();
    let options = ChildSatisfactionOptions::new().with_allow_subset(true);
    let orders = node.required_input_ordering();
    for (place, (child, order)) in node.children().into_iter().zip(orders).enumerate() {
        let refused = |what: &str| {
            let plan = displayable(node.as_ref()).indent(false).to_string();
            internal_err!("input {place} of an operator is not {what} as it needs:\n{plan}")
        };
        let properties = child.equivalence_properties();
        if let Some(order) = order {
            let order = order.into_single();
            if !properties.ordering_satisfy_requirement(order.clone())?
                && !is_sorted_by(properties, order)
            {
                return refused("sorted");
            }
        }
        if !distributions.child_satisfaction(place, child.as_ref(), options)?.is_satisfied() {
            return refused("distributed");
        }
    }
    Ok(())
}

/// Whether rows are sorted by these very expressions, but for those that are the same in all rows.
fn is_sorted_by(properties: &EquivalenceProperties, order: LexRequirement) -> bool {
    let Some(order) = properties.normalize_sort_requirements(order) else { return true };
    properties.oeq_class().iter().any(|known| {
        let Some(known) = properties.normalize_sort_exprs(known.clone()) else { return false };
        order.len() <= known.len()
            && order.iter().zip(known.iter()).all(|(wanted, sorted)| {
                wanted.expr.eq(&sorted.expr)
                    && wanted.options.is_none_or(|options| options == sorted.options)
            })
    })
}

#[cfg(test)]
mod tests {
    use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

    use super::*;

    #[test]
    fn planners_check_is_replaced() {
        let rules = PhysicalOptimizer::new().rules.into_iter().map(PlanCheck::replace);
        let ours = rules.filter(|rule| format!("{rule:?}") == "PlanCheck");
        assert_eq!(ours.count(), 1);
    }
}
