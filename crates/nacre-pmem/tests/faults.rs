//! Bad places, bad files and full disks: each is a typed error that loses nothing.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;

use nacre_pmem::{Access, DirectoryLock, Domain, DomainKind, ErrorKind, FlushFlavour, Settings};
use support::{Mount, child_directory, files, is_root, shm_directory, spawn_child};

const MIB: u64 = 1 << 20;

#[test]
fn opening_what_is_no_directory_is_a_typed_error() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let file = directory.path().join("file");
    fs::write(&file, b"").unwrap();
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let error = Domain::open("d", &missing, access).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains(missing.to_str().unwrap()));
        let error = Domain::open("d", &file, access).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotADirectory);
    }
    for path in [file.clone(), file.join("below")] {
        let error = Domain::create("d", &path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotADirectory, "{error}");
    }
    assert!(!missing.exists());
}

#[test]
fn create_makes_all_missing_parents_and_opens_what_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b/c");
    Domain::create("d", &path).unwrap().create_pool("kept", 8).unwrap();
    let domain = Domain::create("d", &path).unwrap();
    assert_eq!(domain.list_pools().unwrap(), ["kept"]);
    assert_eq!(domain.path(), Some(path.as_path()));
}

#[test]
fn probing_leaves_no_file_behind() {
    let directories = [Some(tempfile::tempdir().unwrap()), shm_directory()];
    for directory in directories.into_iter().flatten() {
        Domain::create("d", directory.path()).unwrap();
        for access in [Access::ReadOnly, Access::ReadWrite] {
            Domain::open("d", directory.path(), access).unwrap();
        }
        assert!(files(directory.path()).is_empty());
    }
}

#[test]
fn read_only_domain_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    Domain::create("d", directory.path()).unwrap().create_pool("root", 8).unwrap();
    let domain = Domain::open("d", directory.path(), Access::ReadOnly).unwrap();
    domain.open_pool("root", Access::ReadOnly).unwrap();
    let errors = [
        domain.open_pool("root", Access::ReadWrite).unwrap_err(),
        domain.create_pool("new", 8).unwrap_err(),
        domain.append_pool("new").unwrap_err(),
        domain.remove_pool("root").unwrap_err(),
        domain.rename_pool("root", "new").unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
    }
    assert_eq!(files(directory.path()), ["root"]);
}

/// Runs `check` on a thread that has no privileges, as far as this process has any.
fn without_privileges(check: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let result = scope.spawn(|| {
            if is_root() {
                let nobody = rustix::fs::Uid::from_raw(65_534);
                // Changes the credentials of this thread only.
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            check();
        });
        result.join().unwrap();
    });
}

#[test]
fn directory_that_may_not_be_written_is_read_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    Domain::create("d", directory.path()).unwrap().create_pool("root", 64).unwrap();
    fs::set_permissions(directory.path().join("root"), Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o555)).unwrap();
    without_privileges(|| {
        let domain = Domain::open("d", directory.path(), Access::ReadOnly).unwrap();
        let pool = domain.open_pool("root", Access::ReadOnly).unwrap();
        assert_eq!(pool.load_u64(0).unwrap(), 0);
        DirectoryLock::shared(directory.path()).unwrap();
        DirectoryLock::exclusive(directory.path()).unwrap();
        let error = Domain::open("d", directory.path(), Access::ReadWrite).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("cannot write in it"), "{error}");
    });
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(files(directory.path()), ["root"]);
}

