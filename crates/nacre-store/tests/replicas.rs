//! Replicas: where they are written, how they stand in for each other, how they are rebuilt.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use nacre_column::Format;
use nacre_pmem::DomainKind;
use nacre_store::{AccessHint, Error, ErrorKind, OpenOptions, ReplicaState, Store, WearCause};
use support::{
    all_keys, flip, inner, keys, load, maintain, open, open_with, pools, repair, rows, schema,
    scrub, table,
};

#[test]
fn every_column_has_two_replicas_by_default_and_either_one_serves() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "");
    assert_eq!(pools(directory.path()).len(), 4, "two loads of two parts");
    let chunk = table.snapshot().chunks().unwrap().remove(1);
    let places = chunk.locations(1);
    assert_eq!(places.iter().map(|place| place.replica).collect::<Vec<_>>(), [0, 1]);
    assert_ne!(places[0].pool_path, places[1].pool_path);
    assert_eq!(keys(&table), all_keys());
    drop((store, table, chunk));
    for removed in pools(directory.path()).chunks(2).flat_map(|parts| parts.iter()) {
        let bytes = fs::read(removed).unwrap();
        fs::remove_file(removed).unwrap();
        let reader = OpenOptions {
            directory: Some(directory.path().into()),
            is_read_only: true,
            ..OpenOptions::default()
        };
        let store = Store::open(reader).unwrap();
        assert_eq!(keys(&store.table("t").unwrap()), all_keys(), "without {removed:?}");
        fs::write(removed, bytes).unwrap();
    }
}

#[test]
fn damaged_block_is_read_from_the_other_replica_and_written_anew() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "");
    let before = table.snapshot().chunks().unwrap();
    for replica in [0, 1] {
        let chunks = table.snapshot().chunks().unwrap();
        let place = chunks[1].locations(1).remove(replica);
        let path = place.pool_path.unwrap();
        flip(&path, place.offset + place.bytes / 2);
        assert_eq!(keys(&table), all_keys());
        let found = scrub(&store);
        assert!(!found.is_whole() && found.lost.iter().all(|lost| lost.has_source), "{found:?}");
        let text = found.lost[0].to_string();
        let names = format!("table \"t\", column \"v\", chunk 1, replica {replica} in domain");
        assert!(text.starts_with(&names) && text.contains("checksum"), "{text}");
        assert!(store.has_work());
        maintain(&store);
        assert!(!store.has_work());
        assert!(scrub(&store).is_whole());
        let now = table.snapshot().chunks().unwrap()[1].locations(1).remove(replica);
        assert_ne!(now.pool_path.unwrap(), path, "a fresh place");
        assert_eq!(keys(&table), all_keys());
    }
    // Chunks of before go on reading what they know.
    for chunk in &before {
        chunk.read(1, AccessHint::Sequential).unwrap().block().unwrap();
    }
    let repaired = store.wear().into_iter().filter(|wear| wear.cause == WearCause::Repair);
    assert!(repaired.map(|wear| wear.bytes).sum::<u64>() > 0);
    drop((store, table, before));
    let store = open(directory.path());
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    assert!(scrub(&store).is_whole());
    assert!(repair(&store).is_whole());
}

#[test]
fn column_without_any_good_replica_is_named_and_others_answer() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "");
    let chunks = table.snapshot().chunks().unwrap();
    for place in chunks[0].locations(0) {
        flip(&place.pool_path.unwrap(), place.offset + place.bytes - 1);
    }
    let chunks = table.snapshot().chunks().unwrap();
    let error = chunks[0].read(0, AccessHint::Sequential).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    let text = error.to_string();
    assert!(text.starts_with("table \"t\", column \"k\", chunk 0: replica 0 in domain main: "));
    assert!(text.contains("; replica 1 in domain main: "), "{text}");
    assert!(chunks[0].read(1, AccessHint::Sequential).is_ok());
    assert!(chunks[1].read(0, AccessHint::Sequential).is_ok());
    let report = repair(&store);
    assert_eq!((report.blocks, report.lost.len()), (0, 2), "{report:?}");
    assert!(report.lost.iter().all(|lost| !lost.has_source));
    let lost = store.replicas().into_iter().find(|info| info.column == "k").unwrap();
    assert_eq!(lost.state, ReplicaState::Incomplete { missing: 1, blocks: 3 });
}

