//! What each command does.

use std::path::{Path, PathBuf};

use super::parse::{Complaint, Kind, parse_line, split_arguments};
use super::{help, options};
use crate::cli::assemble::Assembler;
use crate::cli::console::{Backend, Console, Flow};
use crate::cli::import::FileData;
use crate::cli::line_reader::DataSource;
use crate::cli::place::Place;
use crate::cli::render::Mode;
use crate::cli::tokens::{copy_direction, quote_text, tokens};
use crate::cli::{access, describe, edit, import, report, script};

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
            Kind::Tables => describe::tables(self.console, rest),
            Kind::TableNames => describe::table_names(self.console, rest),
            Kind::Schema => describe::schema(self.console, rest),
            Kind::Databases => describe::databases(self.console),
            Kind::Roles => access::roles(self.console, rest),
            Kind::Privileges => access::privileges(self.console, rest),
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
        let (statement, file) = copy_statement(self.rest)?;
        let is_embedded = matches!(self.console.backend, Backend::Embedded(_));
        let Some(file) = file else {
            let statement = statement.text(statement.stream());
            return Ok(self.console.run_statement(&statement, self.place, self.data));
        };
        if is_embedded {
            let statement = statement.text(&quote_text(&file.display().to_string()));
            return Ok(self.console.run_statement(&statement, self.place, self.data));
        }
        if statement.is_from {
            let mut data = FileData(file);
            return Ok(self.console.run_statement(&statement.text("STDIN"), self.place, &mut data));
        }
        let cannot = |error| Complaint::new(format!("cannot write to {}: {error}", file.display()));
        let before = self.console.output.divert(&file).map_err(cannot)?;
        let flow = self.console.run_statement(&statement.text("STDOUT"), self.place, self.data);
        self.console.output.restore(before).map_err(cannot)?;
        Ok(flow)
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

/// A COPY statement without the place of its data.
struct CopyStatement {
    before: String,
    after: String,
    is_from: bool,
}

impl CopyStatement {
    fn text(&self, place: &str) -> String {
        format!("{}{place}{}", self.before, self.after)
    }

    /// What the statement names for data that is handed over.
    fn stream(&self) -> &'static str {
        if self.is_from { "STDIN" } else { "STDOUT" }
    }
}

/// Reads the arguments of `\copy`: the statement, and the file unless it is standard input or
/// output.
fn copy_statement(rest: &str) -> Result<(CopyStatement, Option<PathBuf>), Complaint> {
    let statement = format!("copy {}", rest.trim_end_matches(';'));
    let found = tokens(&statement);
    let usage = || {
        Complaint::new("\\copy wants a table or a query, FROM or TO, and a file")
            .with_hint("\\copy t from t.csv (format csv, header)")
    };
    let direction = copy_direction(&statement, &found).ok_or_else(usage)?;
    let is_from = found.get(direction).is_some_and(|token| token.is_word(&statement, "from"));
    let target = found.get(direction + 1).ok_or_else(usage)?;
    let (before, written) = statement.split_at(target.start);
    let end = match written.starts_with(['\'', '"']) {
        true => target.end - target.start,
        false => written.find(char::is_whitespace).unwrap_or(written.len()),
    };
    let (file, after) = written.split_at(end);
    let parts = CopyStatement { before: before.to_owned(), after: after.to_owned(), is_from };
    let path = match file.to_ascii_lowercase().as_str() {
        "stdin" | "stdout" | "pstdin" | "pstdout" => None,
        _ => match file.strip_prefix(['\'', '"']) {
            None => Some(expand_home(file)),
            Some(quoted) => {
                let quote = &file[..1];
                let inner = quoted.strip_suffix(quote).unwrap_or(quoted);
                Some(PathBuf::from(inner.replace(&quote.repeat(2), quote)))
            }
        },
    };
    Ok((parts, path))
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
    fn copy_tells_the_file_from_the_rest_of_the_statement() {
        let copy = |rest| {
            let (statement, file) = copy_statement(rest).unwrap();
            (statement.text("?"), file.map(|file| file.display().to_string()))
        };
        let file = |name: &str| Some(name.to_owned());
        assert_eq!(
            copy("t from a.csv (format csv)"),
            ("copy t from ? (format csv)".to_owned(), file("a.csv"))
        );
        assert_eq!(
            copy("t (a, b) from 'x y.csv' csv;"),
            ("copy t (a, b) from ? csv".to_owned(), file("x y.csv"))
        );
        assert_eq!(
            copy("(select a from t) to o'k.csv"),
            ("copy (select a from t) to ?".to_owned(), file("o'k.csv"))
        );
        assert_eq!(copy("t from 'o''k'"), ("copy t from ?".to_owned(), file("o'k")));
        assert_eq!(copy("t from pstdin"), ("copy t from ?".to_owned(), None));
        let (statement, file) = copy_statement("t to STDOUT (format csv)").unwrap();
        assert_eq!(
            (statement.text(statement.stream()), file),
            ("copy t to STDOUT (format csv)".to_owned(), None)
        );
        assert!(copy_statement("t").is_err() && copy_statement("t from").is_err());
    }
}
