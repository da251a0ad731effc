//! A stored table as the front end sees it: schema, keys, and the way to a scan.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Constraint, Constraints, DFSchema, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use nacre_store::{Table, TableSnapshot};

use super::exec::TableScanExec;
use crate::types::arrow_schema;

/// One table at one moment: every scan of a statement reads the same loads.
#[derive(Debug)]
pub(crate) struct StoredTable {
    snapshot: TableSnapshot,
    schema: SchemaRef,
    constraints: Constraints,
}

impl StoredTable {
    pub(crate) fn new(table: &Arc<Table>) -> Self {
        let key = table.schema().primary_key.clone().map(Constraint::PrimaryKey);
        Self {
            snapshot: table.snapshot(),
            schema: arrow_schema(&table.schema()),
            constraints: Constraints::new_unverified(key.into_iter().collect()),
        }
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
