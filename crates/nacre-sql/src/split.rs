//! Splits a script into statements, as psql does: by the semicolons that are not inside quotes,
//! dollar quotes, comments or parentheses.
//!
//! Splitting is lexical only; whether a piece is SQL is for the parser to say.

/// One statement of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceStatement<'a> {
    /// The text from the first character that is neither blank nor comment, without the semicolon.
    pub text: &'a str,
    /// Byte offset of `text` in the script.
    pub offset: usize,
    /// Line of the script that `text` begins in, from 1.
    pub line: usize,
    /// Whether a semicolon ended it; only the last statement of a script may lack one.
    pub is_terminated: bool,
}

impl SourceStatement<'_> {
    /// Returns the offset in the script behind the statement and its semicolon.
    pub fn end_offset(&self) -> usize {
        self.offset + self.text.len() + usize::from(self.is_terminated)
    }
}

/// Splits `script`; pieces that hold nothing but blanks and comments are left out.
///
/// ```text
/// select 1; -- one
/// select ';'        =>   [select 1] [select ';']
/// ```
pub fn split_statements(script: &str) -> Vec<SourceStatement<'_>> {
    let bytes = script.as_bytes();
    let mut statements = Vec::new();
    let mut start = None;
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        let next = skip_token(bytes, at);
        // A comment without end is kept, so that the parser can say so.
        let is_comment = is_comment(bytes, at) && is_closed(bytes, at);
        let is_blank = bytes[at].is_ascii_whitespace() || is_comment;
        match bytes[at] {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if bytes[at] == b';' && depth == 0 {
            if let Some(start) = start.take() {
                statements.push(statement(script, start, at, true));
            }
        } else if !is_blank && start.is_none() {
            start = Some(at);
        }
        at = next;
    }
    if let Some(start) = start {
        let end = start + script[start..].trim_end().len();
        statements.push(statement(script, start, end, false));
    }
    statements
}

fn statement(script: &str, start: usize, end: usize, is_terminated: bool) -> SourceStatement<'_> {
    let line = 1 + script[..start].bytes().filter(|&byte| byte == b'\n').count();
    SourceStatement { text: &script[start..end], offset: start, line, is_terminated }
}

fn is_comment(bytes: &[u8], at: usize) -> bool {
    bytes[at..].starts_with(b"--") || bytes[at..].starts_with(b"/*")
}

/// Tells whether the comment at `at` has an end.
fn is_closed(bytes: &[u8], at: usize) -> bool {
    bytes[at..].starts_with(b"--") || block_comment(&bytes[at..]).is_some()
}

/// Returns the offset behind the token at `at`: a quoted piece, a comment, a word or one byte.
fn skip_token(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    match rest {
        [b'\'', ..] => at + quoted(rest, b'\'', false),
        [b'"', ..] => at + quoted(rest, b'"', false),
        [b'e' | b'E', b'\'', ..] => at + 1 + quoted(&rest[1..], b'\'', true),
        [b'-', b'-', ..] => at + rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => at + block_comment(rest).unwrap_or(rest.len()),
        [b'$', ..] => at + dollar_quoted(rest),
        [first, ..] if is_word(*first) => {
            at + rest.iter().position(|&b| !is_word(b) && b != b'$').unwrap_or(rest.len())
        }
        _ => at + 1,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Length of a quoted piece; a doubled quote stands for itself.
fn quoted(rest: &[u8], quote: u8, has_backslash: bool) -> usize {
    let mut at = 1;
    while at < rest.len() {
        if has_backslash && rest[at] == b'\\' {
            at += 2;
        } else if rest[at] == quote {
            if rest.get(at + 1) != Some(&quote) {
                return at + 1;
            }
            at += 2;
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Length of a block comment, `None` if it has no end; they nest.
fn block_comment(rest: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (2, 1);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if rest[at..].starts_with(b"*/") {
            (at, depth) = (at + 2, depth - 1);
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += 1;
        }
    }
    None
}

/// Length of `$tag$ ... $tag$`, or 1 if the dollar sign starts no such piece.
fn dollar_quoted(rest: &[u8]) -> usize {
    let tag = rest[1..].iter().position(|&byte| !is_word(byte)).map(|end| &rest[..end + 2]);
    match tag {
        Some(tag) if tag.ends_with(b"$") && !tag[1].is_ascii_digit() => {
            let body = &rest[tag.len()..];
            let end = body.windows(tag.len()).position(|window| window == tag);
            end.map_or(rest.len(), |end| end + 2 * tag.len())
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<&str> {
        split_statements(script).into_iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn semicolons_in_quotes_and_comments_do_not_split() {
        assert_eq!(texts("select ';'; select \"a;b\""), ["select ';'", "select \"a;b\""]);
        assert_eq!(texts("select 'it''s;'; x"), ["select 'it''s;'", "x"]);
        assert_eq!(texts("select e'\\';'; x"), ["select e'\\';'", "x"]);
        assert_eq!(texts("select 1 -- ;\n + 2; x"), ["select 1 -- ;\n + 2", "x"]);
        assert_eq!(texts("/* ; /* ; */ ; */ a; b"), ["a", "b"]);
        assert_eq!(
            texts("select $$;$$; select $t$;$$;$t$; a$1;"),
            ["select $$;$$", "select $t$;$$;$t$", "a$1"]
        );
        assert_eq!(texts("create rule (a; b); c"), ["create rule (a; b)", "c"]);
    }

    #[test]
    fn pieces_without_content_are_left_out() {
        assert_eq!(texts(" ;; -- nothing\n ; /* */"), Vec::<&str>::new());
        assert_eq!(texts(""), Vec::<&str>::new());
    }

    #[test]
    fn comment_without_end_is_a_piece_of_its_own() {
        assert_eq!(texts("select 1; /* x\nselect 2;"), ["select 1", "/* x\nselect 2;"]);
    }

    #[test]
    fn place_and_end_are_reported() {
        let script = "-- c\n\nselect 1;\nselect\n2";
        let statements = split_statements(script);
        assert_eq!((statements[0].line, statements[0].is_terminated), (3, true));
        assert_eq!((statements[1].line, statements[1].is_terminated), (4, false));
        assert_eq!(&script[statements[0].end_offset()..][..2], "\ns");
        assert_eq!(statements[1].end_offset(), script.len());
    }

    #[test]
    fn unfinished_pieces_reach_the_end() {
        for script in ["select 'a;", "select \"a;", "select /* ;", "select $$ ;", "select $a$ ; $$"]
        {
            let statements = split_statements(script);
            assert_eq!(statements.len(), 1, "{script}");
            assert!(!statements[0].is_terminated, "{script}");
        }
    }
}
