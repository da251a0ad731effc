//! Queries: what SELECT, VALUES and TABLE say.

use super::{
    ExpressionNode, FunctionCall, ObjectName, OperatorName, SetQuantifier, SpecialCall, SqlName,
    Statement, TypeName, WindowDefinition,
};
use crate::range::SourceRange;

/// A query with what may stand before and behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryExpression {
    /// WITH
    pub with: Option<WithClause>,
    /// What makes the rows.
    pub body: QueryBody,
    /// ORDER BY
    pub order_by: Vec<SortItem>,
    /// LIMIT and FETCH
    pub limit: Option<RowLimit>,
    /// OFFSET
    pub offset: Option<ExpressionNode>,
    /// FOR UPDATE and the like.
    pub locks: Vec<RowLock>,
    /// Where it stands.
    pub range: SourceRange,
}

/// WITH
#[derive(Clone, Debug, PartialEq)]
pub struct WithClause {
    /// RECURSIVE
    pub is_recursive: bool,
    /// At least one.
    pub items: Vec<CommonTable>,
    /// Where it stands.
    pub range: SourceRange,
}

/// `name (columns) AS MATERIALIZED (statement) SEARCH ... CYCLE ...`
#[derive(Clone, Debug, PartialEq)]
pub struct CommonTable {
    /// Its name.
    pub name: SqlName,
    /// Names of its columns.
    pub columns: Vec<SqlName>,
    /// MATERIALIZED (true), NOT MATERIALIZED (false)
    pub is_materialized: Option<bool>,
    /// A query, INSERT, UPDATE, DELETE or MERGE.
    pub statement: Box<Statement>,
    /// SEARCH
    pub search: Option<SearchClause>,
    /// CYCLE
    pub cycle: Option<CycleClause>,
}

/// `SEARCH DEPTH FIRST BY columns SET name`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchClause {
    /// BREADTH
    pub is_breadth_first: bool,
    /// BY
    pub columns: Vec<SqlName>,
    /// SET
    pub target: SqlName,
}

/// `CYCLE columns SET mark TO value DEFAULT value USING path`
#[derive(Clone, Debug, PartialEq)]
pub struct CycleClause {
    /// CYCLE
    pub columns: Vec<SqlName>,
    /// SET
    pub mark: SqlName,
    /// TO and DEFAULT
    pub values: Option<Box<(ExpressionNode, ExpressionNode)>>,
    /// USING
    pub path: SqlName,
}

/// What makes a query's rows.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    /// SELECT
    Select(Box<SelectCore>),
    /// VALUES, at least one row.
    Values(Vec<Vec<ExpressionNode>>),
    /// `TABLE name`
    Table(RelationName),
    /// A query in parentheses.
    Nested(Box<QueryExpression>),
    /// `a UNION b EXCEPT c`: operations of one precedence, from the left.
    SetOperation {
        /// The leftmost operand.
        first: Box<QueryBody>,
        /// At least one.
        links: Vec<SetLink>,
    },
}

/// A set operation and its right operand.
#[derive(Clone, Debug, PartialEq)]
pub struct SetLink {
    /// Which operation.
    pub operator: SetOperator,
    /// ALL and DISTINCT.
    pub quantifier: SetQuantifier,
    /// What stands to the right.
    pub operand: QueryBody,
    /// The operator.
    pub range: SourceRange,
}

/// A set operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SetOperator {
    Union,
    Except,
    Intersect,
}

/// SELECT without what ORDER BY and the like add.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectCore {
    /// ALL, DISTINCT, DISTINCT ON
    pub distinct: DistinctClause,
    /// The outputs; there may be none.
    pub targets: Vec<TargetItem>,
    /// INTO
    pub into: Option<IntoTarget>,
    /// FROM
    pub from: Vec<FromItem>,
    /// WHERE
    pub condition: Option<ExpressionNode>,
    /// GROUP BY
    pub group_by: Option<GroupClause>,
    /// HAVING
    pub having: Option<ExpressionNode>,
    /// WINDOW
    pub windows: Vec<NamedWindow>,
    /// Where it stands.
    pub range: SourceRange,
}

/// Which rows of a SELECT are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DistinctClause {
    /// All, or ALL.
    #[default]
    All,
    /// DISTINCT
    Distinct,
    /// DISTINCT ON
    On(Vec<ExpressionNode>),
}

/// One output.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetItem {
    /// `*`
    Star(SourceRange),
    /// An expression.
    Value {
        /// What is put out.
        value: ExpressionNode,
        /// What it is called.
        label: Option<SqlName>,
    },
}

/// Where SELECT INTO puts its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntoTarget {
    /// TEMPORARY, UNLOGGED
    pub persistence: TablePersistence,
    /// The new table.
    pub name: ObjectName,
}

/// How long a table and its rows are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TablePersistence {
    /// Nothing is written.
    #[default]
    Permanent,
    /// UNLOGGED
    Unlogged,
    /// TEMPORARY
    Temporary,
}

/// GROUP BY
#[derive(Clone, Debug, PartialEq)]
pub struct GroupClause {
    /// GROUP BY DISTINCT
    pub quantifier: SetQuantifier,
    /// At least one.
    pub items: Vec<GroupItem>,
}

