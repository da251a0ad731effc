//! Calls of functions and aggregates; those with OVER go to [`super::windows`].

use std::collections::HashSet;

use nacre_functions::catalog::{
    AggregateKind, FunctionEntry, FunctionKind, is_information_function,
};
use nacre_functions::kernels::variadic_form;
use nacre_functions::resolution::{
    CallSignature, FunctionCallError, ResolvedFunction, resolve_function,
};
use nacre_syntax::SourceRange;
use nacre_syntax::{CallArgument, CallArguments, FunctionCall, SetQuantifier};
use nacre_types::catalog::{CastContext, TypeOid};
use nacre_types::{SqlType, SqlValue};

use super::Binder;
use super::expressions::{ExpressionPlace, SetAllowance};
use super::named_arguments::default_of;
use super::scope::OuterScope;
use super::set_functions::is_known_set;
use super::subquery_joins::{behind, has_subquery};
use crate::algebra::{
    AggregateColumn, BoundAggregate, BoundSortKey, ColumnId, ConstantValue, ScalarExpression,
    ScalarKind,
};
use crate::error::BindError;

/// What a call means.
pub(super) enum ChosenCall {
    Function(ChosenFunction),
    /// The name is a type's.
    Cast {
        target: SqlType,
        operand: ScalarExpression,
    },
}

/// A function with its arguments as it wants them.
pub(super) struct ChosenFunction {
    pub(super) entry: &'static FunctionEntry,
    pub(super) arguments: Vec<ScalarExpression>,
    pub(super) result: SqlType,
}

/// An aggregate with the order in which it takes rows.
pub(super) struct OrderedCall {
    pub(super) chosen: ChosenFunction,
    pub(super) order_by: Vec<BoundSortKey>,
    pub(super) is_distinct: bool,
    /// How many columns had been named in front of it.
    pub(super) named_before: usize,
}

/// Has what an aggregate's FILTER leaves out ask for no value of queries: these are joined to all
/// rows, or run where they are asked for.
///
/// ```text
/// max((q)) filter (where a > 1)      max(case when a > 1 then (q) end) filter (where a > 1)
/// ```
///
/// # Errors
/// 0A000 for a volatile condition, which would be evaluated twice.
pub(super) fn ask_behind<'e>(
    filter: Option<&ScalarExpression>,
    values: impl Iterator<Item = &'e mut ScalarExpression>,
    range: SourceRange,
) -> Result<(), BindError> {
    let Some(filter) = filter else { return Ok(()) };
    for value in values.filter(|value| has_subquery(value)) {
        if filter.is_volatile() {
            let what = "subqueries in aggregates with a volatile FILTER";
            return Err(BindError::not_supported(what, range));
        }
        let guarded = behind(value.clone(), Some(filter.clone()));
        *value = guarded;
    }
    Ok(())
}

