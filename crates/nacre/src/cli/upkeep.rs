//! `nacre scrub` and `nacre repair`: looks after the replicas of a database that nobody has open.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;

use nacre_sql::{Database, OpenOptions, Result};
use nacre_store::{LostReplica, Progress, ScrubReport};

use super::arguments::UpkeepArguments;
use super::describe::bytes_text;
use super::output::Output;
use super::place::Place;
use super::progress::Bar;
use super::{doctor, report};

/// The database cannot be opened or not be worked on.
const EXIT_UNUSABLE: u8 = 1;
/// Something stays lost.
const EXIT_LOST: u8 = 4;

/// Verifies everything and, unless `is_read_only`, mends what is lost; returns the exit code.
pub(crate) fn scrub(arguments: UpkeepArguments, is_read_only: bool) -> u8 {
    run(arguments, is_read_only, |database, is_quiet| {
        let mut bar = Bar::new(!is_quiet);
        let found = database.scrub(&mut |progress| tick(&mut bar, progress))?;
        drop(bar);
        let mut text = scrubbed(&found);
        if found.lost.is_empty() || is_read_only {
            return Ok((text, found.lost));
        }
        let (mended, lost) = mend(database, is_quiet)?;
        text.push_str(&mended);
        Ok((text, lost))
    })
}

/// Makes replicas what the policies say; returns the exit code.
pub(crate) fn repair(arguments: UpkeepArguments) -> u8 {
    run(arguments, false, mend)
}

/// What was done, and what stays lost.
type Outcome = (String, Vec<LostReplica>);

fn run(
    arguments: UpkeepArguments,
    is_read_only: bool,
    work: impl FnOnce(&Database, bool) -> Result<Outcome>,
) -> u8 {
    let is_quiet = arguments.quiet;
    // One that lost its directory may be found again by the domain that is named.
    if arguments.domains.is_empty() && !doctor::has_database(&arguments.directory) {
        let message = format!("there is no database in {}", arguments.directory.display());
        report::print_message(&message, None, &Place::Typed);
        return EXIT_UNUSABLE;
    }
    let opened = Database::open(OpenOptions {
        directory: Some(arguments.directory),
        domains: arguments.domains,
        is_read_only,
        is_unattended: true,
        threads: None,
    });
    let done = opened.and_then(|database| {
        for note in database.store().notes() {
            report::print(&format!("NOTICE:  {note}\n"));
        }
        work(&database, is_quiet)
    });
    let (mut text, lost) = match done {
        Ok((text, lost)) => (if is_quiet { String::new() } else { text }, lost),
        Err(error) => {
            report::print_error(&error, "", &Place::Typed);
            return EXIT_UNUSABLE;
        }
    };
    for replica in &lost {
        let _ = writeln!(text, "LOST: {replica}");
    }
    let mut output = Output::stdout();
    // Nobody is left to tell if standard output is closed.
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    if lost.is_empty() { 0 } else { EXIT_LOST }
}

fn mend(database: &Database, is_quiet: bool) -> Result<Outcome> {
    let mut bar = Bar::new(!is_quiet);
    let done = database.repair(&mut |progress| tick(&mut bar, progress))?;
    drop(bar);
    let text = match done.blocks {
        0 => "nothing had to be written\n".to_owned(),
        blocks => format!("{} written, {}\n", count(blocks, "replica"), bytes_text(done.bytes)),
    };
    Ok((text, done.lost))
}

fn tick(bar: &mut Bar, progress: &Progress) -> ControlFlow<()> {
    bar.update(progress.done_bytes, progress.total_bytes);
    ControlFlow::Continue(())
}

fn scrubbed(report: &ScrubReport) -> String {
    let mut text =
        format!("{} verified, {}: ", count(report.blocks, "replica"), bytes_text(report.bytes));
    match report.lost.as_slice() {
        [] => text.push_str("all whole\n"),
        lost => {
            let _ = writeln!(text, "{} lost", lost.len());
            for replica in lost {
                let _ = writeln!(text, "  {replica}");
            }
        }
    }
    text
}

fn count(number: u64, what: &str) -> String {
    format!("{number} {what} block{}", if number == 1 { "" } else { "s" })
}