#[test]
fn reported_block_is_not_read_again() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", "auto, auto, plain");
    let wakes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&wakes);
    store.set_waker(Box::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    let chunk = table.snapshot().chunks().unwrap().remove(0);
    let mut seen = Vec::new();
    while let Ok(handle) = chunk.read(0, AccessHint::Sequential) {
        seen.push(handle.replica());
        chunk.report_lost(0, &handle);
    }
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2]);
    assert_eq!(wakes.load(Ordering::Relaxed), 3);
    assert!(chunk.read(1, AccessHint::Sequential).is_ok());
}

#[test]
fn block_that_a_read_finds_damaged_wakes_whoever_mends() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "");
    let chunk = table.snapshot().chunks().unwrap().remove(0);
    let replica = chunk.read(0, AccessHint::Sequential).unwrap().replica();
    let mut places = chunk.locations(0).into_iter();
    let place = places.find(|place| place.replica == replica).unwrap();
    drop((store, table, chunk));
    flip(&place.pool_path.unwrap(), place.offset + place.bytes / 2);

    let store = open(directory.path());
    maintain(&store);
    let wakes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&wakes);
    store.set_waker(Box::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    assert_eq!(wakes.load(Ordering::Relaxed), 1);
    maintain(&store);
    assert!(scrub(&store).is_whole());
}

/// Blocks of equal length and good checksums that changed places: the directory tells.
#[test]
fn blocks_that_changed_places_are_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "plain, static_bp");
    let chunks = table.snapshot().chunks().unwrap();
    let (one, other) = (chunks[0].locations(0).remove(0), chunks[1].locations(0).remove(0));
    assert_eq!((one.bytes, &one.pool_path), (other.bytes, &other.pool_path));
    drop((store, table, chunks));
    let path = one.pool_path.unwrap();
    let mut bytes = fs::read(&path).unwrap();
    for at in 0..one.bytes {
        bytes.swap((one.offset + at) as usize, (other.offset + at) as usize);
    }
    fs::write(&path, bytes).unwrap();
    let store = open(directory.path());
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    let found = scrub(&store);
    assert_eq!(found.lost.len(), 2, "{found:?}");
    assert!(found.lost[0].to_string().contains("another block lies in its place"));
    assert!(repair(&store).is_whole());
}

#[test]
fn parts_that_changed_places_are_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    drop((table(&store, "t", "plain, plain"), store));
    let files = pools(directory.path());
    let elsewhere = directory.path().join("elsewhere");
    fs::rename(&files[0], &elsewhere).unwrap();
    fs::rename(&files[1], &files[0]).unwrap();
    fs::rename(&elsewhere, &files[1]).unwrap();
    let store = open(directory.path());
    let error = store.table("t").unwrap().snapshot().chunks().unwrap_err();
    assert!(error.to_string().contains("it is not part 0 of load 1"), "{error}");
    let found = scrub(&store);
    assert!(found.lost.iter().any(|lost| !lost.has_source), "{found:?}");
}

#[test]
fn cut_missing_and_foreign_parts_are_rebuilt_and_their_files_go() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    drop((table(&store, "t", ""), store));
    let damage: [fn(&std::path::Path); 4] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, b"").unwrap(),
        |path| fs::write(path, [0x5a; 4_096]).unwrap(),
        |path| fs::File::options().write(true).open(path).unwrap().set_len(700).unwrap(),
    ];
    for (number, damage) in damage.into_iter().enumerate() {
        let path = pools(directory.path()).remove(number % 2);
        damage(&path);
        let store = open(directory.path());
        assert_eq!(keys(&store.table("t").unwrap()), all_keys(), "{number}");
        let report = repair(&store);
        assert!(report.is_whole() && report.blocks > 0, "{report:?}");
        assert_eq!(pools(directory.path()).len(), 4);
        assert!(!path.exists());
        drop(store);
        let store = open(directory.path());
        assert!(scrub(&store).is_whole());
        assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    }
}

