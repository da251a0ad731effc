//! Expressions, one kind after the other.

use std::borrow::Cow;

use nacre_syntax::SourceRange;
use nacre_syntax::{
    ColumnPath, ExpressionKind, ExpressionNode, IndirectionStep, OperatorLink, SpecialCall,
};
use nacre_types::SqlType;

use super::column_hints::with_column_hint;
use super::literals::negated_number;
use super::row_comparisons::row_items;
use super::scope::{OuterScope, Scope};
use super::{Binder, EXPRESSION_DEPTH_MAX, EXPRESSIONS_COPIED_MAX};
use crate::algebra::{ScalarExpression, ScalarKind};
use crate::control;
use crate::error::BindError;

/// Bits of an integer without its sign.
const GROUPING_ARGUMENTS_MAX: usize = 31;

/// Where an expression stands: what it may see and have.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpressionPlace<'s> {
    pub(super) scope: &'s Scope,
    /// The clause, as error messages name it.
    pub(super) clause: &'static str,
    pub(super) allows_aggregates: bool,
    pub(super) windows: WindowAllowance,
    pub(super) sets: SetAllowance,
}

/// Whether an expression may have window functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowAllowance {
    Allowed,
    /// The clause has none.
    NotInClause,
    /// It is the argument of an aggregate.
    NotInAggregate,
    /// It is the argument of a window function.
    NotInWindow,
}

