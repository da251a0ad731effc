//! Records of the manifest and their payloads.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Manifest record"; a test compares.

use nacre_column::ReplicaPolicy;

use crate::access::{ObjectAccess, RoleDef, Securable};
use crate::codec::{Decoder, Encoder, Truncated};
use crate::directory::Layout;
use crate::foreign_key::ForeignKeyDef;
use crate::id::{CommitTs, Lsn, Moment};
use crate::index::{IndexDef, RunId, RunRecord};
use crate::rules::TableRules;
use crate::schema::{TableSchema, decode_policy, encode_policy};
use crate::views::ViewDef;

/// Bytes before the payload of a record.
pub(crate) const RECORD_HEADER_BYTES: usize = 24;

/// Longest payload: a table of 1,600 columns with the longest names takes 125 KiB.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 1 << 20;

/// Identifies a table for as long as the database exists; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub(crate) u64);

impl TableId {
    /// Returns the number.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// Identifies a load, and with it the pool of its blocks; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoadId(pub(crate) u64);

/// What one load left behind: the same rows in several parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadRecord {
    pub(crate) load: LoadId,
    pub(crate) table: TableId,
    pub(crate) rows: u64,
    pub(crate) chunk_count: u32,
    pub(crate) parts: Vec<PartRecord>,
}

/// A pool of blocks with a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartRecord {
    /// Different for all parts that a load ever has; a block in a later one replaces that in an
    /// earlier one.
    pub(crate) number: u32,
    pub(crate) layout: Layout,
    pub(crate) domain: String,
    pub(crate) pool_bytes: u64,
    pub(crate) directory_offset: u64,
    pub(crate) directory_bytes: u64,
    pub(crate) directory_crc32c: u32,
}

/// Hot chunks that became a load, or nothing if no row of them was left. A later record of the same
/// load without chunks takes it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrozenRecord {
    /// Without parts if there is no row.
    pub(crate) load: LoadRecord,
    /// Ids of the hot chunks whose rows these are.
    pub(crate) chunks: Vec<u64>,
    /// The load has the changes of all commits up to this one; if the redo log has a later one of
    /// one of the chunks, the load does not count.
    pub(crate) as_of: CommitTs,
}

/// Where a load's parts changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartsChange {
    pub(crate) added: Vec<PartRecord>,
    /// Numbers of parts that are not needed any more.
    pub(crate) removed: Vec<u32>,
}

/// A change of what exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// A memory domain got a place; a later record of the same name moves it.
    Domain {
        name: String,
        path: String,
    },
    TableCreated {
        table: TableId,
        schema: TableSchema,
    },
    TableDropped {
        table: TableId,
    },
    /// A table with rules was created, or the definition of one that is there is another one.
    TableDefined {
        table: TableId,
        schema: TableSchema,
        rules: TableRules,
    },
    /// A table with other rows takes the place of one that goes.
    TableReplaced {
        old: TableId,
        table: TableId,
        schema: TableSchema,
        rules: TableRules,
    },
    /// A view was created, or replaced.
    ViewDefined(ViewDef),
    ViewDropped {
        name: String,
    },
    Load(LoadRecord),
    /// The policy of a column, or that of the table, is another one.
    PolicyChanged {
        table: TableId,
        column: Option<u16>,
        policy: Option<ReplicaPolicy>,
    },
    /// The segments of the redo log from this one on are needed.
    RedoSegments {
        oldest: u64,
    },
    /// Replicas were written anew.
    PartsChanged {
        load: LoadId,
        change: PartsChange,
    },
    /// All rows of a load are deleted, and nobody needs it any more.
    LoadEmptied {
        load: LoadId,
    },
    /// Hot chunks were frozen.
    Frozen(FrozenRecord),
    /// The redo log has all that hot chunks held at a commit written again behind the segment
    /// `oldest`, and changes of later commits there too.
    Checkpoint {
        as_of: CommitTs,
        oldest: u64,
    },
    IndexCreated {
        table: TableId,
        definition: IndexDef,
    },
    IndexDropped {
        table: TableId,
        name: String,
    },
    /// An index has another run, and some not any more.
    IndexRuns {
        table: TableId,
        index: String,
        added: Option<RunRecord>,
        removed: Vec<RunId>,
    },
    /// All foreign keys that a table has from now on.
    ForeignKeys {
        table: TableId,
        keys: Vec<ForeignKeyDef>,
    },
    /// The records appended with this one, and the group of that commit, are one transaction. All
    /// ids of tables that the group names are below `next_table`.
    DefinitionsCommitted {
        commit: CommitTs,
        next_table: u64,
    },
    /// When the records up to the next one of this kind were made.
    Moment(Moment),
    /// A role was created, or replaced.
    RoleDefined(RoleDef),
    RoleDropped {
        oid: u32,
    },
    /// An object has another owner, or grants something else.
    AccessChanged {
        object: Securable,
        access: ObjectAccess,
    },
    /// From now on the redo log, loads and these records are copied to a directory; to none if the
    /// path is empty.
    Archive {
        path: String,
    },
}

