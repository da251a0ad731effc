//! Select: which rows of a block match a restriction, decided on the encoded values.
//!
//! 1. The constant is translated once into the block's *keys*: differences to the base, codes of
//!    the dictionary, or the values themselves mapped to unsigned numbers in the same order.
//! 2. Every comparison is then one range of keys, inside or outside of which rows match: one
//!    subtraction and one unsigned comparison per row. A set is a range, a table or a search.
//! 3. The answer is a bitmap, 64 rows a word, from which null rows are taken last.
//!
//! ```text
//! block        10 12 null 17 12        bit-packed: base 10, differences 0 2 0 7 2
//! restriction  >= 12                   differences from 2 upwards
//! rows 1..5    bits 0b1101             positions 0 2 3
//! ```
//!
//! # Source
//! [Muehlbauer16 section 3] restrictions on compressed blocks; [Zarubin22 section 4.2] operators on
//! formats.

use std::cmp::Ordering;
use std::ops::Range;

use nacre_simd::{Fill, Flavour, Simd};

use super::in_range::{KeyRange, in_range};
use super::numbers::{Numbers, plain_range, with_plain};
use crate::format::dictionary;
use crate::format::keys::Keys;
use crate::format::lanes::NARROW_WIDTH_MAX;
use crate::format::plain::{StringValues, Strings};
use crate::{
    Block, BlockError, ByteValues, CompareOp, Constant, Physical, Restriction, VECTOR_ROWS,
};

/// Values decoded at a time: they stay in the L1 cache.
const RUN_ROWS: usize = 512;

/// Largest key for which a set becomes a table of bits: 8 KiB, which stay in the L1 cache.
const TABLE_KEY_MAX: u64 = u16::MAX as u64;

/// Puts the positions of the rows of `rows` that match into `selection`, ascending, counted from
/// `rows.start`. What `selection` held before is dropped.
///
/// # Errors
/// [`BlockError::RowRange`]; [`BlockError::WrongConstant`] if a constant is of another class than
/// the column's values; [`BlockError::Contents`] if the block's bytes are damaged.
pub fn select(
    block: &Block<'_>,
    flavour: Flavour,
    restriction: &Restriction,
    rows: Range<usize>,
    selection: &mut Vec<u16>,
) -> Result<(), BlockError> {
    let mut bits = Vec::new();
    select_bits(block, flavour, restriction, rows, &mut bits)?;
    positions(&bits, selection);
    Ok(())
}

/// As [`select`], with the answer as bits: bit `i % 64` of word `i / 64` for row `rows.start + i`.
/// Several restrictions on the same rows are joined by AND of their words.
///
/// # Errors
/// As [`select`].
pub fn select_bits(
    block: &Block<'_>,
    flavour: Flavour,
    restriction: &Restriction,
    rows: Range<usize>,
    bits: &mut Vec<u64>,
) -> Result<(), BlockError> {
    block.check_rows(&rows)?;
    bits.clear();
    match restriction {
        Restriction::IsNotNull => bits.resize(rows.len().div_ceil(64), u64::MAX),
        Restriction::IsNull => {
            bits.extend(valid_words(block, &rows).map(|word| !word));
            clear_tail(bits, rows.len());
            return Ok(());
        }
        Restriction::Compare { .. } | Restriction::Between { .. } | Restriction::InSet(_) => {
            match block.column_type().physical() {
                Physical::Int64 | Physical::Int128 => {
                    ints(block, flavour, restriction, &rows, bits)
                }
                Physical::Float32 | Physical::Float64 => {
                    floats(block, flavour, restriction, &rows, bits)
                }
                Physical::Bytes => strings(block, flavour, restriction, &rows, bits),
            }?;
        }
    }
    if block.null_count() > 0 {
        for (word, valid) in bits.iter_mut().zip(valid_words(block, &rows)) {
            *word &= valid;
        }
    }
    clear_tail(bits, rows.len());
    Ok(())
}

/// Puts the positions of the set bits into `selection`, ascending. `bits` are at most 65,536.
pub fn positions(bits: &[u64], selection: &mut Vec<u16>) {
    Flavour::active().fill(SetBitPositions { bits }, selection);
}

struct SetBitPositions<'b> {
    bits: &'b [u64],
}

