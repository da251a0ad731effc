//! `docs/layout.md` against the bytes that are written.

use std::sync::Arc;

use nacre_column::{
    BlockStatistics, COLUMN_TYPE_BYTES, ColumnBuffer, ColumnType, Format, FormatChoice, QUANTILES,
    SMA_BYTES, Sma,
};

use crate::archive::catalog_header;
use crate::directory::{
    self, BlockEntry, Bounds, ChunkInfo, KeyRange, Layout, POOL_HEADER_BYTES, PartChunk, PartId,
};
use crate::id::{CommitTs, Lsn, Moment, RowId};
use crate::index::{RunId, RunOwner, leaf_bytes, run_header};
use crate::manifest::{
    DatabaseId, FrozenRecord, HEADER_BYTES, LoadId, LoadRecord, Manifest, PUBLISHED_OFFSET,
    PartRecord, PartsChange, RECORD_HEADER_BYTES, Record, TableId, header_bytes,
};

use crate::redo::{
    CallEffects, CallPlace, GROUP_HEADER_BYTES, GROUP_MAGIC, GroupStart, RedoBuffer, RedoLog,
    RedoOptions, SEGMENT_HEADER_BYTES, SEGMENT_MAGIC, STATE_OFFSET, archived_header, pack,
    put_group,
};
use crate::value::ValueRef;

const LAYOUT: &str = include_str!("../../../docs/layout.md");
const ID: DatabaseId = DatabaseId(*b"an id of 16 byte");

/// Returns (offset, bytes, field) of the table below `heading`; checks that fields leave no gap.
fn drawn(heading: &str) -> Vec<(usize, usize, &'static str)> {
    let (_, after) = LAYOUT.split_once(heading).unwrap();
    let rows = after.lines().skip_while(|line| !line.starts_with("| offset |")).skip(2);
    let mut end = 0;
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let field = (cells[0].parse().unwrap(), cells[1].parse().unwrap(), cells[2]);
            assert_eq!(field.0, end, "{heading}: {}", field.2);
            end += field.1;
            field
        })
        .collect()
}

/// Returns the bytes of `field` in `bytes` as drawn below `heading`.
fn field<'a>(heading: &str, name: &str, bytes: &'a [u8]) -> &'a [u8] {
    let found = drawn(heading).into_iter().find(|(_, _, field)| *field == name);
    let (offset, length, _) = found.unwrap_or_else(|| panic!("{heading} has no {name}"));
    &bytes[offset..offset + length]
}

fn bytes_of(heading: &str) -> usize {
    drawn(heading).last().map_or(0, |(offset, bytes, _)| offset + bytes)
}

#[test]
fn manifest_header_is_as_drawn() {
    let heading = "### Manifest header";
    let header = header_bytes(ID, 77);
    assert_eq!(bytes_of(heading) as u64, HEADER_BYTES);
    assert_eq!(field(heading, "magic", &header), b"NACREMAN");
    assert!(LAYOUT.contains("characters `NACREMAN`"));
    assert_eq!(field(heading, "version", &header), 6_u32.to_le_bytes());
    assert_eq!(field(heading, "database_id", &header), ID.0);
    assert_eq!(field(heading, "created", &header), 77_u64.to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..64]);
    assert_eq!(field(heading, "crc32c", &header), crc.to_le_bytes());
    let published = drawn(heading).into_iter().find(|(_, _, name)| *name == "published_end");
    assert_eq!(published.map(|(offset, _, _)| offset as u64), Some(PUBLISHED_OFFSET));
}

