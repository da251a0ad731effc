//! The types of parameters, from where they stand: what they are compared or computed with,
//! assigned to, cast to, or given to.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, BinaryOperator, CaseWhen, DataType, Expr, Function, Insert,
    LimitClause, MergeAction, OnConflictAction, OnInsert, Query, Select, SelectItem, SetExpr,
    Statement, TableObject, UnaryOperator, Update, Visit, Visitor,
};
use nacre_column::ColumnType;
use nacre_store::Store;

use super::expressions::{NUMERIC, TEXT, Tables, call_types, cast_type, comparable, is_arithmetic};
use super::parameters::parameter;
use super::types::ParameterType;
use crate::error::{Error, ErrorKind, Result};
use crate::names::{fold, table_name};
use crate::pg_types::PgType;
use crate::types::type_oid;

/// Completes the types of the parameters of a statement. What stands where any type may is a text.
///
/// # Errors
/// 42P18 for a parameter that does not occur, or only where it is asked whether it is null; `not
/// supported` for declared types that no parameter has.
pub(super) fn infer(
    store: &Store,
    statement: &Statement,
    declared: &[Option<u32>],
    count: usize,
) -> Result<Vec<ParameterType>> {
    let declared = |index: usize| match declared.get(index).copied().flatten() {
        None => Ok(None),
        Some(oid) => ParameterType::with_oid(oid).map(Some).ok_or_else(|| {
            Error::not_supported(format_args!("parameters of the type with OID {oid}"))
        }),
    };
    let named = (0..count).map(declared).collect::<Result<Vec<_>>>()?;
    if named.is_empty() {
        return Ok(Vec::new());
    }
    // Types that columns have are what they are. What the others are kept as the statement may
    // say better.
    let of_column = |named: &Option<ParameterType>| {
        named.filter(|named| !named.is_named).map(|named| named.column)
    };
    let types = named.iter().map(of_column).collect();
    let tables = Tables::of(store, statement);
    let (occurs, is_null_of) = (Vec::new(), Vec::new());
    let mut infer = Infer { tables, types, named, occurs, is_null_of };
    // What a cast says counts most. What one parameter is may tell what another one is.
    infer.pass(statement, true);
    for _ in 0..2 {
        infer.pass(statement, false);
    }
    infer.finish()
}

/// Returns the type of a parameter of which the statement says one and the client, or a cast,
/// another: the first if it is kept in the form of the second.
fn together(known: Option<ColumnType>, named: Option<ParameterType>) -> Option<ParameterType> {
    let is_kept_as = |named: ParameterType, known: ColumnType| match (named.column, known) {
        (ColumnType::Decimal { .. }, ColumnType::Decimal { .. }) => true,
        (TEXT, ColumnType::Varchar { .. } | ColumnType::Char { .. }) => named.is_text(),
        (of_named, known) => of_named == known,
    };
    match (known, named) {
        (Some(known), Some(named)) if !named.is_named || is_kept_as(named, known) => {
            Some(ParameterType { oid: named.oid, column: known, is_named: false })
        }
        (_, Some(named)) => Some(named),
        (known, None) => known.map(ParameterType::of_column),
    }
}

struct Infer {
    tables: Tables,
    types: Vec<Option<ColumnType>>,
    /// The types that were declared, and those of casts that no column has.
    named: Vec<Option<ParameterType>>,
    /// How often each parameter occurs.
    occurs: Vec<usize>,
    /// How often each is asked whether it is null.
    is_null_of: Vec<usize>,
}

/// One visit of the statement.
struct Pass<'a> {
    infer: &'a mut Infer,
    is_about_casts: bool,
}

impl Infer {
    fn pass(&mut self, statement: &Statement, is_about_casts: bool) {
        self.occurs = vec![0; self.types.len()];
        self.is_null_of = vec![0; self.types.len()];
        if !is_about_casts {
            self.targets(statement);
        }
        // It never stops.
        let _ = statement.visit(&mut Pass { infer: self, is_about_casts });
    }

    fn finish(self) -> Result<Vec<ParameterType>> {
        let known = self.types.iter().zip(&self.named);
        let known = known.map(|(known, named)| together(*known, *named));
        let known = known.zip(self.occurs.iter().zip(&self.is_null_of));
        known
            .enumerate()
            .map(|(index, (known, (occurs, is_null_of)))| match known {
                Some(known) => Ok(known),
                None if occurs > is_null_of => Ok(ParameterType::of_column(TEXT)),
                None => {
                    let message =
                        format!("could not determine data type of parameter ${}", index + 1);
                    Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42P18"))
                }
            })
            .collect()
    }

