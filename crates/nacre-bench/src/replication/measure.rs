//! The measured loop, and what becomes of its figures.
//!
//! The loop itself costs a multiplication and a few shifts an update (a xorshift generator), the
//! same for all contestants; the clock is read once for a few hundred updates. Values vary: they
//! are taken from sixteen places of a buffer that stays in the first-level cache for small updates.

use std::time::{Duration, Instant};

use super::options::{AccessPattern, UPDATE_BYTES_MAX};
use crate::error::Result;

/// Bytes between two places that values are taken from, and their number as a mask.
const VALUE_STEP: usize = 64;
const VALUE_MASK: u64 = 15;

/// Updates between two looks at the clock, and the bytes that end such a chunk earlier.
const CHUNK_UPDATES: usize = 256;
const CHUNK_UPDATES_MIN: u64 = 1;
const CHUNK_BYTES: usize = 512 << 10;

/// What is updated next, and with which bytes.
pub(super) struct Work {
    access: AccessPattern,
    update_bytes: usize,
    /// Number of places.
    count: u64,
    state: u64,
    position: u64,
    values: Vec<u8>,
}

impl Work {
    /// Prepares updates of `update_bytes` bytes to `count` places.
    pub(super) fn new(access: AccessPattern, update_bytes: usize, count: u64) -> Self {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        let bytes = UPDATE_BYTES_MAX + VALUE_STEP * (VALUE_MASK as usize + 1);
        let values = (0..bytes).map(|_| step(&mut state) as u8).collect();
        Self { access, update_bytes, count, state, position: 0, values }
    }

    /// Returns the bytes of an update.
    pub(super) fn update_bytes(&self) -> usize {
        self.update_bytes
    }

