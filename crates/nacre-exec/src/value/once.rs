//! Values and errors that are there before anything asks for them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ScalarValue;
use crate::error::{ExecError, ExecResult};

/// The error of a part of a query, which is raised where its rows or its value are asked for.
#[derive(Debug, Default)]
pub(crate) struct HeldError(Mutex<Option<ExecError>>);

/// The value of a query that is computed once, or why it has none.
#[derive(Debug, Default)]
pub struct OnceValue {
    /// `None` before it is computed.
    value: Mutex<Option<ScalarValue>>,
    error: HeldError,
}

impl HeldError {
    /// Keeps an error.
    pub(crate) fn hold(&self, error: ExecError) {
        lock(&self.0).get_or_insert(error);
    }

    /// Whether there is one.
    pub(crate) fn is_held(&self) -> bool {
        lock(&self.0).is_some()
    }

    /// Raises the error, if there is one.
    ///
    /// # Errors
    /// That one.
    pub(crate) fn raise(&self) -> ExecResult<()> {
        match &*lock(&self.0) {
            Some(error) => Err(error
                .of_values()
                .unwrap_or_else(|| ExecError::internal("an error that cannot be raised again"))),
            None => Ok(()),
        }
    }
}

impl OnceValue {
    /// Makes a value that is known.
    pub(crate) fn of(value: ScalarValue) -> Self {
        Self { value: Mutex::new(Some(value)), error: HeldError::default() }
    }

    /// Forgets the value of an execution before.
    pub(crate) fn reset(&self) {
        *lock(&self.value) = None;
        *lock(&self.error.0) = None;
    }

    /// Keeps the value.
    pub(crate) fn set(&self, value: ScalarValue) {
        *lock(&self.value) = Some(value);
    }

    pub(crate) fn error(&self) -> &HeldError {
        &self.error
    }

    /// Returns the value.
    ///
    /// # Errors
    /// That of the query.
    pub(crate) fn value(&self) -> ExecResult<ScalarValue> {
        self.error.raise()?;
        let value = lock(&self.value).clone();
        value.ok_or_else(|| ExecError::internal("a value is asked for before it is computed"))
    }
}

fn lock<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}
