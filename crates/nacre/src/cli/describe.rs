//! What is there: tables, columns, the database itself. Asked for in SQL, so that a server answers
//! as a database of our own does.

use std::fmt::Write;

use super::console::{Backend, Console, Flow};
use super::glob;
use super::meta::Complaint;
use super::render::text_box;
use super::tokens::{identifier_name, quote_identifier, quote_text};

/// Rows of a query of the shell's own; null is none.
pub(super) type Rows = Vec<Vec<Option<String>>>;

/// The policy of replicas that a table has which names none.
const DEFAULT_REPLICAS: &str = "auto, auto";

/// A table or view that is there.
struct Relation {
    name: String,
    oid: String,
    is_view: bool,
}

/// `\d`: one table, tables that match a pattern, or a list of all.
pub(crate) fn table(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    let written = rest.trim_end_matches(';').trim();
    if written.is_empty() {
        return tables(console, "");
    }
    let is_pattern = !written.starts_with('"') && written.contains(['*', '?', '%']);
    let mut text = String::new();
    if is_pattern {
        for relation in relations(console)? {
            if glob::matches(written, &relation.name) {
                text.push_str(&description(console, &relation)?);
            }
        }
        if text.is_empty() {
            return Err(Complaint::new(format!("no table matches {written}")));
        }
    } else {
        let relation = find(console, written)?;
        text = description(console, &relation)?;
    }
    Ok(console.show(&text))
}

/// `\dt`.
pub(crate) fn tables(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    let pattern = rest.trim_end_matches(';').trim();
    let sql = "SELECT table_name, columns, rows, bytes, replicas FROM nacre_catalog.nacre_tables \
               ORDER BY table_name";
    let is_wanted = |row: &Vec<String>| pattern.is_empty() || glob::matches(pattern, &row[0]);
    let with_size = |mut row: Vec<String>| {
        row[3] = row[3].parse().map_or(String::new(), bytes_text);
        row
    };
    let rows = texts(ask(console, sql)?);
    let rows: Vec<Vec<String>> = rows.into_iter().filter(is_wanted).map(with_size).collect();
    if rows.is_empty() {
        let message = match pattern {
            "" => "There are no tables.\n".to_owned(),
            _ => format!("No table matches {pattern}.\n"),
        };
        return Ok(console.show(&message));
    }
    Ok(console.show(&text_box(&["Table", "Columns", "Rows", "Size", "Replicas"], rows)))
}

/// `.tables`.
pub(crate) fn table_names(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    let pattern = rest.trim_end_matches(';').trim();
    let mut text = String::new();
    for Relation { name, .. } in relations(console)? {
        if pattern.is_empty() || glob::matches(pattern, &name) {
            let _ = writeln!(text, "{}", quote_identifier(&name));
        }
    }
    Ok(console.show(&text))
}

/// `.schema`.
pub(crate) fn schema(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    let written = rest.trim_end_matches(';').trim();
    let mut wanted = match written {
        "" => relations(console)?,
        _ => vec![find(console, written)?],
    };
    // What refers to others is younger than they are.
    let age = |relation: &Relation| relation.oid.parse::<u64>().unwrap_or(u64::MAX);
    wanted.sort_by_key(|relation| (relation.is_view, age(relation)));
    let mut text = String::new();
    for relation in &wanted {
        text.push_str(&create_statement(console, relation)?);
    }
    Ok(console.show(&text))
}

/// `\l`.
pub(crate) fn databases(console: &mut Console) -> Result<Flow, Complaint> {
    let sql = "SELECT domain, coalesce(path, '(memory)'), kind, coalesce(durability, '') \
               FROM nacre_catalog.nacre_domains";
    let rows = texts(ask(console, sql)?);
    Ok(console.show(&text_box(&["Domain", "Path", "Kind", "What is written"], rows)))
}

/// `\conninfo`.
pub(crate) fn connection(console: &mut Console) -> Flow {
    let text = match &console.backend {
        Backend::Embedded(embedded) => {
            let is_read_only = embedded.database.store().is_read_only();
            let access = if is_read_only { ", read-only" } else { "" };
            match &embedded.directory {
                Some(directory) => format!("Database in {}{access}.\n", directory.display()),
                None => "Volatile database in memory.\n".to_owned(),
            }
        }
        Backend::Remote(remote) => {
            let encryption = if remote.is_encrypted { ", encrypted" } else { "" };
            let target = &remote.target;
            let (database, user, place) = (&target.database, &target.user, target.place());
            format!("Connected to database {database} at {place} as {user}{encryption}.\n")
        }
    };
    console.show(&text)
}

/// Returns the names of a table's columns; `None` if there is no such table.
pub(crate) fn column_names(
    console: &mut Console,
    table: &str,
) -> Result<Option<Vec<String>>, Complaint> {
    let table = quote_text(table);
    let sql = format!(
        "SELECT column_name FROM nacre_catalog.nacre_columns WHERE table_name = {table} \
         ORDER BY position"
    );
    let names: Vec<String> = texts(ask(console, &sql)?).into_iter().flatten().collect();
    Ok((!names.is_empty()).then_some(names))
}