#[test]
fn manifest_files_are_as_drawn() {
    let heading = "### Manifest file";
    let offset = |name: &str| {
        let found = drawn(heading).into_iter().find(|(_, _, field)| *field == name).unwrap();
        found.0 as u64
    };
    let directory = tempfile::tempdir().unwrap();
    let main = nacre_pmem::Domain::create("main", directory.path()).unwrap();
    drop(Manifest::create(ID, 77, &main).unwrap());
    for name in ["manifest.0", "manifest.1"] {
        let bytes = std::fs::read(directory.path().join(name)).unwrap();
        for slot in ["header_a", "header_b"] {
            assert!(bytes[offset(slot) as usize..].starts_with(b"NACRESET"));
        }
        let data = &bytes[offset("manifest_header") as usize..];
        assert!(data.starts_with(&header_bytes(ID, 77)));
        assert_eq!(offset("manifest_header"), nacre_pmem::set::DATA_OFFSET);
        assert_eq!(bytes_of(heading) as u64, offset("manifest_header") + HEADER_BYTES);
        let published = bytes_of(heading) as u64;
        let found = &data[PUBLISHED_OFFSET as usize..][..8];
        assert_eq!(found, published.to_le_bytes(), "the first record follows");
    }
    assert!(LAYOUT.contains("ASCII characters `NACRESET`"));
}

#[test]
fn manifest_record_is_as_drawn() {
    let heading = "### Manifest record";
    let records = [
        Record::Domain { name: "d".into(), path: "/p".into() },
        Record::TableDropped { table: TableId(9) },
    ];
    assert_eq!(bytes_of(heading), RECORD_HEADER_BYTES);
    for (record, kind, payload) in [
        (&records[0], 1_u16, b"\x01\0\0\0d\x02\0\0\0/p".to_vec()),
        (&records[1], 3, 9_u64.to_le_bytes().to_vec()),
    ] {
        let bytes = record.to_bytes(5);
        assert_eq!(field(heading, "sequence", &bytes), 5_u64.to_le_bytes());
        assert_eq!(field(heading, "kind", &bytes), kind.to_le_bytes());
        let length = (payload.len() as u32).to_le_bytes();
        assert_eq!(field(heading, "payload_bytes", &bytes), length);
        let end = RECORD_HEADER_BYTES + payload.len();
        assert_eq!(&bytes[RECORD_HEADER_BYTES..end], payload);
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[8..end]), &length);
        assert_eq!(field(heading, "crc32c", &bytes), crc.to_le_bytes());
        assert_eq!(bytes.len(), end.next_multiple_of(8));
    }
}

fn payload(record: &Record) -> Vec<u8> {
    let bytes = record.to_bytes(1);
    let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    bytes[RECORD_HEADER_BYTES..][..length].to_vec()
}

#[test]
fn records_of_loads_have_the_fields_in_the_drawn_order() {
    let part = PartRecord {
        number: 5,
        layout: Layout::PartWithStatistics,
        domain: "m".into(),
        pool_bytes: 6,
        directory_offset: 7,
        directory_bytes: 8,
        directory_crc32c: 9,
    };
    let mut drawn_part = 5_u32.to_le_bytes().to_vec();
    drawn_part.extend_from_slice(&3_u32.to_le_bytes());
    drawn_part.extend_from_slice(b"\x01\0\0\0m");
    for value in [6_u64, 7, 8] {
        drawn_part.extend_from_slice(&value.to_le_bytes());
    }
    drawn_part.extend_from_slice(&9_u32.to_le_bytes());
    let (load, table) = (LoadId(1), TableId(2));
    let parts = vec![part.clone()];
    let record = LoadRecord { load, table, rows: 3, chunk_count: 4, parts };
    let mut expected = Vec::new();
    for value in [1_u64, 2, 3] {
        expected.extend_from_slice(&value.to_le_bytes());
    }
    for value in [4_u32, 1] {
        expected.extend_from_slice(&value.to_le_bytes());
    }
    expected.extend_from_slice(&drawn_part);
    assert_eq!(payload(&Record::Load(record)), expected);
    let change = PartsChange { added: vec![part], removed: vec![3] };
    let mut expected = 1_u64.to_le_bytes().to_vec();
    expected.extend_from_slice(&1_u32.to_le_bytes());
    expected.extend_from_slice(&drawn_part);
    for value in [1_u32, 3] {
        expected.extend_from_slice(&value.to_le_bytes());
    }
    assert_eq!(payload(&Record::PartsChanged { load, change }), expected);
    let empty = LoadRecord { load, table, rows: 0, chunk_count: 0, parts: Vec::new() };
    let mut expected = payload(&Record::Load(empty.clone()));
    expected.extend_from_slice(&1_u32.to_le_bytes());
    for value in [6_u64, 7] {
        expected.extend_from_slice(&value.to_le_bytes());
    }
    let frozen = FrozenRecord { load: empty, chunks: vec![6], as_of: CommitTs(7) };
    assert_eq!(payload(&Record::Frozen(frozen)), expected);
    let checkpoint = Record::Checkpoint { as_of: CommitTs(6), oldest: 7 };
    assert_eq!(payload(&checkpoint), expected[expected.len() - 16..]);
    let moment = Record::Moment(Moment { commit: CommitTs(1), lsn: Lsn(2), time: 3 });
    assert_eq!(payload(&moment), [1_u64, 2, 3].map(u64::to_le_bytes).concat());
    let archive = Record::Archive { path: "/a".into() };
    assert_eq!(payload(&archive), b"\x02\0\0\0/a");
    assert_eq!(COLUMN_TYPE_BYTES, 8);
}

