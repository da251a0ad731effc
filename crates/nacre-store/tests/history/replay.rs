//! Judge by repetition: all committed transactions one after the other, in commit order.

use super::record::{History, Op, Read, Rows, Transaction, answer};

/// Repeats the history serially; says which read has another answer then.
pub(crate) fn check(history: &History) -> Result<(), String> {
    let mut order: Vec<&Transaction> =
        history.transactions.iter().filter(|transaction| transaction.is_committed()).collect();
    order.sort_by_key(|transaction| transaction.position());
    let mut rows = Rows::new();
    for transaction in order {
        for op in &transaction.ops {
            match op {
                Op::Read(read) => compare(transaction, read, &rows)?,
                Op::Write(write) => {
                    let before = rows.remove(&write.id);
                    if write.changed.is_some() && before.is_none() {
                        return Err(format!("{}: row {} is gone", transaction.name, write.id));
                    }
                    if let Some(after) = write.apply(before.as_ref()) {
                        rows.insert(write.id, after);
                    }
                }
            }
        }
    }
    Ok(())
}

fn compare(transaction: &Transaction, read: &Read, rows: &Rows) -> Result<(), String> {
    let expected = answer(rows, read);
    let mut found = read.rows.clone();
    found.sort_unstable();
    if found == expected {
        return Ok(());
    }
    let Transaction { name, snapshot, outcome, .. } = transaction;
    Err(format!(
        "{name} (snapshot {snapshot}, {outcome:?}) at {:?}: found {found:?}, serially {expected:?}",
        read.filter
    ))
}
