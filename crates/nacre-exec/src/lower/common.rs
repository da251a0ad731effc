//! Common queries: each is lowered once, with the columns that are wanted of it anywhere.
//!
//! What reads one has its columns in the places where the query has them.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use nacre_plan::algebra::{
    ColumnId, CommonForm, CommonQuery, CommonReference, QueryPlan, RelationalOperator,
    ScalarExpression, ScalarKind, ScannedColumn,
};
use nacre_plan::definition::RelationId;
use nacre_plan::optimizer::RowEstimates;

use super::called::{self, lower_called};
use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation, RoundedValue};
use super::error::{LoweringError, LoweringResult};
use super::exact_nodes::checked_node;
use super::expressions::ExpressionLowering;
use super::form::ValueForm;
use super::given_rows::GivenRows;
use super::joins::width;
use super::once;
use super::recursion::lower_recursion;
use super::relations::lower_relation;
use super::stored::{StoredRelation, StoredRelations};
use crate::plan::{CommonScanNode, MapNode, OnceNode, PlanNode};

/// Relations that are stored, and common queries that have been lowered.
pub(super) struct CommonRelations<'r> {
    stored: &'r dyn StoredRelations,
    estimates: Option<&'r RowEstimates<'r>>,
    /// By index in the plan; `None` for unread queries and values.
    pub(super) common: Vec<Option<CommonRelation>>,
}

/// A common query that has been lowered.
#[derive(Debug)]
pub struct CommonRelation {
    pub(super) name: String,
    /// Its place among the nodes.
    pub(super) place: usize,
    pub(super) width: usize,
    pub(super) columns: ColumnPlaces,
    pub(super) outputs: Vec<ColumnId>,
    pub(super) is_grouped: bool,
    /// Whether one may fail that a LIMIT above leaves out.
    pub(super) row_may_fail: bool,
    pub(super) may_fail: bool,
    /// Whether its rows are those that a run of the query that is being lowered is given.
    pub(super) is_of_run: bool,
}

impl CommonRelation {
    /// Makes that of rows that are kept; its node will be at `place`.
    fn of_rows(common: &CommonQuery, rows: &LoweredRelation, place: usize) -> Self {
        Self {
            name: common.name.clone(),
            place,
            width: width(&rows.node),
            columns: rows.columns.clone(),
            outputs: common.outputs.clone(),
            is_grouped: rows.is_grouped,
            row_may_fail: rows.may_fail,
            may_fail: rows.may_fail,
            is_of_run: false,
        }
    }
}

impl StoredRelations for CommonRelations<'_> {
    fn stored_relation(&self, relation: RelationId) -> Option<StoredRelation> {
        self.stored.stored_relation(relation)
    }

    fn given_rows(&self, relation: RelationId, positions: &[usize]) -> Option<Arc<GivenRows>> {
        self.stored.given_rows(relation, positions)
    }

    fn restricts_scans(&self) -> bool {
        self.stored.restricts_scans()
    }

    fn common_relation(&self, index: usize) -> Option<&CommonRelation> {
        self.common.get(index)?.as_ref()
    }

    fn estimates(&self) -> Option<&RowEstimates<'_>> {
        self.estimates
    }
}

