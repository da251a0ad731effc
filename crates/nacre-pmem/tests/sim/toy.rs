//! The simulator itself: a record of 24 bytes and the word that publishes it, right and wrong.

use nacre_pmem::sim::{Crash, Explorer, Marks, Outcome, Plant};
use nacre_pmem::{Access, Domain, Pool, Settings};

use crate::support::{self, bytes, lines, pages};

const SLOTS: u64 = 12;
const SLOT_BYTES: u64 = 64;

fn setup(domains: &[Domain]) -> Outcome {
    domains[0].create_pool("toy", 4096)?;
    Ok(())
}

fn payload(slot: u64) -> [u8; 24] {
    [slot as u8 + 100; 24]
}

/// The order of the steps of a slot; the right one is payload, persist, publish.
fn put(pool: &mut Pool, slot: u64) -> nacre_pmem::Result<()> {
    // Crosses a line, so that both halves must be durable.
    let offset = 1024 + slot * SLOT_BYTES + 50;
    pool.write(offset, &payload(slot))?;
    pool.persist(offset, 24)?;
    pool.publish_u64(0, slot + 1)
}

fn workload(domains: &[Domain], marks: &Marks<'_>) -> Outcome {
    let mut pool = domains[0].open_pool("toy", Access::ReadWrite)?;
    for slot in 0..SLOTS {
        put(&mut pool, slot)?;
        marks.note(slot + 1);
    }
    Ok(())
}

fn check(crash: &Crash<'_>) -> Outcome {
    let pool = crash.domains()[0].open_pool("toy", Access::ReadOnly)?;
    let count = pool.load_u64(0)?;
    let promised = crash.marks().last().copied().unwrap_or(0);
    if count < promised || count > promised + 1 {
        return Err(format!("{count} slots, {promised} were promised").into());
    }
    for slot in 0..count {
        let offset = 1024 + slot * SLOT_BYTES + 50;
        if pool.read(offset, 24)? != payload(slot) {
            return Err(format!("slot {slot} of {count} lacks its payload").into());
        }
    }
    Ok(())
}

#[test]
fn published_record_is_whole_on_every_kind_of_media() {
    let media: [fn(u64) -> Settings; 3] = [lines, |_| pages(), |_| bytes()];
    for media in media {
        support::explore("toy record", 1, |explorer, seed| {
            explorer.media(&[media(seed)]).run(setup, workload, check)
        });
    }
}

#[test]
fn small_workload_is_explored_completely() {
    let workload = |domains: &[Domain], _: &Marks<'_>| {
        let mut pool = domains[0].open_pool("toy", Access::ReadWrite)?;
        pool.write(0, &[1; 24])?;
        pool.write(64, &[1; 8])?;
        Ok(())
    };
    let report =
        Explorer::new("two lines", 1).images(1000).run(setup, workload, |_| Ok(())).unwrap();
    // Nothing; the first store torn in 8 ways; each of those with the second store too.
    assert_eq!(report.images, 1 + 8 + 16 - 1 - 8);
}

#[test]
fn every_missing_flush_is_found() {
    let explorer = Explorer::new("toy without a flush", 1).images(4000);
    let (found, places) =
        explorer.plant_everywhere(Plant::SkipFlush, setup, workload, check).unwrap();
    assert_eq!((found, places), (24, 24));
}

#[test]
fn every_missing_fence_is_found() {
    let explorer = Explorer::new("toy without a fence", 1).images(4000);
    let (found, places) =
        explorer.plant_everywhere(Plant::SkipFence, setup, workload, check).unwrap();
    assert_eq!((found, places), (24, 24));
}

#[test]
fn every_publish_before_its_payload_is_found() {
    let explorer = Explorer::new("toy that publishes early", 1).images(4000);
    let (found, places) =
        explorer.plant_everywhere(Plant::EarlyPublish, setup, workload, check).unwrap();
    // Every second fence is followed by the payload of the next slot, which may come early.
    assert_eq!((found, places), (12, 23));
}

