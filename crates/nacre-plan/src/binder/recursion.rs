//! WITH RECURSIVE.
//!
//! ```text
//! t(n) as (select 1 union all select n + 1 from t where n < 5)
//! common query t: the rows of the first side; its recursive side reads t, which has the rows that
//! were made last
//! ```
//!
//! 1. The name of a query is known while it is bound. If nothing reads it there, it is one like
//!    others.
//! 2. The first side is bound first, and says what columns there are, of which types.
//! 3. The recursive side reads these by a reference that gets its index when the side is bound.
//!
//! # Source
//! PostgreSQL 15, `parse_cte.c`: where the recursive reference may stand.

use nacre_syntax::{
    CommonTable, JoinKind, JoinLink, QueryBody, QueryExpression, RowLimit, SetLink, SetOperator,
    SetQuantifier, SourceRange,
};

use super::Binder;
use super::set_operations::SetOperand;
use super::sharing::SharedQuery;
use super::subqueries::BoundQuery;
use crate::algebra::{
    CommonForm, CommonQuery, CommonReference, OutputColumn, RecursiveTerm, RelationalOperator,
};
use crate::error::BindError;

/// References to recursive queries that are being bound count down from here.
const OPEN_REFERENCE_MIN: usize = usize::MAX - 1_000;

/// A query of WITH RECURSIVE that is being bound.
#[derive(Clone, Debug)]
pub(super) struct OpenRecursion {
    /// Its place among the names of WITH.
    pub(super) place: usize,
    /// Why a reference to it is refused here.
    block: Option<RecursionBlock>,
    /// Where references stand.
    references: Vec<u32>,
}

/// Where a recursive reference is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecursionBlock {
    /// The query is no UNION.
    Form,
    FirstTerm,
    Subquery,
    OuterJoin,
    Intersect,
    Except,
}

impl RecursionBlock {
    fn message(self, name: &str) -> String {
        let place = match self {
            Self::Form => {
                return format!(
                    "recursive query \"{name}\" does not have the form non-recursive-term UNION \
                     [ALL] recursive-term"
                );
            }
            Self::FirstTerm => "its non-recursive term",
            Self::Subquery => "a subquery",
            Self::OuterJoin => "an outer join",
            Self::Intersect => "INTERSECT",
            Self::Except => "EXCEPT",
        };
        format!("recursive reference to query \"{name}\" must not appear within {place}")
    }
}

