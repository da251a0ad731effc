//! The parts of a plan, which is run more than once, that are the same in each run: called queries
//! and the recursive sides of recursions.
//!
//! A part is fixed if it reads nothing that a run is given, and has no volatile function.
//!
//! 1. A fixed build side is kept, and the table of its join
//!    ([`JoinNode`](crate::plan::JoinNode)) with it, unless the join notes in the table which rows
//!    had a partner.
//! 2. So that this is possible, the fixed side of an inner, semi or anti join is the build side.
//! 3. Elsewhere fixed operators are kept that collect rows before they hand on any. What streams is
//!    made again: it may be more than there is room for, and no row may be asked for.
//! 4. What makes rows one after the other ([`SteppedNode`](crate::plan::SteppedNode)) stays as it
//!    is, and what is below it.
//!
//! ```text
//! Mark join <- Common rows [arguments]        kept: the table of the build side
//!           <- Kept rows <- Map <- Scan
//! ```

use super::join_sides::ExpectedRows;
use crate::plan::{KeptNode, PlanNode, SetColumn};

/// Most rows of a side that is built to be kept, and would stream else: their table takes some
/// hundred megabytes, and one in files is read again by each run.
const KEPT_ROWS_MAX: f64 = 8_388_608.0;

/// Marks the fixed parts of a plan that is run more than once.
pub(super) fn with_kept_parts(mut node: PlanNode) -> PlanNode {
    keep_inputs(&mut node, &mut 0);
    node
}

/// Whether the table of a join is made once, if rows of one operator look for partners among those
/// of another one.
pub(super) fn is_table_kept(probe: &PlanNode, build: &PlanNode) -> bool {
    reads_run(probe) && is_fixed(build) && ExpectedRows::of(build).rows <= KEPT_ROWS_MAX
}

/// Whether an operator reads what a run of a plan is given.
fn reads_run(node: &PlanNode) -> bool {
    let is_own = matches!(node, PlanNode::CommonScan(scan) if scan.is_of_run);
    is_own || node.inputs().into_iter().any(reads_run)
}

/// Whether an operator hands on the same rows in each run of the plan that it is part of.
fn is_fixed(node: &PlanNode) -> bool {
    let varies = match node {
        PlanNode::CommonScan(scan) => scan.is_of_run,
        PlanNode::Filter(filter) => filter.graph.is_volatile(),
        PlanNode::Map(map) => map.graph.is_volatile(),
        PlanNode::Join(join) => join.graph.is_volatile(),
        PlanNode::Expand(expand) => expand.sets.iter().any(SetColumn::is_volatile),
        _ => false,
    };
    !varies && node.inputs().into_iter().all(is_fixed)
}

/// Marks the fixed parts below an operator; `count` is the number of parts so far.
fn keep_inputs(node: &mut PlanNode, count: &mut usize) {
    match node.operator_mut() {
        PlanNode::Stepped(_) => {}
        PlanNode::Join(join) => {
            let keeps_table = join.kind.keeps_table();
            keep_input(&mut join.probe, false, count);
            keep_input(&mut join.build, keeps_table, count);
        }
        operator => {
            operator.inputs_mut().into_iter().for_each(|input| keep_input(input, false, count));
        }
    }
}

/// Marks an input that is fixed and collected, in any case if `is_collected`, or what is below it.
fn keep_input(node: &mut PlanNode, is_collected: bool, count: &mut usize) {
    if !(is_collected || collects_rows(node)) || !is_fixed(node) {
        return keep_inputs(node, count);
    }
    let input = std::mem::replace(node, PlanNode::none());
    *node = PlanNode::Kept(Box::new(KeptNode { input, part: *count }));
    *count += 1;
}

/// Whether an operator, or one below that it streams from, collects rows before it hands on any.
fn collects_rows(node: &PlanNode) -> bool {
    match node.operator() {
        PlanNode::Aggregate(_)
        | PlanNode::GroupingSets(_)
        | PlanNode::Window(_)
        | PlanNode::Sort(_)
        | PlanNode::Limit(_)
        | PlanNode::Repeat(_) => true,
        PlanNode::Map(map) => collects_rows(&map.input),
        PlanNode::Filter(filter) => collects_rows(&filter.input),
        _ => false,
    }
}
