//! Names of a query's result columns, as PostgreSQL gives them: a function's, a column's, a type's.
//!
//! The planner names a column after its own form of the expression (`Decimal128(1005,4,3)`). Names
//! that the user gave, and those of columns that `*` stands for, are left alone.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, DataType, Expr, Ident, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr,
    Statement, TrimWhereField, Value, Visit, Visitor,
};
use futures::StreamExt;

use crate::names::fold;
use crate::types::{element_type, pg_type};

/// The name of a column that has none.
pub(crate) const NO_NAME: &str = "?column?";

/// The names of result columns, where they differ from the planner's.
pub(crate) enum Names {
    /// By place; `None` is the planner's.
    Places(Vec<Option<String>>),
    /// Next to `*`: names that the planner was given, and those that are to be shown.
    Given(Vec<(String, String)>),
}

impl Names {
    /// Returns the name that the column of that place is to be shown by.
    pub(crate) fn shown(&self, place: usize, planned: &str) -> String {
        let found = match self {
            Self::Places(names) => names.get(place).and_then(Option::as_deref),
            Self::Given(names) => {
                let named = names.iter().find(|(given, _)| given == planned);
                named.map(|(_, shown)| shown.as_str())
            }
        };
        found.unwrap_or_else(|| visible(planned)).to_owned()
    }

    fn are_for(&self, count: usize) -> bool {
        match self {
            Self::Places(names) => names.len() == count,
            Self::Given(_) => true,
        }
    }
}

/// Returns the names of the result columns of `statement`; `None` if it is no query.
///
/// The planner wants different names. Where two are alike, and for a subquery or a cast, whose name
/// the planner does not take from its text, the statement gets aliases that [`renamed`] takes off
/// again.
pub(crate) fn names(statement: &mut ParsedStatement) -> Option<Names> {
    let ParsedStatement::Statement(statement) = statement else { return None };
    let Statement::Query(query) = statement.as_mut() else { return None };
    hide_shadows(query);
    names_of(first_select(query)?)
}

/// Returns the part of a query that its columns have their names from.
pub(crate) fn first_select(query: &mut Query) -> Option<&mut Select> {
    let mut body = query.body.as_mut();
    loop {
        match body {
            SetExpr::Select(select) => return Some(select),
            // A set operation has the names of its first part.
            SetExpr::SetOperation { left, .. } => body = left.as_mut(),
            SetExpr::Query(query) => return first_select(query),
            _ => return None,
        }
    }
}

/// Gives outputs that are called like a column which ORDER BY or GROUP BY names with its table
/// names for the planner alone: it would take such a name for ambiguous.
fn hide_shadows(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    if select.distinct.is_some() {
        return;
    }
    let mut qualified = Qualified::default();
    // It never stops.
    let _ = select.group_by.visit(&mut qualified);
    let _ = query.order_by.visit(&mut qualified);
    let inner = names_in_keys(query.order_by.as_ref());
    if qualified.0.is_empty() && inner.is_empty() {
        return;
    }
    for (index, item) in select.projection.iter_mut().enumerate() {
        let SelectItem::ExprWithAlias { expr, alias } = item else { continue };
        let name = fold(alias);
        let is_column = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        let is_shadow = inner.contains(&name) && !is_column_named(expr, &name);
        if !is_shadow && (is_column || !qualified.0.contains(&name)) {
            continue;
        }
        *alias = Ident::with_quote('"', hidden(&name, index));
        let Some(OrderByKind::Expressions(keys)) =
            query.order_by.as_mut().map(|order| &mut order.kind)
        else {
            continue;
        };
        for key in keys {
            if let Expr::Identifier(ident) = &mut key.expr
                && fold(ident) == name
            {
                *ident = alias.clone();
            }
        }
    }
}

/// Whether an expression is a column of that name.
pub(crate) fn is_column_named(expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::Identifier(ident) => fold(ident) == name,
        Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|part| fold(part) == name),
        _ => false,
    }
}

