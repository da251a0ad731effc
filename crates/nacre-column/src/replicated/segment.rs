//! The files of one replica: records that are appended and published.
//!
//! A replica is a row of *segments*, pools of the same size, named `COLUMN.rREPLICA.sSEGMENT`.
//! Each holds a header and records, each record a block. Bytes behind `published_end` are nobody's.
//!
//! # Invariants
//! 1. A record below `published_end` never changes: readers map the file a second time, read only,
//!    and keep what they have while the appender goes on.
//! 2. A block that was written again has two records; the later one counts.
//! # Layout
//! `docs/layout.md`, "Replicated column".

use std::sync::Arc;

use nacre_pmem::{Access, Domain, Pool, PoolSlice};

use super::error::ReplicatedError;
use crate::REPLICAS_MAX;
use crate::{COLUMN_TYPE_BYTES, ColumnType, Format, FormatChoice};

/// Bytes in front of the records.
pub const SEGMENT_HEADER_BYTES: u64 = 4096;

/// Bytes in front of a block.
pub const RECORD_HEADER_BYTES: u64 = 64;

const MAGIC: [u8; 8] = *b"NacreCol";
const VERSION: u32 = 1;

/// Bytes that the header's checksum covers, itself left out.
const CHECKED_BYTES: usize = 64;
const PUBLISHED_END: u64 = 64;

/// What every segment's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) column_id: u64,
    pub(super) column_type: ColumnType,
    pub(super) replica: u32,
    pub(super) replicas: u32,
    /// The format of each replica.
    pub(super) formats: [FormatChoice; REPLICAS_MAX],
}

/// A block that a replica holds.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) number: u64,
    pub(super) rows: u32,
    pub(super) block: PoolSlice,
}

/// Writes one replica.
pub(super) struct ReplicaWriter {
    domain: Domain,
    /// `COLUMN.rREPLICA`
    stem: String,
    identity: Identity,
    segment_bytes: u64,
    segments: u32,
    current: Option<Segment>,
}

/// The segment that is appended to.
struct Segment {
    pool: Pool,
    /// The same file, mapped for readers.
    readers: Arc<Pool>,
    end: u64,
}

/// What opening a replica finds.
pub(super) struct Found {
    pub(super) identity: Identity,
    pub(super) records: Vec<Record>,
    pub(super) writer: ReplicaWriter,
}

/// Returns the first part of a replica's file names.
pub(super) fn stem(column: &str, replica: u32) -> String {
    format!("{column}.r{replica}")
}

fn file_name(stem: &str, segment: u32) -> String {
    format!("{stem}.s{segment}")
}

impl ReplicaWriter {
    /// Prepares a replica without files; the first is created by the first record.
    pub(super) fn new(domain: &Domain, column: &str, identity: Identity, bytes: u64) -> Self {
        let stem = stem(column, identity.replica);
        Self {
            domain: domain.clone(),
            stem,
            identity,
            segment_bytes: bytes.next_multiple_of(SEGMENT_HEADER_BYTES),
            segments: 0,
            current: None,
        }
    }

    pub(super) fn domain(&self) -> &Domain {
        &self.domain
    }

    pub(super) fn format(&self) -> FormatChoice {
        self.identity.formats[self.identity.replica as usize]
    }

    /// Creates the first segment, so that its space is there before it is needed.
    pub(super) fn reserve(&mut self) -> nacre_pmem::Result<()> {
        if self.current.is_none() {
            self.current = Some(self.create(0)?);
        }
        Ok(())
    }

    /// Writes a record behind the published end and starts its write-back.
    ///
    /// It is nobody's until [`publish`](Self::publish); a second call before that writes the next.
    /// After an error the replica takes no more records.
    pub(super) fn append(
        &mut self,
        number: u64,
        rows: u32,
        block: &[u8],
    ) -> nacre_pmem::Result<Record> {
        let needed = RECORD_HEADER_BYTES + block.len() as u64;
        let mut segment = match self.current.take() {
            Some(segment) if segment.end + needed <= segment.pool.bytes() => segment,
            full => {
                // What the full segment holds is made reachable before it is left.
                full.map_or(Ok(()), |mut segment| segment.publish())?;
                self.create(needed)?
            }
        };
        let start = segment.end + RECORD_HEADER_BYTES;
        let header = record_header(number, rows, block.len() as u64);
        segment.pool.write_nt(segment.end, &header)?;
        segment.pool.write_nt(start, block)?;
        let block = segment.readers.whole(start, block.len() as u64)?;
        segment.end += needed;
        self.current = Some(segment);
        Ok(Record { number, rows, block })
    }

    /// Waits until what was appended is durable.
    pub(super) fn drain(&self) -> nacre_pmem::Result<()> {
        self.current.as_ref().map_or(Ok(()), |segment| segment.pool.drain())
    }

    /// Makes what was appended and drained reachable, for ever.
    pub(super) fn publish(&mut self) -> nacre_pmem::Result<()> {
        self.current.as_mut().map_or(Ok(()), Segment::publish)
    }

