//! Media that fail under running updates and reads: while one member is good no byte is lost.
//!
//! One thread writes, two read, and a fourth truncates, poisons and punches holes into members,
//! the serving one included, up to all but one of them, and rebuilds them while the others go on.
//! DRAM has a copy of what was acknowledged. Choices are seeded, the interleaving is the machine's.
//!
//! Files are cut at multiples of a page, and holes are punched only beside a serving member, before
//! a scrub: what the kernel reads back as zeros without a signal is for checksums to find.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::{Bound, ControlFlow};
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use nacre_pmem::structure::HybridTree;
use nacre_pmem::{Access, Domain, ErrorKind, MemberCondition, PoolSet, PoolSetOptions};
use support::{Over, shm_directory};
use tempfile::TempDir;

const MEMBERS: u32 = 3;
const DATA_BYTES: u64 = 512 << 10;
const PAGE: u64 = 4096;
const STEP_BYTES: u64 = 200_000;
const RUN_TIME: Duration = Duration::from_millis(700);

/// A seeded source of choices (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn bytes(&mut self, bytes: u64) -> Vec<u8> {
        (0..bytes).map(|_| self.next() as u8).collect()
    }
}

/// Directories of the members.
struct Places {
    directories: Vec<TempDir>,
    domains: Vec<Domain>,
}

impl Places {
    fn new() -> Places {
        let directory = || shm_directory().unwrap_or_else(|| tempfile::tempdir().unwrap());
        let directories: Vec<TempDir> = (0..MEMBERS).map(|_| directory()).collect();
        let domain = |directory: &TempDir| Domain::create("d", directory.path()).unwrap();
        let domains = directories.iter().map(domain).collect();
        Places { directories, domains }
    }

    fn create(&self) -> PoolSet {
        PoolSet::create("set", &self.domains, &PoolSetOptions::new(DATA_BYTES)).unwrap()
    }

    fn open(&self) -> PoolSet {
        PoolSet::open("set", &self.domains, Access::ReadWrite).unwrap()
    }

    fn path(&self, index: u32) -> PathBuf {
        self.directories[index as usize].path().join(format!("set.{index}"))
    }

    fn truncate(&self, index: u32, bytes: u64) {
        File::options().write(true).open(self.path(index)).unwrap().set_len(bytes).unwrap();
    }

    fn punch(&self, index: u32, offset: u64, bytes: u64) {
        let file = File::options().write(true).open(self.path(index)).unwrap();
        let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&file, flags, offset, bytes).unwrap();
    }
}

/// Sends this thread the signal that the kernel sends for failed memory at `address`: on access, or
/// ahead of it.
fn poison(address: usize, is_accessed: bool) {
    const BUS_MCEERR_AR: i32 = 4;
    const BUS_MCEERR_AO: i32 = 5;
    // SAFETY: all zeros is a valid value of this C struct.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    info.si_signo = libc::SIGBUS;
    info.si_code = if is_accessed { BUS_MCEERR_AR } else { BUS_MCEERR_AO };
    // SAFETY: the address of a fault lies 16 bytes into the struct of 128 bytes on 64-bit machines.
    unsafe { ptr::from_mut(&mut info).cast::<usize>().add(2).write(address) };
    // SAFETY: no arguments.
    let (process, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
    let info = ptr::from_ref(&info);
    let signal = libc::SIGBUS;
    // SAFETY: `info` is valid; a process may send itself any code.
    let sent = unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, info) };
    assert_eq!(sent, 0);
}

/// What the damager did.
#[derive(Debug, Default)]
struct Tally {
    rounds: u64,
    truncated: u64,
    poisoned: u64,
    punched: u64,
    served: u64,
    all_but_one: u64,
    interrupted: u64,
}

/// Damages members again and again; all of them are good between rounds.
struct Damager<'a, W: Fn(&mut dyn FnMut(&mut PoolSet))> {
    places: &'a Places,
    /// Calls a function with the set, locked.
    with: W,
    random: Random,
    tally: Tally,
}