/// Returns the names without a table in the expressions of ORDER BY: they are those of columns of
/// the tables, where a name alone is that of an output.
pub(crate) fn names_in_keys(order: Option<&OrderBy>) -> HashSet<String> {
    let Some(OrderByKind::Expressions(keys)) = order.map(|order| &order.kind) else {
        return HashSet::new();
    };
    let mut names = PlainNames::default();
    for key in keys.iter().filter(|key| !matches!(key.expr, Expr::Identifier(_))) {
        // It never stops.
        let _ = key.expr.visit(&mut names);
    }
    names.found
}

/// Names of columns without their tables, outside of queries.
#[derive(Default)]
struct PlainNames {
    found: HashSet<String>,
    depth: usize,
}

impl Visitor for PlainNames {
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
        if let Expr::Identifier(ident) = expr
            && self.depth == 0
        {
            self.found.insert(fold(ident));
        }
        ControlFlow::Continue(())
    }
}

/// The last parts of names of columns with their tables.
#[derive(Default)]
struct Qualified(HashSet<String>);

impl Visitor for Qualified {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr {
            self.0.extend(parts.last().map(fold));
        }
        ControlFlow::Continue(())
    }
}

fn names_of(select: &mut Select) -> Option<Names> {
    if select.projection.iter().any(|item| item_name(item).is_none()) {
        return Some(Names::Given(given_next_to_star(select)));
    }
    // DISTINCT wants to find the expressions of ORDER BY again.
    let aliases_casts = select.projection.len() > 1 && select.distinct.is_none();
    let mut names: Vec<Option<String>> = Vec::with_capacity(select.projection.len());
    let mut seen = HashSet::new();
    for index in 0..select.projection.len() {
        let item = &mut select.projection[index];
        let (shown, is_given) = item_name(item)?;
        let has_own_name = match item {
            SelectItem::UnnamedExpr(Expr::Subquery(_)) => true,
            SelectItem::UnnamedExpr(expr) => aliases_casts && has_cast(expr),
            _ => false,
        };
        if seen.insert(shown.clone()) && !has_own_name {
            names.push((!is_given).then_some(shown));
            continue;
        }
        set_alias(item, format!("{shown} #{index}"));
        names.push(Some(shown));
    }
    Some(Names::Places(names))
}

/// Gives expressions next to `*`, which has columns of any name, and what is there twice aliases;
/// returns these and the names to be shown.
fn given_next_to_star(select: &mut Select) -> Vec<(String, String)> {
    let mut names = Vec::new();
    let mut seen = HashSet::new();
    for (index, item) in select.projection.iter_mut().enumerate() {
        let Some((shown, _)) = item_name(item) else { continue };
        let is_unnamed = matches!(item, SelectItem::UnnamedExpr(_));
        if !seen.insert(shown.clone()) || is_unnamed {
            let alias = format!("{shown} #{index}");
            set_alias(item, alias.clone());
            names.push((alias, shown));
        }
    }
    names
}

fn set_alias(item: &mut SelectItem, alias: String) {
    if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
        let (expr, alias) = (expr.clone(), Ident::with_quote('"', alias));
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

/// Gives the columns of a query in FROM or WITH their names, so that what reads it finds them.
/// Where two are alike both get names that nobody asks for, and that are not shown.
pub(crate) fn give_names(query: &mut Query) {
    let Some(select) = first_select(query) else { return };
    if select.projection.iter().any(|item| item_name(item).is_none()) {
        // `*` has these columns as well, and it has them for whoever asks.
        for (index, item) in select.projection.iter_mut().enumerate() {
            if let SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_)) = item
                && let Some((name, _)) = item_name(item)
            {
                set_alias(item, hidden(&name, index));
            }
        }
    }
    let names: Vec<Option<String>> =
        select.projection.iter().map(|item| item_name(item).map(|(name, _)| name)).collect();
    for (index, (item, name)) in select.projection.iter_mut().zip(&names).enumerate() {
        let Some(name) = name else { continue };
        if names.iter().flatten().filter(|other| *other == name).count() > 1 {
            set_alias(item, hidden(name, index));
            continue;
        }
        if name == NO_NAME {
            continue;
        }
        let is_named = match &*item {
            SelectItem::UnnamedExpr(expr) => {
                matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
            }
            _ => true,
        };
        if !is_named {
            set_alias(item, name.clone());
        }
    }
}

