//! The parameters of a query: their types, and the values of an execution as constants.

use nacre_store::Value;
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue, ValueSettings};

use crate::error::{Error, ErrorKind, Result};
use crate::pg_types::PgType;
use crate::prepared::{ParameterType, value_text};

/// Texts of which each type has one that stands for its values before there are any.
const SAMPLES: [&str; 10] = [
    "1",
    "t",
    "2000-01-01",
    "12:00",
    "00000000-0000-0000-0000-000000000000",
    "{1}",
    "{t}",
    "{2000-01-01}",
    "{00000000-0000-0000-0000-000000000000}",
    "{}",
];

/// What is known of the parameters of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) enum QueryParameters<'a> {
    /// Types of the first ones, as far as they are told. Values are samples, which say whether the
    /// query can be run.
    Told(&'a [Option<u32>]),
    /// All types, and the values of an execution.
    Given(&'a [ParameterType], &'a [Value]),
}

impl QueryParameters<'_> {
    /// Returns the types that are known.
    pub(super) fn declared(self) -> Vec<Option<SqlType>> {
        match self {
            Self::Told(types) => types.iter().map(|oid| oid.and_then(sql_type)).collect(),
            Self::Given(types, _) => types.iter().map(|one| sql_type(one.oid)).collect(),
        }
    }

    /// Returns the values of parameters of `types`; `None` if a type is unknown.
    ///
    /// # Errors
    /// Those of values that are none of their type.
    pub(super) fn values(
        self,
        types: &[Option<SqlType>],
        settings: &ValueSettings,
    ) -> Result<Option<Vec<SqlValue>>> {
        let mut values = Vec::with_capacity(types.len());
        for (index, sql_type) in types.iter().enumerate() {
            let Some(sql_type) = *sql_type else { return Ok(None) };
            values.push(match self {
                Self::Told(_) => sample(sql_type, settings),
                Self::Given(types, values) => {
                    let known = types.get(index).zip(values.get(index));
                    let Some((parameter, value)) = known else { return Ok(None) };
                    constant(*parameter, value, sql_type, settings)?
                }
            });
        }
        Ok(Some(values))
    }
}

fn sql_type(oid: u32) -> Option<SqlType> {
    let is_unknown = PgType::with_oid(oid).is_some_and(|found| found.name == "unknown");
    (!is_unknown).then(|| SqlType::new(TypeOid(oid)))
}

fn sample(sql_type: SqlType, settings: &ValueSettings) -> SqlValue {
    let mut values = SAMPLES.iter().map(|text| SqlValue::parse(text, sql_type, settings));
    values.find_map(std::result::Result::ok).unwrap_or(SqlValue::Null)
}

fn constant(
    parameter: ParameterType,
    value: &Value,
    sql_type: SqlType,
    settings: &ValueSettings,
) -> Result<SqlValue> {
    let text = match value {
        Value::Null => return Ok(SqlValue::Null),
        // Numbers of any scale are kept as their digits.
        Value::Bytes(digits) if parameter.is_numeric() => {
            String::from_utf8_lossy(digits).into_owned()
        }
        // One that EXECUTE computed has the digits of a column, and none of its own.
        value if parameter.is_numeric() => {
            let text = value_text(parameter.column, value)?;
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        value => value_text(parameter.column, value)?,
    };
    SqlValue::parse(&text, sql_type, settings).map_err(|error| {
        let message = error.text().message.clone();
        Error::new(ErrorKind::InvalidData, message).with_code(error.sql_state())
    })
}
