//! `nacre scrub` and `nacre repair`: looks after the replicas of a database that nobody has open.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

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

/// Replicas that are listed one by one.
const LINES_MAX: usize = 20;

/// Verifies everything and, unless `is_read_only`, mends what is lost; returns the exit code.
pub(crate) fn scrub(arguments: UpkeepArguments, is_read_only: bool) -> u8 {
    run(arguments, is_read_only, |database, is_quiet| {
        let mut bar = Bar::new(!is_quiet);
        let found = database.scrub(&mut |progress| tick(&mut bar, progress))?;
        drop(bar);
        let done = scrubbed(&found);
        if found.lost.is_empty() || is_read_only {
            return Ok(Outcome { done, lost: found.lost, failures: Vec::new() });
        }
        let mut outcome = mend(database, is_quiet)?;
        let mended = found.lost.iter().filter(|replica| !outcome.lost.contains(replica));
        outcome.done = format!("{done}{}{}", lines("mended", mended), outcome.done);
        Ok(outcome)
    })
}

/// Forgets domains and makes replicas what the policies say; returns the exit code.
pub(crate) fn repair(arguments: UpkeepArguments, forgotten: &[String]) -> u8 {
    run(arguments, false, |database, is_quiet| {
        forgotten.iter().try_for_each(|name| database.forget_domain(name))?;
        mend(database, is_quiet)
    })
}

struct Outcome {
    /// What was done.
    done: String,
    /// What is not whole.
    lost: Vec<LostReplica>,
    /// Which tables could not be finished, and why.
    failures: Vec<(String, nacre_store::Error)>,
}

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
    let directory = arguments.directory.clone();
    let opened = Database::open(OpenOptions {
        directory: Some(arguments.directory),
        domains: arguments.domains,
        is_read_only,
        is_unattended: true,
        ..OpenOptions::default()
    });
    let done = opened.and_then(|database| {
        for note in database.store().notes() {
            report::print(&format!("NOTICE:  {note}\n"));
        }
        let outcome = work(&database, is_quiet)?;
        Ok((outcome, database.store().missing_domains()))
    });
    let (outcome, missing) = match done {
        Ok(done) => done,
        Err(error) => {
            report::print_error(&error, "", &Place::Typed);
            return EXIT_UNUSABLE;
        }
    };
    let mut text = if is_quiet { String::new() } else { outcome.done };
    text.push_str(&listing(&directory, &outcome.lost, &missing));
    for (table, error) in &outcome.failures {
        let _ = writeln!(text, "NOT REPAIRED: table \"{table}\": {error}");
    }
    let mut output = Output::stdout();
    // Nobody is left to tell if standard output is closed.
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    if outcome.lost.is_empty() && outcome.failures.is_empty() { 0 } else { EXIT_LOST }
}

fn mend(database: &Database, is_quiet: bool) -> Result<Outcome> {
    let mut bar = Bar::new(!is_quiet);
    let report = database.repair(&mut |progress| tick(&mut bar, progress))?;
    drop(bar);
    let done = match report.blocks {
        0 => "nothing was written\n".to_owned(),
        blocks => format!("{} written, {}\n", count(blocks, "replica"), bytes_text(report.bytes)),
    };
    Ok(Outcome { done, lost: report.lost, failures: report.failures })
}

fn tick(bar: &mut Bar, progress: &Progress) -> ControlFlow<()> {
    bar.update(progress.done_bytes, progress.total_bytes);
    ControlFlow::Continue(())
}

fn scrubbed(report: &ScrubReport) -> String {
    let verified = count(report.blocks, "replica");
    let found = match report.lost.len() {
        0 => "all whole".to_owned(),
        lost => format!("{lost} not whole"),
    };
    format!("{verified} verified, {}: {found}\n", bytes_text(report.bytes))
}

