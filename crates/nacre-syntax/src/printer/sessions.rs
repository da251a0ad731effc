//! Transactions, COPY, maintenance and our own statements.

use super::SqlPrinter;
use crate::tree::{
    CopySource, CopyStatement, CopyTarget, DiscardTarget, LockStatement, MaintainStatement,
    ShowSubject, Statement, TransactionStatement,
};

impl SqlPrinter {
    pub(super) fn session_statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Copy(copy) => self.copy(copy),
            Statement::Transaction(transaction, _) => self.transaction(transaction),
            Statement::Set(set) => self.set(set),
            Statement::Show(show) => {
                self.put("SHOW");
                match &show.subject {
                    ShowSubject::Setting(name) => self.setting_name(name),
                    ShowSubject::All => self.put("ALL"),
                    ShowSubject::Columns(table) => {
                        self.put("COLUMNS FROM");
                        self.object(table);
                    }
                }
            }
            Statement::Maintain(maintain) => self.maintain(maintain),
            Statement::Checkpoint(_) => self.put("CHECKPOINT"),
            Statement::Discard(target, _) => {
                self.put("DISCARD");
                self.put(match target {
                    DiscardTarget::All => "ALL",
                    DiscardTarget::Plans => "PLANS",
                    DiscardTarget::Sequences => "SEQUENCES",
                    DiscardTarget::Temporary => "TEMPORARY",
                });
            }
            Statement::Listen(channel, _) => {
                self.put("LISTEN");
                self.name(channel);
            }
            Statement::Unlisten(channel, _) => {
                self.put("UNLISTEN");
                self.name_or("*", channel.as_ref());
            }
            Statement::Notify(channel, payload, _) => {
                self.put("NOTIFY");
                self.name(channel);
                if let Some(payload) = payload {
                    self.glue(",");
                    self.string(payload);
                }
            }
            Statement::Lock(lock) => self.lock_table(lock),
            Statement::Backup(directory, _) => {
                self.put("BACKUP DATABASE TO");
                self.string(directory);
            }
            Statement::Archive(directory, _) => {
                self.put("ARCHIVE DATABASE TO");
                match directory {
                    Some(directory) => self.string(directory),
                    None => self.put("OFF"),
                }
            }
            Statement::Other { keyword, .. } => self.put(keyword),
            // The others are printed by `statement`.
            _ => {}
        }
    }

    fn transaction(&mut self, transaction: &TransactionStatement) {
        match transaction {
            TransactionStatement::Begin(modes) => {
                self.put("BEGIN");
                self.modes(modes);
            }
            TransactionStatement::Commit(is_chained) => {
                self.put("COMMIT");
                self.put_if(*is_chained, "AND CHAIN");
            }
            TransactionStatement::Rollback(is_chained) => {
                self.put("ROLLBACK");
                self.put_if(*is_chained, "AND CHAIN");
            }
            TransactionStatement::Savepoint(name) => {
                self.put("SAVEPOINT");
                self.name(name);
            }
            TransactionStatement::Release(name) => {
                self.put("RELEASE SAVEPOINT");
                self.name(name);
            }
            TransactionStatement::RollbackTo(name) => {
                self.put("ROLLBACK TO SAVEPOINT");
                self.name(name);
            }
            TransactionStatement::PrepareTransaction(id) => {
                self.put("PREPARE TRANSACTION");
                self.string(id);
            }
            TransactionStatement::CommitPrepared(id) => {
                self.put("COMMIT PREPARED");
                self.string(id);
            }
            TransactionStatement::RollbackPrepared(id) => {
                self.put("ROLLBACK PREPARED");
                self.string(id);
            }
        }
    }

    fn maintain(&mut self, maintain: &MaintainStatement) {
        self.put(if maintain.is_vacuum { "VACUUM" } else { "ANALYZE" });
        self.optional_parens(&maintain.options, Self::utility_option);
        self.list(&maintain.tables, |printer, (table, columns)| {
            printer.object(table);
            printer.optional_parens(columns, Self::name);
        });
    }

    fn lock_table(&mut self, lock: &LockStatement) {
        self.put("LOCK TABLE");
        self.list(&lock.tables, Self::relation);
        if let Some(mode) = &lock.mode {
            self.put("IN");
            self.put(mode);
            self.put("MODE");
        }
        self.put_if(lock.is_nowait, "NOWAIT");
    }

    fn copy(&mut self, copy: &CopyStatement) {
        self.put("COPY");
        match &copy.source {
            CopySource::Table(table, columns) => {
                self.object(table);
                self.optional_parens(columns, Self::name);
            }
            CopySource::Query(statement) => {
                self.put("(");
                self.statement(statement);
                self.glue(")");
            }
        }
        self.put(if copy.is_from { "FROM" } else { "TO" });
        match &copy.target {
            CopyTarget::File(path) => self.string(path),
            CopyTarget::Program(command) => {
                self.put("PROGRAM");
                self.string(command);
            }
            CopyTarget::Client => self.put(if copy.is_from { "STDIN" } else { "STDOUT" }),
        }
        self.optional_parens(&copy.options, Self::utility_option);
        self.clause("WHERE", copy.condition.as_ref());
    }
}
