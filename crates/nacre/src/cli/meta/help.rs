//! Help texts of the shell.

use std::fmt::Write;

use super::parse::{COMMANDS, Complaint};

/// SQL commands: name, syntax.
const SQL: &[(&str, &str)] = &[
    (
        "ALTER ROLE",
        "ALTER ROLE role [WITH] option ...\nALTER ROLE role RENAME TO name\n\
         options: see CREATE ROLE, but for IN ROLE, ROLE and ADMIN",
    ),
    (
        "ALTER TABLE",
        "ALTER TABLE [IF EXISTS] table [ALTER [COLUMN] column]\n    \
         SET (replicas = 'FORMAT[@PLACE], ...') | RESET (replicas)\n\
         formats: auto, plain, static_bp, dict, dynamic_bp, simd_bp128, simd_fastpfor,\n         \
         delta_bp, for_bp, rle, lz4_fast, lz4, lz4_high, snappy, fsst\n\
         places: a memory domain, dram, any\n\
         ALTER TABLE | VIEW | SEQUENCE | SCHEMA | DATABASE name OWNER TO role",
    ),
    (
        "BEGIN",
        "BEGIN [ISOLATION LEVEL SERIALIZABLE | REPEATABLE READ | READ COMMITTED]\n      \
         [READ ONLY | READ WRITE]",
    ),
    ("COMMIT", "COMMIT [AND [NO] CHAIN]"),
    (
        "COPY FROM",
        "COPY table [(column, ...)] FROM 'file' | STDIN [(option, ...)]\n\
         options: FORMAT csv, HEADER [true | false | match], DELIMITER ',', QUOTE '\"',\n         \
         ESCAPE '\"', NULL ''",
    ),
    ("COPY TO", "COPY table [(column, ...)] | (query) TO 'file' | STDOUT [(option, ...)]"),
    (
        "CREATE ROLE",
        "CREATE ROLE | USER role [WITH] option ...\n\
         options: [NO]SUPERUSER, [NO]CREATEDB, [NO]CREATEROLE, [NO]INHERIT, [NO]LOGIN,\n         \
         CONNECTION LIMIT n, PASSWORD 'password' | NULL, VALID UNTIL 'time',\n         \
         IN ROLE role, ...; ROLE role, ...; ADMIN role, ...",
    ),
    (
        "CREATE TABLE",
        "CREATE TABLE [IF NOT EXISTS] table (\n    column type [NOT NULL] [PRIMARY KEY], ...\n    \
         [, PRIMARY KEY (column, ...)]\n) [WITH (replicas = 'FORMAT[@PLACE], ...')]\n\
         types: boolean, smallint, integer, bigint, decimal(p, s), real, double precision,\n       \
         date, timestamp, varchar(n), text, char(n), bytea",
    ),
    (
        "DELETE",
        "DELETE FROM table [AS name] [USING table, ...] [WHERE condition]\n\
         [RETURNING expression, ... | *]",
    ),
    ("DROP OWNED", "DROP OWNED BY role, ... [CASCADE | RESTRICT]"),
    ("DROP ROLE", "DROP ROLE [IF EXISTS] role, ..."),
    ("DROP TABLE", "DROP TABLE [IF EXISTS] table"),
    ("EXPLAIN", "EXPLAIN [ANALYZE] query"),
    (
        "GRANT",
        "GRANT privilege, ... | ALL ON [TABLE] name, ... | SEQUENCE name, ... |\n      \
         ALL TABLES IN SCHEMA public | ALL SEQUENCES IN SCHEMA public |\n      \
         SCHEMA public | DATABASE nacre\n      TO role, ... [WITH GRANT OPTION]\n\
         GRANT role, ... TO role, ... [WITH ADMIN OPTION]\n\
         privileges: SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER,\n            \
         USAGE, CREATE, CONNECT, TEMPORARY",
    ),
    (
        "INSERT",
        "INSERT INTO table [(column, ...)] VALUES (expression, ...), ... | query\n\
         [RETURNING expression, ... | *]",
    ),
    ("REASSIGN OWNED", "REASSIGN OWNED BY role, ... TO role"),
    ("RELEASE", "RELEASE [SAVEPOINT] name"),
    (
        "REVOKE",
        "REVOKE [GRANT OPTION FOR] privilege, ... | ALL ON ... FROM role, ...\n       \
         [CASCADE | RESTRICT]\n\
         REVOKE [ADMIN OPTION FOR] role, ... FROM role, ...",
    ),
    ("ROLLBACK", "ROLLBACK [AND [NO] CHAIN]\nROLLBACK TO [SAVEPOINT] name"),
    ("SAVEPOINT", "SAVEPOINT name"),
    (
        "SELECT",
        "[WITH [RECURSIVE] name AS (query), ...]\nSELECT [DISTINCT] expression, ...\n\
         FROM table | (query) [JOIN ... ON ... | USING (...)], ...\nWHERE condition\n\
         GROUP BY expression | ROLLUP (...) | CUBE (...) | GROUPING SETS (...)\nHAVING condition\n\
         WINDOW name AS (...)\nUNION | INTERSECT | EXCEPT [ALL] query\n\
         ORDER BY expression [ASC | DESC] [NULLS FIRST | LAST], ...\nLIMIT n OFFSET n",
    ),
    ("SET ROLE", "SET [LOCAL] ROLE role | NONE\nRESET ROLE"),
    (
        "SET SESSION AUTHORIZATION",
        "SET [LOCAL] SESSION AUTHORIZATION role | DEFAULT\nRESET SESSION AUTHORIZATION",
    ),
    (
        "SET TRANSACTION",
        "SET TRANSACTION ISOLATION LEVEL level | READ ONLY | READ WRITE\n\
         SET SESSION CHARACTERISTICS AS TRANSACTION ...",
    ),
    ("SHOW TABLES", "SHOW TABLES"),
    ("TRUNCATE", "TRUNCATE [TABLE] table"),
    (
        "UPDATE",
        "UPDATE table [AS name] SET column = expression, ... [FROM table, ...]\n\
         [WHERE condition] [RETURNING expression, ... | *]",
    ),
    ("VALUES", "VALUES (expression, ...), ..."),
];