impl Binder<'_> {
    /// Binds something in whose place recursive references are refused.
    pub(super) fn blocking<T>(
        &mut self,
        block: Option<RecursionBlock>,
        bind: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before: Vec<_> = self.recursions.iter().map(|one| one.block).collect();
        self.recursions.iter_mut().for_each(|one| one.block = one.block.or(block));
        let bound = bind(self);
        self.recursions.iter_mut().zip(before).for_each(|(one, before)| one.block = before);
        bound
    }

    /// Notes a reference to the query at a place, if that is being bound.
    ///
    /// # Errors
    /// 42P19 where PostgreSQL refuses it.
    pub(super) fn note_recursion(
        &mut self,
        place: usize,
        name: &str,
        range: SourceRange,
    ) -> Result<bool, BindError> {
        let Some(open) = self.recursions.iter_mut().find(|one| one.place == place) else {
            return Ok(false);
        };
        if let Some(block) = open.block {
            return Err(BindError::new("42P19", block.message(name), range));
        }
        if !open.references.contains(&range.start) {
            open.references.push(range.start);
        }
        if open.references.len() > 1 {
            let message =
                format!("recursive reference to query \"{name}\" must not appear more than once");
            return Err(BindError::new("42P19", message, range));
        }
        Ok(true)
    }

    /// Binds a query of WITH RECURSIVE, whose name is the last one, which stands for itself.
    pub(super) fn bind_recursive(
        &mut self,
        table: &CommonTable,
        query: &QueryExpression,
    ) -> Result<(BoundQuery, Option<SharedQuery>), BindError> {
        let (place, references) = (self.common.len() - 1, Vec::new());
        let block = Some(RecursionBlock::Form);
        self.recursions.push(OpenRecursion { place, block, references });
        let bound = match &query.body {
            QueryBody::SetOperation { first, links } if query.with.is_none() => {
                match links.split_last() {
                    Some((last, before)) if last.operator == SetOperator::Union => {
                        self.bind_terms(table, query, (first, before), last)
                    }
                    _ => self.bind_query(query).map(|bound| (bound, None)),
                }
            }
            _ => self.bind_query(query).map(|bound| (bound, None)),
        };
        self.recursions.pop();
        bound
    }

    /// Binds both sides of a UNION, of which the right one may be recursive.
    fn bind_terms(
        &mut self,
        table: &CommonTable,
        query: &QueryExpression,
        (first, before): (&QueryBody, &[SetLink]),
        last: &SetLink,
    ) -> Result<(BoundQuery, Option<SharedQuery>), BindError> {
        self.set_recursion_block(Some(RecursionBlock::FirstTerm));
        let left = self.bind_set_links(first, before, query.range)?;
        let reference = OPEN_REFERENCE_MIN + self.recursions.len();
        let own = self.working_table(table, &left, reference, last.range)?;
        let place = self.common.len() - 1;
        self.common[place].set_shared(own.clone());
        self.set_recursion_block(None);
        let known = self.common_queries.len();
        let right = self.bind_set_operand(&last.operand, last.range)?;
        let is_recursive = self.recursions.last().is_some_and(|one| !one.references.is_empty());
        if !is_recursive {
            let operand = self.combine(left, right, last)?;
            return Ok((self.finish_set_operation(operand, query)?, None));
        }
        require_plain(query)?;
        let is_stuck = |one: &CommonQuery| {
            let term = one.form.term();
            reads(&one.root, reference) || term.is_some_and(|term| reads(&term.root, reference))
        };
        if self.common_queries[known..].iter().any(is_stuck) {
            let what = "queries within recursive ones that are computed once";
            return Err(BindError::not_supported(what, last.range));
        }
        let shared = self.finish_recursion(table, own, [left, right], last)?;
        let bound = (RelationalOperator::SingleRow, Vec::new());
        Ok((bound, Some(shared)))
    }

    fn set_recursion_block(&mut self, block: Option<RecursionBlock>) {
        if let Some(own) = self.recursions.last_mut() {
            own.block = block;
        }
    }

    /// Returns what the recursive side reads: the columns of the first one, literals being texts.
    fn working_table(
        &mut self,
        table: &CommonTable,
        left: &SetOperand,
        index: usize,
        range: SourceRange,
    ) -> Result<SharedQuery, BindError> {
        let mut outputs = Vec::with_capacity(left.names.len());
        for (name, value) in left.names.iter().zip(&left.values) {
            let sql_type = self.settle(value.clone())?.sql_type;
            let column = self.add_query_column(name, sql_type, range)?;
            outputs.push(OutputColumn { name: name.clone(), column, sql_type });
        }
        super::scope::require_columns(
            "WITH query",
            &table.name,
            outputs.len(),
            &table.columns,
            table.name.range,
        )?;
        // Whether it ends is not known.
        let reference = CommonReference {
            index,
            may_fail: true,
            is_whole: false,
            has_one_row: false,
            key: None,
            rows_expected: None,
        };
        Ok(SharedQuery { reference, outputs })
    }

    /// Adds the common query that both sides make.
    fn finish_recursion(
        &mut self,
        table: &CommonTable,
        own: SharedQuery,
        [left, right]: [SetOperand; 2],
        link: &SetLink,
    ) -> Result<SharedQuery, BindError> {
        if left.values.len() != right.values.len() {
            let range = right.values.first().map_or(link.range, |first| first.range);
            let message = "each UNION query must have the same number of columns";
            return Err(BindError::new("42601", message, range));
        }
        let name = &table.name.text;
        let (mut left_values, mut right_values) = (Vec::new(), Vec::new());
        for (index, (one, other)) in left.values.into_iter().zip(right.values).enumerate() {
            let range = one.range;
            let one = self.settle(one)?;
            let first_type = one.sql_type;
            let (both, sql_type) = self.unify(vec![one, other], "UNION")?;
            if sql_type != first_type {
                let message = format!(
                    "recursive query \"{name}\" column {} has type {first_type} in non-recursive \
                     term but type {sql_type} overall",
                    index + 1
                );
                let hint = "Cast the output of the non-recursive term to the correct type.";
                return Err(BindError::new("42804", message, range).with_hint(hint));
            }
            let mut both = both.into_iter();
            left_values.extend(both.next());
            right_values.extend(both.next());
        }
        let left = self.set_input(left.root, &left.names, left_values);
        let right = self.set_input(right.root, &left_names(&own), right_values);
        if !left.operator.free_columns().is_empty() || !right.operator.free_columns().is_empty() {
            let what = "WITH RECURSIVE with columns of queries around it";
            return Err(BindError::not_supported(what, table.name.range));
        }
        let index = self.common_queries.len();
        let mut term = right.operator;
        set_reference(&mut term, own.reference.index, index);
        let is_distinct = link.quantifier != SetQuantifier::All;
        let term = RecursiveTerm { root: term, outputs: right.columns, is_distinct };
        self.common_queries.push(CommonQuery {
            name: name.clone(),
            root: left.operator,
            outputs: left.columns,
            types: own.outputs.iter().map(|output| output.sql_type).collect(),
            form: CommonForm::Recursion(term),
        });
        let reference = CommonReference { index, ..own.reference };
        Ok(SharedQuery { reference, ..own })
    }
}

