//! What a short statement does.

use std::ops::Bound;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use nacre_column::CompareOp;
use nacre_store::index::{Direction, TableIndex};
use nacre_store::{Snapshot, Store, Table, TableRules, TableSchema};

use super::compute::Compute;
use super::operand::Operand;
use crate::dml::Cell;
use crate::privileges::{DELETE, INSERT, Rights, SELECT, UPDATE};
use crate::rules::{Checks, DefaultValues};
use crate::types::arrow_type;

/// A statement that is ready to run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) subject: Subject,
    pub(super) action: Action,
    /// The columns of the answer, unless that is a tag.
    pub(super) output: Option<SchemaRef>,
    /// The stamp of the role that was last found to be allowed it.
    pub(super) allowed: AtomicU64,
}

/// The table that a plan was made for, as it was then.
#[derive(Debug)]
pub(super) struct Subject {
    name: String,
    table: Weak<Table>,
    schema: Arc<TableSchema>,
    rules: Arc<TableRules>,
    /// The indexes that there were to choose from.
    indexes: Vec<Weak<TableIndex>>,
}

/// The table of a plan that is still the same.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) table: Arc<Table>,
    pub(super) indexes: Vec<Arc<TableIndex>>,
}

impl Subject {
    pub(super) fn new(table: &Arc<Table>, schema: &Arc<TableSchema>) -> Self {
        Self {
            name: schema.name.clone(),
            table: Arc::downgrade(table),
            schema: Arc::clone(schema),
            rules: table.rules(),
            indexes: table.indexes().iter().map(Arc::downgrade).collect(),
        }
    }

    pub(super) fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    /// Returns the table if it, its definition, rules and indexes are still the same.
    pub(super) fn current(&self, store: &Store) -> Option<Current> {
        self.current_as(store.table(&self.name).ok()?)
    }

    /// As [`Subject::current`], if the name means the same to a snapshot.
    pub(super) fn current_at(&self, store: &Store, snapshot: &Snapshot) -> Option<Current> {
        self.current_as(store.table_at(&self.name, snapshot).ok()?)
    }

    fn current_as(&self, table: Arc<Table>) -> Option<Current> {
        let indexes = table.indexes();
        let is_same = std::ptr::eq(self.table.as_ptr(), Arc::as_ptr(&table))
            && Arc::ptr_eq(&self.schema, &table.schema())
            && Arc::ptr_eq(&self.rules, &table.rules())
            && self.indexes.len() == indexes.len()
            && self
                .indexes
                .iter()
                .zip(&indexes)
                .all(|(known, index)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(index)));
        is_same.then_some(Current { table, indexes })
    }
}

/// What is done.
#[derive(Debug)]
pub(super) enum Action {
    Select {
        find: Find,
        items: Vec<Item>,
        limit: Option<Operand>,
    },
    /// The assigned columns with their values.
    Update {
        find: Find,
        assignments: Vec<(usize, Scalar)>,
        /// Of columns that are assigned; all columns are read then.
        checks: Option<Checks>,
        returning: Option<Returning>,
    },
    Delete {
        find: Find,
        returning: Option<Returning>,
    },
    /// Rows with a value for each column of the table.
    Insert {
        rows: Vec<Vec<Scalar>>,
        /// Those of [`Scalar::Default`].
        defaults: DefaultValues,
        checks: Option<Checks>,
        returning: Option<Returning>,
    },
}

impl Action {
    /// Returns what of the table whoever runs it has to be allowed.
    pub(super) fn rights(&self) -> Rights {
        let reading = |returning: &Option<Returning>| if returning.is_some() { SELECT } else { 0 };
        match self {
            Self::Select { .. } => SELECT,
            Self::Update { .. } => UPDATE | SELECT,
            Self::Delete { .. } => DELETE | SELECT,
            Self::Insert { returning, .. } => INSERT | reading(returning),
        }
    }

    /// Returns the outputs, and the columns of the table that their places mean; `None` if the
    /// answer is a tag.
    pub(super) fn outputs(&self) -> Option<(&[Item], &[usize])> {
        match self {
            Self::Select { find, items, .. } => Some((items, &find.columns)),
            Self::Update { returning, .. }
            | Self::Delete { returning, .. }
            | Self::Insert { returning, .. } => {
                returning.as_ref().map(|one| (one.items.as_slice(), one.columns.as_slice()))
            }
        }
    }

    /// Returns the name of the statement as errors give it, unless it only reads.
    pub(super) fn verb(&self) -> Option<&'static str> {
        match self {
            Self::Select { .. } => None,
            Self::Update { .. } => Some("UPDATE"),
            Self::Delete { .. } => Some("DELETE"),
            Self::Insert { .. } => Some("INSERT"),
        }
    }
}

/// What RETURNING gives of the rows as they are written.
#[derive(Debug)]
pub(super) struct Returning {
    pub(super) items: Vec<Item>,
    /// The columns of the table that the places of items mean.
    pub(super) columns: Vec<usize>,
}

/// The way to the rows of a statement.
#[derive(Debug)]
pub(super) struct Find {
    /// The place of the index among those of the table.
    pub(super) index: usize,
    /// What the first columns of the key are equal to.
    pub(super) prefix: Vec<Operand>,
    /// What is known of the next one.
    pub(super) rest: KeyRest,
    pub(super) direction: Direction,
    /// What holds for every row, that of the key included.
    pub(super) conditions: Vec<Condition>,
    /// Columns of the table that are read; others are meant by their places in here.
    pub(super) columns: Vec<usize>,
}

/// A condition on the first key column that is not equal to one value.
#[derive(Debug)]
pub(super) enum KeyRest {
    OneOf(Vec<Operand>),
    /// Unbounded on both sides if nothing is known.
    Within(Bound<Operand>, Bound<Operand>),
}

/// A condition on one column.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    /// The column of the table.
    pub(super) column: usize,
    pub(super) test: Test,
}

/// What is asked of a column.
#[derive(Clone, Debug)]
pub(super) enum Test {
    Compare(CompareOp, Operand),
    Between(Operand, Operand),
    OneOf(Vec<Operand>),
    IsNull,
    IsNotNull,
}

/// An output column.
#[derive(Debug)]
pub(super) enum Item {
    /// By its place among the columns that are read.
    Column(usize),
    Computed(Compute),
}

impl Item {
    /// Whether the output has this type, if `columns` of the table are read.
    pub(super) fn has_type(
        &self,
        schema: &TableSchema,
        columns: &[usize],
        found: &DataType,
    ) -> bool {
        match self {
            Self::Column(place) => {
                let column = columns.get(*place).and_then(|column| schema.columns.get(*column));
                column.is_some_and(|column| *found == arrow_type(column.column_type))
            }
            Self::Computed(compute) => compute.has_type(found),
        }
    }
}

/// A value that is assigned.
#[derive(Debug)]
pub(super) enum Scalar {
    /// One that is written without a literal that could differ, such as NULL.
    Fixed(Cell),
    Given(Operand),
    /// What the DEFAULT of a column says, which is no literal.
    Default,
    /// The time of the statement.
    Now,
    Computed(Compute),
}
