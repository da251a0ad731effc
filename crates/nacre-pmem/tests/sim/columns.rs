//! The column store: plain and batched updates are torn at words only, transactions not at all.

use nacre_pmem::sim::{Crash, Marks, Outcome};
use nacre_pmem::structure::ColumnStore;
use nacre_pmem::{Domain, PoolSet};

use crate::script::{check_members, create, done, open};
use crate::support::{self, Random, bytes, line_copies, pages};

const ROWS: u64 = 1000;

/// How the values of a step are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Update,
    Batch,
    Transaction,
}

/// Rows with their new values.
struct Step {
    how: How,
    writes: Vec<(u64, Vec<u8>)>,
}

/// Steps with all values before the first and after each.
struct Plan {
    width: u32,
    steps: Vec<Step>,
    contents: Vec<Vec<u8>>,
}

impl Plan {
    fn random(seed: u64, count: usize) -> Plan {
        let mut random = Random::new(seed);
        let width = [4, 4, 8][random.below(3) as usize];
        let mut content = vec![0; (ROWS * width) as usize];
        let mut plan =
            Plan { width: width as u32, steps: Vec::new(), contents: vec![content.clone()] };
        for _ in 0..count {
            let how = [How::Update, How::Batch, How::Transaction][random.below(3) as usize];
            let writes = if how == How::Batch { 1 + random.below(6) } else { 1 };
            let writes: Vec<(u64, Vec<u8>)> = (0..writes)
                .map(|_| {
                    let rows = [1, 1, 1, 16, 70][random.below(5) as usize];
                    let room = [24, ROWS - 70][random.below(2) as usize];
                    let row = random.below(room);
                    (row, random.bytes((rows * width) as usize))
                })
                .collect();
            for (row, values) in &writes {
                let start = (row * width) as usize;
                content[start..start + values.len()].copy_from_slice(values);
            }
            plan.steps.push(Step { how, writes });
            plan.contents.push(content.clone());
        }
        plan
    }

    fn setup(&self, domains: &[Domain]) -> Outcome {
        let mut set = create(domains)?;
        let offset = set.data_offset();
        ColumnStore::create_at(&mut set, offset, self.width, ROWS)?;
        Ok(())
    }

    fn workload(&self, domains: &[Domain], marks: &Marks<'_>) -> Outcome {
        let mut set = open(domains)?;
        let store = ColumnStore::open(&set)?;
        for (number, step) in self.steps.iter().enumerate() {
            run(&mut set, &store, step)?;
            marks.note(number as u64 + 1);
        }
        Ok(())
    }

    fn check(&self, crash: &Crash<'_>) -> Outcome {
        let mut set = open(crash.domains())?;
        let store = ColumnStore::open(&set)?;
        crash.recovered();
        let found = store.read(&set, 0, ROWS)?;
        let done = done(crash);
        let old = &self.contents[done];
        let new = self.contents.get(done + 1).unwrap_or(old);
        let is_whole = found == old || found == new;
        let how = self.steps.get(done).map(|step| step.how);
        if how == Some(How::Transaction) && !is_whole {
            return Err(format!("transaction {done} is there in part").into());
        }
        // A batch may write a row twice, and either of its values may be found.
        if how == Some(How::Update) && !is_whole {
            check_words(found, old, new)?;
        }
        if how == Some(How::Batch) && !is_whole {
            self.check_batch(found, done)?;
        }
        check_members(&set)?;
        store.update_tx(&mut set, ROWS - 1, &vec![7; self.width as usize])?;
        store.update(&mut set, ROWS - 1, &vec![8; self.width as usize])?;
        check_members(&set)
    }

    /// Every word is as before the batch, or as after one of its writes.
    fn check_batch(&self, found: &[u8], done: usize) -> Outcome {
        let mut allowed = vec![self.contents[done].clone()];
        for (row, values) in &self.steps[done].writes {
            let mut content = allowed[allowed.len() - 1].clone();
            let start = (*row * u64::from(self.width)) as usize;
            content[start..start + values.len()].copy_from_slice(values);
            allowed.push(content);
        }
        for start in (0..found.len()).step_by(8) {
            let word = start..start + 8;
            if !allowed.iter().any(|content| content[word.clone()] == found[word.clone()]) {
                return Err(format!("bytes {word:?} after {done} steps").into());
            }
        }
        Ok(())
    }
}

fn check_words(found: &[u8], old: &[u8], new: &[u8]) -> Outcome {
    for start in (0..found.len()).step_by(8) {
        let word = start..start + 8;
        if found[word.clone()] != old[word.clone()] && found[word.clone()] != new[word.clone()] {
            return Err(format!("bytes {word:?} are neither old nor new").into());
        }
    }
    Ok(())
}

fn run(set: &mut PoolSet, store: &ColumnStore, step: &Step) -> nacre_pmem::Result<()> {
    let (row, values) = &step.writes[0];
    match step.how {
        How::Update => store.update(set, *row, values),
        How::Transaction => store.update_tx(set, *row, values),
        How::Batch => {
            let updates: Vec<(u64, &[u8])> =
                step.writes.iter().map(|(row, values)| (*row, &values[..])).collect();
            store.update_batch(set, &updates)
        }
    }
}

#[test]
fn values_survive_and_transactions_are_whole() {
    for (percent, copies, kind) in [(3, 1, 0), (4, 2, 0), (4, 4, 0), (2, 2, 1), (2, 2, 2)] {
        support::explore(&format!("column store of {copies}"), percent, |explorer, seed| {
            let plan = Plan::random(seed, 20);
            let media = match kind {
                0 => line_copies(seed, copies),
                1 => vec![pages(); copies as usize],
                _ => vec![bytes(); copies as usize],
            };
            explorer.media(&media).run(
                |domains| plan.setup(domains),
                |domains, marks| plan.workload(domains, marks),
                |crash| plan.check(crash),
            )
        });
    }
}

#[test]
fn column_store_is_there_wholly_or_not_at_all() {
    support::explore("creation of a column store", 1, |explorer, seed| {
        explorer.media(&line_copies(seed, 2)).run(
            |domains| {
                // What lay there before is not zero.
                let mut set = create(domains)?;
                let offset = set.data_offset();
                set.update(offset, &vec![0xAA; 8000])?;
                Ok(())
            },
            |domains, marks| {
                ColumnStore::create(&mut open(domains)?, ROWS)?;
                marks.note(1);
                Ok(())
            },
            |crash| {
                let set = open(crash.domains())?;
                crash.recovered();
                match ColumnStore::open(&set) {
                    Ok(store) if store.read(&set, 0, ROWS)?.iter().all(|&byte| byte == 0) => Ok(()),
                    Ok(_) => Err("values that are not zero".into()),
                    Err(error) if done(crash) > 0 => Err(error.into()),
                    Err(_) => Ok(()),
                }
            },
        )
    });
}
