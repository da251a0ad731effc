//! Gives a query PostgreSQL's meaning: names, functions, operators and types.
//!
//! A query is bound clause by clause: FROM makes a [`scope::Scope`], expressions are bound in it,
//! aggregates are collected last. What is not there yet is refused with 0A000.
//!
//! # Invariants
//! 1. Errors are PostgreSQL's, in the order in which it finds them within a clause.
//! 2. A bound query has no [`crate::algebra::ScalarKind::UnknownLiteral`], no
//!    [`crate::algebra::ScalarKind::Aggregate`], no [`crate::algebra::ScalarKind::Window`] and no
//!    [`crate::algebra::ScalarKind::Subquery`] in its expressions.
//! # Source
//! PostgreSQL 15 documentation, chapters 4 (syntax), 7 (queries) and 10 (types).

mod aggregation;
mod array_values;
mod arrays;
mod called_queries;
mod calls;
mod changed_rows;
mod coercions;
mod column_hints;
mod conditionals;
mod conflict_rows;
mod constant_columns;
mod expressions;
mod first_rows;
mod grouping;
mod inserted_rows;
mod joins;
mod labels;
mod lateral;
mod literals;
mod merged_rows;
mod named_arguments;
mod operators;
mod ordered_calls;
mod ordering;
mod pair_queries;
mod parameters;
mod predicates;
mod proofs;
mod recursion;
mod returned_rows;
mod row_comparisons;
mod samples;
mod scope;
mod select;
mod set_functions;
mod set_operations;
mod set_outputs;
mod sharing;
mod special_calls;
mod subqueries;
mod subquery_expressions;
mod subquery_joins;
mod table_functions;
mod tested_rows;
mod type_names;
mod values;
mod views;
mod window_frames;
mod windows;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use nacre_functions::resolution::RowColumn;
use nacre_syntax::{QueryExpression, SourceRange};
use nacre_types::{SqlType, ValueSettings};

pub use changed_rows::{ChangedColumn, ChangedRows, RowChangingStatement, bind_changed_rows};
pub use conflict_rows::{ConflictRows, bind_conflict_rows};
pub use inserted_rows::bind_inserted_rows;
pub use merged_rows::{MergedClause, MergedRows, bind_merged_rows};
use recursion::OpenRecursion;
pub use returned_rows::{ReturnedRows, ReturningStatement, bind_returned_rows};
use scope::OuterScope;
use sharing::{CommonUses, WithPlace};
use subqueries::{BoundQuery, WithQuery};
use windows::WrittenWindow;

use crate::algebra::{AggregateColumn, ColumnId, CommonQuery, QueryColumns, QueryPlan};
use crate::definition::RelationCatalog;
use crate::error::BindError;
use crate::folding::{ConstantColumns, fold_plan};

/// Deepest nesting of bound expressions: later passes recurse over them, at most a few hundred
/// bytes of stack a level.
const EXPRESSION_DEPTH_MAX: usize = 1_000;

/// Expressions that may be copied, for forms that compare one operand several times: nested into
/// each other these double with each level.
const EXPRESSIONS_COPIED_MAX: usize = 10_000;

/// Tables that a query may read, with those of WITH as often as they are referred to: planning
/// takes the square of their number.
const TABLES_MAX: usize = 600;

/// Columns of all tables that a query reads.
const COLUMNS_MAX: usize = 50_000;

/// Columns of an answer, as in PostgreSQL.
const OUTPUTS_MAX: usize = 1_664;

/// What binding a query needs.
pub(crate) struct Binder<'a> {
    catalog: &'a dyn RelationCatalog,
    /// How texts of values are read.
    settings: &'a ValueSettings,
    columns: QueryColumns,
    parameters: Vec<Option<SqlType>>,
    depth: usize,
    copied: usize,
    /// Names that WITH has given, the innermost last.
    common: Vec<WithQuery>,
    /// Those of WITH RECURSIVE that are being bound, the innermost last.
    recursions: Vec<OpenRecursion>,
    /// Names of WITH RECURSIVE that come later.
    later_names: Vec<String>,
    uses: CommonUses,
    /// Queries of WITH that are computed once.
    shared: BTreeSet<WithPlace>,
    /// Those, as they were bound.
    common_queries: Vec<CommonQuery>,
    /// The error of a query that is read twice and must be computed once.
    unshared: Option<BindError>,
    /// Tables around the present query that it cannot name.
    out_of_reach: Vec<String>,
    /// What the queries around the present one see where it stands in an expression of theirs, the
    /// innermost last.
    outer_scopes: Vec<OuterScope>,
    /// Aggregates of each SELECT that is being bound, the innermost last, that queries within its
    /// expressions have written.
    outer_aggregates: Vec<Vec<AggregateColumn>>,
    query_depth: usize,
    query_count: usize,
    table_count: usize,
    /// Those above each other.
    set_operation_count: usize,
    /// Whether the query that is bound next is an operand of a set operation, so that its literals
    /// keep their lack of a type.
    is_set_operand: bool,
    /// The view that the present query is of, or within; schema and name.
    view: Option<Rc<(String, String)>>,
    /// Whether the present SELECT has LIMIT or OFFSET.
    has_limit: bool,
    /// Columns of each FROM that is being bound, the innermost last, that are constants; `None` if
    /// they are none to the query around them.
    constants: Vec<Option<ConstantColumns>>,
    /// Outputs of queries with groups or windows: no constants to the queries around these.
    unmerged_columns: HashSet<ColumnId>,
    /// Columns that folding has taken out of queries within expressions, and where they stood.
    folded_names: Vec<(SourceRange, ColumnId)>,
    /// Columns that names have meant, in the order of the text.
    named_columns: Vec<ColumnId>,
    /// The fields of columns whose values are rows.
    row_columns: HashMap<ColumnId, Vec<RowColumn>>,
    /// Windows of the present SELECT: those of its WINDOW clause, then those of calls.
    windows: Vec<WrittenWindow>,
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
    bind_parameterized(catalog, settings, query, &[])
}

