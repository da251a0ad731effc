//! Sequences: the syntax of CREATE and ALTER SEQUENCE ([`syntax`]), what they and serial and
//! identity columns make, and DROP SEQUENCE ([`definition`]), and the functions that give values
//! ([`functions`]).

mod definition;
mod functions;
mod syntax;

pub(crate) use definition::{
    alter_sequence, create_sequence, drop_sequences, restart_sequences, sequence_def,
};
pub(crate) use functions::{Given, SequenceCalls, functions, identity_function};
pub(crate) use syntax::{SequenceStatement, parse_sequence, readable};
