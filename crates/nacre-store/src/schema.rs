//! What a table looks like: names, types and constraints.

use nacre_column::{
    COLUMN_TYPE_BYTES, ColumnType, DECIMAL_PRECISION_MAX, FormatChoice, Place, ReplicaPolicy,
    ReplicaSpec,
};

use crate::codec::{Decoder, Encoder, Truncated};
use crate::directory::{decode_choice, encode_choice};
use crate::store::MAIN_DOMAIN;

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
    /// Replicas of this column; `None` as the table's.
    pub replicas: Option<ReplicaPolicy>,
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
    /// Replicas of columns that do not say themselves; `None` is [`ReplicaPolicy::default`].
    pub replicas: Option<ReplicaPolicy>,
}

impl TableSchema {
    /// Returns the index of the column called `name`.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Returns what holds for a column: its own policy, else the table's. A table's policy may name
    /// a format that cannot hold the column: there the format is chosen for each block.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn policy(&self, column: usize) -> ReplicaPolicy {
        let definition = &self.columns[column];
        if let Some(policy) = &definition.replicas {
            return policy.clone();
        }
        let Some(policy) = &self.replicas else {
            return ReplicaPolicy::default();
        };
        let fitting = |replica: &ReplicaSpec| match replica.format {
            FormatChoice::Fixed(format) if !format.can_hold(definition.column_type) => {
                ReplicaSpec { format: FormatChoice::Auto, ..replica.clone() }
            }
            _ => replica.clone(),
        };
        let replicas = policy.replicas().iter().map(fitting).collect();
        // Only formats differ from a policy that was valid.
        ReplicaPolicy::new(replicas).unwrap_or_default()
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
        self.check_policies()?;
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

    /// Checks that the formats that policies name can hold what they are for.
    pub(crate) fn check_policies(&self) -> Result<(), String> {
        for column in &self.columns {
            let Some(policy) = &column.replicas else {
                continue;
            };
            policy
                .check(column.column_type)
                .map_err(|error| format!("column {:?}: {error}", column.name))?;
        }
        let Some(policy) = &self.replicas else {
            return Ok(());
        };
        let mut errors = self.columns.iter().map(|column| policy.check(column.column_type).err());
        // One that fits no column at all is a mistake.
        match errors.next() {
            Some(Some(first)) if errors.all(|error| error.is_some()) => {
                Err(format!("table {:?}: {first}", self.name))
            }
            _ => Ok(()),
        }
    }

    /// Returns the names of all domains that policies name.
    pub(crate) fn named_domains(&self) -> Vec<&str> {
        let columns = self.columns.iter().filter_map(|column| column.replicas.as_ref());
        let policies = self.replicas.iter().chain(columns);
        policies.flat_map(named_domains).collect()
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.put_str(&self.name);
        encode_policy(self.replicas.as_ref(), encoder);
        encoder.put_u16(self.columns.len() as u16);
        for column in &self.columns {
            encoder.put_str(&column.name);
            encoder.put_raw(&column.column_type.to_bytes());
            encoder.put_u8(u8::from(column.is_nullable));
            encode_policy(column.replicas.as_ref(), encoder);
        }
        encoder.put_str(&self.primary_key_name);
        let key = self.primary_key.as_deref().unwrap_or_default();
        encoder.put_u16(key.len() as u16);
        for &index in key {
            encoder.put_u16(index as u16);
        }
    }

    /// Decodes what [`TableSchema::encode`] wrote, or, if it `is_old`, a definition that names one
    /// domain instead of replicas.
    pub(crate) fn decode(decoder: &mut Decoder<'_>, is_old: bool) -> Result<Self, Truncated> {
        let name = decoder.string()?;
        let replicas = match is_old {
            true => policy_of_domain(decoder.string()?),
            false => decode_policy(decoder)?,
        };
        let mut columns = Vec::new();
        for _ in 0..decoder.u16()? {
            let name = decoder.string()?;
            let type_bytes = decoder.raw(COLUMN_TYPE_BYTES)?.try_into().map_err(|_| Truncated)?;
            let column_type = ColumnType::from_bytes(type_bytes).map_err(|_| Truncated)?;
            let is_nullable = decoder.u8()? != 0;
            let replicas = if is_old { None } else { decode_policy(decoder)? };
            columns.push(ColumnDef { name, column_type, is_nullable, replicas });
        }
        let primary_key_name = decoder.string()?;
        let key = (0..decoder.u16()?)
            .map(|_| decoder.u16().map(usize::from))
            .collect::<Result<Vec<_>, _>>()?;
        let primary_key = (!key.is_empty()).then_some(key);
        Ok(Self { name, columns, primary_key, primary_key_name, replicas })
    }
}

