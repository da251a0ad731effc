//! The separators of an inner node, and the search among them.
//!
//! Child `i` holds the keys from separator `i - 1` (inclusive) to separator `i` (exclusive). The
//! search compares *heads*, the first eight bytes of a separator as a big-endian number, and reads
//! whole separators only where heads tie. If the separators are not told apart by their first
//! eight bytes, what all of them begin with is skipped, so that heads tell them apart again.

use std::cmp::Ordering;

/// Longest common prefix that is skipped; what is longer only costs comparisons.
const SKIP_BYTES_MAX: usize = 32;

/// Which child is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seek<'a> {
    /// The one that may hold the key.
    Of(&'a [u8]),
    /// The one that may hold the largest keys below the key.
    Below(&'a [u8]),
    /// The last one.
    Last,
}

/// Sorted separators of one node of up to `FANOUT` children, a power of two.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Separators<const FANOUT: usize> {
    count: u16,
    skip_bytes: u8,
    skip: [u8; SKIP_BYTES_MAX],
    keys: Vec<Box<[u8]>>,
    /// Heads of `keys`, behind them `u64::MAX`.
    heads: [u64; FANOUT],
}

impl<const FANOUT: usize> Separators<FANOUT> {
    /// `keys` are ascending, and fewer than [`FANOUT`].
    pub(super) fn new(keys: Vec<Box<[u8]>>) -> Separators<FANOUT> {
        assert!(keys.len() < FANOUT);
        let mut separators = Separators {
            count: 0,
            skip_bytes: 0,
            skip: [0; SKIP_BYTES_MAX],
            keys,
            heads: [u64::MAX; FANOUT],
        };
        separators.rebuild();
        separators
    }

    pub(super) fn count(&self) -> usize {
        usize::from(self.count)
    }

    pub(super) fn is_full(&self) -> bool {
        self.count() == FANOUT - 1
    }

    fn key(&self, index: usize) -> Option<&[u8]> {
        self.keys.get(index).map(|key| &**key)
    }

    /// Returns the child that holds `key`.
    #[inline]
    pub(super) fn child(&self, key: &[u8]) -> usize {
        let skip_bytes = usize::from(self.skip_bytes);
        let mut rest = key;
        if skip_bytes > 0 {
            let skip = &self.skip[..skip_bytes];
            match key.get(..skip_bytes).unwrap_or(key).cmp(skip) {
                Ordering::Less => return 0,
                Ordering::Greater => return self.count(),
                Ordering::Equal => rest = &key[skip_bytes..],
            }
        }
        let head = head_of(rest);
        let child = count_up_to(&self.heads, head).min(self.count());
        if child > 0 && self.heads[child - 1] == head {
            return self.child_among_ties(key, head, child);
        }
        child
    }

    /// Returns the child that holds the keys just below `key`.
    pub(super) fn child_below(&self, key: &[u8]) -> usize {
        let child = self.child(key);
        match child.checked_sub(1) {
            Some(before) if *self.keys[before] == *key => before,
            _ => child,
        }
    }

    /// Returns the child that `seek` names, and narrows the bounds to those of the child.
    pub(super) fn seek<'a>(
        &'a self,
        seek: Seek<'_>,
        lower: &mut Option<&'a [u8]>,
        upper: &mut Option<&'a [u8]>,
    ) -> usize {
        let child = match seek {
            Seek::Of(key) => self.child(key),
            Seek::Below(key) => self.child_below(key),
            Seek::Last => self.count(),
        };
        if child > 0 {
            *lower = self.key(child - 1);
        }
        *upper = self.key(child).or(*upper);
        child
    }

    #[cold]
    fn child_among_ties(&self, key: &[u8], head: u64, end: usize) -> usize {
        let start = self.heads[..end].partition_point(|&other| other < head);
        start + self.keys[start..end].partition_point(|separator| **separator <= *key)
    }

    pub(super) fn insert(&mut self, index: usize, key: Box<[u8]>) {
        assert!(!self.is_full());
        self.keys.insert(index, key);
        self.rebuild();
    }

    pub(super) fn remove(&mut self, index: usize) {
        self.keys.remove(index);
        self.rebuild();
    }

    /// Moves the separators from `index` on into the result; the one at `index` is returned apart.
    pub(super) fn split_off(&mut self, index: usize) -> (Box<[u8]>, Separators<FANOUT>) {
        let right = self.keys.split_off(index + 1);
        let middle = self.keys.remove(index);
        self.rebuild();
        (middle, Separators::new(right))
    }

    fn rebuild(&mut self) {
        self.count = self.keys.len() as u16; // Below `FANOUT`.
        self.fill_heads(0);
        let heads = &self.heads[..self.keys.len()];
        if heads.windows(2).all(|pair| pair[0] < pair[1]) {
            return;
        }
        let (Some(first), Some(last)) = (self.keys.first(), self.keys.last()) else { return };
        // They are sorted: what the outermost share, all share.
        let common = first.iter().zip(last.iter()).take_while(|(a, b)| a == b).count();
        let skip_bytes = common.min(SKIP_BYTES_MAX);
        self.skip[..skip_bytes].copy_from_slice(&first[..skip_bytes]);
        self.fill_heads(skip_bytes);
    }

    fn fill_heads(&mut self, skip_bytes: usize) {
        self.skip_bytes = skip_bytes as u8; // At most `SKIP_BYTES_MAX`.
        self.heads = [u64::MAX; FANOUT];
        for (head, key) in self.heads.iter_mut().zip(&self.keys) {
            *head = head_of(&key[skip_bytes..]);
        }
    }
}

