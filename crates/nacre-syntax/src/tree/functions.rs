//! Calls of functions, aggregates and windows.

use super::{ExpressionNode, NormalForm, ObjectName, SortItem, SqlName, TypeName};
use crate::range::SourceRange;

/// `f(DISTINCT a, b => 1 ORDER BY c) WITHIN GROUP (...) FILTER (...) OVER (...)`
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// Its name.
    pub name: ObjectName,
    /// What it is called with.
    pub arguments: CallArguments,
    /// ORDER BY within the parentheses.
    pub order_by: Vec<SortItem>,
    /// WITHIN GROUP (ORDER BY ...)
    pub within_group: Vec<SortItem>,
    /// FILTER (WHERE ...)
    pub filter: Option<ExpressionNode>,
    /// OVER
    pub window: Option<WindowReference>,
}

/// What a function is called with.
#[derive(Clone, Debug, PartialEq)]
pub enum CallArguments {
    /// `*`
    Star,
    /// A list, which may be empty.
    List {
        /// ALL and DISTINCT.
        quantifier: SetQuantifier,
        /// In order.
        items: Vec<CallArgument>,
        /// Whether the last one is VARIADIC.
        is_variadic: bool,
    },
}

/// One argument.
#[derive(Clone, Debug, PartialEq)]
pub struct CallArgument {
    /// `name =>` or `name :=`
    pub name: Option<SqlName>,
    /// Its value.
    pub value: ExpressionNode,
}

/// ALL or DISTINCT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetQuantifier {
    /// Neither is written.
    #[default]
    Unspecified,
    /// ALL
    All,
    /// DISTINCT
    Distinct,
}

/// What OVER refers to.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowReference {
    /// A window of the WINDOW clause.
    Named(SqlName),
    /// `(...)`
    Inline(WindowDefinition),
}

/// A window.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowDefinition {
    /// The window that it goes on from.
    pub base: Option<SqlName>,
    /// PARTITION BY
    pub partition_by: Vec<ExpressionNode>,
    /// ORDER BY
    pub order_by: Vec<SortItem>,
    /// The frame, if one is written.
    pub frame: Option<WindowFrame>,
    /// From parenthesis to parenthesis.
    pub range: SourceRange,
}

/// Which rows around the current one a window has.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    /// What bounds count.
    pub unit: FrameUnit,
    /// Where it begins.
    pub start: FrameBound,
    /// Where it ends, if BETWEEN is written.
    pub end: Option<FrameBound>,
    /// What is left out of it.
    pub exclusion: FrameExclusion,
}

/// What a frame's bounds count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FrameUnit {
    Range,
    Rows,
    Groups,
}

/// A bound of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING
    UnboundedPreceding,
    /// `n PRECEDING`
    Preceding(Box<ExpressionNode>),
    /// CURRENT ROW
    CurrentRow,
    /// `n FOLLOWING`
    Following(Box<ExpressionNode>),
    /// UNBOUNDED FOLLOWING
    UnboundedFollowing,
}

/// EXCLUDE
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameExclusion {
    /// Nothing is written.
    #[default]
    Unspecified,
    /// NO OTHERS
    NoOthers,
    /// CURRENT ROW
    CurrentRow,
    /// GROUP
    Group,
    /// TIES
    Ties,
}

/// A call that the grammar has a syntax of its own for.
#[derive(Clone, Debug, PartialEq)]
pub enum SpecialCall {
    /// COALESCE
    Coalesce(Vec<ExpressionNode>),
    /// GREATEST
    Greatest(Vec<ExpressionNode>),
    /// LEAST
    Least(Vec<ExpressionNode>),
    /// NULLIF
    NullIf(ExpressionNode, ExpressionNode),
    /// `EXTRACT(field FROM a)`
    Extract {
        /// Lower case unless it was a string.
        field: String,
        /// From what.
        source: ExpressionNode,
    },
    /// `POSITION(a IN b)`
    Position {
        /// What is looked for.
        part: ExpressionNode,
        /// Where.
        whole: ExpressionNode,
    },
    /// `SUBSTRING(a FROM b FOR c)`
    Substring {
        /// The text.
        source: ExpressionNode,
        /// FROM
        from: Option<ExpressionNode>,
        /// FOR
        length: Option<ExpressionNode>,
    },
    /// `SUBSTRING(a SIMILAR b ESCAPE c)`
    SubstringSimilar {
        /// The text.
        source: ExpressionNode,
        /// The pattern.
        pattern: ExpressionNode,
        /// ESCAPE
        escape: ExpressionNode,
    },
    /// `OVERLAY(a PLACING b FROM c FOR d)`
    Overlay {
        /// The text.
        source: ExpressionNode,
        /// PLACING
        replacement: ExpressionNode,
        /// FROM
        from: ExpressionNode,
        /// FOR
        length: Option<ExpressionNode>,
    },
    /// SUBSTRING and OVERLAY with arguments like any function's.
    Plain {
        /// `substring` or `overlay`
        name: SqlName,
        /// In order.
        items: Vec<CallArgument>,
    },
    /// `TRIM(side a FROM b, c)`
    Trim {
        /// LEADING, TRAILING or BOTH, which is the default.
        side: TrimSide,
        /// What is taken away.
        characters: Option<ExpressionNode>,
        /// What it is taken from, first; others are further arguments.
        items: Vec<ExpressionNode>,
    },
    /// `NORMALIZE(a, form)`
    Normalize(ExpressionNode, Option<NormalForm>),
    /// `TREAT(a AS type)`
    Treat(ExpressionNode, TypeName),
    /// `COLLATION FOR (a)`
    CollationFor(ExpressionNode),
    /// CURRENT_DATE and the like, with the digits of seconds.
    Current(CurrentValue, Option<i32>),
}

/// Which ends TRIM looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// A value that has a word of the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CurrentValue {
    Date,
    Time,
    Timestamp,
    LocalTime,
    LocalTimestamp,
    Role,
    User,
    SessionUser,
    /// USER, which is CURRENT_USER.
    PlainUser,
    Catalog,
    Schema,
}
