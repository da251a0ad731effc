//! Statements: which printer each one has.

use super::SqlPrinter;
use crate::tree::{
    DeclareCursor, ExecuteStatement, ExplainStatement, FetchDirection, FetchStatement,
    PrepareStatement, Statement, UtilityOption,
};

impl SqlPrinter {
    pub(super) fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Query(query) => self.query(query),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Merge(merge) => self.merge(merge),
            Statement::CreateTable(table) => self.create_table(table),
            Statement::CreateTableAs(table) => self.create_table_as(table),
            Statement::CreateIndex(index) => self.create_index(index),
            Statement::CreateView(view) => self.create_view(view),
            Statement::CreateSequence(sequence) => self.create_sequence(sequence),
            Statement::CreateSchema(schema) => self.create_schema(schema),
            Statement::Role(role) => self.role_statement(role),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::AlterSequence(sequence) => {
                self.put("ALTER SEQUENCE");
                self.put_if(sequence.if_exists, "IF EXISTS");
                self.object(&sequence.name);
                self.sequence_options(&sequence.options);
            }
            Statement::Drop(drop) => self.drop_statement(drop),
            Statement::Truncate(truncate) => self.truncate(truncate),
            Statement::Comment(comment) => self.comment(comment),
            Statement::Explain(explain) => self.explain(explain),
            Statement::Prepare(prepare) => self.prepare(prepare),
            Statement::Execute(execute) => self.execute(execute),
            Statement::Deallocate(name, _) => {
                self.put("DEALLOCATE");
                self.name_or("ALL", name.as_ref());
            }
            Statement::Declare(cursor) => self.declare(cursor),
            Statement::Fetch(fetch) => self.fetch(fetch),
            Statement::Close(name, _) => {
                self.put("CLOSE");
                self.name_or("ALL", name.as_ref());
            }
            Statement::Privilege(privilege) => self.privilege(privilege),
            Statement::Membership(membership) => self.membership(membership),
            Statement::Owned(owned) => self.owned(owned),
            other => self.session_statement(other),
        }
    }

    pub(super) fn name_or(&mut self, word: &str, name: Option<&crate::tree::SqlName>) {
        match name {
            Some(name) => self.name(name),
            None => self.put(word),
        }
    }

    fn explain(&mut self, explain: &ExplainStatement) {
        self.put("EXPLAIN");
        self.optional_parens(&explain.options, Self::utility_option);
        self.statement(&explain.statement);
    }

    pub(super) fn utility_option(&mut self, option: &UtilityOption) {
        self.word(&option.name.text);
        option.value.iter().for_each(|value| self.option_value(value));
    }

    fn prepare(&mut self, prepare: &PrepareStatement) {
        self.put("PREPARE");
        self.name(&prepare.name);
        self.optional_parens(&prepare.types, Self::type_name);
        self.put("AS");
        self.statement(&prepare.statement);
    }

    fn execute(&mut self, execute: &ExecuteStatement) {
        self.put("EXECUTE");
        self.name(&execute.name);
        self.optional_parens(&execute.parameters, Self::expression);
    }

    fn declare(&mut self, cursor: &DeclareCursor) {
        self.put("DECLARE");
        self.name(&cursor.name);
        self.put_if(cursor.is_binary, "BINARY");
        match cursor.is_insensitive {
            Some(true) => self.put("INSENSITIVE"),
            Some(false) => self.put("ASENSITIVE"),
            None => {}
        }
        match cursor.is_scrollable {
            Some(true) => self.put("SCROLL"),
            Some(false) => self.put("NO SCROLL"),
            None => {}
        }
        self.put("CURSOR");
        self.put_if(cursor.is_held, "WITH HOLD");
        self.put("FOR");
        self.query(&cursor.query);
    }

    fn fetch(&mut self, fetch: &FetchStatement) {
        self.put(if fetch.is_move { "MOVE" } else { "FETCH" });
        let (word, rows) = match fetch.direction {
            FetchDirection::Forward(rows) => ("FORWARD", rows),
            FetchDirection::Backward(rows) => ("BACKWARD", rows),
            FetchDirection::Absolute(row) => ("ABSOLUTE", Some(row)),
            FetchDirection::Relative(row) => ("RELATIVE", Some(row)),
        };
        self.put(word);
        match rows {
            Some(rows) => self.put(&rows.to_string()),
            None => self.put("ALL"),
        }
        self.put("FROM");
        self.name(&fetch.cursor);
    }
}
