//! Functions in FROM.
//!
//! ```text
//! generate_series(1, 3) g           Series                       column g, or generate_series
//! unnest(array[1, x]) u             Values, a row an element     column u, or unnest
//! lower('A') l                      Compute over one row         column l, or lower
//! generate_series(1, t.a) g         Expand over one row          column g, or generate_series
//! rows from (f(1), g(2)) r          Expand with both             columns f, g
//! ... with ordinality               a further column ordinality: 1 and so on
//! ```
//!
//! Arguments see the items of FROM before the function, as what is LATERAL does.

use nacre_functions::catalog::FunctionKind;
use nacre_functions::resolution::{RowColumn, row_columns};
use nacre_syntax::{
    CallArguments, ExpressionKind, ExpressionNode, FromItem, FromKind, FunctionCall, SetQuantifier,
    SourceRange, SqlName, TableCall, TableFunction,
};
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlType, SqlValue};

use super::Binder;
use super::calls::{ChosenCall, ChosenFunction, apply, has_function};
use super::expressions::ExpressionPlace;
use super::scope::{Scope, ScopeColumn, require_columns};
use super::set_functions::is_known_set;
use super::subquery_joins::has_subquery;
use crate::algebra::conjuncts::has_columns;
use crate::algebra::{
    ColumnId, ComputedColumn, ConstantValue, RelationalOperator, ScalarExpression, ScalarKind,
    SetFunctionColumn,
};
use crate::error::BindError;

/// Types of results that have columns, or none.
const ROW_TYPES: [TypeOid; 2] = [TypeOid(2249), TypeOid(2278)];

/// What a function in FROM makes.
struct BoundTableFunction {
    root: RelationalOperator,
    columns: Vec<(ColumnId, SqlType)>,
}

