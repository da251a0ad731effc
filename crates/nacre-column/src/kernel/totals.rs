//! Totals of unsigned numbers: sum, least and greatest, worked out in registers.
//!
//! Numbers are summed in the lanes that they lie in: neighbouring lanes are added into one of twice
//! the bits, and only that is accumulated. No sum here can overflow for the rows of a block.

use std::cell::Cell;
use std::ops::Range;

use nacre_simd::{Flavour, IndexedBy, Kernel, Lane, Mask, Register, Simd};

use super::numbers::Numbers;
use crate::CHUNK_ROWS;
use crate::format::keys::KeyReader;
use crate::format::lanes::NARROW_WIDTH_MAX;
use crate::format::visit::{Visit, VisitGroups, VisitState, split};

/// Sum, least and greatest of some keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) sum: u128,
    /// No less than any key could be if there are none.
    pub(crate) min: u64,
    /// 0 if there are none.
    pub(crate) max: u64,
}

impl Totals {
    pub(crate) const NONE: Self = Self { sum: 0, min: u64::MAX, max: 0 };

    /// Returns those of both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// Totals of repeated keys, of the rows of a block.
pub(crate) struct RepeatTotals {
    /// Sum of the lower halves of all keys: below 2^48, since there are at most 2^16 rows.
    low: u64,
    /// Sum of the upper halves.
    high: u64,
    min: u64,
    max: u64,
}

impl RepeatTotals {
    pub(crate) const NONE: Self =
        Self { low: 0, high: 0, min: Totals::NONE.min, max: Totals::NONE.max };

    /// Adds `key`, which comes `count` times.
    #[inline(always)]
    pub(crate) fn add(&mut self, key: u64, count: usize) {
        self.low += (key & u64::from(u32::MAX)) * count as u64;
        self.high += (key >> 32) * count as u64;
        self.min = self.min.min(key);
        self.max = self.max.max(key);
    }

    pub(crate) fn totals(&self) -> Totals {
        let sum = u128::from(self.low) + (u128::from(self.high) << 32);
        Totals { sum, min: self.min, max: self.max }
    }
}

/// What a total is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// [`Totals::sum`] alone; the others are unspecified.
    Sum,
    All,
}

/// Works out the totals of the keys of the rows `rows`, of which the block's greatest has `width`
/// bits.
pub(crate) fn totals_of_keys<R: KeyReader>(
    reader: &R,
    flavour: Flavour,
    wanted: Wanted,
    width: usize,
    rows: Range<usize>,
) -> Totals {
    if let Some(totals) = reader.totals(flavour, wanted, rows.clone()) {
        return totals;
    }
    let decoded = |rows: Range<usize>| {
        let mut all = Totals::NONE;
        if width <= NARROW_WIDTH_MAX {
            reader.for_each_run::<u32>(flavour, rows, |keys| {
                all = all.and(totals(flavour, wanted, keys, None));
            });
        } else {
            reader.for_each_run::<u64>(flavour, rows, |keys| {
                all = all.and(totals(flavour, wanted, keys, None));
            });
        }
        all
    };
    let Some(packed) = reader.groups() else { return decoded(rows) };
    let all = Cell::new(Totals::NONE);
    let add = |totals: Totals| all.set(all.get().and(totals));
    let visit = |groups: Range<usize>| {
        let first = groups.start;
        let (totals, end) = match wanted {
            Wanted::Sum => flavour.run(VisitGroups { packed, groups, visit: VisitTotals::<false> }),
            Wanted::All => flavour.run(VisitGroups { packed, groups, visit: VisitTotals::<true> }),
        };
        if end > first {
            add(totals);
        }
        end
    };
    split(rows, visit, |rows| add(decoded(rows)));
    all.get()
}

/// Works out the totals of `numbers`, without those whose bit in `validity` is clear.
pub(crate) fn totals<N: Numbers>(
    flavour: Flavour,
    wanted: Wanted,
    numbers: N,
    validity: Option<&[u64]>,
) -> Totals {
    debug_assert!(numbers.len() <= CHUNK_ROWS, "sums are made for the rows of a block");
    match wanted {
        Wanted::Sum => flavour.run(Total::<_, false> { numbers, validity }),
        Wanted::All => flavour.run(Total::<_, true> { numbers, validity }),
    }
}

/// Returns the sum of the entries that `codes` stand for; a code past the last stands for it.
/// `entries` are not empty.
pub(crate) fn sum_of_entries<T: Lane + IndexedBy<I>, I: Lane>(
    flavour: Flavour,
    entries: &[T],
    codes: &[I],
) -> u128 {
    debug_assert!(codes.len() <= CHUNK_ROWS, "sums are made for the rows of a block");
    flavour.run(EntrySum { entries, codes })
}

struct EntrySum<'a, T, I> {
    entries: &'a [T],
    codes: &'a [I],
}

impl<T: Lane + IndexedBy<I>, I: Lane> Kernel for EntrySum<'_, T, I> {
    type Output = u128;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> u128 {
        let mut state = Running::<S, T, false>::new(simd);
        let (whole, rest) =
            self.codes.split_at(self.codes.len() - self.codes.len() % S::lanes::<I>());
        for codes in whole.chunks_exact(S::lanes::<I>()) {
            state.take(simd.gather(self.entries, simd.load(codes)));
        }
        let last = self.entries.len() - 1;
        let entry = |code: &I| self.entries[(code.to_bits() as usize).min(last)].to_bits();
        state.totals().sum + rest.iter().map(|code| u128::from(entry(code))).sum::<u128>()
    }
}

