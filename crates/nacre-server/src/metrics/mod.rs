//! What the server counts, and how others see it: over HTTP, in Prometheus' text format.
//!
//! [`counters`] are counted where it happens, [`text`] writes them and what the store says,
//! [`http`] answers who asks.

mod counters;
mod http;
mod text;

pub(crate) use counters::Counters;
pub(crate) use http::answer;
