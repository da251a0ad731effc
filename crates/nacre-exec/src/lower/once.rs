//! Values that are computed once, as expressions ask for them.
//!
//! They are kept by the thread that lowers a query, as the session's settings are
//! ([`super::session`]).

use std::cell::RefCell;
use std::sync::Arc;

use nacre_plan::algebra::{OnceReference, ScalarExpression, ScalarKind};

use super::error::{LoweringError, LoweringResult};
use super::form::ValueForm;
use crate::error::ExecError;
use crate::expression::{ForeignCall, ForeignFunction};
use crate::value::{IntBounds, OnceValue};
use crate::vector::ColumnVector;

/// A value, and what gives it to expressions.
#[derive(Clone)]
pub(super) struct KnownOnce {
    pub(super) value: Arc<OnceValue>,
    pub(super) form: ValueForm,
    pub(super) function: ForeignFunction,
    is_asked_for: bool,
}

/// A value, or why there is none, by index.
type KnownValues = Vec<Option<LoweringResult<KnownOnce>>>;

thread_local! {
    static VALUES: RefCell<KnownValues> = const { RefCell::new(Vec::new()) };
}

/// Forgets the values of another query; there may be `count` of this one.
pub(super) fn forget_values(count: usize) {
    VALUES.with_borrow_mut(|values| {
        values.clear();
        values.resize(count, None);
    });
}

/// Adds the value of the common query at an index.
pub(super) fn add_value(index: usize, form: ValueForm) -> Arc<OnceValue> {
    let value = Arc::new(OnceValue::default());
    let own = Arc::clone(&value);
    let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
        let is_asked = |row: usize| call.active.is_none_or(|active| active.get(row));
        if (0..call.rows).any(is_asked) {
            let value = own.value()?;
            for _ in 0..call.rows {
                out.push_scalar(&value)?;
            }
        } else {
            (0..call.rows).for_each(|_| out.values.push_default());
        }
        out.fill_validity();
        Ok(())
    };
    let function = ForeignFunction::new("value", kernel, form.class(), bounds_of(form), true);
    let known = KnownOnce { value: Arc::clone(&value), form, function, is_asked_for: false };
    note_value(index, Ok(known));
    value
}

/// Keeps the error of a value for the expression that asks for it, if one does.
pub(super) fn add_failed_value(index: usize, error: LoweringError) {
    note_value(index, Err(error));
}

fn note_value(index: usize, known: LoweringResult<KnownOnce>) {
    VALUES.with_borrow_mut(|values| {
        if let Some(place) = values.get_mut(index) {
            *place = Some(known);
        }
    });
}

/// Returns a value for an expression.
///
/// # Errors
/// That of its query.
pub(super) fn ask_for(reference: OnceReference) -> LoweringResult<KnownOnce> {
    VALUES.with_borrow_mut(|values| {
        let known = values.get_mut(reference.index).and_then(Option::as_mut);
        let known = known.ok_or_else(|| LoweringError::contradiction("an unknown value"))?;
        let known = known.as_mut().map_err(|error| error.clone())?;
        known.is_asked_for = true;
        Ok(known.clone())
    })
}

/// Whether an expression asks for a value.
pub(super) fn is_asked_for(value: &Arc<OnceValue>) -> bool {
    VALUES.with_borrow(|values| {
        let mut known = values.iter().flatten().flatten();
        known.any(|known| known.is_asked_for && Arc::ptr_eq(&known.value, value))
    })
}

/// Whether an expression has the value of a query, which is known when the plan runs.
pub(super) fn has_once(expression: &ScalarExpression) -> bool {
    expression.any(&|one| matches!(one.kind, ScalarKind::Once(_) | ScalarKind::Call { .. }))
}

/// Whether an expression has the value at an index.
pub(super) fn has_value(expression: &ScalarExpression, index: usize) -> bool {
    let is_it = |one: &ScalarExpression| match &one.kind {
        ScalarKind::Once(reference) => reference.index == index,
        _ => false,
    };
    expression.any(&is_it)
}

/// Whether an expression has such a value where it is evaluated for some rows only.
pub(super) fn guards_once(expression: &ScalarExpression) -> bool {
    let guards = expression.is_guard();
    let mut children = expression.children().enumerate();
    children.any(|(index, child)| guards_once(child) || guards && index > 0 && has_once(child))
}

/// A function that fails for every row that reaches it.
pub(super) fn several_rows(form: ValueForm) -> ForeignFunction {
    let kernel = |call: &ForeignCall<'_>, out: &mut ColumnVector| {
        let is_asked = |row: usize| call.active.is_none_or(|active| active.get(row));
        if (0..call.rows).any(is_asked) {
            return Err(ExecError::MoreThanOneRow);
        }
        (0..call.rows).for_each(|_| out.values.push_default());
        out.fill_validity();
        Ok(())
    };
    ForeignFunction::new("more than one row", kernel, form.class(), IntBounds::of(0), true)
}

fn bounds_of(form: ValueForm) -> IntBounds {
    match form {
        ValueForm::Numeric { .. } => IntBounds::I128,
        _ => IntBounds::I64,
    }
}
