//! Expressions with types.

use std::mem::discriminant;
use std::slice::{from_mut, from_ref};

use nacre_functions::catalog::{FunctionEntry, FunctionVolatility, OperatorEntry};
use nacre_functions::coercion::CoercionPathway;
use nacre_syntax::SourceRange;
use nacre_types::{SqlType, SqlValue};

use super::{BoundSortKey, BoundWindowCall, ColumnId, RelationalOperator};

/// An expression, its type, and where it was written. Expressions that compute the same are equal,
/// wherever they were written.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarExpression {
    pub kind: ScalarKind,
    pub sql_type: SqlType,
    pub range: SourceRange,
}

/// A constant. Two are equal if they are written alike: 1.0 is not 1.00, which has another text.
#[derive(Clone, Debug)]
pub struct ConstantValue(pub SqlValue);

impl PartialEq for ConstantValue {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (SqlValue::Numeric(one), SqlValue::Numeric(other)) => {
                one.scale() == other.scale() && one == other
            }
            (SqlValue::Real(one), SqlValue::Real(other)) => one.to_bits() == other.to_bits(),
            (SqlValue::Double(one), SqlValue::Double(other)) => one.to_bits() == other.to_bits(),
            (SqlValue::Padded(one), SqlValue::Padded(other)) => one == other,
            (SqlValue::Interval(one), SqlValue::Interval(other)) => one.is_identical(*other),
            // Numbers may stand inside of these.
            (SqlValue::Array(_) | SqlValue::Record(_), _) => {
                format!("{:?}", self.0) == format!("{:?}", other.0)
            }
            (one, other) => discriminant(one) == discriminant(other) && one == other,
        }
    }
}

/// What an expression computes.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarKind {
    Column(ColumnId),
    Constant(ConstantValue),
    /// A literal that its place has not given a type yet.
    UnknownLiteral(String),
    /// Parameter 1 and so on.
    Parameter(u32),
    Operator {
        operator: &'static OperatorEntry,
        operands: Vec<ScalarExpression>,
    },
    Function {
        function: &'static FunctionEntry,
        arguments: Vec<ScalarExpression>,
    },
    /// A value of another type, or of the same with another modifier.
    Cast {
        operand: Box<ScalarExpression>,
        method: CastStep,
    },
    /// Two or more.
    And(Vec<ScalarExpression>),
    /// Two or more.
    Or(Vec<ScalarExpression>),
    Not(Box<ScalarExpression>),
    IsNull(Box<ScalarExpression>),
    IsTruth {
        operand: Box<ScalarExpression>,
        value: TruthValue,
    },
    /// The operator is the equality of both types.
    IsDistinct {
        operator: &'static OperatorEntry,
        operands: Vec<ScalarExpression>,
    },
    /// `operand operator ANY (elements)`, or ALL.
    Quantified {
        operator: &'static OperatorEntry,
        operand: Box<ScalarExpression>,
        elements: Vec<ScalarExpression>,
        is_all: bool,
    },
    Case {
        arms: Vec<CaseArm>,
        otherwise: Option<Box<ScalarExpression>>,
    },
    /// The first that is not null.
    Coalesce(Vec<ScalarExpression>),
    /// The greatest or least that is not null.
    Extreme {
        arguments: Vec<ScalarExpression>,
        is_greatest: bool,
    },
    /// Null if both are equal by the operator, else the first.
    NullIf {
        operator: &'static OperatorEntry,
        operands: Vec<ScalarExpression>,
    },
    /// An expression that cannot fail, as its types and what it counts prove.
    Proven(Box<ScalarExpression>),
    /// The value of a common query that is computed once, at most: that of its only row, null of
    /// none, an error (21000) of several.
    Once(OnceReference),
    /// The value of a common query for these arguments, which is computed where it is asked for.
    Call {
        /// Its place in [`super::QueryPlan::common`].
        index: usize,
        arguments: Vec<ScalarExpression>,
        may_fail: bool,
    },
    /// The value, which is of `count` rows: an error (21000) if these are several.
    OnlyValue {
        value: Box<ScalarExpression>,
        count: Box<ScalarExpression>,
    },
    /// Only until the query's aggregates are collected.
    Aggregate(Box<BoundAggregate>),
    /// Only until it is joined to the rows that the expression is evaluated for.
    Subquery(Box<BoundSubquery>),
    /// Only until the query's window functions are collected; the window by index among those of
    /// the SELECT.
    Window {
        call: Box<BoundWindowCall>,
        window: usize,
    },
    /// GROUPING of keys. Only until the query's aggregates are collected.
    Grouping(Vec<ScalarExpression>),
}

