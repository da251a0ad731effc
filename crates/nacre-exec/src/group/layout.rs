//! The words of a group's row, and what its columns are.

use std::ops::Range;

use super::collected::MOMENT_WORDS;
use crate::error::{ExecError, ExecResult};
use crate::pipeline::{SlotId, SlotInfo};
use crate::plan::{AggregateCall, AggregateFunction, CollectedFoldFunction, MomentKind};
use crate::value::{IntBounds, IntLimit, IntWidth, ValueClass, VectorType};

/// Words before the keys.
pub(super) const HASH_WORDS: usize = 1;

/// A key column.
#[derive(Clone, Debug)]
pub(crate) struct GroupKey {
    pub(super) slot: SlotId,
    pub(super) info: SlotInfo,
    /// First word in the row.
    pub(super) word: usize,
    /// The word of its offset, of strings.
    pub(super) offset_word: Option<usize>,
    /// The word and the bit that say whether it is null.
    pub(super) null_place: (usize, u32),
}

/// A key that is a string.
#[derive(Clone, Copy, Debug)]
pub(super) struct StringKey<'p> {
    pub(super) key: &'p GroupKey,
    pub(super) offset_word: usize,
}

/// What an aggregate's state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateKind {
    /// A count.
    Count,
    /// The count of a set, filled in when partitions are merged; which of the distinct ones it is.
    Distinct(usize),
    /// A sum of 128 bits and a count of a set, filled in likewise.
    DistinctSum(usize),
    /// A sum of 64 bits, which holds all sums of this query, and a count.
    SumNarrow,
    /// A sum of 128 bits and a count.
    SumWide,
    /// A sum of doubles and a count.
    SumFloat,
    /// A whole number or truth value of 128 bits, and whether there is one.
    ExtremeInt { is_max: bool },
    /// A double and whether there is one.
    ExtremeFloat { is_max: bool },
    /// Offset and length in the heap, and whether there is one.
    ExtremeBytes { is_max: bool },
    /// The same, of a numeric of any scale.
    ExtremeExact { is_max: bool },
    /// A sum of numerics of any scale: 128 bits and their scale, or offset in the heap, length and
    /// room there; and a count.
    SumExact,
    /// Byte strings one behind the other: offset, bytes and room in the heap.
    Collected,
    /// Sums of floats.
    Moments(MomentKind),
}

/// An aggregate.
#[derive(Clone, Debug)]
pub(crate) struct GroupAggregate {
    pub(super) kind: StateKind,
    pub(super) function: AggregateFunction,
    pub(super) argument: Option<SlotId>,
    pub(super) argument_info: Option<SlotInfo>,
    pub(super) filter: Option<SlotId>,
    pub(super) limit: IntLimit,
    /// What folds collected rows that do not fit in memory.
    pub(super) fold: Option<CollectedFoldFunction>,
    /// First word in the row.
    pub(super) word: usize,
    /// Bounds of a sum over all rows.
    pub(super) sum_bounds: IntBounds,
    /// Whether the sum of a vector fits 32 bits.
    pub(super) is_vector_sum_narrow: bool,
    /// Whether the sum of a vector fits 64 bits.
    pub(super) is_vector_sum_proven: bool,
}

/// Everything that is known of an aggregation before it runs.
#[derive(Clone, Debug)]
pub(crate) struct GroupPlan {
    /// Those that are compared, then those that depend on them.
    pub(super) keys: Vec<GroupKey>,
    pub(super) compared_keys: usize,
    /// Keys that are strings, by index, and how many of them are compared: few rows have to look
    /// at any.
    string_keys: (Vec<usize>, usize),
    /// Whether a state names bytes in the heap.
    pub(super) has_heap_states: bool,
    pub(super) aggregates: Vec<GroupAggregate>,
    /// The aggregates that count distinct values, with the layout of their own tables.
    pub(super) distinct: Vec<GroupPlan>,
    /// Words from the first key word to behind the words of nulls: equal for equal keys.
    pub(super) compared_words: usize,
    /// The first word of nulls of compared keys.
    pub(super) null_word: usize,
    /// Words of dependent keys and of their nulls.
    pub(super) dependent_words: Range<usize>,
    pub(super) row_words: usize,
    pub(super) rows: GroupInputRows,
}

