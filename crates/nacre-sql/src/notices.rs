//! What a statement tells beside its answer: warnings and notices.

use std::sync::{Mutex, PoisonError};

/// A message that is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `WARNING` or `NOTICE`.
    pub severity: &'static str,
    /// PostgreSQL's code.
    pub code: &'static str,
    pub message: String,
    pub detail: Option<String>,
}

impl Notice {
    /// What a statement did not do that one may have expected.
    pub(crate) fn warning(message: String) -> Self {
        let code = match message.as_str() {
            "there is already a transaction in progress" => "25001",
            "there is no transaction in progress" => "25P01",
            _ => "01000",
        };
        Self { severity: "WARNING", code, message, detail: None }
    }

    /// What it did, or had no need to do.
    pub(crate) fn told(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: "NOTICE", code, message: message.into(), detail: None }
    }
}

/// The notices of the statement that a session runs.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<Vec<Notice>>);

impl Notices {
    pub(crate) fn tell(&self, notice: Notice) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
    }

    /// Says of something that it is there already, and is left as it is.
    pub(crate) fn exists(&self, code: &'static str, what: impl std::fmt::Display) {
        self.tell(Notice::told(code, format!("{what} already exists, skipping")));
    }

    /// Says of something that it is not there, and need not be dropped.
    pub(crate) fn missing(&self, what: impl std::fmt::Display) {
        self.tell(Notice::told("00000", format!("{what} does not exist, skipping")));
    }

    /// Says what else was dropped.
    pub(crate) fn cascaded(&self, objects: &[String]) {
        match objects {
            [] => {}
            [one] => self.tell(Notice::told("00000", format!("drop cascades to {one}"))),
            several => {
                let message = format!("drop cascades to {} other objects", several.len());
                let lines: Vec<String> =
                    several.iter().map(|one| format!("drop cascades to {one}")).collect();
                let detail = Some(lines.join("\n"));
                self.tell(Notice { detail, ..Notice::told("00000", message) });
            }
        }
    }

    /// Takes what was told.
    pub(crate) fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_objects_are_told_in_the_detail() {
        let notices = Notices::default();
        notices.cascaded(&[]);
        notices.cascaded(&["view a".to_owned()]);
        notices.cascaded(&["view a".to_owned(), "view b".to_owned()]);
        let [one, two] = <[Notice; 2]>::try_from(notices.take()).unwrap();
        assert_eq!(one.message, "drop cascades to view a");
        assert_eq!(two.message, "drop cascades to 2 other objects");
        assert_eq!(two.detail.unwrap(), "drop cascades to view a\ndrop cascades to view b");
    }
}
