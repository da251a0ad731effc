//! The types of expressions, as far as the text and the tables tell them.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType as SqlType, ExactNumberInfo, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, ObjectName, Query, Select, SelectItem, SetExpr, Statement,
    TableFactor, UnaryOperator, Value, Visit, Visitor,
};
use nacre_column::ColumnType;
use nacre_store::{Store, TableSchema};

use super::parameters::parameter;
use crate::names::{fold, table_name};
use crate::pg_catalog::catalog_columns;
use crate::types::{column_type, timestamp};
use crate::user_views::parse_view;

pub(super) const TEXT: ColumnType = ColumnType::Varchar { max_chars: None };

/// The type of a parameter that takes any number: [`super::substitute`] writes no more digits than
/// the number has.
pub(super) const NUMERIC: ColumnType = ColumnType::Decimal { precision: 38, scale: 18 };

/// The tables that a statement names.
pub(super) struct Tables {
    /// By the names that they have in it.
    known: Vec<(String, Relation)>,
    /// What the queries read that are looked at, by name, the innermost query last.
    scopes: RefCell<Vec<Vec<String>>>,
}

/// Views that views read one through the other, at most.
const VIEW_DEPTH_MAX: usize = 16;

/// What a statement reads or changes.
enum Relation {
    Table(Arc<TableSchema>),
    /// A view or a catalog: the columns whose types are known.
    Columns(Vec<(String, ColumnType)>),
}

impl Relation {
    /// Finds what a name means.
    fn find(store: &Store, name: &ObjectName, depth: usize) -> Option<Self> {
        if let Some(columns) = catalog_columns(name) {
            return Some(Self::Columns(columns));
        }
        let name = table_name(name).ok()?;
        if let Ok(table) = store.table(&name) {
            return Some(Self::Table(table.schema()));
        }
        let view = store.view(&name).filter(|_| depth > 0)?;
        let query = parse_view(&view).ok()?;
        let tables = Tables::within(store, &query, depth - 1);
        let outputs = tables.output_types(&query.body, &[]);
        let columns = view.columns.iter().enumerate().filter_map(|(at, column)| {
            let output = outputs.get(at).copied().flatten();
            // Behind a star the name tells which column it is.
            let found = output.or_else(|| tables.column(None, &column.source))?;
            Some((column.name.clone(), found))
        });
        Some(Self::Columns(columns.collect()))
    }

    fn column(&self, name: &str) -> Option<ColumnType> {
        match self {
            Self::Table(schema) => {
                schema.column_index(name).map(|index| schema.columns[index].column_type)
            }
            Self::Columns(columns) => {
                columns.iter().find(|(known, _)| known == name).map(|(_, found)| *found)
            }
        }
    }
}

/// Returns the type of a parameter that is compared or computed with a value of a type: texts of
/// any length and numbers of any digits can be.
pub(super) fn comparable(found: ColumnType) -> ColumnType {
    match found {
        ColumnType::Varchar { .. } => TEXT,
        ColumnType::Decimal { .. } => NUMERIC,
        other => other,
    }
}

/// Returns the type of a parameter that is cast; `None` if no column has it.
pub(super) fn cast_type(data_type: &SqlType) -> Option<ColumnType> {
    match data_type {
        SqlType::Numeric(ExactNumberInfo::None)
        | SqlType::Decimal(ExactNumberInfo::None)
        | SqlType::Dec(ExactNumberInfo::None) => Some(NUMERIC),
        SqlType::Timestamp(_, zone) => Some(timestamp(zone)),
        other => match column_type("parameter", other).ok()? {
            // A cast cuts what is too long.
            ColumnType::Varchar { .. } | ColumnType::Char { .. } => Some(TEXT),
            // It rounds, too.
            ColumnType::Decimal { .. } => Some(NUMERIC),
            found => Some(found),
        },
    }
}

pub(super) fn is_arithmetic(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
    matches!(op, Plus | Minus | Multiply | Divide | Modulo)
}

/// Returns the name of a function without PostgreSQL's schema, and its arguments that are
/// expressions.
pub(super) fn call_of(call: &Function) -> (String, Vec<&Expr>) {
    let name = call.name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
    let FunctionArguments::List(list) = &call.args else { return (name, Vec::new()) };
    let args = list.args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    (name, args.collect())
}

