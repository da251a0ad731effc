//! Definitions of everything but tables, and how definitions change and go.

use super::{
    ColumnDefinition, ConstraintAttribute, ExpressionNode, ObjectName, OptionValue,
    QueryExpression, RelationName, RoleName, SqlName, Statement, StorageOption, TableConstraint,
    TablePersistence, TypeName,
};
use crate::range::SourceRange;

/// CREATE INDEX
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// UNIQUE
    pub is_unique: bool,
    /// CONCURRENTLY
    pub is_concurrent: bool,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// Its name, if it has one.
    pub name: Option<SqlName>,
    /// ON
    pub table: RelationName,
    /// USING
    pub access_method: Option<SqlName>,
    /// At least one.
    pub elements: Vec<IndexElement>,
    /// INCLUDE
    pub included: Vec<IndexElement>,
    /// NULLS NOT DISTINCT
    pub nulls_equal: bool,
    /// WITH
    pub options: Vec<StorageOption>,
    /// TABLESPACE
    pub tablespace: Option<SqlName>,
    /// WHERE
    pub condition: Option<ExpressionNode>,
    /// Where it stands.
    pub range: SourceRange,
}

/// What an index sorts by.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexElement {
    /// A column, or an expression.
    pub value: ExpressionNode,
    /// COLLATE
    pub collation: Option<ObjectName>,
    /// The operator class with its options.
    pub operator_class: Option<(ObjectName, Vec<StorageOption>)>,
    /// ASC (false), DESC (true)
    pub is_descending: Option<bool>,
    /// NULLS FIRST (true), NULLS LAST (false)
    pub nulls_first: Option<bool>,
}

/// CREATE VIEW
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// OR REPLACE
    pub or_replace: bool,
    /// TEMPORARY
    pub persistence: TablePersistence,
    /// RECURSIVE
    pub is_recursive: bool,
    /// Its name.
    pub name: ObjectName,
    /// Names of its columns.
    pub columns: Vec<SqlName>,
    /// WITH
    pub options: Vec<StorageOption>,
    /// AS
    pub query: Box<QueryExpression>,
    /// WITH CHECK OPTION
    pub check: Option<CheckOption>,
    /// Where it stands.
    pub range: SourceRange,
}

/// WITH CHECK OPTION
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CheckOption {
    Local,
    Cascaded,
}

/// CREATE SEQUENCE
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    /// TEMPORARY, UNLOGGED
    pub persistence: TablePersistence,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// Its name.
    pub name: ObjectName,
    /// In order.
    pub options: Vec<SequenceOption>,
    /// Where it stands.
    pub range: SourceRange,
}

/// ALTER SEQUENCE with options.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSequence {
    /// IF EXISTS
    pub if_exists: bool,
    /// Its name.
    pub name: ObjectName,
    /// At least one.
    pub options: Vec<SequenceOption>,
    /// Where it stands.
    pub range: SourceRange,
}

/// An option of a sequence; numbers are as they were written.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum SequenceOption {
    As(TypeName),
    Cache(String),
    Cycle(bool),
    Increment(String),
    /// `None` is NO MAXVALUE.
    MaxValue(Option<String>),
    /// `None` is NO MINVALUE.
    MinValue(Option<String>),
    OwnedBy(ObjectName),
    SequenceName(ObjectName),
    Start(String),
    Restart(Option<String>),
}

/// CREATE SCHEMA
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSchema {
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// Its name; without one it is the role's.
    pub name: Option<SqlName>,
    /// AUTHORIZATION
    pub owner: Option<RoleName>,
    /// What is created in it.
    pub elements: Vec<Statement>,
    /// Where it stands.
    pub range: SourceRange,
}

/// Whether what depends on something goes with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DropBehavior {
    /// Nothing is written.
    #[default]
    Unspecified,
    /// CASCADE
    Cascade,
    /// RESTRICT
    Restrict,
}

/// Which kind of object is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ObjectKind {
    Table,
    ForeignTable,
    View,
    MaterializedView,
    Index,
    Sequence,
    Schema,
    Database,
    Role,
    Type,
    Domain,
    Collation,
    Column,
    Constraint,
    Tablespace,
    Extension,
    Language,
}

/// DROP TABLE and the like.
#[derive(Clone, Debug, PartialEq)]
pub struct DropStatement {
    /// What is dropped.
    pub kind: ObjectKind,
    /// CONCURRENTLY, of an index.
    pub is_concurrent: bool,
    /// IF EXISTS
    pub if_exists: bool,
    /// At least one.
    pub names: Vec<ObjectName>,
    /// CASCADE, RESTRICT
    pub behavior: DropBehavior,
    /// Where it stands.
    pub range: SourceRange,
}

/// TRUNCATE
#[derive(Clone, Debug, PartialEq)]
pub struct TruncateStatement {
    /// At least one.
    pub tables: Vec<RelationName>,
    /// RESTART IDENTITY (true), CONTINUE IDENTITY (false)
    pub restarts_identity: Option<bool>,
    /// CASCADE, RESTRICT
    pub behavior: DropBehavior,
    /// Where it stands.
    pub range: SourceRange,
}

