//! What is known of a window node before it runs: types of its results, columns that it reads.

use crate::error::{ExecError, ExecResult};
use crate::pipeline::SlotInfo;
use crate::plan::{
    AggregateCall, AggregateFunction, FrameEdge, FrameOffset, FrameUnit, WindowCall, WindowFrame,
    WindowFunction, WindowNode, WindowNumber,
};
use crate::sort::{KeyPart, SortOrder};
use crate::value::{IntBounds, ValueClass, VectorType};

/// A checked node.
#[derive(Debug)]
pub(crate) struct WindowPlan {
    pub(super) parts: Vec<KeyPart>,
    /// Keys of the largest partitions, which workers take whole.
    pub(super) unit_keys: usize,
    pub(super) windows: Vec<PlannedWindow>,
    pub(super) inputs: Vec<SlotInfo>,
    /// Input columns that functions read.
    pub(super) arguments: Vec<usize>,
}

/// A window.
#[derive(Debug)]
pub(super) struct PlannedWindow {
    pub(super) partition_keys: usize,
    /// Keys in which peers are equal.
    pub(super) peer_keys: usize,
    pub(super) calls: Vec<PlannedCall>,
}

/// A call with its results.
#[derive(Debug)]
pub(super) struct PlannedCall {
    pub(super) function: WindowFunction,
    pub(super) frame: WindowFrame,
    pub(super) outputs: Vec<SlotInfo>,
}

impl WindowPlan {
    /// Checks a node; `inputs` are those of its input columns, which has at most `rows_max` rows.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if the node names no column, or one of another class.
    pub(crate) fn new(node: &WindowNode, inputs: Vec<SlotInfo>, rows_max: u64) -> ExecResult<Self> {
        let mut parts = Vec::with_capacity(node.keys.len());
        for key in &node.keys {
            let SlotInfo { vector_type, is_nullable, .. } = *column(&inputs, key.column)?;
            parts.push(KeyPart { key: *key, vector_type, is_nullable });
        }
        let (mut windows, mut arguments) = (Vec::new(), Vec::new());
        for window in &node.windows {
            let (partition_keys, peer_keys) =
                (window.partition_keys, window.partition_keys + window.order_keys);
            if peer_keys > parts.len() {
                return Err(ExecError::internal("a window of more keys than its node has"));
            }
            let mut calls = Vec::with_capacity(window.calls.len());
            for WindowCall { function, frame } in &window.calls {
                check_frame(&inputs, frame)?;
                let outputs = call_outputs(&inputs, function, rows_max)?;
                let read = read_columns(function).into_iter();
                for column in read.chain(frame.range.map(|range| range.key.column)) {
                    if !arguments.contains(&column) {
                        arguments.push(column);
                    }
                }
                let (function, frame) = (function.clone(), *frame);
                calls.push(PlannedCall { function, frame, outputs });
            }
            windows.push(PlannedWindow { partition_keys, peer_keys, calls });
        }
        let unit_keys = windows.iter().map(|window| window.partition_keys).min().unwrap_or(0);
        Ok(Self { parts, unit_keys, windows, inputs, arguments })
    }

    /// Returns what is known of the output columns.
    pub(crate) fn outputs(&self) -> Vec<SlotInfo> {
        self.inputs.iter().chain(self.results()).cloned().collect()
    }

    /// Returns what is known of the results of the calls.
    pub(super) fn results(&self) -> impl Iterator<Item = &SlotInfo> {
        let calls = self.windows.iter().flat_map(|window| &window.calls);
        calls.flat_map(|call| &call.outputs)
    }

    pub(super) fn order(&self) -> SortOrder {
        let keys = self.parts.iter().map(|part| part.key).collect();
        SortOrder { keys, ..SortOrder::default() }
    }
}

fn column(inputs: &[SlotInfo], column: usize) -> ExecResult<&SlotInfo> {
    let found = inputs.get(column);
    found.ok_or_else(|| ExecError::internal(format!("a window wants column {column}")))
}

fn column_of_class(inputs: &[SlotInfo], index: usize, class: ValueClass) -> ExecResult<&SlotInfo> {
    let info = column(inputs, index)?;
    if info.vector_type.class() == class {
        return Ok(info);
    }
    Err(ExecError::internal(format!("column {index} of a window is no {class:?}")))
}

/// Returns the columns that a function reads.
fn read_columns(function: &WindowFunction) -> Vec<usize> {
    let of_number = |number: &WindowNumber| match number {
        WindowNumber::Constant(_) => None,
        WindowNumber::Column(column) => Some(*column),
    };
    match function {
        WindowFunction::RowNumber
        | WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::PercentRank
        | WindowFunction::CumeDist => Vec::new(),
        WindowFunction::Ntile { buckets } => of_number(buckets).into_iter().collect(),
        WindowFunction::Shift { argument, distance, default, .. } => {
            [Some(*argument), of_number(distance), *default].into_iter().flatten().collect()
        }
        WindowFunction::FirstValue { argument } | WindowFunction::LastValue { argument } => {
            vec![*argument]
        }
        WindowFunction::NthValue { argument, position } => {
            std::iter::once(*argument).chain(of_number(position)).collect()
        }
        WindowFunction::Aggregate(call) => call.argument.into_iter().chain(call.filter).collect(),
        WindowFunction::Fold(call) => vec![call.argument],
    }
}

