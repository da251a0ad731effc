//! Conditions that compare the same values with many constants, as IN is written out for rows.
//!
//! ```text
//! a = 1 and b = 2  or  a = 3 and b = 4  or ..          (a, b) in set
//! (a <> 1 or b <> 2)  and  (a <> 3 or b <> 4)  and ..  (a, b) not in set
//! a = 1 or a = 2.5 or a = 3 or ..                      a in set, or a::numeric in set
//! ```
//!
//! Only comparisons that follow each other are put together, and only if no value in them may fail
//! but the first: the others would be computed for rows that do not reach them.

use std::borrow::Borrow;
use std::ops::Range;

use nacre_column::CompareOp;
use nacre_functions::catalog::OperatorEntry;
use nacre_plan::algebra::{ScalarExpression, ScalarKind};
use nacre_types::{SqlType, SqlValue};

use super::super::error::{LoweringError, LoweringResult};
use super::super::exact_nodes::form_key_node;
use super::super::fold::fold_constant;
use super::super::form::ValueForm;
use super::super::operators::{OperatorMeaning, operator_meaning};
use super::super::row_sets::{
    ConstantRowSet, SET_COLUMNS_MAX, SET_ROWS_MIN, SetKeyPart, constant_part,
};
use super::{ExpressionLowering, LoweredExpression};
use crate::expression::{ExpressionId, ExpressionNode};
use crate::value::{ScalarValue, ValueClass};

/// Most sets that conditions which follow each other become: constants of different types have
/// different operators.
const RUN_SETS_MAX: usize = 8;

/// Conditions that follow each other.
#[derive(Debug)]
pub(in crate::lower) struct ConditionRun<'e> {
    pub(in crate::lower) range: Range<usize>,
    /// What they compare, if there are enough of them.
    sets: Vec<RowTests<'e>>,
}

/// Comparisons of the same values with rows of constants.
#[derive(Debug)]
struct RowTests<'e> {
    /// `None` of columns that only nulls are compared with.
    columns: Vec<Option<TestedColumn<'e>>>,
    /// Of all rows, one after the other.
    constants: Vec<TestedConstant>,
}

#[derive(Clone, Copy, Debug)]
struct TestedColumn<'e> {
    operator: u32,
    value: &'e ScalarExpression,
}

#[derive(Debug)]
struct TestedConstant {
    value: SqlValue,
    sql_type: SqlType,
}

impl TestedConstant {
    fn null() -> Self {
        Self { value: SqlValue::Null, sql_type: SqlType::BOOLEAN }
    }
}

/// A comparison of a value with a constant; `None` if the constant is null.
type ColumnTest<'e> = Option<(TestedColumn<'e>, TestedConstant)>;

/// Collects the tests of a run.
struct RunBuilder<'e> {
    start: usize,
    /// Conditions that are null.
    nulls: usize,
    sets: Vec<RowTests<'e>>,
}

/// Takes conditions apart that AND or OR joins.
///
/// # Errors
/// Those of constants that fail.
pub(in crate::lower) fn condition_runs<'e, T: Borrow<ScalarExpression>>(
    conditions: &'e [T],
    is_and: bool,
) -> LoweringResult<Vec<ConditionRun<'e>>> {
    if conditions.len() < SET_ROWS_MIN {
        return Ok(vec![ConditionRun { range: 0..conditions.len(), sets: Vec::new() }]);
    }
    let mut runs = Vec::new();
    let mut builder = RunBuilder { start: 0, nulls: 0, sets: Vec::new() };
    for (index, condition) in conditions.iter().enumerate() {
        LoweringError::check_stopped()?;
        let row = row_tests(condition.borrow(), is_and)?;
        if row.is_some_and(|row| builder.add(row)) {
            continue;
        }
        runs.extend(builder.end(index));
        runs.push(ConditionRun { range: index..index + 1, sets: Vec::new() });
        builder.start = index + 1;
    }
    runs.extend(builder.end(conditions.len()));
    Ok(runs)
}

