//! The few lexical facts of SQL text that the command line needs.
//!
//! Statements are parsed by `nacre-sql`; here a text is only cut into words, so that the shell
//! knows whether a `COPY` wants its data, where `\copy` names its file, and what to complete.

/// What a piece of SQL text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A keyword, an unquoted identifier or a number.
    Word,
    /// A string literal of any kind, quotes included.
    Text,
    /// A double-quoted identifier, quotes included.
    Identifier,
    /// Any other single character.
    Symbol(char),
}

/// A piece of SQL text; white space and comments are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Byte range in the text.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Parentheses open before it.
    pub(crate) depth: usize,
}

/// Which stream of the caller a `COPY` statement uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyStream {
    FromStdin,
    ToStdout,
}

impl Token {
    /// Tells whether the token is this keyword, in any case.
    pub(crate) fn is_word(&self, text: &str, word: &str) -> bool {
        self.kind == TokenKind::Word && text[self.start..self.end].eq_ignore_ascii_case(word)
    }
}

/// Cuts SQL text into tokens; an open quote or comment reaches to the end.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut depth = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = match first {
            _ if first.is_whitespace() => (None, first.len_utf8()),
            '-' if rest.starts_with("--") => (None, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (None, block_comment(rest)),
            '\'' => (Some(TokenKind::Text), quoted(rest, '\'', false)),
            'e' | 'E' if rest[1..].starts_with('\'') => {
                (Some(TokenKind::Text), 1 + quoted(&rest[1..], '\'', true))
            }
            '"' => (Some(TokenKind::Identifier), quoted(rest, '"', false)),
            '$' => match dollar_quoted(rest) {
                Some(length) => (Some(TokenKind::Text), length),
                None => (Some(TokenKind::Symbol('$')), 1),
            },
            _ if is_word_char(first) => {
                let length = rest.find(|c| !is_word_char(c) && c != '$').unwrap_or(rest.len());
                (Some(TokenKind::Word), length)
            }
            other => (Some(TokenKind::Symbol(other)), other.len_utf8()),
        };
        if let Some(kind) = kind {
            found.push(Token { kind, start: at, end: at + length, depth });
            match kind {
                TokenKind::Symbol('(') => depth += 1,
                TokenKind::Symbol(')') => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        at += length;
    }
    found
}

/// Tells whether a statement is a `COPY` that reads standard input or writes standard output.
pub(crate) fn copy_stream(statement: &str) -> Option<CopyStream> {
    let tokens = tokens(statement);
    let direction = copy_direction(statement, &tokens)?;
    let (from, target) = (&tokens[direction], tokens.get(direction + 1)?);
    if from.is_word(statement, "from") && target.is_word(statement, "stdin") {
        return Some(CopyStream::FromStdin);
    }
    (from.is_word(statement, "to") && target.is_word(statement, "stdout"))
        .then_some(CopyStream::ToStdout)
}

/// Tells whether a statement is a `COPY` that loads.
pub(crate) fn is_load(statement: &str) -> bool {
    let tokens = tokens(statement);
    copy_direction(statement, &tokens).is_some_and(|at| tokens[at].is_word(statement, "from"))
}

/// Tells whether a statement changes rows or ends a transaction, so that only its end tells whether
/// it took effect.
pub(crate) fn is_change(statement: &str) -> bool {
    const WORDS: [&str; 6] = ["insert", "update", "delete", "truncate", "commit", "end"];
    let tokens = tokens(statement);
    let is_word = |word: &&str| tokens.first().is_some_and(|first| first.is_word(statement, word));
    WORDS.iter().any(is_word)
}

/// Finds the `FROM` or `TO` of a `COPY` statement: its place in `tokens`.
pub(crate) fn copy_direction(statement: &str, tokens: &[Token]) -> Option<usize> {
    if !tokens.first()?.is_word(statement, "copy") {
        return None;
    }
    tokens.iter().position(|token| {
        token.depth == 0 && (token.is_word(statement, "from") || token.is_word(statement, "to"))
    })
}

/// Writes a name so that SQL reads it back unchanged: quoted unless it is plain lower case.
pub(crate) fn quote_identifier(name: &str) -> String {
    let is_plain = !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !super::keywords::is_reserved(name);
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Writes a text as a SQL string literal.
pub(crate) fn quote_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Reads a name as SQL does: folded to lower case unless it is in double quotes.
pub(crate) fn identifier_name(written: &str) -> String {
    match written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => written.to_lowercase(),
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of a quoted piece; a doubled quote stays inside, as does an escaped one if `escapes`.
fn quoted(rest: &str, quote: char, escapes: bool) -> usize {
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == quote {
            match chars.peek() {
                Some((_, next)) if *next == quote => {
                    chars.next();
                }
                _ => return at + 1,
            }
        }
    }
    rest.len()
}

/// Length of a comment; PostgreSQL nests them.
fn block_comment(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut depth = 0;
    let mut at = 0;
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

/// Length of `$tag$ ... $tag$`, if one begins here.
fn dollar_quoted(rest: &str) -> Option<usize> {
    let tag_end = rest[1..].find('$')? + 2;
    let tag = &rest[..tag_end];
    let name = &tag[1..tag_end - 1];
    if name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_word_char) {
        return None;
    }
    Some(rest[tag_end..].find(tag).map_or(rest.len(), |at| tag_end + at + tag_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|token| &text[token.start..token.end]).collect()
    }

    #[test]
    fn quotes_and_comments_hide_their_content() {
        assert_eq!(
            pieces("a 'b ''c' \"d \"\"e\" -- f\n/* g /* h */ i */ $x$ j $x$ e'k\\'l' $1"),
            ["a", "'b ''c'", "\"d \"\"e\"", "$x$ j $x$", "e'k\\'l'", "$", "1"]
        );
        assert_eq!(pieces("'open"), ["'open"]);
        assert_eq!(pieces("/* open"), [""; 0]);
        assert_eq!(pieces("$$ open"), ["$$ open"]);
        assert_eq!(pieces("\u{e9}t\u{e9} \u{2713}"), ["\u{e9}t\u{e9}", "\u{2713}"]);
    }

    #[test]
    fn copy_stream_looks_outside_parentheses_only() {
        assert_eq!(copy_stream("copy t from stdin"), Some(CopyStream::FromStdin));
        assert_eq!(copy_stream("COPY t (a, b) FROM STDIN (format csv)"), {
            Some(CopyStream::FromStdin)
        });
        assert_eq!(copy_stream("/* x */ copy (select a from stdin) to stdout"), {
            Some(CopyStream::ToStdout)
        });
        assert_eq!(copy_stream("copy t from 'stdin'"), None);
        assert_eq!(copy_stream("select 'copy' from stdin"), None);
        assert_eq!(copy_stream("copy t from"), None);
        assert_eq!(copy_stream(""), None);
        assert!(is_load("copy t from 'x'") && !is_load("copy (select a from t) to 'x'"));
        assert!(is_change("/* x */ Insert into t values (1)") && !is_change("select 'insert'"));
    }

    #[test]
    fn names_are_quoted_only_where_sql_would_change_them() {
        assert_eq!(quote_identifier("l_tax2"), "l_tax2");
        assert_eq!(quote_identifier("Tax"), "\"Tax\"");
        assert_eq!(quote_identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(quote_identifier("2nd"), "\"2nd\"");
        assert_eq!(quote_identifier("select"), "\"select\"");
        assert_eq!(quote_identifier(""), "\"\"");
        assert_eq!(identifier_name("\"a\"\"B\""), "a\"B");
        assert_eq!(identifier_name("LineItem"), "lineitem");
    }
}
