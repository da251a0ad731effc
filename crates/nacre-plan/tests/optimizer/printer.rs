//! Plans as short texts.
//!
//! ```text
//! shape    ((lineitem * orders) * customer)
//! text     (a[a.x < 5] left b on a.k = b.k)
//! ```

use std::collections::HashMap;

use nacre_plan::algebra::{
    ColumnId, JoinVariant, QueryPlan, RelationalOperator, ScalarExpression, ScalarKind, SetVariant,
};

pub(crate) struct PlanPrinter<'p> {
    plan: &'p QueryPlan,
    relations: HashMap<ColumnId, String>,
    with_conditions: bool,
}

/// Returns the relations and joins of a plan.
pub(crate) fn shape(plan: &QueryPlan) -> String {
    PlanPrinter::new(plan, false).operator(&plan.root)
}

/// Returns relations, joins and all conditions of a plan.
pub(crate) fn text(plan: &QueryPlan) -> String {
    PlanPrinter::new(plan, true).operator(&plan.root)
}

/// Returns relations, joins and all conditions of a query that is computed once.
pub(crate) fn common_text(plan: &QueryPlan, index: usize) -> String {
    let root = &plan.common[index].root;
    let mut printer = PlanPrinter::new(plan, true);
    printer.name_columns(root);
    printer.operator(root)
}

/// Returns the number of inner joins without a condition.
pub(crate) fn cross_products(operator: &RelationalOperator) -> usize {
    let own = matches!(
        operator,
        RelationalOperator::Join { variant: JoinVariant::Inner, condition: None, .. }
    );
    usize::from(own) + operator.inputs().map(cross_products).sum::<usize>()
}

impl<'p> PlanPrinter<'p> {
    fn new(plan: &'p QueryPlan, with_conditions: bool) -> Self {
        let mut printer = Self { plan, relations: HashMap::new(), with_conditions };
        printer.name_columns(&plan.root);
        printer
    }

    fn name_columns(&mut self, operator: &RelationalOperator) {
        if let RelationalOperator::Scan { relation, columns } = operator {
            for one in columns {
                self.relations.insert(one.column, relation.name.clone());
            }
        }
        operator.inputs().for_each(|input| self.name_columns(input));
    }

    fn operator(&self, operator: &RelationalOperator) -> String {
        match operator {
            RelationalOperator::SingleRow => "row".to_owned(),
            RelationalOperator::Scan { relation, .. } => relation.name.clone(),
            RelationalOperator::Series { .. } => "series".to_owned(),
            RelationalOperator::CommonScan { query, .. } => format!("common({})", query.index),
            RelationalOperator::Values { rows, .. } => format!("values({})", rows.len()),
            RelationalOperator::SetOperation { variant, inputs, .. } => {
                let word = match variant {
                    SetVariant::UnionAll => " + ",
                    SetVariant::Intersect => " intersect ",
                    SetVariant::IntersectAll => " intersect all ",
                    SetVariant::Except => " except ",
                    SetVariant::ExceptAll => " except all ",
                };
                let inputs = inputs.iter().map(|input| self.operator(&input.operator));
                format!("({})", inputs.collect::<Vec<_>>().join(word))
            }
            RelationalOperator::Filter { input, condition } => {
                let input = self.operator(input);
                if self.with_conditions {
                    format!("{input}[{}]", self.expression(condition))
                } else {
                    input
                }
            }
            RelationalOperator::Join { variant, left, right, condition } => {
                let word = match variant {
                    JoinVariant::Inner => "*",
                    JoinVariant::Left => "left",
                    JoinVariant::Right => "right",
                    JoinVariant::Full => "full",
                    JoinVariant::Semi => "semi",
                    JoinVariant::Anti => "anti",
                    JoinVariant::Single => "single",
                    JoinVariant::Mark(_) => "mark",
                };
                let (left, right) = (self.operator(left), self.operator(right));
                match condition.as_ref().filter(|_| self.with_conditions) {
                    Some(condition) => {
                        format!("({left} {word} {right} on {})", self.expression(condition))
                    }
                    None => format!("({left} {word} {right})"),
                }
            }
            RelationalOperator::Aggregate { input, .. } if self.with_conditions => {
                format!("group({})", self.operator(input))
            }
            RelationalOperator::Window { input, .. } if self.with_conditions => {
                format!("window({})", self.operator(input))
            }
            RelationalOperator::Limit { input, .. } if self.with_conditions => {
                format!("limit({})", self.operator(input))
            }
            RelationalOperator::Compute { input, .. }
            | RelationalOperator::Expand { input, .. }
            | RelationalOperator::Sample { input, .. }
            | RelationalOperator::Aggregate { input, .. }
            | RelationalOperator::Window { input, .. }
            | RelationalOperator::GroupingSets { input, .. }
            | RelationalOperator::Sort { input, .. }
            | RelationalOperator::Limit { input, .. } => self.operator(input),
        }
    }

    fn list(&self, all: &[ScalarExpression], word: &str) -> String {
        all.iter().map(|one| self.expression(one)).collect::<Vec<_>>().join(word)
    }

    fn expression(&self, expression: &ScalarExpression) -> String {
        match &expression.kind {
            ScalarKind::Column(column) => {
                let name = &self.plan.columns.get(*column).unwrap().name;
                match self.relations.get(column) {
                    Some(relation) => format!("{relation}.{name}"),
                    None => name.to_string(),
                }
            }
            ScalarKind::Constant(value) => {
                let text = format!("{:?}", value.0);
                // `Integer(5)`
                match text.split_once('(') {
                    Some((_, inner)) => inner.strip_suffix(')').unwrap_or(inner).to_owned(),
                    None => text,
                }
            }
            ScalarKind::Operator { operator, operands } => match &operands[..] {
                [left, right] => {
                    let (left, right) = (self.expression(left), self.expression(right));
                    format!("{left} {} {right}", operator.name)
                }
                _ => format!("{} {}", operator.name, self.list(operands, ", ")),
            },
            ScalarKind::Quantified { operand, elements, is_all, .. } => {
                let word = if *is_all { "not in" } else { "in" };
                format!("{} {word} ({})", self.expression(operand), self.list(elements, ", "))
            }
            ScalarKind::Cast { operand, .. } | ScalarKind::Proven(operand) => {
                self.expression(operand)
            }
            ScalarKind::And(all) => self.list(all, " and "),
            ScalarKind::Or(all) => format!("({})", self.list(all, " or ")),
            ScalarKind::Not(operand) => format!("not {}", self.expression(operand)),
            ScalarKind::IsNull(operand) => format!("{} is null", self.expression(operand)),
            ScalarKind::IsTruth { operand, value } => {
                format!("{} is {value:?}", self.expression(operand))
            }
            ScalarKind::IsDistinct { operands, .. } => self.list(operands, " is distinct from "),
            ScalarKind::Coalesce(all) => format!("coalesce({})", self.list(all, ", ")),
            ScalarKind::Function { function, arguments } => {
                format!("{}({})", function.name, self.list(arguments, ", "))
            }
            other => format!("{other:?}"),
        }
    }
}