/// Runs a query of the shell's own.
pub(super) fn ask(console: &mut Console, sql: &str) -> Result<Rows, Complaint> {
    console.query(sql).map_err(|error| Complaint::new(error.message().to_owned()))
}

/// Returns the values as texts, those that are null as empty ones.
pub(super) fn texts(rows: Rows) -> Vec<Vec<String>> {
    let row = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default).collect();
    rows.into_iter().map(row).collect()
}

/// Returns the tables and views of the user, by name.
fn relations(console: &mut Console) -> Result<Vec<Relation>, Complaint> {
    let sql = "SELECT c.relname, c.oid, c.relkind FROM pg_catalog.pg_class c \
               JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
               WHERE c.relkind IN ('r', 'v') AND n.nspname = 'public' ORDER BY c.relname";
    let relation = |row: Vec<String>| {
        let [name, oid, kind] = <[String; 3]>::try_from(row).ok()?;
        Some(Relation { name, oid, is_view: kind == "v" })
    };
    Ok(texts(ask(console, sql)?).into_iter().filter_map(relation).collect())
}

/// Finds a table or view by its name as typed.
fn find(console: &mut Console, written: &str) -> Result<Relation, Complaint> {
    // `public.t` is how PostgreSQL's hands write it.
    let written = written.strip_prefix("public.").unwrap_or(written);
    let name = identifier_name(written);
    let all = relations(console)?;
    let is_similar =
        |other: &&Relation| other.name.eq_ignore_ascii_case(&name) || other.name.starts_with(&name);
    let hint = match all.iter().find(is_similar) {
        Some(other) => format!("Did you mean {}?", quote_identifier(&other.name)),
        None => "\\dt lists the tables.".to_owned(),
    };
    all.into_iter().find(|relation| relation.name == name).ok_or_else(|| {
        Complaint::new(format!("relation \"{name}\" does not exist")).with_hint(hint)
    })
}

/// Returns name, type, whether it may be null, default and identity of each column.
fn columns(console: &mut Console, relation: &Relation) -> Result<Vec<Vec<String>>, Complaint> {
    let sql = format!(
        "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, \
         pg_catalog.pg_get_expr(d.adbin, d.adrelid), a.attidentity \
         FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d \
         ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
         WHERE a.attrelid = {} AND a.attnum > 0 ORDER BY a.attnum",
        relation.oid
    );
    Ok(texts(ask(console, &sql)?))
}

/// Returns name, kind and text of each constraint of a table.
fn constraints(console: &mut Console, relation: &Relation) -> Result<Vec<Vec<String>>, Complaint> {
    let sql = format!(
        "SELECT conname, contype, pg_catalog.pg_get_constraintdef(oid) \
         FROM pg_catalog.pg_constraint WHERE conrelid = {} ORDER BY contype = 'p' DESC, conname",
        relation.oid
    );
    Ok(texts(ask(console, &sql)?))
}

/// Returns the policy of a table's replicas, and the columns with one of their own.
fn replicas(
    console: &mut Console,
    relation: &Relation,
) -> Result<(String, Vec<Vec<String>>), Complaint> {
    let name = quote_text(&relation.name);
    let sql = format!("SELECT replicas FROM nacre_catalog.nacre_tables WHERE table_name = {name}");
    let of_table = texts(ask(console, &sql)?).into_iter().flatten().next().unwrap_or_default();
    let sql = format!(
        "SELECT column_name, replicas FROM nacre_catalog.nacre_columns \
         WHERE table_name = {name} AND has_own_replicas ORDER BY position"
    );
    Ok((of_table, texts(ask(console, &sql)?)))
}

fn view_text(console: &mut Console, relation: &Relation) -> Result<String, Complaint> {
    let sql = format!("SELECT pg_catalog.pg_get_viewdef({})", relation.oid);
    Ok(texts(ask(console, &sql)?).into_iter().flatten().next().unwrap_or_default())
}

/// What a column gets that is given nothing.
fn default_text(column: &[String]) -> String {
    match column[4].as_str() {
        "a" => "generated always as identity".to_owned(),
        "d" => "generated by default as identity".to_owned(),
        _ => column[3].clone(),
    }
}

