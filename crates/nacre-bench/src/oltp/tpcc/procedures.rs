//! The transactions as procedures: the redo log gets what was typed in, not what it changed.

use std::sync::{Arc, OnceLock};

use nacre_store::ValueRef::{Bytes, Int};
use nacre_store::{Error, Procedures, Result, Store, Transaction, ValueRef};

use super::input::{
    CustomerBy, CustomerKey, Delivery, Input, LINES_MAX, LastName, Line, NewOrder, Payment,
    StockLevel, Terminal,
};
use super::mix::{Counts, body};
use super::schema::Tables;
use crate::oltp::table::int;
use crate::oltp::work::{Outcome, Versioned, finish, is_conflict};

const NEW_ORDER: &str = "new_order";
const PAYMENT: &str = "payment";
const ORDER_STATUS: &str = "order_status";
const DELIVERY: &str = "delivery";
const STOCK_LEVEL: &str = "stock_level";

/// Returns the five procedures, for a database that is about to be opened.
///
/// # Errors
/// None that this code does not cause.
pub(crate) fn procedures() -> Result<Procedures> {
    let mut procedures = Procedures::default();
    let tables = Arc::new(OnceLock::new());
    for name in [NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL] {
        let tables = Arc::clone(&tables);
        procedures.register(name, move |transaction, arguments| {
            run(transaction, &tables, &input_of(name, arguments)?)?;
            Ok(Vec::new())
        })?;
    }
    Ok(procedures)
}

/// Calls the procedures of `count` transactions, one after the other.
///
/// # Errors
/// Those of the engine but conflicts.
pub(crate) fn call(store: &Store, terminal: &mut Terminal, count: u64) -> Result<Counts> {
    let mut counts = Counts::default();
    for _ in 0..count {
        let input = terminal.next();
        let mut arguments = Vec::with_capacity(4 + 3 * LINES_MAX);
        let name = put_arguments(&input, &mut arguments);
        let outcome = match store.call(name, &arguments) {
            Ok(_) => Outcome::Committed,
            Err(Error::CallRefused(_)) => Outcome::RolledBack,
            Err(error) if is_conflict(&error) => Outcome::Conflict,
            Err(error) => return Err(error),
        };
        counts.add(&input, outcome);
    }
    Ok(counts)
}

/// Runs one transaction; an order of an item that is not there is refused.
fn run(transaction: &mut Transaction, known: &OnceLock<Tables>, input: &Input) -> Result<()> {
    let tables = match known.get() {
        Some(tables) => tables,
        None => {
            let found = Tables::find(|name| transaction.table(name))?;
            known.get_or_init(|| found)
        }
    };
    match finish(body(&mut Versioned::alone(transaction), tables, input))? {
        true => Ok(()),
        false => Err(Error::CallRefused("the item is unknown".into())),
    }
}

/// Appends what was typed in to `arguments`; returns the name of the procedure.
fn put_arguments<'a>(input: &'a Input, arguments: &mut Vec<ValueRef<'a>>) -> &'static str {
    match input {
        Input::NewOrder(order) => {
            let head = [order.warehouse, order.district, order.customer, order.date];
            arguments.extend(head.map(Int));
            let lines = order.lines().iter();
            arguments
                .extend(lines.flat_map(|line| [line.item, line.supplier, line.quantity].map(Int)));
            NEW_ORDER
        }
        Input::Payment(payment) => {
            let head = [payment.warehouse, payment.district, payment.amount, payment.date];
            arguments.extend(head.map(Int));
            put_customer(&payment.customer, arguments);
            PAYMENT
        }
        Input::OrderStatus(customer) => {
            put_customer(customer, arguments);
            ORDER_STATUS
        }
        Input::Delivery(delivery) => {
            arguments.extend([delivery.warehouse, delivery.carrier, delivery.date].map(Int));
            DELIVERY
        }
        Input::StockLevel(level) => {
            arguments.extend([level.warehouse, level.district, level.threshold].map(Int));
            STOCK_LEVEL
        }
    }
}

fn put_customer<'a>(customer: &'a CustomerKey, arguments: &mut Vec<ValueRef<'a>>) {
    arguments.extend([customer.warehouse, customer.district].map(Int));
    arguments.push(match &customer.by {
        CustomerBy::Id(id) => Int(*id),
        CustomerBy::LastName(name) => Bytes(name.as_bytes()),
    });
}

