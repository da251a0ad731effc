//! Lines joined into statements.
//!
//! # Invariants
//! 1. Where a statement ends is decided by `nacre_sql::split_statements` alone.
//! 2. A statement is handed out once, as soon as the line with its `;` is there.

use nacre_sql::split_statements;

/// A whole statement and the line on which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// Gathers lines until a statement is whole.
#[derive(Default)]
pub(crate) struct Assembler {
    /// Lines of the statement that is not whole yet.
    buffer: String,
    /// Number of the buffer's first line.
    line: usize,
}

impl Assembler {
    /// Takes a line and returns the statements that end on it.
    ///
    /// Only a line with a `;` makes the gathered text be split, so a statement of n lines costs n
    /// steps, not n squared.
    pub(crate) fn push_line(&mut self, line: &str, number: usize) -> Vec<Statement> {
        if self.buffer.is_empty() {
            if is_blank_sql(line) {
                return Vec::new();
            }
            self.line = number;
        }
        self.buffer.push_str(line);
        self.buffer.push('\n');
        if !line.contains(';') {
            return Vec::new();
        }
        let mut whole = Vec::new();
        let mut end = 0;
        for statement in split_statements(&self.buffer) {
            if statement.is_terminated {
                end = statement.end_offset();
                let line = self.line + statement.line - 1;
                whole.push(Statement { text: statement.text.to_owned(), line });
            }
        }
        self.line += self.buffer[..end].matches('\n').count();
        self.buffer.drain(..end);
        if is_blank_sql(&self.buffer) {
            self.buffer.clear();
        }
        whole
    }

    /// Hands out what is left when no more lines come.
    pub(crate) fn finish(&mut self) -> Vec<Statement> {
        let rest = std::mem::take(&mut self.buffer);
        let statement = |statement: nacre_sql::SourceStatement<'_>| Statement {
            text: statement.text.to_owned(),
            line: self.line + statement.line - 1,
        };
        split_statements(&rest).into_iter().map(statement).collect()
    }

    /// Tells whether no statement is begun.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Tells whether the next line begins inside a quoted text or a comment.
    pub(crate) fn is_in_quote(&self) -> bool {
        // Whatever is open but a quote or a comment, this closes; too many `)` do no harm.
        let closing = ")".repeat(self.buffer.matches('(').count());
        let ended = format!("{}\n{closing};", self.buffer);
        let last = split_statements(&ended).pop();
        !self.buffer.is_empty() && last.is_none_or(|last| !last.is_terminated)
    }

    /// Returns the gathered text.
    pub(crate) fn text(&self) -> &str {
        &self.buffer
    }

    /// Forgets the gathered text.
    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
    }
}

/// Tells whether a text is only white space and closed comments.
fn is_blank_sql(text: &str) -> bool {
    let text = text.trim_start();
    if text.is_empty() {
        return true;
    }
    if let Some(comment) = text.strip_prefix("--") {
        return comment.split_once('\n').is_none_or(|(_, rest)| is_blank_sql(rest));
    }
    // A nested comment is rare enough to be left to the splitter.
    text.strip_prefix("/*")
        .filter(|comment| !comment.contains("/*"))
        .and_then(|comment| comment.split_once("*/"))
        .is_some_and(|(_, rest)| is_blank_sql(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assembled(script: &str) -> Vec<(usize, String)> {
        let mut assembler = Assembler::default();
        let mut found = Vec::new();
        for (index, line) in script.lines().enumerate() {
            found.extend(assembler.push_line(line, index + 1));
        }
        found.extend(assembler.finish());
        found.into_iter().map(|statement| (statement.line, statement.text)).collect()
    }

    #[test]
    fn statements_know_their_first_line() {
        let script = "-- head\n\nselect 1; select\n  2;\n/* c */\nselect ';'\n;select 3";
        let found = assembled(script);
        let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 3, 6, 7]);
        assert!(found[1].1.contains('2') && found[2].1.contains("';'"));
    }

    #[test]
    fn semicolon_inside_quotes_ends_nothing() {
        let mut assembler = Assembler::default();
        assert!(assembler.push_line("select 'a;", 1).is_empty());
        assert!(assembler.is_in_quote() && !assembler.is_empty());
        assert!(assembler.push_line("b', $x$;", 2).is_empty());
        assert!(assembler.is_in_quote());
        assert_eq!(assembler.push_line("$x$;", 3).len(), 1);
        assert!(assembler.is_empty() && !assembler.is_in_quote());
    }

    #[test]
    fn open_parenthesis_is_no_quote() {
        let mut assembler = Assembler::default();
        assembler.push_line("create table t (a int, b decimal(5,", 1);
        assert!(!assembler.is_in_quote() && !assembler.is_empty());
    }

    #[test]
    fn comments_alone_begin_no_statement() {
        let mut assembler = Assembler::default();
        assert!(assembler.push_line("select 1; -- done", 1).len() == 1 && assembler.is_empty());
        assembler.push_line("/* open", 2);
        assert!(!assembler.is_empty() && assembler.is_in_quote());
        assert_eq!(assembler.push_line("*/ select 2;", 3).len(), 1);
    }
}
