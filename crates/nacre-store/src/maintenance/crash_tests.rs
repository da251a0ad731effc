//! What a kill leaves during repair and conversion: a copy of all files is taken at the moments
//! before and after a change of parts is published, and opened as another process would.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use nacre_column::replicated::AccessHint;
use nacre_column::{ColumnBuffer, ColumnType, Format};

use crate::manifest::Injection;
use crate::{ColumnDef, OpenOptions, Store, TableSchema};

const ROWS: i64 = 40;

fn open(directory: &Path) -> Store {
    let directory = Some(directory.to_path_buf());
    Store::open(OpenOptions { directory, ..OpenOptions::default() }).unwrap()
}

fn make(directory: &Path) -> Store {
    let store = open(directory);
    let column_type = ColumnType::BigInt;
    let column = |name: &str| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable: false,
        replicas: None,
    };
    let schema = TableSchema {
        name: "t".into(),
        columns: vec![column("a"), column("b")],
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    };
    let table = store.create_table(schema).unwrap();
    let load = store.begin_load(&table).unwrap();
    for chunk in 0..2 {
        let mut column = ColumnBuffer::new(column_type);
        (0..ROWS).for_each(|value| column.push_int(value));
        load.append_chunk(chunk, &[column.clone(), column]).unwrap();
    }
    load.commit().unwrap();
    store
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn pools(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let mut pools: Vec<String> = names.filter(|name| name.ends_with(".pool")).collect();
    pools.sort();
    pools
}

/// Opens what a kill left, checks that all is there and nothing else, and finishes the work.
fn check(directory: &Path) {
    let store = open(directory);
    let named = |store: &Store| {
        let parts = store.jobs().into_iter().flat_map(|job| job.load.parts().to_vec());
        parts.map(|part| part.own_file_name()).collect::<Vec<_>>()
    };
    let names = named(&store);
    assert!(pools(directory).iter().all(|pool| names.contains(pool)), "{:?}", pools(directory));
    let answers = |store: &Store| {
        for chunk in store.table("t").unwrap().snapshot().chunks().unwrap() {
            for column in 0..2 {
                let block = chunk.read(column, AccessHint::Sequential).unwrap();
                let last = block.block().unwrap().get_int(ROWS as usize - 1).unwrap();
                assert_eq!(last, Some(i128::from(ROWS - 1)));
            }
        }
    };
    answers(&store);
    for _ in 0..100 {
        if store.maintain_step().unwrap().is_idle() {
            break;
        }
    }
    assert!(!store.has_work());
    assert!(store.scrub(&mut |_| std::ops::ControlFlow::Continue(())).unwrap().is_whole());
    answers(&store);
    assert_eq!(pools(directory).len(), named(&store).len());
    if store.table("texts").is_ok_and(|texts| !texts.loads().is_empty()) {
        assert_eq!(text_formats(&store), [(0, Format::Plain), (1, Format::Fsst)]);
        assert_eq!(last_text(&store), text(TEXT_ROWS - 1));
    }
}

/// Rows whose texts are long enough for a load to repeat the first replica.
const TEXT_ROWS: usize = 3_000;

fn text(row: usize) -> String {
    format!("furiously special requests number {row} sleep")
}

fn load_texts(store: &Store) {
    let column_type = ColumnType::Varchar { max_chars: None };
    let (name, replicas) = ("words".into(), None);
    let column = ColumnDef { name, column_type, is_nullable: false, replicas };
    let schema = TableSchema {
        name: "texts".into(),
        columns: vec![column],
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    };
    let load = store.begin_load(&store.create_table(schema).unwrap()).unwrap();
    let mut column = ColumnBuffer::new(column_type);
    (0..TEXT_ROWS).for_each(|row| column.push_bytes(text(row).as_bytes()));
    load.append_chunk(0, &[column]).unwrap();
    load.commit().unwrap();
}

/// Returns replica and format of each block of the texts that is current.
fn text_formats(store: &Store) -> Vec<(u8, Format)> {
    let table = store.table("texts").unwrap();
    let open = table.loads()[0].open().unwrap();
    let current = open.places(0, 0).iter().filter(|place| place.is_current);
    let entries = current.map(|place| open.part_and_entry(place).1);
    let mut formats: Vec<(u8, Format)> =
        entries.map(|entry| (entry.replica, entry.format.unwrap())).collect();
    formats.sort_by_key(|(replica, _)| *replica);
    formats
}

fn last_text(store: &Store) -> String {
    let chunks = store.table("texts").unwrap().snapshot().chunks().unwrap();
    let block = chunks[0].read(0, AccessHint::Sequential).unwrap();
    let bytes = block.block().unwrap().get_bytes(TEXT_ROWS - 1).unwrap();
    String::from_utf8(bytes.unwrap().into_owned()).unwrap()
}

