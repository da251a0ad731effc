//! Gives a query PostgreSQL's meaning: names, functions, operators and types.
//!
//! A query is bound clause by clause: FROM makes a [`scope::Scope`], expressions are bound in it,
//! aggregates are collected last. What is not there yet is refused with 0A000.
//!
//! # Invariants
//! 1. Errors are PostgreSQL's, in the order in which it finds them within a clause.
//! 2. A bound query has no [`crate::algebra::ScalarKind::UnknownLiteral`] and no
//!    [`crate::algebra::ScalarKind::Aggregate`] in its expressions.
//! # Source
//! PostgreSQL 15 documentation, chapters 4 (syntax), 7 (queries) and 10 (types).

mod aggregation;
mod calls;
mod coercions;
mod conditionals;
mod expressions;
mod joins;
mod labels;
mod literals;
mod operators;
mod ordering;
mod predicates;
mod scope;
mod select;
mod special_calls;
mod type_names;

use nacre_syntax::{QueryBody, QueryExpression};
use nacre_types::{SqlType, ValueSettings};

use crate::algebra::{QueryColumns, QueryPlan};
use crate::definition::RelationCatalog;
use crate::error::BindError;

/// Deepest nesting of bound expressions: later passes recurse over them, at most a few hundred
/// bytes of stack a level.
const EXPRESSION_DEPTH_MAX: usize = 1_000;

/// Expressions that may be copied, for forms that compare one operand several times: nested into
/// each other these double with each level.
const EXPRESSIONS_COPIED_MAX: usize = 10_000;

/// What binding a query needs.
pub(crate) struct Binder<'a> {
    catalog: &'a dyn RelationCatalog,
    /// How texts of values are read.
    settings: &'a ValueSettings,
    columns: QueryColumns,
    parameters: Vec<Option<SqlType>>,
    depth: usize,
    copied: usize,
}

/// Binds a query.
///
/// # Errors
/// What PostgreSQL refuses, and 0A000 for what is not there yet.
pub fn bind_query(
    catalog: &dyn RelationCatalog,
    settings: &ValueSettings,
    query: &QueryExpression,
) -> Result<QueryPlan, BindError> {
    let (columns, parameters) = (QueryColumns::default(), Vec::new());
    let mut binder = Binder { catalog, settings, columns, parameters, depth: 0, copied: 0 };
    if let Some(with) = &query.with {
        return Err(BindError::not_supported("WITH", with.range));
    }
    if let Some(lock) = query.locks.first() {
        return Err(BindError::not_supported("FOR UPDATE", lock.range));
    }
    match &query.body {
        QueryBody::Select(core) => {
            let (root, outputs) = binder.bind_select(core, query)?;
            let Binder { columns, parameters, .. } = binder;
            Ok(QueryPlan { columns, root, outputs, parameters })
        }
        QueryBody::Values(_)
        | QueryBody::Table(_)
        | QueryBody::Nested(_)
        | QueryBody::SetOperation { .. } => {
            Err(BindError::not_supported("this form of a query", query.range))
        }
    }
}
