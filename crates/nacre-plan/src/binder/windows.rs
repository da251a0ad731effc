//! Calls with OVER, and the windows that they name.
//!
//! 1. A call notes its window, which is bound when all clauses are: what is there twice is one.
//! 2. Windows are bound in the order of WINDOW, then of calls; each sees those before it.
//! 3. When groups are made, windows become operators above them: one for each list of keys, the
//!    longest first, and above it those that its order serves, too.
//!
//! ```text
//! rank() over (partition by a order by b), sum(c) over (partition by a)
//! Window partition a, sum <- Window partition a order b, rank
//! ```

use nacre_functions::catalog::{AggregateKind, FunctionKind};
use nacre_syntax::SourceRange;
use nacre_syntax::{
    CallArguments, FunctionCall, NamedWindow, SetQuantifier, WindowDefinition, WindowReference,
};

use super::Binder;
use super::calls::{ChosenFunction, ask_behind, without_star};
use super::expressions::{ExpressionPlace, WindowAllowance};
use super::ordering::{is_descending, require_operator};
use super::scope::Scope;
use crate::algebra::conjuncts::with_computed;
use crate::algebra::{
    BoundSortKey, BoundWindowCall, BoundWindowFrame, ColumnId, ComputedColumn, RelationalOperator,
    ScalarExpression, ScalarKind, WindowColumn,
};
use crate::error::BindError;

/// A window as it is written.
#[derive(Clone, Debug)]
pub(super) struct WrittenWindow {
    /// Of WINDOW.
    name: Option<String>,
    definition: WindowDefinition,
}

/// A window with all that it takes from the one that it goes on from.
#[derive(Clone, Debug)]
pub(super) struct BoundWindow {
    name: Option<String>,
    partition: Vec<ScalarExpression>,
    order: Vec<BoundSortKey>,
    /// `None` if none is written.
    frame: Option<BoundWindowFrame>,
}

/// A window whose keys are columns, and its functions.
struct PlacedWindow {
    partition: Vec<ColumnId>,
    order: Vec<BoundSortKey>,
    functions: Vec<WindowColumn>,
}

impl WrittenWindow {
    pub(super) fn of_clause(window: &NamedWindow) -> Self {
        Self { name: Some(window.name.text.clone()), definition: window.definition.clone() }
    }
}

impl BoundWindow {
    pub(super) fn expressions(&self) -> impl Iterator<Item = &ScalarExpression> {
        self.order.iter().map(|key| &key.value).chain(&self.partition)
    }

    pub(super) fn expressions_mut(&mut self) -> impl Iterator<Item = &mut ScalarExpression> {
        self.order.iter_mut().map(|key| &mut key.value).chain(&mut self.partition)
    }
}

impl PlacedWindow {
    fn key_count(&self) -> usize {
        self.partition.len() + self.order.len()
    }

    /// Whether rows that are sorted for this window are so for another one.
    fn serves(&self, other: &Self) -> bool {
        let keys = |window: &Self| {
            let partition = window.partition.iter().map(|column| (Some(*column), None));
            let order = window
                .order
                .iter()
                .map(|key| (column_of_key(key), Some((key.is_descending, key.nulls_first))));
            partition.chain(order).collect::<Vec<_>>()
        };
        let (own, others) = (keys(self), keys(other));
        let count = other.partition.len();
        let is_known =
            |column: &ColumnId| own[..count].iter().any(|(key, _)| key == &Some(*column));
        // A partition is a set, and sorted in any direction.
        own.len() >= others.len()
            && other.partition.iter().all(is_known)
            && own[count..].iter().zip(&others[count..]).all(|(one, key)| one == key)
    }
}

/// Refuses window functions in an expression of a clause that has none.
pub(super) fn refuse_windows(expression: &ScalarExpression, clause: &str) -> Result<(), BindError> {
    match find_window(expression) {
        Some(call) => Err(not_allowed(clause, call.range)),
        None => Ok(()),
    }
}

