//! A device that is full by a limit on the size of files, which can be set everywhere. The limit is
//! that of the process, so this test is alone in its binary.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use nacre_store::{ErrorKind, IsolationLevel, OpenOptions, Store, ValueRef};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::schema;

/// Inserts incompressible rows until there is no space; returns the number of rows.
fn fill(store: &Store, mut key: i64) -> i64 {
    let table = store.table("t").unwrap();
    loop {
        let mut tx = store.begin(IsolationLevel::Serializable);
        for key in key..key + 100 {
            let noise = (key as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            let text = format!("{noise:032x}");
            tx.insert(&table, &[ValueRef::Int(key), ValueRef::Bytes(text.as_bytes())]).unwrap();
        }
        match tx.commit() {
            Ok(_) => key += 100,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                return key;
            }
        }
    }
}

fn count(store: &Store) -> i64 {
    let (table, mut count) = (store.table("t").unwrap(), 0);
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    tx.scan(&table, &[], &[0], |_, _| count += 1).unwrap();
    count
}

#[test]
fn log_grows_in_small_steps_below_a_file_size_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let open = || {
        let directory = Some(path.clone());
        let options =
            OpenOptions { directory, checkpoint_bytes: Some(0), ..OpenOptions::default() };
        Store::open(options).unwrap().for_session()
    };
    let store = open();
    store.create_table(schema("t", "")).unwrap();
    let maximum = getrlimit(Resource::Fsize).maximum;
    let limit = |bytes| setrlimit(Resource::Fsize, Rlimit { current: Some(bytes), maximum });
    limit(3 << 20).unwrap();
    let mut keys = fill(&store, 0);
    for mib in [4, 5] {
        limit(mib << 20).unwrap();
        let more = fill(&store, keys);
        assert!(more - keys > 10_000, "{} rows in 1 MiB", more - keys);
        assert_eq!(count(&store), more);
        keys = more;
    }
    drop(store);
    let store = open();
    assert_eq!(count(&store), keys);
    limit(6 << 20).unwrap();
    let more = fill(&store, keys);
    assert!(more - keys > 10_000, "{} rows in 1 MiB after a restart", more - keys);
    let mut tx = store.begin(IsolationLevel::ReadCommitted);
    tx.truncate_tables(&[store.table("t").unwrap()]).unwrap();
    tx.commit().unwrap();
    store.checkpoint().unwrap();
    assert!(fill(&store, 0) > 10_000, "the segment that is full has gone");
}
