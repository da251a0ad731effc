//! The nodes of plans.

use super::fold::CollectedFoldFunction;
use std::sync::Arc;

use nacre_store::TableSnapshot;

use super::common::{CalledNode, CommonNode, CommonScanNode, KeptNode, OnceNode, RecursionNode};
use super::expand::ExpandNode;
use super::measured::MeasuredNode;
use super::series::SeriesNode;
use super::window::WindowNode;
use crate::expression::{ExpressionGraph, ExpressionId};
use crate::scan::{ColumnPredicate, ScanSample};
use crate::value::{IntLimit, OnceValue, ScalarValue, ValueClass};

/// A plan of one query.
#[derive(Clone, Debug)]
pub struct PhysicalPlan {
    pub root: PlanNode,
}

/// An operator.
#[derive(Clone, Debug)]
pub enum PlanNode {
    Scan(ScanNode),
    Filter(Box<FilterNode>),
    Map(Box<MapNode>),
    Join(Box<JoinNode>),
    Aggregate(Box<AggregateNode>),
    GroupingSets(Box<GroupingSetsNode>),
    Window(Box<WindowNode>),
    Sort(Box<SortNode>),
    Limit(Box<LimitNode>),
    Stepped(Box<SteppedNode>),
    Rows(RowsNode),
    Series(SeriesNode),
    Append(AppendNode),
    Repeat(Box<RepeatNode>),
    Expand(Box<ExpandNode>),
    Common(Box<CommonNode>),
    CommonScan(CommonScanNode),
    Kept(Box<KeptNode>),
    Once(Box<OnceNode>),
    Called(Box<CalledNode>),
    Recursion(Box<RecursionNode>),
    Measured(Box<MeasuredNode>),
}

/// Reads `columns` of the rows of a table that satisfy all predicates.
#[derive(Clone, Debug)]
pub struct ScanNode {
    pub snapshot: TableSnapshot,
    /// By index in the table.
    pub columns: Vec<usize>,
    /// Whether the id of each row follows, as a whole number of 64 bits.
    pub has_row_ids: bool,
    pub predicates: Vec<ColumnPredicate>,
    /// TABLESAMPLE: the rows that are read.
    pub sample: Option<ScanSample>,
}

impl ScanNode {
    /// Returns how many columns it hands on.
    pub fn width(&self) -> usize {
        self.columns.len() + usize::from(self.has_row_ids)
    }
}

/// Keeps the rows for which all predicates are true, one after the other.
#[derive(Clone, Debug)]
pub struct FilterNode {
    pub input: PlanNode,
    pub graph: ExpressionGraph,
    pub predicates: Vec<ExpressionId>,
}

/// Computes columns.
#[derive(Clone, Debug)]
pub struct MapNode {
    pub input: PlanNode,
    pub graph: ExpressionGraph,
    pub outputs: Vec<ExpressionId>,
}

/// Pairs rows of two inputs whose keys are equal and for which all conditions are true: they are
/// partners. The output is the columns of `probe`, then those of `build`, as far as the kind hands
/// them on. Rows come in no order.
#[derive(Clone, Debug)]
pub struct JoinNode {
    pub kind: PairingKind,
    /// The side whose rows stream through.
    pub probe: PlanNode,
    /// The side that is collected first.
    pub build: PlanNode,
    /// Without any, all pairs are looked at.
    pub keys: Vec<JoinKey>,
    /// Boolean columns of `probe`: a row for which one is not true has no partner.
    pub probe_conditions: Vec<usize>,
    /// Over the columns of `probe`, then those of `build`.
    pub graph: ExpressionGraph,
    pub predicates: Vec<ExpressionId>,
}

/// A column of each side; null is equal to nothing. Both have values of one class, whole numbers in
/// any width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinKey {
    pub probe: usize,
    pub build: usize,
}

/// What becomes of pairs, and of rows without a partner, the columns of the other side null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairingKind {
    /// Pairs alone.
    Inner,
    /// Pairs, and rows of `probe` without a partner.
    ProbeOuter,
    /// Pairs, and rows of `build` without a partner.
    BuildOuter,
    /// Pairs, and rows of both without a partner.
    FullOuter,
    /// As `ProbeOuter`; a second partner of a row is an error.
    Single,
    /// Rows of `probe` that have a partner, each once, without columns of `build`.
    Semi,
    /// Rows of `probe` that have none, without columns of `build`.
    Anti,
    /// All rows of `probe`, each once, without columns of `build`; then a truth value, which is
    /// never null: whether the row has a partner.
    Mark,
    /// Rows of `build` that have a partner, each once, without columns of `probe`.
    BuildSemi,
    /// Rows of `build` that have none, without columns of `probe`.
    BuildAnti,
}

