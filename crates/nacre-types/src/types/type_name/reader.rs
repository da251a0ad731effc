//! Reads a type's text token by token.

use super::{find_type_by_words, resolve_type_name};
use crate::error::ValueError;
use crate::types::catalog::{TypeOid, find_type_named};
use crate::types::sql_type::SqlType;
use crate::types::type_modifier::{IntervalFields, TypeModifier};

/// A token; keywords are names that are not quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NameToken {
    Word(String),
    Quoted(String),
    Number(i32),
    Sign(char),
}

/// Reads the text of one type.
pub(super) struct NameReader<'a> {
    text: &'a str,
    tokens: Vec<(NameToken, &'a str)>,
    index: usize,
}

/// First words after which others belong to the same name.
const LEADING_WORDS: [&str; 8] =
    ["double", "national", "char", "character", "nchar", "bit", "time", "timestamp"];

/// Types of SQL whose words take no modifiers.
const WORDS_WITHOUT_MODIFIER: [&str; 7] =
    ["int", "integer", "smallint", "bigint", "real", "boolean", "double precision"];

/// Types of SQL whose words take one modifier: the grammar refuses a second.
const WORDS_WITH_ONE_MODIFIER: [&str; 14] = [
    "char",
    "character",
    "varchar",
    "char varying",
    "character varying",
    "nchar",
    "nchar varying",
    "national char",
    "national character",
    "national char varying",
    "national character varying",
    "float",
    "time",
    "timestamp",
];

