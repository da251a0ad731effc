//! Aggregates that are folded from SQL values: those with ORDER BY, those of distinct values,
//! collections, ordered sets, and what vectors do not aggregate.
//!
//! 1. A node below packs the arguments of a row, behind the key of what orders it.
//! 2. Groups collect the rows as they are ([`AggregateFunction::Collect`]); windows fold them.
//! 3. A node above sorts the rows of a group, leaves out repetitions, and folds them. If a group
//!    does not fit in memory it has the value in place of its rows ([`large`]).
//!
//! Sums of floats take three to six words a group instead ([`AggregateFunction::Moments`]).
//!
//! # Layout of a row
//!
//! | bytes | meaning |
//! |---|---|
//! | 4 | length of what follows, big-endian as all lengths |
//! | 4 | length of the key |
//! | any | the key |
//! | 4 and any for each argument | length and binary form; `0xffff_ffff` for a null |

use std::cmp::Ordering;
use std::sync::Arc;

use nacre_functions::aggregates::{
    AggregateContext, AggregateKernel, AggregateState, PairMoments, aggregate_kernel, pair_result,
    require_bytes, single_result,
};
use nacre_functions::catalog::{AggregateKind, FunctionKind};
use nacre_plan::algebra::{BoundAggregate, ColumnId, ScalarExpression};
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue, ValueError};

use super::aggregates::{AggregateInput, PlannedAggregate};
use super::error::{LoweringError, LoweringResult};
use super::expressions::LoweredExpression;
use super::fold::fold_constant;
use super::form::ValueForm;
use super::row_nodes::{bounds_of_type, form_of_rows, physical_value};
use super::session::session_settings;
use crate::error::{ExecError, ExecResult};
use crate::expression::{
    CallRoom, ExpressionGraph, ExpressionId, ExpressionNode, ForeignCall, ForeignFunction,
};
use crate::plan::{
    AggregateCall, AggregateFunction, CollectedFoldFunction, FoldCall, FoldFunction, FoldState,
    MomentKind, RowFold,
};
use crate::value::{
    IntBounds, IntLimit, KeyDirection, ScalarValue, ValueClass, append_sort_key, has_keys,
};
use crate::vector::{ColumnVector, VectorValues, require_string_room};

mod large;

use large::{LargeFold, folded_value};

const LENGTH_BYTES: usize = 4;
const NULL_LENGTH: u32 = u32::MAX;

/// Rows between two looks at the query's control.
const CHECK_ROWS: usize = 4_096;

/// What an aggregate computes from the column of its call.
#[derive(Clone, Debug)]
pub(super) enum FoldedResult {
    /// Of collected rows.
    Rows(Arc<FoldPlan>),
    /// Of sums of floats, by the aggregate's name.
    Moments(&'static str),
}

/// How rows are folded.
#[derive(Debug)]
pub(super) struct FoldPlan {
    name: &'static str,
    method: FoldMethod,
    context: Arc<AggregateContext>,
    is_sorted: bool,
    is_distinct: bool,
    form: ValueForm,
}

#[derive(Clone, Debug)]
enum FoldMethod {
    Kernel(AggregateKernel),
    /// Where a row would be among the others; its key.
    Hypothetical(HypotheticalKind, Vec<u8>),
}

#[derive(Clone, Copy, Debug)]
enum HypotheticalKind {
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
}

/// Values of a row under way to their bytes.
struct RowPacking {
    values: Vec<(ValueForm, SqlType)>,
    /// By index among the arguments of the call.
    keys: Vec<(usize, ValueForm, SqlType, KeyDirection)>,
}

/// A packed row's node and how it is folded.
struct PackedCall {
    row: ExpressionId,
    plan: FoldPlan,
}

impl AggregateInput<'_> {
    /// Plans an aggregate of groups.
    ///
    /// # Errors
    /// [`LoweringError::NotSupported`] for one that nothing folds.
    pub(super) fn plan_fold(
        &mut self,
        column: ColumnId,
        call: &BoundAggregate,
    ) -> LoweringResult<PlannedAggregate> {
        if let Some(planned) = self.plan_moments(column, call)? {
            return Ok(planned);
        }
        let PackedCall { row, plan } = self.packed_call(call)?;
        let argument = Some(self.output(row));
        let (function, plan) = (AggregateFunction::Collect, Arc::new(plan));
        let fold = Some(CollectedFoldFunction::new(LargeFold::new(&plan)));
        let call = AggregateCall::new(function, argument, IntLimit::NUMERIC);
        let call = self.add(AggregateCall { fold, ..call });
        Ok(PlannedAggregate::of_fold(column, call, FoldedResult::Rows(plan)))
    }

