//! The data of SSB.
//!
//! Every row has a random generator of its own, seeded by its number, so that the rows are the same
//! however a table is cut into parts. Orders, not lines, are what `lineorder` is cut by: the lines
//! of an order share its date and its total price.
//!
//! # Source
//! SSB revision 3, section 2; where it refers to TPC-H, TPC-H 3.0.1, section 4.2.3: sparse order
//! keys, prices of parts, a third of the customers without orders, dates of orders that end 151
//! days before the last day, commitment 30 to 90 days later.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;

use tpchgen::distribution::{Distribution, Distributions};

use super::calendar::DAYS;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::ssb::TABLES;
use crate::workload::{CsvFile, Cut, Generation, Part, Random, Table};

/// Smallest scale factor: 2 suppliers.
const SCALE_FACTOR_MIN: f64 = 0.001;

/// Largest scale factor: all keys but those of orders still fit `integer`.
const SCALE_FACTOR_MAX: f64 = 1_000.0;

/// Customers whose key is a multiple of this have no orders.
const CUSTOMERS_WITHOUT_ORDERS: u64 = 3;

/// Most lines of an order.
const LINES_MAX: u64 = 7;

/// Nations by key, each with its region.
const NATIONS: [(&str, &str); 25] = [
    ("ALGERIA", "AFRICA"),
    ("ARGENTINA", "AMERICA"),
    ("BRAZIL", "AMERICA"),
    ("CANADA", "AMERICA"),
    ("EGYPT", "MIDDLE EAST"),
    ("ETHIOPIA", "AFRICA"),
    ("FRANCE", "EUROPE"),
    ("GERMANY", "EUROPE"),
    ("INDIA", "ASIA"),
    ("INDONESIA", "ASIA"),
    ("IRAN", "MIDDLE EAST"),
    ("IRAQ", "MIDDLE EAST"),
    ("JAPAN", "ASIA"),
    ("JORDAN", "MIDDLE EAST"),
    ("KENYA", "AFRICA"),
    ("MOROCCO", "AFRICA"),
    ("MOZAMBIQUE", "AFRICA"),
    ("PERU", "AMERICA"),
    ("CHINA", "ASIA"),
    ("ROMANIA", "EUROPE"),
    ("SAUDI ARABIA", "MIDDLE EAST"),
    ("VIETNAM", "ASIA"),
    ("RUSSIA", "EUROPE"),
    ("UNITED KINGDOM", "EUROPE"),
    ("UNITED STATES", "AMERICA"),
];

/// Numbers of rows at a scale factor.
#[derive(Clone, Copy, Debug)]
struct Counts {
    orders: u64,
    customers: u64,
    parts: u64,
    suppliers: u64,
}

/// What the lines of an order share.
#[derive(Clone, Copy, Debug)]
struct Order {
    key: u64,
    customer: u64,
    date: u32,
    priority: &'static str,
    total_price: u64,
}

/// One row of `lineorder`.
#[derive(Clone, Copy, Debug)]
struct Line {
    order: Order,
    number: u64,
    part: u64,
    supplier: u64,
    quantity: u64,
    discount: u64,
    tax: u64,
    commit_date: u32,
    ship_mode: &'static str,
}

/// Rejects scale factors for which there are no data with sound keys.
pub fn check_scale_factor(scale_factor: f64) -> Result<()> {
    if (SCALE_FACTOR_MIN..=SCALE_FACTOR_MAX).contains(&scale_factor) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "scale factor {scale_factor} is out of range: give one from {SCALE_FACTOR_MIN} to \
         {SCALE_FACTOR_MAX}"
    )))
}

/// Writes the five tables into a directory, as `lineorder.csv` and so on, in the order of
/// [`TABLES`].
///
/// # Errors
/// [`Error::Usage`] for a scale factor out of range, [`Error::Io`] if a file cannot be written; a
/// full disk is told apart by the source's kind.
pub fn generate(scale_factor: f64, directory: &Path, threads: usize) -> Result<Vec<CsvFile>> {
    generate_until(scale_factor, directory, threads, &Interrupt::default())
}