#[test]
fn missing_msync_is_found_at_page_granularity() {
    let explorer = Explorer::new("toy without an msync", 1).images(4000).media(&[pages()]);
    let (found, places) =
        explorer.plant_everywhere(Plant::SkipFlush, setup, workload, check).unwrap();
    assert!(found >= places / 2 && found > 0, "{found} of {places}");
}

#[test]
fn violation_tells_how_to_replay_it() {
    let explorer = Explorer::new("toy", 7).plant(Plant::SkipFlush(0));
    let violation = explorer.run(setup, workload, check).unwrap_err();
    let text = violation.to_string();
    for part in ["slot 0 of 1 lacks its payload", "NACRE_TEST_SEED=7", "lost", "Store"] {
        assert!(text.contains(part), "{text}");
    }
    let point = violation.crash_points[0];
    let again = explorer.only_point(Some(point)).run(setup, workload, check).unwrap_err();
    assert_eq!(again.crash_points[0], point);
}

#[test]
fn panic_of_a_check_is_a_violation() {
    let violation = Explorer::new("panic", 1)
        .run(setup, workload, |crash| {
            assert!(crash.marks().len() < 3, "three are too many");
            Ok(())
        })
        .unwrap_err();
    assert!(violation.problem.contains("three are too many"), "{violation}");
}

#[test]
fn crash_during_recovery_is_explored() {
    // "Recovery" that sets a flag before the work it stands for.
    let recover = |crash: &Crash<'_>| {
        let mut pool = crash.domains()[0].open_pool("toy", Access::ReadWrite)?;
        if pool.load_u64(512)? == 0 {
            pool.publish_u64(512, 1)?;
            pool.write(640, &[1; 8])?;
            pool.persist(640, 8)?;
        }
        match pool.load_u64(640)? {
            0 => Err("recovery was cut short and not taken up".into()),
            _ => Ok(()),
        }
    };
    let explorer = Explorer::new("careless recovery", 1).nested(1, 8);
    let violation = explorer.clone().run(setup, workload, recover).unwrap_err();
    assert!(violation.crash_points.len() > 1, "{violation}");
    let report = explorer.nested(0, 0).run(setup, workload, recover).unwrap();
    assert_eq!(report.nested_images, 0);
}

/// Recovery compared what two members had and said durably that they were equal, of bytes that only
/// caches had: the killed process had stored and not flushed them, and recovery had only read them.
#[test]
fn recovery_that_believes_what_a_killed_process_left_in_caches_is_found() {
    const DIRTY: u64 = 0;
    const COPIES: [u64; 2] = [64, 128];
    let workload = |domains: &[Domain], _: &Marks<'_>| {
        let mut pool = domains[0].open_pool("toy", Access::ReadWrite)?;
        pool.publish_u64(DIRTY, 1)?;
        for copy in COPIES {
            pool.write(copy, &[5; 8])?;
        }
        Ok(())
    };
    let recover = |crash: &Crash<'_>, makes_durable: bool| {
        let mut pool = crash.domains()[0].open_pool("toy", Access::ReadWrite)?;
        if pool.load_u64(DIRTY)? == 1 {
            let word = pool.load_u64(COPIES[0])?;
            if pool.load_u64(COPIES[1])? != word {
                pool.write(COPIES[1], &word.to_le_bytes())?;
                pool.persist(COPIES[1], 8)?;
            }
            if makes_durable {
                pool.persist(COPIES[0], COPIES[1] + 8 - COPIES[0])?;
            }
            pool.publish_u64(DIRTY, 0)?;
        }
        match pool.load_u64(COPIES[0])? == pool.load_u64(COPIES[1])? {
            true => Ok(()),
            false => Err("the copies differ and nobody knows".into()),
        }
    };
    for media in [lines(1), pages()] {
        let explorer = Explorer::new("credulous recovery", 1).media(&[media]).nested(1, 16);
        let violation = explorer.run(setup, workload, |crash| recover(crash, false)).unwrap_err();
        assert!(violation.problem.contains("nobody knows"), "{violation}");
        assert!(violation.crash_points.len() > 1, "{violation}");
        explorer.run(setup, workload, |crash| recover(crash, true)).unwrap();
    }
}
