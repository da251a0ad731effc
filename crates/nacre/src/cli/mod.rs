//! The command line: argument parsing, scripts, the shell, and what they print.
//!
//! How a line becomes an answer:
//! 1. `app` decides what to run: a subcommand, `-c` and `-f` in their order, standard input, or
//!    the interactive `shell`.
//! 2. `script` and `shell` hand over lines; `assemble` joins them into statements, and a line that
//!    begins with `\` or `.` goes to `meta`.
//! 3. `console` runs a statement, in this process (`embedded`) on the worker threads, or at a
//!    server (`remote`), while this thread waits for it, for Ctrl-C (`interrupt`) and for the next
//!    step of the progress bar (`progress`).
//! 4. `render` writes rows, `report` writes errors.
//!
//! # Invariants
//! 1. Rows, tags and answers go to standard output, everything else to standard error.
//! 2. A closed standard output ends the program without a word, as a filter should.
//! 3. Nothing of a user's data reaches a terminal with its control characters alive, except by the
//!    formats that promise exact data: `csv` and `COPY ... TO STDOUT`.

mod app;
mod arguments;
mod assemble;
mod complete;
mod console;
mod describe;
mod doctor;
mod edit;
mod embedded;
mod glob;
mod import;
mod interrupt;
mod keywords;
mod line_reader;
mod logging;
mod meta;
mod notify;
mod output;
mod password;
mod place;
mod progress;
mod ready;
mod remote;
mod render;
mod report;
mod restore;
mod script;
mod serve;
mod shell;
mod sniff;
mod tokens;
mod upkeep;
mod value;

pub use app::main;