/// Stands between the name that a column is shown by and what makes it different from others.
const MARK: char = '\u{2063}';

/// Returns a name for the planner, of which [`visible`] is shown.
fn hidden(name: &str, index: usize) -> String {
    format!("{name}{MARK}{index}")
}

fn visible(planned: &str) -> &str {
    planned.split(MARK).next().unwrap_or(planned)
}

/// Whether a part of an expression is a cast.
fn has_cast(expr: &Expr) -> bool {
    struct Casts;
    impl Visitor for Casts {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Cast { .. } | Expr::TypedString(_) | Expr::Interval(_) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Casts).is_break()
}

/// Returns the name of an item and whether the planner gives it that name by itself; `None` for
/// items that stand for several columns.
fn item_name(item: &SelectItem) -> Option<(String, bool)> {
    match item {
        SelectItem::UnnamedExpr(expr @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_))) => {
            let name = name_of(expr);
            // Words that are calls are not columns.
            let is_given = !matches!(name.as_str(), "current_schema" | "current_role");
            Some((name, is_given))
        }
        SelectItem::UnnamedExpr(expr) => Some((name_of(expr), false)),
        SelectItem::ExprWithAlias { alias, .. } => Some((fold(alias), true)),
        _ => None,
    }
}

/// How well a name fits: that of a type gives way to one that says more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Weak,
    Good,
}

fn name_of(expr: &Expr) -> String {
    figured(expr).map_or_else(|| NO_NAME.to_owned(), |(name, _)| name)
}

/// Returns the name that an expression has by itself.
fn figured(expr: &Expr) -> Option<(String, Fit)> {
    let good = |name: &str| Some((name.to_owned(), Fit::Good));
    match expr {
        Expr::Identifier(ident) => Some((fold(ident), Fit::Good)),
        Expr::CompoundIdentifier(parts) => Some((fold(parts.last()?), Fit::Good)),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                AccessExpr::Dot(Expr::Identifier(ident)) => Some(fold(ident)),
                _ => None,
            });
            field.map(|name| (name, Fit::Good)).or_else(|| figured(root))
        }
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => figured(inner),
        Expr::Cast { expr, data_type, .. } => match figured(expr) {
            Some((name, Fit::Good)) => Some((name, Fit::Good)),
            _ => Some((type_name(data_type), Fit::Weak)),
        },
        Expr::TypedString(typed) => Some((type_name(&typed.data_type), Fit::Weak)),
        Expr::Interval(_) => Some(("interval".to_owned(), Fit::Weak)),
        Expr::Value(value) => match &value.value {
            Value::Boolean(_) => Some(("bool".to_owned(), Fit::Weak)),
            _ => None,
        },
        Expr::Function(call) => {
            let name = fold(call.name.0.last()?.as_ident()?);
            // A parameter of a type that is no column's is a call of what makes it.
            Some(match name.strip_prefix("nacre_") {
                Some(of) => (of.strip_suffix("_array").unwrap_or(of).to_owned(), Fit::Weak),
                None => (name, Fit::Good),
            })
        }
        Expr::Case { else_result, .. } => match else_result.as_deref().and_then(figured) {
            Some((name, Fit::Good)) => Some((name, Fit::Good)),
            _ => Some(("case".to_owned(), Fit::Weak)),
        },
        Expr::Subquery(query) => {
            let mut query = query.clone();
            let select = first_select(&mut query)?;
            match select.projection.first()? {
                SelectItem::UnnamedExpr(expr) => figured(expr),
                SelectItem::ExprWithAlias { alias, .. } => Some((fold(alias), Fit::Good)),
                _ => None,
            }
        }
        Expr::Exists { negated: false, .. } => good("exists"),
        Expr::Array(_) => good("array"),
        Expr::Extract { .. } => good("extract"),
        Expr::Substring { .. } => good("substring"),
        Expr::Position { .. } => good("position"),
        Expr::Overlay { .. } => good("overlay"),
        Expr::AtTimeZone { .. } => good("timezone"),
        Expr::Ceil { .. } => good("ceil"),
        Expr::Floor { .. } => good("floor"),
        Expr::Trim { trim_where, .. } => good(match trim_where {
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
            Some(TrimWhereField::Both) | None => "btrim",
        }),
        Expr::Tuple(_) => good("row"),
        _ => None,
    }
}