    /// Notes the type of a parameter that no column has.
    fn name(&mut self, expr: &Expr, oid: Option<u32>) {
        let found = oid.and_then(ParameterType::with_oid).filter(|found| found.is_named);
        if let (Some(index), Some(found)) = (parameter(expr), found)
            && self.types.get(index) == Some(&None)
            && let Some(named) = self.named.get_mut(index)
        {
            named.get_or_insert(found);
        }
    }

    /// Gives a parameter that stands for a list, of whose elements there is any or all, a type.
    fn list(&mut self, list: &Expr, left: &Expr) {
        let mut list = list;
        while let Expr::Nested(inner) = list {
            list = inner;
        }
        if parameter(list).is_some() {
            let element = self.like(left).unwrap_or(TEXT);
            self.name(list, Some(PgType::of_column(element).0.array_oid));
        }
    }

    fn type_of(&self, expr: &Expr) -> Option<ColumnType> {
        self.tables.type_of(expr, &self.types)
    }

    /// Returns the type of a parameter that is compared or computed with an expression.
    fn like(&self, expr: &Expr) -> Option<ColumnType> {
        self.type_of(expr).map(comparable)
    }

    /// Gives a parameter a type unless it has one; in an expression that has the type of its parts,
    /// to those.
    fn is(&mut self, expr: &Expr, found: Option<ColumnType>) {
        let Some(found) = found else { return };
        if let Some(index) = parameter(expr) {
            if let Some(known) = self.types.get_mut(index) {
                known.get_or_insert(found);
            }
            return;
        }
        match expr {
            Expr::Nested(inner)
            | Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr: inner } => {
                self.is(inner, Some(found));
            }
            Expr::Case { conditions, else_result, .. } => {
                conditions.iter().for_each(|case| self.is(&case.result, Some(found)));
                else_result.iter().for_each(|result| self.is(result, Some(found)));
            }
            _ => {}
        }
    }

    /// Gives parameters among expressions the type of the first one that has one.
    fn alike<'a>(&mut self, exprs: impl Iterator<Item = &'a Expr> + Clone) {
        let found = exprs.clone().find_map(|expr| self.like(expr));
        exprs.for_each(|expr| self.is(expr, found));
    }

    /// Types of what is assigned.
    fn targets(&mut self, statement: &Statement) {
        match statement {
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(Update { assignments, .. }) => self.assignments(assignments),
            Statement::Merge(merge) => {
                for clause in &merge.clauses {
                    if let MergeAction::Update(update) = &clause.action {
                        self.assignments(&update.assignments);
                    }
                }
            }
            _ => {}
        }
    }

    fn insert(&mut self, insert: &Insert) {
        if let Some(OnInsert::OnConflict(conflict)) = &insert.on
            && let OnConflictAction::DoUpdate(update) = &conflict.action
        {
            self.assignments(&update.assignments);
        }
        let TableObject::TableName(name) = &insert.table else { return };
        let schema = table_name(name).ok().and_then(|name| self.tables.named(&name));
        let (Some(schema), Some(source)) = (schema, &insert.source) else { return };
        let target = |index: usize| schema.columns.get(index).map(|column| column.column_type);
        let listed = insert.columns.iter().map(|name| {
            let ident = name.0.first()?.as_ident()?;
            schema.column_index(&fold(ident)).and_then(target)
        });
        let targets: Vec<Option<ColumnType>> = match insert.columns.is_empty() {
            true => (0..schema.columns.len()).map(target).collect(),
            false => listed.collect(),
        };
        self.outputs(&source.body, &targets);
    }

    /// Gives the outputs of a query types.
    fn outputs(&mut self, body: &SetExpr, targets: &[Option<ColumnType>]) {
        match body {
            SetExpr::Values(values) => {
                for row in &values.rows {
                    for (expr, target) in row.content.iter().zip(targets) {
                        self.is(expr, *target);
                    }
                }
            }
            SetExpr::Select(select) => {
                for (item, target) in select.projection.iter().zip(targets) {
                    match item {
                        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                            self.is(expr, *target)
                        }
                        // Behind a wildcard nobody knows the places.
                        _ => return,
                    }
                }
            }
            SetExpr::Query(query) => self.outputs(&query.body, targets),
            SetExpr::SetOperation { left, right, .. } => {
                self.outputs(left, targets);
                self.outputs(right, targets);
            }
            _ => {}
        }
    }

    fn assignments(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            let columns: Vec<_> = match &assignment.target {
                AssignmentTarget::ColumnName(name) => vec![name],
                AssignmentTarget::Tuple(names) => names.iter().collect(),
            };
            let types: Vec<Option<ColumnType>> = columns
                .into_iter()
                .map(|name| {
                    let ident = name.0.last()?.as_ident()?;
                    self.type_of(&Expr::Identifier(ident.clone()))
                })
                .collect();
            match (&assignment.value, types.as_slice()) {
                (Expr::Tuple(values), types) => {
                    values.iter().zip(types).for_each(|(value, found)| self.is(value, *found));
                }
                // What is added to a number of so many digits is rounded to them at the end.
                (
                    Expr::BinaryOp {
                        left,
                        op: BinaryOperator::Plus | BinaryOperator::Minus,
                        right,
                    },
                    [found @ Some(ColumnType::Decimal { .. })],
                ) => {
                    self.is(left, *found);
                    self.is(right, *found);
                }
                (value, [found]) => self.is(value, *found),
                _ => {}
            }
        }
    }

    /// Types of the parts of an expression.
    fn parts(&mut self, expr: &Expr) {
        match expr {
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.compared(left, right);
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr }
            | Expr::IsTrue(expr)
            | Expr::IsNotTrue(expr)
            | Expr::IsFalse(expr)
            | Expr::IsNotFalse(expr) => self.is(expr, Some(ColumnType::Boolean)),
            Expr::Between { expr, low, high, .. } => {
                self.compared(expr, low);
                self.compared(expr, high);
            }
            Expr::InList { expr, list, .. } => {
                let found = self.like(expr);
                list.iter().for_each(|value| self.is(value, found));
                let found = list.iter().find_map(|value| self.like(value));
                self.is(expr, found);
            }
            Expr::InSubquery { expr, subquery, .. } => {
                let found = self.tables.output_type(subquery, &self.types);
                self.is(expr, found.map(comparable));
            }
            Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => {
                self.list(right, left);
            }
            Expr::Like { expr, pattern, .. }
            | Expr::ILike { expr, pattern, .. }
            | Expr::SimilarTo { expr, pattern, .. } => {
                self.is(expr, Some(TEXT));
                self.is(pattern, Some(TEXT));
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref());
            }
            Expr::Array(array) => self.alike(array.elem.iter()),
            Expr::Function(call) => self.call(call),
            Expr::Extract { expr, .. } => self.is(expr, Some(ColumnType::Timestamp)),
            Expr::Ceil { expr, .. } | Expr::Floor { expr, .. } => {
                self.is(expr, Some(ColumnType::Double));
            }
            Expr::Trim { expr, .. } => self.is(expr, Some(TEXT)),
            Expr::Position { expr, r#in } => {
                self.is(expr, Some(TEXT));
                self.is(r#in, Some(TEXT));
            }
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                self.is(expr, Some(TEXT));
                for place in [substring_from, substring_for].into_iter().flatten() {
                    self.is(place, Some(ColumnType::Integer));
                }
            }
            _ => {}
        }
    }

    fn compared(&mut self, left: &Expr, right: &Expr) {
        if let (Expr::Tuple(left), Expr::Tuple(right)) = (left, right) {
            left.iter().zip(right).for_each(|(left, right)| self.compared(left, right));
            return;
        }
        let (of_left, of_right) = (self.like(left), self.like(right));
        self.is(left, of_right);
        self.is(right, of_left);
    }

    fn binary(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) {
        use BinaryOperator::{And, Divide, Minus, Multiply, Or, PGExp, Plus, StringConcat};
        match op {
            And | Or => {
                self.is(left, Some(ColumnType::Boolean));
                self.is(right, Some(ColumnType::Boolean));
            }
            StringConcat => {
                self.is(left, Some(TEXT));
                self.is(right, Some(TEXT));
            }
            Plus | Minus => {
                // Days are added to dates; what is added to a timestamp is no type of a column.
                let other = |found: ColumnType| match (found, op) {
                    (ColumnType::Date, Plus) => Some(ColumnType::Integer),
                    (ColumnType::Timestamp | ColumnType::TimestampTz, Plus) => None,
                    (found, _) => Some(found),
                };
                let (of_left, of_right) = (self.like(left), self.like(right));
                self.is(left, of_right.and_then(other));
                self.is(right, of_left.and_then(other));
            }
            Multiply | Divide if [left, right].into_iter().any(is_interval) => {
                self.is(left, Some(ColumnType::Double));
                self.is(right, Some(ColumnType::Double));
            }
            PGExp => {
                // Whole numbers have no such operator.
                let is_exact = |found: &ColumnType| matches!(found, ColumnType::Decimal { .. });
                let other = |found: Option<ColumnType>| {
                    Some(found.filter(is_exact).unwrap_or(ColumnType::Double))
                };
                let (of_left, of_right) = (self.like(left), self.like(right));
                self.is(left, other(of_right));
                self.is(right, other(of_left));
            }
            op if is_arithmetic(op) => self.alike([left, right].into_iter()),
            _ => self.compared(left, right),
        }
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        else_result: Option<&Expr>,
    ) {
        match operand {
            Some(operand) => {
                let compared = conditions.iter().map(|case| &case.condition);
                self.alike([operand].into_iter().chain(compared));
            }
            None => {
                let found = Some(ColumnType::Boolean);
                conditions.iter().for_each(|case| self.is(&case.condition, found));
            }
        }
        let results = conditions.iter().map(|case| &case.result);
        self.alike(results.chain(else_result));
    }

    fn call(&mut self, call: &Function) {
        let (name, args) = super::expressions::call_of(call);
        match name.as_str() {
            "coalesce" | "greatest" | "least" | "nullif" => self.alike(args.iter().copied()),
            "lead" | "lag" | "nth_value" => {
                let places = args.get(1).into_iter();
                places.for_each(|arg| self.is(arg, Some(ColumnType::Integer)));
                let values = args.first().into_iter().chain(args.get(2));
                self.alike(values.copied());
            }
            // Digits behind the point are left to exact numbers.
            "round" | "trunc" if args.len() == 2 => {
                self.is(args[0], Some(NUMERIC));
                self.is(args[1], Some(ColumnType::Integer));
            }
            name => {
                for (arg, found) in args.iter().zip(call_types(name)) {
                    self.is(arg, Some(*found));
                }
            }
        }
    }

    /// Types of the outputs of the sides of UNION and its kin, and of the rows of VALUES.
    fn sides(&mut self, query: &Query) {
        match query.body.as_ref() {
            SetExpr::Values(values) => {
                let width = values.rows.first().map_or(0, |row| row.content.len());
                for place in 0..width {
                    let column = values.rows.iter().filter_map(|row| row.content.get(place));
                    self.alike(column);
                }
            }
            SetExpr::SetOperation { left, right, .. } => {
                for (from, to) in [(left, right), (right, left)] {
                    let types = self.tables.output_types(from, &self.types).into_iter();
                    let types: Vec<_> = types.map(|found| found.map(comparable)).collect();
                    self.outputs(to, &types);
                }
            }
            _ => {}
        }
    }
}

