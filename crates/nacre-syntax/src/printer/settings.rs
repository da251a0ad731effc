//! SET, RESET and modes of transactions.

use super::SqlPrinter;
use crate::tree::{IsolationLevel, SetStatement, SettingChange, SettingScope, TransactionMode};

impl SqlPrinter {
    pub(super) fn set(&mut self, set: &SetStatement) {
        match &set.change {
            SettingChange::Reset(name) => {
                self.put("RESET");
                return self.setting_name(name);
            }
            SettingChange::ResetAll => return self.put("RESET ALL"),
            SettingChange::Constraints(names, is_deferred) => {
                self.put("SET CONSTRAINTS");
                self.put_if(names.is_empty(), "ALL");
                self.list(names, Self::object);
                return self.put(if *is_deferred { "DEFERRED" } else { "IMMEDIATE" });
            }
            _ => {}
        }
        self.put("SET");
        self.put_if(set.scope == SettingScope::Local, "LOCAL");
        self.setting_change(&set.change);
    }

    fn setting_change(&mut self, change: &SettingChange) {
        match change {
            SettingChange::Values(name, values) => {
                self.setting_name(name);
                self.put("=");
                self.list(values, Self::option_value);
            }
            SettingChange::Default(name) => {
                self.setting_name(name);
                self.put("= DEFAULT");
            }
            SettingChange::FromCurrent(name) => {
                self.setting_name(name);
                self.put("FROM CURRENT");
            }
            SettingChange::TimeZone(zone) => {
                self.put("TIME ZONE");
                match zone {
                    Some(zone) => self.expression(zone),
                    None => self.put("DEFAULT"),
                }
            }
            SettingChange::Role(role) => {
                self.put("ROLE");
                self.string_or("NONE", role.as_deref());
            }
            SettingChange::SessionAuthorization(role) => {
                self.put("SESSION AUTHORIZATION");
                self.string_or("DEFAULT", role.as_deref());
            }
            SettingChange::Transaction(modes) => {
                self.put("TRANSACTION");
                self.modes(modes);
            }
            SettingChange::TransactionSnapshot(snapshot) => {
                self.put("TRANSACTION SNAPSHOT");
                self.string(snapshot);
            }
            SettingChange::SessionCharacteristics(modes) => {
                self.put("SESSION CHARACTERISTICS AS TRANSACTION");
                self.modes(modes);
            }
            // The others are printed by `set`.
            _ => {}
        }
    }

    fn string_or(&mut self, word: &str, text: Option<&str>) {
        match text {
            Some(text) => self.string(text),
            None => self.put(word),
        }
    }

    /// Prints the name of a setting, of which dots part the pieces.
    pub(super) fn setting_name(&mut self, name: &str) {
        for (index, part) in name.split('.').enumerate() {
            if index > 0 {
                self.glue(".");
            }
            let range = crate::range::SourceRange::default();
            self.name(&crate::tree::SqlName { text: part.to_owned(), range });
        }
    }

    pub(super) fn modes(&mut self, modes: &[TransactionMode]) {
        self.list(modes, |printer, mode| {
            printer.put(match mode {
                TransactionMode::Isolation(IsolationLevel::ReadUncommitted) => {
                    "ISOLATION LEVEL READ UNCOMMITTED"
                }
                TransactionMode::Isolation(IsolationLevel::ReadCommitted) => {
                    "ISOLATION LEVEL READ COMMITTED"
                }
                TransactionMode::Isolation(IsolationLevel::RepeatableRead) => {
                    "ISOLATION LEVEL REPEATABLE READ"
                }
                TransactionMode::Isolation(IsolationLevel::Serializable) => {
                    "ISOLATION LEVEL SERIALIZABLE"
                }
                TransactionMode::ReadOnly(true) => "READ ONLY",
                TransactionMode::ReadOnly(false) => "READ WRITE",
                TransactionMode::Deferrable(true) => "DEFERRABLE",
                TransactionMode::Deferrable(false) => "NOT DEFERRABLE",
            });
        });
    }
}