/// Groups by `keys`, null being a key like others, and aggregates; without keys there is one row,
/// also of no input. The output is the keys, the dependents, then what the aggregates give.
#[derive(Clone, Debug)]
pub struct AggregateNode {
    pub input: PlanNode,
    pub keys: Vec<usize>,
    /// Columns that are equal in all rows of a group.
    pub dependents: Vec<usize>,
    pub aggregates: Vec<AggregateCall>,
}

/// Groups by each of the sets of keys, in one pass over the input. A row has all keys, null those
/// that its set is without, then what the aggregates give, then the index of its set. An empty set
/// has one row, also of no input.
#[derive(Clone, Debug)]
pub struct GroupingSetsNode {
    pub input: PlanNode,
    /// Columns; one may come twice.
    pub keys: Vec<usize>,
    /// By index in the keys, without repetition.
    pub sets: Vec<Vec<usize>>,
    pub aggregates: Vec<AggregateCall>,
}

/// What is aggregated.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    pub function: AggregateFunction,
    /// `None` for [`AggregateFunction::CountRows`] alone.
    pub argument: Option<usize>,
    /// A boolean column: rows for which it is not true are left out.
    pub filter: Option<usize>,
    /// What a sum must lie in.
    pub limit: IntLimit,
    /// What computes the value of rows that are collected and do not fit in memory.
    pub fold: Option<CollectedFoldFunction>,
}

/// Functions over the rows of a group. Nulls are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    CountRows,
    Count,
    /// Null for no values. Sums of floats are added in an order of their own.
    Sum,
    Min,
    Max,
    /// The sum of counts: 0 for no values.
    CountSum,
    /// Two columns: the sum, exact or null, and the count. What divides them lies above.
    AverageState,
    CountDistinct,
    /// Of numerics of any scale.
    ExactMin,
    /// Of numerics of any scale.
    ExactMax,
    /// Of numerics of any scale.
    ExactSum,
    /// As [`Self::AverageState`], of numerics of any scale.
    ExactState,
    /// As [`Self::AverageState`], of whole numbers, each once.
    DistinctState,
    /// Byte strings one behind the other, in any order; an empty one of none.
    Collect,
    /// Sums of floats, as the bytes of six floats, those of
    /// [`PairMoments`](nacre_functions::aggregates::PairMoments). The argument has the bytes of
    /// one, of two or of such sums.
    Moments(MomentKind),
}

/// Which sums of floats are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MomentKind {
    /// The sum alone.
    Sum,
    /// The sum and that of squares.
    Single,
    /// Those of pairs, `y` before `x`.
    Pair,
}

impl AggregateFunction {
    /// Whether it never fails, whatever the values are.
    pub fn never_fails(self) -> bool {
        matches!(self, Self::CountRows | Self::Count | Self::CountDistinct | Self::Min | Self::Max)
    }

    /// Returns how many columns it gives.
    pub fn columns(self) -> usize {
        if matches!(self, Self::AverageState | Self::ExactState | Self::DistinctState) {
            2
        } else {
            1
        }
    }

    /// Whether it collects a set of values.
    pub fn is_distinct(self) -> bool {
        matches!(self, Self::CountDistinct | Self::DistinctState)
    }
}

/// Sorts.
#[derive(Clone, Debug)]
pub struct SortNode {
    pub input: PlanNode,
    pub keys: Vec<SortKey>,
    /// The first rows that are wanted, for a top-k; `None` for all.
    pub rows_max: Option<u64>,
}

/// A column to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    pub column: usize,
    pub is_descending: bool,
    pub is_nulls_first: bool,
}

/// Leaves out the first `offset` rows and all after `rows_max` more; in order if the input is.
#[derive(Clone, Debug)]
pub struct LimitNode {
    pub input: PlanNode,
    pub offset: u64,
    pub rows_max: Option<u64>,
    /// What says these when the query runs, instead.
    pub late: Option<LateRange>,
}

/// Values that LIMIT and OFFSET have when the query runs.
#[derive(Clone, Debug)]
pub struct LateRange {
    pub offset: Option<Arc<OnceValue>>,
    pub rows_max: Option<Arc<OnceValue>>,
}

/// Makes rows one after the other, in one thread, as they are asked for: an error is raised when
/// all rows before it were taken.
#[derive(Clone, Debug)]
pub struct SteppedNode {
    pub input: PlanNode,
}

/// Constant rows; there may be no columns.
#[derive(Clone, Debug)]
pub struct RowsNode {
    pub columns: Vec<ConstantColumn>,
    pub rows: usize,
}

/// A column of constant rows.
#[derive(Clone, Debug)]
pub struct ConstantColumn {
    pub class: ValueClass,
    /// One a row, of the class.
    pub values: Arc<[ScalarValue]>,
}

/// Hands on all rows of one or more inputs, in no order. The inputs have equally many columns, and
/// of the same classes.
#[derive(Clone, Debug)]
pub struct AppendNode {
    pub inputs: Vec<PlanNode>,
}

