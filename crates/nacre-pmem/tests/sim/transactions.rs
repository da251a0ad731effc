//! Transactions: each one wholly there or not at all, acknowledged ones there.

use nacre_pmem::sim::{Crash, Explorer, Marks, Outcome, Report, Violation};
use nacre_pmem::{Domain, PoolSet};

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

/// What a transaction does, one after the other; places are relative to the data area.
enum Act {
    Write(u64, Vec<u8>),
    Read(u64, u64),
}

/// Transactions of writes that overlap, with reads of what was written between them, which store it
/// in place early; some fail at the end. Plain words are stored between them.
struct Tangle {
    steps: Vec<(Vec<Act>, End)>,
    /// Data before the first and after each.
    contents: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    Fail,
    /// No transaction: one aligned word.
    Plain,
    /// A transaction of one aligned word, which needs no log.
    Word,
}

impl Tangle {
    fn random(seed: u64, count: usize) -> Tangle {
        const SPAN: u64 = 300;
        let mut random = Random::new(seed ^ 0x7A46);
        let mut content = vec![0; SPAN as usize + 20];
        let mut tangle = Tangle { steps: Vec::new(), contents: vec![content.clone()] };
        for _ in 0..count {
            let end = [End::Commit, End::Commit, End::Commit, End::Fail, End::Plain, End::Word];
            let end = end[random.below(6) as usize];
            let is_word = matches!(end, End::Plain | End::Word);
            let mut acts = Vec::new();
            let mut new = content.clone();
            for _ in 0..if is_word { 1 } else { random.below(7) } {
                let most = [100, 16, 16, 16][random.below(4) as usize];
                let (mut bytes, mut offset) = (1 + random.below(most), random.below(SPAN - most));
                if is_word {
                    (bytes, offset) = (8, offset & !7);
                }
                let source = random.bytes(bytes as usize);
                new[offset as usize..(offset + bytes) as usize].copy_from_slice(&source);
                acts.push(Act::Write(offset, source));
                if !is_word && random.below(3) == 0 {
                    acts.push(Act::Read(random.below(SPAN), 16));
                }
            }
            if end != End::Fail {
                content = new;
            }
            tangle.steps.push((acts, end));
            tangle.contents.push(content.clone());
        }
        tangle
    }

    fn run(&self, domains: &[Domain], marks: &Marks<'_>) -> Outcome {
        let mut set = open(domains)?;
        let base = set.data_offset();
        for (number, (acts, end)) in self.steps.iter().enumerate() {
            if *end == End::Plain {
                if let [Act::Write(offset, bytes)] = &acts[..] {
                    set.update(base + offset, bytes)?;
                }
            } else {
                let result = set.transaction(|tx| {
                    for act in acts {
                        match act {
                            Act::Write(offset, bytes) => tx.write(base + offset, bytes)?,
                            Act::Read(offset, bytes) => drop(tx.read(base + offset, *bytes)?),
                        }
                    }
                    if *end == End::Fail { tx.read(u64::MAX, 1).map(|_| ()) } else { Ok(()) }
                });
                assert_eq!(result.is_err(), *end == End::Fail);
            }
            marks.note(number as u64 + 1);
        }
        Ok(())
    }

    fn check(&self, crash: &Crash<'_>) -> Outcome {
        let set = open(crash.domains())?;
        crash.recovered();
        let bytes = self.contents[0].len();
        let (found, done) = (&data(&set)?[..bytes], done(crash));
        let is_next = self.contents.get(done + 1).is_some_and(|next| found == next);
        if !is_next && found != self.contents[done] {
            return Err(format!("step {done} is there in part").into());
        }
        check_members(&set)
    }
}

#[test]
fn overlapping_writes_are_atomic_even_if_recovery_is_cut_short_twice() {
    for copies in 1..4 {
        support::explore(&format!("tangled, {copies} members"), 4, |explorer, seed| {
            let tangle = Tangle::random(seed, 14);
            explorer.media(&line_copies(seed, copies)).nested(3, 9).run(
                |domains| {
                    create(domains)?;
                    Ok(())
                },
                |domains, marks| tangle.run(domains, marks),
                |crash| tangle.check(crash),
            )
        });
    }
}

#[test]
fn bugs_planted_into_the_transaction_log_are_found() {
    let script = Script::random(3, 4);
    for (name, plant) in PLANTS {
        let explorer = Explorer::new("planted", 3).images(500).domains(2).nested(0, 0);
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
        println!("sim: transaction log, planted {name}: {found} of {places} found");
        assert!(found > 0, "{name}: {found} of {places}");
    }
}
