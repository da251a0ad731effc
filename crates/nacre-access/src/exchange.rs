//! The server's side of SCRAM-SHA-256, as RFC 5802 and 7677 and PostgreSQL's clients have it.
//!
//! 1. [`ClientFirst::parse`] reads what the client begins with.
//! 2. [`Exchange::begin`] answers with nonce, salt and rounds; the verifier is that of the role or
//!    one made up.
//! 3. [`Exchange::finish`] checks the client's proof and returns the server's.
//!
//! # Invariants
//! A made-up verifier goes through the same steps as a real one and is refused at the end of them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use subtle::{Choice, ConstantTimeEq};

use crate::crypto::{self, Bytes32};
use crate::verifier::{MockKey, Verifier};

/// Name of the mechanism.
pub const MECHANISM: &str = "SCRAM-SHA-256";

/// Name of the mechanism that is bound to the TLS connection.
pub const MECHANISM_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// The only kind of binding, RFC 5929: the hash of the server's certificate.
const BINDING_TYPE: &str = "tls-server-end-point";

/// Random bytes of the server's part of the nonce, as many as PostgreSQL takes.
const NONCE_BYTES: usize = 18;

/// What the connection offers to bind the proof to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The connection is in clear.
    None,
    /// TLS, by a certificate with this hash.
    Certificate(Vec<u8>),
}

/// Why an exchange ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExchangeError {
    /// The client breaks the protocol; the text is for the detail of an error.
    Malformed(&'static str),
    /// The client asks for what is not here.
    NotSupported(&'static str),
    /// Somebody between the two hid that the server can bind.
    Downgraded,
    /// The system has no random bytes.
    Random,
    /// The proof is none.
    Refused,
}

impl ExchangeError {
    /// Returns the code of the error.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "08P01",
            Self::NotSupported(_) => "0A000",
            Self::Downgraded => "28000",
            Self::Random => "58000",
            Self::Refused => "28P01",
        }
    }
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(detail) => write!(f, "malformed SCRAM message: {detail}"),
            Self::NotSupported(what) => write!(f, "not supported: {what}"),
            Self::Downgraded => f.write_str(
                "SCRAM channel binding negotiation error: the client thinks that the server does \
                 not support channel binding, but it does",
            ),
            Self::Random => f.write_str("could not generate random nonce"),
            Self::Refused => f.write_str("password authentication failed"),
        }
    }
}

impl std::error::Error for ExchangeError {}

type Result<T> = std::result::Result<T, ExchangeError>;

/// What a client begins with.
#[derive(Debug)]
pub struct ClientFirst {
    /// The header that says what is bound, and the bytes bound: to come back in the last message.
    bound: Vec<u8>,
    bare: String,
    nonce: String,
}

impl ClientFirst {
    /// Reads the first message of `mechanism`.
    ///
    /// # Errors
    /// A message or a mechanism that is none.
    pub fn parse(mechanism: &str, message: &[u8], binding: &Binding) -> Result<Self> {
        let text = text(message)?;
        let mut parts = text.splitn(3, ',');
        let (Some(flag), Some(authzid), Some(bare)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(ExchangeError::Malformed("the header is not whole"));
        };
        if !authzid.is_empty() {
            return Err(ExchangeError::NotSupported("authorization identities of clients"));
        }
        let mut bound = format!("{flag},,").into_bytes();
        bound.extend_from_slice(bound_bytes(mechanism, flag, binding)?);
        let mut attributes = bare.split(',');
        if bare.starts_with("m=") {
            return Err(ExchangeError::NotSupported("mandatory extensions of SCRAM"));
        }
        // The name is that of the startup message, as in PostgreSQL; this one is not looked at.
        attribute(attributes.next(), "n=")?;
        let nonce = attribute(attributes.next(), "r=")?;
        if nonce.is_empty() || !nonce.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ExchangeError::Malformed("the nonce is not printable"));
        }
        Ok(Self { bound, bare: bare.to_owned(), nonce: nonce.to_owned() })
    }
}

/// Returns what the proof has to be bound to.
fn bound_bytes<'a>(mechanism: &str, flag: &str, binding: &'a Binding) -> Result<&'a [u8]> {
    match (mechanism, binding, flag) {
        (MECHANISM_PLUS, Binding::Certificate(hash), _) => match flag.strip_prefix("p=") {
            Some(BINDING_TYPE) => Ok(hash),
            Some(_) => Err(ExchangeError::NotSupported("this type of SCRAM channel binding")),
            None => Err(ExchangeError::Malformed("the client binds nothing by SCRAM-SHA-256-PLUS")),
        },
        (MECHANISM, Binding::Certificate(_), "y") => Err(ExchangeError::Downgraded),
        (MECHANISM, _, "n" | "y") => Ok(&[]),
        (MECHANISM, _, _) => {
            Err(ExchangeError::Malformed("SCRAM-SHA-256 is not for channel binding"))
        }
        _ => Err(ExchangeError::Malformed("the mechanism is none that was offered")),
    }
}