    /// Plans an aggregate over a window.
    ///
    /// # Errors
    /// As [`Self::plan_fold`].
    pub(super) fn plan_window_fold(
        &mut self,
        column: ColumnId,
        call: &BoundAggregate,
    ) -> LoweringResult<(FoldCall, PlannedAggregate)> {
        let PackedCall { row, plan } = self.packed_call(call)?;
        let planned = PlannedAggregate::of_column(column, plan.form);
        let fold = FoldFunction::new(ValueFold(Arc::new(plan)));
        Ok((FoldCall { fold, argument: self.output(row) }, planned))
    }

    /// Plans sums of floats, which need not be collected; `None` of other aggregates.
    fn plan_moments(
        &mut self,
        column: ColumnId,
        call: &BoundAggregate,
    ) -> LoweringResult<Option<PlannedAggregate>> {
        let is_float = |one: &ScalarExpression| {
            matches!(one.sql_type.oid(), TypeOid::FLOAT4 | TypeOid::FLOAT8)
        };
        let name = call.function.name;
        let kind = match (name, &call.arguments[..]) {
            ("sum", [argument]) if argument.sql_type == SqlType::DOUBLE => MomentKind::Sum,
            ("avg", [_]) => MomentKind::Single,
            (name, [_]) if name.starts_with("var") || name.starts_with("stddev") => {
                MomentKind::Single
            }
            ("corr" | "covar_pop" | "covar_samp", [_, _]) => MomentKind::Pair,
            (name, [_, _]) if name.starts_with("regr_") => MomentKind::Pair,
            _ => return Ok(None),
        };
        let is_plain = call.order_by.is_empty() && !call.is_distinct;
        if !is_plain || !call.arguments.iter().all(is_float) {
            return Ok(None);
        }
        let mut arguments = Vec::with_capacity(2);
        for argument in &call.arguments {
            arguments.push(self.expressions.lower_column(argument)?.id);
        }
        let kernel = pack_floats;
        let (class, bounds) = (ValueClass::Bytes, IntBounds::I128);
        let function = ForeignFunction::new("floats", kernel, class, bounds, true);
        let row = self.expressions.graph.add(ExpressionNode::Foreign { function, arguments })?;
        let row = self.where_filter(row, call)?;
        let argument = Some(self.output(row));
        if name == "regr_count" {
            let function = AggregateFunction::Count;
            let mut planned = PlannedAggregate::of_column(column, ValueForm::Integer);
            planned.call = self.add(AggregateCall::new(function, argument, IntLimit::BIGINT));
            return Ok(Some(planned));
        }
        let function = AggregateFunction::Moments(kind);
        let own = self.add(AggregateCall::new(function, argument, IntLimit::NUMERIC));
        Ok(Some(PlannedAggregate::of_fold(column, own, FoldedResult::Moments(name))))
    }

    /// Has packed values be null, and not computed, where the filter of a call is not true.
    fn where_filter(
        &mut self,
        row: ExpressionId,
        call: &BoundAggregate,
    ) -> LoweringResult<ExpressionId> {
        let Some(filter) = &call.filter else { return Ok(row) };
        let condition = self.expressions.condition(filter)?;
        let graph = &mut self.expressions.graph;
        let null = ExpressionNode::Constant(ScalarValue::Null(ValueClass::Bytes));
        let otherwise = graph.add(null)?;
        Ok(graph.add(ExpressionNode::Case { condition, then: row, otherwise })?)
    }

