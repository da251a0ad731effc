//! Arrays that are written out, and their elements.
//!
//! ```text
//! array[a, 1.5]          an array of numerics
//! array[[1, 2], [3, 4]]  an array of two dimensions
//! x[2], (array[a, b])[1] an element, null outside of the array
//! x[1:2][2]              the elements between subscripts
//! array(select a from t) an array of the rows of a query
//! ```

use nacre_functions::catalog::functions_named;
use nacre_functions::kernels::{array_form, field_form, letter_form, slice_form, subscript_form};
use nacre_functions::resolution::row_columns;
use nacre_syntax::SourceRange;
use nacre_syntax::{
    ColumnPath, ExpressionKind, ExpressionNode, IndirectionStep, QueryExpression, SqlName,
};
use nacre_types::catalog::{CastContext, TypeOid};
use nacre_types::{SqlArray, SqlType, SqlValue};

use super::Binder;
use super::expressions::ExpressionPlace;
use crate::algebra::{
    AggregateColumn, BoundAggregate, BoundSortKey, BoundSubquery, ConstantValue, OutputColumn,
    RelationalOperator, ScalarExpression, ScalarKind, SubqueryForm,
};
use crate::error::BindError;

/// `jsonb`, and types of a fixed number of elements: `name`, `int2vector`, `oidvector`, `point`,
/// `lseg`, `box` and `line`.
const OTHER_SUBSCRIPTS: [TypeOid; 5] =
    [TypeOid::JSONB, TypeOid(600), TypeOid(601), TypeOid(603), TypeOid(628)];

/// PostgreSQL's limit.
const DIMENSIONS_MAX: usize = 6;

/// `anyarray` and `anynonarray`.
const ANY_ARRAY: TypeOid = TypeOid(2277);
const ANY_NON_ARRAY: TypeOid = TypeOid(2776);

/// Returns the order of a query's rows.
fn order_of_rows(root: &RelationalOperator) -> Vec<BoundSortKey> {
    match root {
        RelationalOperator::Sort { keys, .. } => keys.clone(),
        RelationalOperator::Limit { input, .. } => order_of_rows(input),
        _ => Vec::new(),
    }
}

