//! `bool_and`, `bool_or`, `every`, and the aggregates of bits.

use nacre_types::{BitString, SqlValue, ValueError};

use super::{AggregateKernel, AggregateState, argument, mismatch};

/// Puts two bits together.
type BitOperation = fn(u64, u64) -> u64;

/// Returns the kernel of an aggregate of that name.
pub(super) fn kernel(name: &str) -> Option<AggregateKernel> {
    Some(AggregateKernel::of_values(match name {
        "bool_and" | "every" | "bit_and" => |_| BitState::start("AND", |one, other| one & other),
        "bool_or" | "bit_or" => |_| BitState::start("OR", |one, other| one | other),
        "bit_xor" => |_| BitState::start("XOR", |one, other| one ^ other),
        _ => return None,
    }))
}

struct BitState {
    word: &'static str,
    operation: BitOperation,
    value: SqlValue,
}

impl BitState {
    fn start(word: &'static str, operation: BitOperation) -> Box<dyn AggregateState> {
        Box::new(Self { word, operation, value: SqlValue::Null })
    }

    fn combined(&self, value: &SqlValue) -> Result<SqlValue, ValueError> {
        let join = self.operation;
        // Of words of fewer bits the lowest are right.
        Ok(match (&self.value, value) {
            (SqlValue::Null, value) => value.clone(),
            (SqlValue::Boolean(one), SqlValue::Boolean(other)) => {
                SqlValue::Boolean(join((*one).into(), (*other).into()) == 1)
            }
            (SqlValue::SmallInt(one), SqlValue::SmallInt(other)) => {
                SqlValue::SmallInt(join(*one as u64, *other as u64) as i16)
            }
            (SqlValue::Integer(one), SqlValue::Integer(other)) => {
                SqlValue::Integer(join(*one as u64, *other as u64) as i32)
            }
            (SqlValue::BigInt(one), SqlValue::BigInt(other)) => {
                SqlValue::BigInt(join(*one as u64, *other as u64) as i64)
            }
            (SqlValue::Bits(one), SqlValue::Bits(other)) => {
                if one.bits().len() != other.bits().len() {
                    let message = format!("cannot {} bit strings of different sizes", self.word);
                    return Err(ValueError::length_mismatch(message));
                }
                let pairs = one.bits().iter().zip(other.bits());
                let bits = pairs.map(|(one, other)| join((*one).into(), (*other).into()) == 1);
                SqlValue::Bits(BitString::new(bits.collect()))
            }
            _ => return Err(mismatch()),
        })
    }
}

impl AggregateState for BitState {
    fn add(&mut self, row: &[SqlValue]) -> Result<(), ValueError> {
        self.value = self.combined(argument(row, 0)?)?;
        Ok(())
    }

    fn value(&self) -> Result<SqlValue, ValueError> {
        Ok(self.value.clone())
    }
}
