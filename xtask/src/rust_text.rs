//! Tells code, comments and literals of a Rust source apart, byte for byte.
//!
//! Not a parser: just enough lexing that a brace in a string or a word in a comment misleads no
//! check. Both views keep length and line breaks, so an offset means the same in all three texts.

/// Two views of one source text.
#[derive(Debug)]
pub(crate) struct RustText {
    /// The code; comments and the insides of literals are blanks.
    pub(crate) code: String,
    /// The comments; everything else is blanks.
    pub(crate) comments: String,
}

/// What a run of bytes is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Code,
    Comment,
    Literal,
}

impl RustText {
    /// Splits `text`.
    pub(crate) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut code = Vec::with_capacity(bytes.len());
        let mut comments = Vec::with_capacity(bytes.len());
        let mut offset = 0;
        while offset < bytes.len() {
            let (class, end) = run_at(bytes, offset);
            for &byte in &bytes[offset..end] {
                let visible = if byte.is_ascii() { byte } else { b'?' };
                let blank = if byte == b'\n' { b'\n' } else { b' ' };
                code.push(if class == Class::Code { visible } else { blank });
                comments.push(if class == Class::Comment { visible } else { blank });
            }
            offset = end;
        }
        RustText { code: ascii(code), comments: ascii(comments) }
    }

    /// Returns the identifiers and keywords of the code with their offsets.
    pub(crate) fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        let code = self.code.as_str();
        let mut offset = 0;
        std::iter::from_fn(move || {
            let start = offset + code[offset..].find(is_word_char)?;
            let length = code[start..].find(|c| !is_word_char(c)).unwrap_or(code.len() - start);
            offset = start + length;
            Some((start, &code[start..offset]))
        })
    }
}

/// Returns the 1-based number of the line that holds `offset`.
pub(crate) fn line_number(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// Returns the offset of the brace that closes the one at `open`, if the code closes it.
pub(crate) fn closing_brace(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(index),
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Tells whether `c` may be part of an identifier or keyword.
pub(crate) fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn ascii(bytes: Vec<u8>) -> String {
    bytes.into_iter().map(char::from).collect()
}

/// Returns the class of the run that starts at `start`, and its end (always past `start`).
fn run_at(bytes: &[u8], start: usize) -> (Class, usize) {
    let rest = &bytes[start..];
    let is_word_start = start == 0 || !is_word_char(char::from(bytes[start - 1]));
    if rest.starts_with(b"//") {
        let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        return (Class::Comment, start + length);
    }
    if rest.starts_with(b"/*") {
        return (Class::Comment, start + block_comment_bytes(rest));
    }
    if rest[0] == b'"' {
        return (Class::Literal, start + quoted_bytes(rest));
    }
    if rest[0] == b'\'' {
        return match char_bytes(rest) {
            Some(length) => (Class::Literal, start + length),
            None => (Class::Code, start + 1),
        };
    }
    if is_word_start && let Some(length) = raw_string_bytes(rest) {
        return (Class::Literal, start + length);
    }
    (Class::Code, start + 1)
}

/// Returns the size of the block comment that `rest` starts with; comments nest.
fn block_comment_bytes(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Returns the size of the string with escapes that `rest` starts with.
fn quoted_bytes(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Returns the size of the character literal that `rest` starts with; none if it is a lifetime.
fn char_bytes(rest: &[u8]) -> Option<usize> {
    let content = match rest.get(1)? {
        // The escaped character itself may be a quote.
        b'\\' => 2,
        first => match first.leading_ones() {
            0 => 1,
            ones => ones as usize,
        },
    };
    let after = 1 + content;
    if rest[1] == b'\\' {
        let tail = rest.get(after..)?;
        return tail.iter().position(|&byte| byte == b'\'').map(|length| after + length + 1);
    }
    (rest.get(after) == Some(&b'\'')).then_some(after + 1)
}

/// Returns the size of the raw string that `rest` starts with, prefix included.
fn raw_string_bytes(rest: &[u8]) -> Option<usize> {
    let prefix = [&b"r"[..], b"br", b"cr"].iter().find(|prefix| rest.starts_with(prefix))?.len();
    let hashes = rest[prefix..].iter().take_while(|&&byte| byte == b'#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let end = [&b"\""[..], &vec![b'#'; hashes]].concat();
    let body = &rest[open + 1..];
    let length = body.windows(end.len()).position(|window| window == end);
    Some(length.map_or(rest.len(), |length| open + 1 + length + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let split = RustText::new(text);
        assert_eq!(split.code.len(), text.len());
        assert_eq!(split.comments.len(), text.len());
        split.code
    }

    #[test]
    fn comments_and_literals_are_blanked() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(code("a /* x /* y */ z */ b"), "a                   b");
        assert_eq!(code(r#"f("{\"}", '{', b'\'')"#), "f(      ,    , b    )");
        assert_eq!(code("r#\"}\"}\"# x"), "         x");
        assert_eq!(code("'a: loop { break 'a }"), "'a: loop { break 'a }");
        assert_eq!(code("for_r(\"x\")"), "for_r(   )");
        assert_eq!(code("'\\u{7f}' {"), "         {");
        assert_eq!(code("\"\u{e9}\" '\u{e9}' x"), "          x");
        assert_eq!(code("'\\\\' '\\\\' x"), "          x");
    }

    #[test]
    fn comment_view_holds_comments_only() {
        assert_eq!(RustText::new("a // b\n\"// c\"").comments, "  // b\n      ");
    }

    #[test]
    fn unterminated_text_ends_at_the_end() {
        for text in ["\"abc", "/* abc", "r#\"abc\"", "'\\", "'", "b'", "\"\\"] {
            code(text);
        }
    }

    #[test]
    fn words_have_offsets() {
        let split = RustText::new("pub fn a_1() {}");
        let words: Vec<_> = split.words().collect();
        assert_eq!(words, [(0, "pub"), (4, "fn"), (7, "a_1")]);
    }

    #[test]
    fn braces_are_matched() {
        assert_eq!(closing_brace("a { { } } }", 2), Some(8));
        assert_eq!(closing_brace("{ {}", 0), None);
    }
}
