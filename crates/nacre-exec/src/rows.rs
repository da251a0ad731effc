//! Rows that no table has: constant ones, and rows that are handed on more than once.

mod constant;
mod repeat;

pub(crate) use constant::ConstantRowSource;
pub(crate) use repeat::RepeatSource;