impl<'a> NameReader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, tokens: Vec::new(), index: 0 }
    }

    pub(super) fn read_type(mut self) -> Result<SqlType, ValueError> {
        self.split()?;
        if self.tokens.is_empty() {
            return Err(ValueError::syntax_error(format!("invalid type name \"{}\"", self.text)));
        }
        let mut sql_type = self.read_name()?;
        if self.take_word("array") || self.peek() == Some(&NameToken::Sign('[')) {
            self.read_brackets()?;
            sql_type = sql_type.array().ok_or_else(|| {
                ValueError::undefined_object(format!("type \"{sql_type}[]\" does not exist"))
            })?;
        }
        match self.tokens.get(self.index) {
            None => Ok(sql_type),
            Some(_) => Err(self.unexpected()),
        }
    }

    fn split(&mut self) -> Result<(), ValueError> {
        let mut rest = self.text.trim_start();
        while let Some(first) = rest.chars().next() {
            let (token, length) = match first {
                '"' => quoted_token(rest)?,
                '0'..='9' => {
                    let length = count_while(rest, |one| one.is_ascii_digit());
                    let number = rest[..length].parse().map_err(|_| near(&rest[..length]))?;
                    (NameToken::Number(number), length)
                }
                first if first.is_alphabetic() || first == '_' => {
                    let is_part = |one: char| one.is_alphanumeric() || one == '_' || one == '$';
                    let length = count_while(rest, is_part);
                    (NameToken::Word(rest[..length].to_lowercase()), length)
                }
                first => (NameToken::Sign(first), first.len_utf8()),
            };
            self.tokens.push((token, &rest[..length]));
            rest = rest[length..].trim_start();
        }
        Ok(())
    }

    fn read_name(&mut self) -> Result<SqlType, ValueError> {
        let first = match self.next() {
            Some(NameToken::Word(word)) => word,
            Some(NameToken::Quoted(name)) => return self.read_catalog_name(name),
            _ => {
                self.index = 0;
                return Err(self.unexpected());
            }
        };
        if self.peek() == Some(&NameToken::Sign('.')) {
            return self.read_catalog_name(first);
        }
        if first == "interval" {
            return self.read_interval();
        }
        if first == "any" {
            self.index -= 1;
            return Err(self.unexpected());
        }
        let mut words = first;
        if LEADING_WORDS.contains(&words.as_str()) {
            while let Some(longer) = self.longer_name(&words) {
                words = longer;
                self.index += 1;
            }
        }
        if WORDS_WITHOUT_MODIFIER.contains(&words.as_str()) {
            return resolve_type_name(&words, &[]);
        }
        let is_single = WORDS_WITH_ONE_MODIFIER.contains(&words.as_str());
        let modifiers = self.read_modifiers(if is_single { 1 } else { usize::MAX })?;
        if matches!(words.as_str(), "time" | "timestamp") {
            words = self.read_zone(words)?;
        }
        resolve_type_name(&words, &modifiers)
    }

    /// Returns the words with the next one, if they name a type or begin a longer name.
    fn longer_name(&self, words: &str) -> Option<String> {
        let Some(NameToken::Word(next)) = self.peek() else { return None };
        let is_part = match words {
            "double" => next == "precision",
            "national" => matches!(next.as_str(), "char" | "character"),
            "char" | "character" | "nchar" | "bit" => next == "varying",
            "national char" | "national character" => next == "varying",
            _ => false,
        };
        is_part.then(|| format!("{words} {next}"))
    }

    fn read_zone(&mut self, words: String) -> Result<String, ValueError> {
        let zone = match self.peek() {
            Some(NameToken::Word(word)) if matches!(word.as_str(), "with" | "without") => {
                word.clone()
            }
            _ => return Ok(words),
        };
        self.index += 1;
        for word in ["time", "zone"] {
            if !self.take_word(word) {
                return Err(self.unexpected());
            }
        }
        Ok(format!("{words} {zone} time zone"))
    }

    fn read_interval(&mut self) -> Result<SqlType, ValueError> {
        let interval = |modifier| Ok(SqlType::new(TypeOid::INTERVAL).with_modifier(modifier));
        if self.peek() == Some(&NameToken::Sign('(')) {
            let digits = self.read_modifiers(1)?;
            return resolve_type_name("interval", &digits);
        }
        let mut words = String::new();
        while let Some(NameToken::Word(next)) = self.peek() {
            let longer = match words.as_str() {
                "" => next.clone(),
                words => format!("{words} {next}"),
            };
            let is_start =
                IntervalFields::NAMES.iter().any(|(_, name)| name.starts_with(longer.as_str()));
            if !is_start || next == "array" {
                break;
            }
            words = longer;
            self.index += 1;
        }
        let Some(fields) = IntervalFields::from_words(&words) else {
            return Err(self.unexpected());
        };
        if words.is_empty() || !fields.has_second() {
            return interval(TypeModifier::of_interval(fields, None)?);
        }
        let digits = self.read_modifiers(1)?;
        interval(TypeModifier::of_interval(fields, digits.first().copied())?)
    }

    /// Reads the rest of a name that is not a keyword: perhaps of a schema.
    fn read_catalog_name(&mut self, first: String) -> Result<SqlType, ValueError> {
        let mut parts = vec![first];
        while self.peek() == Some(&NameToken::Sign('.')) {
            self.index += 1;
            match self.next() {
                Some(NameToken::Word(part) | NameToken::Quoted(part)) => parts.push(part),
                _ => return Err(self.unexpected()),
            }
        }
        let name = match parts.as_slice() {
            [name] => name.as_str(),
            [schema, name] if schema == "pg_catalog" => name.as_str(),
            parts => {
                let message = format!("type \"{}\" does not exist", parts.join("."));
                return Err(ValueError::undefined_object(message));
            }
        };
        let modifiers = self.read_modifiers(usize::MAX)?;
        let Some(entry) = find_type_named(name) else {
            let message = format!("type \"{name}\" does not exist");
            return Err(ValueError::undefined_object(message));
        };
        let modifier = super::modifier_of(entry.oid, &modifiers)?;
        Ok(SqlType::new(entry.oid).with_modifier(modifier))
    }

    /// Reads integers in parentheses, at most `count_max`.
    fn read_modifiers(&mut self, count_max: usize) -> Result<Vec<i32>, ValueError> {
        let mut modifiers = Vec::new();
        if self.peek() != Some(&NameToken::Sign('(')) {
            return Ok(modifiers);
        }
        // Only numeric has signs in its modifiers: the grammar of SQL's other words has none.
        let takes_signs = self.index > 0
            && matches!(&self.tokens[self.index - 1].0, NameToken::Word(word)
                if find_type_by_words(word) == Some(TypeOid::NUMERIC));
        loop {
            // The parenthesis or the comma.
            self.index += 1;
            let is_negative = takes_signs && self.peek() == Some(&NameToken::Sign('-'));
            self.index += usize::from(is_negative);
            match self.peek() {
                Some(NameToken::Number(number)) => {
                    modifiers.push(if is_negative { -number } else { *number });
                }
                _ => return Err(self.unexpected()),
            }
            self.index += 1;
            match self.peek() {
                Some(NameToken::Sign(',')) if modifiers.len() < count_max => {}
                Some(NameToken::Sign(')')) => break,
                _ => return Err(self.unexpected()),
            }
        }
        self.index += 1;
        Ok(modifiers)
    }

    fn read_brackets(&mut self) -> Result<(), ValueError> {
        while self.peek() == Some(&NameToken::Sign('[')) {
            self.index += 1;
            if matches!(self.peek(), Some(NameToken::Number(_))) {
                self.index += 1;
            }
            if self.next() != Some(NameToken::Sign(']')) {
                self.index -= 1;
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    fn peek(&self) -> Option<&NameToken> {
        self.tokens.get(self.index).map(|(token, _)| token)
    }

    fn next(&mut self) -> Option<NameToken> {
        let token = self.peek().cloned();
        self.index += 1;
        token
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_there = matches!(self.peek(), Some(NameToken::Word(next)) if next == word);
        self.index += usize::from(is_there);
        is_there
    }

    fn unexpected(&self) -> ValueError {
        match self.tokens.get(self.index) {
            Some((_, text)) => near(text),
            None => ValueError::syntax_error("syntax error at end of input"),
        }
    }
}

fn near(text: &str) -> ValueError {
    ValueError::syntax_error(format!("syntax error at or near \"{text}\""))
}

fn count_while(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|one| !is_part(one)).unwrap_or(text.len())
}

/// Reads a name in quotes, in which two quotes are one.
fn quoted_token(text: &str) -> Result<(NameToken, usize), ValueError> {
    let mut name = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((offset, one)) = chars.next() {
        if one != '"' {
            name.push(one);
        } else if chars.peek().is_some_and(|(_, next)| *next == '"') {
            name.push('"');
            chars.next();
        } else {
            return Ok((NameToken::Quoted(name), offset + 1));
        }
    }
    Err(ValueError::syntax_error("unterminated quoted identifier"))
}
