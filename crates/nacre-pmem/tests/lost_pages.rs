//! Pages that vanish behind a mapping are error values: nothing dies, nothing is hidden.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::single_range_in_vec_init)]

mod support;

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nacre_pmem::{Access, Domain, ErrorKind, Pool, Settings};
use support::{Mount, Over, shm_directory};

const PAGE: u64 = 4096;
const PAGES: u64 = 256;

fn cut(path: &Path, bytes: u64) {
    File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

/// A domain on disk and one on tmpfs, each with a pool `root` of pages that hold their number plus
/// 1.
fn domains() -> Vec<(tempfile::TempDir, Domain)> {
    let directories = [Some(tempfile::tempdir().unwrap()), shm_directory()];
    let fill = |directory: tempfile::TempDir| {
        let domain = Domain::create_with("d", directory.path(), &Settings::default()).unwrap();
        fill(&domain, "root");
        (directory, domain)
    };
    directories.into_iter().flatten().map(fill).collect()
}

fn fill(domain: &Domain, name: &str) {
    let mut pool = domain.create_pool(name, PAGES * PAGE).unwrap();
    for page in 0..PAGES {
        pool.write(page * PAGE, &[(page + 1) as u8; PAGE as usize]).unwrap();
    }
    pool.persist(0, PAGES * PAGE).unwrap();
}

fn sum(pool: &Pool) -> u64 {
    pool.read(0, pool.bytes()).unwrap().iter().map(|&byte| u64::from(byte)).sum()
}

#[test]
fn truncated_pool_reads_zeros_and_says_so() {
    for (directory, domain) in domains() {
        let pool = domain.open_pool("root", Access::ReadOnly).unwrap();
        let whole = sum(&pool);
        pool.check().unwrap();
        let path = directory.path().join("root");
        cut(&path, 10 * PAGE);
        pool.check().unwrap();
        assert_eq!(pool.read(10 * PAGE, 1).unwrap(), [0]);
        assert_eq!(pool.read(20 * PAGE + 7, 3 * PAGE).unwrap()[2 * PAGE as usize], 0);
        assert_eq!(pool.read(9 * PAGE, 1).unwrap(), [10]);
        assert!(pool.is_faulted());
        assert_eq!(pool.lost_ranges(), [10 * PAGE..11 * PAGE, 22 * PAGE..23 * PAGE]);
        pool.check_range(0, 10 * PAGE).unwrap();
        pool.check_range(11 * PAGE, 11 * PAGE).unwrap();
        for (offset, bytes) in [(0, 10 * PAGE + 1), (22 * PAGE, 1), (0, PAGES * PAGE)] {
            let error = pool.check_range(offset, bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Lost);
        }
        let text = pool.check_range(21 * PAGE, 3 * PAGE).unwrap_err().to_string();
        assert!(text.contains("lost 1 page, the first at offset 90112"), "{text}");
        let text = pool.check().unwrap_err().to_string();
        for part in [path.to_str().unwrap(), "lost 2 pages", "offset 40960", "to 40960 bytes"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(sum(&pool) < whole);
        assert_eq!(pool.lost_ranges(), [10 * PAGE..PAGES * PAGE]);
    }
}

#[test]
fn cut_within_a_page_is_found_by_the_size_of_the_file() {
    for (directory, domain) in domains() {
        let pool = domain.open_pool("root", Access::ReadOnly).unwrap();
        pool.check_file().unwrap();
        cut(&directory.path().join("root"), PAGES * PAGE - 1);
        assert_eq!(pool.read(PAGES * PAGE - 1, 1).unwrap(), [0], "no signal");
        pool.check().unwrap();
        let error = pool.check_file().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Lost);
        assert!(error.to_string().contains("to 1048575 bytes"), "{error}");
        assert_eq!(pool.lost_ranges(), [255 * PAGE..PAGES * PAGE]);
        pool.check_range(0, 255 * PAGE).unwrap();
        pool.check_range(PAGES * PAGE - 1, 1).unwrap_err();
    }
}

#[test]
fn file_that_was_cut_and_grown_again_is_found_by_the_time_of_its_change() {
    for (directory, domain) in domains() {
        let mut pool = domain.open_pool("root", Access::ReadOnly).unwrap();
        let whole = sum(&pool);
        pool.check_unchanged().unwrap();
        // Longer than the coarsest tick of a kernel's clock.
        std::thread::sleep(std::time::Duration::from_millis(11));
        cut(&directory.path().join("root"), PAGE);
        cut(&directory.path().join("root"), PAGES * PAGE);
        assert!(sum(&pool) < whole, "zeros");
        pool.check_file().unwrap();
        assert_eq!(pool.check_unchanged().unwrap_err().kind(), ErrorKind::Lost);
        assert_eq!(pool.remap().unwrap(), [0..PAGES * PAGE]);
        pool.check_unchanged().unwrap();
    }
}

#[test]
fn repaired_pool_is_mapped_afresh() {
    for (directory, domain) in domains() {
        let path = directory.path().join("root");
        let copy = fs::read(&path).unwrap();
        let mut pool = domain.open_pool("root", Access::ReadOnly).unwrap();
        let whole = sum(&pool);
        cut(&path, 10 * PAGE + 5);
        sum(&pool);
        let error = pool.remap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
        pool.check().unwrap_err();
        fs::write(&path, copy).unwrap();
        let lost = pool.remap().unwrap();
        assert_eq!(lost, [11 * PAGE..PAGES * PAGE]);
        pool.check().unwrap();
        assert_eq!(sum(&pool), whole);
    }
}

#[test]
fn truncated_pool_refuses_to_be_written_until_it_is_mapped_afresh() {
    for (directory, domain) in domains() {
        let mut pool = domain.open_pool("root", Access::ReadWrite).unwrap();
        cut(&directory.path().join("root"), 100 * PAGE + 1);
        assert_eq!(pool.grow(1 << 21).unwrap_err().kind(), ErrorKind::Lost);
        pool.write(200 * PAGE, b"lost").unwrap();
        assert_eq!(pool.read(200 * PAGE, 5).unwrap(), b"lost\0");
        assert_eq!(pool.persist(200 * PAGE, 4).unwrap_err().kind(), ErrorKind::Lost);
        assert_eq!(pool.drain().unwrap_err().kind(), ErrorKind::Lost);
        assert_eq!(pool.publish_u64(0, 1).unwrap_err().kind(), ErrorKind::Lost);
        assert_eq!(pool.load_u64(0).unwrap(), 0x0101_0101_0101_0101);
        assert_eq!(pool.grow(1 << 21).unwrap_err().kind(), ErrorKind::Lost);

        let lost = pool.remap().unwrap();
        assert_eq!(lost, [100 * PAGE..PAGES * PAGE]);
        assert_eq!((pool.bytes(), pool.read(200 * PAGE, 4).unwrap()), (PAGES * PAGE, &[0; 4][..]));
        pool.write(200 * PAGE, b"kept").unwrap();
        pool.persist(200 * PAGE, 4).unwrap();
        pool.publish_u64(0, 1).unwrap();
        pool.grow(1 << 21).unwrap();
        let reader = domain.open_pool("root", Access::ReadOnly).unwrap();
        assert_eq!(reader.read(200 * PAGE, 4).unwrap(), b"kept");
        assert_eq!(reader.read(99 * PAGE, 1).unwrap(), [100]);
    }
}

#[test]
fn flush_of_a_lost_page_is_no_death() {
    for (directory, domain) in domains() {
        let pool = domain.open_pool("root", Access::ReadWrite).unwrap();
        cut(&directory.path().join("root"), 0);
        pool.flush(0, PAGES * PAGE).unwrap();
        // Where the kernel writes pages back nothing was accessed yet.
        sum(&pool);
        assert_eq!(pool.drain().unwrap_err().kind(), ErrorKind::Lost);
    }
}

#[test]
fn readers_on_many_threads_find_the_same_pages_lost() {
    for (directory, domain) in domains() {
        let pool = domain.open_pool("root", Access::ReadOnly).unwrap();
        let is_cut = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while !is_cut.load(Ordering::Acquire) {
                        check_each_page(&pool);
                    }
                    check_each_page(&pool);
                });
            }
            let _over = Over(&is_cut);
            for page in (16..PAGES).rev() {
                cut(&directory.path().join("root"), page * PAGE);
            }
        });
        sum(&pool);
        assert_eq!(pool.lost_ranges(), [16 * PAGE..PAGES * PAGE]);
        assert!(pool.lost_error().to_string().contains("lost 240 pages"));
    }
}