    /// Creates the next segment, with room for a record of `bytes` at least.
    fn create(&mut self, bytes: u64) -> nacre_pmem::Result<Segment> {
        let name = file_name(&self.stem, self.segments);
        let bytes = self.segment_bytes.max(SEGMENT_HEADER_BYTES + bytes);
        let mut pool = self.domain.create_pool(&name, bytes)?;
        pool.write(0, &self.identity.to_header(self.segments))?;
        pool.persist(0, CHECKED_BYTES as u64)?;
        pool.publish_u64(PUBLISHED_END, SEGMENT_HEADER_BYTES)?;
        let readers = Arc::new(self.domain.open_pool(&name, Access::ReadOnly)?);
        self.segments += 1;
        Ok(Segment { pool, readers, end: SEGMENT_HEADER_BYTES })
    }

    /// Removes all files of this replica and begins anew.
    pub(super) fn remove_all(&mut self) -> nacre_pmem::Result<()> {
        self.current = None;
        for name in self.domain.list_pools()? {
            if name.strip_prefix(&self.stem).is_some_and(|rest| rest.starts_with(".s")) {
                self.domain.remove_pool(&name)?;
            }
        }
        self.segments = 0;
        Ok(())
    }
}

impl Segment {
    /// Makes what was appended durable, then reachable.
    fn publish(&mut self) -> nacre_pmem::Result<()> {
        // PERSIST: after the drain the records are durable; the word makes them reachable.
        self.pool.drain()?;
        self.pool.publish_u64(PUBLISHED_END, self.end)
    }
}

impl Identity {
    fn to_header(self, segment: u32) -> [u8; CHECKED_BYTES] {
        let mut header = [0; CHECKED_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[16..24].copy_from_slice(&self.column_id.to_le_bytes());
        header[24..24 + COLUMN_TYPE_BYTES].copy_from_slice(&self.column_type.to_bytes());
        header[32..36].copy_from_slice(&self.replica.to_le_bytes());
        header[36..40].copy_from_slice(&self.replicas.to_le_bytes());
        header[40..44].copy_from_slice(&segment.to_le_bytes());
        for (tag, format) in header[44..].iter_mut().zip(self.formats) {
            *tag = match format {
                FormatChoice::Auto => 0,
                FormatChoice::Fixed(format) => format.tag(),
            };
        }
        let crc = header_checksum(&header);
        header[12..16].copy_from_slice(&crc.to_le_bytes());
        header
    }

    /// Reads a segment's header, or says why it is none.
    fn read(pool: &Pool, segment: u32) -> Result<Self, String> {
        let header = pool.read(0, CHECKED_BYTES as u64).map_err(|error| error.to_string())?;
        let short = || "its header is too short".to_owned();
        let word = |offset| u32_at(header, offset).ok_or_else(short);
        if header[..8] != MAGIC {
            return Err("it is no segment of a replicated column".to_owned());
        }
        if word(8)? != VERSION {
            return Err(format!("its version is {}, not {VERSION}", word(8)?));
        }
        let (stored, computed) = (word(12)?, header_checksum(header));
        if stored != computed {
            return Err(format!("header checksum {stored:#010x} does not match {computed:#010x}"));
        }
        if word(40)? != segment {
            return Err(format!("its number is {}, not {segment}", word(40)?));
        }
        let type_bytes = header[24..24 + COLUMN_TYPE_BYTES].try_into().map_err(|_| short())?;
        let mut formats = [FormatChoice::Auto; REPLICAS_MAX];
        for (format, tag) in formats.iter_mut().zip(&header[44..]) {
            if *tag > 0 {
                let known = Format::from_tag(*tag).ok_or_else(|| format!("no format is {tag}"))?;
                *format = FormatChoice::Fixed(known);
            }
        }
        let replicas = word(36)?;
        if !(1..=REPLICAS_MAX as u32).contains(&replicas) || word(32)? >= replicas {
            return Err(format!("it is replica {} of {replicas}", word(32)?));
        }
        Ok(Self {
            column_id: u64_at(header, 16).ok_or_else(short)?,
            column_type: ColumnType::from_bytes(type_bytes).map_err(|error| error.to_string())?,
            replica: word(32)?,
            replicas,
            formats,
        })
    }
}

fn header_checksum(header: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..CHECKED_BYTES])
}