struct Total<'a, N, const ENDS: bool> {
    numbers: N,
    validity: Option<&'a [u64]>,
}

impl<N: Numbers, const ENDS: bool> Kernel for Total<'_, N, ENDS> {
    type Output = Totals;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Totals {
        let len = self.numbers.len();
        let lanes = S::lanes::<N::Lane>();
        let mut state = Running::<S, N::Lane, ENDS>::new(simd);
        let mut at = 0;
        if self.validity.is_none() {
            while at + lanes <= len {
                state.take(self.numbers.read(simd, at));
                at += lanes;
            }
        }
        while at < len {
            let word = self.validity.map_or(u64::MAX, |words| words.get(at / 64).map_or(0, |w| *w));
            let mask = simd.mask(word >> (at % 64)) & simd.front(len - at);
            state.take_masked(mask, self.numbers.read(simd, at));
            at += lanes;
        }
        state.totals()
    }
}

/// Totals of what came so far, in registers.
#[derive(Clone, Copy)]
pub(crate) struct Running<S: Simd, T: Lane, const ENDS: bool> {
    simd: S,
    /// Sums of lanes of up to 16 bits.
    short: Register<S, u32>,
    /// Sums of lanes of 32 bits, or of the lower halves of lanes of 64.
    low: Register<S, u64>,
    /// Sums of the upper halves of lanes of 64 bits.
    high: Register<S, u64>,
    min: Register<S, T>,
    max: Register<S, T>,
}

impl<S: Simd, T: Lane, const ENDS: bool> Running<S, T, ENDS> {
    #[inline(always)]
    fn new(simd: S) -> Self {
        Self {
            simd,
            short: simd.splat(0),
            low: simd.splat(0),
            high: simd.splat(0),
            min: simd.splat(T::MAX),
            max: simd.splat(T::MIN),
        }
    }

    #[inline(always)]
    fn take(&mut self, numbers: Register<S, T>) {
        self.add(numbers);
        if ENDS {
            self.bound(numbers);
        }
    }

    #[inline(always)]
    fn bound(&mut self, numbers: Register<S, T>) {
        self.min = self.min.min(numbers);
        self.max = self.max.max(numbers);
    }

    #[inline(always)]
    fn take_masked(&mut self, mask: Mask<S, T>, numbers: Register<S, T>) {
        let counted = mask.blend(numbers, self.simd.splat(T::MIN));
        self.add(counted);
        if ENDS {
            self.min = self.min.min(mask.blend(numbers, self.simd.splat(T::MAX)));
            self.max = self.max.max(counted);
        }
    }

    /// Adds to the sum. The lanes of `short` take two or four numbers of a register each time, so
    /// less than 2^18: 65,536 rows are at most 2^14 registers (of four lanes each).
    #[inline(always)]
    fn add(&mut self, numbers: Register<S, T>) {
        const { assert!(!T::IS_SIGNED) };
        match T::BITS {
            8 => self.short = self.short + numbers.cast::<u8>().add_pairs().add_pairs(),
            16 => self.short = self.short + numbers.cast::<u16>().add_pairs(),
            32 => self.low = self.low + numbers.cast::<u32>().add_pairs(),
            _ => {
                let numbers = numbers.cast::<u64>();
                self.low = self.low + (numbers & self.simd.splat(u32::MAX.into()));
                self.high = self.high + (numbers >> 32);
            }
        }
    }

    #[inline(always)]
    fn totals(self) -> Totals {
        let low = self.low + self.short.add_pairs();
        Totals {
            sum: u128::from(low.reduce_sum()) + (u128::from(self.high.reduce_sum()) << 32),
            min: self.min.reduce_min().to_bits(),
            max: self.max.reduce_max().to_bits(),
        }
    }
}

/// Totals of packed keys, unpacked in registers. `ENDS` asks for least and greatest too.
struct VisitTotals<const ENDS: bool>;

impl<const ENDS: bool> Visit for VisitTotals<ENDS> {
    type State<S: Simd> = GroupTotals<S, ENDS>;
    type Output = Totals;

    #[inline(always)]
    fn start<S: Simd>(self, simd: S) -> GroupTotals<S, ENDS> {
        GroupTotals { is_summable: true, running: Running::new(simd), narrow: simd.splat(0) }
    }

    #[inline(always)]
    fn finish<S: Simd>(state: GroupTotals<S, ENDS>) -> Totals {
        state.running.totals()
    }
}

struct GroupTotals<S: Simd, const ENDS: bool> {
    /// Whether the keys of this group are narrow enough for `narrow`.
    is_summable: bool,
    running: Running<S, u32, ENDS>,
    /// Sums of keys of this group.
    narrow: Register<S, u32>,
}

/// Widest keys of which the sum of one lane of a group fits 32 bits: at most 256 of a group's 512
/// keys meet in a lane (where a register has two).
const SUMMABLE_WIDTH_MAX: usize = 24;

impl<S: Simd, const ENDS: bool> VisitState<S> for GroupTotals<S, ENDS> {
    #[inline(always)]
    fn begin_group(&mut self, width: usize) {
        self.is_summable = width <= SUMMABLE_WIDTH_MAX;
    }

    #[inline(always)]
    fn keys(&mut self, keys: Register<S, u32>) {
        if self.is_summable {
            self.narrow = self.narrow + keys;
        } else {
            self.running.add(keys);
        }
        if ENDS {
            self.running.bound(keys);
        }
    }

    #[inline(always)]
    fn end_group(&mut self) {
        self.running.add(self.narrow);
        self.narrow = self.running.simd.splat(0);
    }
}