impl Fill for SetBitPositions<'_> {
    type Out = Vec<u16>;

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, selection: &mut Vec<u16>) {
        /// Positions written at a time, the last ones of a word also if it has fewer: how many
        /// bits are set cannot be predicted, and seldom are there more than a few.
        const STEP: usize = 4;

        let count: usize = self.bits.iter().map(|word| word.count_ones() as usize).sum();
        selection.clear();
        selection.resize(count + STEP, 0);
        let mut at = 0;
        for (index, word) in self.bits.iter().enumerate() {
            let start = (index * 64) as u16;
            let end = at + word.count_ones() as usize;
            if *word == u64::MAX {
                for (bit, position) in selection[at..end].iter_mut().enumerate() {
                    *position = start + bit as u16;
                }
                at = end;
                continue;
            }
            let mut rest = *word;
            while at < end {
                for position in &mut selection[at..at + STEP] {
                    *position = start.wrapping_add(rest.trailing_zeros() as u16);
                    rest &= rest.wrapping_sub(1);
                }
                at += STEP;
            }
            at = end;
        }
        selection.truncate(count);
    }
}

/// Returns the set-if-valid bits of these rows; those past the last are unspecified.
pub(super) fn valid_words(block: &Block<'_>, rows: &Range<usize>) -> impl Iterator<Item = u64> {
    let first = rows.start / 64;
    let shift = (rows.start % 64) as u32;
    (first..first + rows.len().div_ceil(64)).map(move |word| {
        let upper = block.validity_word(word + 1).unbounded_shl(64 - shift);
        block.validity_word(word) >> shift | upper
    })
}

pub(crate) fn clear_tail(bits: &mut [u64], rows: usize) {
    if !rows.is_multiple_of(64)
        && let Some(last) = bits.last_mut()
    {
        *last &= (1 << (rows % 64)) - 1;
    }
}

/// Says which keys match.
pub(super) enum Matcher {
    Nothing,
    Everything,
    Range(KeyRange),
    /// Keys whose bit is set.
    Table(Vec<u64>),
    /// Keys that are here, ascending.
    Sorted(Vec<u64>),
}

impl Matcher {
    /// Makes the matcher for values from `low` to `high` among keys that stand for `base` and up
    /// to `base + key_max`.
    pub(super) fn range(
        (low, high): (i128, i128),
        is_inside: bool,
        base: i128,
        key_max: u64,
    ) -> Self {
        let low = low.max(base);
        let high = high.min(base.saturating_add(key_max.into()));
        match (low <= high, is_inside) {
            (true, _) => {
                let key = (low - base) as u64;
                Self::Range(KeyRange { low: key, span: (high - low) as u64, is_inside })
            }
            (false, true) => Self::Nothing,
            (false, false) => Self::Everything,
        }
    }

    /// Makes the matcher for a comparison of whole numbers.
    pub(super) fn compare(op: CompareOp, value: i128, base: i128, key_max: u64) -> Self {
        let range = match op {
            CompareOp::Eq | CompareOp::Ne => Some((value, value)),
            CompareOp::Lt => value.checked_sub(1).map(|high| (i128::MIN, high)),
            CompareOp::Le => Some((i128::MIN, value)),
            CompareOp::Gt => value.checked_add(1).map(|low| (low, i128::MAX)),
            CompareOp::Ge => Some((value, i128::MAX)),
        };
        range.map_or(Self::Nothing, |range| Self::range(range, op != CompareOp::Ne, base, key_max))
    }

    pub(super) fn set(mut keys: Vec<u64>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        let (Some(first), Some(last)) = (keys.first().copied(), keys.last().copied()) else {
            return Self::Nothing;
        };
        if last - first == keys.len() as u64 - 1 {
            return Self::Range(KeyRange { low: first, span: last - first, is_inside: true });
        }
        if last > TABLE_KEY_MAX {
            return Self::Sorted(keys);
        }
        let mut table = vec![0; last as usize / 64 + 1];
        for key in keys {
            table[key as usize / 64] |= 1 << (key % 64);
        }
        Self::Table(table)
    }

    /// Appends a word per 64 keys; bits past the last key are unspecified.
    pub(super) fn append<N: Numbers>(&self, flavour: Flavour, keys: N, bits: &mut Vec<u64>) {
        let at = bits.len();
        let end = at + keys.len().div_ceil(64);
        match self {
            Self::Nothing => bits.resize(end, 0),
            Self::Everything => bits.resize(end, u64::MAX),
            Self::Range(range) => {
                bits.resize(end, 0);
                in_range(flavour, *range, keys, &mut bits[at..]);
            }
            Self::Table(table) => append_where(keys.len(), bits, |at| {
                let key = keys.get(at);
                table.get((key / 64) as usize).is_some_and(|word| word >> (key % 64) & 1 == 1)
            }),
            Self::Sorted(set) => {
                append_where(keys.len(), bits, |at| set.binary_search(&keys.get(at)).is_ok());
            }
        }
    }

