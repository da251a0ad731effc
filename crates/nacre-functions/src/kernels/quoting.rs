//! Names and literals as SQL writes them, and `format`, which makes texts of them.

use std::collections::HashSet;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::LazyLock;

use nacre_types::{SqlArray, SqlType, SqlValue, ValueError};

use super::arguments::{text, text_value};
use super::concatenation::{cast_text, type_of};
use super::registry::KernelRow;
use super::{KernelContext, ScalarKernel};

/// Words of the grammar that are no names without quotes, one a line.
const QUOTED_WORDS: &str = include_str!("quoted_words.txt");

/// Largest width that `format` fills: kernels do not ask for memory first.
const WIDTH_MAX: i32 = 65_536;

static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| QUOTED_WORDS.lines().collect());

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "quote_ident(text)",
        ScalarKernel::sized(|values, _| text_value(quoted_name(text(values, 0)?))),
    ),
    (
        "quote_literal(text)",
        ScalarKernel::sized(|values, _| text_value(quoted_literal(text(values, 0)?))),
    ),
    (
        "quote_literal(anyelement)",
        ScalarKernel::partial(|values, context| {
            text_value(quoted_literal(&cast_text(values, 0, context)?))
        }),
    ),
    (
        "quote_nullable(text) quote_nullable(anyelement)",
        ScalarKernel::partial(|values, context| match values.first() {
            Some(SqlValue::Null) | None => text_value("NULL"),
            Some(_) => text_value(quoted_literal(&cast_text(values, 0, context)?)),
        }),
    ),
    (
        "parse_ident(text,bool)",
        ScalarKernel::partial(|values, _| {
            let is_strict = values.get(1) != Some(&SqlValue::Boolean(false));
            let parts = name_parts(text(values, 0)?, is_strict)?;
            let parts = parts.into_iter().map(SqlValue::Text).collect();
            Ok(SqlValue::Array(Box::new(SqlArray::from_elements(SqlType::TEXT, parts))))
        }),
    ),
    ("format(text,any) format(text)", ScalarKernel::partial(format_values)),
];

/// Writes a name, in quotes unless it is one without them.
fn quoted_name(name: &str) -> String {
    let is_plain = name.bytes().enumerate().all(|(place, byte)| {
        byte.is_ascii_lowercase() || byte == b'_' || place > 0 && byte.is_ascii_digit()
    });
    if is_plain && !name.is_empty() && !WORDS.contains(name) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// Takes a name apart at its points; what follows the last part is an error unless the caller
/// does not care.
fn name_parts(text: &str, is_strict: bool) -> Result<Vec<String>, ValueError> {
    let refused =
        || ValueError::invalid_parameter(format!("string is not a valid identifier: \"{text}\""));
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let (part, behind) = if let Some(inside) = rest.strip_prefix('"') {
            let unclosed = || refused().with_detail("String has unclosed double quotes.");
            let (part, behind) = quoted_part(inside).ok_or_else(unclosed)?;
            if part.is_empty() {
                return Err(refused().with_detail("Quoted identifier must not be empty."));
            }
            (part, behind)
        } else {
            let is_first = |one: char| one.is_ascii_alphabetic() || one == '_' || !one.is_ascii();
            let is_later = |one: char| is_first(one) || one.is_ascii_digit() || one == '$';
            let end = rest.find(|one: char| !is_later(one)).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            if !part.starts_with(is_first) {
                let place = if parts.is_empty() { "before" } else { "after" };
                let detail = format!("No valid identifier {place} \".\".");
                let is_at_point = !parts.is_empty() || rest.starts_with('.');
                return Err(if is_at_point { refused().with_detail(detail) } else { refused() });
            }
            (part.to_ascii_lowercase(), behind)
        };
        parts.push(part);
        rest = behind.trim_start();
        match rest.strip_prefix('.') {
            Some(behind) => rest = behind.trim_start(),
            None if rest.is_empty() || !is_strict => return Ok(parts),
            None => return Err(refused()),
        }
    }
}

/// Returns a quoted part of a name without its quotes, and the rest; a doubled quote is one.
fn quoted_part(inside: &str) -> Option<(String, &str)> {
    let (mut part, mut rest) = (String::new(), inside);
    loop {
        let (own, behind) = rest.split_once('"')?;
        part.push_str(own);
        match behind.strip_prefix('"') {
            Some(behind) => {
                part.push('"');
                rest = behind;
            }
            None => return Some((part, behind)),
        }
    }
}