impl Binder<'_> {
    pub(super) fn bind_call(
        &mut self,
        call: &FunctionCall,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let name = match &call.name.parts[..] {
            [name] => &name.text,
            [schema, name] if has_function(&schema.text, &name.text) => &name.text,
            _ => return Err(BindError::not_supported("functions of schemas", range)),
        };
        if !call.within_group.is_empty() {
            return self.bind_ordered_set(call, name, place, range);
        }
        let named_before = self.named_columns.len();
        let (quantifier, items) = match &call.arguments {
            CallArguments::Star => (SetQuantifier::Unspecified, &[][..]),
            CallArguments::List { is_variadic: true, .. } => {
                return self.bind_variadic_call(call, name, place, range);
            }
            CallArguments::List { quantifier, items, .. } => (*quantifier, &items[..]),
        };
        if items.iter().any(|item| item.name.is_some()) {
            return self.bind_named_call(call, name, place, range);
        }
        let is_star = matches!(call.arguments, CallArguments::Star);
        let arguments = self.bind_arguments(call, name, items, place)?;
        let written = if call.order_by.is_empty() { Vec::new() } else { arguments.clone() };
        let chosen = match self.choose_function(name, arguments, range)? {
            ChosenCall::Function(chosen) => chosen,
            ChosenCall::Cast { target, operand } => {
                return self.coerce(operand, target, CastContext::Explicit, range);
            }
        };
        if call.window.is_some() {
            return self.bind_window_call(call, chosen, place, range);
        }
        match chosen.entry.kind {
            FunctionKind::Window => {
                let message = format!("window function {name} requires an OVER clause");
                Err(BindError::new("42809", message, range))
            }
            FunctionKind::Aggregate(AggregateKind::Normal) => {
                let is_distinct = quantifier == SetQuantifier::Distinct;
                if !is_star && chosen.entry.arguments.is_empty() {
                    return Err(without_star(name, range));
                }
                let order_by =
                    self.bind_inner_order(call, &written, &chosen, is_distinct, place)?;
                let ordered = OrderedCall { chosen, order_by, is_distinct, named_before };
                self.bind_aggregate(call, ordered, place, range)
            }
            FunctionKind::Function
                if !is_star
                    && quantifier == SetQuantifier::Unspecified
                    && call.filter.is_none()
                    && call.order_by.is_empty() =>
            {
                bind_value_or_set(chosen, place, range)
            }
            _ => Err(BindError::not_supported("this kind of function", range)),
        }
    }

    /// Binds a call whose last argument has the word VARIADIC.
    fn bind_variadic_call(
        &mut self,
        call: &FunctionCall,
        name: &str,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let unknown = || BindError::not_supported("VARIADIC arguments of this call", range);
        let CallArguments::List { quantifier, items, .. } = &call.arguments else {
            return Err(unknown());
        };
        let is_plain = *quantifier == SetQuantifier::Unspecified
            && call.window.is_none()
            && call.filter.is_none()
            && call.order_by.is_empty()
            && items.iter().all(|item| item.name.is_none());
        if !is_plain {
            return Err(unknown());
        }
        let arguments = self.bind_arguments(call, name, items, place)?;
        let types: Vec<TypeOid> = arguments.iter().map(|one| one.sql_type.oid()).collect();
        let signature =
            CallSignature { name, arguments: &types, argument_names: &[], is_variadic: true };
        let resolved = resolve_function(signature)
            .map_err(|error| function_error(error, name, (&arguments, &[]), range))?;
        let ResolvedFunction::Function { entry, parameters, result, .. } = resolved else {
            return Err(unknown());
        };
        let function = variadic_form(entry.name).ok_or_else(unknown)?;
        if let Some(array) = arguments.last().filter(|last| last.sql_type.element().is_none()) {
            let message = "VARIADIC argument must be an array";
            return Err(BindError::new("42804", message, array.range));
        }
        let mut coerced = Vec::with_capacity(arguments.len());
        for (argument, oid) in arguments.into_iter().zip(parameters) {
            let target = SqlType::new(oid);
            let is_any = oid == TypeOid(ANY);
            let own = if is_any {
                Ok(argument)
            } else {
                self.coerce(argument, target, CastContext::Implicit, range)
            };
            coerced.push(own?);
        }
        let kind = ScalarKind::Function { function, arguments: coerced };
        Ok(ScalarExpression::new(kind, SqlType::new(result), range))
    }

    /// Binds the arguments of a call, where an aggregate sees no other one.
    fn bind_arguments(
        &mut self,
        call: &FunctionCall,
        name: &str,
        items: &[CallArgument],
        place: ExpressionPlace<'_>,
    ) -> Result<Vec<ScalarExpression>, BindError> {
        let is_aggregate = call.window.is_none()
            && nacre_functions::catalog::functions_named(name)
                .any(|entry| matches!(entry.kind, FunctionKind::Aggregate(_)));
        let inner = match &call.window {
            Some(_) => place.in_window(),
            None if is_aggregate => place.in_aggregate(),
            None => place,
        };
        let mut arguments = Vec::with_capacity(items.len());
        for item in items {
            let bound = self.bind(&item.value, inner);
            arguments.push(bound.map_err(|error| nested_error(error, place, is_aggregate))?);
        }
        Ok(arguments)
    }

    /// Calls a function of plain arguments. One of the grammar's own forms is named with its
    /// schema in errors.
    pub(super) fn call_function(
        &mut self,
        name: &str,
        arguments: Vec<ScalarExpression>,
        is_form: bool,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let chosen = self.choose_function(name, arguments, range).map_err(|mut error| {
            if is_form {
                let message = &error.text.message;
                error.text.message = message.replacen("function ", "function pg_catalog.", 1);
            }
            error
        });
        match chosen? {
            ChosenCall::Function(chosen) => apply(chosen, range),
            ChosenCall::Cast { target, operand } => {
                self.coerce(operand, target, CastContext::Explicit, range)
            }
        }
    }

    /// Chooses what a call means, and has the arguments become what it takes.
    pub(super) fn choose_function(
        &mut self,
        name: &str,
        mut arguments: Vec<ScalarExpression>,
        range: SourceRange,
    ) -> Result<ChosenCall, BindError> {
        let types: Vec<TypeOid> = arguments.iter().map(|one| one.sql_type.oid()).collect();
        if types.iter().filter(|oid| **oid == TypeOid::RECORD).count() > 1 {
            return Err(BindError::not_supported("calls of several rows", range));
        }
        let call =
            CallSignature { name, arguments: &types, argument_names: &[], is_variadic: false };
        let resolved = resolve_function(call)
            .map_err(|error| function_error(error, name, (&arguments, &[]), range))?;
        let (entry, parameters, result) = match resolved {
            ResolvedFunction::Cast(target) => {
                let target = SqlType::new(target);
                return match arguments.pop() {
                    Some(operand) => Ok(ChosenCall::Cast { target, operand }),
                    None => Err(BindError::not_supported("this kind of function", range)),
                };
            }
            // Arguments of type `any` stay apart; others would become an array.
            ResolvedFunction::Function { entry, elements_from: Some(_), .. }
                if entry.variadic_element != Some(TypeOid(ANY))
                    || entry.kind != FunctionKind::Function =>
            {
                return Err(BindError::not_supported(
                    "functions of any number of arguments",
                    range,
                ));
            }
            ResolvedFunction::Function { entry, default_count: 1.., .. } => {
                for index in arguments.len()..entry.arguments.len() {
                    let default = default_of(entry, index, range);
                    let unknown = || BindError::not_supported("arguments left out", range);
                    arguments.push(default.ok_or_else(unknown)?);
                }
                return self.choose_function(name, arguments, range);
            }
            ResolvedFunction::Function { entry, parameters, result, .. } => {
                (entry, parameters, SqlType::new(result))
            }
        };
        let mut coerced = Vec::with_capacity(arguments.len());
        for (argument, oid) in arguments.into_iter().zip(parameters) {
            // `any` and the like take what there is.
            coerced.push(if oid != TypeOid(ANY) {
                self.coerce(argument, SqlType::new(oid), CastContext::Implicit, range)?
            } else if entry.oid == TYPE_OF {
                argument
            } else {
                self.settle(argument)?
            });
        }
        Ok(ChosenCall::Function(ChosenFunction { entry, arguments: coerced, result }))
    }

    /// Binds the condition of an aggregate.
    pub(super) fn bind_call_filter(
        &mut self,
        call: &FunctionCall,
        place: ExpressionPlace<'_>,
    ) -> Result<Option<ScalarExpression>, BindError> {
        let Some(filter) = &call.filter else { return Ok(None) };
        let filter = self.bind(filter, place.in_filter())?;
        self.coerce_to_boolean(filter, "FILTER").map(Some)
    }

    pub(super) fn bind_aggregate(
        &mut self,
        call: &FunctionCall,
        ordered: OrderedCall,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let filter = self.bind_call_filter(call, place)?;
        let OrderedCall { chosen, mut order_by, is_distinct, named_before } = ordered;
        let ChosenFunction { entry: function, mut arguments, result } = chosen;
        let keys = order_by.iter_mut().map(|key| &mut key.value);
        ask_behind(filter.as_ref(), arguments.iter_mut().chain(keys), range)?;
        let keys = || order_by.iter().map(|key| &key.value);
        // Also columns that only unread outputs of subqueries in the arguments have.
        let mut columns: HashSet<ColumnId> =
            self.named_columns[named_before..].iter().copied().collect();
        let all = arguments.iter().chain(keys()).chain(&filter);
        all.for_each(|one| one.collect_columns(&mut columns));
        let is_own = columns.iter().any(|column| place.scope.has_column(*column));
        if !is_own {
            columns.retain(|column| self.is_outer_column(*column));
        }
        let call = BoundAggregate { function, arguments, is_distinct, order_by, filter, result };
        if !columns.is_empty() && !is_own {
            return self.note_outer_aggregate(call, &columns, range);
        }
        if !place.allows_aggregates {
            return Err(misplaced_aggregate(place.clause, range));
        }
        Ok(ScalarExpression::new(ScalarKind::Aggregate(Box::new(call)), result, range))
    }

    /// Has the innermost query around this one that has a column of an aggregate compute that;
    /// returns the column of its result.
    ///
    /// # Errors
    /// 42803 if the clause of that query may have none.
    fn note_outer_aggregate(
        &mut self,
        call: BoundAggregate,
        columns: &HashSet<ColumnId>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let has_column =
            |outer: &&OuterScope| columns.iter().any(|column| outer.scope.has_column(*column));
        let unknown = || BindError::not_supported("aggregates of this outer query", range);
        let outer = self.outer_scopes.iter().rev().find(has_column).ok_or_else(unknown)?;
        if !outer.allows_aggregates {
            return Err(misplaced_aggregate(outer.clause, range));
        }
        let place = outer.select_count.checked_sub(1).ok_or_else(unknown)?;
        // What folding has taken out of the arguments is a name within an aggregate of that query.
        let is_argument = |(at, column): &(SourceRange, ColumnId)| {
            range.start <= at.start && at.end <= range.end && outer.scope.has_column(*column)
        };
        self.folded_names.retain(|folded| !is_argument(folded));
        let (name, result) = (call.function.name, call.result);
        let column = self.add_query_column(name, result, range)?;
        let aggregates = self.outer_aggregates.get_mut(place).ok_or_else(unknown)?;
        if aggregates.iter().any(|inner| columns.contains(&inner.column)) {
            return Err(BindError::new("42803", NESTED_AGGREGATES, range));
        }
        aggregates.push(AggregateColumn { column, call });
        Ok(ScalarExpression::new(ScalarKind::Column(column), result, range))
    }
}

