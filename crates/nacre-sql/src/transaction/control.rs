//! BEGIN, COMMIT, ROLLBACK and savepoints.

use datafusion::sql::sqlparser::ast::{
    Ident, Statement, TransactionAccessMode, TransactionIsolationLevel, TransactionMode,
};
use nacre_store::{IsolationLevel, Transaction};

use super::session::Transactions;
use super::turn::{NamedSavepoint, Turn};
use crate::blocking::blocking;
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::names::fold;
use crate::settings::{Characteristics, Saved};

/// The command tag of a statement and, if there is one, a warning.
pub(crate) type Tag = (String, Option<String>);

const NO_TRANSACTION: &str = "there is no transaction in progress";

/// Runs a statement that begins or ends a transaction or concerns a savepoint; gives the turn
/// back if it is another one.
///
/// # Errors
/// 40001 and others of committing; 3B001, 25P01, 25P02.
pub(crate) async fn control(
    transactions: &Transactions,
    mut turn: Turn,
    statement: &Statement,
) -> std::result::Result<Result<Tag>, Turn> {
    let answer = match statement {
        Statement::StartTransaction {
            modes, statements, modifier: None, begin: is_begin, ..
        } if statements.is_empty() => {
            let tag = if *is_begin { "BEGIN" } else { "START TRANSACTION" };
            begin(transactions, &mut turn, tag, modes)
        }
        Statement::Commit { chain, modifier: None, .. } => {
            commit(transactions, &mut turn, *chain).await
        }
        Statement::Rollback { chain, savepoint: None } => rollback(transactions, &mut turn, *chain),
        Statement::Rollback { savepoint: Some(name), .. } => {
            rollback_to(transactions, &mut turn, name)
        }
        Statement::Savepoint { name } => savepoint(transactions, &mut turn, name),
        Statement::ReleaseSavepoint { name } => release(&mut turn, name),
        _ => return Err(turn),
    };
    turn.done(answer.is_err());
    Ok(answer)
}

fn begin(
    transactions: &Transactions,
    turn: &mut Turn,
    tag: &str,
    modes: &[TransactionMode],
) -> Result<Tag> {
    turn.require_sound()?;
    let mut characteristics = transactions.defaults();
    apply(modes, &mut characteristics)?;
    if turn.signals().is_some_and(|signals| signals.make_explicit()) {
        // What was done together with BEGIN, before it, is part of the block.
        turn.core()?.begin_explicitly(characteristics);
        transactions.settings().change_block(characteristics);
        return Ok((tag.into(), None));
    }
    let is_new = !turn.is_in_block() && transactions.begin(characteristics);
    let warning = (!is_new).then(|| "there is already a transaction in progress".to_owned());
    Ok((tag.into(), warning))
}

/// Applies modes such as `READ ONLY`.
pub(super) fn apply(modes: &[TransactionMode], to: &mut Characteristics) -> Result<()> {
    for mode in modes {
        match mode {
            TransactionMode::AccessMode(access) => {
                to.is_read_only = *access == TransactionAccessMode::ReadOnly;
            }
            TransactionMode::IsolationLevel(level) => {
                to.level = match level {
                    // As PostgreSQL: nobody sees what is not committed.
                    TransactionIsolationLevel::ReadUncommitted
                    | TransactionIsolationLevel::ReadCommitted => IsolationLevel::ReadCommitted,
                    TransactionIsolationLevel::RepeatableRead => IsolationLevel::RepeatableRead,
                    TransactionIsolationLevel::Serializable => IsolationLevel::Serializable,
                    other => {
                        let message = format!("unrecognized isolation level {other}");
                        return Err(Error::new(ErrorKind::Syntax, message));
                    }
                };
            }
        }
    }
    Ok(())
}

/// A block that is over but for what it changed.
struct Committing {
    transaction: Option<Transaction>,
    /// What settings were before it.
    before: Option<Saved>,
    chained: Option<Characteristics>,
    warning: Option<String>,
}

