//! Scrub and repair on demand.

use std::ops::ControlFlow;

use nacre_store::{Progress, RepairReport, ScrubReport};

use crate::database::Database;
use crate::error::Result;
use crate::from_store::from_store;

impl Database {
    /// Verifies every byte of every replica and reports those that are not whole, so that they are
    /// not read any more and rebuilt. `watch` is told how far it is, and may end it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] if the work itself fails; damage is no error but in the report.
    pub fn scrub(
        &self,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<ScrubReport> {
        self.store().scrub(watch).map_err(from_store)
    }

    /// Gives every column the replicas that its policy says: writes those that are lost, that are
    /// missing since their domain was, or that are of another format. `watch` is told how far it
    /// is, and may end it; what was written until then stays.
    ///
    /// # Errors
    /// [`crate::ErrorKind::ReadOnly`], [`crate::ErrorKind::DiskFull`], [`crate::ErrorKind::Io`].
    /// What stays lost because no replica is whole is no error but in the report.
    pub fn repair(
        &self,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<RepairReport> {
        self.store().repair(watch).map_err(from_store)
    }

    /// Forgets a further memory domain, there or not. [`Database::repair`] comes next: it writes
    /// what was there to those that remain.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidStatement`] if there is none of that name, policies name it, or
    /// it has the only good replica of a block; [`crate::ErrorKind::ReadOnly`],
    /// [`crate::ErrorKind::DiskFull`], [`crate::ErrorKind::Io`].
    pub fn forget_domain(&self, name: &str) -> Result<()> {
        self.store().forget_domain(name).map_err(from_store)
    }
}