/// Returns the types of the arguments of a function that has one signature.
pub(super) fn call_types(name: &str) -> &'static [ColumnType] {
    use ColumnType::{BigInt, Boolean, Double, Integer, Timestamp};
    match name {
        "lower" | "upper" | "length" | "char_length" | "character_length" | "octet_length"
        | "bit_length" | "initcap" | "reverse" | "ascii" | "md5" | "quote_ident"
        | "quote_literal" | "concat" | "to_timestamp" => &[TEXT],
        "replace" | "translate" => &[TEXT, TEXT, TEXT],
        "btrim" | "ltrim" | "rtrim" | "trim" | "strpos" | "starts_with" => &[TEXT, TEXT],
        "left" | "right" | "repeat" => &[TEXT, Integer],
        "lpad" | "rpad" => &[TEXT, Integer, TEXT],
        "substr" | "substring" => &[TEXT, Integer, Integer],
        "split_part" => &[TEXT, TEXT, Integer],
        "regexp_replace" => &[TEXT, TEXT, TEXT, TEXT],
        "regexp_match" | "regexp_like" | "regexp_count" => &[TEXT, TEXT, TEXT],
        "chr" | "pg_cancel_backend" | "pg_terminate_backend" => &[Integer],
        "date_trunc" | "date_part" => &[TEXT, Timestamp],
        "sqrt" | "cbrt" | "exp" | "ln" | "log10" | "sin" | "cos" | "tan" | "asin" | "acos"
        | "atan" | "degrees" | "radians" | "pg_sleep" => &[Double],
        "abs" | "round" | "trunc" | "sign" => &[Double],
        "ntile" => &[Integer],
        "atan2" | "power" | "pow" => &[Double, Double],
        "generate_series" => &[BigInt, BigInt, BigInt],
        "nextval" | "currval" => &[TEXT],
        "setval" => &[TEXT, BigInt, Boolean],
        "current_setting" => &[TEXT, Boolean],
        "set_config" => &[TEXT, TEXT, Boolean],
        "current_schemas" => &[Boolean],
        _ => &[],
    }
}

/// Returns the type of what a function answers, if it does not depend on the arguments.
fn answer_type(name: &str) -> Option<ColumnType> {
    Some(match name {
        "count" | "nextval" | "currval" | "setval" | "lastval" | "row_number" | "rank"
        | "dense_rank" => ColumnType::BigInt,
        "length" | "char_length" | "character_length" | "octet_length" | "bit_length" | "ascii"
        | "strpos" | "pg_backend_pid" => ColumnType::Integer,
        "lower" | "upper" | "initcap" | "reverse" | "md5" | "replace" | "translate" | "btrim"
        | "ltrim" | "rtrim" | "trim" | "left" | "right" | "repeat" | "lpad" | "rpad" | "substr"
        | "substring" | "split_part" | "regexp_replace" | "chr" | "concat" | "concat_ws"
        | "to_char" | "string_agg" | "current_setting" | "set_config" | "version"
        | "current_user" | "session_user" | "user" | "current_role" | "current_schema"
        | "current_database" | "current_catalog" => TEXT,
        "now" | "current_timestamp" | "to_timestamp" => ColumnType::TimestampTz,
        "localtimestamp" | "date_trunc" => ColumnType::Timestamp,
        "current_date" => ColumnType::Date,
        "random" | "sqrt" | "cbrt" | "exp" | "ln" | "log10" | "sin" | "cos" | "tan" | "asin"
        | "acos" | "atan" | "atan2" | "degrees" | "radians" | "pi" | "date_part" => {
            ColumnType::Double
        }
        "bool_and" | "bool_or" | "starts_with" | "regexp_like" => ColumnType::Boolean,
        _ => return None,
    })
}

/// Returns the type of a sum, or the like, of two types.
fn promoted(left: ColumnType, right: ColumnType) -> ColumnType {
    let rank = |found: ColumnType| match found {
        ColumnType::SmallInt => 1,
        ColumnType::Integer => 2,
        ColumnType::BigInt => 3,
        ColumnType::Decimal { .. } => 4,
        ColumnType::Real => 5,
        ColumnType::Double => 6,
        _ => 7,
    };
    if rank(left) >= rank(right) { left } else { right }
}