/// Returns the name of the type of a cast, that of its elements for an array.
fn type_name(data_type: &DataType) -> String {
    let of = element_type(data_type).unwrap_or(data_type);
    match (pg_type(of), of) {
        (Some(found), _) => found.name.to_owned(),
        (None, DataType::Custom(name, _)) => {
            let ident = name.0.last().and_then(|part| part.as_ident());
            ident.map_or_else(|| NO_NAME.to_owned(), fold)
        }
        (None, other) => other.to_string().to_lowercase(),
    }
}

/// Gives a stream a schema whose fields have the same types.
pub(crate) fn with_schema(
    stream: SendableRecordBatchStream,
    schema: SchemaRef,
) -> SendableRecordBatchStream {
    if Arc::ptr_eq(&stream.schema(), &schema) {
        return stream;
    }
    let shown = Arc::clone(&schema);
    let batches = stream.map(move |batch| {
        let batch: RecordBatch = batch?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        Ok(RecordBatch::try_new_with_options(Arc::clone(&shown), columns, &options)?)
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}

/// Gives the fields of a schema the `names`, if there are as many.
pub(crate) fn renamed(schema: &SchemaRef, names: &Names) -> SchemaRef {
    if !names.are_for(schema.fields().len()) {
        return Arc::clone(schema);
    }
    let named = |(place, field): (usize, &Arc<Field>)| {
        let name = names.shown(place, field.name());
        // The planner numbers columns of a query in FROM that are called the same.
        let name = match name.rsplit_once(':') {
            Some((base, number))
                if number.parse::<u32>().is_ok() && schema.column_with_name(base).is_some() =>
            {
                base.to_owned()
            }
            _ => name,
        };
        field.as_ref().clone().with_name(name)
    };
    let fields: Vec<Field> = schema.fields().iter().enumerate().map(named).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn columns_are_named_as_postgresql_names_them() {
        for (sql, expected) in [
            ("version()", "version"),
            ("count(*)", "count"),
            ("pg_catalog.Sum(x)", "sum"),
            ("t.x", "x"),
            ("x::int", "x"),
            ("cast('1' as bigint)", "int8"),
            ("'{1}'::int[]", "int4"),
            ("lower(x)::varchar(3)", "lower"),
            ("1 + 1", "?column?"),
            ("-x", "?column?"),
            ("'a'", "?column?"),
            ("true", "bool"),
            ("null", "?column?"),
            ("date '2020-01-01'", "date"),
            ("case when a then b end", "case"),
            ("case when a then b else c end", "c"),
            ("case when a then b else 1 end", "case"),
            ("coalesce(x, 1)", "coalesce"),
            ("(select max(x) from t)", "max"),
            ("(select 1)", "?column?"),
            ("exists (select 1)", "exists"),
            ("a is null", "?column?"),
            ("extract(year from x)", "extract"),
            ("substring(x from 1)", "substring"),
            ("trim(x)", "btrim"),
            ("current_date", "current_date"),
            ("array[1, 2]", "array"),
            ("row_number() over (order by x)", "row_number"),
        ] {
            let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap();
            assert_eq!(name_of(&parser.parse_expr().unwrap()), expected, "{sql}");
        }
    }
}
