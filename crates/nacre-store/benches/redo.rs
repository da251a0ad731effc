//! What does it cost to make a commit durable in the redo log?
//!
//! `commit/shm`: one thread, one group of 200 bytes of records after the other, on `/dev/shm`
//! (emulated persistent memory); baseline is a bare store of the same bytes, one behind the other,
//! into a pool set with as many members. `commit/file`: threads that each append a group and wait
//! until it is durable, on a file system in the page cache; baseline is the same with a latch
//! around both, so that each waits for a persist of its own. Two members unless said otherwise.
//!
//! `cargo bench -p nacre-store --bench redo [-- PREFIX]` prints the rows whose id starts with
//! PREFIX; as a test it checks that what was committed is replayed. `NACRE_BENCH_DIR` is the
//! directory for `commit/file`, the system's directory for temporary files if it is not set.
#![allow(clippy::expect_used, reason = "a bench that cannot run may panic where it stands")]

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use nacre_pmem::{Access, Domain, DomainKind, PoolSet, PoolSetOptions, Settings};
use nacre_store::{CallEffects, CommitTs, DatabaseId, RedoBuffer, RedoLog, RedoOptions, ValueRef};
use tempfile::TempDir;

const ID: DatabaseId = DatabaseId::from_bytes([7; 16]);

/// Bytes of the records of a group.
const RECORD_BYTES: usize = 200;

/// Bytes that they take in the log.
const GROUP_BYTES: usize = 256;

struct Runner {
    prefix: String,
    is_test: bool,
}

impl Runner {
    /// Prints commits per second of `work` and of `baseline`, in turn; both get how many.
    fn compare(
        &self,
        id: &str,
        count: u64,
        mut work: impl FnMut(u64),
        mut baseline: impl FnMut(u64),
    ) {
        if !id.starts_with(&self.prefix) {
            return;
        }
        if self.is_test {
            work(20);
            return baseline(20);
        }
        let mut best = [f64::MAX; 2];
        for _ in 0..5 {
            for (best, side) in
                best.iter_mut().zip([&mut work as &mut dyn FnMut(u64), &mut baseline])
            {
                let start = Instant::now();
                side(count);
                *best = best.min(start.elapsed().as_secs_f64() / count as f64);
            }
        }
        let [work, baseline] = best;
        println!(
            "{id:<44} {:>10.0} commits/s {:>9.3} us {:>6.2} x baseline ({:.3} us)",
            1.0 / work,
            work * 1e6,
            baseline / work,
            baseline * 1e6
        );
    }
}

/// Domains, the first of which has two members of a log.
fn domains(parent: &PathBuf, count: usize, settings: &Settings) -> (Vec<TempDir>, Vec<Domain>) {
    let directories: Vec<TempDir> =
        (0..count).map(|_| TempDir::new_in(parent).expect("a directory")).collect();
    let domain = |(number, directory): (usize, &TempDir)| {
        let name = format!("d{number}");
        Domain::create_with(&name, directory.path(), settings).expect("a domain")
    };
    let domains = directories.iter().enumerate().map(domain).collect();
    (directories, domains)
}

fn records() -> RedoBuffer {
    let mut buffer = RedoBuffer::default();
    let text = [b'x'; RECORD_BYTES];
    let arguments = [ValueRef::Bytes(&text[..RECORD_BYTES - 16])];
    buffer.call("", &arguments, CallEffects::default());
    assert_eq!(buffer.bytes().len(), RECORD_BYTES);
    buffer
}

/// Commits of one or more threads; what the others wait for is shared, or not.
struct Committers {
    log: RedoLog,
    clock: Mutex<u64>,
}

impl Committers {
    fn new(domains: &[Domain]) -> Self {
        let log = RedoLog::create(domains, ID, RedoOptions::default()).expect("a log");
        Self { log, clock: Mutex::new(0) }
    }

    fn run(&self, threads: u64, count: u64, is_shared: bool) {
        let records = records();
        let commit = || {
            for _ in 0..count / threads {
                let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
                *clock += 1;
                let lsn = self.log.append(CommitTs(*clock), &records).expect("room");
                if is_shared {
                    drop(clock);
                }
                self.log.persist(lsn).expect("durable");
            }
        };
        match threads {
            1 => commit(),
            _ => std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(commit)))),
        }
    }

    fn check(self, domains: &[Domain]) {
        let count = *self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.log);
        let options = RedoOptions::default();
        let log = RedoLog::open(domains, Access::ReadOnly, ID, 1, options).expect("a log");
        let mut replayed = 0;
        let mut apply = |_: CommitTs, _: nacre_store::RedoRecord<'_>| {
            replayed += 1;
            Ok(())
        };
        log.replay(&mut apply).expect("records");
        assert_eq!(replayed, count);
    }
}

/// Stores the same bytes into a bare pool set, one behind the other.
struct Bare {
    set: PoolSet,
    offset: u64,
}

impl Bare {
    fn new(domains: &[Domain]) -> Self {
        let options = PoolSetOptions { log_bytes: 0, ..PoolSetOptions::new(64 << 20) };
        let set = PoolSet::create("bare", domains, &options).expect("a pool set");
        Self { offset: set.data_offset(), set }
    }

    fn run(&mut self, count: u64) {
        let bytes = [b'x'; GROUP_BYTES];
        for _ in 0..count {
            if self.offset + GROUP_BYTES as u64 > self.set.end_offset() {
                self.offset = self.set.data_offset();
            }
            self.set.update(self.offset, &bytes).expect("stored");
            self.offset += GROUP_BYTES as u64;
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let runner = Runner { prefix: arguments.next().unwrap_or_default(), is_test };
    let shm = PathBuf::from("/dev/shm");
    for further in [0, 1] {
        let members = 2 + further;
        let (_directories, log_domains) = domains(&shm, 1 + further, &Settings::default());
        let (_bare_directories, bare_domains) = domains(&shm, members, &Settings::default());
        let committers = Committers::new(&log_domains);
        let mut bare = Bare::new(&bare_domains);
        let id = format!("commit/shm/members={members}");
        runner.compare(
            &id,
            100_000,
            |count| committers.run(1, count, true),
            |count| bare.run(count),
        );
        committers.check(&log_domains);
    }
    let (_directory, one) = domains(&shm, 1, &Settings::default());
    let (_other_directory, other) = domains(&shm, 1, &Settings::default());
    let (mut first, mut second) = (Bare::new(&one), Bare::new(&other));
    let count = 100_000;
    runner.compare("bare/shm/members=1", count, |n| first.run(n), |n| second.run(n));
    let parent = std::env::var_os("NACRE_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let settings = Settings { kind: Some(DomainKind::File), ..Settings::default() };
    for threads in [1, 8] {
        let (_directories, file_domains) = domains(&parent, 1, &settings);
        let committers = Committers::new(&file_domains);
        let id = format!("commit/file/committers={threads}");
        let (shared, alone) = (
            |count| committers.run(threads, count, true),
            |count| committers.run(threads, count, false),
        );
        runner.compare(&id, 80 * threads, shared, alone);
        committers.check(&file_domains);
    }
}
