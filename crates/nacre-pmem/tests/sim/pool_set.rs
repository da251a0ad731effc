//! Pool sets: acknowledged changes stay, and members are byte-identical after recovery.

use nacre_pmem::sim::{Crash, Outcome};
use nacre_pmem::{Access, PoolSet};

use crate::script::{NAME, Script, check_members, create, data, done, open};
use crate::support::{self, line_copies, pages};

/// Reopens the set, compares it with the script, and changes it once more.
fn check(crash: &Crash<'_>, script: &Script) -> Outcome {
    let mut set = open(crash.domains())?;
    crash.recovered();
    script.check(data(&set)?, done(crash))?;
    check_members(&set)?;
    let offset = set.data_offset() + 100;
    set.update(offset, b"still works")?;
    check_members(&set)
}

#[test]
fn updates_survive_and_members_are_healed() {
    for (percent, copies, is_paged) in [(4, 1, false), (8, 2, false), (10, 3, false), (3, 2, true)]
    {
        support::explore(&format!("set of {copies}"), percent, |explorer, seed| {
            let script = Script::random(seed, 24);
            let media = match is_paged {
                true => vec![pages(); copies as usize],
                false => line_copies(seed, copies),
            };
            explorer.media(&media).run(
                |domains| {
                    create(domains)?;
                    Ok(())
                },
                |domains, marks| {
                    let mut set = open(domains)?;
                    script.run(&mut set, marks)
                },
                |crash| check(crash, &script),
            )
        });
    }
}

#[test]
fn reader_finds_everything_acknowledged_before_it_is_repaired() {
    support::explore("set opened read-only", 3, |explorer, seed| {
        let script = Script::random(seed, 24);
        explorer.media(&line_copies(seed, 3)).nested(0, 0).run(
            |domains| {
                create(domains)?;
                Ok(())
            },
            |domains, marks| script.run(&mut open(domains)?, marks),
            |crash| {
                let set = PoolSet::open(NAME, crash.domains(), Access::ReadOnly)?;
                script.check(data(&set)?, done(crash))?;
                drop(set);
                check(crash, &script)
            },
        )
    });
}
