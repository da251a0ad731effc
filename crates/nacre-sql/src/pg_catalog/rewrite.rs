//! What clients write about the catalogs, in the planner's words.
//!
//! - `pg_catalog.f(x)`, `x::pg_catalog.text` and `x COLLATE pg_catalog.default` lose the schema and
//!   the collation, which is the only one.
//! - `x::regclass` and the like are calls that find the number; `x::regclass::text` is one that
//!   finds the name. Functions of sequences take the name itself.
//! - `ARRAY[...]`, `ARRAY(query)`, `a[i]`, `x = ANY (a)` and `x::text[]` are calls of
//!   [`super::arrays`] and [`super::array_casts`]; `x = ANY (ARRAY[...])` is `x IN (...)`, and so
//!   is `x = ANY ('{...}'::text[])`.
//! - What CASE asks of domains, composite types and the like is not asked: no type is one.
//! - Functions that return several rows are joins ([`super::expand`]).
//!   `pg_partition_ancestors` and, in FROM, `unnest` of columns that are always null
//!   give no rows.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, DataType, Distinct, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArgumentList, FunctionArguments, GroupByExpr, Ident, ObjectName,
    OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, Subscript, TableFactor, Value,
    ValueWithSpan, Visit, VisitMut, Visitor, VisitorMut,
};

use super::PG_CATALOG;
use super::array_syntax::{cast as array_cast, is_widened};
use super::cells::columns;
use super::expand::{outputs, parsed, parsed_query, part_of_column, require, rows, series};
use super::pg_columns;
use super::typed::{AS_TEXT, array_elements, element_of, is_text_function};
use crate::expression_forms::{binary, nested};
use crate::functions::{LIKE_PATTERN, OR_EMPTY, escaped_by_backslashes};
use crate::names::fold;
use crate::query_forms;

/// Types whose values are numbers of objects, with names.
const NAMED: [&str; 5] = ["regclass", "regtype", "regproc", "regnamespace", "regrole"];

/// Takes PostgreSQL's schema off the name of a function.
fn strip_schema(name: &mut ObjectName) {
    let schema = name.0.first().and_then(|part| part.as_ident()).map(fold);
    if name.0.len() == 2 && schema.as_deref() == Some(PG_CATALOG) {
        name.0.remove(0);
    }
}

/// Returns what stands for an expression; `None` for one that stays.
pub(crate) fn expression(expr: &mut Expr) -> Option<Expr> {
    match expr {
        Expr::Function(function) => call_of(function),
        Expr::Collate { expr, collation } => {
            let name = collation.0.last().and_then(|part| part.as_ident()).map(fold)?;
            let is_only = matches!(name.as_str(), "default" | "C" | "POSIX" | "c" | "ucs_basic");
            is_only.then(|| take(expr))
        }
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. } => {
            cast(expr, data_type)
        }
        Expr::Array(array) => Some(call("nacre_array", std::mem::take(&mut array.elem))),
        Expr::CompoundFieldAccess { root, access_chain } => {
            if let Some(column) = part_of_column(root, access_chain) {
                return Some(column);
            }
            let mut value = take(root);
            for access in access_chain.iter_mut() {
                value = match access {
                    AccessExpr::Dot(Expr::Identifier(part)) => match value {
                        Expr::Identifier(first) => {
                            Expr::CompoundIdentifier(vec![first, part.clone()])
                        }
                        Expr::CompoundIdentifier(mut parts) => {
                            parts.push(part.clone());
                            Expr::CompoundIdentifier(parts)
                        }
                        other => {
                            **root = other;
                            return None;
                        }
                    },
                    AccessExpr::Subscript(Subscript::Index { index }) => {
                        call("nacre_element", vec![value, take(index)])
                    }
                    _ => {
                        **root = value;
                        return None;
                    }
                };
            }
            Some(value)
        }
        Expr::AnyOp { left, compare_op, right, .. } => {
            compared("nacre_any", left, compare_op, right)
        }
        Expr::AllOp { left, compare_op, right } => compared("nacre_all", left, compare_op, right),
        Expr::Like { negated, any: true, expr, pattern, escape_char: None } => {
            let op = match negated {
                true => BinaryOperator::PGNotLikeMatch,
                false => BinaryOperator::PGLikeMatch,
            };
            compared("nacre_any", expr, &op, pattern)
        }
        Expr::ILike { negated, any: true, expr, pattern, escape_char: None } => {
            let op = match negated {
                true => BinaryOperator::PGNotILikeMatch,
                false => BinaryOperator::PGILikeMatch,
            };
            compared("nacre_any", expr, &op, pattern)
        }
        Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. } => {
            backslashes(pattern, escape_char);
            None
        }
        Expr::BinaryOp { left, op, right } => arrays(left, op, right),
        _ => None,
    }
}

