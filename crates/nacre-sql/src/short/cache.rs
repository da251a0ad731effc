//! The plans of a session's short statements, by their text without literals.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use nacre_column::ColumnType;
use nacre_store::{Store, Value};

use super::operand::{Inputs, Now};
use super::plan::{Plan, Subject};
use super::recognise::{Named, recognise};
use super::text::Scanned;
use crate::dml;
use crate::error::Result;
use crate::planner::Planner;
use crate::statement_io::Outcome;
use crate::transaction::Turn;

/// Texts that are kept; the oldest go first. At about 2 KiB each they take 2 MiB.
const TEXTS_MAX: usize = 1_024;

/// What is known of a text.
enum Known {
    /// It goes the general way, for as long as its table is that, or always.
    General(Option<Subject>),
    Short(Box<Plan>),
}

impl Known {
    fn is_current(&self, store: &Store) -> bool {
        match self {
            Self::General(None) => true,
            Self::General(Some(subject)) => subject.current(store).is_some(),
            Self::Short(plan) => plan.subject.current(store).is_some(),
        }
    }
}

#[derive(Default)]
struct Texts {
    known: HashMap<String, Arc<Known>>,
    /// In the order in which they came.
    order: VecDeque<String>,
}

/// The short statements of a session.
pub(crate) struct ShortStatements {
    texts: Mutex<Texts>,
}

/// A statement that may be a short one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    /// Its whole text.
    pub(crate) sql: &'a str,
    pub(crate) scanned: &'a Scanned<'a>,
    /// What its plan is kept under.
    pub(crate) key: &'a str,
    /// The parameters, and their types as far as they are known.
    pub(crate) parameters: &'a [Value],
    pub(crate) types: &'a [Option<ColumnType>],
}

impl<'a> Candidate<'a> {
    fn inputs(&self, now: &'a Now<'a>) -> Inputs<'a> {
        let (literals, parameters) = (self.scanned.literals.as_slice(), self.parameters);
        Inputs { literals, parameters, now }
    }
}

impl ShortStatements {
    pub(crate) fn new() -> Self {
        Self { texts: Mutex::default() }
    }

    /// Runs a statement if it is a short one; `None` if it has to go the general way.
    ///
    /// # Errors
    /// 25006; those of writing rows.
    pub(crate) async fn run(
        &self,
        store: &Store,
        planner: &Planner,
        turn: &mut Turn,
        candidate: Candidate<'_>,
    ) -> Result<Option<Outcome>> {
        let known = self.look_up(store, planner, turn, candidate).await?;
        let now = Now::new(planner.settings());
        match known.as_deref() {
            Some(Known::Short(plan)) => {
                plan.run(store, planner, turn, candidate.inputs(&now)).await
            }
            Some(Known::General(_)) | None => Ok(None),
        }
    }

    /// Whether a statement is a short one, which is looked at if it was not yet.
    ///
    /// # Errors
    /// Those of planning it.
    pub(crate) async fn is_short(
        &self,
        store: &Store,
        planner: &Planner,
        turn: &mut Turn,
        candidate: Candidate<'_>,
    ) -> Result<bool> {
        let known = self.look_up(store, planner, turn, candidate).await?;
        Ok(matches!(known.as_deref(), Some(Known::Short(_))))
    }

    /// Returns what is known of a statement, after a look at one that was not seen before.
    async fn look_up(
        &self,
        store: &Store,
        planner: &Planner,
        turn: &mut Turn,
        candidate: Candidate<'_>,
    ) -> Result<Option<Arc<Known>>> {
        // What the error is, is told in the order of the general way.
        if turn.require_sound().is_err() {
            return Ok(None);
        }
        let known = self.texts().known.get(candidate.key).map(Arc::clone);
        if let Some(known) = known.filter(|known| known.is_current(store)) {
            return Ok(Some(known));
        }
        let Some(known) = look_at(store, planner, turn, candidate).await? else {
            return Ok(None);
        };
        let known = Arc::new(known);
        self.keep(candidate.key.to_owned(), &known);
        Ok(Some(known))
    }

