//! What a transaction notes of a call while it runs, and is told when the call is replayed.

use crate::error::{Error, Result};
use crate::id::{CommitTs, RowId};
use crate::manifest::TableId;
use crate::mvcc::UndoBuffer;
use crate::redo::{CallEffects, CallPlace, RedoBuffer, RedoProblem, changes_checksum};
use crate::value::ValueRef;

/// The call that a transaction belongs to.
#[derive(Debug)]
pub(crate) struct CallTrace {
    procedure: String,
    /// Changes that were made, also those that were taken back.
    steps: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Noting(Noted),
    Replaying(Replayed),
}

/// A call that runs for the first time.
#[derive(Debug)]
struct Noted {
    /// The beginning of its record.
    record: RedoBuffer,
    /// That of [`super::Calls::begin`].
    raised: u64,
    places: Vec<CallPlace>,
    /// Number in the undo buffer of the insert of each place.
    inserts: Vec<usize>,
    /// Whether the next insert is that of a row that an update moves.
    moves: bool,
    /// Whether the changes are logged after all.
    is_physical: bool,
}

/// A call that is replayed.
#[derive(Debug)]
struct Replayed {
    commit: CommitTs,
    places: Vec<CallPlace>,
    /// How many places are used.
    used: usize,
    checksum: u64,
}

