//! The plan of a join: keys, columns and conditions, before it runs.

use std::sync::{Arc, OnceLock};

use super::keys::{JoinKeyForm, JoinKeyPlan};
use super::residual::PairProgram;
use crate::error::{ExecError, ExecResult};
use crate::pipeline::{SlotId, SlotInfo};
use crate::plan::{JoinKey, JoinNode, PairingKind};
use crate::value::{IntBounds, IntWidth, ValueClass, VectorType};
use crate::vector::QueryDictionary;

/// The output of one input of a join.
#[derive(Clone, Debug)]
pub(crate) struct JoinSide {
    /// The slots of its columns in its pipeline.
    pub(crate) slots: Vec<SlotId>,
    pub(crate) infos: Vec<SlotInfo>,
    /// A bound of its rows.
    pub(crate) rows_max: u64,
}

/// Keys, columns and conditions of a join.
#[derive(Debug)]
pub(crate) struct JoinPlan {
    pub(super) kind: PairingKind,
    pub(super) probe: JoinSide,
    pub(super) build: JoinSide,
    pub(super) keys: Vec<JoinKeyPlan>,
    /// Words of the keys of a row.
    pub(super) key_words: usize,
    /// Slots of truth values of the probe side: where one is not true there is no partner.
    pub(super) probe_conditions: Vec<SlotId>,
    /// Set when the pipeline above is complete, before anything runs.
    columns: OnceLock<JoinColumns>,
    /// Whether the table keeps all columns that may be read, for other plans that share it.
    is_shared: bool,
    /// The conditions on pairs beside the keys.
    pub(super) residual: Option<PairProgram>,
}

/// The columns that an operator above reads, which alone are copied.
#[derive(Debug, Default)]
pub(super) struct JoinColumns {
    /// Columns of the build side that the table keeps.
    pub(super) stored: Vec<usize>,
    /// Columns of the output and the slots of the probe side that they come from.
    pub(super) probe: Vec<(usize, SlotId)>,
    /// Columns of the output and the columns of the table that they come from.
    pub(super) build: Vec<(usize, usize)>,
    /// The column of the output that tells whether there is a partner.
    pub(super) mark: Option<usize>,
}

impl JoinPlan {
    /// Plans a join of two pipelines' outputs.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if the node contradicts itself.
    pub(crate) fn new(node: &JoinNode, probe: JoinSide, build: JoinSide) -> ExecResult<Self> {
        let mut keys = Vec::with_capacity(node.keys.len());
        let mut key_words = 0;
        for key in &node.keys {
            let plan = plan_key(key, &probe, &build, key_words)?;
            key_words += plan.form.words();
            keys.push(plan);
        }
        let probe_conditions = condition_slots(&node.probe_conditions, &probe)?;
        let residual = (!node.predicates.is_empty())
            .then(|| PairProgram::new(&node.graph, &node.predicates, &probe.infos, &build.infos))
            .transpose()?;
        Ok(Self {
            kind: node.kind,
            probe,
            build,
            keys,
            key_words,
            probe_conditions,
            columns: OnceLock::new(),
            is_shared: false,
            residual,
        })
    }

    /// Has the table of the plan be one that other plans may share.
    pub(crate) fn shared(self) -> Self {
        Self { is_shared: true, ..self }
    }

    /// Plans the same join of another pipeline, whose rows look for partners in the table of this
    /// plan, which is a shared one; `None` if their keys have other words.
    ///
    /// # Errors
    /// As [`JoinPlan::new`].
    pub(super) fn of_other_probe(
        &self,
        node: &JoinNode,
        probe: JoinSide,
    ) -> ExecResult<Option<Self>> {
        let mut other = Self::new(node, probe, self.build.clone())?.shared();
        for (own, other) in self.keys.iter().zip(&mut other.keys) {
            if std::mem::discriminant(&own.form) != std::mem::discriminant(&other.form) {
                return Ok(None);
            }
            // Codes of strings are those of the table.
            other.form.clone_from(&own.form);
        }
        Ok(Some(other))
    }

    /// Notes which columns of the output are read; the first call counts.
    pub(super) fn note_wanted(&self, wanted: impl Fn(usize) -> bool) {
        self.columns.get_or_init(|| self.columns_of(wanted));
    }

