//! The `nacre` program; all of it is in the library's `cli` module.
//!
//! It allocates by mimalloc, which asks the kernel for pages of 2 MiB: hot chunks and index nodes
//! take gigabytes, and where they are read at random or end to end address translation weighs as
//! much as the reads. `MIMALLOC_ALLOW_THP=0` in the environment turns that off.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    nacre::cli::main()
}
