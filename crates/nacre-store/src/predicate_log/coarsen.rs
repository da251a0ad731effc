//! Fewer predicates for the same rows, and some more.

use std::cmp::Ordering;

use super::log::Limits;
use super::predicate::{Predicate, Subject};
use super::test::Test;

/// How far two neighbours are apart, if they test the same subjects: how many of the tests follow
/// the first that differs, and the gap there.
type Distance = (usize, u64);

/// Merges predicates until half of what `limits` allows is left.
///
/// Predicates of equal subjects are sorted by their tests; the neighbours that are nearest to each
/// other become ranges. If there are too many kinds of predicates even so, the whole table is one.
pub(super) fn coarsen(mut predicates: Vec<Predicate>, limits: Limits) -> Vec<Predicate> {
    for predicate in &mut predicates {
        predicate.tests.sort_by_key(|test| test.0);
    }
    predicates.sort_by(compare_tests);
    predicates.dedup_by(|next, last| {
        let is_equal = next.tests == last.tests;
        if is_equal {
            last.touched.extend_from(&next.touched);
        }
        is_equal
    });
    let target = (limits.predicates / 2).max(1);
    if predicates.len() > target {
        predicates = merge_nearest(predicates, target);
    }
    if words(&predicates) > limits.words / 2 {
        predicates.iter_mut().flat_map(|predicate| &mut predicate.tests).for_each(|(_, test)| {
            *test = test.hull(test);
        });
    }
    if predicates.len() > target || words(&predicates) > limits.words / 2 {
        let mut whole = Predicate::default();
        predicates.into_iter().for_each(|predicate| whole.merge(predicate));
        predicates = vec![whole];
    }
    predicates
}

fn words(predicates: &[Predicate]) -> usize {
    let of_one = |predicate: &Predicate| {
        predicate.touched.words() + predicate.tests.iter().map(|test| test.1.words()).sum::<usize>()
    };
    predicates.iter().map(of_one).sum()
}

fn subjects(predicate: &Predicate) -> impl Iterator<Item = Subject> {
    predicate.tests.iter().map(|test| test.0)
}

/// Predicates of the same subjects lie together, in the order of what they test for.
fn compare_tests(left: &Predicate, right: &Predicate) -> Ordering {
    let bounds = |(_, test): &(Subject, Test)| test.bounds();
    subjects(left)
        .cmp(subjects(right))
        .then_with(|| left.tests.iter().map(bounds).cmp(right.tests.iter().map(bounds)))
        .then_with(|| left.tests.cmp(&right.tests))
}

fn distance(left: &Predicate, right: &Predicate) -> Option<Distance> {
    if !subjects(left).eq(subjects(right)) {
        return None;
    }
    let mut pairs = left.tests.iter().zip(&right.tests);
    let position = pairs.position(|(left, right)| left != right)?;
    let (left_test, right_test) = (&left.tests[position].1, &right.tests[position].1);
    let gap = right_test.bounds().0.saturating_sub(left_test.bounds().1);
    Some((left.tests.len() - position, gap))
}

fn merge_nearest(predicates: Vec<Predicate>, target: usize) -> Vec<Predicate> {
    let mut distances: Vec<(Distance, usize)> = predicates
        .windows(2)
        .enumerate()
        .filter_map(|(index, pair)| Some((distance(&pair[0], &pair[1])?, index + 1)))
        .collect();
    let surplus = predicates.len() - target;
    if distances.len() > surplus {
        distances.select_nth_unstable(surplus);
        distances.truncate(surplus);
    }
    let mut is_merged = vec![false; predicates.len()];
    distances.iter().for_each(|(_, index)| is_merged[*index] = true);
    let mut merged: Vec<Predicate> = Vec::with_capacity(target);
    for (predicate, is_merged) in predicates.into_iter().zip(is_merged) {
        match merged.last_mut() {
            Some(last) if is_merged => last.merge(predicate),
            _ => merged.push(predicate),
        }
    }
    merged
}
