//! What pools promise, over every kind of domain and every forced choice.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::sync::Arc;

use nacre_pmem::{Access, Domain, DomainKind, ErrorKind, Pool, Settings};
use support::{files, variants};

#[test]
fn created_pool_is_zeros_and_keeps_what_is_persisted() {
    for variant in variants() {
        let domain = &variant.domain;
        let mut pool = domain.create_pool("root", 10_000).unwrap();
        assert_eq!(pool.bytes(), 10_000, "{}", variant.label);
        assert!(pool.read(0, 10_000).unwrap().iter().all(|&byte| byte == 0));
        pool.write(4_090, b"crosses a page").unwrap();
        pool.flush(4_090, 10).unwrap();
        pool.flush(4_095, 9).unwrap();
        pool.drain().unwrap();
        pool.drain().unwrap();
        pool.publish_u64(8, 42).unwrap();
        pool.persist(0, 0).unwrap();
        drop(pool);

        let pool = domain.open_pool("root", Access::ReadOnly).unwrap();
        assert_eq!(pool.read(4_090, 14).unwrap(), b"crosses a page", "{}", variant.label);
        assert_eq!(pool.load_u64(8).unwrap(), 42);
        assert_eq!(domain.pool_bytes("root").unwrap(), 10_000);
    }
}

#[test]
fn reader_sees_published_word_through_its_own_mapping() {
    for variant in variants() {
        let mut writer = variant.domain.create_pool("root", 64).unwrap();
        let reader = variant.domain.open_pool("root", Access::ReadOnly).unwrap();
        for value in [1, u64::MAX, 0] {
            writer.publish_u64(16, value).unwrap();
            assert_eq!(reader.load_u64(16).unwrap(), value, "{}", variant.label);
        }
    }
}

#[test]
fn grown_pool_keeps_its_bytes_and_adds_zeros() {
    for variant in variants() {
        let mut pool = variant.domain.create_pool("root", 100).unwrap();
        pool.write(0, &[7; 100]).unwrap();
        pool.grow(1 << 20).unwrap();
        assert_eq!(pool.bytes(), 1 << 20, "{}", variant.label);
        assert_eq!(pool.read(0, 100).unwrap(), [7; 100]);
        assert!(pool.read(100, (1 << 20) - 100).unwrap().iter().all(|&byte| byte == 0));
        pool.write((1 << 20) - 4, b"last").unwrap();
        pool.persist(0, 1 << 20).unwrap();
        pool.grow(50).unwrap();
        assert_eq!(pool.bytes(), 1 << 20);
        drop(pool);
        assert_eq!(variant.domain.pool_bytes("root").unwrap(), 1 << 20);
    }
}

#[test]
fn pool_of_no_bytes_is_a_pool() {
    for variant in variants() {
        let mut pool = variant.domain.create_pool("empty", 0).unwrap();
        assert_eq!(pool.read(0, 0).unwrap(), b"", "{}", variant.label);
        assert_eq!(pool.read(0, 1).unwrap_err().kind(), ErrorKind::OutOfRange);
        assert_eq!(pool.load_u64(0).unwrap_err().kind(), ErrorKind::OutOfRange);
        pool.persist(0, 0).unwrap();
        pool.grow(8).unwrap();
        pool.publish_u64(0, 5).unwrap();

        assert_eq!(variant.domain.append_pool("nothing").unwrap().finish().unwrap(), 0);
        let pool = Arc::new(variant.domain.open_pool("nothing", Access::ReadOnly).unwrap());
        assert_eq!(&*pool.whole(0, 0).unwrap(), b"");
    }
}

