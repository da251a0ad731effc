//! Every operation of every flavour, on every lane, against plain arithmetic on the lanes.

use std::marker::PhantomData;

use proptest::prelude::*;

use crate::{Flavour, IndexedBy, Kernel, Lane, Mask, Narrow, Register, Simd};

/// Two registers of any flavour, a mask for each lane and an amount for shifts.
#[derive(Clone, Copy, Debug)]
struct Inputs {
    left: [u64; 8],
    right: [u64; 8],
    bits: u64,
    amount: u32,
}

/// The lanes of eight words, as a register has them.
fn lanes<T: Lane>(words: &[u64; 8]) -> Vec<T> {
    let per_word = 64 / T::BITS as usize;
    (0..8 * per_word)
        .map(|lane| T::from_bits(words[lane / per_word] >> (lane % per_word * T::BITS as usize)))
        .collect()
}

fn stored<S: Simd, T: Lane>(register: Register<S, T>) -> Vec<T> {
    let mut out = vec![T::default(); S::lanes::<T>()];
    register.store(&mut out);
    out
}

fn expect<S: Simd, T: Lane>(what: &str, found: Register<S, T>, lane: impl Fn(usize) -> T) {
    let expected: Vec<T> = (0..S::lanes::<T>()).map(lane).collect();
    assert_eq!(stored(found), expected, "{what} in {}", S::FLAVOUR);
}

fn expect_mask<S: Simd, T: Lane>(what: &str, found: Mask<S, T>, lane: impl Fn(usize) -> bool) {
    let expected = (0..S::lanes::<T>()).fold(0, |bits, i| bits | u64::from(lane(i)) << i);
    assert_eq!(found.to_bits(), expected, "{what} in {}", S::FLAVOUR);
    assert_eq!(found.count(), expected.count_ones(), "{what} in {}", S::FLAVOUR);
}

struct Operations<T>(Inputs, PhantomData<T>);

impl<T: Lane> Kernel for Operations<T> {
    type Output = ();

    fn run<S: Simd>(self, simd: S) {
        let Inputs { left, right, bits, amount } = self.0;
        let (a, b) = (lanes::<T>(&left), lanes::<T>(&right));
        arithmetic(simd, &a, &b, amount);
        masks(simd, &a, &b, bits);
        memory(simd, &a, &b, bits);
    }
}

fn arithmetic<S: Simd, T: Lane>(simd: S, a: &[T], b: &[T], amount: u32) {
    let (x, y) = (simd.load(a), simd.load(b));
    let bitwise =
        |i: usize, f: fn(u64, u64) -> u64| T::from_bits(f(a[i].to_bits(), b[i].to_bits()));
    expect("splat", simd.splat(a[0]), |_| a[0]);
    expect("+", x + y, |i| a[i].plus(b[i]));
    expect("-", x - y, |i| a[i].minus(b[i]));
    expect("*", x * y, |i| a[i].times(b[i]));
    expect("min", x.min(y), |i| a[i].min(b[i]));
    expect("max", x.max(y), |i| a[i].max(b[i]));
    expect("&", x & y, |i| bitwise(i, |a, b| a & b));
    expect("|", x | y, |i| bitwise(i, |a, b| a | b));
    expect("^", x ^ y, |i| bitwise(i, |a, b| a ^ b));
    expect("andnot", x.andnot(y), |i| bitwise(i, |a, b| !a & b));
    for amount in [0, 1, T::BITS / 2, T::BITS - 1, T::BITS, amount] {
        expect("<<", x << amount, |i| a[i].shifted_left(amount.into()));
        expect(">>", x >> amount, |i| a[i].shifted_right(amount.into()));
    }
    // Amounts within the lane, and any at all.
    let within = y & simd.splat(T::from_bits(u64::from(T::BITS) - 1));
    for amounts in [y, within] {
        let by = stored(amounts);
        expect("shl_each", x.shl_each(amounts), |i| a[i].shifted_left(by[i].to_bits()));
        expect("shr_each", x.shr_each(amounts), |i| a[i].shifted_right(by[i].to_bits()));
    }
    let used = &a[..S::lanes::<T>()];
    assert_eq!(x.reduce_sum(), used.iter().fold(T::default(), |sum, lane| sum.plus(*lane)));
    assert_eq!(Some(x.reduce_min()), used.iter().copied().min());
    assert_eq!(Some(x.reduce_max()), used.iter().copied().max());
}

