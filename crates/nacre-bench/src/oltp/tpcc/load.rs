//! The first population of TPC-C.
//!
//! # Source
//! TPC Benchmark C, revision 5.11, clause 4.3.3.

use nacre_store::ValueRef::{Bytes, Int, Null};
use nacre_store::{Result, Store};

use super::input::{DISTRICTS, FIRST_DATE, LastName, POPULATION, Scale};
use super::schema::Tables;
use crate::oltp::table::Loader;
use crate::oltp::work::System;
use crate::workload::Random;

/// Orders of a district of which 3,000 in 10,000 are not delivered: the last 900 of 3,000.
const UNDELIVERED: (i64, i64) = (3, 10);

/// Creates and fills the tables.
pub(crate) fn load(store: &Store, system: &mut impl System, scale: Scale) -> Result<Tables> {
    let tables = Tables::create(store)?;
    let mut population = Population {
        tables: &tables,
        scale,
        loader: Loader::new(system),
        random: Random::of_row(POPULATION, 0),
    };
    population.items()?;
    for warehouse in 1..=scale.warehouses {
        population.warehouse(warehouse)?;
        population.stock(warehouse)?;
        for district in 1..=DISTRICTS {
            population.district(warehouse, district)?;
            population.customers(warehouse, district)?;
            population.orders(warehouse, district)?;
        }
    }
    population.loader.finish()?;
    Ok(tables)
}

struct Population<'a, S: System> {
    tables: &'a Tables,
    scale: Scale,
    loader: Loader<'a, S>,
    random: Random,
}

/// The texts of an address.
struct Address([Vec<u8>; 5]);

