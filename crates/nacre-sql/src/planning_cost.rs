//! How often parts of a statement are planned, told from its syntax before it is planned.
//!
//! The planner asks for the type and for the nullability of an expression, each of which asks the
//! parts of some expressions again, and writes some forms with a part twice. One such form costs
//! nothing; nested, each level doubles the work. A statement whose cost is past [`COST_MAX`] is
//! refused; so is one of many references to queries of WITH that refer to each other.
//!
//! | form | in each other |
//! |---|---|
//! | CASE around calls, and calls around CASE | type and nullability of a call ask its arguments |
//! | COALESCE, BETWEEN, rows compared by `<`, OVERLAPS | written with a part twice and more |
//! | calls by a second name, `row(...)` | the name is an alias, which asks twice |
//! | casts of conditions and of other operators | ask twice when the plan becomes physical |
//! | queries in expressions | their plans are gone through in each pass, with the outer one |
//!
//! Costs are relative to the same statement without nesting: a call of a call costs as much as one.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, Query, TableFactor, Visit, Visitor,
};

use crate::error::{Error, Result};
use crate::names::fold;

/// The largest cost: about 0.1 s of planning.
const COST_MAX: u64 = 16_384;

/// A long statement may cost as many times its length.
const COST_PER_EXPRESSION_MAX: u64 = 16;

/// What planning a statement takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlanningCost {
    /// Expressions in its text.
    expressions: u64,
    /// Expressions that are planned for them.
    planned: u64,
}

impl PlanningCost {
    /// Looks at a statement, or at an expression; `state` knows which functions there are.
    pub(crate) fn of_syntax<V: Visit>(state: &SessionState, syntax: &V) -> Self {
        let mut visit = CostVisitor {
            state,
            frames: vec![CostFrame::new(AskingForm::Query)],
            expressions: 0,
            worst: 1,
        };
        // It never stops.
        let _ = syntax.visit(&mut visit);
        let all = visit.frames.first().map_or(0, |frame| frame.sum.largest());
        let planned = all.max(visit.worst).max(visit.expressions);
        Self { expressions: visit.expressions, planned }
    }

    /// Whether planning takes at most about ten milliseconds.
    pub(crate) fn is_short(self) -> bool {
        const EXPRESSIONS_AT_ONCE: u64 = 200;
        self.planned <= EXPRESSIONS_AT_ONCE
    }

    /// Refuses a statement that takes too long.
    ///
    /// # Errors
    /// 54001.
    pub(crate) fn require_bounded(self) -> Result<()> {
        let allowed = self.expressions.saturating_mul(COST_PER_EXPRESSION_MAX).max(COST_MAX);
        if self.planned <= allowed {
            return Ok(());
        }
        let detail = format!(
            "Nested CASE, COALESCE, BETWEEN, casts, rows and queries make {} expressions of {}; \
             the bound is {allowed}.",
            self.planned, self.expressions
        );
        let hint =
            "Nest fewer of them in each other, or store what the inner ones answer in a table.";
        Err(Error::too_complex(detail).with_hint(hint))
    }
}

/// How often the parts of an expression are asked, by what the expression is asked for.
#[derive(Clone, Copy, Debug, Default)]
struct AskedParts {
    field: u64,
    data_type: u64,
    nullable: u64,
    /// Of the physical expression.
    physical_nullable: u64,
    physical_field: u64,
}

impl AskedParts {
    const LEAF: Self =
        Self { field: 1, data_type: 1, nullable: 1, physical_nullable: 1, physical_field: 1 };

    fn map(self, each: impl Fn(u64) -> u64) -> Self {
        Self {
            field: each(self.field),
            data_type: each(self.data_type),
            nullable: each(self.nullable),
            physical_nullable: each(self.physical_nullable),
            physical_field: each(self.physical_field),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            field: self.field.saturating_add(other.field),
            data_type: self.data_type.saturating_add(other.data_type),
            nullable: self.nullable.saturating_add(other.nullable),
            physical_nullable: self.physical_nullable.saturating_add(other.physical_nullable),
            physical_field: self.physical_field.saturating_add(other.physical_field),
        }
    }

    fn times(self, factor: u64) -> Self {
        self.map(|one| one.saturating_mul(factor))
    }

    fn largest(self) -> u64 {
        self.field.max(self.data_type).max(self.nullable).max(self.physical_nullable)
    }
}

/// What an expression asks its parts for.
#[derive(Clone, Copy, Debug, Default)]
enum AskingForm {
    /// Requests to the expression itself.
    #[default]
    Operator,
    Call,
    /// A call whose name becomes an alias.
    RenamedCall,
    Case {
        has_else: bool,
    },
    Coalesce,
    Cast,
    /// Written as often, with all parts.
    Copied(u64),
    /// Its first part is written as often.
    FirstCopied(u64),
    Query,
}

/// An expression or a query, and the sum of the parts that were visited.
#[derive(Debug, Default)]
struct CostFrame {
    form: AskingForm,
    sum: AskedParts,
    first: Option<AskedParts>,
    last: AskedParts,
    /// Names of queries of WITH that come next.
    coming: VecDeque<String>,
    /// Costs of those before.
    known: Vec<(String, AskedParts)>,
}