fn left_names(own: &SharedQuery) -> Vec<String> {
    own.outputs.iter().map(|output| output.name.clone()).collect()
}

/// Returns where recursive references are refused in the first item of joins, or in the right side
/// of the one before `later`.
pub(super) fn block_of_joins(own: Option<JoinKind>, later: &[JoinLink]) -> Option<RecursionBlock> {
    let is_outer = matches!(own, Some(JoinKind::Left | JoinKind::Full))
        || later.iter().any(|link| matches!(link.kind, JoinKind::Right | JoinKind::Full));
    is_outer.then_some(RecursionBlock::OuterJoin)
}

/// Returns where recursive references are refused in the first operand of set operations, or in
/// that of `own`, before `later` ones.
pub(super) fn block_of_operands(
    own: Option<&SetLink>,
    later: &[SetLink],
) -> Option<RecursionBlock> {
    let of_either = |link: &SetLink| match (link.operator, link.quantifier) {
        (SetOperator::Intersect, SetQuantifier::All) => Some(RecursionBlock::Intersect),
        (SetOperator::Except, SetQuantifier::All) => Some(RecursionBlock::Except),
        _ => None,
    };
    let of_right = |link: &SetLink| match link.operator {
        SetOperator::Except => Some(RecursionBlock::Except),
        _ => of_either(link),
    };
    later.iter().rev().find_map(of_either).or_else(|| own.and_then(of_right))
}

/// Whether an operator reads a recursive query that is being bound.
pub(super) fn reads_open_recursion(operator: &RelationalOperator) -> bool {
    let is_open = matches!(operator, RelationalOperator::CommonScan { query, .. }
        if query.index >= OPEN_REFERENCE_MIN);
    is_open || operator.inputs().any(reads_open_recursion)
}

fn reads(operator: &RelationalOperator, index: usize) -> bool {
    matches!(operator, RelationalOperator::CommonScan { query, .. } if query.index == index)
        || operator.inputs().any(|input| reads(input, index))
}

fn set_reference(operator: &mut RelationalOperator, from: usize, to: usize) {
    if let RelationalOperator::CommonScan { query, .. } = operator
        && query.index == from
    {
        query.index = to;
    }
    operator.inputs_mut().for_each(|input| set_reference(input, from, to));
}

/// Refuses what may not stand behind both sides.
fn require_plain(query: &QueryExpression) -> Result<(), BindError> {
    let refused = [
        ("ORDER BY", !query.order_by.is_empty()),
        ("OFFSET", query.offset.is_some()),
        ("LIMIT", !matches!(query.limit, None | Some(RowLimit::All))),
        ("FOR UPDATE/SHARE", !query.locks.is_empty()),
    ];
    match refused.into_iter().find(|(_, is_there)| *is_there) {
        Some((clause, _)) => {
            let message = format!("{clause} in a recursive query is not implemented");
            Err(BindError::new("0A000", message, query.range))
        }
        None => Ok(()),
    }
}
