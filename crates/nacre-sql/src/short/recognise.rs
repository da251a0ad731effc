//! From the syntax of a statement without literals to its [`Plan`], if it is a short one.
//!
//! Only what is known here is taken: each statement is compared with a bare one of its kind, so a
//! clause that nobody thought of makes it go the general way.

use std::ops::Bound;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, BinaryOperator, Delete, Expr, FromTable, Insert, LimitClause,
    ObjectName, OrderBy, OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, Statement, TableFactor, TableObject, TableWithJoins, Update,
};
use nacre_column::{ColumnType, CompareOp, VECTOR_ROWS};
use nacre_store::index::{Direction, IndexDef, IndexKind, TableIndex};
use nacre_store::{ColumnDef, Store, Table, TableRules, TableSchema};

use super::compute::Compute;
use super::operand::{Operand, is_now};
use super::plan::{Action, Condition, Find, Item, KeyRest, Returning, Scalar, Subject, Test};
use crate::dml::{Cell, is_default};
use crate::names::{fold, table_name};
use crate::parsing::statement_parser;
use crate::planner::Planner;
use crate::rules::{Checks, DefaultValues, parse};

/// The one table that a statement names, and what it calls it.
pub(super) struct Named<'a> {
    name: &'a ObjectName,
    pub(super) alias: Option<String>,
}

impl<'a> Named<'a> {
    /// Looks for the table of a statement without literals; `None` if it is never a short one.
    pub(super) fn of(statement: &'a Statement) -> Option<Self> {
        let (name, alias) = subject_of(statement)?;
        Some(Self { name, alias })
    }

    pub(super) fn resolve(&self, store: &Store) -> Option<(Arc<Table>, Subject)> {
        let table = store.table(&table_name(self.name).ok()?).ok()?;
        let subject = Subject::new(&table, &table.schema());
        Some((table, subject))
    }
}

/// Reads a statement without literals over one table; `None` if it is no short one. `types` are
/// those of its parameters.
pub(super) fn recognise(
    planner: &Planner,
    table: &Arc<Table>,
    schema: &Arc<TableSchema>,
    alias: Option<String>,
    statement: &Statement,
    types: &[Option<ColumnType>],
) -> Option<Action> {
    let alias = alias.unwrap_or_else(|| schema.name.clone());
    let (rules, columns) = (rules_of(table), Vec::new());
    let mut reader = Reader { planner, rules, table, schema, alias, types, columns };
    reader.statement(statement)
}

/// Returns the one table of a statement and its alias, if it is of a kind that may be short.
fn subject_of(statement: &Statement) -> Option<(&ObjectName, Option<String>)> {
    match statement {
        Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Select(select) => match select.from.as_slice() {
                [from] => single_table(from),
                _ => None,
            },
            _ => None,
        },
        Statement::Update(update) => single_table(&update.table),
        Statement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            match from.as_slice() {
                [from] => single_table(from),
                _ => None,
            }
        }
        Statement::Insert(insert) => match &insert.table {
            TableObject::TableName(name) => Some((name, None)),
            _ => None,
        },
        _ => None,
    }
}

fn single_table(from: &TableWithJoins) -> Option<(&ObjectName, Option<String>)> {
    let TableFactor::Table { name, alias, .. } = &from.relation else { return None };
    let Some(SetExpr::Select(bare)) = bare("SELECT 1 FROM t").and_then(body) else { return None };
    // The same table without its name is that of a bare statement.
    let mut blank = from.clone();
    let mut known = bare.from.into_iter().next()?;
    for one in [&mut blank, &mut known] {
        if let TableFactor::Table { name, alias, .. } = &mut one.relation {
            (*name, *alias) = (ObjectName(Vec::new()), None);
        }
    }
    let alias = match alias {
        None => None,
        Some(alias) if alias.columns.is_empty() => Some(fold(&alias.name)),
        Some(_) => return None,
    };
    (blank == known).then_some((name, alias))
}

fn bare(sql: &str) -> Option<Statement> {
    statement_parser(sql).ok()?.parse_statement().ok()
}

fn body(statement: Statement) -> Option<SetExpr> {
    match statement {
        Statement::Query(query) => Some(*query.body),
        _ => None,
    }
}