/// Lowers the common queries of a plan; returns their nodes, too.
///
/// # Errors
/// Those of the queries.
pub(super) fn lower_common<'r>(
    query: &QueryPlan,
    stored: &'r dyn StoredRelations,
    estimates: Option<&'r RowEstimates<'r>>,
) -> LoweringResult<(CommonRelations<'r>, Vec<PlanNode>)> {
    let needs = needed_outputs(query);
    let mut relations = CommonRelations { stored, estimates, common: Vec::new() };
    let mut nodes = Vec::new();
    let recursive = recursive_queries(query);
    let is_recursive = |root: &RelationalOperator| reads_recursion(&recursive, root);
    once::forget_values(query.common.len());
    called::forget_calls(query.common.len());
    for (index, (common, need)) in query.common.iter().zip(needs).enumerate() {
        let Some(positions) = need else {
            relations.common.push(None);
            continue;
        };
        let mut needed = Vec::new();
        for column in positions.iter().filter_map(|position| common.outputs.get(*position)) {
            if !needed.contains(column) {
                needed.push(*column);
            }
        }
        match &common.form {
            CommonForm::Rows => {
                let lowered = lower_rows(&relations, common, &needed)?;
                let relation = CommonRelation::of_rows(common, &lowered, nodes.len());
                let row_may_fail = lowered.may_fail || is_recursive(&common.root);
                relations.common.push(Some(CommonRelation { row_may_fail, ..relation }));
                nodes.push(lowered.node);
            }
            CommonForm::Value => {
                if is_recursive(&common.root) && is_guarded(query, index) {
                    let what = "values of recursive queries that may not be asked for";
                    return Err(LoweringError::not_supported(what));
                }
                let node = lower_once(&relations, index, common);
                nodes.push(node.unwrap_or_else(|error| {
                    once::add_failed_value(index, error);
                    PlanNode::none()
                }));
                relations.common.push(None);
            }
            CommonForm::Call(types) => {
                if is_recursive(&common.root) {
                    let what = "calls of queries that read a recursion";
                    return Err(LoweringError::not_supported(what));
                }
                let node = lower_called(&mut relations, common, types, nodes.len());
                nodes.push(node.unwrap_or_else(|error| {
                    called::add_failed_call(index, error);
                    PlanNode::none()
                }));
                relations.common.truncate(index);
                relations.common.push(None);
            }
            CommonForm::Recursion(term) => {
                let node = lower_recursion(&mut relations, common, term, nodes.len())?;
                nodes.push(node);
                if let Some(Some(own)) = relations.common.last_mut()
                    && count_all_reads(query, index) > 1
                {
                    // It is collected to its end, if it has one.
                    own.row_may_fail = true;
                }
            }
        }
    }
    Ok((relations, nodes))
}

/// Lowers a query whose rows are kept, with the columns that are `needed`.
fn lower_rows(
    relations: &CommonRelations<'_>,
    common: &CommonQuery,
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    let lowered = checked(lower_relation(relations, &common.root, needed)?)?;
    if width(&lowered.node) <= needed.len() {
        return Ok(lowered);
    }
    // What joins hand on beside them would be kept, too.
    let mut expressions = ExpressionLowering::new(&lowered.columns);
    let (mut outputs, mut columns) = (Vec::new(), ColumnPlaces::default());
    for column in needed {
        let ColumnPlace { index, form } = lowered.columns.get(*column)?;
        columns.add(*column, ColumnPlace { index: outputs.len(), form });
        outputs.push(expressions.graph.column(index, form.class())?);
    }
    let graph = expressions.graph;
    let node = PlanNode::Map(Box::new(MapNode { input: lowered.node, graph, outputs }));
    Ok(LoweredRelation { node, columns, ..lowered })
}

/// Returns, for each common query, whether it is a recursion or reads one.
fn recursive_queries(query: &QueryPlan) -> Vec<bool> {
    let mut recursive = Vec::with_capacity(query.common.len());
    for common in &query.common {
        recursive.push(match common.form {
            CommonForm::Recursion(_) => true,
            CommonForm::Rows | CommonForm::Value => reads_recursion(&recursive, &common.root),
            // Its own arguments.
            CommonForm::Call(_) => false,
        });
    }
    recursive
}

/// Whether an operator reads one of the common queries that are `recursive`.
fn reads_recursion(recursive: &[bool], operator: &RelationalOperator) -> bool {
    let is_own = matches!(operator, RelationalOperator::CommonScan { query, .. }
        if recursive.get(query.index) == Some(&true));
    is_own || operator.inputs().any(|input| reads_recursion(recursive, input))
}

/// Whether the value at an index stands where it is asked for by some rows only.
fn is_guarded(query: &QueryPlan, index: usize) -> bool {
    let guards = |one: &ScalarExpression| one.is_guard() && once::has_value(one, index);
    let is_so = |operator: &RelationalOperator| operator.any_expression(&guards);
    let is_in = |common: &CommonQuery| {
        is_so(&common.root) || common.form.term().is_some_and(|term| is_so(&term.root))
    };
    is_so(&query.root) || query.common.iter().any(is_in)
}

