//! Matches of regular expressions: how many, where, and what is between them.

use nacre_types::{SqlArray, SqlType, SqlValue, ValueError};

use super::super::arguments::{count_value, int4, text};
use super::super::registry::KernelRow;
use super::super::{KernelFunction, ScalarKernel};
use super::flags::{CallFlags, PatternFlags};
use super::match_tree::TextSpan;
use super::program::RunBudget;
use super::{CompiledPattern, kept};

/// Function, first argument with a number, and argument with flags.
pub(in super::super) const KERNELS: &[KernelRow] = &[
    ("regexp_like(text,text)", plain(|values, _| is_like(values))),
    ("regexp_like(text,text,text)", flagged::<2>(|values, _| is_like(values))),
    ("regexp_count(text,text) regexp_count(text,text,int4)", plain(|values, _| count(values))),
    ("regexp_count(text,text,int4,text)", flagged::<3>(|values, _| count(values))),
    (
        "regexp_instr(text,text) regexp_instr(text,text,int4) regexp_instr(text,text,int4,int4) \
         regexp_instr(text,text,int4,int4,int4)",
        plain(|values, _| position(values)),
    ),
    (
        "regexp_instr(text,text,int4,int4,int4,text) \
         regexp_instr(text,text,int4,int4,int4,text,int4)",
        flagged::<5>(|values, _| position(values)),
    ),
    (
        "regexp_substr(text,text) regexp_substr(text,text,int4) \
         regexp_substr(text,text,int4,int4)",
        plain(|values, _| part(values)),
    ),
    (
        "regexp_substr(text,text,int4,int4,text) regexp_substr(text,text,int4,int4,text,int4)",
        flagged::<4>(|values, _| part(values)),
    ),
    ("regexp_match(text,text)", plain(|values, _| groups(values))),
    ("regexp_match(text,text,text)", flagged::<2>(|values, _| groups(values))),
    ("regexp_split_to_array(text,text)", plain(|values, _| split(values))),
    ("regexp_split_to_array(text,text,text)", flagged::<2>(|values, _| split(values))),
    ("substring(text,text)", plain(|values, _| first_group(text(values, 0)?, text(values, 1)?))),
];

/// Makes a kernel without flags.
const fn plain(compute: KernelFunction) -> ScalarKernel {
    ScalarKernel::partial(compute).accepting(|constants| accepts_parts(constants, 1, None))
}

/// Makes a kernel whose flags are an argument.
const fn flagged<const FLAGS: usize>(compute: KernelFunction) -> ScalarKernel {
    ScalarKernel::partial(compute).accepting(|constants| accepts_parts(constants, 1, Some(FLAGS)))
}

/// Whether a pattern, if it is a constant, is one whose ends and groups are found here. That of
/// flags which are no constants shows when a call is computed.
pub(super) fn accepts_parts(
    constants: &[Option<&SqlValue>],
    pattern: usize,
    flags: Option<usize>,
) -> bool {
    let constant = |index: usize| constants.get(index).copied().flatten();
    let flags = match flags.map(constant) {
        None | Some(Some(SqlValue::Null)) => PatternFlags::default(),
        Some(Some(SqlValue::Text(flags))) => match CallFlags::parse(flags) {
            Ok(flags) => flags.pattern,
            Err(_) => return false,
        },
        Some(_) => return true,
    };
    match constant(pattern) {
        Some(SqlValue::Text(pattern)) => kept(pattern, flags).is_ok_and(|one| one.has_parts()),
        _ => true,
    }
}

fn invalid(name: &str, value: i32) -> ValueError {
    ValueError::invalid_parameter(format!("invalid value for parameter \"{name}\": {value}"))
}

/// Returns where the character with that number begins, from 1; `None` behind the end.
///
/// # Errors
/// 22023 for numbers below 1.
pub(super) fn place_of(text: &str, start: i32) -> Result<Option<usize>, ValueError> {
    let skipped = usize::try_from(start).ok().and_then(|start| start.checked_sub(1));
    let skipped = skipped.ok_or_else(|| invalid("start", start))?;
    if skipped == 0 {
        return Ok(Some(0));
    }
    let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    Ok(places.nth(skipped))
}