fn quoted_literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 3);
    if text.contains('\\') {
        out.push('E');
    }
    out.push('\'');
    for letter in text.chars() {
        if matches!(letter, '\'' | '\\') {
            out.push(letter);
        }
        out.push(letter);
    }
    out.push('\'');
    out
}

fn refused(message: impl Into<String>) -> ValueError {
    ValueError::invalid_parameter(message)
}

fn with_percent_hint(error: ValueError) -> ValueError {
    error.with_hint("For a single \"%\" use \"%%\".")
}

/// Where a specifier has its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormatWidth {
    /// Written out; 0 is none.
    Fixed(i32),
    /// That of the argument with the number, or of the next one.
    OfArgument(Option<usize>),
}

/// `%2$-10s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FormatSpecifier {
    /// The number of the argument, from 1; `None` is the next one.
    position: Option<usize>,
    is_left: bool,
    width: FormatWidth,
    kind: char,
}

impl FormatSpecifier {
    /// Reads what is behind a `%`.
    fn parse(letters: &mut Peekable<Chars<'_>>) -> Result<Self, ValueError> {
        let mut specifier =
            Self { position: None, is_left: false, width: FormatWidth::Fixed(0), kind: 's' };
        let number = parse_digits(letters)?;
        if let (Some(number), true) = (number, letters.next_if_eq(&'$').is_some()) {
            specifier.position = Some(argument_number(number)?);
        } else if let Some(number) = number {
            specifier.width = FormatWidth::Fixed(number);
            return specifier.ending_with(letters);
        }
        while letters.next_if_eq(&'-').is_some() {
            specifier.is_left = true;
        }
        if letters.next_if_eq(&'*').is_some() {
            let number = parse_digits(letters)?;
            if number.is_some() && letters.next_if_eq(&'$').is_none() {
                return Err(match letters.peek() {
                    Some(_) => refused("width argument position must be ended by \"$\""),
                    None => unterminated(),
                });
            }
            let number = number.map(argument_number).transpose()?;
            specifier.width = FormatWidth::OfArgument(number);
        } else {
            specifier.width = FormatWidth::Fixed(parse_digits(letters)?.unwrap_or(0));
        }
        specifier.ending_with(letters)
    }

    fn ending_with(mut self, letters: &mut Peekable<Chars<'_>>) -> Result<Self, ValueError> {
        self.kind = letters.next().ok_or_else(unterminated)?;
        if matches!(self.kind, 's' | 'I' | 'L') {
            return Ok(self);
        }
        let message = format!("unrecognized format() type specifier \"{}\"", self.kind);
        Err(with_percent_hint(refused(message)))
    }
}

fn unterminated() -> ValueError {
    with_percent_hint(refused("unterminated format() type specifier"))
}

/// Reads a number, if there is one.
fn parse_digits(letters: &mut Peekable<Chars<'_>>) -> Result<Option<i32>, ValueError> {
    let mut value: Option<i32> = None;
    while let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(10)) {
        letters.next();
        let next =
            value.unwrap_or(0).checked_mul(10).and_then(|own| own.checked_add_unsigned(digit));
        value = Some(next.ok_or_else(width_out_of_range)?);
    }
    Ok(value)
}

fn width_out_of_range() -> ValueError {
    ValueError::out_of_range("number is out of range")
}

fn argument_number(number: i32) -> Result<usize, ValueError> {
    let number = usize::try_from(number).ok().filter(|number| *number > 0);
    number.ok_or_else(|| refused("format specifies argument 0, but arguments are numbered from 1"))
}

/// The arguments of `format`, the first of which is the pattern.
struct FormatArguments<'f> {
    values: &'f [SqlValue],
    context: &'f KernelContext<'f>,
    next: usize,
}

impl FormatArguments<'_> {
    /// Returns the text of an argument: that with the number, or the next one.
    fn take(&mut self, position: Option<usize>) -> Result<Option<String>, ValueError> {
        let index = position.unwrap_or(self.next);
        let value = self.values.get(index);
        let value = value.ok_or_else(|| refused("too few arguments for format()"))?;
        self.next = index + 1;
        Ok(value.to_text(type_of(index, self.context)?, self.context.settings))
    }

    fn width(&mut self, position: Option<usize>) -> Result<i32, ValueError> {
        let Some(text) = self.take(position)? else { return Ok(0) };
        let value = SqlValue::parse(&text, SqlType::INTEGER, self.context.settings)?;
        match value {
            SqlValue::Integer(width) => Ok(width),
            _ => Err(ValueError::internal("a width of another type")),
        }
    }
}

