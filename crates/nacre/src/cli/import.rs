//! `.import FILE TABLE`: loads a CSV file without asking how it is made.
//!
//! 1. The delimiter is what cuts the first record into the most fields (`,`, tab, `|` or `;`),
//!    unless `--delimiter` says.
//! 2. If the table exists, the first record is a header if its fields are names of the table's
//!    columns, in any order; then they say which column goes where. Else it is data.
//! 3. If the table does not exist, it is created: the first record is the header if all its
//!    fields are text while some column below is not, or if all its fields are distinct words.
//!    Types are guessed from a sample; a value further down that does not fit ends the import, and
//!    the table goes away again.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::PathBuf;

use super::console::{Console, Flow};
use super::describe;
use super::line_reader::DataSource;
use super::meta::{Complaint, expand_home};
use super::place::Place;
use super::report;
use super::sniff::{Guess, Sample, guess_type, sample};
use super::tokens::{identifier_name, quote_identifier, quote_text};

/// Runs `.import`.
pub(crate) fn run(
    console: &mut Console,
    arguments: &[String],
    place: &Place,
) -> Result<Flow, Complaint> {
    let (delimiter, names) = parse(arguments)?;
    let [file, table] = names.as_slice() else {
        return Err(Complaint::new(".import wants a file and a table")
            .with_hint(".import [--delimiter C] FILE TABLE"));
    };
    let path = expand_home(file);
    let failed =
        |error: io::Error| Complaint::new(format!("cannot import {}: {error}", path.display()));
    let mut reader = BufReader::new(File::open(&path).map_err(failed)?);
    let Some(sample) = sample(&mut reader, delimiter).map_err(failed)? else {
        return Err(Complaint::new(format!("cannot import {}: it is empty", path.display())));
    };
    let exact = describe::column_names(console, table)?;
    let (written, existing) = match exact {
        Some(columns) => ((*table).clone(), Some(columns)),
        None => {
            let folded = identifier_name(table);
            let columns = describe::column_names(console, &folded)?;
            (folded, columns)
        }
    };
    let (create, columns, has_header) = match &existing {
        Some(names) => {
            let columns = header_columns(names, &sample.first);
            let has_header = columns.is_some();
            (None, columns, has_header)
        }
        None => {
            let has_header = looks_like_header(&sample);
            (Some(create_statement(&written, &sample, has_header)?), None, has_header)
        }
    };
    if let Some(create) = &create {
        let flow = console.run_quietly(create, place);
        if flow != Flow::Continue {
            return Ok(flow);
        }
    }
    let columns = columns.map_or(String::new(), |columns| format!(" ({})", columns.join(", ")));
    let source = console.file_source(&path);
    let copy = format!(
        "COPY {}{columns} FROM {source} (FORMAT csv, HEADER {has_header}, DELIMITER {})",
        quote_identifier(&written),
        quote_text(&sample.delimiter.to_string()),
    );
    let flow = console.run_statement(&copy, place, &mut FileData(path));
    if create.is_some() && flow != Flow::Continue {
        let drop = format!("DROP TABLE IF EXISTS {}", quote_identifier(&written));
        console.run_quietly(&drop, place);
        report::print(
            "HINT:  The types of the new table were guessed from the first records. CREATE TABLE \
             first to say them yourself.\n",
        );
    }
    Ok(flow)
}

/// The data of a file, for a server that cannot read it itself.
pub(super) struct FileData(pub(super) PathBuf);

impl DataSource for FileData {
    fn open(&mut self) -> Option<Box<dyn io::Read + Send>> {
        match File::open(&self.0) {
            Ok(file) => Some(Box::new(file)),
            // The statement fails by it.
            Err(error) => {
                let message = format!("cannot open file {}: {error}", self.0.display());
                Some(Box::new(Unreadable(Some(io::Error::new(error.kind(), message)))))
            }
        }
    }

    fn close(&mut self) {}
}

/// A file that could not be opened.
struct Unreadable(Option<io::Error>);