/// An exchange that waits for the client's proof.
pub struct Exchange {
    first: ClientFirst,
    server_first: String,
    /// The client's nonce with the server's.
    nonce: String,
    verifier: Verifier,
    is_real: Choice,
}

impl Exchange {
    /// Answers the first message of a client that wants to be `role`. Without a verifier the
    /// exchange goes on, and fails at its end.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn begin(
        first: ClientFirst,
        role: &str,
        verifier: Option<Verifier>,
        mock: &MockKey,
    ) -> Result<Self> {
        let mut random = [0; NONCE_BYTES];
        getrandom::fill(&mut random).map_err(|_| ExchangeError::Random)?;
        Ok(Self::begin_with(first, role, verifier, mock, &BASE64.encode(random)))
    }

    fn begin_with(
        first: ClientFirst,
        role: &str,
        verifier: Option<Verifier>,
        mock: &MockKey,
        nonce: &str,
    ) -> Self {
        // Made up in any case, so that it takes the same time.
        let made_up = mock.verifier(role);
        let is_real = Choice::from(u8::from(verifier.is_some()));
        let verifier = verifier.unwrap_or(made_up);
        let nonce = format!("{}{nonce}", first.nonce);
        let (salt, rounds) = (BASE64.encode(&verifier.salt), verifier.iterations);
        let server_first = format!("r={nonce},s={salt},i={rounds}");
        Self { first, server_first, nonce, verifier, is_real }
    }

    /// Returns the message that answers the client's first one.
    pub fn message(&self) -> &str {
        &self.server_first
    }

    /// Checks the client's proof and returns the message that proves the server to the client.
    ///
    /// # Errors
    /// A message that is none; [`ExchangeError::Refused`] if the proof is not right.
    pub fn finish(self, message: &[u8]) -> Result<String> {
        let text = text(message)?;
        let (without_proof, proof) =
            text.rsplit_once(",p=").ok_or(ExchangeError::Malformed("the proof is missing"))?;
        let mut attributes = without_proof.split(',');
        let bound = decoded(attribute(attributes.next(), "c=")?)?;
        let nonce = attribute(attributes.next(), "r=")?;
        if bound != self.first.bound {
            return Err(match self.first.bound.starts_with(b"p=") {
                true => ExchangeError::Malformed("channel binding check failed"),
                false => ExchangeError::Malformed("the header is not that of the first message"),
            });
        }
        if !bool::from(nonce.as_bytes().ct_eq(self.nonce.as_bytes())) {
            return Err(ExchangeError::Malformed("the nonce does not match"));
        }
        let proof = Bytes32::try_from(decoded(proof)?)
            .map_err(|_| ExchangeError::Malformed("the proof has another length"))?;
        self.check(without_proof, proof)
    }

    fn check(&self, without_proof: &str, proof: Bytes32) -> Result<String> {
        let said = [&self.first.bare, ",", &self.server_first, ",", without_proof];
        let said = said.map(str::as_bytes);
        let client_signature = crypto::hmac(&self.verifier.stored_key, &said);
        let client_key = crypto::xor(client_signature, &proof);
        let is_right = crypto::hash(&client_key).ct_eq(&self.verifier.stored_key);
        let server_signature = crypto::hmac(&self.verifier.server_key, &said);
        match bool::from(is_right & self.is_real) {
            true => Ok(format!("v={}", BASE64.encode(server_signature))),
            false => Err(ExchangeError::Refused),
        }
    }
}

fn text(message: &[u8]) -> Result<&str> {
    match std::str::from_utf8(message) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(ExchangeError::Malformed("the message is no text")),
    }
}

/// Returns the value of an attribute that has to be here.
fn attribute<'a>(found: Option<&'a str>, name: &str) -> Result<&'a str> {
    found
        .and_then(|found| found.strip_prefix(name))
        .ok_or(ExchangeError::Malformed("an attribute is missing"))
}

