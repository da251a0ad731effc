//! Visits: work on packed keys while they are in registers, without a store in between.
//!
//! 1. A [`VisitGroups`] takes the groups of a block one after the other, each in its own width,
//!    inside of one kernel.
//! 2. It unpacks a register of neighbouring rows at a time and hands it to the visit.
//! 3. It stops before a group of more than 32 bits: such keys cost as much memory traffic as the
//!    plain values, so that decoding them in the L1 cache first loses nothing.
//!
//! Groups of 128 rows are not visited. They fill registers of 128 bits, and unpacking them in the
//! L1 cache, by code that knows the width, before working on it in the widest registers takes
//! fewer instructions.

use std::ops::Range;

use nacre_simd::{Kernel, Register, Simd};

use super::lanes::{Groups512, NARROW_WIDTH_MAX, mask};

/// Work on the keys of whole groups.
pub(crate) trait Visit {
    /// What the work carries from register to register.
    type State<S: Simd>: VisitState<S>;
    /// The answer.
    type Output;

    /// Begins, before the first group.
    fn start<S: Simd>(self, simd: S) -> Self::State<S>;

    /// Ends, after the last group.
    fn finish<S: Simd>(state: Self::State<S>) -> Self::Output;
}

/// What happens to each register. Mark all of it `#[inline(always)]`.
pub(crate) trait VisitState<S: Simd> {
    /// Begins a group of keys of `width` bits.
    fn begin_group(&mut self, width: usize);

    /// Takes the keys of the next rows of the group, in order.
    fn keys(&mut self, keys: Register<S, u32>);

    /// Ends the group.
    fn end_group(&mut self);
}

/// Visits the groups `groups`; returns the answer and the first group not visited.
pub(crate) struct VisitGroups<'g, 'a, V> {
    pub(crate) packed: &'g Groups512<'a>,
    pub(crate) groups: Range<usize>,
    pub(crate) visit: V,
}

impl<V: Visit> Kernel for VisitGroups<'_, '_, V> {
    type Output = (V::Output, usize);

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> (V::Output, usize) {
        let mut state = self.visit.start(simd);
        for index in self.groups.clone() {
            let (bytes, width) = self.packed.group(index);
            if width > NARROW_WIDTH_MAX {
                return (V::finish(state), index);
            }
            state.begin_group(width);
            visit_group(simd, bytes, width, &mut state);
            state.end_group();
        }
        (V::finish(state), self.groups.end)
    }
}

/// Splits `rows` into groups for visits and parts that are better decoded first:
/// those at the ends that are no whole groups, and those where `visit` stopped.
///
/// `visit` returns the first group that it did not take.
pub(crate) fn split(
    rows: Range<usize>,
    mut visit: impl FnMut(Range<usize>) -> usize,
    mut decode: impl FnMut(Range<usize>),
) {
    /// Rows decoded at a time after a stop: the next groups are probably as wide.
    const DECODED_ROWS: usize = 1_024;

    let group_rows = Groups512::ROWS;
    let groups_end = rows.end / group_rows;
    let mut row = rows.start;
    while row < rows.end {
        let group = row / group_rows;
        if !row.is_multiple_of(group_rows) || group == groups_end {
            let end = rows.end.min((group + 1) * group_rows);
            decode(row..end);
            row = end;
            continue;
        }
        row = visit(group..groups_end) * group_rows;
        let end = (groups_end * group_rows).min(row + DECODED_ROWS);
        if row < end {
            decode(row..end);
            row = end;
        }
    }
}

/// Unpacks as [`lanes`](super::lanes) does, but for a width that is known at run time only: one
/// copy of the work for each width would be a hundred times the code, and memory is the limit.
#[inline(always)]
fn visit_group<S: Simd, V: VisitState<S>>(simd: S, bytes: &[u8], width: usize, state: &mut V) {
    const LANES: usize = Groups512::ROWS / 32;

    let lines = &bytes.as_chunks::<4>().0.as_chunks::<LANES>().0[..width];
    if width == NARROW_WIDTH_MAX {
        // The words are the keys, and memory is the limit only if they are read as they lie.
        for line in lines {
            for lane in (0..LANES).step_by(S::lanes::<u32>()) {
                state.keys(simd.load_le(&line.as_flattened()[lane * 4..]));
            }
        }
        return;
    }
    let kept = simd.splat(mask(width) as u32);
    let mut bit = 0;
    for _ in 0..32 {
        let (line, shift) = (bit / 32, (bit % 32) as u32);
        // The last position ends with the last line; one of width 0 has none.
        let next = lines.get(line + 1).unwrap_or(const { &[[0; 4]; LANES] }).as_flattened();
        let line = lines.get(line).unwrap_or(const { &[[0; 4]; LANES] }).as_flattened();
        for lane in (0..LANES).step_by(S::lanes::<u32>()) {
            let low = simd.load_le::<u32>(&line[lane * 4..]) >> shift;
            let high = simd.load_le::<u32>(&next[lane * 4..]) << (32 - shift);
            state.keys((low | high) & kept);
        }
        bit += width;
    }
}
