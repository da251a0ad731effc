//! Single pools: publishing, growing, and pools that are built by appends.

use nacre_pmem::sim::{Crash, Marks, Outcome};
use nacre_pmem::{Access, Domain};

use crate::support::{self, Random, lines, pages};

const RECORDS_OFFSET: u64 = 64;

/// The record of this number: its length, bytes and place follow from the seed.
fn record(seed: u64, number: u64) -> Vec<u8> {
    let mut random = Random::new(seed ^ (number << 32));
    let bytes = 1 + random.below(150) as usize;
    random.bytes(bytes)
}

fn append_records(domain: &Domain, marks: &Marks<'_>, seed: u64, count: u64) -> Outcome {
    let mut pool = domain.open_pool("log", Access::ReadWrite)?;
    let mut offset = RECORDS_OFFSET;
    for number in 0..count {
        let bytes = record(seed, number);
        let end = offset + bytes.len() as u64;
        if end > pool.bytes() {
            pool.grow(end.next_multiple_of(4096))?;
        }
        pool.write(offset, &bytes)?;
        pool.persist(offset, bytes.len() as u64)?;
        pool.publish_u64(0, number + 1)?;
        marks.note(number + 1);
        offset = end;
    }
    Ok(())
}

fn check_records(crash: &Crash<'_>, seed: u64) -> Outcome {
    let pool = crash.domains()[0].open_pool("log", Access::ReadWrite)?;
    crash.recovered();
    let promised = crash.marks().last().copied().unwrap_or(0);
    let count = pool.load_u64(0)?;
    if count < promised || count > promised + 1 {
        return Err(format!("{count} records, {promised} were promised").into());
    }
    let mut offset = RECORDS_OFFSET;
    for number in 0..count {
        let bytes = record(seed, number);
        if pool.read(offset, bytes.len() as u64)? != bytes {
            return Err(format!("record {number} of {count} differs").into());
        }
        offset += bytes.len() as u64;
    }
    Ok(())
}

#[test]
fn published_records_survive_while_the_pool_grows() {
    for is_paged in [false, true] {
        support::explore("growing pool", 3, |explorer, seed| {
            let media = if is_paged { pages() } else { lines(seed) };
            explorer.media(&[media]).run(
                |domains| {
                    domains[0].create_pool("log", 4096)?;
                    Ok(())
                },
                |domains, marks| append_records(&domains[0], marks, seed, 80),
                |crash| check_records(crash, seed),
            )
        });
    }
}

/// Appends pieces, finishes the pool and publishes its name in another one.
fn build(domain: &Domain, marks: &Marks<'_>, seed: u64) -> Outcome {
    let mut root = domain.open_pool("root", Access::ReadWrite)?;
    for number in 0..3 {
        let appender = domain.append_pool(&format!("built.{number}"))?;
        for piece in 0..6 {
            appender.append(&record(seed + number, piece), 8)?;
        }
        appender.finish()?;
        root.publish_u64(0, number + 1)?;
        marks.note(number + 1);
    }
    Ok(())
}

fn check_built(crash: &Crash<'_>, seed: u64) -> Outcome {
    let domain = &crash.domains()[0];
    let count = domain.open_pool("root", Access::ReadOnly)?.load_u64(0)?;
    let promised = crash.marks().last().copied().unwrap_or(0);
    if count < promised || count > promised + 1 {
        return Err(format!("{count} pools, {promised} were promised").into());
    }
    for number in 0..count {
        let pool = domain.open_pool(&format!("built.{number}"), Access::ReadOnly)?;
        let mut offset = 0u64;
        for piece in 0..6 {
            let bytes = record(seed + number, piece);
            offset = offset.next_multiple_of(8);
            if pool.read(offset, bytes.len() as u64)? != bytes {
                return Err(format!("piece {piece} of pool {number} differs").into());
            }
            offset += bytes.len() as u64;
        }
        if pool.bytes() != offset {
            return Err(format!("pool {number} has {} bytes, not {offset}", pool.bytes()).into());
        }
    }
    Ok(())
}

#[test]
fn built_pool_is_whole_once_it_is_published() {
    for is_paged in [false, true] {
        support::explore("built pool", 2, |explorer, seed| {
            let media = if is_paged { pages() } else { lines(seed) };
            explorer.media(&[media]).run(
                |domains| {
                    domains[0].create_pool("root", 64)?;
                    Ok(())
                },
                |domains, marks| build(&domains[0], marks, seed),
                |crash| check_built(crash, seed),
            )
        });
    }
}
