//! MERGE: rows of a table are changed, and others inserted, by what they are paired with.
//!
//! The query joins the source to the target and gives for each pair the id of the row, the number
//! of the first clause that applies, and the values of all clauses' expressions, each computed for
//! its own clause only. The pairs are sorted by clause, and written clause by clause: deletes
//! first, so that their keys are free, then updates, then inserts.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, PrimitiveArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Int64Type, SchemaRef, UInt64Type};
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, Ident, Merge, MergeAction, MergeClause as Clause,
    MergeClauseKind, MergeInsertKind, OutputClause, SelectItem, SetExpr, TableWithJoins, With,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use futures::StreamExt;
use nacre_ingest::Progress;
use nacre_store::{RowId, Store, Table, TableSchema};

use super::assign;
use super::cell::{Cell, missing};
use super::change::{Change, Returning, Source, Step, Write};
use super::defaults::{compiled, is_default};
use super::others::{OtherRows, Others};
use super::query::{self, TARGET, output, parsed, quoted, row_id};
use super::rows::Rows;
use super::source::{target as target_of, yield_after};
use super::statement::{assignments, check_count, columns_named, refuse, target};
use super::unmatched::Unmatched;
use crate::cancellation::cancelled;
use crate::error::{Error, ErrorKind, Result};
use crate::names::STATEMENT_SCHEMA;
use crate::planner::Planner;
use crate::privileges::{DELETE, INSERT, SELECT, UPDATE};
use crate::rules::{DefaultValues, Drawn};
use crate::scan::ROW_ID_COLUMN;
use crate::transaction::Moment;
use crate::words::{Edited, Words};

/// Stands for DO NOTHING where the parser wants a column.
const DO_NOTHING: &str = "nacre do nothing";

/// What a clause does with the pairs that it applies to.
#[derive(Debug)]
pub(super) enum MergeClause {
    Nothing,
    /// What RETURNING wants to know of the rows.
    Delete {
        columns: Vec<usize>,
        cells: Vec<Cell>,
    },
    Update {
        columns: Vec<usize>,
        cells: Vec<Cell>,
        /// The columns that change; others are there for constraints to look at.
        written: Vec<usize>,
    },
    /// A value for each column of the table.
    Insert(Vec<Cell>),
}

/// Replaces the words DO NOTHING of a MERGE, which the parser does not know, by something that it
/// does and that [`change`] recognises; `None` if there are none.
pub(crate) fn readable(sql: &str) -> Option<String> {
    let words = Words::of(sql)?;
    if !(0..words.count()).any(|at| words.keyword(at) == Keyword::MERGE) {
        return None;
    }
    let mut edited = Edited::new(sql);
    let mut is_matched = true;
    for at in 0..words.count() {
        match (words.keyword(at), words.keyword(at + 1)) {
            (Keyword::WHEN, Keyword::MATCHED) => is_matched = true,
            // CASE has WHEN NOT, too.
            (Keyword::WHEN, Keyword::NOT) if words.keyword(at + 2) == Keyword::MATCHED => {
                is_matched = false;
            }
            (Keyword::DO, Keyword::NOTHING) => {
                let nothing = match is_matched {
                    true => format!("UPDATE SET \"{DO_NOTHING}\" = NULL"),
                    false => format!("INSERT (\"{DO_NOTHING}\") VALUES (NULL)"),
                };
                edited.replace(words.bytes(at, at + 1), &nothing)?;
            }
            _ => {}
        }
    }
    edited.finish()
}

