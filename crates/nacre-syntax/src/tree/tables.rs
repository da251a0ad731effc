//! CREATE TABLE and its parts.

use super::{
    ExpressionNode, IndexElement, ObjectName, OperatorName, QueryExpression, SequenceOption,
    SqlName, TablePersistence, TypeName,
};
use crate::range::SourceRange;

/// CREATE TABLE
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// TEMPORARY, UNLOGGED
    pub persistence: TablePersistence,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// Its name.
    pub name: ObjectName,
    /// Columns and constraints.
    pub elements: Vec<TableElement>,
    /// INHERITS
    pub inherits: Vec<ObjectName>,
    /// PARTITION BY
    pub partition_by: Option<PartitionKey>,
    /// What stands behind the elements.
    pub storage: TableStorage,
    /// Where it stands.
    pub range: SourceRange,
}

/// What CREATE TABLE says about the place of the rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableStorage {
    /// USING
    pub access_method: Option<SqlName>,
    /// WITH
    pub options: Vec<StorageOption>,
    /// ON COMMIT
    pub on_commit: Option<CommitAction>,
    /// TABLESPACE
    pub tablespace: Option<SqlName>,
}

/// What happens to the rows of a temporary table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CommitAction {
    Drop,
    DeleteRows,
    PreserveRows,
}

/// `PARTITION BY strategy (keys)`
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionKey {
    /// `range`, `list` or `hash`
    pub strategy: SqlName,
    /// By what.
    pub keys: Vec<IndexElement>,
}

/// CREATE TABLE ... AS, also of a materialized view.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableAs {
    /// MATERIALIZED VIEW
    pub is_materialized_view: bool,
    /// TEMPORARY, UNLOGGED
    pub persistence: TablePersistence,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// Its name.
    pub name: ObjectName,
    /// Names of the first columns.
    pub columns: Vec<SqlName>,
    /// What stands before AS.
    pub storage: TableStorage,
    /// Where the rows come from.
    pub source: TableSource,
    /// WITH NO DATA is false.
    pub has_data: bool,
    /// Where it stands.
    pub range: SourceRange,
}

/// Where the rows of CREATE TABLE ... AS come from.
#[derive(Clone, Debug, PartialEq)]
pub enum TableSource {
    /// A query.
    Query(Box<QueryExpression>),
    /// EXECUTE
    Execute(SqlName, Vec<ExpressionNode>),
}

/// A part of a table's definition.
#[derive(Clone, Debug, PartialEq)]
pub enum TableElement {
    /// A column.
    Column(Box<ColumnDefinition>),
    /// A constraint.
    Constraint(TableConstraint),
    /// `LIKE table INCLUDING ... EXCLUDING ...`
    Like(ObjectName, Vec<LikeOption>),
}

/// What LIKE copies or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LikeOption {
    /// INCLUDING
    pub is_included: bool,
    /// `all`, `defaults` and the like.
    pub what: SqlName,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: SqlName,
    /// Its type.
    pub type_name: TypeName,
    /// COMPRESSION
    pub compression: Option<SqlName>,
    /// COLLATE
    pub collation: Option<ObjectName>,
    /// In order.
    pub constraints: Vec<ColumnConstraint>,
    /// Where it stands.
    pub range: SourceRange,
}

/// A constraint of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnConstraint {
    /// CONSTRAINT
    pub name: Option<SqlName>,
    /// What it demands.
    pub kind: ColumnConstraintKind,
    /// Where it stands.
    pub range: SourceRange,
}

