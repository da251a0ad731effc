//! Pool sets that are created, grow, and get, rebuild, move and lose members.

use nacre_pmem::set::MemberCondition;
use nacre_pmem::sim::{Crash, Explorer, Marks, Outcome};
use nacre_pmem::{Domain, ErrorKind, PoolSet};

use crate::script::{DATA_BYTES, Script, check_members, create, data, done, open};
use crate::support::{self, PLANTS, line_copies};

/// Bytes of a rebuilding step: several for a member.
const STEP_BYTES: u64 = 9000;

/// Runs the script, and between its changes makes the members come and go.
fn workload(domains: &[Domain], script: &Script, marks: &Marks<'_>) -> Outcome {
    let mut set = open(&domains[..2])?;
    let mut added = None;
    for (number, change) in script.changes.iter().enumerate() {
        match number {
            2 => added = Some(set.add_replica(&domains[2])?),
            3..6 => drop(set.rebuild_step(STEP_BYTES)?),
            6 => while !set.rebuild_step(STEP_BYTES)?.is_done {},
            8 => set.grow(DATA_BYTES + 20_000)?,
            10 => set.remove_replica(0)?,
            12 => drop(set.move_replica(added.unwrap_or(1), &domains[0])?),
            13..16 => drop(set.rebuild_step(STEP_BYTES)?),
            16 => while !set.rebuild_step(STEP_BYTES)?.is_done {},
            _ => {}
        }
        change.run(&mut set)?;
        marks.note(number as u64 + 1);
    }
    Ok(())
}

fn check(crash: &Crash<'_>, script: &Script) -> Outcome {
    let mut set = open(crash.domains())?;
    crash.recovered();
    check_data(&set, crash, script)?;
    while !set.rebuild_step(1 << 20)?.is_done {}
    check_data(&set, crash, script)?;
    check_members(&set)
}

fn check_data(set: &PoolSet, crash: &Crash<'_>, script: &Script) -> Outcome {
    let (found, rest) = data(set)?.split_at(DATA_BYTES as usize);
    if rest.iter().any(|&byte| byte != 0) {
        return Err("bytes that the set grew by are no zeros".into());
    }
    check_files(set, crash)?;
    script.check(found, done(crash))
}

/// Checks that no file is there that belongs to no member.
fn check_files(set: &PoolSet, crash: &Crash<'_>) -> Outcome {
    let mut files = 0;
    for domain in crash.domains() {
        files += domain.list_pools()?.len();
    }
    let states = set.member_states();
    let members = states.iter().filter(|state| state.condition != MemberCondition::Missing);
    match files <= members.count() {
        true => Ok(()),
        false => Err(format!("{files} files, but members are {states:?}").into()),
    }
}

#[test]
fn members_come_and_go_without_losing_a_change() {
    support::explore("members", 10, |explorer, seed| {
        let script = Script::random(seed, 20);
        explorer.media(&line_copies(seed, 3)).run(
            |domains| {
                create(&domains[..2])?;
                Ok(())
            },
            |domains, marks| workload(domains, &script, marks),
            |crash| check(crash, &script),
        )
    });
}

#[test]
fn set_is_created_wholly_or_can_be_told_to_be_unfinished() {
    support::explore("creation", 3, |explorer, seed| {
        explorer.media(&line_copies(seed, 2)).run(
            |_| Ok(()),
            |domains, marks| {
                create(domains)?;
                marks.note(1);
                Ok(())
            },
            |crash| match open(crash.domains()) {
                Ok(set) => check_members(&set),
                Err(error) if done(crash) == 0 && is_unfinished(error.kind()) => {
                    // What is left is in nobody's way.
                    check_members(&create(crash.domains())?)
                }
                Err(error) => Err(error.into()),
            },
        )
    });
}

/// What opening may say of a set whose creation was cut off.
fn is_unfinished(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::Unfinished)
}

#[test]
fn bugs_planted_into_a_pool_set_are_found() {
    let script = Script::random(5, 5);
    for (name, plant) in PLANTS {
        let explorer = Explorer::new("planted", 5).images(500).domains(2).nested(0, 0);
        let setup = |domains: &[Domain]| {
            create(domains)?;
            Ok(())
        };
        let workload =
            |domains: &[Domain], marks: &Marks<'_>| script.run(&mut open(domains)?, marks);
        let check = |crash: &Crash<'_>| {
            let set = open(crash.domains())?;
            script.check(data(&set)?, done(crash))?;
            check_members(&set)
        };
        explorer.run(setup, workload, check).unwrap();
        let (found, places) = explorer.plant_everywhere(plant, setup, workload, check).unwrap();
        println!("sim: pool set, planted {name}: {found} of {places} found");
        assert!(found > 0, "{name}: {found} of {places}");
    }
}
