//! Records of the manifest and their payloads.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Manifest record"; a test compares.

use crate::codec::{Decoder, Encoder, Truncated};
use crate::schema::TableSchema;

/// Bytes before the payload of a record.
pub(crate) const RECORD_HEADER_BYTES: usize = 24;

/// Longest payload: a table of 1,600 columns with the longest names takes 125 KiB.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 1 << 20;

/// Identifies a table for as long as the database exists; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub(crate) u64);

/// Identifies a load, and with it the pool of its blocks; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoadId(pub(crate) u64);

/// What one load left behind: a pool of blocks with a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadRecord {
    pub(crate) load: LoadId,
    pub(crate) table: TableId,
    pub(crate) domain: String,
    pub(crate) rows: u64,
    pub(crate) chunk_count: u32,
    pub(crate) pool_bytes: u64,
    pub(crate) directory_offset: u64,
    pub(crate) directory_bytes: u64,
    pub(crate) directory_crc32c: u32,
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
    Load(LoadRecord),
}

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
        let kind = self.encode_payload(&mut payload);
        let payload = payload.into_bytes();
        assert!(payload.len() <= PAYLOAD_BYTES_MAX, "record of {} bytes", payload.len());
        let mut bytes = vec![0; RECORD_HEADER_BYTES];
        bytes[0..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes[8..16].copy_from_slice(&sequence.to_le_bytes());
        bytes[16..18].copy_from_slice(&kind.to_le_bytes());
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

    fn encode_payload(&self, encoder: &mut Encoder) -> u16 {
        match self {
            Self::Domain { name, path } => {
                encoder.put_str(name);
                encoder.put_str(path);
                1
            }
            Self::TableCreated { table, schema } => {
                encoder.put_u64(table.0);
                schema.encode(encoder);
                2
            }
            Self::TableDropped { table } => {
                encoder.put_u64(table.0);
                3
            }
            Self::Load(load) => {
                encoder.put_u64(load.load.0);
                encoder.put_u64(load.table.0);
                encoder.put_str(&load.domain);
                encoder.put_u64(load.rows);
                encoder.put_u32(load.chunk_count);
                encoder.put_u64(load.pool_bytes);
                encoder.put_u64(load.directory_offset);
                encoder.put_u64(load.directory_bytes);
                encoder.put_u32(load.directory_crc32c);
                4
            }
        }
    }

    fn decode_payload(kind: u16, decoder: &mut Decoder<'_>) -> Result<Self, Truncated> {
        Ok(match kind {
            1 => Self::Domain { name: decoder.string()?, path: decoder.string()? },
            2 => Self::TableCreated {
                table: TableId(decoder.u64()?),
                schema: TableSchema::decode(decoder)?,
            },
            3 => Self::TableDropped { table: TableId(decoder.u64()?) },
            4 => Self::Load(LoadRecord {
                load: LoadId(decoder.u64()?),
                table: TableId(decoder.u64()?),
                domain: decoder.string()?,
                rows: decoder.u64()?,
                chunk_count: decoder.u32()?,
                pool_bytes: decoder.u64()?,
                directory_offset: decoder.u64()?,
                directory_bytes: decoder.u64()?,
                directory_crc32c: decoder.u32()?,
            }),
            _ => return Err(Truncated),
        })
    }
}

/// Checksums an unpadded record: everything after the checksum field, then the length before it.
fn record_crc32c(unpadded: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&unpadded[8..]), &unpadded[0..4])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> Record {
        Record::Load(LoadRecord {
            load: LoadId(7),
            table: TableId(3),
            domain: "elsewhere".into(),
            rows: 6_001_215,
            chunk_count: 92,
            pool_bytes: 1 << 28,
            directory_offset: 1 << 27,
            directory_bytes: 4_096,
            directory_crc32c: 0xdead_beef,
        })
    }

    #[test]
    fn record_survives_encoding_and_is_padded() {
        for record in [load(), Record::Domain { name: "pm".into(), path: "/mnt/pm".into() }] {
            let bytes = record.to_bytes(5);
            assert!(bytes.len().is_multiple_of(8));
            assert_eq!(Record::from_bytes(&bytes, 5), Ok((record, bytes.len())));
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = load().to_bytes(1);
        assert!(
            bytes.len() > RECORD_HEADER_BYTES + usize::from(bytes[0]),
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
