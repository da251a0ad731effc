//! What an index is: its name, its columns, and what it is there for.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Manifest record", kind 12.

use std::fmt;

use crate::codec::{Decoder, Encoder, Truncated};
use crate::schema::{TableSchema, check_name};

/// Most columns of an index, as in PostgreSQL.
pub const INDEX_COLUMNS_MAX: usize = 32;

/// What an index is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// An adaptive radix tree: points and ranges.
    #[default]
    Art,
    /// A chained hash table: points only.
    Hash,
    /// Entries of frozen rows in files, those of others in an adaptive radix tree: points and
    /// ranges.
    Hybrid,
}

/// What an index is there for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IndexOrigin {
    /// The table's primary key.
    PrimaryKey,
    /// A UNIQUE constraint of the same name.
    Unique,
    /// A FOREIGN KEY of the same name: finds the rows that refer to another one.
    ForeignKey,
    /// A statement of the user.
    #[default]
    Statement,
}

/// The definition of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDef {
    pub name: String,
    /// Columns of the table, by index and in key order.
    pub columns: Vec<usize>,
    /// Whether no two rows may have the same key; keys with a null are never the same.
    pub is_unique: bool,
    pub kind: IndexKind,
    pub origin: IndexOrigin,
}

impl fmt::Display for IndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Art => "art",
            Self::Hash => "hash",
            Self::Hybrid => "hybrid",
        })
    }
}

impl fmt::Display for IndexOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PrimaryKey => "primary key",
            Self::Unique => "unique",
            Self::ForeignKey => "foreign key",
            Self::Statement => "create index",
        })
    }
}

impl IndexDef {
    /// Checks what the layers below rely on and names the first thing that is wrong.
    pub(crate) fn validate(&self, schema: &TableSchema) -> Result<(), String> {
        check_name("index", &self.name)?;
        let name = &self.name;
        if self.columns.is_empty() {
            return Err(format!("index {name:?} has no column"));
        }
        if self.columns.len() > INDEX_COLUMNS_MAX {
            let count = self.columns.len();
            return Err(format!(
                "index {name:?} has {count} columns, more than {INDEX_COLUMNS_MAX}"
            ));
        }
        for (position, &column) in self.columns.iter().enumerate() {
            let Some(definition) = schema.columns.get(column) else {
                return Err(format!("index {name:?} names column {column}, which is not there"));
            };
            if self.columns[..position].contains(&column) {
                return Err(format!(
                    "column {:?} appears twice in index {name:?}",
                    definition.name
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.put_str(&self.name);
        encoder.put_u8(match self.kind {
            IndexKind::Art => 1,
            IndexKind::Hash => 2,
            IndexKind::Hybrid => 3,
        });
        encoder.put_u8(match self.origin {
            IndexOrigin::PrimaryKey => 0,
            IndexOrigin::Unique => 1,
            IndexOrigin::ForeignKey => 2,
            IndexOrigin::Statement => 3,
        });
        encoder.put_u8(u8::from(self.is_unique));
        encode_columns(&self.columns, encoder);
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Truncated> {
        Ok(Self {
            name: decoder.string()?,
            kind: match decoder.u8()? {
                1 => IndexKind::Art,
                2 => IndexKind::Hash,
                3 => IndexKind::Hybrid,
                _ => return Err(Truncated),
            },
            origin: match decoder.u8()? {
                0 => IndexOrigin::PrimaryKey,
                1 => IndexOrigin::Unique,
                2 => IndexOrigin::ForeignKey,
                3 => IndexOrigin::Statement,
                _ => return Err(Truncated),
            },
            is_unique: decoder.u8()? != 0,
            columns: decode_columns(decoder)?,
        })
    }
}

/// Writes which columns of a table, of which there are at most 1,600.
pub(crate) fn encode_columns(columns: &[usize], encoder: &mut Encoder) {
    encoder.put_u16(columns.len() as u16);
    for &column in columns {
        encoder.put_u16(column as u16);
    }
}

pub(crate) fn decode_columns(decoder: &mut Decoder<'_>) -> Result<Vec<usize>, Truncated> {
    (0..decoder.u16()?).map(|_| decoder.u16().map(usize::from)).collect()
}
