//! Replication mechanisms: how an update reaches every member of a pool set.
