//! Redo records: any bytes give records or an error, and records survive being written.

use nacre_store::{RedoBuffer, RedoReader, RedoRecord};

/// Reads `data` as redo records up to the first problem, writes them, and reads them again.
pub fn redo_records(data: &[u8]) {
    let mut buffer = RedoBuffer::default();
    let mut reader = RedoReader::new(data);
    let mut count = 0;
    while let Ok(Some(record)) = reader.next_record() {
        write(&mut buffer, record);
        count += 1;
    }
    let (mut reader, mut again) = (RedoReader::new(buffer.bytes()), RedoBuffer::default());
    for _ in 0..count {
        write(&mut again, reader.next_record().unwrap().unwrap());
    }
    assert_eq!(reader.next_record(), Ok(None));
    assert_eq!(buffer.bytes(), again.bytes());
}

fn write(buffer: &mut RedoBuffer, record: RedoRecord<'_>) {
    match record {
        RedoRecord::Insert { table, row, values } => buffer.insert(table, row, values),
        RedoRecord::Update { table, row, changes } => buffer.update(table, row, changes),
        RedoRecord::Delete { table, row } => buffer.delete(table, row),
        RedoRecord::Call { procedure, arguments } => buffer.call(procedure, arguments),
        other => unreachable!("{other:?}"),
    }
}