    /// Packs the rows of a call.
    fn packed_call(&mut self, call: &BoundAggregate) -> LoweringResult<PackedCall> {
        let name = call.function.name;
        let unknown = |what: &str| LoweringError::not_supported(format!("{what} {name}"));
        let direct_count = match call.function.kind {
            FunctionKind::Aggregate(AggregateKind::Normal) => 0,
            FunctionKind::Aggregate(AggregateKind::OrderedSet { direct }) => direct,
            FunctionKind::Aggregate(AggregateKind::Hypothetical { .. }) => {
                call.arguments.len() - call.order_by.len().min(call.arguments.len())
            }
            _ => return Err(LoweringError::contradiction("an aggregate that is none")),
        };
        let (direct, arguments) = call.arguments.split_at(direct_count.min(call.arguments.len()));
        let mut direct_values = Vec::with_capacity(direct.len());
        for one in direct {
            let value = fold_constant(one)?;
            direct_values.push(value.ok_or_else(|| unknown("direct arguments that vary of"))?);
        }
        let argument_types: Vec<SqlType> = arguments.iter().map(|one| one.sql_type).collect();
        let (settings, result_type) = (session_settings(), call.result);
        let context =
            AggregateContext { argument_types, result_type, direct: direct_values, settings };
        let method = fold_method(call, &context).ok_or_else(|| unknown("aggregate"))?;
        let has_order = method.is_ordered() || !is_exact_in_any_order(name, &context);
        let is_sorted = call.is_distinct || !call.order_by.is_empty() && has_order;
        let form = form_of_rows(call.result, false).ok_or_else(|| unknown("results of"))?;
        let row = self.packed_row(call, arguments, is_sorted)?;
        let (context, is_distinct) = (Arc::new(context), call.is_distinct);
        let plan = FoldPlan { name, method, context, is_sorted, is_distinct, form };
        Ok(PackedCall { row: self.where_filter(row, call)?, plan })
    }

    /// Adds the node that packs arguments and what orders them.
    fn packed_row(
        &mut self,
        call: &BoundAggregate,
        arguments: &[ScalarExpression],
        is_sorted: bool,
    ) -> LoweringResult<ExpressionId> {
        let mut packing = RowPacking { values: Vec::new(), keys: Vec::new() };
        let mut all: Vec<LoweredExpression> = Vec::new();
        for argument in arguments {
            let lowered = self.checked_column(argument)?;
            packing.values.push((lowered.form, argument.sql_type));
            all.push(lowered);
        }
        let ascending = KeyDirection { is_descending: false, is_nulls_first: false };
        let written = call.order_by.iter().map(|key| {
            let (is_descending, is_nulls_first) = (key.is_descending, key.nulls_first);
            (&key.value, KeyDirection { is_descending, is_nulls_first })
        });
        let is_written =
            |one: &&ScalarExpression| call.order_by.iter().any(|key| key.value == **one);
        let rest = arguments.iter().filter(|one| call.is_distinct && !is_written(one));
        for (value, direction) in written.chain(rest.map(|one| (one, ascending))) {
            if !has_keys(value.sql_type) {
                return Err(LoweringError::not_supported("aggregates in order of this type"));
            }
            let place = match arguments.iter().position(|own| own == value) {
                Some(place) => place,
                None => {
                    all.push(self.checked_column(value)?);
                    all.len() - 1
                }
            };
            if is_sorted {
                packing.keys.push((place, all[place].form, value.sql_type, direction));
            }
        }
        let arguments = all.into_iter().map(|one| one.id).collect();
        let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| packing.pack(call, out);
        let (class, bounds) = (ValueClass::Bytes, IntBounds::I128);
        let function = ForeignFunction::new(call.function.name, kernel, class, bounds, true);
        Ok(self.expressions.graph.add(ExpressionNode::Foreign { function, arguments })?)
    }

    fn checked_column(&mut self, value: &ScalarExpression) -> LoweringResult<LoweredExpression> {
        let lowered = self.expressions.lower_column(value)?;
        self.expressions.checked(lowered)
    }
}

/// Whether an aggregate has the same value in all orders of rows. Sums of floats and of intervals
/// have not; of equal values the last is the extreme, which may look different.
fn is_exact_in_any_order(name: &str, context: &AggregateContext) -> bool {
    let is_exact = |one: &SqlType| match one.oid() {
        TypeOid::BOOL | TypeOid::INT2 | TypeOid::INT4 | TypeOid::INT8 => true,
        TypeOid::NUMERIC => !matches!(name, "min" | "max"),
        _ => false,
    };
    name == "count" || name == "regr_count" || context.argument_types.iter().all(is_exact)
}