fn not_allowed(clause: &str, range: SourceRange) -> BindError {
    // Frames are no clause of their own here, as they are for aggregates.
    let clause = if clause.starts_with("window ") { "window definitions" } else { clause };
    let message = format!("window functions are not allowed in {clause}");
    BindError::new("42P20", message, range)
}

pub(super) fn find_window(expression: &ScalarExpression) -> Option<&ScalarExpression> {
    match expression.kind {
        ScalarKind::Window { .. } => Some(expression),
        _ => expression.children().find_map(find_window),
    }
}

impl Binder<'_> {
    /// Binds a call with OVER.
    pub(super) fn bind_window_call(
        &mut self,
        call: &FunctionCall,
        chosen: ChosenFunction,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let ChosenFunction { entry: function, mut arguments, result } = chosen;
        require_window_form(call, function.name, function.kind, range)?;
        let is_aggregate = function.kind != FunctionKind::Window;
        if is_aggregate && arguments.is_empty() && call.arguments != CallArguments::Star {
            return Err(without_star(function.name, range));
        }
        let filter = self.bind_call_filter(call, place)?;
        match place.windows {
            WindowAllowance::Allowed => {}
            WindowAllowance::NotInClause => return Err(not_allowed(place.clause, range)),
            WindowAllowance::NotInAggregate => {
                let message = "aggregate function calls cannot contain window function calls";
                return Err(BindError::new("42803", message, range));
            }
            WindowAllowance::NotInWindow => {
                let message = "window function calls cannot be nested";
                return Err(BindError::new("42P20", message, range));
            }
        }
        let window = self.note_window(call)?;
        ask_behind(filter.as_ref(), arguments.iter_mut(), range)?;
        let call = Box::new(BoundWindowCall { function, arguments, filter, result });
        Ok(ScalarExpression::new(ScalarKind::Window { call, window }, result, range))
    }

    /// Returns the index of a call's window.
    fn note_window(&mut self, call: &FunctionCall) -> Result<usize, BindError> {
        match &call.window {
            Some(WindowReference::Named(name)) => {
                let is_it = |own: &WrittenWindow| own.name.as_ref() == Some(&name.text);
                let found = self.windows.iter().position(is_it);
                found.ok_or_else(|| missing_window(&name.text, name.range))
            }
            Some(WindowReference::Inline(definition)) => {
                let same = self.windows.iter().position(|own| own.definition == *definition);
                Ok(same.unwrap_or_else(|| {
                    let definition = definition.clone();
                    self.windows.push(WrittenWindow { name: None, definition });
                    self.windows.len() - 1
                }))
            }
            None => Ok(0),
        }
    }

    /// Binds the windows of a SELECT, when its clauses are bound.
    pub(super) fn bind_windows(&mut self, scope: &Scope) -> Result<Vec<BoundWindow>, BindError> {
        let mut bound = Vec::new();
        for WrittenWindow { name, definition } in std::mem::take(&mut self.windows) {
            let window = self.bind_window(name, &definition, &bound, scope)?;
            bound.push(window);
        }
        Ok(bound)
    }

    fn bind_window(
        &mut self,
        name: Option<String>,
        definition: &WindowDefinition,
        known: &[BoundWindow],
        scope: &Scope,
    ) -> Result<BoundWindow, BindError> {
        let fail = |message: String| Err(BindError::new("42P20", message, definition.range));
        let find = |name: &str| known.iter().find(|own| own.name.as_deref() == Some(name));
        if let Some(name) = name.as_deref().filter(|name| find(name).is_some()) {
            return fail(format!("window \"{name}\" is already defined"));
        }
        let base = match &definition.base {
            Some(base) => {
                let missing = || missing_window(&base.text, definition.range);
                Some((&base.text, find(&base.text).ok_or_else(missing)?))
            }
            None => None,
        };
        let place = ExpressionPlace::new(scope, "window definitions").with_aggregates();
        let mut order = self.bind_window_order(definition, place)?;
        let mut partition = self.bind_partition(definition, place)?;
        if let Some((base_name, base)) = base {
            if !partition.is_empty() {
                return fail(format!(
                    "cannot override PARTITION BY clause of window \"{base_name}\""
                ));
            }
            let has_order = !order.is_empty();
            if has_order && !base.order.is_empty() {
                return fail(format!("cannot override ORDER BY clause of window \"{base_name}\""));
            }
            partition.clone_from(&base.partition);
            if !has_order {
                order.clone_from(&base.order);
            }
            if base.frame.is_some() {
                let message =
                    format!("cannot copy window \"{base_name}\" because it has a frame clause");
                let error = BindError::new("42P20", message, definition.range);
                let is_bare = name.is_none() && !has_order && definition.frame.is_none();
                let hint = "Omit the parentheses in this OVER clause.";
                return Err(if is_bare { error.with_hint(hint) } else { error });
            }
        }
        let frame = match &definition.frame {
            Some(frame) => Some(self.bind_frame(frame, &order, definition.range, scope)?),
            None => None,
        };
        Ok(BoundWindow { name, partition, order, frame })
    }

    fn bind_window_order(
        &mut self,
        definition: &WindowDefinition,
        place: ExpressionPlace<'_>,
    ) -> Result<Vec<BoundSortKey>, BindError> {
        let mut order: Vec<BoundSortKey> = Vec::with_capacity(definition.order_by.len());
        for item in &definition.order_by {
            let value = self.bind(&item.value, place)?;
            let value = self.settle(value)?;
            let is_descending = is_descending(item)?;
            require_operator("<", value.sql_type, value.range)?;
            let nulls_first = item.nulls_first.unwrap_or(is_descending);
            if order.iter().all(|key| key.value != value) {
                order.push(BoundSortKey { value, is_descending, nulls_first });
            }
        }
        Ok(order)
    }

    fn bind_partition(
        &mut self,
        definition: &WindowDefinition,
        place: ExpressionPlace<'_>,
    ) -> Result<Vec<ScalarExpression>, BindError> {
        let mut partition: Vec<ScalarExpression> =
            Vec::with_capacity(definition.partition_by.len());
        for node in &definition.partition_by {
            let value = self.bind(node, place)?;
            let value = self.settle(value)?;
            require_operator("=", value.sql_type, value.range)?;
            if !partition.contains(&value) {
                partition.push(value);
            }
        }
        Ok(partition)
    }

    /// Has expressions name the results of window functions, and adds these to the operator.
    pub(super) fn place_windows<'e>(
        &mut self,
        windows: Vec<BoundWindow>,
        expressions: impl Iterator<Item = &'e mut ScalarExpression>,
        root: RelationalOperator,
    ) -> RelationalOperator {
        let mut calls = Vec::new();
        for expression in expressions {
            self.collect_windows(expression, &mut calls);
        }
        let mut computed: Vec<ComputedColumn> = Vec::new();
        let mut placed: Vec<PlacedWindow> = Vec::new();
        for (index, BoundWindow { partition, order, frame, .. }) in windows.into_iter().enumerate()
        {
            let own = calls.iter().filter(|(window, ..)| *window == index);
            let functions: Vec<WindowColumn> = own
                .map(|(_, column, call)| {
                    let frame = frame.clone().unwrap_or_else(BoundWindowFrame::default_frame);
                    WindowColumn { column: *column, call: call.clone(), frame }
                })
                .collect();
            if functions.is_empty() {
                continue;
            }
            let mut key = |value: ScalarExpression| self.key_of("window", value, &mut computed);
            let partition: Vec<ColumnId> = partition.into_iter().map(&mut key).collect();
            let order: Vec<BoundSortKey> = order
                .into_iter()
                .map(|BoundSortKey { value, is_descending, nulls_first }| {
                    let (sql_type, range) = (value.sql_type, value.range);
                    let kind = ScalarKind::Column(key(value));
                    let value = ScalarExpression::new(kind, sql_type, range);
                    BoundSortKey { value, is_descending, nulls_first }
                })
                .collect();
            let same =
                placed.iter_mut().find(|one| one.partition == partition && one.order == order);
            match same {
                Some(same) => same.functions.extend(functions),
                None => placed.push(PlacedWindow { partition, order, functions }),
            }
        }
        stacked(placed, with_computed(root, computed))
    }

    fn collect_windows(
        &mut self,
        expression: &mut ScalarExpression,
        calls: &mut Vec<(usize, ColumnId, BoundWindowCall)>,
    ) {
        let ScalarKind::Window { call, window } = &expression.kind else {
            for child in expression.children_mut() {
                self.collect_windows(child, calls);
            }
            return;
        };
        let known = calls.iter().find(|(own, _, known)| own == window && *known == **call);
        let column = match known {
            Some((_, column, _)) => *column,
            None => {
                let column = self.add_computed(call.function.name, expression);
                calls.push((*window, column, (**call).clone()));
                column
            }
        };
        expression.kind = ScalarKind::Column(column);
    }
}