/// Computes `format`; null without a pattern.
pub(super) fn format_values(
    values: &[SqlValue],
    context: &KernelContext<'_>,
) -> Result<SqlValue, ValueError> {
    let Some(SqlValue::Text(pattern)) = values.first() else { return Ok(SqlValue::Null) };
    let mut arguments = FormatArguments { values, context, next: 1 };
    let mut out = String::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '%' || letters.next_if_eq(&'%').is_some() {
            out.push(letter);
            continue;
        }
        let specifier = FormatSpecifier::parse(&mut letters)?;
        let width = match specifier.width {
            FormatWidth::Fixed(width) => width,
            FormatWidth::OfArgument(position) => arguments.width(position)?,
        };
        let text = match (specifier.kind, arguments.take(specifier.position)?) {
            ('I', Some(text)) => quoted_name(&text),
            ('I', None) => {
                let message = "null values cannot be formatted as an SQL identifier";
                return Err(ValueError::null_not_allowed(message));
            }
            ('L', Some(text)) => quoted_literal(&text),
            ('L', None) => "NULL".to_owned(),
            (_, text) => text.unwrap_or_default(),
        };
        push_filled(&text, width, specifier.is_left, &mut out)?;
    }
    text_value(out)
}

/// Appends a text with blanks up to a width, behind it if that is below zero.
fn push_filled(text: &str, width: i32, is_left: bool, out: &mut String) -> Result<(), ValueError> {
    let is_left = is_left || width < 0;
    let width = width.checked_abs().ok_or_else(width_out_of_range)?;
    if width > WIDTH_MAX {
        return Err(ValueError::not_supported("format() with a width this large"));
    }
    let blanks = " ".repeat((width as usize).saturating_sub(text.chars().count()));
    let (first, second) = if is_left { (text, &*blanks) } else { (&*blanks, text) };
    out.push_str(first);
    out.push_str(second);
    Ok(())
}

#[cfg(test)]
mod tests {
    use nacre_types::ValueSettings;

    use super::*;

    fn formatted(values: &[&str]) -> Result<String, String> {
        let settings = ValueSettings::default();
        let types = vec![SqlType::TEXT; values.len()];
        let context = KernelContext {
            argument_types: &types,
            result_type: SqlType::TEXT,
            settings: &settings,
        };
        let values: Vec<SqlValue> = values
            .iter()
            .map(|text| match *text {
                "<null>" => SqlValue::Null,
                text => SqlValue::Text(text.to_owned()),
            })
            .collect();
        match format_values(&values, &context) {
            Ok(value) => Ok(value.to_text(SqlType::TEXT, &settings).unwrap_or_default()),
            Err(error) => Err(format!("{} {}", error.sql_state(), error.message())),
        }
    }

    #[test]
    fn specifiers_have_positions_and_widths() {
        for (values, expected) in [
            (&["%s is %I and %L %%", "a", "b c", "d'e"][..], "a is \"b c\" and 'd''e' %"),
            (&["[%10s][%-5s]", "foo", "bar"], "[       foo][bar  ]"),
            (&["[%-10s][%*s]", "foo", "-4", "\u{e4}"], "[foo       ][\u{e4}   ]"),
            (&["%2$s %1$s %s", "a", "b"], "b a b"),
            (&["[%2$*1$L]", "5", "x"], "[  'x']"),
            (&["[%1$-*2$s|%s]", "a", "3", "c"], "[a  |3]"),
            (&["%L%s", "<null>", "<null>"], "NULL"),
            (&["%I%I", "select", "name"], "\"select\"name"),
        ] {
            assert_eq!(formatted(values).as_deref(), Ok(expected), "{values:?}");
        }
    }

    #[test]
    fn patterns_without_a_meaning_are_errors() {
        for (values, expected) in [
            (&["%s"][..], "22023 too few arguments for format()"),
            (&["%"], "22023 unterminated format() type specifier"),
            (&["%5"], "22023 unterminated format() type specifier"),
            (&["%x", "a"], "22023 unrecognized format() type specifier \"x\""),
            (&["%I", "<null>"], "22004 null values cannot be formatted as an SQL identifier"),
            (&["%99999999999s", "a"], "22003 number is out of range"),
            (
                &["%0$s", "a"],
                "22023 format specifies argument 0, but arguments are numbered from 1",
            ),
            (&["%*1s", "1"], "22023 width argument position must be ended by \"$\""),
        ] {
            assert_eq!(formatted(values), Err(expected.to_owned()), "{values:?}");
        }
    }
}