impl io::Read for Unreadable {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

fn parse(arguments: &[String]) -> Result<(Option<char>, Vec<&String>), Complaint> {
    let mut delimiter = None;
    let mut names = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--csv" => delimiter = Some(','),
            "--delimiter" | "-d" => {
                let text = arguments.next().map_or("", String::as_str);
                let mut chars = if text == "\\t" { "\t" } else { text }.chars();
                match (chars.next(), chars.next()) {
                    (Some(c), None) if c.is_ascii() => delimiter = Some(c),
                    _ => {
                        let message = format!("a delimiter is one ASCII character, not \"{text}\"");
                        return Err(Complaint::new(message));
                    }
                }
            }
            other if other.starts_with("--") => {
                return Err(Complaint::new(format!("unknown option {other} of .import"))
                    .with_hint("There are --csv and --delimiter C."));
            }
            _ => names.push(argument),
        }
    }
    Ok((delimiter, names))
}

/// Returns the columns that a header names, if it is one for this table.
fn header_columns(names: &[String], first: &[String]) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut columns = Vec::with_capacity(first.len());
    for field in first {
        let field = field.trim();
        let column = names.iter().find(|name| name.eq_ignore_ascii_case(field))?;
        if !seen.insert(column) {
            return None;
        }
        columns.push(quote_identifier(column));
    }
    Some(columns)
}

fn looks_like_header(sample: &Sample) -> bool {
    let is_text = |field: &String| guess_type(field) == Guess::Text;
    if !sample.first.iter().all(|field| is_text(field) && !field.trim().is_empty()) {
        return false;
    }
    let has_other_types =
        sample.guesses.iter().any(|guess| !matches!(guess, Guess::Text | Guess::Unknown));
    let distinct: BTreeSet<String> =
        sample.first.iter().map(|field| field.trim().to_lowercase()).collect();
    let is_word = |field: &String| {
        field.trim().chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '-' | '.'))
    };
    has_other_types || (distinct.len() == sample.first.len() && sample.first.iter().all(is_word))
}

/// Writes the statement that creates a table for a sample.
fn create_statement(table: &str, sample: &Sample, has_header: bool) -> Result<String, Complaint> {
    let mut names = BTreeSet::new();
    let mut columns = Vec::with_capacity(sample.first.len());
    for (index, (field, guess)) in sample.first.iter().zip(&sample.guesses).enumerate() {
        let mut name = if has_header { field.trim().to_lowercase() } else { String::new() };
        if name.is_empty() {
            name = format!("column{}", index + 1);
        }
        while !names.insert(name.clone()) {
            name.push('_');
        }
        // Without a header the first record is data like the others.
        let guess = if has_header { *guess } else { guess.joined_with(field) };
        columns.push(format!("{} {}", quote_identifier(&name), guess.sql_type()));
    }
    if columns.is_empty() {
        return Err(Complaint::new("the file's first line is empty"));
    }
    Ok(format!("CREATE TABLE {} ({})", quote_identifier(table), columns.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(text: &str) -> Sample {
        sample(&mut text.as_bytes(), None).unwrap().unwrap()
    }

    fn created(text: &str) -> String {
        let sample = sampled(text);
        create_statement("t", &sample, looks_like_header(&sample)).unwrap()
    }

    #[test]
    fn new_table_takes_names_and_types_from_the_file() {
        assert_eq!(
            created("Id,Full Name,when\n1,a,2024-01-01\n"),
            "CREATE TABLE t (id bigint, \"full name\" text, \"when\" date)"
        );
        assert_eq!(created("name,city\na,b\n"), "CREATE TABLE t (name text, city text)");
        assert_eq!(created("1,a\n2,b\n"), "CREATE TABLE t (column1 bigint, column2 text)");
        assert_eq!(created("1\n2.5\n"), "CREATE TABLE t (column1 double precision)");
        assert_eq!(created("a,a\n1,2\n"), "CREATE TABLE t (a bigint, a_ bigint)");
    }

    #[test]
    fn options_stand_before_or_after_the_names() {
        let arguments: Vec<String> =
            ["f", "--delimiter", "\\t", "t"].iter().map(|text| (*text).to_owned()).collect();
        let (delimiter, names) = parse(&arguments).unwrap();
        assert_eq!((delimiter, names.len()), (Some('\t'), 2));
        assert!(parse(&["--skip".to_owned()]).is_err());
        assert!(parse(&["--delimiter".to_owned(), "ab".to_owned()]).is_err());
    }
}