/// What a write to a table has to look after beyond types, nulls and keys. The definitions are
/// taken apart so that a new part of them has to be thought of here.
fn rules_of(table: &Table) -> Arc<TableRules> {
    let rules = table.rules();
    let TableRules { defaults: _, checks: _ } = &*rules;
    let schema = table.schema();
    let TableSchema { name: _, columns, primary_key: _, primary_key_name: _, replicas: _ } =
        schema.as_ref();
    for column in columns {
        let ColumnDef { name: _, column_type: _, is_nullable: _, replicas: _ } = column;
    }
    rules
}

/// Reads the parts of a statement over one table.
struct Reader<'a> {
    planner: &'a Planner,
    rules: Arc<TableRules>,
    table: &'a Arc<Table>,
    schema: &'a Arc<TableSchema>,
    /// What the statement calls the table.
    alias: String,
    types: &'a [Option<ColumnType>],
    /// Columns that are read.
    columns: Vec<usize>,
}

impl Reader<'_> {
    fn statement(&mut self, statement: &Statement) -> Option<Action> {
        match statement {
            Statement::Query(query) => self.query(query),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Insert(insert) => self.insert(insert),
            _ => None,
        }
    }

    fn query(&mut self, query: &Query) -> Option<Action> {
        let SetExpr::Select(select) = query.body.as_ref() else { return None };
        let Some(Statement::Query(known)) = bare("SELECT 1") else { return None };
        let SetExpr::Select(known_select) = *known.body.clone() else { return None };
        let mut blank_query = query.clone();
        (blank_query.order_by, blank_query.limit_clause) = (None, None);
        blank_query.body = known.body.clone();
        let mut blank_select: Select = (**select).clone();
        blank_select.projection = known_select.projection.clone();
        (blank_select.from, blank_select.selection) = (Vec::new(), None);
        if blank_query != *known || blank_select != *known_select {
            return None;
        }
        let items = self.items(&select.projection)?;
        let order = self.order(query.order_by.as_ref())?;
        // ORDER BY means the outputs first.
        let is_alias = |item: &SelectItem| matches!(item, SelectItem::ExprWithAlias { .. });
        if order.is_some() && select.projection.iter().any(is_alias) {
            return None;
        }
        let limit = self.limit(query.limit_clause.as_ref())?;
        let conditions = self.conditions(select.selection.as_ref())?;
        // Without either, all rows are asked for.
        if conditions.is_empty() && (order.is_none() || limit.is_none()) {
            return None;
        }
        let find = self.find(conditions, order)?;
        Some(Action::Select { find, items, limit })
    }

    fn update(&mut self, update: &Update) -> Option<Action> {
        let Some(Statement::Update(mut known)) = bare("UPDATE t SET a = 1") else { return None };
        known.table = update.table.clone();
        known.assignments = update.assignments.clone();
        known.returning = update.returning.clone();
        known.selection = update.selection.clone();
        if known != *update {
            return None;
        }
        let targets: Vec<usize> =
            update.assignments.iter().map(|one| self.assigned(one)).collect::<Option<_>>()?;
        let checks = self.checks(|column| targets.contains(&column))?;
        if checks.is_some() {
            // What is forbidden is a whole row.
            self.columns = (0..self.schema.columns.len()).collect();
        }
        let mut assignments: Vec<(usize, Scalar)> = Vec::new();
        for (assignment, column) in update.assignments.iter().zip(targets) {
            let is_key = |index: &Arc<TableIndex>| index.definition().columns.contains(&column);
            let is_twice = assignments.iter().any(|(known, _)| *known == column);
            // The order in which rows get new keys decides whether they meet others, and an
            // identity column may not be assigned at all.
            if is_twice || self.is_identity(column) || self.table.indexes().iter().any(is_key) {
                return None;
            }
            assignments.push((column, self.scalar(&assignment.value, column)?));
        }
        let conditions = self.conditions(update.selection.as_ref())?;
        let returning = self.returning(update.returning.as_deref())?;
        let find = self.find(conditions, None)?;
        let returning = returning.map(|one| one.over(&find.columns));
        Some(Action::Update { find, assignments, checks, returning })
    }

    /// Returns the column that is assigned.
    fn assigned(&self, assignment: &Assignment) -> Option<usize> {
        match &assignment.target {
            AssignmentTarget::ColumnName(name) => self.target(name),
            AssignmentTarget::Tuple(_) => None,
        }
    }

    fn delete(&mut self, delete: &Delete) -> Option<Action> {
        let Some(Statement::Delete(mut known)) = bare("DELETE FROM t") else { return None };
        known.from = delete.from.clone();
        known.returning = delete.returning.clone();
        known.selection = delete.selection.clone();
        if known != *delete {
            return None;
        }
        let conditions = self.conditions(delete.selection.as_ref())?;
        let returning = self.returning(delete.returning.as_deref())?;
        let find = self.find(conditions, None)?;
        let returning = returning.map(|one| one.over(&find.columns));
        Some(Action::Delete { find, returning })
    }

    fn insert(&mut self, insert: &Insert) -> Option<Action> {
        let Some(Statement::Insert(mut known)) = bare("INSERT INTO t VALUES (1)") else {
            return None;
        };
        let SetExpr::Values(values) = insert.source.as_ref()?.body.as_ref() else { return None };
        let mut source = known.source.take()?;
        *source.body = SetExpr::Values(values.clone());
        known.source = Some(source);
        known.table = insert.table.clone();
        known.columns = insert.columns.clone();
        known.returning = insert.returning.clone();
        if known != *insert {
            return None;
        }
        let targets: Vec<usize> = match insert.columns.as_slice() {
            [] => (0..self.schema.columns.len()).collect(),
            names => names.iter().map(|name| self.target(name)).collect::<Option<_>>()?,
        };
        let is_listed = !insert.columns.is_empty();
        let mut rows = Vec::with_capacity(values.rows.len());
        for row in &values.rows {
            let count = row.content.len();
            if count > targets.len() || (is_listed && count < targets.len()) {
                return None;
            }
            let mut scalars: Vec<Scalar> = (0..self.schema.columns.len())
                .map(|column| self.unsaid(column))
                .collect::<Option<_>>()?;
            let mut seen = vec![false; scalars.len()];
            for (&target, expr) in targets.iter().zip(&row.content) {
                if std::mem::replace(&mut seen[target], true) {
                    return None;
                }
                if is_default(expr) {
                    continue;
                }
                let scalar = self.scalar(expr, target)?;
                if matches!(scalar, Scalar::Computed(_)) || self.is_identity(target) {
                    return None;
                }
                scalars[target] = scalar;
            }
            rows.push(scalars);
        }
        let defaults = self.defaults(&rows)?;
        let checks = self.checks(|_| true)?;
        let is_even =
            values.rows.windows(2).all(|two| two[0].content.len() == two[1].content.len());
        let returning = self.returning(insert.returning.as_deref())?;
        let returning = returning.map(|one| one.over(&self.columns));
        // RETURNING is for one batch, and values must not be drawn before that is seen.
        if returning.is_some() && rows.len() > VECTOR_ROWS {
            return None;
        }
        is_even.then_some(Action::Insert { rows, defaults, checks, returning })
    }

    /// Returns what a column holds in rows that do not say.
    fn unsaid(&self, column: usize) -> Option<Scalar> {
        let Some(default) = self.rules.defaults.get(&column) else {
            return Some(Scalar::Fixed(Cell::Null));
        };
        let column_type = self.schema.columns[column].column_type;
        if is_now(&parse(&default.text).ok()?, column_type) {
            return Some(Scalar::Now);
        }
        Some(match Cell::default_of(self.table, column).ok()? {
            Cell::Default(_) => Scalar::Default,
            literal => Scalar::Fixed(literal),
        })
    }

    fn is_identity(&self, column: usize) -> bool {
        self.rules.defaults.get(&column).is_some_and(|default| default.identity.is_some())
    }

    /// Compiles the defaults that rows need, if they can be kept.
    fn defaults(&self, rows: &[Vec<Scalar>]) -> Option<DefaultValues> {
        let is_needed =
            |column: &usize| rows.iter().any(|row| matches!(row[*column], Scalar::Default));
        let columns = (0..self.schema.columns.len()).filter(is_needed).collect();
        let defaults = DefaultValues::of(self.planner, self.table, columns).ok()?;
        defaults.are_lasting().then_some(defaults)
    }

    /// Compiles the constraints if one reads a column that is written, and if they can be kept.
    #[allow(clippy::option_option, reason = "constraints that cannot be kept, and none, are two")]
    fn checks(&self, is_written: impl Fn(usize) -> bool) -> Option<Option<Checks>> {
        let Some(checks) = Checks::of(self.planner, self.table).ok()? else { return Some(None) };
        let columns = self.schema.columns.iter().enumerate();
        let mut read = columns.filter(|(_, column)| checks.read(&column.name));
        match read.any(|(column, _)| is_written(column)) {
            true => checks.are_lasting().then_some(Some(checks)),
            false => Some(None),
        }
    }

    /// Reads RETURNING; `Some(None)` without it.
    #[allow(clippy::option_option, reason = "items that are not known, and none, are two things")]
    fn returning(&mut self, items: Option<&[SelectItem]>) -> Option<Option<Returning>> {
        let Some(items) = items else { return Some(None) };
        let items = self.items(items)?;
        Some(Some(Returning { items, columns: Vec::new() }))
    }

    fn target(&self, name: &ObjectName) -> Option<usize> {
        match name.0.as_slice() {
            [part] => self.schema.column_index(&fold(part.as_ident()?)),
            _ => None,
        }
    }

    fn items(&mut self, projection: &[SelectItem]) -> Option<Vec<Item>> {
        let mut items = Vec::with_capacity(projection.len());
        for item in projection {
            match item {
                SelectItem::Wildcard(options) if options.to_string().is_empty() => {}
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) if options.to_string().is_empty() => match name.0.as_slice() {
                    [part] if fold(part.as_ident()?) == self.alias => {}
                    _ => return None,
                },
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    items.push(self.item(expr)?);
                    continue;
                }
                _ => return None,
            }
            for column in 0..self.schema.columns.len() {
                items.push(Item::Column(self.place(column)));
            }
        }
        Some(items)
    }

    fn item(&mut self, expr: &Expr) -> Option<Item> {
        match self.column(expr) {
            Some(column) => Some(Item::Column(self.place(column))),
            None => self.compute(expr).map(Item::Computed),
        }
    }

    fn compute(&mut self, expr: &Expr) -> Option<Compute> {
        let (schema, types) = (Arc::clone(self.schema), self.types);
        Compute::of(expr, types, &mut |expr| {
            let column = self.column(expr)?;
            Some((self.place(column), schema.columns[column].column_type))
        })
    }

    /// Reads a value that is assigned to a column.
    fn scalar(&mut self, expr: &Expr, target: usize) -> Option<Scalar> {
        let column_type = self.schema.columns[target].column_type;
        if let Some(operand) = Operand::of(expr) {
            return self.is_typed(&operand, column_type).then_some(Scalar::Given(operand));
        }
        if let Some(cell) = Cell::literal(expr, column_type) {
            return Some(Scalar::Fixed(cell));
        }
        if is_now(expr, column_type) {
            return Some(Scalar::Now);
        }
        let compute = self.compute(expr)?;
        compute.fits(column_type).then_some(Scalar::Computed(compute))
    }

    /// Whether an operand, if it is a parameter, has the type of a column.
    fn is_typed(&self, operand: &Operand, column_type: ColumnType) -> bool {
        use ColumnType::{BigInt, Char, Integer, SmallInt, Varchar};
        let Operand::Parameter(index) = operand else { return true };
        match (self.types.get(*index).copied().flatten(), column_type) {
            (Some(SmallInt | Integer | BigInt), SmallInt | Integer | BigInt) => true,
            (Some(Varchar { max_chars: None }), Varchar { .. }) => true,
            (Some(found), Char { .. }) => found == column_type,
            (Some(found), expected) => found == expected,
            (None, _) => false,
        }
    }

    /// Returns the place of a column among those that are read.
    fn place(&mut self, column: usize) -> usize {
        match self.columns.iter().position(|&known| known == column) {
            Some(place) => place,
            None => {
                self.columns.push(column);
                self.columns.len() - 1
            }
        }
    }

    /// Returns the column that an expression names.
    fn column(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Identifier(ident) => self.schema.column_index(&fold(ident)),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, column] if fold(table) == self.alias => {
                    self.schema.column_index(&fold(column))
                }
                _ => None,
            },
            Expr::Nested(inner) => self.column(inner),
            _ => None,
        }
    }

    fn conditions(&mut self, selection: Option<&Expr>) -> Option<Vec<Condition>> {
        let mut conditions = Vec::new();
        let mut open: Vec<&Expr> = selection.into_iter().collect();
        while let Some(expr) = open.pop() {
            match expr {
                Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                    open.push(right);
                    open.push(left);
                }
                Expr::Nested(inner) => open.push(inner),
                other => {
                    let condition = self.condition(other)?;
                    self.place(condition.column);
                    conditions.push(condition);
                }
            }
        }
        Some(conditions)
    }

    fn condition(&self, expr: &Expr) -> Option<Condition> {
        let operand = |column: usize, expr: &Expr| {
            let operand = Operand::of(expr)?;
            let column_type = self.schema.columns[column].column_type;
            self.is_typed(&operand, column_type).then_some(operand)
        };
        let (column, test) = match expr {
            Expr::BinaryOp { left, op, right } => {
                let op = compare_op(op)?;
                match (self.column(left), self.column(right)) {
                    (Some(column), None) => (column, Test::Compare(op, operand(column, right)?)),
                    (None, Some(column)) => {
                        (column, Test::Compare(op.flipped(), operand(column, left)?))
                    }
                    _ => return None,
                }
            }
            Expr::Between { expr, negated: false, low, high } => {
                let column = self.column(expr)?;
                (column, Test::Between(operand(column, low)?, operand(column, high)?))
            }
            Expr::InList { expr, list, negated: false } => {
                let column = self.column(expr)?;
                let list = list.iter().map(|value| operand(column, value));
                (column, Test::OneOf(list.collect::<Option<_>>()?))
            }
            Expr::IsNull(expr) => (self.column(expr)?, Test::IsNull),
            Expr::IsNotNull(expr) => (self.column(expr)?, Test::IsNotNull),
            _ => return None,
        };
        Some(Condition { column, test })
    }

    /// Reads ORDER BY: the columns and the one direction of all; `Some(None)` without one.
    #[allow(clippy::option_option, reason = "an order that is not known, and none, are two things")]
    fn order(&self, order: Option<&OrderBy>) -> Option<Option<(Vec<usize>, Direction)>> {
        let Some(order) = order else { return Some(None) };
        let OrderByKind::Expressions(items) = &order.kind else { return None };
        let mut columns = Vec::with_capacity(items.len());
        let is_descending = items.first()?.options.asc == Some(false);
        for item in items {
            let column = self.column(&item.expr)?;
            let is_known = item.options.nulls_first.is_none()
                && item.with_fill.is_none()
                && (item.options.asc == Some(false)) == is_descending
                && !self.schema.columns[column].is_nullable;
            if !is_known {
                return None;
            }
            columns.push(column);
        }
        let direction = if is_descending { Direction::Descending } else { Direction::Ascending };
        order.interpolate.is_none().then_some(Some((columns, direction)))
    }

    #[allow(clippy::option_option, reason = "a limit that is not known, and none, are two things")]
    fn limit(&self, limit: Option<&LimitClause>) -> Option<Option<Operand>> {
        match limit {
            None => Some(None),
            Some(LimitClause::LimitOffset { limit: Some(limit), offset: None, limit_by })
                if limit_by.is_empty() =>
            {
                let operand = Operand::of(limit)?;
                self.is_typed(&operand, ColumnType::BigInt).then_some(Some(operand))
            }
            Some(_) => None,
        }
    }

    /// Chooses the index that knows most of the key.
    fn find(
        &self,
        conditions: Vec<Condition>,
        order: Option<(Vec<usize>, Direction)>,
    ) -> Option<Find> {
        let mut best: Option<(usize, Find)> = None;
        for (place, index) in self.table.indexes().iter().enumerate() {
            let found = self.find_by(index.definition(), &conditions, order.as_ref());
            let Some((rank, find)) =
                found.map(|(rank, find)| (rank, Find { index: place, ..find }))
            else {
                continue;
            };
            if best.as_ref().is_none_or(|(known, _)| rank > *known) {
                best = Some((rank, find));
            }
        }
        best.map(|(_, find)| find)
    }

    fn find_by(
        &self,
        definition: &IndexDef,
        conditions: &[Condition],
        order: Option<&(Vec<usize>, Direction)>,
    ) -> Option<(usize, Find)> {
        let equal = |column: &usize| {
            conditions.iter().find_map(|condition| match &condition.test {
                Test::Compare(CompareOp::Eq, operand) if condition.column == *column => {
                    Some(operand.clone())
                }
                _ => None,
            })
        };
        let prefix: Vec<Operand> = definition.columns.iter().map_while(equal).collect();
        let next = definition.columns.get(prefix.len());
        let rest = match next {
            Some(&column) => key_rest(column, conditions),
            None => KeyRest::Within(Bound::Unbounded, Bound::Unbounded),
        };
        let is_list = matches!(rest, KeyRest::OneOf(_));
        let is_known = is_list
            || matches!(&rest, KeyRest::Within(low, high)
                if !matches!((low, high), (Bound::Unbounded, Bound::Unbounded)));
        let is_point = next.is_none() || (is_list && prefix.len() + 1 == definition.columns.len());
        if definition.kind == IndexKind::Hash && !is_point {
            return None;
        }
        let direction = match order {
            None => Direction::Ascending,
            Some((columns, direction)) => {
                // Columns that are equal to one value order nothing.
                let open: Vec<usize> =
                    columns.iter().copied().filter(|column| equal(column).is_none()).collect();
                definition.columns[prefix.len()..].starts_with(&open).then_some(*direction)?
            }
        };
        let rank = prefix.len() * 4 + usize::from(is_known) * 2 + usize::from(is_list);
        if rank == 0 && order.is_none() {
            return None;
        }
        let (columns, conditions) = (self.columns.clone(), conditions.to_vec());
        Some((rank, Find { index: 0, prefix, rest, direction, conditions, columns }))
    }
}