#[test]
fn name_that_exists_is_never_overwritten() {
    for variant in variants() {
        let domain = &variant.domain;
        let mut pool = domain.create_pool("one", 8).unwrap();
        pool.publish_u64(0, 1).unwrap();
        assert_eq!(domain.create_pool("one", 8).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(domain.append_pool("one").unwrap_err().kind(), ErrorKind::AlreadyExists);
        let pool = domain.open_pool("one", Access::ReadOnly).unwrap();
        assert_eq!(pool.load_u64(0).unwrap(), 1, "{}", variant.label);
    }
}

#[test]
fn ranges_outside_are_errors_that_name_pool_range_and_size() {
    for variant in variants() {
        let mut pool = variant.domain.create_pool("short", 100).unwrap();
        for (offset, bytes) in [(100, 1), (0, 101), (u64::MAX, 1), (1, u64::MAX), (60, 41)] {
            let error = pool.read(offset, bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange, "{}", variant.label);
            let text = error.to_string();
            for part in ["short", &offset.to_string(), &bytes.to_string(), "100 bytes"] {
                assert!(text.contains(part), "{text}");
            }
            assert_eq!(pool.flush(offset, bytes).unwrap_err().kind(), ErrorKind::OutOfRange);
        }
        assert_eq!(pool.write(99, b"xy").unwrap_err().kind(), ErrorKind::OutOfRange);
        assert_eq!(pool.load_u64(96).unwrap_err().kind(), ErrorKind::OutOfRange);
        assert_eq!(pool.load_u64(4).unwrap_err().kind(), ErrorKind::NotAligned);
        assert_eq!(pool.publish_u64(12, 1).unwrap_err().kind(), ErrorKind::NotAligned);
        assert_eq!(pool.read(99, 1).unwrap(), [0]);
    }
}

#[test]
fn pool_opened_for_reading_refuses_every_change() {
    for variant in variants() {
        variant.domain.create_pool("root", 64).unwrap();
        let mut pool = variant.domain.open_pool("root", Access::ReadOnly).unwrap();
        assert!(!pool.is_writable());
        let errors = [
            pool.write(0, b"x").unwrap_err(),
            pool.publish_u64(0, 1).unwrap_err(),
            pool.persist(0, 8).unwrap_err(),
            pool.drain().unwrap_err(),
            pool.grow(128).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::ReadOnly, "{}", variant.label);
        }
    }
}

#[test]
fn appended_bytes_are_where_append_says() {
    for variant in variants() {
        let appender = variant.domain.append_pool("blocks").unwrap();
        let mut expected = Vec::new();
        for (length, align) in [(1, 1), (0, 8), (63, 64), (64, 64), (65, 1), (5_000, 4_096), (3, 1)]
        {
            let bytes: Vec<u8> = (0..length).map(|i| (i * 13 + length) as u8).collect();
            let offset = appender.append(&bytes, align).unwrap();
            assert_eq!(offset % align, 0);
            assert!(offset >= expected.last().map_or(0, |&(end, _)| end));
            assert_eq!(appender.bytes(), offset + length);
            expected.push((offset + length, bytes));
        }
        let end = appender.bytes();
        assert_eq!(appender.finish().unwrap(), end);
        assert_eq!(variant.domain.pool_bytes("blocks").unwrap(), end, "{}", variant.label);
        let pool = variant.domain.open_pool("blocks", Access::ReadOnly).unwrap();
        let mut seen = 0;
        for (end, bytes) in expected {
            let offset = end - bytes.len() as u64;
            assert!(pool.read(seen, offset - seen).unwrap().iter().all(|&byte| byte == 0));
            assert_eq!(pool.read(offset, bytes.len() as u64).unwrap(), bytes, "{}", variant.label);
            seen = end;
        }
    }
}

#[test]
fn alignment_that_is_no_power_of_two_is_refused() {
    let appender = Domain::dram("volatile").append_pool("blocks").unwrap();
    for align in [0, 3, 65] {
        assert_eq!(appender.append(b"x", align).unwrap_err().kind(), ErrorKind::NotAligned);
    }
    appender.append(b"x", 1).unwrap();
    assert_eq!(appender.append(b"x", 1 << 63).unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(appender.finish().unwrap(), 1);
}

/// Appends from four threads until the pool has passed the first step of reserved space (and fits
/// a `/dev/shm` of 64 MiB); each append is filled with a value of its own.
fn append_from_many_threads(domain: &Domain) -> (Vec<(u64, u64, u8)>, u64) {
    let appender = domain.append_pool("blocks").unwrap();
    let mut ranges = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4u64)
            .map(|thread| {
                let appender = &appender;
                scope.spawn(move || {
                    let mut ranges = Vec::new();
                    for round in 0..12u64 {
                        // The last append of thread 0 is larger than a step.
                        let is_large = thread == 0 && round == 11;
                        let length =
                            if is_large { 35 << 20 } else { 700_000 + thread * 1_001 + round };
                        let value = (thread * 12 + round + 1) as u8;
                        let align = [1, 64, 4_096][(round % 3) as usize];
                        let bytes = vec![value; length as usize];
                        let offset = appender.append(&bytes, align).unwrap();
                        assert_eq!(offset % align, 0);
                        ranges.push((offset, length, value));
                    }
                    ranges
                })
            })
            .collect();
        for thread in threads {
            ranges.extend(thread.join().unwrap());
        }
    });
    (ranges, appender.finish().unwrap())
}

