//! Errors as psql shows them: message, the line with a caret, detail, hint,
//! and the place in the input.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use nacre_sql::{Error, Position};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::place::Place;

/// Columns of a statement's line that are shown around the caret.
const LINE_WIDTH_MAX: usize = 76;
/// Columns that stay visible to the right of the caret in a cut line.
const RIGHT_WIDTH_MIN: usize = 16;

/// Prints an error of a statement to standard error.
pub(crate) fn print_error(error: &Error, sql: &str, place: &Place) {
    print(&error_text(error, sql, place));
}

/// Prints a message that has a hint but no statement.
pub(crate) fn print_message(message: &str, hint: Option<&str>, place: &Place) {
    let mut text = format!("{place}ERROR:  {message}\n");
    if let Some(hint) = hint {
        let _ = writeln!(text, "HINT:  {hint}");
    }
    print(&text);
}

/// Prints to standard error; there is nobody to tell if that fails.
pub(crate) fn print(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

fn error_text(error: &Error, sql: &str, place: &Place) -> String {
    let place = error.position().map_or(place.clone(), |at| place.down(at.line.saturating_sub(1)));
    let mut text = format!("{place}ERROR:  {}\n", error.message());
    if let Some(position) = error.position() {
        push_caret(sql, position, &mut text);
    }
    if let Some(detail) = error.detail() {
        let _ = writeln!(text, "DETAIL:  {detail}");
    }
    if let Some(hint) = error.hint() {
        let _ = writeln!(text, "HINT:  {hint}");
    }
    if let Some(context) = error.context() {
        let _ = writeln!(text, "CONTEXT:  {context}");
    }
    text
}

/// Appends the line of a position and a caret below its column.
fn push_caret(sql: &str, position: Position, text: &mut String) {
    let Some(line) = sql.lines().nth(position.line.saturating_sub(1)) else {
        return;
    };
    // One shown character for each of the statement's, so that columns still count.
    let shown: Vec<char> = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let caret = position.column.saturating_sub(1).min(shown.len());
    let (cut, end) = window(&shown, caret);
    let prefix = format!("LINE {}: ", position.line);
    let left = if cut > 0 { "..." } else { "" };
    let right = if end < shown.len() { "..." } else { "" };
    let body: String = shown[cut..end].iter().collect();
    let _ = writeln!(text, "{prefix}{left}{body}{right}");
    let before: String = shown[cut..caret].iter().collect();
    let blanks = prefix.len() + left.len() + before.width();
    let _ = writeln!(text, "{}^", " ".repeat(blanks));
}

/// Chooses which characters of a long line are shown.
fn window(shown: &[char], caret: usize) -> (usize, usize) {
    let width = |chars: &[char]| chars.iter().map(|c| c.width().unwrap_or(0)).sum::<usize>();
    if width(shown) <= LINE_WIDTH_MAX {
        return (0, shown.len());
    }
    let mut start = 0;
    while start < caret && width(&shown[start..caret]) > LINE_WIDTH_MAX - RIGHT_WIDTH_MIN {
        start += 1;
    }
    let mut end = caret;
    while end < shown.len() && width(&shown[start..=end]) <= LINE_WIDTH_MAX {
        end += 1;
    }
    (start, end)
}

#[cfg(test)]
mod tests {
    use nacre_sql::ErrorKind;

    use super::*;

    fn error(line: usize, column: usize) -> Error {
        Error::new(ErrorKind::UndefinedObject, "column \"x\" does not exist")
            .with_position(Some(Position { line, column }))
    }

    #[test]
    fn caret_stands_below_the_column() {
        let text = error_text(&error(2, 7), "select 1,\n  a,\t\u{6771}x\nfrom t", &Place::Typed);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "LINE 2:   a, \u{6771}x");
        // The wide character takes two columns.
        assert_eq!(lines[2], format!("{}^", " ".repeat("LINE 2:   a, ".len() + 2)));
    }

    #[test]
    fn script_errors_name_file_and_the_line_of_the_mistake() {
        let place = Place::Script { name: "load.sql".to_owned(), line: 10 };
        let error = error(3, 1).with_detail("more").with_hint("less");
        let text = error_text(&error, "select 1,\n2,\nx", &place);
        assert_eq!(
            text,
            "nacre:load.sql:12: ERROR:  column \"x\" does not exist\n\
             LINE 3: x\n        ^\nDETAIL:  more\nHINT:  less\n"
        );
    }

    #[test]
    fn long_lines_are_cut_around_the_caret() {
        let sql = format!("select {} x {}", "1, ".repeat(100), ", 2".repeat(100));
        let column = sql.find('x').unwrap() + 1;
        let text = error_text(&error(1, column), &sql, &Place::Typed);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("LINE 1: ...") && lines[1].ends_with("..."), "{text}");
        assert!(lines[1].width() <= LINE_WIDTH_MAX + 14, "{text}");
        assert_eq!(lines[1].find('x'), lines[2].find('^'), "{text}");
    }

    #[test]
    fn position_outside_the_statement_shows_no_line() {
        assert_eq!(error_text(&error(9, 1), "x", &Place::Typed).lines().count(), 1);
        let text = error_text(&error(1, 99), "x", &Place::Typed);
        assert!(text.ends_with("LINE 1: x\n         ^\n"), "{text}");
    }
}
