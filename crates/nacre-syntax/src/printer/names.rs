//! Names, strings and operators.

use super::SqlPrinter;
use crate::keywords::{KeywordCategory, SqlKeyword};
use crate::tree::{ObjectName, OperatorName, RoleName, SqlName};

impl SqlPrinter {
    pub(super) fn name(&mut self, name: &SqlName) {
        let quoted = quoted(&name.text, SqlKeyword::of(&name.text).is_none());
        self.put(&quoted);
    }

    pub(super) fn names(&mut self, names: &[SqlName]) {
        self.list(names, Self::name);
    }

    /// Appends a name where words of the grammar may stand as they are.
    pub(super) fn word(&mut self, word: &str) {
        let is_free = match SqlKeyword::of(word) {
            Some(SqlKeyword::True | SqlKeyword::False | SqlKeyword::On | SqlKeyword::Analyze)
            | None => true,
            Some(keyword) => keyword.category() != KeywordCategory::Reserved,
        };
        let quoted = quoted(word, is_free);
        self.put(&quoted);
    }

    /// Appends a word of an option: words of the grammar as they are.
    pub(super) fn option_word(&mut self, word: &str) {
        let quoted = quoted(word, true);
        self.put(&quoted);
    }

    pub(super) fn object(&mut self, name: &ObjectName) {
        for (index, part) in name.parts.iter().enumerate() {
            if index > 0 {
                self.glue(".");
            }
            self.name(part);
        }
    }

    pub(super) fn string(&mut self, text: &str) {
        self.put("'");
        self.glue(&text.replace('\'', "''"));
        self.glue("'");
    }

    pub(super) fn optional_string(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.string(text),
            None => self.put("NULL"),
        }
    }

    pub(super) fn operator(&mut self, operator: &OperatorName) {
        if operator.schema.is_empty() {
            return self.put(&operator.symbol);
        }
        self.put("OPERATOR(");
        for part in &operator.schema {
            self.name(part);
            self.glue(".");
        }
        self.glue(&operator.symbol);
        self.glue(")");
    }

    pub(super) fn role(&mut self, role: &RoleName) {
        match role {
            RoleName::Named(name) => self.name(name),
            RoleName::Public(_) => self.put("PUBLIC"),
            RoleName::CurrentUser(_) => self.put("CURRENT_USER"),
            RoleName::CurrentRole(_) => self.put("CURRENT_ROLE"),
            RoleName::SessionUser(_) => self.put("SESSION_USER"),
        }
    }

    pub(super) fn roles(&mut self, roles: &[RoleName]) {
        self.list(roles, Self::role);
    }
}

fn quoted(name: &str, is_free: bool) -> String {
    let mut bytes = name.bytes();
    let is_plain = bytes.next().is_some_and(|first| first.is_ascii_lowercase() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if is_plain && is_free {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}
