//! What is kept of a password.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::crypto::{self, Bytes32};

/// Name of the kind of verifier in its text.
const SCHEME: &str = "SCRAM-SHA-256";

/// Rounds of a new verifier, as many as PostgreSQL takes.
const ITERATIONS: u32 = 4096;

/// Rounds that a given verifier may ask for; its client has to compute them.
const ITERATIONS_MAX: u32 = 10_000_000;

/// Bytes of the salt of a new verifier, as many as PostgreSQL takes.
const SALT_BYTES: usize = 16;

/// Bytes of the salt of a given verifier.
const SALT_BYTES_MAX: usize = 1024;

/// Enough to check a password, not enough to log in with it. Its text is PostgreSQL's.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    pub(crate) iterations: u32,
    pub(crate) salt: Vec<u8>,
    pub(crate) stored_key: Bytes32,
    pub(crate) server_key: Bytes32,
}

/// What a statement or a person gave as a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Password {
    /// It is empty, which stands for none.
    None,
    /// It was a verifier, or one was made of it.
    Verifier(Verifier),
}

/// Why a password is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordError {
    /// It is the MD5 hash of one.
    Md5,
    /// The system has no random bytes.
    Random,
}

impl fmt::Display for PasswordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Md5 => "not supported: passwords hashed by MD5",
            Self::Random => "could not generate random salt",
        })
    }
}

impl std::error::Error for PasswordError {}

impl Password {
    /// Takes a password in clear, or the text of a verifier as it is.
    ///
    /// # Errors
    /// MD5 hashes; no random bytes.
    pub fn new(text: &str) -> Result<Self, PasswordError> {
        if text.is_empty() {
            return Ok(Self::None);
        }
        if is_md5(text) {
            return Err(PasswordError::Md5);
        }
        if let Some(verifier) = Verifier::parse(text) {
            return Ok(Self::Verifier(verifier));
        }
        if prepared(text).is_empty() {
            return Ok(Self::None);
        }
        let mut salt = vec![0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|_| PasswordError::Random)?;
        Ok(Self::Verifier(Verifier::of(text, salt, ITERATIONS)))
    }
}

impl Verifier {
    /// Reads the text of a verifier; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('$');
        let (scheme, rounds, keys) = (parts.next()?, parts.next()?, parts.next()?);
        if scheme != SCHEME || parts.next().is_some() {
            return None;
        }
        let (iterations, salt) = rounds.split_once(':')?;
        let (stored_key, server_key) = keys.split_once(':')?;
        let key = |text: &str| Bytes32::try_from(BASE64.decode(text).ok()?).ok();
        let iterations =
            iterations.bytes().all(|byte| byte.is_ascii_digit()).then_some(iterations)?;
        let salt = BASE64.decode(salt).ok()?;
        Some(Self {
            iterations: iterations.parse().ok().filter(|n| (1..=ITERATIONS_MAX).contains(n))?,
            salt: Some(salt).filter(|salt| (1..=SALT_BYTES_MAX).contains(&salt.len()))?,
            stored_key: key(stored_key)?,
            server_key: key(server_key)?,
        })
    }

    /// Whether `password` is the one it was made of.
    pub fn accepts(&self, password: &str) -> bool {
        let computed = Self::of(password, self.salt.clone(), self.iterations);
        subtle::ConstantTimeEq::ct_eq(&computed.stored_key[..], &self.stored_key[..]).into()
    }

    pub(crate) fn of(password: &str, salt: Vec<u8>, iterations: u32) -> Self {
        let password = prepared(password);
        let salted = crypto::salted_password(password.as_bytes(), &salt, iterations);
        let client_key = crypto::hmac(&salted, &[b"Client Key"]);
        Self {
            iterations,
            salt,
            stored_key: crypto::hash(&client_key),
            server_key: crypto::hmac(&salted, &[b"Server Key"]),
        }
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| BASE64.encode(bytes);
        let (stored, server) = (text(&self.stored_key), text(&self.server_key));
        write!(f, "{SCHEME}${}:{}${stored}:{server}", self.iterations, text(&self.salt))
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(..)")
    }
}

/// Makes up verifiers for roles that have none, so that asking does not tell who has one.
///
/// The key is to stay the same from start to start of a database: a real salt does too.
#[derive(Clone)]
pub struct MockKey([u8; 32]);

impl MockKey {
    /// Takes a secret that no client knows.
    pub fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// Returns a verifier that looks like that of `role` and accepts nothing.
    pub(crate) fn verifier(&self, role: &str) -> Verifier {
        let made = |what: &[u8]| crypto::hmac(&self.0, &[what, role.as_bytes()]);
        Verifier {
            iterations: ITERATIONS,
            salt: made(b"salt:")[..SALT_BYTES].to_vec(),
            stored_key: made(b"stored:"),
            server_key: made(b"server:"),
        }
    }
}

impl fmt::Debug for MockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MockKey(..)")
    }
}

/// What SASLprep has no answer for is taken as it is, as PostgreSQL and its clients do.
fn prepared(password: &str) -> Cow<'_, str> {
    stringprep::saslprep(password).unwrap_or(password.into())
}

fn is_md5(text: &str) -> bool {
    let hex = text.strip_prefix("md5");
    hex.is_some_and(|hex| hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the password and the salt of RFC 7677.
    fn pencil() -> Verifier {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        Verifier::of("pencil", salt, 4096)
    }

    #[test]
    fn text_of_a_verifier_is_postgresqls() {
        let text = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$\
                    WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
                    wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
        assert_eq!(pencil().to_string(), text);
        assert_eq!(Verifier::parse(text), Some(pencil()));
        assert_eq!(Password::new(text), Ok(Password::Verifier(pencil())));
    }

    #[test]
    fn texts_that_are_nearly_verifiers_are_passwords_in_clear() {
        let text = pencil().to_string();
        let broken = [
            text.replace("4096", "0"),
            text.replace("4096", "+4096"),
            text.replace("4096", "99999999"),
            text.replace("W22ZaJ0SNY7soEsUEjb6gQ==", ""),
            text.replace("SCRAM-SHA-256", "SCRAM-SHA-1"),
            text.replace("WG5d", "WG5"),
            format!("{text}$"),
        ];
        for text in broken {
            assert_eq!(Verifier::parse(&text), None, "{text}");
        }
    }

    #[test]
    fn password_is_checked_and_never_shown() {
        let Ok(Password::Verifier(verifier)) = Password::new("s3cret") else { panic!() };
        assert!(verifier.accepts("s3cret") && !verifier.accepts("s3cres"));
        let shown = format!("{verifier:?} {verifier}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn soft_hyphens_and_wide_blanks_do_not_make_another_password() {
        let verifier = Verifier::of("I\u{ad}X\u{a0}1", vec![1; 16], 2);
        assert!(verifier.accepts("IX 1"));
    }

    #[test]
    fn empty_passwords_and_md5_hashes_are_none() {
        assert_eq!(Password::new(""), Ok(Password::None));
        assert_eq!(Password::new("\u{ad}"), Ok(Password::None));
        let md5 = "md5a6343a68d964ca596d9752250d54bb8a";
        assert_eq!(Password::new(md5), Err(PasswordError::Md5));
    }

    #[test]
    fn made_up_verifiers_stay_the_same_and_differ_by_role() {
        let key = MockKey::new([3; 32]);
        assert_eq!(key.verifier("a"), key.verifier("a"));
        assert_ne!(key.verifier("a").salt, key.verifier("b").salt);
        assert_ne!(key.verifier("a").salt, MockKey::new([4; 32]).verifier("a").salt);
    }
}
