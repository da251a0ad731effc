//! What the terminals of TPC-C type in, and the numbers and texts of its population.
//!
//! # Source
//! TPC Benchmark C, revision 5.11, clauses 2.1.6, 2.4.1 to 2.8.1 and 4.3.2.

use crate::workload::Random;

pub(crate) const DISTRICTS: i64 = 10;

/// Most lines of an order.
pub(crate) const LINES_MAX: usize = 15;

/// Constants of the skewed numbers. Those for last names differ between population and run by what
/// clause 2.1.6.1 allows: 65 to 119, but neither 96 nor 112.
const C_LAST_LOAD: u64 = 100;
const C_LAST_RUN: u64 = 190;
const C_CUSTOMER: u64 = 259;
const C_ITEM: u64 = 7_911;

/// How large a database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    pub(crate) warehouses: i64,
    /// Items, and so rows of stock of each warehouse: 100,000.
    pub(crate) items: i64,
    /// Customers of each district, and orders at first: 3,000.
    pub(crate) customers: i64,
}

impl Scale {
    /// The specification's cardinalities.
    pub(crate) fn full(warehouses: i64) -> Self {
        Self { warehouses, items: 100_000, customers: 3_000 }
    }

    /// How many last names there are.
    fn names(self) -> u64 {
        self.customers.min(1_000) as u64
    }

    /// Returns the number of the last name that a customer of the population has.
    pub(crate) fn name_of(self, customer: i64, random: &mut Random) -> u64 {
        match customer {
            1..=1_000 => customer as u64 - 1,
            _ => skewed(random, 255, C_LAST_LOAD, (0, 999)),
        }
    }
}

/// A number that is far more often one than another (`NURand`).
fn skewed(random: &mut Random, a: u64, c: u64, (min, max): (u64, u64)) -> u64 {
    let either = random.below(a + 1) | random.between(min, max);
    (either + c) % (max - min + 1) + min
}

fn between(random: &mut Random, min: i64, max: i64) -> i64 {
    random.between(min as u64, max as u64) as i64
}

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// A last name: at most 15 letters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastName {
    bytes: [u8; 16],
    length: u8,
}

impl LastName {
    /// Returns the name of a number below 1,000.
    pub(crate) fn of(number: u64) -> Self {
        let mut name = Self { bytes: [0; 16], length: 0 };
        for digit in [number / 100, number / 10, number] {
            for byte in SYLLABLES[(digit % 10) as usize].bytes() {
                name.bytes[usize::from(name.length)] = byte;
                name.length += 1;
            }
        }
        name
    }

    /// Returns the name of these bytes, `None` if they are too many.
    pub(crate) fn from_bytes(name: &[u8]) -> Option<Self> {
        let mut bytes = [0; 16];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(Self { bytes, length: name.len() as u8 })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// How a customer is named.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CustomerBy {
    Id(i64),
    LastName(LastName),
}

/// A customer of a district.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CustomerKey {
    pub(crate) warehouse: i64,
    pub(crate) district: i64,
    pub(crate) by: CustomerBy,
}

/// A line of a new order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    pub(crate) item: i64,
    pub(crate) supplier: i64,
    pub(crate) quantity: i64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct NewOrder {
    pub(crate) warehouse: i64,
    pub(crate) district: i64,
    pub(crate) customer: i64,
    lines: [Line; LINES_MAX],
    count: u8,
    pub(crate) date: i64,
}

