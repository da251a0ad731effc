//! DROP, TRUNCATE and COMMENT.

use crate::error::SyntaxError;
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::Keyword;
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
        if self.take(Keyword::Cascade) {
            DropBehavior::Cascade
        } else if self.take(Keyword::Restrict) {
            DropBehavior::Restrict
        } else {
            DropBehavior::Unspecified
        }
    }

    pub(in crate::grammar) fn parse_drop(&mut self, start: SourceRange) -> Parsed<Statement> {
        if self.at_ahead(1, Keyword::Owned) {
            return self.parse_drop_owned(start);
        }
        let is_mapping = self.at_ahead(1, Keyword::User) && self.at_ahead(2, Keyword::Mapping);
        let Some((kind, form, words)) = self.object_kind(1).filter(|_| !is_mapping) else {
            return self.parse_other(start);
        };
        if matches!(kind, ObjectKind::Column | ObjectKind::Constraint) {
            return Err(self.unexpected_at(1));
        }
        for _ in 0..=words {
            self.advance();
        }
        let is_concurrent = kind == ObjectKind::Index && self.take(Keyword::Concurrently);
        let if_exists = self.parse_if_exists();
        let is_single = matches!(kind, ObjectKind::Database | ObjectKind::Tablespace);
        let names = if is_single {
            vec![self.dropped_name(form)?]
        } else {
            self.list(|parser| parser.dropped_name(form))?
        };
        if kind == ObjectKind::Database && (self.at(Keyword::With) || self.at(TokenKind::LeftParen))
        {
            let range = self.range();
            self.take(Keyword::With);
            self.paren_list(|parser| parser.expect(Keyword::Force))?;
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
            Keyword::Table => (ObjectKind::Table, NameForm::Qualified, 1),
            Keyword::View => (ObjectKind::View, NameForm::Qualified, 1),
            Keyword::Index => (ObjectKind::Index, NameForm::Qualified, 1),
            Keyword::Sequence => (ObjectKind::Sequence, NameForm::Qualified, 1),
            Keyword::Collation => (ObjectKind::Collation, NameForm::Qualified, 1),
            Keyword::Column => (ObjectKind::Column, NameForm::Qualified, 1),
            Keyword::Constraint => (ObjectKind::Constraint, NameForm::Single, 1),
            Keyword::Materialized if second(Keyword::View) => {
                (ObjectKind::MaterializedView, NameForm::Qualified, 2)
            }
            Keyword::Foreign if second(Keyword::Table) => {
                (ObjectKind::ForeignTable, NameForm::Qualified, 2)
            }
            Keyword::Schema => (ObjectKind::Schema, NameForm::Single, 1),
            Keyword::Database => (ObjectKind::Database, NameForm::Single, 1),
            Keyword::Tablespace => (ObjectKind::Tablespace, NameForm::Single, 1),
            Keyword::Extension => (ObjectKind::Extension, NameForm::Single, 1),
            Keyword::Language => (ObjectKind::Language, NameForm::Single, 1),
            Keyword::Role | Keyword::User | Keyword::Group => (ObjectKind::Role, NameForm::Role, 1),
            Keyword::Type => (ObjectKind::Type, NameForm::Type, 1),
            Keyword::Domain => (ObjectKind::Domain, NameForm::Type, 1),
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
        self.expect(Keyword::Truncate)?;
        self.take(Keyword::Table);
        let tables = self.list(Self::parse_relation)?;
        let restarts_identity = if self.take(Keyword::Restart) {
            self.expect(Keyword::Identity)?;
            Some(true)
        } else if self.take(Keyword::Continue) {
            self.expect(Keyword::Identity)?;
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
        if !self.at_ahead(1, Keyword::On) {
            return Err(self.unexpected_at(1));
        }
        let Some((kind, form, words)) = self.object_kind(2) else {
            return self.parse_other(start);
        };
        let is_other = matches!(kind, ObjectKind::Type | ObjectKind::Domain)
            || (kind == ObjectKind::Constraint && self.at_ahead(5, Keyword::Domain))
            || matches!(self.peek_at(2), TokenKind::Keyword(Keyword::User | Keyword::Group));
        if is_other {
            return self.parse_other(start);
        }
        for _ in 0..words + 2 {
            self.advance();
        }
        let form = if form == NameForm::Role { NameForm::Single } else { form };
        let name = self.dropped_name(form)?;
        let table = if kind == ObjectKind::Constraint {
            self.expect(Keyword::On)?;
            Some(self.object_name()?)
        } else {
            None
        };
        self.expect(Keyword::Is)?;
        let text = if self.take(Keyword::Null) { None } else { Some(self.expect_string()?) };
        let range = self.range_from(start);
        let statement = CommentStatement { kind, name, table, text, range };
        Ok(Statement::Comment(Box::new(statement)))
    }
}