impl Committing {
    /// Ends the block of a turn; a tag if there is nothing to commit.
    fn of(
        transactions: &Transactions,
        turn: &mut Turn,
        chain: bool,
    ) -> Result<std::result::Result<Self, Tag>> {
        let Some(signals) = turn.signals().cloned() else {
            return alone("COMMIT", chain).map(Err);
        };
        if signals.is_failed() {
            return rollback(transactions, turn, chain).map(Err);
        }
        let warning = signals.is_implicit().then(|| NO_TRANSACTION.to_owned());
        let core = turn.core()?;
        core.characteristics.is_synchronous = transactions.defaults().is_synchronous;
        let chained = chain.then_some(core.characteristics);
        let transaction = core.take_transaction();
        end(transactions, turn)?;
        let before = transactions.settings().end_block(true);
        Ok(Ok(Self { transaction, before, chained, warning }))
    }

    /// Commits on this thread.
    fn run(mut self, transactions: &Transactions) -> Result<Tag> {
        let committed = self.transaction.take().map_or(Ok(()), commit_rows);
        self.finish(transactions, committed)
    }

    /// Commits, on a thread that may wait if that waits for a disk.
    async fn run_aside(mut self, transactions: &Transactions) -> Result<Tag> {
        let committed = match self.transaction.take() {
            None => Ok(()),
            Some(transaction) if !transactions.commits_wait() => commit_rows(transaction),
            Some(transaction) => {
                blocking("the commit", move || commit_rows(transaction)).await.flatten()
            }
        };
        self.finish(transactions, committed)
    }

    fn finish(self, transactions: &Transactions, committed: Result<()>) -> Result<Tag> {
        if let Err(error) = committed {
            self.before.iter().for_each(|before| transactions.settings().go_back(before));
            transactions.cursors().end_transaction(false);
            return Err(error);
        }
        transactions.cursors().end_transaction(true);
        if let Some(characteristics) = self.chained {
            transactions.begin(characteristics);
        }
        Ok(("COMMIT".into(), self.warning))
    }
}

async fn commit(transactions: &Transactions, turn: &mut Turn, chain: bool) -> Result<Tag> {
    match Committing::of(transactions, turn, chain)? {
        Ok(committing) => committing.run_aside(transactions).await,
        Err(tag) => Ok(tag),
    }
}

fn commit_rows(transaction: Transaction) -> Result<()> {
    // The block is over: COMMIT is not begun anew.
    transaction.commit().map(drop).map_err(|error| from_store(error).for_good())
}

/// BEGIN, COMMIT or ROLLBACK without options, for a thread that may wait for a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    Begin,
    Commit,
    Rollback,
}

