//! Rewrites of parsed statements where the planner would read them differently from PostgreSQL.
//!
//! - `1e5` is a double, exactly rounded; the planner's decimals have no such exponents.
//! - `'\x00ff'::bytea` is two bytes.
//! - `1.50::numeric` keeps its two digits.
//! - `x::varchar(n)` and `x::char(n)` cut to n characters; the planner drops the length.
//! - The query of `x > ALL (query)` and of ANY and SOME has names of its own; the planner would
//!   take a column of the outer query for one of the inner query that is called the same.
//! - The column of `generate_series(1, 3) AS g` is called `g`, and without an alias like the
//!   function.
//! - Columns of queries in FROM and WITH are called as PostgreSQL calls them ([`columns`]).
//! - `SELECT DISTINCT a + 1 ... ORDER BY a + 1` is sorted by the output of that number; the planner
//!   would look for `a` among the outputs.
//! - Tables of outer queries are named with their schema ([`scopes`](crate::scopes)).
//! - `(a, b) IN (query)` becomes EXISTS, and rows are compared column by column ([`row_values`]).
//! - `SHOW TABLES` and `SHOW COLUMNS` ask the information schema.
//! - Long chains of AND and of OR become balanced trees ([`balance`]).
//! - HAVING without aggregates and GROUP BY makes one group of all rows.
//! - Aggregates that differ only by a cast get names of their own; the planner's leave casts out.
//! - `current_schema` and `current_role` are calls.
//! - What clients ask the catalogs for is rewritten by [`pg_catalog`], and forms that the planner
//!   lacks by [`query_forms`] and [`expression_forms`].

use std::collections::VecDeque;
use std::ops::ControlFlow;

use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, CharacterLength, DataType, Distinct, ExactNumberInfo, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, NamedWindowDefinition,
    NamedWindowExpr, ObjectName, OrderByKind, Query, Select, SelectItem, SetExpr, Statement,
    TableAlias, TableAliasColumnDef, TableFactor, TrimWhereField, UnaryOperator, Value, Visit,
    VisitMut, Visitor, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use nacre_ingest::parse::parse_bytea;

use crate::error::{Error, Result};
use crate::expression_forms::{binary, nested};
use crate::from_datafusion::from_parser;
use crate::functions::{NAMED, call};
use crate::names::{SCHEMA, fold};
use crate::parsing::statement_parser;
use crate::prepared::{numeric, numeric_type};
use crate::scopes::Scopes;
use crate::types::trim_blanks;
use crate::{cancellation, columns, expression_forms, pg_catalog, query_forms, row_values};

