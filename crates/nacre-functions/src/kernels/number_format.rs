//! `to_char` of numbers.
//!
//! Whole numbers of 32 bits are floats where a pattern has `EEEE`. Not here are exact numbers of
//! more than 38 digits, NaN and infinities.

use nacre_types::{SqlValue, ValueError};

use super::ScalarKernel;
use super::arguments::{double, numeric, text, text_value, whole};
use super::number_digits::{DOUBLE_DIGITS, DecimalDigits, FloatDigits, NumberDigits, REAL_DIGITS};
use super::registry::KernelRow;
use super::time_format::ordinal_letters;

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "to_char(int4,text)",
        ScalarKernel::partial(|values, _| {
            let (value, pattern) = (whole(values, 0)?, text(values, 1)?);
            if is_scientific(pattern) {
                let value = value as f64;
                return format_number(&FloatDigits { value, digits_max: DOUBLE_DIGITS }, pattern);
            }
            format_number(&DecimalDigits { value: value.into(), scale: 0 }, pattern)
        }),
    ),
    (
        "to_char(int8,text)",
        ScalarKernel::partial(|values, _| {
            let (value, pattern) = (whole(values, 0)?, text(values, 1)?);
            check_product(value, pattern)?;
            format_number(&DecimalDigits { value: value.into(), scale: 0 }, pattern)
        }),
    ),
    (
        "to_char(float4,text)",
        ScalarKernel::partial(|values, _| {
            let value = double(values, 0)?;
            format_number(&FloatDigits { value, digits_max: REAL_DIGITS }, text(values, 1)?)
        }),
    ),
    (
        "to_char(float8,text)",
        ScalarKernel::partial(|values, _| {
            let value = double(values, 0)?;
            format_number(&FloatDigits { value, digits_max: DOUBLE_DIGITS }, text(values, 1)?)
        }),
    ),
    (
        "to_char(numeric,text)",
        ScalarKernel::partial(|values, _| {
            let scaled = numeric(values, 0)?.to_scaled();
            let (value, scale) = scaled.ok_or_else(|| {
                ValueError::not_supported("to_char of numbers of this many digits")
            })?;
            let digits = DecimalDigits { value, scale: scale.into() };
            format_number(&digits, text(values, 1)?)
        }),
    ),
];

/// Refuses a `bigint` that `V` makes too large.
///
/// # Errors
/// 22003.
fn check_product(value: i64, pattern: &str) -> Result<(), ValueError> {
    let Ok(pattern) = parse_pattern(pattern) else { return Ok(()) };
    let factor = u32::try_from(pattern.multiplied).ok().and_then(|power| 10_i64.checked_pow(power));
    match factor.and_then(|factor| value.checked_mul(factor)) {
        Some(_) => Ok(()),
        None => Err(ValueError::range_of("bigint")),
    }
}

fn is_scientific(pattern: &str) -> bool {
    parse_pattern(pattern).is_ok_and(|pattern| pattern.is_scientific)
}

fn format_number(digits: &impl NumberDigits, pattern: &str) -> Result<SqlValue, ValueError> {
    text_value(to_char(digits, pattern)?)
}

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberPart {
    Nine,
    Zero,
    Point,
    Comma,
    Sign,
    Minus,
    Plus,
    EitherSign,
    Currency,
    Ordinal { is_upper: bool },
    Text(char),
}

/// Where the sign `S` stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignAnchor {
    Before,
    Behind,
}

/// A pattern, taken apart.
#[derive(Default)]
pub(super) struct NumberPattern {
    pub(super) parts: Vec<NumberPart>,
    /// Digits before and behind the point, and those that a multiplier adds.
    pub(super) before: usize,
    pub(super) behind: usize,
    pub(super) multiplied: usize,
    pub(super) is_multiplied: bool,
    pub(super) has_point: bool,
    /// Place of the first `0`, from 1, and of the last one.
    zero_start: Option<usize>,
    zero_end: usize,
    pub(super) is_filled: bool,
    pub(super) has_minus: bool,
    pub(super) has_plus: bool,
    has_blanks: bool,
    pub(super) anchor: Option<SignAnchor>,
    digits_at_sign: usize,
    pub(super) in_brackets: bool,
    /// Roman numerals, in capitals or not.
    pub(super) roman: Option<bool>,
    /// `EEEE`, which nothing follows.
    pub(super) is_scientific: bool,
}

