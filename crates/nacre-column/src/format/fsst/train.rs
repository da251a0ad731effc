//! Finds the symbols that suit a column.
//!
//! 1. Take pieces of a few hundred bytes from all over the block, [`SAMPLE_BYTES`] in all.
//! 2. Start with no symbol. In each of five generations encode a growing part of the sample with
//!    the symbols so far, counting how often each is used, and each pair of neighbours.
//! 3. The next generation's symbols are those with the greatest gain, count times length, among
//!    the symbols used and the pairs, put together. The last generation takes no pairs.
//!
//! # Source
//! Boncz, Neumann, Leis: FSST, VLDB 2020, section 4.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{SYMBOL_BYTES, SYMBOLS_MAX, Step, Symbol, SymbolTable};
use crate::ByteValues;

/// Bytes that symbols are chosen by.
const SAMPLE_BYTES: usize = 16_384;

/// Bytes of one piece of the sample.
const PIECE_BYTES: usize = 512;

/// Parts of the sample, of 128, that the generations look at.
const GENERATIONS: [usize; 5] = [8, 38, 68, 98, 128];

/// A symbol of one byte saves an escape, so it counts for more than its length.
const SINGLE_BONUS: u64 = 8;

/// Numbers of what can be counted: bytes without a symbol, then symbols.
const COUNTERS: usize = 256 + SYMBOLS_MAX + 1;

/// Returns the symbols for `values`.
pub(crate) fn train(values: &ByteValues) -> SymbolTable {
    let sample = sample(values);
    let mut table = SymbolTable::new();
    let mut counts = Counts::new();
    for part in GENERATIONS {
        for (index, line) in sample.iter().enumerate() {
            // A cheap shuffle, so that the parts are spread over the sample.
            if index.wrapping_mul(89) % 128 < part {
                counts.add(&table, line);
            }
        }
        table = counts.best(&table, part);
        counts.clear();
    }
    table
}

/// Returns strings, or pieces of long ones, spread evenly over `values`.
fn sample(values: &ByteValues) -> Vec<&[u8]> {
    let bytes = values.data.len();
    let pieces = SAMPLE_BYTES / PIECE_BYTES;
    let mut sample = Vec::new();
    let mut row_end = 0;
    for piece in 0..pieces {
        let start =
            if bytes <= SAMPLE_BYTES { piece * PIECE_BYTES } else { piece * bytes / pieces };
        let end = bytes.min(start + PIECE_BYTES);
        // The rows that begin in the piece, and the one that it begins in if that is a long one.
        let first = values.offsets.partition_point(|offset| (*offset as usize) < start);
        let first = first.min(values.len());
        let mut at = start;
        for bound in values.offsets[first..].iter().map(|bound| (*bound as usize).min(end)) {
            if bound > at && at >= row_end {
                sample.push(&values.data[at..bound]);
            }
            at = at.max(bound);
            if at == end {
                break;
            }
        }
        row_end = at;
    }
    sample
}

/// How often symbols and pairs of them occur.
struct Counts {
    ones: [u32; COUNTERS],
    pairs: Vec<u16>,
    /// Pairs whose count is not 0.
    touched: Vec<u32>,
}

/// Returns the counter of a step that begins with `byte`.
fn counter(step: Step, byte: u8) -> usize {
    if step.is_escape() { byte.into() } else { 256 + usize::from(step.code()) }
}

impl Counts {
    fn new() -> Self {
        let pairs = vec![0; COUNTERS * COUNTERS];
        Self { ones: [0; COUNTERS], pairs, touched: Vec::new() }
    }

    fn clear(&mut self) {
        self.ones.fill(0);
        for pair in self.touched.drain(..) {
            self.pairs[pair as usize] = 0;
        }
    }

    fn add_pair(&mut self, first: usize, second: usize) {
        let pair = first * COUNTERS + second;
        let count = &mut self.pairs[pair];
        if *count == 0 {
            self.touched.push(pair as u32);
        }
        *count = count.saturating_add(1);
    }

    /// Counts what `table` cuts `line` into; also the first byte of a longer symbol, since a
    /// table without that symbol would begin with it.
    fn add(&mut self, table: &SymbolTable, line: &[u8]) {
        let mut before = None;
        table.for_each_step(line, line.len(), |step, byte| {
            let current = counter(step, byte);
            let first = table.ones[usize::from(byte)];
            let single = counter(first, byte);
            self.ones[current] += 1;
            if step.length() > 1 {
                self.ones[single] += 1;
            }
            if let Some(before) = before {
                self.add_pair(before, current);
                if step.length() > 1 {
                    self.add_pair(before, single);
                }
            }
            before = Some(current);
        });
    }

    /// Returns the table of the symbols with the greatest gain.
    fn best(&self, table: &SymbolTable, part: usize) -> SymbolTable {
        let symbol = |counter: usize| match counter.checked_sub(256) {
            Some(code) => table.symbols.get(code).copied().unwrap_or_default(),
            None => Symbol::of_byte(counter as u8),
        };
        let mut gains: HashMap<Symbol, u64, BuildHasherDefault<SymbolHasher>> = HashMap::default();
        let count_min = (5 * part / 128) as u64;
        let mut add = |symbol: Symbol, count: u64| {
            if count >= count_min.max(1) {
                *gains.entry(symbol).or_default() += count * u64::from(symbol.length);
            }
        };
        for (counter, count) in self.ones.iter().enumerate() {
            let symbol = symbol(counter);
            let bonus = if symbol.length == 1 { SINGLE_BONUS } else { 1 };
            add(symbol, u64::from(*count) * bonus);
        }
        if part < GENERATIONS[GENERATIONS.len() - 1] {
            for pair in &self.touched {
                let pair = *pair as usize;
                let first = symbol(pair / COUNTERS);
                if usize::from(first.length) < SYMBOL_BYTES {
                    let both = first.followed_by(symbol(pair % COUNTERS));
                    add(both, self.pairs[pair].into());
                }
            }
        }
        let mut wanted: Vec<(Symbol, u64)> = gains.into_iter().collect();
        let order = |left: &(Symbol, u64), right: &(Symbol, u64)| {
            right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0))
        };
        // Some have no room in the table of long symbols, so more than it holds are put in order.
        let candidates = wanted.len().min(3 * SYMBOLS_MAX);
        if candidates < wanted.len() {
            wanted.select_nth_unstable_by(candidates, order);
            wanted.truncate(candidates);
        }
        wanted.sort_unstable_by(order);
        SymbolTable::of(wanted.into_iter().map(|(symbol, _)| symbol))
    }
}

impl std::hash::Hash for Symbol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.bytes ^ u64::from(self.length) << 60);
    }
}

/// One product is enough: the numbers of one sample are few, and looked up once.
#[derive(Default)]
struct SymbolHasher(u64);

impl Hasher for SymbolHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * 0x9e37_79b9_7f4a_7c15_u128;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}
