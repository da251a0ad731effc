//! INSERT, UPDATE, DELETE and MERGE.

use super::SqlPrinter;
use crate::tree::{
    ColumnTarget, ConflictClause, ConflictTarget, DeleteStatement, InsertStatement, MergeAction,
    MergeClause, MergeStatement, OverridingKind, RowCondition, SetAssignment, SqlName, TargetItem,
    UpdateStatement,
};

impl SqlPrinter {
    pub(super) fn insert(&mut self, insert: &InsertStatement) {
        self.with(insert.with.as_ref());
        self.put("INSERT INTO");
        self.object(&insert.table);
        self.other_name(insert.alias.as_ref());
        self.optional_parens(&insert.columns, Self::column_target);
        self.overriding(insert.overriding);
        match &insert.source {
            None => self.put("DEFAULT VALUES"),
            Some(query) => self.query(query),
        }
        insert.on_conflict.iter().for_each(|clause| self.on_conflict(clause));
        self.returning(&insert.returning);
    }

    fn other_name(&mut self, alias: Option<&SqlName>) {
        if let Some(alias) = alias {
            self.put("AS");
            self.name(alias);
        }
    }

    fn overriding(&mut self, kind: Option<OverridingKind>) {
        match kind {
            None => {}
            Some(OverridingKind::User) => self.put("OVERRIDING USER VALUE"),
            Some(OverridingKind::System) => self.put("OVERRIDING SYSTEM VALUE"),
        }
    }

    fn column_target(&mut self, target: &ColumnTarget) {
        self.name(&target.name);
        self.steps(&target.steps);
    }

    fn on_conflict(&mut self, clause: &ConflictClause) {
        self.put("ON CONFLICT");
        match &clause.target {
            None => {}
            Some(ConflictTarget::Columns(columns, condition)) => {
                self.parens(columns, Self::index_element);
                self.clause("WHERE", condition.as_ref());
            }
            Some(ConflictTarget::Constraint(name)) => {
                self.put("ON CONSTRAINT");
                self.name(name);
            }
        }
        let Some(update) = &clause.update else { return self.put("DO NOTHING") };
        self.put("DO UPDATE SET");
        self.assignments(&update.assignments);
        self.clause("WHERE", update.condition.as_ref());
    }

    fn assignments(&mut self, assignments: &[SetAssignment]) {
        self.list(assignments, |printer, assignment| {
            if assignment.is_row {
                printer.parens(&assignment.targets, Self::column_target);
            } else {
                printer.list(&assignment.targets, Self::column_target);
            }
            printer.put("=");
            printer.expression(&assignment.value);
        });
    }

    fn returning(&mut self, targets: &[TargetItem]) {
        if !targets.is_empty() {
            self.put("RETURNING");
            self.targets(targets);
        }
    }

    fn row_condition(&mut self, condition: Option<&RowCondition>) {
        match condition {
            None => {}
            Some(RowCondition::Where(condition)) => self.clause("WHERE", Some(condition)),
            Some(RowCondition::CurrentOf(cursor)) => {
                self.put("WHERE CURRENT OF");
                self.name(cursor);
            }
        }
    }

    pub(super) fn update(&mut self, update: &UpdateStatement) {
        self.with(update.with.as_ref());
        self.put("UPDATE");
        self.relation(&update.table);
        self.other_name(update.alias.as_ref());
        self.put("SET");
        self.assignments(&update.assignments);
        if !update.from.is_empty() {
            self.put("FROM");
            self.list(&update.from, Self::put_from_item);
        }
        self.row_condition(update.condition.as_ref());
        self.returning(&update.returning);
    }

    pub(super) fn delete(&mut self, delete: &DeleteStatement) {
        self.with(delete.with.as_ref());
        self.put("DELETE FROM");
        self.relation(&delete.table);
        self.other_name(delete.alias.as_ref());
        if !delete.using.is_empty() {
            self.put("USING");
            self.list(&delete.using, Self::put_from_item);
        }
        self.row_condition(delete.condition.as_ref());
        self.returning(&delete.returning);
    }

    pub(super) fn merge(&mut self, merge: &MergeStatement) {
        self.with(merge.with.as_ref());
        self.put("MERGE INTO");
        self.relation(&merge.table);
        self.other_name(merge.alias.as_ref());
        self.put("USING");
        self.put_from_item(&merge.source);
        self.clause("ON", Some(&merge.condition));
        merge.clauses.iter().for_each(|clause| self.merge_clause(clause));
        self.returning(&merge.returning);
    }

    fn merge_clause(&mut self, clause: &MergeClause) {
        self.put(if clause.is_matched { "WHEN MATCHED" } else { "WHEN NOT MATCHED" });
        self.clause("AND", clause.condition.as_ref());
        self.put("THEN");
        match &clause.action {
            MergeAction::Nothing => self.put("DO NOTHING"),
            MergeAction::Delete => self.put("DELETE"),
            MergeAction::Update(assignments) => {
                self.put("UPDATE SET");
                self.assignments(assignments);
            }
            MergeAction::Insert { columns, overriding, values } => {
                self.put("INSERT");
                self.optional_parens(columns, Self::column_target);
                self.overriding(*overriding);
                match values {
                    None => self.put("DEFAULT VALUES"),
                    Some(values) => {
                        self.put("VALUES");
                        self.parens(values, Self::expression);
                    }
                }
            }
        }
    }
}
