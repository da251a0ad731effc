//! What a load lacks of what the policies ask for.
//!
//! A replica of a block is as it should be if its current block lies in the domain of the policy,
//! was written for the format of the policy, is not known to be lost, and would be found again
//! after a restart. A part of which less than half is still needed counts as not there for the
//! rest: writing that anew gives the space back.

use nacre_column::replicated::WearCause;

use crate::domains::{DRAM_DOMAIN, Domains, Target};
use crate::part::BlockState;
use crate::stored_load::{BlockPlace, OpenLoad, StoredLoad};
use crate::table::Table;

/// One replica of one block that is to be written.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub(super) chunk: usize,
    pub(super) column: usize,
    pub(super) replica: u8,
    pub(super) cause: WearCause,
    /// What is wrong with the replica that there is.
    pub(super) reason: String,
    /// Whether the domain is there that it is to be written to.
    pub(super) is_possible: bool,
    /// About how many bytes will be written.
    pub(super) bytes: u64,
}

/// What one load lacks.
#[derive(Debug)]
pub(super) struct Needs {
    /// Where the replicas of each column are to be.
    pub(super) targets: Vec<Vec<Target>>,
    /// By chunk, then by column.
    pub(super) needs: Vec<Need>,
}

impl Needs {
    /// Compares a load with the policies of its table.
    pub(super) fn of(table: &Table, load: &StoredLoad, open: &OpenLoad, domains: &Domains) -> Self {
        let schema = table.schema();
        let targets: Vec<Vec<Target>> = (0..schema.columns.len())
            .map(|column| domains.targets(&schema.policy(column)))
            .collect();
        let parts = load.parts();
        let problems: Vec<Option<&str>> = open
            .parts
            .iter()
            .map(|mapped| {
                let number = mapped.number();
                let part = parts.iter().find(|part| part.record().number == number);
                let is_in_place = part.is_some_and(|part| part.is_in_place());
                (!is_in_place).then_some("its file is not there any more")
            })
            .collect();
        let mut search = Search { open, domains, targets: &targets, problems, needs: Vec::new() };
        search.find();
        if search.mark_sparse_parts() {
            search.needs.clear();
            search.find();
        }
        let needs = search.needs;
        Self { targets, needs }
    }

    /// Leaves out what is only in another format or place than it should be; returns whether there
    /// was something.
    pub(super) fn leave_conversions(&mut self) -> bool {
        let all = self.needs.len();
        self.needs.retain(|need| need.cause != WearCause::Conversion);
        self.needs.len() < all
    }

    /// Returns those that can be met now.
    pub(super) fn possible(&self) -> impl Iterator<Item = &Need> {
        self.needs.iter().filter(|need| need.is_possible)
    }
}

/// Goes through the blocks of a load.
struct Search<'a> {
    open: &'a OpenLoad,
    domains: &'a Domains,
    targets: &'a [Vec<Target>],
    /// What is wrong with each part as a whole.
    problems: Vec<Option<&'a str>>,
    needs: Vec<Need>,
}

/// Why a part is written anew that is in order.
const SPARSE: &str = "most of its part is not needed any more";