/// Opens replica `replica` of a column; `None` if it has no files here.
///
/// # Errors
/// [`ReplicatedError::Foreign`] if a header is damaged or another column's; pools that cannot be
/// opened. A damaged record ends what is found: the rest is missing.
pub(super) fn open(
    domain: &Domain,
    column: &str,
    replica: u32,
    segment_bytes: u64,
) -> Result<Option<Found>, ReplicatedError> {
    let stem = stem(column, replica);
    let pool_error = |source| ReplicatedError::Pool { column: column.to_owned(), source };
    let mut found: Option<Found> = None;
    for segment in 0.. {
        let name = file_name(&stem, segment);
        if !domain.exists(&name).map_err(pool_error)? {
            break;
        }
        let pool = domain.open_pool(&name, Access::ReadWrite).map_err(pool_error)?;
        let readers = Arc::new(domain.open_pool(&name, Access::ReadOnly).map_err(pool_error)?);
        let identity = Identity::read(&pool, segment)
            .map_err(|reason| ReplicatedError::Foreign { file: name.clone(), reason })?;
        let one = found.get_or_insert_with(|| Found {
            identity,
            records: Vec::new(),
            writer: ReplicaWriter::new(domain, column, identity, segment_bytes),
        });
        if one.identity != identity || identity.replica != replica {
            let reason = "it belongs to another column or replica".to_owned();
            return Err(ReplicatedError::Foreign { file: name, reason });
        }
        let end = read_records(&readers, &mut one.records).map_err(pool_error)?;
        one.writer.segments = segment + 1;
        one.writer.current = Some(Segment { pool, readers, end });
    }
    Ok(found)
}

/// Reads the published records of a segment; returns where the next one goes.
fn read_records(pool: &Arc<Pool>, records: &mut Vec<Record>) -> nacre_pmem::Result<u64> {
    let published = pool.load_u64(PUBLISHED_END)?.min(pool.bytes());
    let mut offset = SEGMENT_HEADER_BYTES;
    while offset + RECORD_HEADER_BYTES <= published {
        let header = pool.read(offset, RECORD_HEADER_BYTES)?;
        let Some((number, rows, bytes)) = parse_record(header) else {
            break;
        };
        let start = offset + RECORD_HEADER_BYTES;
        if bytes > published - start {
            break;
        }
        records.push(Record { number, rows, block: pool.whole(start, bytes)? });
        offset = start + bytes;
    }
    Ok(offset)
}

fn record_header(number: u64, rows: u32, bytes: u64) -> [u8; RECORD_HEADER_BYTES as usize] {
    let mut header = [0; RECORD_HEADER_BYTES as usize];
    header[4..8].copy_from_slice(&rows.to_le_bytes());
    header[8..16].copy_from_slice(&number.to_le_bytes());
    header[16..24].copy_from_slice(&bytes.to_le_bytes());
    let crc = crc32c::crc32c(&header[4..]);
    header[..4].copy_from_slice(&crc.to_le_bytes());
    header
}

/// Returns number, rows and bytes of a record, if its header is whole.
fn parse_record(header: &[u8]) -> Option<(u64, u32, u64)> {
    let crc = u32_at(header, 0)?;
    let is_whole = crc32c::crc32c(header.get(4..)?) == crc;
    let found = (u64_at(header, 8)?, u32_at(header, 4)?, u64_at(header, 16)?);
    is_whole.then_some(found)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(offset..offset + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(offset..offset + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::drawn;

    #[test]
    fn segment_header_is_as_drawn() {
        let formats = [FormatChoice::Fixed(Format::Dictionary); REPLICAS_MAX];
        let column_type = ColumnType::BigInt;
        let identity = Identity { column_id: 77, column_type, replica: 1, replicas: 3, formats };
        let header = identity.to_header(5);
        let fields = drawn("### Segment header", PUBLISHED_END as usize + 8);
        let field = |name: &str| {
            let (offset, bytes, _) = fields.iter().find(|field| field.2 == name).unwrap();
            &header[*offset..offset + bytes]
        };
        assert_eq!(field("magic"), b"NacreCol");
        assert_eq!(field("version"), VERSION.to_le_bytes());
        assert_eq!(field("crc32c"), header_checksum(&header).to_le_bytes());
        assert_eq!(field("column_id"), 77_u64.to_le_bytes());
        assert_eq!(field("column_type"), column_type.to_bytes());
        assert_eq!(field("replica"), 1_u32.to_le_bytes());
        assert_eq!(field("replicas"), 3_u32.to_le_bytes());
        assert_eq!(field("segment"), 5_u32.to_le_bytes());
        assert_eq!(field("formats"), [Format::Dictionary.tag(); REPLICAS_MAX]);
        let published = fields.iter().find(|field| field.2 == "published_end").unwrap();
        assert_eq!(published.0 as u64, PUBLISHED_END);
    }

    #[test]
    fn segment_record_is_as_drawn_and_a_changed_one_is_refused() {
        let record = record_header(7, 1_000, 640);
        let fields = drawn("### Segment record", RECORD_HEADER_BYTES as usize);
        let names: Vec<_> = fields.iter().map(|field| (field.2, field.0)).collect();
        let expected =
            [("crc32c", 0), ("rows", 4), ("block", 8), ("block_bytes", 16), ("reserved", 24)];
        assert_eq!(names, expected);
        assert_eq!(parse_record(&record), Some((7, 1_000, 640)));
        for at in 0..record.len() {
            let mut changed = record;
            changed[at] ^= 1;
            assert_eq!(parse_record(&changed), None, "{at}");
        }
        assert_eq!(parse_record(&[0; RECORD_HEADER_BYTES as usize]), None);
    }
}
