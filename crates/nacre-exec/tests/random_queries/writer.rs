//! Writes random queries: what may be named where, and expressions of any type.

use super::schema::{RandomTable, ValueType};
use super::support::SeededRandom;
use super::tree::{QueryTree, tree};

/// A column, or a key of a group, as a query writes it.
#[derive(Clone, Debug)]
pub(crate) struct VisibleColumn {
    pub(crate) text: String,
    pub(crate) value_type: ValueType,
}

/// What the expressions of one query may name.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryScope {
    pub(crate) columns: Vec<VisibleColumn>,
    /// The keys of a grouped query, whose expressions may have aggregates.
    pub(crate) keys: Option<Vec<VisibleColumn>>,
    /// Whether window functions may be called.
    pub(crate) has_windows: bool,
    /// Whether the keys of a grouped query are those of several sets.
    pub(crate) has_sets: bool,
}

/// What a query may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryFeatures {
    /// Operators and casts that fail for some values.
    pub(crate) may_fail: bool,
    pub(crate) has_windows: bool,
    pub(crate) has_groups: bool,
    pub(crate) has_sets: bool,
    pub(crate) has_lateral: bool,
    /// What the own engine refuses most.
    pub(crate) has_rare: bool,
    /// Rows that are left out by LIMIT or DISTINCT ON in queries within.
    pub(crate) has_limits: bool,
}

/// Writes one query.
pub(crate) struct QueryWriter<'r> {
    pub(super) random: &'r mut SeededRandom,
    pub(super) tables: &'r [RandomTable],
    /// The innermost query's is the last.
    pub(super) scopes: Vec<QueryScope>,
    pub(super) features: QueryFeatures,
    pub(super) aliases: usize,
    /// Queries in expressions that may still be written.
    pub(super) queries: usize,
    /// Queries of WITH and the types of their columns.
    pub(super) common: Vec<(String, Vec<ValueType>)>,
    /// Whether columns of outer queries are left out: an aggregate of such alone is theirs.
    pub(super) is_local: bool,
}

