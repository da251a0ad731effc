//! The column loops: text of many rows to values, one column at a time.
//!
//! A loop knows its type, so the only branches per value are those that almost always go the same
//! way: not marked, not null, commonest form. Anything else goes through [`slow_value`], which is
//! the exact definition; what that refuses ends the loop, and [`crate::row::first_fault`] then
//! finds out what PostgreSQL would report first.

use crate::{
    dialect::Quoting,
    index::{MARKED, POSITION},
    layout::{Field, Layout},
    parse, row,
};
use memchr::memchr2;
use nacre_column::{ColumnBuffer, ColumnType};

/// Bytes that must come before the first row so that digits can be loaded right-aligned.
pub(crate) const FRONT_BYTES: usize = 16;

/// A rectangle of fields.
pub(crate) struct Rows<'a> {
    pub(crate) text: &'a [u8],
    /// `1 + rows * fields` entries of a [`crate::index::FieldIndex`].
    pub(crate) entries: &'a [u32],
    pub(crate) rows: usize,
    pub(crate) layout: &'a Layout,
}

/// A value that is not in the form its column expected.
#[derive(Debug)]
pub(crate) struct Refused;

impl Rows<'_> {
    /// Appends all rows to `columns`, one buffer per column of the table.
    ///
    /// # Errors
    /// If any row has a fault; `columns` then hold a part of the rows.
    pub(crate) fn append_to(
        &self,
        columns: &mut [ColumnBuffer],
        scratch: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        for (index, field) in self.layout.fields.iter().enumerate() {
            self.append_field(index, field, &mut columns[field.column], scratch)?;
        }
        for &column in &self.layout.absent {
            if self.rows > 0 && !self.layout.target.columns[column].is_nullable {
                return Err(Refused);
            }
            for _ in 0..self.rows {
                columns[column].push_null();
            }
        }
        Ok(())
    }

    fn append_field(
        &self,
        index: usize,
        field: &Field,
        out: &mut ColumnBuffer,
        scratch: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        match field.column_type {
            ColumnType::Boolean => self.each(index, field, out, scratch, fast_boolean),
            ColumnType::SmallInt => {
                let fast = fast_integer(i64::from(i16::MIN), i64::from(i16::MAX));
                self.each(index, field, out, scratch, fast)
            }
            ColumnType::Integer => {
                let fast = fast_integer(i64::from(i32::MIN), i64::from(i32::MAX));
                self.each(index, field, out, scratch, fast)
            }
            ColumnType::BigInt => {
                self.each(index, field, out, scratch, fast_integer(i64::MIN, i64::MAX))
            }
            ColumnType::Decimal { precision, scale } => {
                self.each(index, field, out, scratch, fast_decimal(precision, scale))
            }
            ColumnType::Real => self.each(index, field, out, scratch, fast_real),
            ColumnType::Double => self.each(index, field, out, scratch, fast_double),
            ColumnType::Date => self.each(index, field, out, scratch, fast_date),
            // A text without a zone is of UTC; others are read on the slow way.
            ColumnType::Timestamp | ColumnType::TimestampTz => {
                self.each(index, field, out, scratch, fast_timestamp)
            }
            ColumnType::Varchar { max_chars } => {
                let bytes_max = max_chars.map_or(usize::MAX, |max| max as usize);
                self.each(index, field, out, scratch, fast_varchar(bytes_max))
            }
            ColumnType::Char { chars } => {
                self.each(index, field, out, scratch, fast_char(chars as usize))
            }
            ColumnType::Bytea => self.each(index, field, out, scratch, |_, _, _, _| false),
        }
    }

    /// Appends field `index` of every row; `fast` returns false for what it does not know.
    #[inline(always)]
    fn each(
        &self,
        index: usize,
        field: &Field,
        out: &mut ColumnBuffer,
        scratch: &mut Vec<u8>,
        fast: impl Fn(&[u8], usize, usize, &mut ColumnBuffer) -> bool,
    ) -> Result<(), Refused> {
        let Self { text, entries, rows, layout } = *self;
        let fields = layout.fields.len();
        let null = &layout.null[..];
        // Of a line end of two bytes, the first is not part of the last field.
        let is_last = index + 1 == fields;
        let cut = if is_last { layout.dialect.line_end.bytes().len() - 1 } else { 0 };
        for row in 0..rows {
            let at = row * fields + index;
            let (Some(&before), Some(&entry)) = (entries.get(at), entries.get(at + 1)) else {
                return Err(Refused);
            };
            let start = (before & POSITION) as usize + 1;
            let end = (entry & POSITION) as usize - cut;
            let is_plain = entry & MARKED == 0;
            let may_be_null = end.wrapping_sub(start) == null.len();
            let is_fast = if is_plain {
                !(may_be_null && text.get(start..end) == Some(null)) && fast(text, start, end, out)
            } else {
                self.is_simply_quoted(field, start, end) && fast(text, start + 1, end - 1, out)
            };
            if !is_fast {
                slow_value(layout, field, text.get(start..end), !is_plain, out, scratch)?;
            }
        }
        Ok(())
    }

    /// Tells whether a marked field is one pair of quotes around its value.
    ///
    /// For numbers and dates the ends are enough: no fast form takes another quote or escape.
    #[inline(always)]
    fn is_simply_quoted(&self, field: &Field, start: usize, end: usize) -> bool {
        let (quote, escape) = match self.layout.dialect.quoting {
            Quoting::Doubled { quote } => (quote, quote),
            Quoting::Escaped { quote, escape } => (quote, escape),
            Quoting::Backslash => return false,
        };
        let Some([first, inner @ .., last]) = self.text.get(start..end) else {
            return false;
        };
        // The escape may be a digit.
        let is_text = field.column_type.is_text() || escape != quote;
        (*first, *last) == (quote, quote)
            && !field.forces_null
            && !(is_text && memchr2(quote, escape, inner).is_some())
    }
}

