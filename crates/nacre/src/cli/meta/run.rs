//! What each command does.

use std::path::{Path, PathBuf};

use super::parse::{Complaint, Kind, parse_line, split_arguments};
use super::{help, options};
use crate::cli::assemble::Assembler;
use crate::cli::console::{Console, Flow};
use crate::cli::line_reader::DataSource;
use crate::cli::place::Place;
use crate::cli::render::Mode;
use crate::cli::tokens::{copy_direction, quote_text, tokens};
use crate::cli::{describe, edit, import, report, script};

/// Runs one command; complaints are printed.
pub(crate) fn run(
    console: &mut Console,
    line: &str,
    assembler: &mut Assembler,
    data: &mut dyn DataSource,
    place: &Place,
) -> Flow {
    let outcome = parse_line(line).and_then(|(command, rest)| {
        let mut call = Call { console, assembler, data, place, rest };
        call.run(command.kind)
    });
    match outcome {
        Ok(flow) => flow,
        Err(complaint) => {
            report::print_message(&complaint.message, complaint.hint.as_deref(), place);
            Flow::Failed
        }
    }
}

/// A command with all it may need.
struct Call<'a> {
    console: &'a mut Console,
    assembler: &'a mut Assembler,
    data: &'a mut dyn DataSource,
    place: &'a Place,
    rest: &'a str,
}

impl Call<'_> {
    fn run(&mut self, kind: Kind) -> Result<Flow, Complaint> {
        let rest = self.rest;
        match kind {
            Kind::Quit => Ok(Flow::Quit),
            Kind::Help => Ok(self.console.show(&help::commands())),
            Kind::SqlHelp => Ok(self.console.show(&help::sql(rest)?)),
            Kind::Describe => describe::table(self.console, rest),
            Kind::Tables => Ok(describe::tables(self.console, rest)),
            Kind::TableNames => Ok(describe::table_names(self.console, rest)),
            Kind::Schema => describe::schema(self.console, rest),
            Kind::Databases => Ok(describe::databases(self.console)),
            Kind::Connection => Ok(describe::connection(self.console)),
            Kind::Include => {
                let path = self.path()?;
                Ok(script::run_file(self.console, &path, self.place))
            }
            Kind::Copy => self.copy(),
            Kind::Import => import::run(self.console, &split_arguments(rest)?, self.place),
            Kind::Output => self.output(),
            Kind::Edit => self.edit(),
            Kind::Execute => Ok(self.execute()),
            Kind::ExecuteExpanded => {
                let mode = std::mem::replace(&mut self.console.style.mode, Mode::Line);
                let flow = self.execute();
                self.console.style.mode = mode;
                Ok(flow)
            }
            Kind::PrintBuffer => Ok(self.console.say(self.assembler.text())),
            Kind::ResetBuffer => {
                self.assembler.clear();
                Ok(Flow::Continue)
            }
            Kind::Timing => options::timing(self.console, rest),
            Kind::Expanded => options::expanded(self.console, rest),
            Kind::TuplesOnly => options::headers(self.console, rest, true),
            Kind::Headers => options::headers(self.console, rest, false),
            Kind::Mode => options::mode(self.console, rest),
            Kind::NullText => options::null_text(self.console, rest),
            Kind::Option => options::option(self.console, rest),
            Kind::Echo => Ok(self.console.show(&format!("{}\n", split_arguments(rest)?.join(" ")))),
            Kind::ChangeDirectory => self.change_directory(),
        }
    }

    /// Runs what was typed so far, or the last statement again.
    fn execute(&mut self) -> Flow {
        let mut statements: Vec<String> =
            self.assembler.finish().into_iter().map(|statement| statement.text).collect();
        if statements.is_empty() && !self.console.last_statement.is_empty() {
            statements.push(self.console.last_statement.clone());
        }
        for statement in statements {
            match self.console.run_statement(&statement, self.place, self.data) {
                Flow::Continue => {}
                other => return other,
            }
        }
        Flow::Continue
    }

    fn copy(&mut self) -> Result<Flow, Complaint> {
        let statement = copy_statement(self.rest)?;
        Ok(self.console.run_statement(&statement, self.place, self.data))
    }

    fn output(&mut self) -> Result<Flow, Complaint> {
        if self.rest.starts_with('|') {
            return Err(Complaint::new("answers cannot go to a program")
                .with_hint("Start it outside: nacre DIR -c '...' | program"));
        }
        let path = split_arguments(self.rest)?.into_iter().next().map(|path| expand_home(&path));
        let path = path.filter(|path| path != Path::new("stdout"));
        match self.console.output.redirect(path.as_deref()) {
            Ok(()) => Ok(Flow::Continue),
            Err(error) => {
                let target = path.map_or("standard output".to_owned(), |p| p.display().to_string());
                Err(Complaint::new(format!("cannot write to {target}: {error}")))
            }
        }
    }

    fn edit(&mut self) -> Result<Flow, Complaint> {
        if !self.console.behaviour.is_interactive {
            return Err(Complaint::new("\\e needs the interactive shell"));
        }
        let before = match self.assembler.text() {
            "" => self.console.last_statement.clone(),
            typed => typed.to_owned(),
        };
        let after = edit::edit(&before).map_err(Complaint::new)?;
        self.assembler.clear();
        for (index, line) in after.lines().enumerate() {
            for statement in self.assembler.push_line(line, index + 1) {
                match self.console.run_statement(&statement.text, self.place, self.data) {
                    Flow::Continue => {}
                    other => return Ok(other),
                }
            }
        }
        Ok(Flow::Continue)
    }

    fn change_directory(&mut self) -> Result<Flow, Complaint> {
        let path = match self.rest {
            "" => expand_home("~"),
            _ => self.path()?,
        };
        std::env::set_current_dir(&path).map_err(|error| {
            Complaint::new(format!("cannot change to directory {}: {error}", path.display()))
        })?;
        Ok(Flow::Continue)
    }

    /// Reads the one argument as a path.
    fn path(&self) -> Result<PathBuf, Complaint> {
        let arguments = split_arguments(self.rest)?;
        match arguments.as_slice() {
            [path] => Ok(expand_home(path)),
            [] => Err(Complaint::new("a file name is missing")),
            _ => Err(Complaint::new(format!("one file name is wanted, not {}", arguments.len()))
                .with_hint("Put a name with blanks in quotes.")),
        }
    }
}

