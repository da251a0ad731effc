//! The vectorized interpreter: runs a program's sub-operators on a batch, one after the other.
//!
//! Loops are compiled once for each SIMD flavour ([`loops`]). A sub-operator that cannot fail works
//! on all rows of the batch, selected or not: at least a quarter of them are.

mod arithmetic;
mod cast;
mod choose;
mod compare;
mod logic;
mod loops;
mod step;
#[cfg(test)]
mod tests;

pub(crate) use logic::true_bits;
pub(crate) use loops::{GroupSums, count_ones, equal_bits, map as vector_map, sum_masked};
pub(crate) use step::StepInterpreter;
