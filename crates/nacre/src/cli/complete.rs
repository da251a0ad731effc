//! Completion at the Tab key: commands, file names, tables, columns, keywords.
//!
//! | where | what is offered |
//! |---|---|
//! | first word of a line that begins with `\` or `.` | commands of the shell |
//! | after `\i` and the like, and inside `'...'` | file names |
//! | after `from`, `join`, `table`, `copy`, `\d` ... | tables |
//! | after `table.` | that table's columns |
//! | elsewhere | columns, tables, keywords |

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::keywords;
use super::meta::{COMMANDS, Kind};
use super::tokens::{TokenKind, quote_identifier, tokens};

/// Words after which a table is named.
const BEFORE_TABLE: &[&str] =
    &["from", "join", "into", "table", "copy", "exists", "update", "describe", "\\d", ".schema"];

/// What the line editor asks for help.
pub(crate) struct ShellHelper {
    /// Gives the tables there are.
    names: Box<dyn Fn() -> Vec<Names>>,
    files: FilenameCompleter,
}

/// A table with its columns.
pub(crate) type Names = (String, Vec<String>);

impl ShellHelper {
    pub(crate) fn new(names: Box<dyn Fn() -> Vec<Names>>) -> Self {
        Self { names, files: FilenameCompleter::new() }
    }
}

impl Helper for ShellHelper {}
impl Highlighter for ShellHelper {}
impl Validator for ShellHelper {}

impl Hinter for ShellHelper {
    type Hint = String;
}

impl Completer for ShellHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..position];
        if wants_file(before) {
            return self.files.complete_path(line, position);
        }
        let (start, words) = complete_words(before, &(self.names)());
        let pair = |word: String| Pair { display: word.clone(), replacement: word };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

/// Tells whether a file name is being typed.
fn wants_file(before: &str) -> bool {
    if let Some(kind) = command_before(before) {
        let is_file = matches!(
            kind,
            Kind::Include | Kind::Output | Kind::ChangeDirectory | Kind::Import | Kind::Edit
        );
        if is_file {
            return true;
        }
    }
    let found = tokens(before);
    let is_open_text = found.last().is_some_and(|last| {
        let text = &before[last.start..];
        last.kind == TokenKind::Text
            && last.end == before.len()
            && (text.len() == 1 || !text.ends_with('\''))
    });
    let after_copy = before.trim_start().starts_with("\\copy ")
        && !before.ends_with(char::is_whitespace)
        && found
            .iter()
            .rev()
            .skip(1)
            .take(8)
            .any(|token| token.is_word(before, "from") || token.is_word(before, "to"));
    is_open_text || after_copy
}

/// Returns the shell's command that a line begins with, once it is typed to its end.
fn command_before(before: &str) -> Option<Kind> {
    let (name, _) = before.trim_start().split_once(char::is_whitespace)?;
    COMMANDS.iter().find(|command| command.names.contains(&name)).map(|command| command.kind)
}

/// Returns where the word at the end begins, and what it may become.
fn complete_words(before: &str, names: &[Names]) -> (usize, Vec<String>) {
    let trimmed = before.trim_start();
    if trimmed.starts_with(['\\', '.']) && !trimmed.contains(char::is_whitespace) {
        let words = COMMANDS.iter().flat_map(|command| command.names).copied();
        let words = words.filter(|name| name.starts_with(trimmed)).map(str::to_owned);
        return (before.len() - trimmed.len(), words.collect());
    }
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | '.' | '"'))
        .last()
        .map_or(before.len(), |(at, _)| at);
    let word = &before[start..];
    if let Some((table, column)) = word.rsplit_once('.') {
        let table = table.trim_matches('"');
        let columns = names
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case(table))
            .flat_map(|(_, columns)| matching(columns.iter().map(String::as_str), column));
        return (start + table_part(word), columns.collect());
    }
    let last = before[..start].split_whitespace().next_back().unwrap_or("").to_lowercase();
    let tables = matching(names.iter().map(|(name, _)| name.as_str()), word);
    let takes_table = BEFORE_TABLE.contains(&last.as_str())
        || matches!(
            command_before(before),
            Some(Kind::Describe | Kind::Schema | Kind::Tables | Kind::TableNames)
        );
    if takes_table {
        return (start, tables);
    }
    let columns = names.iter().flat_map(|(_, columns)| columns.iter().map(String::as_str));
    let mut words = matching(columns, word);
    words.sort_unstable();
    words.dedup();
    words.extend(tables);
    if !word.is_empty() {
        let is_upper = word.chars().all(|c| !c.is_lowercase());
        let lower = word.to_lowercase();
        words.extend(keywords::all().filter(|keyword| keyword.starts_with(&lower)).map(
            |keyword| {
                if is_upper { keyword.to_uppercase() } else { keyword.to_owned() }
            },
        ));
    }
    (start, words)
}

/// Length of a word's part up to and with its last dot.
fn table_part(word: &str) -> usize {
    word.rfind('.').map_or(0, |at| at + 1)
}

/// Returns the names that begin with a prefix in any case, quoted where SQL needs it.
fn matching<'a>(names: impl Iterator<Item = &'a str>, prefix: &str) -> Vec<String> {
    let prefix = prefix.trim_start_matches('"').to_lowercase();
    names.filter(|name| name.to_lowercase().starts_with(&prefix)).map(quote_identifier).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<Names> {
        let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        vec![
            ("lineitem".to_owned(), columns(&["l_orderkey", "l_tax"])),
            ("orders".to_owned(), columns(&["o_orderkey", "Odd Name"])),
        ]
    }

    fn completed(before: &str) -> Vec<String> {
        complete_words(before, &names()).1
    }

    #[test]
    fn tables_are_offered_where_a_table_is_named() {
        assert_eq!(completed("select * from l"), ["lineitem"]);
        assert_eq!(completed("\\d o"), ["orders"]);
        assert_eq!(completed("select * from "), ["lineitem", "orders"]);
        assert_eq!(complete_words("select * from LI", &names()).0, 14);
    }

    #[test]
    fn columns_follow_their_table() {
        assert_eq!(completed("select lineitem.l_t"), ["l_tax"]);
        assert_eq!(complete_words("select lineitem.l_t", &names()).0, 16);
        assert_eq!(completed("select l_"), ["l_orderkey", "l_tax"]);
        assert_eq!(completed("select odd"), ["\"Odd Name\""]);
    }

    #[test]
    fn keywords_take_the_case_of_what_is_typed() {
        assert_eq!(completed("SEL"), ["SELECT"]);
        assert_eq!(completed("sel"), ["select"]);
    }

    #[test]
    fn commands_are_completed_in_their_spelling() {
        assert!(completed("\\ti") == ["\\timing"] && completed(".ta") == [".tables"]);
    }

    #[test]
    fn file_names_are_wanted_after_file_commands_and_in_quotes() {
        assert!(wants_file("\\i lo") && wants_file(".read "));
        assert!(wants_file("copy t from '/da") && wants_file("copy t from '"));
        assert!(wants_file("\\copy t from da"));
        assert!(!wants_file("copy t from 'a' (format csv") && !wants_file("\\d x"));
        assert!(!wants_file("select 1"));
    }
}
