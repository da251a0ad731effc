//! ALTER TABLE, INDEX, VIEW and SEQUENCE.

mod column_actions;
mod table_actions;

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    AlterAction, AlterActionKind, AlterTable, ObjectKind, ObjectName, RelationName, Statement,
};

impl StatementParser<'_> {
    pub(in crate::grammar) fn parse_alter(&mut self, start: SourceRange) -> Parsed<Statement> {
        let second = match self.peek_at(1) {
            TokenKind::Keyword(keyword) => keyword,
            _ => return Err(self.unexpected_at(1)),
        };
        let (kind, words) = match second {
            SqlKeyword::Table => (ObjectKind::Table, 1),
            SqlKeyword::Index => (ObjectKind::Index, 1),
            SqlKeyword::View => (ObjectKind::View, 1),
            SqlKeyword::Sequence => (ObjectKind::Sequence, 1),
            SqlKeyword::Materialized if self.at_ahead(2, SqlKeyword::View) => {
                (ObjectKind::MaterializedView, 2)
            }
            SqlKeyword::Schema => return self.parse_alter_named(start, ObjectKind::Schema),
            SqlKeyword::Database => return self.parse_alter_named(start, ObjectKind::Database),
            SqlKeyword::Role | SqlKeyword::User => return self.parse_alter_role_or_name(start),
            _ => return self.parse_other(start),
        };
        if self.at_ahead(words + 1, SqlKeyword::All) {
            return self.parse_all_in_tablespace(start, kind, words);
        }
        for _ in 0..=words {
            self.advance();
        }
        let if_exists = self.parse_if_exists();
        let table = if kind == ObjectKind::Table {
            self.parse_relation()?
        } else {
            RelationName { name: self.object_name()?, is_only: false }
        };
        self.parse_alteration(start, kind, if_exists, table)
    }

    /// Parses ALTER TABLE ALL IN TABLESPACE, which has no tree.
    fn parse_all_in_tablespace(
        &mut self,
        start: SourceRange,
        kind: ObjectKind,
        words: usize,
    ) -> Parsed<Statement> {
        for _ in 0..words + 2 {
            self.advance();
        }
        self.expect_words(&[SqlKeyword::In, SqlKeyword::Tablespace])?;
        self.column_name()?;
        if self.take(SqlKeyword::Owned) {
            self.expect(SqlKeyword::By)?;
            self.role_list()?;
        }
        self.expect_words(&[SqlKeyword::Set, SqlKeyword::Tablespace])?;
        self.column_name()?;
        self.take(SqlKeyword::Nowait);
        let keyword = format!("ALTER {kind:?} ALL IN TABLESPACE").to_uppercase();
        Ok(Statement::Other { keyword, range: self.range_from(start) })
    }

    fn parse_alteration(
        &mut self,
        start: SourceRange,
        kind: ObjectKind,
        if_exists: bool,
        table: RelationName,
    ) -> Parsed<Statement> {
        let is_sequence = kind == ObjectKind::Sequence;
        let is_option = is_sequence
            && !matches!(
                self.keyword(),
                Some(
                    SqlKeyword::Rename
                        | SqlKeyword::Set
                        | SqlKeyword::Reset
                        | SqlKeyword::Owner
                        | SqlKeyword::Add
                        | SqlKeyword::Alter
                        | SqlKeyword::Drop
                )
            );
        if is_option && !self.at_logged() {
            return self.parse_alter_sequence(start, if_exists, table.name);
        }
        let actions = match self.parse_sole_action(kind)? {
            Some(action) => vec![action],
            None => self.list(Self::parse_table_action)?,
        };
        let range = self.range_from(start);
        let statement = AlterTable { kind, if_exists, table, actions, range };
        Ok(Statement::AlterTable(Box::new(statement)))
    }

    fn at_logged(&self) -> bool {
        self.at_words(&[SqlKeyword::Set, SqlKeyword::Logged])
    }

    /// Parses an operation that stands alone: RENAME, SET SCHEMA, or of partitions.
    fn parse_sole_action(&mut self, kind: ObjectKind) -> Parsed<Option<AlterAction>> {
        let start = self.range();
        let action = match self.keyword() {
            Some(SqlKeyword::Rename) => self.parse_rename(kind)?,
            Some(SqlKeyword::Set) if self.at_ahead(1, SqlKeyword::Schema) => {
                self.advance();
                self.advance();
                AlterActionKind::SetSchema(self.column_name()?)
            }
            Some(SqlKeyword::Attach | SqlKeyword::Detach) => {
                self.parse_partition_action(kind == ObjectKind::Table)?;
                AlterActionKind::Other
            }
            Some(SqlKeyword::Depends) => {
                self.skip_action();
                AlterActionKind::Other
            }
            Some(SqlKeyword::No) if self.at_ahead(1, SqlKeyword::Depends) => {
                self.skip_action();
                AlterActionKind::Other
            }
            _ => return Ok(None),
        };
        Ok(Some(AlterAction { kind: action, range: self.range_from(start) }))
    }

    /// Goes on to the end of the statement: of operations without a tree.
    fn skip_action(&mut self) {
        while !matches!(self.peek(), TokenKind::End | TokenKind::Invalid | TokenKind::Semicolon) {
            self.advance();
        }
    }

    fn parse_rename(&mut self, kind: ObjectKind) -> Parsed<AlterActionKind> {
        self.expect(SqlKeyword::Rename)?;
        if self.take(SqlKeyword::To) {
            return self.column_name().map(AlterActionKind::Rename);
        }
        if kind == ObjectKind::Table && self.take(SqlKeyword::Constraint) {
            let from = self.column_name()?;
            self.expect(SqlKeyword::To)?;
            return Ok(AlterActionKind::RenameConstraint(from, self.column_name()?));
        }
        if matches!(kind, ObjectKind::Index | ObjectKind::Sequence) {
            return Err(self.unexpected());
        }
        // COLUMN is reserved, so it cannot be the name.
        self.take(SqlKeyword::Column);
        let from = self.column_name()?;
        self.expect(SqlKeyword::To)?;
        Ok(AlterActionKind::RenameColumn(from, self.column_name()?))
    }

    /// Parses RENAME and OWNER TO of a schema or database; what else is altered has no tree.
    fn parse_alter_named(&mut self, start: SourceRange, kind: ObjectKind) -> Parsed<Statement> {
        let is_known =
            matches!(self.peek_at(3), TokenKind::Keyword(SqlKeyword::Rename | SqlKeyword::Owner));
        if !is_known {
            return self.parse_other(start);
        }
        self.advance();
        self.advance();
        let range = self.range();
        let name = self.column_name()?;
        let name = ObjectName { parts: vec![name], range };
        let table = RelationName { name, is_only: false };
        let action_start = self.range();
        let action = if self.take(SqlKeyword::Rename) {
            self.expect(SqlKeyword::To)?;
            AlterActionKind::Rename(self.column_name()?)
        } else {
            self.parse_owner()?
        };
        let actions = vec![AlterAction { kind: action, range: self.range_from(action_start) }];
        let range = self.range_from(start);
        let statement = AlterTable { kind, if_exists: false, table, actions, range };
        Ok(Statement::AlterTable(Box::new(statement)))
    }

    /// Parses ALTER ROLE: RENAME TO, or options.
    fn parse_alter_role_or_name(&mut self, start: SourceRange) -> Parsed<Statement> {
        if self.at_ahead(3, SqlKeyword::Rename) {
            return self.parse_alter_named(start, ObjectKind::Role);
        }
        self.parse_alter_role(start)
    }

    fn parse_owner(&mut self) -> Parsed<AlterActionKind> {
        self.expect_words(&[SqlKeyword::Owner, SqlKeyword::To])?;
        self.role_name().map(AlterActionKind::OwnerTo)
    }
}
