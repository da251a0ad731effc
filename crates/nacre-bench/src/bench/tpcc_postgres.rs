//! The third part of `nacre bench tpcc`: the same mix as functions of PostgreSQL.
//!
//! Both start from the same rows and get the same inputs, one client, one transaction after the
//! other, SERIALIZABLE, durable commits, data on the same file system. Ours is called in the
//! process; PostgreSQL's functions are called by prepared statements through `psql` on a socket.
//! At the end both must have come to the same sums.

use std::fmt::Write as _;
use std::path::Path;

use nacre_store::IsolationLevel;
use tokio::runtime::Handle;

use super::Setup;
use super::oltp::{Side, take_turns};
use super::postgres::Server;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::oltp::tpcc::input::{CustomerBy, CustomerKey, Input, Scale, Terminal};
use crate::oltp::tpcc::load::load;
use crate::oltp::tpcc::{consistency, mix};
use crate::oltp::work::MultiVersion;
use crate::report::Report;

const SCHEMA: &str = include_str!("tpcc_postgres.sql");

const TABLES: [&str; 9] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "new_order",
    "orders",
    "order_line",
    "item",
    "stock",
];

const PREPARED: &str = "
SET default_transaction_isolation = 'serializable';
PREPARE no(smallint, smallint, integer, integer[], smallint[], smallint[]) AS
    SELECT new_order($1, $2, $3, $4, $5, $6);
PREPARE pa(smallint, smallint, smallint, smallint, integer, text, numeric) AS
    SELECT payment($1, $2, $3, $4, $5, $6, $7);
PREPARE os(smallint, smallint, integer, text) AS SELECT order_status($1, $2, $3, $4);
PREPARE de(smallint, smallint) AS SELECT delivery($1, $2);
PREPARE sl(smallint, smallint, smallint) AS SELECT stock_level($1, $2, $3);
";

/// What an order with an item that does not exist is refused with.
const UNKNOWN_ITEM: &str = "is not known";

/// Sums that must be the same in the end.
const SUMS: [&str; 5] = [
    "SELECT count(*) FROM orders",
    "SELECT sum(ol_amount) FROM order_line WHERE ol_delivery_d IS NULL",
    "SELECT sum(w_ytd) FROM warehouse",
    "SELECT sum(c_balance) FROM customer",
    "SELECT sum(s_quantity) FROM stock",
];

/// Has both run `transactions` a round, in turn.
pub(super) fn run(
    setup: &Setup,
    report: &mut Report,
    scale: Scale,
    transactions: u64,
) -> Result<()> {
    let console = setup.console;
    // Beside the directory of this run, which nobody else may enter.
    let parent = setup.workspace.path().parent().unwrap_or(Path::new("/"));
    let server = match Server::start(parent) {
        Ok(Some(server)) => server,
        Ok(None) => return console.line("TPC-C in PostgreSQL: not measured: not found"),
        Err(error) => {
            return console.line(format_args!("TPC-C in PostgreSQL: not measured: {error}"));
        }
    };
    let socket = server.socket();
    let version = server.programs().value(&socket, "SHOW server_version")?;
    let directory = setup.workspace.path().join("beside-postgresql");
    let engine = Handle::current().block_on(Engine::open(&directory, Some(1)))?;
    let store = engine.database().store();
    let mut system = MultiVersion::new(store, IsolationLevel::Serializable);
    let tables = load(store, &mut system, scale).map_err(Error::store("load TPC-C"))?;
    copy(setup, &engine, &server)?;
    console.line(format_args!("TPC-C as functions of PostgreSQL {version}, through psql"))?;
    let script = setup.workspace.path().join("round.sql");
    let mut sides = [
        Side::new("postgresql", None, |seed| {
            let mut terminal = Terminal::new(scale, seed);
            let mut text = PREPARED.to_owned();
            (0..transactions).for_each(|_| put_call(&mut text, &terminal.next()));
            std::fs::write(&script, text).map_err(Error::io("write", &script))?;
            let failed = server.programs().file(&socket, &script)?;
            match failed.lines().find(|line| !line.contains(UNKNOWN_ITEM)) {
                None => Ok(()),
                Some(line) => Err(Error::Child(format!("PostgreSQL failed: {line}"))),
            }
        }),
        Side::new("nacre", Some("postgresql"), |seed| {
            let ran = mix::run(&mut system, &tables, &mut Terminal::new(scale, seed), transactions);
            ran.map(drop).map_err(Error::store("run TPC-C"))
        }),
    ];
    sides[1].is_emulated = engine.is_emulated();
    let parameters = format!("warehouses={},items={}", scale.warehouses, scale.items);
    take_turns(setup, report, ("tpcc", &parameters), (3, transactions), &mut sides)?;
    drop(sides);
    consistency::check(store, &tables)?;
    for sum in SUMS {
        let ours = Handle::current().block_on(engine.line(sum))?;
        let theirs = server.programs().value(&socket, sum)?;
        if ours != theirs {
            let message = format!("`{sum}`: {ours}, and {theirs} in PostgreSQL");
            return Err(Error::Deviation(message));
        }
    }
    console.line("   both have come to the same sums")
}