/// Stands for the table itself where a column is named.
const NO_COLUMN: u16 = u16::MAX;

/// Why bytes are not a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordError {
    Truncated { needed: usize, present: usize },
    TooLong { payload_bytes: usize },
    Checksum { stored: u32, computed: u32 },
    Sequence { stored: u64, expected: u64 },
    Payload { kind: u16 },
    Padding,
}

impl std::fmt::Display for RecordError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Truncated { needed, present } => {
                write!(f, "cut off: {present} of {needed} bytes are there")
            }
            Self::TooLong { payload_bytes } => {
                write!(f, "claims a payload of {payload_bytes} bytes")
            }
            Self::Checksum { stored, computed } => {
                write!(f, "checksum {computed:#010x} does not match {stored:#010x}")
            }
            Self::Sequence { stored, expected } => {
                write!(f, "sequence number {stored} where {expected} is due")
            }
            Self::Padding => f.write_str("the bytes behind it up to a multiple of 8 are not zero"),
            Self::Payload { kind } => write!(f, "payload of kind {kind} is not understood"),
        }
    }
}

impl Record {
    /// Lays the record out as on media, padded to a multiple of 8 bytes.
    pub(crate) fn to_bytes(&self, sequence: u64) -> Vec<u8> {
        let mut payload = Encoder::default();
        self.encode_payload(&mut payload);
        let payload = payload.into_bytes();
        assert!(payload.len() <= PAYLOAD_BYTES_MAX, "record of {} bytes", payload.len());
        let mut bytes = vec![0; RECORD_HEADER_BYTES];
        bytes[0..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes[8..16].copy_from_slice(&sequence.to_le_bytes());
        bytes[16..18].copy_from_slice(&self.kind().to_le_bytes());
        bytes.extend_from_slice(&payload);
        let crc = record_crc32c(&bytes);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    /// Reads the record at the front of `bytes`; returns it with its padded length.
    pub(crate) fn from_bytes(bytes: &[u8], expected: u64) -> Result<(Self, usize), RecordError> {
        let truncated = |needed| RecordError::Truncated { needed, present: bytes.len() };
        let mut header = Decoder::new(bytes);
        let short = |_: Truncated| truncated(RECORD_HEADER_BYTES);
        let payload_bytes = header.u32().map_err(short)? as usize;
        let stored = header.u32().map_err(short)?;
        let sequence = header.u64().map_err(short)?;
        let kind = header.u16().map_err(short)?;
        header.raw(6).map_err(short)?;
        if payload_bytes > PAYLOAD_BYTES_MAX {
            return Err(RecordError::TooLong { payload_bytes });
        }
        let unpadded = RECORD_HEADER_BYTES + payload_bytes;
        let padded = unpadded.next_multiple_of(8);
        if bytes.len() < padded {
            return Err(truncated(padded));
        }
        let computed = record_crc32c(&bytes[..unpadded]);
        if computed != stored {
            return Err(RecordError::Checksum { stored, computed });
        }
        if sequence != expected {
            return Err(RecordError::Sequence { stored: sequence, expected });
        }
        if bytes[unpadded..padded].iter().any(|&byte| byte != 0) {
            return Err(RecordError::Padding);
        }
        let mut payload = Decoder::new(&bytes[RECORD_HEADER_BYTES..unpadded]);
        let record = Self::decode_payload(kind, &mut payload);
        match record {
            Ok(record) if payload.remaining() == 0 => Ok((record, padded)),
            _ => Err(RecordError::Payload { kind }),
        }
    }

    /// Returns the number of the record's kind on media.
    fn kind(&self) -> u16 {
        match self {
            Self::Domain { .. } => 1,
            Self::TableDropped { .. } => 3,
            Self::TableCreated { .. } => 5,
            Self::Load(_) => 6,
            Self::PolicyChanged { .. } => 7,
            Self::PartsChanged { .. } => 8,
            Self::RedoSegments { .. } => 9,
            Self::Frozen(_) => 10,
            Self::Checkpoint { .. } => 11,
            Self::IndexCreated { .. } => 12,
            Self::IndexDropped { .. } => 13,
            Self::ForeignKeys { .. } => 14,
            Self::TableDefined { .. } => 15,
            Self::ViewDefined(_) => 16,
            Self::ViewDropped { .. } => 17,
            Self::TableReplaced { .. } => 18,
            Self::DefinitionsCommitted { .. } => 24,
            Self::Moment(_) => 20,
            Self::Archive { .. } => 21,
            Self::LoadEmptied { .. } => 25,
            Self::RoleDefined(_) => 26,
            Self::RoleDropped { .. } => 27,
            Self::AccessChanged { .. } => 28,
            Self::IndexRuns { .. } => 40,
        }
    }

    fn encode_payload(&self, encoder: &mut Encoder) {
        match self {
            Self::Domain { name, path } => {
                encoder.put_str(name);
                encoder.put_str(path);
            }
            Self::TableCreated { table, schema } => {
                encoder.put_u64(table.0);
                schema.encode(encoder);
            }
            Self::TableDropped { table } => encoder.put_u64(table.0),
            Self::TableDefined { table, schema, rules } => {
                encode_table(*table, schema, rules, encoder);
            }
            Self::ViewDefined(view) => view.encode(encoder),
            Self::ViewDropped { name } => encoder.put_str(name),
            Self::TableReplaced { old, table, schema, rules } => {
                encoder.put_u64(old.0);
                encode_table(*table, schema, rules, encoder);
            }
            Self::Load(load) => {
                encode_load(load, encoder);
            }
            Self::PolicyChanged { table, column, policy } => {
                encoder.put_u64(table.0);
                encoder.put_u16(column.unwrap_or(NO_COLUMN));
                encode_policy(policy.as_ref(), encoder);
            }
            Self::PartsChanged { load, change } => {
                encoder.put_u64(load.0);
                encode_parts(&change.added, encoder);
                encoder.put_u32(change.removed.len() as u32);
                change.removed.iter().for_each(|number| encoder.put_u32(*number));
            }
            Self::RedoSegments { oldest } => encoder.put_u64(*oldest),
            Self::Frozen(frozen) => encode_frozen(frozen, encoder),
            Self::Checkpoint { as_of, oldest } => {
                encoder.put_u64(as_of.0);
                encoder.put_u64(*oldest);
            }
            Self::IndexCreated { table, definition } => {
                encoder.put_u64(table.0);
                definition.encode(encoder);
            }
            Self::IndexDropped { table, name } => {
                encoder.put_u64(table.0);
                encoder.put_str(name);
            }
            Self::IndexRuns { table, index, added, removed } => {
                encode_runs((*table, index), added.as_ref(), removed, encoder);
            }
            Self::ForeignKeys { table, keys } => encode_foreign_keys(*table, keys, encoder),
            Self::DefinitionsCommitted { commit, next_table } => {
                [commit.0, *next_table].into_iter().for_each(|number| encoder.put_u64(number));
            }
            Self::Moment(moment) => encode_moment(moment, encoder),
            Self::Archive { path } => encoder.put_str(path),
            Self::LoadEmptied { load } => encoder.put_u64(load.0),
            Self::RoleDefined(role) => role.encode(encoder),
            Self::RoleDropped { oid } => encoder.put_u32(*oid),
            Self::AccessChanged { object, access } => {
                object.encode(encoder);
                access.encode(encoder);
            }
        }
    }

    /// Whether files can be removed once the record is there.
    pub(crate) fn frees_space(&self) -> bool {
        match self {
            Self::TableDropped { .. }
            | Self::TableReplaced { .. }
            | Self::IndexDropped { .. }
            | Self::LoadEmptied { .. }
            | Self::Checkpoint { .. } => true,
            Self::PartsChanged { change, .. } => !change.removed.is_empty(),
            _ => false,
        }
    }

    /// Returns the parts that count from the record on.
    fn named_parts(&self) -> &[PartRecord] {
        match self {
            Self::Load(load) => &load.parts,
            Self::Frozen(frozen) => &frozen.load.parts,
            Self::PartsChanged { change, .. } => &change.added,
            _ => &[],
        }
    }

    /// Returns the first version of manifests that has the record.
    pub(crate) fn version(&self) -> u32 {
        let has_statistics = |part: &PartRecord| part.layout == Layout::PartWithStatistics;
        if self.named_parts().iter().any(has_statistics) {
            return 6;
        }
        match self {
            Self::Domain { .. } | Self::TableDropped { .. } => 2,
            Self::RedoSegments { .. } => 4,
            Self::Frozen(_) | Self::Checkpoint { .. } => 5,
            Self::IndexCreated { .. } | Self::IndexDropped { .. } | Self::ForeignKeys { .. } => 5,
            Self::TableDefined { .. }
            | Self::TableReplaced { .. }
            | Self::Moment(_)
            | Self::Archive { .. }
            | Self::ViewDefined(_)
            | Self::ViewDropped { .. }
            | Self::LoadEmptied { .. }
            | Self::RoleDefined(_)
            | Self::RoleDropped { .. }
            | Self::AccessChanged { .. }
            | Self::IndexRuns { .. }
            | Self::DefinitionsCommitted { .. } => 5,
            _ => 3,
        }
    }

    fn decode_payload(kind: u16, decoder: &mut Decoder<'_>) -> Result<Self, Truncated> {
        Ok(match kind {
            1 => Self::Domain { name: decoder.string()?, path: decoder.string()? },
            2 | 5 => Self::TableCreated {
                table: TableId(decoder.u64()?),
                schema: TableSchema::decode(decoder, kind == 2)?,
            },
            3 => Self::TableDropped { table: TableId(decoder.u64()?) },
            4 => Self::Load(decode_whole_load(decoder)?),
            6 => Self::Load(decode_load(decoder)?),
            7 => {
                let (table, column) = (TableId(decoder.u64()?), decoder.u16()?);
                let column = (column != NO_COLUMN).then_some(column);
                Self::PolicyChanged { table, column, policy: decode_policy(decoder)? }
            }
            8 => {
                let (load, added) = (LoadId(decoder.u64()?), decode_parts(decoder)?);
                let count = decoder.u32()?;
                let removed = (0..count).map(|_| decoder.u32()).collect::<Result<_, _>>()?;
                Self::PartsChanged { load, change: PartsChange { added, removed } }
            }
            9 => Self::RedoSegments { oldest: decoder.u64()? },
            10 => {
                let (load, count) = (decode_load(decoder)?, decoder.u32()?);
                let chunks = (0..count).map(|_| decoder.u64()).collect::<Result<_, _>>()?;
                Self::Frozen(FrozenRecord { load, chunks, as_of: CommitTs(decoder.u64()?) })
            }
            11 => Self::Checkpoint { as_of: CommitTs(decoder.u64()?), oldest: decoder.u64()? },
            15 => Self::TableDefined {
                table: TableId(decoder.u64()?),
                schema: TableSchema::decode(decoder, false)?,
                rules: TableRules::decode(decoder)?,
            },
            12 => Self::IndexCreated {
                table: TableId(decoder.u64()?),
                definition: IndexDef::decode(decoder)?,
            },
            13 => Self::IndexDropped { table: TableId(decoder.u64()?), name: decoder.string()? },
            14 => {
                let (table, count) = (TableId(decoder.u64()?), decoder.u16()?);
                let keys = (0..count).map(|_| ForeignKeyDef::decode(decoder));
                Self::ForeignKeys { table, keys: keys.collect::<Result<_, _>>()? }
            }
            16 => Self::ViewDefined(ViewDef::decode(decoder)?),
            17 => Self::ViewDropped { name: decoder.string()? },
            18 => Self::TableReplaced {
                old: TableId(decoder.u64()?),
                table: TableId(decoder.u64()?),
                schema: TableSchema::decode(decoder, false)?,
                rules: TableRules::decode(decoder)?,
            },
            24 => Self::DefinitionsCommitted {
                commit: CommitTs(decoder.u64()?),
                next_table: decoder.u64()?,
            },
            20 => Self::Moment(Moment {
                commit: CommitTs(decoder.u64()?),
                lsn: Lsn(decoder.u64()?),
                time: decoder.u64()?,
            }),
            21 => Self::Archive { path: decoder.string()? },
            25 => Self::LoadEmptied { load: LoadId(decoder.u64()?) },
            26 => Self::RoleDefined(RoleDef::decode(decoder)?),
            27 => Self::RoleDropped { oid: decoder.u32()? },
            28 => decode_access(decoder)?,
            40 => decode_runs(decoder)?,
            _ => return Err(Truncated),
        })
    }

    /// Returns the record that creates a table.
    pub(crate) fn of_table(table: TableId, schema: TableSchema, rules: TableRules) -> Self {
        match rules.is_empty() {
            true => Self::TableCreated { table, schema },
            false => Self::TableDefined { table, schema, rules },
        }
    }
}

fn decode_access(decoder: &mut Decoder<'_>) -> Result<Record, Truncated> {
    let (object, access) = (Securable::decode(decoder)?, ObjectAccess::decode(decoder)?);
    Ok(Record::AccessChanged { object, access })
}

fn encode_runs(
    (table, index): (TableId, &str),
    added: Option<&RunRecord>,
    removed: &[RunId],
    encoder: &mut Encoder,
) {
    encoder.put_u64(table.0);
    encoder.put_str(index);
    encoder.put_u8(added.is_some().into());
    added.iter().for_each(|run| run.encode(encoder));
    encoder.put_u32(removed.len() as u32);
    removed.iter().for_each(|run| encoder.put_u64(run.0));
}

fn decode_runs(decoder: &mut Decoder<'_>) -> Result<Record, Truncated> {
    let (table, index) = (TableId(decoder.u64()?), decoder.string()?);
    let has_added = decoder.u8()? != 0;
    let added = has_added.then(|| RunRecord::decode(decoder)).transpose()?;
    let count = decoder.u32()?;
    let removed = (0..count).map(|_| decoder.u64().map(RunId)).collect::<Result<_, _>>()?;
    Ok(Record::IndexRuns { table, index, added, removed })
}

fn encode_moment(moment: &Moment, encoder: &mut Encoder) {
    encoder.put_u64(moment.commit.0);
    encoder.put_u64(moment.lsn.0);
    encoder.put_u64(moment.time);
}

fn encode_load(load: &LoadRecord, encoder: &mut Encoder) {
    encoder.put_u64(load.load.0);
    encoder.put_u64(load.table.0);
    encoder.put_u64(load.rows);
    encoder.put_u32(load.chunk_count);
    encode_parts(&load.parts, encoder);
}

fn encode_frozen(frozen: &FrozenRecord, encoder: &mut Encoder) {
    encode_load(&frozen.load, encoder);
    encoder.put_u32(frozen.chunks.len() as u32);
    frozen.chunks.iter().for_each(|chunk| encoder.put_u64(*chunk));
    encoder.put_u64(frozen.as_of.0);
}

fn decode_load(decoder: &mut Decoder<'_>) -> Result<LoadRecord, Truncated> {
    Ok(LoadRecord {
        load: LoadId(decoder.u64()?),
        table: TableId(decoder.u64()?),
        rows: decoder.u64()?,
        chunk_count: decoder.u32()?,
        parts: decode_parts(decoder)?,
    })
}

fn encode_table(table: TableId, schema: &TableSchema, rules: &TableRules, encoder: &mut Encoder) {
    encoder.put_u64(table.0);
    schema.encode(encoder);
    rules.encode(encoder);
}

fn encode_foreign_keys(table: TableId, keys: &[ForeignKeyDef], encoder: &mut Encoder) {
    encoder.put_u64(table.0);
    encoder.put_u16(keys.len() as u16);
    keys.iter().for_each(|key| key.encode(encoder));
}

fn encode_parts(parts: &[PartRecord], encoder: &mut Encoder) {
    encoder.put_u32(parts.len() as u32);
    for part in parts {
        encoder.put_u32(part.number);
        encoder.put_u32(part.layout.version());
        encoder.put_str(&part.domain);
        encoder.put_u64(part.pool_bytes);
        encoder.put_u64(part.directory_offset);
        encoder.put_u64(part.directory_bytes);
        encoder.put_u32(part.directory_crc32c);
    }
}

fn decode_parts(decoder: &mut Decoder<'_>) -> Result<Vec<PartRecord>, Truncated> {
    let count = decoder.u32()?;
    let part = |decoder: &mut Decoder<'_>| {
        Ok(PartRecord {
            number: decoder.u32()?,
            layout: Layout::from_version(decoder.u32()?).ok_or(Truncated)?,
            domain: decoder.string()?,
            pool_bytes: decoder.u64()?,
            directory_offset: decoder.u64()?,
            directory_bytes: decoder.u64()?,
            directory_crc32c: decoder.u32()?,
        })
    };
    // The count may be anything, the bytes end: nothing is allocated for what is not there.
    (0..count).map(|_| part(decoder)).collect()
}

/// Decodes a load of the time when it had one pool.
fn decode_whole_load(decoder: &mut Decoder<'_>) -> Result<LoadRecord, Truncated> {
    let (load, table) = (LoadId(decoder.u64()?), TableId(decoder.u64()?));
    let (domain, rows, chunk_count) = (decoder.string()?, decoder.u64()?, decoder.u32()?);
    let part = PartRecord {
        number: 0,
        layout: Layout::Whole,
        domain,
        pool_bytes: decoder.u64()?,
        directory_offset: decoder.u64()?,
        directory_bytes: decoder.u64()?,
        directory_crc32c: decoder.u32()?,
    };
    Ok(LoadRecord { load, table, rows, chunk_count, parts: vec![part] })
}

/// Checksums an unpadded record: everything after the checksum field, then the length before it.
fn record_crc32c(unpadded: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&unpadded[8..]), &unpadded[0..4])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign_key::ForeignKeyAction;
    use crate::index::{IndexKind, IndexOrigin, PageRef};

    fn part(number: u32) -> PartRecord {
        PartRecord {
            number,
            layout: Layout::Part,
            domain: "elsewhere".into(),
            pool_bytes: 1 << 28,
            directory_offset: 1 << 27,
            directory_bytes: 4_096,
            directory_crc32c: 0xdead_beef,
        }
    }

    fn load() -> Record {
        Record::Load(LoadRecord {
            load: LoadId(7),
            table: TableId(3),
            rows: 6_001_215,
            chunk_count: 92,
            parts: vec![part(0), part(1)],
        })
    }

    #[test]
    fn record_survives_encoding_and_is_padded() {
        let Record::Load(frozen) = load() else {
            panic!("no load");
        };
        let frozen = FrozenRecord { load: frozen, chunks: vec![4, 6], as_of: CommitTs(9) };
        let records = [
            load(),
            Record::Domain { name: "pm".into(), path: "/mnt/pm".into() },
            Record::PolicyChanged { table: TableId(3), column: None, policy: None },
            Record::PolicyChanged {
                table: TableId(3),
                column: Some(2),
                policy: "rle, auto@pm".parse().ok(),
            },
            Record::PartsChanged {
                load: LoadId(7),
                change: PartsChange { added: vec![part(2)], removed: vec![0, 1] },
            },
            Record::Frozen(frozen),
            Record::Checkpoint { as_of: CommitTs(8), oldest: 3 },
            Record::IndexCreated {
                table: TableId(3),
                definition: IndexDef {
                    name: "t_a_key".into(),
                    columns: vec![4, 0],
                    is_unique: true,
                    kind: IndexKind::Hash,
                    origin: IndexOrigin::Unique,
                },
            },
            Record::IndexDropped { table: TableId(3), name: "i".into() },
            Record::Moment(Moment { commit: CommitTs(5), lsn: Lsn(640), time: 7 }),
            Record::Archive { path: "/mnt/archive".into() },
            Record::LoadEmptied { load: LoadId(7) },
            Record::RoleDefined(RoleDef::bootstrap()),
            Record::RoleDropped { oid: 16_384 },
            Record::AccessChanged {
                object: Securable::Table(TableId(3)),
                access: ObjectAccess::owned_by(16_385),
            },
            Record::ForeignKeys {
                table: TableId(3),
                keys: vec![ForeignKeyDef {
                    name: "t_a_fkey".into(),
                    columns: vec![1, 0],
                    referenced: Some(TableId(2)),
                    referenced_columns: vec![0, 3],
                    on_delete: ForeignKeyAction::SetNull,
                    on_update: ForeignKeyAction::SetDefault,
                }],
            },
        ];
        for record in records {
            let bytes = record.to_bytes(5);
            assert!(bytes.len().is_multiple_of(8));
            assert_eq!(Record::from_bytes(&bytes, 5), Ok((record, bytes.len())));
        }
    }

    #[test]
    fn runs_of_an_index_survive_encoding() {
        let run = RunRecord {
            run: RunId(5),
            shape: 6,
            loads: vec![(LoadId(7), 65_536), (LoadId(9), 0)],
            pool_bytes: 1 << 20,
            leaf_count: 300,
            inner_count: 2,
            height: 1,
            root: PageRef { offset: 1 << 19, bytes: 400, number: 1 },
        };
        for (added, removed) in [(Some(run), vec![RunId(1), RunId(4)]), (None, vec![])] {
            let (table, index) = (TableId(3), "i".into());
            let record = Record::IndexRuns { table, index, added, removed };
            let bytes = record.to_bytes(5);
            assert_eq!(Record::from_bytes(&bytes, 5), Ok((record, bytes.len())));
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = load().to_bytes(1);
        assert!(
            bytes.len() > RECORD_HEADER_BYTES + usize::from(bytes[0]) + 256 * usize::from(bytes[1]),
            "the record has padding"
        );
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::from_bytes(&damaged, 1).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn every_cut_is_noticed() {
        let bytes = load().to_bytes(1);
        for end in 0..bytes.len() {
            assert!(
                matches!(
                    Record::from_bytes(&bytes[..end], 1),
                    Err(RecordError::Truncated { present, .. }) if present == end
                ),
                "cut at {end}"
            );
        }
    }

    #[test]
    fn repeated_record_is_noticed() {
        let bytes = load().to_bytes(1);
        assert_eq!(
            Record::from_bytes(&bytes, 2),
            Err(RecordError::Sequence { stored: 1, expected: 2 })
        );
    }
}
