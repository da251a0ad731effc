//! What can be said of expressions and operators without statistics.

mod constant_value;
mod fallibility;
mod merged_queries;
mod open_order;
mod row_count;

pub(crate) use constant_value::{constant_of, constant_value, fails_at_once};
pub(crate) use fallibility::{
    aggregate_never_fails, is_comparison, is_like, is_one_to_one, is_total, may_move, never_fails,
    own_query_never_fails, query_never_fails,
};
pub(crate) use merged_queries::is_merged;
pub(crate) use open_order::{has_fixed_count, has_open_order};
pub(crate) use row_count::{
    constant_count, has_exactly_one_row, has_one_partner_at_most, has_one_row_at_most,
};