/// Refuses forms of a call that window functions do not have.
fn require_window_form(
    call: &FunctionCall,
    name: &str,
    kind: FunctionKind,
    range: SourceRange,
) -> Result<(), BindError> {
    let is_distinct =
        matches!(call.arguments, CallArguments::List { quantifier: SetQuantifier::Distinct, .. });
    let plain = |word: &str| {
        let message = format!("{word} specified, but {name} is not an aggregate function");
        Err(BindError::new("42809", message, range))
    };
    let unknown = |message: String| Err(BindError::new("0A000", message, range));
    match kind {
        FunctionKind::Aggregate(AggregateKind::Normal) | FunctionKind::Window => {}
        FunctionKind::Aggregate(_) => {
            return unknown(format!("OVER is not supported for ordered-set aggregate {name}"));
        }
        FunctionKind::Function | FunctionKind::Procedure => {
            if call.arguments == CallArguments::Star {
                let message =
                    format!("{name}(*) specified, but {name} is not an aggregate function");
                return Err(BindError::new("42809", message, range));
            }
            if is_distinct {
                return plain("DISTINCT");
            }
            if !call.order_by.is_empty() {
                return plain("ORDER BY");
            }
            if call.filter.is_some() {
                return plain("FILTER");
            }
            let message = format!(
                "OVER specified, but {name} is not a window function nor an aggregate function"
            );
            return Err(BindError::new("42809", message, range));
        }
    }
    if is_distinct {
        return unknown("DISTINCT is not implemented for window functions".to_owned());
    }
    if !call.order_by.is_empty() {
        return unknown("aggregate ORDER BY is not implemented for window functions".to_owned());
    }
    if kind == FunctionKind::Window && call.filter.is_some() {
        return unknown("FILTER is not implemented for non-aggregate window functions".to_owned());
    }
    Ok(())
}

fn missing_window(name: &str, range: SourceRange) -> BindError {
    BindError::new("42704", format!("window \"{name}\" does not exist"), range)
}

fn column_of_key(key: &BoundSortKey) -> Option<ColumnId> {
    match key.value.kind {
        ScalarKind::Column(column) => Some(column),
        _ => None,
    }
}

/// Puts windows above an operator: the one of most keys first, above it those that its order
/// serves, and so on.
fn stacked(mut windows: Vec<PlacedWindow>, mut root: RelationalOperator) -> RelationalOperator {
    while !windows.is_empty() {
        let most = windows.iter().map(PlacedWindow::key_count).max();
        let first = windows.iter().position(|one| Some(one.key_count()) == most).unwrap_or(0);
        let first = windows.remove(first);
        let (served, others): (Vec<_>, Vec<_>) =
            windows.into_iter().partition(|one| first.serves(one));
        windows = others;
        for PlacedWindow { partition, order, functions } in std::iter::once(first).chain(served) {
            let input = Box::new(root);
            root = RelationalOperator::Window { input, partition, order, functions };
        }
    }
    root
}
