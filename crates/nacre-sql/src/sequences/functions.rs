//! `nextval`, `currval`, `setval` and `lastval`.
//!
//! What a session was given is the session's: `currval` and `lastval` ask it. Giving a value is not
//! part of the transaction that asks.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use nacre_store::{Sequence, Store};

use crate::error::{Error, ErrorKind};
use crate::from_datafusion::from_parser;
use crate::from_store::from_store;
use crate::names::table_name;
use crate::privileges::{Rights, SELECT, UPDATE, USAGE};
use crate::settings::Settings;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Next,
    Current,
    Set,
    Last,
}

/// What a session was given last.
#[derive(Debug, Default)]
pub(crate) struct Given(Mutex<Values>);

#[derive(Debug, Default)]
struct Values {
    values: BTreeMap<String, i64>,
    last: Option<String>,
}

/// One of the functions, in one session.
#[derive(Debug)]
struct SequenceFunction {
    kind: Kind,
    signature: Signature,
    store: Store,
    given: Arc<Given>,
    /// Whose session it is.
    settings: Arc<Settings>,
    /// Whether privileges are not checked: the sequence of an identity column goes with its table.
    is_free: bool,
}

/// Makes the functions of a new session.
pub(crate) fn functions(
    store: &Store,
    given: &Arc<Given>,
    settings: &Arc<Settings>,
) -> Vec<Arc<ScalarUDF>> {
    [Kind::Next, Kind::Current, Kind::Set, Kind::Last]
        .map(|kind| function(kind, (store, given, settings), false))
        .into()
}

/// Makes what takes the place of `nextval` in identity columns.
pub(crate) fn identity_function(
    store: &Store,
    given: &Arc<Given>,
    settings: &Arc<Settings>,
) -> Arc<ScalarUDF> {
    function(Kind::Next, (store, given, settings), true)
}

fn function(
    kind: Kind,
    (store, given, settings): (&Store, &Arc<Given>, &Arc<Settings>),
    is_free: bool,
) -> Arc<ScalarUDF> {
    let name = || DataType::Utf8;
    let signature = |kind| match kind {
        Kind::Next | Kind::Current => Signature::exact(vec![name()], Volatility::Volatile),
        Kind::Set => Signature::one_of(
            vec![
                TypeSignature::Exact(vec![name(), DataType::Int64]),
                TypeSignature::Exact(vec![name(), DataType::Int64, DataType::Boolean]),
            ],
            Volatility::Volatile,
        ),
        Kind::Last => Signature::nullary(Volatility::Volatile),
    };
    Arc::new(ScalarUDF::new_from_impl(SequenceFunction {
        kind,
        signature: signature(kind),
        store: store.clone(),
        given: Arc::clone(given),
        settings: Arc::clone(settings),
        is_free,
    }))
}

impl PartialEq for SequenceFunction {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.is_free == other.is_free
            && Arc::ptr_eq(&self.given, &other.given)
    }
}

impl Eq for SequenceFunction {}

impl Hash for SequenceFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
}

impl ScalarUDFImpl for SequenceFunction {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Next => "nextval",
            Kind::Current => "currval",
            Kind::Set => "setval",
            Kind::Last => "lastval",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays: Vec<ArrayRef> =
            args.args.into_iter().map(|arg| arg.into_array(rows)).collect::<Result<_>>()?;
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            if arrays.iter().any(|array| array.is_null(row)) {
                values.push(None);
                continue;
            }
            let value = self.value(&arrays, row);
            values.push(Some(value.map_err(|error| DataFusionError::External(Box::new(error)))?));
        }
        Ok(ColumnarValue::Array(Arc::new(Int64Array::from(values))))
    }
}

impl SequenceFunction {
    fn value(&self, arrays: &[ArrayRef], row: usize) -> crate::error::Result<i64> {
        let Self { store, given, settings, is_free, .. } = self;
        let calls = SequenceCalls { store, given, settings, is_free: *is_free };
        let Some(names) = arrays.first() else { return calls.last() };
        let name = calls.name_of(names.as_string::<i32>().value(row))?;
        match self.kind {
            Kind::Next => calls.next(&name),
            Kind::Set => {
                let value = arrays[1].as_primitive::<Int64Type>().value(row);
                let is_called = arrays.get(2).is_none_or(|array| array.as_boolean().value(row));
                calls.set(&name, value, is_called)
            }
            Kind::Current | Kind::Last => calls.current(&name),
        }
    }
}

/// What a session asks of sequences, which are named without their schema.
pub(crate) struct SequenceCalls<'a> {
    pub(crate) store: &'a Store,
    pub(crate) given: &'a Given,
    /// Whose session it is.
    pub(crate) settings: &'a Settings,
    /// Whether privileges are not checked: the sequence of an identity column goes with its table.
    pub(crate) is_free: bool,
}