fn masks<S: Simd, T: Lane>(simd: S, a: &[T], b: &[T], bits: u64) {
    let (x, y) = (simd.load(a), simd.load(b));
    let mask: Mask<S, T> = simd.mask(bits);
    let has = |lane: usize| bits >> lane & 1 == 1;
    expect_mask("mask", mask, has);
    expect_mask("!", !mask, |i| !has(i));
    expect_mask("front", simd.front::<T>(3), |i| i < 3);
    expect_mask("front of all", simd.front::<T>(64), |_| true);
    expect_mask("eq", x.eq(y), |i| a[i] == b[i]);
    expect_mask("eq of same", x.eq(mask.blend(x, y)), |i| has(i) || a[i] == b[i]);
    expect_mask("gt", x.gt(y), |i| a[i] > b[i]);
    expect_mask("&", mask & x.gt(y), |i| has(i) && a[i] > b[i]);
    expect_mask("|", mask | x.gt(y), |i| has(i) || a[i] > b[i]);
    expect("blend", mask.blend(x, y), |i| if has(i) { a[i] } else { b[i] });
    let expected: Vec<T> = (0..S::lanes::<T>()).filter(|i| has(*i)).map(|i| a[i]).collect();
    let mut out = vec![T::default(); S::lanes::<T>()];
    assert_eq!(x.store_compressed(mask, &mut out), expected.len(), "compress in {}", S::FLAVOUR);
    assert_eq!(out[..expected.len()], expected, "compress in {}", S::FLAVOUR);
}

fn memory<S: Simd, T: Lane>(simd: S, a: &[T], b: &[T], bits: u64) {
    let count = S::lanes::<T>();
    let x = simd.load(a);
    let has = |lane: usize| bits >> lane & 1 == 1;
    let zero = T::default();
    expect(
        "load_masked",
        simd.load_masked(simd.mask(bits), a),
        |i| if has(i) { a[i] } else { zero },
    );
    for len in [0, 1, count / 2, count - 1, count] {
        expect("load_front", simd.load_front(&a[..len]), |i| if i < len { a[i] } else { zero });
    }
    let bytes: Vec<u8> =
        a.iter().flat_map(|lane| lane.to_bits().to_le_bytes()[..size_of::<T>()].to_vec()).collect();
    for len in [0, 1, count - 1, count] {
        let found = simd.load_front_le::<T>(&bytes[..len * size_of::<T>()]);
        expect("load_front_le", found, |i| if i < len { a[i] } else { zero });
    }
    let mut out = vec![std::mem::MaybeUninit::new(zero); count];
    x.store_uninit(&mut out);
    // SAFETY: all elements were written when the vector was made.
    let out = out.iter().map(|lane| unsafe { lane.assume_init() });
    assert!(out.eq(a[..count].iter().copied()), "store_uninit in {}", S::FLAVOUR);
    let mut out = b[..count].to_vec();
    x.store_masked(simd.mask(bits), &mut out);
    let expected: Vec<T> = (0..count).map(|i| if has(i) { a[i] } else { b[i] }).collect();
    assert_eq!(out, expected, "store_masked in {}", S::FLAVOUR);

    let bytes: Vec<u8> = (0..65).map(|byte| a[0].to_bits() as u8 ^ byte).collect();
    let at_odd: Register<S, T> = simd.load_le(&bytes[1..]);
    let expected: Register<S, u8> = simd.load(&bytes[1..]);
    assert_eq!(stored(at_odd.cast::<u8>()), stored(expected), "load_le in {}", S::FLAVOUR);

    #[repr(align(64))]
    struct Aligned<T>([T; 64]);
    let mut aligned = Aligned([zero; 64]);
    // SAFETY: the fence comes before anything reads.
    unsafe { x.stream(&mut aligned.0) };
    simd.fence_streams();
    assert_eq!(aligned.0[..count], a[..count], "stream in {}", S::FLAVOUR);
}

struct Conversions<T>(Inputs, PhantomData<T>);

impl<T: Narrow> Kernel for Conversions<T> {
    type Output = ();

