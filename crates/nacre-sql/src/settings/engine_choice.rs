//! Which engine queries take.

/// Which engine queries take: the setting `nacre.engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineChoice {
    /// Nacre's where it supports the whole query.
    Auto,
    /// Nacre's alone; a query that it does not support is refused.
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