/// Reads MERGE.
///
/// # Errors
/// As for the other statements.
pub(super) fn change(store: &Store, mut statement: Merge, with: Option<With>) -> Result<Change> {
    let from = TableWithJoins { relation: statement.table, joins: Vec::new() };
    let (table, name) = target(store, &from, "MERGE")?;
    let schema = table.schema();
    let mut unmatched = Unmatched::new(&name, &statement.source);
    let (chosen, has_inserts) = choice(&mut statement.clauses, &name, &mut unmatched)?;
    let items = vec![row_id(&name)];
    let source = TableWithJoins { relation: statement.source.clone(), joins: Vec::new() };
    let returning = returning(statement.output, &name, &source)?;
    let is_returned = returning.is_some();
    let mut outputs = Outputs { chosen, table: &table, name: &name, items, unmatched, is_returned };
    outputs.items.push(output(1, outputs.chosen.clone()));
    let mut clauses = Vec::with_capacity(statement.clauses.len());
    for (number, clause) in statement.clauses.into_iter().enumerate() {
        clauses.push(outputs.clause(&schema, number, clause.action)?);
    }
    let Outputs { mut items, unmatched, .. } = outputs;
    items.extend(returning.iter().flat_map(Returning::items_of_others));
    let check = unmatched.check(&statement.source, with.clone())?;
    let kind = if has_inserts { "LEFT JOIN" } else { "JOIN" };
    let name = quoted(&name);
    let sql = format!(
        "SELECT 1 FROM x {kind} {STATEMENT_SCHEMA}.{TARGET} AS {name} ON ({})",
        statement.on
    );
    let (mut query, mut body) = parsed(&sql)?;
    body.projection = items;
    if let Some(from) = body.from.first_mut() {
        from.relation = source.relation;
    }
    *query.body = SetExpr::Select(body);
    let query = query::statement(query, with)?;
    let (write, on_conflict) = (Write::Delete, None);
    let right = |clause: &MergeClause| match clause {
        MergeClause::Nothing => 0,
        MergeClause::Delete { .. } => DELETE,
        MergeClause::Update { .. } => UPDATE,
        MergeClause::Insert(_) => INSERT,
    };
    let rights = clauses.iter().fold(SELECT, |rights, clause| rights | right(clause));
    let source = Source::Merged { query, clauses, check, offered: None };
    let verb = "MERGE";
    Ok(Change { table, schema, source, write, returning, on_conflict, verb, rights })
}

/// Returns an expression for the number of the first clause that applies, and whether one inserts.
fn choice(clauses: &mut [Clause], name: &Ident, unmatched: &mut Unmatched) -> Result<(Expr, bool)> {
    let row = Expr::CompoundIdentifier(vec![quoted(name), Ident::with_quote('"', ROW_ID_COLUMN)]);
    let inserts = |kind: &MergeClauseKind| match kind {
        MergeClauseKind::Matched => Ok(false),
        MergeClauseKind::NotMatched => Ok(true),
        other => Err(Error::not_supported(format_args!("WHEN {other}"))),
    };
    let mut conditions = Vec::with_capacity(clauses.len());
    let mut has_inserts = false;
    // By whether rows were matched: whether a clause takes all that come to it.
    let mut takes_all = [false; 2];
    for clause in clauses {
        let is_insert = inserts(&clause.clause_kind)?;
        if takes_all[usize::from(is_insert)] {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(Error::new(ErrorKind::Syntax, message));
        }
        takes_all[usize::from(is_insert)] = clause.predicate.is_none();
        has_inserts |= is_insert;
        let is_there = match is_insert {
            true => Expr::IsNull(Box::new(row.clone())),
            false => Expr::IsNotNull(Box::new(row.clone())),
        };
        let predicate = match clause.predicate.take() {
            Some(predicate) if is_insert => Some(unmatched.take(predicate)?),
            other => other,
        };
        conditions.push(match predicate {
            None => is_there.to_string(),
            Some(predicate) => format!("{is_there} AND ({predicate})"),
        });
    }
    let mut chosen = String::from("CASE");
    for (number, condition) in conditions.iter().enumerate() {
        chosen.push_str(&format!(" WHEN {condition} THEN {number}"));
    }
    Ok((expression(&format!("CAST({chosen} END AS BIGINT)"))?, has_inserts))
}

fn returning(
    output: Option<OutputClause>,
    name: &Ident,
    source: &TableWithJoins,
) -> Result<Option<Returning>> {
    let items = match output {
        None => return Ok(None),
        Some(OutputClause::Returning { select_items, .. }) => select_items,
        Some(OutputClause::Output { .. }) => return Err(Error::not_supported("OUTPUT")),
    };
    let others = Some(Others::of(std::slice::from_ref(source))?);
    Ok(Some(Returning { items, name: name.clone(), others, refused: None, is_merge: true }))
}

