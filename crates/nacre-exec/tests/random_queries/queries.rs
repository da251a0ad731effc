//! Random queries: SELECT, set operations, VALUES, WITH.

use super::compare::RowOrder;
use super::schema::ValueType;
use super::tree::{QueryTree, tree};
use super::writer::{QueryScope, QueryWriter, VisibleColumn};

/// A query, and how far its answer is determined.
#[derive(Clone, Debug)]
pub(crate) struct RandomQuery {
    pub(crate) tree: QueryTree,
    pub(crate) order: RowOrder,
}

impl QueryWriter<'_> {
    /// Writes the query.
    pub(crate) fn query(mut self) -> RandomQuery {
        let with = if self.one_in(5) { self.common_queries() } else { QueryTree::nothing() };
        let types = self.output_types();
        let body = self.body(&types, 3);
        let (tail, order) = match self.below(4) {
            0 => (QueryTree::nothing(), RowOrder::None),
            1 if self.features.has_limits => {
                let limit = self.limit();
                let tail = QueryTree::optional(tree![self.total_order(types.len()), limit]);
                (tail, RowOrder::TotalWithLimit)
            }
            _ => (QueryTree::optional(self.total_order(types.len())), RowOrder::Total),
        };
        let tree = QueryTree::query(types.len(), tree![with, body, tail]);
        RandomQuery { tree, order }
    }

    /// Writes WITH.
    fn common_queries(&mut self) -> QueryTree {
        let (mut all, mut has_recursion) = (Vec::new(), false);
        for index in 0..1 + self.below(2) {
            let name = format!("w{index}");
            if self.one_in(4) {
                let (types, query) = self.recursive_query(&name);
                all.push(query);
                self.common.push((name, types));
                has_recursion = true;
                continue;
            }
            let types = self.output_types();
            let query = self.nested_query(&types);
            let kind = self.pick(&["", "", "materialized ", "not materialized "]);
            let head = format!("{name}({}) as {kind}(", column_names(&types));
            all.push(tree![head, query, ")"]);
            self.common.push((name, types));
        }
        let word = if has_recursion { "with recursive " } else { "with " };
        QueryTree::optional(tree![word, QueryTree::List(", ", all), " "])
    }

    /// Writes a recursion, whose first column counts its steps.
    fn recursive_query(&mut self, name: &str) -> (Vec<ValueType>, QueryTree) {
        let mut types = vec![ValueType::Integer];
        // What a value of `char` is cast to has a length.
        types.extend(self.output_types().into_iter().filter(|one| *one != ValueType::Char));
        let first = self.table();
        let first_outputs = self.cast_outputs(&types[1..], first.columns);
        let mut step = self.common_item(name, &types);
        step.tree = QueryTree::item(step.tree);
        let counter = step.columns[0].text.clone();
        if first.rows < 100 && self.one_in(2) {
            let other = self.table();
            let condition = self.equality(&step, &other);
            step.tree = tree![step.tree, " join ", QueryTree::item(other.tree), " on ", condition];
            step.columns.extend(other.columns);
        }
        let step_outputs = self.cast_outputs(&types[1..], step.columns);
        let word = self.pick(&[" union all ", " union "]);
        let first = QueryTree::item(first.tree);
        let first = tree!["select 0", first_outputs, " from ", first];
        let counted = format!("select {counter} + 1");
        let end = format!(" where {counter} < 3");
        let step = tree![counted, step_outputs, " from ", step.tree, end];
        let (first, step) =
            (QueryTree::query(types.len(), first), QueryTree::query(types.len(), step));
        let head = format!("{name}({}) as (", column_names(&types));
        let query = tree![head, first, word, step, ")"];
        (types, query)
    }

    /// Writes values of exactly these types, each behind a comma.
    fn cast_outputs(&mut self, types: &[ValueType], columns: Vec<VisibleColumn>) -> QueryTree {
        self.scopes.push(QueryScope { columns, ..QueryScope::default() });
        let outputs = types.iter().map(|one| tree![", (", self.value(*one, 2), ")::", one.name()]);
        let outputs = outputs.collect();
        self.scopes.pop();
        QueryTree::Parts(outputs)
    }

    fn output_types(&mut self) -> Vec<ValueType> {
        (0..1 + self.below(4)).map(|_| self.stored_type()).collect()
    }

    /// Writes a query in FROM or WITH.
    pub(super) fn nested_query(&mut self, types: &[ValueType]) -> QueryTree {
        let body = self.body(types, 2);
        if self.features.has_limits && types.len() > 1 && self.one_in(4) {
            let names: Vec<_> = (1..=types.len()).map(|at| format!("c{at}")).collect();
            let (alias, order) = (self.alias("k"), self.total_order(types.len() - 1));
            let order = order.text().replace(" order by ", "");
            let shifted = (1..types.len())
                .rev()
                .fold(order, |order, at| order.replace(&at.to_string(), &(at + 1).to_string()));
            let named = format!("{alias}({})", names.join(", "));
            let head = format!("select distinct on ({alias}.c1) {alias}.* from (");
            let query = tree![head, body, ") ", named, format!(" order by 1, {shifted}")];
            return QueryTree::query(types.len(), query);
        }
        let tail = if self.features.has_limits && self.one_in(3) {
            QueryTree::optional(tree![self.total_order(types.len()), self.limit()])
        } else {
            QueryTree::nothing()
        };
        QueryTree::query(types.len(), tree![body, tail])
    }

    /// Writes a query in an expression.
    pub(super) fn subquery(&mut self, types: &[ValueType]) -> QueryTree {
        let was_local = std::mem::replace(&mut self.is_local, false);
        let query = self.nested_query(types);
        self.is_local = was_local;
        query
    }

    /// Writes a query that is a value; most have at most one row.
    pub(super) fn scalar_query(&mut self, value_type: ValueType) -> QueryTree {
        self.queries -= 1;
        let was_local = std::mem::replace(&mut self.is_local, false);
        let query = match self.below(8) {
            0 => self.nested_query(&[value_type]),
            1 | 2 => {
                let body = self.body(&[value_type], 2);
                let limit = QueryTree::optional(tree![self.total_order(1), " limit 1"]);
                QueryTree::query(1, tree![body, limit])
            }
            _ => {
                let body = self.select(&[value_type], 1, Some(Vec::new()));
                QueryTree::query(1, body)
            }
        };
        self.is_local = was_local;
        tree!["(", query, ")"]
    }

    fn total_order(&mut self, columns: usize) -> QueryTree {
        let mut all: Vec<usize> = (1..=columns).collect();
        for last in (1..all.len()).rev() {
            let other = self.below(last + 1);
            all.swap(last, other);
        }
        let keys: Vec<_> = all
            .into_iter()
            .map(|one| {
                let directions = ["", "", " desc", " nulls first", " desc nulls last"];
                format!("{one}{}", self.pick(&directions))
            })
            .collect();
        format!(" order by {}", keys.join(", ")).into()
    }

    fn limit(&mut self) -> QueryTree {
        let (limit, offset) = (self.below(6), self.below(4));
        match self.below(4) {
            0 => QueryTree::optional(format!(" limit {limit} offset {offset}").into()),
            2 => QueryTree::optional(format!(" fetch first {} rows with ties", limit + 1).into()),
            1 => QueryTree::optional(format!(" offset {offset}").into()),
            _ => QueryTree::optional(format!(" limit {limit}").into()),
        }
    }

    /// Writes SELECT, VALUES or an operation on sets of rows.
    fn body(&mut self, types: &[ValueType], depth: usize) -> QueryTree {
        if self.features.has_sets && depth > 0 && self.one_in(2) {
            let words = [" union ", " union all ", " intersect ", " except ", " union all "];
            let all = [" intersect all ", " except all "];
            let word = if self.one_in(6) { self.pick(&all) } else { self.pick(&words) };
            let (left, right) = (self.body(types, depth - 1), self.body(types, depth - 1));
            let left = QueryTree::query(types.len(), left);
            let right = QueryTree::query(types.len(), right);
            return tree!["(", left, ")", word, "(", right, ")"];
        }
        if self.one_in(20) {
            let rows = (0..1 + self.below(3)).map(|_| self.row(types)).collect();
            return tree!["values ", QueryTree::List(", ", rows)];
        }
        let keys = (self.features.has_groups && self.one_in(2))
            .then(|| (0..self.below(4)).map(|_| self.stored_type()).collect::<Vec<_>>());
        self.select(types, depth, keys)
    }

    /// Writes SELECT; with keys of these types it is grouped.
    fn select(
        &mut self,
        types: &[ValueType],
        depth: usize,
        keys: Option<Vec<ValueType>>,
    ) -> QueryTree {
        self.scopes.push(QueryScope::default());
        let mut source = QueryTree::nothing();
        if !self.one_in(24) {
            let from = self.joined_items(depth);
            self.scope().columns = from.columns;
            source = tree![" from ", from.tree];
        }
        let filter = if self.one_in(2) {
            QueryTree::nothing()
        } else {
            let depth = 1 + self.below(3);
            QueryTree::optional(tree![" where ", self.condition(depth)])
        };
        let (groups, has_sets) = match keys {
            Some(keys) => self.groups(&keys),
            None => (QueryTree::nothing(), false),
        };
        self.scope().has_windows = self.features.has_windows && !has_sets;
        self.scope().has_sets = has_sets;
        let outputs = types.iter().map(|one| self.value(*one, 3)).collect::<Vec<_>>();
        self.scope().has_windows = false;
        let having = if self.is_grouped() && self.one_in(4) {
            QueryTree::optional(tree![" having ", self.value(ValueType::Boolean, 2)])
        } else {
            QueryTree::nothing()
        };
        let distinct = if self.one_in(7) { "distinct ".into() } else { QueryTree::nothing() };
        let distinct = QueryTree::optional(distinct);
        self.scopes.pop();
        let outputs = outputs.into_iter().enumerate().flat_map(comma_before).collect();
        tree!["select ", distinct, QueryTree::Parts(outputs), source, filter, groups, having]
    }

    /// Writes GROUP BY and makes the query a grouped one; returns whether it has several sets.
    fn groups(&mut self, types: &[ValueType]) -> (QueryTree, bool) {
        let (mut keys, mut trees): (Vec<VisibleColumn>, Vec<QueryTree>) = Default::default();
        for _ in types {
            let value_type = self.any_type();
            let depth = if self.one_in(3) { 2 } else { 0 };
            let was_local = std::mem::replace(&mut self.is_local, true);
            let tree = if depth == 0 { self.leaf(value_type) } else { self.value(value_type, 2) };
            self.is_local = was_local;
            let text = tree.text();
            let has_column = self.scope().columns.iter().any(|one| text.contains(&one.text));
            if has_column && keys.iter().all(|key| key.text != text) {
                keys.push(VisibleColumn { text, value_type });
                trees.push(tree!["(", tree, ")"]);
            }
        }
        self.scope().keys = Some(keys);
        let Some(first) = trees.first().cloned() else { return (QueryTree::nothing(), false) };
        let list = QueryTree::List(", ", trees);
        let sets = match self.below(8) {
            0 => tree!["rollup (", list, ")"],
            1 => tree!["cube (", list, ")"],
            2 => tree!["grouping sets ((", list, "), (", first, "), ())"],
            _ => list,
        };
        let has_sets = !matches!(sets, QueryTree::List(..));
        (QueryTree::optional(tree![" group by ", sets]), has_sets)
    }
}

/// Returns the names of so many columns.
fn column_names(types: &[ValueType]) -> String {
    (1..=types.len()).map(|at| format!("c{at}")).collect::<Vec<_>>().join(", ")
}

fn comma_before((index, tree): (usize, QueryTree)) -> [QueryTree; 2] {
    [if index == 0 { "".into() } else { ", ".into() }, tree]
}
