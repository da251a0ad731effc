//! Queries that the planner reads differently from PostgreSQL, or not at all.
//!
//! - `FETCH FIRST n ROWS ONLY` is LIMIT n, and so is `LIMIT 'n'`.
//! - `FROM ONLY t` is `FROM t`, since no table has others below it.
//! - A text in quotes that goes on in the next line is one text; the parser takes what is there for
//!   an alias.
//! - `*` of two tables that are joined by USING begins with the columns that they have in common.
//! - `generate_series` and `string_to_table` among the outputs are `unnest` of a list; several of
//!   them, also with `unnest`, go on side by side.
//! - `SELECT t.a, t.*` names the first column so that the planner tells both apart.
//! - A function in FROM that gives one value is a query for it, and `generate_series` of anything
//!   but numbers is one for the values of a list.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Fetch, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    JoinConstraint, JoinOperator, LimitClause, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableAliasColumnDef, TableFactor,
    UnaryOperator, Value, Visit, VisitMut, Visitor, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Location;

use crate::error::{Error, ErrorKind, Position, Result, offset_of};
use crate::functions::{SERIES, call};
use crate::names::fold;

/// Table functions that the planner has, and those that [`crate::pg_catalog`] reads.
const TABLE_FUNCTIONS: [&str; 5] = [
    "generate_series",
    "pg_get_keywords",
    "pg_partition_ancestors",
    "pg_show_all_settings",
    "unnest",
];

/// Makes LIMIT of FETCH.
///
/// # Errors
/// `not supported` for what LIMIT cannot say.
pub(crate) fn fetch(query: &mut Query) -> Result<()> {
    if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause {
        limit.iter_mut().try_for_each(count)?;
        offset.iter_mut().try_for_each(|offset| count(&mut offset.value))?;
    }
    let Some(Fetch { with_ties, percent, quantity }) = query.fetch.take() else { return Ok(()) };
    if with_ties {
        return Err(Error::not_supported("FETCH FIRST ... WITH TIES"));
    }
    if percent {
        return Err(Error::not_supported("FETCH FIRST ... PERCENT"));
    }
    let one = || Expr::Value(Value::Number("1".to_owned(), false).into());
    let quantity = Some(quantity.unwrap_or_else(one));
    query.limit_clause = Some(match query.limit_clause.take() {
        Some(LimitClause::LimitOffset { limit: None, offset, limit_by }) => {
            LimitClause::LimitOffset { limit: quantity, offset, limit_by }
        }
        Some(_) => return Err(Error::not_supported("FETCH FIRST and LIMIT together")),
        None => LimitClause::LimitOffset { limit: quantity, offset: None, limit_by: Vec::new() },
    });
    Ok(())
}

/// Makes a number of a text in quotes.
fn count(expr: &mut Expr) -> Result<()> {
    let Expr::Value(literal) = expr else { return Ok(()) };
    let Value::SingleQuotedString(text) = &literal.value else { return Ok(()) };
    let number: i64 = text.trim().parse().map_err(|_| {
        let message = format!("invalid input syntax for type bigint: \"{text}\"");
        Error::new(ErrorKind::InvalidData, message).with_code("22P02")
    })?;
    literal.value = Value::Number(number.to_string(), false);
    Ok(())
}

/// Takes ONLY away from a table.
pub(crate) fn only(factor: &mut TableFactor) {
    let TableFactor::Table { name, alias, args, .. } = factor else { return };
    let [part] = name.0.as_slice() else { return };
    let is_only = part.as_ident().is_some_and(|ident| {
        ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("only")
    });
    if !is_only {
        return;
    }
    // `ONLY (t)` looks like a function, and `ONLY t` like a table with another name.
    if let Some(args_of) = args {
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(table))] = args_of.args.as_slice() else {
            return;
        };
        let parts = match table {
            Expr::Identifier(ident) => vec![ident.clone()],
            Expr::CompoundIdentifier(parts) => parts.clone(),
            _ => return,
        };
        (*name, *args) = (ObjectName::from(parts), None);
    } else if let Some(table) = alias.take_if(|one| !one.explicit && one.columns.is_empty()) {
        *name = ObjectName::from(vec![table.name]);
    }
}

