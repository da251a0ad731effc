//! GRANT and REVOKE.

use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    DropBehavior, MembershipStatement, ObjectName, PrivilegeName, PrivilegeObject,
    PrivilegeStatement, RoleName, Statement,
};

impl StatementParser<'_> {
    pub(in crate::grammar) fn parse_grant(&mut self, start: SourceRange) -> Parsed<Statement> {
        if self.is_other_grant() {
            return self.parse_other(start);
        }
        let is_revoke = self.at(SqlKeyword::Revoke);
        self.advance();
        let only_grant_option =
            is_revoke && self.take_words(&[SqlKeyword::Grant, SqlKeyword::Option, SqlKeyword::For]);
        let only_admin_option = is_revoke
            && !only_grant_option
            && self.take_words(&[SqlKeyword::Admin, SqlKeyword::Option, SqlKeyword::For]);
        let is_all = self.at(SqlKeyword::All);
        let privileges = self.parse_privileges()?;
        let to_or_from = if is_revoke { SqlKeyword::From } else { SqlKeyword::To };
        let is_role = !is_all && !only_grant_option && self.at(to_or_from);
        if !is_role && (only_admin_option || !self.at(SqlKeyword::On)) {
            return Err(self.unexpected());
        }
        if is_role {
            return self.parse_membership(start, is_revoke, only_admin_option, privileges);
        }
        self.expect(SqlKeyword::On)?;
        let kind = self.parse_privilege_object()?;
        let objects = self.list(|parser| parser.parse_granted_name(kind))?;
        self.expect(to_or_from)?;
        let roles = self.parse_grantees()?;
        let with_grant_option = !is_revoke && self.take(SqlKeyword::With);
        if with_grant_option {
            self.expect_words(&[SqlKeyword::Grant, SqlKeyword::Option])?;
        }
        let granted_by = self.parse_granted_by()?;
        let behavior = if is_revoke { self.parse_behavior() } else { DropBehavior::Unspecified };
        Ok(Statement::Privilege(Box::new(PrivilegeStatement {
            is_revoke,
            only_grant_option,
            privileges,
            kind,
            objects,
            roles,
            with_grant_option,
            granted_by,
            behavior,
            range: self.range_from(start),
        })))
    }

    /// Whether privileges on something without a tree are granted: functions, parameters, large
    /// objects. Looks up to the words behind ON.
    fn is_other_grant(&self) -> bool {
        let mut ahead = 1;
        loop {
            match self.peek_at(ahead) {
                TokenKind::Keyword(SqlKeyword::On) => break,
                TokenKind::End | TokenKind::Invalid | TokenKind::Semicolon => return false,
                TokenKind::Keyword(SqlKeyword::To | SqlKeyword::From) => return false,
                _ => ahead += 1,
            }
        }
        let word = match self.peek_at(ahead + 1) {
            TokenKind::Keyword(word) => word,
            _ => return false,
        };
        matches!(
            word,
            SqlKeyword::Function
                | SqlKeyword::Procedure
                | SqlKeyword::Routine
                | SqlKeyword::Parameter
        ) && self.is_name_ahead(ahead + 2, NamePlace::Label)
            || (word == SqlKeyword::Large && self.at_ahead(ahead + 2, SqlKeyword::Object))
    }

    /// Parses privileges; ALL without columns is none of them.
    fn parse_privileges(&mut self) -> Parsed<Vec<PrivilegeName>> {
        if !self.at(SqlKeyword::All) {
            return self.list(|parser| {
                let is_word = matches!(
                    parser.keyword(),
                    Some(SqlKeyword::Select | SqlKeyword::References | SqlKeyword::Create)
                );
                if parser.take_words(&[SqlKeyword::Alter, SqlKeyword::System]) {
                    let range = parser.range();
                    let name = crate::tree::SqlName { text: "alter system".to_owned(), range };
                    return Ok(PrivilegeName { name, columns: Vec::new() });
                }
                let name = if is_word { parser.take_name() } else { parser.column_name()? };
                Ok(PrivilegeName { name, columns: parser.optional_columns()? })
            });
        }
        let name = self.take_name();
        self.take(SqlKeyword::Privileges);
        let columns = self.optional_columns()?;
        Ok(if columns.is_empty() { Vec::new() } else { vec![PrivilegeName { name, columns }] })
    }

    fn parse_membership(
        &mut self,
        start: SourceRange,
        is_revoke: bool,
        only_admin_option: bool,
        privileges: Vec<PrivilegeName>,
    ) -> Parsed<Statement> {
        self.advance();
        let members = self.role_list()?;
        let with_admin_option = !is_revoke && self.take(SqlKeyword::With);
        if with_admin_option {
            self.expect_words(&[SqlKeyword::Admin, SqlKeyword::Option])?;
        }
        let granted_by = self.parse_granted_by()?;
        let behavior = if is_revoke { self.parse_behavior() } else { DropBehavior::Unspecified };
        Ok(Statement::Membership(Box::new(MembershipStatement {
            is_revoke,
            only_admin_option,
            roles: privileges.into_iter().map(|privilege| privilege.name).collect(),
            members,
            with_admin_option,
            granted_by,
            behavior,
            range: self.range_from(start),
        })))
    }

    fn parse_granted_by(&mut self) -> Parsed<Option<RoleName>> {
        if !self.take(SqlKeyword::Granted) {
            return Ok(None);
        }
        self.expect(SqlKeyword::By)?;
        self.role_name().map(Some)
    }

    fn parse_grantees(&mut self) -> Parsed<Vec<RoleName>> {
        self.list(|parser| {
            parser.take(SqlKeyword::Group);
            parser.role_name()
        })
    }

    fn parse_privilege_object(&mut self) -> Parsed<PrivilegeObject> {
        if self.take(SqlKeyword::All) {
            let kind = match self.keyword() {
                Some(SqlKeyword::Tables) => PrivilegeObject::AllTables,
                Some(SqlKeyword::Sequences) => PrivilegeObject::AllSequences,
                Some(SqlKeyword::Functions) => PrivilegeObject::AllFunctions,
                Some(SqlKeyword::Procedures) => PrivilegeObject::AllProcedures,
                Some(SqlKeyword::Routines) => PrivilegeObject::AllRoutines,
                _ => return Err(self.unexpected()),
            };
            self.advance();
            self.expect_words(&[SqlKeyword::In, SqlKeyword::Schema])?;
            return Ok(kind);
        }
        // Each of these words may also be a table's name.
        if !self.at(SqlKeyword::Table) && !self.is_name_ahead(1, NamePlace::Label) {
            return Ok(PrivilegeObject::Table);
        }
        let is_end =
            matches!(self.peek_at(1), TokenKind::Keyword(SqlKeyword::To | SqlKeyword::From));
        let kind = match self.keyword() {
            _ if is_end && !self.at(SqlKeyword::Table) => return Ok(PrivilegeObject::Table),
            Some(SqlKeyword::Table) => PrivilegeObject::Table,
            Some(SqlKeyword::Sequence) => PrivilegeObject::Sequence,
            Some(SqlKeyword::Database) => PrivilegeObject::Database,
            Some(SqlKeyword::Domain) => PrivilegeObject::Domain,
            Some(SqlKeyword::Language) => PrivilegeObject::Language,
            Some(SqlKeyword::Schema) => PrivilegeObject::Schema,
            Some(SqlKeyword::Tablespace) => PrivilegeObject::Tablespace,
            Some(SqlKeyword::Type) => PrivilegeObject::Type,
            Some(SqlKeyword::Foreign) => {
                self.advance();
                if self.take(SqlKeyword::Server) {
                    return Ok(PrivilegeObject::ForeignServer);
                }
                self.expect_words(&[SqlKeyword::Data, SqlKeyword::Wrapper])?;
                return Ok(PrivilegeObject::ForeignDataWrapper);
            }
            _ => return Ok(PrivilegeObject::Table),
        };
        self.advance();
        Ok(kind)
    }

    fn parse_granted_name(&mut self, kind: PrivilegeObject) -> Parsed<ObjectName> {
        let is_qualified = matches!(
            kind,
            PrivilegeObject::Table
                | PrivilegeObject::Sequence
                | PrivilegeObject::Domain
                | PrivilegeObject::Type
        );
        if is_qualified {
            return self.object_name();
        }
        let name = self.column_name()?;
        let range = name.range;
        Ok(ObjectName { parts: vec![name], range })
    }
}
