//! A function over a file, for a vector of rows after the other.

use super::super::folds::{BYTES_BETWEEN_ASKS, FoldedFrame, string_bytes};
use super::super::partition::append_null;
use super::super::positions::row_at_position;
use super::super::ranks::OpenBucket;
use super::aggregates::{FrameExtreme, FrameSums};
use super::file::{PartitionFile, RowReader};
use super::frames::{FrameSpan, PlacedRow};
use crate::error::{ExecError, ExecResult};
use crate::memory::MemoryReservation;
use crate::plan::{AggregateFunction, FoldCall, FrameExclusion, WindowFrame, WindowFunction};
use crate::vector::{ColumnVector, VectorValues};

/// A call and how far it is.
#[derive(Debug)]
pub(super) struct LargeWindowCall {
    function: WindowFunction,
    exclusion: FrameExclusion,
    state: CallState,
    /// Of arguments of the row itself.
    own: RowReader,
}

/// What a function keeps from row to row.
#[derive(Debug)]
enum CallState {
    /// Nothing.
    Place,
    Buckets(Option<OpenBucket>),
    /// Of rows that values are taken from.
    Other(RowReader),
    Sums(Box<FrameSums>),
    Extreme(Box<FrameExtreme>),
    Fold {
        folded: FoldedFrame,
        reader: RowReader,
        /// Of results.
        reservation: MemoryReservation,
    },
}

/// Rows and what is around them.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedRows<'r> {
    pub(super) file: &'r PartitionFile,
    pub(super) places: &'r [PlacedRow],
    /// By row.
    pub(super) frames: &'r [FrameSpan],
}

impl LargeWindowCall {
    pub(super) fn new(
        function: &WindowFunction,
        frame: &WindowFrame,
        file: &PartitionFile,
    ) -> Self {
        let state = match function {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist => CallState::Place,
            WindowFunction::Ntile { .. } => CallState::Buckets(None),
            WindowFunction::Shift { .. }
            | WindowFunction::FirstValue { .. }
            | WindowFunction::LastValue { .. }
            | WindowFunction::NthValue { .. } => CallState::Other(RowReader::default()),
            WindowFunction::Aggregate(call) => match call.function {
                AggregateFunction::Min | AggregateFunction::Max => {
                    CallState::Extreme(Box::new(FrameExtreme::new(file, frame)))
                }
                _ => CallState::Sums(Box::default()),
            },
            WindowFunction::Fold(call) => CallState::Fold {
                folded: FoldedFrame::new(call),
                reader: RowReader::default(),
                reservation: file.reservation(),
            },
        };
        let own = RowReader::default();
        Self { function: function.clone(), exclusion: frame.exclusion, state, own }
    }

    /// Appends the results for rows that follow those of the last call.
    ///
    /// # Errors
    /// Those of the function, of memory, of files and of the query's control.
    pub(super) fn evaluate(
        &mut self,
        rows: PlacedRows<'_>,
        outputs: &mut [ColumnVector],
    ) -> ExecResult<()> {
        let PlacedRows { file, places, frames } = rows;
        let Self { function, exclusion, state, own } = self;
        let framed = || places.iter().zip(frames);
        match (state, &*function) {
            (CallState::Sums(sums), WindowFunction::Aggregate(call)) => {
                framed().try_for_each(|framed| sums.append(call, file, framed, *exclusion, outputs))
            }
            (state, function) => {
                let [out] = outputs else {
                    return Err(ExecError::internal("a window function of several results"));
                };
                match (state, function) {
                    (CallState::Place, _) => append_ranks(function, rows, out),
                    (CallState::Buckets(open), _) => {
                        append_buckets((function, open), rows, own, out)
                    }
                    (CallState::Other(other), WindowFunction::Shift { .. }) => {
                        append_shifted(function, rows, (own, other), out)
                    }
                    (CallState::Other(other), _) => {
                        let function = (function, *exclusion);
                        append_positions(function, rows, (own, other), out)
                    }
                    (CallState::Extreme(extreme), WindowFunction::Aggregate(call)) => framed()
                        .try_for_each(|framed| extreme.append(call, file, framed, *exclusion, out)),
                    (
                        CallState::Fold { folded, reader, reservation },
                        WindowFunction::Fold(call),
                    ) => {
                        reservation.resize(0)?;
                        append_folds((call, *exclusion, folded), rows, (reader, reservation), out)
                    }
                    _ => Err(ExecError::internal("a window function of another kind")),
                }
            }
        }
    }
}

