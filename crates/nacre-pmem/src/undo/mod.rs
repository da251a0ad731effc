//! Undo log: several locations of a pool set updated as one.
