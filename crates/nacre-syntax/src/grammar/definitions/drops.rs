//! DROP, TRUNCATE and COMMENT.

use crate::error::SyntaxError;
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    CommentStatement, DropBehavior, DropStatement, ObjectKind, ObjectName, RoleName, Statement,
    TruncateStatement,
};

/// How the objects that a statement names are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameForm {
    Qualified,
    Single,
    Role,
    Type,
}

impl StatementParser<'_> {
    /// Parses CASCADE or RESTRICT, if one is there.
    pub(in crate::grammar) fn parse_behavior(&mut self) -> DropBehavior {
        if self.take(SqlKeyword::Cascade) {
            DropBehavior::Cascade
        } else if self.take(SqlKeyword::Restrict) {
            DropBehavior::Restrict
        } else {
            DropBehavior::Unspecified
        }
    }

    pub(in crate::grammar) fn parse_drop(&mut self, start: SourceRange) -> Parsed<Statement> {
        if self.at_ahead(1, SqlKeyword::Owned) {
            return self.parse_drop_owned(start);
        }
        let is_mapping =
            self.at_ahead(1, SqlKeyword::User) && self.at_ahead(2, SqlKeyword::Mapping);
        let Some((kind, form, words)) = self.object_kind(1).filter(|_| !is_mapping) else {
            return self.parse_other(start);
        };
        if matches!(kind, ObjectKind::Column | ObjectKind::Constraint) {
            return Err(self.unexpected_at(1));
        }
        for _ in 0..=words {
            self.advance();
        }
        let is_concurrent = kind == ObjectKind::Index && self.take(SqlKeyword::Concurrently);
        let if_exists = self.parse_if_exists();
        let is_single = matches!(kind, ObjectKind::Database | ObjectKind::Tablespace);
        let names = if is_single {
            vec![self.dropped_name(form)?]
        } else {
            self.list(|parser| parser.dropped_name(form))?
        };
        if kind == ObjectKind::Database
            && (self.at(SqlKeyword::With) || self.at(TokenKind::LeftParen))
        {
            let range = self.range();
            self.take(SqlKeyword::With);
            self.paren_list(|parser| parser.expect(SqlKeyword::Force))?;
            return Err(SyntaxError::not_supported("DROP DATABASE with FORCE", range));
        }
        let has_behavior = !is_single && kind != ObjectKind::Role;
        let behavior = if has_behavior { self.parse_behavior() } else { DropBehavior::Unspecified };
        let range = self.range_from(start);
        let statement = DropStatement { kind, is_concurrent, if_exists, names, behavior, range };
        Ok(Statement::Drop(Box::new(statement)))
    }

    /// Returns what the words so many ahead name, how it is named, and how many words they are.
    fn object_kind(&self, ahead: usize) -> Option<(ObjectKind, NameForm, usize)> {
        let TokenKind::Keyword(keyword) = self.peek_at(ahead) else { return None };
        let second = |word| self.at_ahead(ahead + 1, word);
        Some(match keyword {
            SqlKeyword::Table => (ObjectKind::Table, NameForm::Qualified, 1),
            SqlKeyword::View => (ObjectKind::View, NameForm::Qualified, 1),
            SqlKeyword::Index => (ObjectKind::Index, NameForm::Qualified, 1),
            SqlKeyword::Sequence => (ObjectKind::Sequence, NameForm::Qualified, 1),
            SqlKeyword::Collation => (ObjectKind::Collation, NameForm::Qualified, 1),
            SqlKeyword::Column => (ObjectKind::Column, NameForm::Qualified, 1),
            SqlKeyword::Constraint => (ObjectKind::Constraint, NameForm::Single, 1),
            SqlKeyword::Materialized if second(SqlKeyword::View) => {
                (ObjectKind::MaterializedView, NameForm::Qualified, 2)
            }
            SqlKeyword::Foreign if second(SqlKeyword::Table) => {
                (ObjectKind::ForeignTable, NameForm::Qualified, 2)
            }
            SqlKeyword::Schema => (ObjectKind::Schema, NameForm::Single, 1),
            SqlKeyword::Database => (ObjectKind::Database, NameForm::Single, 1),
            SqlKeyword::Tablespace => (ObjectKind::Tablespace, NameForm::Single, 1),
            SqlKeyword::Extension => (ObjectKind::Extension, NameForm::Single, 1),
            SqlKeyword::Language => (ObjectKind::Language, NameForm::Single, 1),
            SqlKeyword::Role | SqlKeyword::User | SqlKeyword::Group => {
                (ObjectKind::Role, NameForm::Role, 1)
            }
            SqlKeyword::Type => (ObjectKind::Type, NameForm::Type, 1),
            SqlKeyword::Domain => (ObjectKind::Domain, NameForm::Type, 1),
            _ => return None,
        })
    }

    fn dropped_name(&mut self, form: NameForm) -> Parsed<ObjectName> {
        let start = self.range();
        match form {
            NameForm::Qualified => self.object_name(),
            NameForm::Single => {
                let name = self.column_name()?;
                Ok(ObjectName { parts: vec![name], range: start })
            }
            NameForm::Role => {
                let RoleName::Named(name) = self.role_name()? else {
                    return Err(SyntaxError::not_supported("a special role in DROP ROLE", start));
                };
                Ok(ObjectName { parts: vec![name], range: start })
            }
            NameForm::Type => {
                if self.at_builtin_type() {
                    let what = "a type that is words of the grammar here";
                    return Err(SyntaxError::not_supported(what, start));
                }
                let first = self.expect_name(NamePlace::TypeOrFunction)?;
                self.object_name_from(first)
            }
        }
    }

    pub(in crate::grammar) fn parse_truncate(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Truncate)?;
        self.take(SqlKeyword::Table);
        let tables = self.list(Self::parse_relation)?;
        let restarts_identity = if self.take(SqlKeyword::Restart) {
            self.expect(SqlKeyword::Identity)?;
            Some(true)
        } else if self.take(SqlKeyword::Continue) {
            self.expect(SqlKeyword::Identity)?;
            Some(false)
        } else {
            None
        };
        let behavior = self.parse_behavior();
        let range = self.range_from(start);
        let statement = TruncateStatement { tables, restarts_identity, behavior, range };
        Ok(Statement::Truncate(Box::new(statement)))
    }

    pub(in crate::grammar) fn parse_comment(&mut self, start: SourceRange) -> Parsed<Statement> {
        if !self.at_ahead(1, SqlKeyword::On) {
            return Err(self.unexpected_at(1));
        }
        let Some((kind, form, words)) = self.object_kind(2) else {
            return self.parse_other(start);
        };
        let is_other = matches!(kind, ObjectKind::Type | ObjectKind::Domain)
            || (kind == ObjectKind::Constraint && self.at_ahead(5, SqlKeyword::Domain))
            || matches!(self.peek_at(2), TokenKind::Keyword(SqlKeyword::User | SqlKeyword::Group));
        if is_other {
            return self.parse_other(start);
        }
        for _ in 0..words + 2 {
            self.advance();
        }
        let form = if form == NameForm::Role { NameForm::Single } else { form };
        let name = self.dropped_name(form)?;
        let table = if kind == ObjectKind::Constraint {
            self.expect(SqlKeyword::On)?;
            Some(self.object_name()?)
        } else {
            None
        };
        self.expect(SqlKeyword::Is)?;
        let text = if self.take(SqlKeyword::Null) { None } else { Some(self.expect_string()?) };
        let range = self.range_from(start);
        let statement = CommentStatement { kind, name, table, text, range };
        Ok(Statement::Comment(Box::new(statement)))
    }
}
