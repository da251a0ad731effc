//! Pairs of rows of both sides, made and looked at a vector of them at a time.
//!
//! Rows take their partners in rounds. If all partners are wanted, there is one round. If one is
//! enough, a row takes one partner in the first round, two more in the second, four in the third,
//! and is left out when a pair of it satisfied the conditions: vectors of pairs stay full, and at
//! most twice as many pairs are looked at as need be.
//!
//! ```text
//! partners  row 0: a b c d e f   row 1: g h        b and h satisfy the conditions
//! rounds    0a 1g,  0b 0c 1h                       d, e and f are not looked at
//! ```
//!
//! # Invariants
//! 1. Where one partner is enough, no condition fails for a pair behind the one that decides its
//!    row: if conditions fail for pairs of a round in which rows take several, these are put back,
//!    and the rows of the vector take one partner in each round from then on.

use super::column::NO_ROW;
use super::plan::JoinPlan;
use super::probe::ProbeVector;
use super::residual::PairProgram;
use super::table::JoinTable;
use crate::error::{ExecError, ExecResult};
use crate::interpret::StepInterpreter;
use crate::plan::PairingKind;
use crate::vector::{BitVector, VectorBatch};

/// How far the pairs of a vector of the probe side are.
#[derive(Debug, Default)]
pub(super) struct PairCursor {
    /// The rows of this round.
    rows: Vec<u16>,
    /// The present one of `rows`.
    at: usize,
    /// Partners that it took in this round.
    taken: usize,
    /// Partners that a row takes in this round.
    share: usize,
    /// Whether rows take one partner in each round.
    is_careful: bool,
    /// Rows of which a pair satisfied the conditions.
    pub(super) matched: BitVector,
}

/// A vector of pairs.
#[derive(Debug, Default)]
pub(super) struct PairScratch {
    rows: Vec<u16>,
    partners: Vec<u32>,
    kept: Vec<u16>,
    batch: VectorBatch,
}

impl PairCursor {
    /// Begins with a vector; `partners` has the first one of each row.
    pub(super) fn begin(&mut self, plan: &JoinPlan, batch: &VectorBatch, partners: &[u32]) {
        self.rows.clear();
        match batch.selection.as_ref() {
            Some(selection) => selection.positions(&mut self.rows),
            None => self.rows.extend((0..batch.rows).map(|row| row as u16)),
        }
        if !plan.pads_probe() || plan.residual.is_some() {
            self.rows.retain(|row| partners[usize::from(*row)] != NO_ROW);
        }
        (self.at, self.taken) = (0, 0);
        self.share = if plan.needs_one_partner() { 1 } else { usize::MAX };
        self.is_careful = false;
        self.matched.clear();
        self.matched.resize(batch.rows, false);
    }

    /// Whether all pairs were made.
    fn is_done(&self) -> bool {
        self.rows.is_empty()
    }

    /// Makes the next pairs of this round, up to so many; `partners` has the next one of each row.
    fn next_pairs(&mut self, table: &JoinTable, partners: &mut [u32], pairs: &mut PairScratch) {
        pairs.rows.clear();
        pairs.partners.clear();
        let pairs_max = table.pairs_max();
        while let Some(row) = self.rows.get(self.at) {
            let next = &mut partners[usize::from(*row)];
            let mut partner = *next;
            loop {
                if pairs.rows.len() == pairs_max {
                    *next = partner;
                    return;
                }
                pairs.rows.push(*row);
                pairs.partners.push(partner);
                self.taken += 1;
                if partner != NO_ROW {
                    partner = table.next(partner);
                }
                if partner == NO_ROW || self.taken == self.share {
                    break;
                }
            }
            *next = partner;
            self.at += 1;
            self.taken = 0;
        }
    }

    /// Begins the next round if this one is at its end.
    fn end_round(&mut self, partners: &[u32]) {
        if self.at < self.rows.len() {
            return;
        }
        self.begin_round(partners);
        if !self.is_careful {
            self.share = self.share.saturating_mul(2);
        }
    }

    /// Begins with the rows that need partners and have some.
    fn begin_round(&mut self, partners: &[u32]) {
        let Self { rows, matched, .. } = self;
        rows.retain(|row| partners[usize::from(*row)] != NO_ROW && !matched.get(usize::from(*row)));
        (self.at, self.taken) = (0, 0);
    }

    /// Puts pairs back for which a condition failed, if it need not have been decided for all of
    /// them; whether it has done so.
    fn puts_back(
        &mut self,
        plan: &JoinPlan,
        error: &ExecError,
        pairs: &PairScratch,
        partners: &mut [u32],
    ) -> bool {
        if !plan.needs_one_partner() || self.share == 1 || error.of_values().is_none() {
            return false;
        }
        for (row, partner) in pairs.rows.iter().zip(&pairs.partners).rev() {
            partners[usize::from(*row)] = *partner;
        }
        (self.share, self.is_careful) = (1, true);
        self.begin_round(partners);
        true
    }

    /// Notes which rows have a partner.
    fn note(&mut self, pairs: &PairScratch, is_single: bool) -> ExecResult<()> {
        for row in &pairs.rows {
            let row = usize::from(*row);
            if is_single && self.matched.get(row) {
                return Err(ExecError::MoreThanOneRow);
            }
            self.matched.set(row, true);
        }
        Ok(())
    }
}