/// Writes a number as a pattern says.
///
/// # Errors
/// 42601 for patterns that mean nothing.
fn to_char<N: NumberDigits>(number: &N, pattern: &str) -> Result<String, ValueError> {
    let mut pattern = parse_pattern(pattern)?;
    if let Some(is_upper) = pattern.roman {
        return Ok(roman(&number.whole()?, is_upper, pattern.is_filled));
    }
    if pattern.is_scientific {
        let written = number.scientific(pattern.before, pattern.behind);
        return Ok(if written.starts_with(['-', ' ']) { written } else { format!(" {written}") });
    }
    let mut before = pattern.before;
    let mut fixed = |number: &N| {
        pattern.behind = number.digits_behind(pattern.behind);
        number.fixed(pattern.behind)
    };
    let text = if pattern.is_multiplied {
        before += pattern.multiplied;
        fixed(&number.multiplied(pattern.multiplied))
    } else {
        fixed(number)
    };
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest.to_owned()),
        None => (false, text),
    };
    let integers = digits.find('.').unwrap_or(digits.len());
    let (digits, spaces) = if integers > before {
        let hashes = "#".repeat(before);
        let behind = "#".repeat(pattern.behind);
        (if pattern.has_point { format!("{hashes}.{behind}") } else { hashes }, 0)
    } else {
        (digits, before - integers)
    };
    let is_ordinal = pattern.parts.iter().any(|part| matches!(part, NumberPart::Ordinal { .. }));
    if is_ordinal && !is_negative && !pattern.has_point && digits.ends_with(char::is_alphabetic) {
        return Err(ValueError::invalid_text(format!("\"{digits}\" is not a number")));
    }
    Ok(NumberWriter::new(pattern, digits, is_negative, before, spaces).write())
}

impl NumberPattern {
    /// Whether it has what `EEEE` has no place for.
    fn has_more_than_digits(&self) -> bool {
        self.is_filled
            || self.has_blanks
            || self.anchor.is_some()
            || self.in_brackets
            || self.has_minus
            || self.has_plus
            || self.roman.is_some()
            || self.is_multiplied
    }
}

fn syntax(message: &str) -> ValueError {
    ValueError::syntax_error(message)
}

pub(super) fn parse_pattern(text: &str) -> Result<NumberPattern, ValueError> {
    let mut pattern = NumberPattern::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            let mut chars = rest[1..].chars();
            while let Some(one) = chars.next() {
                match one {
                    '"' => break,
                    '\\' => pattern.parts.extend(chars.next().map(NumberPart::Text)),
                    one => pattern.parts.push(NumberPart::Text(one)),
                }
            }
            rest = chars.as_str();
            continue;
        }
        if first == '\\' && rest[1..].starts_with('"') {
            pattern.parts.push(NumberPart::Text('"'));
            rest = &rest[2..];
            continue;
        }
        let was_scientific = pattern.is_scientific;
        let length = take_word(rest, &mut pattern)?;
        if was_scientific && length > 0 {
            return Err(syntax("\"EEEE\" must be the last pattern used"));
        }
        if length == 0 {
            pattern.parts.push(NumberPart::Text(first));
        }
        rest = &rest[length.max(first.len_utf8())..];
    }
    Ok(pattern)
}

