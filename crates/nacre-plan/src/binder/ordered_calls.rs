//! The order in which aggregates take rows: ORDER BY within their parentheses, DISTINCT, and
//! WITHIN GROUP.
//!
//! ```text
//! string_agg(a, ',' order by b)                     arguments a, ','; keys b
//! percentile_cont(0.5) within group (order by a)    arguments 0.5, a; keys a
//! rank(3) within group (order by a)                 arguments 3, a; keys a
//! ```

use nacre_functions::catalog::{AggregateKind, FunctionKind, functions_named};
use nacre_functions::coercion::common_type;
use nacre_syntax::SourceRange;
use nacre_syntax::{CallArguments, FunctionCall, SetQuantifier, SortItem};
use nacre_types::SqlType;
use nacre_types::catalog::{CastContext, TypeOid};

use super::Binder;
use super::calls::{ChosenCall, ChosenFunction, OrderedCall, nested_error};
use super::expressions::ExpressionPlace;
use super::ordering::{is_descending, require_operator};
use crate::algebra::conjuncts::has_columns;
use crate::algebra::{BoundSortKey, ScalarExpression};
use crate::error::BindError;

impl Binder<'_> {
    /// Binds ORDER BY within the parentheses of an aggregate, whose arguments were `written` before
    /// they became what it takes. A key that is an argument is that as the aggregate takes it.
    pub(super) fn bind_inner_order(
        &mut self,
        call: &FunctionCall,
        written: &[ScalarExpression],
        chosen: &ChosenFunction,
        is_distinct: bool,
        place: ExpressionPlace<'_>,
    ) -> Result<Vec<BoundSortKey>, BindError> {
        let mut keys: Vec<BoundSortKey> = Vec::with_capacity(call.order_by.len());
        for item in &call.order_by {
            let value = self.bind_ordered_value(item, place)?;
            let argument = written.iter().position(|own| *own == value);
            let value = match argument.and_then(|index| chosen.arguments.get(index)) {
                Some(argument) => argument.clone(),
                None if is_distinct => {
                    let message = "in an aggregate with DISTINCT, ORDER BY expressions must \
                                   appear in argument list";
                    return Err(BindError::new("42P10", message, item.value.range));
                }
                None => self.settle(value)?,
            };
            add_key(item, value, &mut keys)?;
        }
        if is_distinct {
            for argument in &chosen.arguments {
                require_operator("=", argument.sql_type, argument.range)?;
                require_operator("<", argument.sql_type, argument.range)?;
            }
        }
        Ok(keys)
    }

    fn bind_ordered_value(
        &mut self,
        item: &SortItem,
        place: ExpressionPlace<'_>,
    ) -> Result<ScalarExpression, BindError> {
        let bound = self.bind(&item.value, place.in_aggregate());
        bound.map_err(|error| nested_error(error, place, true))
    }

    /// Binds a call with WITHIN GROUP.
    pub(super) fn bind_ordered_set(
        &mut self,
        call: &FunctionCall,
        name: &str,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let CallArguments::List { quantifier, items, is_variadic } = &call.arguments else {
            return Err(BindError::not_supported("ordered sets of `*`", range));
        };
        let named_before = self.named_columns.len();
        let is_named = items.iter().any(|item| item.name.is_some());
        if *quantifier == SetQuantifier::Distinct || *is_variadic || is_named {
            return Err(BindError::not_supported("this form of an ordered set", range));
        }
        let mut direct = Vec::with_capacity(items.len());
        for item in items {
            let bound = self.bind(&item.value, place.in_aggregate());
            let value = bound.map_err(|error| nested_error(error, place, true))?;
            if has_columns(&value) {
                return Err(BindError::not_supported("direct arguments that vary", range));
            }
            direct.push(value);
        }
        let mut ordered = Vec::with_capacity(call.within_group.len());
        for item in &call.within_group {
            ordered.push(self.bind_ordered_value(item, place)?);
        }
        let (keys, direct_count) = (ordered.len(), direct.len());
        let chosen = match self.hypothetical(name, direct, ordered, range)? {
            Ok(chosen) => chosen,
            Err(arguments) => match self.choose_function(name, arguments, range)? {
                ChosenCall::Function(chosen) => chosen,
                ChosenCall::Cast { .. } => return Err(no_ordered_set(name, range)),
            },
        };
        match chosen.entry.kind {
            FunctionKind::Aggregate(AggregateKind::OrderedSet { direct })
                if direct == direct_count => {}
            FunctionKind::Aggregate(AggregateKind::Hypothetical { .. }) => {}
            _ => return Err(no_ordered_set(name, range)),
        }
        if call.window.is_some() {
            return self.bind_window_call(call, chosen, place, range);
        }
        let own = &chosen.arguments[chosen.arguments.len() - keys..];
        let mut order_by = Vec::with_capacity(keys);
        for (item, value) in call.within_group.iter().zip(own) {
            add_key(item, value.clone(), &mut order_by)?;
        }
        if order_by.len() < keys {
            return Err(BindError::not_supported("keys of an ordered set that repeat", range));
        }
        self.bind_aggregate(
            call,
            OrderedCall { chosen, order_by, is_distinct: false, named_before },
            place,
            range,
        )
    }

    /// Chooses an aggregate of a hypothetical row, whose values and those of rows become of one
    /// type; of another name gives back the arguments.
    fn hypothetical(
        &mut self,
        name: &str,
        direct: Vec<ScalarExpression>,
        ordered: Vec<ScalarExpression>,
        range: SourceRange,
    ) -> Result<Result<ChosenFunction, Vec<ScalarExpression>>, BindError> {
        let entry = functions_named(name).find(|entry| {
            matches!(entry.kind, FunctionKind::Aggregate(AggregateKind::Hypothetical { .. }))
        });
        let Some(entry) = entry else {
            return Ok(Err(direct.into_iter().chain(ordered).collect()));
        };
        if direct.len() != ordered.len() {
            return Err(BindError::not_supported("a hypothetical row of other columns", range));
        }
        let (mut row, mut values) = (Vec::new(), Vec::new());
        for (own, value) in direct.into_iter().zip(ordered) {
            let types = [value.sql_type.oid(), own.sql_type.oid()];
            let common = common_type(&types)
                .map_err(|_| BindError::not_supported("values of different types", range))?;
            if common == TypeOid::RECORD {
                return Err(BindError::not_supported("hypothetical rows of rows", range));
            }
            let common = SqlType::new(common);
            let (own_range, value_range) = (own.range, value.range);
            row.push(self.coerce(own, common, CastContext::Implicit, own_range)?);
            values.push(self.coerce(value, common, CastContext::Implicit, value_range)?);
        }
        row.extend(values);
        let result = SqlType::new(entry.result);
        Ok(Ok(ChosenFunction { entry, arguments: row, result }))
    }
}

fn no_ordered_set(name: &str, range: SourceRange) -> BindError {
    let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
    BindError::new("42809", message, range)
}

/// Adds a key, unless the same value is one.
fn add_key(
    item: &SortItem,
    value: ScalarExpression,
    keys: &mut Vec<BoundSortKey>,
) -> Result<(), BindError> {
    let is_descending = is_descending(item)?;
    require_operator("<", value.sql_type, value.range)?;
    let nulls_first = item.nulls_first.unwrap_or(is_descending);
    if keys.iter().all(|key| key.value != value) {
        keys.push(BoundSortKey { value, is_descending, nulls_first });
    }
    Ok(())
}