/// Returns what was typed in.
///
/// # Errors
/// [`Error::CallRefused`] if arguments are missing.
fn input_of(name: &str, arguments: &[ValueRef<'_>]) -> Result<Input> {
    let missing = || Error::CallRefused(format!("arguments of {name} are missing").into());
    let numbers = |first: usize| -> Result<[i64; 3]> {
        let some = arguments.get(first..first + 3).ok_or_else(missing)?;
        Ok([int(some[0]), int(some[1]), int(some[2])])
    };
    let customer = |first: usize| -> Result<CustomerKey> {
        let [warehouse, district, id] = numbers(first)?;
        let by = match arguments[first + 2] {
            Bytes(name) => CustomerBy::LastName(LastName::from_bytes(name).ok_or_else(missing)?),
            _ => CustomerBy::Id(id),
        };
        Ok(CustomerKey { warehouse, district, by })
    };
    let [first, second, third] = match name {
        ORDER_STATUS => return Ok(Input::OrderStatus(customer(0)?)),
        _ => numbers(0)?,
    };
    Ok(match name {
        NEW_ORDER => {
            let date = int(*arguments.get(3).ok_or_else(missing)?);
            let line = |line: &[ValueRef<'_>; 3]| Line {
                item: int(line[0]),
                supplier: int(line[1]),
                quantity: int(line[2]),
            };
            let lines = arguments[4..].as_chunks().0.iter().map(line);
            Input::NewOrder(NewOrder::new([first, second, third, date], lines))
        }
        PAYMENT => Input::Payment(Payment {
            warehouse: first,
            district: second,
            amount: third,
            date: int(*arguments.get(3).ok_or_else(missing)?),
            customer: customer(4)?,
        }),
        DELIVERY => Input::Delivery(Delivery { warehouse: first, carrier: second, date: third }),
        _ => Input::StockLevel(StockLevel { warehouse: first, district: second, threshold: third }),
    })
}

#[cfg(test)]
mod tests {
    use nacre_store::{IsolationLevel, OpenOptions};

    use super::*;
    use crate::oltp::tpcc::consistency;
    use crate::oltp::tpcc::input::Scale;
    use crate::oltp::tpcc::load::load;
    use crate::oltp::tpcc::mix;
    use crate::oltp::tpcc::schema::customer;
    use crate::oltp::work::MultiVersion;

    const SCALE: Scale = Scale { warehouses: 2, items: 60, customers: 30 };

    /// Opens the database of a directory.
    fn open(directory: &std::path::Path) -> Store {
        let directory = Some(directory.to_owned());
        let procedures = procedures().unwrap();
        Store::open(OpenOptions { directory, procedures, ..OpenOptions::default() }).unwrap()
    }

    #[test]
    fn calls_do_what_the_transactions_do_and_are_run_again_after_a_restart() {
        let own = Store::open(OpenOptions::default()).unwrap();
        let mut system = MultiVersion::new(&own, IsolationLevel::Serializable);
        let tables = load(&own, &mut system, SCALE).unwrap();
        let wanted = mix::run(&mut system, &tables, &mut Terminal::new(SCALE, 3), 1_000).unwrap();

        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        let mut system = MultiVersion::new(&store, IsolationLevel::Serializable);
        load(&store, &mut system, SCALE).unwrap();
        let counts = call(&store, &mut Terminal::new(SCALE, 3), 1_000).unwrap();
        assert_eq!(counts, wanted);
        assert!(counts.rolled_back > 0, "{counts:?}");
        drop((store, system));

        let store = open(directory.path());
        let again = Tables::find(|name| store.table(name)).unwrap();
        consistency::check(&store, &again).unwrap();
        let sums = |store: &Store, tables: &Tables| {
            let work = &mut store.begin(IsolationLevel::RepeatableRead);
            let (mut rows, mut sum) = (0, 0_i64);
            let (table, index) = (&tables.customer.table, &tables.customer.index);
            let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
            let columns = [customer::BALANCE];
            work.range(table, index, all, nacre_store::index::Direction::Ascending, &columns, {
                |_, values| {
                    rows += 1;
                    sum = sum.wrapping_mul(31).wrapping_add(int(values[0]));
                    std::ops::ControlFlow::Continue(())
                }
            })
            .unwrap();
            (rows, sum)
        };
        assert_eq!(sums(&store, &again), sums(&own, &tables));
    }

    #[test]
    fn arguments_that_are_missing_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        for name in [NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL] {
            let refused = store.call(name, &[Int(1), Int(1)]);
            assert!(matches!(refused, Err(Error::CallRefused(_))), "{name}");
        }
    }
}
