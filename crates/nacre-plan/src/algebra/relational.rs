//! Operators over rows.

use std::sync::Arc;

use nacre_functions::catalog::FunctionEntry;
use nacre_types::SqlType;

use super::{
    BoundAggregate, ColumnId, CommonQuery, CommonReference, QueryColumns, ScalarExpression,
    WindowColumn,
};
use crate::definition::RelationDefinition;

/// A query: an operator, and which of its columns are the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryPlan {
    pub columns: QueryColumns,
    /// What `root` may read with [`RelationalOperator::CommonScan`], each behind what it reads.
    pub common: Vec<CommonQuery>,
    pub root: RelationalOperator,
    pub outputs: Vec<OutputColumn>,
    /// Types of the parameters 1 and so on, as far as places have told them.
    pub parameters: Vec<Option<SqlType>>,
}

/// A column of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputColumn {
    pub name: String,
    pub column: ColumnId,
    pub sql_type: SqlType,
}

/// An operator of the algebra.
#[derive(Clone, Debug, PartialEq)]
pub enum RelationalOperator {
    /// One row without columns: a SELECT without FROM.
    SingleRow,
    /// Rows that are written out: each has an expression without columns of operators for each of
    /// `columns`, of its type. `columns` are new.
    Values {
        columns: Vec<ColumnId>,
        rows: Vec<Vec<ScalarExpression>>,
    },
    Scan {
        relation: Arc<RelationDefinition>,
        columns: Vec<ScannedColumn>,
    },
    /// A part of the rows of a scan. Neither expression has columns.
    Sample {
        input: Box<Self>,
        method: SampleMethod,
        /// Of a hundred rows, `real`.
        percent: ScalarExpression,
        /// REPEATABLE, `double precision`.
        seed: Option<ScalarExpression>,
    },
    /// Rows for which the condition is true.
    Filter {
        input: Box<Self>,
        condition: ScalarExpression,
    },
    /// Pairs of rows for which the condition is true, all of them without one; and, as the variant
    /// says, rows of a side without a partner, the columns of the other side null. The right side
    /// may have columns of the left one in its expressions: then it is evaluated for each row of
    /// the left side, and the join is dependent.
    Join {
        variant: JoinVariant,
        left: Box<Self>,
        right: Box<Self>,
        condition: Option<ScalarExpression>,
    },
    /// Adds columns.
    Compute {
        input: Box<Self>,
        columns: Vec<ComputedColumn>,
    },
    /// A row for each group; one without groups, also of no rows, if there are no keys.
    Aggregate {
        input: Box<Self>,
        keys: Vec<ColumnId>,
        aggregates: Vec<AggregateColumn>,
        /// False for DISTINCT and GROUP BY: no row of no rows.
        is_scalar: bool,
    },
    /// Adds columns that window functions make, for each partition of rows that are equal in
    /// columns. Those above that share partitions, and whose order begins this one's, need no
    /// other sort.
    Window {
        input: Box<Self>,
        partition: Vec<ColumnId>,
        /// Columns alone.
        order: Vec<BoundSortKey>,
        functions: Vec<WindowColumn>,
    },
    /// A row for each group of each set of keys, whose other keys are null. Aggregates are over
    /// columns of the input, which are never null for that reason.
    GroupingSets {
        input: Box<Self>,
        keys: Vec<GroupingKey>,
        /// By index in the keys. An empty set has a row also of no rows.
        sets: Vec<Vec<usize>>,
        aggregates: Vec<AggregateColumn>,
        /// An integer: the index of the set that a row is of.
        set_column: ColumnId,
    },
    /// Rows in an order. All their columns are computed, for rows that nobody wants, too; without
    /// keys that is all.
    Sort {
        input: Box<Self>,
        keys: Vec<BoundSortKey>,
    },
    Limit {
        input: Box<Self>,
        count: Option<ScalarExpression>,
        offset: Option<ScalarExpression>,
    },
    /// Rows of several inputs, as the variant says. `columns` are new, and all that is handed on;
    /// each input says which of its columns has the values of each, which are of its type.
    SetOperation {
        variant: SetVariant,
        columns: Vec<ColumnId>,
        inputs: Vec<SetInput>,
    },
    /// Reads the rows of a common query; positions are those of its outputs.
    CommonScan {
        query: CommonReference,
        columns: Vec<ScannedColumn>,
    },
    /// Values from the first argument to the second one in steps of the third one, or of 1: what
    /// `generate_series` gives; and their places from 1 on.
    Series {
        function: &'static FunctionEntry,
        arguments: Vec<ScalarExpression>,
        column: ColumnId,
        ordinality: Option<ColumnId>,
    },
    /// Each row as often as the longest of several sets of values has some, with these: those of
    /// shorter sets are followed by nulls. Places in the sets are counted from 1 on.
    Expand {
        input: Box<Self>,
        functions: Vec<SetFunctionColumn>,
        ordinality: Option<ColumnId>,
    },
}