impl Binder<'_> {
    /// Binds a function in FROM, which sees the items before it.
    pub(super) fn bind_table_function(
        &mut self,
        item: &FromItem,
        before: &Scope,
    ) -> Result<(RelationalOperator, Scope), BindError> {
        let range = item.range;
        let FromKind::Functions { items, has_ordinality, .. } = &item.kind else {
            return Err(BindError::not_supported("this item of FROM", range));
        };
        let has_definitions =
            item.alias.as_ref().is_some_and(|alias| !alias.definitions.is_empty());
        let mut calls = Vec::with_capacity(items.len());
        for item in items {
            calls.push(match item {
                TableFunction { call: TableCall::Function(call), columns }
                    if columns.is_empty() && !has_definitions =>
                {
                    (&**call, function_name(call, range)?)
                }
                _ => return Err(BindError::not_supported("this form of functions in FROM", range)),
            });
        }
        let Some((_, name)) = calls.first().copied() else {
            return Err(BindError::not_supported("this form of functions in FROM", range));
        };
        self.push_outer_scope(before, "functions in FROM", false);
        let bound = match &calls[..] {
            [(call, name)] => self.bind_rows_of_call(call, name, *has_ordinality, range),
            _ => self.bind_side_by_side(&calls, *has_ordinality, range),
        };
        self.outer_scopes.pop();
        let BoundTableFunction { root, columns } = bound?;
        self.function_scope(item, name, root, &columns, *has_ordinality)
    }

    /// Makes the columns of a function visible. A single one is called as the alias says.
    fn function_scope(
        &mut self,
        item: &FromItem,
        name: &SqlName,
        root: RelationalOperator,
        columns: &[(ColumnId, SqlType)],
        has_ordinality: bool,
    ) -> Result<(RelationalOperator, Scope), BindError> {
        let alias_name = item.alias.as_ref().and_then(|alias| alias.name.as_ref());
        let own = alias_name.unwrap_or(name);
        let renamed = item.alias.as_ref().map_or(&[][..], |alias| &alias.columns);
        require_columns("table", own, columns.len(), renamed, item.range)?;
        let function_columns = columns.len() - usize::from(has_ordinality);
        let column = |(position, (column, sql_type)): (usize, &(ColumnId, SqlType))| {
            let default = match position {
                _ if position == function_columns => "ordinality",
                0 if function_columns == 1 => own.text.as_str(),
                _ => match self.columns.get(*column) {
                    Some(column) => &*column.name,
                    None => name.text.as_str(),
                },
            };
            let name = renamed.get(position).map_or(default, |name| name.text.as_str()).into();
            let kind = ScalarKind::Column(*column);
            ScopeColumn { name, value: ScalarExpression::new(kind, *sql_type, item.range) }
        };
        let columns = columns.iter().enumerate().map(column).collect();
        Ok((root, Scope::of_table(own, columns)))
    }

    fn bind_rows_of_call(
        &mut self,
        call: &FunctionCall,
        name: &SqlName,
        has_ordinality: bool,
        range: SourceRange,
    ) -> Result<BoundTableFunction, BindError> {
        let arguments = match &call.arguments {
            CallArguments::List { quantifier: SetQuantifier::Unspecified, items, is_variadic }
                if !is_variadic && items.iter().all(|item| item.name.is_none()) =>
            {
                items.iter().map(|item| &item.value).collect::<Vec<_>>()
            }
            _ => return Err(BindError::not_supported("this call in FROM", range)),
        };
        let is_plain = call.filter.is_none()
            && call.order_by.is_empty()
            && call.window.is_none()
            && call.within_group.is_empty();
        if !is_plain {
            return Err(BindError::not_supported("this call in FROM", range));
        }
        let is_written = |node: &&ExpressionNode| matches!(node.kind, ExpressionKind::Array(_));
        if name.text == "unnest" && arguments.iter().all(is_written) {
            return self.bind_unnest(&arguments, has_ordinality, range);
        }
        if name.text == "unnest" && arguments.len() > 1 {
            return Err(BindError::not_supported("unnest of these arrays", range));
        }
        let nothing = Scope::default();
        let place = ExpressionPlace::new(&nothing, "functions in FROM");
        let mut bound = Vec::with_capacity(arguments.len());
        for argument in arguments {
            bound.push(self.bind(argument, place)?);
        }
        if let Some(argument) = bound.iter().find(|argument| has_subquery(argument)) {
            return Err(BindError::not_supported(
                "subqueries in functions in FROM",
                argument.range,
            ));
        }
        let chosen = match self.choose_function(&name.text, bound, range)? {
            ChosenCall::Function(chosen) => chosen,
            ChosenCall::Cast { .. } => {
                return Err(BindError::not_supported("casts in FROM", range));
            }
        };
        if matches!(chosen.entry.kind, FunctionKind::Aggregate(_)) {
            let message = "aggregate functions are not allowed in functions in FROM";
            return Err(BindError::new("42803", message, range));
        }
        let is_constant = !chosen.arguments.iter().any(has_columns);
        if chosen.entry.returns_set && name.text == "generate_series" && is_constant {
            return self.bind_series(chosen, has_ordinality, range);
        }
        let types: Vec<SqlType> = chosen.arguments.iter().map(|one| one.sql_type).collect();
        if let (true, Some(columns)) =
            (is_known_set(chosen.entry), row_columns(chosen.entry, &types))
        {
            return self.bind_expanded_rows(chosen, &columns, has_ordinality, range);
        }
        if is_known_set(chosen.entry) {
            return self.bind_expanded(vec![chosen], has_ordinality, range);
        }
        self.bind_single_row(chosen, &name.text, has_ordinality, range)
    }

    /// Binds ROWS FROM.
    fn bind_side_by_side(
        &mut self,
        calls: &[(&FunctionCall, &SqlName)],
        has_ordinality: bool,
        range: SourceRange,
    ) -> Result<BoundTableFunction, BindError> {
        let nothing = Scope::default();
        let place = ExpressionPlace::new(&nothing, "functions in FROM").with_sets();
        let mut all = Vec::with_capacity(calls.len());
        for (call, _) in calls {
            let bound = self.bind_call(call, place, range)?;
            let result = bound.sql_type;
            match bound.kind {
                ScalarKind::Function { function: entry, arguments }
                    if is_known_set(entry) && !arguments.iter().any(has_set_or_query) =>
                {
                    all.push(ChosenFunction { entry, arguments, result });
                }
                _ => return Err(BindError::not_supported("these functions in FROM", range)),
            }
        }
        self.bind_expanded(all, has_ordinality, range)
    }

    /// Binds sets of values side by side.
    fn bind_expanded(
        &mut self,
        all: Vec<ChosenFunction>,
        has_ordinality: bool,
        range: SourceRange,
    ) -> Result<BoundTableFunction, BindError> {
        let (mut functions, mut columns) = (Vec::new(), Vec::new());
        for ChosenFunction { entry: function, arguments, result } in all {
            let column = self.add_query_column(function.name, result, range)?;
            columns.push((column, result));
            functions.push(SetFunctionColumn { column, function, arguments, result });
        }
        let mut ordinality = None;
        if has_ordinality {
            let number = self.add_query_column("ordinality", SqlType::BIGINT, range)?;
            columns.push((number, SqlType::BIGINT));
            ordinality = Some(number);
        }
        let input = Box::new(RelationalOperator::SingleRow);
        let root = RelationalOperator::Expand { input, functions, ordinality };
        Ok(BoundTableFunction { root, columns })
    }

    /// Binds a set of rows; each of their fields is a column.
    fn bind_expanded_rows(
        &mut self,
        chosen: ChosenFunction,
        fields: &[RowColumn],
        has_ordinality: bool,
        range: SourceRange,
    ) -> Result<BoundTableFunction, BindError> {
        let expanded = self.bind_expanded(vec![chosen], has_ordinality, range)?;
        let BoundTableFunction { root, columns: sets } = expanded;
        let Some(((row, row_type), ordinality)) = sets.split_first() else {
            return Err(BindError::not_supported("this form of functions in FROM", range));
        };
        let (mut columns, mut computed) = (Vec::new(), Vec::new());
        for (number, RowColumn { name, sql_type }) in fields.iter().enumerate() {
            let whole = ScalarExpression::new(ScalarKind::Column(*row), *row_type, range);
            let value = self.field_of(whole, number, *sql_type, range)?;
            let column = self.add_query_column(name, *sql_type, range)?;
            columns.push((column, *sql_type));
            computed.push(ComputedColumn { column, value });
        }
        columns.extend_from_slice(ordinality);
        let root = RelationalOperator::Compute { input: Box::new(root), columns: computed };
        Ok(BoundTableFunction { root, columns })
    }

    fn bind_series(
        &mut self,
        chosen: ChosenFunction,
        has_ordinality: bool,
        range: SourceRange,
    ) -> Result<BoundTableFunction, BindError> {
        let ChosenFunction { entry: function, arguments, result } = chosen;
        let column = self.add_query_column(function.name, result, range)?;
        let mut columns = vec![(column, result)];
        let mut ordinality = None;
        if has_ordinality {
            let number = self.add_query_column("ordinality", SqlType::BIGINT, range)?;
            columns.push((number, SqlType::BIGINT));
            ordinality = Some(number);
        }
        let root = RelationalOperator::Series { function, arguments, column, ordinality };
        Ok(BoundTableFunction { root, columns })
    }

    /// Binds a function that has one value.
    fn bind_single_row(
        &mut self,
        chosen: ChosenFunction,
        name: &str,
        has_ordinality: bool,
        range: SourceRange,
    ) -> Result<BoundTableFunction, BindError> {
        if ROW_TYPES.contains(&chosen.result.oid()) {
            return Err(BindError::not_supported("functions of rows in FROM", range));
        }
        let mut values = vec![(name, apply(chosen, range)?)];
        if has_ordinality {
            values.push(("ordinality", number(1, range)));
        }
        let (mut computed, mut columns) = (Vec::new(), Vec::new());
        for (name, value) in values {
            let sql_type = value.sql_type;
            let column = self.add_query_column(name, sql_type, range)?;
            computed.push(ComputedColumn { column, value });
            columns.push((column, sql_type));
        }
        let input = Box::new(RelationalOperator::SingleRow);
        Ok(BoundTableFunction {
            root: RelationalOperator::Compute { input, columns: computed },
            columns,
        })
    }

    /// Binds arrays that are written out side by side; shorter ones are filled up with nulls.
    fn bind_unnest(
        &mut self,
        arrays: &[&ExpressionNode],
        has_ordinality: bool,
        range: SourceRange,
    ) -> Result<BoundTableFunction, BindError> {
        let nothing = Scope::default();
        let place = ExpressionPlace::new(&nothing, "functions in FROM");
        let (mut columns, mut lists) = (Vec::new(), Vec::new());
        for array in arrays {
            let elements = match &array.kind {
                ExpressionKind::Array(elements) if !elements.is_empty() => elements,
                _ => return Err(BindError::not_supported("unnest of this array", array.range)),
            };
            let is_nested = |one: &&ExpressionNode| {
                matches!(one.kind, ExpressionKind::Array(_) | ExpressionKind::ArrayQuery(_))
            };
            if let Some(element) = elements.iter().find(is_nested) {
                return Err(BindError::not_supported("arrays of arrays", element.range));
            }
            let mut bound = Vec::with_capacity(elements.len());
            for element in elements {
                bound.push(self.bind(element, place)?);
            }
            if let Some(element) = bound.iter().find(|element| has_subquery(element)) {
                return Err(BindError::not_supported("subqueries in arrays", element.range));
            }
            let (values, sql_type) = self.unify(bound, "ARRAY")?;
            if sql_type != sql_type.without_modifier() {
                // The elements of an array have none.
                return Err(BindError::not_supported("arrays of this type", array.range));
            }
            columns.push((self.add_query_column("unnest", sql_type, range)?, sql_type));
            lists.push(values);
        }
        if lists.is_empty() {
            let message = "function unnest() does not exist";
            return Err(BindError::new("42883", message, range));
        }
        let count = lists.iter().map(Vec::len).max().unwrap_or(0);
        let value = |position: usize, row: usize| match lists[position].get(row) {
            Some(value) => value.clone(),
            None => {
                let kind = ScalarKind::Constant(ConstantValue(SqlValue::Null));
                ScalarExpression::new(kind, columns[position].1, range)
            }
        };
        let row = |row: usize| (0..lists.len()).map(|position| value(position, row)).collect();
        let mut rows: Vec<Vec<ScalarExpression>> = (0..count).map(row).collect();
        if has_ordinality {
            let column = self.add_query_column("ordinality", SqlType::BIGINT, range)?;
            columns.push((column, SqlType::BIGINT));
            for (place, row) in (1..).zip(&mut rows) {
                row.push(number(place, range));
            }
        }
        let columns_of_rows = columns.iter().map(|(column, _)| *column).collect();
        let root = RelationalOperator::Values { columns: columns_of_rows, rows };
        Ok(BoundTableFunction { root, columns })
    }
}

fn function_name(call: &FunctionCall, range: SourceRange) -> Result<&SqlName, BindError> {
    match &call.name.parts[..] {
        [name] => Ok(name),
        [schema, name] if has_function(&schema.text, &name.text) => Ok(name),
        _ => Err(BindError::not_supported("functions of schemas", range)),
    }
}

fn has_set_or_query(expression: &ScalarExpression) -> bool {
    let is_set = |one: &ScalarExpression| match &one.kind {
        ScalarKind::Function { function, .. } => function.returns_set,
        _ => false,
    };
    expression.any(&is_set) || has_subquery(expression)
}

fn number(value: i64, range: SourceRange) -> ScalarExpression {
    let kind = ScalarKind::Constant(ConstantValue(SqlValue::BigInt(value)));
    ScalarExpression::new(kind, SqlType::BIGINT, range)
}
