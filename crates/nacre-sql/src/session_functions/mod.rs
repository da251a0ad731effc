//! Functions that ask a session who and where it is, of its settings, and a few of PostgreSQL's
//! that the front end does not have: [`advisory`] locks numbers, [`facts`] answers with what never
//! changes in a session or with the schemas of `search_path`, [`settings`] reads and sets settings,
//! [`signals`] asks something of another session, [`sleep`] waits, [`hash`] computes `md5`,
//! [`bytea`] reads bytes, [`types`] tells types, and [`list`] has them all.

mod advisory;
mod bytea;
mod facts;
mod hash;
mod list;
mod settings;
mod signals;
mod sleep;
mod types;

pub(crate) use advisory::unlock;
pub(crate) use list::session_functions;
pub(crate) use signals::require_signal_right;
