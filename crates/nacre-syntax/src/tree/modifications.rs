//! INSERT, UPDATE, DELETE and MERGE.

use super::{
    ExpressionNode, FromItem, IndexElement, IndirectionStep, ObjectName, QueryExpression,
    RelationName, SqlName, TargetItem, WithClause,
};
use crate::range::SourceRange;

/// INSERT
#[derive(Clone, Debug, PartialEq)]
pub struct InsertStatement {
    /// WITH
    pub with: Option<WithClause>,
    /// INTO
    pub table: ObjectName,
    /// AS
    pub alias: Option<SqlName>,
    /// Which columns get the values; empty is all.
    pub columns: Vec<ColumnTarget>,
    /// OVERRIDING
    pub overriding: Option<OverridingKind>,
    /// Where the values come from; `None` is DEFAULT VALUES.
    pub source: Option<Box<QueryExpression>>,
    /// ON CONFLICT
    pub on_conflict: Option<Box<ConflictClause>>,
    /// RETURNING
    pub returning: Vec<TargetItem>,
    /// Where it stands.
    pub range: SourceRange,
}

/// A column that gets a value, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnTarget {
    /// The column.
    pub name: SqlName,
    /// Which part of it.
    pub steps: Vec<IndirectionStep>,
}

/// Whose values count for identity columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum OverridingKind {
    User,
    System,
}

/// ON CONFLICT
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictClause {
    /// Which conflicts; `None` is all.
    pub target: Option<ConflictTarget>,
    /// DO UPDATE; `None` is DO NOTHING.
    pub update: Option<ConflictUpdate>,
    /// Where it stands.
    pub range: SourceRange,
}

/// Which conflicts ON CONFLICT is about.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictTarget {
    /// `(columns) WHERE condition`
    Columns(Vec<IndexElement>, Option<ExpressionNode>),
    /// ON CONSTRAINT
    Constraint(SqlName),
}

/// DO UPDATE SET ... WHERE ...
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictUpdate {
    /// SET
    pub assignments: Vec<SetAssignment>,
    /// WHERE
    pub condition: Option<ExpressionNode>,
}

/// `column = value` or `(columns) = value`
#[derive(Clone, Debug, PartialEq)]
pub struct SetAssignment {
    /// What gets the value.
    pub targets: Vec<ColumnTarget>,
    /// Whether they stand in parentheses, also one alone.
    pub is_row: bool,
    /// The value, or a row or query of as many.
    pub value: ExpressionNode,
}

/// UPDATE
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateStatement {
    /// WITH
    pub with: Option<WithClause>,
    /// What is changed.
    pub table: RelationName,
    /// AS
    pub alias: Option<SqlName>,
    /// SET
    pub assignments: Vec<SetAssignment>,
    /// FROM
    pub from: Vec<FromItem>,
    /// WHERE
    pub condition: Option<RowCondition>,
    /// RETURNING
    pub returning: Vec<TargetItem>,
    /// Where it stands.
    pub range: SourceRange,
}

/// Which rows are changed.
#[derive(Clone, Debug, PartialEq)]
pub enum RowCondition {
    /// WHERE
    Where(ExpressionNode),
    /// WHERE CURRENT OF
    CurrentOf(SqlName),
}

/// DELETE
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteStatement {
    /// WITH
    pub with: Option<WithClause>,
    /// FROM
    pub table: RelationName,
    /// AS
    pub alias: Option<SqlName>,
    /// USING
    pub using: Vec<FromItem>,
    /// WHERE
    pub condition: Option<RowCondition>,
    /// RETURNING
    pub returning: Vec<TargetItem>,
    /// Where it stands.
    pub range: SourceRange,
}

/// MERGE
#[derive(Clone, Debug, PartialEq)]
pub struct MergeStatement {
    /// WITH
    pub with: Option<WithClause>,
    /// INTO
    pub table: RelationName,
    /// AS
    pub alias: Option<SqlName>,
    /// USING
    pub source: FromItem,
    /// ON
    pub condition: ExpressionNode,
    /// WHEN, at least one.
    pub clauses: Vec<MergeClause>,
    /// RETURNING, which PostgreSQL 15 does not have.
    pub returning: Vec<TargetItem>,
    /// Where it stands.
    pub range: SourceRange,
}

/// `WHEN [NOT] MATCHED AND condition THEN action`
#[derive(Clone, Debug, PartialEq)]
pub struct MergeClause {
    /// MATCHED without NOT.
    pub is_matched: bool,
    /// AND
    pub condition: Option<ExpressionNode>,
    /// THEN
    pub action: MergeAction,
    /// Where it stands.
    pub range: SourceRange,
}

/// What MERGE does with a row.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    /// DO NOTHING
    Nothing,
    /// DELETE
    Delete,
    /// UPDATE SET
    Update(Vec<SetAssignment>),
    /// INSERT
    Insert {
        /// Which columns get the values; empty is all.
        columns: Vec<ColumnTarget>,
        /// OVERRIDING
        overriding: Option<OverridingKind>,
        /// VALUES; `None` is DEFAULT VALUES.
        values: Option<Vec<ExpressionNode>>,
    },
}
