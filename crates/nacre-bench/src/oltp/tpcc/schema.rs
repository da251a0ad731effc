//! The nine tables of TPC-C and its two secondary indexes.
//!
//! Columns come in the specification's order but for keys, which come first. Money is decimal.
//!
//! # Source
//! TPC Benchmark C, revision 5.11, clause 1.3.

use std::sync::Arc;

use nacre_column::ColumnType::{self, BigInt, Char, Decimal, Integer, SmallInt, Timestamp};
use nacre_store::{ColumnDef, Result, Store, Table};

use crate::oltp::table::{Indexed, column, create, nullable};

pub(crate) mod warehouse {
    pub(crate) const NAME: usize = 1;
    pub(crate) const STREET_1: usize = 2;
    pub(crate) const CITY: usize = 4;
    pub(crate) const STATE: usize = 5;
    pub(crate) const ZIP: usize = 6;
    pub(crate) const TAX: usize = 7;
    pub(crate) const YTD: usize = 8;
}

pub(crate) mod district {
    pub(crate) const NAME: usize = 2;
    pub(crate) const STREET_1: usize = 3;
    pub(crate) const CITY: usize = 5;
    pub(crate) const STATE: usize = 6;
    pub(crate) const ZIP: usize = 7;
    pub(crate) const TAX: usize = 8;
    pub(crate) const YTD: usize = 9;
    pub(crate) const NEXT_O_ID: usize = 10;
}

pub(crate) mod customer {
    pub(crate) const FIRST: usize = 3;
    pub(crate) const MIDDLE: usize = 4;
    pub(crate) const LAST: usize = 5;
    pub(crate) const STREET_1: usize = 6;
    pub(crate) const CITY: usize = 8;
    pub(crate) const STATE: usize = 9;
    pub(crate) const ZIP: usize = 10;
    pub(crate) const PHONE: usize = 11;
    pub(crate) const SINCE: usize = 12;
    pub(crate) const CREDIT: usize = 13;
    pub(crate) const CREDIT_LIM: usize = 14;
    pub(crate) const DISCOUNT: usize = 15;
    pub(crate) const BALANCE: usize = 16;
    pub(crate) const YTD_PAYMENT: usize = 17;
    pub(crate) const PAYMENT_CNT: usize = 18;
    pub(crate) const DELIVERY_CNT: usize = 19;
    pub(crate) const DATA: usize = 20;
}

pub(crate) mod orders {
    pub(crate) const C_ID: usize = 3;
    pub(crate) const ENTRY_D: usize = 4;
    pub(crate) const CARRIER_ID: usize = 5;
    pub(crate) const OL_CNT: usize = 6;
}

pub(crate) mod order_line {
    pub(crate) const I_ID: usize = 4;
    pub(crate) const SUPPLY_W_ID: usize = 5;
    pub(crate) const DELIVERY_D: usize = 6;
    pub(crate) const QUANTITY: usize = 7;
    pub(crate) const AMOUNT: usize = 8;
}

pub(crate) mod item {
    pub(crate) const NAME: usize = 2;
    pub(crate) const PRICE: usize = 3;
    pub(crate) const DATA: usize = 4;
}

pub(crate) mod stock {
    pub(crate) const QUANTITY: usize = 2;
    /// Of the first district; those of the others follow.
    pub(crate) const DIST_01: usize = 3;
    pub(crate) const YTD: usize = 13;
    pub(crate) const ORDER_CNT: usize = 14;
    pub(crate) const REMOTE_CNT: usize = 15;
    pub(crate) const DATA: usize = 16;
}

/// The tables of one database.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) warehouse: Indexed,
    pub(crate) district: Indexed,
    pub(crate) customer: Indexed,
    /// Customers by warehouse, district, last name and first name.
    pub(crate) customer_name: Indexed,
    pub(crate) history: Arc<Table>,
    pub(crate) new_order: Indexed,
    pub(crate) orders: Indexed,
    /// Orders by warehouse, district, customer and number.
    pub(crate) customer_order: Indexed,
    pub(crate) order_line: Indexed,
    pub(crate) item: Indexed,
    pub(crate) stock: Indexed,
}

const MONEY: ColumnType = Decimal { precision: 12, scale: 2 };
const RATE: ColumnType = Decimal { precision: 4, scale: 4 };

const fn text(chars: u32) -> ColumnType {
    ColumnType::Varchar { max_chars: Some(chars) }
}

const fn fixed(chars: u32) -> ColumnType {
    Char { chars }
}

impl Tables {
    pub(crate) fn create(store: &Store) -> Result<Self> {
        let own = |name: &str, columns: Vec<ColumnDef>, key: usize| {
            Indexed::create(store, name, columns, key)
        };
        let customer = own("customer", customer_columns(), 3)?;
        let orders = own("orders", orders_columns(), 3)?;
        Ok(Self {
            warehouse: own("warehouse", warehouse_columns(), 1)?,
            district: own("district", district_columns(), 2)?,
            customer_name: customer.by(store, "customer_name", &[0, 1, 5, 3])?,
            customer,
            history: create(store, "history", history_columns())?,
            new_order: own("new_order", order_key("no"), 3)?,
            customer_order: orders.by(store, "customer_order", &[0, 1, 3, 2])?,
            orders,
            order_line: own("order_line", order_line_columns(), 4)?,
            item: own("item", item_columns(), 1)?,
            stock: own("stock", stock_columns(), 2)?,
        })
    }

