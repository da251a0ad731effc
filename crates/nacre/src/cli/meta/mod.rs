//! Commands of the shell, in psql's spelling (`\d`) and in SQLite's and DuckDB's (`.tables`).
//!
//! Both spellings are entries of one table ([`COMMANDS`]); help, completion and parsing use it.

mod help;
mod options;
mod parse;
mod run;

pub(crate) use parse::{COMMANDS, Complaint, Kind};
pub(crate) use run::{expand_home, run};
