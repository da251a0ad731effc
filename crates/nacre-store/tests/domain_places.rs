//! Domains whose paths are repeated, swapped or taken for others.
//!
//! Opening a database removed pools that the manifest places in another domain: with two paths
//! swapped, or one path under two names, that were all pools of both.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use nacre_store::{Error, OpenOptions, Store};
use support::{all_keys, inner, keys, maintain, open, open_with, pools, repair, scrub, table};

struct Paths {
    _directory: tempfile::TempDir,
    main: PathBuf,
    one: PathBuf,
    two: PathBuf,
}

impl Paths {
    /// Returns all part files of both further domains.
    fn pools(&self) -> Vec<PathBuf> {
        [&self.one, &self.two].iter().flat_map(|path| pools(&inner(path))).collect()
    }

    fn refused(&self, domains: &[(&str, &Path)]) -> String {
        let pools = self.pools();
        let mut texts = Vec::new();
        for is_read_only in [false, true] {
            let error = try_open(&self.main, domains, is_read_only).unwrap_err();
            assert!(matches!(error, Error::InvalidDefinition { .. }), "{error}");
            texts.push(error.to_string());
        }
        assert_eq!(self.pools(), pools, "nothing is removed");
        texts.remove(0)
    }

    fn swap(&self) {
        let away = self.main.with_file_name("away");
        fs::rename(&self.one, &away).unwrap();
        fs::rename(&self.two, &self.one).unwrap();
        fs::rename(&away, &self.two).unwrap();
    }
}

fn try_open(main: &Path, domains: &[(&str, &Path)], is_read_only: bool) -> Result<Store, Error> {
    let domains = domains.iter().map(|(name, path)| ((*name).into(), path.into())).collect();
    let directory = Some(main.into());
    Store::open(OpenOptions { directory, domains, is_read_only, ..OpenOptions::default() })
}

/// A table with one replica in each of the domains `x` and `y`, none in the directory.
fn make() -> Paths {
    let directory = tempfile::tempdir().unwrap();
    let [main, one, two] = ["main", "one", "two"].map(|name| directory.path().join(name));
    let store = open_with(&main, &[("x", &one), ("y", &two)]);
    table(&store, "t", "plain@x, plain@y");
    Paths { _directory: directory, main, one, two }
}

#[test]
fn swapped_paths_are_refused_with_the_right_place() {
    let paths = make();
    let (one, two) = (paths.one.display(), paths.two.display());
    let text = paths.refused(&[("x", &paths.two), ("y", &paths.one)]);
    assert_eq!(
        text,
        format!(
            "memory domain \"x\": {two} holds the replicas of memory domain \"y\", those of memory \
             domain \"x\" are in {one}"
        )
    );
    // The owner moves elsewhere in the same call.
    let new = paths.main.with_file_name("new");
    fs::create_dir(&new).unwrap();
    let text = paths.refused(&[("x", &new), ("y", &paths.one)]);
    assert!(text.contains("\"y\": ") && text.contains("holds the replicas of"), "{text}");
    let store = open(&paths.main);
    assert!(store.missing_domains().is_empty() && store.notes().is_empty(), "{:?}", store.notes());
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    assert!(scrub(&store).is_whole());
}

#[test]
fn directory_of_another_domain_is_refused() {
    let paths = make();
    let link = paths.main.with_file_name("link");
    std::os::unix::fs::symlink(&paths.one, &link).unwrap();
    for path in [&paths.one, &link] {
        let text = paths.refused(&[("y", path)]);
        assert!(text.contains("memory domain \"x\" lies in"), "{text}");
        let text = paths.refused(&[("x", path), ("y", path)]);
        assert!(text.contains("memory domains \"x\" and \"y\" would both lie in"), "{text}");
        let text = paths.refused(&[("new", path)]);
        assert!(text.contains("memory domain \"x\" lies in"), "{text}");
    }
    let text = paths.refused(&[("x", &paths.one), ("x", &paths.two)]);
    assert!(text.contains("named twice"), "{text}");
    let text = paths.refused(&[("new", &paths.main)]);
    assert!(text.contains("is the database itself"), "{text}");
    assert_eq!(keys(&open(&paths.main).table("t").unwrap()), all_keys());
}