fn is_interval(expr: &Expr) -> bool {
    match expr {
        Expr::Interval(_) | Expr::Cast { data_type: DataType::Interval { .. }, .. } => true,
        Expr::Nested(inner) => is_interval(inner),
        _ => false,
    }
}

impl Visitor for Pass<'_> {
    type Break = std::convert::Infallible;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<std::convert::Infallible> {
        if self.is_about_casts {
            return ControlFlow::Continue(());
        }
        let rows = Some(ColumnType::BigInt);
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause {
            limit.iter().for_each(|limit| self.infer.is(limit, rows));
            offset.iter().for_each(|offset| self.infer.is(&offset.value, rows));
        }
        if let Some(fetch) = &query.fetch {
            fetch.quantity.iter().for_each(|count| self.infer.is(count, rows));
        }
        self.infer.sides(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<std::convert::Infallible> {
        self.infer.tables.enter(select);
        let conditions = select.selection.iter().chain(&select.having);
        conditions.for_each(|condition| self.infer.is(condition, Some(ColumnType::Boolean)));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<std::convert::Infallible> {
        self.infer.tables.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<std::convert::Infallible> {
        let count = |counts: &mut Vec<usize>, expr: &Expr| {
            if let Some(known) = parameter(expr).and_then(|index| counts.get_mut(index)) {
                *known += 1;
            }
        };
        count(&mut self.infer.occurs, expr);
        if let Expr::IsNull(inner) | Expr::IsNotNull(inner) = expr {
            count(&mut self.infer.is_null_of, inner);
        }
        if let Expr::Cast { expr, data_type, .. } = expr {
            if self.is_about_casts {
                self.infer.name(expr, type_oid(data_type));
            }
            self.infer.is(expr, cast_type(data_type));
            return ControlFlow::Continue(());
        }
        if !self.is_about_casts {
            self.infer.parts(expr);
        }
        ControlFlow::Continue(())
    }
}
