//! Which column a name may have meant that none has.

use super::scope::Scope;
use crate::error::BindError;

/// Most letters that a column's name may differ by, with those of the table's.
const LETTERS_MAX: usize = 3;

/// Longest name that others are compared with: the work grows with its square.
const NAME_BYTES_MAX: usize = 256;

/// The columns that are closest to a name, at most two.
struct ClosestColumns<'a> {
    /// Table and column.
    found: Vec<(&'a str, &'a str)>,
    /// By how many letters they differ, or how few are too many.
    letters: usize,
}

impl<'a> ClosestColumns<'a> {
    /// Keeps a column if it is as close as others, none of three.
    fn offer(&mut self, table: &'a str, column: &'a str, letters: usize) {
        if letters < self.letters {
            (self.letters, self.found) = (letters, vec![(table, column)]);
        } else if letters == self.letters && letters <= LETTERS_MAX {
            if self.found.len() < 2 {
                self.found.push((table, column));
            } else {
                self.found.clear();
                // None is as close but closer ones.
                self.letters = letters.saturating_sub(1);
            }
        }
    }
}

/// Adds the columns to an error that may have been meant, as PostgreSQL chooses them: those with
/// the fewest letters to change, of the tables of `scopes`, the innermost first.
pub(super) fn with_column_hint<'a>(
    error: BindError,
    table: Option<&str>,
    column: &str,
    scopes: impl Iterator<Item = &'a Scope>,
) -> BindError {
    let mut closest = ClosestColumns { found: Vec::new(), letters: LETTERS_MAX + 1 };
    for one in scopes.flat_map(|scope| &scope.tables) {
        let apart = table.map_or(0, |name| letters_apart(name, &one.name));
        for own in &one.columns {
            let letters = letters_apart(column, &own.name);
            if letters <= column.len() / 2 {
                closest.offer(&one.name, &own.name, letters + apart);
            }
        }
    }
    match closest.found[..] {
        [] => error,
        [(table, column)] => error
            .with_hint(format!("Perhaps you meant to reference the column \"{table}.{column}\".")),
        [(table, column), (other_table, other), ..] => error.with_hint(format!(
            "Perhaps you meant to reference the column \"{table}.{column}\" or the column \
             \"{other_table}.{other}\"."
        )),
    }
}

/// Returns how many letters are added, left out or changed between two names; too many at once for
/// names that are long or of other lengths.
fn letters_apart(one: &str, other: &str) -> usize {
    // A letter has up to four bytes.
    let is_far = one.len().abs_diff(other.len()) > 4 * LETTERS_MAX;
    if is_far || one.len() > NAME_BYTES_MAX {
        return LETTERS_MAX + 1;
    }
    let other: Vec<char> = other.chars().collect();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in (1..).zip(one.chars()) {
        let mut diagonal = std::mem::replace(&mut above[0], row);
        for (place, own) in (1..).zip(&other) {
            let changed = diagonal + usize::from(letter != *own);
            diagonal = above[place];
            above[place] = changed.min(diagonal + 1).min(above[place - 1] + 1);
        }
    }
    above[other.len()]
}

#[cfg(test)]
mod tests {
    use super::letters_apart;

    #[test]
    fn letters_are_added_left_out_and_changed() {
        assert_eq!(letters_apart("name", "name"), 0);
        assert_eq!(letters_apart("nam", "name"), 1);
        assert_eq!(letters_apart("", "name"), 4);
        assert_eq!(letters_apart("kitten", "sitting"), 3);
        assert_eq!(letters_apart("zanem", "zname"), 3);
    }
}
