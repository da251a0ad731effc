//! Expressions.

use super::{
    FunctionCall, ObjectName, OperatorName, QueryExpression, SpecialCall, SqlName, TypeName,
};
use crate::range::SourceRange;

/// An expression and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpressionNode {
    /// What it computes.
    pub kind: ExpressionKind,
    /// Its text, parentheses around it excluded.
    pub range: SourceRange,
}

/// What an expression computes.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    /// A constant.
    Literal(LiteralValue),
    /// `type 'text'`
    TypedLiteral(Box<TypedLiteral>),
    /// `$1`
    Parameter(i32),
    /// A column: the first name, and what follows it.
    Column(ColumnPath),
    /// `(expression).field[1]`
    Indirection {
        /// What is taken apart.
        operand: Box<ExpressionNode>,
        /// At least one step.
        steps: Vec<IndirectionStep>,
    },
    /// `a + b - c`: operators of one precedence, from the left. Comparisons have one link.
    Operation {
        /// The leftmost operand.
        first: Box<ExpressionNode>,
        /// At least one.
        links: Vec<OperatorLink>,
    },
    /// `- a`
    Prefix {
        /// The operator.
        operator: OperatorName,
        /// What it is applied to.
        operand: Box<ExpressionNode>,
    },
    /// `a AND b AND c`, at least two.
    And(Vec<ExpressionNode>),
    /// `a OR b OR c`, at least two.
    Or(Vec<ExpressionNode>),
    /// `NOT a`
    Not(Box<ExpressionNode>),
    /// `a IS [NOT] NULL` and the like.
    Is {
        /// What is tested.
        operand: Box<ExpressionNode>,
        /// For what.
        test: ValueTest,
        /// NOT
        is_negated: bool,
    },
    /// `a IS [NOT] DISTINCT FROM b`
    Distinct {
        /// One side.
        left: Box<ExpressionNode>,
        /// The other.
        right: Box<ExpressionNode>,
        /// NOT
        is_negated: bool,
    },
    /// `a [NOT] BETWEEN low AND high`
    Between(Box<BetweenTest>),
    /// `a [NOT] IN (list or query)`
    In {
        /// What is looked for.
        operand: Box<ExpressionNode>,
        /// Where.
        source: InSource,
        /// NOT
        is_negated: bool,
    },
    /// `a [NOT] LIKE pattern ESCAPE c`
    Like(Box<LikeTest>),
    /// `a = ANY (list or query)`
    Quantified(Box<QuantifiedTest>),
    /// `(a, b) OVERLAPS (c, d)`; both are rows.
    Overlaps {
        /// One period.
        left: Box<ExpressionNode>,
        /// The other.
        right: Box<ExpressionNode>,
    },
    /// `a AT TIME ZONE zone`
    AtTimeZone {
        /// The moment.
        operand: Box<ExpressionNode>,
        /// The zone.
        zone: Box<ExpressionNode>,
    },
    /// `a COLLATE name`
    Collate {
        /// The text.
        operand: Box<ExpressionNode>,
        /// The collation.
        collation: ObjectName,
    },
    /// `CAST(a AS type)` and `a::type`
    Cast {
        /// The value.
        operand: Box<ExpressionNode>,
        /// Its new type.
        type_name: Box<TypeName>,
    },
    /// CASE
    Case(Box<CaseExpression>),
    /// `ROW(a, b)` and `(a, b)`
    Row {
        /// The fields.
        items: Vec<ExpressionNode>,
        /// Whether ROW is written.
        is_explicit: bool,
    },
    /// `ARRAY[a, b]`, and `[a, b]` within one.
    Array(Vec<ExpressionNode>),
    /// `ARRAY(query)`
    ArrayQuery(Box<QueryExpression>),
    /// `(query)`
    Subquery(Box<QueryExpression>),
    /// `EXISTS (query)`
    Exists(Box<QueryExpression>),
    /// `f(a)`
    Function(Box<FunctionCall>),
    /// A call with a syntax of its own.
    Special(Box<SpecialCall>),
    /// `GROUPING(a, b)`
    Grouping(Vec<ExpressionNode>),
    /// DEFAULT, where a value may stand.
    Default,
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiteralValue {
    /// NULL
    Null,
    /// TRUE, FALSE
    Boolean(bool),
    /// Digits that fit.
    Integer(i32),
    /// Any other number, as it was written.
    Decimal(String),
    /// A string, decoded.
    Text(String),
    /// `B'01'`, its digits unchecked.
    BitString(String),
    /// `X'1F'`, its digits unchecked.
    HexString(String),
}

