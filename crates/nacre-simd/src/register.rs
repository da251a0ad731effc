//! Registers and masks by flavour and lane: what kernels are written with.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Not, Shl, Shr, Sub};

use crate::dispatch::FillApart;
use crate::isa::{Raw, reduce};
use crate::{Lane, Narrow};

/// A flavour as a type, of which only [`Flavour::run`](crate::Flavour::run) and
/// [`Flavour::fill`](crate::Flavour::fill) make values. Who holds
/// one may use registers.
///
/// ```
/// use nacre_simd::{Flavour, Kernel, Simd};
///
/// /// How many numbers are above 10?
/// struct Above10<'a>(&'a [u32]);
///
/// impl Kernel for Above10<'_> {
///     type Output = u32;
///
///     #[inline(always)]
///     fn run<S: Simd>(self, simd: S) -> u32 {
///         let ten = simd.splat(10_u32);
///         self.0.chunks(S::lanes::<u32>()).map(|some| simd.load_front(some).gt(ten).count()).sum()
///     }
/// }
///
/// let numbers: Vec<u32> = (0..100).collect();
/// assert!(Flavour::available().iter().all(|flavour| flavour.run(Above10(&numbers)) == 89));
/// ```
pub trait Simd: Raw + FillApart {
    /// Returns how many lanes a register has: a constant, though Rust cannot say so.
    #[inline(always)]
    fn lanes<T: Lane>() -> usize {
        Self::BYTES * 8 / T::BITS as usize
    }

    /// Puts `value` into every lane.
    #[inline(always)]
    fn splat<T: Lane>(self, value: T) -> Register<Self, T> {
        self.register(Raw::fill(self, value))
    }

    /// Reads the first lanes of `values`.
    ///
    /// # Panics
    /// If there are fewer than a register holds. In loops over `chunks_exact` of as many as
    /// [`Simd::lanes`] the check goes away.
    #[inline(always)]
    fn load<T: Lane>(self, values: &[T]) -> Register<Self, T> {
        assert!(values.len() >= Self::lanes::<T>());
        // SAFETY: the assertion says that there are enough bytes.
        self.register(unsafe { Raw::read(self, values.as_ptr().cast()) })
    }

    /// As [`Simd::load`], from little-endian bytes at any address.
    ///
    /// # Panics
    /// As [`Simd::load`].
    #[inline(always)]
    fn load_le<T: Lane>(self, bytes: &[u8]) -> Register<Self, T> {
        const { assert!(cfg!(target_endian = "little")) };
        assert!(bytes.len() >= Self::BYTES);
        // SAFETY: the assertion says that there are enough bytes.
        self.register(unsafe { Raw::read(self, bytes.as_ptr()) })
    }

    /// Reads the lanes that `mask` has; the others are zero.
    ///
    /// # Panics
    /// If `mask` has lanes past the end of `values`.
    #[inline(always)]
    fn load_masked<T: Lane>(self, mask: Mask<Self, T>, values: &[T]) -> Register<Self, T> {
        mask.check(values.len());
        // SAFETY: every lane of the mask is inside `values`.
        self.register(unsafe { Raw::read_masked(self, mask.raw, values.as_ptr()) })
    }

    /// Reads the first lanes of `values`, as many as there are; the others are zero.
    #[inline(always)]
    fn load_front<T: Lane>(self, values: &[T]) -> Register<Self, T> {
        if values.len() >= Self::lanes::<T>() {
            return self.load(values);
        }
        self.load_masked(self.front(values.len()), values)
    }

    /// As [`Simd::load_front`], from little-endian bytes at any address; a part of a lane at the
    /// end is left out.
    #[inline(always)]
    fn load_front_le<T: Lane>(self, bytes: &[u8]) -> Register<Self, T> {
        const { assert!(cfg!(target_endian = "little")) };
        if bytes.len() >= Self::BYTES {
            return self.load_le(bytes);
        }
        let mask = self.front::<T>(bytes.len() / size_of::<T>());
        // SAFETY: the mask has the lanes that lie wholly inside `bytes`; the address need not be
        // aligned.
        self.register(unsafe { Raw::read_masked(self, mask.raw, bytes.as_ptr().cast::<T>()) })
    }

    /// Reads the element at each index; an index past the end reads the last one.
    ///
    /// # Panics
    /// If `values` is empty or has 2^31 elements or more.
    #[inline(always)]
    fn gather<T: IndexedBy<I>, I: Lane>(
        self,
        values: &[T],
        indices: Register<Self, I>,
    ) -> Register<Self, T> {
        let indices = self.inside(values.len(), indices);
        // SAFETY: `inside` made all indices smaller than `values.len()`, which is below 2^31.
        self.register(unsafe { Raw::read_at(self, values.as_ptr(), indices) })
    }

