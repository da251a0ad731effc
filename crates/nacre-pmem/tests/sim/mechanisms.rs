//! Replication mechanisms: each one alone, and another one for every update.

use nacre_pmem::replicate::Mechanism;
use nacre_pmem::sim::{Crash, Marks, Outcome};
use nacre_pmem::{Domain, PoolSet};

use crate::script::{Script, check_members, create, data, done, open};
use crate::support::{self, line_copies};

/// Images of each mechanism a round.
const IMAGES: usize = 60;

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
fn updates_survive_with_every_mechanism() {
    let all = available();
    support::explore("every mechanism", 10, |explorer, seed| {
        let mut total = nacre_pmem::sim::Report::default();
        for &mechanism in &all {
            let script = Script::random(seed, 12);
            let explorer = explorer.clone().images(IMAGES).media(&line_copies(seed * 5 + 1, 3));
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
