//! Online switching: which replication mechanism an update takes.