/// Returns what folds a call.
fn fold_method(call: &BoundAggregate, context: &AggregateContext) -> Option<FoldMethod> {
    let FunctionKind::Aggregate(AggregateKind::Hypothetical { .. }) = call.function.kind else {
        return aggregate_kernel(call.function).map(FoldMethod::Kernel);
    };
    let kind = match call.function.name {
        "rank" => HypotheticalKind::Rank,
        "dense_rank" => HypotheticalKind::DenseRank,
        "percent_rank" => HypotheticalKind::PercentRank,
        "cume_dist" => HypotheticalKind::CumeDist,
        _ => return None,
    };
    let mut key = Vec::new();
    for (value, own) in context.direct.iter().zip(&call.order_by) {
        let (is_descending, is_nulls_first) = (own.is_descending, own.nulls_first);
        append_sort_key(value, KeyDirection { is_descending, is_nulls_first }, &mut key);
    }
    Some(FoldMethod::Hypothetical(kind, key))
}

impl FoldMethod {
    fn is_ordered(&self) -> bool {
        match self {
            Self::Kernel(kernel) => kernel.is_ordered,
            Self::Hypothetical(..) => true,
        }
    }
}

impl FoldedResult {
    /// Returns the form of values.
    pub(super) fn form(&self) -> ValueForm {
        match self {
            Self::Rows(plan) => plan.form,
            Self::Moments(_) => ValueForm::Double,
        }
    }

    /// Adds the node that computes the value of what the call gives.
    pub(super) fn node(
        &self,
        graph: &mut ExpressionGraph,
        column: usize,
    ) -> LoweringResult<ExpressionId> {
        let arguments = vec![graph.column(column, ValueClass::Bytes)?];
        let function = match self {
            Self::Rows(plan) => {
                let (own, plan) = (Arc::clone(plan), plan);
                let (class, bounds) = (plan.form.class(), bounds_of_type(plan.context.result_type));
                let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
                    fold_groups(&own, call, out)
                };
                ForeignFunction::new(plan.name, kernel, class, bounds, true)
            }
            Self::Moments(name) => {
                let name = *name;
                let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
                    put_moments(name, call, out)
                };
                ForeignFunction::new(name, kernel, ValueClass::Float64, IntBounds::I64, true)
            }
        };
        Ok(graph.add(ExpressionNode::Foreign { function, arguments })?)
    }
}

/// Packs one or two floats; null if one is.
fn pack_floats(call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
    let mut bytes = Vec::with_capacity(2 * size_of::<f64>());
    for row in 0..call.rows {
        bytes.clear();
        if call.active.is_none_or(|active| active.get(row)) {
            for argument in &call.arguments {
                match argument.scalar(row) {
                    ScalarValue::Float32(value) => {
                        bytes.extend_from_slice(&f64::from(value).to_be_bytes());
                    }
                    ScalarValue::Float64(value) => bytes.extend_from_slice(&value.to_be_bytes()),
                    _ => {}
                }
            }
        }
        let is_full = bytes.len() == call.arguments.len() * size_of::<f64>();
        push_packed(out, is_full.then_some(&bytes[..]))?;
    }
    out.fill_validity();
    Ok(())
}

fn push_packed(out: &mut ColumnVector, bytes: Option<&[u8]>) -> ExecResult<()> {
    let VectorValues::Bytes(values) = &mut out.values else {
        return Err(ExecError::internal("packed values among others"));
    };
    let bytes_before = values.heap().len();
    require_string_room(bytes_before, bytes.map_or(0, <[u8]>::len))?;
    values.push(bytes.unwrap_or_default());
    if bytes.is_none() {
        out.mark_last_null();
    }
    Ok(())
}

impl RowPacking {
    fn pack(&self, call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
        let (mut bytes, mut key) = (Vec::new(), Vec::new());
        for row in 0..call.rows {
            if call.active.is_some_and(|active| !active.get(row)) {
                push_packed(out, None)?;
                continue;
            }
            let value = |index: usize, form: ValueForm, sql_type: SqlType| {
                form.decode(call.arguments[index].scalar(row), sql_type)
            };
            bytes.clear();
            key.clear();
            bytes.extend_from_slice(&[0; LENGTH_BYTES]);
            for (index, form, sql_type, direction) in &self.keys {
                append_sort_key(&value(*index, *form, *sql_type)?, *direction, &mut key);
            }
            append_with_length(&key, &mut bytes);
            for (index, (form, sql_type)) in self.values.iter().enumerate() {
                let value = value(index, *form, *sql_type)?;
                if value.is_null() {
                    bytes.extend_from_slice(&NULL_LENGTH.to_be_bytes());
                    continue;
                }
                let start = bytes.len();
                bytes.extend_from_slice(&[0; LENGTH_BYTES]);
                value.send(&mut bytes);
                put_length(&mut bytes, start);
            }
            put_length(&mut bytes, 0);
            push_packed(out, Some(&bytes))?;
            if let VectorValues::Bytes(strings) = &out.values
                && row % 1_024 == 1_023
            {
                call.room.ask(strings.bytes())?;
            }
        }
        out.fill_validity();
        Ok(())
    }
}

