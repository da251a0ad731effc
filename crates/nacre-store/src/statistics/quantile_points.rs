//! How the numbers of a column are distributed, as values that stand for about as many rows each.
//!
//! ```text
//! points    0: 10 rows   5: 20 rows   8: 20 rows   9: 10 rows
//! parts     0 ... 5 ... 8 ... 9, with as many rows between any two
//! ```

/// Parts of the rows that a distribution is described by.
pub(crate) const PARTS: usize = 64;

/// More points than these are replaced by parts.
const POINTS_MAX: usize = 4 * PARTS;

/// A value that stands for some rows with values near it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QuantilePoint {
    pub(crate) value: f64,
    pub(crate) rows: f64,
}

/// Replaces points by fewer ones if there are many.
pub(crate) fn compact(points: &mut Vec<QuantilePoint>) {
    if points.len() > POINTS_MAX {
        replace_by_parts(points);
    }
}

/// Replaces points by the ends of parts with as many rows each.
pub(crate) fn replace_by_parts(points: &mut Vec<QuantilePoint>) {
    let rows: f64 = points.iter().map(|point| point.rows).sum();
    *points = points_of_parts(&equal_parts(points), rows);
}

/// Returns points for values between any two of which lie as many rows.
fn points_of_parts(values: &[f64], rows: f64) -> Vec<QuantilePoint> {
    let each = rows / (values.len().max(2) - 1) as f64;
    let last = values.len().saturating_sub(1);
    let rows_of = |index: usize| if index == 0 || index == last { each / 2.0 } else { each };
    let point =
        |(index, value): (usize, &f64)| QuantilePoint { value: *value, rows: rows_of(index) };
    values.iter().enumerate().map(point).collect()
}

/// Returns [`PARTS`] + 1 values, ascending, between any two of which lie as many rows; nothing if
/// there are no rows. The first and the last are the least and the greatest point.
pub(crate) fn equal_parts(points: &[QuantilePoint]) -> Vec<f64> {
    let mut sorted: Vec<QuantilePoint> =
        points.iter().copied().filter(|point| point.rows > 0.0).collect();
    sorted.sort_unstable_by(|one, other| one.value.total_cmp(&other.value));
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let (least, greatest) = (first.value, last.value);
    let total: f64 = sorted.iter().map(|point| point.rows).sum();
    // A point is in the middle of its rows; the ends are where they are.
    let mut places = vec![(0.0, least)];
    let mut before = 0.0;
    for QuantilePoint { value, rows } in sorted {
        places.push((before + rows / 2.0, value));
        before += rows;
    }
    places.push((total, greatest));
    let mut at = 0;
    let value_at = |part: usize| {
        let wanted = total * part as f64 / PARTS as f64;
        while at + 2 < places.len() && places[at + 1].0 < wanted {
            at += 1;
        }
        let ((low, from), (high, to)) = (places[at], places[at + 1]);
        let covered =
            if high > low { ((wanted - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
        // As written, it neither overflows nor leaves the range.
        (from * (1.0 - covered) + to * covered).clamp(from, to)
    };
    (0..=PARTS).map(value_at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(all: &[(f64, f64)]) -> Vec<QuantilePoint> {
        all.iter().map(|&(value, rows)| QuantilePoint { value, rows }).collect()
    }

    #[test]
    fn parts_have_as_many_rows_each() {
        let parts = equal_parts(&points(&[(0.0, 50.0), (64.0, 50.0)]));
        assert_eq!(parts.len(), PARTS + 1);
        assert_eq!((parts[0], parts[PARTS]), (0.0, 64.0));
        assert!(parts.is_sorted());
        assert!((parts[32] - 32.0).abs() < 1.0, "{parts:?}");
        // Three quarters of the rows have one value.
        let parts = equal_parts(&points(&[(0.0, 10.0), (5.0, 150.0), (9.0, 40.0)]));
        let equal = parts.iter().filter(|value| **value == 5.0).count();
        assert!(equal <= 2 && parts.is_sorted(), "one point has no width: {parts:?}");
        let many = [5.0; 15].map(|value| (value, 10.0));
        let parts = equal_parts(&points(&[&[(0.0, 10.0)], &many[..], &[(9.0, 10.0)]].concat()));
        let equal = parts.iter().filter(|value| **value == 5.0).count();
        assert!((48..=58).contains(&equal), "{parts:?}");
    }

    #[test]
    fn few_or_odd_points_have_parts() {
        assert!(equal_parts(&[]).is_empty());
        assert!(equal_parts(&points(&[(3.0, 0.0)])).is_empty());
        assert_eq!(equal_parts(&points(&[(3.0, 1.0)])), [3.0; PARTS + 1]);
        let wide = equal_parts(&points(&[(f64::MIN, 1.0), (f64::MAX, 1.0)]));
        assert!(wide.iter().all(|value| value.is_finite()) && wide.is_sorted());
    }

    #[test]
    fn compacting_keeps_the_distribution() {
        let value = |index: usize| (index as f64).powi(2);
        let mut all: Vec<QuantilePoint> = (0..POINTS_MAX + 1)
            .map(|index| QuantilePoint { value: value(index), rows: 3.0 })
            .collect();
        let before = equal_parts(&all);
        compact(&mut all);
        assert_eq!(all.len(), PARTS + 1);
        let rows: f64 = all.iter().map(|point| point.rows).sum();
        assert!((rows - 3.0 * (POINTS_MAX + 1) as f64).abs() < 1e-6, "{rows}");
        let greatest = before[PARTS];
        for (before, after) in before.iter().zip(equal_parts(&all)) {
            assert!((before - after).abs() < greatest / 50.0, "{before} and {after}");
        }
    }
}
