//! A statement's text without its literals.
//!
//! Statements that differ in nothing but literals have one key: `a = 7` becomes `a = $i0`. Literals
//! before the FROM of a SELECT and in RETURNING stay, since columns are named after them. Whatever
//! is not plain, such as comments, escapes and exponents, makes a text that is not looked at.

use std::borrow::Cow;

/// Longest text that is looked at.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// Most literals of a statement: a plan keeps a note of each.
const LITERALS_MAX: usize = 256;

/// Most digits of a whole number: all of these fit a `bigint`.
const DIGITS_MAX: usize = 18;

/// What a literal is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiteralKind {
    /// Digits.
    Integer,
    /// Digits with a point.
    Decimal,
    /// A text in quotes.
    Text,
}

/// A literal of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Literal<'a> {
    pub(crate) kind: LiteralKind,
    pub(crate) text: Cow<'a, str>,
}

/// A text in two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scanned<'a> {
    /// The statement with a placeholder for each literal: `$i0`, `$d0` or `$s0` by its kind.
    pub(crate) key: String,
    pub(crate) literals: Vec<Literal<'a>>,
}

impl Scanned<'_> {
    /// Copies what is borrowed.
    pub(crate) fn into_owned(self) -> Scanned<'static> {
        let own = |literal: Literal<'_>| Literal {
            kind: literal.kind,
            text: Cow::Owned(literal.text.into_owned()),
        };
        Scanned { key: self.key, literals: self.literals.into_iter().map(own).collect() }
    }
}

/// Takes the literals out of `sql`; `None` if it cannot be a short statement.
pub(crate) fn scan(sql: &str) -> Option<Scanned<'_>> {
    if sql.len() > TEXT_BYTES_MAX {
        return None;
    }
    let mut scanner = Scanner {
        sql,
        at: 0,
        keeps_literals: false,
        scanned: Scanned { key: String::with_capacity(sql.len() + 16), literals: Vec::new() },
    };
    scanner.skip_blanks();
    let verb = scanner.word();
    let is_one = |known: &[&str]| known.iter().any(|known| known.eq_ignore_ascii_case(verb));
    if !is_one(&["select", "insert", "update", "delete"]) {
        return None;
    }
    scanner.keeps_literals = is_one(&["select"]);
    scanner.scanned.key.push_str(verb);
    while scanner.step()? {
        if scanner.scanned.literals.len() > LITERALS_MAX {
            return None;
        }
    }
    Some(scanner.scanned)
}

