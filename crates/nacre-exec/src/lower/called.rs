//! Queries that expressions call for rows of arguments.
//!
//! They are known to the thread that lowers a query, as values that are computed once are
//! ([`super::once`]). Arguments and values have the forms that all values of their types have.

use std::cell::RefCell;
use std::sync::Arc;

use nacre_plan::algebra::CommonQuery;
use nacre_types::SqlType;

use super::common::CommonRelations;
use super::error::{LoweringError, LoweringResult};
use super::form::ValueForm;
use super::kept::with_kept_parts;
use super::recursion::{
    bounds_of_type, columns_of, form_of_type, in_forms, own_rows, without_repeated,
};
use super::relations::lower_relation;
use crate::expression::{ForeignCall, ForeignFunction};
use crate::plan::{CalledNode, CalledQuery, PlanNode, RecursionColumn};
use crate::rows::call_query;
use crate::value::IntBounds;
use crate::vector::ColumnVector;

/// A query that expressions may call.
#[derive(Clone)]
pub(super) struct KnownCall {
    query: Arc<CalledQuery>,
    pub(super) arguments: Vec<ValueForm>,
    pub(super) form: ValueForm,
    pub(super) function: ForeignFunction,
    is_called: bool,
}

/// A query, or why it cannot be called, by index.
type KnownCalls = Vec<Option<LoweringResult<KnownCall>>>;

thread_local! {
    static CALLS: RefCell<KnownCalls> = const { RefCell::new(Vec::new()) };
}

/// Forgets the calls of another query; there may be `count` of this one.
pub(super) fn forget_calls(count: usize) {
    CALLS.with_borrow_mut(|calls| {
        calls.clear();
        calls.resize(count, None);
    });
}

/// Keeps the error of a query for the expression that calls it, if one does.
pub(super) fn add_failed_call(index: usize, error: LoweringError) {
    note_call(index, Err(error));
}

fn note_call(index: usize, known: LoweringResult<KnownCall>) {
    CALLS.with_borrow_mut(|calls| {
        if let Some(place) = calls.get_mut(index) {
            *place = Some(known);
        }
    });
}

/// Returns a query for an expression that calls it.
///
/// # Errors
/// That of lowering it.
pub(super) fn find_call(index: usize) -> LoweringResult<KnownCall> {
    CALLS.with_borrow_mut(|calls| {
        let known = calls.get_mut(index).and_then(Option::as_mut);
        let known = known.ok_or_else(|| LoweringError::contradiction("an unknown call"))?;
        let known = known.as_mut().map_err(|error| error.clone())?;
        known.is_called = true;
        Ok(known.clone())
    })
}

/// Whether an expression calls a query.
pub(super) fn is_called(query: &Arc<CalledQuery>) -> bool {
    CALLS.with_borrow(|calls| {
        let mut known = calls.iter().flatten().flatten();
        known.any(|known| known.is_called && Arc::ptr_eq(&known.query, query))
    })
}

/// Lowers a query that is called with arguments of these types, whose node is the one at `place`,
/// and adds it to the relations: it reads the arguments by its own index.
///
/// # Errors
/// [`LoweringError::NotSupported`] for types without a form.
pub(super) fn lower_called(
    relations: &mut CommonRelations<'_>,
    common: &CommonQuery,
    types: &[SqlType],
    place: usize,
) -> LoweringResult<PlanNode> {
    let index = relations.common.len();
    let types: Vec<SqlType> = [SqlType::BIGINT].iter().chain(types).copied().collect();
    let forms = types.iter().map(|own| form_of_type(*own)).collect::<LoweringResult<Vec<_>>>()?;
    relations.common.push(Some(own_rows(&common.name, place, &forms)));
    let own = common.types.iter().map(|own| form_of_type(*own));
    let own = own.collect::<LoweringResult<Vec<_>>>()?;
    let lowered = lower_relation(relations, &common.root, &without_repeated(&common.outputs))?;
    let lowered = in_forms(lowered, &common.outputs, &own)?;
    let (Some(form), Some(result)) = (own.last(), common.types.last()) else {
        return Err(LoweringError::contradiction("a called query without a value"));
    };
    let arguments = columns_of(&types, &forms);
    let query = Arc::new(CalledQuery::default());
    let function = function_of(&query, &arguments[1..], *form, *result);
    let known = KnownCall {
        query: Arc::clone(&query),
        arguments: forms[1..].to_vec(),
        form: *form,
        function,
        is_called: false,
    };
    note_call(index, Ok(known));
    let outputs = columns_of(&common.types, &own);
    let input = with_kept_parts(lowered.node);
    Ok(PlanNode::Called(Box::new(CalledNode { input, arguments, outputs, query })))
}

fn function_of(
    query: &Arc<CalledQuery>,
    arguments: &[RecursionColumn],
    form: ValueForm,
    result: SqlType,
) -> ForeignFunction {
    let (query, arguments) = (Arc::clone(query), arguments.to_vec());
    let kernel = move |call: &ForeignCall<'_>, out: &mut ColumnVector| {
        call_query(&query, &arguments, call, out)
    };
    let bounds: IntBounds = bounds_of_type(result);
    ForeignFunction::new("query", kernel, form.class(), bounds, true)
}