fn append_ranks(
    function: &WindowFunction,
    PlacedRows { places, frames, .. }: PlacedRows<'_>,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    for (at, place) in places.iter().enumerate() {
        let PlacedRow { row, partition, group, peers_start } = place;
        let before = peers_start - partition.start;
        let rows = partition.len();
        match (function, &mut out.values) {
            (WindowFunction::PercentRank, VectorValues::Float64(values)) => {
                let others = (rows - 1) as f64;
                values.push(if rows > 1 { f64::from(before) / others } else { 0.0 });
            }
            (WindowFunction::CumeDist, VectorValues::Float64(values)) => {
                // Its frame ends with the peers of the row.
                let end = frames.get(at).map_or(row + 1, |span| span.rows.end);
                values.push(f64::from(end - partition.start) / rows as f64);
            }
            (WindowFunction::RowNumber, values) => {
                values.push_int(i128::from(row - partition.start) + 1);
            }
            (WindowFunction::Rank, values) => values.push_int(i128::from(before) + 1),
            (_, values) => values.push_int(i128::from(*group) + 1),
        }
    }
    Ok(())
}

fn append_buckets(
    (function, open): (&WindowFunction, &mut Option<OpenBucket>),
    PlacedRows { file, places, .. }: PlacedRows<'_>,
    own: &mut RowReader,
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let WindowFunction::Ntile { buckets } = function else {
        return Err(ExecError::internal("no buckets"));
    };
    for PlacedRow { row, partition, .. } in places {
        if *row == partition.start {
            *open = None;
        }
        if open.is_none() {
            let count = own.at(file, *row)?.number(*buckets)?;
            *open = count.map(|count| OpenBucket::new(count, partition.len())).transpose()?;
        }
        match open {
            Some(bucket) => out.values.push_int(bucket.next().into()),
            None => append_null(out),
        }
    }
    Ok(())
}

/// Appends values of rows that are so far away in the partition.
fn append_shifted(
    function: &WindowFunction,
    PlacedRows { file, places, .. }: PlacedRows<'_>,
    (own, other): (&mut RowReader, &mut RowReader),
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let WindowFunction::Shift { argument, distance, is_lead, default } = function else {
        return Err(ExecError::internal("no shift"));
    };
    for PlacedRow { row, partition, .. } in places {
        let own = own.at(file, *row)?;
        let Some(distance) = own.number(*distance)? else {
            append_null(out);
            continue;
        };
        let (row_number, distance) = (i128::from(*row), i128::from(distance));
        let wanted = if *is_lead { row_number + distance } else { row_number - distance };
        match (u32::try_from(wanted), default) {
            (Ok(wanted), _) if partition.contains(&wanted) => {
                other.at(file, wanted)?.column(*argument)?.append_to(0, out);
            }
            (_, Some(default)) => own.column(*default)?.append_to(0, out),
            (_, None) => append_null(out),
        }
    }
    Ok(())
}

/// Appends values of rows at a position of the frame.
fn append_positions(
    (function, exclusion): (&WindowFunction, FrameExclusion),
    PlacedRows { file, places, frames }: PlacedRows<'_>,
    (own, other): (&mut RowReader, &mut RowReader),
    out: &mut ColumnVector,
) -> ExecResult<()> {
    let argument = match function {
        WindowFunction::FirstValue { argument }
        | WindowFunction::LastValue { argument }
        | WindowFunction::NthValue { argument, .. } => *argument,
        _ => return Err(ExecError::internal("no position of a frame")),
    };
    for (place, span) in places.iter().zip(frames) {
        let position = match function {
            WindowFunction::NthValue { position, .. } => {
                own.at(file, place.row)?.number(*position)?
            }
            _ => None,
        };
        match row_at_position(function, position, &span.pieces(place, exclusion))? {
            // Rows of a file have numbers of 32 bits.
            Some(row) => other.at(file, row as u32)?.column(argument)?.append_to(0, out),
            None => append_null(out),
        }
    }
    Ok(())
}

fn append_folds(
    (call, exclusion, folded): (&FoldCall, FrameExclusion, &mut FoldedFrame),
    PlacedRows { file, places, frames }: PlacedRows<'_>,
    (reader, reservation): (&mut RowReader, &mut MemoryReservation),
    out: &mut ColumnVector,
) -> ExecResult<()> {
    for (place, span) in places.iter().zip(frames) {
        let pieces = span.pieces(place, exclusion);
        folded.move_to(call, pieces, file.control(), |own, state| {
            let column = reader.at(file, own as u32)?.column(call.argument)?;
            if column.is_null(0) {
                return Ok(());
            }
            column.with_bytes(0, |bytes| state.add(bytes))
        })?;
        folded.append_value(out)?;
        let bytes = string_bytes(out);
        if bytes >= reservation.bytes() + BYTES_BETWEEN_ASKS {
            reservation.resize(bytes)?;
        }
    }
    Ok(())
}
