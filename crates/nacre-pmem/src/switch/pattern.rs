//! Sequential access, seen from the offsets of updates.

/// Streams that are told apart; more would cost more than they are worth in a loop of 160 ns.
const STREAM_COUNT: usize = 4;
/// An update that starts this close behind the end of an earlier one continues it: in the same
/// line, or in the next.
const GAP_BYTES_MAX: u64 = 64;

/// Remembers where the last few streams of updates ended.
///
/// # Concurrency
/// Each writer owns one.
#[derive(Clone, Debug)]
pub struct PatternDetector {
    ends: [u64; STREAM_COUNT],
    /// The stream that gives way to a new one.
    oldest: usize,
}

impl PatternDetector {
    /// Starts without any stream.
    pub fn new() -> PatternDetector {
        // No update starts within a gap of this end.
        PatternDetector { ends: [u64::MAX - GAP_BYTES_MAX; STREAM_COUNT], oldest: 0 }
    }

    /// Notes an update and returns whether it continues an earlier one.
    #[inline]
    pub fn observe(&mut self, offset: u64, bytes: u64) -> bool {
        let end = offset.wrapping_add(bytes);
        for known in &mut self.ends {
            if offset.wrapping_sub(*known) < GAP_BYTES_MAX {
                *known = end;
                return true;
            }
        }
        self.ends[self.oldest] = end;
        self.oldest = (self.oldest + 1) % STREAM_COUNT;
        false
    }
}

impl Default for PatternDetector {
    fn default() -> PatternDetector {
        PatternDetector::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_sequential_from_its_second_update() {
        let mut detector = PatternDetector::new();
        let seen: Vec<_> = (0..5).map(|step| detector.observe(4096 + step * 4, 4)).collect();
        assert_eq!(seen, [false, true, true, true, true]);
    }

    #[test]
    fn streams_in_turn_are_told_apart() {
        let mut detector = PatternDetector::new();
        for step in 0..10 {
            for stream in 0..STREAM_COUNT as u64 {
                assert_eq!(detector.observe((stream << 30) + step * 64, 64), step > 0);
            }
        }
    }

    #[test]
    fn scattered_updates_are_not_sequential() {
        let mut detector = PatternDetector::new();
        assert!(!detector.observe(0, 4));
        for step in 1..100u64 {
            assert!(!detector.observe(step * 7919 % 100 * 4096 + 1_000_000, 4));
        }
        // Backwards is no stream either.
        assert!(!detector.observe(999_000, 4) && !detector.observe(998_996, 4));
    }
}
