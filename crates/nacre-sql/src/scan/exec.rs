//! The scan operator: a table's chunks, frozen and hot, dealt to one partition per worker.
//!
//! 1. Chunks that the filters rule out by their aggregates are skipped.
//! 2. What is left is cut into morsels and dealt to the partitions in turn.
//! 3. Each partition decodes the columns of the filters vector by vector, evaluates them, and
//!    decodes the other columns only of vectors with a match ([`super::stream`]).
//!
//! Filters that joins and sorts find out while they run (dynamic filters) are taken too; they
//! are a hint there, so a row they rule out may or may not come out.

use std::fmt;
use std::sync::{Arc, OnceLock};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ColumnStatistics, Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::utils::reassign_expr_columns;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use nacre_column::ColumnType;
use nacre_store::{Chunk, HotChunkRef, TableSnapshot};

use super::array::external;
use super::deal::{self, Morsel, Source};
use super::filter::Filters;
use super::pruning::may_pass;
use super::reads::Reads;
use super::statistics::{ScannedChunks, value_bytes};
use super::stream::ScanStream;
use super::vectors::Wanted;

/// Rows that a filter is taken to leave of every hundred when nothing better is known.
const FILTERED_PERCENT: usize = 20;

/// A scan of some columns of one table.
#[derive(Debug)]
pub(super) struct TableScanExec {
    snapshot: TableSnapshot,
    table_schema: SchemaRef,
    /// Columns that come out, by index in the table.
    projection: Vec<usize>,
    /// Filters over the table's columns that every row that comes out passes.
    filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Filters over the table's columns that are known only while the query runs.
    dynamic_filters: Vec<Arc<dyn PhysicalExpr>>,
    limit: Option<usize>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// The chunks that the filters leave, found when first needed.
    chunks: OnceLock<Arc<[Chunk]>>,
}

impl TableScanExec {
    pub(super) fn try_new(
        snapshot: TableSnapshot,
        table_schema: SchemaRef,
        projection: Vec<usize>,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        limit: Option<usize>,
        threads: usize,
    ) -> Result<Self> {
        let schema: SchemaRef = Arc::new(table_schema.project(&projection)?);
        let partitions = deal::partition_count(&snapshot, threads);
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        Ok(Self {
            snapshot,
            table_schema,
            projection,
            filters,
            dynamic_filters: Vec::new(),
            limit,
            schema,
            properties,
            metrics: ExecutionPlanMetricsSet::new(),
            chunks: OnceLock::new(),
        })
    }

    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut copy = Self {
            snapshot: self.snapshot.clone(),
            table_schema: Arc::clone(&self.table_schema),
            projection: self.projection.clone(),
            filters: self.filters.clone(),
            dynamic_filters: self.dynamic_filters.clone(),
            limit: self.limit,
            schema: Arc::clone(&self.schema),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
            chunks: self.chunks.clone(),
        };
        change(&mut copy);
        copy
    }

    /// Returns the chunks that the static filters leave.
    fn chunks(&self) -> Result<Arc<[Chunk]>> {
        if let Some(chunks) = self.chunks.get() {
            return Ok(Arc::clone(chunks));
        }
        let all = self.snapshot.chunks().map_err(external)?;
        let may_pass = may_pass(&all, &self.table_schema, &self.column_types(), &self.filters)?;
        let kept = all.iter().zip(may_pass).filter(|(_, may_pass)| *may_pass);
        let kept: Arc<[Chunk]> = kept.map(|(chunk, _)| chunk.clone()).collect();
        Ok(Arc::clone(self.chunks.get_or_init(|| kept)))
    }

    fn column_types(&self) -> Vec<ColumnType> {
        let schema = self.snapshot.table().schema();
        schema.columns.iter().map(|column| column.column_type).collect()
    }

    fn partitions(&self) -> usize {
        self.properties.partitioning.partition_count()
    }

    /// Returns the morsels of `partition`. They are dealt before dynamic filters rule any out: what
    /// those say changes between the calls for two partitions, the shares must not.
    fn morsels(&self, partition: usize) -> Result<Vec<Morsel>> {
        let chunks = self.chunks()?;
        let hot = self.snapshot.hot_chunks();
        let dealt = deal::morsels(&chunks, hot, self.partitions(), partition);
        if self.dynamic_filters.is_empty() {
            return Ok(dealt);
        }
        let frozen: Vec<Chunk> = dealt.iter().filter_map(Morsel::frozen).cloned().collect();
        let filters = &self.dynamic_filters;
        let mut may_pass =
            may_pass(&frozen, &self.table_schema, &self.column_types(), filters)?.into_iter();
        let mut is_kept = |morsel: &Morsel| match morsel.source {
            Source::Frozen(_) => may_pass.next().unwrap_or(true),
            Source::Hot(_) => true,
        };
        Ok(dealt.into_iter().filter(|morsel| is_kept(morsel)).collect())
    }

    fn estimated_rows(&self) -> Result<Precision<usize>> {
        if !self.snapshot.is_reachable() {
            // Rows that cannot be read are not to be counted: the scan reports the error.
            return Ok(Precision::Absent);
        }
        if self.filters.is_empty() {
            return Ok(Precision::Exact(self.snapshot.rows() as usize));
        }
        let frozen: usize = self.chunks()?.iter().map(Chunk::rows).sum();
        let hot: usize = self.snapshot.hot_chunks().iter().map(HotChunkRef::rows).sum();
        let rows = frozen + hot;
        let left = self.filters.iter().fold(rows, |rows, _| rows * FILTERED_PERCENT / 100);
        Ok(Precision::Inexact(left.max(rows.min(1))))
    }
}

