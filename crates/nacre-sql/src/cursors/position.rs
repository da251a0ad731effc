//! Where a cursor stands, and which rows a direction means.

use std::ops::Range;

/// Which rows FETCH and MOVE are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// That many rows on, or back if negative; 0 is the row that the cursor is on.
    Forward(i64),
    /// The row of that number from 1, or from the end if negative; 0 is before the first one.
    Absolute(i64),
    /// The row that many rows on, or back.
    Relative(i64),
}

/// All rows that there are ahead, or back if negated.
pub(super) const ALL: i64 = i64::MAX;

/// The place of a cursor among its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    count: u64,
    /// The number of the row that it is on: 0 before the first one, `count + 1` behind the last.
    at: u64,
}

/// Rows by their numbers from 0, in the order of the numbers or against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) range: Range<u64>,
    pub(super) is_backward: bool,
}

/// The cursor would have to go back and was declared not to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GoesBack;

impl Position {
    pub(super) fn new(count: u64) -> Self {
        Self { count, at: 0 }
    }

    /// Goes in a direction; returns the rows that FETCH answers and MOVE counts.
    pub(super) fn step(
        &mut self,
        direction: Direction,
        is_fetch: bool,
        may_go_back: bool,
    ) -> Result<Rows, GoesBack> {
        let back = || if may_go_back { Ok(()) } else { Err(GoesBack) };
        match direction {
            Direction::Forward(0) | Direction::Relative(0) => {
                let is_on_row = self.at > 0 && self.at <= self.count;
                if is_on_row && is_fetch {
                    back()?;
                }
                Ok(ahead(if is_on_row { self.at - 1..self.at } else { 0..0 }))
            }
            Direction::Forward(rows @ 1..) => Ok(self.forward(rows.unsigned_abs())),
            Direction::Forward(rows) => {
                back()?;
                Ok(self.backward(rows.unsigned_abs()))
            }
            Direction::Absolute(number @ 1..) => {
                let before = number.unsigned_abs() - 1;
                if before < self.at {
                    back()?;
                }
                self.at = before.min(self.count + 1);
                Ok(self.forward(1))
            }
            Direction::Absolute(0) => {
                if self.at > 0 {
                    back()?;
                }
                self.at = 0;
                Ok(ahead(0..0))
            }
            Direction::Absolute(number) => {
                back()?;
                self.at = self.count + 1;
                self.backward(number.unsigned_abs() - 1);
                Ok(self.backward(1))
            }
            Direction::Relative(number @ 1..) => {
                self.forward(number.unsigned_abs() - 1);
                Ok(self.forward(1))
            }
            Direction::Relative(number) => {
                back()?;
                self.backward(number.unsigned_abs() - 1);
                Ok(self.backward(1))
            }
        }
    }

    /// Goes on over some rows, behind the last one if there are fewer.
    fn forward(&mut self, rows: u64) -> Rows {
        if self.at > self.count || rows == 0 {
            return ahead(0..0);
        }
        let first = self.at;
        let taken = rows.min(self.count - first);
        self.at = if taken < rows { self.count + 1 } else { first + taken };
        ahead(first..first + taken)
    }

    /// Goes back over some rows, before the first one if there are fewer.
    fn backward(&mut self, rows: u64) -> Rows {
        if self.at == 0 || rows == 0 {
            return Rows { range: 0..0, is_backward: true };
        }
        let end = self.at - 1;
        let taken = rows.min(end);
        self.at = if taken < rows { 0 } else { self.at - taken };
        Rows { range: end - taken..end, is_backward: true }
    }
}

fn ahead(range: Range<u64>) -> Rows {
    Rows { range, is_backward: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes steps over three rows; returns the numbers of the rows, from 1, of each.
    fn steps(directions: &[Direction]) -> Vec<Vec<u64>> {
        let mut position = Position::new(3);
        let rows = directions.iter().map(|direction| {
            let rows = position.step(*direction, true, true).unwrap();
            let numbers = rows.range.map(|row| row + 1);
            if rows.is_backward { numbers.rev().collect() } else { numbers.collect() }
        });
        rows.collect()
    }

    #[test]
    fn forward_and_back_pass_the_ends() {
        use Direction::Forward;
        assert_eq!(
            steps(&[
                Forward(2),
                Forward(0),
                Forward(1),
                Forward(1),
                Forward(0),
                Forward(1),
                Forward(-2),
                Forward(-ALL),
                Forward(-1),
                Forward(ALL),
                Forward(-ALL),
            ]),
            [
                vec![1, 2],
                vec![2],
                vec![3],
                vec![],
                vec![],
                vec![],
                vec![3, 2],
                vec![1],
                vec![],
                vec![1, 2, 3],
                vec![3, 2, 1],
            ]
        );
    }

    #[test]
    fn numbers_count_from_either_end_or_from_here() {
        use Direction::{Absolute, Relative};
        assert_eq!(
            steps(&[
                Absolute(2),
                Relative(1),
                Relative(1),
                Relative(-1),
                Relative(-2),
                Relative(0),
                Absolute(-1),
                Absolute(-3),
                Absolute(-4),
                Relative(2),
                Absolute(4),
                Relative(-1),
                Absolute(0),
                Relative(i64::MAX),
                Absolute(i64::MIN),
            ]),
            [
                vec![2],
                vec![3],
                vec![],
                vec![3],
                vec![1],
                vec![1],
                vec![3],
                vec![1],
                vec![],
                vec![2],
                vec![],
                vec![3],
                vec![],
                vec![],
                vec![],
            ]
        );
    }

    #[test]
    fn cursor_without_scroll_goes_on_only() {
        use Direction::{Absolute, Forward, Relative};
        let mut position = Position::new(3);
        let mut step =
            |direction, is_fetch| position.step(direction, is_fetch, false).map(|rows| rows.range);
        assert_eq!(step(Absolute(1), true), Ok(0..1));
        assert_eq!(step(Absolute(1), true), Err(GoesBack));
        assert_eq!(step(Forward(0), true), Err(GoesBack));
        assert_eq!(step(Forward(0), false), Ok(0..1));
        assert_eq!(step(Absolute(3), true), Ok(2..3));
        assert_eq!(step(Forward(-1), true), Err(GoesBack));
        assert_eq!(step(Relative(-1), true), Err(GoesBack));
        assert_eq!(step(Absolute(-1), true), Err(GoesBack));
        assert_eq!(step(Absolute(0), true), Err(GoesBack));
    }
}