impl RelationalOperator {
    /// Returns the expressions of this operator.
    pub fn expressions(&self) -> Vec<&ScalarExpression> {
        match self {
            Self::SingleRow
            | Self::Scan { .. }
            | Self::CommonScan { .. }
            | Self::SetOperation { .. } => Vec::new(),
            Self::Values { rows, .. } => rows.iter().flatten().collect(),
            Self::Series { arguments, .. } => arguments.iter().collect(),
            Self::Expand { functions, .. } => {
                functions.iter().flat_map(|one| &one.arguments).collect()
            }
            Self::Sample { percent, seed, .. } => std::iter::once(percent).chain(seed).collect(),
            Self::Filter { condition, .. } => vec![condition],
            Self::Join { condition, .. } => condition.iter().collect(),
            Self::Compute { columns, .. } => columns.iter().map(|one| &one.value).collect(),
            Self::Aggregate { aggregates, .. } | Self::GroupingSets { aggregates, .. } => {
                aggregates.iter().flat_map(|one| one.call.expressions()).collect()
            }
            Self::Window { order, functions, .. } => {
                let own = functions
                    .iter()
                    .flat_map(|one| one.call.expressions().into_iter().chain(one.frame.offsets()));
                order.iter().map(|key| &key.value).chain(own).collect()
            }
            Self::Sort { keys, .. } => keys.iter().map(|key| &key.value).collect(),
            Self::Limit { count, offset, .. } => count.iter().chain(offset).collect(),
        }
    }

    /// As [`Self::expressions`], to be changed.
    pub fn expressions_mut(&mut self) -> Vec<&mut ScalarExpression> {
        match self {
            Self::SingleRow
            | Self::Scan { .. }
            | Self::CommonScan { .. }
            | Self::SetOperation { .. } => Vec::new(),
            Self::Values { rows, .. } => rows.iter_mut().flatten().collect(),
            Self::Series { arguments, .. } => arguments.iter_mut().collect(),
            Self::Expand { functions, .. } => {
                functions.iter_mut().flat_map(|one| &mut one.arguments).collect()
            }
            Self::Sample { percent, seed, .. } => std::iter::once(percent).chain(seed).collect(),
            Self::Filter { condition, .. } => vec![condition],
            Self::Join { condition, .. } => condition.iter_mut().collect(),
            Self::Compute { columns, .. } => columns.iter_mut().map(|one| &mut one.value).collect(),
            Self::Aggregate { aggregates, .. } | Self::GroupingSets { aggregates, .. } => {
                aggregates.iter_mut().flat_map(|one| one.call.expressions_mut()).collect()
            }
            Self::Window { order, functions, .. } => {
                let own = functions.iter_mut().flat_map(|one| {
                    one.call.expressions_mut().into_iter().chain(one.frame.offsets_mut())
                });
                order.iter_mut().map(|key| &mut key.value).chain(own).collect()
            }
            Self::Sort { keys, .. } => keys.iter_mut().map(|key| &mut key.value).collect(),
            Self::Limit { count, offset, .. } => count.iter_mut().chain(offset).collect(),
        }
    }