/// Binds a query with parameters, of which the first ones have declared types; others get theirs
/// from their places.
///
/// # Errors
/// As [`bind_query`].
pub fn bind_parameterized(
    catalog: &dyn RelationCatalog,
    settings: &ValueSettings,
    query: &QueryExpression,
    declared: &[Option<SqlType>],
) -> Result<QueryPlan, BindError> {
    let bind = |binder: &mut Binder<'_>| Ok((binder.bind_query(query)?, ()));
    bind_sharing_queries(catalog, settings, declared, bind).map(|(plan, ())| plan)
}

/// Calls `bind`, which makes a query and more; queries of WITH are computed once where that can be
/// done.
fn bind_sharing_queries<T>(
    catalog: &dyn RelationCatalog,
    settings: &ValueSettings,
    declared: &[Option<SqlType>],
    bind: impl Fn(&mut Binder<'_>) -> Result<(BoundQuery, T), BindError>,
) -> Result<(QueryPlan, T), BindError> {
    let (bound, uses) = bind_sharing(catalog, settings, declared, BTreeSet::new(), &bind);
    let mut shared = uses.shared();
    if shared.is_empty() || bound.as_ref().is_err_and(|error| !error.is_own_limit) {
        return bound;
    }
    loop {
        let (again, uses) = bind_sharing(catalog, settings, declared, shared.clone(), &bind);
        let known = shared.len();
        match again {
            // Names that are read twice by others that are read twice: further ones were found.
            Err(error) if error.is_own_limit && bound.is_err() => shared.extend(uses.shared()),
            Err(error) if error.is_own_limit => return bound,
            other => return other,
        }
        if shared.len() == known {
            return bound;
        }
    }
}

/// Calls `bind`, with `shared` computed once; returns how queries of WITH are read, too.
fn bind_sharing<T>(
    catalog: &dyn RelationCatalog,
    settings: &ValueSettings,
    declared: &[Option<SqlType>],
    shared: BTreeSet<WithPlace>,
    bind: &impl Fn(&mut Binder<'_>) -> Result<(BoundQuery, T), BindError>,
) -> (Result<(QueryPlan, T), BindError>, CommonUses) {
    let mut binder = Binder {
        catalog,
        settings,
        columns: QueryColumns::default(),
        parameters: declared.to_vec(),
        depth: 0,
        copied: 0,
        common: Vec::new(),
        recursions: Vec::new(),
        later_names: Vec::new(),
        uses: CommonUses::default(),
        shared,
        common_queries: Vec::new(),
        unshared: None,
        out_of_reach: Vec::new(),
        outer_scopes: Vec::new(),
        outer_aggregates: Vec::new(),
        query_depth: 0,
        query_count: 0,
        table_count: 0,
        set_operation_count: 0,
        is_set_operand: false,
        view: None,
        has_limit: false,
        constants: Vec::new(),
        unmerged_columns: HashSet::new(),
        folded_names: Vec::new(),
        named_columns: Vec::new(),
        row_columns: HashMap::new(),
        windows: Vec::new(),
    };
    let bound = bind(&mut binder);
    let Binder { columns, parameters, common_queries: common, unshared, uses, .. } = binder;
    let require_later = |((root, _), _): &(BoundQuery, T)| {
        let roots = common.iter().map(|query| &query.root).chain([root]);
        roots.into_iter().try_for_each(lateral::require_later_conditions)
    };
    let bound = match (bound, unshared) {
        (Ok(_), Some(error)) => Err(error),
        (bound, _) => bound,
    };
    let bound = bound.and_then(|bound| require_later(&bound).map(|()| bound));
    let plan = |((root, outputs), more)| {
        let mut plan = QueryPlan { columns, common, root, outputs, parameters };
        fold_plan(&mut plan);
        (plan, more)
    };
    (bound.map(plan), uses)
}
