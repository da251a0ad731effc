//! Outputs of queries that are columns of tables: clients that let rows be edited, or show how long
//! a text may be, ask which column an output is, and how its type was declared.
//!
//! An output keeps its origin through subqueries, joins, groups, orders and limits. What is
//! computed has none, nor has a set operation, or RETURNING.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::JoinType;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::logical_plan::Distinct;
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::pg_catalog::table_number;
use crate::pg_types::{ColumnOrigin, PgType, TYPE_KEY};
use crate::scan::StoredTable;

/// The origins of outputs by their places; shorter if those at the end have none.
pub(crate) struct Origins(Vec<Option<(ColumnOrigin, PgType)>>);

impl Origins {
    /// Finds the origins of the outputs of a plan.
    pub(crate) fn of(plan: &LogicalPlan) -> Self {
        let count = plan.schema().fields().len();
        let mut found: Vec<_> = (0..count).map(|place| origin(plan, place)).collect();
        found.truncate(found.iter().rposition(Option::is_some).map_or(0, |last| last + 1));
        Self(found)
    }

    /// Notes the origins in the fields of a schema.
    pub(crate) fn noted(&self, schema: SchemaRef) -> SchemaRef {
        if self.0.is_empty() {
            return schema;
        }
        let noted = |(place, field): (usize, &Arc<Field>)| match self.0.get(place) {
            Some(Some((origin, pg_type))) => {
                let mut field = field.as_ref().clone();
                // What is told anyway of a type that Arrow has need not be said.
                if PgType::of_field(&field).0 != *pg_type {
                    field.metadata_mut().insert(TYPE_KEY.to_owned(), pg_type.name.to_owned());
                }
                Arc::new(origin.noted_in(field))
            }
            _ => Arc::clone(field),
        };
        let fields: Vec<_> = schema.fields().iter().enumerate().map(noted).collect();
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }
}

/// Returns which column of a table an output of a plan is, and its type.
fn origin(plan: &LogicalPlan, place: usize) -> Option<(ColumnOrigin, PgType)> {
    let (mut plan, mut place) = (plan, place);
    loop {
        (plan, place) = match plan {
            LogicalPlan::Projection(one) => below(one.expr.get(place)?, &one.input)?,
            LogicalPlan::Filter(one) => (&*one.input, place),
            LogicalPlan::Sort(one) => (&*one.input, place),
            LogicalPlan::Limit(one) => (&*one.input, place),
            LogicalPlan::SubqueryAlias(one) => (&*one.input, place),
            LogicalPlan::Distinct(Distinct::All(input)) => (&**input, place),
            LogicalPlan::Distinct(Distinct::On(one)) => {
                below(one.select_expr.get(place)?, &one.input)?
            }
            // Expressions behind the groups are computed, and grouping sets are one expression.
            LogicalPlan::Aggregate(one) => below(one.group_expr.get(place)?, &one.input)?,
            // Outputs behind those of the input are computed.
            LogicalPlan::Window(one) if place < one.input.schema().fields().len() => {
                (&*one.input, place)
            }
            // INTERSECT and EXCEPT are semi joins and anti joins.
            LogicalPlan::Join(one) if is_of_both_sides(one.join_type) => {
                match place.checked_sub(one.left.schema().fields().len()) {
                    None => (&*one.left, place),
                    Some(place) => (&*one.right, place),
                }
            }
            LogicalPlan::TableScan(one) => {
                let place = match &one.projection {
                    Some(places) => *places.get(place)?,
                    None => place,
                };
                let provider = source_as_provider(&one.source).ok()?;
                return column_of(provider.downcast_ref::<StoredTable>()?, place);
            }
            _ => return None,
        };
    }
}

/// Whether a join's outputs are those of the left side and then those of the right one.
fn is_of_both_sides(join_type: JoinType) -> bool {
    matches!(join_type, JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full)
}

/// Returns the output of the plan below that an expression is.
fn below<'a>(expr: &Expr, input: &'a LogicalPlan) -> Option<(&'a LogicalPlan, usize)> {
    match expr {
        Expr::Alias(alias) => below(&alias.expr, input),
        Expr::Column(column) => Some((input, input.schema().maybe_index_of_column(column)?)),
        _ => None,
    }
}

fn column_of(table: &StoredTable, place: usize) -> Option<(ColumnOrigin, PgType)> {
    let table = table.table();
    let schema = table.schema();
    let (pg_type, modifier) = PgType::of_column(schema.columns.get(place)?.column_type);
    let column = i16::try_from(place + 1).ok()?;
    Some((ColumnOrigin { table: table_number(table)?, column, modifier }, pg_type))
}