/// Like [`generate`], but stops soon after a signal.
pub(crate) fn generate_until(
    scale_factor: f64,
    directory: &Path,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Vec<CsvFile>> {
    check_scale_factor(scale_factor)?;
    let counts = Counts::at(scale_factor);
    let generation = Generation { scale_factor, directory, threads, interrupt };
    let write = |table| generation.write(table, |table, cut| part(table, counts, cut));
    TABLES.iter().map(write).collect()
}

impl Counts {
    fn at(scale_factor: f64) -> Self {
        let scaled = |count: f64| ((count * scale_factor).round() as u64).max(1);
        let parts = match scale_factor >= 1.0 {
            true => 200_000 * (1 + scale_factor.log2().floor() as u64),
            false => scaled(200_000.0),
        };
        Self {
            orders: scaled(1_500_000.0),
            customers: scaled(30_000.0),
            parts,
            suppliers: scaled(2_000.0),
        }
    }
}

/// Formats one part of a table.
fn part(table: &Table, counts: Counts, cut: Cut) -> io::Result<Part> {
    // Rows other than orders are numbered from 1, and the number is the key.
    let keys = |total: u64| cut.range(total).map(|row| row + 1);
    match table.name {
        "dates" => Part::format(DAYS.iter()),
        "supplier" => Part::format(keys(counts.suppliers).map(supplier)),
        "customer" => Part::format(keys(counts.customers).map(customer)),
        "part" => Part::format(keys(counts.parts).map(part_row)),
        "lineorder" => Part::format(cut.range(counts.orders).flat_map(|row| lines(row, counts))),
        name => Err(io::Error::other(format!("SSB has no table {name}"))),
    }
}

fn supplier(key: u64) -> impl Display {
    fmt::from_fn(move |f| {
        let place = place(&mut Random::of_row(1, key));
        write!(f, "{key},Supplier#{key:09},{place}")
    })
}

fn customer(key: u64) -> impl Display {
    fmt::from_fn(move |f| {
        let mut random = Random::of_row(2, key);
        let segment = pick(Distributions::static_default().market_segments(), &mut random);
        write!(f, "{key},Customer#{key:09},{},{segment}", place(&mut random))
    })
}

/// Address, city, nation, region and telephone number.
fn place(random: &mut Random) -> impl Display + use<> {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ";
    let length = random.between(10, 25);
    let address: String = (0..length).map(|_| char::from(*random.one_of(LETTERS))).collect();
    let nation_key = random.below(NATIONS.len() as u64);
    let (nation, region) = NATIONS[nation_key as usize];
    let city = random.below(10);
    let mut number = |digits: u32| random.between(10_u64.pow(digits - 1), 10_u64.pow(digits) - 1);
    let phone = format!("{}-{}-{}-{}", 10 + nation_key, number(3), number(3), number(4));
    // Cities are the first nine characters of the nation, filled up by blanks, and a digit.
    fmt::from_fn(move |f| {
        write!(f, "\"{address}\",\"{nation:<9.9}{city}\",{nation},{region},{phone}")
    })
}

fn part_row(key: u64) -> impl Display {
    fmt::from_fn(move |f| {
        let mut random = Random::of_row(3, key);
        let words = Distributions::static_default();
        let colors = words.part_colors();
        let name = [pick(colors, &mut random), pick(colors, &mut random)];
        let color = pick(colors, &mut random);
        let (maker, category) = (random.between(1, 5), random.between(1, 5));
        let brand = random.between(1, 40);
        let kind = pick(words.part_types(), &mut random);
        let size = random.between(1, 50);
        let container = pick(words.part_containers(), &mut random);
        write!(
            f,
            "{key},{} {},MFGR#{maker},MFGR#{maker}{category},MFGR#{maker}{category}{brand},{color},\
             {kind},{size},{container}",
            name[0], name[1]
        )
    })
}

fn pick(words: &'static Distribution, random: &mut Random) -> &'static str {
    let word: &&str = random.one_of(words.get_values());
    word
}

/// Price of a part in cents.
fn price(part: u64) -> u64 {
    90_000 + (part / 10) % 20_001 + 100 * (part % 1_000)
}

/// The lines of order `row`, from 0.
fn lines(row: u64, counts: Counts) -> impl Iterator<Item = Line> {
    const ORDER_DAYS_BEFORE_END: u64 = 151;
    let words = Distributions::static_default();
    let mut random = Random::of_row(4, row);
    let number = row + 1;
    let day = random.below(DAYS.len() as u64 - ORDER_DAYS_BEFORE_END);
    let mut order = Order {
        // Of 32 keys the first 8 are used.
        key: ((number >> 3) << 5) | (number & 7),
        customer: customer_with_orders(&mut random, counts.customers),
        date: DAYS[day as usize].key(),
        priority: pick(words.order_priority(), &mut random),
        total_price: 0,
    };
    let count = random.between(1, LINES_MAX);
    let mut lines: Vec<Line> = (1..=count)
        .map(|number| Line {
            order,
            number,
            part: random.between(1, counts.parts),
            supplier: random.between(1, counts.suppliers),
            quantity: random.between(1, 50),
            discount: random.below(11),
            tax: random.below(9),
            commit_date: DAYS[(day + random.between(30, 90)) as usize].key(),
            ship_mode: pick(words.ship_modes(), &mut random),
        })
        .collect();
    order.total_price = lines.iter().map(|line| line.revenue() * (100 + line.tax) / 100).sum();
    for line in &mut lines {
        line.order = order;
    }
    lines.into_iter()
}

fn customer_with_orders(random: &mut Random, customers: u64) -> u64 {
    let key = random.between(1, customers);
    match key.is_multiple_of(CUSTOMERS_WITHOUT_ORDERS) {
        // The neighbour below: it is there, and no multiple.
        true => key - 1,
        false => key,
    }
}

impl Line {
    /// Price of the line before the discount, in cents.
    fn extended_price(&self) -> u64 {
        price(self.part) * self.quantity
    }

    fn revenue(&self) -> u64 {
        self.extended_price() * (100 - self.discount) / 100
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = &self.order;
        write!(
            f,
            "{},{},{},{},{},{},{},0,{},{},{},{},{},{},{},{},{}",
            order.key,
            self.number,
            order.customer,
            self.part,
            self.supplier,
            order.date,
            order.priority,
            self.quantity,
            self.extended_price(),
            order.total_price,
            self.discount,
            self.revenue(),
            price(self.part) * 6 / 10,
            self.tax,
            self.commit_date,
            self.ship_mode,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::part_count;

    fn all_lines(scale_factor: f64) -> Vec<Line> {
        let counts = Counts::at(scale_factor);
        (0..counts.orders).flat_map(|row| lines(row, counts)).collect()
    }

    #[test]
    fn files_hold_header_and_rows_as_reported_whatever_the_number_of_threads() {
        let scale_factor = 0.03;
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = generate(scale_factor, one.path(), 1).unwrap();
        let second = generate(scale_factor, two.path(), 3).unwrap();
        assert!(part_count(&TABLES[4], scale_factor) > 1);
        for ((first, second), table) in first.iter().zip(&second).zip(&TABLES) {
            let text = std::fs::read_to_string(&first.path).unwrap();
            assert!(text == std::fs::read_to_string(&second.path).unwrap());
            assert_eq!(text.len() as u64, first.bytes);
            assert_eq!(text.lines().count() as u64, first.rows + 1);
            let names: Vec<_> = table.columns.iter().map(|column| column.name).collect();
            assert_eq!(text.lines().next().unwrap(), names.join(","));
        }
        let rows: Vec<u64> = first.iter().map(|file| file.rows).collect();
        assert_eq!(rows[..4], [2_557, 60, 900, 6_000]);
        assert!((178_000..182_000).contains(&rows[4]), "{}", rows[4]);
    }

    #[test]
    fn tables_grow_as_the_benchmark_says() {
        let counts = Counts::at(4.0);
        let parts = [1.0, 2.0, 3.9, 4.0, 16.0].map(|factor| Counts::at(factor).parts);
        assert_eq!(parts, [200_000, 400_000, 400_000, 600_000, 1_000_000]);
        assert_eq!(
            (counts.orders, counts.customers, counts.suppliers),
            (6_000_000, 120_000, 8_000)
        );
    }

    #[test]
    fn references_and_values_are_in_their_ranges() {
        let counts = Counts::at(0.01);
        let keys: std::collections::HashSet<u32> = DAYS.iter().map(|day| day.key()).collect();
        let mut lines = all_lines(0.01);
        for line in &lines {
            assert!((1..=counts.parts).contains(&line.part));
            assert!((1..=counts.suppliers).contains(&line.supplier));
            assert!((1..=counts.customers).contains(&line.order.customer));
            assert!(!line.order.customer.is_multiple_of(CUSTOMERS_WITHOUT_ORDERS));
            assert!(keys.contains(&line.order.date) && keys.contains(&line.commit_date));
            assert!(line.order.date <= 19_980_802 && line.order.date < line.commit_date);
            assert!(line.order.total_price < i32::MAX as u64);
        }
        let count = lines.len();
        lines.dedup_by_key(|line| (line.order.key, line.number));
        assert_eq!(lines.len(), count);
    }

    #[test]
    fn first_flight_selects_the_shares_that_the_benchmark_states() {
        let lines = all_lines(0.05);
        let share = |selects: &dyn Fn(&Line) -> bool| {
            lines.iter().filter(|line| selects(line)).count() as f64 / lines.len() as f64
        };
        let first = share(&|line| {
            line.order.date / 10_000 == 1993
                && (1..=3).contains(&line.discount)
                && line.quantity < 25
        });
        // One of about 6.6 years, 3 of 11 discounts, 24 of 50 quantities.
        let expected = (365.0 / 2_406.0) * (3.0 / 11.0) * (24.0 / 50.0);
        assert!((first / expected - 1.0).abs() < 0.05, "{first} {expected}");
    }

    #[test]
    fn cities_are_cut_and_filled_to_nine_characters() {
        let cities: Vec<String> = (1..2_000)
            .map(|key| customer(key).to_string().split('"').nth(3).unwrap_or_default().to_owned())
            .collect();
        assert!(cities.iter().all(|city| city.len() == 10));
        for city in ["UNITED KI1", "UNITED KI5", "PERU     0"] {
            assert!(cities.iter().any(|one| one == city), "{city}");
        }
    }

    #[test]
    fn scale_factors_without_data_are_refused() {
        for scale_factor in [0.0, -1.0, 0.0001, 1_001.0, f64::NAN] {
            assert!(matches!(check_scale_factor(scale_factor), Err(Error::Usage(_))));
        }
        for scale_factor in [0.001, 0.5, 1.0, 1_000.0] {
            check_scale_factor(scale_factor).unwrap();
        }
    }
}