impl Tables {
    /// Finds the tables of a statement, and the views and catalogs that it reads.
    pub(super) fn of(store: &Store, statement: &Statement) -> Self {
        Self::within(store, statement, VIEW_DEPTH_MAX)
    }

    fn within<V: Visit>(store: &Store, statement: &V, depth: usize) -> Self {
        struct Find<'a> {
            store: &'a Store,
            depth: usize,
            found: Vec<(String, Relation)>,
        }
        impl Visitor for Find<'_> {
            type Break = ();

            fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
                if let Some(relation) = Relation::find(self.store, name, self.depth) {
                    let name = name.0.last().and_then(|part| part.as_ident()).map(fold);
                    self.found.push((name.unwrap_or_default(), relation));
                }
                ControlFlow::Continue(())
            }

            fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
                if let TableFactor::Table { name, alias: Some(alias), .. } = factor
                    && let Some(relation) = Relation::find(self.store, name, self.depth)
                {
                    self.found.push((fold(&alias.name), relation));
                }
                ControlFlow::Continue(())
            }
        }
        let mut find = Find { store, depth, found: Vec::new() };
        let _ = statement.visit(&mut find);
        Self { known: find.found, scopes: RefCell::default() }
    }

    /// Has names of columns mean those of what a query reads, until [`Tables::leave`].
    pub(super) fn enter(&self, select: &Select) {
        let factors = select.from.iter().flat_map(|from| {
            let joined = from.joins.iter().map(|join| &join.relation);
            [&from.relation].into_iter().chain(joined)
        });
        let names = factors.filter_map(|factor| match factor {
            TableFactor::Table { alias: Some(alias), .. } => Some(fold(&alias.name)),
            TableFactor::Table { name, .. } => {
                name.0.last().and_then(|part| part.as_ident()).map(fold)
            }
            _ => None,
        });
        self.scopes.borrow_mut().push(names.collect());
    }

    pub(super) fn leave(&self) {
        self.scopes.borrow_mut().pop();
    }

    /// Returns the table of that name.
    pub(super) fn named(&self, name: &str) -> Option<Arc<TableSchema>> {
        self.known.iter().find_map(|(_, relation)| match relation {
            Relation::Table(table) if table.name == name => Some(Arc::clone(table)),
            _ => None,
        })
    }

    /// Returns the type of a column of a table, or of the first one that has one of that name: of
    /// the innermost query, of those around it, of the statement.
    fn column(&self, table: Option<&str>, name: &str) -> Option<ColumnType> {
        let named = |table: &str| {
            let named = self.known.iter().filter(|(known, _)| known == table);
            named.filter_map(|(_, relation)| relation.column(name)).next()
        };
        if let Some(found) = table.and_then(named) {
            return Some(found);
        }
        let scopes = self.scopes.borrow();
        let mut scopes = scopes.iter().rev();
        let found = scopes.find_map(|tables| tables.iter().find_map(|table| named(table)));
        found.or_else(|| self.known.iter().find_map(|(_, relation)| relation.column(name)))
    }

    /// Returns the type of an expression; `types` are those of the parameters.
    pub(super) fn type_of(&self, expr: &Expr, types: &[Option<ColumnType>]) -> Option<ColumnType> {
        if let Some(index) = parameter(expr) {
            return types.get(index).copied().flatten();
        }
        let of = |expr: &Expr| self.type_of(expr, types);
        match expr {
            Expr::Identifier(ident) => self.column(None, &fold(ident)),
            Expr::CompoundIdentifier(parts) => {
                let (column, tables) = parts.split_last()?;
                self.column(tables.last().map(fold).as_deref(), &fold(column))
            }
            Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => of(inner),
            Expr::Value(value) => literal_type(&value.value),
            Expr::TypedString(typed) => cast_type(&typed.data_type),
            Expr::Cast { data_type, .. } => cast_type(data_type),
            Expr::UnaryOp { op: UnaryOperator::Not, .. } => Some(ColumnType::Boolean),
            Expr::UnaryOp { expr, .. } => of(expr),
            Expr::BinaryOp { left, op, right } => binary_type(op, of(left), of(right)),
            Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::InList { .. }
            | Expr::InSubquery { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::ILike { .. }
            | Expr::SimilarTo { .. }
            | Expr::AnyOp { .. }
            | Expr::AllOp { .. }
            | Expr::Exists { .. } => Some(ColumnType::Boolean),
            Expr::Extract { .. } => Some(NUMERIC),
            Expr::Substring { .. } | Expr::Trim { .. } => Some(TEXT),
            Expr::Position { .. } => Some(ColumnType::Integer),
            Expr::Ceil { expr, .. } | Expr::Floor { expr, .. } => of(expr),
            Expr::Case { conditions, else_result, .. } => {
                let results = conditions.iter().map(|case| &case.result);
                results.chain(else_result.as_deref()).find_map(of)
            }
            Expr::Subquery(query) => self.output_type(query, types),
            Expr::Function(call) => {
                let (name, args) = call_of(call);
                match name.as_str() {
                    "coalesce" | "greatest" | "least" | "nullif" | "min" | "max" | "abs"
                    | "round" | "trunc" | "ceil" | "floor" | "mod" | "lag" | "lead"
                    | "first_value" | "last_value" => args.into_iter().find_map(of),
                    "sum" | "avg" => args.into_iter().find_map(of).map(|found| match found {
                        ColumnType::SmallInt | ColumnType::Integer if name == "sum" => {
                            ColumnType::BigInt
                        }
                        ColumnType::Real | ColumnType::Double => ColumnType::Double,
                        _ => NUMERIC,
                    }),
                    name => answer_type(name),
                }
            }
            _ => None,
        }
    }

    /// Returns the type of the only output of a query.
    pub(super) fn output_type(
        &self,
        query: &Query,
        types: &[Option<ColumnType>],
    ) -> Option<ColumnType> {
        self.output_types(&query.body, types).into_iter().next().flatten()
    }

    /// Returns the types of the outputs of a query; fewer where nobody knows their places.
    pub(super) fn output_types(
        &self,
        body: &SetExpr,
        types: &[Option<ColumnType>],
    ) -> Vec<Option<ColumnType>> {
        match body {
            SetExpr::Select(select) => {
                self.enter(select);
                let outputs = select.projection.iter().map_while(|item| match item {
                    SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                        Some(self.type_of(expr, types))
                    }
                    _ => None,
                });
                let outputs = outputs.collect();
                self.leave();
                outputs
            }
            SetExpr::Query(query) => self.output_types(&query.body, types),
            SetExpr::SetOperation { left, .. } => self.output_types(left, types),
            SetExpr::Values(values) => {
                let first = values.rows.first().map_or(&[][..], |row| row.content.as_slice());
                first.iter().map(|expr| self.type_of(expr, types)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the type of a literal; a text in quotes has none of its own.
fn literal_type(value: &Value) -> Option<ColumnType> {
    match value {
        Value::Boolean(_) => Some(ColumnType::Boolean),
        Value::Number(digits, _) if digits.contains(['e', 'E']) => Some(ColumnType::Double),
        Value::Number(digits, _) => Some(match digits.parse::<i64>() {
            Ok(number) if i32::try_from(number).is_ok() => ColumnType::Integer,
            Ok(_) => ColumnType::BigInt,
            Err(_) => NUMERIC,
        }),
        _ => None,
    }
}

fn binary_type(
    op: &BinaryOperator,
    left: Option<ColumnType>,
    right: Option<ColumnType>,
) -> Option<ColumnType> {
    use ColumnType::{Date, Integer, Timestamp, TimestampTz};
    if matches!(op, BinaryOperator::StringConcat) {
        return Some(TEXT);
    }
    if !is_arithmetic(op) {
        return Some(ColumnType::Boolean);
    }
    match (left, right) {
        (Some(Date), Some(Date)) => Some(Integer),
        (Some(Timestamp | TimestampTz), Some(Timestamp | TimestampTz)) => None,
        (Some(Date), None) => Some(Timestamp),
        (Some(Date | Timestamp | TimestampTz), _) => left,
        (_, Some(Date | Timestamp | TimestampTz)) => right,
        (Some(left), Some(right)) => Some(promoted(left, right)),
        (left, right) => left.or(right),
    }
}
