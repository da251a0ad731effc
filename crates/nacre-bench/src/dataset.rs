//! Sequences of numbers with known distributions, the same on every machine.
//!
//! | name | values |
//! |---|---|
//! | `d1` | normal, mean 2^5, deviation 20 |
//! | `d2` | normal, mean 2^25, deviation 20 |
//! | `d3` | uniform from 0 to 10^6 - 1, sorted |
//! | `d4` | 90 % as `d1`, 10 % as `d2` |
//! | `random32` | uniform in 32 bits |
//! | `mostly8` | uniform in 8 bits, one of a thousand in 32 bits |
//!
//! # Source
//! [Zarubin22 3.3.1] Table 3.2 (`d1` to `d4`, 100 million values), [Zarubin22 4.2.3] the other two.
//! Differs: what a normal distribution gives below 0 is 0, because the values are unsigned.

use crate::workload::Random;

/// Values that one generator makes, before the next one is seeded.
const RUN_VALUES: u64 = 65_536;

/// Values of `d3` are below this.
const SORTED_LIMIT: f64 = 1e6;

/// A kind of sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSet {
    D1,
    D2,
    D3,
    D4,
    Random32,
    Mostly8,
}

/// Makes the values of a data set, in order.
#[derive(Debug)]
pub struct Values {
    set: DataSet,
    count: u64,
    position: u64,
    random: Random,
    /// The second number of a pair of normal ones.
    spare: Option<f64>,
    /// `d3`: what is left of 1 above the last value.
    above: f64,
}

impl DataSet {
    /// The data sets that formats are compared on.
    pub const TABLE_3_2: [Self; 4] = [Self::D1, Self::D2, Self::D3, Self::D4];

    /// The distributions that replicated columns are measured with.
    pub const REPLICATION: [Self; 2] = [Self::Random32, Self::Mostly8];

    /// Returns the name in tables and ids.
    pub fn name(self) -> &'static str {
        match self {
            Self::D1 => "d1",
            Self::D2 => "d2",
            Self::D3 => "d3",
            Self::D4 => "d4",
            Self::Random32 => "random32",
            Self::Mostly8 => "mostly8",
        }
    }

    /// Returns what the values are, in words.
    pub fn description(self) -> &'static str {
        match self {
            Self::D1 => "normal(2^5, 20)",
            Self::D2 => "normal(2^25, 20)",
            Self::D3 => "uniform(0, 10^6 - 1), sorted",
            Self::D4 => "90 % normal(2^5, 20), 10 % normal(2^25, 20)",
            Self::Random32 => "uniform in 32 bits",
            Self::Mostly8 => "99.9 % uniform in 8 bits, 0.1 % in 32 bits",
        }
    }

    /// Returns a sequence of `count` values.
    pub fn values(self, count: u64) -> Values {
        let random = Random::of_row(self.seed(), 0);
        Values { set: self, count, position: 0, random, spare: None, above: 1.0 }
    }

    fn seed(self) -> u64 {
        100 + self as u64
    }
}

impl Iterator for Values {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.position == self.count {
            return None;
        }
        if self.position.is_multiple_of(RUN_VALUES) {
            self.random = Random::of_row(self.set.seed(), self.position / RUN_VALUES);
            self.spare = None;
        }
        let value = match self.set {
            DataSet::D1 => self.normal(32.0),
            DataSet::D2 => self.normal(33_554_432.0),
            DataSet::D3 => self.sorted(),
            DataSet::D4 => {
                let is_outlier = self.random.below(10) == 0;
                self.normal(if is_outlier { 33_554_432.0 } else { 32.0 })
            }
            DataSet::Random32 => self.random.bits() as u32,
            DataSet::Mostly8 => {
                let bits = self.random.bits() as u32;
                if self.random.below(1_000) == 0 { bits } else { bits & 0xff }
            }
        };
        self.position += 1;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.count - self.position) as usize;
        (left, Some(left))
    }
}

impl Values {
    fn normal(&mut self, mean: f64) -> u32 {
        const DEVIATION: f64 = 20.0;
        let number = match self.spare.take() {
            Some(number) => number,
            None => {
                let [number, spare] = self.random.normal_pair();
                self.spare = Some(spare);
                number
            }
        };
        // Float to integer saturates: below 0 becomes 0.
        (mean + DEVIATION * number).round() as u32
    }

    /// The next of `count` sorted uniform values: the least of those that are left is the whole
    /// interval less the largest of as many uniform ones [Bentley and Saxe 1980].
    fn sorted(&mut self) -> u32 {
        let left = (self.count - self.position) as f64;
        self.above *= self.random.unit().powf(1.0 / left);
        ((1.0 - self.above) * SORTED_LIMIT).min(SORTED_LIMIT - 1.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(set: DataSet, count: u64) -> Vec<u32> {
        set.values(count).collect()
    }

    #[test]
    fn sequences_repeat_and_have_the_length_asked_for() {
        for set in DataSet::TABLE_3_2.into_iter().chain(DataSet::REPLICATION) {
            let first = values(set, 70_000);
            assert_eq!(first.len(), 70_000);
            assert!(first == values(set, 70_000), "{}", set.name());
        }
    }

    #[test]
    fn normal_sets_lie_around_their_means() {
        for (set, mean) in [(DataSet::D1, 32.0), (DataSet::D2, 33_554_432.0)] {
            let values = values(set, 100_000);
            let average = values.iter().map(|value| f64::from(*value)).sum::<f64>() / 1e5;
            assert!((average - mean).abs() < 1.0, "{average}");
        }
        let far = values(DataSet::D4, 100_000).iter().filter(|value| **value > 1_000).count();
        assert!((9_500..10_500).contains(&far), "{far}");
    }

    #[test]
    fn third_set_is_sorted_and_uniform() {
        let values = values(DataSet::D3, 100_000);
        assert!(values.is_sorted());
        for (position, tenth) in (0..10).zip(values.chunks(10_000)) {
            let expected = 1e5 * f64::from(position);
            assert!((f64::from(tenth[0]) - expected).abs() < 8_000.0, "{position}: {}", tenth[0]);
        }
    }

    #[test]
    fn one_of_a_thousand_needs_more_than_8_bits() {
        let wide = values(DataSet::Mostly8, 200_000).iter().filter(|value| **value > 255).count();
        assert!((130..270).contains(&wide), "{wide}");
        let top =
            values(DataSet::Random32, 1_000).iter().filter(|value| **value >> 31 == 1).count();
        assert!((400..600).contains(&top), "{top}");
    }
}
