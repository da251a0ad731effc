//! The column store: values come back, and bad input is refused.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use nacre_pmem::structure::{COLUMN_HEADER_BYTES, ColumnStore};
use nacre_pmem::{Access, Domain, ErrorKind, PoolSet, PoolSetOptions};

fn created(directory: &tempfile::TempDir) -> (Vec<Domain>, PoolSet) {
    let domains = vec![Domain::create("main", directory.path()).unwrap()];
    let set = PoolSet::create("column", &domains, &PoolSetOptions::new(1 << 20)).unwrap();
    (domains, set)
}

#[test]
fn values_survive_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let (domains, mut set) = created(&directory);
    let store = ColumnStore::create(&mut set, 1000).unwrap();
    assert_eq!(store.read(&set, 0, 1000).unwrap(), [0; 4000]);
    store.update(&mut set, 7, &7_u32.to_le_bytes()).unwrap();
    store.update(&mut set, 10, &[1; 400]).unwrap();
    store.update_tx(&mut set, 999, &[9; 4]).unwrap();
    store.update_batch(&mut set, &[(0, &[3; 4]), (500, &[5; 8])]).unwrap();
    drop(set);
    let set = PoolSet::open("column", &domains, Access::ReadWrite).unwrap();
    let reopened = ColumnStore::open(&set).unwrap();
    assert_eq!(reopened, store);
    let mut expected = [0; 4000];
    expected[28] = 7;
    expected[40..440].fill(1);
    expected[3996..].fill(9);
    expected[..4].fill(3);
    expected[2000..2008].fill(5);
    assert_eq!(reopened.read(&set, 0, 1000).unwrap(), expected);
}

#[test]
fn wrong_rows_and_sizes_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (_domains, mut set) = created(&directory);
    let store = ColumnStore::create(&mut set, 100).unwrap();
    for (row, bytes) in [(100, 4), (99, 8), (u64::MAX, 4), (0, 3), (0, 404), (0, 5)] {
        let values = vec![1; bytes];
        let kinds = [
            store.update(&mut set, row, &values).unwrap_err().kind(),
            store.update_tx(&mut set, row, &values).unwrap_err().kind(),
            store.update_batch(&mut set, &[(0, &[1; 4]), (row, &values)]).unwrap_err().kind(),
        ];
        assert_eq!(kinds, [ErrorKind::OutOfRange; 3], "{row} {bytes}");
    }
    assert_eq!(store.read(&set, 0, u64::MAX).unwrap_err().kind(), ErrorKind::OutOfRange);
    assert_eq!(store.read(&set, 0, 100).unwrap(), [0; 400]);
    let offset = set.data_offset();
    for (width, rows) in [(0, 1), (65_537, 1), (4, 1 << 20), (65_536, u64::MAX)] {
        let error = ColumnStore::create_at(&mut set, offset, width, rows).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
    }
    assert_eq!(ColumnStore::bytes_for(4, 100), Some(400 + COLUMN_HEADER_BYTES));
}

#[test]
fn damaged_and_foreign_headers_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let (_domains, mut set) = created(&directory);
    assert_eq!(ColumnStore::open(&set).unwrap_err().kind(), ErrorKind::Foreign);
    let store = ColumnStore::create(&mut set, 100).unwrap();
    let offset = set.data_offset();
    for position in 0..28 {
        let old = set.read(offset + position, 1).unwrap()[0];
        set.update(offset + position, &[old ^ 1]).unwrap();
        let kind = ColumnStore::open(&set).unwrap_err().kind();
        assert_eq!(kind, if position < 8 { ErrorKind::Foreign } else { ErrorKind::Corrupt });
        set.update(offset + position, &[old]).unwrap();
    }
    assert_eq!(ColumnStore::open(&set).unwrap(), store);
}

#[test]
fn values_of_a_cut_file_are_read_from_the_other_member() {
    for by_function in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let domain = Domain::create("main", directory.path()).unwrap();
        let domains = [domain.clone(), domain];
        let mut set = PoolSet::create("two", &domains, &PoolSetOptions::new(1 << 20)).unwrap();
        let store = ColumnStore::create(&mut set, 100_000).unwrap();
        store.update(&mut set, 90_000, &7_u32.to_le_bytes()).unwrap();
        let serving = set.member_states().iter().position(|member| member.is_serving).unwrap();
        let path = directory.path().join(format!("two.{serving}"));
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_len(set.data_offset()).unwrap();
        let value = match by_function {
            true => store.read_with(&set, 90_000, 1, <[u8]>::to_vec).unwrap(),
            false => store.read(&set, 90_000, 1).unwrap().to_vec(),
        };
        assert_eq!(value, [7, 0, 0, 0]);
    }
}
