//! Rows that are written out: as values, and compared value by value.
//!
//! ```text
//! (a, b) = (c, d)                a = c and b = d
//! (a, b) < (c, d)                a < c or (a = c and b < d)
//! (a, 1 / b) < (c, d)            case when a = c then 1 / b < d else a < c end
//! (a, b) in ((1, 2), (3, 4))     (a = 1 and b = 2) or (a = 3 and b = 4)
//! ```

use nacre_functions::kernels::row_form;
use nacre_syntax::{ExpressionKind, ExpressionNode, QueryExpression, SourceRange};
use nacre_types::SqlType;

use super::Binder;
use super::expressions::ExpressionPlace;
use super::operators::BoundOperator;
use super::ordering::require_operator;
use super::predicates::negated_if;
use super::subquery_joins::has_subquery;
use crate::algebra::{CaseArm, ScalarExpression, ScalarKind};
use crate::error::BindError;
use crate::properties::never_fails;

/// Returns the values of a row that is written out.
pub(super) fn row_items(node: &ExpressionNode) -> Option<&[ExpressionNode]> {
    match &node.kind {
        ExpressionKind::Row { items, .. } => Some(items),
        _ => None,
    }
}

fn boolean(kind: ScalarKind, range: SourceRange) -> ScalarExpression {
    ScalarExpression::new(kind, SqlType::BOOLEAN, range)
}

/// Joins conditions by AND or OR.
fn joined(mut all: Vec<ScalarExpression>, is_and: bool, range: SourceRange) -> ScalarExpression {
    match all.pop() {
        Some(last) if all.is_empty() => last,
        Some(last) => {
            all.push(last);
            boolean(if is_and { ScalarKind::And(all) } else { ScalarKind::Or(all) }, range)
        }
        None => boolean(ScalarKind::And(all), range),
    }
}

/// Refuses to compare rows of unlike or no widths.
fn require_same_width(
    left: &[ExpressionNode],
    right: &[ExpressionNode],
    range: SourceRange,
) -> Result<(), BindError> {
    if left.len() != right.len() {
        let message = "unequal number of entries in row expressions";
        return Err(BindError::new("42601", message, range));
    }
    if left.is_empty() {
        let message = "cannot compare rows of zero length";
        return Err(BindError::new("0A000", message, range));
    }
    Ok(())
}

