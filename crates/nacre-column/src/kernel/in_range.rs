//! Which numbers lie in a range: one subtraction and one comparison for each register.

use std::cell::RefCell;
use std::ops::Range;

use nacre_simd::{Fill, Flavour, Lane, Register, Simd};

use super::numbers::Numbers;
use crate::format::keys::KeyReader;
use crate::format::lanes::{Groups512, NARROW_WIDTH_MAX};
use crate::format::visit::{Visit, VisitGroups, VisitState, split};

/// Keys from `low` to `low + span`, or all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) low: u64,
    pub(crate) span: u64,
    pub(crate) is_inside: bool,
}

/// Writes a bit for each number, 64 to a word, set if it is in the range; bits past the last number
/// are unspecified. Numbers and range fit the lanes.
pub(crate) fn in_range<N: Numbers>(
    flavour: Flavour,
    range: KeyRange,
    numbers: N,
    words: &mut [u64],
) {
    assert_eq!(words.len(), numbers.len().div_ceil(64));
    flavour.fill(InRange { numbers, range }, words);
}

struct InRange<N> {
    numbers: N,
    range: KeyRange,
}

impl<N: Numbers> Fill for InRange<N> {
    type Out = [u64];

    #[inline(always)]
    fn fill<S: Simd>(self, simd: S, words: &mut [u64]) {
        let low = simd.splat(N::Lane::from_bits(self.range.low));
        let span = simd.splat(N::Lane::from_bits(self.range.span));
        let flip = if self.range.is_inside { u64::MAX } else { 0 };
        let len = self.numbers.len();
        for (index, out) in words.iter_mut().enumerate() {
            let mut outside = 0;
            for bit in (0..64).step_by(S::lanes::<N::Lane>()) {
                let at = index * 64 + bit;
                if at < len {
                    let numbers = self.numbers.read(simd, at);
                    outside |= (numbers - low).gt(span).to_bits() << bit;
                }
            }
            *out = outside ^ flip;
        }
    }
}

/// As [`in_range`], for the keys of the rows `rows`, which start at a multiple of 64; the block's
/// greatest key has `width` bits.
pub(crate) fn keys_in_range<R: KeyReader>(
    reader: &R,
    flavour: Flavour,
    range: KeyRange,
    width: usize,
    rows: Range<usize>,
    words: &mut [u64],
) {
    let start = rows.start;
    let words = RefCell::new(words);
    let decoded = |rows: Range<usize>| {
        let mut word = (rows.start - start) / 64;
        macro_rules! run {
            ($key:ty) => {
                reader.for_each_run::<$key>(flavour, rows, |keys| {
                    let count = keys.len().div_ceil(64);
                    in_range(flavour, range, keys, &mut words.borrow_mut()[word..word + count]);
                    word += count;
                })
            };
        }
        if width <= NARROW_WIDTH_MAX { run!(u32) } else { run!(u64) }
    };
    let Some(packed) = reader.groups() else { return decoded(rows) };
    let visit = |groups: Range<usize>| {
        let words = &mut words.borrow_mut()[(groups.start * Groups512::ROWS - start) / 64..];
        visit_in_range(packed, flavour, range, groups, words)
    };
    split(rows, visit, decoded);
}

fn visit_in_range(
    packed: &Groups512<'_>,
    flavour: Flavour,
    range: KeyRange,
    groups: Range<usize>,
    words: &mut [u64],
) -> usize {
    let KeyRange { low, span, is_inside } = range;
    let visit = match u32::try_from(low) {
        Ok(low) => {
            let span = span.min((u32::MAX - low).into()) as u32;
            VisitInRange { low, span, flip: if is_inside { u64::MAX } else { 0 }, words }
        }
        // Narrow keys are all below the range: outside of what is empty.
        Err(_) => VisitInRange {
            low: 0,
            span: u32::MAX,
            flip: if is_inside { 0 } else { u64::MAX },
            words,
        },
    };
    flavour.run(VisitGroups { packed, groups, visit }).1
}

/// Compares packed keys, unpacked in registers.
struct VisitInRange<'w> {
    low: u32,
    span: u32,
    flip: u64,
    words: &'w mut [u64],
}

impl<'w> Visit for VisitInRange<'w> {
    type State<S: Simd> = GroupInRange<'w, S>;
    type Output = ();

    #[inline(always)]
    fn start<S: Simd>(self, simd: S) -> GroupInRange<'w, S> {
        GroupInRange {
            low: simd.splat(self.low),
            span: simd.splat(self.span),
            flip: self.flip,
            outside: 0,
            words: self.words,
        }
    }

    #[inline(always)]
    fn finish<S: Simd>(_: GroupInRange<'w, S>) {}
}

struct GroupInRange<'w, S: Simd> {
    low: Register<S, u32>,
    span: Register<S, u32>,
    flip: u64,
    /// Of the keys of this word.
    outside: u64,
    /// Of the groups that are left.
    words: &'w mut [u64],
}

impl<S: Simd> VisitState<S> for GroupInRange<'_, S> {
    #[inline(always)]
    fn begin_group(&mut self, _: usize) {}

    #[inline(always)]
    fn keys(&mut self, row: usize, keys: Register<S, u32>) {
        let outside = (keys - self.low).gt(self.span);
        self.outside |= outside.to_bits() << (row % 64);
        if row % 64 + S::lanes::<u32>() == 64 {
            self.words[row / 64] = self.outside ^ self.flip;
            self.outside = 0;
        }
    }

    #[inline(always)]
    fn end_group(&mut self) {
        self.words = &mut std::mem::take(&mut self.words)[Groups512::ROWS / 64..];
    }
}