    /// As [`Simd::gather`], from little-endian bytes at any address; indices count elements.
    ///
    /// # Panics
    /// If `bytes` has no whole element, or 2^31 or more.
    #[inline(always)]
    fn gather_le<T: IndexedBy<I>, I: Lane>(
        self,
        bytes: &[u8],
        indices: Register<Self, I>,
    ) -> Register<Self, T> {
        const { assert!(cfg!(target_endian = "little")) };
        let indices = self.inside(bytes.len() / size_of::<T>(), indices);
        // SAFETY: `inside` made all indices smaller than the count of whole elements, which is
        // below 2^31; the address need not be aligned.
        self.register(unsafe { Raw::read_at(self, bytes.as_ptr().cast::<T>(), indices) })
    }

    /// Writes each lane to the element at its index; of equal indices the last lane stays.
    ///
    /// # Panics
    /// If an index is past the end, or `values` has 2^31 elements or more.
    #[inline(always)]
    fn scatter<T: IndexedBy<I>, I: Lane>(
        self,
        lanes: Register<Self, T>,
        values: &mut [T],
        indices: Register<Self, I>,
    ) {
        let greatest = indices.reduce_max().to_bits() as usize;
        assert!(greatest < values.len() && values.len() <= INDEX_BOUND);
        // SAFETY: all indices are smaller than `values.len()`, which is below 2^31.
        unsafe { Raw::write_at(self, lanes.raw, values.as_mut_ptr(), indices.raw) }
    }

    /// Makes what [`Register::stream`] wrote visible before any later store.
    #[inline(always)]
    fn fence_streams(self) {
        self.fence_streaming();
    }

    /// Returns the mask of bit `i` for lane `i`; bits past the last lane are ignored.
    #[inline(always)]
    fn mask<T: Lane>(self, bits: u64) -> Mask<Self, T> {
        Mask { simd: self, raw: self.mask_of_bits::<T>(bits), lane: PhantomData }
    }

    /// Returns the mask of the first lanes.
    #[inline(always)]
    fn front<T: Lane>(self, lanes: usize) -> Mask<Self, T> {
        self.mask(!u64::MAX.unbounded_shl(lanes.min(64) as u32))
    }

    #[doc(hidden)]
    #[inline(always)]
    fn register<T: Lane>(self, raw: Self::Bits) -> Register<Self, T> {
        Register { simd: self, raw, lane: PhantomData }
    }

    #[doc(hidden)]
    #[inline(always)]
    fn inside<I: Lane>(self, len: usize, indices: Register<Self, I>) -> Self::Bits {
        assert!(0 < len && len <= INDEX_BOUND);
        indices.min(self.splat(I::from_bits(len as u64 - 1))).raw
    }
}

impl<S: Raw + FillApart> Simd for S {}

/// Elements that an instruction can index, which takes indices for signed 32-bit numbers.
const INDEX_BOUND: usize = (1 << 31) - 1;

/// A lane that [`Simd::gather`] reads with indices in lanes of the same bits.
pub trait IndexedBy<I: Lane>: Lane {}

impl IndexedBy<u32> for u32 {}
impl IndexedBy<u32> for i32 {}
impl IndexedBy<u64> for u64 {}
impl IndexedBy<u64> for i64 {}

/// A register of a flavour, divided into lanes of type `T`. All arithmetic wraps.
#[derive(Clone, Copy)]
pub struct Register<S: Simd, T: Lane> {
    simd: S,
    raw: S::Bits,
    lane: PhantomData<T>,
}

/// A yes or no for each lane of a [`Register`].
#[derive(Clone, Copy)]
pub struct Mask<S: Simd, T: Lane> {
    simd: S,
    raw: S::Mask,
    lane: PhantomData<T>,
}

impl<S: Simd, T: Lane> Register<S, T> {
    /// Writes the lanes to the front of `values`.
    ///
    /// # Panics
    /// If `values` is shorter than a register.
    #[inline(always)]
    pub fn store(self, values: &mut [T]) {
        assert!(values.len() >= S::lanes::<T>());
        // SAFETY: the assertion says that there is enough room.
        unsafe { self.simd.write(self.raw, values.as_mut_ptr().cast()) }
    }

    /// As [`Register::store`], to memory that need not hold values yet.
    ///
    /// # Panics
    /// As [`Register::store`].
    #[inline(always)]
    pub fn store_uninit(self, values: &mut [MaybeUninit<T>]) {
        assert!(values.len() >= S::lanes::<T>());
        // SAFETY: the assertion says that there is enough room.
        unsafe { self.simd.write(self.raw, values.as_mut_ptr().cast()) }
    }

