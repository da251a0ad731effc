//! The interactive shell: prompt, history, and what to do with a line.

use std::io::{self, Cursor, Read};
use std::path::PathBuf;

use nacre_sql::TransactionStatus;
use rustyline::config::{CompletionType, Configurer};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use super::assemble::Assembler;
use super::complete::ShellHelper;
use super::console::{Backend, Console, Flow, stdout_is_terminal};
use super::embedded::Embedded;
use super::line_reader::DataSource;
use super::place::Place;
use super::{report, script};

/// Statements kept in the history.
const HISTORY_MAX: usize = 10_000;

/// Runs the shell until the user leaves.
pub(crate) fn run(console: &mut Console) -> Flow {
    let mut prompt = match Prompt::new(console) {
        Ok(prompt) => prompt,
        Err(error) => {
            report::print_message(
                &format!("cannot use the terminal: {error}"),
                None,
                &Place::Typed,
            );
            return Flow::Failed;
        }
    };
    if !console.behaviour.is_quiet && stdout_is_terminal() {
        console.say(&banner(console));
    }
    let mut assembler = Assembler::default();
    loop {
        let text = match prompt.editor.readline(&prompt_text(&assembler, console.status())) {
            Ok(text) => text,
            Err(ReadlineError::Interrupted) => {
                assembler.clear();
                prompt.entry.clear();
                continue;
            }
            Err(ReadlineError::Eof) => return Flow::Continue,
            Err(error) => {
                report::print_message(&format!("cannot read: {error}"), None, &Place::Typed);
                return Flow::Failed;
            }
        };
        match take(console, &mut prompt, &mut assembler, &text) {
            Flow::Continue | Flow::Failed => {}
            Flow::Quit => return Flow::Continue,
            Flow::Exit(code) => return Flow::Exit(code),
        }
    }
}

/// Takes what was typed or pasted: one line or several.
fn take(console: &mut Console, prompt: &mut Prompt, assembler: &mut Assembler, text: &str) -> Flow {
    prompt.remember(text);
    let mut flow = Flow::Continue;
    for line in text.lines() {
        flow = script::feed(console, assembler, line, 1, prompt, &|_| Place::Typed);
        // A mistake in a pasted piece leaves the rest of it alone.
        if flow != Flow::Continue {
            break;
        }
    }
    if assembler.is_empty() {
        prompt.write_history();
    }
    flow
}

/// Like psql's: what is typed, and `*` in a transaction block, `!` in one that failed.
fn prompt_text(assembler: &Assembler, status: TransactionStatus) -> String {
    let typed = match (assembler.is_empty(), assembler.is_in_quote()) {
        (true, _) => '=',
        (false, false) => '-',
        (false, true) => '\'',
    };
    let block = match status {
        TransactionStatus::Idle => "",
        TransactionStatus::Open => "*",
        TransactionStatus::Failed => "!",
    };
    format!("nacre{typed}{block}> ")
}

fn banner(console: &Console) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let what = match &console.backend {
        Backend::Embedded(embedded) => described(embedded),
        Backend::Remote(remote) => {
            let encryption = if remote.is_encrypted { ", encrypted" } else { "" };
            let (user, database) = (&remote.target.user, &remote.target.database);
            let (place, version) = (remote.target.place(), &remote.server_version);
            format!(
                "connected to database {database} at {place} as {user}{encryption}\n\
                 The server says that its version is {version}."
            )
        }
    };
    format!("nacre {version}: {what}\nA statement ends with `;`. \\? for help, \\q to leave.\n\n")
}

fn described(embedded: &Embedded) -> String {
    let store = embedded.database.store();
    let access = if store.is_read_only() { ", read-only" } else { "" };
    match &embedded.directory {
        Some(directory) => {
            let domain = store.domains().into_iter().next();
            let durability = domain.map_or(String::new(), |domain| {
                format!("\nWhat is written {}.", domain.durability())
            });
            format!("database in {}{access}{durability}", directory.display())
        }
        None => "volatile database in memory\n\
                 It is gone when the shell ends; `nacre DIR` keeps one."
            .to_owned(),
    }
}