#[test]
fn archive_is_as_drawn() {
    let heading = "### Archive catalog header";
    let header = catalog_header(ID);
    assert_eq!(bytes_of(heading), header.len());
    assert_eq!(field(heading, "magic", &header), b"NACREARC");
    assert!(LAYOUT.contains("ASCII characters `NACREARC`"));
    assert_eq!(field(heading, "version", &header), 1_u32.to_le_bytes());
    assert_eq!(field(heading, "database_id", &header), ID.0);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..64]);
    assert_eq!(field(heading, "crc32c", &header), crc.to_le_bytes());
    assert_eq!(archived_header(ID, 3, Lsn(64)).len() as u64, STATE_OFFSET);
}

#[test]
fn policy_is_as_drawn() {
    let policy = "auto, dict@d, plain@dram".parse().ok();
    let record = Record::PolicyChanged { table: TableId(1), column: None, policy };
    let mut expected = 1_u64.to_le_bytes().to_vec();
    expected.extend_from_slice(b"\xff\xff\x03\x00\x00\x03\x02\x01\0\0\0d\x01\x01");
    assert_eq!(payload(&record), expected);
}

#[test]
fn part_header_is_as_drawn() {
    let heading = "### Part header";
    let (database, table, load) = (ID, TableId(3), LoadId(4));
    let id = PartId { database, table, load, number: 5, layout: Layout::PartWithStatistics };
    let header = directory::pool_header(&id);
    assert_eq!(bytes_of(heading), POOL_HEADER_BYTES);
    assert_eq!(header.len(), POOL_HEADER_BYTES);
    assert_eq!(field(heading, "magic", &header), b"NACREPOL");
    assert!(LAYOUT.contains("characters `NACREPOL`"));
    assert_eq!(field(heading, "version", &header), 3_u32.to_le_bytes());
    assert_eq!(field(heading, "database_id", &header), ID.0);
    assert_eq!(field(heading, "table_id", &header), 3_u64.to_le_bytes());
    assert_eq!(field(heading, "load_id", &header), 4_u64.to_le_bytes());
    assert_eq!(field(heading, "part", &header), 5_u32.to_le_bytes());
    assert_eq!(directory::check_pool_header(&header, &id), Ok(()));
    let other = PartId { number: 6, ..id };
    assert!(directory::check_pool_header(&header, &other).unwrap_err().contains("part 6"));
    for end in 0..header.len() {
        assert!(directory::check_pool_header(&header[..end], &id).is_err(), "cut at {end}");
    }
}

