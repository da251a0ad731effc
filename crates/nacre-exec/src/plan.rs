//! Physical plans: what is executed, before a snapshot's bounds are known.
//!
//! A plan is a tree of typed nodes; columns are named by their index in the output of the input.
//! It holds the snapshots that it reads, and of what an execution changes only values that are
//! computed once, so it may be executed again, but not at the same time.
//!
//! ```text
//! sum(price * discount) where date between a and b
//! Aggregate [sum 0] <- Map [0 * 1] <- Scan [price, discount] restricted on date
//! ```

mod called;
mod common;
mod description;
mod expand;
mod fold;
mod labels;
mod logged;
mod measured;
mod node;
mod series;
mod top;
mod trace;
mod window;

pub use crate::scan::{ColumnPredicate, SampleSeed, ScanSample};
pub use called::CalledQuery;
pub(crate) use called::RowQuery;
pub use common::{
    CalledNode, CommonNode, CommonScanNode, KeptNode, OnceNode, RecursionColumn, RecursionNode,
};
pub use description::OperatorDescription;
pub use expand::{ExpandNode, RowReader, SetColumn, SetValues};
pub use fold::{
    CollectedFold, CollectedFoldFunction, CollectedRow, CollectedState, FoldCall, FoldFunction,
    FoldState, RowFold,
};
pub use measured::MeasuredNode;
pub use node::{
    AggregateCall, AggregateFunction, AggregateNode, AppendNode, ConstantColumn, FilterNode,
    GroupingSetsNode, JoinKey, JoinNode, LateRange, LimitNode, MapNode, MomentKind, PairingKind,
    PhysicalPlan, PlanNode, RepeatNode, RowsNode, ScanNode, SortKey, SortNode, SteppedNode,
};
pub use series::{SeriesColumn, SeriesNode};
pub(crate) use top::{FetchedColumn, FetchedScan, TopScans};
pub use window::{
    FrameEdge, FrameExclusion, FrameOffset, FrameRange, FrameUnit, WindowCall, WindowFrame,
    WindowFunction, WindowNode, WindowNumber, WindowSpecification,
};