const NESTED_AGGREGATES: &str = "aggregate function calls cannot be nested";

/// The error for an aggregate where its query has none.
fn misplaced_aggregate(clause: &str, range: SourceRange) -> BindError {
    BindError::new("42803", format!("aggregate functions are not allowed in {clause}"), range)
}

/// The error for an aggregate without arguments that is called with none instead of `*`.
pub(super) fn without_star(name: &str, range: SourceRange) -> BindError {
    let message = format!("{name}(*) must be used to call a parameterless aggregate function");
    BindError::new("42809", message, range)
}

/// OID of the pseudo-type `any`.
const ANY: u32 = 2276;

/// OID of `pg_typeof`, to which a literal without a type is one.
const TYPE_OF: u32 = 1619;

/// Makes a call of a function of one value or of a set of values.
fn bind_value_or_set(
    chosen: ChosenFunction,
    place: ExpressionPlace<'_>,
    range: SourceRange,
) -> Result<ScalarExpression, BindError> {
    if !chosen.entry.returns_set {
        apply(chosen, range)
    } else if place.sets != SetAllowance::Allowed {
        place.refuse_set(range)
    } else if is_known_set(chosen.entry) {
        Ok(call_of(chosen, range))
    } else {
        apply(chosen, range)
    }
}

/// Whether a schema of the system may have a function of that name.
pub(super) fn has_function(schema: &str, name: &str) -> bool {
    match schema {
        "pg_catalog" => true,
        "information_schema" => is_information_function(name),
        _ => false,
    }
}