impl<S: System> Population<'_, S> {
    fn between(&mut self, min: i64, max: i64) -> i64 {
        self.random.between(min as u64, max as u64) as i64
    }

    /// Letters and digits, from `min` to `max` of them.
    fn text(&mut self, min: u64, max: u64) -> Vec<u8> {
        const LETTERS: &[u8; 62] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let length = self.random.between(min, max);
        (0..length).map(|_| LETTERS[self.random.below(62) as usize]).collect()
    }

    fn digits(&mut self, length: u64) -> Vec<u8> {
        (0..length).map(|_| b'0' + self.random.below(10) as u8).collect()
    }

    /// A text of 26 to 50 letters; a tenth of them contain a word that tells original goods.
    fn data(&mut self) -> Vec<u8> {
        let mut data = self.text(26, 50);
        if self.random.below(10) == 0 {
            let at = self.random.below(data.len() as u64 - 7) as usize;
            data[at..at + 8].copy_from_slice(b"ORIGINAL");
        }
        data
    }

    fn address(&mut self) -> Address {
        let mut zip = self.digits(4);
        zip.extend_from_slice(b"11111");
        let state = self.text(2, 2);
        Address([self.text(10, 20), self.text(10, 20), self.text(10, 20), state, zip])
    }

    fn items(&mut self) -> Result<()> {
        for item in 1..=self.scale.items {
            let (image, price) = (self.between(1, 10_000), self.between(100, 10_000));
            let (name, data) = (self.text(14, 24), self.data());
            let values = [Int(item), Int(image), Bytes(&name), Int(price), Bytes(&data)];
            self.loader.insert(&self.tables.item.table, &values)?;
        }
        Ok(())
    }

    fn warehouse(&mut self, warehouse: i64) -> Result<()> {
        let (name, Address(address)) = (self.text(6, 10), self.address());
        let tax = self.between(0, 2_000);
        let mut values = vec![Int(warehouse), Bytes(&name)];
        values.extend(address.iter().map(|text| Bytes(text)));
        values.extend([Int(tax), Int(30_000_000)]);
        self.loader.insert(&self.tables.warehouse.table, &values)
    }

    fn stock(&mut self, warehouse: i64) -> Result<()> {
        for item in 1..=self.scale.items {
            let quantity = self.between(10, 100);
            let districts: [Vec<u8>; 10] = std::array::from_fn(|_| self.text(24, 24));
            let data = self.data();
            let mut values = vec![Int(warehouse), Int(item), Int(quantity)];
            values.extend(districts.iter().map(|text| Bytes(text)));
            values.extend([Int(0), Int(0), Int(0), Bytes(&data)]);
            self.loader.insert(&self.tables.stock.table, &values)?;
        }
        Ok(())
    }

    fn district(&mut self, warehouse: i64, district: i64) -> Result<()> {
        let (name, Address(address)) = (self.text(6, 10), self.address());
        let tax = self.between(0, 2_000);
        let mut values = vec![Int(warehouse), Int(district), Bytes(&name)];
        values.extend(address.iter().map(|text| Bytes(text)));
        // The sum of the districts is that of the warehouse.
        values.extend([Int(tax), Int(3_000_000), Int(self.scale.customers + 1)]);
        self.loader.insert(&self.tables.district.table, &values)
    }

    fn customers(&mut self, warehouse: i64, district: i64) -> Result<()> {
        for customer in 1..=self.scale.customers {
            let name = LastName::of(self.scale.name_of(customer, &mut self.random));
            let (first, Address(address)) = (self.text(8, 16), self.address());
            let (phone, data) = (self.digits(16), self.text(300, 500));
            let credit: &[u8] = if self.random.below(10) == 0 { b"BC" } else { b"GC" };
            let discount = self.between(0, 5_000);
            let (w, d, c) = (Int(warehouse), Int(district), Int(customer));
            let last = Bytes(name.as_bytes());
            let mut values = vec![w, d, c, Bytes(&first), Bytes(b"OE"), last];
            values.extend(address.iter().map(|text| Bytes(text)));
            values.extend([
                Bytes(&phone),
                Int(FIRST_DATE),
                Bytes(credit),
                Int(5_000_000),
                Int(discount),
                Int(-1_000),
                Int(1_000),
                Int(1),
                Int(0),
                Bytes(&data),
            ]);
            self.loader.insert(&self.tables.customer.table, &values)?;
            let text = self.text(12, 24);
            let history = [c, d, w, d, w, Int(FIRST_DATE), Int(1_000), Bytes(&text)];
            self.loader.insert(&self.tables.history, &history)?;
        }
        Ok(())
    }

    fn orders(&mut self, warehouse: i64, district: i64) -> Result<()> {
        let count = self.scale.customers;
        let mut customers: Vec<i64> = (1..=count).collect();
        for at in (1..customers.len()).rev() {
            customers.swap(at, self.random.below(at as u64 + 1) as usize);
        }
        let first_new = count - count * UNDELIVERED.0 / UNDELIVERED.1 + 1;
        for (order, customer) in (1..=count).zip(customers) {
            let (w, d, o) = (Int(warehouse), Int(district), Int(order));
            let (lines, is_new) = (self.between(5, 15), order >= first_new);
            let carrier = if is_new { Null } else { Int(self.between(1, 10)) };
            let date = Int(FIRST_DATE);
            let values = [w, d, o, Int(customer), date, carrier, Int(lines), Int(1)];
            self.loader.insert(&self.tables.orders.table, &values)?;
            if is_new {
                self.loader.insert(&self.tables.new_order.table, &[w, d, o])?;
            }
            for number in 1..=lines {
                let item = self.between(1, self.scale.items);
                let amount = if is_new { self.between(1, 999_999) } else { 0 };
                let delivered = if is_new { Null } else { date };
                let text = self.text(24, 24);
                let values = [
                    w,
                    d,
                    o,
                    Int(number),
                    Int(item),
                    w,
                    delivered,
                    Int(5),
                    Int(amount),
                    Bytes(&text),
                ];
                self.loader.insert(&self.tables.order_line.table, &values)?;
            }
        }
        Ok(())
    }
}