/// Every page is what it was, or zeros that `check_range` knows of.
fn check_each_page(pool: &Pool) {
    for page in 0..PAGES {
        let bytes = pool.read(page * PAGE, PAGE).unwrap();
        let is_whole = bytes.iter().all(|&byte| byte == (page + 1) as u8);
        if pool.check_range(page * PAGE, PAGE).is_ok() {
            assert!(is_whole || page == 255, "page {page}");
        }
    }
}

#[test]
fn writer_learns_of_a_cut_on_its_next_drain() {
    for (directory, domain) in domains() {
        let mut pool = domain.open_pool("root", Access::ReadWrite).unwrap();
        let path = directory.path().join("root");
        let error = std::thread::scope(|scope| {
            let writer = scope.spawn(move || {
                loop {
                    for page in 0..PAGES {
                        pool.write(page * PAGE, &[7; 100]).unwrap();
                        if let Err(error) = pool.persist(page * PAGE, 100) {
                            return error;
                        }
                    }
                }
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            cut(&path, 3 * PAGE);
            writer.join().unwrap()
        });
        assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    }
}

#[test]
fn appender_whose_file_is_cut_cannot_be_finished() {
    for (directory, domain) in domains() {
        let path = directory.path().join("blocks");
        for appends_after in [false, true] {
            let appender = domain.append_pool("blocks").unwrap();
            appender.append(&[1; 100_000], 64).unwrap();
            cut(&path, 5_000);
            if appends_after {
                // Streamed into the mapping, or written through the kernel, which grows the file.
                let _ = appender.append(&[2; 100_000], 64);
            }
            let error = appender.finish().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
            assert!(error.to_string().contains("blocks"), "{error}");
            assert!(!domain.exists("blocks").unwrap());
        }
    }
}

/// Fills a tmpfs up and punches a hole into `name` that then cannot be filled again.
fn punch_and_fill(mount: &Mount, name: &str, offset: u64, bytes: u64) {
    let file = File::options().write(true).open(mount.path().join(name)).unwrap();
    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, flags, offset, bytes).unwrap();
    let filler = File::create(mount.path().join("filler")).unwrap();
    let mut end = 0;
    while rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), end, PAGE).is_ok() {
        end += PAGE;
    }
}