/// Hands on each row as often as its column `count` says, a whole number; less than 1 and null are
/// never.
#[derive(Clone, Debug)]
pub struct RepeatNode {
    pub input: PlanNode,
    pub count: usize,
}

impl AggregateCall {
    /// Makes a call without a filter.
    pub fn new(function: AggregateFunction, argument: Option<usize>, limit: IntLimit) -> Self {
        Self { function, argument, filter: None, limit, fold: None }
    }
}

impl PairingKind {
    /// Whether the table of the build side stays as it is while rows look for partners.
    pub fn keeps_table(self) -> bool {
        match self {
            Self::Inner
            | Self::ProbeOuter
            | Self::Single
            | Self::Semi
            | Self::Anti
            | Self::Mark => true,
            Self::BuildOuter | Self::FullOuter | Self::BuildSemi | Self::BuildAnti => false,
        }
    }

    /// Whether columns of the probe side are handed on.
    pub fn has_probe_columns(self) -> bool {
        !matches!(self, Self::BuildSemi | Self::BuildAnti)
    }

    /// Whether columns of the build side are handed on.
    pub fn has_build_columns(self) -> bool {
        !matches!(self, Self::Semi | Self::Anti | Self::Mark)
    }
}

impl RowsNode {
    /// Makes columns of these classes without rows.
    pub fn none(classes: impl IntoIterator<Item = ValueClass>) -> Self {
        let column = |class| ConstantColumn { class, values: Arc::new([]) };
        Self { columns: classes.into_iter().map(column).collect(), rows: 0 }
    }
}

impl PlanNode {
    /// Returns constant rows: none.
    pub(crate) fn none() -> Self {
        Self::Rows(RowsNode::none(Vec::new()))
    }

    /// Returns how many levels of operators there are, measured or not.
    pub(crate) fn depth(&self) -> usize {
        let own = usize::from(!matches!(self, Self::Measured(_)));
        own + self.inputs().into_iter().map(Self::depth).max().unwrap_or(0)
    }

    /// Returns what it reads.
    pub fn inputs(&self) -> Vec<&Self> {
        match self {
            Self::Scan(_) | Self::Rows(_) | Self::Series(_) | Self::CommonScan(_) => Vec::new(),
            Self::Common(common) => common.queries.iter().chain([&common.input]).collect(),
            Self::Kept(kept) => vec![&kept.input],
            Self::Once(once) => vec![&once.input],
            Self::Called(called) => vec![&called.input],
            Self::Recursion(recursion) => vec![&recursion.first, &recursion.step],
            Self::Filter(filter) => vec![&filter.input],
            Self::Map(map) => vec![&map.input],
            Self::Join(join) => vec![&join.probe, &join.build],
            Self::Aggregate(aggregate) => vec![&aggregate.input],
            Self::GroupingSets(grouping) => vec![&grouping.input],
            Self::Window(window) => vec![&window.input],
            Self::Sort(sort) => vec![&sort.input],
            Self::Limit(limit) => vec![&limit.input],
            Self::Stepped(stepped) => vec![&stepped.input],
            Self::Append(append) => append.inputs.iter().collect(),
            Self::Repeat(repeat) => vec![&repeat.input],
            Self::Expand(expand) => vec![&expand.input],
            Self::Measured(measured) => vec![&measured.input],
        }
    }

    /// As [`Self::inputs`], to be changed.
    pub fn inputs_mut(&mut self) -> Vec<&mut Self> {
        match self {
            Self::Scan(_) | Self::Rows(_) | Self::Series(_) | Self::CommonScan(_) => Vec::new(),
            Self::Common(common) => common.queries.iter_mut().chain([&mut common.input]).collect(),
            Self::Kept(kept) => vec![&mut kept.input],
            Self::Once(once) => vec![&mut once.input],
            Self::Called(called) => vec![&mut called.input],
            Self::Recursion(recursion) => vec![&mut recursion.first, &mut recursion.step],
            Self::Filter(filter) => vec![&mut filter.input],
            Self::Map(map) => vec![&mut map.input],
            Self::Join(join) => vec![&mut join.probe, &mut join.build],
            Self::Aggregate(aggregate) => vec![&mut aggregate.input],
            Self::GroupingSets(grouping) => vec![&mut grouping.input],
            Self::Window(window) => vec![&mut window.input],
            Self::Sort(sort) => vec![&mut sort.input],
            Self::Limit(limit) => vec![&mut limit.input],
            Self::Stepped(stepped) => vec![&mut stepped.input],
            Self::Append(append) => append.inputs.iter_mut().collect(),
            Self::Repeat(repeat) => vec![&mut repeat.input],
            Self::Expand(expand) => vec![&mut expand.input],
            Self::Measured(measured) => vec![&mut measured.input],
        }
    }
}
