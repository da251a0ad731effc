//! Loops over vectors, compiled for each SIMD flavour.

use std::marker::PhantomData;

use nacre_simd::{Fill, Flavour, Kernel, Lane, Register, Simd};

/// Makes `out` as long as needed, whatever it holds.
pub(super) fn resize<T: Copy + Default>(out: &mut Vec<T>, rows: usize) {
    // Without clearing first, so that memory is not zeroed again and again.
    out.resize(rows, T::default());
}

/// Writes `f(a)` for each value.
pub(crate) fn map<A: Copy, O: Copy + Default>(
    flavour: Flavour,
    values: &[A],
    out: &mut Vec<O>,
    f: impl Fn(A) -> O,
) {
    resize(out, values.len());
    flavour.fill(MapLoop { values, f, out: PhantomData }, out.as_mut_slice());
}

/// Writes `f(a, b)` for each two values.
pub(super) fn zip<A: Copy, B: Copy, O: Copy + Default>(
    flavour: Flavour,
    left: &[A],
    right: &[B],
    out: &mut Vec<O>,
    f: impl Fn(A, B) -> O,
) {
    debug_assert_eq!(left.len(), right.len());
    resize(out, left.len());
    flavour.fill(ZipLoop { left, right, f, out: PhantomData }, out.as_mut_slice());
}

struct MapLoop<'a, A, O, F> {
    values: &'a [A],
    f: F,
    out: PhantomData<fn() -> O>,
}

impl<A: Copy, O, F: Fn(A) -> O> Fill for MapLoop<'_, A, O, F> {
    type Out = [O];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [O]) {
        for (out, value) in out.iter_mut().zip(self.values) {
            *out = (self.f)(*value);
        }
    }
}

struct ZipLoop<'a, A, B, O, F> {
    left: &'a [A],
    right: &'a [B],
    f: F,
    out: PhantomData<fn() -> O>,
}

impl<A: Copy, B: Copy, O, F: Fn(A, B) -> O> Fill for ZipLoop<'_, A, B, O, F> {
    type Out = [O];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [O]) {
        for (out, (left, right)) in out.iter_mut().zip(self.left.iter().zip(self.right)) {
            *out = (self.f)(*left, *right);
        }
    }
}

/// What a comparison in registers answers; the other three are these negated.
pub(super) const EQUAL: u8 = 0;
pub(super) const GREATER: u8 = 1;
pub(super) const LESS: u8 = 2;

/// The right side of a comparison.
#[derive(Clone, Copy)]
pub(super) enum RightSide<'a, T> {
    Values(&'a [T]),
    Constant(T),
}

/// Writes a bit for each value; those past the last are unspecified.
pub(super) fn compare<T: Lane, const KIND: u8>(
    flavour: Flavour,
    left: &[T],
    right: RightSide<'_, T>,
    is_negated: bool,
    words: &mut Vec<u64>,
) {
    resize(words, left.len().div_ceil(64));
    flavour.fill(CompareLoop::<T, KIND> { left, right, is_negated }, words.as_mut_slice());
}

/// Returns a bit for each number that is `wanted`; those past the last are unspecified.
pub(crate) fn equal_bits(flavour: Flavour, numbers: &[i16], wanted: i16) -> Vec<u64> {
    let mut words = Vec::new();
    compare::<i16, EQUAL>(flavour, numbers, RightSide::Constant(wanted), false, &mut words);
    words
}

/// Counts the ones.
pub(crate) fn count_ones(flavour: Flavour, words: &[u64]) -> u64 {
    flavour.run(CountLoop(words))
}

struct CountLoop<'a>(&'a [u64]);

impl Kernel for CountLoop<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

struct CompareLoop<'a, T, const KIND: u8> {
    left: &'a [T],
    right: RightSide<'a, T>,
    is_negated: bool,
}