impl Binder<'_> {
    /// Binds a row as a value.
    pub(super) fn bind_row(
        &mut self,
        items: &[ExpressionNode],
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let mut arguments = Vec::with_capacity(items.len());
        for item in items {
            let value = self.bind(item, place)?;
            let value = self.settle(value)?;
            let element = value.sql_type.element();
            let has_order = |own: SqlType| require_operator("<", own, value.range).is_ok();
            if !has_order(value.sql_type) || !element.is_none_or(has_order) {
                return Err(BindError::not_supported("rows of values without an order", range));
            }
            arguments.push(value);
        }
        let unknown = || BindError::not_supported("rows as values", range);
        let function = row_form().ok_or_else(unknown)?;
        let kind = ScalarKind::Function { function, arguments };
        Ok(ScalarExpression::new(kind, SqlType::RECORD, range))
    }

    /// Compares a row with that of a query.
    pub(super) fn bind_row_beside_query(
        &mut self,
        symbol: &str,
        (row, query): (&[ExpressionNode], &QueryExpression),
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        if !matches!(symbol, "=" | "<>") {
            // Others compare a value twice.
            return Err(BindError::not_supported("rows and rows of queries", range));
        }
        let values = self.bind_query_by_outputs(query, place)?;
        if values.len() != row.len() {
            let few_or_many = if values.len() < row.len() { "few" } else { "many" };
            let message = format!("subquery has too {few_or_many} columns");
            return Err(BindError::new("42601", message, query.range));
        }
        let mut pairs = Vec::with_capacity(row.len());
        for (item, value) in row.iter().zip(values) {
            pairs.push([self.bind(item, place)?, value]);
        }
        self.compare_rows(symbol, pairs, range)
    }

    /// Binds a comparison of two rows.
    pub(super) fn bind_row_comparison(
        &mut self,
        symbol: &str,
        [left, right]: [&[ExpressionNode]; 2],
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        require_same_width(left, right, range)?;
        let mut pairs = Vec::with_capacity(left.len());
        for (left, right) in left.iter().zip(right) {
            pairs.push([self.bind(left, place)?, self.bind(right, place)?]);
        }
        self.compare_rows(symbol, pairs, range)
    }

    fn compare_rows(
        &mut self,
        symbol: &str,
        pairs: Vec<[ScalarExpression; 2]>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let strict = match symbol {
            "=" | "<>" => {
                let mut tests = Vec::with_capacity(pairs.len());
                for [left, right] in pairs {
                    tests.push(self.compare_pair(symbol, left, right, range)?);
                }
                return Ok(joined(tests, symbol == "=", range));
            }
            "<" | "<=" => "<",
            ">" | ">=" => ">",
            _ => return Err(BindError::not_supported("this operator between rows", range)),
        };
        // From the last pair to the first.
        let mut compared: Option<ScalarExpression> = None;
        for [left, right] in pairs.into_iter().rev() {
            let Some(rest) = compared.take() else {
                compared = Some(self.compare_pair(symbol, left, right, range)?);
                continue;
            };
            let copies = [self.copy(&left)?, self.copy(&right)?];
            let before = self.compare_pair(strict, left, right, range)?;
            let [left, right] = copies.map(|copy| self.bound_again(copy));
            let equal = self.compare_pair("=", left, right, range)?;
            compared = Some(if never_fails(&rest) {
                let equal = joined(vec![equal, rest], true, range);
                joined(vec![before, equal], false, range)
            } else {
                // A pair that is null decides, too.
                let arms = vec![CaseArm { condition: equal, result: rest }];
                let otherwise = Some(Box::new(before));
                boolean(ScalarKind::Case { arms, otherwise }, range)
            });
        }
        Ok(compared.unwrap_or_else(|| joined(Vec::new(), true, range)))
    }

    fn compare_pair(
        &mut self,
        symbol: &str,
        left: ScalarExpression,
        right: ScalarExpression,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let test = self.apply_operator(symbol, vec![left, right], range)?;
        if test.sql_type == SqlType::BOOLEAN {
            return Ok(test);
        }
        let found = test.sql_type;
        let message = format!("row comparison operator must yield type boolean, not type {found}");
        Err(BindError::new("42804", message, range))
    }

    /// Binds whether a row is among rows.
    pub(super) fn bind_row_in(
        &mut self,
        row: &[ExpressionNode],
        nodes: &[ExpressionNode],
        is_negated: bool,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let symbol = if is_negated { "<>" } else { "=" };
        let mut values = Vec::with_capacity(row.len());
        for item in row {
            values.push(self.bind(item, place)?);
        }
        if values.iter().any(has_subquery) {
            return Err(BindError::not_supported("rows of subqueries among rows", range));
        }
        let mut tests = Vec::with_capacity(nodes.len());
        for node in nodes {
            let Some(items) = row_items(node) else {
                return Err(BindError::not_supported("a row among other values", node.range));
            };
            require_same_width(row, items, range)?;
            let mut pairs = Vec::with_capacity(items.len());
            for (value, item) in values.iter().zip(items) {
                let copy = self.copy_beside_element(value)?;
                pairs.push([self.bound_again(copy), self.bind(item, place)?]);
            }
            tests.push(self.compare_rows(symbol, pairs, range)?);
        }
        Ok(joined(tests, is_negated, range))
    }

    /// Binds whether all values of a row are null, or none of them is.
    pub(super) fn bind_row_is_null(
        &mut self,
        row: &[ExpressionNode],
        is_negated: bool,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let mut tests = Vec::with_capacity(row.len());
        for item in row {
            let value = self.bind(item, place)?;
            let is_null = ScalarKind::IsNull(Box::new(self.settle(value)?));
            let test = boolean(is_null, range);
            tests.push(negated_if(is_negated, test));
        }
        if tests.is_empty() {
            return Err(BindError::not_supported("tests of rows without values", range));
        }
        Ok(joined(tests, true, range))
    }

    /// Binds whether a value of a row is distinct from that of another one.
    pub(super) fn bind_row_distinct(
        &mut self,
        [left, right]: [&[ExpressionNode]; 2],
        is_negated: bool,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        if left.is_empty() && right.is_empty() {
            return Err(BindError::not_supported("tests of rows without values", range));
        }
        if left.len() != right.len() {
            let message = "unequal number of entries in row expressions";
            return Err(BindError::new("42601", message, range));
        }
        let mut tests = Vec::with_capacity(left.len());
        for (left, right) in left.iter().zip(right) {
            let operands = vec![self.bind(left, place)?, self.bind(right, place)?];
            let BoundOperator { operator, operands, .. } =
                self.choose_operator("=", operands, range)?;
            tests.push(boolean(ScalarKind::IsDistinct { operator, operands }, range));
        }
        let distinct = joined(tests, false, range);
        Ok(negated_if(is_negated, distinct))
    }
}
