//! From the tree to text.
use crate::tree::Statement;
/// Prints.
pub fn to_sql(_: &Statement) -> String { String::new() }
