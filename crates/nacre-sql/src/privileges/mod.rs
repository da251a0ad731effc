//! Roles and privileges: who may do what, and the statements that say so.
//!
//! 1. [`rights`] are the privileges, and what of them a role has by its memberships.
//! 2. [`check`] is asked before anything is done: by the catalog for each name that a query reads
//!    ([`crate::catalog`]), by `dml`, `copy` and `short` for what they write, by [`definitions`]
//!    for what is created, altered and dropped, by functions of sequences for these.
//! 3. [`syntax`] reads CREATE ROLE, GRANT and the like, [`roles`], [`members`], [`grants`],
//!    [`owners`] and [`drop_owned`] run them.
//!
//! # Invariants
//! 1. Who is asked about is the role that the session acts as when the statement begins, as
//!    [`crate::settings`] tells; a view reads as its owner.
//! 2. A plan that is kept is checked again whenever roles, owners or grants may be others: it
//!    remembers the stamp of the role that it was checked for.
//! 3. A password in clear is hashed where it is read and goes no further.

mod acl;
mod check;
mod definitions;
mod drop_owned;
mod grants;
mod members;
mod owners;
mod rights;
mod roles;
mod statement;
mod syntax;

pub(crate) use acl::{acl_text, grant_rows};
pub(crate) use check::{Acting, insufficient};
pub(crate) use definitions::require_definition;
pub(crate) use rights::{
    CONNECT, DELETE, INSERT, Kind, Rights, SELECT, TRUNCATE, UPDATE, USAGE, WORDS, administers,
    default_grants, grantable_by, grants_of, inherits, is_member, rights_of,
};
pub(crate) use statement::{PrivilegeStatement, parse_privileges};