impl CostFrame {
    fn new(form: AskingForm) -> Self {
        Self { form, ..Self::default() }
    }

    fn add(&mut self, part: AskedParts) {
        self.sum = self.sum.plus(part);
        self.first.get_or_insert(part);
        self.last = part;
    }

    fn all_but_last(&self) -> AskedParts {
        let (sum, last) = (self.sum, self.last);
        AskedParts {
            field: sum.field.saturating_sub(last.field),
            data_type: sum.data_type.saturating_sub(last.data_type),
            nullable: sum.nullable.saturating_sub(last.nullable),
            physical_nullable: sum.physical_nullable.saturating_sub(last.physical_nullable),
            physical_field: sum.physical_field.saturating_sub(last.physical_field),
        }
    }

    fn finish(&self) -> AskedParts {
        let Some(first) = self.first else { return AskedParts::LEAF };
        let sum = self.sum;
        match self.form {
            AskingForm::Operator | AskingForm::Query => {
                AskedParts { physical_field: sum.physical_nullable, ..sum }
            }
            AskingForm::Call => call(sum.field),
            AskingForm::RenamedCall => call(sum.field.saturating_mul(2)),
            AskingForm::Case { has_else: true } => case(self.all_but_last())
                .plus(AskedParts { field: self.last.nullable, ..self.last }),
            AskingForm::Case { has_else: false } => case(sum),
            AskingForm::Coalesce => case(self.all_but_last()).times(2).plus(self.last),
            AskingForm::Cast => AskedParts {
                data_type: 1,
                physical_nullable: sum.physical_nullable.saturating_add(sum.physical_field),
                ..sum
            },
            AskingForm::Copied(factor) => {
                let sum = AskedParts { physical_field: sum.physical_nullable, ..sum };
                sum.times(factor)
            }
            AskingForm::FirstCopied(factor) => sum.plus(first.times(factor.saturating_sub(1))),
        }
    }
}

/// A call asks its arguments for all, whatever it is asked for; a physical one knows its own.
fn call(field: u64) -> AskedParts {
    let field = field.max(1);
    AskedParts { field, data_type: field, nullable: field, physical_nullable: 1, physical_field: 1 }
}

/// CASE asks for types and for nullability, the latter with each condition.
fn case(parts: AskedParts) -> AskedParts {
    let field = parts.data_type.saturating_add(parts.nullable).saturating_mul(2);
    AskedParts { field, physical_field: parts.physical_nullable, ..parts }
}

struct CostVisitor<'a> {
    state: &'a SessionState,
    /// Open nodes of the visit; the first is the statement.
    frames: Vec<CostFrame>,
    expressions: u64,
    worst: u64,
}

impl CostVisitor<'_> {
    fn form(&self, expr: &Expr) -> AskingForm {
        match expr {
            Expr::Function(function) => self.form_of_call(function),
            Expr::Case { else_result, .. } => AskingForm::Case { has_else: else_result.is_some() },
            Expr::Cast { .. } => AskingForm::Cast,
            Expr::Between { .. } => AskingForm::Copied(2),
            Expr::BinaryOp { op: BinaryOperator::Overlaps, .. } => AskingForm::Copied(6),
            Expr::BinaryOp { left, op, right } if is_row(left) || is_row(right) => match op {
                BinaryOperator::Eq | BinaryOperator::NotEq => AskingForm::Operator,
                _ => AskingForm::Copied(2),
            },
            Expr::InList { expr, list, .. } if is_row(expr) => {
                AskingForm::FirstCopied(list.len() as u64)
            }
            Expr::Extract { .. }
            | Expr::Substring { .. }
            | Expr::Position { .. }
            | Expr::Overlay { .. }
            | Expr::Trim { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. }
            | Expr::AtTimeZone { .. }
            | Expr::Array(_) => AskingForm::Call,
            _ => AskingForm::Operator,
        }
    }

    fn form_of_call(&self, function: &Function) -> AskingForm {
        let Some(name) = function.name.0.last().and_then(|part| part.as_ident()).map(fold) else {
            return AskingForm::Call;
        };
        let known = self.state.scalar_functions().get(&name);
        match name.as_str() {
            "coalesce" => AskingForm::Coalesce,
            "row" => AskingForm::RenamedCall,
            _ if known.is_some_and(|function| function.name() != name) => AskingForm::RenamedCall,
            _ => AskingForm::Call,
        }
    }

    fn leave(&mut self) -> AskedParts {
        let parts = self.frames.pop().map_or(AskedParts::LEAF, |frame| frame.finish());
        self.worst = self.worst.max(parts.largest());
        parts
    }

    fn add(&mut self, parts: AskedParts) {
        if let Some(frame) = self.frames.last_mut() {
            frame.add(parts);
        }
    }
}

