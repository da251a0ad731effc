//! From the tree to text that parses to the same tree.
//!
//! 1. Operands that are not atoms stand in parentheses, also where precedence needs none.
//! 2. Words of the grammar are quoted wherever they are names.
//!
//! # Invariants
//! `parse_statement(&to_sql(&statement))` gives `statement` again, ranges aside, save for
//! statements and operations that have no tree: [`Statement::Other`] prints its first words only.

mod alterations;
mod calls;
mod definitions;
mod expressions;
mod from_items;
mod modifications;
mod names;
mod privileges;
mod queries;
mod sessions;
mod settings;
mod statements;
mod tables;
mod type_names;

use crate::tree::Statement;

/// Prints a statement.
pub fn to_sql(statement: &Statement) -> String {
    let mut printer = SqlPrinter::default();
    printer.statement(statement);
    printer.text
}

/// The text so far.
#[derive(Default)]
struct SqlPrinter {
    text: String,
    /// Whether the next token stands right behind the last one.
    is_open: bool,
}

impl SqlPrinter {
    /// Appends a token, with a blank before it where one may stand.
    fn put(&mut self, token: &str) {
        if !self.text.is_empty() && !self.is_open {
            self.text.push(' ');
        }
        self.text.push_str(token);
        self.is_open = token.ends_with(['(', '[']);
    }

    /// Appends a token without a blank before it.
    fn glue(&mut self, token: &str) {
        self.text.push_str(token);
        self.is_open = token.ends_with(['(', '[']) || token == ".";
    }

    fn put_if(&mut self, condition: bool, token: &str) {
        if condition {
            self.put(token);
        }
    }

    /// Appends items with commas between.
    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        for (index, one) in items.iter().enumerate() {
            if index > 0 {
                self.glue(",");
            }
            item(self, one);
        }
    }

    /// Appends `(items)`.
    fn parens<T>(&mut self, items: &[T], item: impl FnMut(&mut Self, &T)) {
        self.put("(");
        self.list(items, item);
        self.glue(")");
    }

    /// Appends `(items)` if there are any.
    fn optional_parens<T>(&mut self, items: &[T], item: impl FnMut(&mut Self, &T)) {
        if !items.is_empty() {
            self.parens(items, item);
        }
    }
}

#[cfg(test)]
mod tests;
