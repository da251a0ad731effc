//! All statements.

use super::{
    AlterSequence, AlterTable, CommentStatement, CopyStatement, CreateIndex, CreateSchema,
    CreateSequence, CreateTable, CreateTableAs, CreateView, DeclareCursor, DeleteStatement,
    DiscardTarget, DropStatement, ExecuteStatement, ExplainStatement, FetchStatement,
    InsertStatement, LockStatement, MaintainStatement, MembershipStatement, MergeStatement,
    OwnedStatement, PrepareStatement, PrivilegeStatement, QueryExpression, RoleStatement,
    SetStatement, ShowStatement, SqlName, TransactionStatement, TruncateStatement, UpdateStatement,
};
use crate::range::SourceRange;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Statement {
    /// SELECT, VALUES, TABLE
    Query(Box<QueryExpression>),
    /// INSERT
    Insert(Box<InsertStatement>),
    /// UPDATE
    Update(Box<UpdateStatement>),
    /// DELETE
    Delete(Box<DeleteStatement>),
    /// MERGE
    Merge(Box<MergeStatement>),
    /// CREATE TABLE
    CreateTable(Box<CreateTable>),
    /// CREATE TABLE ... AS, CREATE MATERIALIZED VIEW
    CreateTableAs(Box<CreateTableAs>),
    /// CREATE INDEX
    CreateIndex(Box<CreateIndex>),
    /// CREATE VIEW
    CreateView(Box<CreateView>),
    /// CREATE SEQUENCE
    CreateSequence(Box<CreateSequence>),
    /// CREATE SCHEMA
    CreateSchema(Box<CreateSchema>),
    /// CREATE and ALTER ROLE
    Role(Box<RoleStatement>),
    /// ALTER TABLE and the like
    AlterTable(Box<AlterTable>),
    /// ALTER SEQUENCE
    AlterSequence(Box<AlterSequence>),
    /// DROP
    Drop(Box<DropStatement>),
    /// TRUNCATE
    Truncate(Box<TruncateStatement>),
    /// COMMENT
    Comment(Box<CommentStatement>),
    /// COPY
    Copy(Box<CopyStatement>),
    /// BEGIN, COMMIT and the like
    Transaction(TransactionStatement, SourceRange),
    /// SET, RESET
    Set(Box<SetStatement>),
    /// SHOW
    Show(ShowStatement),
    /// EXPLAIN
    Explain(ExplainStatement),
    /// PREPARE
    Prepare(Box<PrepareStatement>),
    /// EXECUTE
    Execute(ExecuteStatement),
    /// DEALLOCATE; `None` is ALL.
    Deallocate(Option<SqlName>, SourceRange),
    /// DECLARE
    Declare(Box<DeclareCursor>),
    /// FETCH, MOVE
    Fetch(FetchStatement),
    /// CLOSE; `None` is ALL.
    Close(Option<SqlName>, SourceRange),
    /// VACUUM, ANALYZE
    Maintain(Box<MaintainStatement>),
    /// CHECKPOINT
    Checkpoint(SourceRange),
    /// DISCARD
    Discard(DiscardTarget, SourceRange),
    /// LISTEN
    Listen(SqlName, SourceRange),
    /// UNLISTEN; `None` is `*`.
    Unlisten(Option<SqlName>, SourceRange),
    /// NOTIFY with its payload
    Notify(SqlName, Option<String>, SourceRange),
    /// LOCK
    Lock(Box<LockStatement>),
    /// GRANT and REVOKE of privileges
    Privilege(Box<PrivilegeStatement>),
    /// GRANT and REVOKE of roles
    Membership(Box<MembershipStatement>),
    /// REASSIGN OWNED, DROP OWNED
    Owned(Box<OwnedStatement>),
    /// BACKUP DATABASE TO, which is ours.
    Backup(String, SourceRange),
    /// ARCHIVE DATABASE TO, which is ours; `None` is OFF.
    Archive(Option<String>, SourceRange),
    /// A statement of PostgreSQL that has no tree yet: its first words are read, no others.
    Other {
        /// Those words, in capitals.
        keyword: String,
        /// All of it.
        range: SourceRange,
    },
}