impl Search<'_> {
    fn find(&mut self) {
        for chunk in 0..self.open.chunks.len() {
            for (column, targets) in self.targets.iter().enumerate() {
                for (replica, target) in (0..).zip(targets) {
                    if let Some((cause, reason)) = self.problem((chunk, column), replica, target) {
                        let needed = Need {
                            chunk,
                            column,
                            replica,
                            cause,
                            reason,
                            is_possible: self.domains.get(&target.domain).is_ok(),
                            bytes: self.expected_bytes(chunk, column),
                        };
                        self.needs.push(needed);
                    }
                }
            }
        }
    }

    fn problem(
        &self,
        (chunk, column): (usize, usize),
        replica: u8,
        target: &Target,
    ) -> Option<(WearCause, String)> {
        let is_it = |place: &&BlockPlace| {
            place.is_current && self.open.part_and_entry(place).1.replica == replica
        };
        let Some(place) = self.open.places(chunk, column).iter().find(is_it) else {
            let reason = match self.domains.get(&target.domain) {
                Ok(_) => "it is not there".to_owned(),
                Err(problem) => problem,
            };
            return Some((WearCause::Repair, reason));
        };
        let (part, entry) = self.open.part_and_entry(place);
        let slot = &part.slots[place.slot as usize];
        if slot.state() == BlockState::Lost {
            let reason = slot.problem().unwrap_or("it is lost").to_owned();
            return Some((WearCause::Repair, reason));
        }
        if part.domain != target.domain || entry.choice != target.format {
            let reason = format!("it is {} in domain {}", entry.choice, part.domain);
            return Some((WearCause::Conversion, reason));
        }
        let problem = self.problems[place.part as usize]?;
        let cause = if problem == SPARSE { WearCause::Conversion } else { WearCause::Repair };
        Some((cause, problem.to_owned()))
    }

    fn expected_bytes(&self, chunk: usize, column: usize) -> u64 {
        let places = self.open.places(chunk, column).iter();
        places.map(|place| self.open.part_and_entry(place).1.bytes).max().unwrap_or(1)
    }

    /// Finds parts of which less than half is needed, but something; returns whether there is one.
    fn mark_sparse_parts(&mut self) -> bool {
        let needed = needed_bytes(self.open, self.targets, &self.needs);
        let mut has_one = false;
        for (number, part) in self.open.parts.iter().enumerate() {
            let all: u64 = part.slots.iter().map(|slot| slot.entry.bytes).sum();
            if self.problems[number].is_none() && needed[number] > 0 && needed[number] < all / 2 {
                self.problems[number] = Some(SPARSE);
                has_one = true;
            }
        }
        has_one
    }
}

/// Returns for each part how many bytes of it remain needed when `written` have been written anew.
fn needed_bytes(open: &OpenLoad, targets: &[Vec<Target>], written: &[Need]) -> Vec<u64> {
    let mut bytes = vec![0; open.parts.len()];
    let mut written = written.iter().filter(|need| need.is_possible).peekable();
    for chunk in 0..open.chunks.len() {
        for (column, targets) in targets.iter().enumerate() {
            let mut replaced = 0_u64;
            while let Some(need) =
                written.next_if(|need| need.chunk == chunk && need.column == column)
            {
                replaced |= 1 << need.replica;
            }
            for place in open.places(chunk, column).iter().filter(|place| place.is_current) {
                let entry = open.part_and_entry(place).1;
                let is_wanted = usize::from(entry.replica) < targets.len();
                if is_wanted && replaced >> entry.replica & 1 == 0 {
                    bytes[place.part as usize] += entry.bytes.max(1);
                }
            }
        }
    }
    bytes
}

/// Returns the numbers of parts of which nothing is needed any more when `written` have been
/// written anew. Parts that cannot be mapped go when nothing is left to be done.
pub(super) fn unneeded_parts(
    load: &StoredLoad,
    open: &OpenLoad,
    needs: &Needs,
    written: &[Need],
) -> Vec<u32> {
    let needed = needed_bytes(open, &needs.targets, written);
    let mapped = open.parts.iter().zip(needed);
    let empty = mapped.filter(|(_, bytes)| *bytes == 0);
    let mut numbers: Vec<u32> = empty.map(|(part, _)| part.number()).collect();
    if needs.needs.len() == written.len() {
        let is_mapped = |number: u32| open.parts.iter().any(|part| part.number() == number);
        let parts = load.parts();
        let others = parts.iter().map(|part| part.record().number);
        numbers.extend(others.filter(|number| !is_mapped(*number)));
    }
    numbers
}

/// Whether it is a replica in DRAM that was not built yet, which is no loss.
pub(super) fn is_unbuilt(need: &Need, needs: &Needs) -> bool {
    let target = &needs.targets[need.column][usize::from(need.replica)];
    target.domain == DRAM_DOMAIN
}
