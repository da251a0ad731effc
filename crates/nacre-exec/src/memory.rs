//! Memory budgets: instance, query, operator.
//!
//! Every operator that keeps rows holds a [`MemoryReservation`] of its query's budget, and a query
//! one of the instance's. A reservation grows before memory does; if a budget is used up it fails
//! with an error that names the operator and the setting.
//!
//! # Invariants
//! 1. The bytes in use of a budget are the sum of those of its reservations and child budgets.
//! 2. Dropping a reservation or a budget gives its bytes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{ExecError, ExecResult};

/// A limit on bytes, shared by all who reserve from it.
#[derive(Debug)]
pub struct MemoryBudget {
    /// The setting that an error names.
    setting: &'static str,
    bytes_max: u64,
    bytes_used: AtomicU64,
    parent: Option<Arc<MemoryBudget>>,
}

/// Bytes of a budget that an operator holds.
#[derive(Debug)]
pub struct MemoryReservation {
    budget: Arc<MemoryBudget>,
    operator: &'static str,
    bytes: u64,
}

impl MemoryBudget {
    /// Makes the budget of an instance.
    pub fn new(setting: &'static str, bytes_max: u64) -> Arc<Self> {
        Arc::new(Self { setting, bytes_max, bytes_used: AtomicU64::new(0), parent: None })
    }

    /// Makes a budget inside of this one.
    pub fn child(self: &Arc<Self>, setting: &'static str, bytes_max: u64) -> Arc<Self> {
        let parent = Some(Arc::clone(self));
        Arc::new(Self { setting, bytes_max, bytes_used: AtomicU64::new(0), parent })
    }

    /// Makes an empty reservation for `operator`.
    pub fn reservation(self: &Arc<Self>, operator: &'static str) -> MemoryReservation {
        MemoryReservation { budget: Arc::clone(self), operator, bytes: 0 }
    }

    /// Returns the bytes in use.
    pub fn bytes_used(&self) -> u64 {
        // ORDERING: a figure for reports.
        self.bytes_used.load(Ordering::Relaxed)
    }

    /// Returns the limit, also that of budgets around this one.
    pub fn bytes_max(&self) -> u64 {
        self.parent.as_ref().map_or(self.bytes_max, |parent| self.bytes_max.min(parent.bytes_max()))
    }

    fn grow(&self, operator: &'static str, bytes: u64) -> ExecResult<()> {
        // ORDERING: the counter guards nothing but itself.
        let before = self.bytes_used.fetch_add(bytes, Ordering::Relaxed);
        let after = before.saturating_add(bytes);
        if after > self.bytes_max {
            self.bytes_used.fetch_sub(bytes, Ordering::Relaxed);
            let (setting, bytes_max) = (self.setting, self.bytes_max);
            let operator = operator.into();
            return Err(ExecError::OutOfMemory { operator, setting, bytes: after, bytes_max });
        }
        let Some(parent) = &self.parent else { return Ok(()) };
        parent.grow(operator, bytes).inspect_err(|_| {
            self.bytes_used.fetch_sub(bytes, Ordering::Relaxed);
        })
    }

    fn shrink(&self, bytes: u64) {
        // ORDERING: as in `grow`.
        self.bytes_used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(parent) = &self.parent {
            parent.shrink(bytes);
        }
    }
}

impl Drop for MemoryBudget {
    fn drop(&mut self) {
        debug_assert_eq!(*self.bytes_used.get_mut(), 0, "reservations outlive nothing");
    }
}

impl MemoryReservation {
    /// Makes the reservation `bytes` large.
    ///
    /// # Errors
    /// [`ExecError::OutOfMemory`]; the reservation is then as it was.
    pub fn resize(&mut self, bytes: usize) -> ExecResult<()> {
        let bytes = bytes as u64;
        if bytes > self.bytes {
            self.budget.grow(self.operator, bytes - self.bytes)?;
        } else {
            self.budget.shrink(self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Grows the reservation.
    ///
    /// # Errors
    /// As [`MemoryReservation::resize`].
    pub fn grow(&mut self, bytes: usize) -> ExecResult<()> {
        self.resize((self.bytes as usize).saturating_add(bytes))
    }

    /// Returns the bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.budget.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservation_beyond_the_budget_names_operator_and_setting() {
        let instance = MemoryBudget::new("memory", 1_000);
        let query = instance.child("nacre.query_memory", 600);
        let mut groups = query.reservation("aggregate");
        groups.resize(500).unwrap();
        let error = query.reservation("sort").resize(200).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sort needs 700 bytes, but nacre.query_memory leaves the query 600"
        );
        let other = instance.child("nacre.query_memory", 600);
        let error = other.reservation("sort").resize(501).unwrap_err();
        assert!(error.to_string().contains("memory leaves the query 1000"), "{error}");
        assert_eq!((instance.bytes_used(), other.bytes_used()), (500, 0));
        drop(groups);
        assert_eq!(instance.bytes_used(), 0);
    }
}
