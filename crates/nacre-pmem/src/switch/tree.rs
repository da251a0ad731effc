//! The decision tree: which mechanism is best in which situation.
//!
//! Its questions are asked in the paper's order of importance: memory kind, access pattern,
//! transaction or not, number of replicas; a leaf is a list of sizes up to which a mechanism is
//! taken. A question whose answers all lead to the same is not asked.

use std::collections::BTreeMap;
use std::fmt;

use crate::granularity::DomainKind;
use crate::replicate::Mechanism;

use super::profile::{Machine, Measurement, Pattern, Profile, Situation, transaction_name};

/// A mechanism this much slower than the best one is as good: runs differ by that much.
const TOLERANCE: f64 = 0.03;
/// Workers occupy a processor each, whatever is updated, and take from words the atomicity that
/// saves them the transaction log: they must be worth it.
const WORKERS_GAIN: f64 = 1.3;
/// Whole transactions at random places take longer than calibration says if they store through the
/// cache, by 10 to 40 % at 64 bytes, and not if they stream; so there streams may be measured this
/// much slower.
const STREAMS_TOLERANCE: f64 = 0.25;

/// The questions, in the order in which they are asked.
const QUESTION_COUNT: usize = 4;
const PATTERN_QUESTION: usize = 1;
const TRANSACTION_QUESTION: usize = 2;

/// Which mechanism an update takes.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionTree {
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Leaf(Vec<Range>),
    /// The answers to question `question` that were measured, ascending.
    Split {
        question: usize,
        branches: Vec<(u8, Node)>,
    },
}

/// Updates of at most so many bytes, and above the range before, take this mechanism.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    bytes_max: u64,
    mechanism: Mechanism,
}

/// What was measured of one situation: nanoseconds by size and mechanism.
type Figures = BTreeMap<u64, BTreeMap<Mechanism, f64>>;

impl DecisionTree {
    /// Returns the tree for a machine without a profile.
    ///
    /// Measured on tmpfs. Intel (Emerald Rapids): cached copies whose lines were all prefetched win
    /// to 128 bytes (with at most one replica to 256), streams of all members above. Nobody waits
    /// for the stores of a transaction in place, so there streaming wins from 64 bytes.
    /// AMD (Zen 4): a streamed master saves the load of its line before the store, and so wins at
    /// every size; what it costs is a later load of that line, so it is not taken for small
    /// updates in transactions, which may follow each other in a line; those of one word (8 bytes)
    /// are alone.
    pub fn built_in(machine: &Machine) -> DecisionTree {
        let up_to = |bytes_max, mechanism| Range { bytes_max, mechanism };
        let streamed = up_to(u64::MAX, Mechanism::MOVNT_SF_SM);
        let root = if machine.cpu.starts_with("AMD") {
            let word = up_to(8, Mechanism::MOVNT_SF_SM);
            let transactional = vec![word, up_to(32, Mechanism::MOVNT_SF), streamed];
            let leaves = [vec![streamed], transactional].map(Node::Leaf);
            Node::Split { question: 2, branches: (0..).zip(leaves).collect() }
        } else {
            let plain = vec![up_to(128, Mechanism::SF_PF), streamed];
            let leaves = [plain, vec![up_to(32, Mechanism::SF_PF), streamed]].map(Node::Leaf);
            Node::Split { question: 2, branches: (0..).zip(leaves).collect() }
        };
        DecisionTree { root }
    }