fn append_with_length(value: &[u8], out: &mut Vec<u8>) {
    // A key has less than 2^32 bytes: a value has less than 2^30.
    out.extend_from_slice(&(value.len() as u32).to_be_bytes());
    out.extend_from_slice(value);
}

/// Writes the length of all behind a length.
fn put_length(bytes: &mut [u8], start: usize) {
    let length = (bytes.len() - start - LENGTH_BYTES) as u32;
    bytes[start..start + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
}

/// Takes a length, and so many bytes; `None` of a null.
fn take_part<'b>(rest: &mut &'b [u8]) -> ExecResult<Option<&'b [u8]>> {
    let malformed = || ExecError::internal("a packed row is malformed");
    let (length, behind) = rest.split_first_chunk::<LENGTH_BYTES>().ok_or_else(malformed)?;
    let length = u32::from_be_bytes(*length);
    if length == NULL_LENGTH {
        *rest = behind;
        return Ok(None);
    }
    let (part, behind) = behind.split_at_checked(length as usize).ok_or_else(malformed)?;
    *rest = behind;
    Ok(Some(part))
}

/// A row without its length: its key, and its values.
#[derive(Clone, Copy)]
struct PackedRow<'b> {
    key: &'b [u8],
    values: &'b [u8],
}

/// Takes a row.
fn take_row<'b>(rest: &mut &'b [u8]) -> ExecResult<PackedRow<'b>> {
    let mut values = take_part(rest)?.unwrap_or_default();
    let key = take_part(&mut values)?.unwrap_or_default();
    Ok(PackedRow { key, values })
}

/// Folds the rows of each group.
fn fold_groups(
    plan: &Arc<FoldPlan>,
    call: &ForeignCall<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let collected = call.arguments[0];
    for group in 0..call.rows {
        if call.active.is_some_and(|active| !active.get(group)) {
            out.values.push_default();
            continue;
        }
        collected.with_bytes(group, None, |bytes| fold_group(plan, bytes, &call.room, out))?;
        call.room.ask(string_bytes(out))?;
    }
    out.fill_validity();
    Ok(())
}

fn string_bytes(out: &ColumnVector) -> usize {
    match &out.values {
        VectorValues::Bytes(strings) => strings.bytes(),
        _ => 0,
    }
}

/// Folds the rows of a group, whose values take memory beside the results so far.
fn fold_group(
    plan: &Arc<FoldPlan>,
    bytes: &[u8],
    room: &CallRoom<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    if let Some(value) = folded_value(bytes, plan.form.class())? {
        return out.push_scalar(&value);
    }
    let mut counted = 0;
    let count = for_each_row(bytes, room, |row| {
        counted += u64::from(plan.takes(row)?);
        Ok(())
    })?;
    room.ask(string_bytes(out).saturating_add(plan.fold_bytes(count, bytes.len())))?;
    let mut state = FoldedRows::start(plan);
    state.state.expect(counted);
    if !plan.is_sorted {
        for_each_row(bytes, room, |row| state.add_row(row))?;
        return state.append_last(out);
    }
    let mut rows = Vec::with_capacity(count);
    for_each_row(bytes, room, |row| {
        rows.push(row);
        Ok(())
    })?;
    rows.sort_by(|one, other| one.key.cmp(other.key));
    room.check()?;
    if plan.is_distinct {
        rows.dedup_by(|one, other| one.key == other.key);
    }
    for (index, row) in rows.into_iter().enumerate() {
        if index % CHECK_ROWS == 0 {
            room.check()?;
        }
        state.add_row(row)?;
    }
    state.append_last(out)
}