/// What a column's constraint demands.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnConstraintKind {
    /// NOT NULL
    NotNull,
    /// NULL
    Null,
    /// UNIQUE
    Unique(KeyStorage),
    /// PRIMARY KEY
    PrimaryKey(KeyStorage),
    /// CHECK (...) NO INHERIT
    Check(ExpressionNode, bool),
    /// DEFAULT
    Default(ExpressionNode),
    /// GENERATED ... AS IDENTITY
    Identity {
        /// ALWAYS
        is_always: bool,
        /// In parentheses.
        options: Vec<SequenceOption>,
    },
    /// GENERATED ALWAYS AS (...) STORED
    Generated(ExpressionNode),
    /// REFERENCES
    References(Box<ForeignKeyTarget>),
    /// DEFERRABLE and the like, which belong to the constraint before.
    Attribute(ConstraintAttribute),
}

/// How the index of a key is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyStorage {
    /// NULLS NOT DISTINCT
    pub nulls_equal: bool,
    /// INCLUDE
    pub included: Vec<SqlName>,
    /// WITH
    pub options: Vec<StorageOption>,
    /// USING INDEX TABLESPACE
    pub tablespace: Option<SqlName>,
}

/// When a constraint is checked, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ConstraintAttribute {
    Deferrable,
    NotDeferrable,
    InitiallyDeferred,
    InitiallyImmediate,
    NotValid,
    NoInherit,
}

/// REFERENCES
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKeyTarget {
    /// Which table.
    pub table: ObjectName,
    /// Which columns; empty is its primary key.
    pub columns: Vec<SqlName>,
    /// MATCH
    pub matching: MatchKind,
    /// ON DELETE
    pub on_delete: Option<KeyAction>,
    /// ON UPDATE
    pub on_update: Option<KeyAction>,
}

/// Which rows a foreign key is checked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MatchKind {
    #[default]
    Simple,
    Full,
}

/// What a foreign key does when the row that it refers to is deleted or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum KeyAction {
    NoAction,
    Restrict,
    Cascade,
    /// Of these columns; empty is all.
    SetNull(Vec<SqlName>),
    /// Of these columns; empty is all.
    SetDefault(Vec<SqlName>),
}

/// A constraint of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableConstraint {
    /// CONSTRAINT
    pub name: Option<SqlName>,
    /// What it demands.
    pub kind: TableConstraintKind,
    /// DEFERRABLE and the like.
    pub attributes: Vec<ConstraintAttribute>,
    /// Where it stands.
    pub range: SourceRange,
}

/// What a table's constraint demands.
#[derive(Clone, Debug, PartialEq)]
pub enum TableConstraintKind {
    /// CHECK
    Check(ExpressionNode),
    /// UNIQUE
    Unique(Vec<SqlName>, KeyStorage),
    /// PRIMARY KEY
    PrimaryKey(Vec<SqlName>, KeyStorage),
    /// UNIQUE USING INDEX
    UniqueIndex(SqlName),
    /// PRIMARY KEY USING INDEX
    PrimaryKeyIndex(SqlName),
    /// FOREIGN KEY
    ForeignKey(Vec<SqlName>, Box<ForeignKeyTarget>),
    /// EXCLUDE
    Exclude(Box<ExclusionConstraint>),
}

/// EXCLUDE
#[derive(Clone, Debug, PartialEq)]
pub struct ExclusionConstraint {
    /// USING
    pub access_method: Option<SqlName>,
    /// What is compared by which operator.
    pub elements: Vec<(IndexElement, OperatorName)>,
    /// How its index is kept.
    pub storage: KeyStorage,
    /// WHERE
    pub condition: Option<ExpressionNode>,
}

/// `name = value` of WITH (...)
#[derive(Clone, Debug, PartialEq)]
pub struct StorageOption {
    /// Its name, with what qualifies it.
    pub name: ObjectName,
    /// What stands behind `=`.
    pub value: Option<OptionValue>,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A word or a type.
    Word(Box<TypeName>),
    /// A reserved word.
    Keyword(SqlName),
    /// A number with its sign.
    Number(String),
    /// A string.
    Text(String),
    /// An operator.
    Operator(OperatorName),
    /// A list of words or strings.
    List(Vec<OptionValue>),
    /// `*`
    Star,
}