    /// Returns which columns are copied.
    pub(super) fn columns(&self) -> &JoinColumns {
        self.columns.get_or_init(|| self.columns_of(|_| true))
    }

    fn columns_of(&self, wanted: impl Fn(usize) -> bool) -> JoinColumns {
        let mut columns = JoinColumns::default();
        let mut offset = 0;
        if self.kind.has_probe_columns() {
            let slots = self.probe.slots.iter().copied().enumerate();
            columns.probe = slots.filter(|(output, _)| wanted(*output)).collect();
            offset = self.probe.infos.len();
        }
        columns.mark = Some(offset).filter(|output| self.is_mark() && wanted(*output));
        for column in 0..self.build.infos.len() {
            let is_output = self.kind.has_build_columns() && wanted(offset + column);
            let of_pair = self.probe.infos.len() + column;
            let is_read = self.residual.as_ref().is_some_and(|pairs| pairs.reads(of_pair));
            if is_output {
                columns.build.push((offset + column, columns.stored.len()));
            }
            if is_output || is_read || self.is_shared && self.kind.has_build_columns() {
                columns.stored.push(column);
            }
        }
        columns
    }

    fn is_mark(&self) -> bool {
        self.kind == PairingKind::Mark
    }

    /// Whether pairs come out.
    pub(super) fn hands_on_pairs(&self) -> bool {
        self.kind.has_probe_columns() && self.kind.has_build_columns()
    }

    /// Whether a row of the probe side needs to know of one partner, and of no other.
    pub(super) fn needs_one_partner(&self) -> bool {
        !self.kind.has_build_columns()
    }

    /// Whether rows of the probe side without a partner come out, padded with nulls.
    pub(super) fn pads_probe(&self) -> bool {
        use PairingKind as K;
        matches!(self.kind, K::ProbeOuter | K::FullOuter | K::Single)
    }

    /// Whether rows of the build side without a partner come out.
    pub(super) fn keeps_build(&self) -> bool {
        use PairingKind as K;
        matches!(self.kind, K::BuildOuter | K::FullOuter | K::BuildAnti)
    }

    /// Whether rows of the build side come out, alone, when all of the probe side have looked for
    /// partners; the table notes which had one.
    pub(crate) fn ends_with_build(&self) -> bool {
        self.keeps_build() || self.kind == PairingKind::BuildSemi
    }

    /// Whether nothing comes out for rows of the probe side that have no partner.
    pub(super) fn needs_partner(&self) -> bool {
        use PairingKind as K;
        matches!(self.kind, K::Inner | K::Semi | K::BuildOuter | K::BuildSemi | K::BuildAnti)
    }

    /// Returns slots of the probe side and the words of the keys that these must be, of whole
    /// numbers of 64 bits, if rows without a partner are not wanted: a scan may leave them out.
    pub(crate) fn reducing_slots(&self) -> impl Iterator<Item = (SlotId, usize)> {
        let needs_partner = self.needs_partner();
        let is_reducing =
            move |key: &&JoinKeyPlan| needs_partner && matches!(key.form, JoinKeyForm::Int);
        self.keys.iter().filter(is_reducing).map(|key| (key.probe_slot, key.word))
    }

    /// Returns type, bounds and nullability of the output columns.
    pub(crate) fn outputs(&self) -> Vec<SlotInfo> {
        let padded = |infos: &[SlotInfo], is_padded: bool| {
            let one = |info: &SlotInfo| SlotInfo {
                is_nullable: info.is_nullable || is_padded,
                ..info.clone()
            };
            infos.iter().map(one).collect::<Vec<_>>()
        };
        let mut outputs = Vec::new();
        if self.kind.has_probe_columns() {
            outputs = padded(&self.probe.infos, self.keeps_build());
        }
        if self.kind.has_build_columns() {
            outputs.extend(padded(&self.build.infos, self.pads_probe()));
        }
        outputs.extend(self.is_mark().then_some(SlotInfo {
            vector_type: VectorType::Bool,
            bounds: None,
            is_nullable: false,
            dictionary: None,
        }));
        outputs
    }

