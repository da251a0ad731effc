//! The operations of ALTER TABLE, applied to a copy of the definition.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef as SqlColumn, ColumnOption,
    DropBehavior, Expr, ForeignKeyConstraint, Ident, JoinConstraint, ObjectName,
    RenameTableNameKind, SelectItem, TableConstraint, TableFactor, TableWithJoins,
    UniqueConstraint, Visit, VisitMut, Visitor, VisitorMut,
};
use nacre_store::index::{IndexDef, IndexOrigin};
use nacre_store::{
    ColumnDef, Error as StoreError, ForeignKeyDef, Store, Table, TableRules, TableSchema,
};

use super::rewrite::{Origin, Target, rewrite};
use super::syntax::dropped_identity;
use crate::constraints::{Owner, foreign_key, unique_key};
use crate::ddl::{Key, column_def, key_columns};
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::indexes;
use crate::names::{fold, table_name};
use crate::notices::Notice;
use crate::planner::Planner;
use crate::relations::{
    all_dependent_views, dependent_views, depends, join_constraint, require_free, table_to_change,
};
use crate::rules::{RulesBuilder, parse};
use crate::transaction::Turn;
use crate::user_views::parse_view;

/// A definition that is being changed.
struct Altered<'a> {
    store: &'a Store,
    planner: &'a Planner,
    /// Name of the table before the statement.
    old_name: String,
    schema: TableSchema,
    rules: TableRules,
    origins: Vec<Origin>,
    /// Beside that of the primary key.
    indexes: Vec<IndexDef>,
    keys: Vec<ForeignKeyDef>,
    /// Where the columns of the table are.
    places: Vec<Option<usize>>,
    /// Whether rows, or what they have to meet, are others.
    is_rewritten: bool,
    /// Whether the statement has one operation.
    is_single: bool,
    /// What the statement does if it is no more than that.
    index_change: Option<IndexChange>,
    created_sequences: Vec<String>,
    dropped_sequences: Vec<String>,
    dropped_views: Vec<String>,
}

/// An index that comes or goes with a UNIQUE constraint, while others use the table.
enum IndexChange {
    Created(IndexDef),
    Dropped(String),
}

/// Runs `ALTER TABLE`; returns the command tag.
///
/// # Errors
/// 42P01, 42703, 42701, 42704, 2BP01, 0A000; those of the rows that do not meet a constraint. The
/// table is as it was then.
pub(crate) async fn alter_table(
    store: &Store,
    planner: &Planner,
    turn: &mut Turn,
    statement: &AlterTable,
) -> Result<String> {
    let tag = "ALTER TABLE".to_owned();
    if statement.location.is_some() || statement.on_cluster.is_some() {
        return Err(Error::not_supported("options of ALTER TABLE"));
    }
    let name = table_name(&statement.name)?;
    if statement.if_exists && require_free(store, &name).is_ok() {
        planner.notices().missing(format_args!("relation \"{name}\""));
        return Ok(tag);
    }
    let table = table_to_change(&turn.names(store)?, &statement.name, "ALTER")?;
    let mut altered = Altered::new(store, planner, &table);
    altered.is_single = statement.operations.len() == 1;
    let applied = statement.operations.iter().try_for_each(|operation| altered.apply(operation));
    let created = std::mem::take(&mut altered.created_sequences);
    let done = match applied {
        Ok(()) => altered.finish(turn, &table).await,
        Err(error) => Err(error),
    };
    if done.is_err() {
        // One that stays is in nobody's way.
        created.iter().for_each(|name| drop(store.drop_sequence(name)));
    }
    done.map(|()| tag)
}

impl<'a> Altered<'a> {
    fn new(store: &'a Store, planner: &'a Planner, table: &Table) -> Self {
        let schema = TableSchema::clone(&table.schema());
        let name = &schema.name;
        let column = |column: &ColumnDef| {
            let parts = [name, &column.name].map(|part| Ident::with_quote('"', part));
            Origin::Expr(Box::new(Expr::CompoundIdentifier(parts.into())))
        };
        Self {
            store,
            planner,
            old_name: name.clone(),
            origins: schema.columns.iter().map(column).collect(),
            rules: TableRules::clone(&table.rules()),
            places: (0..schema.columns.len()).map(Some).collect(),
            schema,
            indexes: secondary_indexes(store, table),
            keys: store.foreign_keys_of(table),
            // Others go on with a table as it is until a block commits.
            is_rewritten: store.is_drafting() && !table.is_draft(),
            is_single: false,
            index_change: None,
            created_sequences: Vec::new(),
            dropped_sequences: Vec::new(),
            dropped_views: Vec::new(),
        }
    }

