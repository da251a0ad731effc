//! Numerics that are equal and look different, such as `1.5` and `1.50`. A domain has one of them,
//! so that what shows values of the left side has their texts as further keys.

use std::collections::HashSet;

use nacre_functions::coercion::CoercionPathway;
use nacre_syntax::SourceRange;
use nacre_types::SqlType;
use nacre_types::catalog::TypeOid;

use super::new_column;
use crate::algebra::conjuncts::with_computed;
use crate::algebra::{
    CastStep, ColumnId, ComputedColumn, QueryColumns, RelationalOperator, ScalarExpression,
    ScalarKind,
};
use crate::properties::is_comparison;

/// Computes texts of the columns `keys` of a left side that the right one shows, and adds these to
/// the keys.
pub(super) fn with_texts(
    left: RelationalOperator,
    right: &RelationalOperator,
    keys: &mut Vec<ColumnId>,
    columns: &mut QueryColumns,
) -> RelationalOperator {
    let mut shown = HashSet::new();
    collect_shown(right, &mut shown);
    let mut texts = Vec::new();
    for key in keys.iter().filter(|key| shown.contains(key)) {
        let sql_type = columns.get(*key).map(|column| column.sql_type);
        let Some(sql_type) = sql_type.filter(|one| has_lookalikes(*one)) else { continue };
        let range = SourceRange::default();
        let operand = ScalarExpression::new(ScalarKind::Column(*key), sql_type, range);
        let method = CastStep::Type(CoercionPathway::InputOutput);
        let kind = ScalarKind::Cast { operand: Box::new(operand), method };
        let value = ScalarExpression::new(kind, SqlType::TEXT, range);
        let column = new_column("text", SqlType::TEXT, columns);
        texts.push(ComputedColumn { column, value });
    }
    keys.extend(texts.iter().map(|one| one.column));
    with_computed(left, texts)
}

/// Whether two values of a type may be equal and have different texts.
fn has_lookalikes(sql_type: SqlType) -> bool {
    sql_type == SqlType::new(TypeOid::NUMERIC)
}

/// Collects the columns that expressions use for more than comparisons.
fn collect_shown(operator: &RelationalOperator, into: &mut HashSet<ColumnId>) {
    operator.expressions().into_iter().for_each(|one| collect_in_expression(one, into));
    operator.inputs().for_each(|input| collect_shown(input, into));
}

fn collect_in_expression(expression: &ScalarExpression, into: &mut HashSet<ColumnId>) {
    let is_test = match &expression.kind {
        ScalarKind::Operator { operator, .. }
        | ScalarKind::IsDistinct { operator, .. }
        | ScalarKind::Quantified { operator, .. } => is_comparison(operator),
        ScalarKind::IsNull(_) => true,
        _ => false,
    };
    match &expression.kind {
        ScalarKind::Column(column) => {
            into.insert(*column);
        }
        _ => expression
            .children()
            .filter(|child| !is_test || !matches!(child.kind, ScalarKind::Column(_)))
            .for_each(|child| collect_in_expression(child, into)),
    }
}
