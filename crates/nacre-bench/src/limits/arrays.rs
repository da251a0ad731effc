//! The columns of TPC-H that the kernels read, as plain arrays.
//!
//! # Invariants
//! 1. All arrays of a table have as many values as it has rows, in the order of the CSV files.
//! 2. Decimals are in hundredths, days are counted since 1970-01-01.

use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, SupplierGenerator,
};

use super::PrimaryKeyIndex;
use super::texts::{VarTexts, padded};
use crate::error::Result;
use crate::interrupt::Interrupt;

/// Rows between two looks for a signal.
const ROWS_PER_CHECK: usize = 1 << 16;

/// Columns of `lineitem`.
#[derive(Debug, Default)]
pub(crate) struct LineItemArrays {
    pub(super) order_key: Vec<i64>,
    pub(super) part_key: Vec<i32>,
    pub(super) supplier_key: Vec<i32>,
    pub(super) quantity: Vec<i64>,
    pub(super) extended_price: Vec<i64>,
    pub(super) discount: Vec<i64>,
    pub(super) tax: Vec<i64>,
    pub(super) return_flag: Vec<u8>,
    pub(super) line_status: Vec<u8>,
    pub(super) ship_date: Vec<i32>,
    pub(super) ship_instruct: Vec<[u8; 25]>,
    pub(super) ship_mode: Vec<[u8; 10]>,
}

/// Columns of `orders`.
#[derive(Debug)]
pub(crate) struct OrderArrays {
    pub(super) key: Vec<i64>,
    pub(super) customer_key: Vec<i32>,
    pub(super) total_price: Vec<i64>,
    pub(super) date: Vec<i32>,
    pub(super) comment: VarTexts,
    pub(super) index: PrimaryKeyIndex,
}

/// Columns of `part`.
#[derive(Debug)]
pub(crate) struct PartArrays {
    pub(super) key: Vec<i32>,
    pub(super) name: VarTexts,
    pub(super) brand: Vec<[u8; 10]>,
    pub(super) kind: VarTexts,
    pub(super) size: Vec<i32>,
    pub(super) container: Vec<[u8; 10]>,
    pub(super) index: PrimaryKeyIndex,
}

/// Columns of `partsupp`.
#[derive(Debug, Default)]
pub(crate) struct PartSupplierArrays {
    pub(super) part_key: Vec<i32>,
    pub(super) supplier_key: Vec<i32>,
    pub(super) supply_cost: Vec<i64>,
}

/// Columns of the small tables.
#[derive(Debug)]
pub(crate) struct PartnerArrays {
    pub(super) customer_key: Vec<i32>,
    pub(super) customer_name: VarTexts,
    pub(super) customer_index: PrimaryKeyIndex,
    pub(super) supplier_nation: Vec<i32>,
    pub(super) supplier_index: PrimaryKeyIndex,
    pub(super) nation_name: Vec<String>,
}

/// What the kernels read.
#[derive(Debug)]
pub(crate) struct TpchArrays {
    pub(super) lines: LineItemArrays,
    pub(super) orders: OrderArrays,
    pub(super) parts: PartArrays,
    pub(super) part_suppliers: PartSupplierArrays,
    pub(super) partners: PartnerArrays,
}

impl TpchArrays {
    /// Makes the arrays for a scale factor, with the rows that the CSV files have.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`] soon after a signal.
    pub(crate) fn generate(scale_factor: f64, interrupt: &Interrupt) -> Result<Self> {
        Ok(Self {
            lines: LineItemArrays::generate(scale_factor, interrupt)?,
            orders: OrderArrays::generate(scale_factor, interrupt)?,
            parts: PartArrays::generate(scale_factor),
            part_suppliers: PartSupplierArrays::generate(scale_factor),
            partners: PartnerArrays::generate(scale_factor),
        })
    }
}

impl LineItemArrays {
    fn generate(scale_factor: f64, interrupt: &Interrupt) -> Result<Self> {
        let mut lines = Self::default();
        for (index, row) in LineItemGenerator::new(scale_factor, 1, 1).iter().enumerate() {
            if index % ROWS_PER_CHECK == 0 {
                interrupt.check()?;
            }
            lines.order_key.push(row.l_orderkey);
            lines.part_key.push(row.l_partkey as i32);
            lines.supplier_key.push(row.l_suppkey as i32);
            lines.quantity.push(row.l_quantity * 100);
            lines.extended_price.push(row.l_extendedprice.into_inner());
            lines.discount.push(row.l_discount.into_inner());
            lines.tax.push(row.l_tax.into_inner());
            lines.return_flag.push(padded::<1>(row.l_returnflag)[0]);
            lines.line_status.push(padded::<1>(row.l_linestatus)[0]);
            lines.ship_date.push(row.l_shipdate.to_unix_epoch());
            lines.ship_instruct.push(padded(row.l_shipinstruct));
            lines.ship_mode.push(padded(row.l_shipmode));
        }
        Ok(lines)
    }