/// Writes columns, indexes and constraints of a table as psql's `\d` does.
fn description(console: &mut Console, relation: &Relation) -> Result<String, Complaint> {
    let rows = columns(console, relation)?.into_iter().map(|column| {
        let nullable = if column[2] == "true" { "not null" } else { "" };
        let default = default_text(&column);
        vec![column[0].clone(), column[1].clone(), nullable.to_owned(), default]
    });
    let table = text_box(&["Column", "Type", "Nullable", "Default"], rows.collect());
    if relation.is_view {
        let text = view_text(console, relation)?;
        return Ok(format!("View \"{}\"\n{table}View definition:\n{text}\n", relation.name));
    }
    let mut text = format!("Table \"{}\"\n{table}", relation.name);
    let indexes = index_lines(console, relation)?;
    let all = constraints(console, relation)?;
    let named = |kind: &str| -> Vec<String> {
        let of_kind = all.iter().filter(|row| row[1] == kind);
        of_kind.map(|row| format!("    \"{}\" {}\n", row[0], row[2])).collect()
    };
    let sql = format!(
        "SELECT r.relname, c.conname, pg_catalog.pg_get_constraintdef(c.oid) \
         FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid \
         WHERE c.confrelid = {} AND c.contype = 'f' ORDER BY 1, 2",
        relation.oid
    );
    let referencing = texts(ask(console, &sql)?)
        .into_iter()
        .map(|row| format!("    TABLE \"{}\" CONSTRAINT \"{}\" {}\n", row[0], row[1], row[2]));
    let parts = [
        ("Indexes", indexes),
        ("Check constraints", named("c")),
        ("Foreign-key constraints", named("f")),
        ("Referenced by", referencing.collect()),
    ];
    for (title, lines) in parts.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let _ = write!(text, "{title}:\n{}", lines.concat());
    }
    let (policy, own) = replicas(console, relation)?;
    let _ = writeln!(text, "Replicas: {policy}");
    for column in own {
        let _ = writeln!(text, "    {}: {}", quote_identifier(&column[0]), column[1]);
    }
    Ok(text)
}

fn index_lines(console: &mut Console, relation: &Relation) -> Result<Vec<String>, Complaint> {
    let sql = format!(
        "SELECT index_name, columns, is_unique, kind, origin FROM nacre_catalog.nacre_indexes \
         WHERE table_name = {} ORDER BY origin = 'primary key' DESC, index_name",
        quote_text(&relation.name)
    );
    let line = |row: Vec<String>| {
        let what = match (row[4].as_str(), row[2].as_str()) {
            ("primary key", _) => "PRIMARY KEY".to_owned(),
            ("unique constraint", _) => "UNIQUE CONSTRAINT".to_owned(),
            (_, "true") => format!("UNIQUE {}", row[3]),
            _ => row[3].clone(),
        };
        format!("    \"{}\" {what} ({})\n", row[0], row[1])
    };
    Ok(texts(ask(console, &sql)?).into_iter().map(line).collect())
}

/// Writes the statements that would create a table with its indexes, or a view.
fn create_statement(console: &mut Console, relation: &Relation) -> Result<String, Complaint> {
    let name = quote_identifier(&relation.name);
    if relation.is_view {
        let text = view_text(console, relation)?;
        return Ok(format!("CREATE VIEW {name} AS\n{text}\n"));
    }
    let mut parts: Vec<String> = Vec::new();
    for column in columns(console, relation)? {
        let not_null = if column[2] == "true" { " NOT NULL" } else { "" };
        let default = match (column[4].as_str(), column[3].as_str()) {
            ("a", _) => " GENERATED ALWAYS AS IDENTITY".to_owned(),
            ("d", _) => " GENERATED BY DEFAULT AS IDENTITY".to_owned(),
            (_, "") => String::new(),
            (_, default) => format!(" DEFAULT {default}"),
        };
        let column_name = quote_identifier(&column[0]);
        parts.push(format!("    {column_name} {}{default}{not_null}", column[1]));
    }
    for row in constraints(console, relation)? {
        parts.push(format!("    CONSTRAINT {} {}", quote_identifier(&row[0]), row[2]));
    }
    let (policy, own) = replicas(console, relation)?;
    let option = |policy: &str| format!("(replicas = {})", quote_text(policy));
    let with = match policy == DEFAULT_REPLICAS {
        true => String::new(),
        false => format!(" WITH {}", option(&policy)),
    };
    let mut text = format!("CREATE TABLE {name} (\n{}\n){with};\n", parts.join(",\n"));
    for column in own {
        let (column, option) = (quote_identifier(&column[0]), option(&column[1]));
        let _ = writeln!(text, "ALTER TABLE {name} ALTER COLUMN {column} SET {option};");
    }
    let sql = format!(
        "SELECT d.indexdef, i.kind FROM pg_catalog.pg_indexes d JOIN nacre_catalog.nacre_indexes i \
         ON i.index_name = d.indexname AND i.table_name = d.tablename \
         WHERE i.table_name = {} AND i.origin = 'create index' ORDER BY 1",
        quote_text(&relation.name)
    );
    for row in texts(ask(console, &sql)?) {
        // PostgreSQL's text has its own words for kinds.
        let index = match row[1].as_str() {
            "hybrid" => row[0].replacen(" USING btree ", " USING hybrid ", 1),
            _ => row[0].clone(),
        };
        let _ = writeln!(text, "{index};");
    }
    Ok(text)
}

/// Writes bytes with a unit of 1,024 steps: `812 bytes`, `1.2 MiB`.
pub(crate) fn bytes_text(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1 << 10 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_carry_units() {
        assert_eq!(bytes_text(0), "0 bytes");
        assert_eq!(bytes_text(1_536), "1.5 KiB");
        assert_eq!(bytes_text(3 << 30), "3.0 GiB");
        assert_eq!(bytes_text(u64::MAX), "16384.0 PiB");
    }
}