/// COMMENT ON
#[derive(Clone, Debug, PartialEq)]
pub struct CommentStatement {
    /// On what.
    pub kind: ObjectKind,
    /// Its name; a column's has the table's before it.
    pub name: ObjectName,
    /// The table of a constraint.
    pub table: Option<ObjectName>,
    /// IS; `None` is NULL.
    pub text: Option<String>,
    /// Where it stands.
    pub range: SourceRange,
}

/// ALTER TABLE, and ALTER INDEX, VIEW and SEQUENCE with the same operations.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// What is altered.
    pub kind: ObjectKind,
    /// IF EXISTS
    pub if_exists: bool,
    /// Which.
    pub table: RelationName,
    /// At least one.
    pub actions: Vec<AlterAction>,
    /// Where it stands.
    pub range: SourceRange,
}

/// An operation of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterAction {
    /// What is done.
    pub kind: AlterActionKind,
    /// Where it stands.
    pub range: SourceRange,
}

/// What an operation of ALTER TABLE does.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterActionKind {
    /// ADD COLUMN
    AddColumn {
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// The column.
        column: Box<ColumnDefinition>,
    },
    /// DROP COLUMN
    DropColumn {
        /// IF EXISTS
        if_exists: bool,
        /// The column.
        name: SqlName,
        /// CASCADE, RESTRICT
        behavior: DropBehavior,
    },
    /// ALTER COLUMN
    AlterColumn(SqlName, ColumnAction),
    /// ADD CONSTRAINT
    AddConstraint(Box<TableConstraint>),
    /// ALTER CONSTRAINT
    AlterConstraint(SqlName, Vec<ConstraintAttribute>),
    /// VALIDATE CONSTRAINT
    ValidateConstraint(SqlName),
    /// DROP CONSTRAINT
    DropConstraint {
        /// IF EXISTS
        if_exists: bool,
        /// The constraint.
        name: SqlName,
        /// CASCADE, RESTRICT
        behavior: DropBehavior,
    },
    /// SET (...)
    SetOptions(Vec<StorageOption>),
    /// RESET (...)
    ResetOptions(Vec<StorageOption>),
    /// OWNER TO
    OwnerTo(RoleName),
    /// SET SCHEMA
    SetSchema(SqlName),
    /// RENAME TO
    Rename(SqlName),
    /// RENAME COLUMN
    RenameColumn(SqlName, SqlName),
    /// RENAME CONSTRAINT
    RenameConstraint(SqlName, SqlName),
    /// One that the tree does not have; its text is the action's range.
    Other,
}

/// An operation of ALTER COLUMN.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnAction {
    /// TYPE
    SetType {
        /// The new type.
        type_name: TypeName,
        /// COLLATE
        collation: Option<ObjectName>,
        /// USING
        using: Option<ExpressionNode>,
    },
    /// SET DEFAULT
    SetDefault(ExpressionNode),
    /// DROP DEFAULT
    DropDefault,
    /// SET NOT NULL
    SetNotNull,
    /// DROP NOT NULL
    DropNotNull,
    /// DROP EXPRESSION, IF EXISTS
    DropExpression(bool),
    /// ADD GENERATED ... AS IDENTITY
    AddIdentity {
        /// ALWAYS
        is_always: bool,
        /// In parentheses.
        options: Vec<SequenceOption>,
    },
    /// SET GENERATED (ALWAYS is true), SET and RESTART options.
    SetIdentity(Vec<IdentityChange>),
    /// DROP IDENTITY, IF EXISTS
    DropIdentity(bool),
    /// SET STATISTICS
    SetStatistics(String),
    /// SET STORAGE
    SetStorage(SqlName),
    /// SET COMPRESSION
    SetCompression(SqlName),
    /// SET (...)
    SetOptions(Vec<StorageOption>),
    /// RESET (...)
    ResetOptions(Vec<StorageOption>),
}

/// A change of an identity column.
#[derive(Clone, Debug, PartialEq)]
pub enum IdentityChange {
    /// SET GENERATED ALWAYS (true) or BY DEFAULT (false)
    Generated(bool),
    /// RESTART WITH
    Restart(Option<String>),
    /// `SET option`
    Set(SequenceOption),
}

/// A role's definition.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleStatement {
    /// What is done.
    pub action: RoleAction,
    /// Which role.
    pub name: RoleName,
    /// In order.
    pub options: Vec<RoleOption>,
    /// Where it stands.
    pub range: SourceRange,
}

/// What is done to a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RoleAction {
    CreateRole,
    CreateUser,
    CreateGroup,
    Alter,
}

/// An option of a role.
#[derive(Clone, Debug, PartialEq)]
pub enum RoleOption {
    /// SUPERUSER, NOLOGIN and the like, in lower case.
    Attribute(SqlName),
    /// PASSWORD; `None` is NULL.
    Password(Option<String>),
    /// CONNECTION LIMIT
    ConnectionLimit(i64),
    /// VALID UNTIL
    ValidUntil(String),
    /// SYSID
    SystemId(String),
    /// IN ROLE
    InRole(Vec<RoleName>),
    /// ROLE, USER
    Role(Vec<RoleName>),
    /// ADMIN
    Admin(Vec<RoleName>),
}

/// `name value` of EXPLAIN (...), COPY (...) and VACUUM (...)
#[derive(Clone, Debug, PartialEq)]
pub struct UtilityOption {
    /// Lower case.
    pub name: SqlName,
    /// What stands behind it.
    pub value: Option<OptionValue>,
}
