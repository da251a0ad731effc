//! CREATE and ALTER ROLE, and objects that roles own.

use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::reserved_role;
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    OwnedStatement, RoleAction, RoleName, RoleOption, RoleStatement, SqlName, Statement,
};

/// Words that are no keywords and still attributes of a role.
const ROLE_ATTRIBUTES: [&str; 14] = [
    "superuser",
    "nosuperuser",
    "createrole",
    "nocreaterole",
    "replication",
    "noreplication",
    "createdb",
    "nocreatedb",
    "login",
    "nologin",
    "bypassrls",
    "nobypassrls",
    "noinherit",
    "inherit",
];

impl StatementParser<'_> {
    pub(super) fn parse_create_role(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect(SqlKeyword::Create)?;
        let action = match self.keyword() {
            Some(SqlKeyword::Role) => RoleAction::CreateRole,
            Some(SqlKeyword::User) => RoleAction::CreateUser,
            _ => RoleAction::CreateGroup,
        };
        self.advance();
        self.parse_role_options(start, action)
    }

    /// Parses ALTER ROLE with options; its forms with SET and RESET have no tree.
    pub(super) fn parse_alter_role(&mut self, start: SourceRange) -> Parsed<Statement> {
        let is_other = self.at_ahead(2, SqlKeyword::All)
            || self.at_ahead(2, SqlKeyword::Mapping)
            || matches!(
                self.peek_at(3),
                TokenKind::Keyword(
                    SqlKeyword::Set | SqlKeyword::Reset | SqlKeyword::In | SqlKeyword::Rename
                )
            );
        if is_other {
            return self.parse_other(start);
        }
        self.advance();
        self.advance();
        self.parse_role_options(start, RoleAction::Alter)
    }

    fn parse_role_options(&mut self, start: SourceRange, action: RoleAction) -> Parsed<Statement> {
        let name = self.role_name()?;
        if action != RoleAction::Alter {
            check_new_role(&name)?;
        }
        self.take(SqlKeyword::With);
        let mut options = Vec::new();
        while let Some(option) = self.parse_role_option(action)? {
            options.push(option);
        }
        let range = self.range_from(start);
        Ok(Statement::Role(Box::new(RoleStatement { action, name, options, range })))
    }

    fn parse_role_option(&mut self, action: RoleAction) -> Parsed<Option<RoleOption>> {
        let Some(keyword) = self.keyword() else { return self.parse_role_attribute() };
        let is_create = action != RoleAction::Alter;
        let option = match keyword {
            SqlKeyword::Inherit => return self.parse_role_attribute(),
            SqlKeyword::Encrypted => {
                self.advance();
                self.expect(SqlKeyword::Password)?;
                RoleOption::Password(Some(self.expect_string()?))
            }
            SqlKeyword::Password => {
                self.advance();
                let is_null = self.take(SqlKeyword::Null);
                RoleOption::Password(if is_null { None } else { Some(self.expect_string()?) })
            }
            SqlKeyword::Connection => {
                self.advance();
                self.expect(SqlKeyword::Limit)?;
                RoleOption::ConnectionLimit(i64::from(self.expect_signed_integer()?))
            }
            SqlKeyword::Valid => {
                self.advance();
                self.expect(SqlKeyword::Until)?;
                RoleOption::ValidUntil(self.expect_string()?)
            }
            SqlKeyword::User => {
                self.advance();
                RoleOption::Role(self.role_list()?)
            }
            SqlKeyword::Sysid if is_create => {
                self.advance();
                RoleOption::SystemId(self.expect_integer()?.to_string())
            }
            SqlKeyword::Admin if is_create => {
                self.advance();
                RoleOption::Admin(self.role_list()?)
            }
            SqlKeyword::Role if is_create => {
                self.advance();
                RoleOption::Role(self.role_list()?)
            }
            SqlKeyword::In if is_create => {
                self.advance();
                if !self.take(SqlKeyword::Role) {
                    self.expect(SqlKeyword::Group)?;
                }
                RoleOption::InRole(self.role_list()?)
            }
            _ => return Ok(None),
        };
        Ok(Some(option))
    }

    fn parse_role_attribute(&mut self) -> Parsed<Option<RoleOption>> {
        let is_name = matches!(self.peek(), TokenKind::Name | TokenKind::QuotedName);
        if !is_name && !self.at(SqlKeyword::Inherit) {
            return Ok(None);
        }
        let name: SqlName = self.take_name();
        if ROLE_ATTRIBUTES.contains(&name.text.as_str()) {
            return Ok(Some(RoleOption::Attribute(name)));
        }
        let message = format!("unrecognized role option \"{}\"", name.text);
        Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, name.range))
    }

    pub(super) fn parse_drop_owned(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect_words(&[SqlKeyword::Drop, SqlKeyword::Owned, SqlKeyword::By])?;
        let roles = self.role_list()?;
        let behavior = self.parse_behavior();
        let range = self.range_from(start);
        let statement = OwnedStatement { roles, new_owner: None, behavior, range };
        Ok(Statement::Owned(Box::new(statement)))
    }

    pub(in crate::grammar) fn parse_reassign(&mut self, start: SourceRange) -> Parsed<Statement> {
        self.expect_words(&[SqlKeyword::Reassign, SqlKeyword::Owned, SqlKeyword::By])?;
        let roles = self.role_list()?;
        self.expect(SqlKeyword::To)?;
        let new_owner = Some(self.role_name()?);
        let behavior = Default::default();
        let range = self.range_from(start);
        Ok(Statement::Owned(Box::new(OwnedStatement { roles, new_owner, behavior, range })))
    }
}

/// Refuses words that stand for roles where one is created.
fn check_new_role(name: &RoleName) -> Parsed<()> {
    let (word, range) = match name {
        RoleName::Named(_) => return Ok(()),
        RoleName::Public(range) => return Err(reserved_role("public", *range)),
        RoleName::CurrentUser(range) => ("CURRENT_USER", range),
        RoleName::CurrentRole(range) => ("CURRENT_ROLE", range),
        RoleName::SessionUser(range) => ("SESSION_USER", range),
    };
    let message = format!("{word} cannot be used as a role name here");
    Err(SyntaxError::new(SyntaxErrorKind::ReservedName, message, *range))
}