/// Returns how often the recursion at an index is read by others than itself; the sides of another
/// one run more often.
fn count_all_reads(query: &QueryPlan, index: usize) -> usize {
    let others = query.common.iter().enumerate().filter(|(other, _)| *other != index);
    let count = |(_, common): (usize, &CommonQuery)| match common.form.term() {
        Some(term) => 2 * (count_reads(&common.root, index) + count_reads(&term.root, index)),
        None => count_reads(&common.root, index),
    };
    count_reads(&query.root, index) + others.map(count).sum::<usize>()
}

fn count_reads(operator: &RelationalOperator, index: usize) -> usize {
    let own =
        matches!(operator, RelationalOperator::CommonScan { query, .. } if query.index == index);
    let inputs = operator.inputs().map(|input| count_reads(input, index));
    usize::from(own) + inputs.sum::<usize>()
}

/// Raises the errors that values of columns stand for: PostgreSQL computes all columns.
pub(super) fn checked(input: LoweredRelation) -> LoweringResult<LoweredRelation> {
    if input.columns.iter().all(|(_, place)| !place.form.may_fail()) {
        return Ok(input);
    }
    let mut expressions = ExpressionLowering::new(&input.columns);
    let (mut outputs, mut columns) = (Vec::new(), ColumnPlaces::default());
    for (column, ColumnPlace { index, form }) in input.columns.iter() {
        let mut form = *form;
        let mut id = expressions.graph.column(*index, form.class())?;
        if form.may_fail() {
            id = checked_node(&mut expressions.graph, id)?;
            form = ValueForm::Exact { may_fail: false };
        }
        columns.add(*column, ColumnPlace { index: outputs.len(), form });
        outputs.push(id);
    }
    let graph = expressions.graph;
    let node = PlanNode::Map(Box::new(MapNode { input: input.node, graph, outputs }));
    Ok(LoweredRelation { node, columns, may_fail: true, ..input })
}

/// Lowers a query that is a value.
fn lower_once(
    relations: &CommonRelations<'_>,
    index: usize,
    common: &CommonQuery,
) -> LoweringResult<PlanNode> {
    let [column] = common.outputs[..] else {
        return Err(LoweringError::contradiction("a value of several columns"));
    };
    let lowered = lower_relation(relations, &common.root, &[column])?;
    let ColumnPlace { index: place, form } = lowered.columns.get(column)?;
    let value = once::add_value(index, form);
    Ok(PlanNode::Once(Box::new(OnceNode { input: lowered.node, column: place, value })))
}

/// Empties the common queries that neither `root` nor another one reads, so that they are not
/// computed; returns none if all are such.
pub(super) fn without_unread(mut queries: Vec<PlanNode>, root: &PlanNode) -> Vec<PlanNode> {
    let mut is_read = vec![false; queries.len()];
    note_read(root, &mut is_read);
    for place in (0..queries.len()).rev() {
        if let PlanNode::Once(once) = &queries[place] {
            is_read[place] = once::is_asked_for(&once.value);
        }
        if let PlanNode::Called(called) = &queries[place] {
            is_read[place] = called::is_called(&called.query);
        }
        if is_read[place] {
            note_read(&queries[place], &mut is_read);
        } else {
            queries[place] = PlanNode::none();
        }
    }
    if is_read.contains(&true) { queries } else { Vec::new() }
}

fn note_read(node: &PlanNode, is_read: &mut [bool]) {
    if let PlanNode::CommonScan(scan) = node
        && let Some(is_read) = is_read.get_mut(scan.query)
    {
        *is_read = true;
    }
    node.inputs().into_iter().for_each(|input| note_read(input, is_read));
}