/// Makes a `COPY` statement of the arguments of `\copy`: a bare file name gets quotes.
fn copy_statement(rest: &str) -> Result<String, Complaint> {
    let statement = format!("copy {}", rest.trim_end_matches(';'));
    let found = tokens(&statement);
    let usage = || {
        Complaint::new("\\copy wants a table or a query, FROM or TO, and a file")
            .with_hint("\\copy t from t.csv (format csv, header)")
    };
    let direction = copy_direction(&statement, &found).ok_or_else(usage)?;
    let start = found.get(direction + 1).ok_or_else(usage)?.start;
    let (before, target) = statement.split_at(start);
    if target.starts_with(['\'', '"']) {
        return Ok(statement);
    }
    let (file, after) = match target.find(char::is_whitespace) {
        Some(end) => target.split_at(end),
        None => (target, ""),
    };
    Ok(match file.to_ascii_lowercase().as_str() {
        "stdin" | "stdout" => statement,
        "pstdin" | "pstdout" => format!("{before}{}{after}", &file[1..]),
        _ => {
            let path = expand_home(file);
            format!("{before}{}{after}", quote_text(&path.display().to_string()))
        }
    })
}

/// Replaces a leading `~` by the user's home directory.
pub(crate) fn expand_home(path: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home,
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(&rest[1..]),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_quotes_a_bare_file_name() {
        let copy = |rest| copy_statement(rest).unwrap();
        assert_eq!(copy("t from a.csv (format csv)"), "copy t from 'a.csv' (format csv)");
        assert_eq!(copy("t (a, b) from 'x y.csv' csv;"), "copy t (a, b) from 'x y.csv' csv");
        assert_eq!(copy("(select a from t) to o'k.csv"), "copy (select a from t) to 'o''k.csv'");
        assert_eq!(copy("t from pstdin"), "copy t from stdin");
        assert_eq!(copy("t to STDOUT (format csv)"), "copy t to STDOUT (format csv)");
        assert!(copy_statement("t").is_err() && copy_statement("t from").is_err());
    }
}