    /// Derives a tree from measurements; `None` if there is none of a mechanism that can run here.
    ///
    /// In each situation as few ranges of sizes are formed as possible, and each takes, of the
    /// mechanisms that are within 3 % of the best at all its sizes, the one that is good in the
    /// most other places too; with workers only where all others take a third longer, in
    /// transactions at random places through the cache only where streams take a quarter longer.
    pub fn derive(profile: &Profile) -> Option<DecisionTree> {
        let mut figures: BTreeMap<[u8; QUESTION_COUNT], Figures> = BTreeMap::new();
        for &Measurement { situation, update_bytes, mechanism, ns } in &profile.measurements {
            if mechanism.is_available() {
                let of_situation = figures.entry(answers(&situation)).or_default();
                of_situation.entry(update_bytes).or_default().insert(mechanism, ns);
            }
        }
        for (answers, of_situation) in &mut figures {
            let is_uniform = answers[PATTERN_QUESTION] == Pattern::Uniform as u8;
            if is_uniform && answers[TRANSACTION_QUESTION] != 0 {
                of_situation.values_mut().for_each(prefer_streams);
            }
        }
        let order = cover(&figures);
        let leaves: Vec<_> = figures
            .into_iter()
            .map(|(answers, figures)| (answers, ranges(&figures, &order)))
            .collect();
        if leaves.is_empty() { None } else { Some(DecisionTree { root: grow(0, &leaves) }) }
    }

    /// Returns the mechanism for an update.
    ///
    /// What was not measured takes the branch of the nearest lower answer, or the first.
    pub fn choose(&self, situation: &Situation, update_bytes: u64) -> Mechanism {
        let answers = answers(situation);
        let mut node = &self.root;
        loop {
            match node {
                Node::Leaf(ranges) => {
                    let range = ranges.iter().find(|range| update_bytes <= range.bytes_max);
                    return range.map_or(Mechanism::SF_PF, |range| range.mechanism);
                }
                Node::Split { question, branches } => {
                    let answer = answers[*question];
                    let below = branches.iter().rev().find(|(branch, _)| *branch <= answer);
                    match below.or(branches.first()) {
                        Some((_, branch)) => node = branch,
                        None => return Mechanism::SF_PF,
                    }
                }
            }
        }
    }
}

fn answers(situation: &Situation) -> [u8; QUESTION_COUNT] {
    let kind = DomainKind::ALL.iter().position(|&kind| kind == situation.kind).unwrap_or(0);
    [
        kind as u8,
        situation.pattern as u8,
        u8::from(situation.is_transactional),
        situation.replica_count as u8,
    ]
}

fn answer_name(question: usize, answer: u8) -> String {
    match question {
        0 => format!("memory {}", DomainKind::ALL[usize::from(answer)]),
        1 => format!("access {}", Pattern::ALL[usize::from(answer)]),
        2 => transaction_name(answer != 0).to_string(),
        _ => format!("replicas {answer}"),
    }
}

/// Builds the node for `leaves`, which agree in all answers before `question`.
fn grow(question: usize, leaves: &[([u8; QUESTION_COUNT], Vec<Range>)]) -> Node {
    let Some((_, first)) = leaves.first() else {
        return Node::Leaf(Vec::new());
    };
    if question == QUESTION_COUNT {
        return Node::Leaf(first.clone());
    }
    let mut branches: Vec<(u8, Node)> = leaves
        .chunk_by(|(left, _), (right, _)| left[question] == right[question])
        .map(|group| (group[0].0[question], grow(question + 1, group)))
        .collect();
    if branches.iter().all(|(_, node)| *node == branches[0].1) {
        return branches.swap_remove(0).1;
    }
    Node::Split { question, branches }
}

/// Leaves only mechanisms that stream all members if one of them is about as good as the best.
fn prefer_streams(by_mechanism: &mut BTreeMap<Mechanism, f64>) {
    let best_of = |by_mechanism: &BTreeMap<Mechanism, f64>, is_wanted: fn(&Mechanism) -> bool| {
        let figures = by_mechanism.iter().filter(|(mechanism, _)| is_wanted(mechanism));
        figures.map(|(_, ns)| *ns).fold(f64::INFINITY, f64::min)
    };
    let is_streamed =
        |mechanism: &Mechanism| mechanism.streams_master() && !mechanism.needs_workers();
    let (best, streamed) = (best_of(by_mechanism, |_| true), best_of(by_mechanism, is_streamed));
    if streamed <= best * (1.0 + STREAMS_TOLERANCE) {
        by_mechanism.retain(|mechanism, _| is_streamed(mechanism));
    }
}

