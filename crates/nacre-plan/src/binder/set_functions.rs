//! Functions of sets among the outputs of SELECT: all that are nested equally deep give their
//! values side by side, those within others first.
//!
//! ```text
//! select a, unnest(x), generate_series(1, 3)    Expand [unnest, generate_series]
//! select f(g(a))                                Expand [f of g] <- Expand [g]
//! ```

use nacre_functions::catalog::FunctionEntry;
use nacre_functions::kernels::set_kernel;
use nacre_functions::resolution::row_columns;
use nacre_types::SqlType;
use nacre_types::catalog::TypeOid;

use super::Binder;
use super::set_outputs::has_sets;
use super::subquery_joins::has_subquery;
use crate::algebra::conjuncts::with_computed;
use crate::algebra::{
    ColumnId, ComputedColumn, RelationalOperator, ScalarExpression, ScalarKind, SetFunctionColumn,
};
use crate::error::BindError;

/// Functions of sets that are there.
const SET_FUNCTIONS: [&str; 5] =
    ["generate_series", "unnest", "string_to_table", "regexp_matches", "regexp_split_to_table"];

/// Whether a function gives a set, and is there.
pub(super) fn is_known_set(function: &FunctionEntry) -> bool {
    // unnest(tsvector) gives rows of several columns.
    let is_single = ![TypeOid::RECORD].contains(&function.result);
    function.returns_set && SET_FUNCTIONS.contains(&function.name) && is_single
        || set_kernel(function).is_some()
}

impl Binder<'_> {
    /// Expands the functions of sets within expressions, which name their columns then; those of
    /// `beside` are computed for each row that the last of them are expanded for. Returns the
    /// columns of the places in the sets, the innermost first, if these are wanted.
    ///
    /// # Errors
    /// 0A000 for arguments with queries.
    pub(super) fn expand_sets(
        &mut self,
        mut root: RelationalOperator,
        mut values: Vec<&mut ScalarExpression>,
        mut beside: Vec<&mut ScalarExpression>,
        wants_places: bool,
    ) -> Result<(RelationalOperator, Vec<ColumnId>), BindError> {
        let mut places = Vec::new();
        loop {
            let mut functions = Vec::new();
            for value in &mut values {
                self.collect_sets(value, &mut functions)?;
            }
            let Some(first) = functions.first() else { return Ok((root, places)) };
            let range = first.arguments.first().map_or_else(Default::default, |one| one.range);
            let mut ordinality = None;
            if wants_places {
                let place = self.add_query_column("ordinality", SqlType::BIGINT, range)?;
                places.push(place);
                ordinality = Some(place);
            }
            if !values.iter().any(|value| has_sets(value)) {
                root = self.compute_values(root, std::mem::take(&mut beside));
            }
            root = RelationalOperator::Expand { input: Box::new(root), functions, ordinality };
        }
    }

    /// Computes expressions, which name their columns then, for all rows.
    pub(super) fn compute_values(
        &mut self,
        root: RelationalOperator,
        values: Vec<&mut ScalarExpression>,
    ) -> RelationalOperator {
        let mut computed: Vec<ComputedColumn> = Vec::with_capacity(values.len());
        for value in values {
            let column = self.column_of("beside", value.clone(), &mut computed);
            value.kind = ScalarKind::Column(column);
        }
        if computed.is_empty() {
            return root;
        }
        let (input, keys) = (Box::new(with_computed(root, computed)), Vec::new());
        RelationalOperator::Sort { input, keys }
    }

    fn collect_sets(
        &mut self,
        expression: &mut ScalarExpression,
        functions: &mut Vec<SetFunctionColumn>,
    ) -> Result<(), BindError> {
        for child in expression.children_mut() {
            self.collect_sets(child, functions)?;
        }
        let ScalarKind::Function { function, arguments } = &expression.kind else { return Ok(()) };
        if !function.returns_set {
            return Ok(());
        }
        // A function within this one has got its column just now: this one is of the next level.
        let is_new = |one: &ScalarExpression| match one.kind {
            ScalarKind::Column(column) => functions.iter().any(|own| own.column == column),
            _ => false,
        };
        if arguments.iter().any(|argument| argument.any(&is_new)) {
            return Ok(());
        }
        if let Some(argument) = arguments.iter().find(|argument| has_subquery(argument)) {
            let what = "subqueries in functions of sets";
            return Err(BindError::not_supported(what, argument.range));
        }
        let is_volatile = expression.is_volatile();
        let is_same = |one: &&SetFunctionColumn| {
            !is_volatile && one.function.oid == function.oid && one.arguments == *arguments
        };
        let column = match functions.iter().find(is_same) {
            Some(same) => same.column,
            None => {
                let (function, arguments) = (*function, arguments.clone());
                let (result, range) = (expression.sql_type, expression.range);
                let column = self.add_query_column(function.name, result, range)?;
                let types: Vec<SqlType> = arguments.iter().map(|one| one.sql_type).collect();
                if let Some(columns) = row_columns(function, &types) {
                    self.row_columns.insert(column, columns);
                }
                functions.push(SetFunctionColumn { column, function, arguments, result });
                column
            }
        };
        expression.kind = ScalarKind::Column(column);
        Ok(())
    }
}