impl PairScratch {
    /// Makes memory for vectors of pairs.
    pub(super) fn new(plan: &JoinPlan) -> Self {
        let batch = plan.residual.as_ref().map(|pairs| StepInterpreter::batch(&pairs.program));
        Self { batch: batch.unwrap_or_default(), ..Self::default() }
    }

    /// Leaves the pairs whose partner is not known to have one.
    fn leave_unmarked(&mut self, table: &JoinTable) {
        let mut kept = 0;
        for at in 0..self.rows.len() {
            (self.rows[kept], self.partners[kept]) = (self.rows[at], self.partners[at]);
            kept += usize::from(!table.is_marked(self.partners[at]));
        }
        self.rows.truncate(kept);
        self.partners.truncate(kept);
    }
}

/// One call's work on pairs.
pub(super) struct PairStep<'s> {
    pub(super) plan: &'s JoinPlan,
    pub(super) table: &'s JoinTable,
    pub(super) pairs: &'s mut PairScratch,
}

impl PairStep<'_> {
    /// Emits the next pairs of a vector, or its remaining rows at its end.
    pub(super) fn next(
        &mut self,
        vector: &mut ProbeVector,
        interpreter: &mut StepInterpreter,
        batch: &mut VectorBatch,
    ) -> ExecResult<()> {
        let (plan, table) = (self.plan, self.table);
        if vector.cursor.is_done() {
            vector.is_open = false;
            self.hand_on_rest(vector, batch);
            return Ok(());
        }
        let ProbeVector { cursor, partners, .. } = vector;
        cursor.next_pairs(table, partners, self.pairs);
        if plan.ends_with_build() && !plan.hands_on_pairs() {
            self.pairs.leave_unmarked(table);
        }
        if let Some(residual) = &plan.residual
            && !self.pairs.rows.is_empty()
        {
            if let Err(error) = self.select(residual, vector, interpreter) {
                let ProbeVector { cursor, partners, .. } = vector;
                let goes_on = cursor.puts_back(plan, &error, self.pairs, partners);
                return if goes_on { Ok(()) } else { Err(error) };
            }
            vector.cursor.note(self.pairs, plan.kind == PairingKind::Single)?;
        }
        if plan.ends_with_build() {
            table.mark(&self.pairs.partners);
        }
        if plan.hands_on_pairs() && !self.pairs.rows.is_empty() {
            self.hand_on_pairs(vector, batch);
        }
        vector.cursor.end_round(&vector.partners);
        // Rows that are left over need a call of their own.
        vector.is_open = !vector.cursor.is_done() || self.has_rest();
        Ok(())
    }

    /// Leaves the pairs that satisfy the conditions.
    fn select(
        &mut self,
        residual: &PairProgram,
        vector: &ProbeVector,
        interpreter: &mut StepInterpreter,
    ) -> ExecResult<()> {
        let PairScratch { rows, partners, kept, batch } = &mut *self.pairs;
        let probe = &self.plan.probe.slots;
        for slot in &residual.inputs {
            match slot.checked_sub(probe.len()) {
                None => batch.columns[*slot] = vector.batch.columns[probe[*slot]].gathered(rows),
                Some(column) => {
                    let stored = self.plan.columns().stored.binary_search(&column).unwrap_or(0);
                    self.table.columns[stored].gather(partners, false, &mut batch.columns[*slot]);
                }
            }
        }
        residual.select(interpreter, batch, rows.len(), kept)?;
        for (to, from) in kept.iter().enumerate() {
            let from = usize::from(*from);
            (rows[to], partners[to]) = (rows[from], partners[from]);
        }
        rows.truncate(kept.len());
        partners.truncate(kept.len());
        Ok(())
    }

    /// Hands on pairs as rows.
    fn hand_on_pairs(&self, vector: &ProbeVector, batch: &mut VectorBatch) {
        let (plan, pairs) = (self.plan, &*self.pairs);
        for (output, slot) in &plan.columns().probe {
            batch.columns[*output] = vector.batch.columns[*slot].gathered(&pairs.rows);
        }
        for (output, column) in &plan.columns().build {
            let out = &mut batch.columns[*output];
            self.table.columns[*column].gather(&pairs.partners, plan.pads_probe(), out);
        }
        batch.rows = self.pairs.rows.len();
    }

    /// Whether rows come out when all pairs were looked at.
    fn has_rest(&self) -> bool {
        let plan = self.plan;
        plan.residual.is_some() && (plan.pads_probe() || plan.needs_one_partner())
    }

    /// Hands on the rows that come out when all pairs were looked at.
    fn hand_on_rest(&self, vector: &mut ProbeVector, batch: &mut VectorBatch) {
        if !self.has_rest() {
            return;
        }
        let mut kept = std::mem::take(&mut vector.cursor.matched);
        match self.plan.kind {
            PairingKind::Mark => return vector.pass_marked(self.plan, kept, batch),
            PairingKind::Semi => {}
            _ => kept.change_words(|words| words.iter_mut().for_each(|word| *word = !*word)),
        }
        vector.pass(self.plan, kept, batch);
        for (output, column) in &self.plan.columns().build {
            let out = &mut batch.columns[*output];
            self.table.columns[*column].gather_none(batch.rows, out);
        }
    }
}
