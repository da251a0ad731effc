//! Views in FROM: their queries, which see nothing of the query that names them.
//!
//! A view has the columns that it was created with, in number, names and order. Its query may have
//! got more since, where it asks for all columns of a table.

use std::mem::take;
use std::rc::Rc;
use std::sync::Arc;

use nacre_syntax::{SourceRange, SqlName, TableAlias};

use super::Binder;
use super::scope::{Scope, require_columns};
use super::subqueries::as_table;
use crate::algebra::{OutputColumn, RelationalOperator};
use crate::definition::{ViewColumnName, ViewDefinition, ViewReader};
use crate::error::BindError;

impl Binder<'_> {
    pub(super) fn find_view(
        &self,
        schema: Option<&str>,
        name: &str,
    ) -> Option<Arc<ViewDefinition>> {
        let reader = if self.view.is_some() { ViewReader::View } else { ViewReader::Query };
        self.catalog.find_view(schema, name, reader)
    }

    /// Binds a view of FROM. Errors within its query are at `range`, and own limits: PostgreSQL
    /// has taken the query when the view was made.
    pub(super) fn bind_view(
        &mut self,
        view: &ViewDefinition,
        name: &SqlName,
        alias: Option<&TableAlias>,
        range: SourceRange,
    ) -> Result<(RelationalOperator, Scope), BindError> {
        let (common, outer_scopes) = (take(&mut self.common), take(&mut self.outer_scopes));
        let (out_of_reach, windows) = (take(&mut self.out_of_reach), take(&mut self.windows));
        let own = Rc::new((view.schema.clone(), view.name.clone()));
        let around = self.view.replace(own);
        let bound = self.bind_query(&view.query);
        (self.common, self.outer_scopes) = (common, outer_scopes);
        (self.out_of_reach, self.windows) = (out_of_reach, windows);
        self.view = around;
        let within = |error| BindError { range: Some(range), ..error }.into_own_limit();
        let (root, outputs) = bound.map_err(within)?;
        self.note_constants(&root);
        let outputs = view_outputs(outputs, &view.columns, range)?;
        let alias_name = alias.and_then(|alias| alias.name.as_ref());
        let own = alias_name.unwrap_or(name);
        let renamed = alias.map_or(&[][..], |alias| &alias.columns);
        require_columns("table", own, outputs.len(), renamed, range)?;
        let (root, mut scope) = as_table((root, outputs), own, &[renamed], range);
        for table in &mut scope.tables {
            table.schema = alias_name.is_none().then(|| view.schema.clone());
            table.hidden_name = alias_name.map(|_| name.text.clone());
        }
        Ok((root, scope))
    }
}

/// Returns the outputs of a view's query that are its columns, by their names.
fn view_outputs(
    outputs: Vec<OutputColumn>,
    columns: &[ViewColumnName],
    range: SourceRange,
) -> Result<Vec<OutputColumn>, BindError> {
    let is_same = outputs.len() == columns.len();
    let output_of = |(place, column): (usize, &ViewColumnName)| {
        let mut named = outputs.iter().filter(|output| output.name == column.source);
        let output = match (is_same, named.next(), named.next()) {
            (true, ..) => outputs.get(place),
            (false, Some(output), None) => Some(output),
            _ => None,
        };
        let output = output.ok_or_else(|| {
            BindError::not_supported("a view whose query has other columns since", range)
        })?;
        Ok(OutputColumn { name: column.name.clone(), ..output.clone() })
    };
    columns.iter().enumerate().map(output_of).collect()
}
