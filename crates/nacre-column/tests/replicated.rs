//! Replicated columns: what is appended is read from any replica, also after losses.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail by panicking")]

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nacre_column::replicated::{
    AccessHint, ReplicatedColumn, ReplicatedError, ReplicatedOptions, Snapshot,
};
use nacre_column::{ColumnType, Flavour, Format, FormatChoice, REPLICAS_MAX};
use nacre_pmem::Domain;

const TYPE: ColumnType = ColumnType::BigInt;
const BLOCK_ROWS: usize = 1_000;

/// A directory with two domains, in memory where there is such a directory.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        Self { directory: tempfile::tempdir_in(parent).unwrap() }
    }

    fn path(&self, domain: &str) -> PathBuf {
        self.directory.path().join(domain)
    }

    fn domains(&self) -> [Domain; 2] {
        ["a", "b"].map(|name| Domain::create(name, &self.path(name)).unwrap())
    }

    fn file(&self, domain: &str, name: &str) -> PathBuf {
        self.path(domain).join(name)
    }
}

fn options() -> ReplicatedOptions {
    let (segment_bytes, block_rows) = (64 << 10, BLOCK_ROWS);
    ReplicatedOptions { segment_bytes, block_rows, ..ReplicatedOptions::default() }
}

/// Values that need 20 bits, so that segments fill up.
fn values(count: usize) -> Vec<i64> {
    (0..count as i64).map(|row| row * 7_919 % 1_000_003 - 5).collect()
}

fn fixed(format: Format) -> FormatChoice {
    FormatChoice::Fixed(format)
}

fn create(domains: &[Domain; 2]) -> ReplicatedColumn {
    let replicas =
        [(domains[0].clone(), fixed(Format::Plain)), (domains[1].clone(), fixed(Format::StaticBp))];
    ReplicatedColumn::create("c", TYPE, &replicas, options()).unwrap()
}

fn read_all(snapshot: &Snapshot) -> Result<Vec<i64>, ReplicatedError> {
    let mut all = Vec::new();
    for block in 0..snapshot.blocks() {
        let guard = snapshot.read(block, AccessHint::Sequential)?;
        let block = guard.block().unwrap();
        block.decode_i64(Flavour::active(), 0..block.rows(), &mut all).unwrap();
        assert!(guard.is_good());
    }
    Ok(all)
}

fn flip(path: &Path, offset: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 1], offset).unwrap();
}

#[test]
fn values_are_read_as_appended_and_after_opening_again() {
    let place = Place::new();
    let domains = place.domains();
    let mut column = create(&domains);
    let expected = values(25_500);
    for part in expected.chunks(777) {
        column.append(part).unwrap();
    }
    assert_eq!(column.snapshot().rows(), 25_000, "full blocks are committed");
    assert_eq!(column.commit().unwrap(), 25_500);
    assert_eq!(read_all(&column.snapshot()).unwrap(), expected);
    drop(column);
    assert!(place.file("a", "c.r0.s1").exists(), "a second segment was needed");

    let mut column = ReplicatedColumn::open("c", &domains, options()).unwrap();
    assert_eq!(read_all(&column.snapshot()).unwrap(), expected);
    column.append(&expected[..10]).unwrap();
    assert_eq!(column.commit().unwrap(), 25_510);
    assert_eq!(read_all(&column.snapshot()).unwrap()[25_500..], expected[..10]);
}

#[test]
fn snapshot_does_not_see_what_is_appended_later() {
    let place = Place::new();
    let mut column = create(&place.domains());
    column.append(&values(2_000)).unwrap();
    let reader = column.reader();
    let before = reader.snapshot();
    column.append(&values(3_000)).unwrap();
    assert_eq!((before.rows(), reader.snapshot().rows()), (2_000, 5_000));
    assert_eq!(read_all(&before).unwrap(), values(2_000));
}

#[test]
fn damaged_block_is_read_from_the_other_replica_and_restored() {
    let place = Place::new();
    let domains = place.domains();
    let mut column = create(&domains);
    let expected = values(5_000);
    column.append(&expected).unwrap();
    drop(column);
    // Inside the second block of the packed replica, which scans prefer.
    flip(&place.file("b", "c.r1.s0"), 4096 + 64 + 2_816 + 64 + 1_000);

    let mut column = ReplicatedColumn::open("c", &domains, options()).unwrap();
    assert_eq!(read_all(&column.snapshot()).unwrap(), expected);
    let lost: Vec<u64> = column.reader().replicas().iter().map(|one| one.lost).collect();
    assert_eq!(lost, [0, 1]);
    assert_eq!(column.restore().unwrap(), 1);
    assert!(column.reader().replicas().iter().all(|one| one.lost == 0));
    drop(column);
    let column = ReplicatedColumn::open("c", &domains, options()).unwrap();
    assert_eq!(read_all(&column.snapshot()).unwrap(), expected);
    assert!(column.reader().replicas().iter().all(|one| one.lost == 0));
}

