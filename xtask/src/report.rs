//! What the checks say: a [`Finding`] is a broken rule, a [`Failure`] means a check could not run.

use std::fmt;

/// Names a broken rule and where it is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// File relative to the root with `:line`, or a crate.
    place: String,
    /// Short name of the rule.
    pub(crate) rule: &'static str,
    message: String,
}

impl Finding {
    /// Makes a finding about a whole file or crate.
    pub(crate) fn new(
        place: impl Into<String>,
        rule: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Finding { place: place.into(), rule, message: message.into() }
    }

    /// Makes a finding about the line with the 1-based number `line`.
    pub(crate) fn at(
        path: &str,
        line: usize,
        rule: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Finding::new(format!("{path}:{line}"), rule, message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place, self.rule, self.message)
    }
}

/// Tells why a check could not run.
#[derive(Clone, Debug)]
pub(crate) struct Failure(pub(crate) String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_names_place_rule_and_reason() {
        let finding = Finding::at("a.rs", 3, "columns", "101 columns");
        assert_eq!(finding.to_string(), "a.rs:3: columns: 101 columns");
    }
}