#[test]
fn concurrent_appends_do_not_overlap() {
    let domains: Vec<_> = variants()
        .into_iter()
        .filter(|variant| {
            variant.settings == Settings::default()
                || variant.settings.kind == Some(DomainKind::Shm)
        })
        .collect();
    for variant in domains {
        let (mut ranges, bytes) = append_from_many_threads(&variant.domain);
        ranges.sort_unstable();
        for pair in ranges.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{}: {pair:?}", variant.label);
        }
        let pool = variant.domain.open_pool("blocks", Access::ReadOnly).unwrap();
        assert_eq!(pool.bytes(), bytes);
        for (offset, length, value) in ranges {
            let bytes = pool.read(offset, length).unwrap();
            assert!(bytes.iter().all(|&byte| byte == value), "{}", variant.label);
        }
    }
}

#[test]
fn unfinished_pool_is_removed() {
    for variant in variants() {
        let appender = variant.domain.append_pool("half").unwrap();
        appender.append(&[1; 100_000], 64).unwrap();
        assert!(variant.domain.exists("half").unwrap());
        drop(appender);
        assert!(!variant.domain.exists("half").unwrap(), "{}", variant.label);
        if let Some(directory) = &variant.directory {
            assert!(files(directory.path()).is_empty(), "{}", variant.label);
        }
    }
}

#[test]
fn pools_are_listed_renamed_and_removed() {
    for variant in variants() {
        let domain = &variant.domain;
        assert!(domain.list_pools().unwrap().is_empty());
        domain.create_pool("b", 8).unwrap().publish_u64(0, 2).unwrap();
        domain.create_pool("a", 16).unwrap();
        assert_eq!(domain.list_pools().unwrap(), ["a", "b"], "{}", variant.label);
        domain.rename_pool("b", "a").unwrap();
        assert_eq!(domain.list_pools().unwrap(), ["a"]);
        assert_eq!(domain.open_pool("a", Access::ReadOnly).unwrap().load_u64(0).unwrap(), 2);
        for error in [
            domain.rename_pool("b", "c").unwrap_err(),
            domain.remove_pool("b").unwrap_err(),
            domain.open_pool("b", Access::ReadOnly).unwrap_err(),
            domain.pool_bytes("b").unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{}", variant.label);
            assert!(error.to_string().contains("b"));
        }
        domain.remove_pool("a").unwrap();
        assert!(!domain.exists("a").unwrap());
    }
}

#[test]
fn names_that_could_leave_the_directory_are_refused() {
    for variant in variants() {
        let domain = &variant.domain;
        let long = "n".repeat(256);
        for name in ["", ".", "..", ".hidden", "a/b", "/etc/passwd", "a\0b", &long] {
            let errors = [
                domain.create_pool(name, 8).unwrap_err(),
                domain.append_pool(name).unwrap_err(),
                domain.remove_pool(name).unwrap_err(),
            ];
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::InvalidName, "{name:?} {}", variant.label);
            }
        }
    }
}

#[test]
fn slice_outlives_handle_name_and_domain() {
    for variant in variants() {
        let appender = variant.domain.append_pool("blocks").unwrap();
        let offset = appender.append(b"0123456789", 64).unwrap();
        appender.finish().unwrap();
        let pool = Arc::new(variant.domain.open_pool("blocks", Access::ReadOnly).unwrap());
        let slice = pool.whole(offset, 10).unwrap();
        assert_eq!(pool.whole(offset, 11).unwrap_err().kind(), ErrorKind::OutOfRange);
        drop(pool);
        variant.domain.remove_pool("blocks").unwrap();
        drop(variant.domain);
        let part = slice.slice(3, 4).unwrap();
        assert!(slice.slice(3, 8).is_none() && slice.slice(usize::MAX, 2).is_none());
        drop(slice);
        let read = std::thread::spawn(move || part.as_ref().to_vec()).join().unwrap();
        assert_eq!(read, b"3456", "{}", variant.label);
    }
}

#[test]
fn handles_may_be_shared_among_threads() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Domain>();
    is_shared::<Pool>();
    is_shared::<nacre_pmem::PoolSlice>();
    is_shared::<nacre_pmem::PoolAppender>();
    is_shared::<nacre_pmem::Error>();
}
