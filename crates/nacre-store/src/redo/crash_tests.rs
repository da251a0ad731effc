//! The redo log under the crash simulator: whatever a crash leaves, acknowledged groups are there,
//! in order, and no group is there in part. `crash_support` says which variables there are.

use nacre_pmem::sim::{Crash, Explorer, Marks, Outcome, Report};
use nacre_pmem::{Access, Domain};

use super::log::{RedoLog, RedoOptions};
use super::record::RedoBuffer;
use super::segment::segment_of;
use super::tests::{ID, group, replayed};
use crate::crash_support::{explore_share, lines, pages};
use crate::id::CommitTs;

/// Share of the log, over all of its tests.
const PERCENT: usize = 10;

/// Marks above this name the oldest segment, as a record of the manifest would; those below count
/// acknowledged groups.
const OLDEST: u64 = 1 << 32;

fn explore(structure: &str, percent: usize, round: impl Fn(Explorer, u64) -> Report) {
    explore_share(structure, PERCENT * percent, round);
}

/// Segments of a few groups.
fn small() -> RedoOptions {
    RedoOptions { segment_bytes: 1024, is_compressed: false }
}

fn script(seed: u64, count: u64) -> Vec<RedoBuffer> {
    (0..count).map(|number| group(number, 40 * ((seed + number) as usize % 5))).collect()
}

fn create(domains: &[Domain]) -> Outcome {
    drop(RedoLog::create(domains, ID, small())?);
    Ok(())
}

fn open(domains: &[Domain], access: Access, oldest: u64) -> crate::Result<RedoLog> {
    let log = RedoLog::open(domains, access, ID, oldest, small())?;
    log.repair(domains, true);
    Ok(log)
}

/// Appends groups, a persist for `lot` of them.
fn append(domains: &[Domain], script: &[RedoBuffer], lot: usize, marks: &Marks<'_>) -> Outcome {
    let log = open(domains, Access::ReadWrite, 1)?;
    for (number, group) in script.iter().enumerate() {
        log.append(CommitTs(number as u64 + 1), group)?;
        if (number + 1) % lot == 0 {
            log.flush()?;
            marks.note(number as u64 + 1);
        }
    }
    Ok(())
}

/// Reads as a reader, reopens, compares with what was acknowledged, and appends once more.
fn check(crash: &Crash<'_>, script: &[RedoBuffer], lot: usize) -> Outcome {
    let counts = crash.marks().iter().filter(|&&mark| mark < OLDEST);
    let acknowledged = counts.max().copied().unwrap_or(0) as usize;
    let oldest = crash.marks().iter().filter(|&&mark| mark >= OLDEST).max();
    let oldest = oldest.map_or(1, |mark| mark - OLDEST);
    let is_right = |log: &RedoLog| {
        let found = replayed(log)?;
        let count = found.last().map_or(0, |(commit, _)| commit.0 as usize);
        let skipped = found.first().map_or(0, |(commit, _)| commit.0 as usize - 1);
        let expected = script[skipped..count].iter().map(|group| group.bytes().to_vec());
        let is_known = found.into_iter().map(|(_, bytes)| bytes).eq(expected);
        let is_whole = (acknowledged..=acknowledged + lot).contains(&count);
        match is_known && is_whole && (skipped == 0 || oldest > 1) {
            true => Ok(count),
            false => Err(format!("groups {skipped} to {count} after {acknowledged}").into()),
        }
    };
    let right =
        |log: &RedoLog| -> std::result::Result<usize, Box<dyn std::error::Error>> { is_right(log) };
    right(&open(crash.domains(), Access::ReadOnly, oldest)?)?;
    let log = open(crash.domains(), Access::ReadWrite, oldest)?;
    crash.recovered();
    let count = right(&log)?;
    if let Some(note) = log.notes().iter().find(|note| !note.contains("rebuilt from")) {
        return Err(note.clone().into());
    }
    let last = group(u64::MAX, 20);
    log.append(CommitTs(u64::MAX), &last)?;
    log.flush()?;
    drop(log);
    let log = open(crash.domains(), Access::ReadWrite, oldest)?;
    let again = replayed(&log)?;
    let is_last = again.last().is_some_and(|(_, bytes)| bytes == last.bytes());
    let before = again.len().checked_sub(2).map_or(0, |at| again[at].0.0 as usize);
    match is_last && before == count && log.notes().is_empty() {
        true => Ok(()),
        false => Err(format!("{before} of {count} groups, then {:?}", log.notes()).into()),
    }
}

#[test]
fn acknowledged_groups_are_there_after_any_crash() {
    let media = [vec![lines()], vec![pages()], vec![lines(), pages()], vec![lines(), lines()]];
    for (lot, media) in [1, 1, 1, 3].into_iter().zip(media) {
        let name = format!("redo log in {} domains, {lot} groups at once", media.len());
        explore(&name, 15, |explorer, seed| {
            let script = script(seed, 9);
            let explored = explorer.media(&media).run(
                create,
                |domains, marks| append(domains, &script, lot, marks),
                |crash| check(crash, &script, lot),
            );
            explored.unwrap_or_else(|violation| panic!("{violation}"))
        });
    }
}

#[test]
fn truncation_may_be_interrupted() {
    explore("redo log that is truncated", 20, |explorer, seed| {
        let script = script(seed, 12);
        let explored = explorer.domains(2).run(
            create,
            |domains, marks| {
                let log = open(domains, Access::ReadWrite, 1)?;
                for (number, group) in script.iter().enumerate() {
                    let before = log.end();
                    log.append(CommitTs(number as u64 + 1), group)?;
                    log.flush()?;
                    marks.note(number as u64 + 1);
                    if number % 5 == 4 {
                        let oldest = log.segment_at(before);
                        marks.note(OLDEST + oldest);
                        log.truncate(oldest)?;
                    }
                }
                Ok(())
            },
            |crash| check(crash, &script, 1),
        );
        explored.unwrap_or_else(|violation| panic!("{violation}"))
    });
}

#[test]
fn creation_may_be_interrupted() {
    explore("redo log that is created", 10, |explorer, seed| {
        let script = script(seed, 2);
        let explored = explorer.domains(2).run(
            |_| Ok(()),
            |domains, marks| {
                create(domains)?;
                marks.note(OLDEST + 1);
                append(domains, &script, 1, marks)
            },
            |crash| match crash.marks() {
                // No record of the manifest names it: what is there of it is removed.
                [] => {
                    create(crash.domains())?;
                    let names = crash.domains()[0].list_pools()?;
                    assert_eq!(names.iter().filter_map(|name| segment_of(name)).count(), 2);
                    Ok(())
                }
                _ => check(crash, &script, 1),
            },
        );
        explored.unwrap_or_else(|violation| panic!("{violation}"))
    });
}

#[test]
fn group_that_is_acknowledged_before_it_is_durable_is_found() {
    let script = script(1, 3);
    let explored = Explorer::new("redo log with a bug", 1).images(1000).run(
        create,
        |domains, marks| {
            let log = open(domains, Access::ReadWrite, 1)?;
            for (number, group) in script.iter().enumerate() {
                log.append(CommitTs(number as u64 + 1), group)?;
                marks.note(number as u64 + 1);
            }
            Ok(())
        },
        |crash| check(crash, &script, 1),
    );
    assert!(explored.is_err());
}