/// Returns the wanted outputs of each common query; `None` for an unread one.
fn needed_outputs(query: &QueryPlan) -> Vec<Option<BTreeSet<usize>>> {
    if query.common.is_empty() {
        return Vec::new();
    }
    let mut needs: Vec<Option<BTreeSet<usize>>> = vec![None; query.common.len()];
    let mut used: HashSet<ColumnId> = query.outputs.iter().map(|output| output.column).collect();
    query.root.collect_used_columns(&mut used);
    note_needed(&query.root, &used, &mut needs);
    for (index, common) in query.common.iter().enumerate().rev() {
        let Some(positions) = &needs[index] else { continue };
        used.extend(positions.iter().filter_map(|position| common.outputs.get(*position)));
        common.root.collect_used_columns(&mut used);
        if let Some(term) = common.form.term() {
            used.extend(common.outputs.iter().chain(&term.outputs));
            term.root.collect_used_columns(&mut used);
            note_needed(&term.root, &used, &mut needs);
        }
        note_needed(&common.root, &used, &mut needs);
    }
    needs
}

/// Notes the common queries whose values an expression asks for: with those of a call it asks for
/// the number of its rows.
fn note_values(expression: &ScalarExpression, needs: &mut [Option<BTreeSet<usize>>]) {
    let own = match &expression.kind {
        ScalarKind::Once(reference) => Some((reference.index, BTreeSet::from([0]))),
        ScalarKind::Call { index, .. } => Some((*index, BTreeSet::from([0, 1]))),
        _ => None,
    };
    if let Some((index, positions)) = own
        && let Some(need) = needs.get_mut(index)
    {
        *need = Some(positions);
    }
    expression.children().for_each(|child| note_values(child, needs));
}

/// Notes the outputs of common queries that an operator and those below it read.
fn note_needed(
    operator: &RelationalOperator,
    used: &HashSet<ColumnId>,
    needs: &mut [Option<BTreeSet<usize>>],
) {
    if let RelationalOperator::CommonScan { query, columns } = operator
        && let Some(need) = needs.get_mut(query.index)
    {
        // PostgreSQL computes all columns, and raises the errors of unread ones, too.
        let is_wanted = |one: &&ScannedColumn| query.may_fail || used.contains(&one.column);
        let own = columns.iter().filter(is_wanted).map(|one| one.position);
        need.get_or_insert_default().extend(own);
    }
    operator.expressions().into_iter().for_each(|one| note_values(one, needs));
    operator.inputs().for_each(|input| note_needed(input, used, needs));
}

/// Reads a common query, of whose columns `needed` are wanted.
///
/// # Errors
/// [`LoweringError::Contradiction`] if the query is unknown.
pub(super) fn lower_common_scan(
    relations: &dyn StoredRelations,
    query: &CommonReference,
    scanned: &[ScannedColumn],
    needed: &[ColumnId],
) -> LoweringResult<LoweredRelation> {
    let missing =
        || LoweringError::contradiction(format!("there is no common query {}", query.index));
    let common = relations.common_relation(query.index).ok_or_else(missing)?;
    let mut columns = ColumnPlaces::default();
    for ScannedColumn { position, column } in scanned {
        let own = common.outputs.get(*position).ok_or_else(missing)?;
        if needed.contains(column) {
            columns.add(*column, common.columns.get(*own)?);
        }
        for value in common.columns.rounded() {
            if value.kind == ScalarKind::Column(*own) {
                let kind = ScalarKind::Column(*column);
                columns.add_rounded(RoundedValue { kind, ..value.clone() });
            }
        }
    }
    let node = PlanNode::CommonScan(CommonScanNode {
        query: common.place,
        name: common.name.clone(),
        width: common.width,
        rows_expected: query.rows_expected.unwrap_or(0.0),
        has_one_row: query.has_one_row,
        is_of_run: common.is_of_run,
    });
    let CommonRelation { row_may_fail, may_fail, is_grouped, .. } = *common;
    let lowered = LoweredRelation::infallible(node, columns);
    let row_may_fail = row_may_fail && !query.is_whole;
    let is_stepwise = !row_may_fail;
    Ok(LoweredRelation { row_may_fail, is_stepwise, may_fail, is_grouped, ..lowered })
}