/// A common query of one column that stands for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnceReference {
    /// Its place in [`super::QueryPlan::common`].
    pub index: usize,
}

/// A query within an expression. It may have columns of the queries around it.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundSubquery {
    pub form: SubqueryForm,
    pub root: RelationalOperator,
}

/// What a query within an expression is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum SubqueryForm {
    /// Whether there is a row.
    Exists,
    /// The value of this column in the only row, null of none.
    Scalar(ColumnId),
    /// Whether this is true for a row: null if it is null for one and true for none.
    Any(ScalarExpression),
}

/// A branch of CASE.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseArm {
    pub condition: ScalarExpression,
    pub result: ScalarExpression,
}

/// How a cast is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastStep {
    /// From another type.
    Type(CoercionPathway),
    /// To the modifier of the type: the length of a string, the scale of a number.
    Modifier { is_explicit: bool },
}

/// What IS TRUE and the like test for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruthValue {
    True,
    False,
    Unknown,
}

/// A call of an aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundAggregate {
    pub function: &'static FunctionEntry,
    /// Empty for `count(*)`.
    pub arguments: Vec<ScalarExpression>,
    pub is_distinct: bool,
    pub order_by: Vec<BoundSortKey>,
    pub filter: Option<ScalarExpression>,
    pub result: SqlType,
}

impl BoundAggregate {
    /// Returns its arguments, then what orders them, then its condition.
    pub fn expressions(&self) -> Vec<&ScalarExpression> {
        let keys = self.order_by.iter().map(|key| &key.value);
        self.arguments.iter().chain(keys).chain(&self.filter).collect()
    }

    /// As [`Self::expressions`], to be changed.
    pub fn expressions_mut(&mut self) -> Vec<&mut ScalarExpression> {
        let keys = self.order_by.iter_mut().map(|key| &mut key.value);
        self.arguments.iter_mut().chain(keys).chain(&mut self.filter).collect()
    }
}

impl ScalarExpression {
    /// Makes an expression.
    pub fn new(kind: ScalarKind, sql_type: SqlType, range: SourceRange) -> Self {
        Self { kind, sql_type, range }
    }

    /// Makes a constant.
    pub fn constant(value: SqlValue, sql_type: SqlType, range: SourceRange) -> Self {
        Self::new(ScalarKind::Constant(ConstantValue(value)), sql_type, range)
    }

    /// Returns the expressions that this one is made of, in the order in which they are written.
    pub fn children(&self) -> impl Iterator<Item = &Self> {
        // Passes ask for them at each node: the kinds that are there most need no list.
        let (first, all, others): (Option<&Self>, &[Self], Vec<&Self>) = match &self.kind {
            ScalarKind::Column(_)
            | ScalarKind::Constant(_)
            | ScalarKind::UnknownLiteral(_)
            | ScalarKind::Once(_)
            | ScalarKind::Parameter(_) => (None, &[], Vec::new()),
            ScalarKind::Operator { operands: all, .. }
            | ScalarKind::Function { arguments: all, .. }
            | ScalarKind::Call { arguments: all, .. }
            | ScalarKind::IsDistinct { operands: all, .. }
            | ScalarKind::NullIf { operands: all, .. }
            | ScalarKind::Extreme { arguments: all, .. }
            | ScalarKind::And(all)
            | ScalarKind::Or(all)
            | ScalarKind::Grouping(all)
            | ScalarKind::Coalesce(all) => (None, all, Vec::new()),
            ScalarKind::OnlyValue { value, count } => (Some(value), from_ref(count), Vec::new()),
            ScalarKind::Cast { operand, .. }
            | ScalarKind::Proven(operand)
            | ScalarKind::Not(operand)
            | ScalarKind::IsNull(operand)
            | ScalarKind::IsTruth { operand, .. } => (Some(operand), &[], Vec::new()),
            ScalarKind::Quantified { operand, elements, .. } => {
                (Some(operand), elements, Vec::new())
            }
            ScalarKind::Case { arms, otherwise } => {
                let arms = arms.iter().flat_map(|arm| [&arm.condition, &arm.result]);
                (None, &[], arms.chain(otherwise.as_deref()).collect())
            }
            ScalarKind::Aggregate(call) => (None, &[], call.expressions()),
            ScalarKind::Subquery(subquery) => match &subquery.form {
                SubqueryForm::Any(test) => (Some(test), &[], Vec::new()),
                SubqueryForm::Exists | SubqueryForm::Scalar(_) => (None, &[], Vec::new()),
            },
            ScalarKind::Window { call, .. } => (None, &[], call.expressions()),
        };
        first.into_iter().chain(all).chain(others)
    }