    /// As [`ShortStatements::run`], on a thread that may wait, for a statement that was seen
    /// before.
    pub(crate) fn run_now(
        &self,
        store: &Store,
        planner: &Planner,
        turn: &mut Turn,
        candidate: Candidate<'_>,
    ) -> Result<Option<Outcome>> {
        if turn.require_sound().is_err() {
            return Ok(None);
        }
        let known = self.texts().known.get(candidate.key).map(Arc::clone);
        match known.as_deref() {
            Some(Known::Short(plan)) => {
                let now = Now::new(planner.settings());
                plan.run_now(store, planner, turn, candidate.inputs(&now))
            }
            Some(Known::General(_)) | None => Ok(None),
        }
    }

    /// Whether there is a plan under `key` for the tables as they are now.
    pub(crate) fn knows(&self, store: &Store, key: Option<&str>) -> bool {
        let known = key.and_then(|key| self.texts().known.get(key).map(Arc::clone));
        known.is_some_and(|known| {
            matches!(known.as_ref(), Known::Short(_)) && known.is_current(store)
        })
    }

    /// Forgets all plans.
    pub(crate) fn forget(&self) {
        *self.texts() = Texts::default();
    }

    fn keep(&self, key: String, known: &Arc<Known>) {
        let mut texts = self.texts();
        if texts.known.insert(key.clone(), Arc::clone(known)).is_some() {
            return;
        }
        texts.order.push_back(key);
        if texts.order.len() > TEXTS_MAX
            && let Some(oldest) = texts.order.pop_front()
        {
            texts.known.remove(&oldest);
        }
    }

    fn texts(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns what a statement's plan is kept under: with types, one text may have several.
pub(crate) fn key(scanned: &Scanned<'_>, types: &[Option<ColumnType>]) -> String {
    match types {
        [] => scanned.key.clone(),
        types => format!("{}\0{types:?}", scanned.key),
    }
}

/// Looks at a statement that was not seen before; `None` if nothing is to be remembered of it.
async fn look_at(
    store: &Store,
    planner: &Planner,
    turn: &mut Turn,
    candidate: Candidate<'_>,
) -> Result<Option<Known>> {
    let Ok(ParsedStatement::Statement(statement)) = planner.parse(&candidate.scanned.key) else {
        return Ok(Some(Known::General(None)));
    };
    let Some(named) = Named::of(&statement) else {
        return Ok(Some(Known::General(None)));
    };
    // The definition is looked up before the outputs are described: should it change meanwhile,
    // the plan is not current.
    let Some((table, subject)) = named.resolve(store) else { return Ok(None) };
    let schema = subject.schema();
    let action = recognise(planner, &table, schema, named.alias, &statement, candidate.types);
    let Some(action) = action else { return Ok(Some(Known::General(Some(subject)))) };
    let output = match action.outputs() {
        None => None,
        Some((items, columns)) => {
            // What cannot be planned fails on the general way, perhaps because of its literals.
            let described = describe(store, planner, turn, &statement, candidate.sql).await?;
            let Some(output) = described else { return Ok(None) };
            let fields = output.fields();
            let mut both = items.iter().zip(fields);
            let has_types = items.len() == fields.len()
                && both.all(|(item, field)| item.has_type(schema, columns, field.data_type()));
            if !has_types {
                return Ok(Some(Known::General(Some(subject))));
            }
            Some(output)
        }
    };
    let allowed = AtomicU64::default();
    Ok(Some(Known::Short(Box::new(Plan { subject, action, output, allowed }))))
}

/// Returns the outputs that a statement has on the general way, which is `statement` without its
/// literals; `None` if it cannot be planned.
async fn describe(
    store: &Store,
    planner: &Planner,
    turn: &mut Turn,
    statement: &SqlStatement,
    sql: &str,
) -> Result<Option<SchemaRef>> {
    if let SqlStatement::Query(_) = statement {
        let moment = turn.moment(false)?;
        let Ok(original) = planner.parse(sql) else { return Ok(None) };
        return Ok(planner.describe(&moment, Vec::new(), original).await.ok());
    }
    let moment = turn.moment(true)?;
    let Ok(change) = dml::change_of(store, statement.clone()) else { return Ok(None) };
    Ok(change.describe(planner, &moment).await.ok().flatten())
}
