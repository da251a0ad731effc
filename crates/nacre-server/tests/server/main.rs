//! A server on a free loopback port, talked to by a client library and by hand-made bytes.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod access;
mod activity;
mod copying;
mod extended;
mod hostile;
mod joins;
mod lifecycle;
mod planning;
mod privileges;
mod resting;
mod simple;
mod support;