    /// Makes the changes.
    async fn finish(self, turn: &mut Turn, table: &Arc<Table>) -> Result<()> {
        let store = self.store;
        match self.index_change {
            None => {}
            Some(IndexChange::Created(index)) => {
                return indexes::build(store, Arc::clone(table), index).await;
            }
            Some(IndexChange::Dropped(name)) => {
                return store.drop_constraint_index(table, &name).map_err(from_store);
            }
        }
        let Self { planner, schema, rules, indexes, keys, places, origins, .. } = self;
        if self.is_rewritten {
            let target = Target { schema, rules, indexes, keys, places, origins };
            rewrite(store, planner, turn, table, target).await?;
        } else {
            store.redefine_table(table, schema, rules).map_err(from_store)?;
        }
        // What went with a column goes when that is gone: until then all this may fail.
        for view in &self.dropped_views {
            store.drop_view(view).map_err(from_store)?;
        }
        for sequence in &self.dropped_sequences {
            store.drop_sequence(sequence).map_err(from_store)?;
        }
        Ok(())
    }

    fn apply(&mut self, operation: &AlterTableOperation) -> Result<()> {
        match operation {
            AlterTableOperation::RenameTable {
                table_name: RenameTableNameKind::To(name) | RenameTableNameKind::As(name),
            } => self.rename_table(name),
            AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                self.rename_column(old_column_name, &fold(new_column_name))
            }
            AlterTableOperation::AddColumn {
                if_not_exists,
                column_def,
                column_position: None,
                ..
            } => self.add_column(column_def, *if_not_exists),
            AlterTableOperation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                let cascades = matches!(drop_behavior, Some(DropBehavior::Cascade));
                let mut names = column_names.iter();
                names.try_for_each(|name| self.drop_column(&fold(name), *if_exists, cascades))
            }
            AlterTableOperation::AlterColumn { column_name, op } => {
                let column = self.column(&fold(column_name))?;
                self.alter_column(column, op)
            }
            AlterTableOperation::AddConstraint {
                constraint: TableConstraint::Check(check),
                not_valid: false,
            } => {
                let mut builder = RulesBuilder::default();
                builder.add_check(None, check)?;
                self.add_rules(builder)?;
                self.is_rewritten = true;
                Ok(())
            }
            AlterTableOperation::AddConstraint {
                constraint: TableConstraint::Unique(unique),
                not_valid: false,
            } => {
                if let Some(key) = self.unique_key(Owner::Table, unique)? {
                    match self.is_single {
                        true => self.index_change = Some(IndexChange::Created(key)),
                        false => self.add_index(key),
                    }
                }
                Ok(())
            }
            AlterTableOperation::AddConstraint {
                constraint: TableConstraint::PrimaryKey(key),
                not_valid: false,
            } => {
                let name = key.name.as_ref().map(fold);
                let name = name.unwrap_or_else(|| format!("{}_pkey", self.schema.name));
                self.add_primary_key(name, key_columns(&key.columns)?)
            }
            AlterTableOperation::AddConstraint {
                constraint: TableConstraint::ForeignKey(key),
                not_valid: false,
            } => self.add_foreign_key(Owner::Table, key),
            AlterTableOperation::DropConstraint { if_exists, name, .. } => {
                self.drop_constraint(&fold(name), *if_exists)
            }
            other => Err(Error::not_supported(format_args!("ALTER TABLE ... {other}"))),
        }
    }

    fn unique_key(
        &self,
        owner: Owner<'_>,
        constraint: &UniqueConstraint,
    ) -> Result<Option<IndexDef>> {
        unique_key(self.store, &self.schema, &self.indexes, (owner, constraint))
    }

    fn add_foreign_key(
        &mut self,
        owner: Owner<'_>,
        constraint: &ForeignKeyConstraint,
    ) -> Result<()> {
        let others = (self.indexes.as_slice(), self.keys.as_slice());
        let key = foreign_key(self.store, &self.schema, others, (owner, constraint))?;
        self.keys.push(key);
        self.is_rewritten = true;
        Ok(())
    }

    fn add_index(&mut self, index: IndexDef) {
        self.indexes.push(index);
        self.is_rewritten = true;
    }

    fn add_primary_key(&mut self, name: String, columns: Vec<String>) -> Result<()> {
        if self.schema.primary_key.is_some() {
            let table = &self.schema.name;
            let message = format!("multiple primary keys for table \"{table}\" are not allowed");
            return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42P16"));
        }
        let is_own = self.indexes.iter().any(|index| index.name == name);
        if is_own || indexes::is_taken(self.store, &name) {
            return Err(from_store(StoreError::TableExists { table: name }));
        }
        let mut key = Vec::with_capacity(columns.len());
        for column in columns {
            let column = self.column(&column)?;
            self.schema.columns[column].is_nullable = false;
            key.push(column);
        }
        self.schema.primary_key = Some(key);
        self.schema.primary_key_name = name;
        self.is_rewritten = true;
        Ok(())
    }

    /// Drops the indexes that were there for foreign keys that are gone.
    fn drop_key_indexes(&mut self) {
        let keys = &self.keys;
        self.indexes.retain(|index| {
            let is_needed = keys.iter().any(|key| key.columns == index.columns);
            index.origin != IndexOrigin::ForeignKey || is_needed
        });
    }

    fn column(&self, name: &str) -> Result<usize> {
        self.schema.column_index(name).ok_or_else(|| {
            let table = &self.schema.name;
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
            Error::undefined_column(message)
        })
    }

    fn require_new(&self, name: &str) -> Result<()> {
        match self.schema.column_index(name) {
            None => Ok(()),
            Some(_) => {
                let table = &self.schema.name;
                let message = format!("column \"{name}\" of relation \"{table}\" already exists");
                Err(Error::new(ErrorKind::DuplicateObject, message).with_code("42701"))
            }
        }
    }

    /// Refuses to rename what views read, whose texts have the name.
    fn require_unread(&self, what: &str) -> Result<()> {
        match dependent_views(self.store, &self.old_name).first() {
            None => Ok(()),
            Some(view) => {
                Err(Error::not_supported(format_args!("renaming {what} that a view reads"))
                    .with_hint(format!("Drop the view \"{view}\" and create it again afterwards.")))
            }
        }
    }

    fn add_rules(&mut self, builder: RulesBuilder) -> Result<()> {
        let rules = std::mem::take(&mut self.rules);
        let key = self.schema.primary_key.is_some().then_some(&self.schema.primary_key_name);
        let is_taken = |name: &str| key.is_some_and(|key| key == name);
        self.rules = builder.build(self.planner, &self.schema, rules, is_taken)?;
        Ok(())
    }

    fn rename_table(&mut self, name: &ObjectName) -> Result<()> {
        let name = table_name(name)?;
        require_free(self.store, &name)?;
        self.require_unread("a table")?;
        let old = std::mem::replace(&mut self.schema.name, name.clone());
        self.rename_in_checks(&Rename { old: &old, new: &name, is_table: true })
    }

    fn rename_column(&mut self, old: &Ident, new: &str) -> Result<()> {
        let old = fold(old);
        let column = self.column(&old)?;
        self.require_new(new)?;
        self.require_unread("a column")?;
        self.schema.columns[column].name = new.to_owned();
        self.rename_in_checks(&Rename { old: &old, new, is_table: false })
    }

    fn rename_in_checks(&mut self, rename: &Rename<'_>) -> Result<()> {
        for check in &mut self.rules.checks {
            let mut expr = parse(&check.text)?;
            // It never stops the visit.
            let _ = VisitMut::visit(&mut expr, &mut rename.clone());
            check.text = expr.to_string();
        }
        Ok(())
    }

    fn add_column(&mut self, column: &SqlColumn, if_not_exists: bool) -> Result<()> {
        let name = fold(&column.name);
        if if_not_exists && self.schema.column_index(&name).is_some() {
            let table = &self.schema.name;
            let what = format_args!("column \"{name}\" of relation \"{table}\"");
            self.planner.notices().exists("42701", what);
            return Ok(());
        }
        self.require_new(&name)?;
        let (mut key, mut builder): (Option<Key>, _) = (None, RulesBuilder::default());
        let definition = column_def(column, &self.schema.name, &mut key, &mut builder)?;
        for sequence in builder.name_sequences(self.store, &self.schema.name)? {
            self.created_sequences.push(sequence.name.clone());
            self.store.create_sequence(sequence).map_err(from_store)?;
        }
        self.schema.columns.push(definition);
        self.origins.push(Origin::Default);
        self.is_rewritten = true;
        self.add_rules(builder)?;
        if let Some((name, columns)) = key {
            self.add_primary_key(name, columns)?;
        }
        let number = self.schema.columns.len() - 1;
        for option in &column.options {
            let owner = Owner::Column(option.name.as_ref(), number);
            match &option.option {
                ColumnOption::Unique(unique) => {
                    if let Some(index) = self.unique_key(owner, unique)? {
                        self.add_index(index);
                    }
                }
                ColumnOption::ForeignKey(key) => self.add_foreign_key(owner, key)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn drop_column(&mut self, name: &str, if_exists: bool, cascades: bool) -> Result<()> {
        if if_exists && self.schema.column_index(name).is_none() {
            let table = &self.schema.name;
            let what = format_args!("column \"{name}\" of relation \"{table}\"");
            self.planner.notices().missing(what);
            return Ok(());
        }
        let column = self.column(name)?;
        if self.schema.columns.len() == 1 {
            return Err(Error::not_supported("a table without columns"));
        }
        for view in dependent_views(self.store, &self.old_name) {
            if !self.reads_column(&view, name) || self.dropped_views.contains(&view) {
                continue;
            }
            if !cascades {
                let table = &self.schema.name;
                let what = format!("{name} of table {table}");
                let detail = format!("view {view} depends on column {what}");
                return Err(depends("column", &what, detail));
            }
            let readers = all_dependent_views(self.store, std::slice::from_ref(&view));
            self.dropped_views.extend(readers);
            self.dropped_views.push(view);
        }
        self.schema.columns.remove(column);
        self.origins.remove(column);
        self.is_rewritten = true;
        let lower = |other: usize| if other > column { other - 1 } else { other };
        for place in &mut self.places {
            *place = place.filter(|place| *place != column).map(lower);
        }
        match &mut self.schema.primary_key {
            Some(key) if key.contains(&column) => {
                self.schema.primary_key = None;
                self.schema.primary_key_name = String::new();
            }
            Some(key) => key.iter_mut().for_each(|member| *member = lower(*member)),
            None => {}
        }
        self.indexes.retain(|index| !index.columns.contains(&column));
        let is_own = |key: &ForeignKeyDef| {
            key.referenced.is_none() && key.referenced_columns.contains(&column)
        };
        self.keys.retain(|key| !key.columns.contains(&column) && !is_own(key));
        self.drop_key_indexes();
        for member in self.indexes.iter_mut().flat_map(|index| &mut index.columns) {
            *member = lower(*member);
        }
        for key in &mut self.keys {
            key.columns.iter_mut().for_each(|member| *member = lower(*member));
            if key.referenced.is_none() {
                key.referenced_columns.iter_mut().for_each(|member| *member = lower(*member));
            }
        }
        let defaults = std::mem::take(&mut self.rules.defaults);
        for (other, default) in defaults {
            if other == column {
                self.dropped_sequences.extend(default.sequence);
            } else {
                self.rules.defaults.insert(lower(other), default);
            }
        }
        self.rules
            .checks
            .retain(|check| !parse(&check.text).is_ok_and(|expr| mentions(&expr, name)));
        Ok(())
    }

    /// Whether a view may read a column: it names it, or asks for all.
    fn reads_column(&self, view: &str, column: &str) -> bool {
        let query = self.store.view(view).and_then(|view| parse_view(&view).ok());
        query.is_none_or(|query| mentions(&query, column))
    }

    fn alter_column(&mut self, column: usize, operation: &AlterColumnOperation) -> Result<()> {
        let definition = &mut self.schema.columns[column];
        let name = definition.name.clone();
        match operation {
            AlterColumnOperation::SetNotNull => {
                self.is_rewritten |= definition.is_nullable;
                definition.is_nullable = false;
            }
            AlterColumnOperation::DropNotNull => {
                if self.schema.primary_key.as_ref().is_some_and(|key| key.contains(&column)) {
                    let message = format!("column \"{name}\" is in a primary key");
                    return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42P16"));
                }
                let identity = self.rules.defaults.get(&column).and_then(|d| d.identity);
                if identity.is_some() {
                    return Err(self.is_identity(&name));
                }
                let definition = &mut self.schema.columns[column];
                self.is_rewritten |= !definition.is_nullable;
                definition.is_nullable = true;
            }
            AlterColumnOperation::SetDefault { value } => {
                if let Some(if_exists) = dropped_identity(value) {
                    return self.drop_identity(column, &name, if_exists);
                }
                self.require_no_identity(column, &name)?;
                let mut builder = RulesBuilder::default();
                builder.add_default(&self.schema.name, &name, value)?;
                self.drop_default(column);
                self.add_rules(builder)?;
            }
            AlterColumnOperation::DropDefault => {
                self.require_no_identity(column, &name)?;
                self.drop_default(column);
            }
            AlterColumnOperation::SetDataType { data_type, using, .. } => {
                let column_type = crate::types::column_type(&name, data_type)?;
                self.set_type(column, column_type, using.as_ref())?;
            }
            AlterColumnOperation::AddGenerated { .. } => {
                return Err(Error::not_supported("ALTER COLUMN ... ADD GENERATED"));
            }
        }
        Ok(())
    }

    fn set_type(
        &mut self,
        column: usize,
        column_type: nacre_column::ColumnType,
        using: Option<&Expr>,
    ) -> Result<()> {
        let name = self.schema.columns[column].name.clone();
        let views = dependent_views(self.store, &self.old_name);
        if let Some(view) = views.iter().find(|view| self.reads_column(view, &name)) {
            let message = "cannot alter type of a column used by a view or rule";
            let detail = format!("view {view} depends on column \"{name}\"");
            return Err(Error::new(ErrorKind::NotSupported, message).with_detail(detail));
        }
        let definition = &mut self.schema.columns[column];
        if definition.column_type == column_type && using.is_none() {
            return Ok(());
        }
        definition.column_type = column_type;
        // Formats that cannot hold the new type are chosen anew.
        let policy = definition.replicas.take();
        definition.replicas = policy.filter(|policy| policy.check(column_type).is_ok());
        if let Some(using) = using {
            self.origins[column] = Origin::Expr(Box::new(using.clone()));
        }
        self.is_rewritten = true;
        let table = self.schema.name.clone();
        if let Some(default) = self.rules.defaults.get(&column)
            && default.sequence.is_none()
        {
            // The default has to fit the new type, too.
            let mut builder = RulesBuilder::default();
            builder.add_default(&table, &name, &parse(&default.text)?)?;
            self.add_rules(builder)?;
        }
        Ok(())
    }

    fn drop_default(&mut self, column: usize) {
        // A sequence of the column's own goes with what drew from it.
        let dropped = self.rules.defaults.remove(&column);
        self.dropped_sequences.extend(dropped.and_then(|default| default.sequence));
    }

    /// Makes an identity column an ordinary one, which its sequence goes with.
    fn drop_identity(&mut self, column: usize, name: &str, if_exists: bool) -> Result<()> {
        if self.require_no_identity(column, name).is_err() {
            self.drop_default(column);
            return Ok(());
        }
        let table = &self.schema.name;
        let message =
            format!("column \"{name}\" of relation \"{table}\" is not an identity column");
        if if_exists {
            let message = format!("{message}, skipping");
            self.planner.notices().tell(Notice::told("00000", message));
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidStatement, message).with_code("55000"))
    }

    fn require_no_identity(&self, column: usize, name: &str) -> Result<()> {
        match self.rules.defaults.get(&column).and_then(|default| default.identity) {
            Some(_) => Err(self.is_identity(name)),
            None => Ok(()),
        }
    }

    fn is_identity(&self, name: &str) -> Error {
        let table = &self.schema.name;
        let message = format!("column \"{name}\" of relation \"{table}\" is an identity column");
        Error::new(ErrorKind::Syntax, message)
    }

    fn drop_constraint(&mut self, name: &str, if_exists: bool) -> Result<()> {
        let before = self.rules.checks.len();
        self.rules.checks.retain(|check| check.name != name);
        if self.rules.checks.len() < before {
            return Ok(());
        }
        if self.schema.primary_key.is_some() && self.schema.primary_key_name == name {
            self.schema.primary_key = None;
            self.schema.primary_key_name = String::new();
            self.is_rewritten = true;
            return Ok(());
        }
        let is_it = |index: &IndexDef| index.origin == IndexOrigin::Unique && index.name == name;
        if self.indexes.iter().any(is_it) {
            if self.is_single {
                self.index_change = Some(IndexChange::Dropped(name.to_owned()));
            } else {
                self.indexes.retain(|index| !is_it(index));
                self.is_rewritten = true;
            }
            return Ok(());
        }
        let before = self.keys.len();
        self.keys.retain(|key| key.name != name);
        if self.keys.len() < before {
            self.drop_key_indexes();
            self.is_rewritten = true;
            return Ok(());
        }
        let table = &self.schema.name;
        if if_exists {
            let what = format_args!("constraint \"{name}\" of relation \"{table}\"");
            self.planner.notices().missing(what);
            return Ok(());
        }
        let message = format!("constraint \"{name}\" of relation \"{table}\" does not exist");
        Err(Error::new(ErrorKind::UndefinedObject, message).with_code("42704"))
    }
}

/// Returns the indexes of a table other than that of its primary key.
fn secondary_indexes(store: &Store, table: &Table) -> Vec<IndexDef> {
    let indexes = store.indexes_of(table);
    let definitions = indexes.iter().map(|index| index.definition().clone());
    definitions.filter(|definition| definition.origin != IndexOrigin::PrimaryKey).collect()
}

/// Renames a column, or the table that columns are named with.
#[derive(Clone)]
struct Rename<'a> {
    old: &'a str,
    new: &'a str,
    is_table: bool,
}

