//! One access to a table: which rows it concerns and which columns it looks at.

use std::fmt;
use std::ops::Bound;

use nacre_column::Restriction;

use super::column_set::ColumnSet;
use super::summary::Summary;
use super::test::{Description, Test};
use crate::id::RowId;
use crate::schema::TableSchema;
use crate::value::ValueRef;

/// What a test is about: a column by index, or the row's id.
pub(super) type Subject = u16;

/// The subject of tests of the row id; no column has this index.
pub(super) const ROW: Subject = u16::MAX;

const _: () = assert!(crate::schema::COLUMNS_MAX < ROW as usize);

/// The rows that an access saw or would have seen: those that satisfy all of its tests.
///
/// ```
/// use nacre_column::{CompareOp, Constant, Restriction};
/// use nacre_store::{ColumnSet, Predicate};
/// # use nacre_store::{ColumnDef, TableSchema};
/// # use nacre_column::ColumnType;
/// # let column = |name: &str| ColumnDef {
/// #     name: name.into(),
/// #     column_type: ColumnType::Integer,
/// #     is_nullable: true,
/// #     replicas: None,
/// # };
/// # let schema = TableSchema {
/// #     name: "t".into(),
/// #     columns: vec![column("a"), column("b"), column("c")],
/// #     primary_key: None,
/// #     primary_key_name: String::new(),
/// #     replicas: None,
/// # };
/// // select c from t where a = 1 and b > 5
/// let compare = |op, value| Restriction::Compare { op, value: Constant::Int(value) };
/// let predicate = Predicate::new([2].into_iter().collect())
///     .with(&schema, 0, &compare(CompareOp::Eq, 1))
///     .with(&schema, 1, &compare(CompareOp::Gt, 5));
/// assert_eq!(predicate.describe(&schema), "a = 1 and b >= 6");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Predicate {
    /// One for each subject.
    pub(super) tests: Vec<(Subject, Test)>,
    /// The columns that were read or tested.
    pub(super) touched: ColumnSet,
}

impl Predicate {
    /// An access to all rows that reads the columns `read`.
    pub fn new(read: ColumnSet) -> Self {
        Self { tests: Vec::new(), touched: read }
    }

