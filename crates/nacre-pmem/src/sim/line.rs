//! What one line of media can hold: its last certain content and the stores since.

use super::pick::Random;
use crate::flush::CACHE_LINE_BYTES;

pub(super) type LineBytes = [u8; CACHE_LINE_BYTES];

/// Words are the unit that media write whole.
const WORD_BYTES: usize = 8;

/// A store to a part of a line.
#[derive(Clone, Debug)]
pub(super) struct Op {
    /// Bytes `start..end` of `bytes` were stored.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) bytes: LineBytes,
    /// Reaches media after earlier ordered ones; others reach it at any time, word by word.
    pub(super) is_ordered: bool,
    /// A fence of its thread makes it durable.
    pub(super) is_streamed: bool,
    /// Surely on media.
    pub(super) is_durable: bool,
    pub(super) thread: u32,
    /// Number of the event.
    pub(super) event: usize,
}

impl Op {
    /// Returns the words that it stores to, one bit each.
    fn words(&self) -> u8 {
        let (first, last) = (self.start / WORD_BYTES, (self.end - 1) / WORD_BYTES);
        (first..=last).fold(0, |words, word| words | 1 << word)
    }

    fn apply(&self, words: u8, to: &mut LineBytes) {
        for word in (0..WORD_BYTES).filter(|word| words & (1 << word) != 0) {
            let start = self.start.max(word * WORD_BYTES);
            let end = self.end.min((word + 1) * WORD_BYTES);
            if start < end {
                to[start..end].copy_from_slice(&self.bytes[start..end]);
            }
        }
    }
}

/// A line with stores that may or may not be on media.
#[derive(Clone, Debug)]
pub(super) struct Line {
    base: LineBytes,
    /// Content with all stores.
    last: LineBytes,
    ops: Vec<Op>,
}

impl Line {
    pub(super) fn new(base: LineBytes) -> Line {
        Line { base, last: base, ops: Vec::new() }
    }

    /// Adds a store; one that changes nothing is left out.
    pub(super) fn add(&mut self, op: Op) {
        let before = self.last;
        op.apply(u8::MAX, &mut self.last);
        if self.last != before {
            self.ops.push(op);
        }
    }

    /// Makes the stores durable that `is_durable` names.
    pub(super) fn settle(&mut self, is_durable: impl Fn(&Op) -> bool) {
        for op in &mut self.ops {
            op.is_durable |= is_durable(op);
        }
        let certain = self.ops.iter().take_while(|op| op.is_durable).count();
        for op in self.ops.drain(..certain) {
            op.apply(u8::MAX, &mut self.base);
        }
    }

    /// Makes all stores earlier than any event.
    pub(super) fn date_back(&mut self) {
        self.ops.iter_mut().for_each(|op| op.event = 0);
    }

    /// Whether all stores are durable.
    pub(super) fn is_settled(&self) -> bool {
        self.ops.is_empty()
    }

    /// Returns the content with all stores.
    pub(super) fn whole(&self) -> LineBytes {
        self.last
    }

    /// Returns the content with durable stores only.
    pub(super) fn lost(&self) -> LineBytes {
        self.build(0, 0, || 0)
    }

    /// Returns how many ways there are to lose stores (contents may repeat).
    pub(super) fn count(&self) -> u64 {
        let (mut ordered, mut others) = (1u64, 1u64);
        for op in self.ops.iter().filter(|op| !op.is_durable) {
            let ways = 1u64 << op.words().count_ones();
            match op.is_ordered {
                true => ordered = ordered.saturating_add(ways - 1),
                false => others = others.saturating_mul(ways),
            }
        }
        ordered.saturating_mul(others)
    }

    /// Returns the content of one way, `index < count()`; 0 loses all, the last nothing.
    pub(super) fn nth(&self, mut index: u64) -> LineBytes {
        let mut masks = Vec::new();
        for op in self.ops.iter().filter(|op| !op.is_durable && !op.is_ordered) {
            let ways = 1u64 << op.words().count_ones();
            masks.push(spread(index % ways, op.words()));
            index /= ways;
        }
        let (mut ordered, mut tear) = (0, 0);
        for op in self.ops.iter().filter(|op| !op.is_durable && op.is_ordered) {
            let ways = (1u64 << op.words().count_ones()) - 1;
            if index < ways {
                tear = spread(index, op.words());
                break;
            }
            index -= ways;
            ordered += 1;
        }
        let mut masks = masks.into_iter();
        self.build(ordered, tear, || masks.next().unwrap_or(0))
    }

    /// Returns the content of some way: often an extreme one, sometimes a torn one.
    pub(super) fn random(&self, random: &mut Random) -> LineBytes {
        let pending = self.ops.iter().filter(|op| !op.is_durable && op.is_ordered).count();
        let ordered = random.below(pending as u64 + 1) as usize;
        let tear = if random.below(3) == 0 { random.next() as u8 } else { 0 };
        self.build(ordered, tear, || match random.below(3) {
            0 => 0,
            1 => u8::MAX,
            _ => random.next() as u8,
        })
    }

