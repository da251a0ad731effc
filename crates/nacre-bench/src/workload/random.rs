//! Numbers for generated data: the same for the same seed, on every machine and thread.

/// A seeded generator (splitmix64). Rows are seeded one by one, so that parts of a table can be
/// made in any order.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Makes the generator of one row of one table or data set.
    pub(crate) fn of_row(table: u64, row: u64) -> Self {
        Self(mix(table.wrapping_mul(0xd6e8_feb8_6659_fd93)).wrapping_add(mix(row)))
    }

    /// Returns 64 random bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number below `count`, which is not 0.
    #[inline]
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        // The bias is below `count / 2^64`.
        ((u128::from(self.bits()) * u128::from(count)) >> 64) as u64
    }

    /// Returns a number from `min` to `max`.
    #[inline]
    pub(crate) fn between(&mut self, min: u64, max: u64) -> u64 {
        min + self.below(max - min + 1)
    }

    /// Returns one of the values.
    pub(crate) fn one_of<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len() as u64) as usize]
    }

    /// Returns a number above 0 and up to 1.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        ((self.bits() >> 11) + 1) as f64 * STEP
    }

    /// Returns two independent numbers of the normal distribution with mean 0 and deviation 1
    /// (Box and Muller's method).
    #[inline]
    pub(crate) fn normal_pair(&mut self) -> [f64; 2] {
        // The first factor is above 0, so that the logarithm is finite.
        let radius = (self.unit().ln() * -2.0).sqrt();
        let (sine, cosine) = (self.unit() * std::f64::consts::TAU).sin_cos();
        [radius * cosine, radius * sine]
    }
}

fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        let mut random = Random::of_row(1, 0);
        let numbers: Vec<u64> = (0..1_000).map(|_| random.between(3, 9)).collect();
        assert_eq!(numbers.iter().min(), Some(&3));
        assert_eq!(numbers.iter().max(), Some(&9));
    }

    #[test]
    fn normal_numbers_have_mean_0_and_deviation_1() {
        let mut random = Random::of_row(2, 0);
        let numbers: Vec<f64> = (0..50_000).flat_map(|_| random.normal_pair()).collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let square = numbers.iter().map(|number| number * number).sum::<f64>();
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((square / numbers.len() as f64 - 1.0).abs() < 0.02);
    }
}