/// One item of GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupItem {
    /// An expression; a list in parentheses is a row.
    Value(ExpressionNode),
    /// `()`
    Empty(SourceRange),
    /// `ROLLUP (...)`
    Rollup(Vec<ExpressionNode>, SourceRange),
    /// `CUBE (...)`
    Cube(Vec<ExpressionNode>, SourceRange),
    /// `GROUPING SETS (...)`
    Sets(Vec<GroupItem>, SourceRange),
}

/// `name AS (...)` of WINDOW
#[derive(Clone, Debug, PartialEq)]
pub struct NamedWindow {
    /// Its name.
    pub name: SqlName,
    /// What it is.
    pub definition: WindowDefinition,
}

/// An item of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct SortItem {
    /// What is sorted by.
    pub value: ExpressionNode,
    /// ASC, DESC, USING
    pub direction: SortDirection,
    /// NULLS FIRST (true), NULLS LAST (false)
    pub nulls_first: Option<bool>,
}

/// Which way something is sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SortDirection {
    /// Nothing is written.
    #[default]
    Unspecified,
    /// ASC
    Ascending,
    /// DESC
    Descending,
    /// USING
    Using(OperatorName),
}

/// How many rows are taken.
#[derive(Clone, Debug, PartialEq)]
pub enum RowLimit {
    /// LIMIT ALL
    All,
    /// `LIMIT n`, `FETCH FIRST n ROWS ONLY`; `None` is FETCH without a number.
    Rows(Option<Box<ExpressionNode>>),
    /// FETCH FIRST n ROWS WITH TIES
    WithTies(Option<Box<ExpressionNode>>),
}

/// FOR UPDATE and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLock {
    /// How strong.
    pub strength: LockStrength,
    /// OF; empty is all.
    pub tables: Vec<ObjectName>,
    /// What happens to rows that others have locked.
    pub wait: LockWait,
    /// Where it stands.
    pub range: SourceRange,
}

/// How strong a lock of rows is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LockStrength {
    Update,
    NoKeyUpdate,
    Share,
    KeyShare,
}

/// What happens to rows that others have locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LockWait {
    Block,
    NoWait,
    SkipLocked,
}

/// A table where one is read or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationName {
    /// Its name.
    pub name: ObjectName,
    /// ONLY
    pub is_only: bool,
}

/// A name for what FROM reads.
#[derive(Clone, Debug, PartialEq)]
pub struct TableAlias {
    /// The name; functions may have a list of columns alone.
    pub name: Option<SqlName>,
    /// Names of the columns.
    pub columns: Vec<SqlName>,
    /// Names and types of a function's columns.
    pub definitions: Vec<ColumnType>,
}

/// `name type COLLATE collation`
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnType {
    /// The column.
    pub name: SqlName,
    /// Its type.
    pub type_name: TypeName,
    /// COLLATE
    pub collation: Option<ObjectName>,
}

/// An item of FROM and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct FromItem {
    /// What it reads.
    pub kind: FromKind,
    /// Its name.
    pub alias: Option<TableAlias>,
    /// Where it stands.
    pub range: SourceRange,
}

/// What an item of FROM reads.
#[derive(Clone, Debug, PartialEq)]
pub enum FromKind {
    /// A table.
    Relation {
        /// Which.
        relation: RelationName,
        /// TABLESAMPLE
        sample: Option<Box<TableSample>>,
    },
    /// A query.
    Subquery {
        /// Which.
        query: Box<QueryExpression>,
        /// LATERAL
        is_lateral: bool,
    },
    /// Functions side by side.
    Functions {
        /// At least one.
        items: Vec<TableFunction>,
        /// ROWS FROM
        is_rows_from: bool,
        /// LATERAL
        is_lateral: bool,
        /// WITH ORDINALITY
        has_ordinality: bool,
    },
    /// `a JOIN b ... JOIN c ...`, from the left.
    Joins {
        /// The leftmost table.
        first: Box<FromItem>,
        /// At least one.
        links: Vec<JoinLink>,
    },
}

/// A function in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFunction {
    /// What is called.
    pub call: TableCall,
    /// Columns in ROWS FROM.
    pub columns: Vec<ColumnType>,
}

/// What a function in FROM is.
#[derive(Clone, Debug, PartialEq)]
pub enum TableCall {
    /// Any function.
    Function(Box<FunctionCall>),
    /// One with a syntax of its own.
    Special(Box<SpecialCall>, SourceRange),
    /// CAST
    Cast(Box<ExpressionNode>),
}

/// `TABLESAMPLE method (...) REPEATABLE (...)`
#[derive(Clone, Debug, PartialEq)]
pub struct TableSample {
    /// How rows are chosen.
    pub method: ObjectName,
    /// In parentheses.
    pub arguments: Vec<ExpressionNode>,
    /// REPEATABLE
    pub seed: Option<ExpressionNode>,
}

/// A join and what stands to its right.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinLink {
    /// Which join.
    pub kind: JoinKind,
    /// Which pairs match.
    pub condition: JoinCondition,
    /// The right side.
    pub right: FromItem,
    /// The words of the join.
    pub range: SourceRange,
}

/// Which rows without a partner a join keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
}

/// Which pairs of rows match.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinCondition {
    /// CROSS JOIN
    Always,
    /// NATURAL
    Natural,
    /// ON
    On(Box<ExpressionNode>),
    /// `USING (columns) AS alias`
    Using(Vec<SqlName>, Option<SqlName>),
}