/// Returns the list of the shell's commands.
pub(super) fn commands() -> String {
    let left = |names: &[&str], arguments: &str| {
        let names: Vec<&str> = names.iter().copied().filter(|name| !name.ends_with('+')).collect();
        format!("{} {arguments}", names.join(", "))
    };
    let lines: Vec<(String, &str)> = COMMANDS
        .iter()
        .map(|command| (left(command.names, command.arguments), command.help))
        .collect();
    let width = lines.iter().map(|(left, _)| left.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (left, help) in lines {
        let _ = writeln!(text, "  {left:width$}  {help}");
    }
    text.push_str("A statement ends with `;`. Ctrl-C cancels it, Ctrl-D ends the shell.\n");
    text
}

/// Returns the syntax of a SQL command, or the list of commands.
pub(super) fn sql(topic: &str) -> Result<String, Complaint> {
    let topic = topic.trim_end_matches(';').trim().to_uppercase();
    if topic.is_empty() {
        let names: Vec<&str> = SQL.iter().map(|(name, _)| *name).collect();
        return Ok(format!("{}\n\\h COMMAND shows the syntax of one.\n", names.join("\n")));
    }
    let mut text = String::new();
    for (_, syntax) in SQL.iter().filter(|(name, _)| name.starts_with(&topic)) {
        let _ = writeln!(text, "{syntax}\n");
    }
    if text.is_empty() {
        let message = format!("no help for \"{topic}\"");
        return Err(Complaint::new(message).with_hint("\\h alone lists the SQL commands."));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_the_list() {
        let text = commands();
        for command in COMMANDS {
            assert!(text.contains(command.names[0]) && text.contains(command.help));
        }
    }

    #[test]
    fn syntax_is_found_by_a_prefix() {
        assert!(sql("copy").unwrap().contains("STDOUT"));
        assert!(sql("create table;").unwrap().contains("PRIMARY KEY"));
        assert!(sql("create table").unwrap().contains("replicas = "));
        assert!(sql("alter table").unwrap().contains("RESET (replicas)"));
        assert!(sql("").unwrap().contains("SELECT"));
        assert!(sql("vacuum").is_err());
    }
}