#[test]
fn one_path_under_two_names_is_refused_before_anything_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let [main, path] = ["main", "domains/both"].map(|name| directory.path().join(name));
    let dotted = directory.path().join("domains/./both");
    let error = try_open(&main, &[("x", &path), ("y", &dotted)], false).unwrap_err();
    assert!(error.to_string().contains("\"x\" and \"y\""), "{error}");
    assert!(!main.exists() && !path.exists());
}

/// As after mounting two devices the other way round.
#[test]
fn directories_that_changed_places_are_missing_until_their_domains_follow() {
    let paths = make();
    paths.swap();
    let pools = paths.pools();
    let store = open(&paths.main);
    assert_eq!(store.missing_domains(), ["x", "y"]);
    assert!(store.notes()[0].contains("holds the replicas of memory domain \"y\""));
    assert!(!repair(&store).is_whole());
    drop(store);
    assert_eq!(paths.pools(), pools);
    let store = open_with(&paths.main, &[("x", &paths.two), ("y", &paths.one)]);
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    assert!(scrub(&store).is_whole());
    // Also while it is open.
    paths.swap();
    maintain(&store);
    assert_eq!(store.missing_domains(), ["x", "y"]);
    assert!(!repair(&store).is_whole());
    assert_eq!(paths.pools().len(), pools.len());
    paths.swap();
    assert!(repair(&store).is_whole());
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
}

#[test]
fn two_recorded_domains_that_come_to_share_a_directory_lose_nothing() {
    let paths = make();
    let away = paths.main.with_file_name("away");
    fs::rename(&paths.two, &away).unwrap();
    std::os::unix::fs::symlink(&paths.one, &paths.two).unwrap();
    let store = open(&paths.main);
    assert_eq!(store.missing_domains(), ["y"]);
    assert!(store.notes()[0].contains("each needs a directory of its own"), "{:?}", store.notes());
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    drop(store);
    let store = open_with(&paths.main, &[("y", &away)]);
    assert!(scrub(&store).is_whole());
}

#[test]
fn pool_that_counts_elsewhere_is_no_leftover() {
    let paths = make();
    let (from, to) = (inner(&paths.one), inner(&paths.two));
    let part = pools(&from).remove(0);
    let strays = [to.join(part.file_name().unwrap()), to.join("load-00000000000000ff-r0.pool")];
    strays.iter().for_each(|stray| assert!(fs::copy(&part, stray).unwrap() > 0));
    drop(open(&paths.main));
    assert_eq!(strays.map(|stray| stray.exists()), [true, false]);
}

#[test]
fn directory_of_a_further_domain_is_not_opened_as_a_database() {
    let paths = make();
    let files = |path: &Path| fs::read_dir(path).unwrap().count();
    let one = inner(&paths.one);
    let count = files(&one);
    for is_read_only in [false, true] {
        let error = try_open(&one, &[], is_read_only).unwrap_err();
        assert!(matches!(error, Error::NotADatabase { .. }), "{error}");
        assert!(error.to_string().contains("memory domain \"x\""), "{error}");
    }
    assert_eq!(files(&one), count);
}

/// A file that is no manifest kept the database from being opened, although all others are whole.
#[test]
fn foreign_manifest_in_a_further_domain_is_noted() {
    let paths = make();
    let manifest = inner(&paths.one).join("manifest.2");
    let bytes = fs::read(&manifest).unwrap();
    fs::write(&manifest, vec![0x5a; bytes.len()]).unwrap();
    for is_read_only in [true, false] {
        let store = try_open(&paths.main, &[], is_read_only).unwrap();
        let notes = store.notes().join("\n");
        assert!(notes.contains("\"x\" has no manifest replica"), "{notes}");
        assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    }
    let store = open(&paths.main);
    table(&store, "second", "plain@x, plain@y");
    drop(store);
    fs::remove_file(&manifest).unwrap();
    let store = open(&paths.main);
    assert_eq!(keys(&store.table("second").unwrap()), all_keys());
    assert!(manifest.exists());
    drop(store);
    assert!(open(&paths.main).notes().is_empty());
}

