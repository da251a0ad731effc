//! Operations of ALTER TABLE that are not about one column.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::tree::{AlterAction, AlterActionKind};

impl StatementParser<'_> {
    pub(super) fn parse_table_action(&mut self) -> Parsed<AlterAction> {
        let start = self.range();
        let kind = match self.keyword() {
            Some(SqlKeyword::Add) => self.parse_add()?,
            Some(SqlKeyword::Drop) => self.parse_drop_action()?,
            Some(SqlKeyword::Alter) => self.parse_alter_action()?,
            Some(SqlKeyword::Validate) => {
                self.advance();
                self.expect(SqlKeyword::Constraint)?;
                AlterActionKind::ValidateConstraint(self.column_name()?)
            }
            Some(SqlKeyword::Owner) => self.parse_owner()?,
            Some(SqlKeyword::Set) => self.parse_set_action()?,
            Some(SqlKeyword::Reset) => {
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
        self.expect(SqlKeyword::Add)?;
        if self.at_table_constraint() {
            let constraint = Box::new(self.parse_table_constraint()?);
            return Ok(AlterActionKind::AddConstraint(constraint));
        }
        self.take(SqlKeyword::Column);
        let if_not_exists = self.parse_if_not_exists()?;
        let column = Box::new(self.parse_column()?);
        Ok(AlterActionKind::AddColumn { if_not_exists, column })
    }

    fn parse_drop_action(&mut self) -> Parsed<AlterActionKind> {
        self.expect(SqlKeyword::Drop)?;
        let is_constraint = self.take(SqlKeyword::Constraint);
        if !is_constraint {
            self.take(SqlKeyword::Column);
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
        let start = self.expect(SqlKeyword::Alter)?;
        if self.take(SqlKeyword::Constraint) {
            let name = self.column_name()?;
            let attributes = self.parse_altered_attributes(start)?;
            return Ok(AlterActionKind::AlterConstraint(name, attributes));
        }
        self.take(SqlKeyword::Column);
        if self.at(TokenKind::Integer) {
            // Columns of an index have numbers.
            self.advance();
            self.expect_words(&[SqlKeyword::Set, SqlKeyword::Statistics])?;
            self.expect_signed_integer()?;
            return Ok(AlterActionKind::Other);
        }
        let column = self.column_name()?;
        Ok(AlterActionKind::AlterColumn(column, self.parse_column_action()?))
    }

    fn parse_set_action(&mut self) -> Parsed<AlterActionKind> {
        self.expect(SqlKeyword::Set)?;
        match self.keyword() {
            Some(SqlKeyword::Without) => {
                self.advance();
                if !self.take(SqlKeyword::Cluster) {
                    self.expect(SqlKeyword::Oids)?;
                }
            }
            Some(SqlKeyword::Logged | SqlKeyword::Unlogged) => {
                self.advance();
            }
            Some(SqlKeyword::Access) => {
                self.advance();
                self.expect(SqlKeyword::Method)?;
                self.column_name()?;
            }
            Some(SqlKeyword::Tablespace) => {
                self.advance();
                self.column_name()?;
                self.take(SqlKeyword::Nowait);
            }
            _ => return self.parse_options().map(AlterActionKind::SetOptions),
        }
        Ok(AlterActionKind::Other)
    }

    /// Parses an operation that has no tree.
    fn parse_rare_action(&mut self) -> Parsed<()> {
        match self.keyword() {
            Some(SqlKeyword::Enable | SqlKeyword::Disable) => self.parse_switch(),
            Some(SqlKeyword::Force) => {
                self.advance();
                self.expect_words(&[SqlKeyword::Row, SqlKeyword::Level, SqlKeyword::Security])
            }
            Some(SqlKeyword::No) => {
                self.advance();
                if self.take(SqlKeyword::Force) {
                    return self.expect_words(&[
                        SqlKeyword::Row,
                        SqlKeyword::Level,
                        SqlKeyword::Security,
                    ]);
                }
                self.expect(SqlKeyword::Inherit)?;
                self.object_name().map(|_| ())
            }
            Some(SqlKeyword::Inherit) => {
                self.advance();
                self.object_name().map(|_| ())
            }
            Some(SqlKeyword::Cluster) => {
                self.advance();
                self.expect(SqlKeyword::On)?;
                self.column_name().map(|_| ())
            }
            Some(SqlKeyword::Of) => {
                self.advance();
                let first = self.expect_name(crate::grammar::names::NamePlace::TypeOrFunction)?;
                self.object_name_from(first).map(|_| ())
            }
            Some(SqlKeyword::Not) => {
                self.advance();
                self.expect(SqlKeyword::Of).map(|_| ())
            }
            Some(SqlKeyword::Replica) => self.parse_replica_identity(),
            _ => Err(self.unexpected()),
        }
    }

    /// Parses ENABLE and DISABLE of triggers, rules and row level security.
    fn parse_switch(&mut self) -> Parsed<()> {
        let is_enable = self.at(SqlKeyword::Enable);
        self.advance();
        let is_partial =
            is_enable && (self.take(SqlKeyword::Always) || self.take(SqlKeyword::Replica));
        if !is_partial && self.take(SqlKeyword::Row) {
            return self.expect_words(&[SqlKeyword::Level, SqlKeyword::Security]);
        }
        if self.take(SqlKeyword::Trigger) {
            if !is_partial && (self.take(SqlKeyword::All) || self.take(SqlKeyword::User)) {
                return Ok(());
            }
        } else {
            self.expect(SqlKeyword::Rule)?;
        }
        self.column_name().map(|_| ())
    }

    fn parse_replica_identity(&mut self) -> Parsed<()> {
        self.expect_words(&[SqlKeyword::Replica, SqlKeyword::Identity])?;
        if self.take(SqlKeyword::Nothing)
            || self.take(SqlKeyword::Full)
            || self.take(SqlKeyword::Default)
        {
            return Ok(());
        }
        self.expect_words(&[SqlKeyword::Using, SqlKeyword::Index])?;
        self.column_name().map(|_| ())
    }
}
