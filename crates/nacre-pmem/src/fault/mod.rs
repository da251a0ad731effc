//! Fault containment: a SIGBUS on a mapped page becomes an error value.
