//! `repeat`, `lpad`, `rpad`, `replace` and `regexp_replace`, whose results may be much longer than
//! what they are made of: they ask for memory before they take it.
//!
//! A value has at most [`VALUE_BYTES_MAX`] bytes, as in PostgreSQL. What a batch of rows takes is
//! taken from what all queries share for as long as the batch is computed.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool};
use datafusion::functions::{regex, string, unicode};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use crate::error::{Error, ErrorKind};
use crate::from_datafusion::external;
use crate::planning::check_given_up;

/// The longest text or byte string.
const VALUE_BYTES_MAX: u64 = (1 << 30) - 1;

/// Batches whose results are shorter need not ask.
const BATCH_BYTES_FREE: u64 = 1 << 20;

/// A number of bytes, by the lengths of texts and the values of numbers.
type Length = fn(&[u64]) -> u64;

struct Bounded {
    planned: Arc<ScalarUDF>,
    /// What is asked for, which has a limit.
    asked: Length,
    /// What it may take.
    taken: Length,
    pool: Arc<dyn MemoryPool>,
}

/// Makes the functions, which take memory from `pool`.
pub(crate) fn bounded(pool: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let repeated: Length = |parts| part(parts, 0).saturating_mul(part(parts, 1));
    let characters: Length = |parts| part(parts, 1);
    // A character has up to four bytes.
    let padded: Length = |parts| part(parts, 1).saturating_mul(4);
    let replaced: Length = |parts| {
        let places = part(parts, 0) / part(parts, 1).max(1) + 1;
        part(parts, 0).saturating_add(places.saturating_mul(part(parts, 2)))
    };
    // A pattern may match between any two bytes, with flags everywhere. What a group matched takes
    // two bytes to name, and those that one name stands for are no longer than the text together.
    let matched: Length = |parts| {
        let (text, with) = (part(parts, 0), part(parts, 2));
        let places = if parts.len() > 3 { text.saturating_add(1) } else { 1 };
        let groups = (with / 2).saturating_mul(text);
        text.saturating_add(places.saturating_mul(with)).saturating_add(groups)
    };
    let functions = [
        (string::repeat(), repeated, repeated),
        (unicode::lpad(), characters, padded),
        (unicode::rpad(), characters, padded),
        // Most have fewer places than they may have.
        (string::replace(), |_: &[u64]| 0, replaced),
        (regex::regexp_replace(), matched, matched),
    ];
    let made = functions.into_iter().map(|(planned, asked, taken)| {
        let pool = Arc::clone(pool);
        Arc::new(ScalarUDF::new_from_impl(Bounded { planned, asked, taken, pool }))
    });
    made.collect()
}

fn part(parts: &[u64], place: usize) -> u64 {
    parts.get(place).copied().unwrap_or(0)
}

impl Bounded {
    /// Returns how many bytes the results of a batch take at most.
    fn bytes(&self, args: &[ColumnarValue], rows: usize) -> Result<u64> {
        let is_constant = args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { rows };
        let lengths: Vec<Lengths> =
            args.iter().map(|arg| Lengths::of(arg, rows)).collect::<Result<_>>()?;
        let mut parts = vec![0; lengths.len()];
        let mut sum = 0_u64;
        for row in 0..rows {
            for (part, of) in parts.iter_mut().zip(&lengths) {
                *part = of.at(row);
            }
            if (self.asked)(&parts) > VALUE_BYTES_MAX {
                let error = Error::new(ErrorKind::InvalidData, "requested length too large");
                return Err(external(error.with_code("54000")));
            }
            sum = sum.saturating_add((self.taken)(&parts));
        }
        Ok(sum)
    }
}

/// The lengths of texts, or the values of numbers.
enum Lengths {
    Same(u64),
    Each(Vec<u64>),
}

impl Lengths {
    fn of(value: &ColumnarValue, rows: usize) -> Result<Self> {
        let array: ArrayRef = match value {
            ColumnarValue::Array(array) => Arc::clone(array),
            ColumnarValue::Scalar(scalar) => scalar.to_array()?,
        };
        let lengths: Vec<u64> = match array.data_type() {
            DataType::Utf8 => lengths(array.as_string::<i32>().iter()),
            DataType::LargeUtf8 => lengths(array.as_string::<i64>().iter()),
            DataType::Utf8View => lengths(array.as_string_view().iter()),
            one if one.is_integer() => {
                let numbers = cast(&array, &DataType::Int64)?;
                let numbers = numbers.as_primitive::<Int64Type>().iter();
                numbers.map(|one| u64::try_from(one.unwrap_or(0)).unwrap_or(0)).collect()
            }
            _ => vec![0; array.len()],
        };
        Ok(match (value, lengths.as_slice()) {
            (ColumnarValue::Scalar(_), [one]) if rows != 1 => Self::Same(*one),
            _ => Self::Each(lengths),
        })
    }

    fn at(&self, row: usize) -> u64 {
        match self {
            Self::Same(one) => *one,
            Self::Each(each) => each.get(row).copied().unwrap_or(0),
        }
    }
}

fn lengths<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Vec<u64> {
    texts.map(|text| text.map_or(0, |text| text.len() as u64)).collect()
}

impl fmt::Debug for Bounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.planned == other.planned
    }
}

impl Eq for Bounded {}

impl Hash for Bounded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.planned.hash(state);
    }
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.planned.name()
    }

    fn signature(&self) -> &Signature {
        self.planned.signature()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.planned.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.planned.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        check_given_up()?;
        self.planned.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let bytes = self.bytes(&args.args, args.number_rows)?;
        let reservation = MemoryConsumer::new(self.name().to_owned()).register(&self.pool);
        if bytes > BATCH_BYTES_FREE {
            reservation.try_grow(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        }
        self.planned.invoke_with_args(args)
    }
}
