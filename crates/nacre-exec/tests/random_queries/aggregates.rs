//! Random aggregates and window functions.

use super::schema::ValueType;
use super::tree::{QueryTree, tree};
use super::writer::QueryWriter;

use ValueType as T;

impl QueryWriter<'_> {
    /// Writes an aggregate of a type, in a grouped query.
    pub(super) fn aggregate(&mut self, value_type: ValueType, depth: usize) -> QueryTree {
        if value_type == T::Integer && self.scope().has_sets && self.one_in(3) {
            let keys = self.scope().keys.clone().unwrap_or_default();
            let key = self.below(keys.len().max(1));
            if let Some(key) = keys.get(key) {
                return tree!["grouping(", key.text.as_str(), ")"];
            }
        }
        let saved = self.scope().clone();
        let was_local = std::mem::replace(&mut self.is_local, true);
        let scope = self.scope();
        (scope.keys, scope.has_windows) = (None, false);
        let call = self.aggregate_call(value_type, depth, true);
        let filter = if self.one_in(4) {
            let condition = self.value(T::Boolean, depth);
            QueryTree::optional(tree![" filter (where ", condition, ")"])
        } else {
            QueryTree::nothing()
        };
        *self.scope() = saved;
        self.is_local = was_local;
        match call {
            Some((call, cast)) => tree!["(", call, filter, ")", cast],
            None => self.leaf(value_type),
        }
    }

    /// Returns a call, and the cast of its value; none if no aggregate has such values.
    fn aggregate_call(
        &mut self,
        value_type: ValueType,
        depth: usize,
        may_be_distinct: bool,
    ) -> Option<(QueryTree, &'static str)> {
        let distinct = if may_be_distinct { self.pick(&["", "", "", "distinct "]) } else { "" };
        let distinct = QueryTree::optional(distinct.into());
        let function = match value_type {
            T::Big if self.one_in(3) => return Some(("count(*)".into(), "")),
            T::Big if self.one_in(2) => {
                let counted = self.any_type();
                return Some((tree!["count(", distinct, self.value(counted, depth), ")"], ""));
            }
            T::Big if self.one_in(2) => {
                let summed = self.pick(&[T::Small, T::Integer]);
                return Some((tree!["sum(", distinct, self.value(summed, depth), ")"], ""));
            }
            T::Numeric if self.one_in(2) => {
                let of = self.pick(&[T::Big, T::Numeric, T::Numeric]);
                return Some((tree!["sum(", distinct, self.value(of, depth), ")"], ""));
            }
            T::Numeric if self.one_in(2) => {
                let of = self.pick(&[T::Small, T::Integer, T::Big, T::Numeric]);
                let function = self.pick(&["avg", "avg", "var_pop", "stddev"]);
                return Some((tree![function, "(", distinct, self.value(of, depth), ")"], ""));
            }
            T::Double if self.one_in(2) => self.pick(&["sum", "avg"]),
            T::Real if self.one_in(2) => "sum",
            T::Boolean => self.pick(&["bool_and", "bool_or", "every"]),
            T::Text if may_be_distinct && self.features.has_rare && self.one_in(2) => {
                let value = self.value(T::Text, 0).text();
                let call = format!("string_agg({value}, ',' order by {value})");
                return Some((call.into(), ""));
            }
            T::Char if self.one_in(2) => return None,
            _ => self.pick(&["min", "max"]),
        };
        let cast = if value_type == T::Char { "::char(3)" } else { "" };
        Some((tree![function, "(", distinct, self.value(value_type, depth), ")"], cast))
    }

    /// Writes a call of a window function.
    pub(super) fn window_call(&mut self, value_type: ValueType, depth: usize) -> QueryTree {
        let saved = self.scope().clone();
        self.scope().has_windows = false;
        let (call, needs_order) = match (value_type, self.below(4)) {
            (T::Big, 0) => {
                let functions = ["row_number()", "rank()", "dense_rank()"];
                (QueryTree::from(self.pick(&functions)), true)
            }
            (T::Integer, 0) => (QueryTree::from("ntile(3)"), true),
            (T::Double, 0) => {
                (QueryTree::from(self.pick(&["percent_rank()", "cume_dist()"])), true)
            }
            (_, 0 | 1) => {
                let value = self.value(value_type, depth);
                let call = match self.below(5) {
                    0 => tree!["lag(", value, ")"],
                    1 => tree!["lead(", value, ", 2)"],
                    2 => tree!["first_value(", value, ")"],
                    3 => tree!["last_value(", value, ")"],
                    _ => tree!["nth_value(", value, ", 2)"],
                };
                (call, true)
            }
            _ if self.is_grouped() => {
                let function = if value_type == T::Boolean { "bool_or(" } else { "max(" };
                (tree![function, self.leaf(value_type), ")"], false)
            }
            _ => match self.aggregate_call(value_type, depth, false) {
                Some((call, _)) if self.one_in(5) => {
                    let condition = self.value(T::Boolean, depth.min(1));
                    let filter = tree![" filter (where ", condition, ")"];
                    (tree![call, QueryTree::optional(filter)], false)
                }
                Some((call, _)) => (call, false),
                None => (tree!["lag(", self.leaf(value_type), ")"], true),
            },
        };
        let window = self.window(needs_order, depth);
        *self.scope() = saved;
        tree!["(", call, " over (", window, "))"]
    }

    /// Writes a window; the order of its rows is total if `needs_order`.
    fn window(&mut self, needs_order: bool, depth: usize) -> QueryTree {
        let partition = if self.one_in(3) {
            QueryTree::nothing()
        } else {
            let value_type = self.any_type();
            let value = self.value(value_type, depth.min(1));
            QueryTree::optional(tree!["partition by ", value, " "])
        };
        let scope = self.scope();
        let keys = scope.keys.as_ref().unwrap_or(&scope.columns);
        let all: Vec<_> = keys.iter().map(|column| column.text.clone()).collect();
        if !all.is_empty() && (needs_order || self.one_in(3)) {
            let order = self.shuffled_order(all);
            let frame = QueryTree::optional(self.frame(true).into());
            return tree![partition, "order by ", order, frame];
        }
        if self.one_in(3) {
            let value_type = self.any_type();
            let order = self.value(value_type, depth.min(1));
            let frame = match distance(value_type) {
                Some(distance) if self.one_in(2) => self.distance_frame(distance),
                _ => self.frame(false),
            };
            let frame = QueryTree::optional(frame.into());
            let order = tree!["order by ", order, frame];
            return tree![partition, QueryTree::optional(order)];
        }
        partition
    }

    fn shuffled_order(&mut self, mut all: Vec<String>) -> QueryTree {
        for last in (1..all.len()).rev() {
            let other = self.below(last + 1);
            all.swap(last, other);
        }
        let keys = all.into_iter().map(|one| {
            let direction = self.pick(&["", "", " desc", " nulls first", " desc nulls last"]);
            tree![one, direction]
        });
        QueryTree::Parts(keys.enumerate().flat_map(comma_before).collect())
    }

    /// Writes a frame of values up to a distance.
    fn distance_frame(&mut self, distance: &str) -> String {
        let frames = [
            " desc range between {} preceding and {} following",
            " range between {} following and unbounded following",
            " nulls first range {} preceding exclude current row",
            " range between unbounded preceding and {} preceding",
        ];
        self.pick(&frames).replace("{}", distance)
    }

    /// Writes a frame; its rows are determined if the order of rows is.
    fn frame(&mut self, is_total: bool) -> String {
        let unit = if is_total { self.pick(&["rows", "rows", "groups"]) } else { "groups" };
        let frames = [
            "",
            " range unbounded preceding",
            " {} between 1 preceding and 1 following",
            " {} between unbounded preceding and 1 preceding",
            " {} between current row and unbounded following",
            " {} between 2 preceding and current row exclude current row",
            " {} between 1 following and 3 following",
            " {} between unbounded preceding and unbounded following exclude ties",
            " range between current row and unbounded following exclude group",
        ];
        self.pick(&frames).replace("{}", unit)
    }
}

/// Returns a distance between values of a type, if they have one.
fn distance(value_type: ValueType) -> Option<&'static str> {
    match value_type {
        T::Small | T::Integer | T::Big => Some("2"),
        T::Numeric => Some("1.5"),
        T::Real | T::Double => Some("0.75::float8"),
        T::Date | T::Stamp => Some("interval '36 hours'"),
        T::Boolean | T::Text | T::Char => None,
    }
}

fn comma_before((index, key): (usize, QueryTree)) -> [QueryTree; 2] {
    [if index == 0 { "".into() } else { ", ".into() }, key]
}