/// Takes a word of two letters and more, in capitals or not; returns its length, 0 for others.
fn take_modifier(rest: &str, pattern: &mut NumberPattern) -> Result<usize, ValueError> {
    const WORDS: [&str; 8] = ["EEEE", "FM", "MI", "PL", "SG", "PR", "RN", "TH"];
    let starts = |word: &&&str| {
        rest.starts_with(**word) || rest.starts_with(word.to_ascii_lowercase().as_str())
    };
    let Some(word) = WORDS.iter().find(starts).copied() else { return Ok(0) };
    check_signs(word, pattern)?;
    match word {
        "EEEE" if pattern.is_scientific => return Err(syntax("cannot use \"EEEE\" twice")),
        "EEEE" if pattern.has_more_than_digits() => {
            let detail =
                "\"EEEE\" may only be used together with digit and decimal point patterns.";
            let error = syntax("\"EEEE\" is incompatible with other formats");
            return Err(error.with_detail(detail));
        }
        "EEEE" => pattern.is_scientific = true,
        "FM" => pattern.is_filled = true,
        "MI" => {
            pattern.has_minus = true;
            pattern.parts.push(NumberPart::Minus);
        }
        "PL" => {
            pattern.has_plus = true;
            pattern.parts.push(NumberPart::Plus);
        }
        "SG" => {
            (pattern.has_minus, pattern.has_plus) = (true, true);
            pattern.parts.push(NumberPart::EitherSign);
        }
        "PR" => pattern.in_brackets = true,
        "RN" => pattern.roman = Some(rest.starts_with('R')),
        _ => pattern.parts.push(NumberPart::Ordinal { is_upper: rest.starts_with('T') }),
    }
    Ok(word.len())
}

/// Refuses a sign beside others that say where it stands.
fn check_signs(word: &str, pattern: &NumberPattern) -> Result<(), ValueError> {
    let has_anchor = pattern.anchor.is_some();
    let has_word = pattern.has_plus || pattern.has_minus;
    let together = |others: &str| Err(syntax(&format!("cannot use {others} together")));
    match word {
        "MI" | "PL" | "SG" if has_anchor => together(&format!("\"S\" and \"{word}\"")),
        "PR" if has_anchor || has_word => together("\"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\""),
        "S" if has_word || pattern.in_brackets => together("\"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\""),
        _ => Ok(()),
    }
}

/// Takes a word of the pattern; returns its length, 0 for text.
fn take_word(rest: &str, pattern: &mut NumberPattern) -> Result<usize, ValueError> {
    let length = take_modifier(rest, pattern)?;
    if length > 0 {
        return Ok(length);
    }
    let part = match rest.as_bytes()[0] {
        b'9' => {
            digit(pattern)?;
            NumberPart::Nine
        }
        b'0' => {
            if !pattern.has_point && pattern.zero_start.is_none() {
                pattern.zero_start = Some(pattern.before + 1);
            }
            digit(pattern)?;
            pattern.zero_end = pattern.before + pattern.behind;
            NumberPart::Zero
        }
        b'.' | b'D' | b'd' => {
            if pattern.has_point {
                return Err(syntax("multiple decimal points"));
            }
            if pattern.is_multiplied {
                return Err(syntax("cannot use \"V\" and decimal point together"));
            }
            pattern.has_point = true;
            NumberPart::Point
        }
        b',' | b'G' | b'g' => NumberPart::Comma,
        b'L' | b'l' => NumberPart::Currency,
        // What is zero is blank; PostgreSQL only reads it, too.
        b'B' | b'b' => {
            pattern.has_blanks = true;
            return Ok(1);
        }
        b'S' | b's' => {
            if pattern.anchor.is_some() {
                return Err(syntax("cannot use \"S\" twice"));
            }
            check_signs("S", pattern)?;
            let is_before = !pattern.has_point;
            pattern.anchor = Some(if is_before { SignAnchor::Before } else { SignAnchor::Behind });
            pattern.digits_at_sign = pattern.before;
            NumberPart::Sign
        }
        b'V' | b'v' => {
            if pattern.has_point {
                return Err(syntax("cannot use \"V\" and decimal point together"));
            }
            pattern.is_multiplied = true;
            return Ok(1);
        }
        _ => return Ok(0),
    };
    pattern.parts.push(part);
    Ok(1)
}

