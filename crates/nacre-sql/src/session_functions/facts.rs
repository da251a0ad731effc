//! Functions without arguments, and `current_schemas`.

use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use datafusion::arrow::array::{Array, AsArray, ListBuilder, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use crate::pg_catalog::{role, schemas};
use crate::pg_types::TYPE_KEY;
use crate::settings::{Settings, version_text};
use crate::types::{UTC, zoned};

/// A function whose answer is the same all through a session.
#[derive(Debug)]
struct Fact {
    name: &'static str,
    value: ScalarValue,
    /// The name of PostgreSQL's type where Arrow's does not tell it.
    type_name: Option<&'static str>,
    signature: Signature,
}

/// `statement_timestamp()`.
#[derive(Debug)]
struct StatementStart {
    settings: Arc<Settings>,
    signature: Signature,
}

/// A function that says whose the session is.
#[derive(Debug)]
struct User {
    name: &'static str,
    of_session: bool,
    settings: Arc<Settings>,
    signature: Signature,
}

/// `current_schema()` and `current_schemas(boolean)`.
#[derive(Debug)]
struct Schemas {
    is_list: bool,
    settings: Arc<Settings>,
    signature: Signature,
}

/// Makes the functions.
pub(super) fn functions(settings: &Arc<Settings>, opened: SystemTime) -> Vec<Arc<ScalarUDF>> {
    let info = settings.info();
    let text = |text: &str| ScalarValue::Utf8View(Some(text.to_owned()));
    let database = text(&info.database);
    let address = |of: Option<SocketAddr>| {
        ScalarValue::Utf8View(of.map(|address| address.ip().to_canonical().to_string()))
    };
    let port = |of: Option<SocketAddr>| ScalarValue::Int32(of.map(|address| address.port().into()));
    let opened = opened.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    let zone = Some(Arc::from(UTC));
    let opened = ScalarValue::TimestampMicrosecond(i64::try_from(opened).ok(), zone);
    let (name, inet) = (Some("name"), Some("inet"));
    let facts = [
        ("version", text(&version_text()), None),
        ("current_database", database.clone(), name),
        ("current_catalog", database, name),
        ("pg_backend_pid", ScalarValue::Int32(Some(info.process_id)), None),
        ("pg_is_in_recovery", ScalarValue::Boolean(Some(false)), None),
        ("pg_is_wal_replay_paused", ScalarValue::Boolean(Some(false)), None),
        ("pg_postmaster_start_time", opened.clone(), None),
        ("pg_conf_load_time", opened, None),
        ("inet_client_addr", address(info.client), inet),
        ("inet_client_port", port(info.client), None),
        ("inet_server_addr", address(info.server), inet),
        ("inet_server_port", port(info.server), None),
    ];
    let facts = facts.into_iter().map(|(name, value, type_name)| {
        let signature = Signature::nullary(Volatility::Stable);
        Arc::new(ScalarUDF::new_from_impl(Fact { name, value, type_name, signature }))
    });
    let schemas = [false, true].map(|is_list| {
        let signature = match is_list {
            true => Signature::exact(vec![DataType::Boolean], Volatility::Stable),
            false => Signature::nullary(Volatility::Stable),
        };
        let settings = Arc::clone(settings);
        Arc::new(ScalarUDF::new_from_impl(Schemas { is_list, settings, signature }))
    });
    let users =
        [("current_user", false), ("session_user", true), ("user", false), ("current_role", false)];
    let users = users.map(|(name, of_session)| {
        let (settings, signature) = (Arc::clone(settings), Signature::nullary(Volatility::Stable));
        Arc::new(ScalarUDF::new_from_impl(User { name, of_session, settings, signature }))
    });
    let settings = Arc::clone(settings);
    let signature = Signature::nullary(Volatility::Stable);
    let start = Arc::new(ScalarUDF::new_from_impl(StatementStart { settings, signature }));
    facts.chain(schemas).chain(users).chain([start]).collect()
}

impl PartialEq for Fact {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.value == other.value
    }
}

impl Eq for Fact {}

impl Hash for Fact {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Fact {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.value.data_type())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(field(self.name, self.value.data_type(), self.type_name))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(self.value.clone()))
    }
}

impl PartialEq for StatementStart {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.settings, &other.settings)
    }
}

impl Eq for StatementStart {}

impl Hash for StatementStart {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.settings).hash(state);
    }
}

impl ScalarUDFImpl for StatementStart {
    fn name(&self) -> &str {
        "statement_timestamp"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(zoned())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let moment = Some(self.settings.statement_began());
        Ok(ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(moment, Some(UTC.into()))))
    }
}

impl PartialEq for User {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.settings, &other.settings)
    }
}

impl Eq for User {}

impl Hash for User {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for User {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(field(self.name, DataType::Utf8View, Some("name")))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let name = role(&self.settings, self.of_session);
        let name = name.map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(Some(name))))
    }
}

impl Schemas {
    fn data_type(&self) -> DataType {
        match self.is_list {
            true => DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))),
            false => DataType::Utf8View,
        }
    }
}

impl PartialEq for Schemas {
    fn eq(&self, other: &Self) -> bool {
        self.is_list == other.is_list && Arc::ptr_eq(&self.settings, &other.settings)
    }
}

impl Eq for Schemas {}

impl Hash for Schemas {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.is_list.hash(state);
    }
}

impl ScalarUDFImpl for Schemas {
    fn name(&self) -> &str {
        if self.is_list { "current_schemas" } else { "current_schema" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.data_type())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(field(self.name(), self.data_type(), Some("name")))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(flags) = args.args.first() else {
            let first = schemas(&self.settings, false).into_iter().next();
            return Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(first)));
        };
        let flags = flags.to_array(args.number_rows)?;
        let flags = flags.as_boolean();
        let mut lists = ListBuilder::new(StringBuilder::new());
        for row in 0..flags.len() {
            if flags.is_null(row) {
                lists.append_null();
                continue;
            }
            schemas(&self.settings, flags.value(row))
                .iter()
                .for_each(|name| lists.values().append_value(name));
            lists.append(true);
        }
        Ok(ColumnarValue::Array(Arc::new(lists.finish())))
    }
}

/// Returns the field of a result that has a type of PostgreSQL's.
fn field(name: &str, data_type: DataType, type_name: Option<&str>) -> FieldRef {
    let field = Field::new(name, data_type, true);
    let metadata = type_name.map(|name| (TYPE_KEY.to_owned(), name.to_owned()));
    Arc::new(field.with_metadata(metadata.into_iter().collect()))
}