impl Binder<'_> {
    /// Binds ARRAY of elements, perhaps cast to a type of arrays.
    pub(super) fn bind_array(
        &mut self,
        nodes: &[ExpressionNode],
        target: Option<SqlType>,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let target = target.filter(|target| target.element().is_some());
        let mut elements = Vec::with_capacity(nodes.len());
        for node in nodes {
            elements.push(match &node.kind {
                ExpressionKind::Array(inner) => {
                    self.bind_array(inner, target, place, node.range)?
                }
                _ => self.bind(node, place)?,
            });
        }
        self.array_value(elements, target, range)
    }

    /// Makes an array of elements, perhaps cast to a type of arrays. All are evaluated.
    pub(super) fn array_value(
        &mut self,
        elements: Vec<ScalarExpression>,
        target: Option<SqlType>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        if elements.is_empty() && target.is_none() {
            let hint = "Explicitly cast to the desired type, for example ARRAY[]::integer[].";
            let message = "cannot determine type of empty array";
            return Err(BindError::new("42P18", message, range).with_hint(hint));
        }
        let (elements, common) = match target {
            None => self.unify(elements, "ARRAY")?,
            Some(target) => {
                // PostgreSQL casts the elements, one by one.
                let is_of_arrays = elements.iter().any(|one| one.sql_type.element().is_some());
                let element = target.element().unwrap_or(target);
                let common = if is_of_arrays { target } else { element };
                let mut cast = Vec::with_capacity(elements.len());
                for one in elements {
                    let own = one.range;
                    cast.push(self.coerce(one, common, CastContext::Explicit, own)?);
                }
                (cast, common)
            }
        };
        let is_of_arrays = common.element().is_some();
        let array_type = if is_of_arrays { Some(common) } else { common.array() };
        let unknown = || BindError::not_supported("arrays of this type", range);
        let (sql_type, function) = array_type.zip(array_form(is_of_arrays)).ok_or_else(unknown)?;
        let kind = ScalarKind::Function { function, arguments: elements };
        Ok(ScalarExpression::new(kind, sql_type, range))
    }

    /// Binds a column, and the subscripts behind it.
    pub(super) fn bind_path(
        &mut self,
        path: &ColumnPath,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let is_field = |step: &IndirectionStep| matches!(step, IndirectionStep::Field(_));
        let Some(cut) = path.steps.iter().position(|step| !is_field(step)) else {
            return self.bind_column(path, place.scope, range);
        };
        let (fields, steps) = path.steps.split_at(cut);
        let column = ColumnPath { name: path.name.clone(), steps: fields.to_vec() };
        let column = self.bind_column(&column, place.scope, range)?;
        self.bind_subscripts(column, steps, place, range)
    }

    /// Binds an element of an array.
    pub(super) fn bind_subscripts(
        &mut self,
        array: ScalarExpression,
        steps: &[IndirectionStep],
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let unknown = || BindError::not_supported("this kind of expression", range);
        if let ([IndirectionStep::Field(name)], SqlType::RECORD) = (steps, array.sql_type) {
            return self.bind_field(array, name, range);
        }
        if let ([IndirectionStep::Element(place_in_name)], SqlType::NAME) = (steps, array.sql_type)
        {
            let arguments = vec![array, self.bind_subscript(place_in_name, place)?];
            let function = letter_form().ok_or_else(unknown)?;
            let kind = ScalarKind::Function { function, arguments };
            return Ok(ScalarExpression::new(kind, SqlType::CHAR, range));
        }
        if OTHER_SUBSCRIPTS.contains(&array.sql_type.oid()) {
            return Err(BindError::not_supported("subscripts of this type", range));
        }
        let Some(element) = array.sql_type.element() else {
            let name = array.sql_type.plain_name();
            let message =
                format!("cannot subscript type {name} because it does not support subscripting");
            return Err(BindError::new("42804", message, range));
        };
        if steps.iter().any(|step| matches!(step, IndirectionStep::Slice(..))) {
            return self.bind_slice(array, steps, place, range);
        }
        let mut arguments = vec![array];
        for step in steps {
            let IndirectionStep::Element(subscript) = step else { return Err(unknown()) };
            arguments.push(self.bind_subscript(subscript, place)?);
        }
        let function = subscript_form().ok_or_else(unknown)?;
        let kind = ScalarKind::Function { function, arguments };
        Ok(ScalarExpression::new(kind, element, range))
    }

    /// Binds a field of a row that a function gives.
    fn bind_field(
        &self,
        row: ScalarExpression,
        name: &SqlName,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let columns = match &row.kind {
            ScalarKind::Function { function, arguments } => {
                let types: Vec<SqlType> = arguments.iter().map(|one| one.sql_type).collect();
                row_columns(function, &types)
            }
            ScalarKind::Column(column) => self.row_columns.get(column).cloned(),
            _ => None,
        };
        let unknown = || BindError::not_supported("fields of this row", range);
        let columns = columns.ok_or_else(unknown)?;
        let Some(number) = columns.iter().position(|column| column.name == name.text) else {
            let message =
                format!("could not identify column \"{}\" in record data type", name.text);
            return Err(BindError::new("42703", message, name.range));
        };
        self.field_of(row, number, columns[number].sql_type, range)
    }

    /// Takes a field of a row, by its number from 0.
    pub(super) fn field_of(
        &self,
        row: ScalarExpression,
        number: usize,
        sql_type: SqlType,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let unknown = || BindError::not_supported("fields of this row", range);
        let number = SqlValue::Integer(i32::try_from(number).map_err(|_| unknown())?);
        let kind = ScalarKind::Constant(ConstantValue(number));
        let number = ScalarExpression::new(kind, SqlType::INTEGER, range);
        let function = field_form().ok_or_else(unknown)?;
        let kind = ScalarKind::Function { function, arguments: vec![row, number] };
        Ok(ScalarExpression::new(kind, sql_type, range))
    }

    /// Binds a part of an array; a single subscript ends a slice that begins at 1.
    fn bind_slice(
        &mut self,
        array: ScalarExpression,
        steps: &[IndirectionStep],
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let unknown = || BindError::not_supported("this kind of expression", range);
        if steps.len() > DIMENSIONS_MAX {
            let count = steps.len();
            let message = format!(
                "number of array dimensions ({count}) exceeds the maximum allowed \
                 ({DIMENSIONS_MAX})"
            );
            return Err(BindError::new("54000", message, range));
        }
        let integer = |value: i32| {
            let kind = ScalarKind::Constant(ConstantValue(SqlValue::Integer(value)));
            ScalarExpression::new(kind, SqlType::INTEGER, range)
        };
        let (function, sql_type) = (slice_form().ok_or_else(unknown)?, array.sql_type);
        let mut arguments = vec![array];
        for step in steps {
            let (low, high) = match step {
                IndirectionStep::Slice(low, high) => (low.as_ref(), high.as_ref()),
                IndirectionStep::Element(subscript) => {
                    arguments.push(integer(1));
                    arguments.push(self.bind_subscript(subscript, place)?);
                    continue;
                }
                _ => return Err(unknown()),
            };
            for (bound, missing) in [(low, i32::MIN), (high, i32::MAX)] {
                arguments.push(match bound {
                    Some(bound) => self.bind_subscript(bound, place)?,
                    None => integer(missing),
                });
            }
        }
        let kind = ScalarKind::Function { function, arguments };
        Ok(ScalarExpression::new(kind, sql_type, range))
    }

    /// Binds ARRAY of the rows of a query.
    pub(super) fn bind_array_query(
        &mut self,
        query: &QueryExpression,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let (root, outputs) = self.bind_inner_query(query, place)?;
        let [OutputColumn { column, sql_type, .. }] = outputs[..] else {
            let message = "subquery must return only one column";
            return Err(BindError::new("42601", message, range));
        };
        let is_of_arrays = sql_type.element().is_some();
        let array_type = if is_of_arrays { Some(sql_type) } else { sql_type.array() };
        let result = array_type.ok_or_else(|| {
            let message = format!("could not find array type for data type {sql_type}");
            BindError::new("42704", message, range)
        })?;
        let unknown = || BindError::not_supported("arrays of this type", range);
        let wanted = if is_of_arrays { ANY_ARRAY } else { ANY_NON_ARRAY };
        let mut functions = functions_named("array_agg");
        let function = functions.find(|entry| entry.arguments == [wanted]).ok_or_else(unknown)?;
        let argument = ScalarExpression::new(ScalarKind::Column(column), sql_type, range);
        let call = BoundAggregate {
            function,
            arguments: vec![argument],
            is_distinct: false,
            order_by: order_of_rows(&root),
            filter: None,
            result,
        };
        let column = self.add_query_column("array", result, range)?;
        let (input, keys) = (Box::new(root), Vec::new());
        let aggregates = vec![AggregateColumn { column, call }];
        let root = RelationalOperator::Aggregate { input, keys, aggregates, is_scalar: true };
        let form = SubqueryForm::Scalar(column);
        let kind = ScalarKind::Subquery(Box::new(BoundSubquery { form, root }));
        let collected = ScalarExpression::new(kind, result, range);
        // An array of no rows is empty.
        let element = result.element().ok_or_else(unknown)?;
        let empty = SqlValue::Array(Box::new(SqlArray::from_elements(element, Vec::new())));
        let kind = ScalarKind::Constant(ConstantValue(empty));
        let empty = ScalarExpression::new(kind, result, range);
        Ok(ScalarExpression::new(ScalarKind::Coalesce(vec![collected, empty]), result, range))
    }

    fn bind_subscript(
        &mut self,
        node: &ExpressionNode,
        place: ExpressionPlace<'_>,
    ) -> Result<ScalarExpression, BindError> {
        let subscript = self.bind(node, place)?;
        let range = subscript.range;
        let subscript = self.coerce(subscript, SqlType::INTEGER, CastContext::Assignment, range);
        subscript.map_err(|error| match error.sql_state {
            "42846" => BindError::new("42804", "array subscript must have type integer", range),
            _ => error,
        })
    }
}