#[test]
fn replica_that_is_gone_is_missing_and_comes_back() {
    let place = Place::new();
    let domains = place.domains();
    let mut column = create(&domains);
    let expected = values(3_500);
    column.append(&expected).unwrap();
    column.commit().unwrap();
    drop(column);
    std::fs::remove_file(place.file("b", "c.r1.s0")).unwrap();

    let mut column = ReplicatedColumn::open("c", &domains, options()).unwrap();
    assert_eq!(read_all(&column.snapshot()).unwrap(), expected);
    assert_eq!(column.restore().unwrap(), 4);
    let replicas = column.reader().replicas();
    assert_eq!(replicas[1].format, fixed(Format::StaticBp), "the other replica knows it");
    drop(column);
    std::fs::remove_file(place.file("a", "c.r0.s0")).unwrap();
    let column = ReplicatedColumn::open("c", &domains, options()).unwrap();
    assert_eq!(read_all(&column.snapshot()).unwrap(), expected);
}

#[test]
fn replica_in_dram_is_restored_after_opening() {
    let place = Place::new();
    let [first, _] = place.domains();
    let replicas =
        [(first.clone(), fixed(Format::StaticBp)), (Domain::dram("fast"), fixed(Format::Plain))];
    let mut column = ReplicatedColumn::create("c", TYPE, &replicas, options()).unwrap();
    column.append(&values(2_000)).unwrap();
    let guard = column.snapshot().read(0, AccessHint::Sequential).unwrap();
    assert_eq!(guard.replica(), 1, "DRAM is read first");
    drop((column, guard));

    let domains = [first, Domain::dram("fast")];
    let mut column = ReplicatedColumn::open("c", &domains, options()).unwrap();
    assert_eq!(column.snapshot().read(0, AccessHint::Sequential).unwrap().replica(), 0);
    assert_eq!(column.restore().unwrap(), 2);
    assert_eq!(column.snapshot().read(0, AccessHint::Sequential).unwrap().replica(), 1);
    assert_eq!(read_all(&column.snapshot()).unwrap(), values(2_000));
}

#[test]
fn error_names_block_and_both_replicas_if_none_is_good() {
    let place = Place::new();
    let domains = place.domains();
    let mut column = create(&domains);
    column.append(&values(2_000)).unwrap();
    drop(column);
    flip(&place.file("a", "c.r0.s0"), 4096 + 64 + 500);
    flip(&place.file("b", "c.r1.s0"), 4096 + 64 + 500);
    let mut column = ReplicatedColumn::open("c", &domains, options()).unwrap();
    let error = read_all(&column.snapshot()).unwrap_err().to_string();
    assert!(error.starts_with("column c, block 0: no replica is good: replica"), "{error}");
    assert!(error.contains("replica 0 in a") && error.contains("replica 1 in b"), "{error}");
    assert!(matches!(column.restore(), Err(ReplicatedError::NoReplica { block: 0, .. })));
}

#[test]
fn bytes_written_are_counted_by_replica() {
    let place = Place::new();
    let mut column = create(&place.domains());
    column.append(&values(4_000)).unwrap();
    let wear = column.wear();
    assert_eq!(wear.len(), 2);
    assert!(wear[0].3 > 32_000 && wear[1].3 < 15_000, "{wear:?}");
}

#[test]
fn bad_requests_are_refused() {
    let place = Place::new();
    let domains = place.domains();
    let create = |replicas: &[(Domain, FormatChoice)]| {
        ReplicatedColumn::create("c", TYPE, replicas, options())
    };
    let many = vec![(domains[0].clone(), FormatChoice::Auto); REPLICAS_MAX + 1];
    assert!(matches!(create(&[]), Err(ReplicatedError::Count { found: 0, .. })));
    assert!(matches!(create(&many), Err(ReplicatedError::Count { .. })));
    let strings = [(domains[0].clone(), fixed(Format::Fsst))];
    assert!(matches!(create(&strings), Err(ReplicatedError::Block { .. })));
    assert!(matches!(
        ReplicatedColumn::open("c", &domains, options()),
        Err(ReplicatedError::Count { found: 0, .. })
    ));
    drop(create(&many[..2]).unwrap());
    assert!(matches!(create(&many[..2]), Err(ReplicatedError::Pool { .. })), "it exists");
    std::fs::copy(place.file("a", "c.r0.s0"), place.file("b", "c.r1.s0")).unwrap();
    let swapped = ReplicatedColumn::open("c", &domains, options());
    assert!(matches!(swapped, Err(ReplicatedError::Foreign { .. })));
}