impl NewOrder {
    /// Makes an order of at most [`LINES_MAX`] lines; others are left out.
    pub(crate) fn new(
        [warehouse, district, customer, date]: [i64; 4],
        lines: impl Iterator<Item = Line>,
    ) -> Self {
        let (mut all, mut count) = ([Line::default(); LINES_MAX], 0);
        for (slot, line) in all.iter_mut().zip(lines) {
            *slot = line;
            count += 1;
        }
        Self { warehouse, district, customer, lines: all, count, date }
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines[..usize::from(self.count)]
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Payment {
    pub(crate) warehouse: i64,
    pub(crate) district: i64,
    pub(crate) customer: CustomerKey,
    /// In cents.
    pub(crate) amount: i64,
    pub(crate) date: i64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub(crate) warehouse: i64,
    pub(crate) carrier: i64,
    pub(crate) date: i64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StockLevel {
    pub(crate) warehouse: i64,
    pub(crate) district: i64,
    pub(crate) threshold: i64,
}

/// One transaction of the mix.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time, on the stack")]
pub(crate) enum Input {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(CustomerKey),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

/// Types in one transaction after the other.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    random: Random,
    scale: Scale,
    date: i64,
}

impl Terminal {
    /// Makes a terminal whose inputs follow from `seed`.
    pub(crate) fn new(scale: Scale, seed: u64) -> Self {
        Self { random: Random::of_row(TERMINAL, seed), scale, date: FIRST_DATE }
    }

    /// Returns the next transaction: 45 % new orders, 43 % payments, 4 % of each other kind.
    pub(crate) fn next(&mut self) -> Input {
        self.date += 1;
        let warehouse = between(&mut self.random, 1, self.scale.warehouses);
        match self.random.below(100) {
            0..45 => Input::NewOrder(self.new_order(warehouse)),
            45..88 => Input::Payment(self.payment(warehouse)),
            88..92 => {
                let district = self.district();
                Input::OrderStatus(self.customer(warehouse, district))
            }
            92..96 => {
                let carrier = between(&mut self.random, 1, 10);
                Input::Delivery(Delivery { warehouse, carrier, date: self.date })
            }
            _ => {
                let (district, threshold) = (self.district(), between(&mut self.random, 10, 20));
                Input::StockLevel(StockLevel { warehouse, district, threshold })
            }
        }
    }

    fn district(&mut self) -> i64 {
        between(&mut self.random, 1, DISTRICTS)
    }

    fn customer_id(&mut self) -> i64 {
        let last = self.scale.customers as u64;
        skewed(&mut self.random, 1_023, C_CUSTOMER, (1, last)) as i64
    }

    /// Names a customer: 60 % by the last name.
    fn customer(&mut self, warehouse: i64, district: i64) -> CustomerKey {
        let by = match self.random.below(100) {
            0..60 => {
                let last = self.scale.names() - 1;
                let number = skewed(&mut self.random, 255, C_LAST_RUN, (0, last));
                CustomerBy::LastName(LastName::of(number))
            }
            _ => CustomerBy::Id(self.customer_id()),
        };
        CustomerKey { warehouse, district, by }
    }

    /// Returns another warehouse, if there is one.
    fn other_warehouse(&mut self, home: i64) -> i64 {
        match self.scale.warehouses {
            1 => home,
            count => (home - 1 + between(&mut self.random, 1, count - 1)) % count + 1,
        }
    }

    fn new_order(&mut self, warehouse: i64) -> NewOrder {
        let (district, customer) = (self.district(), self.customer_id());
        let count = between(&mut self.random, 5, LINES_MAX as i64) as u8;
        let mut order = NewOrder {
            warehouse,
            district,
            customer,
            lines: [Line::default(); LINES_MAX],
            count,
            date: self.date,
        };
        for line in &mut order.lines[..usize::from(count)] {
            let last = self.scale.items as u64;
            line.item = skewed(&mut self.random, 8_191, C_ITEM, (1, last)) as i64;
            line.supplier = match self.random.below(100) {
                0 => self.other_warehouse(warehouse),
                _ => warehouse,
            };
            line.quantity = between(&mut self.random, 1, 10);
        }
        // One order in a hundred has an item that does not exist and is rolled back.
        if self.random.below(100) == 0 {
            order.lines[usize::from(count) - 1].item = self.scale.items + 1;
        }
        order
    }

    fn payment(&mut self, warehouse: i64) -> Payment {
        let district = self.district();
        let customer = match self.random.below(100) {
            0..85 => self.customer(warehouse, district),
            _ => {
                let (other, district) = (self.other_warehouse(warehouse), self.district());
                self.customer(other, district)
            }
        };
        let amount = between(&mut self.random, 100, 500_000);
        Payment { warehouse, district, customer, amount, date: self.date }
    }
}

/// Seeds of the generators.
const TERMINAL: u64 = 0x7c00;
pub(crate) const POPULATION: u64 = 0x7c10;

/// The moment of the population: 2020-01-01, in microseconds.
pub(crate) const FIRST_DATE: i64 = 1_577_836_800_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_made_of_three_syllables() {
        assert_eq!(LastName::of(0).as_bytes(), b"BARBARBAR");
        assert_eq!(LastName::of(371).as_bytes(), b"PRICALLYOUGHT");
        assert_eq!(LastName::of(999).as_bytes(), b"EINGEINGEING");
        assert!((0..1_000).all(|number| LastName::of(number).as_bytes().len() <= 15));
    }

    #[test]
    fn inputs_are_within_the_scale_and_mixed_as_specified() {
        let scale = Scale { warehouses: 3, items: 50, customers: 20 };
        let mut terminal = Terminal::new(scale, 1);
        let (mut kinds, mut unused, mut remote) = ([0; 5], 0, 0);
        for _ in 0..20_000 {
            let kind = match terminal.next() {
                Input::NewOrder(order) => {
                    assert!((5..=15).contains(&order.lines().len()));
                    assert!((1..=20).contains(&order.customer));
                    unused += order.lines().iter().filter(|line| line.item == 51).count();
                    let far = |line: &&Line| line.supplier != order.warehouse;
                    remote += order.lines().iter().filter(far).count();
                    assert!(order.lines().iter().all(|line| (1..=51).contains(&line.item)));
                    0
                }
                Input::Payment(_) => 1,
                Input::OrderStatus(_) => 2,
                Input::Delivery(_) => 3,
                Input::StockLevel(_) => 4,
            };
            kinds[kind] += 1;
        }
        assert!((8_500..9_500).contains(&kinds[0]) && (8_100..9_100).contains(&kinds[1]));
        assert!(kinds[2..].iter().all(|count| (600..1_000).contains(count)), "{kinds:?}");
        assert!((40..160).contains(&unused) && (600..1_200).contains(&remote));
    }
}