#[test]
fn policy_that_changes_converts_what_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "");
    let formats = |store: &Store, column: &str| {
        let infos = store.replicas().into_iter().filter(|info| info.column == column);
        infos.map(|info| (info.state, info.formats)).collect::<Vec<_>>()
    };
    store.set_policy("t", Some("k"), "plain, static_bp, plain".parse().ok()).unwrap();
    let left = ReplicaState::Converting { left: 3, blocks: 3 };
    assert_eq!(formats(&store, "k")[0].0, left, "what there is is not what was asked for");
    store.prepare_to_close();
    assert!(store.maintain_step().unwrap().is_idle() && store.has_work());
    drop((store, table));
    let store = open(directory.path());
    let table = store.table("t").unwrap();
    maintain(&store);
    let good = |format| (ReplicaState::Good, vec![format]);
    let expected = [good(Format::Plain), good(Format::StaticBp), good(Format::Plain)];
    assert_eq!(formats(&store, "k"), expected);
    assert_eq!(formats(&store, "v").len(), 2);
    assert_eq!(keys(&table), all_keys());
    let written = store.wear().into_iter().filter(|wear| wear.cause == WearCause::Conversion);
    assert!(written.filter(|wear| wear.column.as_deref() == Some("k")).any(|wear| wear.bytes > 0));
    drop((store, table));
    let store = open(directory.path());
    assert_eq!(store.table("t").unwrap().schema().policy(0).to_string(), "plain, static_bp, plain");
    maintain(&store);
    assert_eq!(formats(&store, "k"), expected);
    store.set_policy("t", Some("k"), None).unwrap();
    store.set_policy("t", None, "plain".parse().ok()).unwrap();
    maintain(&store);
    assert_eq!(formats(&store, "k"), [good(Format::Plain)]);
    assert_eq!(formats(&store, "v"), [good(Format::Plain)]);
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    drop(store);
    let store = open(directory.path());
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    assert!(scrub(&store).is_whole());
}

#[test]
fn policies_that_cannot_be_followed_are_refused() {
    let store = Store::open(OpenOptions::default()).unwrap();
    store.create_table(schema("t", "")).unwrap();
    let set = |column: Option<&str>, policy: &str| {
        store.set_policy("t", column, policy.parse().ok()).unwrap_err()
    };
    assert!(matches!(set(None, "auto@nowhere"), Error::UnknownDomain { .. }));
    assert!(matches!(set(Some("x"), "auto"), Error::UnknownColumn { .. }));
    let error = set(Some("v"), "auto, static_bp");
    assert_eq!(error.kind(), ErrorKind::InvalidDefinition);
    assert!(error.to_string().contains("column \"v\""), "{error}");
    let error = store.create_table(schema("u", "auto@nowhere")).unwrap_err();
    assert!(error.to_string().contains("\"nowhere\""), "{error}");
    assert_eq!(store.table("t").unwrap().schema().replicas, None);
    let named =
        OpenOptions { domains: vec![("dram".into(), "/x".into())], ..OpenOptions::default() };
    assert!(Store::open(named).is_err());
}

#[test]
fn replica_in_dram_is_read_first_and_built_again_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let table = table(&store, "t", "auto, plain@dram");
    let domain_read = |store: &Store| {
        let chunk = store.table("t").unwrap().snapshot().chunks().unwrap().remove(0);
        chunk.read(0, AccessHint::Sequential).unwrap().domain().to_owned()
    };
    assert_eq!(domain_read(&store), "dram");
    assert_eq!(pools(directory.path()).len(), 2);
    drop((store, table));
    let store = open(directory.path());
    assert_eq!(domain_read(&store), "main");
    assert!(scrub(&store).is_whole(), "not built is not lost");
    maintain(&store);
    assert_eq!(domain_read(&store), "dram");
    let infos = store.replicas();
    assert!(infos.iter().all(|info| info.state == ReplicaState::Good), "{infos:?}");
    assert_eq!(infos[1].kind, Some(DomainKind::Dram));
    assert!(infos[1].reads > 0);
    assert_eq!(pools(directory.path()).len(), 2);
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
}

