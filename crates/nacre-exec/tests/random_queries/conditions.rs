//! Random conditions.

use super::schema::ValueType;
use super::tree::{QueryTree, tree};
use super::writer::QueryWriter;

use ValueType as T;

pub(super) const COMPARISONS: [&str; 6] = [" = ", " <> ", " < ", " <= ", " > ", " >= "];

impl QueryWriter<'_> {
    /// Writes a condition.
    pub(super) fn condition(&mut self, depth: usize) -> QueryTree {
        match self.below(15) {
            0..=3 => self.comparison(depth),
            4 | 5 => {
                let word = self.pick(&[" and ", " or "]);
                let all = (0..2 + self.below(2)).map(|_| self.value(T::Boolean, depth)).collect();
                tree!["(", QueryTree::List(word, all), ")"]
            }
            6 => tree!["(not ", self.value(T::Boolean, depth), ")"],
            7 => {
                let value_type = self.any_type();
                let test = self.pick(&[" is null", " is not null"]);
                tree!["(", self.value(value_type, depth), test, ")"]
            }
            8 => self.list_condition(depth),
            9 => self.range_condition(depth),
            10 => self.pattern_condition(depth),
            11 if self.queries > 0 => self.query_condition(depth),
            12 if self.queries > 0 => self.query_condition(depth),
            13 => {
                let tests = [" is true", " is not true", " is false", " is unknown"];
                let test = self.pick(&tests);
                tree!["(", self.value(T::Boolean, depth), test, ")"]
            }
            _ => self.distinction(depth),
        }
    }

    /// Writes a comparison of values of one type, or of two kinds of numbers.
    fn comparison(&mut self, depth: usize) -> QueryTree {
        let (left, operator) = (self.any_type(), self.pick(&COMPARISONS));
        let right = match left {
            T::Date | T::Stamp if self.one_in(4) => self.pick(&[T::Date, T::Stamp]),
            T::Char | T::Text if self.one_in(4) => self.pick(&[T::Char, T::Text]),
            _ if left.is_number() && self.one_in(3) => {
                self.pick(&[T::Small, T::Integer, T::Big, T::Numeric, T::Real, T::Double])
            }
            _ => left,
        };
        tree!["(", self.value(left, depth), operator, self.value(right, depth), ")"]
    }

    fn distinction(&mut self, depth: usize) -> QueryTree {
        let value_type = self.any_type();
        let (left, right) = (self.value(value_type, depth), self.value(value_type, depth));
        if self.features.has_rare && self.one_in(3) {
            let other = self.any_type();
            let pair = (self.value(other, depth), self.value(other, depth));
            let operator = self.pick(&COMPARISONS);
            return tree!["((", left, ", ", pair.0, ")", operator, "(", right, ", ", pair.1, "))"];
        }
        let word = self.pick(&[" is distinct from ", " is not distinct from "]);
        tree!["(", left, word, right, ")"]
    }

    fn list_condition(&mut self, depth: usize) -> QueryTree {
        let value_type = self.any_type();
        let word = self.pick(&[" in (", " in (", " not in ("]);
        let mut items: Vec<_> = (0..1 + self.below(4))
            .map(|_| QueryTree::value(value_type, self.constant(value_type).into()))
            .collect();
        if self.one_in(5) {
            items.push("null".into());
        }
        if self.one_in(5) {
            items.push(self.value(value_type, depth));
        }
        let subject = self.value(value_type, depth);
        if self.one_in(6) {
            let (operator, word) = (self.pick(&COMPARISONS), self.pick(&["any", "all"]));
            let items = QueryTree::List(", ", items);
            return tree!["(", subject, operator, word, "(array[", items, "]))"];
        }
        tree!["(", subject, word, QueryTree::List(", ", items), "))"]
    }

    fn range_condition(&mut self, depth: usize) -> QueryTree {
        let value_type = self.any_type();
        let word = self.pick(&[" between ", " between ", " not between ", " between symmetric "]);
        let (low, high) = (self.value(value_type, depth), self.value(value_type, depth));
        tree!["(", self.value(value_type, depth), word, low, " and ", high, ")"]
    }

    fn pattern_condition(&mut self, depth: usize) -> QueryTree {
        let subject = self.pick(&[T::Text, T::Text, T::Char]);
        let word = self.pick(&[" like ", " like ", " not like ", " ilike ", " ~ "]);
        let patterns = ["'a%'", "'%b'", "'a_b'", "'%_%'", "''", "'%text%'", "'ab'", "'%'", "'_b%'"];
        let pattern = self.pick(&patterns);
        tree!["(", self.value(subject, depth), word, pattern, ")"]
    }

    /// Writes a condition on a query.
    fn query_condition(&mut self, depth: usize) -> QueryTree {
        self.queries -= 1;
        match self.below(5) {
            0 | 1 => {
                let word = self.pick(&["", "not "]);
                let value_type = self.any_type();
                tree!["(", word, "exists (", self.subquery(&[value_type]), "))"]
            }
            2 if self.features.has_rare && self.one_in(2) => {
                let (first, second) = (self.any_type(), self.any_type());
                let word = self.pick(&[" in (", " not in ("]);
                let (left, right) = (self.value(first, depth), self.value(second, depth));
                let query = self.subquery(&[first, second]);
                tree!["((", left, ", ", right, ")", word, query, "))"]
            }
            2 | 3 => {
                let value_type = self.any_type();
                let word = self.pick(&[" in (", " in (", " not in ("]);
                let left = self.value(value_type, depth);
                tree!["(", left, word, self.subquery(&[value_type]), "))"]
            }
            _ => {
                let value_type = self.any_type();
                let (operator, word) = (self.pick(&COMPARISONS), self.pick(&["any", "all"]));
                let left = self.value(value_type, depth);
                tree!["(", left, operator, word, " (", self.subquery(&[value_type]), "))"]
            }
        }
    }
}
