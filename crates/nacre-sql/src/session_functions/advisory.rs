//! Functions of advisory locks: `pg_advisory_lock` and its kin.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{Array, AsArray, BooleanArray, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};

use crate::advisory_locks::{LockKey, LockMode, LockScope, SessionLocks};
use crate::error::{Error, ErrorKind};
use crate::notices::Notice;
use crate::settings::Settings;

/// What a function does with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockAction {
    /// Waits for the lock.
    Lock(LockScope),
    Try(LockScope),
    Unlock,
    UnlockAll,
}

/// One of the functions.
#[derive(Debug)]
struct LockFunction {
    name: &'static str,
    action: LockAction,
    mode: LockMode,
    locks: Arc<SessionLocks>,
    settings: Arc<Settings>,
    signature: Signature,
}

const FUNCTIONS: [(&str, LockAction, LockMode); 11] = [
    ("pg_advisory_lock", LockAction::Lock(LockScope::Session), LockMode::Exclusive),
    ("pg_advisory_lock_shared", LockAction::Lock(LockScope::Session), LockMode::Shared),
    ("pg_advisory_xact_lock", LockAction::Lock(LockScope::Transaction), LockMode::Exclusive),
    ("pg_advisory_xact_lock_shared", LockAction::Lock(LockScope::Transaction), LockMode::Shared),
    ("pg_try_advisory_lock", LockAction::Try(LockScope::Session), LockMode::Exclusive),
    ("pg_try_advisory_lock_shared", LockAction::Try(LockScope::Session), LockMode::Shared),
    ("pg_try_advisory_xact_lock", LockAction::Try(LockScope::Transaction), LockMode::Exclusive),
    ("pg_try_advisory_xact_lock_shared", LockAction::Try(LockScope::Transaction), LockMode::Shared),
    ("pg_advisory_unlock", LockAction::Unlock, LockMode::Exclusive),
    ("pg_advisory_unlock_shared", LockAction::Unlock, LockMode::Shared),
    ("pg_advisory_unlock_all", LockAction::UnlockAll, LockMode::Exclusive),
];

/// Makes the functions of a session.
pub(super) fn functions(
    settings: &Arc<Settings>,
    locks: &Arc<SessionLocks>,
) -> Vec<Arc<ScalarUDF>> {
    let function = |(name, action, mode): (&'static str, LockAction, LockMode)| {
        let signature = match action {
            LockAction::UnlockAll => Signature::nullary(Volatility::Volatile),
            _ => {
                let exact = |count| TypeSignature::Exact(vec![DataType::Int64; count]);
                Signature::one_of(vec![exact(1), exact(2)], Volatility::Volatile)
            }
        };
        let (locks, settings) = (Arc::clone(locks), Arc::clone(settings));
        let function = LockFunction { name, action, mode, locks, settings, signature };
        Arc::new(match action {
            LockAction::Lock(_) => AsyncScalarUDF::new(Arc::new(function)).into_scalar_udf(),
            _ => ScalarUDF::new_from_impl(function),
        })
    };
    FUNCTIONS.into_iter().map(function).collect()
}

impl LockFunction {
    /// Returns the keys of the rows; none where an argument is null.
    fn keys(&self, args: ScalarFunctionArgs) -> Result<Vec<Option<LockKey>>> {
        let rows = args.number_rows;
        let arrays: Vec<_> =
            args.args.into_iter().map(|arg| arg.into_array(rows)).collect::<Result<_>>()?;
        let numbers: Vec<&PrimitiveArray<Int64Type>> =
            arrays.iter().map(|array| array.as_primitive::<Int64Type>()).collect();
        let key = |row: usize| {
            if numbers.iter().any(|array| array.is_null(row)) {
                return Ok(None);
            }
            match numbers[..] {
                [first, second] => {
                    let pair = (half(first.value(row))?, half(second.value(row))?);
                    Ok(Some(LockKey::Pair(pair.0, pair.1)))
                }
                [number, ..] => Ok(Some(LockKey::Number(number.value(row)))),
                [] => Ok(None),
            }
        };
        (0..rows).map(key).collect()
    }
}

/// Releases a lock, or warns that the session does not hold it.
pub(crate) fn unlock(
    locks: &SessionLocks,
    settings: &Settings,
    key: LockKey,
    mode: LockMode,
) -> bool {
    let was_held = locks.unlock(key, mode);
    if !was_held {
        let message = format!("you don't own a lock of type {}", mode.name());
        settings.notices().tell(Notice::warning(message));
    }
    was_held
}

/// Reads one of two numbers of a key.
fn half(number: i64) -> Result<i32> {
    i32::try_from(number).map_err(|_| {
        let error = Error::new(ErrorKind::InvalidData, "integer out of range");
        external(error.with_code("22003"))
    })
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Returns PostgreSQL's void, an empty text, for each row.
fn void(rows: usize) -> Result<ColumnarValue> {
    let void = ScalarValue::Utf8View(Some(String::new()));
    Ok(ColumnarValue::Array(void.to_array_of_size(rows)?))
}

impl PartialEq for LockFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.locks, &other.locks)
    }
}

impl Eq for LockFunction {}

impl Hash for LockFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for LockFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.action {
            LockAction::Try(_) | LockAction::Unlock => DataType::Boolean,
            LockAction::Lock(_) | LockAction::UnlockAll => DataType::Utf8View,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let answer = |key: LockKey| match self.action {
            LockAction::Try(scope) => self.locks.try_lock(key, self.mode, scope).map_err(external),
            _ => Ok(unlock(&self.locks, &self.settings, key, self.mode)),
        };
        match self.action {
            LockAction::UnlockAll => {
                self.locks.unlock_all();
                void(rows)
            }
            LockAction::Lock(_) => Err(DataFusionError::Internal(format!("{} waits", self.name))),
            LockAction::Try(_) | LockAction::Unlock => {
                let keys = self.keys(args)?.into_iter();
                let answers = keys.map(|key| key.map(answer).transpose());
                let answers = answers.collect::<Result<BooleanArray>>()?;
                Ok(ColumnarValue::Array(Arc::new(answers)))
            }
        }
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for LockFunction {
    async fn invoke_async_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let scope = match self.action {
            LockAction::Lock(scope) | LockAction::Try(scope) => scope,
            LockAction::Unlock | LockAction::UnlockAll => LockScope::Session,
        };
        let timeout = self.settings.lock_timeout();
        for key in self.keys(args)?.into_iter().flatten() {
            self.locks.lock(key, self.mode, scope, timeout).await.map_err(external)?;
        }
        void(rows)
    }
}