impl Plain {
    /// Reads a statement's text; `None` if it is another one.
    pub(crate) fn of(sql: &str) -> Option<Self> {
        let text = sql.trim_ascii();
        let text = text.strip_suffix(';').unwrap_or(text).trim_ascii_end();
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        match text.len() {
            5 if is("begin") => Some(Self::Begin),
            6 if is("commit") => Some(Self::Commit),
            3 if is("end") => Some(Self::Commit),
            8 if is("rollback") => Some(Self::Rollback),
            _ => None,
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// As for [`control`].
    pub(crate) fn run(self, transactions: &Transactions, mut turn: Turn) -> Result<Tag> {
        let answer = match self {
            Self::Begin => begin(transactions, &mut turn, "BEGIN", &[]),
            Self::Rollback => rollback(transactions, &mut turn, false),
            Self::Commit => Committing::of(transactions, &mut turn, false)
                .and_then(|ending| ending.map_or_else(Ok, |one| one.run(transactions))),
        };
        turn.done(answer.is_err());
        answer
    }
}

/// Ends a block that was begun for statements that a client sent together
/// ([`Transactions::begin_implicit`]): commits it, or rolls it back if it failed.
///
/// # Errors
/// 40001 and others of committing.
pub(crate) async fn end_implicit(transactions: &Transactions) -> Result<()> {
    if !transactions.is_implicit() {
        return Ok(());
    }
    let mut turn = transactions.turn().await;
    let ended = commit(transactions, &mut turn, false).await;
    turn.done(ended.is_err());
    ended.map(drop)
}

fn rollback(transactions: &Transactions, turn: &mut Turn, chain: bool) -> Result<Tag> {
    if !turn.is_in_block() {
        return alone("ROLLBACK", chain);
    }
    let is_implicit = turn.signals().is_some_and(|signals| signals.is_implicit());
    let warning = is_implicit.then(|| NO_TRANSACTION.to_owned());
    // Dropping it rolls it back.
    let core = turn.core()?;
    core.transaction = None;
    let characteristics = core.characteristics;
    end(transactions, turn)?;
    transactions.settings().end_block(false);
    transactions.cursors().end_transaction(false);
    if chain {
        transactions.begin(characteristics);
    }
    Ok(("ROLLBACK".into(), warning))
}

/// Ends the block.
fn end(transactions: &Transactions, turn: &mut Turn) -> Result<()> {
    let core = turn.core()?;
    core.savepoints.clear();
    core.is_over = true;
    transactions.end();
    Ok(())
}

/// Answers COMMIT and ROLLBACK outside a block.
fn alone(tag: &str, chain: bool) -> Result<Tag> {
    if chain {
        let message = format!("{tag} AND CHAIN can only be used in transaction blocks");
        return Err(Error::transaction_state("25P01", message));
    }
    Ok((tag.into(), Some(NO_TRANSACTION.into())))
}

fn savepoint(transactions: &Transactions, turn: &mut Turn, name: &Ident) -> Result<Tag> {
    require_block(turn, "SAVEPOINT")?;
    turn.require_sound()?;
    let core = turn.core()?;
    let (place, settings) = (core.transaction().savepoint(), transactions.settings().save());
    let cursors = transactions.cursors().declared();
    let (name, locks) = (fold(name), core.locks.session().transaction_holds());
    core.savepoints.push(NamedSavepoint { name, place, settings, cursors, locks });
    Ok(("SAVEPOINT".into(), None))
}

fn rollback_to(transactions: &Transactions, turn: &mut Turn, name: &Ident) -> Result<Tag> {
    require_block(turn, "ROLLBACK TO SAVEPOINT")?;
    let core = turn.core()?;
    let place = place_of(core.savepoints.as_slice(), name)?;
    // The savepoint itself stays, those after it do not.
    core.savepoints.truncate(place + 1);
    if let Some(savepoint) = core.savepoints.last() {
        transactions.settings().go_back(&savepoint.settings);
        transactions.cursors().go_back(savepoint.cursors);
        core.locks.session().release_since(savepoint.locks);
        if let Some(transaction) = &mut core.transaction {
            transaction.rollback_to(savepoint.place);
        }
    }
    if let Some(signals) = turn.signals() {
        signals.set_failed(false);
    }
    Ok(("ROLLBACK".into(), None))
}

fn release(turn: &mut Turn, name: &Ident) -> Result<Tag> {
    require_block(turn, "RELEASE SAVEPOINT")?;
    turn.require_sound()?;
    let core = turn.core()?;
    let place = place_of(core.savepoints.as_slice(), name)?;
    core.savepoints.truncate(place);
    Ok(("RELEASE".into(), None))
}

/// Refuses what makes sense in a block only.
///
/// # Errors
/// 25P01.
pub(crate) fn require_block(turn: &Turn, what: &str) -> Result<()> {
    let is_implicit = turn.signals().is_some_and(|signals| signals.is_implicit());
    match turn.is_in_block() && !is_implicit {
        true => Ok(()),
        false => {
            let message = format!("{what} can only be used in transaction blocks");
            Err(Error::transaction_state("25P01", message))
        }
    }
}

/// Finds the youngest savepoint called `name`.
fn place_of(savepoints: &[NamedSavepoint], name: &Ident) -> Result<usize> {
    let name = fold(name);
    savepoints.iter().rposition(|known| known.name == name).ok_or_else(|| {
        Error::transaction_state("3B001", format!("savepoint \"{name}\" does not exist"))
    })
}
