//! The planner that all sessions of a database have: its options, the rules that it plans by, and
//! the functions that are the same for all. A session adds functions of its own.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::config::Dialect;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{FunctionRegistry, SessionState, SessionStateBuilder};
use datafusion::logical_expr::ScalarUDF;
use datafusion::optimizer::analyzer::resolve_grouping_function::ResolveGroupingFunction;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion::prelude::SessionConfig;

use crate::coerce::DecimalsMeetFloats;
use crate::comparable::Comparable;
use crate::functions::{
    bounded, bounded_aggregate, checked_sum, common_functions, extremes, now, ranks, rint, shown,
};
use crate::in_lists::InLists;
use crate::lazy_logic::LazyLogic;
use crate::literals::Literals;
use crate::names::{CATALOG, SCHEMA};
use crate::on_demand::BuildOnDemand;
use crate::operators::{Operators, WholeOperators};
use crate::planning::Heeding;
use crate::single_rows::SingleRows;
use crate::types::UTC;
use crate::unknown_literals::UnknownLiterals;
use crate::unnest::SubqueryValues;
use crate::window_keys::WindowKeys;
use crate::yielding::Yielding;

/// Estimated bytes and rows up to which the smaller side of a join becomes one table for all
/// threads.
const JOIN_TABLE_BYTES_MAX: usize = 64 << 20;
const JOIN_TABLE_ROWS_MAX: usize = 1 << 20;

/// Makes the functions of a session.
type MakeFunctions = Box<dyn Fn() -> Vec<Arc<ScalarUDF>> + Send + Sync>;

/// The planner's state of a session.
///
/// It has thousands of names of functions, hundreds of KiB, so it is made when a statement needs it
/// and let go when the session rests.
pub(crate) struct SessionPlanning {
    /// Of all sessions.
    base: Arc<SessionState>,
    functions: MakeFunctions,
    made: Mutex<Option<Arc<SessionState>>>,
}

impl SessionPlanning {
    /// Takes the state of the database, and what makes the functions of the session.
    pub(crate) fn new(base: Arc<SessionState>, functions: MakeFunctions) -> Self {
        Self { base, functions, made: Mutex::default() }
    }

    /// Returns the state that all sessions share.
    pub(crate) fn base(&self) -> &SessionState {
        &self.base
    }

    /// Returns the state of the session.
    pub(crate) fn state(&self) -> Arc<SessionState> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let state = made.get_or_insert_with(|| {
            let mut state = SessionState::clone(&self.base);
            register_functions(&mut state, (self.functions)());
            Arc::new(state)
        });
        Arc::clone(state)
    }

    /// Gives the memory of the session's state back; the next statement makes it anew.
    pub(crate) fn release(&self) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Adds functions to a state; those whose results may be long ask for memory. What they take the
/// place of, such as the planner's own `version()`, is not missed.
fn register_functions(
    state: &mut SessionState,
    functions: impl IntoIterator<Item = Arc<ScalarUDF>>,
) {
    let pool = Arc::clone(&state.runtime_env().memory_pool);
    for function in functions {
        let _ = state.register_udf(bounded(function, &pool));
    }
}

/// Has the planner's own functions ask for memory, too.
fn bound_functions(state: &mut SessionState) {
    let is_own = |function: &&Arc<ScalarUDF>| {
        // Skips functions that are registered under an alias only.
        let own = state.scalar_functions().get(function.name());
        own.is_some_and(|own| Arc::ptr_eq(own, function))
    };
    let planned: Vec<_> =
        state.scalar_functions().values().filter(is_own).map(Arc::clone).collect();
    register_functions(state, planned);
}

/// Returns a state without tables and functions of a session, for queries that use up to `threads`
/// threads.
pub(crate) fn base_state(runtime: &Arc<RuntimeEnv>, threads: usize) -> SessionState {
    let mut state = without_functions(runtime, threads);
    bound_functions(&mut state);
    register_functions(&mut state, common_functions());
    let _ = state.register_udaf(bounded_aggregate(&runtime.memory_pool));
    for function in ranks(&state) {
        let _ = state.register_udwf(function);
    }
    for function in extremes(&state).into_iter().chain(checked_sum(&state)) {
        let _ = state.register_udaf(function);
    }
    state
}

/// Returns a state with the functions of the planner alone.
fn without_functions(runtime: &Arc<RuntimeEnv>, threads: usize) -> SessionState {
    let mut config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_create_default_catalog_and_schema(false)
        .with_target_partitions(threads);
    let options = config.options_mut();
    options.sql_parser.dialect = Dialect::PostgreSQL;
    // now() is a timestamp with time zone, in the only zone there is.
    options.execution.time_zone = Some(UTC.into());
    // 1.005 is a decimal and not the float next to it.
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.collect_spans = true;
    // Threads share memory, and the larger side of a join is scanned where it lies: cutting it
    // by hash so that each thread has a table of its own costs more than one table for all.
    options.optimizer.hash_join_single_partition_threshold = JOIN_TABLE_BYTES_MAX;
    options.optimizer.hash_join_single_partition_threshold_rows = JOIN_TABLE_ROWS_MAX;
    // The threshold of one aggregate skips rows that another one beside it needs.
    options.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    // Keeps the first groups only, also below a window over all of them, and panics at NaN.
    options.optimizer.enable_topk_aggregation = false;
    // `b IS TRUE` is never null, which only some of the planner's parts know; rows are the same.
    options.execution.skip_physical_aggregate_schema_check = true;
    let pool = &runtime.memory_pool;
    let mut builder = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(Arc::clone(runtime))
        .with_default_features()
        .with_analyzer_rules(Heeding::behind_each(vec![
            Arc::new(ResolveGroupingFunction::new()),
            Arc::new(Comparable),
            Arc::new(SingleRows),
            Arc::new(SubqueryValues),
            Arc::new(InLists),
            Arc::new(DecimalsMeetFloats),
            Arc::new(Operators::new(pool)),
            Arc::new(TypeCoercion::new()),
            Arc::new(WholeOperators::new(pool)),
            Arc::new(Literals::new(rint(), shown(pool), now())),
            Arc::new(WindowKeys),
        ]))
        .with_optimizer_rules(Heeding::behind_logical())
        .with_physical_optimizer_rules(Heeding::before_physical())
        .with_physical_optimizer_rule(Arc::new(LazyLogic))
        .with_physical_optimizer_rule(Arc::new(BuildOnDemand))
        .with_physical_optimizer_rule(Arc::new(Yielding));
    builder.expr_planners().get_or_insert_default().push(Arc::new(UnknownLiterals::new(pool)));
    builder.build()
}
