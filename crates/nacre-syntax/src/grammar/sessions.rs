//! Transactions, settings, cursors, prepared statements, COPY, privileges and maintenance.

mod copies;
mod cursors;
mod maintenance;
mod prepared;
mod privileges;
mod settings;
mod transactions;
