//! What a session sets for texts of values, and what it knows.

use std::sync::Arc;

use super::system::SystemCatalog;
use crate::datetime::DatetimeSettings;
use crate::scalar::bytea::ByteaOutput;

/// What a session sets for texts of values, and what it knows.
#[derive(Clone, Debug)]
pub struct ValueSettings {
    pub datetime: DatetimeSettings,
    /// From -15 to 3; default 1, the fewest digits that give a float back.
    pub extra_float_digits: i32,
    pub bytea_output: ByteaOutput,
    /// What `version()` answers.
    pub version: Option<Arc<str>>,
    /// The catalogs of the database, where there is one.
    pub catalog: Option<Arc<dyn SystemCatalog>>,
}

impl Default for ValueSettings {
    fn default() -> Self {
        Self {
            datetime: DatetimeSettings::default(),
            extra_float_digits: 1,
            bytea_output: ByteaOutput::Hex,
            version: None,
            catalog: None,
        }
    }
}