/// Rewrites all expressions of `statement`.
///
/// # Errors
/// `not supported`.
pub(crate) fn rewrite(state: &SessionState, statement: &mut ParsedStatement) -> Result<()> {
    let inner = match statement {
        ParsedStatement::Statement(inner) => inner,
        ParsedStatement::Explain(explain) => match explain.statement.as_mut() {
            ParsedStatement::Statement(inner) => inner,
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    if let Some(sql) = shown(inner) {
        let mut parser =
            Parser::new(&PostgreSqlDialect {}).try_with_sql(&sql).map_err(|e| from_parser(&e))?;
        **inner = parser.parse_statement().map_err(|error| from_parser(&error))?;
    }
    match inner.visit(&mut Rewrites { state, scopes: Scopes::default() }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Returns the query that SHOW TABLES or SHOW COLUMNS stands for.
fn shown(statement: &Statement) -> Option<String> {
    match statement {
        Statement::ShowTables { .. } => Some(format!(
            "SELECT table_schema, table_name FROM information_schema.tables \
             WHERE table_schema = '{SCHEMA}' ORDER BY table_name"
        )),
        Statement::ShowColumns { show_options, .. } => {
            let parent = show_options.show_in.as_ref()?.parent_name.as_ref()?;
            let name = fold(parent.0.last()?.as_ident()?).replace('\'', "''");
            Some(format!(
                "SELECT table_catalog, table_schema, table_name, column_name, data_type, \
                 is_nullable FROM information_schema.columns WHERE table_name = '{name}' \
                 AND table_schema = '{SCHEMA}' ORDER BY ordinal_position"
            ))
        }
        _ => None,
    }
}

/// Rewrites an expression that is part of no statement.
///
/// # Errors
/// As [`rewrite`].
pub(crate) fn rewrite_expr(state: &SessionState, expr: &mut Expr) -> Result<()> {
    match expr.visit(&mut Rewrites { state, scopes: Scopes::default() }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Rewrites<'a> {
    /// Knows which functions there are.
    state: &'a SessionState,
    scopes: Scopes,
}

fn broken(done: Result<()>) -> ControlFlow<Error> {
    match done {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl VisitorMut for Rewrites<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if let Some(with) = &mut query.with {
            with.cte_tables.iter_mut().for_each(|table| columns::give_names(&mut table.query));
        }
        broken(order_by_outputs(query))?;
        broken(query_forms::fetch(query))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        if let TableFactor::Derived { subquery, .. } = factor {
            columns::give_names(subquery);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        pg_catalog::select(select);
        row_values::in_conditions(select);
        query_forms::star(select);
        named_casts(select, self.state);
        one_group(select, self.state);
        self.scopes.enter(select);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.scopes.leave();
        for window in &mut select.named_window {
            if let NamedWindowDefinition(_, NamedWindowExpr::WindowSpec(spec)) = window {
                expression_forms::frame(spec);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        pg_catalog::table_factor(factor);
        query_forms::only(factor);
        broken(query_forms::function(factor))?;
        if let TableFactor::Table { name, alias, args: Some(_), .. } = factor
            && let Some(ident) = name.0.last().and_then(|part| part.as_ident())
            && fold(ident) == "generate_series"
        {
            let alias = alias.get_or_insert_with(|| TableAlias {
                explicit: true,
                name: ident.clone(),
                columns: Vec::new(),
                at: None,
            });
            if alias.columns.is_empty() {
                let name = alias.name.clone();
                alias.columns.push(TableAliasColumnDef { name, data_type: None });
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if cancellation::is_cancelled() {
            return ControlFlow::Break(cancellation::cancelled());
        }
        balance(expr);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        self.scopes.qualify(expr);
        broken(pg_catalog::check_cast(expr))?;
        if let Some(new) = pg_catalog::expression(expr) {
            *expr = new;
        }
        if let Some(new) = expression_forms::expression(expr, self.state) {
            *expr = new;
        }
        if let Some(new) = row_values::compared(expr) {
            *expr = new;
        }
        if let Some(new) = rewritten(expr) {
            *expr = new;
        }
        ControlFlow::Continue(())
    }
}

/// Names the casts within aggregates that would be called the same.
fn named_casts(select: &mut Select, state: &SessionState) {
    /// Calls of aggregates: their texts, and those without casts.
    struct Calls<'a>(&'a SessionState, Vec<(String, String)>);
    impl Visitor for Calls<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if is_aggregate(expr, self.0) {
                self.1.push((without_casts(expr), expr.to_string()));
            }
            ControlFlow::Continue(())
        }
    }
    struct Names<'a>(&'a SessionState, Vec<(String, String)>);
    impl VisitorMut for Names<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if !is_aggregate(expr, self.0) {
                return ControlFlow::Continue(());
            }
            let (bare, text) = (without_casts(expr), expr.to_string());
            let others = self.1.iter().filter(|(other, _)| *other == bare);
            if others.into_iter().any(|(_, other)| *other != text)
                && let Expr::Function(function) = expr
                && let FunctionArguments::List(list) = &mut function.args
            {
                for arg in &mut list.args {
                    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg
                        && matches!(arg, Expr::Cast { .. })
                    {
                        let name = string(&arg.to_string());
                        *arg = call(NAMED, vec![arg.clone(), name]);
                    }
                }
            }
            ControlFlow::Continue(())
        }
    }
    let mut calls = Calls(state, Vec::new());
    for item in &select.projection {
        // It never stops.
        let _ = item.visit(&mut calls);
    }
    if calls.1.iter().all(|(bare, text)| bare == text) {
        return;
    }
    let mut names = Names(state, calls.1);
    for item in &mut select.projection {
        let _ = VisitMut::visit(item, &mut names);
    }
}

/// Has HAVING make one group of all rows where no aggregate does and GROUP BY is not there.
fn one_group(select: &mut Select, state: &SessionState) {
    /// Looks for aggregates outside of subqueries.
    struct Aggregates<'a> {
        state: &'a SessionState,
        depth: usize,
    }
    impl Visitor for Aggregates<'_> {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match self.depth == 0 && is_aggregate(expr, self.state) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    let is_grouped = match &select.group_by {
        GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
        GroupByExpr::All(_) => true,
    };
    let Some(having) = &mut select.having else { return };
    let mut aggregates = Aggregates { state, depth: 0 };
    if is_grouped
        || Visit::visit(&*having, &mut aggregates).is_break()
        || Visit::visit(&select.projection, &mut aggregates).is_break()
    {
        return;
    }
    // It is true of every group.
    let counted = statement_parser("count(*) >= 0").and_then(|mut parser| parser.parse_expr());
    if let Ok(counted) = counted {
        let condition = nested(std::mem::replace(having, Expr::value(Value::Null)));
        *having = binary(condition, BinaryOperator::And, counted);
    }
}

fn is_aggregate(expr: &Expr, state: &SessionState) -> bool {
    let Expr::Function(function) = expr else { return false };
    let ident = function.name.0.last().and_then(|part| part.as_ident());
    ident.is_some_and(|ident| state.aggregate_functions().contains_key(&fold(ident)))
}

/// Returns the text of an expression without its casts.
fn without_casts(expr: &Expr) -> String {
    struct Casts;
    impl VisitorMut for Casts {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Cast { expr: inner, .. } = expr {
                let inner = std::mem::replace(inner.as_mut(), Expr::value(Value::Null));
                *expr = inner;
            }
            ControlFlow::Continue(())
        }
    }
    let mut bare = expr.clone();
    let _ = VisitMut::visit(&mut bare, &mut Casts);
    bare.to_string()
}

/// Links of a chain from which on it is made a tree; no tree has so many below each other.
const CHAIN: usize = 48;

/// Makes a balanced tree of a long chain of AND or OR, with the same order of conditions.
///
/// The planner looks from each node of an expression down to its leaves: the time for a chain grows
/// with the square of its length, for a tree only a little faster than its size.
fn balance(expr: &mut Expr) {
    let Expr::BinaryOp { op, .. } = &*expr else { return };
    if !matches!(op, BinaryOperator::And | BinaryOperator::Or) {
        return;
    }
    let op = op.clone();
    let mut length = 0;
    let mut link = &*expr;
    while let Expr::BinaryOp { left, op: other, .. } = link
        && *other == op
    {
        length += 1;
        link = left;
    }
    if length < CHAIN {
        return;
    }
    let mut conditions = VecDeque::with_capacity(length + 1);
    let mut rest = std::mem::replace(expr, Expr::value(Value::Null));
    loop {
        match rest {
            Expr::BinaryOp { left, op: other, right } if other == op => {
                conditions.push_front(*right);
                rest = *left;
            }
            first => {
                conditions.push_front(first);
                break;
            }
        }
    }
    while conditions.len() > 1 {
        let (pairs, is_odd) = (conditions.len() / 2, conditions.len() % 2 == 1);
        for _ in 0..pairs {
            if let (Some(left), Some(right)) = (conditions.pop_front(), conditions.pop_front()) {
                let (left, right) = (Box::new(left), Box::new(right));
                conditions.push_back(Expr::BinaryOp { left, op: op.clone(), right });
            }
        }
        if is_odd {
            conditions.rotate_left(1);
        }
    }
    if let Some(tree) = conditions.pop_front() {
        *expr = tree;
    }
}

/// Has a query be sorted by the numbers of its outputs where ORDER BY repeats them: DISTINCT wants
/// that, and the planner would take a name in an expression for that of an output.
///
/// # Errors
/// `not supported` for an expression with the name of an output that it does not mean.
fn order_by_outputs(query: &mut Query) -> Result<()> {
    let names = columns::names_in_keys(query.order_by.as_ref());
    let (SetExpr::Select(select), Some(order)) = (query.body.as_ref(), &mut query.order_by) else {
        return Ok(());
    };
    let OrderByKind::Expressions(keys) = &mut order.kind else { return Ok(()) };
    let is_distinct = matches!(select.distinct, Some(Distinct::Distinct));
    let shadow = select.projection.iter().find_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } => {
            let name = fold(alias);
            let is_shadow = names.contains(&name) && !columns::is_column_named(expr, &name);
            is_shadow.then_some(name)
        }
        _ => None,
    });
    if !is_distinct && shadow.is_none() {
        return Ok(());
    }
    let is_output = |item: &SelectItem, wanted: &Expr| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr == wanted,
        _ => false,
    };
    // Behind `*` nobody knows the numbers.
    let is_one = |item: &&SelectItem| {
        matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
    };
    let items: Vec<&SelectItem> = select.projection.iter().take_while(is_one).collect();
    for key in keys {
        if matches!(key.expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_)) {
            continue;
        }
        if let Some(place) = items.iter().position(|item| is_output(item, &key.expr)) {
            key.expr = Expr::Value(Value::Number((place + 1).to_string(), false).into());
        }
    }
    match shadow.filter(|name| columns::names_in_keys(Some(&*order)).contains(name)) {
        None => Ok(()),
        Some(name) => Err(Error::not_supported(format_args!(
            "ORDER BY of an expression with \"{name}\", which is also the name of an output"
        ))
        .with_hint("Name the column with its table, or give the output another name.")),
    }
}

