//! What is there: tables, columns, the database itself.

use std::fmt::Write;

use nacre_column::ReplicaPolicy;
use nacre_store::{IsolationLevel, Table, TableSchema, Transaction};

use super::console::{Console, Flow};
use super::glob;
use super::meta::Complaint;
use super::render::text_box;
use super::tokens::{identifier_name, quote_identifier, quote_text};

/// `\d`: one table, tables that match a pattern, or a list of all.
pub(crate) fn table(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    let written = rest.trim_end_matches(';').trim();
    if written.is_empty() {
        return Ok(tables(console, ""));
    }
    let is_pattern = !written.starts_with('"') && written.contains(['*', '?', '%']);
    let mut text = String::new();
    if is_pattern {
        for table in console.database.store().tables() {
            if glob::matches(written, &table.schema().name) {
                text.push_str(&description(&table.schema()));
            }
        }
        if text.is_empty() {
            return Err(Complaint::new(format!("no table matches {written}")));
        }
    } else {
        text = description(&find(console, written)?.schema());
    }
    Ok(console.show(&text))
}

/// `\dt`.
pub(crate) fn tables(console: &mut Console, rest: &str) -> Flow {
    let pattern = rest.trim_end_matches(';').trim();
    let now = console.database.store().begin(IsolationLevel::RepeatableRead);
    let rows: Vec<Vec<String>> = console
        .database
        .store()
        .tables()
        .iter()
        .filter(|table| pattern.is_empty() || glob::matches(pattern, &table.schema().name))
        .map(|table| table_row(&now, table))
        .collect();
    if rows.is_empty() {
        let message = match pattern {
            "" => "There are no tables.\n".to_owned(),
            _ => format!("No table matches {pattern}.\n"),
        };
        return console.show(&message);
    }
    console.show(&text_box(&["Table", "Columns", "Rows", "Size", "Replicas"], rows))
}

/// `.tables`.
pub(crate) fn table_names(console: &mut Console, rest: &str) -> Flow {
    let pattern = rest.trim_end_matches(';').trim();
    let mut text = String::new();
    for table in console.database.store().tables() {
        let schema = table.schema();
        let name = &schema.name;
        if pattern.is_empty() || glob::matches(pattern, name) {
            let _ = writeln!(text, "{}", quote_identifier(name));
        }
    }
    console.show(&text)
}

/// `.schema`.
pub(crate) fn schema(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    let written = rest.trim_end_matches(';').trim();
    let text = if written.is_empty() {
        let tables = console.database.store().tables();
        tables.iter().map(|table| create_statement(&table.schema())).collect()
    } else {
        create_statement(&find(console, written)?.schema())
    };
    Ok(console.show(&text))
}

/// `\l`.
pub(crate) fn databases(console: &mut Console) -> Flow {
    let store = console.database.store();
    let rows = store.domains().into_iter().map(|domain| {
        vec![
            domain.name().to_owned(),
            domain.path().map_or("(memory)".to_owned(), |path| path.display().to_string()),
            domain.kind().to_string(),
            domain.durability().to_string(),
        ]
    });
    let missing = store.missing_domains().into_iter().map(|name| {
        let path =
            store.domain_path(&name).map_or(String::new(), |path| path.display().to_string());
        vec![name, path, "missing".to_owned(), String::new()]
    });
    let rows = rows.chain(missing).collect();
    let text = text_box(&["Domain", "Path", "Kind", "What is written"], rows);
    console.show(&text)
}

/// `\conninfo`.
pub(crate) fn connection(console: &mut Console) -> Flow {
    let access = if console.database.store().is_read_only() { ", read-only" } else { "" };
    let text = match &console.directory {
        Some(directory) => format!("Database in {}{access}.\n", directory.display()),
        None => "Volatile database in memory.\n".to_owned(),
    };
    console.show(&text)
}

/// Finds a table by its name as typed.
pub(crate) fn find(console: &Console, written: &str) -> Result<std::sync::Arc<Table>, Complaint> {
    // `public.t` is how PostgreSQL's hands write it.
    let written = written.strip_prefix("public.").unwrap_or(written);
    let name = identifier_name(written);
    console.database.store().table(&name).map_err(|_| {
        let complaint = Complaint::new(format!("relation \"{name}\" does not exist"));
        let similar = console.database.store().tables().into_iter().find(|table| {
            let schema = table.schema();
            let other = &schema.name;
            other.eq_ignore_ascii_case(&name) || other.starts_with(&name)
        });
        match similar {
            Some(table) => complaint
                .with_hint(format!("Did you mean {}?", quote_identifier(&table.schema().name))),
            None => complaint.with_hint("\\dt lists the tables."),
        }
    })
}

fn table_row(now: &Transaction, table: &std::sync::Arc<Table>) -> Vec<String> {
    let snapshot = now.table_snapshot(table);
    let schema = table.schema();
    vec![
        schema.name.clone(),
        schema.columns.len().to_string(),
        snapshot.rows().to_string(),
        bytes_text(snapshot.pool_bytes()),
        schema.replicas.clone().unwrap_or_default().to_string(),
    ]
}

/// Writes columns and keys of a table as psql's `\d` does.
fn description(schema: &TableSchema) -> String {
    let rows = schema.columns.iter().map(|column| {
        let nullable = if column.is_nullable { "" } else { "not null" };
        vec![column.name.clone(), column.column_type.to_string(), nullable.to_owned()]
    });
    let table = text_box(&["Column", "Type", "Nullable"], rows.collect());
    let mut text = format!("Table \"{}\"\n{table}", schema.name);
    if let Some(key) = key_columns(schema) {
        let _ = writeln!(text, "Indexes:\n    \"{}\" PRIMARY KEY ({key})", schema.primary_key_name);
    }
    let policy = schema.replicas.clone().unwrap_or_default();
    let _ = writeln!(text, "Replicas: {policy}");
    for column in &schema.columns {
        if let Some(policy) = &column.replicas {
            let _ = writeln!(text, "    {}: {policy}", quote_identifier(&column.name));
        }
    }
    text
}

/// Writes the statement that would create a table.
fn create_statement(schema: &TableSchema) -> String {
    let mut parts: Vec<String> = Vec::with_capacity(schema.columns.len() + 1);
    for column in &schema.columns {
        let not_null = if column.is_nullable { "" } else { " NOT NULL" };
        let name = quote_identifier(&column.name);
        parts.push(format!("    {name} {}{not_null}", column.column_type));
    }
    if let Some(key) = key_columns(schema) {
        let name = quote_identifier(&schema.primary_key_name);
        parts.push(format!("    CONSTRAINT {name} PRIMARY KEY ({key})"));
    }
    let option =
        |policy: &ReplicaPolicy| format!("(replicas = {})", quote_text(&policy.to_string()));
    let replicas = schema.replicas.as_ref().map(option);
    let replicas = replicas.map_or(String::new(), |option| format!(" WITH {option}"));
    let name = quote_identifier(&schema.name);
    let mut text = format!("CREATE TABLE {name} (\n{}\n){replicas};\n", parts.join(",\n"));
    for column in &schema.columns {
        if let Some(policy) = &column.replicas {
            let (column, option) = (quote_identifier(&column.name), option(policy));
            let _ = writeln!(text, "ALTER TABLE {name} ALTER COLUMN {column} SET {option};");
        }
    }
    text
}

fn key_columns(schema: &TableSchema) -> Option<String> {
    let key = schema.primary_key.as_ref()?;
    let names: Vec<String> = key
        .iter()
        .filter_map(|index| schema.columns.get(*index))
        .map(|column| quote_identifier(&column.name))
        .collect();
    Some(names.join(", "))
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
