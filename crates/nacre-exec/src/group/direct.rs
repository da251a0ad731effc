//! Keys of small domains: the group is found by an array.
//!
//! ```text
//! keys       code of 3 strings, whole number from 10 to 13
//! sizes      4, 4                      codes get room for new strings
//! index      code * 4 + number - 10
//! ```

use nacre_simd::Flavour;

use super::layout::{GroupKey, GroupPlan};
use super::table::GroupTable;
use crate::interpret::vector_map;
use crate::value::{IntWidth, VectorType};
use crate::vector::{VectorBatch, VectorValues};

/// Largest domain: its array of groups takes 16 KiB, half of an L1 cache.
const DOMAIN_MAX: usize = 4_096;

/// Least room for the codes of a key.
const CODES_MIN: usize = 8;

/// No group yet.
const NO_GROUP: u32 = u32::MAX;

/// Finds groups by the values of their keys.
#[derive(Debug)]
pub(super) struct DirectIndex {
    /// Values of each key, one more for null if it may be null.
    sizes: Vec<usize>,
    groups: Vec<u32>,
    /// The index of each group.
    pub(super) places: Vec<i16>,
    /// The index of each row of the present batch.
    pub(super) rows: Vec<i16>,
    one_key: Vec<i16>,
}

/// Returns how many values a key has; `None` if these are not known to be few.
fn key_size(key: &GroupKey) -> Option<usize> {
    let values = match (key.info.vector_type, key.info.bounds, &key.info.dictionary) {
        (VectorType::Bool, ..) => 2,
        // Those of 128 bits have two words, and are few where their values are.
        (VectorType::Int(IntWidth::I16 | IntWidth::I32 | IntWidth::I64), Some(bounds), _) => {
            let values = bounds.max().checked_sub(bounds.min())?.checked_add(1)?;
            usize::try_from(values).ok().filter(|values| *values <= DOMAIN_MAX)?
        }
        (VectorType::Code, _, Some(dictionary)) => {
            dictionary.read().len().next_power_of_two().max(CODES_MIN)
        }
        _ => return None,
    };
    Some(values + usize::from(key.info.is_nullable))
}

impl DirectIndex {
    /// Makes an index for the groups of `table`; `None` if the domain of the keys is too large.
    pub(super) fn new(plan: &GroupPlan, table: &GroupTable) -> Option<Self> {
        let sizes = plan.compared().iter().map(key_size).collect::<Option<Vec<_>>>()?;
        let domain = sizes.iter().try_fold(1_usize, |all, size| all.checked_mul(*size))?;
        if domain > DOMAIN_MAX {
            return None;
        }
        let mut this = Self {
            sizes,
            groups: vec![NO_GROUP; domain],
            places: Vec::new(),
            rows: Vec::new(),
            one_key: Vec::new(),
        };
        for group in 0..table.len() {
            let place = this.place_of(plan, table.row(plan, group));
            this.note(place, group as u32);
        }
        Some(this)
    }

    /// Whether new strings have codes beyond the room for them.
    pub(super) fn is_outgrown(&self, plan: &GroupPlan) -> bool {
        plan.compared().iter().zip(&self.sizes).any(|(key, size)| {
            let codes =
                key.info.dictionary.as_ref().map_or(0, |dictionary| dictionary.read().len());
            codes + usize::from(key.info.is_nullable) > *size
        })
    }

    /// Returns the index of a group's row.
    fn place_of(&self, plan: &GroupPlan, row: &[u64]) -> i16 {
        let mut place = 0;
        for (index, (key, size)) in plan.compared().iter().zip(&self.sizes).enumerate() {
            let is_null = row[plan.null_word + index / 64] >> (index % 64) & 1 == 1;
            let base = key.info.bounds.map_or(0, |bounds| bounds.min());
            let value = i128::from(row[key.word] as i64).wrapping_sub(base) as usize;
            let value = if is_null { 0 } else { value + usize::from(key.info.is_nullable) };
            place = place * size + value;
        }
        place as i16
    }

    /// Works out the index of each row of a batch. Rows that are not left get any.
    pub(super) fn fill(&mut self, plan: &GroupPlan, flavour: Flavour, batch: &VectorBatch) {
        for (at, (key, size)) in plan.compared().iter().zip(&self.sizes).enumerate() {
            let column = &batch.columns[key.slot];
            let out = &mut self.one_key;
            let base = key.info.bounds.map_or(0, |bounds| bounds.min()) as i64;
            let base = base.wrapping_sub(i64::from(key.info.is_nullable)) as i16;
            match &column.values {
                VectorValues::Int16(values) => {
                    vector_map(flavour, values, out, |value| value.wrapping_sub(base));
                }
                VectorValues::Int32(values) => {
                    vector_map(flavour, values, out, |value| (value as i16).wrapping_sub(base));
                }
                VectorValues::Int64(values) => {
                    vector_map(flavour, values, out, |value| (value as i16).wrapping_sub(base));
                }
                VectorValues::Code(values) => {
                    vector_map(flavour, values, out, |value| (value as i16).wrapping_sub(base));
                }
                VectorValues::Bool(values) => {
                    out.clear();
                    out.extend((0..values.len()).map(|row| i16::from(values.get(row)) - base));
                }
                _ => debug_assert!(false, "a key of a large domain"),
            }
            if let Some(validity) = &column.validity {
                for (row, value) in out.iter_mut().enumerate() {
                    if !validity.get(row) {
                        *value = 0;
                    }
                }
            }
            if at == 0 {
                std::mem::swap(&mut self.rows, out);
                continue;
            }
            let size = *size as i16;
            for (place, value) in self.rows.iter_mut().zip(out.iter()) {
                *place = place.wrapping_mul(size).wrapping_add(*value);
            }
        }
    }

    /// Returns the group of a row of the present batch.
    #[inline]
    pub(super) fn group(&self, row: usize) -> Option<u32> {
        let group = self.groups.get(self.rows[row] as usize).copied()?;
        (group != NO_GROUP).then_some(group)
    }

    /// Notes the group of an index.
    pub(super) fn note(&mut self, place: i16, group: u32) {
        if let Some(slot) = self.groups.get_mut(place as usize) {
            *slot = group;
        }
        debug_assert_eq!(self.places.len(), group as usize);
        self.places.push(place);
    }

    /// Forgets all groups.
    pub(super) fn clear(&mut self) {
        self.groups.fill(NO_GROUP);
        self.places.clear();
    }
}
