//! Tells whoever keeps a database up that there is work for it.

use std::fmt;
use std::sync::{PoisonError, RwLock};

/// Calls what was set, if anything was.
#[derive(Default)]
pub(crate) struct Waker(RwLock<Option<Box<dyn Fn() + Send + Sync>>>);

impl Waker {
    pub(crate) fn set(&self, wake: Box<dyn Fn() + Send + Sync>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(wake);
    }

    pub(crate) fn wake(&self) {
        if let Some(wake) = &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            wake();
        }
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("waker")
    }
}
