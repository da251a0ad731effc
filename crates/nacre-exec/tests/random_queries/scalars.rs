//! Random numbers, texts and times: operators and functions.

use super::schema::ValueType;
use super::tree::{QueryTree, tree};
use super::writer::QueryWriter;

use ValueType as T;

impl QueryWriter<'_> {
    /// Writes an operation with a whole number of a type.
    pub(super) fn whole_number(&mut self, value_type: ValueType, depth: usize) -> QueryTree {
        let name = value_type.name();
        if self.features.may_fail && !self.one_in(3) {
            return self.failing_whole_number(value_type, depth);
        }
        match self.below(7) {
            0 | 1 => {
                let text = self.value(T::Text, depth);
                let function = self.pick(&["length", "octet_length", "ascii", "bit_length"]);
                tree![function, "(", text, ")::", name]
            }
            2 => {
                let (text, part) = (self.value(T::Text, depth), self.value(T::Text, 0));
                tree!["strpos(", text, ", ", part, ")::", name]
            }
            3 => {
                let condition = self.value(T::Boolean, depth);
                tree!["(", condition, ")::integer::", name]
            }
            4 => {
                let field = self.pick(&["year", "month", "day", "dow", "doy", "quarter"]);
                let from = self.pick(&[T::Date, T::Stamp]);
                let from = self.value(from, depth);
                tree!["extract(", field, " from ", from, ")::", name]
            }
            5 if value_type != T::Small => {
                let (left, right) = (self.value(T::Date, depth), self.value(T::Date, depth));
                tree!["(", left, " - ", right, ")::", name]
            }
            _ => {
                let operator = self.pick(&[" & ", " | ", " # "]);
                let left = self.value(value_type, depth);
                tree!["(", left, operator, self.value(value_type, depth), ")"]
            }
        }
    }

    fn failing_whole_number(&mut self, value_type: ValueType, depth: usize) -> QueryTree {
        let left = self.value(value_type, depth);
        match self.below(6) {
            0 => {
                let from = self.pick(&[T::Integer, T::Big, T::Numeric, T::Double, T::Text]);
                tree!["(", self.value(from, depth), ")::", value_type.name()]
            }
            1 => {
                let function = self.pick(&["abs(", "-(", "+("]);
                tree![function, left, ")"]
            }
            _ => {
                let operator = self.pick(&[" + ", " - ", " * ", " / ", " % "]);
                let narrow = [T::Small, T::Integer, T::Big];
                let at = narrow.iter().position(|one| *one == value_type).unwrap_or(0);
                let right = narrow[self.below(at + 1)];
                tree!["(", left, operator, self.value(right, depth), ")"]
            }
        }
    }

    pub(super) fn numeric(&mut self, depth: usize) -> QueryTree {
        let left = self.value(T::Numeric, depth);
        match self.below(9) {
            0 | 1 => {
                let operator = self.pick(&[" + ", " - ", " * "]);
                let right = self.pick(&[T::Numeric, T::Numeric, T::Integer, T::Big]);
                tree!["(", left, operator, self.value(right, depth), ")"]
            }
            2 if self.features.may_fail => {
                let operator = self.pick(&[" / ", " % "]);
                tree!["(", left, operator, self.value(T::Numeric, depth), ")"]
            }
            3 => {
                let digits = self.pick(&["0", "1", "2", "-1"]);
                let function = self.pick(&["round", "trunc"]);
                tree![function, "(", left, ", ", digits, ")"]
            }
            4 => {
                let function = self.pick(&["abs", "ceil", "floor", "sign", "-", "round", "trunc"]);
                tree![function, "(", left, ")"]
            }
            5 if self.features.may_fail => {
                tree!["(", self.value(T::Text, depth), ")::numeric"]
            }
            6 if self.features.may_fail => {
                let digits = self.pick(&["(6,2)", "(4,0)", "(20,5)"]);
                tree!["(", left, ")::numeric", digits]
            }
            7 => {
                let whole = self.pick(&[T::Small, T::Integer, T::Big]);
                tree!["(", self.value(whole, depth), ")::numeric"]
            }
            _ => left,
        }
    }

    pub(super) fn float(&mut self, value_type: ValueType, depth: usize) -> QueryTree {
        let left = self.value(value_type, depth);
        match self.below(6) {
            0 | 1 => {
                let operator = self.pick(&[" + ", " - ", " * "]);
                tree!["(", left, operator, self.value(value_type, depth), ")"]
            }
            2 if self.features.may_fail => {
                tree!["(", left, " / ", self.value(value_type, depth), ")"]
            }
            3 => {
                let function = self.pick(&["abs", "ceil", "floor", "-", "trunc"]);
                tree![function, "(", left, ")::", value_type.name()]
            }
            4 => {
                let whole = self.pick(&[T::Small, T::Integer, T::Numeric]);
                tree!["(", self.value(whole, depth), ")::", value_type.name()]
            }
            _ => left,
        }
    }

    pub(super) fn text(&mut self, depth: usize) -> QueryTree {
        let left = self.value(T::Text, depth);
        match self.below(10) {
            0 => tree!["(", left, " || ", self.value(T::Text, depth), ")"],
            1 => {
                let from = self.pick(&T::ALL);
                tree!["(", self.value(from, depth), ")::text"]
            }
            2 => {
                let function = self.pick(&["lower", "upper", "reverse", "btrim", "rtrim", "md5"]);
                tree![function, "(", left, ")"]
            }
            3 => {
                let (from, count) = (self.below(4), self.below(4));
                tree!["substr(", left, format!(", {from}, {count})")]
            }
            4 => {
                let function = self.pick(&["left", "right"]);
                tree![function, "(", left, ", ", self.value(T::Small, 0), ")"]
            }
            5 => {
                let (from, to) = (self.value(T::Text, 0), self.value(T::Text, 0));
                tree!["replace(", left, ", ", from, ", ", to, ")"]
            }
            6 => {
                let other = self.any_type();
                let other = self.value(other, depth);
                let function = self.pick(&["concat(", "concat_ws('-', "]);
                tree![function, left, ", ", other, ")"]
            }
            7 => {
                let side = self.pick(&["lpad", "rpad"]);
                tree![side, "(", left, ", 4, '*')"]
            }
            8 => {
                let whole = self.value(T::Integer, depth);
                tree!["to_char(", whole, ", '999')"]
            }
            _ => left,
        }
    }

    pub(super) fn character(&mut self, depth: usize) -> QueryTree {
        match self.below(3) {
            0 if self.features.has_rare => {
                tree!["(", self.value(T::Text, depth), ")::char(3)"]
            }
            1 if self.features.has_rare => tree!["(", self.value(T::Char, depth), ")::char(5)"],
            _ => self.leaf(T::Char),
        }
    }

    pub(super) fn date(&mut self, depth: usize) -> QueryTree {
        let left = self.value(T::Date, depth);
        match self.below(4) {
            0 => {
                let operator = self.pick(&[" + ", " - "]);
                tree!["(", left, operator, self.value(T::Small, depth), "::integer)"]
            }
            1 => tree!["(", self.value(T::Stamp, depth), ")::date"],
            _ => left,
        }
    }

    pub(super) fn stamp(&mut self, depth: usize) -> QueryTree {
        let left = self.value(T::Stamp, depth);
        match self.below(5) {
            0 => {
                let units = ["1 day", "1 month", "90 minutes", "-1 year", "1 mon -1 day"];
                let unit = self.pick(&units);
                let operator = self.pick(&[" + ", " - "]);
                tree!["(", left, operator, format!("interval '{unit}')")]
            }
            1 => {
                let unit = self.pick(&["year", "month", "week", "day", "hour"]);
                tree!["date_trunc('", unit, "', ", left, ")"]
            }
            2 => tree!["(", self.value(T::Date, depth), ")::timestamp"],
            _ => left,
        }
    }
}
