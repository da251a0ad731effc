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
    /// Set when the pipeline above is complete, before anything runs.
    columns: OnceLock<JoinColumns>,
    /// The conditions beside the keys.
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
        let residual = (!node.predicates.is_empty())
            .then(|| PairProgram::new(&node.graph, &node.predicates, &probe.infos, &build.infos))
            .transpose()?;
        let (kind, columns) = (node.kind, OnceLock::new());
        Ok(Self { kind, probe, build, keys, key_words, columns, residual })
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
        let slots = self.probe.slots.iter().copied().enumerate();
        columns.probe = slots.filter(|(output, _)| wanted(*output)).collect();
        for column in 0..self.build.infos.len() {
            let output = self.probe.infos.len() + column;
            let is_output = self.has_build_columns() && wanted(output);
            let is_read = self.residual.as_ref().is_some_and(|pairs| pairs.reads(output));
            if is_output {
                columns.build.push((output, columns.stored.len()));
            }
            if is_output || is_read {
                columns.stored.push(column);
            }
        }
        columns
    }

    /// Whether columns of the build side come out.
    pub(super) fn has_build_columns(&self) -> bool {
        !matches!(self.kind, PairingKind::Semi | PairingKind::Anti)
    }

    /// Whether rows of the probe side without a partner come out, padded with nulls.
    pub(super) fn pads_probe(&self) -> bool {
        matches!(self.kind, PairingKind::ProbeOuter | PairingKind::FullOuter)
    }

    /// Whether rows of the build side without a partner come out, padded with nulls.
    pub(crate) fn pads_build(&self) -> bool {
        matches!(self.kind, PairingKind::BuildOuter | PairingKind::FullOuter)
    }

    /// Whether nothing comes out of the probe side if the build side has no rows.
    pub(super) fn needs_build_rows(&self) -> bool {
        matches!(self.kind, PairingKind::Inner | PairingKind::Semi | PairingKind::BuildOuter)
    }

    /// Returns the slot of the probe side's key if it is the only one, a whole number of 64 bits,
    /// and rows without a partner are not wanted: a scan may leave them out.
    pub(crate) fn reducing_slot(&self) -> Option<SlotId> {
        match self.keys.as_slice() {
            [key] if matches!(key.form, JoinKeyForm::Int) && self.needs_build_rows() => {
                Some(key.probe_slot)
            }
            _ => None,
        }
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
        let mut outputs = padded(&self.probe.infos, self.pads_build());
        if self.has_build_columns() {
            outputs.extend(padded(&self.build.infos, self.pads_probe()));
        }
        outputs
    }

    /// Returns a bound of the output rows.
    pub(crate) fn rows_max(&self) -> u64 {
        let (probe, build) = (self.probe.rows_max, self.build.rows_max);
        let pairs = probe.saturating_mul(build);
        match self.kind {
            PairingKind::Inner => pairs,
            PairingKind::ProbeOuter => pairs.max(probe),
            PairingKind::BuildOuter => pairs.max(build),
            PairingKind::FullOuter => pairs.max(probe.saturating_add(build)),
            PairingKind::Semi | PairingKind::Anti => probe,
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