fn digit(pattern: &mut NumberPattern) -> Result<(), ValueError> {
    if pattern.in_brackets {
        return Err(syntax("\"9\" must be ahead of \"PR\""));
    }
    if pattern.is_multiplied {
        pattern.multiplied += 1;
    } else if pattern.has_point {
        pattern.behind += 1;
    } else {
        pattern.before += 1;
    }
    Ok(())
}

/// Writes digits into the places of a pattern.
struct NumberWriter {
    pattern: NumberPattern,
    digits: Vec<u8>,
    /// The next digit.
    at: usize,
    is_negative: bool,
    /// Places before the first digit, and the place that is written.
    spaces: usize,
    place: usize,
    count: usize,
    /// The last digit that counts, where zeros at the end do not.
    last: Option<usize>,
    is_sign_written: bool,
    has_begun: bool,
    out: String,
}

impl NumberWriter {
    fn new(
        mut pattern: NumberPattern,
        digits: String,
        is_negative: bool,
        before: usize,
        spaces: usize,
    ) -> Self {
        let digits = digits.into_bytes();
        let is_sign_written = match (pattern.has_plus, pattern.has_minus) {
            (true, false) => false,
            (_, true) => true,
            (false, false) => !is_negative && pattern.is_filled && pattern.anchor.is_none(),
        };
        if pattern.in_brackets && pattern.is_filled && !is_negative {
            pattern.in_brackets = false;
        }
        if pattern.anchor == Some(SignAnchor::Before) && pattern.digits_at_sign == pattern.before {
            pattern.anchor = Some(SignAnchor::Behind);
        }
        let mut last = None;
        if pattern.is_filled
            && pattern.has_point
            && let Some(point) = digits.iter().position(|byte| *byte == b'.')
        {
            let mut relevant = digits.iter().rposition(|byte| *byte != b'0').unwrap_or(point);
            if pattern.zero_end > spaces {
                relevant = relevant.max((pattern.zero_end - spaces).min(digits.len() - 1));
            }
            last = Some(relevant);
        }
        let count = pattern.behind + before - usize::from(pattern.behind + before > 0)
            + usize::from(!is_sign_written && spaces == 0);
        Self {
            pattern,
            digits,
            at: 0,
            is_negative,
            spaces,
            place: 0,
            count,
            last,
            is_sign_written,
            has_begun: false,
            out: String::new(),
        }
    }

    fn write(mut self) -> String {
        let is_filled = self.pattern.is_filled;
        let sign = if self.is_negative { '-' } else { '+' };
        for part in std::mem::take(&mut self.pattern.parts) {
            match part {
                NumberPart::Nine | NumberPart::Zero | NumberPart::Point => self.digit(part),
                NumberPart::Comma if self.has_begun => self.out.push(','),
                NumberPart::Comma | NumberPart::Currency if is_filled => {}
                NumberPart::Comma | NumberPart::Currency => self.out.push(' '),
                NumberPart::Minus if self.is_negative => self.out.push('-'),
                NumberPart::Plus if !self.is_negative => self.out.push('+'),
                NumberPart::Minus | NumberPart::Plus if is_filled => {}
                NumberPart::Minus | NumberPart::Plus => self.out.push(' '),
                NumberPart::EitherSign => self.out.push(sign),
                NumberPart::Ordinal { is_upper } => self.ordinal(is_upper),
                NumberPart::Text(one) => self.out.push(one),
                NumberPart::Sign => {}
            }
        }
        self.out
    }

    fn ordinal(&mut self, is_upper: bool) {
        if self.is_negative || self.pattern.has_point || self.digits.starts_with(b"#") {
            return;
        }
        let digits = String::from_utf8_lossy(&self.digits).into_owned();
        let letters = ordinal_letters(&digits);
        if is_upper {
            self.out.push_str(letters);
        } else {
            self.out.push_str(&letters.to_lowercase());
        }
    }