    /// As [`Self::children`], to be changed.
    pub fn children_mut(&mut self) -> impl Iterator<Item = &mut Self> {
        let (first, all, others): (Option<&mut Self>, &mut [Self], Vec<&mut Self>) = match &mut self
            .kind
        {
            ScalarKind::Column(_)
            | ScalarKind::Constant(_)
            | ScalarKind::UnknownLiteral(_)
            | ScalarKind::Once(_)
            | ScalarKind::Parameter(_) => (None, &mut [], Vec::new()),
            ScalarKind::Operator { operands: all, .. }
            | ScalarKind::Function { arguments: all, .. }
            | ScalarKind::Call { arguments: all, .. }
            | ScalarKind::IsDistinct { operands: all, .. }
            | ScalarKind::NullIf { operands: all, .. }
            | ScalarKind::Extreme { arguments: all, .. }
            | ScalarKind::And(all)
            | ScalarKind::Or(all)
            | ScalarKind::Grouping(all)
            | ScalarKind::Coalesce(all) => (None, all, Vec::new()),
            ScalarKind::OnlyValue { value, count } => (Some(value), from_mut(count), Vec::new()),
            ScalarKind::Cast { operand, .. }
            | ScalarKind::Proven(operand)
            | ScalarKind::Not(operand)
            | ScalarKind::IsNull(operand)
            | ScalarKind::IsTruth { operand, .. } => (Some(operand), &mut [], Vec::new()),
            ScalarKind::Quantified { operand, elements, .. } => {
                (Some(operand), elements, Vec::new())
            }
            ScalarKind::Case { arms, otherwise } => {
                let arms = arms.iter_mut().flat_map(|arm| [&mut arm.condition, &mut arm.result]);
                (None, &mut [], arms.chain(otherwise.as_deref_mut()).collect())
            }
            ScalarKind::Aggregate(call) => (None, &mut [], call.expressions_mut()),
            ScalarKind::Subquery(subquery) => match &mut subquery.form {
                SubqueryForm::Any(test) => (Some(test), &mut [], Vec::new()),
                SubqueryForm::Exists | SubqueryForm::Scalar(_) => (None, &mut [], Vec::new()),
            },
            ScalarKind::Window { call, .. } => (None, &mut [], call.expressions_mut()),
        };
        first.into_iter().chain(all).chain(others)
    }

    /// Returns how many expressions there are in this one, itself included.
    pub fn count(&self) -> usize {
        let own = match &self.kind {
            ScalarKind::Subquery(subquery) => subquery.root.size(),
            _ => 1,
        };
        own + self.children().map(Self::count).sum::<usize>()
    }

    /// Whether it evaluates its second part and those behind it for some rows only.
    pub fn is_guard(&self) -> bool {
        matches!(
            self.kind,
            ScalarKind::Case { .. }
                | ScalarKind::Coalesce(_)
                | ScalarKind::And(_)
                | ScalarKind::Or(_)
                | ScalarKind::NullIf { .. }
                | ScalarKind::Quantified { .. }
        )
    }

    /// Whether it calls a volatile function, itself or inside of it.
    pub fn is_volatile(&self) -> bool {
        self.any(&Self::is_volatile_call)
    }

    /// Whether it is a call of a volatile function.
    pub(crate) fn is_volatile_call(&self) -> bool {
        match &self.kind {
            ScalarKind::Function { function, .. } => {
                function.volatility == FunctionVolatility::Volatile
            }
            _ => false,
        }
    }

    /// Whether this expression or one inside of it is so.
    pub fn any(&self, is_so: &dyn Fn(&Self) -> bool) -> bool {
        is_so(self) || self.children().any(|child| child.any(is_so))
    }
}
