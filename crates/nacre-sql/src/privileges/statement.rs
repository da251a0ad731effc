//! The statements, as they were read.

use datafusion::sql::sqlparser::ast::ObjectName;

use super::rights::Rights;
use super::roles::RoleOptions;
use super::syntax;
use crate::error::{Error, ErrorKind, Result};
use crate::settings::Settings;
use nacre_store::{AccessState, PUBLIC_ROLE, RoleDef};

/// A statement about roles, privileges or owners.
pub(crate) enum PrivilegeStatement {
    CreateRole { name: Who, options: Box<RoleOptions> },
    AlterRole { role: Who, options: Box<RoleOptions> },
    RenameRole { role: Who, to: Who },
    DropRoles { roles: Vec<Who>, if_exists: bool },
    Members(Members),
    Grant(GrantStatement),
    Owner(OwnerStatement),
    Reassign { from: Vec<Who>, to: Who },
    DropOwned { roles: Vec<Who>, cascades: bool },
}

/// How a statement names a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Named(String),
    Current,
    Session,
    Public,
}

/// GRANT and REVOKE of roles.
#[derive(Debug)]
pub(crate) struct Members {
    pub(super) is_grant: bool,
    pub(super) roles: Vec<Who>,
    pub(super) members: Vec<Who>,
    /// WITH ADMIN OPTION, or ADMIN OPTION FOR.
    pub(super) admin: bool,
}

/// GRANT and REVOKE of privileges.
#[derive(Debug)]
pub(crate) struct GrantStatement {
    pub(super) is_grant: bool,
    /// `None` is ALL.
    pub(super) rights: Option<Rights>,
    pub(super) on: On,
    pub(super) grantees: Vec<Who>,
    /// WITH GRANT OPTION, or GRANT OPTION FOR.
    pub(super) option: bool,
    pub(super) granted_by: Option<Who>,
    pub(super) cascades: bool,
}

/// What privileges are on.
#[derive(Debug)]
pub(super) enum On {
    /// Tables, views and sequences.
    Relations(Vec<ObjectName>),
    Sequences(Vec<ObjectName>),
    AllTables,
    AllSequences,
    Schemas,
    Databases,
}

/// ALTER ... OWNER TO.
#[derive(Debug)]
pub(crate) struct OwnerStatement {
    pub(super) object: Owned,
    pub(super) if_exists: bool,
    pub(super) to: Who,
}

/// What gets another owner.
#[derive(Debug)]
pub(super) enum Owned {
    Table(ObjectName),
    View(ObjectName),
    Sequence(ObjectName),
    Schema,
    Database,
}

impl PrivilegeStatement {
    /// Returns the command tag.
    pub(crate) fn tag(&self) -> &'static str {
        match self {
            Self::CreateRole { .. } => "CREATE ROLE",
            Self::AlterRole { .. } | Self::RenameRole { .. } => "ALTER ROLE",
            Self::DropRoles { .. } => "DROP ROLE",
            Self::Members(Members { is_grant: true, .. }) => "GRANT ROLE",
            Self::Members(_) => "REVOKE ROLE",
            Self::Grant(GrantStatement { is_grant: true, .. }) => "GRANT",
            Self::Grant(_) => "REVOKE",
            Self::Reassign { .. } => "REASSIGN OWNED",
            Self::DropOwned { .. } => "DROP OWNED",
            Self::Owner(statement) => match statement.object {
                Owned::Table(_) => "ALTER TABLE",
                Owned::View(_) => "ALTER VIEW",
                Owned::Sequence(_) => "ALTER SEQUENCE",
                Owned::Schema => "ALTER SCHEMA",
                Owned::Database => "ALTER DATABASE",
            },
        }
    }

    /// Runs the statement, in the transaction at work; returns a warning if it did less than it
    /// says.
    ///
    /// # Errors
    /// 42501, 42704, 42710, 2BP01 and the like.
    pub(crate) fn run(
        &self,
        store: &nacre_store::Store,
        settings: &Settings,
    ) -> Result<Option<String>> {
        match self {
            Self::CreateRole { name, options } => {
                super::roles::create(store, settings, name, options).map(|()| None)
            }
            Self::AlterRole { role, options } => {
                super::roles::alter(store, settings, role, options).map(|()| None)
            }
            Self::RenameRole { role, to } => {
                super::roles::rename(store, settings, role, to).map(|()| None)
            }
            Self::DropRoles { roles, if_exists } => {
                super::roles::drop_all(store, settings, roles, *if_exists).map(|()| None)
            }
            Self::Members(statement) => super::members::run(store, settings, statement),
            Self::Grant(statement) => super::grants::run(store, settings, statement),
            Self::Owner(statement) => super::owners::run(store, settings, statement),
            Self::Reassign { from, to } => {
                super::owners::reassign(store, settings, from, to).map(|()| None)
            }
            Self::DropOwned { roles, cascades } => {
                super::drop_owned::run(store, settings, roles, *cascades)
            }
        }
    }
}

/// Parses `sql` if it is one of these statements.
///
/// # Errors
/// `Syntax` with the place, `not supported`.
pub(crate) fn parse_privileges(sql: &str) -> Result<Option<PrivilegeStatement>> {
    syntax::parse(sql)
}

impl Who {
    /// Returns the role that is meant.
    ///
    /// # Errors
    /// 42704.
    pub(super) fn find<'a>(
        &self,
        state: &'a AccessState,
        settings: &Settings,
    ) -> Result<&'a RoleDef> {
        let found = match self {
            Self::Named(name) => state.role_named(name),
            Self::Current => state.role(settings.acting().oid),
            Self::Session => state.role(settings.session_role()),
            Self::Public => None,
        };
        found.map(AsRef::as_ref).ok_or_else(|| {
            let message = match self {
                Self::Named(name) => format!("role \"{name}\" does not exist"),
                Self::Public => "role \"public\" does not exist".to_owned(),
                Self::Current | Self::Session => {
                    format!("role with OID {} does not exist", settings.acting().oid)
                }
            };
            Error::new(ErrorKind::UndefinedObject, message)
        })
    }

    /// Returns the number of the role that is meant, or of everybody.
    ///
    /// # Errors
    /// 42704.
    pub(super) fn find_or_public(&self, state: &AccessState, settings: &Settings) -> Result<u32> {
        match self {
            Self::Public => Ok(PUBLIC_ROLE),
            who => who.find(state, settings).map(|role| role.oid),
        }
    }

    /// Returns a name that a role may be given.
    ///
    /// # Errors
    /// 42939.
    pub(super) fn new_name(&self) -> Result<&str> {
        let reserved = |name: &str| {
            let message = format!("role name \"{name}\" is reserved");
            Error::new(ErrorKind::InvalidStatement, message).with_code("42939")
        };
        match self {
            Self::Named(name) if name.starts_with("pg_") => {
                let detail = "Role names starting with \"pg_\" are reserved.";
                Err(reserved(name).with_detail(detail))
            }
            Self::Named(name) if name == "none" || name == "public" => Err(reserved(name)),
            Self::Named(name) => Ok(name),
            Self::Public => Err(reserved("public")),
            Self::Current | Self::Session => {
                let name = if *self == Self::Current { "CURRENT_USER" } else { "SESSION_USER" };
                let message = format!("{name} cannot be used as a role name here");
                Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42939"))
            }
        }
    }
}
