//! The share of a chunk in an aggregation without keys, taken from its stored aggregates instead of
//! its rows.
//!
//! ```text
//! count(*), count(a), max(a)    rows 65,536, nulls of a 36, bounds of a 3 to 90
//!                               adds 65,536 and 65,500, and 90 is a candidate
//! ```
//!
//! Not told are sums of floats, which depend on an order, extremes that are a zero, whose sign the
//! bounds do not keep, strings of which the bounds have a prefix alone, and whatever a filter or a
//! set of distinct values decides: then the rows are read.
//!
//! # Source
//! [Muehlbauer16 section 3] has small materialized aggregates skip blocks. Differs: they answer
//! aggregates, too.

use nacre_column::{Bound, Sma};

use super::layout::{GroupAggregate, StateKind};
use super::sink::GroupSink;
use super::state::{add_sum, take_bytes, take_float, take_int};
use super::table::GroupTable;
use crate::pipeline::SlotId;

/// What a chunk adds to an aggregate.
enum StoredShare<'s> {
    /// There is no value.
    Nothing,
    Count(u64),
    Sum {
        sum: i128,
        count: u64,
    },
    Int(i128),
    Float(f64),
    Bytes(&'s [u8]),
}

impl GroupSink {
    /// Adds the share of a chunk of so many rows before the pipeline runs, if the aggregation has
    /// no keys; `sma` returns the stored aggregates of what is a column of the table. False if they
    /// do not tell the share: nothing is added then.
    pub(crate) fn add_stored<'s>(
        &self,
        rows: usize,
        sma: impl Fn(SlotId) -> Option<&'s Sma>,
    ) -> bool {
        let aggregates = &self.plan.aggregates;
        let shares = aggregates.iter().map(|aggregate| stored_share(aggregate, rows, &sma));
        let Some(shares) = shares.collect::<Option<Vec<_>>>() else { return false };
        if !self.plan.keys.is_empty() {
            return false;
        }
        self.change_only_group(|table| {
            for (aggregate, share) in aggregates.iter().zip(shares) {
                add_share(aggregate, share, table);
            }
        });
        true
    }
}

/// Returns what a chunk adds to an aggregate; `None` if its stored aggregates do not tell it.
fn stored_share<'s>(
    aggregate: &GroupAggregate,
    rows: usize,
    sma: impl Fn(SlotId) -> Option<&'s Sma>,
) -> Option<StoredShare<'s>> {
    if aggregate.filter.is_some() {
        return None;
    }
    let Some(argument) = aggregate.argument else {
        return (aggregate.kind == StateKind::Count).then_some(StoredShare::Count(rows as u64));
    };
    let sma = sma(argument)?;
    let count = u64::from(sma.rows - sma.null_count);
    match aggregate.kind {
        StateKind::Count => Some(StoredShare::Count(count)),
        _ if count == 0 => Some(StoredShare::Nothing),
        StateKind::SumNarrow | StateKind::SumWide => {
            sma.sum.map(|sum| StoredShare::Sum { sum, count })
        }
        StateKind::ExtremeInt { is_max } => match bound(sma, is_max)? {
            Bound::Int(value) => Some(StoredShare::Int(*value)),
            _ => None,
        },
        StateKind::ExtremeFloat { is_max } => float_extreme(sma, is_max).map(StoredShare::Float),
        StateKind::ExtremeBytes { is_max } => match bound(sma, is_max)? {
            Bound::Bytes { prefix, is_exact: true } => Some(StoredShare::Bytes(prefix.as_bytes())),
            _ => None,
        },
        StateKind::Distinct(_)
        | StateKind::DistinctSum(_)
        | StateKind::SumFloat
        | StateKind::ExtremeExact { .. }
        | StateKind::SumExact
        | StateKind::Collected
        | StateKind::Moments(_) => None,
    }
}

fn bound(sma: &Sma, is_max: bool) -> Option<&Bound> {
    if is_max { sma.max.as_ref() } else { sma.min.as_ref() }
}

/// Returns an extreme of floats, of which there are some: NaN is above all others.
fn float_extreme(sma: &Sma, is_max: bool) -> Option<f64> {
    match bound(sma, is_max) {
        _ if is_max && sma.has_nan => Some(f64::NAN),
        None if sma.has_nan => Some(f64::NAN),
        Some(Bound::Float(value)) if *value != 0.0 => Some(*value),
        _ => None,
    }
}

/// Adds a share to the state of the first group of a table.
fn add_share(aggregate: &GroupAggregate, share: StoredShare<'_>, table: &mut GroupTable) {
    let GroupTable { rows, heap, .. } = table;
    let kind = aggregate.kind;
    let state = &mut rows[aggregate.word..aggregate.word + kind.words()];
    match (share, kind) {
        (StoredShare::Count(count), _) => state[0] += count,
        (StoredShare::Sum { sum, count }, _) => add_sum(kind, state, sum, count),
        (StoredShare::Int(value), StateKind::ExtremeInt { is_max }) => {
            take_int(is_max, state, value);
        }
        (StoredShare::Float(value), StateKind::ExtremeFloat { is_max }) => {
            take_float(is_max, state, value);
        }
        (StoredShare::Bytes(value), StateKind::ExtremeBytes { is_max }) => {
            take_bytes(is_max, state, heap, value);
        }
        // A share is made for the state of its aggregate.
        _ => {}
    }
}
