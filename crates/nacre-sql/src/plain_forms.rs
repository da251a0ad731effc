//! What was parsed, in the plainest of the forms that PostgreSQL takes for the same.
//!
//! - `('1')` and `('1'::int4)` are `'1'` and `'1'::int4`: clients write parameters so into texts.
//! - `INSERT INTO t (a) (VALUES ('1'))` is that without the outer parentheses.
//! - `"int4"`, `pg_catalog.int4` and `"pg_catalog"."int4"` are the type `int4`, `_int4` is
//!   `int4[]`, and `bpchar(3)` is `char(3)`.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, CastKind, DataType, Expr, Ident, Query, SetExpr, Statement, Value, Values,
    VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use crate::names::fold;
use crate::pg_catalog::PG_CATALOG;
use crate::pg_types::PgType;

/// Brings a statement into the plain forms, also one that is explained.
pub(crate) fn plain_statement(statement: &mut ParsedStatement) {
    match statement {
        ParsedStatement::Statement(inner) => plain(inner.as_mut()),
        ParsedStatement::Explain(explain) => plain_statement(explain.statement.as_mut()),
        _ => {}
    }
}

/// Brings a query, or another part of a statement, into the plain forms.
pub(crate) fn plain<V: VisitMut>(parsed: &mut V) {
    // It never stops.
    let _ = parsed.visit(&mut Plain);
}

struct Plain;

impl VisitorMut for Plain {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<()> {
        match statement {
            Statement::Insert(insert) => {
                if let Some(source) = &mut insert.source {
                    take_out(source.as_mut());
                }
            }
            Statement::Prepare { data_types, .. } => {
                for data_type in data_types {
                    if let Some(plain) = plain_type(data_type) {
                        *data_type = plain;
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Cast { data_type, .. } = expr
            && let Some(plain) = plain_type(data_type)
        {
            *data_type = plain;
        }
        if let Expr::Nested(inner) = expr
            && is_atom(inner)
        {
            let inner = std::mem::replace(inner.as_mut(), Expr::value(Value::Null));
            *expr = inner;
        }
        // Written without parentheses, what is in brackets would belong to the type.
        if let Expr::CompoundFieldAccess { root, .. } = expr
            && matches!(**root, Expr::Cast { kind: CastKind::DoubleColon, .. })
        {
            let cast = std::mem::replace(root.as_mut(), Expr::value(Value::Null));
            **root = Expr::Nested(Box::new(cast));
        }
        ControlFlow::Continue(())
    }
}

/// Whether an expression means the same in parentheses, whatever stands around it: a literal, a
/// parameter, or a cast of one.
fn is_atom(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, .. } => is_atom(expr),
        _ => false,
    }
}

/// Takes a query out of its parentheses.
fn take_out(query: &mut Query) {
    while query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty()
        && matches!(*query.body, SetExpr::Query(_))
    {
        let nothing = Values { explicit_row: false, value_keyword: false, rows: Vec::new() };
        let body = std::mem::replace(query.body.as_mut(), SetExpr::Values(nothing));
        if let SetExpr::Query(inner) = body {
            *query = *inner;
        }
    }
}

/// Returns the type that a name in quotes, with a schema, or of an array stands for; `None` for
/// what is plain already.
fn plain_type(data_type: &DataType) -> Option<DataType> {
    if let DataType::Array(ArrayElemTypeDef::SquareBracket(element, length)) = data_type {
        let element = Box::new(plain_type(element)?);
        return Some(DataType::Array(ArrayElemTypeDef::SquareBracket(element, *length)));
    }
    let DataType::Custom(name, modifiers) = data_type else { return None };
    let (schema, part) = match name.0.as_slice() {
        [part] => (None, part.as_ident()?),
        [schema, part] => (Some(schema.as_ident()?), part.as_ident()?),
        _ => return None,
    };
    if schema.is_some_and(|schema| fold(schema) != PG_CATALOG) {
        return None;
    }
    let word = word(part, schema.is_some(), !modifiers.is_empty())?;
    let text = match modifiers.is_empty() {
        true => word,
        false => format!("{word}({})", modifiers.join(", ")),
    };
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(&text).ok()?;
    parser.parse_data_type().ok()
}

/// Returns what to call a type that was called by a name.
fn word(part: &Ident, has_schema: bool, has_modifiers: bool) -> Option<String> {
    let name = fold(part);
    // `"char"` and `pg_catalog.char` are not the type that the word alone means.
    let is_char = |name: &str| name == "char";
    if let Some(element) = name.strip_prefix('_')
        && PgType::named(element).is_some_and(|element| element.array_oid != 0)
    {
        return (!is_char(element)).then(|| format!("{element}[]"));
    }
    if name == "bpchar" && has_modifiers {
        return Some("char".to_owned());
    }
    let is_quoted = part.quote_style.is_some();
    // Words such as `integer` are no names of types in quotes.
    let is_name = !is_quoted || PgType::named(&name).is_some();
    ((is_quoted || has_schema) && is_name && !is_char(&name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plainly(sql: &str) -> String {
        let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap();
        let mut statement = parser.parse_statement().unwrap();
        plain(&mut statement);
        statement.to_string()
    }

    #[test]
    fn parentheses_of_literals_are_dropped() {
        for (sql, expected) in [
            ("SELECT (('a')), (1), ($1), (NULL)", "SELECT 'a', 1, $1, NULL"),
            ("SELECT ('1'::INT4) + 1, -(2)", "SELECT '1'::INT4 + 1, -2"),
            ("SELECT ('{a}')::VARCHAR[]", "SELECT '{a}'::VARCHAR[]"),
            ("SELECT ('{1}'::INT4[])[1]", "SELECT ('{1}'::INT4[])[1]"),
            ("SELECT (-1), (a), (a + 1)", "SELECT (-1), (a), (a + 1)"),
            ("INSERT INTO t (a) ((VALUES (('1'))))", "INSERT INTO t (a) VALUES ('1')"),
            ("UPDATE t SET a = ('1')", "UPDATE t SET a = '1'"),
        ] {
            assert_eq!(plainly(sql), expected);
        }
    }

    #[test]
    fn types_have_their_plain_names() {
        for (name, expected) in [
            ("\"int4\"", "INT4"),
            ("\"pg_catalog\".\"int4\"", "INT4"),
            ("pg_catalog.int8", "INT8"),
            ("\"numeric\"(8, 2)", "NUMERIC(8,2)"),
            ("\"bpchar\"", "bpchar"),
            ("bpchar(3)", "CHAR(3)"),
            ("\"pg_catalog\".\"_int4\"", "INT4[]"),
            ("_text", "TEXT[]"),
            ("\"int4\"[]", "INT4[]"),
            ("\"integer\"", "\"integer\""),
            ("\"char\"", "\"char\""),
            ("pg_catalog.\"char\"", "pg_catalog.\"char\""),
            ("public.thing", "public.thing"),
        ] {
            let expected = format!("SELECT $1::{expected}");
            assert_eq!(plainly(&format!("SELECT $1::{name}")), expected, "{name}");
        }
    }
}
