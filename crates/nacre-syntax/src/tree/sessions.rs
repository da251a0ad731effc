//! Transactions, settings, cursors, prepared statements, privileges and maintenance.

use super::{
    DropBehavior, ExpressionNode, ObjectName, OptionValue, QueryExpression, RelationName, RoleName,
    SqlName, Statement, TypeName, UtilityOption,
};
use crate::range::SourceRange;

/// BEGIN, COMMIT and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionStatement {
    /// BEGIN, START TRANSACTION
    Begin(Vec<TransactionMode>),
    /// COMMIT, END; AND CHAIN
    Commit(bool),
    /// ROLLBACK, ABORT; AND CHAIN
    Rollback(bool),
    /// SAVEPOINT
    Savepoint(SqlName),
    /// RELEASE
    Release(SqlName),
    /// ROLLBACK TO
    RollbackTo(SqlName),
    /// PREPARE TRANSACTION
    PrepareTransaction(String),
    /// COMMIT PREPARED
    CommitPrepared(String),
    /// ROLLBACK PREPARED
    RollbackPrepared(String),
}

/// A mode of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionMode {
    /// ISOLATION LEVEL
    Isolation(IsolationLevel),
    /// READ ONLY
    ReadOnly(bool),
    /// DEFERRABLE
    Deferrable(bool),
}

/// What a transaction sees of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// How long a setting holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SettingScope {
    /// Nothing or SESSION is written.
    #[default]
    Session,
    /// LOCAL
    Local,
}

/// SET and RESET
#[derive(Clone, Debug, PartialEq)]
pub struct SetStatement {
    /// SET LOCAL, SET SESSION
    pub scope: SettingScope,
    /// What is set.
    pub change: SettingChange,
    /// Where it stands.
    pub range: SourceRange,
}

/// What SET and RESET change.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingChange {
    /// `name = value, ...`
    Values(String, Vec<OptionValue>),
    /// `name = DEFAULT`
    Default(String),
    /// `name FROM CURRENT`
    FromCurrent(String),
    /// `RESET name`
    Reset(String),
    /// RESET ALL
    ResetAll,
    /// SET TIME ZONE; `None` is LOCAL or DEFAULT.
    TimeZone(Option<ExpressionNode>),
    /// SET ROLE; `None` is NONE.
    Role(Option<String>),
    /// SET SESSION AUTHORIZATION; `None` is DEFAULT.
    SessionAuthorization(Option<String>),
    /// SET TRANSACTION
    Transaction(Vec<TransactionMode>),
    /// SET TRANSACTION SNAPSHOT
    TransactionSnapshot(String),
    /// SET SESSION CHARACTERISTICS AS TRANSACTION
    SessionCharacteristics(Vec<TransactionMode>),
    /// SET CONSTRAINTS; no names are ALL, DEFERRED is true.
    Constraints(Vec<ObjectName>, bool),
}

/// SHOW
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShowStatement {
    /// What is shown.
    pub subject: ShowSubject,
    /// Where it stands.
    pub range: SourceRange,
}

/// What SHOW shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShowSubject {
    /// A setting.
    Setting(String),
    /// ALL
    All,
    /// `SHOW COLUMNS FROM table`, which is ours.
    Columns(ObjectName),
}

/// EXPLAIN
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainStatement {
    /// ANALYZE and VERBOSE are options, too.
    pub options: Vec<UtilityOption>,
    /// What is explained.
    pub statement: Box<Statement>,
    /// Where it stands.
    pub range: SourceRange,
}

/// PREPARE
#[derive(Clone, Debug, PartialEq)]
pub struct PrepareStatement {
    /// Its name.
    pub name: SqlName,
    /// Types of the parameters.
    pub types: Vec<TypeName>,
    /// What is prepared.
    pub statement: Box<Statement>,
    /// Where it stands.
    pub range: SourceRange,
}

/// EXECUTE
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteStatement {
    /// Which.
    pub name: SqlName,
    /// Its parameters.
    pub parameters: Vec<ExpressionNode>,
    /// Where it stands.
    pub range: SourceRange,
}

/// DECLARE
#[derive(Clone, Debug, PartialEq)]
pub struct DeclareCursor {
    /// Its name.
    pub name: SqlName,
    /// BINARY
    pub is_binary: bool,
    /// INSENSITIVE (true), ASENSITIVE (false)
    pub is_insensitive: Option<bool>,
    /// SCROLL (true), NO SCROLL (false)
    pub is_scrollable: Option<bool>,
    /// WITH HOLD
    pub is_held: bool,
    /// FOR
    pub query: Box<QueryExpression>,
    /// Where it stands.
    pub range: SourceRange,
}