fn check_frame(inputs: &[SlotInfo], frame: &WindowFrame) -> ExecResult<()> {
    let fail = |what: &str| Err(ExecError::internal(format!("a frame {what}")));
    if frame.start == FrameEdge::UnboundedFollowing || frame.end == FrameEdge::UnboundedPreceding {
        return fail("begins at its end");
    }
    for offset in [frame.start, frame.end].into_iter().filter_map(FrameEdge::offset) {
        match (frame.unit, frame.range, offset) {
            (FrameUnit::Rows | FrameUnit::Groups, _, FrameOffset::Int(_)) => {}
            (FrameUnit::Range, Some(range), FrameOffset::Int(_) | FrameOffset::Interval { .. }) => {
                column_of_class(inputs, range.key.column, ValueClass::Int)?;
            }
            (FrameUnit::Range, Some(range), FrameOffset::Float(_)) => {
                let class = column(inputs, range.key.column)?.vector_type.class();
                if !matches!(class, ValueClass::Float32 | ValueClass::Float64) {
                    return fail("has a distance of floats and no float");
                }
            }
            _ => return fail("has an offset of another kind"),
        }
    }
    Ok(())
}

fn int_info(bounds: IntBounds, is_nullable: bool) -> SlotInfo {
    let vector_type = VectorType::Int(bounds.width());
    SlotInfo { vector_type, bounds: Some(bounds), is_nullable, dictionary: None }
}

/// Returns what is known of the results of a function.
fn call_outputs(
    inputs: &[SlotInfo],
    function: &WindowFunction,
    rows_max: u64,
) -> ExecResult<Vec<SlotInfo>> {
    for number in [number_of(function)].into_iter().flatten() {
        if let WindowNumber::Column(index) = number {
            column_of_class(inputs, index, ValueClass::Int)?;
        }
    }
    let nullable = |index: usize| {
        column(inputs, index).map(|info| SlotInfo { is_nullable: true, ..info.clone() })
    };
    let count = int_info(IntBounds::new(0, rows_max.into()), false);
    let double = SlotInfo {
        vector_type: VectorType::Float64,
        bounds: None,
        is_nullable: false,
        dictionary: None,
    };
    Ok(match function {
        WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => {
            vec![count]
        }
        WindowFunction::PercentRank | WindowFunction::CumeDist => vec![double],
        WindowFunction::Ntile { .. } => vec![SlotInfo { is_nullable: true, ..count }],
        WindowFunction::Shift { argument, default, .. } => {
            let info = nullable(*argument)?;
            match default {
                Some(default) => vec![common_info(info, column(inputs, *default)?)?],
                None => vec![info],
            }
        }
        WindowFunction::FirstValue { argument }
        | WindowFunction::LastValue { argument }
        | WindowFunction::NthValue { argument, .. } => vec![nullable(*argument)?],
        WindowFunction::Aggregate(call) => aggregate_outputs(inputs, call, &count, rows_max)?,
        WindowFunction::Fold(call) => {
            column_of_class(inputs, call.argument, ValueClass::Bytes)?;
            let class = call.fold.class();
            let bounds = (class == ValueClass::Int).then(|| call.fold.bounds());
            let vector_type = VectorType::of_class(class, call.fold.bounds());
            vec![SlotInfo { vector_type, bounds, is_nullable: true, dictionary: None }]
        }
    })
}

fn number_of(function: &WindowFunction) -> Option<WindowNumber> {
    match function {
        WindowFunction::Ntile { buckets: number }
        | WindowFunction::Shift { distance: number, .. }
        | WindowFunction::NthValue { position: number, .. } => Some(*number),
        _ => None,
    }
}

/// Returns what is known of values of two columns of one class.
fn common_info(one: SlotInfo, other: &SlotInfo) -> ExecResult<SlotInfo> {
    let class = one.vector_type.class();
    if class != other.vector_type.class() {
        return Err(ExecError::internal("a default of another class"));
    }
    Ok(match class {
        ValueClass::Int => {
            let bounds = |info: &SlotInfo| info.bounds.unwrap_or(IntBounds::I128);
            int_info(bounds(&one).union(bounds(other)), true)
        }
        ValueClass::Bytes => SlotInfo { vector_type: VectorType::Bytes, dictionary: None, ..one },
        ValueClass::Bool | ValueClass::Float32 | ValueClass::Float64 => one,
    })
}

fn aggregate_outputs(
    inputs: &[SlotInfo],
    call: &AggregateCall,
    count: &SlotInfo,
    rows_max: u64,
) -> ExecResult<Vec<SlotInfo>> {
    if let Some(filter) = call.filter {
        column_of_class(inputs, filter, ValueClass::Bool)?;
    }
    let sum = |argument: usize| {
        let info = column_of_class(inputs, argument, ValueClass::Int)?;
        let bounds = info.bounds.and_then(|bounds| bounds.sum_of(rows_max));
        let bounds = bounds.unwrap_or(IntBounds::I128).clamp_to(call.limit.bounds);
        Ok::<_, ExecError>(int_info(bounds, true))
    };
    Ok(match (call.function, call.argument) {
        (AggregateFunction::CountRows, None) => vec![count.clone()],
        (AggregateFunction::Count, Some(argument)) => {
            column(inputs, argument)?;
            vec![count.clone()]
        }
        (AggregateFunction::Sum, Some(argument)) => vec![sum(argument)?],
        (AggregateFunction::AverageState, Some(argument)) => vec![sum(argument)?, count.clone()],
        (AggregateFunction::Min | AggregateFunction::Max, Some(argument)) => {
            let info = column(inputs, argument)?;
            vec![SlotInfo { is_nullable: true, ..info.clone() }]
        }
        (function, _) => {
            return Err(ExecError::internal(format!("{function:?} over a window")));
        }
    })
}