/// Has a pattern use the one escape character that the planner knows.
fn backslashes(pattern: &mut Expr, escape: &mut Option<ValueWithSpan>) {
    let Some(Value::SingleQuotedString(by)) = escape.as_ref().map(|one| &one.value) else {
        return;
    };
    let mut letters = by.chars();
    let (by, None) = (letters.next(), letters.next()) else { return };
    let literal = match pattern {
        Expr::Value(literal) => match &literal.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    };
    *pattern = match literal {
        _ if by == Some('\\') => return,
        Some(text) => text_of(escaped_by_backslashes(text, by)),
        None => {
            let by = text_of(by.map_or_else(String::new, String::from));
            call(LIKE_PATTERN, vec![pattern.clone(), by])
        }
    };
    *escape = None;
}

fn text_of(value: String) -> Expr {
    Expr::Value(Value::SingleQuotedString(value).into())
}

pub(super) fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::Value(Value::Null.into()))
}

pub(super) fn text(value: &str) -> Expr {
    text_of(value.to_owned())
}

/// Returns a call of a function.
pub(crate) fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.collect(),
            clauses: Vec::new(),
        }),
        null_treatment: None,
        filter: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// Returns name and arguments of a call.
pub(super) fn parts_of(expr: &mut Expr) -> Option<(String, Vec<&mut Expr>)> {
    let Expr::Function(function) = expr else { return None };
    let name = function.name.0.last()?.as_ident().map(fold)?;
    let FunctionArguments::List(list) = &mut function.args else { return None };
    let args = list.args.iter_mut().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) => Some(arg),
        _ => None,
    });
    Some((name, args.collect()))
}

/// Returns the argument of a call of a function of one argument.
fn argument_of<'a>(expr: &'a mut Expr, wanted: &str) -> Option<&'a mut Expr> {
    let (name, args) = parts_of(expr)?;
    let mut args = args.into_iter();
    args.next().filter(|_| name == wanted)
}

fn call_of(function: &mut Function) -> Option<Expr> {
    strip_schema(&mut function.name);
    let name = function.name.0.last()?.as_ident().map(fold)?;
    match (&mut function.args, name.as_str()) {
        (FunctionArguments::Subquery(query), "array") => Some(gathered(query)),
        (FunctionArguments::List(list), "nextval" | "currval" | "setval") => {
            if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))) = list.args.first_mut()
                && let Some(inner) = argument_of(arg, "nacre_regclass")
            {
                let inner = take(inner);
                *arg = inner;
            }
            None
        }
        _ => None,
    }
}

/// Makes `ARRAY(SELECT x ... ORDER BY y)` the subquery that gathers the values in that order.
fn gathered(query: &mut Query) -> Expr {
    let sql = "SELECT array_agg(x) FROM (SELECT 1) AS t(x)";
    let mut outer = match parsed_query(sql) {
        Some(outer) => outer,
        None => return Expr::Value(Value::Null.into()),
    };
    let SetExpr::Select(select) = query.body.as_mut() else { return enclosed(outer, query) };
    if reads_nothing(select)
        && let Some(none) = parsed_query(&format!("{sql} WHERE FALSE"))
    {
        return or_empty(none);
    }
    if let Some(keys) = distinct_order(select, query.order_by.as_ref()) {
        let sql = format!("SELECT array_agg(x ORDER BY {keys}) FROM (SELECT 1) AS t(x)");
        query.order_by = None;
        return match parsed_query(&sql) {
            Some(outer) => enclosed(outer, query),
            None => Expr::Value(Value::Null.into()),
        };
    }
    let [SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }] =
        select.projection.as_mut_slice()
    else {
        return enclosed(outer, query);
    };
    let is_plain = select.distinct.is_none()
        && select.group_by == GroupByExpr::Expressions(Vec::new(), Vec::new());
    // The planner does not take queries within an aggregate.
    if !is_plain || query.limit_clause.is_some() || query.with.is_some() || has_query(value) {
        return enclosed(outer, query);
    }
    let mut keys = Vec::new();
    if let Some(order) = query.order_by.take()
        && let OrderByKind::Expressions(expressions) = order.kind
    {
        keys = expressions;
    }
    for key in &mut keys {
        if matches!(&key.expr, Expr::Value(number) if matches!(&number.value, Value::Number(..))) {
            key.expr = value.clone();
        }
    }
    let keys = keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let order = if keys.is_empty() { String::new() } else { format!(" ORDER BY {keys}") };
    // A text in quotes, or a null, is a text.
    let value = match value {
        Expr::Value(literal)
            if matches!(&literal.value, Value::SingleQuotedString(_) | Value::Null) =>
        {
            format!("CAST({literal} AS TEXT)")
        }
        other => other.to_string(),
    };
    let sql = format!("SELECT array_agg({value}{order})");
    if let Some(gathering) = parsed_query(&sql)
        && let SetExpr::Select(new) = *gathering.body
    {
        select.projection = new.projection;
        outer = query.clone();
    }
    or_empty(outer)
}

