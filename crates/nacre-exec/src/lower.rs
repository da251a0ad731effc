//! Lowering: from the typed algebra of a bound query to a physical plan.
//!
//! 1. Operators are lowered from the top down with the columns that are needed (`relations`), so
//!    that a scan reads no other. Conditions right above it that it can decide on encoded values
//!    become its predicates (`scans`, `predicates`).
//! 2. Expressions become nodes of a graph (`expressions`); each has a form (`form`), which says
//!    what its physical values stand for: the scale of a decimal, days, characters without blanks.
//!    Comparisons of the same values with many constants become one look-up (`row_sets`).
//! 3. Operators, functions and aggregates are recognised by OID (`operators`), casts by the types
//!    that they are between. What has no columns is computed here (`fold`).
//! 4. Equalities between both sides of a join become its keys (`joins`), its other conditions are
//!    evaluated for pairs; the left side streams through, the right one is collected, unless the
//!    join is about the left side's rows alone and that is much smaller (`join_sides`).
//! 5. Rows that are written out are computed here (`constant_rows`); set operations append the rows
//!    of their inputs, and count them in groups (`set_operations`). What a series counts is known
//!    here, its rows are made when the query runs (`series`); so are other sets (`sets`).
//! 6. Conditions without columns are decided here (`constants`); if they are not true, nothing
//!    below them is part of the plan (`emptiness`).
//! 7. Averages, quotients and what is made of them above groups is evaluated on SQL values, most
//!    of it when the answer is read by [`QueryOutput::value`] (`late`).
//! 8. Queries that are computed once are lowered first; what reads them has their columns
//!    (`common`, `recursion`), or their value (`once`); so are those that expressions call
//!    (`called`).
//! 9. Windows that one sort serves become one node (`windows`), frames distances of physical values
//!    (`window_frames`).
//! 10. For EXPLAIN each operator is measured: a node above it counts its rows. The plan is the
//!     same otherwise, since every look at the kind of a node looks through that one.
//!
//! # Invariants
//! 1. Nothing is guessed: what the executor has not with exactly PostgreSQL's meaning, in types,
//!    scales, nulls and errors, is [`LoweringError::NotSupported`], and another engine may run it.
//! 2. A plan holds a snapshot and nothing else that changes: bounds that prove overflow away are
//!    looked up at each execution, from what the chunks say then.
//! # Differences from PostgreSQL
//! 1. A numeric of more than 38 digits that an expression or sum makes is an error of execution.
//! 2. A restriction that the scan decides comes first: an error in another condition of the same
//!    AND is raised only for rows that it keeps. PostgreSQL leaves the order open, too.
//! # Source
//! PostgreSQL 15 documentation, chapters 7 (queries), 8 (types), 9 (functions and operators).
//! # See
//! `tests/lowering.rs` runs statements over frozen and hot rows, against plain loops and against
//! PostgreSQL's own answers in `tests/answers`.

mod aggregates;
mod called;
mod columns;
mod common;
mod constant_rows;
mod constants;
mod date_field;
mod emptiness;
mod error;
mod exact_arithmetic;
mod exact_joins;
mod exact_nodes;
mod expressions;
mod fold;
mod folds;
mod form;
mod given_rows;
mod join_keys;
mod join_sides;
mod joins;
mod kept;
mod levels;
mod like;
mod limits;
mod once;
mod operators;
mod predicates;
mod query;
mod recursion;
mod relations;
mod row_call;
mod row_expression;
mod row_nodes;
mod row_sets;
mod scans;
mod series;
mod session;
mod set_operations;
mod sets;
mod stored;
mod substring;
mod text_length;
mod window_frames;
mod windows;

use nacre_plan::algebra::{ColumnId, QueryPlan};
use nacre_plan::optimizer::RowEstimates;
use nacre_types::ValueSettings;

use crate::plan::{CommonNode, PhysicalPlan, PlanNode};

pub use error::LoweringError;
pub use form::column_sql_type;
pub use given_rows::{GivenColumn, GivenRows, StoredColumnValues};
pub use levels::require_levels;
pub use query::{OutputForm, PhysicalQuery, QueryOutput};
pub use stored::{StoredRelation, StoredRelations};

/// Deepest plan: below the 1,000 levels that the executor opens.
const LEVELS_MAX: usize = 900;

/// Makes the physical plan of a bound query, for one execution by a session with these settings.
///
/// ```text
/// select sum(price * discount) from t where day < date '1995-01-01' and price % 2 = 0
/// Aggregate [sum 0] <- Map [0 * 1] <- Filter [0 % 2 = 0] <- Scan [price, discount], day Lt 9131
/// ```
///
/// # Errors
/// [`LoweringError::NotSupported`] names what the executor has not with the same meaning;
/// [`LoweringError::Stopped`] within [`nacre_plan::control::until_stopped`].
pub fn lower_query(
    query: &QueryPlan,
    relations: &dyn StoredRelations,
    settings: &ValueSettings,
) -> Result<PhysicalQuery, LoweringError> {
    session::with_settings(settings, || lower_outputs(query, relations, None))
}

/// As [`lower_query`], for EXPLAIN: operators are measured and know how many rows are expected.
///
/// # Errors
/// As for [`lower_query`].
pub fn lower_measured_query(
    query: &QueryPlan,
    relations: &dyn StoredRelations,
    estimates: &RowEstimates<'_>,
    settings: &ValueSettings,
) -> Result<PhysicalQuery, LoweringError> {
    session::with_settings(settings, || {
        let mut lowered = lower_outputs(query, relations, Some(estimates))?;
        lowered.plan.root.measure_all();
        Ok(lowered)
    })
}

fn lower_outputs(
    query: &QueryPlan,
    relations: &dyn StoredRelations,
    estimates: Option<&RowEstimates<'_>>,
) -> Result<PhysicalQuery, LoweringError> {
    let mut needed: Vec<ColumnId> = Vec::with_capacity(query.outputs.len());
    for output in &query.outputs {
        if !needed.contains(&output.column) {
            needed.push(output.column);
        }
    }
    let (relations, common) = common::lower_common(query, relations, estimates)?;
    let root = relations::lower_relation(&relations, &query.root, &needed)?;
    let common = common::without_unread(common, &root.node);
    let node = if common.is_empty() {
        root.node
    } else {
        PlanNode::Common(Box::new(CommonNode { queries: common, input: root.node }))
    };
    if node.depth() > LEVELS_MAX {
        return Err(levels::too_many_levels());
    }
    let mut outputs = Vec::with_capacity(query.outputs.len());
    for output in &query.outputs {
        let place = root.columns.get(output.column)?;
        let (name, sql_type) = (output.name.clone(), output.sql_type);
        outputs.push(QueryOutput { name, sql_type, place });
    }
    Ok(PhysicalQuery { plan: PhysicalPlan { root: node }, outputs })
}