    fn run<S: Simd>(self, simd: S) {
        let a = lanes::<T>(&self.0.left);
        let (low, high) = (lanes::<T::Wide>(&self.0.left), lanes::<T::Wide>(&self.0.right));
        let half = S::lanes::<T::Wide>();
        let x = simd.load(&a);
        expect("widen_low", x.widen_low(), |i| a[i].widened());
        expect("widen_high", x.widen_high(), |i| a[half + i].widened());
        let narrowed = Register::<S, T>::narrow(simd.load(&low), simd.load(&high));
        expect("narrow", narrowed, |i| {
            T::from_bits(if i < half { low[i].to_bits() } else { high[i - half].to_bits() })
        });
        expect("add_pairs", x.add_pairs(), |i| a[2 * i].widened().plus(a[2 * i + 1].widened()));
    }
}

struct Indexed<T, I>(Inputs, PhantomData<(T, I)>);

impl<T: IndexedBy<I>, I: Lane> Kernel for Indexed<T, I> {
    type Output = ();

    fn run<S: Simd>(self, simd: S) {
        let values = lanes::<T>(&self.0.left);
        let values = &values[..5];
        let indices = lanes::<I>(&self.0.right);
        let clamped = |i: usize| (indices[i].to_bits() as usize).min(4);
        let at = simd.load(&indices);
        expect("gather", simd.gather(values, at), |i| values[clamped(i)]);
        let mut bytes = vec![0];
        let word = |lane: &T| lane.to_bits().to_le_bytes()[..size_of::<T>()].to_vec();
        bytes.extend(values.iter().flat_map(word));
        bytes.push(0);
        expect("gather_le", simd.gather_le(&bytes[1..], at), |i| values[clamped(i)]);

        let all = lanes::<T>(&self.0.left);
        let place = |i: usize| indices[i].to_bits() as usize % S::lanes::<T>();
        expect("permute", simd.load(&all).permute(at), |i| all[place(i)]);

        let lanes = lanes::<T>(&self.0.right);
        let inside: Vec<I> = (0..lanes.len()).map(|i| I::from_bits(clamped(i) as u64)).collect();
        let mut out = values.to_vec();
        simd.scatter(simd.load(&lanes), &mut out, simd.load(&inside));
        let mut expected = values.to_vec();
        for lane in 0..S::lanes::<T>() {
            expected[clamped(lane)] = lanes[lane];
        }
        assert_eq!(out, expected, "scatter in {}", S::FLAVOUR);
    }
}

fn check(inputs: Inputs) {
    for flavour in Flavour::available() {
        macro_rules! for_lanes {
            ($kernel:ident: $($lane:ty),*) => {
                $(flavour.run($kernel::<$lane>(inputs, PhantomData));)*
            };
        }
        for_lanes!(Operations: u8, u16, u32, u64, i8, i16, i32, i64);
        for_lanes!(Conversions: u8, u16, u32, i8, i16, i32);
        flavour.run(Indexed::<u32, u32>(inputs, PhantomData));
        flavour.run(Indexed::<i32, u32>(inputs, PhantomData));
        flavour.run(Indexed::<u64, u64>(inputs, PhantomData));
        flavour.run(Indexed::<i64, u64>(inputs, PhantomData));
    }
}

#[test]
fn operations_hold_on_extreme_lanes() {
    let ends = [0, u64::MAX, 1 << 63, u64::MAX >> 1, 0x8080_8080_8080_8080, 0x7fff_8000_0001_ffff];
    for (index, left) in ends.into_iter().enumerate() {
        let mut inputs = Inputs { left: [left; 8], right: [1; 8], bits: 0, amount: 200 };
        for (lane, right) in inputs.right.iter_mut().enumerate() {
            *right = ends[(index + lane) % ends.len()];
        }
        check(inputs);
        check(Inputs { bits: u64::MAX, amount: u32::MAX, ..inputs });
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, max_shrink_iters: 200, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn operations_hold_on_any_lanes(
        left in any::<[u64; 8]>(),
        right in any::<[u64; 8]>(),
        bits in any::<u64>(),
        amount in 0_u32..70,
    ) {
        check(Inputs { left, right, bits, amount });
    }
}