/// Whether an expression may have functions of sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SetAllowance {
    Allowed,
    /// The clause has none.
    NotInClause,
    /// It is an operand of a form that may leave it out.
    NotInChoice(&'static str),
    /// It is an argument of an aggregate or a window function.
    NotInCall(&'static str),
    /// PostgreSQL has some there.
    NotHere,
}

/// Clauses that have no functions of sets in PostgreSQL.
const CLAUSES_WITHOUT_SETS: [&str; 10] = [
    "WHERE",
    "HAVING",
    "JOIN conditions",
    "FILTER",
    "window definitions",
    "LIMIT",
    "OFFSET",
    "VALUES",
    "UPDATE",
    "RETURNING",
];

impl<'s> ExpressionPlace<'s> {
    pub(super) fn new(scope: &'s Scope, clause: &'static str) -> Self {
        let windows = WindowAllowance::NotInClause;
        let sets = SetAllowance::NotInClause;
        Self { scope, clause, allows_aggregates: false, windows, sets }
    }

    /// Refuses a function of sets here.
    ///
    /// # Errors
    /// 0A000.
    pub(super) fn refuse_set<T>(&self, range: SourceRange) -> Result<T, BindError> {
        let message = match self.sets {
            SetAllowance::NotInClause if CLAUSES_WITHOUT_SETS.contains(&self.clause) => {
                format!("set-returning functions are not allowed in {}", self.clause)
            }
            SetAllowance::NotInChoice(form) => {
                format!("set-returning functions are not allowed in {form}")
            }
            SetAllowance::NotInCall(kind) => {
                format!("{kind} function calls cannot contain set-returning function calls")
            }
            _ => return Err(BindError::not_supported("functions of sets here", range)),
        };
        let error = BindError::new("0A000", message, range);
        Err(match self.sets {
            SetAllowance::NotInClause => error,
            _ => error.with_hint(
                "You might be able to move the set-returning function into a LATERAL FROM item.",
            ),
        })
    }

    pub(super) fn with_aggregates(self) -> Self {
        Self { allows_aggregates: true, ..self }
    }

    pub(super) fn with_windows(self) -> Self {
        Self { windows: WindowAllowance::Allowed, ..self }
    }

    pub(super) fn with_sets(self) -> Self {
        Self { sets: SetAllowance::Allowed, ..self }
    }

    /// Returns the place of operands of a form that functions of sets may not stand in, as `reason`
    /// says.
    fn without_sets(self, reason: SetAllowance) -> Self {
        match self.sets {
            SetAllowance::Allowed => Self { sets: reason, ..self },
            _ => self,
        }
    }

    /// Returns the place of the parts of CASE.
    fn in_case(self) -> Self {
        self.without_sets(SetAllowance::NotInChoice("CASE"))
    }

    /// Returns the place of operands of a form with a syntax of its own.
    fn in_special(self, call: &SpecialCall) -> Self {
        self.without_sets(match call {
            SpecialCall::Coalesce(_) => SetAllowance::NotInChoice("COALESCE"),
            _ => SetAllowance::NotHere,
        })
    }

    /// Returns the place of the arguments of an aggregate.
    pub(super) fn in_aggregate(self) -> Self {
        let place = self.without_windows(WindowAllowance::NotInAggregate);
        let place = place.without_sets(SetAllowance::NotInCall("aggregate"));
        Self { allows_aggregates: false, ..place }
    }

    /// Returns the place of the arguments of a window function.
    pub(super) fn in_window(self) -> Self {
        let place = self.without_windows(WindowAllowance::NotInWindow);
        place.without_sets(SetAllowance::NotInCall("window"))
    }

    /// Returns the place of the condition of an aggregate.
    pub(super) fn in_filter(self) -> Self {
        Self { clause: "FILTER", windows: WindowAllowance::NotInClause, ..self.in_aggregate() }
    }

    fn without_windows(self, reason: WindowAllowance) -> Self {
        match self.windows {
            WindowAllowance::Allowed => Self { windows: reason, ..self },
            _ => self,
        }
    }
}

impl Binder<'_> {
    /// Binds an expression.
    pub(super) fn bind(
        &mut self,
        node: &ExpressionNode,
        place: ExpressionPlace<'_>,
    ) -> Result<ScalarExpression, BindError> {
        self.depth += 1;
        let bound = if self.depth > EXPRESSION_DEPTH_MAX {
            Err(too_deep(node.range))
        } else if control::is_stopped() {
            Err(BindError::stopped(node.range))
        } else {
            self.bind_kind(node, place)
        };
        self.depth -= 1;
        bound
    }

    /// Copies an operand that is compared more than once.
    ///
    /// # Errors
    /// 54001 if the copies of the query are too many; 0A000 for volatile operands.
    pub(super) fn copy(
        &mut self,
        operand: &ScalarExpression,
    ) -> Result<ScalarExpression, BindError> {
        if operand.is_volatile() {
            let what = "volatile values that are compared several times";
            return Err(BindError::not_supported(what, operand.range));
        }
        self.copied += operand.count();
        if self.copied > EXPRESSIONS_COPIED_MAX {
            return Err(BindError::new("54001", "stack depth limit exceeded", operand.range)
                .with_hint("Compute what is compared several times in a subquery.")
                .into_own_limit());
        }
        Ok(operand.clone())
    }

    /// Copies an operand that is compared with an element of a list.
    ///
    /// # Errors
    /// As [`Self::copy`]; a column or constant is no larger than the element, and is not counted.
    pub(super) fn copy_beside_element(
        &mut self,
        operand: &ScalarExpression,
    ) -> Result<ScalarExpression, BindError> {
        let is_small = operand.count() == 1 && !operand.is_volatile();
        if is_small { Ok(operand.clone()) } else { self.copy(operand) }
    }

    fn bind_kind(
        &mut self,
        node: &ExpressionNode,
        place: ExpressionPlace<'_>,
    ) -> Result<ScalarExpression, BindError> {
        let range = node.range;
        match &node.kind {
            ExpressionKind::Literal(literal) => self.bind_literal(literal, range),
            ExpressionKind::TypedLiteral(literal) => self.bind_typed_literal(literal, range),
            ExpressionKind::Parameter(number) => self.bind_parameter(*number, range),
            ExpressionKind::Column(path) => self.bind_path(path, place, range),
            ExpressionKind::Array(nodes) => self.bind_array(nodes, None, place, range),
            ExpressionKind::ArrayQuery(query) => self.bind_array_query(query, place, range),
            ExpressionKind::Row { items, .. } => self.bind_row(items, place, range),
            ExpressionKind::Indirection { operand, steps } => {
                let operand = self.bind(operand, place)?;
                self.bind_subscripts(operand, steps, place, range)
            }
            ExpressionKind::Operation { first, links } => self.bind_operation(first, links, place),
            ExpressionKind::Prefix { operator, operand } => {
                if let Some(literal) = negated_number(operator, operand) {
                    return self.bind_literal(&literal, range);
                }
                let operand = self.bind(operand, place)?;
                let symbol = self.symbol(operator)?;
                self.apply_operator(symbol, vec![operand], operator.range)
            }
            ExpressionKind::And(nodes) => self.bind_logic(nodes, "AND", place),
            ExpressionKind::Or(nodes) => self.bind_logic(nodes, "OR", place),
            ExpressionKind::Not(operand) => {
                let operand = self.bind(operand, place)?;
                let operand = self.coerce_to_boolean(operand, "NOT")?;
                let kind = ScalarKind::Not(Box::new(operand));
                Ok(ScalarExpression::new(kind, SqlType::BOOLEAN, range))
            }
            ExpressionKind::Is { operand, test, is_negated } => {
                self.bind_is(operand, *test, *is_negated, place, range)
            }
            ExpressionKind::Distinct { left, right, is_negated } => {
                self.bind_is_distinct([left, right], *is_negated, place, range)
            }
            ExpressionKind::Between(test) => self.bind_between(test, place, range),
            ExpressionKind::In { operand, source, is_negated } => {
                self.bind_in(operand, source, *is_negated, place, range)
            }
            ExpressionKind::Like(test) => self.bind_like(test, place, range),
            ExpressionKind::Cast { operand, type_name } => {
                let target = self.bind_type_name(type_name)?;
                let operand = match &operand.kind {
                    ExpressionKind::Array(nodes) => {
                        self.bind_array(nodes, Some(target), place, operand.range)?
                    }
                    _ => self.bind(operand, place)?,
                };
                self.cast(operand, target, range)
            }
            ExpressionKind::Case(case) => self.bind_case(case, place.in_case(), range),
            ExpressionKind::Exists(query) => self.bind_exists(query, place, range),
            ExpressionKind::Subquery(query) => self.bind_scalar_subquery(query, place, range),
            ExpressionKind::Quantified(test) => self.bind_quantified_query(test, place, range),
            ExpressionKind::Function(call) => self.bind_call(call, place, range),
            ExpressionKind::Special(call) => self.bind_special(call, place.in_special(call), range),
            ExpressionKind::Collate { operand, collation } => {
                self.bind_collation(operand, collation, place)
            }
            ExpressionKind::Grouping(nodes) => self.bind_grouping(nodes, place, range),
            _ => self.bind_moment_form(node, place),
        }
    }

    /// Binds GROUPING, whose arguments are looked up among the keys later.
    fn bind_grouping(
        &mut self,
        nodes: &[ExpressionNode],
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        if nodes.len() > GROUPING_ARGUMENTS_MAX {
            let message = "GROUPING must have fewer than 32 arguments";
            return Err(BindError::new("54023", message, range));
        }
        if !place.allows_aggregates {
            let message = format!("grouping operations are not allowed in {}", place.clause);
            return Err(BindError::new("42803", message, range));
        }
        let inner = ExpressionPlace { allows_aggregates: false, ..place };
        let arguments = nodes.iter().map(|node| self.bind(node, inner));
        let kind = ScalarKind::Grouping(arguments.collect::<Result<Vec<_>, _>>()?);
        Ok(ScalarExpression::new(kind, SqlType::INTEGER, range))
    }

    fn bind_operation(
        &mut self,
        first: &ExpressionNode,
        links: &[OperatorLink],
        place: ExpressionPlace<'_>,
    ) -> Result<ScalarExpression, BindError> {
        if links.len() + self.depth > EXPRESSION_DEPTH_MAX {
            return Err(too_deep(first.range));
        }
        if let ([OperatorLink { operator, operand }], Some(left)) = (links, row_items(first)) {
            if let Some(right) = row_items(operand) {
                let symbol = self.symbol(operator)?;
                return self.bind_row_comparison(symbol, [left, right], place, operator.range);
            }
            if let ExpressionKind::Subquery(query) = &operand.kind {
                let symbol = self.symbol(operator)?;
                return self.bind_row_beside_query(symbol, (left, query), place, operator.range);
            }
        }
        let mut left = self.bind(first, place)?;
        for OperatorLink { operator, operand } in links {
            let right = self.bind(operand, place)?;
            let symbol = self.symbol(operator)?;
            left = self.apply_operator(symbol, vec![left, right], operator.range)?;
        }
        Ok(left)
    }

    /// Binds `column` and `table.column`: of this query, else of the innermost query around it that
    /// has it.
    pub(super) fn bind_column(
        &mut self,
        path: &ColumnPath,
        scope: &Scope,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let found = self.find_column(path, scope, range).map_err(|error| {
            let is_missing = error.sql_state == "42703";
            if is_missing { self.with_hint_of_column(error, path, scope) } else { error }
        });
        if let Ok(ScalarExpression { kind: ScalarKind::Column(column), .. }) = &found {
            self.named_columns.push(*column);
        }
        found
    }

    /// Adds to the error of a column that no table has which one may have been meant.
    fn with_hint_of_column(&self, error: BindError, path: &ColumnPath, scope: &Scope) -> BindError {
        let mut names: Vec<&str> = vec![&path.name.text];
        names.extend(path.steps.iter().filter_map(|step| match step {
            IndirectionStep::Field(name) => Some(name.text.as_str()),
            _ => None,
        }));
        let [.., column] = names[..] else { return error };
        let table = names.len().checked_sub(2).map(|place| names[place]);
        let outer = self.outer_scopes.iter().rev().map(|outer| &outer.scope);
        with_column_hint(error, table, column, std::iter::once(scope).chain(outer))
    }

    fn find_column(
        &self,
        path: &ColumnPath,
        scope: &Scope,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let mut names = Cow::Borrowed(std::slice::from_ref(&path.name));
        for step in &path.steps {
            match step {
                IndirectionStep::Field(name) => names.to_mut().push(name.clone()),
                _ => return Err(BindError::not_supported("this kind of expression", range)),
            }
        }
        let Some((name, qualifier)) = names.split_last() else {
            return Err(BindError::not_supported("this kind of expression", range));
        };
        let find = |scope: &Scope| match qualifier {
            [] => scope.column(name),
            _ => scope.column_of(qualifier, name, range),
        };
        let own = find(scope);
        if own.is_ok() {
            return own;
        }
        let is_elsewhere = |scope: &Scope, error: &BindError| match error.sql_state {
            "42P01" => true,
            "42703" => qualifier.is_empty(),
            // The name of a table may be that of a column further out.
            "0A000" => {
                qualifier.is_empty() && !scope.columns.iter().any(|one| *one.name == *name.text)
            }
            _ => false,
        };
        let mut inner = scope;
        let mut found = own.clone();
        for OuterScope { scope: outer, .. } in self.outer_scopes.iter().rev() {
            match &found {
                Err(error) if is_elsewhere(inner, error) => found = find(outer),
                _ => return found,
            }
            inner = outer;
        }
        match &found {
            // Nobody has it. Where an alias hides the name, the error says so.
            Err(error) if is_elsewhere(inner, error) => {
                let errors = self.outer_scopes.iter().rev().map(|outer| find(&outer.scope));
                let is_hidden = |one: &Result<ScalarExpression, BindError>| {
                    let message = one.as_ref().err().map_or("", |error| &error.text.message);
                    message.starts_with("invalid reference")
                };
                std::iter::once(own.clone()).chain(errors).find(is_hidden).unwrap_or(own)
            }
            _ => found,
        }
    }
}

fn too_deep(range: SourceRange) -> BindError {
    BindError::new("54001", "stack depth limit exceeded", range)
        .with_hint(format!("An expression may be nested {EXPRESSION_DEPTH_MAX} deep."))
        .into_own_limit()
}
