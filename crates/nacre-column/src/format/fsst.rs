//! FSST: strings as one-byte codes of frequent pieces.
//!
//! 1. [`train`](train::train) finds up to 255 *symbols*, byte strings of one to eight bytes, that
//!    suit a sample of the block's strings.
//! 2. Each string is cut greedily into the longest symbols that fit, one code each. The code
//!    [`ESCAPE`] stands before a byte that no symbol begins with.
//!
//! Every string is encoded by itself, so any row can be decoded alone.
//!
//! # Layout
//! The header's `entries` is the number of symbols, its `width` that of the row ends. Section
//! `values`: the symbols, eight bytes each, filled up with zeros; then their lengths, one byte
//! each. Section `offsets`: where the codes of each row end, as in [`row_ends`](super::row_ends).
//! Section `heap`: the codes end to end.
//!
//! # Source
//! Boncz, Neumann, Leis: FSST, Fast Random Access String Compression, VLDB 2020. Differs: the
//! sample and all ties are deterministic, so equal columns give equal bytes; symbols keep the
//! order in which they were found; pair counts are kept by touched cell. Why this is our own:
//! `docs/decisions/0007-own-fsst.md`.

pub(crate) mod train;

use std::ops::Range;

use nacre_simd::Flavour;

use super::row_ends::RowEnds;
use crate::{BlockError, ByteValues, STRING_BYTES_MAX};

/// Code before a byte that stands for itself.
const ESCAPE: u8 = 255;

/// Most symbols of a table; the code after the last is [`ESCAPE`].
pub(crate) const SYMBOLS_MAX: usize = 255;

/// Most bytes of a symbol.
const SYMBOL_BYTES: usize = 8;

/// Bytes of a symbol and its length in the section `values`.
pub(crate) const SYMBOL_MEDIA_BYTES: usize = SYMBOL_BYTES + 1;

/// One to eight bytes, the first in the least significant place, zeros above the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Symbol {
    bytes: u64,
    length: u8,
}

impl Symbol {
    fn of_byte(byte: u8) -> Self {
        Self { bytes: byte.into(), length: 1 }
    }

    /// Returns the first eight bytes of `self` followed by `next`.
    fn followed_by(self, next: Self) -> Self {
        let bytes = self.bytes | next.bytes.unbounded_shl(u32::from(self.length) * 8);
        Self { bytes, length: (self.length + next.length).min(SYMBOL_BYTES as u8) }
    }

    fn mask(self) -> u64 {
        u64::MAX.unbounded_shr(64 - u32::from(self.length) * 8)
    }
}

/// What the longest symbol at some place is: its code, or [`ESCAPE`] with a flag; and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step(u16);

impl Step {
    const ESCAPED: Self = Self(1 << 12 | 1 << 8 | ESCAPE as u16);

    fn new(code: usize, length: u8) -> Self {
        Self(u16::from(length) << 12 | code as u16)
    }

    #[inline]
    fn code(self) -> u8 {
        self.0 as u8
    }

    #[inline]
    fn is_escape(self) -> bool {
        self.0 >> 8 & 1 == 1
    }

    #[inline]
    fn length(self) -> usize {
        usize::from(self.0 >> 12)
    }
}

/// Slots for symbols of three bytes and more.
const LONG_SLOTS: usize = 1_024;

/// A symbol of three bytes and more; `length` 0 is a free slot, which no text matches.
#[derive(Clone, Copy, Debug)]
struct Long {
    bytes: u64,
    mask: u64,
    step: Step,
}

const FREE: Long = Long { bytes: 1, mask: 0, step: Step(0) };

/// Symbols in the order of their codes, with the tables that find the longest one.
pub(crate) struct SymbolTable {
    symbols: Vec<Symbol>,
    /// By the first byte.
    ones: [Step; 256],
    /// By the first two bytes.
    twos: Vec<Step>,
    /// By a hash of the first three bytes; one symbol each.
    longs: Vec<Long>,
}

#[inline]
fn long_slot(word: u64) -> usize {
    let hash = (word & 0xff_ffff).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> 54) as usize % LONG_SLOTS
}

