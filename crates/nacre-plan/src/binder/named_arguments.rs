//! Calls with named arguments: `make_interval(days => 10)`.

use nacre_functions::catalog::FunctionEntry;
use nacre_functions::resolution::{CallSignature, ResolvedFunction, resolve_function};
use nacre_syntax::SourceRange;
use nacre_syntax::{CallArguments, FunctionCall, SetQuantifier};
use nacre_types::catalog::{CastContext, TypeOid};
use nacre_types::{SqlType, SqlValue};

use super::Binder;
use super::calls::{ChosenFunction, apply, function_error};
use super::expressions::ExpressionPlace;
use crate::algebra::{ConstantValue, ScalarExpression, ScalarKind};
use crate::error::BindError;

/// The function whose defaults are zeros; those of others are not known here.
const ZERO_DEFAULTS: &str = "make_interval";

/// The function whose one default is true.
const TRUE_DEFAULT: &str = "parse_ident";

impl Binder<'_> {
    /// Binds a call of which some arguments have names.
    pub(super) fn bind_named_call(
        &mut self,
        call: &FunctionCall,
        name: &str,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let unknown = || BindError::not_supported("named arguments of this call", range);
        let CallArguments::List { quantifier: SetQuantifier::Unspecified, items, .. } =
            &call.arguments
        else {
            return Err(unknown());
        };
        if call.window.is_some() || call.filter.is_some() || !call.order_by.is_empty() {
            return Err(unknown());
        }
        let (mut names, mut arguments): (Vec<&str>, Vec<ScalarExpression>) = Default::default();
        for item in items {
            match &item.name {
                Some(name) if names.contains(&name.text.as_str()) => {
                    let message = format!("argument name \"{}\" used more than once", name.text);
                    return Err(BindError::new("42601", message, name.range));
                }
                Some(name) => names.push(&name.text),
                None if names.is_empty() => {}
                None => {
                    let message = "positional argument cannot follow named argument";
                    return Err(BindError::new("42601", message, item.value.range));
                }
            }
            arguments.push(self.bind(&item.value, place)?);
        }
        let types: Vec<TypeOid> = arguments.iter().map(|one| one.sql_type.oid()).collect();
        let signature =
            CallSignature { name, arguments: &types, argument_names: &names, is_variadic: false };
        let resolved = resolve_function(signature)
            .map_err(|error| function_error(error, name, (&arguments, &names), range))?;
        let ResolvedFunction::Function { entry, parameters, result, positions, .. } = resolved
        else {
            return Err(unknown());
        };
        let mut placed: Vec<Option<ScalarExpression>> = vec![None; entry.arguments.len()];
        for ((argument, oid), position) in arguments.into_iter().zip(parameters).zip(positions) {
            let target = SqlType::new(oid);
            let argument = self.coerce(argument, target, CastContext::Implicit, range)?;
            *placed.get_mut(position).ok_or_else(unknown)? = Some(argument);
        }
        let mut arguments = Vec::with_capacity(placed.len());
        for (index, argument) in placed.into_iter().enumerate() {
            let argument = argument.or_else(|| default_of(entry, index, range));
            arguments.push(argument.ok_or_else(unknown)?);
        }
        apply(ChosenFunction { entry, arguments, result: SqlType::new(result) }, range)
    }
}

/// Returns the default of a parameter, if it is known.
pub(super) fn default_of(
    entry: &FunctionEntry,
    index: usize,
    range: SourceRange,
) -> Option<ScalarExpression> {
    let (value, sql_type) = match *entry.arguments.get(index)? {
        TypeOid::BOOL if entry.name == TRUE_DEFAULT => (SqlValue::Boolean(true), SqlType::BOOLEAN),
        _ if entry.name != ZERO_DEFAULTS => return None,
        TypeOid::INT4 => (SqlValue::Integer(0), SqlType::INTEGER),
        TypeOid::FLOAT8 => (SqlValue::Double(0.0), SqlType::DOUBLE),
        _ => return None,
    };
    Some(ScalarExpression::new(ScalarKind::Constant(ConstantValue(value)), sql_type, range))
}