/// Returns where the search behind a match begins: one character behind an empty one.
pub(super) fn behind_match(text: &str, (start, end): TextSpan) -> Option<usize> {
    if start < end {
        return Some(end);
    }
    text[end..].chars().next().map(|letter| end + letter.len_utf8())
}

/// The matches of a call, one after the other.
struct TextMatches<'m> {
    pattern: &'m CompiledPattern,
    text: &'m str,
    search: Option<usize>,
    budget: RunBudget,
}

impl<'m> TextMatches<'m> {
    fn new(pattern: &'m CompiledPattern, text: &'m str, from: Option<usize>) -> Self {
        Self { pattern, text, search: from, budget: RunBudget::new() }
    }

    /// Returns the next match with its groups.
    fn next(&mut self) -> Result<Option<MatchSpans>, ValueError> {
        let Some(from) = self.search else { return Ok(None) };
        let Some(spans) = self.pattern.find(self.text, from, &self.budget)? else {
            self.search = None;
            return Ok(None);
        };
        let whole = spans.first().copied().flatten();
        let whole = whole.ok_or_else(|| ValueError::internal("a match without a span"))?;
        self.search = behind_match(self.text, whole);
        Ok(Some(MatchSpans { whole, spans }))
    }

    /// Returns the match of that number, from 1.
    fn nth(&mut self, number: i32) -> Result<Option<MatchSpans>, ValueError> {
        for _ in 1..number {
            if self.next()?.is_none() {
                return Ok(None);
            }
        }
        self.next()
    }
}

/// A match.
struct MatchSpans {
    whole: TextSpan,
    /// Its own and those of groups.
    spans: Vec<Option<TextSpan>>,
}

impl MatchSpans {
    /// Returns the span of a group, 0 being the whole match; the only group of a pattern without
    /// any is that, too.
    fn group(&self, number: i32) -> Option<TextSpan> {
        if number == 1 && self.spans.len() == 1 {
            return Some(self.whole);
        }
        usize::try_from(number).ok().and_then(|number| self.spans.get(number)).copied().flatten()
    }

    /// Returns an array of the groups, or of the whole match if there are none.
    fn groups(&self, text: &str) -> SqlValue {
        let spans = if self.spans.len() > 1 { &self.spans[1..] } else { &self.spans[..] };
        array_of(spans.iter().map(|span| text_of(text, *span)).collect())
    }
}

/// Returns a whole number of a call that may be left out.
fn number_or(values: &[SqlValue], index: usize, default: i32) -> Result<i32, ValueError> {
    if index < values.len() { int4(values, index) } else { Ok(default) }
}

/// Returns a number that is not below `least`.
fn checked(
    values: &[SqlValue],
    index: usize,
    (name, least, default): (&str, i32, i32),
) -> Result<i32, ValueError> {
    let number = number_or(values, index, default)?;
    if number < least { Err(invalid(name, number)) } else { Ok(number) }
}

/// Returns the flags of a call, which may be left out.
fn flags_of(values: &[SqlValue], index: usize, function: &str) -> Result<PatternFlags, ValueError> {
    if index < values.len() {
        CallFlags::parse_single(text(values, index)?, function)
    } else {
        Ok(PatternFlags::default())
    }
}

fn is_like(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    let flags = flags_of(values, 2, "regexp_like")?;
    let found = kept(text(values, 1)?, flags)?.is_match(text(values, 0)?)?;
    Ok(SqlValue::Boolean(found))
}

fn count(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    let own = text(values, 0)?;
    let from = place_of(own, number_or(values, 2, 1)?)?;
    let pattern = kept(text(values, 1)?, flags_of(values, 3, "regexp_count")?)?;
    let mut matches = TextMatches::new(&pattern, own, from);
    let mut count = 0;
    while matches.next()?.is_some() {
        count += 1;
    }
    Ok(count_value(count))
}

