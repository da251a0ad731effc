//! Arrays that are written out, and their elements.
//!
//! ```text
//! array[a, 1.5]          an array of numerics
//! array[[1, 2], [3, 4]]  an array of two dimensions
//! x[2], (array[a, b])[1] an element, null outside of the array
//! ```

use nacre_functions::kernels::{array_form, slice_form, subscript_form};
use nacre_syntax::SourceRange;
use nacre_syntax::{ColumnPath, ExpressionKind, ExpressionNode, IndirectionStep};
use nacre_types::catalog::{CastContext, TypeOid};
use nacre_types::{SqlType, SqlValue};

use super::Binder;
use super::expressions::ExpressionPlace;
use crate::algebra::{ConstantValue, ScalarExpression, ScalarKind};
use crate::error::BindError;

/// `jsonb`, and types of a fixed number of elements: `name`, `int2vector`, `oidvector`, `point`,
/// `lseg`, `box` and `line`.
const OTHER_SUBSCRIPTS: [TypeOid; 8] = [
    TypeOid::JSONB,
    TypeOid::NAME,
    TypeOid::INT2VECTOR,
    TypeOid::OIDVECTOR,
    TypeOid(600),
    TypeOid(601),
    TypeOid(603),
    TypeOid(628),
];

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
        if OTHER_SUBSCRIPTS.contains(&array.sql_type.oid()) {
            return Err(BindError::not_supported("subscripts of this type", range));
        }
        let Some(element) = array.sql_type.element() else {
            let name = array.sql_type.plain_name();
            let message =
                format!("cannot subscript type {name} because it does not support subscripting");
            return Err(BindError::new("42804", message, range));
        };
        if let [IndirectionStep::Slice(low, high)] = steps {
            let mut arguments = vec![array];
            for (bound, missing) in [(low, i32::MIN), (high, i32::MAX)] {
                arguments.push(match bound {
                    Some(bound) => self.bind_subscript(bound, place)?,
                    None => {
                        let kind = ScalarKind::Constant(ConstantValue(SqlValue::Integer(missing)));
                        ScalarExpression::new(kind, SqlType::INTEGER, range)
                    }
                });
            }
            let (function, sql_type) = (slice_form().ok_or_else(unknown)?, arguments[0].sql_type);
            let kind = ScalarKind::Function { function, arguments };
            return Ok(ScalarExpression::new(kind, sql_type, range));
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
