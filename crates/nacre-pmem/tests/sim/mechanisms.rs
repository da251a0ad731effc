//! Replication mechanisms: each one alone, and another one for every update.

use nacre_pmem::replicate::Mechanism;
use nacre_pmem::sim::{Crash, Marks, Outcome};
use nacre_pmem::{Domain, PoolSet};

use crate::script::{Script, check_members, create, data, done, open};
use crate::support::{self, line_copies};

/// Images of each mechanism a round.
const IMAGES: usize = 20;

/// Runs the script with a mechanism for every single write of a batch, and one drain for all.
fn run_switching(
    domains: &[Domain],
    script: &Script,
    marks: &Marks<'_>,
    choose: impl Fn(usize) -> Option<Mechanism>,
) -> Outcome {
    let mut set = open(domains)?;
    let (base, mut count) = (set.data_offset(), 0);
    for (number, change) in script.changes.iter().enumerate() {
        for (offset, bytes) in change.writes() {
            set.set_mechanism(choose(count))?;
            set.write(base + offset, &bytes)?;
            count += 1;
        }
        set.drain()?;
        marks.note(number as u64 + 1);
    }
    Ok(())
}

/// Runs the script; `choose` gives the mechanism of each change.
fn run(
    domains: &[Domain],
    script: &Script,
    marks: &Marks<'_>,
    choose: impl Fn(usize) -> Option<Mechanism>,
) -> Outcome {
    let mut set = open(domains)?;
    for (number, change) in script.changes.iter().enumerate() {
        set.set_mechanism(choose(number))?;
        change.run(&mut set)?;
        marks.note(number as u64 + 1);
    }
    Ok(())
}

fn check(crash: &Crash<'_>, script: &Script) -> Outcome {
    let set: PoolSet = open(crash.domains())?;
    crash.recovered();
    script.check(data(&set)?, done(crash))?;
    check_members(&set)
}

fn available() -> Vec<Mechanism> {
    Mechanism::ALL.into_iter().filter(|mechanism| mechanism.is_available()).collect()
}

#[test]
fn updates_survive_whatever_mechanism_is_chosen_for_each() {
    let all = available();
    support::explore("switched mechanisms", 8, |explorer, seed| {
        let script = Script::random(seed, 24);
        let next = |number: usize| match (number + seed as usize) % (all.len() + 1) {
            0 => None,
            choice => Some(all[choice - 1]),
        };
        explorer.media(&line_copies(seed * 5 + 1, 2 + seed % 3)).run(
            |domains| {
                create(domains)?;
                Ok(())
            },
            |domains, marks| run(domains, &script, marks, next),
            |crash| check(crash, &script),
        )
    });
}

#[test]
fn writes_survive_a_switch_before_their_drain() {
    let all = available();
    support::explore("switch before a drain", 4, |explorer, seed| {
        let script = Script::random(seed, 16);
        let next = |number: usize| match (3 * number + seed as usize) % (all.len() + 1) {
            0 => None,
            choice => Some(all[choice - 1]),
        };
        explorer.media(&line_copies(seed * 5 + 1, 2 + seed % 3)).run(
            |domains| {
                create(domains)?;
                Ok(())
            },
            |domains, marks| run_switching(domains, &script, marks, next),
            |crash| check(crash, &script),
        )
    });
}

#[test]
fn updates_survive_with_every_mechanism() {
    let all = available();
    support::explore("every mechanism", 10, |explorer, seed| {
        let mut total = nacre_pmem::sim::Report::default();
        for &mechanism in &all {
            let script = Script::random(seed, 12);
            let media = line_copies(seed * 5 + 1, 3);
            let explorer = explorer.clone().images(IMAGES).media(&media).nested(9, 2);
            let report = explorer.run(
                |domains| {
                    create(domains)?;
                    Ok(())
                },
                |domains, marks| run(domains, &script, marks, |_| Some(mechanism)),
                |crash| check(crash, &script),
            );
            let name = mechanism.name();
            total.add(&report.unwrap_or_else(|violation| panic!("{name}: {violation}")));
        }
        Ok(total)
    });
}
