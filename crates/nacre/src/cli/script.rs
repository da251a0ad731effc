//! Scripts: `-f FILE`, `\i FILE`, `-c SQL` and standard input.

use std::fs::File;
use std::io::{self, BufReader, Cursor};
use std::path::Path;

use super::assemble::Assembler;
use super::console::{Console, Flow};
use super::line_reader::{DataSource, LineReader};
use super::meta;
use super::place::Place;
use super::report;

/// Scripts that may include one another before it looks like a circle.
const DEPTH_MAX: usize = 32;
/// Read in pieces of this size: data of `COPY ... FROM STDIN` may be large.
const BUFFER_BYTES: usize = 256 << 10;

/// Runs a script file; `-` is standard input.
pub(crate) fn run_file(console: &mut Console, path: &Path, place: &Place) -> Flow {
    if path == Path::new("-") {
        return run_stdin(console);
    }
    let opened = File::open(path).and_then(|file| {
        if file.metadata()?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        Ok(file)
    });
    match opened {
        Ok(file) => {
            let lines = LineReader::new(BufReader::with_capacity(BUFFER_BYTES, file));
            let name = path.display().to_string();
            run_lines(console, &lines, &mut lines.clone(), |line| Place::Script {
                name: name.clone(),
                line,
            })
        }
        Err(error) => {
            let message = format!("cannot read script {}: {error}", path.display());
            report::print_message(&message, None, place);
            Flow::Failed
        }
    }
}

/// Runs the script on standard input.
pub(crate) fn run_stdin(console: &mut Console) -> Flow {
    let lines = stdin_lines();
    let place = |line| Place::Script { name: "<stdin>".to_owned(), line };
    run_lines(console, &lines, &mut lines.clone(), place)
}

/// Runs the text of a `-c`; data of `COPY ... FROM STDIN` comes from standard input.
pub(crate) fn run_command(console: &mut Console, text: &str) -> Flow {
    let lines = LineReader::new(Cursor::new(text.to_owned().into_bytes()));
    run_lines(console, &lines, &mut stdin_lines(), |_| Place::Typed)
}

/// Runs lines until they end, one of them fails, or a command ends the script.
fn run_lines(
    console: &mut Console,
    lines: &LineReader,
    data: &mut dyn DataSource,
    place: impl Fn(usize) -> Place,
) -> Flow {
    if console.script_depth == DEPTH_MAX {
        let message = format!("scripts include one another more than {DEPTH_MAX} deep");
        report::print_message(&message, Some("look for a script that includes itself"), &place(1));
        return Flow::Failed;
    }
    console.script_depth += 1;
    let flow = run_lines_inside(console, lines, data, &place);
    console.script_depth -= 1;
    flow
}

fn run_lines_inside(
    console: &mut Console,
    lines: &LineReader,
    data: &mut dyn DataSource,
    place: &impl Fn(usize) -> Place,
) -> Flow {
    let mut assembler = Assembler::default();
    let mut has_failed = false;
    loop {
        let flow = match lines.next_line() {
            Ok(Some((number, line))) => {
                // A file may begin with a byte order mark.
                let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { &line };
                feed(console, &mut assembler, line, number, data, place)
            }
            Ok(None) => break,
            Err(error) => {
                report::print_message(&format!("cannot read the script: {error}"), None, &place(0));
                return Flow::Failed;
            }
        };
        match flow {
            Flow::Continue => {}
            Flow::Failed if console.behaviour.continues_on_error => has_failed = true,
            Flow::Quit => {
                return if has_failed { Flow::Failed } else { Flow::Continue };
            }
            Flow::Failed | Flow::Exit(_) => return flow,
        }
    }
    for statement in assembler.finish() {
        match console.run_statement(&statement.text, &place(statement.line), data) {
            Flow::Continue => {}
            Flow::Failed if console.behaviour.continues_on_error => has_failed = true,
            other => return other,
        }
    }
    if has_failed { Flow::Failed } else { Flow::Continue }
}

/// Takes one line: runs the statements that end on it, or the shell command that it is.
pub(crate) fn feed(
    console: &mut Console,
    assembler: &mut Assembler,
    line: &str,
    number: usize,
    data: &mut dyn DataSource,
    place: &impl Fn(usize) -> Place,
) -> Flow {
    if is_meta_line(assembler, line) {
        return meta::run(console, line.trim(), assembler, data, &place(number));
    }
    let mut has_failed = false;
    for statement in assembler.push_line(line, number) {
        match console.run_statement(&statement.text, &place(statement.line), data) {
            Flow::Continue => {}
            Flow::Failed if console.behaviour.continues_on_error => has_failed = true,
            other => return other,
        }
    }
    if has_failed { Flow::Failed } else { Flow::Continue }
}

/// Tells whether a line is a command of the shell: `\x` anywhere outside quotes, `.x` only where
/// no statement is begun.
pub(crate) fn is_meta_line(assembler: &Assembler, line: &str) -> bool {
    match line.trim_start().chars().next() {
        Some('\\') => !assembler.is_in_quote(),
        Some('.') => assembler.is_empty(),
        _ => false,
    }
}

fn stdin_lines() -> LineReader {
    LineReader::new(BufReader::with_capacity(BUFFER_BYTES, io::stdin()))
}