fn expression(text: &str) -> Result<Expr> {
    let (_, body) = parsed(&format!("SELECT {text}"))?;
    match body.projection.into_iter().next() {
        Some(SelectItem::UnnamedExpr(expr)) => Ok(expr),
        _ => Err(Error::new(ErrorKind::Internal, "internal error: an expression is none")),
    }
}

/// The outputs of the query.
struct Outputs<'a> {
    /// The number of the clause.
    chosen: Expr,
    table: &'a Table,
    /// What the statement calls the table.
    name: &'a Ident,
    items: Vec<SelectItem>,
    unmatched: Unmatched,
    /// Whether RETURNING wants to know all columns.
    is_returned: bool,
}

impl Outputs<'_> {
    fn clause(
        &mut self,
        schema: &TableSchema,
        number: usize,
        action: MergeAction,
    ) -> Result<MergeClause> {
        match action {
            MergeAction::Delete { .. } => {
                let (mut columns, mut cells) = (Vec::new(), Vec::new());
                if self.is_returned {
                    self.add_others(schema, &mut columns, &mut cells);
                }
                Ok(MergeClause::Delete { columns, cells })
            }
            MergeAction::Update(update) => {
                let refusals = [
                    (update.update_predicate.is_some(), "UPDATE ... WHERE in MERGE"),
                    (update.delete_predicate.is_some(), "DELETE WHERE in MERGE"),
                ];
                refuse(&refusals)?;
                if is_nothing(&update.assignments) {
                    return Ok(MergeClause::Nothing);
                }
                let (mut columns, mut cells) = (Vec::new(), Vec::new());
                for (column, expr) in assignments(schema, update.assignments)? {
                    columns.push(column);
                    cells.push(self.cell(schema, number, column, expr)?);
                }
                let written = columns.clone();
                if self.is_returned || !self.table.rules().checks.is_empty() {
                    self.add_others(schema, &mut columns, &mut cells);
                }
                Ok(MergeClause::Update { columns, cells, written })
            }
            MergeAction::Insert(insert) => {
                refuse(&[(insert.insert_predicate.is_some(), "INSERT ... WHERE in MERGE")])?;
                let MergeInsertKind::Values(values) = insert.kind else {
                    return Err(Error::not_supported("INSERT ROW"));
                };
                let [row] = values.rows.as_slice() else {
                    return Err(Error::new(ErrorKind::Syntax, "MERGE inserts one row at a time"));
                };
                if insert.columns.len() == 1
                    && insert.columns[0].to_string() == format!("\"{DO_NOTHING}\"")
                {
                    return Ok(MergeClause::Nothing);
                }
                let is_listed = !insert.columns.is_empty();
                let targets = match is_listed {
                    true => columns_named(schema, &insert.columns)?,
                    false => (0..schema.columns.len()).collect(),
                };
                check_count(targets.len(), row.content.len(), is_listed)?;
                let mut cells = Cell::defaults_of(self.table)?;
                for (column, expr) in targets.into_iter().zip(&row.content) {
                    let mut expr = expr.clone();
                    if !is_default(&expr) {
                        expr = self.unmatched.take(expr)?;
                    }
                    cells[column] = self.cell(schema, number, column, expr)?;
                }
                Ok(MergeClause::Insert(cells))
            }
        }
    }

    /// Adds the columns that an update leaves as they are.
    fn add_others(
        &mut self,
        schema: &TableSchema,
        columns: &mut Vec<usize>,
        cells: &mut Vec<Cell>,
    ) {
        for (index, definition) in schema.columns.iter().enumerate() {
            if !columns.contains(&index) {
                self.items.push(query::column(self.name, &definition.name));
                columns.push(index);
                cells.push(Cell::Output { index: self.items.len() - 1, is_literal: false });
            }
        }
    }

    /// Returns the source of a value: a literal, or an output for this clause alone.
    fn cell(
        &mut self,
        schema: &TableSchema,
        clause: usize,
        column: usize,
        expr: Expr,
    ) -> Result<Cell> {
        let column_type = schema.columns[column].column_type;
        if is_default(&expr) {
            return Cell::default_of(self.table, column);
        }
        if let Some(literal) = Cell::literal(&expr, column_type) {
            return Ok(literal);
        }
        let index = self.items.len();
        let chosen = &self.chosen;
        let guarded = expression(&format!("CASE WHEN {chosen} = {clause} THEN {expr} END"))?;
        self.items.push(output(index, guarded));
        Ok(Cell::Output { index, is_literal: false })
    }
}