/// Takes ONLY away from all tables of a statement.
pub(crate) fn without_only(statement: &mut ParsedStatement) {
    struct Tables;
    impl VisitorMut for Tables {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
            only(factor);
            ControlFlow::Continue(())
        }
    }
    if let ParsedStatement::Statement(inner) = statement {
        // It never stops.
        let _ = inner.visit(&mut Tables);
    }
}

/// Joins texts in quotes that go on in the next line of `sql`.
///
/// # Errors
/// `Syntax` for an alias in single quotes.
pub(crate) fn join_literals(statement: &mut ParsedStatement, sql: &str) -> Result<()> {
    struct Literals<'a>(&'a str);
    impl VisitorMut for Literals<'_> {
        type Break = Error;

        fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
            for item in &mut select.projection {
                let SelectItem::ExprWithAlias { expr, alias } = item else { continue };
                if alias.quote_style != Some('\'') {
                    continue;
                }
                match expr {
                    Expr::Value(literal) if goes_on(self.0, literal.span.end) => {
                        let Value::SingleQuotedString(text) = &mut literal.value else {
                            return ControlFlow::Break(no_alias(alias));
                        };
                        text.push_str(&alias.value);
                        *item = SelectItem::UnnamedExpr(expr.clone());
                    }
                    _ => return ControlFlow::Break(no_alias(alias)),
                }
            }
            ControlFlow::Continue(())
        }
    }
    let ParsedStatement::Statement(inner) = statement else { return Ok(()) };
    match inner.visit(&mut Literals(sql)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Whether a line ends between the end of a text in quotes and the next one.
fn goes_on(sql: &str, end: Location) -> bool {
    let position = Position { line: end.line as usize, column: end.column as usize };
    let behind = sql.get(offset_of(sql, position)..).unwrap_or_default();
    let between = behind.strip_prefix('\'').unwrap_or(behind).split('\'').next();
    between.is_some_and(|between| between.contains('\n'))
}

fn no_alias(alias: &Ident) -> Error {
    Error::new(ErrorKind::Syntax, format!("syntax error at or near \"'{}'\"", alias.value))
}

/// Has `*` of two tables that are joined by columns begin with these.
pub(crate) fn star(select: &mut Select) {
    let [SelectItem::Wildcard(options)] = select.projection.as_mut_slice() else { return };
    let [from] = select.from.as_slice() else { return };
    // The planner takes a column that three tables have in common for ambiguous.
    let [join] = from.joins.as_slice() else { return };
    let (JoinOperator::Join(constraint)
    | JoinOperator::Inner(constraint)
    | JoinOperator::Left(constraint)
    | JoinOperator::LeftOuter(constraint)) = &join.join_operator
    else {
        return;
    };
    let JoinConstraint::Using(columns) = constraint else { return };
    let idents: Option<Vec<Ident>> =
        columns.iter().map(|name| name.0.last()?.as_ident().cloned()).collect();
    let names: Option<Vec<ObjectName>> =
        [&from.relation, &join.relation].into_iter().map(called_by).collect();
    let (Some(idents), Some(names)) = (idents, names) else { return };
    let rest = names.into_iter().map(|name| {
        let mut options = options.clone();
        options.opt_exclude = Some(ExcludeSelectItem::Multiple(columns.clone()));
        let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
        SelectItem::QualifiedWildcard(kind, options)
    });
    let first = idents.into_iter().map(|ident| SelectItem::UnnamedExpr(Expr::Identifier(ident)));
    select.projection = first.chain(rest).collect();
}

/// Returns the name by which columns of a table or query in FROM are asked for.
fn called_by(factor: &TableFactor) -> Option<ObjectName> {
    match factor {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(ObjectName::from(vec![alias.name.clone()]))
        }
        TableFactor::Table { name, args: None, .. } => Some(name.clone()),
        _ => None,
    }
}

/// Returns what gives the rows of a function, if it is one that gives rows.
fn list_of(expr: &Expr) -> Option<Expr> {
    let Expr::Function(function) = expr else { return None };
    let [.., part] = function.name.0.as_slice() else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let args = list.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    let args = args.collect::<Option<Vec<Expr>>>()?;
    match fold(part.as_ident()?).as_str() {
        "generate_series" => Some(call(SERIES, args)),
        "string_to_table" => Some(call("string_to_array", args)),
        _ => None,
    }
}

