//! The redo log: any bytes give records or an error, and records survive being written.

use std::sync::LazyLock;

use nacre_pmem::{Access, Domain};
use nacre_store::{
    CallEffects, CommitTs, DatabaseId, RedoBuffer, RedoLog, RedoOptions, RedoReader, RedoRecord,
    ValueRef,
};

use super::database::{DATA_OFFSET, Files, directory, read_files, write_files};
use super::input::Input;

const ID: DatabaseId = DatabaseId::from_bytes([7; 16]);

/// Segments of a few groups.
const OPTIONS: RedoOptions = RedoOptions { segment_bytes: 1024, is_compressed: true };

static LOG: LazyLock<Files> = LazyLock::new(make_log);

fn make_log() -> Files {
    let directory = directory();
    let domains = [Domain::create("main", directory.path()).unwrap()];
    let log = RedoLog::create(&domains, ID, OPTIONS).unwrap();
    for number in 0..12 {
        let mut buffer = RedoBuffer::default();
        let text = vec![b'a'; number * 30];
        let arguments = [ValueRef::Int(number as i64), ValueRef::Bytes(&text)];
        buffer.call("change", &arguments, CallEffects::default());
        log.append(CommitTs(number as u64 + 1), &buffer).unwrap();
    }
    drop(log);
    read_files(directory.path())
}

/// Fuzzes the segments of a log: opened with or without writing, and replayed; an opened log takes
/// another group.
pub fn redo_log(data: &[u8]) {
    let mut input = Input::new(data);
    let mut files = LOG.clone();
    let access =
        if input.number(1).is_multiple_of(2) { Access::ReadOnly } else { Access::ReadWrite };
    let count = files.len();
    while !input.rest().is_empty() {
        let bytes = &mut files[input.below(count)].1;
        let front = DATA_OFFSET.min(bytes.len());
        let (front, back) = bytes.split_at_mut(front);
        let area = if input.number(1).is_multiple_of(8) { front } else { back };
        let part = input.take(24);
        Input::new(part).damage(area);
    }
    let directory = directory();
    write_files(directory.path(), &files);
    let Ok(domain) = Domain::open("main", directory.path(), access) else {
        return;
    };
    let domains = [domain];
    let Ok(log) = RedoLog::open(&domains, access, ID, 1, OPTIONS) else {
        return;
    };
    log.repair(&domains, true);
    let mut last = CommitTs(0);
    let replayed = log.replay(&mut |commit, _| {
        last = last.max(commit);
        Ok(())
    });
    if access == Access::ReadWrite && replayed.is_ok() && last < CommitTs(u64::MAX) {
        let lsn = log.append(CommitTs(last.0 + 1), &RedoBuffer::default());
        let _ = lsn.and_then(|lsn| log.persist(lsn));
    }
}

/// Reads `data` as redo records up to the first problem, writes them, and reads them again.
pub fn redo_records(data: &[u8]) {
    let mut buffer = RedoBuffer::default();
    let mut reader = RedoReader::new(data);
    let mut count = 0;
    while let Ok(Some(record)) = reader.next_record() {
        count += usize::from(write(&mut buffer, record));
    }
    let (mut reader, mut again) = (RedoReader::new(buffer.bytes()), RedoBuffer::default());
    for _ in 0..count {
        assert!(write(&mut again, reader.next_record().unwrap().unwrap()));
    }
    assert_eq!(reader.next_record(), Ok(None));
    assert_eq!(buffer.bytes(), again.bytes());
}

/// Writes a record unless only the store itself writes such.
fn write(buffer: &mut RedoBuffer, record: RedoRecord<'_>) -> bool {
    match record {
        RedoRecord::Insert { table, row, values } => buffer.insert(table, row, values),
        RedoRecord::Update { table, row, changes } => buffer.update(table, row, changes),
        RedoRecord::Delete { table, row } => buffer.delete(table, row),
        RedoRecord::Call { procedure, arguments, effects } => {
            buffer.call(procedure, arguments, effects);
        }
        _ => return false,
    }
    true
}
