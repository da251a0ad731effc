//! `pg_cancel_backend` and `pg_terminate_backend`: what sessions ask of one another.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, BooleanArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::activity::{Activities, Activity, Request};
use crate::error::{Error, ErrorKind};
use crate::settings::Settings;

/// Answers whether there is a session of that number.
#[derive(Debug)]
struct Signal {
    request: Request,
    activities: Arc<Activities>,
    settings: Arc<Settings>,
    signature: Signature,
}

/// Makes the functions.
pub(super) fn functions(
    settings: &Arc<Settings>,
    activities: &Arc<Activities>,
) -> [Arc<ScalarUDF>; 2] {
    [Request::Cancel, Request::Terminate].map(|request| {
        Arc::new(ScalarUDF::new_from_impl(Signal {
            request,
            activities: Arc::clone(activities),
            settings: Arc::clone(settings),
            signature: Signature::exact(vec![DataType::Int64], Volatility::Volatile),
        }))
    })
}

/// Refuses to ask something of others' sessions.
///
/// # Errors
/// 42501.
pub(crate) fn require_signal_right(
    settings: &Settings,
    activity: &Activity,
    request: Request,
) -> crate::error::Result<()> {
    if settings.may_see(&activity.participant.user) {
        return Ok(());
    }
    let message = match request {
        Request::Cancel => {
            "must be a member of the role whose query is being canceled or member of \
             pg_signal_backend"
        }
        Request::Terminate => {
            "must be a member of the role whose process is being terminated or member of \
             pg_signal_backend"
        }
    };
    Err(Error::new(ErrorKind::NotPermitted, message))
}

impl PartialEq for Signal {
    fn eq(&self, other: &Self) -> bool {
        self.request == other.request
    }
}

impl Eq for Signal {}

impl Hash for Signal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl ScalarUDFImpl for Signal {
    fn name(&self) -> &str {
        match self.request {
            Request::Cancel => "pg_cancel_backend",
            Request::Terminate => "pg_terminate_backend",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let numbers = ColumnarValue::values_to_arrays(&args.args)?;
        let mut answers = Vec::new();
        for number in numbers.iter().flat_map(|one| one.as_primitive::<Int64Type>().iter()) {
            let Some(number) = number else {
                answers.push(None);
                continue;
            };
            let found = i32::try_from(number).ok().and_then(|number| self.activities.find(number));
            if let Some(activity) = &found {
                let asked = require_signal_right(&self.settings, activity, self.request);
                asked.map_err(|error| DataFusionError::External(Box::new(error)))?;
                activity.ask(self.request);
            }
            answers.push(Some(found.is_some()));
        }
        let answers: Arc<dyn Array> = Arc::new(BooleanArray::from(answers));
        Ok(ColumnarValue::Array(answers))
    }
}