/// `type 'text'`
#[derive(Clone, Debug, PartialEq)]
pub struct TypedLiteral {
    /// The type.
    pub type_name: TypeName,
    /// The string, decoded.
    pub text: String,
}

/// A column with what precedes and follows it: `a`, `t.a`, `s.t.a`, `t.*`, `a[1]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnPath {
    /// The first name.
    pub name: SqlName,
    /// What follows.
    pub steps: Vec<IndirectionStep>,
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq)]
pub enum IndirectionStep {
    /// `.name`
    Field(SqlName),
    /// `.*`, which comes last.
    AllFields(SourceRange),
    /// `[index]`
    Element(Box<ExpressionNode>),
    /// `[from:to]`
    Slice(Option<Box<ExpressionNode>>, Option<Box<ExpressionNode>>),
}

/// An operator and its right operand.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorLink {
    /// The operator.
    pub operator: OperatorName,
    /// What stands to the right.
    pub operand: ExpressionNode,
}

/// What a value is tested for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueTest {
    /// IS NULL
    Null,
    /// IS TRUE
    True,
    /// IS FALSE
    False,
    /// IS UNKNOWN
    Unknown,
    /// IS DOCUMENT
    Document,
    /// IS NORMALIZED
    Normalized(Option<NormalForm>),
}

/// A normal form of Unicode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum NormalForm {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

/// `a [NOT] BETWEEN [SYMMETRIC] low AND high`
#[derive(Clone, Debug, PartialEq)]
pub struct BetweenTest {
    /// What is tested.
    pub operand: ExpressionNode,
    /// The lower bound.
    pub low: ExpressionNode,
    /// The upper bound.
    pub high: ExpressionNode,
    /// SYMMETRIC: the bounds may be exchanged.
    pub is_symmetric: bool,
    /// NOT
    pub is_negated: bool,
}

/// What IN looks through.
#[derive(Clone, Debug, PartialEq)]
pub enum InSource {
    /// `(a, b)`
    List(Vec<ExpressionNode>),
    /// `(query)`
    Query(Box<QueryExpression>),
}

/// How a pattern is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LikeForm {
    /// LIKE
    Like,
    /// ILIKE
    Ilike,
    /// SIMILAR TO
    Similar,
}

/// `a [NOT] LIKE pattern [ESCAPE c]`
#[derive(Clone, Debug, PartialEq)]
pub struct LikeTest {
    /// What is tested.
    pub operand: ExpressionNode,
    /// The pattern.
    pub pattern: ExpressionNode,
    /// ESCAPE
    pub escape: Option<ExpressionNode>,
    /// How the pattern is read.
    pub form: LikeForm,
    /// NOT
    pub is_negated: bool,
}

/// How many of the values have to meet a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueQuantifier {
    /// ANY, SOME
    Any,
    /// ALL
    All,
}

/// What [`QuantifiedTest`] compares by.
#[derive(Clone, Debug, PartialEq)]
pub enum QuantifiedOperator {
    /// An operator.
    Operator(OperatorName),
    /// `[NOT] LIKE` or ILIKE
    Like {
        /// Like or Ilike.
        form: LikeForm,
        /// NOT
        is_negated: bool,
    },
}

/// `a = ANY (array or query)`
#[derive(Clone, Debug, PartialEq)]
pub struct QuantifiedTest {
    /// What is compared.
    pub operand: ExpressionNode,
    /// By what.
    pub operator: QuantifiedOperator,
    /// With how many.
    pub quantifier: ValueQuantifier,
    /// An array, or [`ExpressionKind::Subquery`].
    pub source: ExpressionNode,
}

/// CASE
#[derive(Clone, Debug, PartialEq)]
pub struct CaseExpression {
    /// What each WHEN is compared with.
    pub operand: Option<ExpressionNode>,
    /// At least one.
    pub branches: Vec<CaseBranch>,
    /// ELSE
    pub otherwise: Option<ExpressionNode>,
}

/// WHEN ... THEN ...
#[derive(Clone, Debug, PartialEq)]
pub struct CaseBranch {
    /// WHEN
    pub condition: ExpressionNode,
    /// THEN
    pub result: ExpressionNode,
}