impl<T: Lane, const KIND: u8> CompareLoop<'_, T, KIND> {
    #[inline(always)]
    fn words<S: Simd>(self, words: &mut [u64], right: impl Fn(usize) -> Register<S, T>, simd: S) {
        let flip = if self.is_negated { u64::MAX } else { 0 };
        for (index, word) in words.iter_mut().enumerate() {
            let mut bits = 0;
            for bit in (0..64).step_by(S::lanes::<T>()) {
                let at = index * 64 + bit;
                if at < self.left.len() {
                    let (left, right) = (simd.load_front(&self.left[at..]), right(at));
                    let mask = match KIND {
                        EQUAL => left.eq(right),
                        GREATER => left.gt(right),
                        _ => right.gt(left),
                    };
                    bits |= mask.to_bits() << bit;
                }
            }
            *word = bits ^ flip;
        }
    }
}

impl<T: Lane, const KIND: u8> Fill for CompareLoop<'_, T, KIND> {
    type Out = [u64];

    #[inline(always)]
    fn fill<S: Simd>(self, simd: S, words: &mut [u64]) {
        match self.right {
            RightSide::Constant(constant) => {
                let constant = simd.splat(constant);
                self.words(words, |_| constant, simd);
            }
            RightSide::Values(values) => {
                self.words(words, |at| simd.load_front(&values[at..]), simd);
            }
        }
    }
}

/// Most groups whose sums are kept in registers.
const GROUPS_MAX: usize = 8;

/// Sums by group.
pub(crate) type GroupSums = [i64; GROUPS_MAX];

/// Adds up the values of the rows of each group; a mask has a bit for each row, and there are at
/// most eight. The sums of all values, in any order, fit 64 bits.
///
/// ```text
/// values 3 5 7 9      masks 0b0101, 0b1000      sums 10, 9
/// ```
pub(crate) fn sum_masked<T: SumLane>(
    flavour: Flavour,
    values: &[T],
    masks: &[&[u64]],
    is_narrow: bool,
) -> GroupSums {
    let mask = |index: usize| masks.get(index).copied().unwrap_or(&[]);
    match masks.len() {
        1 => flavour.run(MaskedSum { values, masks: [mask(0)], is_narrow }),
        2 => flavour.run(MaskedSum { values, masks: [mask(0), mask(1)], is_narrow }),
        3 | 4 => flavour.run(MaskedSum {
            values,
            masks: std::array::from_fn::<_, 4, _>(mask),
            is_narrow,
        }),
        _ => flavour.run(MaskedSum {
            values,
            masks: std::array::from_fn::<_, 8, _>(mask),
            is_narrow,
        }),
    }
}

/// Numbers that are added up by [`sum_masked`].
pub(crate) trait SumLane: Lane {
    /// Adds the lanes of `values` to lanes of 64 bits.
    fn widen_add<S: Simd>(values: Register<S, Self>, sum: Register<S, i64>) -> Register<S, i64>;

    /// Adds the lanes of `values` to lanes of 32 bits, which holds if all sums fit these.
    fn narrow_add<S: Simd>(values: Register<S, Self>, sum: Register<S, i32>) -> Register<S, i32>;
}

impl SumLane for i16 {
    #[inline(always)]
    fn widen_add<S: Simd>(values: Register<S, i16>, sum: Register<S, i64>) -> Register<S, i64> {
        sum + values.add_pairs().add_pairs()
    }

    #[inline(always)]
    fn narrow_add<S: Simd>(values: Register<S, i16>, sum: Register<S, i32>) -> Register<S, i32> {
        let even = (values.cast::<i32>() << 16) >> 16;
        sum + even + (values.cast::<i32>() >> 16)
    }
}

impl SumLane for i32 {
    #[inline(always)]
    fn widen_add<S: Simd>(values: Register<S, i32>, sum: Register<S, i64>) -> Register<S, i64> {
        sum + values.widen_low() + values.widen_high()
    }