/// FETCH and MOVE
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchStatement {
    /// MOVE
    pub is_move: bool,
    /// Which rows.
    pub direction: FetchDirection,
    /// Which cursor.
    pub cursor: SqlName,
    /// Where it stands.
    pub range: SourceRange,
}

/// Which rows FETCH takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchDirection {
    /// So many on; `None` is ALL.
    Forward(Option<i32>),
    /// So many back; `None` is ALL.
    Backward(Option<i32>),
    /// The row of that number, from the end if it is negative.
    Absolute(i32),
    /// The row so many on.
    Relative(i32),
}

/// VACUUM and ANALYZE
#[derive(Clone, Debug, PartialEq)]
pub struct MaintainStatement {
    /// VACUUM, and not ANALYZE alone.
    pub is_vacuum: bool,
    /// In order; words without parentheses are options, too.
    pub options: Vec<UtilityOption>,
    /// Which tables and columns; none is all.
    pub tables: Vec<(ObjectName, Vec<SqlName>)>,
    /// Where it stands.
    pub range: SourceRange,
}

/// COPY
#[derive(Clone, Debug, PartialEq)]
pub struct CopyStatement {
    /// What is copied.
    pub source: CopySource,
    /// FROM, and not TO.
    pub is_from: bool,
    /// Where it is copied to or from.
    pub target: CopyTarget,
    /// In order; those of the old syntax, too.
    pub options: Vec<UtilityOption>,
    /// WHERE
    pub condition: Option<ExpressionNode>,
    /// Where it stands.
    pub range: SourceRange,
}

/// What COPY copies.
#[derive(Clone, Debug, PartialEq)]
pub enum CopySource {
    /// Columns of a table; none are all.
    Table(ObjectName, Vec<SqlName>),
    /// A statement that gives rows.
    Query(Box<Statement>),
}

/// Where COPY copies to or from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyTarget {
    /// A file of the server.
    File(String),
    /// PROGRAM
    Program(String),
    /// STDIN, STDOUT
    Client,
}

/// GRANT and REVOKE of privileges.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivilegeStatement {
    /// REVOKE
    pub is_revoke: bool,
    /// GRANT OPTION FOR
    pub only_grant_option: bool,
    /// Which; none is ALL.
    pub privileges: Vec<PrivilegeName>,
    /// On what.
    pub kind: PrivilegeObject,
    /// Which objects or schemas.
    pub objects: Vec<ObjectName>,
    /// TO and FROM
    pub roles: Vec<RoleName>,
    /// WITH GRANT OPTION
    pub with_grant_option: bool,
    /// GRANTED BY
    pub granted_by: Option<RoleName>,
    /// CASCADE, RESTRICT
    pub behavior: DropBehavior,
    /// Where it stands.
    pub range: SourceRange,
}

/// A privilege, of some columns if they are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivilegeName {
    /// Lower case; `all` with columns.
    pub name: SqlName,
    /// Of which columns.
    pub columns: Vec<SqlName>,
}

/// What privileges are granted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum PrivilegeObject {
    Table,
    Sequence,
    Database,
    Domain,
    ForeignDataWrapper,
    ForeignServer,
    Language,
    Schema,
    Tablespace,
    Type,
    AllTables,
    AllSequences,
    AllFunctions,
    AllProcedures,
    AllRoutines,
}

/// GRANT and REVOKE of roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MembershipStatement {
    /// REVOKE
    pub is_revoke: bool,
    /// ADMIN OPTION FOR
    pub only_admin_option: bool,
    /// Which roles.
    pub roles: Vec<SqlName>,
    /// TO and FROM
    pub members: Vec<RoleName>,
    /// WITH ADMIN OPTION
    pub with_admin_option: bool,
    /// GRANTED BY
    pub granted_by: Option<RoleName>,
    /// CASCADE, RESTRICT
    pub behavior: DropBehavior,
    /// Where it stands.
    pub range: SourceRange,
}

/// REASSIGN OWNED and DROP OWNED
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedStatement {
    /// Whose objects.
    pub roles: Vec<RoleName>,
    /// TO; `None` drops them.
    pub new_owner: Option<RoleName>,
    /// CASCADE, RESTRICT
    pub behavior: DropBehavior,
    /// Where it stands.
    pub range: SourceRange,
}

/// LOCK
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockStatement {
    /// At least one.
    pub tables: Vec<RelationName>,
    /// Lower case words with blanks between.
    pub mode: Option<String>,
    /// NOWAIT
    pub is_nowait: bool,
    /// Where it stands.
    pub range: SourceRange,
}

/// What DISCARD forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DiscardTarget {
    All,
    Plans,
    Sequences,
    Temporary,
}
