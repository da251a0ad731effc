//! Distinct sketches: about how many different values there are, in at most 256 bytes.
//!
//! Up to 31 different values are told apart by their hashes, so that their number is exact. More of
//! them become HyperLogLog's 256 registers, with a standard error of 6.5 %:
//!
//! ```text
//! hash        index: upper 8 bits      rank: zeros that follow, plus 1
//! registers   the greatest rank of the hashes of each index
//! ```
//!
//! # Invariants
//! 1. A sketch depends on the set of values alone: neither on their order nor on how often they
//!    come. Merging sketches gives the sketch of the union.
//! 2. Null is no value; `-0` is `0`, and all NaN are one.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Distinct sketch"; a test compares.
//!
//! # Source
//! Flajolet, Fusy, Gandouet, Meunier: HyperLogLog (2007); the estimate is that of Ertl: New
//! cardinality estimation algorithms for HyperLogLog sketches (2017), algorithm 6, which needs no
//! correction by tables.

/// Most hashes that are kept one by one.
const HASHES_MAX: usize = 31;

const REGISTERS: usize = 256;

/// Bits of a hash that choose the register.
const INDEX_BITS: u32 = REGISTERS.ilog2();

/// The greatest rank: hashes are odd.
const RANK_MAX: u8 = (64 - INDEX_BITS) as u8;

/// Slots for hashes that are collected; a power of two.
const SLOTS: usize = 128;

// Lengths tell hashes from registers.
const _: () = assert!(HASHES_MAX * size_of::<u64>() < REGISTERS);

/// What is kept of a set of values to estimate how many there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistinctSketch(SketchForm);

#[derive(Clone, Debug, PartialEq, Eq)]
enum SketchForm {
    /// Ascending.
    Hashes(Vec<u64>),
    Registers(Box<[u8; REGISTERS]>),
}

impl Default for DistinctSketch {
    fn default() -> Self {
        Self(SketchForm::Hashes(Vec::new()))
    }
}

impl DistinctSketch {
    /// Returns about how many different values there are.
    pub fn estimate(&self) -> f64 {
        match &self.0 {
            SketchForm::Hashes(hashes) => hashes.len() as f64,
            SketchForm::Registers(registers) => estimate_of(registers),
        }
    }

    /// Adds the values of another sketch.
    pub fn merge(&mut self, other: &Self) {
        match (&mut self.0, &other.0) {
            (SketchForm::Registers(own), SketchForm::Registers(other)) => {
                for (own, other) in own.iter_mut().zip(other.iter()) {
                    *own = (*own).max(*other);
                }
            }
            (SketchForm::Registers(own), SketchForm::Hashes(hashes)) => raise_all(own, hashes),
            (SketchForm::Hashes(hashes), SketchForm::Registers(other)) => {
                let mut merged = other.clone();
                raise_all(&mut merged, hashes);
                self.0 = SketchForm::Registers(merged);
            }
            (SketchForm::Hashes(own), SketchForm::Hashes(other)) => {
                own.extend_from_slice(other);
                own.sort_unstable();
                own.dedup();
                if own.len() > HASHES_MAX {
                    let mut registers = Box::new([0; REGISTERS]);
                    raise_all(&mut registers, own);
                    self.0 = SketchForm::Registers(registers);
                }
            }
        }
    }

    /// Returns the bytes that stand for it on media: a multiple of 8, at most 256.
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.0 {
            SketchForm::Hashes(hashes) => {
                hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect()
            }
            SketchForm::Registers(registers) => registers.to_vec(),
        }
    }

    /// Reads what [`DistinctSketch::to_bytes`] wrote; `None` if no sketch has these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if let Ok(registers) = <&[u8; REGISTERS]>::try_from(bytes) {
            let is_sound = registers.iter().all(|rank| *rank <= RANK_MAX);
            return is_sound.then(|| Self(SketchForm::Registers(Box::new(*registers))));
        }
        let (words, rest) = bytes.as_chunks::<8>();
        let hashes: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let is_sound = rest.is_empty()
            && hashes.len() <= HASHES_MAX
            && hashes.is_sorted_by(|one, next| one < next)
            && hashes.iter().all(|hash| hash & 1 == 1);
        is_sound.then_some(Self(SketchForm::Hashes(hashes)))
    }
}