/// Makes `= ANY (query)` the IN that it is, and `<> ALL (query)` NOT IN, where the operator that
/// was found is the one that is wanted.
fn among(
    left: &mut Expr,
    (found, wanted): (&BinaryOperator, &BinaryOperator),
    right: &mut Expr,
    negated: bool,
) -> Option<Expr> {
    let Expr::Subquery(query) = right else { return None };
    if found != wanted {
        enclose(query);
        return None;
    }
    let (expr, subquery) = (Box::new(left.clone()), query.clone());
    let found = Expr::InSubquery { expr, subquery, negated };
    Some(row_values::value(&found).unwrap_or(found))
}

fn rewritten(expr: &mut Expr) -> Option<Expr> {
    match expr {
        Expr::InSubquery { .. } => row_values::value(expr),
        Expr::InList { expr, list, negated } => in_query(expr, list, *negated),
        Expr::Identifier(ident) => call_by_word(ident),
        Expr::AnyOp { left, compare_op, right, .. } => {
            among(left, (compare_op, &BinaryOperator::Eq), right, false)
        }
        Expr::AllOp { left, compare_op, right } => {
            among(left, (compare_op, &BinaryOperator::NotEq), right, true)
        }
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) if text.contains(['e', 'E']) => {
                Some(cast(string(text), DataType::DoublePrecision))
            }
            _ => None,
        },
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. } => {
            match data_type {
                DataType::Bytea => Some(bytes(expr)),
                DataType::Numeric(ExactNumberInfo::None)
                | DataType::Decimal(ExactNumberInfo::None)
                | DataType::Dec(ExactNumberInfo::None) => own_digits(expr),
                DataType::Varchar(Some(CharacterLength::IntegerLength { length, .. }))
                | DataType::CharacterVarying(Some(CharacterLength::IntegerLength {
                    length, ..
                })) => Some(cut((**expr).clone(), *length)),
                DataType::Char(length) | DataType::Character(length) => {
                    let length = match length {
                        Some(CharacterLength::IntegerLength { length, .. }) => *length,
                        _ => 1,
                    };
                    Some(Expr::Trim {
                        trim_where: Some(TrimWhereField::Trailing),
                        trim_what: Some(Box::new(string(" "))),
                        expr: Box::new(cut((**expr).clone(), length)),
                        trim_characters: None,
                    })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns `x IN (query)` for `x IN ((query))`.
fn in_query(expr: &Expr, list: &[Expr], negated: bool) -> Option<Expr> {
    let [one] = list else { return None };
    let mut one = one;
    while let Expr::Nested(inner) = one {
        one = inner;
    }
    let Expr::Subquery(subquery) = one else { return None };
    let (expr, subquery) = (Box::new(expr.clone()), subquery.clone());
    Some(Expr::InSubquery { expr, subquery, negated })
}

/// Returns the call that a word stands for which the parser takes for a column.
fn call_by_word(ident: &Ident) -> Option<Expr> {
    let is_call = ident.quote_style.is_none()
        && ["current_schema", "current_role"]
            .iter()
            .any(|word| ident.value.eq_ignore_ascii_case(word));
    is_call.then(|| {
        Expr::Function(Function {
            name: ObjectName::from(vec![ident.clone()]),
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args: FunctionArguments::None,
            null_treatment: None,
            filter: None,
            over: None,
            within_group: Vec::new(),
        })
    })
}

/// Gives the only column of a query a name that no other query has. One that is not simply a
/// SELECT of an expression becomes the table of one that is. A query of several columns stays as
/// it is, and is refused.
fn enclose(query: &mut Query) {
    let has_order = query.order_by.is_some();
    if let SetExpr::Select(select) = query.body.as_mut()
        && let [item] = select.projection.as_mut_slice()
    {
        let expr = match item {
            SelectItem::UnnamedExpr(expr) => Some(expr.clone()),
            SelectItem::ExprWithAlias { expr, .. } if !has_order => Some(expr.clone()),
            _ => None,
        };
        if let Some(expr) = expr {
            let alias = Ident::with_quote('"', "nacre member");
            *item = SelectItem::ExprWithAlias { expr, alias };
            return;
        }
    }
    let sql = "SELECT \"nacre member\" FROM (SELECT 1) AS \"nacre set\" (\"nacre member\")";
    let parsed = Parser::new(&PostgreSqlDialect {})
        .try_with_sql(sql)
        .and_then(|mut parser| parser.parse_query());
    let Ok(mut outer) = parsed else { return };
    if let SetExpr::Select(select) = outer.body.as_mut()
        && let Some(from) = select.from.first_mut()
        && let TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        std::mem::swap(subquery.as_mut(), query);
        *query = *outer;
    }
}

/// Returns what stands for a cast to bytes.
fn bytes(expr: &Expr) -> Expr {
    if let Expr::Value(value) = expr
        && let Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) = &value.value
        && let Ok(bytes) = parse_bytea(text.as_bytes())
    {
        let digits = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        return Expr::Value(Value::HexStringLiteral(digits).into());
    }
    pg_catalog::call("nacre_bytea", vec![expr.clone()])
}

/// Returns the number that a cast to `numeric` is of, with the digits that it is written with;
/// `None` for what is no literal.
fn own_digits(expr: &Expr) -> Option<Expr> {
    let (sign, inner) = match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => ("-", expr.as_ref()),
        other => ("", other),
    };
    match inner {
        Expr::Nested(inner) if sign.is_empty() => own_digits(inner),
        Expr::Cast {
            data_type: DataType::Numeric(ExactNumberInfo::PrecisionAndScale(..)), ..
        } if sign.is_empty() => Some(inner.clone()),
        Expr::Value(value) => {
            let (Value::Number(text, _) | Value::SingleQuotedString(text)) = &value.value else {
                return None;
            };
            let digits = numeric(&format!("{sign}{}", trim_blanks(text))).ok()?;
            let sql = format!("CAST('{digits}' AS {})", numeric_type(&digits));
            let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(&sql).ok()?;
            parser.parse_expr().ok()
        }
        _ => None,
    }
}

