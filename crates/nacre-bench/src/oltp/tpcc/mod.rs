//! TPC-C: the transactions of a wholesale supplier, as stored procedures would run them.
//!
//! [`schema`] has the tables, [`input`] what terminals type in, [`load`] the first population,
//! [`new_order`] and the others the five transactions, [`mix`] their mix, [`procedures`] the same
//! for stored procedures, and [`consistency`] the conditions that hold before and after each.
//!
//! # Source
//! TPC Benchmark C, revision 5.11. Differs: no terminals, no keying and think times, deliveries are
//! not queued, and a customer's data for bad credit is cut at 500 characters of ASCII.

pub(crate) mod consistency;
pub(crate) mod delivery;
pub(crate) mod input;
pub(crate) mod load;
pub(crate) mod mix;
pub(crate) mod new_order;
pub(crate) mod payment;
pub(crate) mod procedures;
pub(crate) mod schema;
pub(crate) mod status;