    /// Narrows the access to rows whose column satisfies `restriction`.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn with(self, schema: &TableSchema, column: usize, restriction: &Restriction) -> Self {
        let class = schema.columns[column].column_type.physical();
        self.tested(column, Test::of(restriction, class))
    }

    /// Narrows the access to one row.
    pub fn with_row(mut self, row: RowId) -> Self {
        self.add(ROW, row_test(row));
        self
    }

    /// Narrows the access to rows with a value in a column, or with null if that is null.
    pub fn with_value(self, column: usize, value: ValueRef<'_>) -> Self {
        self.tested(column, Test::equal(value))
    }

    /// Narrows the access to a range of keys of an index over `columns`. A key may have fewer
    /// values than there are columns: as a bound it then stands for all keys that begin with it.
    pub fn with_keys(
        mut self,
        columns: &[usize],
        low: Bound<&[ValueRef<'_>]>,
        high: Bound<&[ValueRef<'_>]>,
    ) -> Self {
        let (low_key, is_low_open) = parts(low);
        let (high_key, is_high_open) = parts(high);
        for (position, &column) in columns.iter().enumerate() {
            let is_last = position + 1 == columns.len();
            let (low, high) = (low_key.get(position).copied(), high_key.get(position).copied());
            match (low, high) {
                (None, None) => break,
                (Some(low), Some(high)) if low == high && !is_last => {
                    self = self.with_value(column, low);
                }
                (low, high) => {
                    let test =
                        key_range(low, high, is_last && is_low_open, is_last && is_high_open);
                    return self.tested(column, test);
                }
            }
        }
        self
    }

    /// Narrows the access to what can change the smallest value of a column, which is `found`:
    /// null if there was no value.
    pub fn with_min(self, column: usize, found: ValueRef<'_>) -> Self {
        let high = Summary::of(found).map_or(u64::MAX, |summary| summary.ordered);
        self.tested(column, Test::Range { low: 0, high, or_null: false })
    }

    /// Narrows the access to what can change the greatest value of a column, which is `found`:
    /// null if there was no value.
    pub fn with_max(self, column: usize, found: ValueRef<'_>) -> Self {
        let low = Summary::of(found).map_or(0, |summary| summary.ordered);
        self.tested(column, Test::Range { low, high: u64::MAX, or_null: false })
    }

    /// Describes the access for a message, such as `a = 1 and b >= 6`.
    pub fn describe(&self, schema: &TableSchema) -> String {
        describe(&self.tests, schema)
    }

    /// Tells whether no row can satisfy the tests.
    pub(super) fn is_never(&self) -> bool {
        self.tests.iter().any(|(_, test)| is_never(test))
    }

    /// Makes this predicate cover the other too: tests that both have become ranges, others are
    /// dropped.
    pub(super) fn merge(&mut self, other: Self) {
        self.touched.extend_from(&other.touched);
        let tests = std::mem::take(&mut self.tests);
        for (subject, test) in tests {
            let of_other = other.tests.iter().find(|other| other.0 == subject);
            let hull = match of_other {
                Some((_, of_other)) if *of_other == test => test,
                Some((_, of_other)) => test.hull(of_other),
                None => continue,
            };
            if hull != Test::ANY {
                self.tests.push((subject, hull));
            }
        }
    }

    fn tested(mut self, column: usize, test: Test) -> Self {
        self.touched.insert(column);
        self.add(column as Subject, test);
        self
    }

    fn add(&mut self, subject: Subject, test: Test) {
        if test == Test::ANY {
            return;
        }
        match self.tests.iter_mut().find(|known| known.0 == subject) {
            Some((_, known)) => {
                let both = std::mem::replace(known, Test::NEVER).and(test);
                *known = both;
            }
            None => self.tests.push((subject, test)),
        }
    }
}

/// Returns the test for a row id.
pub(super) fn row_test(row: RowId) -> Test {
    Test::Range { low: row.0, high: row.0, or_null: false }
}

pub(super) fn is_never(test: &Test) -> bool {
    let (low, high) = test.bounds();
    low > high && !test.or_null()
}

/// Describes tests for a message.
pub(super) fn describe(tests: &[(Subject, Test)], schema: &TableSchema) -> String {
    let described =
        tests.iter().map(|(subject, test)| match schema.columns.get(*subject as usize) {
            Some(column) => {
                let is_int = column.column_type.int_range().is_some();
                format!("{} {}", column.name, Description { test, is_int })
            }
            None => RowTest(test).to_string(),
        });
    let described: Vec<String> = described.collect();
    match described.is_empty() {
        true => "all rows".to_owned(),
        false => described.join(" and "),
    }
}

struct RowTest<'a>(&'a Test);

impl fmt::Display for RowTest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.bounds() {
            (low, high) if low == high => write!(f, "the row at {}", RowId(low)),
            _ => f.write_str("rows read one by one"),
        }
    }
}

fn parts<'a, 'v>(bound: Bound<&'a [ValueRef<'v>]>) -> (&'a [ValueRef<'v>], bool) {
    match bound {
        Bound::Included(key) => (key, false),
        Bound::Excluded(key) => (key, true),
        Bound::Unbounded => (&[], false),
    }
}

/// Returns the test of the column in which the ends of a range of keys differ. Where nulls lie
/// among the keys does not matter: a side without a value takes them in.
fn key_range(
    low: Option<ValueRef<'_>>,
    high: Option<ValueRef<'_>>,
    is_low_open: bool,
    is_high_open: bool,
) -> Test {
    if let (Some(low), Some(high)) = (low, high)
        && low == high
        && !is_low_open
        && !is_high_open
    {
        return Test::equal(low);
    }
    let low = low.and_then(Summary::of);
    let high = high.and_then(Summary::of);
    let or_null = low.is_none() || high.is_none();
    let low = low.map_or(Some(0), |low| match is_low_open && low.is_exact {
        true => low.ordered.checked_add(1),
        false => Some(low.ordered),
    });
    let high = high.map_or(Some(u64::MAX), |high| match is_high_open && high.is_exact {
        true => high.ordered.checked_sub(1),
        false => Some(high.ordered),
    });
    match (low, high) {
        (Some(low), Some(high)) => Test::Range { low, high, or_null },
        _ if or_null => Test::NULL,
        _ => Test::NEVER,
    }
}
