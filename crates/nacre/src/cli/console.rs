//! The console: a database of our own or a server, and how their answers are shown.

use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nacre_sql::datafusion::arrow::array::RecordBatch;
use nacre_sql::{Error, ErrorKind, OpenOptions, TransactionStatus};
use tokio::runtime::Runtime;

use super::complete::Names;
use super::embedded::{Embedded, Shown};
use super::interrupt::{EXIT_CODE, Interrupts};
use super::line_reader::DataSource;
use super::output::Output;
use super::place::Place;
use super::remote::{Remote, Said, Target};
use super::render::{Mode, Renderer, Style};
use super::tokens::{CopyStream, copy_stream, quote_text};
use super::value::ColumnText;
use super::{password, report};

/// What a line or a statement means for those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    /// It failed, and the user was told.
    Failed,
    /// The script or the shell is to end.
    Quit,
    /// The program is to end with this code.
    Exit(u8),
}

/// What the user can choose about the console's behaviour.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behaviour {
    pub(crate) is_interactive: bool,
    pub(crate) is_quiet: bool,
    pub(crate) is_echoing: bool,
    pub(crate) continues_on_error: bool,
    pub(crate) has_timer: bool,
}

/// Who answers.
pub(crate) enum Backend {
    Embedded(Box<Embedded>),
    Remote(Box<Remote>),
}

/// What a statement is given beside its text.
#[derive(Default)]
pub(crate) struct Given {
    /// Data of COPY FROM STDIN.
    pub(crate) data: Option<Box<dyn Read + Send>>,
    /// Whether it is a COPY TO STDOUT.
    pub(crate) is_copy_out: bool,
}

/// Who answers, and how answers are shown.
pub(crate) struct Console {
    pub(crate) backend: Backend,
    /// Tables that a server has, for completion; a database of our own is asked.
    remote_names: Arc<Mutex<Vec<Names>>>,
    /// Where this thread waits.
    front: Runtime,
    interrupts: Interrupts,
    pub(crate) output: Output,
    pub(crate) style: Style,
    pub(crate) behaviour: Behaviour,
    /// The statement that ran last, for `\g` and `\e`.
    pub(crate) last_statement: String,
    /// Scripts that are being run inside one another.
    pub(crate) script_depth: usize,
}

/// How a statement ended.
pub(super) enum Ended {
    Rows,
    /// With whether Ctrl-C came, but too late to stop it.
    Tag(String, bool),
    Error(Error),
    Interrupted,
    /// Writing the answer failed.
    Output(io::Error),
}

impl Console {
    /// Opens a database.
    ///
    /// # Errors
    /// If the database cannot be opened, or the system refuses threads or the signal handler.
    pub(crate) fn open(
        options: OpenOptions,
        style: Style,
        behaviour: Behaviour,
    ) -> nacre_sql::Result<Self> {
        let (front, interrupts) = front(&behaviour)?;
        let backend = Backend::Embedded(Box::new(Embedded::open(options)?));
        Ok(Self::new(backend, front, interrupts, style, behaviour))
    }

    /// Begins a session at a server.
    ///
    /// # Errors
    /// What the server answers; the system refuses threads or the signal handler.
    pub(crate) fn connect(
        target: Target,
        style: Style,
        behaviour: Behaviour,
    ) -> nacre_sql::Result<Self> {
        let (front, interrupts) = front(&behaviour)?;
        let mut ask = |target: &Target| {
            let question = format!("Password for user {}: ", target.user);
            io::stdin().is_terminal().then(|| password::ask(&question).ok()).flatten()
        };
        let remote = front.block_on(Remote::connect(target, &mut ask))?;
        let backend = Backend::Remote(Box::new(remote));
        Ok(Self::new(backend, front, interrupts, style, behaviour))
    }

    fn new(
        backend: Backend,
        front: Runtime,
        interrupts: Interrupts,
        style: Style,
        behaviour: Behaviour,
    ) -> Self {
        Self {
            backend,
            remote_names: Arc::default(),
            front,
            interrupts,
            output: Output::stdout(),
            style,
            behaviour,
            last_statement: String::new(),
            script_depth: 0,
        }
    }