impl<'e> RunBuilder<'e> {
    /// Adds a row; false if it would be one set too many.
    fn add(&mut self, row: Vec<ColumnTest<'e>>) -> bool {
        if row.is_empty() {
            self.nulls += 1;
            return true;
        }
        if let Some(set) = self.sets.iter_mut().find(|set| set.is_of(&row)) {
            set.add(row);
            return true;
        }
        let is_room = self.sets.len() < RUN_SETS_MAX;
        if is_room {
            let columns = vec![None; row.len()];
            let mut set = RowTests { columns, constants: Vec::new() };
            set.add(row);
            self.sets.push(set);
        }
        is_room
    }

    /// Ends the run in front of a condition.
    fn end(&mut self, end: usize) -> Option<ConditionRun<'e>> {
        let range = self.start..end;
        let mut sets = std::mem::take(&mut self.sets);
        let nulls = std::mem::take(&mut self.nulls);
        if range.len() < SET_ROWS_MIN {
            sets.clear();
        }
        if let Some(set) = sets.first_mut().filter(|_| nulls > 0) {
            set.constants.extend(set.columns.iter().map(|_| TestedConstant::null()));
        }
        (!range.is_empty()).then_some(ConditionRun { range, sets })
    }
}

impl<'e> RowTests<'e> {
    /// Whether a row compares the same values.
    fn is_of(&self, row: &[ColumnTest<'e>]) -> bool {
        let is_same = |(own, test): (&Option<TestedColumn<'_>>, &ColumnTest<'_>)| match (own, test)
        {
            (Some(own), Some((other, _))) => {
                own.operator == other.operator && own.value == other.value
            }
            _ => true,
        };
        self.columns.len() == row.len() && self.columns.iter().zip(row).all(is_same)
    }

    fn add(&mut self, row: Vec<ColumnTest<'e>>) {
        for (column, test) in self.columns.iter_mut().zip(row) {
            let Some((tested, constant)) = test else {
                self.constants.push(TestedConstant::null());
                continue;
            };
            column.get_or_insert(tested);
            self.constants.push(constant);
        }
    }
}

/// Returns what a row's condition compares with constants, nothing if it is null; `None` if it is
/// of another kind. Joined by OR a row is compared by `=` and AND, joined by AND by `<>` and OR.
fn row_tests(
    condition: &ScalarExpression,
    is_and: bool,
) -> LoweringResult<Option<Vec<ColumnTest<'_>>>> {
    let operands = match &condition.kind {
        ScalarKind::Constant(value) => return Ok(value.0.is_null().then(Vec::new)),
        ScalarKind::And(operands) if !is_and => &operands[..],
        ScalarKind::Or(operands) if is_and => &operands[..],
        _ => std::slice::from_ref(condition),
    };
    if operands.len() > SET_COLUMNS_MAX {
        return Ok(None);
    }
    let mut tests = Vec::with_capacity(operands.len());
    for operand in operands {
        tests.push(match &operand.kind {
            ScalarKind::Constant(value) if value.0.is_null() => None,
            ScalarKind::Operator { operator, operands } => {
                let [value, constant] = &operands[..] else { return Ok(None) };
                let is_tested = is_equality(operator, is_and)
                    && value.any(&|one| matches!(one.kind, ScalarKind::Column(_)))
                    && !value.is_volatile();
                if !is_tested {
                    return Ok(None);
                }
                let tested = TestedColumn { operator: operator.oid, value };
                let sql_type = constant.sql_type;
                let Some(value) = fold_constant(constant)? else { return Ok(None) };
                Some((tested, TestedConstant { value, sql_type }))
            }
            _ => return Ok(None),
        });
    }
    Ok(Some(tests))
}

/// Whether an operator is `=`, or `<>`.
fn is_equality(operator: &OperatorEntry, is_negated: bool) -> bool {
    let wanted = if is_negated { CompareOp::Ne } else { CompareOp::Eq };
    operator_meaning(operator.oid) == Some(OperatorMeaning::Compare(wanted))
}

