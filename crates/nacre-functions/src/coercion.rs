//! From which type a value may go to which other one.
//!
//! # Invariants
//! 1. A literal without a type ([`TypeOid::UNKNOWN`]) may become anything: whether its text is a
//!    value of the type is seen when it is read.
//! 2. What may be done in one [`CastContext`] may be done in the later ones.
//! # Source
//! PostgreSQL 15 documentation, 10.3 (functions), 10.4 (value storage), 10.5 (UNION, CASE), and
//! 38.2.5 (polymorphic types).

mod common_type;
mod pathway;
mod polymorphic;

pub use common_type::{CommonTypeError, common_type};
pub use pathway::{CoercionPathway, can_coerce, can_coerce_all, find_pathway, is_immutable_cast};
pub use polymorphic::{PolymorphismError, is_polymorphic, resolve_polymorphic};
