//! The planner that all sessions of a database have: its options, and the rules that it plans by.

use std::sync::Arc;

use datafusion::common::config::Dialect;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::optimizer::analyzer::resolve_grouping_function::ResolveGroupingFunction;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion::prelude::SessionConfig;

use crate::coerce::DecimalsMeetFloats;
use crate::comparable::Comparable;
use crate::functions::{now, rint, shown};
use crate::in_lists::InLists;
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

/// Returns a state without tables, for a session whose queries use up to `threads` threads.
pub(crate) fn new(runtime: &Arc<RuntimeEnv>, threads: usize) -> SessionState {
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
    // `b IS TRUE` is never null, which only some of the planner's parts know; rows are the same.
    options.execution.skip_physical_aggregate_schema_check = true;
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
            Arc::new(Operators::new()),
            Arc::new(TypeCoercion::new()),
            Arc::new(WholeOperators::new()),
            Arc::new(Literals::new(rint(), shown(), now())),
            Arc::new(WindowKeys),
        ]))
        .with_optimizer_rules(Heeding::behind_logical())
        .with_physical_optimizer_rules(Heeding::before_physical())
        .with_physical_optimizer_rule(Arc::new(BuildOnDemand))
        .with_physical_optimizer_rule(Arc::new(Yielding));
    builder.expr_planners().get_or_insert_default().push(Arc::new(UnknownLiterals));
    builder.build()
}