fn cut(expr: Expr, chars: u64) -> Expr {
    let number = |value: u64| Box::new(Expr::Value(Value::Number(value.to_string(), false).into()));
    Expr::Substring {
        expr: Box::new(cast(expr, DataType::Text)),
        substring_from: Some(number(1)),
        substring_for: Some(number(chars)),
        special: true,
        shorthand: false,
    }
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    let kind = CastKind::Cast;
    Expr::Cast { kind, expr: Box::new(expr), data_type, array: false, format: None }
}

fn string(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.into()).into())
}

#[cfg(test)]
mod tests {
    use datafusion::execution::SessionStateBuilder;

    use super::*;

    fn rewritten(mut expr: Expr) -> Expr {
        let state = SessionStateBuilder::new().build();
        rewrite_expr(&state, &mut expr).unwrap();
        expr
    }

    fn parsed(sql: &str) -> Expr {
        let parser = Parser::new(&PostgreSqlDialect {});
        parser.try_with_sql(sql).unwrap().parse_expr().unwrap()
    }

    /// Returns how deep AND and OR are nested, and the conditions in their order.
    fn walk(expr: &Expr, depth: usize, conditions: &mut Vec<String>) -> usize {
        match expr {
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
                walk(left, depth + 1, conditions).max(walk(right, depth + 1, conditions))
            }
            other => {
                conditions.push(other.to_string());
                depth
            }
        }
    }

    #[test]
    fn long_chain_becomes_a_tree_with_the_same_order() {
        for count in [CHAIN + 1, 64, 1_000, 1_001] {
            for op in [" OR ", " AND "] {
                let terms: Vec<_> = (0..count).map(|term| format!("a = {term}")).collect();
                let expr = rewritten(parsed(&terms.join(op)));
                let mut conditions = Vec::new();
                let depth = walk(&expr, 0, &mut conditions);
                assert_eq!(conditions, terms);
                assert!(depth <= 10, "{count} conditions, {depth} deep");
            }
        }
    }

    #[test]
    fn mixed_and_short_chains_mean_what_they_meant() {
        for sql in ["a OR b AND c OR d", "(a OR b) AND c", "a AND NOT b OR c"] {
            assert_eq!(rewritten(parsed(sql)).to_string(), sql);
        }
        let terms: Vec<_> = (0..60).map(|term| format!("a AND b > {term}")).collect();
        let chain = terms.join(" OR ");
        assert_eq!(rewritten(parsed(&chain)).to_string(), chain);
    }
}