    /// Applies the first `ordered` ordered stores, the words `tear` of the next one, and of the
    /// others the words that `mask` says; a word that has a store has all earlier ones too,
    /// whatever their kind.
    fn build(&self, ordered: usize, tear: u8, mut mask: impl FnMut() -> u8) -> LineBytes {
        let is_other = |op: &Op| !op.is_durable && !op.is_ordered;
        let mut masks: Vec<u8> =
            self.ops.iter().map(|op| if is_other(op) { mask() & op.words() } else { 0 }).collect();
        // A streaming store writes back what the line holds before it.
        let (mut seen, mut forced) = (0, 0);
        for (at, op) in self.ops.iter().enumerate() {
            if op.is_durable || !op.is_ordered {
                continue;
            }
            seen += 1;
            let has_later = masks[at..].iter().zip(&self.ops[at..]).any(|(mask, later)| {
                let mask = if later.is_durable { u8::MAX } else { *mask };
                !later.is_ordered && mask & later.words() & op.words() != 0
            });
            if has_later {
                forced = seen;
            }
        }
        let (ordered, tear) = if forced > ordered { (forced, 0) } else { (ordered, tear) };
        let mut seen = 0;
        for (mask, op) in masks.iter_mut().zip(&self.ops) {
            if op.is_durable {
                *mask = u8::MAX;
            } else if op.is_ordered {
                *mask = match seen {
                    _ if seen < ordered => u8::MAX,
                    _ if seen == ordered => tear,
                    _ => 0,
                };
                seen += 1;
            }
        }
        let mut later = 0;
        for (mask, op) in masks.iter_mut().zip(&self.ops).rev() {
            if is_other(op) {
                *mask |= later & op.words();
            }
            later |= *mask & op.words();
        }
        let mut bytes = self.base;
        self.ops.iter().zip(masks).for_each(|(op, mask)| op.apply(mask, &mut bytes));
        bytes
    }
}

/// Distributes the lowest bits of `index` over the bits that `words` has.
fn spread(index: u64, words: u8) -> u8 {
    let places = (0..8).filter(|bit| words & (1 << bit) != 0);
    let set = places.enumerate().filter(|(number, _)| index & (1 << number) != 0);
    set.fold(0, |mask, (_, bit)| mask | 1 << bit)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn op(start: usize, source: &[u8], is_ordered: bool, event: usize) -> Op {
        let mut bytes = [0; CACHE_LINE_BYTES];
        let end = start + source.len();
        bytes[start..end].copy_from_slice(source);
        let (is_streamed, is_durable) = (!is_ordered, false);
        Op { start, end, bytes, is_ordered, is_streamed, is_durable, thread: 0, event }
    }

    fn contents(line: &Line) -> BTreeSet<LineBytes> {
        (0..line.count()).map(|index| line.nth(index)).collect()
    }

    #[test]
    fn ordered_stores_are_lost_from_the_end() {
        let mut line = Line::new([0; CACHE_LINE_BYTES]);
        line.add(op(0, &[1], true, 0));
        line.add(op(8, &[2], true, 1));
        let words: Vec<_> = contents(&line).iter().map(|bytes| (bytes[0], bytes[8])).collect();
        assert_eq!(words, [(0, 0), (1, 0), (1, 2)]);
    }

    #[test]
    fn long_store_is_torn_at_words_only() {
        let mut line = Line::new([0; CACHE_LINE_BYTES]);
        line.add(op(4, &[1; 16], true, 0));
        assert_eq!(contents(&line).len(), 8);
        assert!(contents(&line).iter().all(|bytes| bytes[8] == bytes[15]));
    }

    #[test]
    fn streamed_words_are_lost_in_any_order() {
        let mut line = Line::new([0; CACHE_LINE_BYTES]);
        line.add(op(0, &[1; 8], false, 0));
        line.add(op(8, &[1; 8], false, 1));
        assert_eq!(contents(&line).len(), 4);
        line.settle(|op| op.event == 1);
        assert_eq!(contents(&line).len(), 2);
        assert_eq!((line.lost()[0], line.lost()[8]), (0, 1));
        line.settle(|_| true);
        assert!(line.is_settled());
        assert_eq!(line.lost(), line.whole());
    }

    #[test]
    fn parts_of_a_word_are_lost_in_order() {
        let mut line = Line::new([0; CACHE_LINE_BYTES]);
        line.add(op(0, &[1; 8], false, 0));
        line.add(op(0, &[2; 4], false, 1));
        let found: Vec<_> = contents(&line).iter().map(|bytes| (bytes[0], bytes[7])).collect();
        assert_eq!(found, [(0, 0), (1, 1), (2, 1)]);
    }

    /// A batch that streamed 192 bytes and then stored 3 of them again was once said to leave the 3
    /// without the others of their word, which no processor does: the second store would have to
    /// fetch the line from behind its own write-combining buffer.
    #[test]
    fn stores_of_both_kinds_to_a_word_are_lost_in_order() {
        for first_is_ordered in [false, true] {
            let mut line = Line::new([0; CACHE_LINE_BYTES]);
            line.add(op(0, &[1; 8], first_is_ordered, 0));
            line.add(op(0, &[2; 3], !first_is_ordered, 1));
            let found: BTreeSet<_> =
                contents(&line).iter().map(|bytes| (bytes[0], bytes[7])).collect();
            assert_eq!(found, BTreeSet::from([(0, 0), (1, 1), (2, 1)]), "{first_is_ordered}");
            // With persistent caches the second one can be durable before the first.
            line.settle(|op| op.event == 1);
            let found: BTreeSet<_> =
                contents(&line).iter().map(|bytes| (bytes[0], bytes[7])).collect();
            assert_eq!(found, BTreeSet::from([(2, 1)]), "{first_is_ordered}");
        }
    }

    #[test]
    fn store_that_changes_nothing_adds_no_way() {
        let mut line = Line::new([7; CACHE_LINE_BYTES]);
        line.add(op(0, &[7; 8], true, 0));
        assert_eq!(line.count(), 1);
    }
}