impl SequenceCalls<'_> {
    /// Draws the next value.
    ///
    /// # Errors
    /// 25006 in a transaction that only reads; 42P01 and 42809 for what is no sequence, 42501,
    /// 2200H at its end, those of the store.
    pub(crate) fn next(&self, name: &str) -> crate::error::Result<i64> {
        self.require_writable("nextval()")?;
        let mut given = self.given.values();
        let sequence = self.find(name, USAGE | UPDATE)?;
        let value = match sequence.next(self.store) {
            // Another one may have taken its place a moment ago.
            Err(nacre_store::Error::UnknownTable { .. }) => {
                self.find(name, USAGE | UPDATE)?.next(self.store)
            }
            drawn => drawn,
        };
        let value = value.map_err(from_store)?;
        given.values.insert(name.to_owned(), value);
        given.last = Some(name.to_owned());
        Ok(value)
    }

    /// Sets what was drawn last, or will be drawn next unless it `is_called`.
    ///
    /// # Errors
    /// As [`Self::next`]; 22003 for a value that the sequence does not have.
    pub(crate) fn set(&self, name: &str, value: i64, is_called: bool) -> crate::error::Result<i64> {
        self.require_writable("setval()")?;
        let mut given = self.given.values();
        let sequence = self.find(name, UPDATE)?;
        let nacre_store::SequenceDef { min, max, .. } = sequence.def();
        if !(*min..=*max).contains(&value) {
            let message = format!(
                "setval: value {value} is out of bounds for sequence \"{name}\" ({min}..{max})"
            );
            return Err(Error::new(ErrorKind::InvalidData, message).with_code("22003"));
        }
        sequence.set(self.store, value, is_called).map_err(from_store)?;
        if is_called {
            given.values.insert(name.to_owned(), value);
        }
        Ok(value)
    }

    /// Returns what the session drew last of a sequence.
    ///
    /// # Errors
    /// As [`Self::next`]; 55000 if it drew nothing.
    pub(crate) fn current(&self, name: &str) -> crate::error::Result<i64> {
        self.find(name, USAGE | SELECT)?;
        self.given.values().values.get(name).copied().ok_or_else(|| {
            let what = format!("currval of sequence \"{name}\"");
            undefined(format!("{what} is not yet defined in this session"))
        })
    }

    /// Returns what the session drew last of any sequence.
    ///
    /// # Errors
    /// 55000 if it drew nothing; 42501.
    pub(crate) fn last(&self) -> crate::error::Result<i64> {
        let given = self.given.values();
        if let Some(name) = &given.last {
            self.require(name, USAGE | SELECT)?;
        }
        let undefined = || undefined("lastval is not yet defined in this session".to_owned());
        given.last().ok_or_else(undefined)
    }

    fn require_writable(&self, what: &str) -> crate::error::Result<()> {
        if self.settings.is_read_only() {
            let message = format!("cannot execute {what} in a read-only transaction");
            return Err(Error::new(ErrorKind::ReadOnly, message));
        }
        Ok(())
    }

    /// Returns the name of a sequence that a text names.
    fn name_of(&self, text: &str) -> crate::error::Result<String> {
        let name = Parser::new(&PostgreSqlDialect {})
            .try_with_sql(text)
            .and_then(|mut parser| parser.parse_object_name(false))
            .map_err(|error| from_parser(&error))?;
        table_name(&name)
    }

    /// Finds a sequence that whoever asks may use.
    fn find(&self, name: &str, any_of: Rights) -> crate::error::Result<Arc<Sequence>> {
        let found = match self.store.sequence(name) {
            Err(nacre_store::Error::UnknownTable { .. }) if self.store.table(name).is_ok() => {
                let message = format!("\"{name}\" is not a sequence");
                Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42809"))
            }
            found => found.map_err(from_store),
        };
        let found = found?;
        self.require(name, any_of)?;
        Ok(found)
    }

    fn require(&self, name: &str, any_of: Rights) -> crate::error::Result<()> {
        if self.is_free {
            return Ok(());
        }
        self.settings.acting().require_sequence(self.store, name, any_of)
    }
}

impl Given {
    /// Forgets it.
    pub(crate) fn forget(&self) {
        *self.values() = Values::default();
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Values {
    fn last(&self) -> Option<i64> {
        self.values.get(self.last.as_ref()?).copied()
    }
}

fn undefined(message: String) -> Error {
    Error::new(ErrorKind::InvalidStatement, message).with_code("55000")
}