impl Returning {
    /// Says which columns the places of the items mean.
    fn over(self, columns: &[usize]) -> Self {
        Self { columns: columns.to_vec(), ..self }
    }
}

/// Returns what the conditions say of a key column that is not equal to one value.
fn key_rest(column: usize, conditions: &[Condition]) -> KeyRest {
    let (mut low, mut high) = (Bound::Unbounded, Bound::Unbounded);
    for condition in conditions.iter().filter(|condition| condition.column == column) {
        let (new_low, new_high) = match condition.test.clone() {
            Test::OneOf(list) => return KeyRest::OneOf(list),
            Test::Between(low, high) => (Bound::Included(low), Bound::Included(high)),
            Test::Compare(CompareOp::Gt, value) => (Bound::Excluded(value), Bound::Unbounded),
            Test::Compare(CompareOp::Ge, value) => (Bound::Included(value), Bound::Unbounded),
            Test::Compare(CompareOp::Lt, value) => (Bound::Unbounded, Bound::Excluded(value)),
            Test::Compare(CompareOp::Le, value) => (Bound::Unbounded, Bound::Included(value)),
            _ => continue,
        };
        // The others hold, too, when each row is looked at.
        if matches!(low, Bound::Unbounded) {
            low = new_low;
        }
        if matches!(high, Bound::Unbounded) {
            high = new_high;
        }
    }
    KeyRest::Within(low, high)
}

fn compare_op(op: &BinaryOperator) -> Option<CompareOp> {
    Some(match op {
        BinaryOperator::Eq => CompareOp::Eq,
        BinaryOperator::NotEq => CompareOp::Ne,
        BinaryOperator::Lt => CompareOp::Lt,
        BinaryOperator::LtEq => CompareOp::Le,
        BinaryOperator::Gt => CompareOp::Gt,
        BinaryOperator::GtEq => CompareOp::Ge,
        _ => return None,
    })
}
