//! What can be said of expressions and operators without statistics.

mod fallibility;
mod known_parts;
mod open_order;
mod row_count;

pub(crate) use fallibility::{
    aggregate_never_fails, is_comparison, is_like, is_one_to_one, is_total, may_move, never_fails,
    own_query_never_fails, query_never_fails,
};
pub(crate) use known_parts::{constant_of, may_fail_at_once};
pub(crate) use open_order::{has_fixed_count, has_open_order};
pub(crate) use row_count::{
    constant_count, has_exactly_one_row, has_one_partner_at_most, has_one_row_at_most,
};