fn is_row(expr: &Expr) -> bool {
    match expr {
        Expr::Tuple(_) => true,
        Expr::Function(function) => {
            let name = function.name.0.last().and_then(|part| part.as_ident());
            name.is_some_and(|name| fold(name) == "row")
        }
        _ => false,
    }
}

impl Visitor for CostVisitor<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let mut frame = CostFrame::new(AskingForm::Query);
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        frame.coming = tables.map(|table| fold(&table.alias.name)).collect();
        self.frames.push(frame);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        let parts = self.leave();
        let Some(outer) = self.frames.last_mut() else { return ControlFlow::Continue(()) };
        match (outer.coming.pop_front(), outer.form) {
            (Some(name), _) => outer.known.push((name, parts)),
            (None, AskingForm::Query) => outer.add(parts),
            // Below an expression.
            (None, _) => outer.add(parts.times(2)),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: None, .. } = factor
            && let [part] = name.0.as_slice()
            && let Some(name) = part.as_ident().map(fold)
        {
            let mut frames = self.frames.iter().rev();
            let found = frames.find_map(|frame| {
                frame.known.iter().rev().find(|(known, _)| *known == name).map(|(_, parts)| *parts)
            });
            if let Some(parts) = found {
                self.add(parts);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.expressions += 1;
        self.frames.push(CostFrame::new(self.form(expr)));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
        let parts = self.leave();
        self.add(parts);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::SessionStateBuilder;
    use datafusion::sql::sqlparser::parser::ParserError;

    use super::*;
    use crate::parsing::statement_parser;

    fn cost(sql: &str) -> PlanningCost {
        let state = SessionStateBuilder::new().with_default_features().build();
        let statement = statement_parser(sql).unwrap().parse_statement().unwrap();
        PlanningCost::of_syntax(&state, &statement)
    }

    fn nested(open: &str, close: &str, depth: usize) -> PlanningCost {
        cost(&format!("select {}a{} from t", open.repeat(depth), close.repeat(depth)))
    }

    /// Whether the parser or the cost refuses so many levels.
    fn is_refused(open: &str, close: &str, depth: usize) -> bool {
        let sql = format!("select {}a{} from t", open.repeat(depth), close.repeat(depth));
        match statement_parser(&sql).unwrap().parse_statement() {
            Err(error) => error == ParserError::RecursionLimitExceeded,
            Ok(_) => cost(&sql).require_bounded().is_err(),
        }
    }

    #[test]
    fn forms_that_are_planned_once_cost_their_length() {
        for (open, close) in [
            ("abs(", ")"),
            ("(", " + 1)"),
            ("case when b then 1 else ", " end"),
            ("-(", ")"),
            ("coalesce(1, ", ")"),
            ("case when b then 1 else abs(", ") end"),
            ("cast(", " as int)"),
            ("round(", ", 2)"),
            ("(b or ", ")"),
            ("((", ", 1) = (2, 3))"),
            ("greatest(", ", 1)"),
        ] {
            let found = nested(open, close, 20);
            assert!(found.planned <= 8 * found.expressions, "{open}: {found:?}");
            found.require_bounded().unwrap();
        }
    }

    #[test]
    fn forms_that_are_planned_several_times_are_refused_when_they_nest_deeply() {
        for (open, close, depth) in [
            ("case when b then abs(", ") end", 12),
            ("coalesce(", ", 1)", 15),
            ("(", " between 1 and 2)::int", 15),
            ("length(", ")", 20),
            ("row(", ")", 20),
            ("((", ", 1) < (2, 3))::int", 12),
            ("((", " ) is null)::text", 30),
            ("((", ", 1) in ((2, 3), (4, 5)))::int", 12),
            ("(select count(", ") from x)", 16),
            ("case when (t, ", ") overlaps (t, t) then t end", 12),
            ("exists (select ", ")", 20),
            ("((", ") like 'a%')::text", 20),
        ] {
            nested(open, close, 3).require_bounded().unwrap();
            assert!(is_refused(open, close, depth), "{open}");
        }
    }

    #[test]
    fn queries_of_with_cost_as_often_as_they_are_read() {
        let chain = |levels: usize| {
            let next = |level: usize| {
                let before = level - 1;
                format!(", q{level} as (select x.a from q{before} x, q{before} y)")
            };
            let next: String = (1..=levels).map(next).collect();
            format!("with q0 as (select 1 as a){next} select a from q{levels}")
        };
        cost(&chain(6)).require_bounded().unwrap();
        assert_eq!(cost(&chain(20)).require_bounded().unwrap_err().sqlstate(), "54001");
    }

    #[test]
    fn long_statements_cost_their_length() {
        let list: Vec<String> = (0..10_000).map(|value| value.to_string()).collect();
        let list = list.join(", ");
        let chain = vec!["a = 1 and b between 2 and 3"; 2_000].join(" or ");
        for sql in [
            format!("select * from t where a in ({list})"),
            format!("select * from t where {chain}"),
            format!("select (select max(c) from u where u.a in ({list})) from t"),
        ] {
            let found = cost(&sql);
            found.require_bounded().unwrap();
            assert!(!found.is_short());
        }
    }
}
