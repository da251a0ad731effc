//! What WHEN NOT MATCHED of MERGE may name: the source alone. The query for the pairs has the
//! target's columns, too, which are null there.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, SetExpr, TableFactor, VisitMut, VisitorMut, With,
};

use super::others::own_name;
use super::query::{self, output, parsed};
use crate::error::{Error, Result};
use crate::names::fold;

/// The expressions of these clauses.
pub(super) struct Unmatched {
    target: String,
    /// What the statement calls the source; a join has no name.
    source: Option<Ident>,
    exprs: Vec<Expr>,
}

impl Unmatched {
    pub(super) fn new(target: &Ident, source: &TableFactor) -> Self {
        Self { target: fold(target), source: own_name(source), exprs: Vec::new() }
    }

    /// Takes an expression, and returns it so that its names mean the source's columns among those
    /// of both tables.
    ///
    /// # Errors
    /// 42P01 for columns of the target.
    pub(super) fn take(&mut self, expr: Expr) -> Result<Expr> {
        let mut qualified = expr.clone();
        self.exprs.push(expr);
        let (target, source) = (self.target.as_str(), self.source.as_ref());
        match VisitMut::visit(&mut qualified, &mut Names { target, source, depth: 0 }) {
            ControlFlow::Continue(()) => Ok(qualified),
            ControlFlow::Break(()) => {
                let target = &self.target;
                let message =
                    format!("invalid reference to FROM-clause entry for table \"{target}\"");
                Err(Error::undefined_table(message).with_detail(format!(
                    "There is an entry for table \"{target}\", but it cannot be referenced from \
                     this part of the query."
                )))
            }
        }
    }

    /// Returns a query that can be planned if all the names are there; `None` if there are none.
    ///
    /// # Errors
    /// As for [`query::statement`].
    pub(super) fn check(
        self,
        source: &TableFactor,
        with: Option<With>,
    ) -> Result<Option<ParsedStatement>> {
        if self.exprs.is_empty() {
            return Ok(None);
        }
        let (mut query, mut body) = parsed("SELECT 1 FROM x")?;
        let exprs = self.exprs.into_iter().enumerate();
        body.projection = exprs.map(|(number, expr)| output(number, expr)).collect();
        if let Some(from) = body.from.first_mut() {
            from.relation = source.clone();
        }
        *query.body = SetExpr::Select(body);
        query::statement(query, with).map(Some)
    }
}

/// Qualifies names of no subquery; stops at one of the target.
struct Names<'a> {
    target: &'a str,
    source: Option<&'a Ident>,
    depth: usize,
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            _ if self.depth > 0 => {}
            Expr::CompoundIdentifier(parts)
                if parts.len() == 2 && fold(&parts[0]) == self.target =>
            {
                return ControlFlow::Break(());
            }
            Expr::Identifier(name) => {
                if let Some(source) = self.source {
                    *expr = Expr::CompoundIdentifier(vec![source.clone(), name.clone()]);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