    /// Whether an expression of this operator, or of one below, is so.
    pub fn any_expression(&self, is_so: &dyn Fn(&ScalarExpression) -> bool) -> bool {
        self.expressions().into_iter().any(|own| own.any(is_so))
            || self.inputs().any(|input| input.any_expression(is_so))
    }

    /// Returns how many expressions and columns there are here and below.
    pub fn size(&self) -> usize {
        let expressions = self.expressions().into_iter().map(ScalarExpression::count);
        let inputs = self.inputs().map(Self::size);
        1 + self.own_columns().len() + expressions.chain(inputs).sum::<usize>()
    }

    /// Returns the operators whose rows this one reads, from left to right.
    pub fn inputs(&self) -> impl Iterator<Item = &Self> {
        let (left, right, others): (Option<&Self>, Option<&Self>, &[SetInput]) = match self {
            Self::SingleRow
            | Self::Values { .. }
            | Self::Series { .. }
            | Self::Scan { .. }
            | Self::CommonScan { .. } => (None, None, &[]),
            Self::Filter { input, .. }
            | Self::Sample { input, .. }
            | Self::Compute { input, .. }
            | Self::Expand { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Window { input, .. }
            | Self::GroupingSets { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => (Some(input), None, &[]),
            Self::Join { left, right, .. } => (Some(left), Some(right), &[]),
            Self::SetOperation { inputs, .. } => (None, None, inputs),
        };
        left.into_iter().chain(right).chain(others.iter().map(|one| &one.operator))
    }

    /// As [`Self::inputs`], to be changed.
    pub fn inputs_mut(&mut self) -> impl Iterator<Item = &mut Self> {
        type OneInput<'i> = Option<&'i mut RelationalOperator>;
        let (left, right, others): (OneInput<'_>, OneInput<'_>, &mut [SetInput]) = match self {
            Self::SingleRow
            | Self::Values { .. }
            | Self::Series { .. }
            | Self::Scan { .. }
            | Self::CommonScan { .. } => (None, None, &mut []),
            Self::Filter { input, .. }
            | Self::Sample { input, .. }
            | Self::Compute { input, .. }
            | Self::Expand { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Window { input, .. }
            | Self::GroupingSets { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => (Some(input), None, &mut []),
            Self::Join { left, right, .. } => (Some(left), Some(right), &mut []),
            Self::SetOperation { inputs, .. } => (None, None, inputs),
        };
        left.into_iter().chain(right).chain(others.iter_mut().map(|one| &mut one.operator))
    }

    /// Returns the columns that this operator adds to those of its inputs.
    pub fn own_columns(&self) -> Vec<ColumnId> {
        match self {
            Self::Scan { columns, .. } | Self::CommonScan { columns, .. } => {
                columns.iter().map(|one| one.column).collect()
            }
            Self::Compute { columns, .. } => columns.iter().map(|one| one.column).collect(),
            Self::Values { columns, .. } | Self::SetOperation { columns, .. } => columns.clone(),
            Self::Series { column, ordinality, .. } => {
                std::iter::once(*column).chain(*ordinality).collect()
            }
            Self::Expand { functions, ordinality, .. } => {
                functions.iter().map(|one| one.column).chain(*ordinality).collect()
            }
            Self::Aggregate { aggregates, .. } => aggregates.iter().map(|one| one.column).collect(),
            Self::Window { functions, .. } => functions.iter().map(|one| one.column).collect(),
            Self::GroupingSets { keys, aggregates, set_column, .. } => {
                let keys = keys.iter().map(|key| key.column);
                let aggregates = aggregates.iter().map(|one| one.column);
                keys.chain(aggregates).chain([*set_column]).collect()
            }
            Self::Join { variant: JoinVariant::Mark(column), .. } => vec![*column],
            Self::SingleRow
            | Self::Sample { .. }
            | Self::Filter { .. }
            | Self::Join { .. }
            | Self::Sort { .. }
            | Self::Limit { .. } => Vec::new(),
        }
    }
}

/// What TABLESAMPLE chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleMethod {
    /// Rows.
    Bernoulli,
    /// Blocks of rows.
    System,
}

/// Which rows a join hands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinVariant {
    /// Pairs.
    Inner,
    /// Pairs, and rows of the left side without a partner.
    Left,
    /// Pairs, and rows of the right side without a partner.
    Right,
    /// Pairs, and rows of both sides without a partner.
    Full,
    /// Rows of the left side that have a partner, each once, without columns of the right side.
    Semi,
    /// Rows of the left side that have no partner, without columns of the right side.
    Anti,
    /// As `Left`; a second partner of a row is an error (21000).
    Single,
    /// All rows of the left side, each once, and whether they have a partner: true or false.
    Mark(ColumnId),
}

impl JoinVariant {
    /// Whether rows of the left side may come without a partner.
    pub fn keeps_left(self) -> bool {
        matches!(self, Self::Left | Self::Full | Self::Anti | Self::Single | Self::Mark(_))
    }

    /// Whether rows of the right side may come without a partner, with nulls for the left side.
    pub fn keeps_right(self) -> bool {
        matches!(self, Self::Right | Self::Full)
    }

    /// Whether it is an outer join with nulls for the right side in some rows. A single join does
    /// not count: its right side is the query of an expression, which not all rows ask for.
    pub fn fills_right(self) -> bool {
        matches!(self, Self::Left | Self::Full)
    }

    /// Whether columns of the right side are handed on.
    pub fn has_right(self) -> bool {
        !matches!(self, Self::Semi | Self::Anti | Self::Mark(_))
    }
}

/// Which rows of its inputs a set operation hands on. Rows are equal as keys of groups are: null is
/// equal to null. Values of equal rows may look different; those of `Except` and `ExceptAll` are of
/// the first input, those of `Intersect` and `IntersectAll` of either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetVariant {
    /// All rows of one or more inputs.
    UnionAll,
    /// Rows that both of two inputs have, each once.
    Intersect,
    /// Rows that both of two inputs have, as often as the one that has fewer.
    IntersectAll,
    /// Rows that the first of two inputs has and the second has not, each once.
    Except,
    /// Rows of the first of two inputs, each as often less as the second has it.
    ExceptAll,
}

/// An input of a set operation.
#[derive(Clone, Debug, PartialEq)]
pub struct SetInput {
    pub operator: RelationalOperator,
    /// Columns of the operator, one for each of the set operation; one may come twice.
    pub columns: Vec<ColumnId>,
}

/// A column that a scan reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScannedColumn {
    /// Its position in the relation.
    pub position: usize,
    pub column: ColumnId,
}

/// A column that is computed from others.
#[derive(Clone, Debug, PartialEq)]
pub struct ComputedColumn {
    pub column: ColumnId,
    pub value: ScalarExpression,
}

/// A column of the values that a function of sets gives.
#[derive(Clone, Debug, PartialEq)]
pub struct SetFunctionColumn {
    pub column: ColumnId,
    pub function: &'static FunctionEntry,
    pub arguments: Vec<ScalarExpression>,
    /// Of each value.
    pub result: SqlType,
}

/// A column that an aggregate makes.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateColumn {
    pub column: ColumnId,
    pub call: BoundAggregate,
}

/// A key of grouping sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupingKey {
    /// The column of the input.
    pub source: ColumnId,
    /// Its value, or null in rows of sets that are without the key.
    pub column: ColumnId,
}

/// What rows are sorted by.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundSortKey {
    pub value: ScalarExpression,
    pub is_descending: bool,
    pub nulls_first: bool,
}
