//! ALTER TABLE.

use super::SqlPrinter;
use super::definitions::kind_words;
use crate::tree::{
    AlterAction, AlterActionKind, AlterTable, ColumnAction, IdentityChange, SqlName,
};

impl SqlPrinter {
    pub(super) fn alter_table(&mut self, alter: &AlterTable) {
        self.put("ALTER");
        self.put(kind_words(alter.kind));
        self.put_if(alter.if_exists, "IF EXISTS");
        self.relation(&alter.table);
        self.list(&alter.actions, Self::alter_action);
    }

    fn alter_action(&mut self, action: &AlterAction) {
        match &action.kind {
            AlterActionKind::AddColumn { if_not_exists, column } => {
                self.put("ADD COLUMN");
                self.put_if(*if_not_exists, "IF NOT EXISTS");
                self.column(column);
            }
            AlterActionKind::DropColumn { if_exists, name, behavior } => {
                self.put("DROP COLUMN");
                self.put_if(*if_exists, "IF EXISTS");
                self.name(name);
                self.behavior(*behavior);
            }
            AlterActionKind::AlterColumn(column, action) => {
                self.put("ALTER COLUMN");
                self.name(column);
                self.column_action(action);
            }
            AlterActionKind::AddConstraint(constraint) => {
                self.put("ADD");
                self.table_constraint(constraint);
            }
            AlterActionKind::AlterConstraint(name, attributes) => {
                self.put("ALTER CONSTRAINT");
                self.name(name);
                attributes.iter().for_each(|attribute| self.attribute(*attribute));
            }
            AlterActionKind::ValidateConstraint(name) => self.words("VALIDATE CONSTRAINT", name),
            AlterActionKind::DropConstraint { if_exists, name, behavior } => {
                self.put("DROP CONSTRAINT");
                self.put_if(*if_exists, "IF EXISTS");
                self.name(name);
                self.behavior(*behavior);
            }
            AlterActionKind::SetOptions(options) => {
                self.put("SET");
                self.parens(options, Self::storage_option);
            }
            AlterActionKind::ResetOptions(options) => {
                self.put("RESET");
                self.parens(options, Self::storage_option);
            }
            AlterActionKind::OwnerTo(role) => {
                self.put("OWNER TO");
                self.role(role);
            }
            AlterActionKind::SetSchema(name) => self.words("SET SCHEMA", name),
            AlterActionKind::Rename(name) => self.words("RENAME TO", name),
            AlterActionKind::RenameColumn(from, to) => {
                self.words("RENAME COLUMN", from);
                self.words("TO", to);
            }
            AlterActionKind::RenameConstraint(from, to) => {
                self.words("RENAME CONSTRAINT", from);
                self.words("TO", to);
            }
            AlterActionKind::Other => {}
        }
    }

    fn words(&mut self, words: &str, name: &SqlName) {
        self.put(words);
        self.name(name);
    }

    fn column_action(&mut self, action: &ColumnAction) {
        match action {
            ColumnAction::SetType { type_name, collation, using } => {
                self.put("TYPE");
                self.type_name(type_name);
                if let Some(collation) = collation {
                    self.put("COLLATE");
                    self.object(collation);
                }
                self.clause("USING", using.as_ref());
            }
            ColumnAction::SetDefault(value) => self.clause("SET DEFAULT", Some(value)),
            ColumnAction::DropDefault => self.put("DROP DEFAULT"),
            ColumnAction::SetNotNull => self.put("SET NOT NULL"),
            ColumnAction::DropNotNull => self.put("DROP NOT NULL"),
            ColumnAction::DropExpression(if_exists) => {
                self.put("DROP EXPRESSION");
                self.put_if(*if_exists, "IF EXISTS");
            }
            ColumnAction::AddIdentity { is_always, options } => {
                self.put("ADD GENERATED");
                self.put(if *is_always { "ALWAYS" } else { "BY DEFAULT" });
                self.put("AS IDENTITY");
                self.paren_sequence_options(options);
            }
            ColumnAction::SetIdentity(changes) => {
                changes.iter().for_each(|change| self.identity_change(change));
            }
            ColumnAction::DropIdentity(if_exists) => {
                self.put("DROP IDENTITY");
                self.put_if(*if_exists, "IF EXISTS");
            }
            ColumnAction::SetStatistics(target) => self.put(&format!("SET STATISTICS {target}")),
            ColumnAction::SetStorage(name) => self.words("SET STORAGE", name),
            ColumnAction::SetCompression(name) => {
                self.put("SET COMPRESSION");
                self.storage_word(&name.text);
            }
            ColumnAction::SetOptions(options) => {
                self.put("SET");
                self.parens(options, Self::storage_option);
            }
            ColumnAction::ResetOptions(options) => {
                self.put("RESET");
                self.parens(options, Self::storage_option);
            }
        }
    }

    fn identity_change(&mut self, change: &IdentityChange) {
        match change {
            IdentityChange::Generated(true) => self.put("SET GENERATED ALWAYS"),
            IdentityChange::Generated(false) => self.put("SET GENERATED BY DEFAULT"),
            IdentityChange::Restart(number) => {
                self.put("RESTART");
                number.iter().for_each(|number| self.put(number));
            }
            IdentityChange::Set(option) => {
                self.put("SET");
                self.sequence_option(option);
            }
        }
    }
}