    pub(super) fn rows(&self) -> usize {
        self.order_key.len()
    }
}

impl OrderArrays {
    fn generate(scale_factor: f64, interrupt: &Interrupt) -> Result<Self> {
        let (mut key, mut customer_key, mut date) = (Vec::new(), Vec::new(), Vec::new());
        let (mut total_price, mut comment) = (Vec::new(), VarTexts::new());
        for (index, row) in OrderGenerator::new(scale_factor, 1, 1).iter().enumerate() {
            if index % ROWS_PER_CHECK == 0 {
                interrupt.check()?;
            }
            key.push(row.o_orderkey);
            customer_key.push(row.o_custkey as i32);
            total_price.push(row.o_totalprice.into_inner());
            date.push(row.o_orderdate.to_unix_epoch());
            comment.push(row.o_comment);
        }
        let index = PrimaryKeyIndex::new(key.iter().copied());
        Ok(Self { key, customer_key, total_price, date, comment, index })
    }

    pub(super) fn rows(&self) -> usize {
        self.key.len()
    }
}

impl PartArrays {
    fn generate(scale_factor: f64) -> Self {
        let (mut key, mut brand, mut container) = (Vec::new(), Vec::new(), Vec::new());
        let (mut name, mut kind, mut size) = (VarTexts::new(), VarTexts::new(), Vec::new());
        for row in PartGenerator::new(scale_factor, 1, 1).iter() {
            key.push(row.p_partkey as i32);
            name.push(&row.p_name.to_string());
            brand.push(padded(&row.p_brand.to_string()));
            kind.push(row.p_type);
            size.push(row.p_size);
            container.push(padded(row.p_container));
        }
        let index = PrimaryKeyIndex::new(key.iter().map(|key| i64::from(*key)));
        Self { key, name, brand, kind, size, container, index }
    }

    pub(super) fn rows(&self) -> usize {
        self.key.len()
    }

    /// Returns how many places a map by key has.
    pub(super) fn map_places(&self) -> usize {
        map_places(&self.key)
    }
}

impl PartSupplierArrays {
    fn generate(scale_factor: f64) -> Self {
        let mut rows = Self::default();
        for row in PartSuppGenerator::new(scale_factor, 1, 1).iter() {
            rows.part_key.push(row.ps_partkey as i32);
            rows.supplier_key.push(row.ps_suppkey as i32);
            rows.supply_cost.push(row.ps_supplycost.into_inner());
        }
        rows
    }
}

impl PartnerArrays {
    fn generate(scale_factor: f64) -> Self {
        let (mut customer_key, mut customer_name) = (Vec::new(), VarTexts::new());
        for row in CustomerGenerator::new(scale_factor, 1, 1).iter() {
            customer_key.push(row.c_custkey as i32);
            customer_name.push(&row.c_name.to_string());
        }
        let (mut supplier_key, mut supplier_nation) = (Vec::new(), Vec::new());
        for row in SupplierGenerator::new(scale_factor, 1, 1).iter() {
            supplier_key.push(row.s_suppkey);
            supplier_nation.push(row.s_nationkey as i32);
        }
        let nations = NationGenerator::new(scale_factor, 1, 1);
        Self {
            customer_index: PrimaryKeyIndex::new(customer_key.iter().map(|key| i64::from(*key))),
            supplier_index: PrimaryKeyIndex::new(supplier_key.into_iter()),
            nation_name: nations.iter().map(|nation| nation.n_name.to_owned()).collect(),
            customer_key,
            customer_name,
            supplier_nation,
        }
    }

    /// Returns how many places a map by customer has.
    pub(super) fn map_places(&self) -> usize {
        map_places(&self.customer_key)
    }
}

/// Returns how many places a map by these keys has, which are not negative.
fn map_places(keys: &[i32]) -> usize {
    keys.iter().max().map_or(0, |key| *key as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_a_table_have_its_rows() {
        let arrays = TpchArrays::generate(0.01, &Interrupt::default()).unwrap();
        let lines = &arrays.lines;
        assert_eq!(lines.rows(), 60_175);
        assert_eq!(lines.ship_mode.len(), lines.rows());
        assert_eq!(arrays.orders.rows(), 15_000);
        assert_eq!(arrays.parts.map_places(), 2_001);
        assert_eq!(arrays.partners.map_places(), 1_501);
        assert_eq!(arrays.partners.nation_name[7], "GERMANY");
        assert_eq!(arrays.part_suppliers.supply_cost.len(), 8_000);
        let row = arrays.orders.index.row(arrays.orders.key[100]);
        assert_eq!(row, Some(100));
        // Key, part, supplier, quantity, price and tax of the first line of any scale factor.
        assert_eq!((lines.order_key[0], lines.quantity[0], lines.tax[0]), (1, 1_700, 2));
    }
}
