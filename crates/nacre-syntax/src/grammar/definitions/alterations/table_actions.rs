//! Operations of ALTER TABLE that are not about one column.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::tree::{AlterAction, AlterActionKind};

impl StatementParser<'_> {
    pub(super) fn parse_table_action(&mut self) -> Parsed<AlterAction> {
        let start = self.range();
        let kind = match self.keyword() {
            Some(Keyword::Add) => self.parse_add()?,
            Some(Keyword::Drop) => self.parse_drop_action()?,
            Some(Keyword::Alter) => self.parse_alter_action()?,
            Some(Keyword::Validate) => {
                self.advance();
                self.expect(Keyword::Constraint)?;
                AlterActionKind::ValidateConstraint(self.column_name()?)
            }
            Some(Keyword::Owner) => self.parse_owner()?,
            Some(Keyword::Set) => self.parse_set_action()?,
            Some(Keyword::Reset) => {
                self.advance();
                AlterActionKind::ResetOptions(self.parse_options()?)
            }
            _ => {
                self.parse_rare_action()?;
                AlterActionKind::Other
            }
        };
        Ok(AlterAction { kind, range: self.range_from(start) })
    }

    fn parse_add(&mut self) -> Parsed<AlterActionKind> {
        self.expect(Keyword::Add)?;
        if self.at_table_constraint() {
            let constraint = Box::new(self.parse_table_constraint()?);
            return Ok(AlterActionKind::AddConstraint(constraint));
        }
        self.take(Keyword::Column);
        let if_not_exists = self.parse_if_not_exists()?;
        let column = Box::new(self.parse_column()?);
        Ok(AlterActionKind::AddColumn { if_not_exists, column })
    }

    fn parse_drop_action(&mut self) -> Parsed<AlterActionKind> {
        self.expect(Keyword::Drop)?;
        let is_constraint = self.take(Keyword::Constraint);
        if !is_constraint {
            self.take(Keyword::Column);
        }
        let if_exists = self.parse_if_exists();
        let name = self.column_name()?;
        let behavior = self.parse_behavior();
        Ok(if is_constraint {
            AlterActionKind::DropConstraint { if_exists, name, behavior }
        } else {
            AlterActionKind::DropColumn { if_exists, name, behavior }
        })
    }

    fn parse_alter_action(&mut self) -> Parsed<AlterActionKind> {
        let start = self.expect(Keyword::Alter)?;
        if self.take(Keyword::Constraint) {
            let name = self.column_name()?;
            let attributes = self.parse_altered_attributes(start)?;
            return Ok(AlterActionKind::AlterConstraint(name, attributes));
        }
        self.take(Keyword::Column);
        if self.at(TokenKind::Integer) {
            // Columns of an index have numbers.
            self.advance();
            self.expect_words(&[Keyword::Set, Keyword::Statistics])?;
            self.expect_signed_integer()?;
            return Ok(AlterActionKind::Other);
        }
        let column = self.column_name()?;
        Ok(AlterActionKind::AlterColumn(column, self.parse_column_action()?))
    }

    fn parse_set_action(&mut self) -> Parsed<AlterActionKind> {
        self.expect(Keyword::Set)?;
        match self.keyword() {
            Some(Keyword::Without) => {
                self.advance();
                if !self.take(Keyword::Cluster) {
                    self.expect(Keyword::Oids)?;
                }
            }
            Some(Keyword::Logged | Keyword::Unlogged) => {
                self.advance();
            }
            Some(Keyword::Access) => {
                self.advance();
                self.expect(Keyword::Method)?;
                self.column_name()?;
            }
            Some(Keyword::Tablespace) => {
                self.advance();
                self.column_name()?;
                self.take(Keyword::Nowait);
            }
            _ => return self.parse_options().map(AlterActionKind::SetOptions),
        }
        Ok(AlterActionKind::Other)
    }

    /// Parses an operation that has no tree.
    fn parse_rare_action(&mut self) -> Parsed<()> {
        match self.keyword() {
            Some(Keyword::Enable | Keyword::Disable) => self.parse_switch(),
            Some(Keyword::Force) => {
                self.advance();
                self.expect_words(&[Keyword::Row, Keyword::Level, Keyword::Security])
            }
            Some(Keyword::No) => {
                self.advance();
                if self.take(Keyword::Force) {
                    return self.expect_words(&[Keyword::Row, Keyword::Level, Keyword::Security]);
                }
                self.expect(Keyword::Inherit)?;
                self.object_name().map(|_| ())
            }
            Some(Keyword::Inherit) => {
                self.advance();
                self.object_name().map(|_| ())
            }
            Some(Keyword::Cluster) => {
                self.advance();
                self.expect(Keyword::On)?;
                self.column_name().map(|_| ())
            }
            Some(Keyword::Of) => {
                self.advance();
                let first = self.expect_name(crate::grammar::names::NamePlace::TypeOrFunction)?;
                self.object_name_from(first).map(|_| ())
            }
            Some(Keyword::Not) => {
                self.advance();
                self.expect(Keyword::Of).map(|_| ())
            }
            Some(Keyword::Replica) => self.parse_replica_identity(),
            _ => Err(self.unexpected()),
        }
    }

    /// Parses ENABLE and DISABLE of triggers, rules and row level security.
    fn parse_switch(&mut self) -> Parsed<()> {
        let is_enable = self.at(Keyword::Enable);
        self.advance();
        let is_partial = is_enable && (self.take(Keyword::Always) || self.take(Keyword::Replica));
        if !is_partial && self.take(Keyword::Row) {
            return self.expect_words(&[Keyword::Level, Keyword::Security]);
        }
        if self.take(Keyword::Trigger) {
            if !is_partial && (self.take(Keyword::All) || self.take(Keyword::User)) {
                return Ok(());
            }
        } else {
            self.expect(Keyword::Rule)?;
        }
        self.column_name().map(|_| ())
    }

    fn parse_replica_identity(&mut self) -> Parsed<()> {
        self.expect_words(&[Keyword::Replica, Keyword::Identity])?;
        if self.take(Keyword::Nothing) || self.take(Keyword::Full) || self.take(Keyword::Default) {
            return Ok(());
        }
        self.expect_words(&[Keyword::Using, Keyword::Index])?;
        self.column_name().map(|_| ())
    }
}
