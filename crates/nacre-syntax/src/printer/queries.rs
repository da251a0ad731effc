//! Queries.

use super::SqlPrinter;
use crate::tree::{
    CommonTable, DistinctClause, ExpressionNode, GroupItem, IntoTarget, LockStrength, LockWait,
    QueryBody, QueryExpression, RowLimit, RowLock, SelectCore, SetOperator, TablePersistence,
    TargetItem, WithClause,
};

impl SqlPrinter {
    pub(super) fn paren_query(&mut self, query: &QueryExpression) {
        self.put("(");
        self.query(query);
        self.glue(")");
    }

    pub(super) fn query(&mut self, query: &QueryExpression) {
        self.with(query.with.as_ref());
        self.query_body(&query.body);
        self.order_by(&query.order_by);
        match &query.limit {
            None => {}
            Some(RowLimit::All) => self.put("LIMIT ALL"),
            Some(RowLimit::Rows(Some(rows))) => {
                self.put("LIMIT");
                self.operand(rows);
            }
            Some(RowLimit::Rows(None)) => self.put("FETCH FIRST ROW ONLY"),
            Some(RowLimit::WithTies(rows)) => {
                self.put("FETCH FIRST");
                rows.iter().for_each(|rows| self.operand(rows));
                self.put("ROWS WITH TIES");
            }
        }
        if let Some(offset) = &query.offset {
            self.put("OFFSET");
            self.operand(offset);
        }
        query.locks.iter().for_each(|lock| self.lock(lock));
    }

    pub(super) fn with(&mut self, with: Option<&WithClause>) {
        let Some(with) = with else { return };
        self.put("WITH");
        self.put_if(with.is_recursive, "RECURSIVE");
        self.list(&with.items, Self::common_table);
    }

    fn common_table(&mut self, table: &CommonTable) {
        self.name(&table.name);
        self.optional_parens(&table.columns, Self::name);
        self.put("AS");
        match table.is_materialized {
            Some(true) => self.put("MATERIALIZED"),
            Some(false) => self.put("NOT MATERIALIZED"),
            None => {}
        }
        self.put("(");
        self.statement(&table.statement);
        self.glue(")");
        if let Some(search) = &table.search {
            self.put(if search.is_breadth_first { "SEARCH BREADTH" } else { "SEARCH DEPTH" });
            self.put("FIRST BY");
            self.names(&search.columns);
            self.put("SET");
            self.name(&search.target);
        }
        if let Some(cycle) = &table.cycle {
            self.put("CYCLE");
            self.names(&cycle.columns);
            self.put("SET");
            self.name(&cycle.mark);
            if let Some(values) = &cycle.values {
                self.put("TO");
                self.expression(&values.0);
                self.put("DEFAULT");
                self.expression(&values.1);
            }
            self.put("USING");
            self.name(&cycle.path);
        }
    }

    fn query_body(&mut self, body: &QueryBody) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => {
                self.put("VALUES");
                self.list(rows, |printer, row| printer.parens(row, Self::expression));
            }
            QueryBody::Table(relation) => {
                self.put("TABLE");
                self.relation(relation);
            }
            QueryBody::Nested(query) => self.paren_query(query),
            QueryBody::SetOperation { first, links } => {
                self.query_body(first);
                for link in links {
                    self.put(match link.operator {
                        SetOperator::Union => "UNION",
                        SetOperator::Except => "EXCEPT",
                        SetOperator::Intersect => "INTERSECT",
                    });
                    self.quantifier(link.quantifier);
                    self.query_body(&link.operand);
                }
            }
        }
    }

    fn select(&mut self, select: &SelectCore) {
        self.put("SELECT");
        match &select.distinct {
            DistinctClause::All => {}
            DistinctClause::Distinct => self.put("DISTINCT"),
            DistinctClause::On(items) => {
                self.put("DISTINCT ON");
                self.parens(items, Self::expression);
            }
        }
        self.targets(&select.targets);
        if let Some(IntoTarget { persistence, name }) = &select.into {
            self.put("INTO");
            self.persistence(*persistence);
            self.put("TABLE");
            self.object(name);
        }
        if !select.from.is_empty() {
            self.put("FROM");
            self.list(&select.from, Self::put_from_item);
        }
        self.clause("WHERE", select.condition.as_ref());
        if let Some(group_by) = &select.group_by {
            self.put("GROUP BY");
            self.quantifier(group_by.quantifier);
            self.list(&group_by.items, Self::group_item);
        }
        self.clause("HAVING", select.having.as_ref());
        if !select.windows.is_empty() {
            self.put("WINDOW");
            self.list(&select.windows, |printer, window| {
                printer.name(&window.name);
                printer.put("AS");
                printer.window(&window.definition);
            });
        }
    }

    /// Prints a word and an expression, if there is one.
    pub(super) fn clause(&mut self, word: &str, expression: Option<&ExpressionNode>) {
        if let Some(expression) = expression {
            self.put(word);
            self.expression(expression);
        }
    }

    pub(super) fn persistence(&mut self, persistence: TablePersistence) {
        match persistence {
            TablePersistence::Permanent => {}
            TablePersistence::Unlogged => self.put("UNLOGGED"),
            TablePersistence::Temporary => self.put("TEMPORARY"),
        }
    }

    pub(super) fn targets(&mut self, targets: &[TargetItem]) {
        self.list(targets, |printer, target| match target {
            TargetItem::Star(_) => printer.put("*"),
            TargetItem::Value { value, label } => {
                printer.expression(value);
                if let Some(label) = label {
                    printer.put("AS");
                    printer.name(label);
                }
            }
        });
    }

    fn group_item(&mut self, item: &GroupItem) {
        match item {
            GroupItem::Value(value) => self.expression(value),
            GroupItem::Empty(_) => self.put("()"),
            GroupItem::Rollup(items, _) => {
                self.put("ROLLUP");
                self.parens(items, Self::expression);
            }
            GroupItem::Cube(items, _) => {
                self.put("CUBE");
                self.parens(items, Self::expression);
            }
            GroupItem::Sets(items, _) => {
                self.put("GROUPING SETS");
                self.parens(items, Self::group_item);
            }
        }
    }

    fn lock(&mut self, lock: &RowLock) {
        self.put(match lock.strength {
            LockStrength::Update => "FOR UPDATE",
            LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
            LockStrength::Share => "FOR SHARE",
            LockStrength::KeyShare => "FOR KEY SHARE",
        });
        if !lock.tables.is_empty() {
            self.put("OF");
            self.list(&lock.tables, Self::object);
        }
        match lock.wait {
            LockWait::Block => {}
            LockWait::NoWait => self.put("NOWAIT"),
            LockWait::SkipLocked => self.put("SKIP LOCKED"),
        }
    }
}