fn is_nothing(assignments: &[Assignment]) -> bool {
    match assignments {
        [Assignment { target: AssignmentTarget::ColumnName(name), .. }] => {
            name.to_string() == format!("\"{DO_NOTHING}\"")
        }
        _ => false,
    }
}

/// Runs the query and sorts the pairs into what is to be written.
///
/// # Errors
/// 21000 if a row is changed twice; those of the query and of values.
pub(super) async fn steps(
    planner: &Planner,
    moment: &Arc<Moment>,
    table: &Arc<Table>,
    query: ParsedStatement,
    clauses: &[MergeClause],
    progress: &Progress,
    others: Option<&mut OtherRows>,
) -> Result<Vec<Step>> {
    let schema = table.schema();
    let mut stream = planner.start(moment, target_of(table, moment)?, query).await?;
    let defaults = clauses.iter().map(|clause| compiled(planner, table, cells(clause).iter()));
    let defaults = defaults.collect::<Result<Vec<DefaultValues>>>()?;
    let mut sorted = Sorted::new(&schema, clauses, defaults);
    sorted.check(&stream.schema())?;
    if others.is_some() {
        let begin = |_| {
            let mut others = OtherRows::default();
            others.begin(&stream.schema());
            others
        };
        sorted.others = clauses.iter().map(begin).collect();
    }
    while let Some(batch) = stream.next().await {
        if progress.is_cancelled() {
            return Err(cancelled());
        }
        let batch = batch?;
        sorted.take(&batch)?;
        yield_after(batch.num_rows()).await;
    }
    let mut steps = Vec::with_capacity(clauses.len());
    let mut pairs = sorted.others.into_iter();
    for (clause, rows) in clauses.iter().zip(sorted.rows) {
        let pairs = pairs.next();
        rows.check_nulls(&schema)?;
        rows.check(planner, table)?;
        let (order, write) = match clause {
            MergeClause::Nothing => continue,
            MergeClause::Delete { .. } => (0, Write::Delete),
            MergeClause::Update { written, .. } => (1, Write::Update(written.clone())),
            MergeClause::Insert(_) => (2, Write::Insert),
        };
        steps.push((order, Step { table: Arc::clone(table), write, rows }, pairs));
    }
    steps.sort_by_key(|(order, ..)| *order);
    if let Some(others) = others {
        others.begin(&stream.schema());
        let pairs = steps.iter_mut().filter_map(|(.., pairs)| pairs.take());
        for pairs in pairs {
            others.append(pairs)?;
        }
    }
    Ok(steps.into_iter().map(|(_, step, _)| step).collect())
}

/// The rows of each clause.
struct Sorted<'a> {
    schema: &'a TableSchema,
    clauses: &'a [MergeClause],
    /// What its clauses' columns hold that are DEFAULT.
    defaults: Vec<DefaultValues>,
    rows: Vec<Rows>,
    /// Rows that were changed.
    seen: HashSet<u64>,
    /// What the rows of each clause were paired with, if RETURNING wants to know.
    others: Vec<OtherRows>,
}

impl<'a> Sorted<'a> {
    fn new(
        schema: &'a TableSchema,
        clauses: &'a [MergeClause],
        defaults: Vec<DefaultValues>,
    ) -> Self {
        let rows = |clause: &MergeClause| {
            Rows::new(match clause {
                MergeClause::Nothing => Vec::new(),
                MergeClause::Delete { columns, .. } | MergeClause::Update { columns, .. } => {
                    columns.clone()
                }
                MergeClause::Insert(_) => (0..schema.columns.len()).collect(),
            })
        };
        let rows = clauses.iter().map(rows).collect();
        let (seen, others) = (HashSet::new(), Vec::new());
        Self { schema, clauses, defaults, rows, seen, others }
    }

