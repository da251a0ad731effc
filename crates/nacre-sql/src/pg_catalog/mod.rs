//! PostgreSQL's catalogs: `pg_catalog` and `information_schema`, and the functions over them.
//!
//! - [`pg_columns`] and [`information_columns`] list the tables of PostgreSQL 15 with their
//!   columns; all of them are there, most without rows.
//! - [`objects`] collects what users made and numbers it; [`relation_rows`], [`view_rows`],
//!   [`information_rows`], [`type_rows`] and [`fixed`] make rows of it, [`statistics_rows`] of what
//!   planners know of columns, and [`activity_rows`] and [`lock_rows`] of the sessions, which
//!   [`cells`] puts into columns and [`provider`] hands to the planner.
//! - [`functions`] are those that read the catalogs, [`arrays`] those over arrays that clients ask
//!   the catalogs with; [`definitions`] writes types and objects as SQL.
//! - [`rewrite`] and [`expand`] bring what clients send into a form that the planner knows;
//!   [`output`] shows numbers of objects by their names.
//! - [`roles`] is the one place that says who there is and what he may do.
//!
//! # Invariants
//! 1. A catalog has PostgreSQL 15's columns in their order. A type that Nacre does not have is
//!    shown as text.
//! 2. A query sees the objects as they were when it was planned; those that its own transaction
//!    has not committed, too.

mod activity_rows;
mod array_casts;
mod array_syntax;
mod arrays;
mod cells;
mod definitions;
mod effects;
mod expand;
mod fixed;
mod functions;
mod information_columns;
mod information_rows;
mod keywords;
mod lock_rows;
mod names;
mod objects;
mod output;
mod pg_columns;
mod privileges;
mod provider;
mod relation_rows;
mod rewrite;
mod roles;
mod session_catalog;
mod session_facts;
mod statistics_rows;
mod type_rows;
mod typed;
mod values;
mod view_rows;
mod virtual_tables;

pub(crate) use array_casts::read_array;
pub(crate) use array_syntax::check_cast;
pub(crate) use functions::functions;
pub(crate) use objects::table_number;
pub(crate) use output::shown;
pub(crate) use provider::{
    CatalogSchema, CatalogSources, Catalogs, INFORMATION_SCHEMA, PG_CATALOG, catalog_columns,
};
pub(crate) use rewrite::{call, expression, select, table_factor};
pub(crate) use session_catalog::SessionCatalog;
pub(crate) use session_facts::{role, schemas};
pub(crate) use typed::{array_elements, array_function, text_function};
pub(crate) use virtual_tables::{virtual_table, virtual_table_of};
