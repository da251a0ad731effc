//! What a session sets for texts of values.

use std::sync::Arc;

use crate::datetime::DatetimeSettings;
use crate::scalar::bytea::ByteaOutput;

/// What a session sets for texts of values.
#[derive(Clone, Debug)]
pub struct ValueSettings {
    pub datetime: DatetimeSettings,
    /// From -15 to 3; default 1, the fewest digits that give a float back.
    pub extra_float_digits: i32,
    pub bytea_output: ByteaOutput,
    /// What `version()` answers.
    pub version: Option<Arc<str>>,
}

impl Default for ValueSettings {
    fn default() -> Self {
        Self {
            datetime: DatetimeSettings::default(),
            extra_float_digits: 1,
            bytea_output: ByteaOutput::Hex,
            version: None,
        }
    }
}