/// Collects hashes of values; the same one may come any number of times.
pub(crate) struct SketchBuilder {
    /// Hashes at the place that their upper bits choose, or behind it; 0 is free.
    slots: [u64; SLOTS],
    count: usize,
    /// Once there are too many hashes.
    registers: Option<Box<[u8; REGISTERS]>>,
}

impl SketchBuilder {
    pub(crate) fn new() -> Self {
        Self { slots: [0; SLOTS], count: 0, registers: None }
    }

    /// Adds an odd hash.
    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        match &mut self.registers {
            Some(registers) => raise(registers, hash),
            None => self.collect(hash),
        }
    }

    #[inline]
    fn collect(&mut self, hash: u64) {
        let mut at = (hash >> (64 - SLOTS.ilog2())) as usize;
        // Ends: fewer slots are taken than there are.
        while self.slots[at] != 0 {
            if self.slots[at] == hash {
                return;
            }
            at = (at + 1) % SLOTS;
        }
        self.slots[at] = hash;
        self.count += 1;
        if self.count > HASHES_MAX {
            let mut registers = Box::new([0; REGISTERS]);
            raise_all(&mut registers, &self.hashes());
            self.registers = Some(registers);
        }
    }

    fn hashes(&self) -> Vec<u64> {
        self.slots.iter().copied().filter(|hash| *hash != 0).collect()
    }

    pub(crate) fn finish(self) -> DistinctSketch {
        if let Some(registers) = self.registers {
            return DistinctSketch(SketchForm::Registers(registers));
        }
        let mut hashes = self.hashes();
        hashes.sort_unstable();
        DistinctSketch(SketchForm::Hashes(hashes))
    }
}

#[inline]
fn raise(registers: &mut [u8; REGISTERS], hash: u64) {
    let index = (hash >> (64 - INDEX_BITS)) as usize;
    // The hash is odd: a bit is set.
    let rank = (hash << INDEX_BITS).leading_zeros() as u8 + 1;
    let register = &mut registers[index];
    if rank > *register {
        *register = rank;
    }
}

fn raise_all(registers: &mut [u8; REGISTERS], hashes: &[u64]) {
    hashes.iter().for_each(|hash| raise(registers, *hash));
}

/// Returns about how many hashes the registers are of.
fn estimate_of(registers: &[u8; REGISTERS]) -> f64 {
    const M: f64 = REGISTERS as f64;
    let mut counts = [0_u32; RANK_MAX as usize + 1];
    for rank in registers {
        counts[usize::from(*rank).min(usize::from(RANK_MAX))] += 1;
    }
    let part = |rank: usize| f64::from(counts[rank]) / M;
    let last = usize::from(RANK_MAX);
    let mut sum = M * tau(1.0 - part(last));
    for rank in (1..last).rev() {
        sum = 0.5 * (sum + f64::from(counts[rank]));
    }
    sum += M * sigma(part(0));
    M * M / (2.0 * std::f64::consts::LN_2 * sum)
}

/// The weight of registers that no hash has raised: x + sum of x^(2^k) * 2^(k - 1).
fn sigma(part: f64) -> f64 {
    if part >= 1.0 {
        return f64::INFINITY;
    }
    let (mut power, mut factor, mut sum) = (part, 1.0, part);
    // Ends: the terms fall faster than by halves once the power is small.
    loop {
        power *= power;
        let next = sum + power * factor;
        if next == sum {
            return sum;
        }
        (sum, factor) = (next, factor * 2.0);
    }
}