#[test]
fn directory_is_as_drawn_and_every_cut_of_it_is_noticed() {
    let block = |column, offset| BlockEntry {
        column,
        replica: 1,
        choice: FormatChoice::Fixed(Format::Plain),
        format: Some(Format::Dictionary),
        crc32c: Some(0x0403_0201),
        offset,
        bytes: 192,
    };
    let statistics = statistics_of_two_columns();
    let info = ChunkInfo {
        rows: 5,
        key_range: Some(KeyRange { min: vec![1], max: vec![2, 3] }),
        smas: vec![Sma::empty(); 2],
        statistics: statistics.clone().into(),
    };
    let blocks = vec![block(0, 64), block(1, 256)];
    let chunks = vec![PartChunk { chunk: 7, info: Arc::new(info), blocks }];
    let bytes = directory::encode(&chunks, 2);
    let mut expected = vec![1, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0];
    expected.extend_from_slice(&[1, 0, 0, 0, 1, 2, 0, 0, 0, 2, 3]);
    expected.extend_from_slice(&Sma::empty().to_bytes());
    expected.extend_from_slice(&Sma::empty().to_bytes());
    let start_of_statistics = expected.len();
    expected.extend_from_slice(&(statistics.len() as u32).to_le_bytes());
    expected.extend_from_slice(&statistics);
    let end_of_statistics = expected.len();
    expected.extend_from_slice(&[2, 0, 0, 0]);
    for (column, offset) in [(0, 64_u64), (1, 256)] {
        expected.extend_from_slice(&[column, 0, 1, 3, 1, 0, 0, 0, 1, 2, 3, 4]);
        expected.extend_from_slice(&offset.to_le_bytes());
        expected.extend_from_slice(&192_u64.to_le_bytes());
    }
    assert_eq!(bytes, expected);
    assert!(LAYOUT.contains(&format!("| {SMA_BYTES} each | aggregates |")));
    assert!(LAYOUT.contains("| 28 each | blocks |"));
    let bounds = Bounds { chunk_count: 8, column_count: 2, blocks_end: 448 };
    let layout = Layout::PartWithStatistics;
    let decode = |bytes: &[u8], bounds: Bounds| directory::decode(layout, bytes, &bounds);
    assert_eq!(decode(&bytes, bounds).as_ref(), Ok(&chunks));
    // In version 2 there is nothing between the aggregates and the blocks.
    let mut older = bytes.clone();
    older.drain(start_of_statistics..end_of_statistics);
    let found = directory::decode(Layout::Part, &older, &bounds).unwrap();
    assert_eq!(found[0].blocks, chunks[0].blocks);
    assert_eq!(found[0].info.block_statistics(), [None, None]);
    for end in 0..bytes.len() {
        assert!(decode(&bytes[..end], bounds).is_err(), "cut at {end}");
    }
    let refused = [
        Bounds { blocks_end: 447, ..bounds },
        Bounds { chunk_count: 7, ..bounds },
        Bounds { column_count: 1, ..bounds },
    ];
    assert!(refused.into_iter().all(|bounds| decode(&bytes, bounds).is_err()));
}

