//! Undo-log transactions: each one wholly there or not at all, acknowledged ones there.

use nacre_pmem::PoolSet;
use nacre_pmem::sim::{Crash, Explorer, Marks, Outcome, Report, Violation};

use crate::script::{Script, check_members, create, data, done, open};
use crate::support::{self, PLANTS, Random, bytes, line_copies, pages};

/// Whether the change of this number is made without a transaction.
fn is_plain(seed: u64, number: usize) -> bool {
    Random::new(seed ^ ((number as u64) << 20)).below(4) == 0
}

/// Runs most changes as one transaction each, and now and then fails one on purpose.
fn run(set: &mut PoolSet, script: &Script, seed: u64, marks: &Marks<'_>) -> Outcome {
    let mut random = Random::new(seed ^ 0xF00D);
    let base = set.data_offset();
    for (number, change) in script.changes.iter().enumerate() {
        if random.below(6) == 0 {
            let failed: nacre_pmem::Result<()> = set.transaction(|tx| {
                tx.write(base + random.below(500) * 8, &[0xEE; 20])?;
                if random.below(2) == 0 {
                    tx.read(base, 4096)?;
                }
                tx.read(u64::MAX, 1).map(|_| ())
            });
            assert!(failed.is_err());
        }
        if is_plain(seed, number) {
            change.run(set)?;
            marks.note(number as u64 + 1);
            continue;
        }
        set.transaction(|tx| {
            for (offset, bytes) in change.writes() {
                tx.write(base + offset, &bytes)?;
                if random.below(8) == 0 {
                    let seen = tx.read(base + offset, bytes.len() as u64)?;
                    assert_eq!(seen, bytes);
                }
            }
            Ok(())
        })?;
        marks.note(number as u64 + 1);
    }
    Ok(())
}

/// Reopens the set and finds a state between two transactions; the set goes on working.
fn check(crash: &Crash<'_>, script: &Script, seed: u64) -> Outcome {
    let mut set = open(crash.domains())?;
    crash.recovered();
    let found = data(&set)?;
    let done = done(crash);
    let is_next = script.contents.get(done + 1).is_some_and(|next| found == next);
    if !is_next && found != script.contents[done] {
        script.check(found, done)?;
        if is_plain(seed, done) {
            return Ok(());
        }
        return Err(format!("transaction {done} is there in part").into());
    }
    check_members(&set)?;
    let base = set.data_offset();
    set.transaction(|tx| {
        tx.write(base, b"still")?;
        tx.write(base + 4000, b"works")
    })?;
    check_members(&set)
}

fn explore(explorer: &Explorer, script: &Script, seed: u64) -> Result<Report, Violation> {
    explorer.run(
        |domains| {
            create(domains)?;
            Ok(())
        },
        |domains, marks| run(&mut open(domains)?, script, seed, marks),
        |crash| check(crash, script, seed),
    )
}

#[test]
fn transactions_are_atomic_and_durable() {
    for copies in 1..4 {
        support::explore(&format!("transactions, {copies} members"), 6, |explorer, seed| {
            let script = Script::random(seed, 20);
            explore(&explorer.media(&line_copies(seed, copies)), &script, seed)
        });
    }
}

#[test]
fn transactions_are_atomic_on_other_media() {
    for media in [pages(), bytes()] {
        support::explore("transactions, pages or bytes", 2, |explorer, seed| {
            explore(&explorer.media(&[media, media]), &Script::random(seed, 20), seed)
        });
    }
}

#[test]
fn bugs_planted_into_the_undo_log_are_found() {
    let script = Script::random(3, 4);
    for (name, plant) in PLANTS {
        let explorer = Explorer::new("planted", 3).images(1000).domains(2).nested(0, 0);
        explore(&explorer, &script, 3).unwrap();
        let (found, places) = explorer
            .plant_everywhere(
                plant,
                |domains| {
                    create(domains)?;
                    Ok(())
                },
                |domains, marks| run(&mut open(domains)?, &script, 3, marks),
                |crash| check(crash, &script, 3),
            )
            .unwrap();
        println!("sim: undo log, planted {name}: {found} of {places} found");
        assert!(found > 0, "{name}: {found} of {places}");
    }
}
