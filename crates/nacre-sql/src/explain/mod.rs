//! `EXPLAIN`: [`options`] reads what PostgreSQL writes in parentheses, [`lines`] answers with a
//! line of the plan per row, [`json`] with one document that has PostgreSQL's key names; [`times`]
//! is what both say of how long it took.

mod json;
mod lines;
mod options;
mod times;

pub(crate) use json::{Node, answer};
pub(crate) use lines::{DATAFUSION_ENGINE, NACRE_ENGINE, as_lines, engine_line};
pub(crate) use options::{Form, TAG, form, readable, schema};
pub(crate) use times::{Measured, PlanningTimes, milliseconds};