impl ExpressionLowering<'_> {
    /// Adds whether rows are in the sets of a run, or in none of them if `is_and`; `None` if its
    /// conditions are to be added one by one.
    ///
    /// # Errors
    /// As [`Self::lower`].
    pub(in crate::lower) fn run_of_tests(
        &mut self,
        run: &ConditionRun<'_>,
        is_and: bool,
    ) -> LoweringResult<Option<Vec<ExpressionId>>> {
        if run.sets.is_empty() {
            return Ok(None);
        }
        let could_fail = self.may_fail;
        let mut may_fail = could_fail;
        let mut is_first = true;
        let mut ids = Vec::with_capacity(run.sets.len());
        for set in &run.sets {
            let mut lefts = Vec::with_capacity(set.columns.len());
            for column in &set.columns {
                self.may_fail = false;
                lefts.push(match column {
                    Some(column) => self.lower_checked(column.value)?,
                    None => self.constant(&SqlValue::Null, SqlType::BOOLEAN)?,
                });
                if self.may_fail && !is_first {
                    self.may_fail = could_fail;
                    return Ok(None);
                }
                may_fail |= self.may_fail;
                is_first = false;
            }
            self.may_fail = could_fail;
            let Some(id) = self.row_set(&lefts, &set.constants, is_and)? else { return Ok(None) };
            ids.push(id);
        }
        self.may_fail = may_fail;
        Ok(Some(ids))
    }

    /// Adds whether a value is among many constants, or is not if `is_all`; `None` if it is to be
    /// compared with each.
    ///
    /// # Errors
    /// Those of constants that fail.
    pub(super) fn in_constants(
        &mut self,
        operator: &OperatorEntry,
        left: LoweredExpression,
        elements: &[ScalarExpression],
        is_all: bool,
    ) -> LoweringResult<Option<ExpressionId>> {
        if elements.len() < SET_ROWS_MIN || !is_equality(operator, is_all) {
            return Ok(None);
        }
        let mut constants = Vec::with_capacity(elements.len());
        for element in elements {
            LoweringError::check_stopped()?;
            let Some(value) = fold_constant(element)? else { return Ok(None) };
            constants.push(TestedConstant { value, sql_type: element.sql_type });
        }
        self.row_set(&[left], &constants, is_all)
    }

    /// Adds whether a row is among constant ones; `None` if it is not known which are equal.
    fn row_set(
        &mut self,
        lefts: &[LoweredExpression],
        constants: &[TestedConstant],
        is_negated: bool,
    ) -> LoweringResult<Option<ExpressionId>> {
        let mut arguments = Vec::with_capacity(lefts.len());
        for left in lefts {
            if left.form == (ValueForm::Packed { has_keys: false }) {
                return Ok(None);
            }
            arguments.push(self.key_of(*left)?);
        }
        let mut parts = Vec::with_capacity(constants.len());
        for row in constants.chunks_exact(lefts.len()) {
            LoweringError::check_stopped()?;
            for (left, constant) in lefts.iter().zip(row) {
                let Some(part) = part_of(*left, constant) else { return Ok(None) };
                parts.push(part);
            }
        }
        let Some(set) = ConstantRowSet::new(lefts.len(), parts) else { return Ok(None) };
        let function = set.function(is_negated);
        Ok(Some(self.graph.add(ExpressionNode::Foreign { function, arguments })?))
    }

    /// Adds the key of a value: two keys are equal if the values are.
    fn key_of(&mut self, value: LoweredExpression) -> LoweringResult<ExpressionId> {
        if value.is_null_constant {
            let null = ExpressionNode::Constant(ScalarValue::Null(ValueClass::Bool));
            return Ok(self.graph.add(null)?);
        }
        form_key_node(&mut self.graph, value.id, value.form)
    }
}

fn part_of(left: LoweredExpression, constant: &TestedConstant) -> Option<SetKeyPart> {
    let TestedConstant { value, sql_type } = constant;
    if value.is_null() || left.is_null_constant {
        // A comparison with null is null.
        return Some(SetKeyPart::Null);
    }
    let (scalar, form) = ValueForm::of_constant(value, *sql_type)?;
    constant_part(left.form, value, (scalar, form))
}
