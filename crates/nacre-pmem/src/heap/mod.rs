//! Persistent heap: extents handed out of a pool set's data area, inside transactions.