/// How many rows come at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupInputRows {
    pub(crate) all: u64,
    /// In one batch: sums of one are proved to fit by this.
    pub(crate) batch: usize,
}

impl StateKind {
    pub(super) fn words(self) -> usize {
        match self {
            Self::Count | Self::Distinct(_) => 1,
            Self::SumNarrow | Self::SumFloat | Self::ExtremeFloat { .. } => 2,
            Self::Moments(_) => MOMENT_WORDS,
            Self::SumExact => 4,
            Self::SumWide
            | Self::Collected
            | Self::DistinctSum(_)
            | Self::ExtremeInt { .. }
            | Self::ExtremeBytes { .. }
            | Self::ExtremeExact { .. } => 3,
        }
    }

    /// Whether it may name bytes in the heap.
    fn is_in_heap(self) -> bool {
        match self {
            Self::ExtremeBytes { .. }
            | Self::ExtremeExact { .. }
            | Self::SumExact
            | Self::Collected => true,
            Self::Count
            | Self::Distinct(_)
            | Self::DistinctSum(_)
            | Self::SumNarrow
            | Self::SumWide
            | Self::SumFloat
            | Self::ExtremeInt { .. }
            | Self::ExtremeFloat { .. }
            | Self::Moments(_) => false,
        }
    }
}

/// Words of a key without its offset.
pub(super) fn key_words(vector_type: VectorType) -> usize {
    match vector_type {
        VectorType::Int(IntWidth::I128) | VectorType::Bytes => 2,
        _ => 1,
    }
}

impl GroupPlan {
    /// Plans an aggregation by columns that are compared and such that depend on them; `infos` and
    /// `slots` are those of the input's columns, which has at most so many rows.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if a column is not there or is of another class.
    pub(crate) fn new(
        (key_columns, dependents): (&[usize], &[usize]),
        calls: &[AggregateCall],
        infos: &[SlotInfo],
        slots: &[SlotId],
        rows: GroupInputRows,
    ) -> ExecResult<Self> {
        let missing = |column: usize| ExecError::internal(format!("no column {column} to group"));
        let mut plan = Self::of_keys(key_columns, dependents, infos, slots, rows)?;
        for call in calls {
            let column = |column: usize| {
                let slot = slots.get(column).copied().ok_or_else(|| missing(column))?;
                Ok::<_, ExecError>((slot, infos[column].clone()))
            };
            let argument = call.argument.map(column).transpose()?;
            let filter = call.filter.map(column).transpose()?;
            if filter.as_ref().is_some_and(|(_, info)| info.vector_type != VectorType::Bool) {
                return Err(ExecError::internal("an aggregate's filter is no truth value"));
            }
            if let (true, Some(argument)) = (call.function.is_distinct(), call.argument) {
                let keys: Vec<usize> = key_columns.iter().copied().chain([argument]).collect();
                let mut set = Self::of_keys(&keys, &[], infos, slots, rows)?;
                // The hash of the group's keys.
                set.row_words += 1;
                plan.distinct.push(set);
            }
            let filter = filter.map(|(slot, _)| slot);
            plan.add(call, argument, filter)?;
        }
        Ok(plan)
    }