    /// Returns the slot of each output column: columns that are one slot of a side are one of the
    /// output, too.
    pub(crate) fn output_slots(&self) -> Vec<SlotId> {
        let mut outputs: Vec<SlotId> = Vec::new();
        let mut add = |side: &JoinSide| {
            let first = outputs.len();
            let same = |slot: &SlotId| side.slots.iter().position(|own| own == slot);
            let slots = side.slots.iter().enumerate();
            outputs.extend(slots.map(|(at, slot)| first + same(slot).unwrap_or(at)));
        };
        if self.kind.has_probe_columns() {
            add(&self.probe);
        }
        if self.kind.has_build_columns() {
            add(&self.build);
        }
        outputs.extend(self.is_mark().then_some(outputs.len()));
        outputs
    }

    /// Returns a bound of the output rows.
    pub(crate) fn rows_max(&self) -> u64 {
        use PairingKind as K;
        let (probe, build) = (self.probe.rows_max, self.build.rows_max);
        let pairs = probe.saturating_mul(build);
        match self.kind {
            K::Inner => pairs,
            K::ProbeOuter => pairs.max(probe),
            K::BuildOuter => pairs.max(build),
            K::FullOuter => pairs.max(probe.saturating_add(build)),
            K::Single | K::Semi | K::Anti | K::Mark => probe,
            K::BuildSemi | K::BuildAnti => build,
        }
    }

    /// Returns the dictionaries of strings that the join itself numbers.
    pub(super) fn interned(&self) -> impl Iterator<Item = &Arc<QueryDictionary>> {
        self.keys.iter().filter_map(|key| match &key.form {
            JoinKeyForm::Text { dictionary, is_interned: true } => Some(dictionary),
            _ => None,
        })
    }
}

fn condition_slots(columns: &[usize], probe: &JoinSide) -> ExecResult<Vec<SlotId>> {
    let slot = |column: &usize| {
        let is_truth = |info: &SlotInfo| info.vector_type == VectorType::Bool;
        let other = || ExecError::internal(format!("column {column} is no condition of a join"));
        probe.infos.get(*column).filter(|info| is_truth(info)).ok_or_else(other)?;
        Ok(probe.slots[*column])
    };
    columns.iter().map(slot).collect()
}

fn plan_key(
    key: &JoinKey,
    probe: &JoinSide,
    build: &JoinSide,
    word: usize,
) -> ExecResult<JoinKeyPlan> {
    let column = |side: &JoinSide, column: usize| {
        let missing = || ExecError::internal(format!("no column {column} to join"));
        let info = side.infos.get(column).cloned().ok_or_else(missing)?;
        Ok::<_, ExecError>((side.slots[column], info))
    };
    let (probe_slot, probe_info) = column(probe, key.probe)?;
    let (build_slot, build_info) = column(build, key.build)?;
    let class = build_info.vector_type.class();
    if probe_info.vector_type.class() != class {
        return Err(ExecError::internal("keys of a join are of two classes"));
    }
    let is_narrow = |info: &SlotInfo| {
        info.bounds.is_some_and(|bounds| IntBounds::I64.contains(bounds))
            || !matches!(info.vector_type, VectorType::Int(IntWidth::I128))
    };
    let form = match (class, build_info.vector_type, build_info.dictionary.clone()) {
        (ValueClass::Bool, ..) => JoinKeyForm::Bool,
        // Values beyond 64 bits of one side have no partner in the other side.
        (ValueClass::Int, ..) if is_narrow(&build_info) || is_narrow(&probe_info) => {
            JoinKeyForm::Int
        }
        (ValueClass::Int, ..) => JoinKeyForm::WideInt,
        (ValueClass::Float32 | ValueClass::Float64, ..) => JoinKeyForm::Float,
        (ValueClass::Bytes, VectorType::Code, Some(dictionary)) => {
            JoinKeyForm::Text { dictionary, is_interned: false }
        }
        (ValueClass::Bytes, ..) => {
            JoinKeyForm::Text { dictionary: Arc::default(), is_interned: true }
        }
    };
    Ok(JoinKeyPlan { probe_slot, build_slot, form, word })
}
