//! What replicas there are, in which state, and what was written for them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use nacre_column::Format;
use nacre_column::replicated::WearCause;
use nacre_pmem::DomainKind;

use crate::domains::Target;
use crate::manifest::TableId;
use crate::part::BlockState;
use crate::store::Store;
use crate::stored_load::OpenLoad;
use crate::table::Table;

/// What bytes were written for: a column of a table, all of a table, or neither.
pub(crate) type WearOwner = Option<(TableId, Option<usize>)>;

/// In what state a replica of a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaState {
    /// All its blocks are there; those that were read since they were mapped are good.
    Good,
    /// Some of its blocks are lost or not written yet: of so many in all.
    Incomplete { missing: u64, blocks: u64 },
    /// All its blocks can be read, but some are not yet in the format that the policy says.
    Converting { left: u64, blocks: u64 },
    /// Its domain is not there.
    Missing,
}

impl fmt::Display for ReplicaState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good => f.pad("good"),
            Self::Missing => f.pad("missing"),
            Self::Converting { left, blocks } => {
                f.pad(&format!("{left} of {blocks} blocks to be converted"))
            }
            Self::Incomplete { missing, blocks } => {
                f.pad(&format!("{missing} of {blocks} blocks missing"))
            }
        }
    }
}

/// One replica of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaInfo {
    pub table: String,
    pub column: String,
    /// Its place in the column's policy, from 0.
    pub replica: u8,
    /// The domain that the policy puts it in.
    pub domain: String,
    /// What kind of memory the domain is; `None` while it is not there.
    pub kind: Option<DomainKind>,
    pub node: Option<u32>,
    /// The formats of its blocks, in the order of their names.
    pub formats: Vec<Format>,
    /// Bytes of its blocks.
    pub bytes: u64,
    pub state: ReplicaState,
    /// Blocks handed out to readers since the database was opened; one that single rows are read
    /// from counts once.
    pub reads: u64,
}

/// Bytes written since the database was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WearInfo {
    pub domain: String,
    /// `None` for what belongs to no table.
    pub table: Option<String>,
    /// `None` for what belongs to no column, such as directories.
    pub column: Option<String>,
    pub cause: WearCause,
    pub bytes: u64,
}

impl Store {
    /// Returns every replica of every column that the policies ask for; maps the pools that are
    /// not mapped yet. All blocks of a load that cannot be opened are missing.
    pub fn replicas(&self) -> Vec<ReplicaInfo> {
        let mut infos = Vec::new();
        for table in self.tables() {
            let loads = table.loads();
            let blocks = loads.iter().map(|load| u64::from(load.chunk_count())).sum();
            let open: Vec<Arc<OpenLoad>> =
                loads.iter().filter_map(|load| load.open().ok()).collect();
            for column in 0..table.schema().columns.len() {
                infos.extend(self.replicas_of(&table, column, &open, blocks));
            }
        }
        infos
    }

    fn replicas_of(
        &self,
        table: &Table,
        column: usize,
        open: &[Arc<OpenLoad>],
        blocks: u64,
    ) -> Vec<ReplicaInfo> {
        let schema = table.schema();
        let targets = self.all_domains().targets(&schema.policy(column));
        let mut infos: Vec<ReplicaInfo> = (0..)
            .zip(&targets)
            .map(|(replica, Target { domain, .. })| {
                let there = self.domain(domain);
                ReplicaInfo {
                    table: schema.name.clone(),
                    column: schema.columns[column].name.clone(),
                    replica,
                    domain: domain.clone(),
                    kind: there.as_ref().map(nacre_pmem::Domain::kind),
                    node: there.as_ref().and_then(nacre_pmem::Domain::numa_node),
                    formats: Vec::new(),
                    bytes: 0,
                    state: ReplicaState::Good,
                    reads: table.reads(column, replica),
                }
            })
            .collect();
        let (mut good, mut left) = (vec![0; infos.len()], vec![0; infos.len()]);
        for load in open {
            for chunk in 0..load.chunks.len() {
                for place in load.places(chunk, column).iter().filter(|place| place.is_current) {
                    let (part, entry) = load.part_and_entry(place);
                    let Some(info) = infos.get_mut(usize::from(entry.replica)) else {
                        continue;
                    };
                    info.bytes += entry.bytes;
                    info.formats.extend(entry.format);
                    let is_lost = part.slots[place.slot as usize].state() == BlockState::Lost;
                    let is_in_place = part.domain == info.domain;
                    let replica = usize::from(entry.replica);
                    let is_good = !is_lost && is_in_place;
                    let is_as_asked = entry.choice == targets[replica].format;
                    good[replica] += u64::from(is_good);
                    left[replica] += u64::from(is_good && !is_as_asked);
                }
            }
        }
        for (info, (good, left)) in infos.iter_mut().zip(good.into_iter().zip(left)) {
            info.formats.sort_unstable_by_key(|format| format.name());
            info.formats.dedup();
            if info.kind.is_none() {
                info.state = ReplicaState::Missing;
            } else if good < blocks {
                info.state = ReplicaState::Incomplete { missing: blocks - good, blocks };
            } else if left > 0 {
                info.state = ReplicaState::Converting { left, blocks };
            }
        }
        infos
    }

    /// Returns what was written to the domains since the database was opened. Tables that were
    /// dropped meanwhile count together, without a name.
    pub fn wear(&self) -> Vec<WearInfo> {
        let tables: BTreeMap<TableId, Arc<Table>> =
            self.tables().into_iter().map(|table| (table.id(), table)).collect();
        let info = |(domain, owner, cause, bytes): (String, WearOwner, WearCause, u64)| {
            let table = owner.and_then(|(table, _)| tables.get(&table));
            let column = owner.and_then(|(_, column)| column);
            let names = table.map(|table| table.names());
            WearInfo {
                domain,
                table: names.map(|names| names.table()),
                column: names.zip(column).and_then(|(names, column)| names.column(column)),
                cause,
                bytes,
            }
        };
        self.wear_counts().into_iter().map(info).collect()
    }
}
