//! Operations of ALTER TABLE that the parser does not know.

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::keywords::Keyword;

use crate::words::{Edited, Words};

/// Stands for DROP IDENTITY where the parser wants a default.
const DROP_IDENTITY: &str = "nacre drop identity";

/// The same with IF EXISTS.
const DROP_IDENTITY_IF_EXISTS: &str = "nacre drop identity if exists";

/// Replaces DROP IDENTITY by something that the parser knows and [`dropped_identity`] recognises;
/// `None` if an ALTER TABLE has none.
pub(crate) fn readable(sql: &str) -> Option<String> {
    let words = Words::of(sql)?;
    if (words.keyword(0), words.keyword(1)) != (Keyword::ALTER, Keyword::TABLE) {
        return None;
    }
    let pair = |at: usize| (words.keyword(at), words.keyword(at + 1));
    let mut edited = Edited::new(sql);
    for at in (2..words.count()).filter(|at| pair(*at) == (Keyword::DROP, Keyword::IDENTITY)) {
        let (mark, last) = match pair(at + 2) == (Keyword::IF, Keyword::EXISTS) {
            true => (DROP_IDENTITY_IF_EXISTS, at + 3),
            false => (DROP_IDENTITY, at + 1),
        };
        edited.replace(words.bytes(at, last), &format!("SET DEFAULT \"{mark}\""))?;
    }
    edited.finish()
}

/// Whether a default stands for DROP IDENTITY, and then whether for that with IF EXISTS.
pub(super) fn dropped_identity(default: &Expr) -> Option<bool> {
    let Expr::Identifier(ident) = default else { return None };
    match ident.value.as_str() {
        DROP_IDENTITY => Some(false),
        DROP_IDENTITY_IF_EXISTS => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drop_identity_becomes_a_default_that_is_recognised() {
        for (sql, expected) in [
            (
                "alter table t alter a drop identity, alter b drop default",
                Some(
                    "alter table t alter a SET DEFAULT \"nacre drop identity\", \
                     alter b drop default",
                ),
            ),
            (
                "ALTER TABLE t ALTER COLUMN a\n DROP IDENTITY IF EXISTS;",
                Some(
                    "ALTER TABLE t ALTER COLUMN a\n SET DEFAULT \"nacre drop identity if exists\";",
                ),
            ),
            ("alter table t alter a drop default", None),
            ("select drop identity", None),
        ] {
            assert_eq!(readable(sql).as_deref(), expected, "{sql}");
        }
    }
}
