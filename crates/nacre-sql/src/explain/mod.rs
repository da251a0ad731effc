//! `EXPLAIN`: [`options`] reads what PostgreSQL writes in parentheses, [`lines`] answers with a
//! line of the plan per row, [`json`] with one document that has PostgreSQL's key names.

mod json;
mod lines;
mod options;

pub(crate) use json::{Measured, Node, answer};
pub(crate) use lines::{DATAFUSION_ENGINE, NACRE_ENGINE, as_lines, engine_line};
pub(crate) use options::{Form, TAG, form, readable, schema};