    /// Refuses outputs that can never be assigned to their columns.
    fn check(&self, outputs: &SchemaRef) -> Result<()> {
        for (clause, rows) in self.clauses.iter().zip(&self.rows) {
            for (cell, &column) in cells(clause).iter().zip(rows.columns()) {
                if let Cell::Output { index, is_literal } = *cell {
                    let data_type = outputs.fields().get(index).map(|field| field.data_type());
                    let data_type = data_type.ok_or_else(missing)?;
                    assign::check(data_type, &self.schema.columns[column], is_literal)?;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let [ids, chosen, ..] = batch.columns() else { return Err(missing()) };
        if *ids.data_type() != DataType::UInt64 || *chosen.data_type() != DataType::Int64 {
            return Err(missing());
        }
        let ids: &PrimitiveArray<UInt64Type> = ids.as_primitive();
        let chosen: &PrimitiveArray<Int64Type> = chosen.as_primitive();
        let mut drawn: Vec<Drawn> = self
            .defaults
            .iter()
            .map(|defaults| defaults.draw(|_| batch.num_rows()))
            .collect::<Result<_>>()?;
        let mut kept: Vec<Vec<u32>> = vec![Vec::new(); self.others.len()];
        for row in 0..batch.num_rows() {
            if chosen.is_null(row) {
                continue;
            }
            let place = usize::try_from(chosen.value(row)).map_err(|_| missing())?;
            let parts = (self.clauses.get(place), self.rows.get_mut(place), drawn.get_mut(place));
            let (Some(clause), Some(rows), Some(drawn)) = parts else { return Err(missing()) };
            let id = match clause {
                MergeClause::Nothing => continue,
                MergeClause::Insert(_) => None,
                MergeClause::Delete { .. } | MergeClause::Update { .. } => Some(ids.value(row)),
            };
            if id.is_some_and(|id| !self.seen.insert(id)) {
                return Err(merged_twice());
            }
            let cells = cells(clause);
            rows.push(self.schema, id.map(RowId), |place, column, buffer| {
                cells[place].push(Some((batch, row)), drawn, column, buffer)
            })?;
            if let Some(kept) = kept.get_mut(place) {
                kept.push(row as u32);
            }
        }
        for (others, kept) in self.others.iter_mut().zip(kept) {
            others.push(batch, kept)?;
        }
        Ok(())
    }
}

/// Refuses to change one row twice.
pub(super) fn merged_twice() -> Error {
    let message = "MERGE command cannot affect row a second time";
    Error::new(ErrorKind::InvalidStatement, message)
        .with_code("21000")
        .with_hint("Ensure that not more than one source row matches any one target row.")
}

fn cells(clause: &MergeClause) -> &[Cell] {
    match clause {
        MergeClause::Nothing => &[],
        MergeClause::Delete { cells, .. }
        | MergeClause::Update { cells, .. }
        | MergeClause::Insert(cells) => cells,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn do_nothing_becomes_readable_by_its_kind_of_clause() {
        let sql = "merge into t using s on t.a=s.a when matched and s.x<>'do not''hing' then do \
                   nothing when not matched then DO NOTHING";
        let text = readable(sql).unwrap();
        assert_eq!(
            text,
            "merge into t using s on t.a=s.a when matched and s.x<>'do not''hing' then \
             UPDATE SET \"nacre do nothing\" = NULL when not matched then \
             INSERT (\"nacre do nothing\") VALUES (NULL)"
        );
        let text = readable(
            "merge into t using s on true when matched and case when not s.x then \
                             s.y end then do nothing",
        );
        assert!(text.unwrap().ends_with("then UPDATE SET \"nacre do nothing\" = NULL"));
        assert_eq!(readable("insert into t values (1) on conflict do nothing"), None);
        assert_eq!(readable("merge into t using s on true when matched then delete"), None);
    }
}