/// Returns the eight bytes from `at` on, with zeros after the last.
#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(word) => u64::from_le_bytes(*word),
        None => word_near_end(bytes, at),
    }
}

#[cold]
fn word_near_end(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.iter().skip(at).take(SYMBOL_BYTES).rev();
    rest.fold(0, |word, byte| word << 8 | u64::from(*byte))
}

impl SymbolTable {
    fn new() -> Self {
        let twos = vec![Step::ESCAPED; 1 << 16];
        let longs = vec![FREE; LONG_SLOTS];
        Self { symbols: Vec::new(), ones: [Step::ESCAPED; 256], twos, longs }
    }

    /// Makes a table of the symbols that come first in `wanted` and have room.
    fn of(wanted: impl Iterator<Item = Symbol>) -> Self {
        let mut table = Self::new();
        for symbol in wanted {
            let code = table.symbols.len();
            if code == SYMBOLS_MAX {
                break;
            }
            let step = Step::new(code, symbol.length);
            if symbol.length > 2 {
                let slot = &mut table.longs[long_slot(symbol.bytes)];
                if slot.step != FREE.step {
                    continue;
                }
                *slot = Long { bytes: symbol.bytes, mask: symbol.mask(), step };
            } else if symbol.length == 1 {
                table.ones[symbol.bytes as usize] = step;
            } else {
                table.twos[symbol.bytes as usize] = step;
            }
            table.symbols.push(symbol);
        }
        for (pair, step) in table.twos.iter_mut().enumerate() {
            if step.is_escape() {
                *step = table.ones[pair % 256];
            }
        }
        table
    }

    /// Returns how many symbols there are.
    pub(crate) fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Returns the section `values`.
    pub(crate) fn to_section(&self) -> Vec<u8> {
        let bytes = self.symbols.iter().flat_map(|symbol| symbol.bytes.to_le_bytes());
        bytes.chain(self.symbols.iter().map(|symbol| symbol.length)).collect()
    }

    /// Returns the step of the longest symbol at the start of `word` that has at most `rest` bytes,
    /// of which there are two or more.
    ///
    /// Both candidates are loaded before either is looked at: which one it is nobody can predict.
    #[inline(always)]
    fn step(&self, word: u64, rest: usize) -> Step {
        let long = &self.longs[long_slot(word)];
        let short = self.twos[word as usize & 0xffff];
        let is_long = (word & long.mask == long.bytes) & (long.step.length() <= rest);
        if is_long { long.step } else { short }
    }

    /// Calls `each` with the steps of `text` and the byte at which each begins.
    ///
    /// What follows `text` in `padded`, which begins with it, is read but not looked at.
    #[inline(always)]
    fn for_each_step(&self, padded: &[u8], text: usize, mut each: impl FnMut(Step, u8)) {
        let mut at = 0;
        while at + 1 < text {
            let word = word_at(padded, at);
            let step = self.step(word, text - at);
            each(step, word as u8);
            at += step.length();
        }
        if at < text {
            each(self.ones[usize::from(padded[at])], padded[at]);
        }
    }

    /// Encodes `values`: returns the codes end to end, and where those of each row end.
    pub(crate) fn encode(&self, values: &ByteValues) -> ByteValues {
        let mut encoded = ByteValues::default();
        encoded.offsets.reserve(values.len());
        encoded.data.reserve(values.data.len() / 2);
        let mut buffer = vec![0; BUFFER_BYTES];
        for row in 0..values.len() {
            let text = values.get(row).len();
            if buffer.len() < text * 2 + 1 {
                buffer.resize(text * 2 + 1, 0);
            }
            let mut at = 0;
            let padded = &values.data[values.offsets[row] as usize..];
            self.for_each_step(padded, text, |step, byte| {
                // Both bytes are written; the second counts if the first is the escape.
                if let Some(pair) = buffer.get_mut(at..at + 2) {
                    pair[0] = step.code();
                    pair[1] = byte;
                }
                at += 1 + usize::from(step.is_escape());
            });
            encoded.data.extend_from_slice(&buffer[..at]);
            encoded.offsets.push(encoded.data.len() as u32);
        }
        encoded
    }
}