    fn of_keys(
        compared: &[usize],
        dependents: &[usize],
        infos: &[SlotInfo],
        slots: &[SlotId],
        rows: GroupInputRows,
    ) -> ExecResult<Self> {
        let missing = |column: usize| ExecError::internal(format!("no column {column} to group"));
        let mut keys = Vec::with_capacity(compared.len() + dependents.len());
        let mut add = |columns: &[usize], first: usize| {
            let (start, mut word) = (keys.len(), first);
            for &column in columns {
                let slot = slots.get(column).copied().ok_or_else(|| missing(column))?;
                let info = infos[column].clone();
                let words = key_words(info.vector_type);
                keys.push(GroupKey { slot, info, word, offset_word: None, null_place: (0, 0) });
                word += words;
            }
            for (index, key) in keys[start..].iter_mut().enumerate() {
                key.null_place = (word + index / 64, index as u32 % 64);
            }
            Ok::<_, ExecError>(word)
        };
        let null_word = add(compared, HASH_WORDS)?;
        let compared_end = null_word + compared.len().div_ceil(64);
        let dependent_end = add(dependents, compared_end)? + dependents.len().div_ceil(64);
        let mut word = dependent_end;
        for key in &mut keys {
            if key.info.vector_type == VectorType::Bytes {
                key.offset_word = Some(word);
                word += 1;
            }
        }
        let strings: Vec<usize> =
            (0..keys.len()).filter(|index| keys[*index].offset_word.is_some()).collect();
        let compared_strings = strings.iter().filter(|index| **index < compared.len()).count();
        Ok(Self {
            keys,
            compared_keys: compared.len(),
            string_keys: (strings, compared_strings),
            has_heap_states: false,
            compared_words: compared_end - HASH_WORDS,
            null_word,
            dependent_words: compared_end..dependent_end,
            aggregates: Vec::new(),
            distinct: Vec::new(),
            row_words: word,
            rows,
        })
    }

    fn add(
        &mut self,
        call: &AggregateCall,
        argument: Option<(SlotId, SlotInfo)>,
        filter: Option<SlotId>,
    ) -> ExecResult<()> {
        let bounds = argument.as_ref().and_then(|(_, info)| info.bounds);
        let sum_bounds = bounds.and_then(|bounds| bounds.sum_of(self.rows.all));
        let kind = self.kind(call.function, argument.as_ref().map(|(_, info)| info), sum_bounds);
        let kind = kind.ok_or_else(|| {
            ExecError::internal(format!("{:?} takes no such column", call.function))
        })?;
        let vector_sum = bounds.and_then(|bounds| bounds.sum_of(self.rows.batch as u64));
        let fits = |within: IntBounds| vector_sum.is_some_and(|sum| within.contains(sum));
        self.aggregates.push(GroupAggregate {
            kind,
            function: call.function,
            argument: argument.as_ref().map(|(slot, _)| *slot),
            argument_info: argument.map(|(_, info)| info),
            filter,
            limit: call.limit,
            fold: call.fold.clone(),
            word: self.row_words,
            sum_bounds: sum_bounds.unwrap_or(IntBounds::I128),
            is_vector_sum_narrow: fits(IntBounds::I32),
            is_vector_sum_proven: fits(IntBounds::I64),
        });
        self.row_words += kind.words();
        self.has_heap_states |= kind.is_in_heap();
        Ok(())
    }

    /// Chooses the state of an aggregate; `None` if it takes no such argument.
    fn kind(
        &self,
        function: AggregateFunction,
        argument: Option<&SlotInfo>,
        sum_bounds: Option<IntBounds>,
    ) -> Option<StateKind> {
        use AggregateFunction as F;
        let class = argument.map(|info| info.vector_type.class());
        let is_max = matches!(function, F::Max | F::ExactMax);
        Some(match (function, class) {
            (F::CountRows, None) | (F::Count, Some(_)) => StateKind::Count,
            (F::CountDistinct, Some(_)) => StateKind::Distinct(self.distinct.len() - 1),
            (F::DistinctState, Some(ValueClass::Int)) => {
                StateKind::DistinctSum(self.distinct.len() - 1)
            }
            (F::Sum | F::CountSum | F::AverageState, Some(ValueClass::Int)) => match sum_bounds {
                Some(bounds) if IntBounds::I64.contains(bounds) => StateKind::SumNarrow,
                _ => StateKind::SumWide,
            },
            (F::ExactSum | F::ExactState, Some(ValueClass::Bytes)) => StateKind::SumExact,
            (F::ExactMin | F::ExactMax, Some(ValueClass::Bytes)) => {
                StateKind::ExtremeExact { is_max }
            }
            (F::Sum | F::AverageState, Some(ValueClass::Float32 | ValueClass::Float64)) => {
                StateKind::SumFloat
            }
            (F::Min | F::Max, Some(ValueClass::Int | ValueClass::Bool)) => {
                StateKind::ExtremeInt { is_max }
            }
            (F::Min | F::Max, Some(ValueClass::Float32 | ValueClass::Float64)) => {
                StateKind::ExtremeFloat { is_max }
            }
            (F::Collect, Some(ValueClass::Bytes)) => StateKind::Collected,
            (F::Moments(kind), Some(ValueClass::Bytes)) => StateKind::Moments(kind),
            (F::Min | F::Max, Some(ValueClass::Bytes)) => StateKind::ExtremeBytes { is_max },
            _ => return None,
        })
    }