/// Takes all rows; returns how many they are.
fn for_each_row<'b>(
    mut bytes: &'b [u8],
    room: &CallRoom<'_>,
    mut take: impl FnMut(PackedRow<'b>) -> ExecResult<()>,
) -> ExecResult<usize> {
    let mut count = 0;
    while !bytes.is_empty() {
        take(take_row(&mut bytes)?)?;
        count += 1;
        if count % CHECK_ROWS == 0 {
            room.check()?;
        }
    }
    Ok(count)
}

impl FoldPlan {
    /// Whether the state grows with the rows.
    fn keeps_rows(&self) -> bool {
        matches!(&self.method, FoldMethod::Kernel(kernel) if kernel.keeps_rows)
    }

    /// Whether a row is added to the state.
    fn takes(&self, row: PackedRow<'_>) -> ExecResult<bool> {
        if matches!(&self.method, FoldMethod::Kernel(kernel) if kernel.takes_nulls) {
            return Ok(true);
        }
        let mut rest = row.values;
        while !rest.is_empty() {
            if take_part(&mut rest)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns about how many bytes a group takes while it is folded: of the rows that are sorted,
    /// of values that are kept in a vector that doubles, and of the result.
    fn fold_bytes(&self, rows: usize, bytes: usize) -> usize {
        // A sort takes half of what it sorts.
        let sorted = if self.is_sorted { rows * size_of::<PackedRow<'_>>() * 3 / 2 } else { 0 };
        sorted + self.kept_bytes(rows, bytes)
    }

    /// Returns about how many bytes of them are for values and the result.
    fn kept_bytes(&self, rows: usize, bytes: usize) -> usize {
        if self.keeps_rows() { rows * size_of::<SqlValue>() * 2 + bytes * 3 } else { 0 }
    }
}

/// Rows under way.
struct FoldedRows {
    plan: Arc<FoldPlan>,
    state: Box<dyn AggregateState>,
    place: HypotheticalPlace,
    values: Vec<SqlValue>,
}

/// How many rows there are before a hypothetical one.
#[derive(Default)]
struct HypotheticalPlace {
    rows: u64,
    less: u64,
    equal: u64,
    less_groups: u64,
    last: Option<Vec<u8>>,
}

/// A state of no rows, for what is told by keys alone.
struct NoState;

impl AggregateState for NoState {
    fn add(&mut self, _: &[SqlValue]) -> Result<(), ValueError> {
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        Ok(SqlValue::Null)
    }
}

impl HypotheticalPlace {
    fn add(&mut self, key: &[u8], own: &[u8]) {
        self.rows += 1;
        match key.cmp(own) {
            Ordering::Less => {
                self.less += 1;
                if self.last.as_deref() != Some(key) {
                    self.less_groups += 1;
                    self.last = Some(key.to_vec());
                }
            }
            Ordering::Equal => self.equal += 1,
            Ordering::Greater => {}
        }
    }

    fn value(&self, kind: HypotheticalKind) -> SqlValue {
        let (rows, less) = (self.rows as f64, self.less as f64);
        match kind {
            // Counts of rows are far below 2^63.
            HypotheticalKind::Rank => SqlValue::BigInt(self.less as i64 + 1),
            HypotheticalKind::DenseRank => SqlValue::BigInt(self.less_groups as i64 + 1),
            HypotheticalKind::PercentRank if self.rows == 0 => SqlValue::Double(0.0),
            HypotheticalKind::PercentRank => SqlValue::Double(less / rows),
            HypotheticalKind::CumeDist => {
                SqlValue::Double((less + self.equal as f64 + 1.0) / (rows + 1.0))
            }
        }
    }
}

impl FoldedRows {
    fn start(plan: &Arc<FoldPlan>) -> Self {
        let state = match &plan.method {
            FoldMethod::Kernel(kernel) => (kernel.start)(&plan.context),
            FoldMethod::Hypothetical(..) => Box::new(NoState),
        };
        let (plan, place) = (Arc::clone(plan), HypotheticalPlace::default());
        Self { plan, state, place, values: Vec::new() }
    }

    fn add_row(&mut self, row: PackedRow<'_>) -> ExecResult<()> {
        let kernel = match &self.plan.method {
            FoldMethod::Kernel(kernel) => kernel,
            FoldMethod::Hypothetical(_, own) => {
                self.place.add(row.key, own);
                return Ok(());
            }
        };
        self.values.clear();
        let mut rest = row.values;
        for sql_type in &self.plan.context.argument_types {
            let Some(bytes) = take_part(&mut rest)? else {
                if !kernel.takes_nulls {
                    return Ok(());
                }
                self.values.push(SqlValue::Null);
                continue;
            };
            let value = SqlValue::receive(bytes, sql_type.without_modifier());
            self.values.push(value.map_err(ExecError::of_value)?);
        }
        self.state.add(&self.values).map_err(ExecError::of_value)
    }

    /// Appends the value of all rows, after which there are no more.
    fn append_last(&mut self, out: &mut ColumnVector) -> ExecResult<()> {
        let value = match &self.plan.method {
            FoldMethod::Kernel(_) => self.state.last_value().map_err(ExecError::of_value)?,
            FoldMethod::Hypothetical(kind, _) => self.place.value(*kind),
        };
        self.put(value, out)
    }

    fn put(&self, value: SqlValue, out: &mut ColumnVector) -> ExecResult<()> {
        let scalar = physical_value(Ok(value), self.plan.context.result_type)?;
        if let ScalarValue::Bytes(bytes) = &scalar {
            require_bytes(bytes.len()).map_err(ExecError::of_value)?;
        }
        out.push_scalar(&scalar)
    }
}

impl FoldState for FoldedRows {
    fn add(&mut self, mut row: &[u8]) -> ExecResult<()> {
        let row = take_row(&mut row)?;
        self.add_row(row)
    }

    fn append_value(&mut self, out: &mut ColumnVector) -> ExecResult<()> {
        let value = match &self.plan.method {
            FoldMethod::Kernel(_) => self.state.value().map_err(ExecError::of_value)?,
            FoldMethod::Hypothetical(kind, _) => self.place.value(*kind),
        };
        self.put(value, out)
    }
}

/// A plan as the fold of windows.
struct ValueFold(Arc<FoldPlan>);

impl RowFold for ValueFold {
    fn name(&self) -> &str {
        self.0.name
    }

    fn class(&self) -> ValueClass {
        self.0.form.class()
    }

    fn bounds(&self) -> IntBounds {
        bounds_of_type(self.0.context.result_type)
    }

    fn start(&self) -> Box<dyn FoldState> {
        Box::new(FoldedRows::start(&self.0))
    }
}

/// Computes the values of an aggregate of sums of floats.
fn put_moments(name: &str, call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
    let sums = call.arguments[0];
    for row in 0..call.rows {
        let moments = sums.with_bytes(row, None, moments_of);
        let VectorValues::Float64(values) = &mut out.values else {
            return Err(ExecError::internal("an aggregate of floats among other values"));
        };
        let value = match name {
            "sum" => (moments.count > 0.0).then_some(moments.x),
            name if name == "avg" || name.starts_with("var") || name.starts_with("std") => {
                single_result(name, &moments)
            }
            name => pair_result(name, &moments),
        };
        values.push(value.unwrap_or(0.0));
        if value.is_none() {
            out.mark_last_null();
        }
    }
    out.fill_validity();
    Ok(())
}

fn moments_of(bytes: &[u8]) -> PairMoments {
    let (words, _) = bytes.as_chunks::<8>();
    let mut words = words.iter().map(|word| f64::from_be_bytes(*word));
    let mut next = || words.next().unwrap_or(0.0);
    let (count, x, xx, y, yy, xy) = (next(), next(), next(), next(), next(), next());
    PairMoments { count, x, xx, y, yy, xy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::QueryControl;
    use crate::error::ExecErrorKind;
    use crate::memory::MemoryBudget;

    #[test]
    fn the_rows_of_a_canceled_query_are_not_folded_to_the_end() {
        // A row of an empty key and no values.
        let bytes = [0, 0, 0, 4, 0, 0, 0, 0].repeat(2 * CHECK_ROWS);
        let (control, budget) = (QueryControl::default(), MemoryBudget::new("memory", 1 << 20));
        let mut memory = budget.reservation("test");
        let room = CallRoom::new(&mut memory, &[], &control);
        assert_eq!(for_each_row(&bytes, &room, |_| Ok(())).unwrap(), 2 * CHECK_ROWS);
        control.cancel();
        let mut count = 0;
        let ended = for_each_row(&bytes, &room, |_| {
            count += 1;
            Ok(())
        });
        assert_eq!(ended.unwrap_err().kind(), ExecErrorKind::Canceled);
        assert_eq!(count, CHECK_ROWS);
    }
}
