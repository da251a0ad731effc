//! Whether a server takes sessions: `nacre ready`, which answers as `pg_isready` does.

use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use tokio::net::TcpStream;

use super::messages::{Report, Wire};
use super::target::Target;

/// SQLSTATE of a server that is starting up, recovering or shutting down.
const CANNOT_CONNECT_NOW: &str = "57P03";

/// What a server says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    Accepting,
    /// It is there, and starting up or shutting down.
    Rejecting,
    /// Nobody answers, or not in time.
    NoResponse,
}

impl Readiness {
    /// The exit code of `pg_isready`.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Accepting => 0,
            Self::Rejecting => 1,
            Self::NoResponse => 2,
        }
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Accepting => "accepting connections",
            Self::Rejecting => "rejecting connections",
            Self::NoResponse => "no response",
        }
    }
}

/// Asks a server. Whether it would let us in does not matter.
pub(crate) async fn readiness(target: &Target, limit: Duration) -> Readiness {
    let answer = tokio::time::timeout(limit, first_answer(target)).await;
    answer.ok().flatten().unwrap_or(Readiness::NoResponse)
}

async fn first_answer(target: &Target) -> Option<Readiness> {
    let stream = TcpStream::connect((target.host.as_str(), target.port)).await.ok()?;
    let mut wire = Wire::new(Box::new(stream));
    let mut out = BytesMut::new();
    let parameters = [("user", target.user.as_str()), ("database", target.database.as_str())];
    frontend::startup_message(parameters, &mut out).ok()?;
    wire.send(&out).await.ok()?;
    match wire.receive().await.ok()? {
        Message::ErrorResponse(body) => {
            let report = Report::new(body.fields()).ok()?;
            let is_rejecting = report.code == CANNOT_CONNECT_NOW;
            Some(if is_rejecting { Readiness::Rejecting } else { Readiness::Accepting })
        }
        _ => Some(Readiness::Accepting),
    }
}
