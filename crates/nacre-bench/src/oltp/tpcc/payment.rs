//! Payment: a customer pays, at a warehouse and one of its districts.
//!
//! # Source
//! TPC Benchmark C, revision 5.11, clause 2.5.2.

use std::ops::{Bound, ControlFlow};

use nacre_store::ValueRef::{Bytes, Int};
use nacre_store::index::Direction;
use nacre_store::{Result, RowId};

use super::input::{CustomerBy, CustomerKey, Payment};
use super::schema::{Tables, customer, district, warehouse};
use crate::oltp::table::{bytes, int};
use crate::oltp::work::Work;

/// Most bytes of what is kept of a customer with bad credit.
const DATA_BYTES_MAX: usize = 500;

/// Most bytes of the names of a warehouse and a district with what stands between them.
const PLACE_BYTES_MAX: usize = 24;

/// What a payment changes of its customer.
struct Payer {
    row: RowId,
    id: i64,
    balance: i64,
    ytd: i64,
    payments: i64,
    has_bad_credit: bool,
}

/// Runs the transaction and returns the customer's new balance.
pub(crate) async fn run<W: Work>(
    work: &mut W,
    tables: &Tables,
    input: &Payment,
) -> Result<Option<i64>> {
    let (w, d) = (Int(input.warehouse), Int(input.district));
    let mut place = Vec::with_capacity(PLACE_BYTES_MAX);
    let mut found = None;
    let columns = [
        warehouse::YTD,
        warehouse::NAME,
        warehouse::STREET_1,
        warehouse::STREET_1 + 1,
        warehouse::CITY,
        warehouse::STATE,
        warehouse::ZIP,
    ];
    work.lookup(&tables.warehouse, &[w], &columns, |row, values| {
        found = Some((row, int(values[0])));
        place.extend_from_slice(bytes(values[1]));
    })?;
    let Some((row, ytd)) = found.take() else {
        return Ok(None);
    };
    work.update(&tables.warehouse, row, &[(warehouse::YTD, Int(ytd + input.amount))])?;
    work.step().await;
    let columns = [
        district::YTD,
        district::NAME,
        district::STREET_1,
        district::STREET_1 + 1,
        district::CITY,
        district::STATE,
        district::ZIP,
    ];
    work.lookup(&tables.district, &[w, d], &columns, |row, values| {
        found = Some((row, int(values[0])));
        place.extend_from_slice(b"    ");
        place.extend_from_slice(bytes(values[1]));
    })?;
    let Some((row, ytd)) = found else {
        return Ok(None);
    };
    work.update(&tables.district, row, &[(district::YTD, Int(ytd + input.amount))])?;
    work.step().await;
    let Some(id) = customer_id(work, tables, &input.customer)? else {
        return Ok(None);
    };
    work.step().await;
    let Some(balance) = pay(work, tables, input, id)? else {
        return Ok(None);
    };
    work.step().await;
    let at = &input.customer;
    let (customer_warehouse, customer_district) = (Int(at.warehouse), Int(at.district));
    let (date, amount, place) = (Int(input.date), Int(input.amount), Bytes(&place));
    let history = [Int(id), customer_district, customer_warehouse, d, w, date, amount, place];
    work.insert(&tables.history, &history)?;
    Ok(Some(balance))
}

/// Reads and updates the customer.
fn pay<W: Work>(work: &mut W, tables: &Tables, input: &Payment, id: i64) -> Result<Option<i64>> {
    let mut found = None;
    let columns = [
        customer::BALANCE,
        customer::YTD_PAYMENT,
        customer::PAYMENT_CNT,
        customer::CREDIT,
        customer::FIRST,
        customer::MIDDLE,
        customer::LAST,
        customer::STREET_1,
        customer::STREET_1 + 1,
        customer::CITY,
        customer::STATE,
        customer::ZIP,
        customer::PHONE,
        customer::SINCE,
        customer::CREDIT_LIM,
        customer::DISCOUNT,
    ];
    let key = [Int(input.customer.warehouse), Int(input.customer.district), Int(id)];
    work.lookup(&tables.customer, &key, &columns, |row, values| {
        let [balance, ytd, payments] = [0, 1, 2].map(|at| int(values[at]));
        let has_bad_credit = bytes(values[3]) == b"BC";
        found = Some(Payer { row, id, balance, ytd, payments, has_bad_credit });
        std::hint::black_box(values);
    })?;
    let Some(payer) = found else {
        return Ok(None);
    };
    let balance = payer.balance - input.amount;
    let changes = [
        (customer::BALANCE, Int(balance)),
        (customer::YTD_PAYMENT, Int(payer.ytd + input.amount)),
        (customer::PAYMENT_CNT, Int(payer.payments + 1)),
    ];
    if !payer.has_bad_credit {
        work.update(&tables.customer, payer.row, &changes)?;
        return Ok(Some(balance));
    }
    let at = &input.customer;
    let mut data = format!(
        "{} {} {} {} {} {} | ",
        payer.id, at.district, at.warehouse, input.district, input.warehouse, input.amount
    )
    .into_bytes();
    work.lookup(&tables.customer, &key, &[customer::DATA], |_, values| {
        data.extend_from_slice(bytes(values[0]));
    })?;
    data.truncate(DATA_BYTES_MAX);
    let [a, b, c] = changes;
    work.update(&tables.customer, payer.row, &[a, b, c, (customer::DATA, Bytes(&data))])?;
    Ok(Some(balance))
}

/// Returns the number of a customer; of several with the same last name the middle one by first
/// name.
pub(crate) fn customer_id<W: Work>(
    work: &mut W,
    tables: &Tables,
    key: &CustomerKey,
) -> Result<Option<i64>> {
    let name = match &key.by {
        CustomerBy::Id(id) => return Ok(Some(*id)),
        CustomerBy::LastName(name) => name,
    };
    let values = [Int(key.warehouse), Int(key.district), Bytes(name.as_bytes())];
    let bounds = (Bound::Included(&values[..]), Bound::Included(&values[..]));
    let mut ids = Vec::new();
    work.range(&tables.customer_name, bounds, Direction::Ascending, &[2], |_, values| {
        ids.push(int(values[0]));
        ControlFlow::Continue(())
    })?;
    Ok(ids.get(ids.len().saturating_sub(1) / 2).copied())
}