/// Bytes put together before they are appended to what is returned.
const BUFFER_BYTES: usize = 4_096;

/// The symbols of a block, for decoding.
struct Decoder {
    bytes: [[u8; SYMBOL_BYTES]; 256],
    lengths: [u8; 256],
    symbols: usize,
}

/// Strings put together in a buffer that stays in the L1 cache, then appended to `out`.
struct Sink<'a> {
    out: &'a mut Vec<u8>,
    buffer: [u8; BUFFER_BYTES],
    filled: usize,
}

impl Sink<'_> {
    #[cold]
    fn flush(&mut self) {
        self.out.extend_from_slice(&self.buffer[..self.filled]);
        self.filled = 0;
    }

    /// Makes room for `symbols` more symbols.
    #[inline(always)]
    fn make_room(&mut self, symbols: usize) {
        if self.filled > BUFFER_BYTES - symbols * SYMBOL_BYTES {
            self.flush();
        }
    }

    /// Appends a symbol; there is room.
    #[inline(always)]
    fn put(&mut self, symbol: [u8; SYMBOL_BYTES], length: u8) {
        if let Some(out) = self.buffer[self.filled..].first_chunk_mut() {
            *out = symbol;
        }
        self.filled += usize::from(length);
    }

    fn bytes(&self) -> usize {
        self.out.len() + self.filled
    }
}

/// Tells whether one of the codes is [`ESCAPE`]: a byte that is zero when its bits are flipped.
#[inline(always)]
fn has_escape(codes: [u8; 4]) -> bool {
    const LOWEST: u32 = 0x0101_0101;
    let flipped = !u32::from_le_bytes(codes);
    flipped.wrapping_sub(LOWEST) & !flipped & LOWEST << 7 != 0
}

impl Decoder {
    /// Reads the section `values`. A length past eight counts as eight; [`Reader::check`]
    /// refuses it.
    fn new(section: &[u8]) -> Self {
        let mut decoder = Self { bytes: [[0; SYMBOL_BYTES]; 256], lengths: [0; 256], symbols: 0 };
        let symbols = (section.len() / SYMBOL_MEDIA_BYTES).min(SYMBOLS_MAX);
        let (bytes, lengths) = section.split_at(symbols * SYMBOL_BYTES);
        for (out, bytes) in decoder.bytes.iter_mut().zip(bytes.as_chunks().0) {
            *out = *bytes;
        }
        for (out, length) in decoder.lengths[..symbols].iter_mut().zip(lengths) {
            *out = (*length).min(SYMBOL_BYTES as u8);
        }
        decoder.symbols = symbols;
        decoder
    }

    /// Decodes one string; false if its last code is an escape of nothing.
    #[inline(always)]
    fn decode(&self, codes: &[u8], sink: &mut Sink<'_>) -> bool {
        let mut rest = codes;
        loop {
            while let Some((four, after)) = rest.split_first_chunk::<4>()
                && !has_escape(*four)
            {
                sink.make_room(4);
                for code in four {
                    let code = usize::from(*code);
                    sink.put(self.bytes[code], self.lengths[code]);
                }
                rest = after;
            }
            // One of the last three codes, or of the four up to an escape.
            sink.make_room(1);
            rest = match rest {
                [] => return true,
                [ESCAPE, byte, after @ ..] => {
                    sink.put([*byte; SYMBOL_BYTES], 1);
                    after
                }
                [ESCAPE] => return false,
                [code, after @ ..] => {
                    let code = usize::from(*code);
                    sink.put(self.bytes[code], self.lengths[code]);
                    after
                }
            };
        }
    }

    /// Tells whether all of `codes` stand for a symbol or an escaped byte.
    fn knows(&self, codes: &[u8]) -> bool {
        let mut codes = codes.iter();
        while let Some(code) = codes.next() {
            let is_known = match *code {
                ESCAPE => codes.next().is_some(),
                code => usize::from(code) < self.symbols,
            };
            if !is_known {
                return false;
            }
        }
        true
    }
}

/// The strings of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    symbols: &'a [u8],
    ends: RowEnds<'a>,
    codes: &'a [u8],
}

