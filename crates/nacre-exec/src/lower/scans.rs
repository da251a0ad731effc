//! From scans of tables, and the conditions right above them, to nodes.
//!
//! ```text
//! price > 5 and price % 2 = 0      Filter [price % 2 = 0] <- Scan [price], price Gt 5
//! scans are not restricted         Filter [price % 2 = 0] <- Filter [price > 5] <- Scan [price]
//! ```

use nacre_plan::algebra::{ColumnId, ScalarExpression, ScannedColumn};
use nacre_plan::definition::RelationDefinition;

use super::columns::{ColumnPlace, ColumnPlaces, LoweredRelation, collect_columns};
use super::error::{LoweringError, LoweringResult};
use super::form::ValueForm;
use super::given_rows::lower_given_rows;
use super::predicates::scan_predicates;
use super::relations::filter;
use super::stored::{StoredRelation, StoredRelations};
use crate::plan::{ColumnPredicate, PlanNode, ScanNode};

/// Conditions right above a scan, by what decides them.
struct ScannedConditions<'e> {
    /// Of the scan.
    predicates: Vec<ColumnPredicate>,
    /// Those that the scan decides by its predicates.
    decided: Vec<&'e ScalarExpression>,
    /// Those of filters, the lower one first.
    filters: [Vec<&'e ScalarExpression>; 2],
}

impl<'e> ScannedConditions<'e> {
    /// Takes conditions apart; `places` are those of columns in the table.
    fn of(
        conjuncts: &[&'e ScalarExpression],
        places: &ColumnPlaces,
        restricts_scans: bool,
    ) -> LoweringResult<Self> {
        let (mut predicates, mut decided, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for conjunct in conjuncts.iter().copied() {
            match scan_predicates(conjunct, places)? {
                Some(restrictions) => {
                    decided.push(conjunct);
                    predicates.extend(restrictions);
                }
                None => others.push(conjunct),
            }
        }
        if restricts_scans {
            return Ok(Self { predicates, decided, filters: [Vec::new(), others] });
        }
        // A filter of their own, below that of the others: these may fail, for the rows that the
        // scan would leave, and rows are expected as if it did.
        Ok(Self { predicates: Vec::new(), decided: Vec::new(), filters: [decided, others] })
    }
}

/// Reads the columns that are needed, and decides what a scan can of conditions.
pub(super) fn lower_scan(
    relations: &dyn StoredRelations,
    relation: &RelationDefinition,
    scanned: &[ScannedColumn],
    needed: &[ColumnId],
    conjuncts: &[&ScalarExpression],
) -> LoweringResult<LoweredRelation> {
    let mut wanted = needed.to_vec();
    conjuncts.iter().for_each(|conjunct| collect_columns(conjunct, &mut wanted));
    let is_wanted = |one: &&ScannedColumn| wanted.contains(&one.column);
    let positions: Vec<usize> = scanned.iter().filter(is_wanted).map(|one| one.position).collect();
    if let Some(given) = relations.given_rows(relation.id, &positions) {
        let rows = lower_given_rows(&given, relation, scanned, &wanted)?;
        return if conjuncts.is_empty() { Ok(rows) } else { filter(rows, conjuncts) };
    }
    let name = &relation.name;
    let stored = relations.stored_relation(relation.id).ok_or_else(|| {
        LoweringError::not_supported(format!("relation {name}, which is no table"))
    })?;
    let places = stored_places(&stored, relation, scanned, &wanted, needed)?;
    let conditions = ScannedConditions::of(conjuncts, &places, relations.restricts_scans())?;
    let ScannedConditions { predicates, mut decided, filters } = conditions;
    let row_id = scanned.iter().find(|one| one.position == relation.row_id_position());
    let row_id = row_id.map(|one| one.column).filter(|column| needed.contains(column));
    let mut wanted: Vec<ColumnId> =
        needed.iter().copied().filter(|column| Some(*column) != row_id).collect();
    filters.iter().flatten().for_each(|condition| collect_columns(condition, &mut wanted));
    let (mut indexes, mut columns) = (Vec::new(), ColumnPlaces::default());
    for column in wanted {
        let Ok(ColumnPlace { index, form }) = places.get(column) else {
            return Err(LoweringError::not_supported(format!("this type of a column of {name}")));
        };
        columns.add(column, ColumnPlace { index: indexes.len(), form });
        indexes.push(index);
    }
    if let Some(row_id) = row_id {
        columns.add(row_id, ColumnPlace { index: indexes.len(), form: ValueForm::Integer });
    }
    let scan = ScanNode {
        snapshot: stored.snapshot,
        columns: indexes,
        has_row_ids: row_id.is_some(),
        predicates,
        sample: None,
    };
    let mut table = LoweredRelation::infallible(PlanNode::Scan(scan), columns);
    for conditions in filters.iter().filter(|conditions| !conditions.is_empty()) {
        if let Some(estimates) = relations.estimates() {
            table.node = table.node.measured(estimates.rows_left(scanned, &decided));
        }
        table = filter(table, conditions)?;
        decided.extend(conditions);
    }
    Ok(table)
}

/// Returns the places in the table of the columns of `read` that are stored as their type says.
fn stored_places(
    stored: &StoredRelation,
    relation: &RelationDefinition,
    scanned: &[ScannedColumn],
    read: &[ColumnId],
    needed: &[ColumnId],
) -> LoweringResult<ColumnPlaces> {
    let schema = stored.snapshot.table().schema();
    let mut places = ColumnPlaces::default();
    let is_read = |one: &&ScannedColumn| {
        read.contains(&one.column) && one.position != relation.row_id_position()
    };
    for ScannedColumn { position, column } in scanned.iter().filter(is_read) {
        let definition = relation.columns.get(*position);
        let index = stored.columns.get(*position).copied();
        let own = index.and_then(|index| schema.columns.get(index));
        let (Some(definition), Some(index), Some(own)) = (definition, index, own) else {
            let name = &relation.name;
            return Err(LoweringError::contradiction(format!("{name} has no column {position}")));
        };
        match ValueForm::of_column(own.column_type, definition.sql_type) {
            Some(form) => places.add(*column, ColumnPlace { index, form }),
            None if needed.contains(column) => {
                let sql_type = definition.sql_type;
                let what = format!("columns of type {sql_type} that are {}", own.column_type);
                return Err(LoweringError::not_supported(what));
            }
            None => {}
        }
    }
    Ok(places)
}
