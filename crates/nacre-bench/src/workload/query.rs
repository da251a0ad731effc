//! A query of a workload, its text kept in a file of its own.

use std::borrow::Cow;

use crate::error::Result;
use crate::workload::{Answer, Mismatch, compare};

/// One query.
#[derive(Debug)]
pub struct Query {
    /// Its place in the workload, from 1.
    pub number: u32,
    /// Its name, such as `Q1` or `Q2.3`.
    pub name: &'static str,
    text: &'static str,
    /// Output columns (0-based) by which the answer is ordered, most significant first.
    pub order_by: &'static [usize],
    /// A number in the text, as it is written there, that is divided by the scale factor.
    divided_by_scale: Option<&'static str>,
}

/// Makes a query from the file `queries/FILE` beside the file of the caller.
macro_rules! query {
    ($number:expr, $name:expr, $file:literal, $order_by:expr) => {
        Query::new($number, $name, include_str!(concat!("queries/", $file)), $order_by)
    };
}
pub(crate) use query;

impl Query {
    pub(crate) const fn new(
        number: u32,
        name: &'static str,
        text: &'static str,
        order_by: &'static [usize],
    ) -> Self {
        Self { number, name, text, order_by, divided_by_scale: None }
    }

    /// Says which number of the text depends on the scale factor.
    pub(crate) const fn divided_by_scale(mut self, number: &'static str) -> Self {
        self.divided_by_scale = Some(number);
        self
    }

    /// Returns the text for data of a scale factor.
    pub fn sql(&self, scale_factor: f64) -> Cow<'static, str> {
        let number = self.divided_by_scale.filter(|_| scale_factor != 1.0);
        match number.and_then(|text| Some((text, text.parse::<f64>().ok()?))) {
            None => Cow::Borrowed(self.text),
            Some((text, number)) => {
                let scaled = format!("{:.10}", number / scale_factor);
                Cow::Owned(self.text.replace(text, &scaled))
            }
        }
    }

    /// Compares Nacre's answer with that of `reference`.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) with the first difference.
    pub fn check(&self, ours: &Answer, theirs: &Answer, reference: &str) -> Result<()> {
        compare(ours, theirs, self.order_by).map_err(|difference| {
            let (subject, reference) = (self.name.to_owned(), reference.to_owned());
            Mismatch { subject, reference, difference }.into()
        })
    }
}