#[test]
fn hole_in_a_pool_on_a_full_tmpfs_is_lost() {
    let Some(mount) = Mount::tmpfs("size=4m") else {
        return;
    };
    let domain = Domain::create_with("d", mount.path(), &Settings::default()).unwrap();
    fill(&domain, "root");
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let mut pool = domain.open_pool("root", access).unwrap();
        sum(&pool);
        punch_and_fill(&mount, "root", 8 * PAGE, 2 * PAGE);
        if access == Access::ReadWrite {
            pool.write(8 * PAGE, &[1; 2 * PAGE as usize]).unwrap();
        }
        sum(&pool);
        let error = pool.check().unwrap_err();
        assert!(error.to_string().contains("hole there"), "{error}");
        assert_eq!(pool.lost_ranges(), [8 * PAGE..10 * PAGE]);
        if access == Access::ReadWrite {
            assert_eq!(pool.remap().unwrap_err().kind(), ErrorKind::NoSpace);
        }
        // Truncated, not removed: a child that is being started may hold the file open.
        cut(&mount.path().join("filler"), 0);
        assert_eq!(pool.remap().unwrap(), [8 * PAGE..10 * PAGE]);
        sum(&pool);
        pool.check().unwrap();
    }
}

#[test]
fn hole_under_an_appender_on_a_full_tmpfs_is_no_space() {
    let Some(mount) = Mount::tmpfs("size=4m") else {
        return;
    };
    let domain = Domain::create_with("d", mount.path(), &Settings::default()).unwrap();
    let appender = domain.append_pool("blocks").unwrap();
    appender.append(&[1; 1000], 64).unwrap();
    punch_and_fill(&mount, "blocks", 4 * PAGE, 4 * PAGE);
    let error = appender.append(&[2; 60_000], 64).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    let error = appender.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
}

#[test]
fn thousands_of_mappings_are_each_contained() {
    let Some(directory) = shm_directory() else {
        return;
    };
    let domain = Domain::create_with("d", directory.path(), &Settings::default()).unwrap();
    let mut pools = Vec::new();
    for index in 0..3_000 {
        let name = format!("pool-{index}");
        domain.create_pool(&name, PAGE).unwrap();
        pools.push(domain.open_pool(&name, Access::ReadOnly).unwrap());
    }
    for index in (0..3_000).step_by(7) {
        cut(&directory.path().join(format!("pool-{index}")), 0);
    }
    for (index, pool) in pools.iter().enumerate() {
        assert_eq!(pool.read(0, 1).unwrap(), [0]);
        assert_eq!(pool.is_faulted(), index % 7 == 0, "{index}");
    }
    drop(pools);
    // Cells that are used again know nothing of what was lost before.
    let pools = (1..50)
        .step_by(7)
        .map(|index| domain.open_pool(&format!("pool-{index}"), Access::ReadOnly).unwrap());
    assert!(pools.into_iter().all(|pool| pool.read(0, 1).is_ok() && !pool.is_faulted()));
}

#[test]
fn unmapping_races_with_faults_of_other_pools() {
    for (directory, domain) in domains() {
        let path = directory.path().join("root");
        let faulty = Arc::new(domain.open_pool("root", Access::ReadOnly).unwrap());
        fill(&domain, "other");
        cut(&path, 0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        let pool = domain.open_pool("other", Access::ReadOnly).unwrap();
                        assert_eq!(pool.read(7 * PAGE, 1).unwrap(), [8]);
                        assert!(!pool.is_faulted());
                    }
                });
            }
            for thread in 0..4 {
                let faulty = Arc::clone(&faulty);
                scope.spawn(move || {
                    for page in (thread..PAGES).step_by(4) {
                        assert_eq!(faulty.read(page * PAGE, 1).unwrap(), [0]);
                        std::thread::yield_now();
                    }
                });
            }
        });
        assert_eq!(faulty.lost_ranges(), [0..PAGES * PAGE]);
    }
}
