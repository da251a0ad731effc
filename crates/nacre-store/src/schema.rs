//! What a table looks like: names, types and constraints.

use nacre_column::{COLUMN_TYPE_BYTES, ColumnType, DECIMAL_PRECISION_MAX};

use crate::codec::{Decoder, Encoder, Truncated};

/// Most columns of a table, as in PostgreSQL.
pub const COLUMNS_MAX: usize = 1_600;

/// Longest name of a table, column or domain in bytes, as in PostgreSQL.
pub const NAME_BYTES_MAX: usize = 63;

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDef {
    pub name: String,
    pub column_type: ColumnType,
    pub is_nullable: bool,
}

/// The definition of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    pub name: String,
    pub columns: Vec<ColumnDef>,
    /// Columns of the primary key, by index and in key order; none of them is nullable.
    pub primary_key: Option<Vec<usize>>,
    /// Name of the primary key constraint, empty if there is no primary key.
    pub primary_key_name: String,
    /// Name of the memory domain that new blocks go to.
    pub domain: String,
}

impl TableSchema {
    /// Returns the index of the column called `name`.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Checks what the layers below rely on and names the first thing that is wrong.
    pub(crate) fn validate(&self) -> Result<(), String> {
        check_name("table", &self.name)?;
        if self.columns.is_empty() {
            return Err(format!("table {:?} has no column", self.name));
        }
        if self.columns.len() > COLUMNS_MAX {
            return Err(format!(
                "table {:?} has {} columns, more than {COLUMNS_MAX}",
                self.name,
                self.columns.len()
            ));
        }
        for (index, column) in self.columns.iter().enumerate() {
            check_name("column", &column.name)?;
            if self.column_index(&column.name) != Some(index) {
                return Err(format!("column {:?} specified more than once", column.name));
            }
            check_type(column)?;
        }
        let key = self.primary_key.as_deref().unwrap_or_default();
        for (position, &index) in key.iter().enumerate() {
            let column = self.columns.get(index).ok_or("primary key names no column")?;
            if key[..position].contains(&index) {
                return Err(format!("column {:?} appears twice in the primary key", column.name));
            }
            if column.is_nullable {
                return Err(format!("column {:?} of the primary key is nullable", column.name));
            }
        }
        Ok(())
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.put_str(&self.name);
        encoder.put_str(&self.domain);
        encoder.put_u16(self.columns.len() as u16);
        for column in &self.columns {
            encoder.put_str(&column.name);
            encoder.put_raw(&column.column_type.to_bytes());
            encoder.put_u8(u8::from(column.is_nullable));
        }
        encoder.put_str(&self.primary_key_name);
        let key = self.primary_key.as_deref().unwrap_or_default();
        encoder.put_u16(key.len() as u16);
        for &index in key {
            encoder.put_u16(index as u16);
        }
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Truncated> {
        let name = decoder.string()?;
        let domain = decoder.string()?;
        let mut columns = Vec::new();
        for _ in 0..decoder.u16()? {
            let name = decoder.string()?;
            let type_bytes = decoder.raw(COLUMN_TYPE_BYTES)?.try_into().map_err(|_| Truncated)?;
            let column_type = ColumnType::from_bytes(type_bytes).map_err(|_| Truncated)?;
            columns.push(ColumnDef { name, column_type, is_nullable: decoder.u8()? != 0 });
        }
        let primary_key_name = decoder.string()?;
        let key = (0..decoder.u16()?)
            .map(|_| decoder.u16().map(usize::from))
            .collect::<Result<Vec<_>, _>>()?;
        let primary_key = (!key.is_empty()).then_some(key);
        Ok(Self { name, columns, primary_key, primary_key_name, domain })
    }
}

/// Checks a name that goes to media and into messages.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err(format!("a {what} needs a name"));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(format!(
            "{what} name {name:?} has {} bytes, more than {NAME_BYTES_MAX}",
            name.len()
        ));
    }
    if name.contains('\0') {
        return Err(format!("{what} name {name:?} contains a zero byte"));
    }
    Ok(())
}

fn check_type(column: &ColumnDef) -> Result<(), String> {
    match column.column_type {
        ColumnType::Decimal { precision, scale }
            if precision == 0 || precision > DECIMAL_PRECISION_MAX || scale > precision =>
        {
            Err(format!(
                "column {:?}: numeric({precision},{scale}) needs a precision from 1 to \
                 {DECIMAL_PRECISION_MAX} and a scale from 0 to the precision",
                column.name
            ))
        }
        ColumnType::Varchar { max_chars: Some(0) } | ColumnType::Char { chars: 0 } => {
            Err(format!("column {:?}: the length must be at least 1", column.name))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, column_type: ColumnType) -> ColumnDef {
        ColumnDef { name: name.into(), column_type, is_nullable: false }
    }

    fn schema() -> TableSchema {
        let types = [
            ColumnType::Boolean,
            ColumnType::SmallInt,
            ColumnType::Integer,
            ColumnType::BigInt,
            ColumnType::Decimal { precision: 15, scale: 2 },
            ColumnType::Decimal { precision: 38, scale: 38 },
            ColumnType::Real,
            ColumnType::Double,
            ColumnType::Date,
            ColumnType::Timestamp,
            ColumnType::Varchar { max_chars: None },
            ColumnType::Varchar { max_chars: Some(44) },
            ColumnType::Char { chars: 3 },
            ColumnType::Bytea,
        ];
        TableSchema {
            name: "t".into(),
            columns: types
                .into_iter()
                .enumerate()
                .map(|(index, column_type)| column(&format!("c{index}"), column_type))
                .collect(),
            primary_key: Some(vec![3, 1]),
            primary_key_name: "t_pkey".into(),
            domain: "main".into(),
        }
    }

    #[test]
    fn every_type_survives_encoding() {
        let mut encoder = Encoder::default();
        schema().encode(&mut encoder);
        let bytes = encoder.into_bytes();
        let mut decoder = Decoder::new(&bytes);
        assert_eq!(TableSchema::decode(&mut decoder), Ok(schema()));
        assert_eq!(decoder.remaining(), 0);
        assert_eq!(schema().validate(), Ok(()));
    }

    #[test]
    fn contradictory_definitions_are_named() {
        let broken = |change: fn(&mut TableSchema)| {
            let mut schema = schema();
            change(&mut schema);
            schema.validate().expect_err("accepted")
        };
        assert!(broken(|s| s.columns.clear()).contains("no column"));
        assert!(broken(|s| s.columns[1].name = "c0".into()).contains("more than once"));
        assert!(broken(|s| s.primary_key = Some(vec![0, 0])).contains("twice"));
        assert!(broken(|s| s.columns[3].is_nullable = true).contains("nullable"));
        assert!(broken(|s| s.name = "x".repeat(64)).contains("64 bytes"));
        assert!(
            broken(|s| s.columns[4].column_type = ColumnType::Decimal { precision: 39, scale: 0 })
                .contains("numeric(39,0)")
        );
    }
}
