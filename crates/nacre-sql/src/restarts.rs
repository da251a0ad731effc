//! RestartBackoff of statements that conflict with other transactions.

use std::time::Duration;

/// Times that a statement is begun anew. The waits between them double from 1 ms to 64 ms, about a
/// second together.
const RESTARTS_MAX: u32 = 22;

/// Counts the restarts of a statement and waits before each.
#[derive(Debug, Default)]
pub(crate) struct RestartBackoff {
    count: u32,
}

impl RestartBackoff {
    /// Waits until the statement may be begun anew; false if it was often enough.
    pub(crate) async fn wait(&mut self) -> bool {
        if self.count >= RESTARTS_MAX {
            return false;
        }
        // No wait before the first restart: the other transaction may be over.
        if let Some(doubled) = self.count.checked_sub(1) {
            tokio::time::sleep(Duration::from_millis(1 << doubled.min(6))).await;
        }
        self.count += 1;
        true
    }
}
