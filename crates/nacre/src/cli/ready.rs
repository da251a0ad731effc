//! `nacre ready`: says whether a server takes sessions, by its exit code.

use std::io::{self, Write};
use std::time::Duration;

use super::arguments::ReadyArguments;
use super::place::Place;
use super::remote::{Target, readiness};
use super::report;

/// Nobody was asked: the arguments are wrong.
pub(crate) const EXIT_NO_ATTEMPT: u8 = 3;

/// A wait that nobody sees the end of.
const UNLIMITED: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Asks the server; returns the exit code.
pub(crate) fn run(arguments: &ReadyArguments) -> u8 {
    let text = arguments.server.as_deref().unwrap_or_default();
    let target = match Target::new(text, |name| std::env::var(name).ok()) {
        Ok(target) => target,
        Err(problem) => {
            report::print_message(&problem, None, &Place::Typed);
            return EXIT_NO_ATTEMPT;
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            report::print_message(&error.to_string(), None, &Place::Typed);
            return EXIT_NO_ATTEMPT;
        }
    };
    // 0 waits for as long as the system does, as in `pg_isready`.
    let limit = match arguments.timeout {
        0 => UNLIMITED,
        seconds => Duration::from_secs(seconds),
    };
    let found = runtime.block_on(readiness(&target, limit));
    if !arguments.quiet {
        // Whoever does not read this goes by the exit code.
        let _ = writeln!(io::stdout(), "{} - {}", target.place(), found.text());
    }
    found.exit_code()
}