#[test]
fn pool_that_may_not_be_read_is_a_typed_error() {
    let directory = tempfile::tempdir().unwrap();
    let domain = Domain::create("d", directory.path()).unwrap();
    domain.create_pool("secret", 64).unwrap();
    fs::set_permissions(directory.path().join("secret"), Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    without_privileges(|| {
        let error = domain.open_pool("secret", Access::ReadOnly).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    });
}

#[test]
fn read_only_file_system_is_a_typed_error_and_can_be_read() {
    let Some(mount) = Mount::tmpfs("size=1m") else {
        return;
    };
    Domain::create("d", mount.path()).unwrap().create_pool("root", 64).unwrap();
    mount.remount("ro");
    let domain = Domain::open("d", mount.path(), Access::ReadOnly).unwrap();
    assert_eq!(domain.kind(), DomainKind::Shm);
    domain.open_pool("root", Access::ReadOnly).unwrap();
    DirectoryLock::shared(mount.path()).unwrap();
    DirectoryLock::exclusive(mount.path()).unwrap();
    for error in [
        Domain::open("d", mount.path(), Access::ReadWrite).unwrap_err(),
        Domain::create("d", &mount.path().join("sub")).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
    }
}

#[test]
fn what_is_no_regular_file_is_not_mapped() {
    let directory = tempfile::tempdir().unwrap();
    let domain = Domain::create("d", directory.path()).unwrap();
    fs::create_dir(directory.path().join("sub")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(directory.path().join("socket")).unwrap();
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let error = domain.open_pool("sub", access).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IsDirectory, "{error}");
        let error = domain.open_pool("socket", access).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAFile, "{error}");
    }
    assert_eq!(domain.pool_bytes("sub").unwrap_err().kind(), ErrorKind::IsDirectory);
    assert!(domain.list_pools().unwrap().is_empty());
}

#[test]
fn truncated_pool_is_out_of_range_not_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let domain = Domain::create("d", directory.path()).unwrap();
    let appender = domain.append_pool("blocks").unwrap();
    appender.append(&[9; 10_000], 64).unwrap();
    appender.finish().unwrap();
    let path = directory.path().join("blocks");
    for bytes in [9_999, 4_096, 1, 0] {
        File::options().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        let pool = domain.open_pool("blocks", Access::ReadOnly).unwrap();
        let error = pool.read(0, 10_000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
        let text = error.to_string();
        assert!(text.contains(path.to_str().unwrap()) && text.contains("truncated"), "{text}");
        assert_eq!(pool.read(0, bytes).unwrap().len() as u64, bytes);
    }
}

#[test]
fn file_larger_than_the_address_space_is_an_error() {
    let Some(directory) = shm_directory() else {
        return;
    };
    let domain = Domain::create("d", directory.path()).unwrap();
    let file = File::create(directory.path().join("huge")).unwrap();
    file.set_len(1 << 62).unwrap();
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let error = domain.open_pool("huge", access).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(error.to_string().contains(&(1u64 << 62).to_string()), "{error}");
    }
    assert_eq!(domain.pool_bytes("huge").unwrap(), 1 << 62);
}

#[test]
fn holes_are_allocated_before_a_pool_is_written() {
    let directories = [Some(tempfile::tempdir().unwrap()), shm_directory()];
    for directory in directories.into_iter().flatten() {
        let domain = Domain::create("d", directory.path()).unwrap();
        let file = File::create(directory.path().join("sparse")).unwrap();
        file.set_len(MIB).unwrap();
        file.write_all_at(b"data", 500_000).unwrap();
        let mut pool = domain.open_pool("sparse", Access::ReadWrite).unwrap();
        assert!(file.metadata().unwrap().blocks() * 512 >= MIB);
        assert_eq!(pool.read(500_000, 4).unwrap(), b"data");
        pool.write(MIB - 1, b"x").unwrap();
        pool.persist(0, MIB).unwrap();
    }
}

#[test]
fn unfinished_pool_gives_back_its_reserved_space() {
    let directories = [Some(tempfile::tempdir().unwrap()), shm_directory()];
    for directory in directories.into_iter().flatten() {
        let domain = Domain::create("d", directory.path()).unwrap();
        let appender = domain.append_pool("blocks").unwrap();
        appender.append(&[1; 1_000], 1).unwrap();
        let path = directory.path().join("blocks");
        assert!(fs::metadata(&path).unwrap().len() >= 1_000);
        appender.finish().unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.len(), 1_000);
        assert!(metadata.blocks() * 512 < MIB, "{} blocks", metadata.blocks());
    }
}

