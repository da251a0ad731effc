//! Integration tests of the whole engine on real data; one binary, because linking is slow.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail by panicking"
)]

mod clickbench_oracle;
mod crash_load;
mod lost_domains;
mod plans;
mod ssb_oracle;
mod tpch_oracle;