impl CallTrace {
    /// Begins to note a call; `raised` is that of [`super::Calls::begin`].
    pub(crate) fn note(procedure: &str, arguments: &[ValueRef<'_>], raised: u64) -> Box<Self> {
        let mut record = RedoBuffer::default();
        record.begin_call(procedure, arguments);
        let (places, inserts) = (Vec::new(), Vec::new());
        let noted = Noted { record, raised, places, inserts, moves: false, is_physical: false };
        Self::new(procedure, State::Noting(noted))
    }

    /// Begins to replay the call of a commit.
    pub(crate) fn replay(procedure: &str, commit: CommitTs, effects: CallEffects<'_>) -> Box<Self> {
        let (places, checksum) = (effects.places.to_vec(), effects.checksum);
        Self::new(procedure, State::Replaying(Replayed { commit, places, used: 0, checksum }))
    }

    fn new(procedure: &str, state: State) -> Box<Self> {
        Box::new(Self { procedure: procedure.to_owned(), steps: 0, state })
    }

    pub(crate) fn is_replay(&self) -> bool {
        matches!(self.state, State::Replaying(_))
    }

    /// Returns where the next row of a table has to go; `None` if that does not matter.
    ///
    /// # Errors
    /// [`Error::ProcedureChanged`] if it had no such row.
    pub(crate) fn next_place(&self, table: TableId) -> Result<Option<RowId>> {
        let State::Replaying(replayed) = &self.state else {
            return Ok(None);
        };
        let expected = replayed.places.get(replayed.used).filter(|next| next.step == self.steps);
        match expected.map(|next| next.place) {
            Some(Some((of, row))) if of == table => Ok(Some(row)),
            Some(None) => Ok(None),
            _ => {
                let reason = "it inserts a row where it did something else before".to_owned();
                Err(self.changed(replayed.commit, reason))
            }
        }
    }

    /// Counts an insert, that of this number in the undo buffer.
    pub(crate) fn note_insert(&mut self, table: TableId, row: RowId, insert: usize) {
        match &mut self.state {
            State::Noting(noted) => {
                let is_moved = std::mem::take(&mut noted.moves);
                let place = Some((table, row));
                noted.places.push(CallPlace { step: self.steps, place, is_moved });
                noted.inserts.push(insert);
            }
            State::Replaying(replayed) => replayed.used += 1,
        }
        self.steps += 1;
    }

    /// Counts an update or a delete.
    pub(crate) fn note_change(&mut self) {
        self.steps += 1;
    }

    /// Notes that the update at hand moves its row for want of room.
    pub(crate) fn note_move(&mut self) {
        if let State::Noting(noted) = &mut self.state {
            noted.moves = true;
        }
    }

    /// Whether the update at hand moved its row for want of room, which may be there now: its
    /// delete came next, and then its insert.
    pub(crate) fn has_moved(&self) -> bool {
        let State::Replaying(replayed) = &self.state else {
            return false;
        };
        let next = replayed.places.get(replayed.used);
        next.is_some_and(|next| next.is_moved && next.step == self.steps + 1)
    }

    /// Notes that a write failed. What it was refused for may be none of what the transaction has
    /// read, so a procedure that goes on is not sure to fail there again.
    pub(crate) fn note_failure(&mut self) {
        if let State::Noting(noted) = &mut self.state {
            noted.is_physical = true;
        }
    }

    /// Notes that changes but the first `len` are taken back: where their rows were is free.
    pub(crate) fn take_back(&mut self, len: usize) {
        if let State::Noting(noted) = &mut self.state {
            let places = noted.places.iter_mut().zip(&noted.inserts);
            places.filter(|(_, insert)| **insert >= len).for_each(|(one, _)| one.place = None);
        }
    }

    /// Compares a replay with what the call did; returns the record of one that is noted, and what
    /// [`super::Calls::admits`] asks for, unless the changes are to be logged.
    ///
    /// # Errors
    /// [`Error::ProcedureChanged`].
    pub(crate) fn finish(
        &mut self,
        undo: &UndoBuffer,
        redo: &RedoBuffer,
    ) -> Result<Option<(RedoBuffer, u64)>> {
        let internal = |problem: RedoProblem| Error::Internal { reason: problem.to_string() };
        match &mut self.state {
            State::Noting(noted) if noted.is_physical => Ok(None),
            State::Noting(noted) => {
                let chunks = undo.changed_chunks();
                let checksum = changes_checksum(redo.bytes()).map_err(internal)?;
                let effects = CallEffects { chunks: &chunks, places: &noted.places, checksum };
                let mut record = std::mem::take(&mut noted.record);
                record.end_call(effects);
                Ok(Some((record, noted.raised)))
            }
            State::Replaying(replayed) => {
                let (commit, count) = (replayed.commit, replayed.places.len());
                if replayed.used < count {
                    let reason = format!("it inserts {} rows of {count}", replayed.used);
                    return Err(self.changed(commit, reason));
                }
                if changes_checksum(redo.bytes()).map_err(internal)? != replayed.checksum {
                    let reason = "its changes are others than they were".to_owned();
                    return Err(self.changed(commit, reason));
                }
                Ok(None)
            }
        }
    }

    fn changed(&self, commit: CommitTs, reason: String) -> Error {
        Error::ProcedureChanged { procedure: self.procedure.clone(), commit, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(3);

    /// Notes an update in place, one that moves its row for want of room, and an insert.
    #[test]
    fn row_that_had_to_move_moves_again() {
        let rows = [RowId::hot(1, 7), RowId::hot(1, 8)];
        let mut noted = CallTrace::note("p", &[], 0);
        noted.note_change();
        noted.note_move();
        noted.note_change();
        noted.note_insert(TABLE, rows[0], 2);
        noted.note_insert(TABLE, rows[1], 3);
        let State::Noting(Noted { places, .. }) = &noted.state else { unreachable!() };
        let effects = CallEffects { chunks: &[(TABLE, 1)], places, checksum: 0 };
        let mut replayed = CallTrace::replay("p", CommitTs(9), effects);
        assert!(!replayed.has_moved());
        replayed.note_change();
        assert!(replayed.has_moved());
        replayed.note_change();
        for row in rows {
            assert!(replayed.next_place(TableId(4)).is_err());
            assert_eq!(replayed.next_place(TABLE).unwrap(), Some(row));
            replayed.note_insert(TABLE, row, 0);
            assert!(!replayed.has_moved());
        }
        assert!(replayed.next_place(TABLE).is_err());
    }

    #[test]
    fn rows_behind_a_savepoint_have_no_place() {
        let mut noted = CallTrace::note("p", &[], 0);
        (0..3).for_each(|row| noted.note_insert(TABLE, RowId::hot(1, row as u16), row));
        noted.take_back(1);
        noted.note_insert(TABLE, RowId::hot(1, 3), 1);
        let State::Noting(Noted { places, .. }) = &noted.state else { unreachable!() };
        let have_places: Vec<bool> = places.iter().map(|one| one.place.is_some()).collect();
        assert_eq!(have_places, [true, false, false, true]);
    }
}