#[test]
fn lost_directory_is_not_made_anew_over_its_domains() {
    let paths = make();
    fs::remove_dir_all(&paths.main).unwrap();
    for is_made in [false, true] {
        if is_made {
            fs::create_dir_all(&paths.main).unwrap();
        }
        let error = try_open(&paths.main, &[("x", &paths.one)], false).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::NotADatabase { .. }), "{text}");
        assert!(text.contains("manifest.2 to") && text.contains("\"x\""), "{text}");
    }
    // What it says is done.
    fs::rename(inner(&paths.one).join("manifest.2"), paths.main.join("manifest.2")).unwrap();
    let store = open(&paths.main);
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
}

#[test]
fn wrong_paths_are_not_made() {
    let paths = make();
    let absent = paths.main.with_file_name("absent");
    let text = paths.refused(&[("x", &absent)]);
    assert!(text.contains("make an empty directory"), "{text}");
    let text = paths.refused(&[("new", &absent.join("deep"))]);
    assert!(text.contains("the directory that it is to lie in is not there"), "{text}");
    assert!(!absent.exists());
}

#[test]
fn reads_without_a_domain_say_which_one_is_missing() {
    let paths = make();
    let store = open(&paths.main);
    let alone = table(&store, "alone", "plain@x");
    drop((alone, store));
    fs::rename(&paths.one, paths.main.with_file_name("away")).unwrap();
    let store = open(&paths.main);
    let error = store.table("alone").unwrap().snapshot().chunks().unwrap_err();
    let Error::LoadDamaged { missing, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(missing, &["x"]);
    let found = scrub(&store);
    assert!(!found.lost.is_empty());
    for lost in &found.lost {
        assert_eq!(lost.domain.as_deref(), Some("x"), "{lost}");
        assert_eq!(lost.has_source, lost.table.as_deref() == Some("t"), "{lost}");
    }
}

#[test]
fn domain_is_forgotten_when_nothing_needs_it() {
    let paths = make();
    let store = open(&paths.main);
    let refused = |store: &Store, name: &str, part: &str| {
        let text = store.forget_domain(name).unwrap_err().to_string();
        assert!(text.contains(part), "{text}");
    };
    refused(&store, "main", "no further memory domain");
    refused(&store, "z", "no further memory domain");
    refused(&store, "x", "of these tables: \"t\"");
    store.set_policy("t", None, None).unwrap();
    // Both are elsewhere than the policy says now, and only `y` has a good one.
    pools(&inner(&paths.one)).iter().for_each(|path| fs::remove_file(path).unwrap());
    refused(&store, "y", "the only good replica of table \"t\"");
    maintain(&store);
    store.forget_domain("y").unwrap();
    assert!(repair(&store).is_whole() && scrub(&store).is_whole());
    assert!(store.domain("y").is_none() && store.missing_domains().is_empty());
    assert!(pools(&inner(&paths.two)).is_empty() && !inner(&paths.two).join("manifest.3").exists());
    drop(store);
    // One that is away.
    let away = paths.main.with_file_name("away");
    fs::rename(&paths.one, &away).unwrap();
    let store = open(&paths.main);
    assert_eq!(store.missing_domains(), ["x"]);
    store.forget_domain("x").unwrap();
    assert!(repair(&store).is_whole());
    drop(store);
    let store = open(&paths.main);
    assert!(store.missing_domains().is_empty() && store.notes().is_empty(), "{:?}", store.notes());
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    drop(store);
    // It comes back under its name, with what it had.
    let store = open_with(&paths.main, &[("x", &away)]);
    assert!(repair(&store).is_whole());
    assert_eq!(keys(&store.table("t").unwrap()), all_keys());
    drop(store);
    let store = open(&paths.main);
    assert!(scrub(&store).is_whole() && store.notes().is_empty(), "{:?}", store.notes());
}