    /// Calls `update` with places and values for as long as `budget`; returns updates a second.
    #[inline]
    pub(super) fn run(
        &mut self,
        budget: Duration,
        update: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<f64> {
        // An integer's size is known to whoever updates it; other sizes are not.
        match (self.access, self.update_bytes) {
            (AccessPattern::Uniform, 4) => self.run_sized::<4, false>(budget, update),
            (AccessPattern::Uniform, _) => self.run_sized::<0, false>(budget, update),
            (AccessPattern::Sequential, 4) => self.run_sized::<4, true>(budget, update),
            (AccessPattern::Sequential, _) => self.run_sized::<0, true>(budget, update),
        }
    }

    #[inline]
    fn run_sized<const BYTES: usize, const IS_SEQUENTIAL: bool>(
        &mut self,
        budget: Duration,
        mut update: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<f64> {
        let bytes = if BYTES == 0 { self.update_bytes } else { BYTES };
        let (mut state, mut position) = (self.state, self.position);
        let mut clock = Clock::start(budget, bytes);
        while let Some(chunk) = clock.next_chunk() {
            for _ in 0..chunk {
                let random = step(&mut state);
                let place = if IS_SEQUENTIAL {
                    position = if position + 1 == self.count { 0 } else { position + 1 };
                    position
                } else {
                    scale(random, self.count)
                };
                let at = (random & VALUE_MASK) as usize * VALUE_STEP;
                update(place, &self.values[at..at + bytes])?;
            }
        }
        (self.state, self.position) = (state, position);
        Ok(clock.rate())
    }

    /// Calls `update` with `batch` places and values at a time, as [`Work::run`] does with one; it
    /// may change the places.
    pub(super) fn run_batches(
        &mut self,
        budget: Duration,
        batch: usize,
        mut update: impl FnMut(&mut [(u64, &[u8])]) -> Result<()>,
    ) -> Result<f64> {
        let mut updates = Vec::with_capacity(batch);
        let mut clock = Clock::start(budget, self.update_bytes);
        while let Some(chunk) = clock.next_chunk() {
            for _ in 0..chunk {
                let random = step(&mut self.state);
                let place = match self.access {
                    AccessPattern::Uniform => scale(random, self.count),
                    AccessPattern::Sequential => {
                        self.position = (self.position + 1) % self.count;
                        self.position
                    }
                };
                let at = (random & VALUE_MASK) as usize * VALUE_STEP;
                updates.push((place, &self.values[at..at + self.update_bytes]));
                if updates.len() == batch {
                    update(&mut updates)?;
                    updates.clear();
                }
            }
        }
        Ok(clock.rate())
    }
}

/// Hands out chunks of updates until a time is over.
///
/// Chunks begin small and double as long as they are short, so that a mechanism that is a thousand
/// times slower than another does not take a thousand times longer.
struct Clock {
    start: Instant,
    budget: Duration,
    elapsed: Duration,
    chunk: u64,
    chunk_max: u64,
    updates: u64,
}

impl Clock {
    fn start(budget: Duration, update_bytes: usize) -> Self {
        let chunk_max = (CHUNK_BYTES / update_bytes).clamp(1, CHUNK_UPDATES) as u64;
        let (start, elapsed) = (Instant::now(), Duration::ZERO);
        Self { start, budget, elapsed, chunk: 0, chunk_max, updates: 0 }
    }

    /// Returns the size of the next chunk, none if the time is over; there is always one.
    #[inline]
    fn next_chunk(&mut self) -> Option<u64> {
        self.updates += self.chunk;
        let last = std::mem::replace(&mut self.elapsed, self.start.elapsed());
        if self.chunk > 0 && self.elapsed >= self.budget {
            return None;
        }
        if (self.elapsed - last) * 16 < self.budget || self.chunk == 0 {
            self.chunk = (self.chunk * 2).clamp(CHUNK_UPDATES_MIN, self.chunk_max);
        }
        Some(self.chunk)
    }

    fn rate(&self) -> f64 {
        self.updates as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// The next number of a xorshift64* generator.
#[inline(always)]
fn step(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

/// Maps a random word to `0..count`.
#[inline(always)]
fn scale(random: u64, count: u64) -> u64 {
    // The high half of a product is below `count`, so it fits.
    ((u128::from(random) * u128::from(count)) >> 64) as u64
}

/// Figures of the rounds of one contestant.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    /// Updates a second, by round.
    pub(super) rates: Vec<f64>,
    /// Rate of the baseline next to it divided by the rate, by round.
    pub(super) slowdowns: Vec<f64>,
}

/// Median, quartiles and extremes of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) quartiles: (f64, f64),
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Series {
    /// Adds a round.
    pub(super) fn push(&mut self, rate: f64, baseline: f64) {
        self.rates.push(rate);
        self.slowdowns.push(baseline / rate);
    }
}

impl Spread {
    /// Returns median, quartiles and extremes, between two values where one would lie between
    /// them; zeros without values.
    pub(super) fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
        let last = sorted.len().saturating_sub(1);
        let quarter = |count: usize| {
            let (below, part) = (last * count / 4, (last * count % 4) as f64 / 4.0);
            at(below) * (1.0 - part) + at(last.min(below + 1)) * part
        };
        Self { median: quarter(2), quartiles: (quarter(1), quarter(3)), min: at(0), max: at(last) }
    }

    /// Returns half the distance between the quartiles, in percent of the median: half of the
    /// rounds are no further from it.
    pub(super) fn noise_percent(&self) -> f64 {
        let (lower, upper) = self.quartiles;
        if self.median == 0.0 { 0.0 } else { (upper - lower) / self.median * 50.0 }
    }
}

/// Overhead in percent of the time without replicas.
pub(super) fn overhead_percent(slowdown: f64) -> f64 {
    (slowdown - 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_met_and_none_outside() {
        for access in AccessPattern::ALL {
            let mut work = Work::new(access, 4, 10);
            let mut met = [0; 10];
            let update = |place: u64, value: &[u8]| {
                met[place as usize] += 1;
                assert_eq!(value.len(), 4);
                Ok(())
            };
            work.run(Duration::from_micros(200), update).unwrap();
            assert!(met.iter().all(|count| *count > 0), "{access:?} {met:?}");
        }
    }

    #[test]
    fn spread_is_median_quartiles_and_extremes() {
        let spread = Spread::of(&[3.0, 1.0, 2.0, 4.0]);
        let quartiles = (1.75, 3.25);
        assert_eq!(spread, Spread { median: 2.5, quartiles, min: 1.0, max: 4.0 });
        assert_eq!(spread.noise_percent(), 30.0);
        let spread = Spread::of(&[5.0, 1.0, 2.0, 90.0, 3.0]);
        assert_eq!((spread.median, spread.quartiles), (3.0, (2.0, 5.0)));
        assert_eq!(Spread::of(&[]), Spread::default());
        assert_eq!(overhead_percent(1.25), 25.0);
    }
}
