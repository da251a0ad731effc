//! Roles, owners and grants.
//!
//! The store keeps them beside what they are about and asks nobody for anything: who may do what is
//! decided above it. What is not said belongs to the bootstrap superuser, and nothing is granted.
//!
//! [`role`] and [`object`] are the definitions, [`state`] is all of them at a time, [`changes`] how
//! they become others: at once, or with a transaction's draft.
//!
//! # Invariants
//! 1. A role's number is never another role's, so a session that outlives its role is nobody's.
//! 2. What an object has goes with it: dropped with it, renamed with it, and not there for the next
//!    one of its name.
//! 3. Every role that owns something, or is granted something, is there.

mod changes;
mod object;
mod role;
mod state;

pub use changes::AccessChange;
pub(crate) use changes::AccessChanges;
pub use object::{Grant, ObjectAccess, PUBLIC_ROLE, Securable};
pub use role::{BOOTSTRAP_ROLE, BOOTSTRAP_ROLE_OID, Membership, RoleDef};
pub use state::AccessState;