/// Returns the mechanisms that are as good as the best at a size; none with workers unless all
/// others take longer by [`WORKERS_GAIN`].
fn good_at(by_mechanism: &BTreeMap<Mechanism, f64>) -> Vec<Mechanism> {
    let best_of = |has_workers: bool| {
        let figures = by_mechanism.iter();
        let figures = figures.filter(|(mechanism, _)| mechanism.needs_workers() == has_workers);
        figures.map(|(_, ns)| *ns).fold(f64::INFINITY, f64::min)
    };
    let (alone, with_workers) = (best_of(false), best_of(true));
    let takes_workers = with_workers * WORKERS_GAIN < alone;
    let best = if takes_workers { with_workers } else { alone };
    by_mechanism
        .iter()
        .filter(|(mechanism, _)| mechanism.needs_workers() == takes_workers)
        .filter(|(_, ns)| **ns <= best * (1.0 + TOLERANCE))
        .map(|(&mechanism, _)| mechanism)
        .collect()
}

/// Returns mechanisms in the order of preference: first the one that is good at the most sizes
/// in all situations, then the one that is at the most of the rest, and so on; the fewest parts
/// decide between equals.
fn cover(figures: &BTreeMap<[u8; QUESTION_COUNT], Figures>) -> Vec<Mechanism> {
    let mut cells: Vec<_> =
        figures.values().flat_map(|by_size| by_size.values().map(good_at)).collect();
    let mut order = Vec::new();
    while !cells.is_empty() {
        let covered = |one: &Mechanism| cells.iter().filter(|cell| cell.contains(one)).count();
        let next = Mechanism::ALL.into_iter().max_by_key(|one| {
            (covered(one), std::cmp::Reverse((one.needs_workers(), one.part_count())))
        });
        let Some(next) = next.filter(|next| covered(next) > 0) else {
            break;
        };
        cells.retain(|cell| !cell.contains(&next));
        order.push(next);
    }
    order
}

/// Covers the measured sizes by as few ranges as possible.
fn ranges(figures: &Figures, order: &[Mechanism]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    let preferred =
        |good: &[Mechanism]| order.iter().find(|one| good.contains(one)).or(good.first()).copied();
    // The mechanisms that are good at every size of the range so far.
    let mut good: Vec<Mechanism> = Vec::new();
    let mut bytes_max = 0;
    for (&update_bytes, by_mechanism) in figures {
        let here = good_at(by_mechanism);
        let both: Vec<_> = good.iter().copied().filter(|one| here.contains(one)).collect();
        if both.is_empty() {
            ranges.extend(preferred(&good).map(|mechanism| Range { bytes_max, mechanism }));
            good = here;
        } else {
            good = both;
        }
        bytes_max = update_bytes;
    }
    let last = preferred(&good).map(|mechanism| Range { bytes_max: u64::MAX, mechanism });
    ranges.extend(last);
    ranges
}

impl fmt::Display for DecisionTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_node(f, &self.root, 0)
    }
}

