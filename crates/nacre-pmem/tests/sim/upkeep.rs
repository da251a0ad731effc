//! Upkeep of a set in use: members are distrusted, scrubbed and grown between updates.

use nacre_pmem::sim::{Crash, Marks, Outcome};
use nacre_pmem::{Access, Domain, PoolSet};

use crate::script::{DATA_BYTES, NAME, Script, check_members, create, data, done, open};
use crate::support::{self, line_copies};

const STEP_BYTES: u64 = 9000;

/// Changes bytes of one member behind the back of the set.
fn rot(domain: &Domain, index: u32, offset: u64) -> Outcome {
    let mut pool = domain.open_pool(&format!("{NAME}.{index}"), Access::ReadWrite)?;
    pool.write(offset, &[0xB0; 100])?;
    Ok(pool.persist(offset, 100)?)
}

fn workload(domains: &[Domain], script: &Script, marks: &Marks<'_>) -> Outcome {
    let mut set = open(domains)?;
    for (number, change) in script.changes.iter().enumerate() {
        match number {
            // The serving member, while writes may wait for a drain.
            2 => set.distrust(0, "its reader found a wrong checksum")?,
            3..5 => drop(set.rebuild_step(STEP_BYTES)?),
            5 => set.grow(DATA_BYTES + 5_000)?,
            6 => rebuild(&mut set)?,
            7 => {
                let offset = set.data_offset() + DATA_BYTES - 200;
                rot(&domains[1], 1, offset)?;
            }
            8..14 => drop(set.scrub_step(STEP_BYTES)?),
            14 => set.distrust(2, "once more")?,
            15 => set.grow(DATA_BYTES + 30_000)?,
            16 => rebuild(&mut set)?,
            _ => {}
        }
        change.run(&mut set)?;
        marks.note(number as u64 + 1);
    }
    Ok(())
}

fn rebuild(set: &mut PoolSet) -> nacre_pmem::Result<()> {
    while !set.rebuild_step(STEP_BYTES)?.is_done {}
    Ok(())
}

fn check(crash: &Crash<'_>, script: &Script) -> Outcome {
    let mut set = open(crash.domains())?;
    crash.recovered();
    check_data(&set, crash, script)?;
    rebuild(&mut set)?;
    while !set.scrub_step(1 << 20)?.is_done {}
    check_data(&set, crash, script)?;
    check_members(&set)
}

fn check_data(set: &PoolSet, crash: &Crash<'_>, script: &Script) -> Outcome {
    let (found, rest) = data(set)?.split_at(DATA_BYTES as usize);
    if rest.iter().any(|&byte| byte != 0) {
        return Err("bytes that the set grew by are no zeros".into());
    }
    script.check(found, done(crash))
}

#[test]
fn distrusted_scrubbed_and_grown_sets_lose_no_change() {
    support::explore("upkeep", 10, |explorer, seed| {
        let script = Script::random(seed, 20);
        explorer.media(&line_copies(seed, 3)).nested(16, 10).run(
            |domains| {
                create(domains)?;
                Ok(())
            },
            |domains, marks| workload(domains, &script, marks),
            |crash| check(crash, &script),
        )
    });
}
