//! What FROM reads.

use super::SqlPrinter;
use crate::tree::{
    ColumnType, FromItem, FromKind, JoinCondition, JoinKind, JoinLink, RelationName, TableAlias,
    TableCall, TableFunction, TableSample,
};

impl SqlPrinter {
    pub(super) fn put_from_item(&mut self, item: &FromItem) {
        match &item.kind {
            FromKind::Relation { relation, sample } => {
                self.relation(relation);
                self.alias(item.alias.as_ref());
                sample.iter().for_each(|sample| self.sample(sample));
                return;
            }
            FromKind::Subquery { query, is_lateral } => {
                self.put_if(*is_lateral, "LATERAL");
                self.paren_query(query);
            }
            FromKind::Functions { items, is_rows_from, is_lateral, has_ordinality } => {
                self.put_if(*is_lateral, "LATERAL");
                if *is_rows_from {
                    self.put("ROWS FROM");
                    self.parens(items, Self::table_function);
                } else {
                    items.iter().for_each(|item| self.table_function(item));
                }
                self.put_if(*has_ordinality, "WITH ORDINALITY");
            }
            FromKind::Joins { first, links } => {
                let has_parens = item.alias.is_some();
                self.put_if(has_parens, "(");
                self.join_operand(first);
                links.iter().for_each(|link| self.join(link));
                if has_parens {
                    self.glue(")");
                }
            }
        }
        self.alias(item.alias.as_ref());
    }

    /// Prints a side of a join; joins stand in parentheses.
    fn join_operand(&mut self, item: &FromItem) {
        let is_bare = matches!(item.kind, FromKind::Joins { .. }) && item.alias.is_none();
        self.put_if(is_bare, "(");
        self.put_from_item(item);
        if is_bare {
            self.glue(")");
        }
    }

    fn join(&mut self, link: &JoinLink) {
        self.put_if(link.condition == JoinCondition::Natural, "NATURAL");
        self.put(match link.kind {
            JoinKind::Inner => "JOIN",
            JoinKind::Left => "LEFT JOIN",
            JoinKind::Right => "RIGHT JOIN",
            JoinKind::Full => "FULL JOIN",
            JoinKind::Cross => "CROSS JOIN",
        });
        self.join_operand(&link.right);
        match &link.condition {
            JoinCondition::Always | JoinCondition::Natural => {}
            JoinCondition::On(condition) => self.clause("ON", Some(condition)),
            JoinCondition::Using(columns, alias) => {
                self.put("USING");
                self.parens(columns, Self::name);
                if let Some(alias) = alias {
                    self.put("AS");
                    self.name(alias);
                }
            }
        }
    }

    fn table_function(&mut self, function: &TableFunction) {
        match &function.call {
            TableCall::Function(call) => self.function(call),
            TableCall::Special(call, _) => self.special(call),
            TableCall::Cast(value) => self.expression(value),
        }
        if !function.columns.is_empty() {
            self.put("AS");
            self.parens(&function.columns, Self::column_type);
        }
    }

    pub(super) fn relation(&mut self, relation: &RelationName) {
        self.put_if(relation.is_only, "ONLY");
        self.object(&relation.name);
    }

    fn sample(&mut self, sample: &TableSample) {
        self.put("TABLESAMPLE");
        self.object(&sample.method);
        self.parens(&sample.arguments, Self::expression);
        if let Some(seed) = &sample.seed {
            self.put("REPEATABLE");
            self.parens(std::slice::from_ref(seed), Self::expression);
        }
    }

    fn alias(&mut self, alias: Option<&TableAlias>) {
        let Some(alias) = alias else { return };
        self.put("AS");
        alias.name.iter().for_each(|name| self.name(name));
        self.optional_parens(&alias.columns, Self::name);
        self.optional_parens(&alias.definitions, Self::column_type);
    }

    fn column_type(&mut self, column: &ColumnType) {
        self.name(&column.name);
        self.type_name(&column.type_name);
        if let Some(collation) = &column.collation {
            self.put("COLLATE");
            self.object(collation);
        }
    }
}