#[test]
fn replicas_are_spread_over_the_domains() {
    let directory = tempfile::tempdir().unwrap();
    let (main, fast) = (directory.path().join("main"), directory.path().join("fast"));
    let store = open_with(&main, &[("fast", &fast)]);
    drop(table(&store, "t", ""));
    let domains = |policy: &str| {
        store.set_policy("t", None, policy.parse().ok()).unwrap();
        let infos = store.replicas().into_iter().filter(|info| info.column == "k");
        infos.map(|info| info.domain).collect::<Vec<_>>()
    };
    assert_eq!(domains("auto, auto"), ["main", "fast"]);
    assert_eq!(domains("auto@fast, auto"), ["fast", "main"]);
    assert_eq!(domains("auto, auto@main"), ["fast", "main"]);
    assert_eq!(domains("auto, auto, auto"), ["main", "fast", "main"]);
    assert_eq!(domains("auto, plain@dram, auto"), ["main", "dram", "fast"]);
    let wear = store.wear();
    for domain in ["main", "fast"] {
        let of_domain = |cause| {
            let is_it =
                |wear: &&nacre_store::WearInfo| wear.domain == domain && wear.cause == cause;
            wear.iter().filter(is_it).map(|wear| wear.bytes).sum::<u64>()
        };
        assert!(of_domain(WearCause::Load) > 0 && of_domain(WearCause::Manifest) > 0);
    }
}

/// A domain that is deleted under use, then replaced by an empty directory.
#[test]
fn deleted_domain_costs_nothing_and_is_restored_by_repair() {
    let directory = tempfile::tempdir().unwrap();
    let (main, fast) = (directory.path().join("main"), directory.path().join("fast"));
    let store = open_with(&main, &[("fast", &fast)]);
    let table = table(&store, "t", "");
    let chunks = table.snapshot().chunks().unwrap();
    fs::remove_dir_all(&fast).unwrap();
    assert_eq!(keys(&table), all_keys());
    load(&store, &table, &[rows(100..103)]).unwrap();
    assert!(store.notes().iter().any(|note| note.contains("no replica in memory domain \"fast\"")));
    let placed = store.create_table(schema("placed", "auto@fast")).unwrap();
    load(&store, &placed, &[rows(0..1)]).unwrap_err();
    load(&store, &placed, &[rows(0..1)]).unwrap_err();
    let report = repair(&store);
    assert!(!report.is_whole() && report.lost.iter().all(|lost| lost.has_source), "{report:?}");
    assert!(store.missing_domains() == ["fast"]);
    let lost = store.replicas().into_iter().find(|info| info.domain == "fast").unwrap();
    assert_eq!(lost.state, ReplicaState::Missing);
    drop((store, table, placed));
    // Opened without it, too.
    let store = open(&main);
    let table = store.table("t").unwrap();
    let expected: Vec<i64> = (0..25).chain(100..103).collect();
    assert_eq!(keys(&table), expected);
    load(&store, &table, &[rows(200..202)]).unwrap();
    store.maintain_step().unwrap();
    // An empty directory counts when the user says so.
    fs::create_dir(&fast).unwrap();
    maintain(&store);
    assert_eq!(store.missing_domains(), ["fast"]);
    let report = repair(&store);
    assert!(report.is_whole() && report.blocks > 0, "{report:?}");
    assert!(store.missing_domains().is_empty());
    assert_eq!(pools(&inner(&fast)).len(), 4);
    assert!(inner(&fast).join("manifest.2").exists());
    assert!(store.replicas().iter().all(|info| info.state == ReplicaState::Good));
    drop((store, table, chunks));
    let store = open(&main);
    let expected: Vec<i64> = expected.into_iter().chain(200..202).collect();
    assert_eq!(keys(&store.table("t").unwrap()), expected);
    assert!(scrub(&store).is_whole());
}

#[test]
fn domain_that_was_away_is_used_again_and_brought_up_to_date() {
    let directory = tempfile::tempdir().unwrap();
    let (main, fast) = (directory.path().join("main"), directory.path().join("fast"));
    let away = directory.path().join("away");
    let store = open_with(&main, &[("fast", &fast)]);
    drop((table(&store, "t", ""), table(&store, "dropped", ""), store));
    fs::rename(&fast, &away).unwrap();
    let store = open(&main);
    assert!(store.notes()[0].contains("\"fast\" is missing"), "{:?}", store.notes());
    store.drop_table("dropped").unwrap();
    let table = store.table("t").unwrap();
    load(&store, &table, &[rows(100..110)]).unwrap();
    maintain(&store);
    fs::rename(&away, &fast).unwrap();
    // It comes back while the database is open.
    maintain(&store);
    assert!(store.notes().iter().any(|note| note.contains("\"fast\" is there again")));
    assert_eq!(pools(&inner(&fast)).len(), 3, "what is needed, and nothing else");
    assert!(store.replicas().iter().all(|info| info.state == ReplicaState::Good));
    drop((store, table));
    // Now only that domain is left of the blocks.
    pools(&main).iter().for_each(|path| fs::remove_file(path).unwrap());
    let store = open(&main);
    let expected: Vec<i64> = (0..25).chain(100..110).collect();
    assert_eq!(keys(&store.table("t").unwrap()), expected);
    assert!(repair(&store).is_whole());
    assert_eq!(pools(&main).len(), 3);
}