/// Returns the names of the domains that a policy names.
pub(crate) fn named_domains(policy: &ReplicaPolicy) -> impl Iterator<Item = &str> {
    policy.replicas().iter().filter_map(|replica| match &replica.place {
        Place::Domain(name) => Some(name.as_str()),
        Place::Any | Place::Dram => None,
    })
}

/// Returns the policy of a table that was to have one replica, in `domain`.
fn policy_of_domain(domain: String) -> Option<ReplicaPolicy> {
    if domain == MAIN_DOMAIN {
        return None;
    }
    let replica = ReplicaSpec { format: FormatChoice::Auto, place: Place::Domain(domain) };
    ReplicaPolicy::new(vec![replica]).ok()
}

/// Writes a policy: the number of replicas, 0 if there is none, and each one's format, place and
/// domain.
pub(crate) fn encode_policy(policy: Option<&ReplicaPolicy>, encoder: &mut Encoder) {
    let replicas = policy.map(ReplicaPolicy::replicas).unwrap_or_default();
    encoder.put_u8(replicas.len() as u8);
    for replica in replicas {
        encode_choice(replica.format, encoder);
        match &replica.place {
            Place::Any => encoder.put_u8(0),
            Place::Dram => encoder.put_u8(1),
            Place::Domain(name) => {
                encoder.put_u8(2);
                encoder.put_str(name);
            }
        }
    }
}

pub(crate) fn decode_policy(decoder: &mut Decoder<'_>) -> Result<Option<ReplicaPolicy>, Truncated> {
    let count = decoder.u8()?;
    let mut replicas = Vec::new();
    for _ in 0..count {
        let format = decode_choice(decoder)?;
        let place = match decoder.u8()? {
            0 => Place::Any,
            1 => Place::Dram,
            2 => Place::Domain(decoder.string()?),
            _ => return Err(Truncated),
        };
        replicas.push(ReplicaSpec { format, place });
    }
    match count {
        0 => Ok(None),
        _ => ReplicaPolicy::new(replicas).map(Some).map_err(|_| Truncated),
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
        ColumnDef { name: name.into(), column_type, is_nullable: false, replicas: None }
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
            ColumnType::TimestampTz,
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
            replicas: "auto@fast, plain, static_bp@dram".parse().ok(),
        }
    }

    #[test]
    fn every_type_and_policy_survives_encoding() {
        let mut schema = schema();
        schema.columns[2].replicas = "delta_bp, auto@dram".parse().ok();
        let mut encoder = Encoder::default();
        schema.encode(&mut encoder);
        let bytes = encoder.into_bytes();
        let mut decoder = Decoder::new(&bytes);
        assert_eq!(TableSchema::decode(&mut decoder, false).as_ref(), Ok(&schema));
        assert_eq!(decoder.remaining(), 0);
        assert_eq!(schema.validate(), Ok(()));
        assert_eq!(schema.policy(2).to_string(), "delta_bp, auto@dram");
        assert_eq!(schema.policy(11).to_string(), "auto@fast, plain, auto@dram");
    }

    #[test]
    fn contradictory_definitions_are_named() {
        let broken = |change: fn(&mut TableSchema)| {
            let mut schema = schema();
            change(&mut schema);
            schema.validate().expect_err("accepted")
        };
        assert!(broken(|s| s.columns.clear()).contains("no column"));
        assert!(
            broken(|s| s.columns[11].replicas = "rle".parse().ok()).contains("cannot be stored")
        );
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