/// Returns the order of `ARRAY(SELECT DISTINCT value ... ORDER BY value)` by the name x of the
/// value: rows of a query in FROM have no order. `None` for other queries.
fn distinct_order(select: &Select, order: Option<&OrderBy>) -> Option<String> {
    let is_distinct = matches!(select.distinct, Some(Distinct::Distinct));
    let OrderByKind::Expressions(keys) = &order.filter(|_| is_distinct)?.kind else {
        return None;
    };
    let (value, label) = match select.projection.as_slice() {
        [SelectItem::ExprWithAlias { expr, alias }] => (expr, Some(fold(alias))),
        [SelectItem::UnnamedExpr(expr)] => (expr, None),
        _ => return None,
    };
    let is_value = |key: &Expr| match key {
        Expr::Value(number) => matches!(&number.value, Value::Number(..)),
        Expr::Identifier(name) => Some(fold(name)) == label || key == value,
        other => other == value,
    };
    let mut texts = Vec::with_capacity(keys.len());
    for key in keys {
        let mut key = key.clone();
        if !is_value(&key.expr) {
            return None;
        }
        key.expr = Expr::Identifier(Ident::new("x"));
        texts.push(key.to_string());
    }
    Some(texts.join(", "))
}

/// Whether a query has no rows, whatever it asks for, since it is over a catalog that has none.
/// What `\dp` of psql asks there has queries in it that the planner does not take.
fn reads_nothing(select: &Select) -> bool {
    let [from] = select.from.as_slice() else { return false };
    let TableFactor::Table { name, .. } = &from.relation else { return false };
    let parts: Vec<String> = name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
    let is_policies = match parts.as_slice() {
        [schema, name] => schema == PG_CATALOG && name == "pg_policy",
        [name] => name == "pg_policy",
        _ => false,
    };
    is_policies && from.joins.is_empty()
}

/// Returns the one array of a query, or that without elements for null.
fn or_empty(query: Query) -> Expr {
    call(OR_EMPTY, vec![Expr::Subquery(Box::new(query))])
}

fn has_query(expr: &Expr) -> bool {
    struct Queries;
    impl Visitor for Queries {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    expr.visit(&mut Queries).is_break()
}

/// Puts a query in the place of the only table of another.
fn enclosed(mut outer: Query, query: &Query) -> Expr {
    if let SetExpr::Select(select) = outer.body.as_mut()
        && let Some(from) = select.from.first_mut()
        && let TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        **subquery = query.clone();
    }
    or_empty(outer)
}