#[test]
fn readers_and_loads_go_on_during_maintenance() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let shared = table(&store, "t", "");
    let (is_done, start) = (AtomicBool::new(false), Barrier::new(3));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            for round in 0..10 {
                let policy = if round % 2 == 0 { "plain, plain" } else { "auto, plain@dram" };
                store.set_policy("t", None, policy.parse().ok()).unwrap();
                maintain(&store);
            }
            is_done.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            start.wait();
            for number in 0..5 {
                let from = 100 + number * 10;
                load(&store, &shared, &[rows(from..from + 10)]).unwrap();
            }
        });
        start.wait();
        let chunks = shared.snapshot().chunks().unwrap();
        for _ in 0..10_000 {
            assert_eq!(keys(&shared)[..25], all_keys());
            for chunk in &chunks {
                chunk.read(0, AccessHint::Random).unwrap().check().unwrap();
            }
            if is_done.load(Ordering::Acquire) {
                break;
            }
        }
    });
    maintain(&store);
    assert_eq!(keys(&shared).len(), 75);
    assert!(scrub(&store).is_whole());
}

/// The directory of a domain is deleted between the first block of a load and its commit: what was
/// written there is gone, although every call on the open file succeeds.
#[test]
fn domain_that_disappears_while_loading_is_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let (main, fast) = (directory.path().join("main"), directory.path().join("fast"));
    let store = open_with(&main, &[("fast", &fast)]);
    let both = store.create_table(schema("both", "")).unwrap();
    let alone = store.create_table(schema("alone", "auto@fast")).unwrap();
    let loads = [&both, &alone].map(|table| {
        let load = store.begin_load(table).unwrap();
        load.append_chunk(0, &rows(0..10)).unwrap();
        load
    });
    fs::remove_dir_all(&fast).unwrap();
    let [of_both, of_alone] = loads.map(|load| {
        load.append_chunk(1, &rows(10..25)).unwrap();
        load.commit()
    });
    assert_eq!(of_both.unwrap(), 25);
    of_alone.unwrap_err();
    assert_eq!((alone.snapshot().rows(), keys(&both)), (0, all_keys()));
    assert!(store.notes().iter().any(|note| note.contains("no replica in memory domain \"fast\"")));
    // A new device, which another database uses too.
    fs::create_dir_all(fast.join("nacre-0123")).unwrap();
    let report = repair(&store);
    assert!(report.is_whole() && report.blocks == 4, "{report:?}");
    drop((store, both, alone));
    pools(&main).iter().for_each(|path| fs::remove_file(path).unwrap());
    assert_eq!(keys(&open(&main).table("both").unwrap()), all_keys());
}

#[test]
fn domain_moves_to_an_empty_directory_but_not_to_a_wrong_one() {
    let directory = tempfile::tempdir().unwrap();
    let [main, fast, wrong, new] =
        ["main", "fast", "wrong", "new"].map(|name| directory.path().join(name));
    let store = open_with(&main, &[("fast", &fast)]);
    drop((table(&store, "t", ""), store));
    fs::remove_dir_all(&fast).unwrap();
    fs::create_dir(&wrong).unwrap();
    fs::write(wrong.join("letter.txt"), b"dear reader").unwrap();
    fs::create_dir(&new).unwrap();
    let options = |path: &std::path::Path| OpenOptions {
        directory: Some(main.clone()),
        domains: vec![("fast".into(), path.to_path_buf())],
        is_read_only: false,
        ..OpenOptions::default()
    };
    Store::open(options(&wrong)).unwrap_err();
    let store = Store::open(options(&new)).unwrap();
    assert!(repair(&store).is_whole());
    assert_eq!(pools(&inner(&new)).len(), 2);
    drop(store);
    assert!(scrub(&open(&main)).is_whole());
}
