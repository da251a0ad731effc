//! What the memory gives to threads that only read: the bound of every scan.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::split::split;

/// Repetitions, of which the best counts.
const ROUNDS: usize = 5;

/// Returns the bytes a second at which `threads` add up `bytes` of memory, which should be more
/// than the caches hold.
pub(crate) fn read_bandwidth(bytes: usize, threads: usize) -> f64 {
    let words: Vec<u64> = (0..(bytes / 8).max(1) as u64).collect();
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let sums = split(words.len(), threads, |range| {
            words[range].iter().fold(0_u64, |sum, word| sum.wrapping_add(*word))
        });
        black_box(sums);
        best = best.min(start.elapsed());
    }
    words.len() as f64 * 8.0 / best.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_at_some_rate() {
        let rate = read_bandwidth(1 << 20, 2);
        assert!(rate.is_finite() && rate > 1e6, "{rate}");
    }
}
