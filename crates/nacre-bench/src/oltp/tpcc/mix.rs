//! The mix of TPC-C: which transaction runs what was typed in.

use nacre_store::Result;

use super::input::{Input, Terminal};
use super::schema::Tables;
use super::{delivery, new_order, payment, status};
use crate::oltp::work::{Outcome, System, Work, end, finish};

/// What became of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) committed: u64,
    /// New orders among them.
    pub(crate) new_orders: u64,
    pub(crate) rolled_back: u64,
    pub(crate) conflicts: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, input: &Input, outcome: Outcome) {
        match outcome {
            Outcome::Committed => {
                self.committed += 1;
                self.new_orders += u64::from(matches!(input, Input::NewOrder(_)));
            }
            Outcome::RolledBack => self.rolled_back += 1,
            Outcome::Conflict => self.conflicts += 1,
        }
    }
}

/// Runs the body of a transaction; returns whether it is to be committed.
pub(crate) async fn body<W: Work>(work: &mut W, tables: &Tables, input: &Input) -> Result<bool> {
    let answer = match input {
        Input::NewOrder(input) => new_order::run(work, tables, input).await?,
        Input::Payment(input) => payment::run(work, tables, input).await?,
        Input::OrderStatus(input) => status::order_status(work, tables, input).await?,
        Input::Delivery(input) => delivery::run(work, tables, input).await?,
        Input::StockLevel(input) => status::stock_level(work, tables, input).await?,
    };
    Ok(std::hint::black_box(answer).is_some())
}

/// Runs `count` transactions, one after the other.
///
/// # Errors
/// Those of the engine but conflicts.
pub(crate) fn run<S: System>(
    system: &mut S,
    tables: &Tables,
    terminal: &mut Terminal,
    count: u64,
) -> Result<Counts> {
    let mut counts = Counts::default();
    for _ in 0..count {
        let input = terminal.next();
        let mut work = system.begin();
        let kept = finish(body(&mut work, tables, &input));
        counts.add(&input, end(system, work, kept)?);
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use nacre_store::{IsolationLevel, OpenOptions, Store};

    use super::*;
    use crate::oltp::tpcc::consistency;
    use crate::oltp::tpcc::input::Scale;
    use crate::oltp::tpcc::load::load;
    use crate::oltp::work::{MultiVersion, OneVersion};

    const SCALE: Scale = Scale { warehouses: 2, items: 60, customers: 30 };

    fn volatile() -> Store {
        Store::open(OpenOptions::default()).unwrap()
    }

    #[test]
    fn mix_leaves_a_consistent_database_with_and_without_versions() {
        let store = volatile();
        let mut system = MultiVersion::new(&store, IsolationLevel::Serializable);
        let tables = load(&store, &mut system, SCALE).unwrap();
        consistency::check(&store, &tables).unwrap();
        let counts = run(&mut system, &tables, &mut Terminal::new(SCALE, 3), 1_500).unwrap();
        consistency::check(&store, &tables).unwrap();
        assert_eq!((counts.committed + counts.rolled_back, counts.conflicts), (1_500, 0));
        assert!(counts.rolled_back > 0 && counts.new_orders > 500, "{counts:?}");
        assert_eq!(store.version_count(), 0);

        let (alone, mut without) = (volatile(), OneVersion::default());
        let tables = load(&alone, &mut without, SCALE).unwrap();
        let same = run(&mut without, &tables, &mut Terminal::new(SCALE, 3), 1_500).unwrap();
        consistency::check(&alone, &tables).unwrap();
        assert_eq!(same, counts);
    }

    #[test]
    fn damage_is_found() {
        let store = volatile();
        let mut system = MultiVersion::new(&store, IsolationLevel::Serializable);
        let tables = load(&store, &mut system, SCALE).unwrap();
        let mut work = system.begin();
        let mut row = None;
        let key = [nacre_store::ValueRef::Int(1), nacre_store::ValueRef::Int(1)];
        work.lookup(&tables.district, &key, &[], |found, _| row = Some(found)).unwrap();
        work.delete(&tables.district, row.unwrap()).unwrap();
        system.commit(work).unwrap();
        let error = consistency::check(&store, &tables).unwrap_err().to_string();
        assert!(error.contains("condition 1, warehouse 1"), "{error}");
    }
}