/// Appends one value of any form.
#[inline(never)]
fn slow_value(
    layout: &Layout,
    field: &Field,
    raw: Option<&[u8]>,
    is_marked: bool,
    out: &mut ColumnBuffer,
    scratch: &mut Vec<u8>,
) -> Result<(), Refused> {
    // A row that is only "\n" in a file of "\r\n" has no room for its carriage return.
    let raw = raw.ok_or(Refused)?;
    match row::field_value(layout, field, raw, is_marked, scratch) {
        Ok(None) if field.is_nullable => {
            out.push_null();
            Ok(())
        }
        Ok(Some(value)) => parse::push_text(out, value).map_err(|_| Refused),
        Ok(None) | Err(_) => Err(Refused),
    }
}

fn fast_boolean(text: &[u8], start: usize, end: usize, out: &mut ColumnBuffer) -> bool {
    let value = match text.get(start..end) {
        Some(b"t" | b"1" | b"true") => 1,
        Some(b"f" | b"0" | b"false") => 0,
        _ => return false,
    };
    out.push_int(value);
    true
}

#[inline(always)]
fn fast_integer(min: i64, max: i64) -> impl Fn(&[u8], usize, usize, &mut ColumnBuffer) -> bool {
    move |text, start, end, out| {
        let is_negative = text.get(start) == Some(&b'-');
        let Some(digits) = parse::digits_fast(text, start + usize::from(is_negative), end) else {
            return false;
        };
        let value = if is_negative { -(digits as i64) } else { digits as i64 };
        if value < min || value > max {
            return false;
        }
        out.push_int(value);
        true
    }
}

/// Takes digits with exactly `scale` of them after the point, or none and no point.
#[inline(always)]
fn fast_decimal(
    precision: u8,
    scale: u8,
) -> impl Fn(&[u8], usize, usize, &mut ColumnBuffer) -> bool {
    // Sixteen characters hold less than 10^16, and ten to the scale multiplies whole numbers by
    // at most 10^8 (see `decimal_fast`), so everything here stays below 2^127.
    let has_fast_form = (1..=8).contains(&scale);
    let limit = 10i128.pow(u32::from(precision));
    let unit = if scale <= 8 { 10i128.pow(u32::from(scale)) } else { 0 };
    move |text, start, end, out| {
        let is_negative = text.get(start) == Some(&b'-');
        let from = start + usize::from(is_negative);
        let fast = if has_fast_form {
            parse::decimal_fast(text, from, end, usize::from(scale)).map(i128::from)
        } else {
            None
        };
        let whole = || parse::digits_fast(text, from, end).map(|whole| i128::from(whole) * unit);
        let Some(magnitude) = fast.or_else(|| if unit > 0 { whole() } else { None }) else {
            return false;
        };
        if magnitude >= limit || magnitude > i128::from(i64::MAX) {
            return false;
        }
        let magnitude = magnitude as i64;
        out.push_int(if is_negative { -magnitude } else { magnitude });
        true
    }
}

fn fast_real(text: &[u8], start: usize, end: usize, out: &mut ColumnBuffer) -> bool {
    let Some(text) = text.get(start..end) else {
        return false;
    };
    match fast_float2::parse::<f32, _>(text) {
        Ok(value) if value.is_normal() || (value == 0.0 && is_zero(text)) => {
            out.push_float32(value);
            true
        }
        _ => false,
    }
}

fn fast_double(text: &[u8], start: usize, end: usize, out: &mut ColumnBuffer) -> bool {
    let Some(text) = text.get(start..end) else {
        return false;
    };
    match fast_float2::parse::<f64, _>(text) {
        Ok(value) if value.is_normal() || (value == 0.0 && is_zero(text)) => {
            out.push_float64(value);
            true
        }
        _ => false,
    }
}

/// Tells a zero from a number that became zero because it is too small.
fn is_zero(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b'0' | b'.' | b'-'))
}

#[inline(always)]
fn fast_date(text: &[u8], start: usize, end: usize, out: &mut ColumnBuffer) -> bool {
    let Some(days) = text.get(start..end).and_then(parse::date_fast) else {
        return false;
    };
    out.push_int(i64::from(days));
    true
}

#[inline(always)]
fn fast_timestamp(text: &[u8], start: usize, end: usize, out: &mut ColumnBuffer) -> bool {
    let Some(micros) = text.get(start..end).and_then(parse::timestamp_fast) else {
        return false;
    };
    out.push_int(micros);
    true
}

#[inline(always)]
fn fast_varchar(bytes_max: usize) -> impl Fn(&[u8], usize, usize, &mut ColumnBuffer) -> bool {
    move |text, start, end, out| match text.get(start..end) {
        Some(value) if value.len() <= bytes_max => {
            out.push_bytes(value);
            true
        }
        _ => false,
    }
}

#[inline(always)]
fn fast_char(bytes_max: usize) -> impl Fn(&[u8], usize, usize, &mut ColumnBuffer) -> bool {
    move |text, start, end, out| match text.get(start..end) {
        Some(value) if value.len() <= bytes_max && value.last() != Some(&b' ') => {
            out.push_bytes(value);
            true
        }
        _ => false,
    }
}