/// Has the planner make rows of the lists among the outputs; returns whether there are some.
pub(crate) fn outputs(select: &mut Select) -> bool {
    struct Lists {
        found: bool,
    }
    impl VisitorMut for Lists {
        type Break = ();

        fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
            // What a subquery selects is its own.
            ControlFlow::Break(())
        }

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Some(list) = list_of(expr) {
                *expr = call("unnest", vec![list]);
                self.found = true;
            }
            ControlFlow::Continue(())
        }
    }
    let mut lists = Lists { found: false };
    let mut named = BTreeSet::new();
    for item in &mut select.projection {
        let name = match item {
            SelectItem::UnnamedExpr(expr) if list_of(expr).is_some() => called(expr),
            _ => None,
        };
        // The planner wants different names.
        let name = name.filter(|name| named.insert(fold(name)));
        let _ = VisitMut::visit(item, &mut lists);
        if let (Some(alias), SelectItem::UnnamedExpr(expr)) = (name, &*item) {
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
    lists.found
}

/// Returns the name of a function that is called.
fn called(expr: &Expr) -> Option<Ident> {
    let Expr::Function(function) = expr else { return None };
    function.name.0.last()?.as_ident().cloned()
}

/// Makes a query of a function in FROM.
///
/// # Errors
/// `not supported` if it refers to what stands beside it.
pub(crate) fn function(factor: &mut TableFactor) -> Result<()> {
    if let TableFactor::UNNEST { with_ordinality: true, .. } = factor {
        return Err(ordinality());
    }
    if let TableFactor::UNNEST { alias: Some(alias), array_exprs, .. } = factor
        && alias.columns.is_empty()
        && array_exprs.len() == 1
    {
        let name = alias.name.clone();
        alias.columns.push(TableAliasColumnDef { name, data_type: None });
    }
    let TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } = factor else {
        return Ok(());
    };
    if *with_ordinality {
        return Err(ordinality());
    }
    let Some(ident) = name.0.last().and_then(|part| part.as_ident()).cloned() else {
        return Ok(());
    };
    let function = fold(&ident);
    let list: Option<Vec<Expr>> = args
        .args
        .iter()
        .map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        })
        .collect();
    let Some(list) = list else { return Ok(()) };
    let is_series = function == "generate_series";
    let is_table = !is_series || list.iter().all(is_number);
    if is_table && TABLE_FUNCTIONS.contains(&function.as_str()) {
        return Ok(());
    }
    if list.iter().any(has_column) {
        return Err(Error::not_supported(
            "a function in FROM that refers to a table beside it (LATERAL)",
        )
        .with_hint("Call it among the outputs of the query."));
    }
    let value = call(&function, list);
    let value = match list_of(&value) {
        Some(list) => call("unnest", vec![list]),
        None => value,
    };
    let Some(mut query) = one_value() else { return Ok(()) };
    let alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: ident,
        columns: Vec::new(),
        at: None,
    });
    let mut alias = alias;
    if alias.columns.is_empty() {
        let name = alias.name.clone();
        alias.columns.push(TableAliasColumnDef { name, data_type: None });
    }
    if let SetExpr::Select(select) = query.body.as_mut() {
        let column = alias.columns.first().map_or(Ident::new("value"), |one| one.name.clone());
        select.projection = vec![SelectItem::ExprWithAlias { expr: value, alias: column }];
    }
    *factor = TableFactor::Derived {
        lateral: false,
        subquery: Box::new(query),
        alias: Some(alias),
        sample: None,
    };
    Ok(())
}

fn ordinality() -> Error {
    Error::not_supported("WITH ORDINALITY")
}

fn one_value() -> Option<Query> {
    let parsed = Parser::new(&PostgreSqlDialect {})
        .try_with_sql("SELECT 1")
        .and_then(|mut parser| parser.parse_query());
    parsed.ok().map(|query| *query)
}

fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => is_number(expr),
        _ => false,
    }
}

/// Whether an expression reads a column.
pub(crate) fn has_column(expr: &Expr) -> bool {
    struct Columns;
    impl Visitor for Columns {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(ident) if crate::functions::word(ident).is_some() => {
                    ControlFlow::Continue(())
                }
                Expr::Identifier(ident)
                    if ident.quote_style.is_none() && fold(ident).starts_with("current_") =>
                {
                    ControlFlow::Continue(())
                }
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Columns).is_break()
}
