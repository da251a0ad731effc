//! SQL keywords: for completion and for knowing which names need quotes.

/// Keywords that cannot be a table or column name without quotes (PostgreSQL's reserved ones).
const RESERVED: &[&str] = &[
    "all",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "between",
    "both",
    "by",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "cross",
    "current_date",
    "current_time",
    "current_timestamp",
    "default",
    "desc",
    "distinct",
    "do",
    "drop",
    "else",
    "end",
    "except",
    "exists",
    "explain",
    "false",
    "fetch",
    "for",
    "foreign",
    "from",
    "full",
    "grant",
    "group",
    "having",
    "in",
    "inner",
    "intersect",
    "interval",
    "into",
    "is",
    "join",
    "lateral",
    "leading",
    "left",
    "like",
    "limit",
    "natural",
    "not",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "outer",
    "over",
    "primary",
    "references",
    "right",
    "select",
    "some",
    "table",
    "then",
    "to",
    "trailing",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "when",
    "where",
    "window",
    "with",
];

/// Further words that the shell completes.
const OTHERS: &[&str] = &[
    "avg",
    "bigint",
    "boolean",
    "bytea",
    "char",
    "coalesce",
    "copy",
    "count",
    "csv",
    "date",
    "decimal",
    "delimiter",
    "double precision",
    "escape",
    "extract",
    "filter",
    "format",
    "header",
    "if",
    "information_schema",
    "integer",
    "key",
    "max",
    "min",
    "nulls first",
    "nulls last",
    "numeric",
    "partition",
    "quote",
    "real",
    "recursive",
    "rollup",
    "rows",
    "show tables",
    "smallint",
    "stdin",
    "stdout",
    "substring",
    "sum",
    "text",
    "timestamp",
    "varchar",
];

/// Tells whether a lower-case name needs quotes to be a name.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.binary_search(&name).is_ok()
}

/// Returns every keyword that the shell completes.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    RESERVED.iter().chain(OTHERS).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_sorted_for_the_search() {
        assert!(RESERVED.is_sorted());
        assert!(is_reserved("where") && !is_reserved("lineitem"));
    }
}