    /// Returns the aggregates whose collected rows can be folded outside of memory, and by what.
    pub(super) fn folds(&self) -> impl Iterator<Item = (&GroupAggregate, &CollectedFoldFunction)> {
        self.aggregates.iter().filter_map(|one| Some((one, one.fold.as_ref()?)))
    }

    /// Returns the keys that tell groups apart.
    pub(super) fn compared(&self) -> &[GroupKey] {
        &self.keys[..self.compared_keys]
    }

    /// Returns the keys that follow from those.
    pub(super) fn dependents(&self) -> &[GroupKey] {
        &self.keys[self.compared_keys..]
    }

    /// Returns the keys that are strings: their bytes may lie in the heap.
    #[inline]
    pub(super) fn string_keys(&self) -> impl Iterator<Item = StringKey<'_>> {
        Self::strings(&self.keys, &self.string_keys.0)
    }

    /// Returns those of them that are compared.
    #[inline]
    pub(super) fn compared_strings(&self) -> impl Iterator<Item = StringKey<'_>> {
        let (strings, compared) = &self.string_keys;
        Self::strings(&self.keys, &strings[..*compared])
    }

    #[inline]
    fn strings<'p>(
        keys: &'p [GroupKey],
        indices: &'p [usize],
    ) -> impl Iterator<Item = StringKey<'p>> {
        indices.iter().filter_map(|index| {
            let key = &keys[*index];
            Some(StringKey { key, offset_word: key.offset_word? })
        })
    }

    /// Returns what is known of the output columns: the keys, then those of the aggregates.
    pub(crate) fn outputs(&self) -> Vec<SlotInfo> {
        let mut outputs: Vec<SlotInfo> = self.keys.iter().map(|key| key.info.clone()).collect();
        let int = |bounds: IntBounds, is_nullable| SlotInfo {
            vector_type: VectorType::Int(bounds.width()),
            bounds: Some(bounds),
            is_nullable,
            dictionary: None,
        };
        let count = int(IntBounds::new(0, self.rows.all.into()), false);
        let double = SlotInfo {
            vector_type: VectorType::Float64,
            bounds: None,
            is_nullable: true,
            dictionary: None,
        };
        for aggregate in &self.aggregates {
            let argument = aggregate.argument_info.clone();
            match aggregate.kind {
                StateKind::Count | StateKind::Distinct(_) => outputs.push(count.clone()),
                StateKind::SumNarrow | StateKind::SumWide | StateKind::DistinctSum(_) => {
                    let bounds = aggregate.sum_bounds.clamp_to(aggregate.limit.bounds);
                    outputs.push(int(bounds, true));
                }
                StateKind::SumFloat => {
                    let is_single = argument
                        .is_some_and(|info| info.vector_type == VectorType::Float32)
                        && aggregate.function == AggregateFunction::Sum;
                    let vector_type =
                        if is_single { VectorType::Float32 } else { VectorType::Float64 };
                    outputs.push(SlotInfo { vector_type, ..double.clone() });
                }
                StateKind::Collected
                | StateKind::Moments(_)
                | StateKind::ExtremeBytes { .. }
                | StateKind::ExtremeExact { .. }
                | StateKind::SumExact => {
                    outputs.push(SlotInfo { vector_type: VectorType::Bytes, ..double.clone() })
                }
                StateKind::ExtremeInt { .. } | StateKind::ExtremeFloat { .. } => {
                    outputs.extend(argument.map(|info| SlotInfo { is_nullable: true, ..info }));
                }
            }
            if aggregate.function.columns() == 2 {
                outputs.push(count.clone());
            }
        }
        outputs
    }
}