    /// Finds the tables of a database that has them.
    ///
    /// # Errors
    /// Those of `table`, which returns the table of a name.
    pub(crate) fn find(table: impl Fn(&str) -> Result<Arc<Table>>) -> Result<Self> {
        let own = |name: &str| Indexed::of(table(name)?);
        let (customer, orders) = (own("customer")?, own("orders")?);
        Ok(Self {
            warehouse: own("warehouse")?,
            district: own("district")?,
            customer_name: customer.with("customer_name")?,
            customer,
            history: table("history")?,
            new_order: own("new_order")?,
            customer_order: orders.with("customer_order")?,
            orders,
            order_line: own("order_line")?,
            item: own("item")?,
            stock: own("stock")?,
        })
    }
}

/// Street, street, city, state and postal code.
fn address(prefix: &str) -> [ColumnDef; 5] {
    [
        ("street_1", text(20)),
        ("street_2", text(20)),
        ("city", text(20)),
        ("state", fixed(2)),
        ("zip", fixed(9)),
    ]
    .map(|(name, column_type)| column(&format!("{prefix}_{name}"), column_type))
}

fn warehouse_columns() -> Vec<ColumnDef> {
    let mut columns = vec![column("w_id", SmallInt), column("w_name", text(10))];
    columns.extend(address("w"));
    columns.extend([column("w_tax", RATE), column("w_ytd", MONEY)]);
    columns
}

fn district_columns() -> Vec<ColumnDef> {
    let mut columns =
        vec![column("d_w_id", SmallInt), column("d_id", SmallInt), column("d_name", text(10))];
    columns.extend(address("d"));
    columns.extend([column("d_tax", RATE), column("d_ytd", MONEY), column("d_next_o_id", Integer)]);
    columns
}

fn customer_columns() -> Vec<ColumnDef> {
    let mut columns = vec![
        column("c_w_id", SmallInt),
        column("c_d_id", SmallInt),
        column("c_id", Integer),
        column("c_first", text(16)),
        column("c_middle", fixed(2)),
        column("c_last", text(16)),
    ];
    columns.extend(address("c"));
    columns.extend([
        column("c_phone", fixed(16)),
        column("c_since", Timestamp),
        column("c_credit", fixed(2)),
        column("c_credit_lim", MONEY),
        column("c_discount", RATE),
        column("c_balance", MONEY),
        column("c_ytd_payment", MONEY),
        column("c_payment_cnt", SmallInt),
        column("c_delivery_cnt", SmallInt),
        column("c_data", text(500)),
    ]);
    columns
}

fn history_columns() -> Vec<ColumnDef> {
    vec![
        column("h_c_id", Integer),
        column("h_c_d_id", SmallInt),
        column("h_c_w_id", SmallInt),
        column("h_d_id", SmallInt),
        column("h_w_id", SmallInt),
        column("h_date", Timestamp),
        column("h_amount", MONEY),
        column("h_data", text(24)),
    ]
}

/// The columns that name an order.
fn order_key(prefix: &str) -> Vec<ColumnDef> {
    vec![
        column(&format!("{prefix}_w_id"), SmallInt),
        column(&format!("{prefix}_d_id"), SmallInt),
        column(&format!("{prefix}_o_id"), Integer),
    ]
}

fn orders_columns() -> Vec<ColumnDef> {
    let mut columns = order_key("o");
    columns[2].name = "o_id".into();
    columns.extend([
        column("o_c_id", Integer),
        column("o_entry_d", Timestamp),
        nullable("o_carrier_id", SmallInt),
        column("o_ol_cnt", SmallInt),
        column("o_all_local", SmallInt),
    ]);
    columns
}

fn order_line_columns() -> Vec<ColumnDef> {
    let mut columns = order_key("ol");
    columns.extend([
        column("ol_number", SmallInt),
        column("ol_i_id", Integer),
        column("ol_supply_w_id", SmallInt),
        nullable("ol_delivery_d", Timestamp),
        column("ol_quantity", SmallInt),
        column("ol_amount", Decimal { precision: 6, scale: 2 }),
        column("ol_dist_info", fixed(24)),
    ]);
    columns
}

fn item_columns() -> Vec<ColumnDef> {
    vec![
        column("i_id", Integer),
        column("i_im_id", Integer),
        column("i_name", text(24)),
        column("i_price", Decimal { precision: 5, scale: 2 }),
        column("i_data", text(50)),
    ]
}

fn stock_columns() -> Vec<ColumnDef> {
    let mut columns =
        vec![column("s_w_id", SmallInt), column("s_i_id", Integer), column("s_quantity", SmallInt)];
    columns.extend((1..=10).map(|number| column(&format!("s_dist_{number:02}"), fixed(24))));
    columns.extend([
        column("s_ytd", BigInt),
        column("s_order_cnt", Integer),
        column("s_remote_cnt", Integer),
        column("s_data", text(50)),
    ]);
    columns
}
