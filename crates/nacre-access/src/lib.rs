//! Who may talk to Nacre.
//!
//! A password is kept as a [`Verifier`], and [`Exchange`] lets a client prove that it knows one
//! without saying it (SCRAM-SHA-256, RFC 5802 and 7677). [`Rules`] say which connections are asked
//! for a proof; [`Guard`] slows down whoever guesses.
//!
//! # Invariants
//! 1. Knows nothing of SQL and of sockets: texts, bytes and times go in, decisions come out. Only
//!    [`kept`] and `tls` touch files.
//! 2. A password in clear leaves no trace: no error, no `Debug` and no value kept holds one.
//! 3. What a client can see, times included, does not tell a wrong password from an unknown role.
//! 4. Memory that strangers can make grow is bounded.
//! # See
//! `docs/access.md`; `docs/decisions/0014-own-scram.md` says why the exchange is ours.

#![forbid(unsafe_code)]

mod crypto;
mod exchange;
mod guard;
mod kept;
mod rules;
#[cfg(feature = "tls")]
mod tls;
mod verifier;

pub use exchange::{Binding, ClientFirst, Exchange, ExchangeError, MECHANISM, MECHANISM_PLUS};
pub use guard::{Guard, Verdict};
pub use kept::kept_secret;
pub use rules::{Admission, Attempt, Rules, RulesError};
#[cfg(feature = "tls")]
pub use tls::{Identity, TlsError, certificate_hash};
pub use verifier::{MockKey, Password, PasswordError, Verifier};
