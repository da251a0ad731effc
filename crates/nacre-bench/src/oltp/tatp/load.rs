//! The tables of TATP and their first population.
//!
//! # Source
//! TATP Benchmark Description, version 1.0, section 2.

use nacre_column::ColumnType::{self, Boolean, Char, Integer, SmallInt, Varchar};
use nacre_store::ValueRef::{Bytes, Int};
use nacre_store::{ColumnDef, Result, Store};

use crate::oltp::table::{Indexed, Loader, column};
use crate::oltp::work::System;
use crate::workload::Random;

/// Seeds of the generators.
const POPULATION: u64 = 0x7a00;
pub(super) const CLIENT: u64 = 0x7a01;

/// Digits of a subscriber's number.
const NUMBER_DIGITS: usize = 15;

/// Where call forwarding can begin: at 0, 8 or 16 o'clock.
pub(super) const START_TIMES: [i64; 3] = [0, 8, 16];

/// Columns of `subscriber`.
pub(super) const BIT_1: usize = 2;
pub(super) const VLR_LOCATION: usize = 33;
pub(super) const SUBSCRIBER_COLUMNS: usize = 34;

/// The tables of one database.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(super) subscriber: Indexed,
    /// Number, subscriber.
    pub(super) subscriber_number: Indexed,
    /// Subscriber, type.
    pub(super) access_info: Indexed,
    pub(super) special_facility: Indexed,
    /// Subscriber, type, start.
    pub(super) call_forwarding: Indexed,
}

const fn fixed(chars: u32) -> ColumnType {
    Char { chars }
}

const NUMBER: ColumnType = Varchar { max_chars: Some(NUMBER_DIGITS as u32) };

impl Tables {
    fn create(store: &Store) -> Result<Self> {
        let own = |name: &str, columns: &[(&str, ColumnType)], key: usize| {
            let columns = columns.iter().map(|(name, kind)| column(name, *kind)).collect();
            Indexed::create(store, name, columns, key)
        };
        let info = [("s_id", Integer), ("ai_type", SmallInt), ("data1", SmallInt)];
        let rest = [("data2", SmallInt), ("data3", fixed(3)), ("data4", fixed(5))];
        let facility = [("s_id", Integer), ("sf_type", SmallInt), ("is_active", Boolean)];
        let settings = [("error_cntrl", SmallInt), ("data_a", SmallInt), ("data_b", fixed(5))];
        let times = [("start_time", SmallInt), ("end_time", SmallInt), ("numberx", NUMBER)];
        let by_number = [("sub_nbr", NUMBER), ("s_id", Integer)];
        Ok(Self {
            subscriber: Indexed::create(store, "subscriber", subscriber_columns(), 1)?,
            subscriber_number: own("subscriber_number", &by_number, 1)?,
            access_info: own("access_info", &[info, rest].concat(), 2)?,
            special_facility: own("special_facility", &[facility, settings].concat(), 2)?,
            call_forwarding: own("call_forwarding", &[&facility[..2], &times].concat(), 3)?,
        })
    }
}

fn subscriber_columns() -> Vec<ColumnDef> {
    let mut columns = vec![column("s_id", Integer), column("sub_nbr", NUMBER)];
    for (prefix, kind) in [("bit", Boolean), ("hex", SmallInt), ("byte2", SmallInt)] {
        columns.extend((1..=10).map(|number| column(&format!("{prefix}_{number}"), kind)));
    }
    columns.extend([column("msc_location", Integer), column("vlr_location", Integer)]);
    columns
}

/// Writes a subscriber's number.
pub(super) fn number_of(subscriber: u64) -> [u8; NUMBER_DIGITS] {
    let mut rest = subscriber;
    let mut digits = [b'0'; NUMBER_DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

fn letters<const N: usize>(random: &mut Random) -> [u8; N] {
    std::array::from_fn(|_| b'A' + random.below(26) as u8)
}

/// Takes from one to all of `all`, each as likely as the others.
fn some_of(random: &mut Random, all: &[i64], least: u64) -> Vec<i64> {
    let mut rest = all.to_vec();
    let count = random.between(least, all.len() as u64) as usize;
    (0..count).map(|_| rest.swap_remove(random.below(rest.len() as u64) as usize)).collect()
}

/// Creates and fills the tables.
pub(crate) fn load(store: &Store, system: &mut impl System, subscribers: u64) -> Result<Tables> {
    let tables = Tables::create(store)?;
    let mut loader = Loader::new(system);
    for subscriber in 1..=subscribers {
        let mut random = Random::of_row(POPULATION, subscriber);
        load_subscriber(&mut loader, &tables, subscriber, &mut random)?;
    }
    loader.finish()?;
    Ok(tables)
}

fn load_subscriber(
    loader: &mut Loader<'_, impl System>,
    tables: &Tables,
    subscriber: u64,
    random: &mut Random,
) -> Result<()> {
    let (s, number) = (Int(subscriber as i64), number_of(subscriber));
    let mut values = vec![s, Bytes(&number)];
    for below in [2, 16, 256] {
        values.extend((0..10).map(|_| Int(random.below(below) as i64)));
    }
    values.extend([(); 2].map(|()| Int(random.below(1 << 31) as i64)));
    loader.insert(&tables.subscriber.table, &values)?;
    loader.insert(&tables.subscriber_number.table, &[Bytes(&number), s])?;
    for kind in some_of(random, &[1, 2, 3, 4], 1) {
        let (data3, data4) = (letters::<3>(random), letters::<5>(random));
        let [data1, data2] = [(); 2].map(|()| Int(random.below(256) as i64));
        let values = [s, Int(kind), data1, data2, Bytes(&data3), Bytes(&data4)];
        loader.insert(&tables.access_info.table, &values)?;
    }
    for kind in some_of(random, &[1, 2, 3, 4], 1) {
        let is_active = Int((random.below(100) < 85).into());
        let [control, data_a] = [(); 2].map(|()| Int(random.below(256) as i64));
        let data_b = letters::<5>(random);
        let values = [s, Int(kind), is_active, control, data_a, Bytes(&data_b)];
        loader.insert(&tables.special_facility.table, &values)?;
        for start in some_of(random, &START_TIMES, 0) {
            let end = start + random.between(1, 8) as i64;
            let number = number_of(random.below(1_000_000_000));
            let values = [s, Int(kind), Int(start), Int(end), Bytes(&number)];
            loader.insert(&tables.call_forwarding.table, &values)?;
        }
    }
    Ok(())
}