    fn next(&self) -> Option<u8> {
        self.digits.get(self.at).copied()
    }

    /// Whether the point alone is what counts of a number that zeros end.
    fn ends_with_point(&self) -> bool {
        self.last.is_some_and(|last| self.digits.get(last) == Some(&b'.'))
    }

    /// Whether the zero before the point is left out: `.5`.
    fn hides_zero(&self) -> bool {
        self.pattern.zero_start.is_none()
            && self.at == 0
            && self.next() == Some(b'0')
            && self.pattern.behind > 0
    }

    fn digit(&mut self, part: NumberPart) {
        let zero_start = self.pattern.zero_start.map(|start| start - 1);
        let is_filled = self.pattern.is_filled;
        let is_number = self.place >= self.spaces || zero_start == Some(self.place);
        if !self.is_sign_written && is_number && (!self.hides_zero() || self.ends_with_point()) {
            self.sign_before();
        }
        if self.place < self.spaces && zero_start.is_none_or(|start| start > self.place) {
            if !is_filled {
                self.out.push(' ');
            }
        } else if self.place < self.spaces {
            self.out.push('0');
            self.has_begun = true;
        } else if self.next() == Some(b'.') {
            if !self.ends_with_point() || is_filled {
                self.out.push('.');
            }
            self.at += 1;
        } else {
            self.number(part);
        }
        let end = self.count + usize::from(self.spaces > 0) + usize::from(self.pattern.has_point);
        let is_last = self.last.is_some_and(|last| last == self.at);
        let end = if is_last { self.place } else { end };
        if self.place + 1 == end {
            self.sign_behind();
        }
        self.place += 1;
    }

    fn number(&mut self, part: NumberPart) {
        let is_beyond = self.last.is_some_and(|last| self.at > last);
        if is_beyond && part != NumberPart::Zero {
            // Zeros at the end are left out.
        } else if self.hides_zero() {
            if !self.pattern.is_filled {
                self.out.push(' ');
            } else if self.ends_with_point() {
                self.out.push('0');
            }
        } else if let Some(digit) = self.next() {
            self.out.push(char::from(digit));
            self.has_begun = true;
        }
        self.at += usize::from(self.at < self.digits.len());
    }

    fn sign_before(&mut self) {
        let is_filled = self.pattern.is_filled;
        if let Some(anchor) = self.pattern.anchor {
            if anchor == SignAnchor::Before {
                self.out.push(if self.is_negative { '-' } else { '+' });
                self.is_sign_written = true;
            }
        } else if self.pattern.in_brackets {
            self.out.push(if self.is_negative { '<' } else { ' ' });
            self.is_sign_written = true;
        } else if self.is_negative {
            self.out.push('-');
            self.is_sign_written = true;
        } else {
            if !is_filled {
                self.out.push(' ');
            }
            self.is_sign_written = true;
        }
    }

    fn sign_behind(&mut self) {
        if self.is_sign_written && self.pattern.in_brackets {
            self.out.push(if self.is_negative { '>' } else { ' ' });
        } else if self.pattern.anchor == Some(SignAnchor::Behind) {
            self.out.push(if self.is_negative { '-' } else { '+' });
        }
    }
}

fn roman(digits: &str, is_upper: bool, is_filled: bool) -> String {
    const NUMERALS: [(i32, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let Some(mut value) = digits.parse::<i32>().ok().filter(|value| (1..4000).contains(value))
    else {
        return "#".repeat(15);
    };
    let mut out = String::new();
    for (worth, numeral) in NUMERALS {
        while value >= worth {
            out.push_str(numeral);
            value -= worth;
        }
    }
    if !is_upper {
        out = out.to_lowercase();
    }
    if is_filled { out } else { format!("{out:>15}") }
}