/// Returns the name of a type of PostgreSQL's that the parser does not know.
pub(super) fn type_name(data_type: &DataType) -> Option<String> {
    match data_type {
        DataType::Regclass => Some("regclass".to_owned()),
        DataType::Custom(name, _) => {
            let parts: Vec<String> =
                name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
            match parts.as_slice() {
                [name] => Some(name.clone()),
                [schema, name] if schema == PG_CATALOG || schema == "information_schema" => {
                    Some(name.clone())
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn cast(expr: &mut Expr, data_type: &mut DataType) -> Option<Expr> {
    if let Some(array) = array_cast(expr, data_type) {
        return Some(array);
    }
    if let DataType::JSON | DataType::Uuid = data_type {
        let function = if *data_type == DataType::JSON { "nacre_json" } else { "nacre_uuid" };
        return Some(call(function, vec![take(expr)]));
    }
    if matches!(data_type, DataType::Text | DataType::Varchar(None)) {
        return named_text(expr);
    }
    let name = type_name(data_type)?;
    if let Some(named) = NAMED.iter().find(|known| **known == name) {
        return Some(call(&format!("nacre_{named}"), vec![take(expr)]));
    }
    *data_type = match name.as_str() {
        "oid" | "xid" | "cid" => return Some(call("nacre_oid", vec![take(expr)])),
        "json" => return Some(call("nacre_json", vec![take(expr)])),
        "regprocedure" | "regoper" | "regoperator" => {
            return Some(call("nacre_regproc", vec![take(expr)]));
        }
        "text" | "name" | "char" | "sql_identifier" | "character_data" | "yes_or_no" | "jsonb"
        | "xml" | "citext" => {
            *data_type = DataType::Text;
            return named_text(expr);
        }
        "bool" => DataType::Boolean,
        "int2" => DataType::SmallInt(None),
        "int4" | "cardinal_number" => DataType::Integer(None),
        "int8" => DataType::BigInt(None),
        "float4" => DataType::Real,
        "float8" => DataType::DoublePrecision,
        "varchar" | "bpchar" => DataType::Text,
        "date" => DataType::Date,
        _ => return None,
    };
    None
}

/// Makes the cast to text of a number that was cast to a type with names the name, and of a value
/// that is kept as text, such as a uuid, one that is called text.
fn named_text(expr: &mut Expr) -> Option<Expr> {
    if keeps_text(expr) {
        return Some(call(AS_TEXT, vec![take(expr)]));
    }
    let named = NAMED.iter().find_map(|name| {
        let argument = argument_of(expr, &format!("nacre_{name}"))?;
        Some((*name, take(argument)))
    });
    named.map(|(name, argument)| call(&format!("nacre_{name}_text"), vec![argument]))
}

/// Whether a value is the text of another type.
fn keeps_text(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => keeps_text(inner),
        Expr::Function(function) => {
            let name = function.name.0.last().and_then(|part| part.as_ident()).map(fold);
            name.is_some_and(|name| is_text_function(&name))
        }
        _ => false,
    }
}

/// Returns what stands for ANY or ALL of an array; `None` for that of a query.
fn compared(
    name: &str,
    left: &mut Expr,
    operator: &BinaryOperator,
    right: &mut Expr,
) -> Option<Expr> {
    let mut right = match right {
        Expr::Subquery(_) => return None,
        Expr::Nested(inner) => inner.as_mut(),
        other => other,
    };
    while let Expr::Nested(inner) = right {
        right = inner.as_mut();
    }
    if matches!(right, Expr::Subquery(_)) && name == "nacre_any" {
        return None;
    }
    let is_all = name == "nacre_all";
    let is_list = *operator == if is_all { BinaryOperator::NotEq } else { BinaryOperator::Eq };
    if (is_list || is_match(operator))
        && let Some(list) = written_members(right)
    {
        if list.is_empty() {
            // Nothing holds for one of none, and everything for all of them.
            return Some(Expr::Value(Value::Boolean(is_all).into()));
        }
        let expr = Box::new(take(left));
        if is_list {
            return Some(Expr::InList { expr, list, negated: is_all });
        }
        let chain = if is_all { BinaryOperator::And } else { BinaryOperator::Or };
        let tests = list.into_iter().map(|member| binary(*expr.clone(), operator.clone(), member));
        return tests.reduce(|chained, test| binary(chained, chain.clone(), test)).map(nested);
    }
    let operator = match operator {
        BinaryOperator::NotEq => "<>".to_owned(),
        other => other.to_string(),
    };
    Some(call(name, vec![take(left), text(&operator), take(right)]))
}

/// Whether an operator compares a text with a pattern.
fn is_match(operator: &BinaryOperator) -> bool {
    use BinaryOperator::{
        PGILikeMatch, PGLikeMatch, PGNotILikeMatch, PGNotLikeMatch, PGRegexIMatch, PGRegexMatch,
        PGRegexNotIMatch, PGRegexNotMatch,
    };
    matches!(
        operator,
        PGRegexMatch
            | PGRegexIMatch
            | PGRegexNotMatch
            | PGRegexNotIMatch
            | PGLikeMatch
            | PGILikeMatch
            | PGNotLikeMatch
            | PGNotILikeMatch
    )
}

/// Returns the elements of an array that is written out.
fn written_members(array: &mut Expr) -> Option<Vec<Expr>> {
    if let Some((name, members)) = parts_of(array)
        && name == "nacre_array"
        && !members.is_empty()
    {
        return Some(members.into_iter().map(take).collect());
    }
    literals(array)
}

/// Returns the elements of an array that is written out, as literals.
fn literals(array: &mut Expr) -> Option<Vec<Expr>> {
    let (function, args) = parts_of(array)?;
    let element = element_of(&function)?;
    let mut args = args.into_iter();
    let (Some(arg), None) = (args.next(), args.next()) else { return None };
    let inner = parts_of(arg).map(|(name, _)| name);
    if let Some(inner) = inner {
        return if is_widened(&inner, &function) { literals(arg) } else { None };
    }
    let Expr::Value(literal) = arg else { return None };
    let Value::SingleQuotedString(written) = &literal.value else { return None };
    let literal = |one: Option<String>| {
        let Some(one) = one else { return Some(Expr::Value(Value::Null.into())) };
        match element.name {
            "int2" | "int4" | "int8" | "oid" | "xid" | "numeric" => parsed(&one),
            "float4" | "float8" | "bool" | "date" | "timestamp" | "timestamptz" => {
                parsed(&format!("CAST('{one}' AS {})", element.name))
            }
            _ => Some(text_of(one)),
        }
    };
    array_elements(written, element).ok()?.into_iter().map(literal).collect()
}

/// Returns what compares or joins arrays of the catalogs.
fn arrays(left: &mut Expr, operator: &BinaryOperator, right: &mut Expr) -> Option<Expr> {
    if !is_array_column(left) {
        return None;
    }
    match (operator, &*right) {
        (BinaryOperator::Eq | BinaryOperator::NotEq, Expr::Value(literal))
            if matches!(&literal.value, Value::SingleQuotedString(_)) =>
        {
            let array = call("nacre_text_array", vec![take(right)]);
            let shown = |array| call("array_to_string", vec![array, text(","), text("NULL")]);
            let (left, right) = (Box::new(shown(take(left))), Box::new(shown(array)));
            Some(Expr::BinaryOp { left, op: operator.clone(), right })
        }
        (BinaryOperator::StringConcat, _) => Some(call("array_cat", vec![take(left), take(right)])),
        _ => None,
    }
}

/// Whether an expression is a column that has arrays in a catalog.
fn is_array_column(expr: &Expr) -> bool {
    let name = match expr {
        Expr::Identifier(ident) => fold(ident),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold).unwrap_or_default(),
        _ => return false,
    };
    let has = |list: &'static str| {
        columns(list).any(|column| column.name == name && column.type_name.starts_with('_'))
    };
    pg_columns::TABLES.iter().any(|(_, _, list)| has(list))
}

/// Whether an argument is a column of the catalogs whose arrays are null in all rows; tables of
/// users have no arrays.
fn is_null_column(arg: &FunctionArg) -> bool {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = arg else { return false };
    let name = match expr {
        Expr::Identifier(ident) => fold(ident),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold).unwrap_or_default(),
        _ => return false,
    };
    matches!(name.as_str(), "reloptions" | "evttags")
}

/// Rewrites the tables of a query.
pub(crate) fn table_factor(factor: &mut TableFactor) {
    let TableFactor::Table { name, alias, args: Some(args), .. } = factor else { return };
    strip_schema(name);
    let is_null = args.args.first().is_some_and(is_null_column);
    let [part] = name.0.as_slice() else { return };
    let Some(function) = part.as_ident().map(fold) else { return };
    if matches!(function.as_str(), "pg_get_keywords" | "pg_show_all_settings") {
        if let TableFactor::Table { args, .. } = factor {
            *args = None;
        }
        return;
    }
    let sql = match function.as_str() {
        "pg_partition_ancestors" => "SELECT 0 AS relid, 0 AS ordinality WHERE false",
        "unnest" if is_null => "SELECT '' AS unnest WHERE false",
        _ => return,
    };
    let Some(query) = parsed_query(sql) else { return };
    let mut alias = alias.take();
    if let Some(alias) = &mut alias
        && function == "unnest"
        && alias.columns.is_empty()
    {
        let name = alias.name.clone();
        alias
            .columns
            .push(datafusion::sql::sqlparser::ast::TableAliasColumnDef { name, data_type: None });
    }
    *factor =
        TableFactor::Derived { lateral: false, subquery: Box::new(query), alias, sample: None };
}

/// Rewrites a query before its parts are.
pub(crate) fn select(select: &mut Select) {
    table_numbers(select);
    missing_kinds(select);
    if !query_forms::outputs(select) {
        outputs(select);
    }
    let mut conditions = Vec::new();
    let mut is_first = true;
    for from in &mut select.from {
        for factor in std::iter::once(&mut from.relation)
            .chain(from.joins.iter_mut().map(|join| &mut join.relation))
        {
            rows(factor, is_first);
            conditions.extend(series(factor));
            is_first = false;
        }
    }
    for condition in conditions {
        require(select, condition);
    }
}

/// Puts the number of a catalog in the place of its `tableoid`.
fn table_numbers(select: &mut Select) {
    let mut known = Vec::new();
    for from in &select.from {
        let joined = from.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&from.relation).chain(joined) {
            let TableFactor::Table { name, alias, args: None, .. } = factor else { continue };
            let Some(table) = name.0.last().and_then(|part| part.as_ident()).map(fold) else {
                continue;
            };
            let found = pg_columns::TABLES.iter().find(|(_, known, _)| *known == table);
            let shown = alias.as_ref().map_or(table, |alias| fold(&alias.name));
            known.extend(found.map(|(oid, ..)| (shown, *oid)));
        }
    }
    if known.is_empty() {
        return;
    }
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && let Expr::CompoundIdentifier(parts) = expr
            && parts.last().is_some_and(|part| fold(part) == "tableoid")
        {
            let (expr, alias) = (expr.clone(), Ident::new("tableoid"));
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
    // It never stops.
    let _ = select.visit(&mut TableNumbers(known));
}

/// Takes the branches of CASE away that are about kinds of types of which there is none, in what
/// is selected from `pg_type`: clients ask there for what the planner cannot do.
fn missing_kinds(select: &mut Select) {
    let is_types = |factor: &TableFactor| {
        let TableFactor::Table { name, args: None, .. } = factor else { return false };
        name.0.last().and_then(|part| part.as_ident()).map(fold).as_deref() == Some("pg_type")
    };
    if !select.from.iter().any(|from| is_types(&from.relation)) {
        return;
    }
    for item in &mut select.projection {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
            continue;
        };
        let mut inner = expr;
        while let Expr::Nested(nested) = inner {
            inner = nested.as_mut();
        }
        if let Expr::Case { operand: None, conditions, else_result, .. } = inner
            && !conditions.is_empty()
            && conditions.iter().all(|case| is_missing_kind(&case.condition))
        {
            let otherwise = else_result.take().map(|one| *one);
            *inner = otherwise
                .filter(|one| !is_null(one))
                .unwrap_or_else(|| call("nacre_oid", vec![Expr::Value(Value::Null.into())]));
        }
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}

/// Whether a condition asks for a kind of types of which there is none: composite types, domains,
/// enumerations, ranges.
fn is_missing_kind(condition: &Expr) -> bool {
    let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = condition else { return false };
    let column = match left.as_ref() {
        Expr::Identifier(ident) => fold(ident),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold).unwrap_or_default(),
        _ => return false,
    };
    let Expr::Value(literal) = right.as_ref() else { return false };
    let Value::SingleQuotedString(kind) = &literal.value else { return false };
    column == "typtype" && matches!(kind.as_str(), "c" | "d" | "e" | "r" | "m")
}

struct TableNumbers(Vec<(String, u32)>);

impl VisitorMut for TableNumbers {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [table, column] = parts.as_slice()
            && fold(column) == "tableoid"
            && let Some((_, oid)) = self.0.iter().find(|(known, _)| *known == fold(table))
        {
            let number = Expr::Value(Value::Number(oid.to_string(), false).into());
            *expr = call("nacre_oid", vec![number]);
        }
        ControlFlow::Continue(())
    }
}
