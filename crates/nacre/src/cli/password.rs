//! `nacre password`: the password of a role, while nothing else has the database open.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use nacre_sql::{Database, Error, ErrorKind, OpenOptions, Result};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::arguments::PasswordArguments;
use super::place::Place;
use super::report;

/// It was not set.
const EXIT_UNUSABLE: u8 = 1;

/// Sets the password and returns the exit code.
pub(crate) fn run(given: PasswordArguments) -> u8 {
    match set(&given.directory, &given.role) {
        Ok(()) => 0,
        Err(error) => {
            report::print_error(&error, "", &Place::Typed);
            EXIT_UNUSABLE
        }
    }
}

fn set(directory: &Path, role: &str) -> Result<()> {
    if !directory.is_dir() {
        let message = format!("there is no database directory {}", directory.display());
        return Err(Error::new(ErrorKind::Open, message));
    }
    let directory = Some(directory.to_path_buf());
    let database = Database::open(OpenOptions { directory, ..OpenOptions::default() })?;
    let password = read(role).map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
    database.set_password(role, &password)
}

/// Reads a password: twice and unseen from a terminal, else the first line.
fn read(role: &str) -> io::Result<String> {
    if !io::stdin().is_terminal() {
        return line();
    }
    let password = ask(&format!("Password for role \"{role}\" (empty: none): "))?;
    match ask("Again: ")? == password {
        true => Ok(password),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "the two are not the same")),
    }
}

/// Asks on the terminal, which does not show the answer.
pub(crate) fn ask(question: &str) -> io::Result<String> {
    let mut errors = io::stderr();
    errors.write_all(question.as_bytes())?;
    errors.flush()?;
    let before = tcgetattr(io::stdin())?;
    let mut unseen = before.clone();
    unseen.local_modes.remove(LocalModes::ECHO);
    tcsetattr(io::stdin(), OptionalActions::Flush, &unseen)?;
    let answer = line();
    tcsetattr(io::stdin(), OptionalActions::Flush, &before)?;
    errors.write_all(b"\n")?;
    answer
}

fn line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let end = line.trim_end_matches(['\n', '\r']).len();
    line.truncate(end);
    Ok(line)
}