struct Scanner<'a> {
    sql: &'a str,
    at: usize,
    /// Whether literals stay where they are.
    keeps_literals: bool,
    scanned: Scanned<'a>,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.sql.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes bytes as long as they are of a class of ASCII.
    fn take(&mut self, is_in: impl Fn(u8) -> bool) -> &'a str {
        let begin = self.at;
        while self.peek().is_some_and(&is_in) {
            self.at += 1;
        }
        &self.sql[begin..self.at]
    }

    fn word(&mut self) -> &'a str {
        self.take(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// Takes a token; false at the end of the statement.
    fn step(&mut self) -> Option<bool> {
        let Some(byte) = self.peek() else { return Some(false) };
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {
                self.skip_blanks();
                self.scanned.key.push(' ');
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let word = self.word();
                // A prefix such as that of E'\n', or a name with other letters in it.
                if self.peek().is_some_and(|next| matches!(next, b'\'' | b'$') || next >= 0x80) {
                    return None;
                }
                match word {
                    _ if word.eq_ignore_ascii_case("from") => self.keeps_literals = false,
                    _ if word.eq_ignore_ascii_case("returning") => self.keeps_literals = true,
                    _ => {}
                }
                self.scanned.key.push_str(word);
            }
            b'0'..=b'9' => self.number()?,
            b'\'' => self.text()?,
            b'"' => self.quoted_name()?,
            b'$' => self.parameter()?,
            b';' => {
                self.at += 1;
                self.skip_blanks();
                return self.peek().is_none().then_some(false);
            }
            b'(' | b')' | b',' | b'=' | b'<' | b'>' | b'+' | b'*' | b'%' | b'.' | b'!' | b'-'
            | b'/' => {
                self.at += 1;
                let is_comment =
                    matches!((byte, self.peek()), (b'-', Some(b'-')) | (b'/', Some(b'*')));
                let is_fraction =
                    byte == b'.' && self.peek().is_some_and(|next| next.is_ascii_digit());
                if is_comment || is_fraction {
                    return None;
                }
                self.scanned.key.push(char::from(byte));
            }
            _ => return None,
        }
        Some(true)
    }

    fn number(&mut self) -> Option<()> {
        let begin = self.at;
        self.take(|byte| byte.is_ascii_digit());
        let mut kind = LiteralKind::Integer;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.take(|byte| byte.is_ascii_digit());
            kind = LiteralKind::Decimal;
        }
        let digits = &self.sql[begin..self.at];
        let goes_on = self.peek().is_some_and(|next| {
            next.is_ascii_alphanumeric() || matches!(next, b'_' | b'.' | b'$') || next >= 0x80
        });
        if goes_on || digits.len() > DIGITS_MAX {
            return None;
        }
        self.literal(kind, Cow::Borrowed(digits), begin);
        Some(())
    }

    fn text(&mut self) -> Option<()> {
        let begin = self.at;
        let mut has_quotes = false;
        loop {
            self.at += 1;
            match self.peek()? {
                b'\'' if self.sql.as_bytes().get(self.at + 1) == Some(&b'\'') => {
                    has_quotes = true;
                    self.at += 1;
                }
                b'\'' => break,
                _ => {}
            }
        }
        let inner = &self.sql[begin + 1..self.at];
        self.at += 1;
        let text = match has_quotes {
            true => Cow::Owned(inner.replace("''", "'")),
            false => Cow::Borrowed(inner),
        };
        self.literal(LiteralKind::Text, text, begin);
        Some(())
    }

    fn literal(&mut self, kind: LiteralKind, text: Cow<'a, str>, begin: usize) {
        if self.keeps_literals {
            self.scanned.key.push_str(&self.sql[begin..self.at]);
            return;
        }
        let letter = match kind {
            LiteralKind::Integer => 'i',
            LiteralKind::Decimal => 'd',
            LiteralKind::Text => 's',
        };
        self.scanned.key.push('$');
        self.scanned.key.push(letter);
        self.scanned.key.push_str(&self.scanned.literals.len().to_string());
        self.scanned.literals.push(Literal { kind, text });
    }

    fn quoted_name(&mut self) -> Option<()> {
        let begin = self.at;
        self.at += 1;
        let length = self.sql[self.at..].find('"')?;
        self.at += length + 1;
        self.scanned.key.push_str(&self.sql[begin..self.at]);
        Some(())
    }

    fn parameter(&mut self) -> Option<()> {
        let begin = self.at;
        self.at += 1;
        let digits = self.take(|byte| byte.is_ascii_digit());
        let goes_on = self.peek().is_some_and(|next| {
            next.is_ascii_alphanumeric() || matches!(next, b'_' | b'$') || next >= 0x80
        });
        if digits.is_empty() || goes_on {
            return None;
        }
        self.scanned.key.push_str(&self.sql[begin..self.at]);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(sql: &str) -> Option<(String, Vec<String>)> {
        let scanned = scan(sql)?;
        let texts = scanned.literals.iter().map(|literal| literal.text.to_string()).collect();
        Some((scanned.key, texts))
    }

    fn parts(key: &str, literals: &[&str]) -> Option<(String, Vec<String>)> {
        Some((key.into(), literals.iter().map(|&literal| literal.to_owned()).collect()))
    }

    #[test]
    fn literals_leave_a_placeholder_of_their_kind() {
        assert_eq!(
            scanned("update t\n set v = v+ 1.50, s='it''s' where id =-7 ;\n"),
            parts("update t set v = v+ $d0, s=$s1 where id =-$i2 ", &["1.50", "it's", "7"])
        );
        assert_eq!(
            scanned("SELECT a + 1, 'x' FROM \"T 1\" WHERE a IN (1,2) LIMIT 5"),
            parts(
                "SELECT a + 1, 'x' FROM \"T 1\" WHERE a IN ($i0,$i1) LIMIT $i2",
                &["1", "2", "5"]
            )
        );
        assert_eq!(scanned("delete from t1 where a=$1"), parts("delete from t1 where a=$1", &[]));
    }

    #[test]
    fn what_is_not_plain_is_left_alone() {
        let others = [
            "begin",
            "select 1 -- comment",
            "select /* c */ 1",
            "insert into t values (e'\\n')",
            "insert into t values (1e5)",
            "insert into t values (.5)",
            "insert into t values (0x10)",
            "insert into t values (1234567890123456789)",
            "insert into t values ($$x$$)",
            "insert into t values ('open)",
            "select a::text from t",
            "select 1; select 2",
            "select a from t\u{fc} where a = 1",
            "select \u{fc} from t where a = 1",
            "",
        ];
        for sql in others {
            assert_eq!(scanned(sql), None, "{sql}");
        }
    }
}
