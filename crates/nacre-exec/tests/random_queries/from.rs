//! Random items of FROM: tables, queries, rows, and joins of them.

use super::conditions::COMPARISONS;
use super::schema::ValueType;
use super::tree::{QueryTree, tree};
use super::writer::{QueryScope, QueryWriter, VisibleColumn};

/// Rows that an item may have without a condition of equality in its joins.
const PAIRS_MAX: usize = 20_000;

/// An item of FROM.
pub(super) struct FromItem {
    pub(super) tree: QueryTree,
    pub(super) columns: Vec<VisibleColumn>,
    /// About how many.
    pub(super) rows: usize,
}

fn columns_of(alias: &str, names: &[String], types: &[ValueType]) -> Vec<VisibleColumn> {
    let column = |(name, value_type): (&String, &ValueType)| VisibleColumn {
        text: format!("{alias}.{name}"),
        value_type: *value_type,
    };
    names.iter().zip(types).map(column).collect()
}

impl QueryWriter<'_> {
    /// Writes FROM with a few items.
    pub(super) fn joined_items(&mut self, depth: usize) -> FromItem {
        let mut all = self.source_item(depth);
        while all.rows < 2_000 && self.one_in(4) {
            let other = self.source_item(depth.saturating_sub(1));
            all.rows = (all.rows * other.rows).min(PAIRS_MAX);
            let (left, right) = (QueryTree::item(all.tree), QueryTree::item(other.tree));
            all.tree = tree![left, ", ", right];
            all.columns.extend(other.columns);
        }
        all
    }

    fn source_item(&mut self, depth: usize) -> FromItem {
        let item = match self.below(14) {
            0..=4 if depth > 0 => self.join(depth - 1),
            5 | 6 if depth > 0 => self.derived(),
            7 if !self.common.is_empty() => self.common_query(),
            8 if !self.common.is_empty() => self.common_query(),
            9 => self.rows_item(),
            10 if self.one_in(2) => self.series(),
            _ => self.table(),
        };
        FromItem { tree: QueryTree::item(item.tree), ..item }
    }

    pub(super) fn table(&mut self) -> FromItem {
        let tables = self.tables;
        // One without rows, or with one, is the last and comes less often.
        let index = if self.one_in(6) { self.below(tables.len()) } else { self.below(4) };
        let table = &tables[index];
        let alias = self.alias("t");
        let columns = table.columns.iter().map(|column| VisibleColumn {
            text: format!("{alias}.{}", column.name),
            value_type: column.value_type,
        });
        let columns = columns.collect();
        let tree = tree![table.name, " ", alias];
        FromItem { tree, columns, rows: table.rows.len() }
    }

    fn some_types(&mut self) -> Vec<ValueType> {
        (0..1 + self.below(3)).map(|_| self.stored_type()).collect()
    }

    fn derived(&mut self) -> FromItem {
        let (types, alias) = (self.some_types(), self.alias("q"));
        let query = self.nested_query(&types);
        let names: Vec<_> = (1..=types.len()).map(|at| format!("c{at}")).collect();
        let columns = columns_of(&alias, &names, &types);
        let tree = tree!["(", query, ") ", alias, format!("({})", names.join(", "))];
        FromItem { tree, columns, rows: 20 }
    }

    fn common_query(&mut self) -> FromItem {
        let index = self.below(self.common.len());
        let (name, types) = self.common[index].clone();
        self.common_item(&name, &types)
    }

    /// Writes an item that reads a query of WITH.
    pub(super) fn common_item(&mut self, name: &str, types: &[ValueType]) -> FromItem {
        let alias = self.alias("w");
        let names: Vec<_> = (1..=types.len()).map(|at| format!("c{at}")).collect();
        let columns = columns_of(&alias, &names, types);
        FromItem { tree: tree![name, " ", alias], columns, rows: 20 }
    }

    fn rows_item(&mut self) -> FromItem {
        let (types, alias) = (self.some_types(), self.alias("v"));
        let names: Vec<_> = (1..=types.len()).map(|at| format!("c{at}")).collect();
        let rows = (0..1 + self.below(4)).map(|_| self.row(&types)).collect();
        let rows = QueryTree::List(", ", rows);
        let tree = tree!["(values ", rows, ") ", &*alias, format!("({})", names.join(", "))];
        FromItem { tree, columns: columns_of(&alias, &names, &types), rows: 4 }
    }

    /// Writes a row of VALUES.
    pub(super) fn row(&mut self, types: &[ValueType]) -> QueryTree {
        let values: Vec<_> = types.iter().map(|one| self.constant(*one)).collect();
        tree!["(", values.join(", "), ")"]
    }

    fn series(&mut self) -> FromItem {
        if self.one_in(3) {
            let (alias, value_type) = (self.alias("a"), self.stored_type());
            let values: Vec<_> = (0..4).map(|_| self.constant(value_type)).collect();
            let tree = tree![format!("unnest(array[{}]) {alias}(c1)", values.join(", "))];
            let columns = columns_of(&alias, &["c1".to_owned()], &[value_type]);
            return FromItem { tree, columns, rows: 4 };
        }
        let (alias, low, high) = (self.alias("g"), self.below(4), self.below(9));
        let step = self.pick(&["", ", 1", ", 2"]);
        let tree = tree![format!("generate_series({low}, {high}{step}) {alias}(c1)")];
        let columns = columns_of(&alias, &["c1".to_owned()], &[ValueType::Integer]);
        FromItem { tree, columns, rows: 8 }
    }

    fn join(&mut self, depth: usize) -> FromItem {
        let left = self.source_item(depth);
        if self.features.has_lateral && self.one_in(3) {
            return self.lateral_join(left);
        }
        let right = self.source_item(depth);
        let kinds = [" join ", " join ", " left join ", " left join ", " right join "];
        let word = if self.one_in(6) { " full join " } else { self.pick(&kinds) };
        let pairs = left.rows * right.rows;
        let (left_tree, right_tree) = (left.tree.clone(), right.tree.clone());
        let is_big = pairs > PAIRS_MAX;
        if !is_big && self.one_in(12) {
            let columns = [left.columns, right.columns].concat();
            let tree = tree![left_tree, " cross join ", right_tree];
            return FromItem { tree, columns, rows: pairs };
        }
        if let Some(name) = self.common_name(&left, &right).filter(|_| self.one_in(4)) {
            let columns = [left.columns, right.columns].concat();
            let tree = if self.one_in(4) {
                tree!["(", left_tree, " natural", word, right_tree, ")"]
            } else {
                tree!["(", left_tree, word, right_tree, " using (", name, "))"]
            };
            return FromItem { tree, columns, rows: left.rows.max(right.rows) * 2 };
        }
        let is_full = word == " full join ";
        let condition = self.join_condition(&left, &right, is_big || is_full);
        let columns = [left.columns, right.columns].concat();
        let tree = tree!["(", left_tree, word, right_tree, " on ", condition, ")"];
        FromItem { tree, columns, rows: left.rows.max(right.rows) * 2 }
    }

    /// Returns the name of a column that both sides have once.
    fn common_name(&mut self, left: &FromItem, right: &FromItem) -> Option<String> {
        let names = |item: &FromItem| -> Vec<String> {
            let own = |column: &VisibleColumn| {
                column.text.split('.').next_back().unwrap_or_default().to_owned()
            };
            item.columns.iter().map(own).collect()
        };
        let (left, right) = (names(left), names(right));
        let once = |all: &[String], name: &String| all.iter().filter(|one| *one == name).count();
        let mut both: Vec<_> = left.iter().filter(|name| once(&right, name) == 1).collect();
        both.retain(|name| once(&left, name) == 1);
        (!both.is_empty()).then(|| both[self.below(both.len())].clone())
    }

    fn join_condition(
        &mut self,
        left: &FromItem,
        right: &FromItem,
        needs_equality: bool,
    ) -> QueryTree {
        let columns = [left.columns.clone(), right.columns.clone()].concat();
        let mut all = Vec::new();
        if needs_equality || !self.one_in(4) {
            all.push(self.equality(left, right));
        }
        while all.is_empty() || self.one_in(3) {
            if self.one_in(2) && !columns.is_empty() {
                all.push(self.inequality(left, right));
                continue;
            }
            self.scopes.push(QueryScope { columns: columns.clone(), ..QueryScope::default() });
            all.push(self.value(ValueType::Boolean, 2));
            self.scopes.pop();
        }
        QueryTree::List(" and ", all)
    }

    /// Writes an equality of a column of either side.
    pub(super) fn equality(&mut self, left: &FromItem, right: &FromItem) -> QueryTree {
        let mut pairs = Vec::new();
        for own in &left.columns {
            for other in &right.columns {
                let is_number = own.value_type.is_number() && other.value_type.is_number();
                if own.value_type == other.value_type || is_number {
                    let is_same = own.value_type == other.value_type;
                    let count = if is_same { 4 } else { 1 };
                    pairs.extend(std::iter::repeat_n((&own.text, &other.text), count));
                }
            }
        }
        if pairs.is_empty() {
            return "true".into();
        }
        let (own, other) = pairs[self.below(pairs.len())];
        format!("{own} = {other}").into()
    }

    fn inequality(&mut self, left: &FromItem, right: &FromItem) -> QueryTree {
        let operator = self.pick(&COMPARISONS);
        self.equality(left, right).text().replacen(" = ", operator, 1).into()
    }

    fn lateral_join(&mut self, left: FromItem) -> FromItem {
        let (types, alias) = (self.some_types(), self.alias("l"));
        self.scopes.push(QueryScope { columns: left.columns.clone(), ..QueryScope::default() });
        let query = self.nested_query(&types);
        self.scopes.pop();
        let names: Vec<_> = (1..=types.len()).map(|at| format!("c{at}")).collect();
        let own = columns_of(&alias, &names, &types);
        let word = self.pick(&[" join ", " left join "]);
        let named = format!("{alias}({})", names.join(", "));
        let right = QueryTree::item(tree!["lateral (", query, ") ", named]);
        let columns = [left.columns, own].concat();
        let condition = if self.one_in(3) {
            let scope = QueryScope { columns: columns.clone(), ..QueryScope::default() };
            self.scopes.push(scope);
            let condition = self.value(ValueType::Boolean, 1);
            self.scopes.pop();
            condition
        } else {
            "true".into()
        };
        let tree = tree!["(", left.tree, word, right, " on ", condition, ")"];
        FromItem { tree, columns, rows: left.rows * 4 }
    }
}