/// Says what is not whole: blocks without any replica one by one, what misses a domain together.
fn listing(directory: &Path, lost: &[LostReplica], missing: &[String]) -> String {
    let is_away =
        |replica: &LostReplica| replica.domain.as_ref().is_some_and(|name| missing.contains(name));
    let returns: BTreeSet<&str> = lost
        .iter()
        .filter(|replica| is_away(replica))
        .map(|replica| replica.object.as_str())
        .collect();
    let mut text = String::new();
    let gone = lost.iter().filter(|replica| !replica.has_source);
    let gone: Vec<_> = gone.filter(|replica| !returns.contains(replica.object.as_str())).collect();
    for replicas in gone.chunk_by(|one, other| one.object == other.object) {
        let reasons: Vec<&str> = replicas.iter().map(|replica| replica.reason.as_str()).collect();
        let _ = writeln!(text, "LOST: {}: {}", replicas[0].object, reasons.join("; "));
    }
    for domain in missing {
        let of_domain = |replica: &&LostReplica| replica.domain.as_ref() == Some(domain);
        let blocks = lost.iter().filter(of_domain).count();
        let tables: BTreeSet<_> =
            lost.iter().filter(of_domain).map(|replica| &replica.table).collect();
        let unread = lost.iter().filter(of_domain).filter(|replica| !replica.has_source).count();
        let _ = write!(
            text,
            "memory domain \"{domain}\" is missing: {} of {} {} one replica less",
            count(blocks as u64, ""),
            plural(tables.len() as u64, "table"),
            if blocks == 1 { "has" } else { "have" }
        );
        if unread > 0 {
            let _ = write!(text, ", {unread} cannot be read until it is back");
        }
        let directory = directory.display();
        let _ = writeln!(text, "; then: nacre repair {directory} --domain {domain}=PATH");
    }
    let damaged = lost.iter().filter(|replica| replica.has_source && !is_away(replica));
    text.push_str(&lines("DAMAGED", damaged));
    text
}

/// Lists replicas, the first ones of many.
fn lines<'a>(title: &str, replicas: impl Iterator<Item = &'a LostReplica>) -> String {
    let mut text = String::new();
    let mut left = 0;
    for (number, replica) in replicas.enumerate() {
        match number < LINES_MAX {
            true => {
                let _ = writeln!(text, "{title}: {replica}");
            }
            false => left += 1,
        }
    }
    if left > 0 {
        let _ = writeln!(text, "{title}: {} more", count(left, "replica"));
    }
    text
}

fn count(number: u64, what: &str) -> String {
    let space = if what.is_empty() { "" } else { " " };
    plural(number, &format!("{what}{space}block"))
}

fn plural(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replica(object: &str, domain: &str, has_source: bool) -> LostReplica {
        LostReplica {
            table: Some("t".into()),
            object: object.into(),
            replica: Some(1),
            domain: Some(domain.into()),
            reason: "gone".into(),
            has_source,
        }
    }

    #[test]
    fn only_what_has_no_replica_is_lost() {
        let lost = [
            replica("chunk 0", "away", true),
            replica("chunk 1", "away", false),
            replica("chunk 1", "main", false),
            replica("chunk 2", "main", false),
            replica("chunk 2", "fast", false),
            replica("chunk 3", "main", true),
        ];
        let text = listing(Path::new("db"), &lost, &["away".to_owned()]);
        assert_eq!(
            text,
            "LOST: chunk 2: gone; gone\n\
             memory domain \"away\" is missing: 2 blocks of 1 table have one replica less, 1 \
             cannot be read until it is back; then: nacre repair db --domain away=PATH\n\
             DAMAGED: chunk 3, replica 1 in domain \"main\": gone\n"
        );
    }

    #[test]
    fn many_are_counted() {
        let lost = vec![replica("chunk", "main", true); LINES_MAX + 2];
        let text = lines("DAMAGED", lost.iter());
        assert_eq!(text.lines().count(), LINES_MAX + 1);
        assert!(text.ends_with("DAMAGED: 2 replica blocks more\n"), "{text}");
    }
}
