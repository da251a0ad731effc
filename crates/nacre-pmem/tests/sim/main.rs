//! Crash tests of everything that is persistent: each structure runs under the crash simulator.
//!
//! Every test records a seeded workload, and checks what is found after a crash at its crash
//! points; it prints how many images it checked. Two variables scale all of them:
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `NACRE_TEST_IMAGES` | 3000 | images over all structures |
//! | `NACRE_TEST_SEED` | 1, and a fresh one | seed of workloads and samples, printed |
//! | `NACRE_TEST_POINT` | all | explore this crash point only, to replay a violation |
//!
//! A million images, with the totals of each structure:
//! `NACRE_TEST_IMAGES=900000 cargo test --release -p nacre-pmem --test sim -- --nocapture`

mod columns;
mod heap;
mod mechanisms;
mod members;
mod pool_set;
mod pools;
mod script;
mod support;
mod toy;
mod transactions;
mod tree;
mod upkeep;
