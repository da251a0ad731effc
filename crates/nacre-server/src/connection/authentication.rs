//! Asks a client for a proof that it knows the password of the role that it wants to be.
//!
//! # Invariants
//! What the client hears and when does not tell an unknown role from a wrong password.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Buf, Bytes};
use nacre_access::{
    Attempt, Binding, ClientFirst, Exchange, ExchangeError, MECHANISM, MECHANISM_PLUS, Verdict,
    Verifier,
};
use nacre_sql::RoleDef;
use pgwire::messages::startup::Authentication;

use super::serving::End;
use super::startup::Opening;
use super::thread_wait::sleep;
use crate::access::Demand;

impl Opening {
    /// Lets a client in, as the role that is returned, or not.
    pub(super) async fn authenticate(
        &mut self,
        database: &str,
        user: &str,
    ) -> Result<Arc<RoleDef>, End> {
        let address = self.peer.ip();
        let attempt = Attempt { address, is_tls: self.is_tls, database, user };
        // What it proves is for this role, whoever gets the name meanwhile.
        let role = self.shared.database.store().role(user);
        match self.shared.access.demand(attempt, role.as_deref(), &self.shared.database) {
            Demand::Nothing => {}
            Demand::Refused(message) => return Err(End::Fatal { code: "28000", message }),
            Demand::Proof(verifier) => self.demand_proof(address, user, verifier).await?,
        }
        let state = self.shared.database.store().access();
        let now = role.and_then(|role| state.role(role.oid).cloned());
        let (code, message) = match now {
            Some(role) if !role.can_login => {
                ("28000", format!("role \"{user}\" is not permitted to log in"))
            }
            Some(role) if self.shared.database.may_connect(role.oid) => return Ok(role),
            Some(_) => ("42501", "permission denied for database \"nacre\"".to_owned()),
            None => ("28000", format!("role \"{user}\" does not exist")),
        };
        Err(End::Fatal { code, message })
    }

    async fn demand_proof(
        &mut self,
        address: IpAddr,
        user: &str,
        verifier: Option<Verifier>,
    ) -> Result<(), End> {
        let binding = self.shared.access.binding(self.is_tls);
        let mut mechanisms = vec![MECHANISM.to_owned()];
        if binding != Binding::None {
            mechanisms.insert(0, MECHANISM_PLUS.to_owned());
        }
        self.out.put(&Authentication::SASL(mechanisms));
        let (mechanism, message) = initial_response(self.answer().await?)?;
        let failed = |error| fatal(error, user);
        let first = ClientFirst::parse(&mechanism, &message, &binding).map_err(failed)?;
        // A client that only asks whether there is a password does not come here.
        match self.shared.access.guard.admit(address, user, Instant::now()) {
            Verdict::After(wait) => sleep(wait).await,
            Verdict::Refused => {
                let message = "too many failed authentication attempts".to_owned();
                return Err(End::Fatal { code: "28000", message });
            }
        }
        let mock = &self.shared.access.mock;
        let exchange = Exchange::begin(first, user, verifier, mock).map_err(failed)?;
        let message = Bytes::from(exchange.message().to_owned());
        self.out.put(&Authentication::SASLContinue(message));
        let answer = self.answer().await?;
        let guard = &self.shared.access.guard;
        let message = exchange.finish(&answer).map_err(|error| {
            guard.failed(address, user, Instant::now());
            fatal(error, user)
        })?;
        guard.succeeded(address);
        self.out.put(&Authentication::SASLFinal(Bytes::from(message)));
        Ok(())
    }

    /// Sends what there is and returns the client's answer.
    async fn answer(&mut self) -> Result<Bytes, End> {
        self.out.send(&mut self.stream).await?;
        loop {
            match self.frames.next()? {
                Some(frame) if frame.kind == b'p' => return Ok(frame.body),
                Some(frame) => {
                    let kind = frame.kind;
                    let message = format!("expected SASL response, got message type {kind}");
                    return Err(End::protocol_violation(message));
                }
                None => {}
            }
            if self.frames.fill(&mut self.stream).await? == 0 {
                return Err(End::Closed);
            }
        }
    }
}

/// Cuts the name of the mechanism and the first message of it.
fn initial_response(mut body: Bytes) -> Result<(String, Bytes), End> {
    let malformed = || End::protocol_violation("invalid SASL initial response");
    let end = body.iter().position(|byte| *byte == 0).ok_or_else(malformed)?;
    let mechanism = String::from_utf8(body.split_to(end).into()).map_err(|_| malformed())?;
    body.advance(1);
    let length = body.try_get_u32().map_err(|_| malformed())?;
    match usize::try_from(length) == Ok(body.len()) {
        true => Ok((mechanism, body)),
        false => Err(malformed()),
    }
}

fn fatal(error: ExchangeError, user: &str) -> End {
    let message = match error {
        ExchangeError::Refused => format!("password authentication failed for user \"{user}\""),
        ref other => other.to_string(),
    };
    End::Fatal { code: error.sqlstate(), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_response_has_a_mechanism_and_as_many_bytes_as_it_says() {
        let read = |body: &'static [u8]| initial_response(Bytes::from_static(body)).ok();
        assert_eq!(read(b"X\0\0\0\0\x02ab"), Some(("X".to_owned(), Bytes::from_static(b"ab"))));
        for body in
            [&b"X"[..], b"X\0", b"X\0\0\0\0\x03ab", b"X\0\xff\xff\xff\xff", b"\xff\0\0\0\0\0"]
        {
            assert_eq!(read(body), None);
        }
    }
}