/// The weight of registers that cannot rise any more.
fn tau(part: f64) -> f64 {
    if part <= 0.0 || part >= 1.0 {
        return 0.0;
    }
    let (mut root, mut factor, mut sum) = (part, 1.0, 1.0 - part);
    // Ends: the factor halves in every turn.
    loop {
        root = root.sqrt();
        factor *= 0.5;
        let next = sum - (1.0 - root).powi(2) * factor;
        if next == sum {
            return sum / 3.0;
        }
        sum = next;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::{hash_number, hash_string};

    fn sketch_of(hashes: impl IntoIterator<Item = u64>) -> DistinctSketch {
        let mut builder = SketchBuilder::new();
        hashes.into_iter().for_each(|hash| builder.add(hash));
        builder.finish()
    }

    fn sketch_of_numbers(numbers: impl IntoIterator<Item = u64>) -> DistinctSketch {
        sketch_of(numbers.into_iter().map(hash_number))
    }

    /// Four standard errors: about one in 16,000 sketches of random values is worse. The values
    /// here are the same in every run.
    #[test]
    fn estimate_is_within_four_standard_errors() {
        let kinds: [fn(u64) -> u64; 5] = [
            |number| hash_number(number),
            |number| hash_number(number << 20),
            |number| hash_number(number * 86_400_000_000),
            |number| hash_number((number as f64 / 4.0).to_bits()),
            |number| hash_string(format!("Customer#{number:09}").as_bytes()),
        ];
        for (kind, hash) in kinds.into_iter().enumerate() {
            for count in [32_u64, 100, 1_000, 20_000, 300_000] {
                let estimate = sketch_of((0..count).map(hash)).estimate();
                let error = estimate / count as f64 - 1.0;
                assert!(error.abs() < 0.26, "kind {kind}, {count} values: {estimate}");
            }
        }
    }

    #[test]
    fn errors_have_no_bias_and_the_spread_that_registers_promise() {
        for count in [200_u64, 2_000, 50_000] {
            let error = |run: u64| {
                let numbers = (0..count).map(|number| run << 32 | number);
                sketch_of_numbers(numbers).estimate() / count as f64 - 1.0
            };
            let errors: Vec<f64> = (0..60).map(error).collect();
            let mean = errors.iter().sum::<f64>() / 60.0;
            let spread = (errors.iter().map(|error| error * error).sum::<f64>() / 60.0).sqrt();
            assert!(mean.abs() < 0.03, "{count}: mean error {mean}");
            assert!((0.03..0.09).contains(&spread), "{count}: spread {spread}");
        }
    }

    #[test]
    fn few_values_are_counted() {
        for count in 0..=HASHES_MAX as u64 {
            let repeated = (0..1_000).map(|row| row % count.max(1)).take(1_000 * count as usize);
            assert_eq!(sketch_of_numbers(repeated).estimate(), count as f64);
        }
        assert!(matches!(sketch_of_numbers(0..31).0, SketchForm::Hashes(_)));
        assert!(matches!(sketch_of_numbers(0..32).0, SketchForm::Registers(_)));
    }

    #[test]
    fn bytes_of_no_sketch_are_refused() {
        let hashes =
            |all: &[u64]| -> Vec<u8> { all.iter().flat_map(|hash| hash.to_le_bytes()).collect() };
        assert!(DistinctSketch::from_bytes(&hashes(&[3, 5])).is_some());
        let wrong = [
            hashes(&[5, 3]),
            hashes(&[3, 3]),
            hashes(&[2, 3]),
            vec![1; 9],
            vec![1; 264],
            vec![RANK_MAX + 1; REGISTERS],
        ];
        for bytes in wrong {
            assert_eq!(DistinctSketch::from_bytes(&bytes), None, "{} bytes", bytes.len());
        }
        let highest = DistinctSketch::from_bytes(&[RANK_MAX; REGISTERS]).unwrap();
        assert!(highest.estimate() > 0.0, "even so it is a number: {}", highest.estimate());
        assert_eq!(DistinctSketch::from_bytes(&[0; REGISTERS]).unwrap().estimate(), 0.0);
    }

    proptest! {
        #[test]
        fn merging_is_the_sketch_of_the_union(
            sets in proptest::collection::vec(
                proptest::collection::vec(0_u64..400, 0..200), 1..5),
        ) {
            let mut merged = DistinctSketch::default();
            sets.iter().for_each(|set| merged.merge(&sketch_of_numbers(set.iter().copied())));
            let union = sketch_of_numbers(sets.iter().flatten().copied());
            prop_assert_eq!(&merged, &union);
            // In the other order, and once more.
            let mut again = DistinctSketch::default();
            let twice = sets.iter().rev().chain(&sets);
            twice.for_each(|set| again.merge(&sketch_of_numbers(set.iter().copied())));
            prop_assert_eq!(&again, &union);
        }

        #[test]
        fn sketch_reads_back_as_written(set in proptest::collection::vec(any::<u64>(), 0..80)) {
            let sketch = sketch_of_numbers(set);
            let bytes = sketch.to_bytes();
            prop_assert!(bytes.len().is_multiple_of(8) && bytes.len() <= REGISTERS);
            prop_assert_eq!(DistinctSketch::from_bytes(&bytes), Some(sketch));
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some(sketch) = DistinctSketch::from_bytes(&bytes) {
                prop_assert!(!sketch.estimate().is_nan());
            }
        }
    }
}
