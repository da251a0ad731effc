//! Tables by text, and statistics of them.

use std::collections::HashMap;
use std::sync::Arc;

use nacre_plan::algebra::QueryPlan;
use nacre_plan::binder::bind_query;
use nacre_plan::definition::{RelationCatalog, RelationColumn, RelationDefinition, RelationId};
use nacre_plan::optimizer::{ColumnStatistics, RelationStatistics, optimize};
use nacre_syntax::Statement;
use nacre_types::{SqlType, SqlValue, ValueSettings, resolve_type_name};

/// Relations with statistics.
#[derive(Default)]
pub(crate) struct TestTables {
    relations: Vec<Arc<RelationDefinition>>,
    rows: HashMap<RelationId, u64>,
    columns: HashMap<(RelationId, usize), ColumnStatistics>,
}

impl TestTables {
    /// Adds a table. Columns are `name type`, `!` behind a type is NOT NULL; the first
    /// `key_columns` of them are the primary key.
    pub(crate) fn add(&mut self, name: &str, columns: &str, key_columns: usize, rows: u64) {
        let id = RelationId(self.relations.len() as u64 + 1);
        let column = |text: &str| {
            let (name, words) = text.trim().split_once(' ').unwrap();
            let (words, is_nullable) = match words.strip_suffix('!') {
                Some(words) => (words, false),
                None => (words, true),
            };
            RelationColumn { name: name.to_owned(), sql_type: parse_type(words), is_nullable }
        };
        let columns = columns.split(';').map(column).collect();
        let (schema, name) = ("public".to_owned(), name.to_owned());
        let primary_key = (0..key_columns).collect();
        let definition =
            RelationDefinition { id, schema, name, columns, primary_key, table_oid: None };
        self.relations.push(Arc::new(definition));
        self.rows.insert(id, rows);
    }

    /// Sets the statistics of a column: the number of its values, and its bounds.
    pub(crate) fn describe(
        &mut self,
        column: &str,
        distinct_count: u64,
        bounds: Option<(&str, &str)>,
    ) {
        let found = self.relations.iter().find_map(|relation| {
            let position = relation.columns.iter().position(|own| own.name == column)?;
            Some((relation.id, position, relation.columns[position].sql_type))
        });
        let (id, position, sql_type) = found.unwrap();
        let parse = |text: &str| {
            SqlValue::parse(text, sql_type.without_modifier(), &ValueSettings::default()).unwrap()
        };
        let bounds = bounds.map(|(low, high)| (parse(low), parse(high)));
        let known = ColumnStatistics {
            bounds,
            null_fraction: Some(0.0),
            distinct_count: Some(distinct_count),
            ..ColumnStatistics::default()
        };
        self.columns.insert((id, position), known);
    }

    pub(crate) fn bind(&self, sql: &str) -> Result<QueryPlan, String> {
        let parsed = nacre_syntax::parse_statement(sql).map_err(|error| error.to_string())?;
        match parsed {
            Some(Statement::Query(query)) => bind_query(self, &ValueSettings::default(), &query)
                .map_err(|error| error.text.message),
            _ => Err("no query".to_owned()),
        }
    }

    pub(crate) fn optimized(&self, sql: &str) -> QueryPlan {
        let plan = self.bind(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        optimize(plan, self)
    }
}

impl RelationCatalog for TestTables {
    fn find_relation(&self, _: Option<&str>, name: &str) -> Option<Arc<RelationDefinition>> {
        self.relations.iter().find(|relation| relation.name == name).cloned()
    }
}

impl RelationStatistics for TestTables {
    fn row_count(&self, relation: RelationId) -> Option<u64> {
        self.rows.get(&relation).copied()
    }

    fn column(&self, relation: RelationId, position: usize) -> ColumnStatistics {
        self.columns.get(&(relation, position)).cloned().unwrap_or_default()
    }
}

fn parse_type(words: &str) -> SqlType {
    let (name, modifiers) = match words.split_once('(') {
        Some((name, modifiers)) => (name, modifiers.trim_end_matches(')')),
        None => (words, ""),
    };
    let modifiers = modifiers.split(',').filter(|one| !one.is_empty());
    let modifiers: Vec<i32> = modifiers.map(|one| one.trim().parse().unwrap()).collect();
    resolve_type_name(name, &modifiers).unwrap()
}