fn wrong_codes(row: usize) -> BlockError {
    BlockError::Contents {
        what: "codes of row",
        row,
        found: ESCAPE.into(),
        expected: "codes of symbols, or escapes with a byte after each".to_owned(),
    }
}

impl<'a> Reader<'a> {
    /// Wraps the sections of a block.
    pub(crate) fn new(symbols: &'a [u8], ends: RowEnds<'a>, codes: &'a [u8]) -> Self {
        Self { symbols, ends, codes }
    }

    /// Appends the strings of `rows` to `out`.
    ///
    /// # Errors
    /// [`BlockError::Contents`] if the block's bytes are damaged; `out` may hold more strings.
    pub(crate) fn decode(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut ByteValues,
    ) -> Result<(), BlockError> {
        let mut ends = Vec::new();
        self.ends.decode(flavour, rows.clone(), self.codes.len(), &mut ends)?;
        let decoder = Decoder::new(self.symbols);
        out.offsets.reserve(rows.len());
        let mut sink = Sink { out: &mut out.data, buffer: [0; BUFFER_BYTES], filled: 0 };
        for (row, bounds) in rows.zip(ends.windows(2)) {
            let codes = &self.codes[bounds[0] as usize..bounds[1] as usize];
            if !decoder.decode(codes, &mut sink) {
                return Err(wrong_codes(row));
            }
            let end = sink.bytes();
            if end > STRING_BYTES_MAX {
                return Err(BlockError::Contents {
                    what: "end of string",
                    row,
                    found: end as u64,
                    expected: format!("at most {STRING_BYTES_MAX}"),
                });
            }
            out.offsets.push(end as u32);
        }
        sink.flush();
        Ok(())
    }

    /// Appends the string in `row`, which the caller has checked to be in the block, to `out`.
    ///
    /// # Errors
    /// [`BlockError::Contents`] if the block's bytes are damaged.
    pub(crate) fn get(&self, row: usize, out: &mut Vec<u8>) -> Result<(), BlockError> {
        let codes = self.codes.get(self.ends.get(row)).ok_or_else(|| wrong_codes(row))?;
        let symbols = self.symbols.len() / SYMBOL_MEDIA_BYTES;
        let (bytes, lengths) = self.symbols.split_at(symbols * SYMBOL_BYTES);
        let mut codes = codes.iter();
        while let Some(code) = codes.next() {
            let code = usize::from(*code);
            if code == usize::from(ESCAPE) {
                out.push(*codes.next().ok_or_else(|| wrong_codes(row))?);
            } else if let Some(length) = lengths.get(code) {
                let length = usize::from(*length).min(SYMBOL_BYTES);
                out.extend_from_slice(&bytes[code * SYMBOL_BYTES..][..length]);
            }
        }
        Ok(())
    }

    /// Checks symbols, row ends and codes.
    ///
    /// # Errors
    /// [`BlockError::Contents`] for the first that is wrong.
    pub(crate) fn check(&self, flavour: Flavour) -> Result<(), BlockError> {
        let symbols = self.symbols.len() / SYMBOL_MEDIA_BYTES;
        let (bytes, lengths) = self.symbols.split_at(symbols * SYMBOL_BYTES);
        for (index, (bytes, length)) in bytes.as_chunks().0.iter().zip(lengths).enumerate() {
            let symbol = Symbol { bytes: u64::from_le_bytes(*bytes), length: *length };
            let is_length = (1..=SYMBOL_BYTES as u8).contains(length);
            if !is_length || symbol.bytes & !symbol.mask() != 0 {
                return Err(BlockError::Contents {
                    what: "length of symbol",
                    row: index,
                    found: (*length).into(),
                    expected: "1 to 8, with zeros after its bytes".to_owned(),
                });
            }
        }
        self.ends.check(flavour, self.codes.len())?;
        let decoder = Decoder::new(self.symbols);
        // The ends may change after their check where another program writes to the file.
        let is_known = |row| self.codes.get(self.ends.get(row)).is_some_and(|c| decoder.knows(c));
        match (0..self.ends.rows()).find(|row| !is_known(*row)) {
            Some(row) => Err(wrong_codes(row)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