impl<W: Fn(&mut dyn FnMut(&mut PoolSet))> Damager<'_, W> {
    fn run(mut self, start: Instant) -> Tally {
        while start.elapsed() < RUN_TIME {
            self.round();
            self.repair();
        }
        // The set is closed, or left, in this state.
        let serving = self.serving();
        self.damage((serving + 1) % MEMBERS);
        self.damage(serving);
        self.tally
    }

    fn get<T>(&self, body: impl Fn(&mut PoolSet) -> T) -> T {
        let mut result = None;
        (self.with)(&mut |set| result = Some(body(set)));
        result.unwrap()
    }

    fn serving(&self) -> u32 {
        self.get(|set| set.member_states().iter().find(|state| state.is_serving).unwrap().index)
    }

    fn round(&mut self) {
        self.tally.rounds += 1;
        let serving = self.serving();
        if self.random.below(4) == 0 {
            let index = (serving + 1 + self.random.below(2) as u32) % MEMBERS;
            let page = 16 + self.random.below((DATA_BYTES + (64 << 10)) / PAGE);
            self.places.punch(index, page * PAGE, PAGE * (1 + self.random.below(8)));
            self.tally.punched += 1;
            return;
        }
        let kept = self.random.below(u64::from(MEMBERS)) as u32;
        let both = self.random.below(2) == 0;
        let mut victims: Vec<u32> = (0..MEMBERS).filter(|&index| index != kept).collect();
        if self.random.below(2) == 0 {
            victims.reverse();
        }
        victims.truncate(1 + usize::from(both));
        self.tally.served += u64::from(victims.contains(&serving));
        self.tally.all_but_one += u64::from(both);
        for victim in victims {
            self.damage(victim);
            std::thread::sleep(Duration::from_micros(self.random.below(1500)));
        }
    }

    fn damage(&mut self, index: u32) {
        if self.random.below(3) > 0 {
            self.tally.truncated += 1;
            let pages = self.random.below((DATA_BYTES + (128 << 10)) / PAGE);
            self.places.truncate(index, [0, pages * PAGE][self.random.below(2) as usize]);
            return;
        }
        self.tally.poisoned += 1;
        // This thread alone unmaps members, so the addresses stay.
        let base = self.get(|set| {
            let offset = set.data_offset();
            set.read_member(index, offset, 1).map_or(0, |bytes| bytes.as_ptr() as usize)
        });
        for _ in 0..if base == 0 { 0 } else { 1 + self.random.below(3) } {
            let page = self.random.below(DATA_BYTES / PAGE);
            poison(base + (page * PAGE) as usize, self.random.below(2) == 0);
        }
    }

    /// Finds what is damaged and rebuilds it, now and then hit once more.
    fn repair(&mut self) {
        loop {
            match self.get(|set| set.scrub_step(STEP_BYTES)) {
                Ok(report) if report.is_done => break,
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
        let mut is_hit = self.random.below(3) > 0;
        loop {
            match self.get(|set| set.rebuild_step(STEP_BYTES)) {
                Ok(progress) if progress.is_done => break,
                Ok(progress) => {
                    if let Some(index) = progress.index.filter(|_| !is_hit) {
                        self.places.truncate(index, PAGE * self.random.below(100));
                        self.tally.interrupted += 1;
                        is_hit = true;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Lost && is_hit => {}
                Err(error) => panic!("{error}"),
            }
        }
        // Found by the next scrub otherwise: a hit member need not have been touched since.
        if self.get(|set| set.check().is_err() || !are_good(set)) {
            self.repair();
        }
    }
}

fn are_good(set: &PoolSet) -> bool {
    set.member_states().iter().all(|state| state.condition == MemberCondition::Good)
}

/// Checks what the damager tells it did.
fn check_tally(tally: &Tally) {
    println!("media faults: {tally:?}");
    assert!(tally.truncated > 2 && tally.poisoned > 0, "{tally:?}");
    assert!(tally.served > 0 && tally.all_but_one > 0, "{tally:?}");
}

/// Makes one change, in the set and, once it is acknowledged, in the copy.
fn change(set: &mut PoolSet, oracle: &mut [u8], random: &mut Random) {
    let data = set.data_offset();
    let mut write = || {
        let bytes = [4, 8, 64, 300, 5000][random.below(5) as usize];
        (random.below(DATA_BYTES - bytes), random.bytes(bytes))
    };
    let mut writes = vec![write()];
    let kind = writes[0].0 % 4;
    if kind > 0 {
        writes.extend([write(), write()]);
    }
    match kind {
        0 => set.update(data + writes[0].0, &writes[0].1).unwrap(),
        1 => {
            let updates: Vec<(u64, &[u8])> =
                writes.iter().map(|(offset, bytes)| (data + offset, &bytes[..])).collect();
            set.update_batch(&updates).unwrap();
        }
        2 => set
            .transaction(|tx| {
                writes.iter().try_for_each(|(offset, bytes)| tx.write(data + offset, bytes))
            })
            .unwrap(),
        _ => {
            // Applied in part, then rolled back.
            let result: nacre_pmem::Result<()> = set.transaction(|tx| {
                tx.write(data + writes[0].0, &writes[0].1)?;
                tx.read(data + writes[0].0, 4)?;
                tx.write(data + writes[1].0, &writes[1].1)?;
                tx.read(u64::MAX, 1).map(|_| ())
            });
            assert_eq!(result.unwrap_err().kind(), ErrorKind::OutOfRange);
            return;
        }
    }
    for (offset, bytes) in &writes {
        oracle[*offset as usize..*offset as usize + bytes.len()].copy_from_slice(bytes);
    }
}

/// Compares some range with the copy.
fn read(set: &PoolSet, oracle: &[u8], random: &mut Random) {
    let bytes = 1 + random.below(20_000);
    let offset = random.below(DATA_BYTES - bytes);
    let expected = &oracle[offset as usize..(offset + bytes) as usize];
    let is_equal =
        set.read_with(set.data_offset() + offset, bytes, |found| found == expected).unwrap();
    assert!(is_equal, "{bytes} bytes at {offset} differ: {:?}", set.member_states());
}

#[test]
fn no_acknowledged_byte_is_lost_while_one_member_is_good() {
    for seed in 1..=2 {
        let places = Places::new();
        let shared = RwLock::new((places.create(), vec![0; DATA_BYTES as usize]));
        let (is_over, changes, reads) =
            (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let tally = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random(seed);
                while !is_over.load(Ordering::SeqCst) {
                    let mut guard = shared.write().unwrap();
                    let (set, oracle) = &mut *guard;
                    change(set, oracle, &mut random);
                    changes.fetch_add(1, Ordering::SeqCst);
                    drop(guard);
                    std::thread::yield_now();
                }
            });
            for reader in 1..=2 {
                let (shared, is_over, reads) = (&shared, &is_over, &reads);
                scope.spawn(move || {
                    let mut random = Random(seed << 8 | reader);
                    while !is_over.load(Ordering::SeqCst) {
                        let guard = shared.read().unwrap();
                        read(&guard.0, &guard.1, &mut random);
                        reads.fetch_add(1, Ordering::SeqCst);
                        drop(guard);
                        std::thread::yield_now();
                    }
                });
            }
            let with = |body: &mut dyn FnMut(&mut PoolSet)| body(&mut shared.write().unwrap().0);
            let random = Random(seed ^ 0xDA);
            let damager = Damager { places: &places, with, random, tally: Tally::default() };
            let _over = Over(&is_over);
            damager.run(Instant::now())
        });
        check_tally(&tally);
        assert!(changes.into_inner() > 0 && reads.into_inner() > 0);
        let (mut set, mut oracle) = shared.into_inner().unwrap();
        read(&set, &oracle, &mut Random(1));
        change(&mut set, &mut oracle, &mut Random(2));
        if seed == 1 {
            set.close().unwrap()
        } else {
            set.abandon()
        }
        check_after(&places, &oracle);
    }
}

