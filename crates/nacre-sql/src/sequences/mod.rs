//! Sequences: CREATE and DROP SEQUENCE and what serial and identity columns make of them
//! ([`definition`]), and the functions that give their values ([`functions`]).

mod definition;
mod functions;

pub(crate) use definition::{create_sequence, drop_sequences, restart_sequences, sequence_def};
pub(crate) use functions::functions;