    /// Appends a word per 64 rows; bits past the last row are unspecified. Keys of a dictionary are
    /// not looked up: its codes have their order.
    pub(super) fn append_keys(
        &self,
        block: &Block<'_>,
        keys: &Keys<'_>,
        flavour: Flavour,
        rows: &Range<usize>,
        bits: &mut Vec<u64>,
    ) {
        if let Keys::Dictionary(dictionary) = keys {
            let codes = Keys::StaticBp(*dictionary.codes());
            let width = dictionary.code_width();
            return self.of_codes(dictionary).append_packed((&codes, width), flavour, rows, bits);
        }
        self.append_packed((keys, block.header().width.into()), flavour, rows, bits);
    }

    /// As [`Matcher::append_keys`], for keys of a width that are what is compared.
    fn append_packed(
        &self,
        (keys, width): (&Keys<'_>, usize),
        flavour: Flavour,
        rows: &Range<usize>,
        bits: &mut Vec<u64>,
    ) {
        match self {
            Self::Range(range) if rows.start.is_multiple_of(64) => {
                let at = bits.len();
                bits.resize(at + rows.len().div_ceil(64), 0);
                keys.in_range(flavour, *range, width, rows.clone(), &mut bits[at..]);
            }
            _ => for_each_key_run(keys, flavour, rows, |keys| self.append(flavour, keys, bits)),
        }
    }

    /// Appends those of `positions`, counted from `rows.start`, whose keys match. Returns false,
    /// with `kept` as it was, if the format has no cheap access to single rows.
    pub(super) fn append_positions(
        &self,
        block: &Block<'_>,
        keys: &Keys<'_>,
        flavour: Flavour,
        (rows, positions): (Range<usize>, &[u16]),
        kept: &mut Vec<u16>,
    ) -> bool {
        if let Keys::Dictionary(dictionary) = keys {
            let codes = (&Keys::StaticBp(*dictionary.codes()), dictionary.code_width());
            return self.of_codes(dictionary).keep(codes, flavour, (rows, positions), kept);
        }
        self.keep((keys, block.header().width.into()), flavour, (rows, positions), kept)
    }

    /// As [`Matcher::append_positions`], for keys of a width that are what is compared.
    fn keep(
        &self,
        (keys, width): (&Keys<'_>, usize),
        flavour: Flavour,
        (rows, positions): (Range<usize>, &[u16]),
        kept: &mut Vec<u16>,
    ) -> bool {
        macro_rules! keep {
            ($key:ty) => {{
                let mut gathered: Vec<$key> = Vec::new();
                let is_gathered = keys.gather(flavour, 0, rows, positions, &mut gathered);
                if is_gathered {
                    self.keep_keys(&gathered, positions, kept);
                }
                is_gathered
            }};
        }
        match self {
            Self::Nothing => true,
            Self::Everything => {
                kept.extend_from_slice(positions);
                true
            }
            _ if width <= NARROW_WIDTH_MAX => keep!(u32),
            _ => keep!(u64),
        }
    }

    /// Appends the positions whose keys, one for each, match.
    fn keep_keys<K: Copy + Into<u64>>(&self, keys: &[K], positions: &[u16], kept: &mut Vec<u16>) {
        match self {
            Self::Nothing => {}
            Self::Everything => kept.extend_from_slice(positions),
            Self::Range(KeyRange { low, span, is_inside }) => {
                keep_where(keys, positions, kept, |key| {
                    (key.wrapping_sub(*low) <= *span) == *is_inside
                });
            }
            Self::Table(table) => keep_where(keys, positions, kept, |key| {
                table.get((key / 64) as usize).is_some_and(|word| word >> (key % 64) & 1 == 1)
            }),
            Self::Sorted(set) => {
                keep_where(keys, positions, kept, |key| set.binary_search(&key).is_ok());
            }
        }
    }

    /// Returns what matches the codes of the keys that this matches.
    fn of_codes(&self, dictionary: &dictionary::keys::Reader<'_>) -> Self {
        let set = |wanted: &mut dyn Iterator<Item = u64>| {
            Self::set(wanted.filter_map(|key| dictionary.code_of(key)).collect())
        };
        match self {
            Self::Nothing => Self::Nothing,
            Self::Everything => Self::Everything,
            Self::Range(KeyRange { low, span, is_inside }) => {
                let codes = dictionary.codes_within(*low, low.saturating_add(*span));
                match (codes.len() as u64).checked_sub(1) {
                    Some(span) => {
                        let low = codes.start as u64;
                        Self::Range(KeyRange { low, span, is_inside: *is_inside })
                    }
                    None if *is_inside => Self::Nothing,
                    None => Self::Everything,
                }
            }
            Self::Table(table) => {
                let mut keys = Vec::new();
                positions(table, &mut keys);
                set(&mut keys.into_iter().map(u64::from))
            }
            Self::Sorted(keys) => set(&mut keys.iter().copied()),
        }
    }
}

/// Appends the positions whose keys match. Which do cannot be predicted, so there is no branch.
fn keep_where<K: Copy + Into<u64>>(
    keys: &[K],
    positions: &[u16],
    kept: &mut Vec<u16>,
    matches: impl Fn(u64) -> bool,
) {
    let mut end = kept.len();
    kept.resize(end + positions.len(), 0);
    for (key, position) in keys.iter().zip(positions) {
        kept[end] = *position;
        end += usize::from(matches((*key).into()));
    }
    kept.truncate(end);
}

/// Appends a word per 64 of `count` items, a bit set where `matches` holds.
pub(super) fn append_where(count: usize, bits: &mut Vec<u64>, matches: impl Fn(usize) -> bool) {
    bits.extend((0..count).step_by(64).map(|start| {
        let bit = |at: usize| u64::from(matches(at)) << (at - start);
        (start..count.min(start + 64)).map(bit).fold(0, |word, bit| word | bit)
    }));
}

/// Gives `each` the keys or codes of these rows, in runs of a multiple of 64 but the last.
fn for_each_key_run(
    keys: &Keys<'_>,
    flavour: Flavour,
    rows: &Range<usize>,
    mut each: impl FnMut(&[u64]),
) {
    if rows.start.is_multiple_of(64) {
        // Runs end at multiples of the format's step, which is one of 64.
        return keys.for_each_run(flavour, rows.clone(), each);
    }
    let mut all = Vec::with_capacity(rows.len());
    keys.for_each_run(flavour, rows.clone(), |keys| all.extend_from_slice(keys));
    each(&all);
}

fn ints(
    block: &Block<'_>,
    flavour: Flavour,
    restriction: &Restriction,
    rows: &Range<usize>,
    bits: &mut Vec<u64>,
) -> Result<(), BlockError> {
    if block.keys().is_none() && block.column_type().physical() == Physical::Int128 {
        return wide_ints(block, flavour, restriction, rows, bits);
    }
    let matcher = int_matcher(block, restriction)?;
    match block.keys() {
        Some(keys) => matcher.append_keys(block, keys, flavour, rows, bits),
        None => {
            let bytes_each = block.column_type().plain_bytes();
            with_plain!(block.plain_bytes_of(rows.clone(), bytes_each), bytes_each, values => {
                matcher.append(flavour, values, bits);
            });
        }
    }
    Ok(())
}

/// Translates a restriction on whole numbers into one on the block's keys, or on its plain values.
fn int_matcher(block: &Block<'_>, restriction: &Restriction) -> Result<Matcher, BlockError> {
    let int = |constant: &Constant| match constant {
        Constant::Int(value) => Ok(*value),
        _ => Err(wrong_constant(block, constant)),
    };
    let (base, key_max) = match block.keys() {
        Some(_) => (block.header().base, key_max(block)),
        None => plain_range(block.column_type().plain_bytes()),
    };
    Ok(match restriction {
        Restriction::InSet(values) => {
            let mut keys = Vec::with_capacity(values.len());
            for value in values {
                let key = int(value)?.checked_sub(base).map(u64::try_from);
                keys.extend(key.and_then(Result::ok).filter(|key| *key <= key_max));
            }
            Matcher::set(keys)
        }
        Restriction::Compare { op, value } => Matcher::compare(*op, int(value)?, base, key_max),
        Restriction::Between { low, high } => {
            Matcher::range((int(low)?, int(high)?), true, base, key_max)
        }
        _ => Matcher::Everything,
    })
}

/// Returns what matches the keys of the block, and these; `None` if it has none, or if they stand
/// for floats.
pub(super) fn key_matcher<'b, 'a>(
    block: &'b Block<'a>,
    restriction: &Restriction,
) -> Result<Option<(Matcher, &'b Keys<'a>)>, BlockError> {
    let matcher = match block.column_type().physical() {
        Physical::Float32 | Physical::Float64 => return Ok(None),
        Physical::Int64 | Physical::Int128 if block.keys().is_some() => {
            int_matcher(block, restriction)?
        }
        Physical::Int64 | Physical::Int128 => return Ok(None),
        Physical::Bytes => match block.strings()? {
            Strings::Dictionary(entries) => code_matcher(block, &entries, restriction)?,
            Strings::Plain(_) | Strings::Encoded => return Ok(None),
        },
    };
    Ok(block.keys().map(|keys| (matcher, keys)))
}

/// Returns the greatest key that the block's width allows.
fn key_max(block: &Block<'_>) -> u64 {
    u64::MAX.unbounded_shr(64 - u32::from(block.header().width))
}

/// Plain decimals of more than 18 digits: no key of 64 bits stands for them.
fn wide_ints(
    block: &Block<'_>,
    flavour: Flavour,
    restriction: &Restriction,
    rows: &Range<usize>,
    bits: &mut Vec<u64>,
) -> Result<(), BlockError> {
    let int = |constant: &Constant| match constant {
        Constant::Int(value) => Ok(*value),
        _ => Err(wrong_constant(block, constant)),
    };
    let mut values = Vec::with_capacity(rows.len());
    block.decode_i128(flavour, rows.clone(), &mut values)?;
    match restriction {
        Restriction::InSet(set) => {
            let mut set = set.iter().map(int).collect::<Result<Vec<_>, _>>()?;
            set.sort_unstable();
            append_where(values.len(), bits, |at| set.binary_search(&values[at]).is_ok());
        }
        Restriction::Compare { op, value } => {
            let constant = int(value)?;
            append_where(values.len(), bits, |at| op.holds(values[at].cmp(&constant)));
        }
        Restriction::Between { low, high } => {
            let range = int(low)?..=int(high)?;
            append_where(values.len(), bits, |at| range.contains(&values[at]));
        }
        _ => append_where(values.len(), bits, |_| true),
    }
    Ok(())
}

/// Maps a float to a number ordered as PostgreSQL orders floats.
#[inline]
fn float_key(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    // Adding 0 turns -0 into 0.
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn floats(
    block: &Block<'_>,
    flavour: Flavour,
    restriction: &Restriction,
    rows: &Range<usize>,
    bits: &mut Vec<u64>,
) -> Result<(), BlockError> {
    let key = |constant: &Constant| match constant {
        Constant::Float(value) => Ok(float_key(*value)),
        _ => Err(wrong_constant(block, constant)),
    };
    let matcher = match restriction {
        Restriction::InSet(values) => {
            Matcher::set(values.iter().map(key).collect::<Result<Vec<_>, _>>()?)
        }
        Restriction::Compare { op, value } => {
            Matcher::compare(*op, key(value)?.into(), 0, u64::MAX)
        }
        Restriction::Between { low, high } => {
            Matcher::range((key(low)?.into(), key(high)?.into()), true, 0, u64::MAX)
        }
        _ => Matcher::Everything,
    };
    let mut keys = Vec::with_capacity(RUN_ROWS);
    for start in rows.clone().step_by(RUN_ROWS) {
        keys.clear();
        let end = rows.end.min(start + RUN_ROWS);
        block.decode_f64_with(flavour, start..end, &mut keys, float_key)?;
        matcher.append(flavour, keys.as_slice(), bits);
    }
    Ok(())
}

fn strings(
    block: &Block<'_>,
    flavour: Flavour,
    restriction: &Restriction,
    rows: &Range<usize>,
    bits: &mut Vec<u64>,
) -> Result<(), BlockError> {
    match block.strings()? {
        Strings::Plain(values) => {
            compare_strings(block, restriction, rows, bits, |row| values.get(row))
        }
        Strings::Dictionary(entries) => {
            let matcher = code_matcher(block, &entries, restriction)?;
            if let Some(keys) = block.keys() {
                matcher.append_keys(block, keys, flavour, rows, bits);
            }
            Ok(())
        }
        Strings::Encoded => {
            let mut values = ByteValues::default();
            for start in rows.clone().step_by(VECTOR_ROWS) {
                let end = rows.end.min(start + VECTOR_ROWS);
                values.offsets.truncate(1);
                values.data.clear();
                block.decode_bytes(flavour, start..end, &mut values)?;
                compare_strings(block, restriction, &(0..end - start), bits, |row| {
                    Ok(values.get(row))
                })?;
            }
            Ok(())
        }
    }
}

/// Returns a string that values are compared with. An empty vector points to no memory, and
/// processors take long to find that a comparison reads none of it: an empty string has some here.
fn bytes<'c>(block: &Block<'_>, constant: &'c Constant) -> Result<&'c [u8], BlockError> {
    static BYTE: u8 = 0;
    match constant {
        Constant::Bytes(value) if value.is_empty() => Ok(&std::slice::from_ref(&BYTE)[..0]),
        Constant::Bytes(value) => Ok(value),
        _ => Err(wrong_constant(block, constant)),
    }
}

/// Translates a restriction on strings into one on codes.
fn code_matcher(
    block: &Block<'_>,
    entries: &StringValues<'_>,
    restriction: &Restriction,
) -> Result<Matcher, BlockError> {
    match restriction {
        Restriction::InSet(values) => {
            let mut codes = Vec::with_capacity(values.len());
            for value in values {
                let (code, is_found) = first_not_below(entries, bytes(block, value)?)?;
                codes.extend(is_found.then_some(code as u64));
            }
            Ok(Matcher::set(codes))
        }
        Restriction::Compare { op, value } => {
            let (code, is_found) = first_not_below(entries, bytes(block, value)?)?;
            // Without the string itself, `code` is that of the next greater one.
            let op = match (op, is_found) {
                (CompareOp::Eq, false) => return Ok(Matcher::Nothing),
                (CompareOp::Ne, false) => return Ok(Matcher::Everything),
                (CompareOp::Le, false) => CompareOp::Lt,
                (CompareOp::Gt, false) => CompareOp::Ge,
                (op, _) => *op,
            };
            Ok(Matcher::compare(op, code as i128, 0, key_max(block)))
        }
        Restriction::Between { low, high } => {
            let (low, _) = first_not_below(entries, bytes(block, low)?)?;
            let (end, is_found) = first_not_below(entries, bytes(block, high)?)?;
            let high = end as i128 - i128::from(!is_found);
            Ok(Matcher::range((low as i128, high), true, 0, key_max(block)))
        }
        _ => Ok(Matcher::Everything),
    }
}

/// Returns the place of the first string that is not below `value`, and whether it is `value`.
fn first_not_below(entries: &StringValues<'_>, value: &[u8]) -> Result<(usize, bool), BlockError> {
    let (mut low, mut high) = (0, entries.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if entries.get(middle)? < value { low = middle + 1 } else { high = middle }
    }
    Ok((low, low < entries.len() && entries.get(low)? == value))
}

fn compare_strings<'v>(
    block: &Block<'_>,
    restriction: &Restriction,
    rows: &Range<usize>,
    bits: &mut Vec<u64>,
    value: impl Fn(usize) -> Result<&'v [u8], BlockError>,
) -> Result<(), BlockError> {
    match restriction {
        Restriction::InSet(set) => {
            let set = set.iter().map(|value| bytes(block, value));
            let mut set = set.collect::<Result<Vec<_>, _>>()?;
            set.sort_unstable();
            append_strings_where(value, rows, bits, |value| set.binary_search(&value).is_ok())
        }
        Restriction::Compare { op: CompareOp::Eq, value: constant } => {
            let constant = bytes(block, constant)?;
            append_strings_where(value, rows, bits, |value| value == constant)
        }
        Restriction::Compare { op, value: constant } => {
            let constant = bytes(block, constant)?;
            let holds = |ordering: Ordering| op.holds(ordering);
            append_strings_where(value, rows, bits, |value| holds(value.cmp(constant)))
        }
        Restriction::Between { low, high } => {
            let (low, high) = (bytes(block, low)?, bytes(block, high)?);
            append_strings_where(value, rows, bits, |value| low <= value && value <= high)
        }
        _ => append_strings_where(value, rows, bits, |_| true),
    }
}

pub(super) fn append_strings_where<'v>(
    value: impl Fn(usize) -> Result<&'v [u8], BlockError>,
    rows: &Range<usize>,
    bits: &mut Vec<u64>,
    matches: impl Fn(&[u8]) -> bool,
) -> Result<(), BlockError> {
    for start in rows.clone().step_by(64) {
        let mut word = 0;
        for row in start..rows.end.min(start + 64) {
            word |= u64::from(matches(value(row)?)) << (row - start);
        }
        bits.push(word);
    }
    Ok(())
}

fn wrong_constant(block: &Block<'_>, constant: &Constant) -> BlockError {
    BlockError::WrongConstant { column_type: block.column_type(), constant: constant.to_string() }
}