/// Calls a function of one value.
pub(super) fn apply(
    chosen: ChosenFunction,
    range: SourceRange,
) -> Result<ScalarExpression, BindError> {
    if chosen.entry.returns_set || chosen.entry.kind != FunctionKind::Function {
        return Err(BindError::not_supported("this kind of function", range));
    }
    if let (TYPE_OF, [argument]) = (chosen.entry.oid, &chosen.arguments[..])
        && argument.sql_type.oid() == TypeOid::UNKNOWN
    {
        let kind = ScalarKind::Constant(ConstantValue(SqlValue::Oid(TypeOid::UNKNOWN.0)));
        return Ok(ScalarExpression::new(kind, chosen.result, range));
    }
    Ok(call_of(chosen, range))
}

fn call_of(chosen: ChosenFunction, range: SourceRange) -> ScalarExpression {
    let ChosenFunction { entry: function, arguments, result } = chosen;
    ScalarExpression::new(ScalarKind::Function { function, arguments }, result, range)
}

/// An aggregate within the arguments of another one has words of its own.
pub(super) fn nested_error(
    error: BindError,
    place: ExpressionPlace<'_>,
    is_aggregate: bool,
) -> BindError {
    let is_nested = is_aggregate && place.allows_aggregates && error.sql_state == "42803";
    let words = ["aggregate functions are not allowed", "grouping operations are not allowed"];
    if !is_nested || !words.iter().any(|words| error.text.message.starts_with(words)) {
        return error;
    }
    let message = NESTED_AGGREGATES.to_owned();
    BindError { text: nacre_types::ErrorText { message, ..error.text }, ..error }
}

/// The error of a call of which no function is meant; the last arguments have names.
pub(super) fn function_error(
    error: FunctionCallError,
    name: &str,
    (arguments, names): (&[ScalarExpression], &[&str]),
    range: SourceRange,
) -> BindError {
    let unnamed = arguments.len() - names.len();
    let word = |(index, one): (usize, &ScalarExpression)| {
        let type_name = one.sql_type.plain_name();
        match index.checked_sub(unnamed).and_then(|index| names.get(index)) {
            Some(name) => format!("{name} => {type_name}"),
            None => type_name,
        }
    };
    let words: Vec<String> = arguments.iter().enumerate().map(word).collect();
    let call = format!("{name}({})", words.join(", "));
    match error {
        FunctionCallError::NotFound | FunctionCallError::Inconsistent => {
            BindError::new("42883", format!("function {call} does not exist"), range).with_hint(
                "No function matches the given name and argument types. You might need to add \
                 explicit type casts.",
            )
        }
        FunctionCallError::Ambiguous => {
            BindError::new("42725", format!("function {call} is not unique"), range).with_hint(
                "Could not choose a best candidate function. You might need to add explicit type \
                 casts.",
            )
        }
        FunctionCallError::Undetermined => BindError::new(
            "42804",
            "could not determine polymorphic type because input has type unknown",
            range,
        ),
    }
}