fn write_node(f: &mut fmt::Formatter<'_>, node: &Node, depth: usize) -> fmt::Result {
    let indent = depth * 2;
    match node {
        Node::Leaf(ranges) => {
            for range in ranges {
                match range.bytes_max {
                    u64::MAX => writeln!(f, "{:indent$}any size: {}", "", range.mechanism)?,
                    bytes => writeln!(f, "{:indent$}to {bytes} bytes: {}", "", range.mechanism)?,
                }
            }
        }
        Node::Split { question, branches } => {
            for (answer, branch) in branches {
                writeln!(f, "{:indent$}{}", "", answer_name(*question, *answer))?;
                write_node(f, branch, depth + 1)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flush::FlushFlavour;

    fn situation(pattern: Pattern, replica_count: usize) -> Situation {
        Situation { kind: DomainKind::Shm, pattern, is_transactional: false, replica_count }
    }

    fn profile(rows: &[(Pattern, usize, u64, &str, f64)]) -> Profile {
        let machine = Machine { cpu: "test".into(), flush: FlushFlavour::Clwb };
        let measurements = rows.iter().map(|&(pattern, replicas, update_bytes, name, ns)| {
            let mechanism = name.parse().unwrap();
            Measurement { situation: situation(pattern, replicas), update_bytes, mechanism, ns }
        });
        Profile { machine, measurements: measurements.collect() }
    }

    #[test]
    fn best_mechanism_of_each_range_is_chosen() {
        let uniform = Pattern::Uniform;
        let tree = DecisionTree::derive(&profile(&[
            (uniform, 1, 4, "SF+PF", 100.0),
            (uniform, 1, 4, "MOVNT+SF", 150.0),
            (uniform, 1, 64, "SF+PF", 110.0),
            (uniform, 1, 64, "MOVNT+SF", 120.0),
            (uniform, 1, 256, "SF+PF", 300.0),
            (uniform, 1, 256, "MOVNT+SF", 200.0),
        ]))
        .unwrap();
        let choose = |bytes| tree.choose(&situation(uniform, 1), bytes).name();
        assert_eq!(
            [choose(1), choose(64), choose(65), choose(1 << 20)],
            ["SF+PF", "SF+PF", "MOVNT+SF", "MOVNT+SF"]
        );
        assert_eq!(tree.to_string(), "to 64 bytes: SF+PF\nany size: MOVNT+SF\n");
    }

    #[test]
    fn noise_picks_nothing_exotic() {
        let uniform = Pattern::Uniform;
        let tree = DecisionTree::derive(&profile(&[
            (uniform, 1, 4, "SF", 102.0),
            (uniform, 1, 4, "SF+SCA+PF+POST", 100.0),
            (uniform, 1, 64, "SF", 100.0),
            (uniform, 1, 64, "SF+SCA+PF+POST", 101.0),
            (uniform, 1, 64, "Threads", 99.0),
        ]))
        .unwrap();
        assert_eq!(tree.to_string(), "any size: SF\n");
    }

    #[test]
    fn questions_are_asked_only_where_answers_differ() {
        let tree = DecisionTree::derive(&profile(&[
            (Pattern::Uniform, 1, 4, "SF", 1.0),
            (Pattern::Uniform, 3, 4, "SF+SCA", 1.0),
            (Pattern::Sequential, 1, 4, "SF", 1.0),
            (Pattern::Sequential, 3, 4, "SF", 1.0),
        ]))
        .unwrap();
        let uniform = |replicas| tree.choose(&situation(Pattern::Uniform, replicas), 4).name();
        if Mechanism::SF_SCA_PF.is_available() {
            assert_eq!(
                [uniform(1), uniform(2), uniform(3), uniform(7)],
                ["SF", "SF", "SF+SCA", "SF+SCA"]
            );
            assert!(tree.to_string().starts_with("access uniform\n  replicas 1\n"), "{tree}");
        }
        assert_eq!(tree.choose(&situation(Pattern::Sequential, 3), 4).name(), "SF");
    }

    #[test]
    fn transactions_stream_unless_the_cache_is_much_quicker() {
        let rows = [
            (Pattern::Uniform, 1, 16, "SF+PF", 100.0),
            (Pattern::Uniform, 1, 16, "MOVNT+SF+SM", 150.0),
            (Pattern::Uniform, 1, 64, "SF+PF", 100.0),
            (Pattern::Uniform, 1, 64, "MOVNT+SF+SM", 120.0),
        ];
        let mut profile = profile(&rows);
        let plain = DecisionTree::derive(&profile).unwrap();
        assert_eq!(plain.to_string(), "any size: SF+PF\n");
        profile.measurements.iter_mut().for_each(|one| one.situation.is_transactional = true);
        let transactional = DecisionTree::derive(&profile).unwrap();
        assert_eq!(transactional.to_string(), "to 16 bytes: SF+PF\nany size: MOVNT+SF+SM\n");
    }

    #[test]
    fn nothing_measured_is_no_tree() {
        assert_eq!(DecisionTree::derive(&profile(&[])), None);
        for cpu in ["AMD EPYC", "Intel"] {
            let machine = Machine { cpu: cpu.into(), flush: FlushFlavour::Clwb };
            assert!(DecisionTree::built_in(&machine).to_string().contains("any size: MOVNT"));
        }
    }
}
