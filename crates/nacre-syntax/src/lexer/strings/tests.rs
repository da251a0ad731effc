use crate::lexer::literals::{dollar_value, fold_name, quoted_name, string_value};
use crate::lexer::{TokenKind, read_tokens};

fn message(text: &str) -> String {
    read_tokens(text).error.unwrap().to_string()
}

fn decoded(text: &str) -> String {
    let list = read_tokens(text);
    assert!(list.error.is_none(), "{text}: {:?}", list.error);
    list.decoded_value(list.tokens[0]).to_owned()
}

#[test]
fn strings_go_on_behind_a_new_line() {
    assert_eq!(string_value("'a''b'\n 'c' -- d\n 'e'"), "a'bce");
    let text = "'a' 'b'";
    assert_eq!(read_tokens(text).tokens.len(), 3);
    assert_eq!(read_tokens("'a'\n'b'").tokens.len(), 2);
}

#[test]
fn escapes_are_those_of_c_and_unicode() {
    assert_eq!(decoded(r"E'a\n\t\\\'\x41\101\u00e9\U0001F600''q'"), "a\n\t\\'AA\u{e9}\u{1F600}'q");
    assert_eq!(decoded(r"E'\uD83D\uDE00'"), "\u{1F600}");
    assert_eq!(decoded(r"U&'\0041\+01F600\\'''"), "A\u{1F600}\\'");
    assert_eq!(decoded("U&\"!0041\" UESCAPE '!'"), "A");
    assert_eq!(message(r"E'\u00'"), "invalid Unicode escape");
    assert_eq!(read_tokens(r"E'\u00'").error.unwrap().sqlstate(), "22025");
}

#[test]
fn dollars_quote_anything() {
    assert_eq!(dollar_value("$$a'b$$"), "a'b");
    assert_eq!(dollar_value("$q$a$$b$q$"), "a$$b");
    let kinds: Vec<_> = read_tokens("$1 $a$").tokens.iter().map(|token| token.kind).collect();
    assert_eq!(kinds, [TokenKind::Parameter, TokenKind::Invalid]);
}

#[test]
fn what_does_not_end_is_named_with_all_that_follows() {
    for (text, expected) in [
        ("'abc", "unterminated quoted string at or near \"'abc\""),
        ("e'abc\\'", "unterminated quoted string at or near \"e'abc\\'\""),
        ("\"abc", "unterminated quoted identifier at or near \"\"abc\""),
        ("b'01", "unterminated bit string literal at or near \"b'01\""),
        ("x'01", "unterminated hexadecimal string literal at or near \"x'01\""),
        ("$a$ b", "unterminated dollar-quoted string at or near \"$a$ b\""),
        ("\"\"", "zero-length delimited identifier at or near \"\"\"\""),
    ] {
        assert_eq!(message(text), expected);
    }
}

#[test]
fn names_are_folded_and_cut_off() {
    assert_eq!(fold_name("AbC$1"), "abc$1");
    assert_eq!(fold_name(&"x".repeat(70)).len(), 63);
    assert_eq!(quoted_name("\"A\"\"b\""), "A\"b");
    assert_eq!(quoted_name(&format!("\"{}\"", "\u{e9}".repeat(40))).len(), 62);
}
