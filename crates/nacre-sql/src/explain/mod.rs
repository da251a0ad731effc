//! `EXPLAIN`: [`options`] reads what PostgreSQL writes in parentheses, [`lines`] answers with a
//! line of the plan per row, [`node`] with a tree of properties that has PostgreSQL's names, which
//! [`property`] writes as one document; [`times`] is what both say of how long it took.

mod lines;
mod node;
mod options;
mod property;
mod times;

pub(crate) use lines::{DATAFUSION_ENGINE, NACRE_ENGINE, as_lines, engine_line};
pub(crate) use node::{Node, answer};
pub(crate) use options::{Form, TAG, form, readable, schema};
pub(crate) use property::{DocumentFormat, PlanProperty, PropertyGroup};
pub(crate) use times::{Measured, PlanningTimes, milliseconds};