    /// As [`Register::store`], past the caches where the flavour can.
    ///
    /// # Panics
    /// As [`Register::store`], and if `values` is not aligned to the bytes of a register.
    ///
    /// # Safety
    /// Call [`Simd::fence_streams`] in this thread before another one may read `values`: until
    /// then such stores are ordered with nothing.
    #[inline(always)]
    pub unsafe fn stream(self, values: &mut [T]) {
        assert!(values.len() >= S::lanes::<T>());
        assert!(values.as_ptr().addr().is_multiple_of(S::BYTES));
        // SAFETY: the assertions say that there is enough room and that it is aligned; the caller
        // promises the fence.
        unsafe { self.simd.write_streaming(self.raw, values.as_mut_ptr().cast()) }
    }

    /// Writes the lanes that `mask` has; the other elements stay as they are.
    ///
    /// # Panics
    /// If `mask` has lanes past the end of `values`.
    #[inline(always)]
    pub fn store_masked(self, mask: Mask<S, T>, values: &mut [T]) {
        mask.check(values.len());
        // SAFETY: every lane of the mask is inside `values`.
        unsafe { self.simd.write_masked(mask.raw, self.raw, values.as_mut_ptr()) }
    }

    /// Writes the lanes that `mask` has to the front of `values`, in order, and returns their
    /// number. The elements after them, up to a register's worth, are unspecified.
    ///
    /// # Panics
    /// If `values` is shorter than a register.
    #[inline(always)]
    pub fn store_compressed(self, mask: Mask<S, T>, values: &mut [T]) -> usize {
        self.compress(mask).store(values);
        mask.count() as usize
    }

    /// Moves the lanes that `mask` has to the front, in order; the others come out unspecified.
    #[inline(always)]
    pub fn compress(self, mask: Mask<S, T>) -> Self {
        self.with(self.simd.compress::<T>(mask.raw, self.raw))
    }

    /// Returns the register whose lane `i` is the lane `indices[i]` of this one, modulo the lanes.
    #[inline(always)]
    pub fn permute<I: Lane>(self, indices: Register<S, I>) -> Self
    where
        T: IndexedBy<I>,
    {
        self.with(self.simd.permute::<T>(self.raw, indices.raw))
    }

    /// Takes the same bits for lanes of another type.
    #[inline(always)]
    pub fn cast<U: Lane>(self) -> Register<S, U> {
        self.simd.register(self.raw)
    }

    /// Returns the bits of `other` that `self` lacks.
    #[inline(always)]
    pub fn andnot(self, other: Self) -> Self {
        self.with(self.simd.andnot(self.raw, other.raw))
    }

    /// Returns the lesser of each two lanes.
    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        self.with(Raw::min::<T>(self.simd, self.raw, other.raw))
    }

    /// Returns the greater of each two lanes.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        self.with(Raw::max::<T>(self.simd, self.raw, other.raw))
    }

    /// Shifts each lane to the left by the unsigned number in the same lane of `amounts`.
    #[inline(always)]
    pub fn shl_each(self, amounts: Self) -> Self {
        self.with(self.simd.shl_each::<T>(self.raw, amounts.raw))
    }

    /// As [`Register::shl_each`], to the right; copies of the sign come into signed lanes.
    #[inline(always)]
    pub fn shr_each(self, amounts: Self) -> Self {
        self.with(self.simd.shr_each::<T>(self.raw, amounts.raw))
    }

    /// Tells which lanes are equal.
    #[inline(always)]
    pub fn eq(self, other: Self) -> Mask<S, T> {
        Mask { raw: Raw::eq::<T>(self.simd, self.raw, other.raw), simd: self.simd, lane: self.lane }
    }

    /// Tells which lanes are greater than those of `other`.
    #[inline(always)]
    pub fn gt(self, other: Self) -> Mask<S, T> {
        Mask { raw: Raw::gt::<T>(self.simd, self.raw, other.raw), simd: self.simd, lane: self.lane }
    }

    /// Adds neighbouring lanes in lanes of twice the bits, where no sum overflows: lane `i` of the
    /// answer is lane `2 i` plus lane `2 i + 1`.
    #[inline(always)]
    pub fn add_pairs(self) -> Register<S, <T as Narrow>::Wide>
    where
        T: Narrow,
    {
        let both: Register<S, T::Wide> = self.cast();
        let even = match T::IS_SIGNED {
            true => (both << T::BITS) >> T::BITS,
            false => both & self.simd.splat(T::Wide::from_bits(u64::MAX >> (64 - T::BITS))),
        };
        even + (both >> T::BITS)
    }

    /// Returns the lower half of the lanes, widened.
    #[inline(always)]
    pub fn widen_low(self) -> Register<S, T::Wide>
    where
        T: Narrow,
    {
        self.simd.register(self.simd.widen_low::<T>(self.raw))
    }

    /// Returns the upper half of the lanes, widened.
    #[inline(always)]
    pub fn widen_high(self) -> Register<S, T::Wide>
    where
        T: Narrow,
    {
        self.simd.register(self.simd.widen_high::<T>(self.raw))
    }

    /// Cuts the lanes of `low`, then those of `high`, down to the lowest bits that `T` has.
    #[inline(always)]
    pub fn narrow(low: Register<S, T::Wide>, high: Register<S, T::Wide>) -> Self
    where
        T: Narrow,
    {
        low.simd.register(low.simd.narrow::<T>(low.raw, high.raw))
    }

    /// Returns the sum of all lanes.
    #[inline(always)]
    pub fn reduce_sum(self) -> T {
        reduce(self.simd, self.raw, T::default(), T::plus)
    }

    /// Returns the least lane.
    #[inline(always)]
    pub fn reduce_min(self) -> T {
        reduce(self.simd, self.raw, T::MAX, T::min)
    }

    /// Returns the greatest lane.
    #[inline(always)]
    pub fn reduce_max(self) -> T {
        reduce(self.simd, self.raw, T::MIN, T::max)
    }

    #[inline(always)]
    fn with(self, raw: S::Bits) -> Self {
        Self { raw, ..self }
    }
}