    /// Ends the console without waiting for work that was left behind.
    pub(crate) fn close(self) {
        match self.backend {
            Backend::Embedded(embedded) => embedded.close(),
            Backend::Remote(remote) => self.front.block_on(remote.close()),
        }
        // Standard input may be waited for still.
        self.front.shutdown_background();
    }

    /// Prints what the database noticed since it was printed last.
    pub(crate) fn tell_notes(&mut self) {
        if let Backend::Embedded(embedded) = &mut self.backend {
            embedded.tell_notes();
        }
    }

    /// Returns what gives the tables there are, with their columns, for a completer that outlives a
    /// borrow of the console.
    pub(crate) fn names(&mut self) -> Box<dyn Fn() -> Vec<Names>> {
        match &self.backend {
            Backend::Embedded(embedded) => {
                let session = Arc::clone(embedded.session());
                Box::new(move || session.completions())
            }
            Backend::Remote(_) => {
                self.refresh_names();
                let names = Arc::clone(&self.remote_names);
                Box::new(move || names.lock().unwrap_or_else(PoisonError::into_inner).clone())
            }
        }
    }

    /// Asks a server anew which tables it has.
    fn refresh_names(&mut self) {
        let sql = "SELECT table_name, column_name FROM information_schema.columns \
                   WHERE table_schema = 'public' ORDER BY table_name, ordinal_position";
        // A block that failed answers nothing; the names known so far will do.
        let Ok(rows) = self.query(sql) else { return };
        let mut names: Vec<Names> = Vec::new();
        for row in rows {
            let mut cells = row.into_iter().flatten();
            let (Some(table), Some(column)) = (cells.next(), cells.next()) else { continue };
            match names.last_mut().filter(|(known, _)| *known == table) {
                Some((_, columns)) => columns.push(column),
                None => names.push((table, vec![column])),
            }
        }
        *self.remote_names.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Tells whether a transaction block is open.
    pub(crate) fn status(&self) -> TransactionStatus {
        match &self.backend {
            Backend::Embedded(embedded) => embedded.session().transaction_status(),
            Backend::Remote(remote) => remote.status(),
        }
    }

    /// Runs a query of the shell's own and returns its rows as texts, null as none.
    ///
    /// # Errors
    /// Those of the query.
    pub(crate) fn query(&mut self, sql: &str) -> nacre_sql::Result<Vec<Vec<Option<String>>>> {
        let mut rows = Vec::new();
        match &mut self.backend {
            Backend::Embedded(embedded) => {
                for batch in embedded.query(sql, &self.front)? {
                    put_texts(&batch, &mut rows).map_err(io_error)?;
                }
            }
            Backend::Remote(remote) => {
                let hear = |said: Said<'_>| match said {
                    Said::Rows(batch) => put_texts(batch, &mut rows),
                    Said::Columns(_) | Said::Data(_) => Ok(()),
                };
                let never = std::future::pending();
                let answer = remote.run(sql, Given::default(), hear, never);
                self.front.block_on(answer)?.map_err(io_error)?;
            }
        }
        Ok(rows)
    }

    /// Runs a statement and prints its answer.
    pub(crate) fn run_statement(
        &mut self,
        sql: &str,
        place: &Place,
        data: &mut dyn DataSource,
    ) -> Flow {
        sql.clone_into(&mut self.last_statement);
        if self.behaviour.is_echoing {
            // An output that has gone is noticed by the answer.
            let _ = self.output.message(&format!("{sql};\n"));
        }
        let stream = copy_stream(sql);
        let mut given = Given::default();
        match stream {
            Some(CopyStream::FromStdin) => given.data = data.open(),
            Some(CopyStream::ToStdout) => given.is_copy_out = true,
            None => {}
        }
        // Data that is typed by hand is there by now, so its time does not count.
        let started = Instant::now();
        self.interrupts.begin();
        let ended = self.wait_for(sql, given);
        self.interrupts.end();
        // A script ends by an interrupt, and its input may have nothing to give for long.
        let is_over = matches!(ended, Ended::Interrupted) && !self.behaviour.is_interactive;
        if stream == Some(CopyStream::FromStdin) && !is_over {
            data.close();
        }
        let flow = self.conclude(ended, sql, place, stream);
        self.tell_notes();
        if self.behaviour.has_timer && flow == Flow::Continue {
            return self.say(&time_text(started.elapsed()));
        }
        flow
    }