/// Reopens the set, rebuilds it, and compares every member with the copy.
fn check_after(places: &Places, oracle: &[u8]) {
    let mut set = places.open();
    let data = set.data_offset();
    assert!(set.read(data, DATA_BYTES).unwrap() == oracle);
    assert!(!are_good(&set), "two were damaged at the end");
    while !set.rebuild_step(STEP_BYTES).unwrap().is_done {}
    assert!(are_good(&set));
    for index in 0..MEMBERS {
        assert!(set.read_member(index, data, DATA_BYTES).unwrap() == oracle, "{index}");
    }
}

#[test]
fn tree_keeps_every_acknowledged_key_while_one_member_is_good() {
    let places = Places::new();
    let tree = HybridTree::create(places.create()).unwrap();
    // Newest acknowledged value; the writer holds the lock from before the change to after it.
    let oracle = Mutex::new(BTreeMap::new());
    let is_over = AtomicBool::new(false);
    let tally = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random(5);
            while !is_over.load(Ordering::SeqCst) {
                let mut oracle = oracle.lock().unwrap();
                let key = format!("key {}", random.below(300)).into_bytes();
                if random.below(4) == 0 {
                    assert_eq!(tree.delete(&key).unwrap(), oracle.remove(&key).is_some());
                } else {
                    let bytes = random.below(200);
                    let value = random.bytes(bytes);
                    tree.upsert(&key, &value).unwrap();
                    oracle.insert(key, value);
                }
                drop(oracle);
                std::thread::yield_now();
            }
        });
        scope.spawn(|| {
            let mut random = Random(6);
            while !is_over.load(Ordering::SeqCst) {
                let key = format!("key {}", random.below(300)).into_bytes();
                {
                    let oracle = oracle.lock().unwrap();
                    assert_eq!(tree.get(&key).unwrap().as_ref(), oracle.get(&key));
                }
                // Beside the writer: whatever is found was once a value.
                tree.get(&key).unwrap();
                std::thread::yield_now();
            }
        });
        let with = |body: &mut dyn FnMut(&mut PoolSet)| tree.with_set(body);
        let random = Random(7);
        let damager = Damager { places: &places, with, random, tally: Tally::default() };
        let _over = Over(&is_over);
        damager.run(Instant::now())
    });
    check_tally(&tally);
    drop(tree);
    let oracle = oracle.into_inner().unwrap();
    let tree = HybridTree::open(places.open()).unwrap();
    tree.check().unwrap();
    let mut found = BTreeMap::new();
    tree.range((Bound::Unbounded, Bound::Unbounded), |key, value| {
        found.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(found == oracle, "{} keys, not {}", found.len(), oracle.len());
}