/// Returns the first eight bytes as a number that orders as the bytes do; short keys are padded
/// with zeros, so that a key and its longer sister may tie.
#[inline]
fn head_of(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(head) => u64::from_be_bytes(*head),
        None => key.iter().enumerate().fold(0, |head, (i, &b)| head | u64::from(b) << (56 - 8 * i)),
    }
}

/// Returns how many of the ascending heads are at most `head`, the last one apart.
#[inline]
fn count_up_to<const FANOUT: usize>(heads: &[u64; FANOUT], head: u64) -> usize {
    let mut count = 0;
    let mut step = FANOUT / 2;
    while step > 0 {
        // No branch depends on a head: they are random, and a wrong guess costs more than the rest.
        let other = heads[(count + step - 1) & (FANOUT - 1)];
        count += if other <= head { step } else { 0 };
        step /= 2;
    }
    count
}

/// Returns the shortest separator `s` with `left < s <= right`.
pub(super) fn shortest(left: &[u8], right: &[u8]) -> Box<[u8]> {
    let common = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    // `left` is smaller, so `right` goes on behind what they share.
    right[..right.len().min(common + 1)].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(texts: &[&str]) -> Vec<Box<[u8]>> {
        texts.iter().map(|text| text.as_bytes().into()).collect()
    }

    #[test]
    fn search_agrees_with_comparing_whole_keys() {
        let mut sets = vec![
            keys(&[]),
            keys(&["a"]),
            keys(&["", "a", "a\0", "a\0\0", "ab"]),
            keys(&["same long prefix 1", "same long prefix 2", "same long prefix 2x"]),
            keys(&["x", "yyyyyyyyyyyy1", "yyyyyyyyyyyy2", "z"]),
        ];
        sets.push((0..63_u32).map(|i| format!("key{:040}", i * 3).into_bytes().into()).collect());
        sets.push((0..63_u64).map(|i| (i * 7).to_be_bytes().into()).collect());
        sets.push(vec![[0xff; 8].into(), [0xff; 9].into()]);
        for set in sets {
            let separators = Separators::<64>::new(set.clone());
            let mut probes: Vec<Vec<u8>> = vec![vec![], vec![0], vec![0xff; 20]];
            for key in &set {
                probes.push(key.to_vec());
                probes.push([key, &[0][..]].concat());
                probes.push(key.get(..key.len() / 2).unwrap_or_default().to_vec());
                probes.extend(key.split_last().map(|(_, head)| head.to_vec()));
            }
            for probe in probes {
                let expected = set.iter().filter(|key| ***key <= *probe).count();
                assert_eq!(separators.child(&probe), expected, "{probe:?} in {set:?}");
                let below = set.iter().filter(|key| ***key < *probe).count();
                assert_eq!(separators.child_below(&probe), below, "{probe:?} in {set:?}");
            }
        }
    }

    #[test]
    fn shortest_separator_lies_between() {
        for (left, right) in [("", "a"), ("a", "ab"), ("abc", "abd"), ("abcx", "b"), ("a", "a\0")] {
            let separator = shortest(left.as_bytes(), right.as_bytes());
            assert!(left.as_bytes() < &*separator && &*separator <= right.as_bytes());
        }
        assert_eq!(&*shortest(b"alpha", b"beta"), b"b");
    }
}