fn decoded(text: &str) -> Result<Vec<u8>> {
    BASE64.decode(text).map_err(|_| ExchangeError::Malformed("a value is not base64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7677, section 3.
    const CLIENT_FIRST: &str = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
    const SERVER_NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    const SERVER_FIRST: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                                s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    const CLIENT_FINAL: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                                p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
    const SERVER_FINAL: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

    fn verifier(password: &str) -> Verifier {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        Verifier::of(password, salt, 4096)
    }

    fn begun(verifier: Option<Verifier>) -> Exchange {
        let first = ClientFirst::parse(MECHANISM, CLIENT_FIRST.as_bytes(), &Binding::None).unwrap();
        let mock = MockKey::new([9; 32]);
        Exchange::begin_with(first, "user", verifier, &mock, SERVER_NONCE)
    }

    #[test]
    fn exchange_of_rfc_7677_comes_to_its_end() {
        let exchange = begun(Some(verifier("pencil")));
        assert_eq!(exchange.message(), SERVER_FIRST);
        assert_eq!(exchange.finish(CLIENT_FINAL.as_bytes()).as_deref(), Ok(SERVER_FINAL));
    }

    #[test]
    fn wrong_password_and_unknown_role_are_refused_alike() {
        let wrong = begun(Some(verifier("pencils")));
        assert_eq!(wrong.finish(CLIENT_FINAL.as_bytes()), Err(ExchangeError::Refused));
        let unknown = begun(None);
        assert_eq!(unknown.message().len(), SERVER_FIRST.len());
        assert_eq!(unknown.finish(CLIENT_FINAL.as_bytes()), Err(ExchangeError::Refused));
    }

    #[test]
    fn made_up_verifier_accepts_nothing_not_even_its_own_key() {
        let mut exchange = begun(None);
        exchange.verifier = verifier("pencil");
        exchange.server_first = SERVER_FIRST.to_owned();
        assert_eq!(exchange.finish(CLIENT_FINAL.as_bytes()), Err(ExchangeError::Refused));
    }

    #[test]
    fn last_message_has_to_repeat_header_and_nonce() {
        let real = verifier("pencil");
        let finish = |message: &str| begun(Some(real.clone())).finish(message.as_bytes());
        for (from, to) in
            [("biws", "eSws"), ("%hv", "%hw"), ("p=d", "p=!"), (",p=", ",q="), ("VQ=", "")]
        {
            let end = finish(&CLIENT_FINAL.replace(from, to));
            assert!(matches!(end, Err(ExchangeError::Malformed(_))), "{from}: {end:?}");
        }
        let end = finish(&CLIENT_FINAL.replace("p=dH", "p=dI"));
        assert_eq!(end, Err(ExchangeError::Refused));
    }

    #[test]
    fn every_cut_of_a_message_is_refused() {
        for end in 0..CLIENT_FIRST.len() - "rOprNGfwEbeRWgbNEkqO".len() + 1 {
            let cut = &CLIENT_FIRST.as_bytes()[..end];
            assert!(ClientFirst::parse(MECHANISM, cut, &Binding::None).is_err(), "{end}");
        }
        let real = verifier("pencil");
        for end in 0..CLIENT_FINAL.len() {
            let exchange = begun(Some(real.clone()));
            assert!(exchange.finish(&CLIENT_FINAL.as_bytes()[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn binding_is_taken_only_where_it_was_offered() {
        let certificate = Binding::Certificate(vec![1; 32]);
        let parse = |mechanism, flag: &str, binding: &Binding| {
            let message = format!("{flag},,n=,r=abc");
            ClientFirst::parse(mechanism, message.as_bytes(), binding).map(|first| first.bound)
        };
        let bound = parse(MECHANISM_PLUS, "p=tls-server-end-point", &certificate).unwrap();
        assert!(bound.ends_with(&[1; 32]) && bound.starts_with(b"p=tls-server-end-point,,"));
        assert_eq!(parse(MECHANISM, "y", &certificate), Err(ExchangeError::Downgraded));
        assert!(parse(MECHANISM, "y", &Binding::None).is_ok());
        assert!(parse(MECHANISM, "n", &certificate).is_ok());
        assert!(parse(MECHANISM_PLUS, "n", &certificate).is_err());
        assert!(parse(MECHANISM_PLUS, "p=tls-unique", &certificate).is_err());
        assert!(parse(MECHANISM_PLUS, "p=tls-server-end-point", &Binding::None).is_err());
        assert!(parse("SCRAM-SHA-1", "n", &Binding::None).is_err());
    }

    #[test]
    fn other_identities_and_mandatory_extensions_are_not_supported() {
        for message in ["n,a=other,n=,r=abc", "n,,m=x,n=,r=abc"] {
            let parsed = ClientFirst::parse(MECHANISM, message.as_bytes(), &Binding::None);
            assert_eq!(parsed.unwrap_err().sqlstate(), "0A000");
        }
    }
}