impl<'r> QueryWriter<'r> {
    pub(crate) fn new(random: &'r mut SeededRandom, tables: &'r [RandomTable]) -> Self {
        let queries = if random.below(2) == 0 { 0 } else { 1 + random.below(4) as usize };
        let features = QueryFeatures {
            may_fail: random.below(4) == 0,
            has_windows: random.below(4) == 0,
            has_groups: random.below(2) == 0,
            has_sets: random.below(4) == 0,
            has_lateral: random.below(4) == 0,
            has_rare: random.below(8) == 0,
            has_limits: random.below(3) == 0,
        };
        let (scopes, common) = (Vec::new(), Vec::new());
        let (aliases, is_local) = (0, false);
        Self { random, tables, scopes, features, aliases, queries, common, is_local }
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.random.below(end as u64) as usize
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    pub(super) fn alias(&mut self, prefix: &str) -> String {
        self.aliases += 1;
        format!("{prefix}{}", self.aliases)
    }

    pub(super) fn scope(&mut self) -> &mut QueryScope {
        self.scopes.last_mut().expect("a query is being written")
    }

    pub(super) fn is_grouped(&self) -> bool {
        self.scopes.last().is_some_and(|scope| scope.keys.is_some())
    }

    /// Returns a type, more often one that a column has.
    pub(super) fn any_type(&mut self) -> ValueType {
        let columns = self.visible(self.scopes.len().saturating_sub(1));
        if columns.is_empty() || self.one_in(4) {
            return self.pick(&ValueType::ALL);
        }
        columns[self.below(columns.len())].value_type
    }

    /// Returns the type of some column of a table, more often than not.
    pub(super) fn stored_type(&mut self) -> ValueType {
        if self.one_in(5) {
            return self.pick(&ValueType::ALL);
        }
        let tables = self.tables;
        let columns = &tables[self.below(tables.len())].columns;
        columns[self.below(columns.len())].value_type
    }

    /// Returns what the query at a depth shows to its expressions.
    fn visible(&self, depth: usize) -> Vec<VisibleColumn> {
        let Some(scope) = self.scopes.get(depth) else { return Vec::new() };
        scope.keys.as_ref().unwrap_or(&scope.columns).clone()
    }

    /// Writes an expression of a type.
    pub(crate) fn value(&mut self, value_type: ValueType, depth: usize) -> QueryTree {
        if depth == 0 || self.one_in(4) {
            return QueryTree::value(value_type, self.leaf(value_type));
        }
        let below = depth - 1;
        let tree = match self.below(12) {
            0..=3 if self.is_grouped() => self.aggregate(value_type, below),
            0..=3 if self.scopes.last().is_some_and(|scope| scope.has_windows) => {
                self.window_call(value_type, below)
            }
            4 => self.choice(value_type, below),
            5 | 6 if self.queries > 0 => self.scalar_query(value_type),
            7 | 8 => self.leaf(value_type),
            _ => self.operation(value_type, below),
        };
        QueryTree::value(value_type, tree)
    }

    fn operation(&mut self, value_type: ValueType, depth: usize) -> QueryTree {
        match value_type {
            ValueType::Small | ValueType::Integer | ValueType::Big => {
                self.whole_number(value_type, depth)
            }
            ValueType::Numeric => self.numeric(depth),
            ValueType::Real | ValueType::Double => self.float(value_type, depth),
            ValueType::Boolean => self.condition(depth),
            ValueType::Text => self.text(depth),
            ValueType::Char => self.character(depth),
            ValueType::Date => self.date(depth),
            ValueType::Stamp => self.stamp(depth),
        }
    }

    /// Writes an expression that has one of several values.
    fn choice(&mut self, value_type: ValueType, depth: usize) -> QueryTree {
        let (first, second) = (self.value(value_type, depth), self.value(value_type, depth));
        match self.below(6) {
            0 => tree!["coalesce(", first, ", ", second, ")"],
            1 => tree!["nullif(", first, ", ", second, ")"],
            2 if value_type != ValueType::Boolean => {
                let function = self.pick(&["greatest", "least"]);
                tree![function, "(", first, ", ", second, ")"]
            }
            3 => {
                let (subject, when) = (self.any_type(), self.below(2));
                let subject_tree = self.value(subject, depth);
                let cases = (0..=when).map(|_| {
                    let (case, then) = (self.value(subject, 0), self.value(value_type, depth));
                    tree![" when ", case, " then ", then]
                });
                let cases = QueryTree::List("", cases.collect());
                tree!["case ", subject_tree, cases, " else ", first, " end"]
            }
            _ => {
                let condition = self.value(ValueType::Boolean, depth);
                let otherwise = QueryTree::optional(tree![" else ", second]);
                tree!["case when ", condition, " then ", first, otherwise, " end"]
            }
        }
    }

    /// Writes a column or a constant.
    pub(super) fn leaf(&mut self, value_type: ValueType) -> QueryTree {
        let own = self.scopes.len().saturating_sub(1);
        let depth = match self.scopes.len() {
            levels if levels > 1 && !self.is_local && self.one_in(4) => self.below(levels - 1),
            _ => own,
        };
        if self.one_in(6) {
            return self.constant(value_type).into();
        }
        let mut columns = self.visible(depth);
        if columns.iter().any(|column| column.value_type == value_type) {
            columns.retain(|column| column.value_type == value_type);
            return columns[self.below(columns.len())].text.clone().into();
        }
        columns.retain(|column| is_widened(column.value_type, value_type));
        if columns.is_empty() {
            return self.constant(value_type).into();
        }
        let column = &columns[self.below(columns.len())];
        tree![column.text.as_str(), "::", value_type.name()]
    }

    /// Writes a constant of a type.
    pub(super) fn constant(&mut self, value_type: ValueType) -> String {
        if self.one_in(9) {
            return format!("null::{}", value_type.name());
        }
        let number = self.below(8) as i64 - 2;
        match value_type {
            ValueType::Small => format!("({number})::smallint"),
            ValueType::Integer if self.one_in(12) => "2147483647".to_owned(),
            ValueType::Integer => format!("({number})"),
            ValueType::Big if self.one_in(8) => "3000000000".to_owned(),
            ValueType::Big => format!("({number})::bigint"),
            ValueType::Numeric => self
                .pick(&["0.0", "1.50", "(-2.5)", "3::numeric", "0.333333", "1e3", "100.01"])
                .to_owned(),
            ValueType::Real => self.pick(&["'1.5'::real", "0::real", "'-2'::real"]).to_owned(),
            ValueType::Double => self
                .pick(&["'0.25'::float8", "3::float8", "'NaN'::float8", "'-2'::float8"])
                .to_owned(),
            ValueType::Boolean => self.pick(&["true", "false"]).to_owned(),
            ValueType::Text => self
                .pick(&["'a'::text", "''::text", "'ab'::text", "'b '::text", "'12'::text"])
                .to_owned(),
            ValueType::Char => {
                self.pick(&["'a'::char(3)", "''::char(3)", "'ab'::char(2)"]).to_owned()
            }
            ValueType::Date => self
                .pick(&["date '2024-02-29'", "date '2024-03-01'", "date '1999-12-31'"])
                .to_owned(),
            ValueType::Stamp => {
                self.pick(&["timestamp '2024-02-29 12:30:00'", "timestamp '2024-03-01'"]).to_owned()
            }
        }
    }
}

/// Whether every value of a type has a cast to another one that does not fail.
fn is_widened(from: ValueType, to: ValueType) -> bool {
    use ValueType as T;
    match to {
        T::Integer => from == T::Small,
        T::Big => matches!(from, T::Small | T::Integer),
        T::Numeric => matches!(from, T::Small | T::Integer | T::Big),
        T::Real => from == T::Small,
        T::Double => from.is_number(),
        T::Text => true,
        T::Stamp => from == T::Date,
        T::Date => from == T::Stamp,
        _ => false,
    }
}