    /// Runs a statement of the shell's own and returns whether it worked; errors are printed.
    pub(crate) fn run_quietly(&mut self, sql: &str, place: &Place) -> Flow {
        self.interrupts.begin();
        let ended = self.wait_for(sql, Given::default());
        self.interrupts.end();
        match ended {
            Ended::Tag(..) => Flow::Continue,
            other => self.conclude(other, sql, place, None),
        }
    }

    /// Returns what a COPY names as the place of a file of this machine: the file, or for a server,
    /// which may be elsewhere and may not read it, what the shell sends or receives.
    pub(crate) fn file_source(&self, path: &Path) -> String {
        match &self.backend {
            Backend::Embedded(_) => quote_text(&path.display().to_string()),
            Backend::Remote(_) => "STDIN".to_owned(),
        }
    }

    /// Prints a message of the shell on standard output.
    pub(crate) fn say(&self, text: &str) -> Flow {
        match self.output.message(text).and_then(|()| self.output.clone().flush()) {
            Ok(()) => Flow::Continue,
            Err(error) => self.output_failed(&error, &Place::Typed),
        }
    }

    /// Prints a table of the shell where answers go.
    pub(crate) fn show(&self, text: &str) -> Flow {
        let mut output = self.output.clone();
        match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
            Ok(()) => Flow::Continue,
            Err(error) => self.output_failed(&error, &Place::Typed),
        }
    }

    fn wait_for(&mut self, sql: &str, given: Given) -> Ended {
        let Self { backend, front, interrupts, output, style, behaviour, .. } = self;
        match backend {
            Backend::Embedded(embedded) => {
                let shown = Shown {
                    front,
                    interrupts,
                    output: output.clone(),
                    style,
                    has_bar: !behaviour.is_quiet,
                    is_interactive: behaviour.is_interactive,
                };
                embedded.run(sql, given, shown)
            }
            Backend::Remote(remote) => {
                let mut printer = Printer { style, output: output.clone(), renderer: None };
                let hear = |said: Said<'_>| printer.hear(said);
                let answer = front.block_on(remote.run(sql, given, hear, interrupts.wait()));
                match answer {
                    Ok(Ok(tag)) => match printer.end() {
                        Err(error) => Ended::Output(error),
                        Ok(true) if !is_tag_of_change(&tag) => Ended::Rows,
                        Ok(_) => Ended::Tag(tag, false),
                    },
                    Ok(Err(error)) => Ended::Output(error),
                    Err(error) if error.kind() == ErrorKind::Cancelled => Ended::Interrupted,
                    Err(error) => Ended::Error(error),
                }
            }
        }
    }

    /// Prints how a statement ended.
    fn conclude(
        &mut self,
        ended: Ended,
        sql: &str,
        place: &Place,
        stream: Option<CopyStream>,
    ) -> Flow {
        let flushed = self.output.flush();
        if self.output.is_closed() {
            return Flow::Exit(0);
        }
        if let (Err(error), Ended::Rows | Ended::Tag(..)) = (&flushed, &ended) {
            return self.output_failed(error, place);
        }
        match ended {
            Ended::Rows => Flow::Continue,
            Ended::Tag(tag, is_late) => {
                self.note_definition(&tag);
                let flow = self.show_tag(&tag, stream);
                let ends = is_late && !self.behaviour.is_interactive;
                if ends { Flow::Exit(EXIT_CODE) } else { flow }
            }
            Ended::Error(error) => {
                report::print_error(&error, sql, place);
                Flow::Failed
            }
            Ended::Interrupted => {
                let is_interactive = self.behaviour.is_interactive;
                // The terminal has shown `^C` where the message would begin.
                report::print(if is_interactive { "\n" } else { "" });
                report::print_message("the statement was cancelled by Ctrl-C", None, place);
                if is_interactive { Flow::Failed } else { Flow::Exit(EXIT_CODE) }
            }
            Ended::Output(error) => self.output_failed(&error, place),
        }
    }

    /// Looks at the tables of a server anew when there may be others.
    fn note_definition(&mut self, tag: &str) {
        let is_definition = ["CREATE", "ALTER", "DROP"].iter().any(|verb| tag.starts_with(verb));
        let is_remote = matches!(self.backend, Backend::Remote(_));
        if is_definition && is_remote && self.behaviour.is_interactive {
            self.refresh_names();
        }
    }

    fn show_tag(&self, tag: &str, stream: Option<CopyStream>) -> Flow {
        let shows_tags = self.behaviour.is_interactive || self.style.mode == Mode::Box;
        if self.behaviour.is_quiet || !shows_tags || stream == Some(CopyStream::ToStdout) {
            return Flow::Continue;
        }
        self.say(&format!("{tag}\n"))
    }

    fn output_failed(&self, error: &io::Error, place: &Place) -> Flow {
        if self.output.is_closed() {
            return Flow::Exit(0);
        }
        let message = format!("cannot write the answer: {error}");
        report::print_message(
            &message,
            Some("check the space left, or choose another \\o FILE"),
            place,
        );
        Flow::Failed
    }
}