/// Statistics of one column as they are drawn, and of one that has none.
fn statistics_of_two_columns() -> Vec<u8> {
    assert!(LAYOUT.contains("| 8 each | hashes |") && LAYOUT.contains("| 4 each | quantiles |"));
    let (mut strings, mut numbers) = (
        ColumnBuffer::new(ColumnType::Varchar { max_chars: None }),
        ColumnBuffer::new(ColumnType::Integer),
    );
    [&b"a"[..], b"", b"a"].into_iter().for_each(|value| strings.push_bytes(value));
    (0..32).for_each(|value| numbers.push_int(value));
    let mut bytes = Vec::new();
    BlockStatistics::of_values(&strings).write(&mut bytes);
    assert_eq!(bytes.len(), 8 + 2 * 8);
    assert_eq!(bytes[..8], [2, 0, 0, 0, 2, 0, 0, 0]);
    let many = bytes.len();
    BlockStatistics::of_values(&numbers).write(&mut bytes);
    assert_eq!(bytes.len() - many, 8 + 256 + QUANTILES * 4);
    assert_eq!(bytes[many..many + 8], [32, 15, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[many + 8 + 256..], (1..=15).flat_map(quantile_bytes).collect::<Vec<u8>>());
    bytes.truncate(many);
    BlockStatistics::write_unknown(&mut bytes);
    assert_eq!(bytes[many..], [255, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

/// Returns the bytes of the quantile of so many sixteenths of the numbers from 0 to 31.
fn quantile_bytes(part: u8) -> [u8; 4] {
    f32::from(2 * part).to_le_bytes()
}

#[test]
fn redo_segment_is_as_drawn() {
    let heading = "### Redo segment";
    let directory = tempfile::tempdir().unwrap();
    let main = nacre_pmem::Domain::create("main", directory.path()).unwrap();
    let log = RedoLog::create(&[main], ID, RedoOptions::default()).unwrap();
    log.append(CommitTs(9), &RedoBuffer::default()).unwrap();
    drop(log);
    for name in ["redo-1.0", "redo-1.1"] {
        let bytes = std::fs::read(directory.path().join(name)).unwrap();
        let area = &bytes[nacre_pmem::set::DATA_OFFSET as usize..];
        assert_eq!(bytes_of(heading) as u64, SEGMENT_HEADER_BYTES);
        assert_eq!(field(heading, "magic", area), SEGMENT_MAGIC);
        assert!(LAYOUT.contains("ASCII characters `NACRERED`"));
        assert_eq!(field(heading, "version", area), 2_u32.to_le_bytes());
        let crc = crc32c::crc32c_append(crc32c::crc32c(&area[..12]), &area[16..64]);
        assert_eq!(field(heading, "crc32c", area), crc.to_le_bytes());
        assert_eq!(field(heading, "database_id", area), ID.0);
        assert_eq!(field(heading, "number", area), 1_u64.to_le_bytes());
        assert_eq!(field(heading, "first", area), 0_u64.to_le_bytes());
        let word = 1 << 16 | 1_u64;
        let check = u64::from(crc32c::crc32c(&word.to_le_bytes())) & 0x3fff;
        assert_eq!(field(heading, "state", area), (word | check << 2).to_le_bytes());
        assert!(field(heading, "rest", area).iter().all(|&byte| byte == 0));
        let group = &area[SEGMENT_HEADER_BYTES as usize..][..64];
        assert_eq!(field("### Redo group", "commit", group), 9_u64.to_le_bytes());
    }
}

#[test]
fn redo_group_is_as_drawn() {
    let heading = "### Redo group";
    let records = [b'x'; 1_000];
    for is_compressed in [false, true] {
        let (mut bytes, mut scratch) = (Vec::new(), Vec::new());
        let stored = pack(&records, is_compressed, &mut scratch).unwrap();
        let start = GroupStart { lsn: Lsn(640), commit: CommitTs(7), durable: Lsn(128), time: 9 };
        put_group(&mut bytes, start, stored, records.len());
        assert_eq!(bytes_of(heading), GROUP_HEADER_BYTES);
        assert_eq!(field(heading, "magic", &bytes), GROUP_MAGIC);
        assert!(LAYOUT.contains("ASCII characters `NRDO`"));
        let end = GROUP_HEADER_BYTES + stored.len();
        assert_eq!(field(heading, "crc32c", &bytes), crc32c::crc32c(&bytes[8..end]).to_le_bytes());
        assert_eq!(field(heading, "position", &bytes), 640_u64.to_le_bytes());
        assert_eq!(field(heading, "commit", &bytes), 7_u64.to_le_bytes());
        assert_eq!(field(heading, "durable", &bytes), 128_u64.to_le_bytes());
        assert_eq!(field(heading, "time", &bytes), 9_u64.to_le_bytes());
        assert_eq!(field(heading, "stored_bytes", &bytes), (stored.len() as u32).to_le_bytes());
        assert_eq!(field(heading, "raw_bytes", &bytes), 1_000_u32.to_le_bytes());
        assert_eq!(&bytes[GROUP_HEADER_BYTES..end], stored);
        assert_eq!(stored.len() < records.len(), is_compressed);
        assert_eq!(bytes.len(), end.next_multiple_of(64));
    }
}

#[test]
fn redo_records_are_as_drawn() {
    let (_, drawn) = LAYOUT.split_once("### Redo record").unwrap();
    let (table, row) = (TableId(300), RowId(0x0102_0304_0506_0708));
    let place = [0xac, 0x02, 8, 7, 6, 5, 4, 3, 2, 1];
    let wide = 1_i128 << 64;
    let values = [
        (ValueRef::Null, vec![0x00], "0x00 null"),
        (ValueRef::Int(-2), vec![0x11, 0xfe], "0x10 + n, n from 0 to 8: whole number of 64"),
        (ValueRef::Int(0), vec![0x10], "0x10 + n"),
        (ValueRef::Int128(wide), [&[0x29][..], &wide.to_le_bytes()[..9]].concat(), "0x20 + n"),
        (ValueRef::Float32(1.0), [&[0x40][..], &1_f32.to_le_bytes()].concat(), "0x40 32-bit"),
        (ValueRef::Float64(1.0), [&[0x41][..], &1_f64.to_le_bytes()].concat(), "0x41 64-bit"),
        (ValueRef::Bytes(b"xy"), vec![0x50, 2, b'x', b'y'], "0x50 text or bytes"),
    ];
    for (value, bytes, text) in values {
        assert!(drawn.contains(&format!("| {text}")), "{text}");
        let mut buffer = RedoBuffer::default();
        buffer.insert(table, row, &[value]);
        assert_eq!(buffer.bytes(), [&[1][..], &place, &[1], &bytes].concat());
        let mut buffer = RedoBuffer::default();
        buffer.update(table, row, &[(200, value)]);
        assert_eq!(buffer.bytes(), [&[2][..], &place, &[1, 0xc8, 1], &bytes].concat());
        let mut buffer = RedoBuffer::default();
        buffer.call("p", &[value], CallEffects::default());
        assert_eq!(buffer.bytes(), [&[20, 1, b'p', 1][..], &bytes, &[0; 10]].concat());
    }
    let mut buffer = RedoBuffer::default();
    let put = |step, offset, is_moved| CallPlace {
        step,
        place: Some((table, RowId::hot(5, offset))),
        is_moved,
    };
    let gone = CallPlace { step: 3, place: None, is_moved: false };
    let places = [put(0, 200, false), gone, put(4, 201, true)];
    buffer.call("p", &[], CallEffects { chunks: &[(table, 5)], places: &places, checksum: 1 });
    let effects = [1, 0xac, 0x02, 5, 3, 0, 4, 0xc8, 1, 2, 0, 0, 7, 1, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(buffer.bytes(), [&[20, 1, b'p', 0][..], &effects].concat());
    let mut buffer = RedoBuffer::default();
    buffer.delete(table, row);
    assert_eq!(buffer.bytes(), [&[3][..], &place].concat());
    for text in ["1 insert", "2 update", "3 delete", "20 call"] {
        assert!(drawn.contains(&format!("| {text} |")), "{text}");
    }
}

#[test]
fn runs_of_indexes_are_as_drawn() {
    let owner = RunOwner { database: ID, table: TableId(3) };
    let (heading, header) = ("### Run header", run_header(owner, RunId(4)));
    assert_eq!((bytes_of(heading), header.len()), (POOL_HEADER_BYTES, POOL_HEADER_BYTES));
    assert_eq!(field(heading, "magic", &header), b"NACRERUN");
    assert!(LAYOUT.contains("characters `NACRERUN`"));
    assert_eq!(field(heading, "version", &header), 1_u32.to_le_bytes());
    assert_eq!(field(heading, "database_id", &header), ID.0);
    assert_eq!(field(heading, "table_id", &header), 3_u64.to_le_bytes());
    assert_eq!(field(heading, "run_id", &header), 4_u64.to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..]);
    assert_eq!(field(heading, "crc32c", &header), crc.to_le_bytes());

    let heading = "### Page of a run";
    let row = RowId::frozen(LoadId(7), 1, 2).unwrap();
    let page = leaf_bytes(RunId(4), 9, &[(b"abcd", row), (b"abx", row)]);
    let start = bytes_of(heading);
    assert_eq!(field(heading, "page_bytes", &page), (page.len() as u32).to_le_bytes());
    assert_eq!(field(heading, "level", &page), [0; 2]);
    assert_eq!(field(heading, "count", &page), 2_u32.to_le_bytes());
    assert_eq!(field(heading, "common_bytes", &page), 2_u32.to_le_bytes());
    assert_eq!(field(heading, "number", &page), 9_u64.to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c(&4_u64.to_le_bytes()), &page[4..]);
    assert_eq!(field(heading, "crc32c", &page), crc.to_le_bytes());
    let mut rest = b"ab".to_vec();
    for end in [2_u32, 3] {
        rest.extend(end.to_le_bytes());
        rest.extend(row.0.to_le_bytes());
    }
    rest.extend(b"cdx");
    assert_eq!(page[start..], rest);
}