/// Everything that must hold on a file system, or under a limit, that has no more than 1 MiB.
fn no_space_is_an_error_that_loses_nothing(domain: &Domain) {
    let kind = domain.kind();
    let error = domain.create_pool("large", 2 * MIB).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{kind}: {error}");
    assert!(error.to_string().contains("large"), "{error}");
    assert!(!domain.exists("large").unwrap());

    let mut pool = domain.create_pool("root", 4_096).unwrap();
    pool.publish_u64(0, 77).unwrap();
    let error = pool.grow(2 * MIB).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{kind}: {error}");
    assert_eq!((pool.bytes(), pool.load_u64(0).unwrap()), (4_096, 77));
    assert_eq!(domain.pool_bytes("root").unwrap(), 4_096);
    pool.publish_u64(0, 78).unwrap();

    let appender = domain.append_pool("blocks").unwrap();
    let mut offsets = Vec::new();
    let error = loop {
        match appender.append(&[offsets.len() as u8; 100_000], 64) {
            Ok(offset) => offsets.push(offset),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{kind}: {error}");
    assert!(offsets.len() >= 5 && offsets.len() <= 10, "{kind}: {} appends", offsets.len());
    if kind == DomainKind::Dram {
        // A copy that failed on the way may be there in part, so the pool cannot be finished.
        appender.finish().unwrap_err();
        assert!(!domain.exists("blocks").unwrap());
    } else {
        appender.finish().unwrap();
        let pool = domain.open_pool("blocks", Access::ReadOnly).unwrap();
        for (index, &offset) in offsets.iter().enumerate() {
            let bytes = pool.read(offset, 100_000).unwrap();
            assert!(bytes.iter().all(|&byte| byte == index as u8), "{kind}");
        }
        domain.remove_pool("blocks").unwrap();
    }
    domain.create_pool("fits again", 500_000).unwrap();
    domain.remove_pool("fits again").unwrap();
    domain.remove_pool("root").unwrap();
}

#[test]
fn full_tmpfs_is_an_error_that_loses_nothing() {
    let Some(mount) = Mount::tmpfs("size=1m") else {
        return;
    };
    let plain = Settings::default();
    for settings in [
        plain,
        Settings { kind: Some(DomainKind::File), ..plain },
        Settings { flush: Some(FlushFlavour::Msync), ..plain },
    ] {
        let domain = Domain::create_with("d", mount.path(), &settings).unwrap();
        no_space_is_an_error_that_loses_nothing(&domain);
        let error = domain.create_pool("large", 2 * MIB).unwrap_err();
        let shortage = error.shortage().unwrap();
        assert_eq!(shortage.wanted_bytes, 2 * MIB);
        assert!((1..=MIB).contains(&shortage.free_bytes), "{shortage:?}");
        let numbers = format!("{} bytes are wanted, {} are free", 2 * MIB, shortage.free_bytes);
        assert!(error.to_string().contains(&numbers), "{error}");
    }
}

#[test]
fn more_than_the_whole_tmpfs_is_refused_at_once() {
    let Some(directory) = shm_directory() else {
        return;
    };
    let domain = Domain::create("d", directory.path()).unwrap();
    let error = domain.create_pool("large", 1 << 45).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    assert!(files(directory.path()).is_empty());
}

#[test]
fn file_size_limit_is_an_error_and_does_not_kill_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let child = spawn_child("child_under_a_file_size_limit", directory.path());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {text}", output.status);
    assert!(text.contains("limit was met"), "{text}");
}

#[test]
fn child_under_a_file_size_limit() {
    let Some(directory) = child_directory() else {
        return;
    };
    let limit = rustix::process::Rlimit { current: Some(MIB), maximum: Some(MIB) };
    rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
    for (name, kind) in [("file", DomainKind::File), ("shm", DomainKind::Shm)] {
        let settings = Settings { kind: Some(kind), ..Settings::default() };
        let path: &Path = &directory.join(name);
        let domain = Domain::create_with(name, path, &settings).unwrap();
        let error = domain.create_pool("probe", 2 * MIB).unwrap_err();
        assert!(error.to_string().contains("ulimit -f"), "{error}");
        no_space_is_an_error_that_loses_nothing(&domain);
    }
    no_space_is_an_error_that_loses_nothing(&Domain::dram("volatile"));
    println!("limit was met");
}
