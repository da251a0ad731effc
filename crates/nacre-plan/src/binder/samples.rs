//! TABLESAMPLE.

use nacre_syntax::{ExpressionNode, ObjectName, SourceRange, TableSample};
use nacre_types::SqlType;
use nacre_types::catalog::CastContext;

use super::Binder;
use super::expressions::ExpressionPlace;
use super::scope::Scope;
use super::subquery_joins::has_subquery;
use crate::algebra::conjuncts::has_columns;
use crate::algebra::{RelationalOperator, SampleMethod, ScalarExpression};
use crate::error::BindError;

impl Binder<'_> {
    /// Has a table be read in part.
    ///
    /// # Errors
    /// 42704 for an unknown method, 2202H for other than one argument, 0A000 for what is no table.
    pub(super) fn bind_sample(
        &mut self,
        table: RelationalOperator,
        name: &ObjectName,
        sample: &TableSample,
        range: SourceRange,
    ) -> Result<RelationalOperator, BindError> {
        let is_table = match (&table, &name.parts[..]) {
            (RelationalOperator::Scan { relation, .. }, [.., own]) => {
                let is_common = name.parts.len() == 1 && self.is_common_query(&own.text);
                relation.name == own.text && !is_common
            }
            _ => false,
        };
        if !is_table {
            let message = "TABLESAMPLE clause can only be applied to tables and materialized views";
            return Err(BindError::new("0A000", message, range));
        }
        let name = match &sample.method.parts[..] {
            [name] => name,
            [schema, name] if schema.text == "pg_catalog" => name,
            _ => return Err(BindError::not_supported("functions of schemas", range)),
        };
        let method = match name.text.as_str() {
            "bernoulli" => SampleMethod::Bernoulli,
            "system" => SampleMethod::System,
            other => {
                let message = format!("tablesample method {other} does not exist");
                return Err(BindError::new("42704", message, sample.method.range));
            }
        };
        let [percent] = &sample.arguments[..] else {
            let count = sample.arguments.len();
            let message =
                format!("tablesample method {} requires 1 argument, not {count}", name.text);
            return Err(BindError::new("2202H", message, sample.method.range));
        };
        let percent = self.bind_sample_value(percent, SqlType::REAL, "TABLESAMPLE")?;
        let seed = sample.seed.as_ref();
        let seed = seed.map(|seed| self.bind_sample_value(seed, SqlType::DOUBLE, "REPEATABLE"));
        let seed = seed.transpose()?;
        let input = Box::new(table);
        Ok(RelationalOperator::Sample { input, method, percent, seed })
    }

    fn bind_sample_value(
        &mut self,
        node: &ExpressionNode,
        target: SqlType,
        clause: &'static str,
    ) -> Result<ScalarExpression, BindError> {
        let nothing = Scope::default();
        let value = self.bind(node, ExpressionPlace::new(&nothing, "functions in FROM"))?;
        let (source, range) = (value.sql_type, value.range);
        if has_columns(&value) || has_subquery(&value) {
            return Err(BindError::not_supported("samples that are no constants", range));
        }
        self.coerce(value, target, CastContext::Assignment, range).map_err(|error| {
            if error.sql_state != "42846" {
                return error;
            }
            let message = format!("argument of {clause} must be type {target}, not type {source}");
            BindError::new("42804", message, range)
        })
    }
}
