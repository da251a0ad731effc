//! The `nacre` program; all of it is in the library's `cli` module.

use std::process::ExitCode;

fn main() -> ExitCode {
    nacre::cli::main()
}
