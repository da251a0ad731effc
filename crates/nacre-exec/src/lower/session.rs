//! What the session sets, while one of its queries is lowered.
//!
//! A plan is made for each execution, so that expressions take the settings into it. They are those
//! of the thread that lowers: every function of the lowering would have to hand them on otherwise.

use std::cell::RefCell;
use std::sync::Arc;

use nacre_types::ValueSettings;

thread_local! {
    static SETTINGS: RefCell<Option<Arc<ValueSettings>>> = const { RefCell::new(None) };
}

/// Puts back the settings that were there before, also when a panic unwinds.
struct PreviousSettings(Option<Arc<ValueSettings>>);

impl Drop for PreviousSettings {
    fn drop(&mut self) {
        SETTINGS.set(self.0.take());
    }
}

/// Runs `lower` with the settings of a session.
pub(super) fn with_settings<T>(settings: &ValueSettings, lower: impl FnOnce() -> T) -> T {
    let own = Arc::new(settings.clone());
    let _previous = PreviousSettings(SETTINGS.replace(Some(own)));
    lower()
}

/// Returns the settings of the session whose query is lowered.
pub(super) fn session_settings() -> Arc<ValueSettings> {
    SETTINGS.with_borrow(|settings| settings.clone().unwrap_or_default())
}