/// Does `work` on a database that `damage` was done to; copies it whenever a record is about to be
/// published and at the end.
fn images(damage: impl Fn(&Path), work: impl Fn(&Store)) {
    let directory = tempfile::tempdir().unwrap();
    let (base, images) = (directory.path().join("base"), directory.path().join("images"));
    drop(make(&base));
    damage(&base);
    let store = open(&base);
    let count = Arc::new(Mutex::new(0));
    let (counter, from, to) = (Arc::clone(&count), base.clone(), images.clone());
    store.inject_before_publish(Injection(Box::new(move || {
        let mut count = counter.lock().unwrap();
        copy(&from, &to.join(count.to_string()));
        *count += 1;
    })));
    work(&store);
    let count = *count.lock().unwrap();
    assert!(count > 0, "nothing was published");
    copy(&base, &images.join(count.to_string()));
    drop(store);
    (0..=count).for_each(|image| check(&images.join(image.to_string())));
    check(&base);
}

fn maintain(store: &Store) {
    for _ in 0..100 {
        if store.maintain_step().unwrap().is_idle() {
            return;
        }
    }
    panic!("maintenance does not end");
}

/// Loads come from any thread; their parts are named by one record.
#[test]
fn kill_during_a_load_leaves_it_wholly_or_not_at_all() {
    let load = |store: &Store| {
        let load = store.begin_load(&store.table("t").unwrap()).unwrap();
        let mut column = ColumnBuffer::new(ColumnType::BigInt);
        (0..ROWS).for_each(|value| column.push_int(value));
        load.append_chunk(0, &[column.clone(), column]).unwrap();
        load.commit().unwrap();
    };
    images(|_| (), load);
}

#[test]
fn kill_during_repair_leaves_the_old_or_the_new_parts() {
    let remove_one = |directory: &Path| {
        fs::remove_file(directory.join(&pools(directory)[1])).unwrap();
    };
    images(remove_one, maintain);
}

#[test]
fn kill_during_conversion_leaves_the_old_or_the_new_parts() {
    images(
        |_| (),
        |store| {
            store.set_policy("t", None, "plain, static_bp, auto".parse().ok()).unwrap();
            maintain(store);
            store.set_policy("t", Some("a"), "auto".parse().ok()).unwrap();
            maintain(store);
        },
    );
}

/// A bulk load writes the first replica of long strings twice; upkeep encodes the second one. Until
/// then, and after a kill at any moment, either of them answers.
#[test]
fn kill_before_second_replicas_are_encoded_leaves_repeated_ones() {
    let load = |store: &Store| {
        load_texts(store);
        assert_eq!(text_formats(store), [(0, Format::Plain), (1, Format::Plain)]);
        assert_eq!(last_text(store), text(TEXT_ROWS - 1));
        // Another load that runs has priority.
        let other = store.begin_load(&store.table("t").unwrap()).unwrap();
        assert!(store.maintain_step().unwrap().is_idle());
        assert!(store.has_work());
        drop(other);
        maintain(store);
        assert_eq!(text_formats(store), [(0, Format::Plain), (1, Format::Fsst)]);
    };
    images(|_| (), load);
}

/// A repeated replica is as good as any other.
#[test]
fn lost_first_replica_is_made_again_from_the_repeated_one() {
    let lose_first = |store: &Store| {
        load_texts(store);
        let part = Arc::clone(&store.table("texts").unwrap().loads()[0].parts()[0]);
        assert_eq!(part.record().number, 0);
        fs::remove_file(part.open().unwrap().path().unwrap()).unwrap();
        store.table("texts").unwrap().loads()[0].set_needs_care(true);
        maintain(store);
    };
    images(|_| (), lose_first);
}

/// A change of parts whose record fails in every replica of the manifest keeps old and new files
/// for the next opening to decide.
#[test]
fn change_in_doubt_keeps_all_files() {
    let directory = tempfile::tempdir().unwrap();
    let store = make(directory.path());
    store.set_policy("t", None, "plain".parse().ok()).unwrap();
    let manifest = ["manifest.0", "manifest.1"].map(|name| directory.path().join(name));
    let kept = manifest.clone().map(|path| fs::read(path).unwrap());
    let paths = manifest.clone();
    store.inject_before_publish(Injection(Box::new(move || {
        for path in &paths {
            fs::File::options().write(true).open(path).unwrap().set_len(0).unwrap();
        }
    })));
    store.maintain_step().unwrap_err();
    assert!(store.is_in_doubt());
    assert_eq!(pools(directory.path()).len(), 3);
    drop(store);
    for (path, bytes) in manifest.iter().zip(kept) {
        fs::write(path, bytes).unwrap();
    }
    check(directory.path());
}
