//! GRANT and REVOKE.

use super::SqlPrinter;
use crate::tree::{
    MembershipStatement, PrivilegeName, PrivilegeObject, PrivilegeStatement, RoleName,
};

impl SqlPrinter {
    pub(super) fn privilege(&mut self, statement: &PrivilegeStatement) {
        self.put(if statement.is_revoke { "REVOKE" } else { "GRANT" });
        self.put_if(statement.only_grant_option, "GRANT OPTION FOR");
        self.put_if(statement.privileges.is_empty(), "ALL PRIVILEGES");
        self.list(&statement.privileges, Self::privilege_name);
        self.put("ON");
        self.put(object_words(statement.kind));
        self.list(&statement.objects, Self::object);
        self.put(if statement.is_revoke { "FROM" } else { "TO" });
        self.roles(&statement.roles);
        self.put_if(statement.with_grant_option, "WITH GRANT OPTION");
        self.granted_by(statement.granted_by.as_ref());
        self.behavior(statement.behavior);
    }

    fn privilege_name(&mut self, privilege: &PrivilegeName) {
        match privilege.name.text.as_str() {
            word @ ("select" | "references" | "create" | "all" | "alter system") => self.put(word),
            _ => self.name(&privilege.name),
        }
        self.optional_parens(&privilege.columns, Self::name);
    }

    fn granted_by(&mut self, role: Option<&RoleName>) {
        if let Some(role) = role {
            self.put("GRANTED BY");
            self.role(role);
        }
    }

    pub(super) fn membership(&mut self, statement: &MembershipStatement) {
        self.put(if statement.is_revoke { "REVOKE" } else { "GRANT" });
        self.put_if(statement.only_admin_option, "ADMIN OPTION FOR");
        self.names(&statement.roles);
        self.put(if statement.is_revoke { "FROM" } else { "TO" });
        self.roles(&statement.members);
        self.put_if(statement.with_admin_option, "WITH ADMIN OPTION");
        self.granted_by(statement.granted_by.as_ref());
        self.behavior(statement.behavior);
    }
}

fn object_words(kind: PrivilegeObject) -> &'static str {
    match kind {
        PrivilegeObject::Table => "TABLE",
        PrivilegeObject::Sequence => "SEQUENCE",
        PrivilegeObject::Database => "DATABASE",
        PrivilegeObject::Domain => "DOMAIN",
        PrivilegeObject::ForeignDataWrapper => "FOREIGN DATA WRAPPER",
        PrivilegeObject::ForeignServer => "FOREIGN SERVER",
        PrivilegeObject::Language => "LANGUAGE",
        PrivilegeObject::Schema => "SCHEMA",
        PrivilegeObject::Tablespace => "TABLESPACE",
        PrivilegeObject::Type => "TYPE",
        PrivilegeObject::AllTables => "ALL TABLES IN SCHEMA",
        PrivilegeObject::AllSequences => "ALL SEQUENCES IN SCHEMA",
        PrivilegeObject::AllFunctions => "ALL FUNCTIONS IN SCHEMA",
        PrivilegeObject::AllProcedures => "ALL PROCEDURES IN SCHEMA",
        PrivilegeObject::AllRoutines => "ALL ROUTINES IN SCHEMA",
    }
}