/// Operators on registers: lane by lane, or bit by bit.
macro_rules! operators {
    ($(
        $trait:ident $method:ident($right:ty) = |$simd:ident, $left:ident, $arg:ident| $raw:expr;
    )*) => {
        $(
            impl<S: Simd, T: Lane> $trait<$right> for Register<S, T> {
                type Output = Self;

                #[inline(always)]
                fn $method(self, $arg: $right) -> Self {
                    let ($simd, $left) = (self.simd, self.raw);
                    self.with($raw)
                }
            }
        )*
    };
}

operators! {
    Add add(Self) = |simd, left, right| Raw::add::<T>(simd, left, right.raw);
    Sub sub(Self) = |simd, left, right| Raw::sub::<T>(simd, left, right.raw);
    Mul mul(Self) = |simd, left, right| Raw::mul::<T>(simd, left, right.raw);
    BitAnd bitand(Self) = |simd, left, right| simd.and(left, right.raw);
    BitOr bitor(Self) = |simd, left, right| simd.or(left, right.raw);
    BitXor bitxor(Self) = |simd, left, right| simd.xor(left, right.raw);
    Shl shl(u32) = |simd, left, amount| Raw::shl::<T>(simd, left, amount);
    Shr shr(u32) = |simd, left, amount| Raw::shr::<T>(simd, left, amount);
}

impl<S: Simd, T: Lane> Mask<S, T> {
    /// Returns bit `i` for lane `i`; those past the last lane are zero.
    #[inline(always)]
    pub fn to_bits(self) -> u64 {
        self.simd.bits_of_mask::<T>(self.raw)
    }

    /// Returns how many lanes the mask has.
    #[inline(always)]
    pub fn count(self) -> u32 {
        self.to_bits().count_ones()
    }

    /// Takes the lanes of `set` that the mask has, those of `clear` elsewhere.
    #[inline(always)]
    pub fn blend(self, set: Register<S, T>, clear: Register<S, T>) -> Register<S, T> {
        self.simd.register(self.simd.blend::<T>(self.raw, set.raw, clear.raw))
    }

    #[inline(always)]
    fn check(self, len: usize) {
        assert!(len >= S::lanes::<T>() || self.to_bits() >> len == 0);
    }
}

impl<S: Simd, T: Lane> BitAnd for Mask<S, T> {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self { raw: self.simd.mask_and(self.raw, other.raw), ..self }
    }
}

impl<S: Simd, T: Lane> BitOr for Mask<S, T> {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self { raw: self.simd.mask_or(self.raw, other.raw), ..self }
    }
}

impl<S: Simd, T: Lane> Not for Mask<S, T> {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self { raw: self.simd.mask_not(self.raw), ..self }
    }
}

impl<S: Simd, T: Lane> fmt::Debug for Register<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes = crate::isa::lanes_of::<S, T>(self.simd, self.raw);
        f.debug_list().entries(&lanes[..S::lanes::<T>()]).finish()
    }
}

impl<S: Simd, T: Lane> fmt::Debug for Mask<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0width$b}", self.to_bits(), width = S::lanes::<T>())
    }
}
