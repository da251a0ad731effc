//! The form of sources and documents, one file per subject.
//!
//! 1. `lines`: columns, ASCII, blanks, leftovers.
//! 2. `functions`: their length, with a list that may only shrink.
//! 3. `modules`: every source belongs to a module tree and has a header; crate roots.
//! 4. `documents`: links, paths, the README's test command.

mod check;
mod documents;
mod functions;
mod lines;
mod modules;

pub(crate) use check::check;
pub(crate) use documents::test_command;