/// The line editor, its history, and the statement being typed.
struct Prompt {
    editor: Editor<ShellHelper, FileHistory>,
    history: Option<PathBuf>,
    /// Lines typed since the last whole statement.
    entry: String,
}

impl Prompt {
    fn new(console: &mut Console) -> rustyline::Result<Self> {
        let config = Config::builder()
            .max_history_size(HISTORY_MAX)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_auto_add_history(false);
        editor.set_helper(Some(ShellHelper::new(console.names())));
        let history = history_path(|name| std::env::var_os(name).map(PathBuf::from));
        if let Some(path) = &history {
            // A history that is absent or cannot be read is an empty one.
            let _ = path.parent().map(std::fs::create_dir_all);
            let _ = editor.load_history(path);
        }
        Ok(Self { editor, history, entry: String::new() })
    }

    fn remember(&mut self, text: &str) {
        if !self.entry.is_empty() {
            self.entry.push('\n');
        }
        self.entry.push_str(text.trim_end());
    }

    /// Adds the whole statement to the history; a failure is not worth a word.
    fn write_history(&mut self) {
        let entry = std::mem::take(&mut self.entry);
        if entry.trim().is_empty() {
            return;
        }
        let is_new = self.editor.add_history_entry(entry).unwrap_or(false);
        if let (true, Some(path)) = (is_new, &self.history) {
            let _ = self.editor.append_history(path);
        }
    }
}

impl DataSource for Prompt {
    /// Asks for the data of a `COPY ... FROM STDIN`; it is typed by hand, so it fits in memory.
    fn open(&mut self) -> Option<Box<dyn Read + Send>> {
        report::print("Enter data, a line a row. End with \\. or Ctrl-D; Ctrl-C gives up.\n");
        let mut data = String::new();
        loop {
            match self.editor.readline(">> ") {
                Ok(line) if line.trim_end() == "\\." => break,
                Ok(line) => {
                    data.push_str(&line);
                    data.push('\n');
                }
                Err(ReadlineError::Eof) => break,
                Err(_) => return Some(Box::new(GivenUp)),
            }
        }
        Some(Box::new(Cursor::new(data.into_bytes())))
    }

    fn close(&mut self) {}
}

/// Data that the user did not want to end: reading it fails, so that nothing is loaded.
struct GivenUp;

impl Read for GivenUp {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        // Not `Interrupted`, which readers take for a reason to try again.
        Err(io::Error::other("given up with Ctrl-C"))
    }
}

/// Finds the history file: `NACRE_HISTORY` (empty means none), else below the state directory.
fn history_path(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(path) = variable("NACRE_HISTORY") {
        return (!path.as_os_str().is_empty()).then_some(path);
    }
    let state = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let state = state.or_else(|| variable("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("nacre/history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_file_follows_the_variables() {
        let path = |set: &[(&str, &str)]| {
            history_path(|name| {
                set.iter().find(|(set, _)| *set == name).map(|(_, value)| PathBuf::from(value))
            })
        };
        let home = ("HOME", "/home/x");
        assert_eq!(path(&[home]), Some("/home/x/.local/state/nacre/history".into()));
        assert_eq!(path(&[home, ("XDG_STATE_HOME", "/s")]), Some("/s/nacre/history".into()));
        assert_eq!(path(&[home, ("NACRE_HISTORY", "/h")]), Some("/h".into()));
        assert_eq!(path(&[home, ("NACRE_HISTORY", "")]), None);
        assert_eq!(path(&[]), None);
    }

    #[test]
    fn prompt_tells_what_is_open() {
        let mut assembler = Assembler::default();
        assert_eq!(prompt_text(&assembler, TransactionStatus::Idle), "nacre=> ");
        assert_eq!(prompt_text(&assembler, TransactionStatus::Open), "nacre=*> ");
        assembler.push_line("select (", 1);
        assert_eq!(prompt_text(&assembler, TransactionStatus::Failed), "nacre-!> ");
        assembler.push_line("'", 2);
        assert_eq!(prompt_text(&assembler, TransactionStatus::Idle), "nacre'> ");
    }
}