/// Returns the number of the character with which a match or group begins, or of the one behind it.
fn position(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    let own = text(values, 0)?;
    let from = place_of(own, number_or(values, 2, 1)?)?;
    let number = checked(values, 3, ("n", 1, 1))?;
    let end = number_or(values, 4, 0)?;
    if !matches!(end, 0 | 1) {
        return Err(invalid("endoption", end));
    }
    let flags = flags_of(values, 5, "regexp_instr")?;
    let group = checked(values, 6, ("subexpr", 0, 0))?;
    let pattern = kept(text(values, 1)?, flags)?;
    let found = TextMatches::new(&pattern, own, from).nth(number)?;
    let span = found.and_then(|found| found.group(group));
    let place = span.map(|span| if end == 1 { span.1 } else { span.0 });
    Ok(count_value(place.map_or(0, |place| own[..place].chars().count() + 1)))
}

/// Returns a match or group.
fn part(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    let own = text(values, 0)?;
    let from = place_of(own, number_or(values, 2, 1)?)?;
    let number = checked(values, 3, ("n", 1, 1))?;
    let flags = flags_of(values, 4, "regexp_substr")?;
    let group = checked(values, 5, ("subexpr", 0, 0))?;
    let pattern = kept(text(values, 1)?, flags)?;
    let found = TextMatches::new(&pattern, own, from).nth(number)?;
    Ok(text_of(own, found.and_then(|found| found.group(group))))
}

fn text_of(text: &str, span: Option<TextSpan>) -> SqlValue {
    span.map_or(SqlValue::Null, |(start, end)| SqlValue::Text(text[start..end].to_owned()))
}

fn array_of(parts: Vec<SqlValue>) -> SqlValue {
    SqlValue::Array(Box::new(SqlArray::from_elements(SqlType::TEXT, parts)))
}

/// Returns the groups of the first match, or that if there are none.
fn groups(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    let own = text(values, 0)?;
    let flags = flags_of(values, 2, "regexp_match");
    let flags = flags.map_err(|error| match error.message().contains("global") {
        true => error.with_hint("Use the regexp_matches function instead."),
        false => error,
    })?;
    let pattern = kept(text(values, 1)?, flags)?;
    let found = TextMatches::new(&pattern, own, Some(0)).next()?;
    Ok(found.map_or(SqlValue::Null, |found| found.groups(own)))
}

/// Computes `regexp_matches`: the groups of the first match, or with `g` of each.
///
/// # Errors
/// 22023 for other flags, 2201B for malformed patterns, 0A000 for those that are not had here.
pub fn regular_matches(values: &[SqlValue]) -> Result<Vec<SqlValue>, ValueError> {
    let own = text(values, 0)?;
    let letters = if values.len() > 2 { text(values, 2)? } else { "" };
    let flags = CallFlags::parse(letters)?;
    let pattern = kept(text(values, 1)?, flags.pattern)?;
    let mut matches = TextMatches::new(&pattern, own, Some(0));
    let mut all = Vec::new();
    while let Some(found) = matches.next()? {
        all.push(found.groups(own));
        if !flags.is_global {
            break;
        }
    }
    Ok(all)
}

/// Returns the first group of the first match, or that if there is none.
pub(in super::super) fn first_group(text: &str, pattern: &str) -> Result<SqlValue, ValueError> {
    let pattern = kept(pattern, PatternFlags::default())?;
    let found = TextMatches::new(&pattern, text, Some(0)).next()?;
    Ok(text_of(text, found.and_then(|found| found.group(1))))
}

/// Returns what is between matches; empty ones at the ends or right behind another one are none.
fn split(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    let own = text(values, 0)?;
    let pattern = kept(text(values, 1)?, flags_of(values, 2, "regexp_split_to_array")?)?;
    let mut matches = TextMatches::new(&pattern, own, Some(0));
    let (mut parts, mut start, mut end) = (Vec::new(), 0, 0);
    while let Some(found) = matches.next()? {
        if found.whole.0 < own.len() && found.whole.1 > end {
            parts.push(text_of(own, Some((start, found.whole.0))));
            start = found.whole.1;
        }
        end = found.whole.1;
    }
    parts.push(text_of(own, Some((start, own.len()))));
    Ok(array_of(parts))
}
