//! What a plan reads, for the validation of serializable transactions.
//!
//! # Invariants
//! 1. A change of a row that no predicate covers, as it was and as it is, does not change the
//!    answer. So nothing that depends on rows narrows a predicate: neither keys that joins know
//!    while they run, nor what a LIMIT has not asked for; and no hint does, which lets other rows
//!    pass.
//! 2. Plans are made for one execution, so the predicates are those of its values.
//!
//! # Source
//! [Muehlbauer16 section 2.2.3] precision locking.

use nacre_store::{ColumnSet, Predicate};

use super::node::{PlanNode, ScanNode};
use crate::scan::ScanPredicate;

impl PlanNode {
    /// Calls `on_scan` for each scan, also those of queries that expressions ask for.
    pub fn for_each_scan(&self, on_scan: &mut dyn FnMut(&ScanNode)) {
        if let Self::Scan(scan) = self {
            on_scan(scan);
        }
        self.inputs().into_iter().for_each(|input| input.for_each_scan(on_scan));
    }
}

impl ScanNode {
    /// Returns the rows that it reads, and the columns.
    pub fn logged_predicate(&self) -> Predicate {
        let schema = self.snapshot.table().schema();
        let mut read = ColumnSet::default();
        let tested = self.predicates.iter().map(|predicate| predicate.column);
        let columns = self.columns.iter().copied().chain(tested);
        columns.for_each(|column| read.insert(column));
        self.predicates.iter().fold(Predicate::new(read), |logged, own| match &own.predicate {
            ScanPredicate::Restriction(restriction) if !own.is_hint => {
                logged.with(&schema, own.column, restriction)
            }
            _ => logged,
        })
    }
}
