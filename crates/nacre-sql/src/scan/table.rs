//! A stored table as the front end sees it: schema, keys, and the way to a scan.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Constraint, Constraints, DFSchema, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::ExecutionPlan;
use nacre_column::ColumnType;
use nacre_store::{ColumnSet, Predicate, Table, TableSnapshot};

use super::exec::TableScanExec;
use super::restriction::restriction;
use crate::transaction::Moment;
use crate::types::arrow_schema;

/// Name of the column of row ids, which only statements that change rows ask for.
pub(crate) const ROW_ID_COLUMN: &str = "nacre row id";

/// One table at one moment: every scan of a statement reads the same state.
#[derive(Debug)]
pub(crate) struct StoredTable {
    moment: Arc<Moment>,
    snapshot: TableSnapshot,
    schema: SchemaRef,
    constraints: Constraints,
}

impl StoredTable {
    /// # Errors
    /// [`nacre_store::Error::DefinitionChanged`] if the table was made or dropped since the moment.
    pub(crate) fn new(table: &Arc<Table>, moment: &Arc<Moment>) -> nacre_store::Result<Self> {
        let schema = table.schema();
        let key = schema.primary_key.clone().map(Constraint::PrimaryKey);
        Ok(Self {
            moment: Arc::clone(moment),
            snapshot: table.seen_at(moment.snapshot())?,
            schema: arrow_schema(&schema),
            constraints: Constraints::new_unverified(key.into_iter().collect()),
        })
    }

    /// Returns the table that is read.
    pub(crate) fn table(&self) -> &Arc<Table> {
        self.snapshot.table()
    }

    /// Adds the ids of the rows as the last column.
    pub(crate) fn with_row_ids(mut self) -> Self {
        let id = Arc::new(Field::new(ROW_ID_COLUMN, DataType::UInt64, false));
        let fields: Vec<FieldRef> = self.schema.fields().iter().cloned().chain([id]).collect();
        self.schema = Arc::new(Schema::new(fields));
        self
    }

    /// Notes what a scan of these columns and filters reads.
    fn note(&self, projection: &[usize], filters: &[Arc<dyn PhysicalExpr>]) {
        let table = self.snapshot.table();
        self.moment.note(table, || {
            let schema = table.schema();
            let types: Vec<ColumnType> =
                schema.columns.iter().map(|column| column.column_type).collect();
            let tested = filters.iter().flat_map(collect_columns).map(|column| column.index());
            let mut read = ColumnSet::default();
            let columns = projection.iter().copied().chain(tested);
            columns.filter(|&column| column < types.len()).for_each(|column| read.insert(column));
            let restrictions = filters.iter().filter_map(|filter| restriction(filter, &types));
            restrictions.fold(Predicate::new(read), |predicate, (column, restriction)| {
                predicate.with(&schema, column, &restriction)
            })
        });
    }
}

#[async_trait]
impl TableProvider for StoredTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projection: Vec<usize> = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let df_schema = DFSchema::try_from(Arc::clone(&self.schema))?;
        let filters = filters
            .iter()
            .map(|filter| state.create_physical_expr(filter.clone(), &df_schema))
            .collect::<Result<Vec<_>>>()?;
        self.note(&projection, &filters);
        let threads = state.config().target_partitions();
        Ok(Arc::new(TableScanExec::try_new(
            self.snapshot.clone(),
            Arc::clone(&self.schema),
            projection,
            filters,
            limit,
            threads,
        )?))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        filters
            .iter()
            .map(|filter| {
                Ok(if is_row_filter(filter)? {
                    TableProviderFilterPushDown::Exact
                } else {
                    TableProviderFilterPushDown::Unsupported
                })
            })
            .collect()
    }
}

/// Tells whether a filter looks at nothing but columns of its row and always says the same.
fn is_row_filter(filter: &Expr) -> Result<bool> {
    let mut is_row_filter = !filter.is_volatile();
    filter.apply(|expr| {
        is_row_filter &= !matches!(
            expr,
            Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::Placeholder(_)
        );
        Ok(if is_row_filter { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(is_row_filter)
}
