//! What a foreign key is.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Manifest record", kind 14.

use std::fmt;

use nacre_column::ColumnType;

use crate::codec::{Decoder, Encoder, Truncated};
use crate::index::{IndexDef, decode_columns, encode_columns};
use crate::manifest::TableId;
use crate::schema::{TableSchema, check_name};

/// What becomes of rows that refer to a key that goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ForeignKeyAction {
    /// There must be none at the end of the statement, unless the key is there again.
    #[default]
    NoAction,
    /// There must be none.
    Restrict,
    /// They go with it, or get the new key.
    Cascade,
    /// They refer to nothing any more.
    SetNull,
    /// They refer to what their columns hold in rows that do not say.
    SetDefault,
}

impl fmt::Display for ForeignKeyAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAction => "no action",
            Self::Restrict => "restrict",
            Self::Cascade => "cascade",
            Self::SetNull => "set null",
            Self::SetDefault => "set default",
        })
    }
}

/// The definition of a foreign key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeyDef {
    pub name: String,
    /// Columns of the child, by index.
    pub columns: Vec<usize>,
    /// The parent; `None` if it is the child itself.
    pub referenced: Option<TableId>,
    /// Columns of the parent that `columns` refer to, in that order.
    pub referenced_columns: Vec<usize>,
    pub on_delete: ForeignKeyAction,
    pub on_update: ForeignKeyAction,
}

/// Constraints on the keys of a new table, other than its primary key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableKeys {
    /// Indexes that are unique.
    pub unique: Vec<IndexDef>,
    pub foreign: Vec<ForeignKeyDef>,
}

impl TableKeys {
    /// Returns the names of the constraints.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let unique = self.unique.iter().map(|key| key.name.as_str());
        unique.chain(self.foreign.iter().map(|key| key.name.as_str()))
    }
}

impl ForeignKeyDef {
    /// Checks what the layers below rely on and names the first thing that is wrong.
    pub(crate) fn validate(&self, child: &TableSchema, parent: &TableSchema) -> Result<(), String> {
        check_name("constraint", &self.name)?;
        let name = &self.name;
        if self.columns.is_empty() || self.columns.len() != self.referenced_columns.len() {
            return Err(format!(
                "foreign key {name:?} has {} columns for {} referenced ones",
                self.columns.len(),
                self.referenced_columns.len()
            ));
        }
        for (position, (&own, &other)) in
            self.columns.iter().zip(&self.referenced_columns).enumerate()
        {
            let (Some(own_column), Some(other_column)) =
                (child.columns.get(own), parent.columns.get(other))
            else {
                return Err(format!("foreign key {name:?} names a column that is not there"));
            };
            if self.columns[..position].contains(&own)
                || self.referenced_columns[..position].contains(&other)
            {
                return Err(format!("foreign key {name:?} names a column twice"));
            }
            if !is_comparable(own_column.column_type, other_column.column_type) {
                return Err(format!(
                    "foreign key {name:?}: columns {:?} and {:?} are of incompatible types: {} \
                     and {}",
                    own_column.name,
                    other_column.name,
                    own_column.column_type,
                    other_column.column_type
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.put_str(&self.name);
        encode_columns(&self.columns, encoder);
        // No table has the id 0.
        encoder.put_u64(self.referenced.map_or(0, |table| table.0));
        encode_columns(&self.referenced_columns, encoder);
        for action in [self.on_delete, self.on_update] {
            encoder.put_u8(match action {
                ForeignKeyAction::NoAction => 0,
                ForeignKeyAction::Restrict => 1,
                ForeignKeyAction::Cascade => 2,
                ForeignKeyAction::SetNull => 3,
                ForeignKeyAction::SetDefault => 4,
            });
        }
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Truncated> {
        let action = |decoder: &mut Decoder<'_>| {
            Ok(match decoder.u8()? {
                0 => ForeignKeyAction::NoAction,
                1 => ForeignKeyAction::Restrict,
                2 => ForeignKeyAction::Cascade,
                3 => ForeignKeyAction::SetNull,
                4 => ForeignKeyAction::SetDefault,
                _ => return Err(Truncated),
            })
        };
        let (name, columns) = (decoder.string()?, decode_columns(decoder)?);
        let referenced = Some(decoder.u64()?).filter(|id| *id != 0).map(TableId);
        Ok(Self {
            name,
            columns,
            referenced,
            referenced_columns: decode_columns(decoder)?,
            on_delete: action(decoder)?,
            on_update: action(decoder)?,
        })
    }
}

/// Whether values of one type are equal to values of the other exactly if they are stored alike.
pub fn is_comparable(left: ColumnType, right: ColumnType) -> bool {
    use ColumnType::{BigInt, Integer, SmallInt, Varchar};
    match (left, right) {
        (SmallInt | Integer | BigInt, SmallInt | Integer | BigInt)
        | (Varchar { .. }, Varchar { .. }) => true,
        _ => left == right,
    }
}