/// Creates the tables and functions in PostgreSQL and fills the tables with our rows.
fn copy(setup: &Setup, engine: &Engine, server: &Server) -> Result<()> {
    let mut script = format!("\\set ON_ERROR_STOP 1\n{SCHEMA}");
    for table in TABLES {
        setup.interrupt.check()?;
        let path = setup.workspace.path().join(format!("{table}.csv"));
        let quoted = path.to_string_lossy().replace('\'', "''");
        let sql = format!("COPY {table} TO '{quoted}' (FORMAT csv)");
        Handle::current().block_on(engine.query(&sql))?;
        let _ = writeln!(script, "\\copy {table} FROM '{quoted}' (FORMAT csv)");
    }
    script.push_str("SELECT create_keys();\nVACUUM ANALYZE;\nCHECKPOINT;\n");
    let path = setup.workspace.path().join("load.sql");
    std::fs::write(&path, script).map_err(Error::io("write", &path))?;
    server.programs().file(&server.socket(), &path).map(drop)
}

/// Appends the call of a transaction.
fn put_call(text: &mut String, input: &Input) {
    // Writing to a string cannot fail.
    let _ = match input {
        Input::NewOrder(order) => {
            let list = |number: fn(&crate::oltp::tpcc::input::Line) -> i64| -> String {
                let numbers: Vec<String> =
                    order.lines().iter().map(|line| number(line).to_string()).collect();
                numbers.join(",")
            };
            writeln!(
                text,
                "EXECUTE no({}, {}, {}, '{{{}}}', '{{{}}}', '{{{}}}');",
                order.warehouse,
                order.district,
                order.customer,
                list(|line| line.item),
                list(|line| line.supplier),
                list(|line| line.quantity)
            )
        }
        Input::Payment(payment) => {
            let (cents, customer) = (payment.amount, &payment.customer);
            writeln!(
                text,
                "EXECUTE pa({}, {}, {}, {}, {}, {}.{:02});",
                payment.warehouse,
                payment.district,
                customer.warehouse,
                customer.district,
                customer_arguments(customer),
                cents / 100,
                cents % 100
            )
        }
        Input::OrderStatus(customer) => {
            let named = customer_arguments(customer);
            writeln!(text, "EXECUTE os({}, {}, {named});", customer.warehouse, customer.district)
        }
        Input::Delivery(delivery) => {
            writeln!(text, "EXECUTE de({}, {});", delivery.warehouse, delivery.carrier)
        }
        Input::StockLevel(level) => {
            let (warehouse, district) = (level.warehouse, level.district);
            writeln!(text, "EXECUTE sl({warehouse}, {district}, {});", level.threshold)
        }
    };
}

/// The customer's number, or null, and last name, or null.
fn customer_arguments(customer: &CustomerKey) -> String {
    match &customer.by {
        CustomerBy::Id(id) => format!("{id}, NULL"),
        CustomerBy::LastName(name) => {
            format!("NULL, '{}'", String::from_utf8_lossy(name.as_bytes()))
        }
    }
}