/// Starts what a console waits on.
fn front(behaviour: &Behaviour) -> nacre_sql::Result<(Runtime, Interrupts)> {
    let failed = |what: &str, error: &io::Error| {
        Error::new(ErrorKind::Open, format!("cannot {what}: {error}"))
    };
    let front = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed("wait for answers", &error))?;
    let interrupts = Interrupts::listen(behaviour.is_interactive)
        .map_err(|error| failed("watch Ctrl-C", &error))?;
    Ok((front, interrupts))
}

fn io_error(error: io::Error) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
}

/// Appends the rows of a batch as texts.
fn put_texts(batch: &RecordBatch, rows: &mut Vec<Vec<Option<String>>>) -> io::Result<()> {
    let columns: Result<Vec<_>, _> = batch.columns().iter().map(ColumnText::new).collect();
    let columns = columns.map_err(io::Error::other)?;
    for row in 0..batch.num_rows() {
        let cell = |column: &ColumnText<'_>| {
            (!column.is_null(row)).then(|| {
                let mut text = String::new();
                column.write(row, &mut text);
                text
            })
        };
        rows.push(columns.iter().map(cell).collect());
    }
    Ok(())
}

/// Prints what a server answers.
struct Printer<'a> {
    style: &'a Style,
    output: Output,
    renderer: Option<Box<dyn Renderer>>,
}

impl Printer<'_> {
    fn hear(&mut self, said: Said<'_>) -> io::Result<()> {
        match said {
            Said::Columns(schema) => {
                let mut renderer = self.style.mode.renderer(schema, self.style);
                renderer.begin(&mut self.output)?;
                self.renderer = Some(renderer);
                Ok(())
            }
            Said::Rows(batch) => match &mut self.renderer {
                Some(renderer) => renderer.rows(&mut self.output, batch),
                None => Ok(()),
            },
            Said::Data(bytes) => self.output.write_all(bytes),
        }
    }

    /// Ends the rows; false if there were none to print.
    fn end(&mut self) -> io::Result<bool> {
        match self.renderer.take() {
            Some(mut renderer) => renderer.end(&mut self.output).map(|()| true),
            None => Ok(false),
        }
    }
}

/// Whether a command tag with rows is that of a statement that changed some.
pub(super) fn is_tag_of_change(tag: &str) -> bool {
    let shows = ["EXPLAIN", "FETCH", "SELECT", "SHOW", "TABLE", "VALUES"];
    tag.split(' ').next().is_none_or(|verb| !shows.contains(&verb))
}

/// Writes a duration as psql's `\timing` does.
fn time_text(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let milliseconds = elapsed.as_secs_f64() * 1e3;
    match seconds {
        0 => format!("Time: {milliseconds:.3} ms\n"),
        _ => {
            let rest = elapsed.as_secs_f64() % 60.0;
            format!("Time: {milliseconds:.3} ms ({:02}:{rest:06.3})\n", seconds / 60)
        }
    }
}

/// Tells whether a person watches standard output.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_second_and_more_are_also_told_in_minutes() {
        assert_eq!(time_text(Duration::from_micros(1_234)), "Time: 1.234 ms\n");
        assert_eq!(time_text(Duration::from_millis(61_500)), "Time: 61500.000 ms (01:01.500)\n");
    }
}