impl DisplayAs for TableScanExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.snapshot.table().schema();
        let table = &schema.name;
        let columns: Vec<&str> =
            self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let columns = columns.join(", ");
        if format == DisplayFormatType::TreeRender {
            writeln!(f, "table={table}")?;
            return write!(f, "columns=[{columns}]");
        }
        write!(f, "TableScanExec: table={table}, columns=[{columns}]")?;
        let total = self.snapshot.chunk_count();
        if self.filters.is_empty() {
            write!(f, ", chunks={total}")?;
        } else if let Ok(chunks) = self.chunks() {
            write!(f, ", chunks={} of {total}", chunks.len())?;
        }
        for (name, filters) in [("filters", &self.filters), ("dynamic", &self.dynamic_filters)] {
            if !filters.is_empty() {
                let texts: Vec<String> = filters.iter().map(|filter| filter.to_string()).collect();
                write!(f, ", {name}=[{}]", texts.join(" AND "))?;
            }
        }
        match self.snapshot.hot_chunks().len() {
            0 => {}
            hot => write!(f, ", hot chunks={hot}")?,
        }
        match self.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for TableScanExec {
    fn name(&self) -> &str {
        "TableScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for filter in self.filters.iter().chain(&self.dynamic_filters) {
            if visit(filter)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() {
            return Ok(self);
        }
        internal_err!("a scan of a table has no input, {} were given", children.len())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let filters: Vec<_> = self.filters.iter().chain(&self.dynamic_filters).cloned().collect();
        let column_types = self.column_types();
        let filters = Filters::try_new(&filters, &self.table_schema, &column_types)?;
        let column_count = column_types.len();
        let mut columns = [self.projection.as_slice(), &filters.columns()].concat();
        columns.retain(|&column| column < column_count);
        columns.sort_unstable();
        columns.dedup();
        Ok(Box::pin(ScanStream::new(
            (self.snapshot.clone(), self.morsels(partition)?),
            Wanted { columns: columns.into(), column_count },
            context.session_config().get_extension::<Reads>(),
            Arc::clone(&self.schema),
            self.projection.clone(),
            filters,
            self.limit,
            context.session_config().batch_size(),
            (&self.metrics, partition),
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        if args.partition().is_some() {
            return Ok(Arc::new(Statistics::new_unknown(&self.schema)));
        }
        let num_rows = self.estimated_rows()?;
        let row_bytes: usize =
            self.schema.fields().iter().map(|field| value_bytes(field.data_type())).sum();
        let column_statistics = match self.projection.as_slice() {
            // Counting rows needs no pool to be mapped.
            [] => Vec::new(),
            columns => {
                let (chunks, column_types) = (self.chunks()?, self.column_types());
                let scanned = ScannedChunks {
                    frozen: &chunks,
                    hot: self.snapshot.hot_chunks(),
                    // Aggregates of frozen chunks also cover what was deleted of them.
                    is_whole: self.filters.is_empty() && !self.snapshot.has_deleted(),
                };
                let statistics = |column: &usize| match column_types.get(*column) {
                    Some(column_type) => scanned.column_statistics(*column, *column_type),
                    // The ids of rows have no aggregates.
                    None => ColumnStatistics::new_unknown(),
                };
                columns.iter().map(statistics).collect()
            }
        };
        let total_byte_size = match num_rows {
            Precision::Exact(rows) | Precision::Inexact(rows) => {
                Precision::Inexact(rows * row_bytes)
            }
            Precision::Absent => Precision::Absent,
        };
        let mut statistics = Statistics { num_rows, total_byte_size, column_statistics };
        if let Some(limit) = self.limit {
            statistics = statistics.with_fetch(Some(limit), 0, 1)?;
        }
        Ok(Arc::new(statistics))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(self.with(|scan| scan.limit = limit)))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        child_pushdown_result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let parents = child_pushdown_result.parent_filters;
        if phase != FilterPushdownPhase::Post || parents.is_empty() {
            let answers = vec![PushedDown::No; parents.len()];
            return Ok(FilterPushdownPropagation::with_parent_pushdown_result(answers));
        }
        let answers = vec![PushedDown::Yes; parents.len()];
        let filters = parents
            .into_iter()
            .map(|parent| reassign_expr_columns(parent.filter, &self.table_schema))
            .collect::<Result<Vec<_>>>()?;
        let scan = self.with(|scan| scan.dynamic_filters.extend(filters));
        Ok(FilterPushdownPropagation::with_parent_pushdown_result(answers)
            .with_updated_node(Arc::new(scan) as Arc<dyn ExecutionPlan>))
    }
}

#[cfg(test)]
mod tests {
    use datafusion::common::ScalarValue;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{
        BinaryExpr, Column, DynamicFilterPhysicalExpr, lit,
    };
    use nacre_store::{
        ColumnDef, IsolationLevel, OpenOptions, Store, Table, TableSchema, ValueRef,
    };

    use super::*;
    use crate::types::arrow_schema;

    fn insert(store: &Store, table: &Arc<Table>, value: i64) {
        let mut transaction = store.begin(IsolationLevel::RepeatableRead);
        transaction.insert(table, &[ValueRef::Int(value)]).unwrap();
        transaction.commit().unwrap();
    }

    /// A frozen chunk with the value 1 and a hot one with the value 2.
    fn store() -> (Store, Arc<Table>) {
        let store = Store::open(OpenOptions::default()).unwrap();
        let column = ColumnDef {
            name: "n".into(),
            column_type: ColumnType::BigInt,
            is_nullable: true,
            replicas: None,
        };
        let schema = TableSchema {
            name: "t".into(),
            columns: vec![column],
            primary_key: None,
            primary_key_name: String::new(),
            replicas: None,
        };
        let table = store.create_table(schema).unwrap();
        insert(&store, &table, 1);
        assert_eq!(store.checkpoint().unwrap().frozen_rows, 1);
        insert(&store, &table, 2);
        (store, table)
    }

    #[test]
    fn shares_do_not_depend_on_what_dynamic_filters_say_by_then() {
        let (store, table) = store();
        let transaction = store.begin(IsolationLevel::RepeatableRead);
        let snapshot = transaction.table_snapshot(&table);
        let schema = arrow_schema(&table.schema());
        let scan = TableScanExec::try_new(snapshot, schema, vec![0], vec![], None, 2).unwrap();
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new("n", 0));
        let dynamic =
            Arc::new(DynamicFilterPhysicalExpr::new(vec![Arc::clone(&column)], lit(true)));
        let filter: Arc<dyn PhysicalExpr> = Arc::clone(&dynamic) as _;
        let scan = scan.with(|scan| scan.dynamic_filters.push(filter));
        let first = scan.morsels(0).unwrap();
        assert!(matches!(first.as_slice(), [Morsel { source: Source::Frozen(_), .. }]));
        dynamic.update(Arc::new(BinaryExpr::new(column, Operator::Gt, lit(1_i64)))).unwrap();
        let second = scan.morsels(1).unwrap();
        assert!(matches!(second.as_slice(), [Morsel { source: Source::Hot(_), .. }]));
        assert!(scan.morsels(0).unwrap().is_empty());
    }

    /// Returns rows, null count and bounds of the only column of `t` as a new transaction sees it.
    fn statistics(store: &Store, table: &Arc<Table>) -> (Precision<usize>, ColumnStatistics) {
        let snapshot = store.begin(IsolationLevel::RepeatableRead).table_snapshot(table);
        let schema = arrow_schema(&table.schema());
        let scan = TableScanExec::try_new(snapshot, schema, vec![0], vec![], None, 1).unwrap();
        let statistics = scan.statistics_from_inputs(&[], &StatisticsArgs::new()).unwrap();
        (statistics.num_rows, statistics.column_statistics[0].clone())
    }

    fn bounds(statistics: &ColumnStatistics) -> [Precision<i64>; 2] {
        let number = |value: &ScalarValue| i64::try_from(value.clone()).unwrap();
        [&statistics.min_value, &statistics.max_value].map(|bound| match bound {
            Precision::Exact(value) => Precision::Exact(number(value)),
            Precision::Inexact(value) => Precision::Inexact(number(value)),
            Precision::Absent => Precision::Absent,
        })
    }

    /// One hot row hid the aggregates of all frozen ones.
    #[test]
    fn hot_rows_widen_the_bounds_of_frozen_ones_and_make_them_inexact() {
        let (store, table) = store();
        let (rows, column) = statistics(&store, &table);
        assert_eq!(rows, Precision::Exact(2));
        assert_eq!(bounds(&column), [Precision::Inexact(1), Precision::Inexact(2)]);
        assert_eq!(column.null_count, Precision::Inexact(0));
        let mut transaction = store.begin(IsolationLevel::RepeatableRead);
        transaction.insert(&table, &[ValueRef::Null]).unwrap();
        transaction.insert(&table, &[ValueRef::Int(-7)]).unwrap();
        transaction.rollback();
        let (rows, column) = statistics(&store, &table);
        assert_eq!(rows, Precision::Exact(2));
        // What was rolled back may stay: bounds only widen.
        assert_eq!(bounds(&column), [Precision::Inexact(-7), Precision::Inexact(2)]);
        let (checkpointed, rows) = (store.checkpoint().unwrap(), statistics(&store, &table).0);
        assert_eq!((checkpointed.frozen_rows, rows), (1, Precision::Exact(2)));
        let column = statistics(&store, &table).1;
        assert_eq!(bounds(&column), [Precision::Exact(1), Precision::Exact(2)]);
    }
}