    #[inline(always)]
    fn narrow_add<S: Simd>(values: Register<S, i32>, sum: Register<S, i32>) -> Register<S, i32> {
        sum + values
    }
}

impl SumLane for i64 {
    #[inline(always)]
    fn widen_add<S: Simd>(values: Register<S, i64>, sum: Register<S, i64>) -> Register<S, i64> {
        sum + values
    }

    #[inline(always)]
    fn narrow_add<S: Simd>(_: Register<S, i64>, sum: Register<S, i32>) -> Register<S, i32> {
        // Not asked for: lanes of 64 bits are added as they are.
        sum
    }
}

struct MaskedSum<'a, T, const G: usize> {
    values: &'a [T],
    masks: [&'a [u64]; G],
    /// Whether the sum of all values fits 32 bits.
    is_narrow: bool,
}

impl<T: SumLane, const G: usize> MaskedSum<'_, T, G> {
    /// Gives `add` the lanes of each group and register, others zero.
    #[inline(always)]
    fn visit<S: Simd, U: Copy>(
        &self,
        simd: S,
        mut sums: [U; G],
        add: impl Fn(Register<S, T>, U) -> U,
    ) -> [U; G] {
        let zero = simd.splat(T::default());
        let lanes = S::lanes::<T>();
        for (index, values) in self.values.chunks(64).enumerate() {
            let words = self.masks.map(|mask| mask.get(index).copied().unwrap_or(0));
            if words.iter().fold(0, |all, word| all | word) == 0 {
                continue;
            }
            for (at, some) in values.chunks(lanes).enumerate() {
                let lanes_of = simd.load_front(some);
                for (sum, word) in sums.iter_mut().zip(words) {
                    let mask = simd.mask::<T>(word >> (at * lanes));
                    *sum = add(mask.blend(lanes_of, zero), *sum);
                }
            }
        }
        sums
    }
}

impl<T: SumLane, const G: usize> Kernel for MaskedSum<'_, T, G> {
    type Output = GroupSums;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> GroupSums {
        let mut out = [0; GROUPS_MAX];
        if self.is_narrow && T::BITS <= 32 {
            let sums = self.visit(simd, [simd.splat(0_i32); G], T::narrow_add);
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = (sum.widen_low() + sum.widen_high()).reduce_sum();
            }
        } else {
            let sums = self.visit(simd, [simd.splat(0_i64); G], T::widen_add);
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = sum.reduce_sum();
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_sums_are_those_of_the_rows_in_every_flavour() {
        for rows in [0, 1, 63, 64, 65, 1_000] {
            let values: Vec<i64> = (0..rows).map(|at| (at * 7919 % 20_011) - 10_000).collect();
            let narrow16: Vec<i16> = values.iter().map(|value| *value as i16).collect();
            let narrow32: Vec<i32> = values.iter().map(|value| *value as i32).collect();
            for groups in 1..=8_usize {
                let masks: Vec<Vec<u64>> = (0..groups)
                    .map(|group| {
                        let mut words = vec![0_u64; values.len().div_ceil(64)];
                        for at in (0..values.len()).filter(|at| at % (groups + 1) == group) {
                            words[at / 64] |= 1 << (at % 64);
                        }
                        words
                    })
                    .collect();
                let masks: Vec<&[u64]> = masks.iter().map(Vec::as_slice).collect();
                let mut expected = [0; 8];
                for (at, value) in values.iter().enumerate() {
                    if at % (groups + 1) < groups {
                        expected[at % (groups + 1)] += value;
                    }
                }
                for flavour in Flavour::available() {
                    for is_narrow in [false, true] {
                        let sums = [
                            sum_masked(flavour, &narrow16, &masks, is_narrow),
                            sum_masked(flavour, &narrow32, &masks, is_narrow),
                            sum_masked(flavour, &values, &masks, is_narrow),
                        ];
                        assert_eq!(sums, [expected; 3], "{flavour} {rows} {groups}");
                    }
                }
            }
        }
    }
}