impl VisitorMut for Rename<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let rename = |ident: &mut Ident| {
            if fold(ident) == self.old {
                *ident = Ident::with_quote('"', self.new);
            }
        };
        match expr {
            Expr::Identifier(ident) if !self.is_table => rename(ident),
            Expr::CompoundIdentifier(parts) => {
                let part = if self.is_table { parts.first_mut() } else { parts.last_mut() };
                part.into_iter().for_each(rename);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Whether a query or expression names a column, or asks for all.
fn mentions(part: &impl Visit, column: &str) -> bool {
    struct Mentions<'a>(&'a str);
    impl Mentions<'_> {
        /// Whether joins are made by the column.
        fn is_common(&self, from: &TableWithJoins) -> bool {
            let is_it = |name: &ObjectName| {
                name.0.last().and_then(|part| part.as_ident()).is_some_and(|n| fold(n) == self.0)
            };
            from.joins.iter().any(|join| match join_constraint(&join.join_operator) {
                Some(JoinConstraint::Using(names)) => names.iter().any(is_it),
                Some(JoinConstraint::Natural) => true,
                _ => false,
            })
        }
    }
    impl Visitor for Mentions<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let is_it = |ident: &Ident| fold(ident) == self.0;
            let found = match expr {
                Expr::Identifier(ident) => is_it(ident),
                Expr::CompoundIdentifier(parts) => parts.iter().any(is_it),
                Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => true,
                _ => false,
            };
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }

        fn pre_visit_select(
            &mut self,
            select: &datafusion::sql::sqlparser::ast::Select,
        ) -> ControlFlow<()> {
            let is_all = |item: &SelectItem| {
                matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
            };
            match select.projection.iter().any(is_all)
                || select.from.iter().any(|from| self.is_common(from))
            {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            match factor {
                TableFactor::NestedJoin { table_with_joins, .. }
                    if self.is_common(table_with_joins) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    part.visit(&mut Mentions(column)).is_break()
}
