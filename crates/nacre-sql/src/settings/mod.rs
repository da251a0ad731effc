//! Settings of a session, as PostgreSQL has them: which there are ([`known`]), how their values are
//! read and shown ([`kind`], [`names`]), what they are now ([`values`], [`engine_choice`],
//! [`scan_settings`]), SET,
//! RESET and SHOW ([`statement`]), and what a program asks of them ([`session`]).
//!
//! # Invariants
//! 1. A value that is accepted holds: what would have to change an answer and cannot is refused.
//! 2. What SET did in a block is undone when the block, or the part of it since a savepoint, is
//!    rolled back; what SET LOCAL did ends with the block.

mod characteristics;
mod engine_choice;
mod kind;
mod known;
mod names;
mod scan_settings;
mod session;
mod statement;
mod values;

pub(crate) use characteristics::{Characteristics, level_name};
pub(crate) use engine_choice::EngineChoice;
pub(crate) use known::version_text;
pub(crate) use scan_settings::ScanSettings;
pub use session::{SessionInfo, SettingInfo};
pub(crate) use statement::{SettingStatement, parse_setting, show, shown_schema};
pub(crate) use values::{Saved, Settings, unknown};
