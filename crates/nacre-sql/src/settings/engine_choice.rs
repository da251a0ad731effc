//! Which engine queries take.

/// Which engine queries take: the setting `nacre.engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineChoice {
    /// Nacre's for those that it has all of.
    Auto,
    /// Nacre's alone; what it has not is refused.
    Nacre,
    DataFusion,
}

impl EngineChoice {
    /// The words of the setting.
    pub(super) const WORDS: [&'static str; 3] = ["auto", "nacre", "datafusion"];

    /// Reads the setting's value.
    pub(super) fn of_setting(value: &str) -> Self {
        match value {
            "nacre" => Self::Nacre,
            "datafusion" => Self::DataFusion,
            _ => Self::Auto,
        }
    }
}
