//! The `nacre` program; all of it is in the library's `cli` module.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    nacre::cli::main()
}
