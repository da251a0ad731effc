//! The hybrid tree: each insert, update and delete is there or not, and leaves are never torn.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use nacre_pmem::Domain;
use nacre_pmem::sim::{Crash, Marks, Outcome};
use nacre_pmem::structure::HybridTree;

use crate::script::{create_with, done, open};
use crate::support::{self, Random, line_copies};

const DATA_BYTES: u64 = 256 << 10;

/// Room for large extents.
const LONG_DATA_BYTES: u64 = 512 << 10;

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// A key with its new value, or none to delete it.
type Step = (Vec<u8>, Option<Vec<u8>>);

/// Makes `count` steps over `keys` keys; `size` chooses the bytes of a value.
fn plan(
    seed: u64,
    count: usize,
    keys: u64,
    size: impl Fn(&mut Random) -> u64,
) -> (Vec<Step>, Vec<Content>) {
    let mut random = Random::new(seed);
    let mut content = Content::new();
    let (mut steps, mut contents) = (Vec::new(), vec![content.clone()]);
    for _ in 0..count {
        let number = random.below(keys);
        let key = format!("key {number:0width$}", width = 1 + number as usize % 40).into_bytes();
        let value = match random.below(4) {
            0 => None,
            _ => {
                let bytes = size(&mut random) as usize;
                Some(random.bytes(bytes))
            }
        };
        match &value {
            Some(value) => content.insert(key.clone(), value.clone()),
            None => content.remove(&key),
        };
        steps.push((key, value));
        contents.push(content.clone());
    }
    (steps, contents)
}

/// Creates the tree with the first `count` steps done.
fn setup(domains: &[Domain], data_bytes: u64, steps: &[Step]) -> Outcome {
    let tree = HybridTree::create(create_with(domains, data_bytes)?)?;
    steps.iter().try_for_each(|step| run(&tree, step))
}

fn run(tree: &HybridTree, (key, value): &Step) -> Outcome {
    match value {
        Some(value) => tree.upsert(key, value)?,
        None => tree.delete(key)?,
    };
    Ok(())
}

fn workload(domains: &[Domain], steps: &[Step], marks: &Marks<'_>) -> Outcome {
    let tree = HybridTree::open(open(domains)?)?;
    for (number, step) in steps.iter().enumerate() {
        run(&tree, step)?;
        marks.note(number as u64 + 1);
    }
    Ok(())
}

fn check(crash: &Crash<'_>, contents: &[Content]) -> Outcome {
    let tree = HybridTree::open(open(crash.domains())?)?;
    crash.recovered();
    tree.check()?;
    let mut found = Content::new();
    tree.range((Bound::Unbounded, Bound::Unbounded), |key, value| {
        found.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    })?;
    let done = done(crash);
    if found != contents[done] && Some(&found) != contents.get(done + 1) {
        return Err(format!("{} keys fit neither {done} steps nor one more", found.len()).into());
    }
    tree.upsert(b"after", b"the crash")?;
    tree.check()?;
    Ok(())
}

#[test]
fn tree_keeps_every_acknowledged_change() {
    const PREPARED: usize = 60;
    for copies in 1..3 {
        support::explore(&format!("hybrid tree, {copies} members"), 8, |explorer, seed| {
            let (steps, contents) = plan(seed, PREPARED + 30, 60, |random| random.below(300));
            explorer.media(&line_copies(seed, copies)).run(
                |domains| setup(domains, DATA_BYTES, &steps[..PREPARED]),
                |domains, marks| workload(domains, &steps[PREPARED..], marks),
                |crash| check(crash, &contents[PREPARED..]),
            )
        });
    }
}

#[test]
fn tree_keeps_long_values_whole_and_leaks_no_extent() {
    const PREPARED: usize = 20;
    // In the leaf, as a word or not, and in extents of two groups and of whole spans.
    const SIZES: [u64; 6] = [8, 300, 600, 600, 900, 33_000];
    for copies in 1..3 {
        support::explore(&format!("long values, {copies} members"), 4, |explorer, seed| {
            let size = |random: &mut Random| SIZES[random.below(6) as usize];
            let (steps, contents) = plan(seed, PREPARED + 12, 3, size);
            explorer.media(&line_copies(seed, copies)).run(
                |domains| setup(domains, LONG_DATA_BYTES, &steps[..PREPARED]),
                |domains, marks| workload(domains, &steps[PREPARED..], marks),
                |crash| check(crash, &contents[PREPARED..]),
            )
        });
    }
}
