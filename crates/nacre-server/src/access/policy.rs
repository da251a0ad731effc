//! Decides about connections.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use nacre_access::{
    Admission, Attempt, Binding, Guard, Identity, MockKey, Rules, Verifier, kept_secret,
};
use nacre_sql::{Database, RoleDef};

use super::options::{AccessOptions, TlsMode};

/// File of rules in the database directory.
const RULES: &str = "access.conf";

/// File of the secret that made-up verifiers come from.
const MOCK_SECRET: &str = "access.key";

/// What decides about connections.
pub(crate) struct Access {
    rules: Rules,
    identity: Option<Identity>,
    tls: TlsMode,
    pub(crate) guard: Guard,
    pub(crate) mock: MockKey,
}

/// What a connection has to do.
#[derive(Debug)]
pub(crate) enum Demand {
    /// Nothing more.
    Nothing,
    /// Prove that it knows the password; without a verifier it will not.
    Proof(Option<Verifier>),
    /// Go away.
    Refused(String),
}

impl Access {
    /// Reads rules, certificate and secret; makes the last two at the first start.
    ///
    /// # Errors
    /// Files that are not what they have to be; the message names file and line.
    pub(crate) fn open(options: &AccessOptions) -> io::Result<Self> {
        let directory = options.directory.as_deref();
        let identity = match (options.tls, &options.certificate, directory) {
            (TlsMode::Off, _, _) => None,
            (_, Some((certificate, key)), _) => Some(Identity::load(certificate, key)),
            (_, None, Some(directory)) => Some(Identity::self_signed(directory)),
            (_, None, None) => None,
        };
        let identity = identity.transpose().map_err(|error| invalid(error.to_string()))?;
        if options.tls == TlsMode::Require && identity.is_none() {
            return Err(invalid("TLS needs a certificate or a database directory".to_owned()));
        }
        let secret = match directory.map(|directory| kept_secret(&directory.join(MOCK_SECRET))) {
            Some(Ok(secret)) => secret,
            // Where nothing can be kept it stays the same for as long as the server runs.
            Some(Err(_)) | None => {
                let mut secret = [0; 32];
                getrandom::fill(&mut secret).map_err(io::Error::other)?;
                secret
            }
        };
        let rules = directory.map_or_else(|| Ok(Rules::safe()), rules)?;
        let (guard, mock) = (Guard::default(), MockKey::new(secret));
        Ok(Self { rules, identity, tls: options.tls, guard, mock })
    }

    /// Refuses to be reached by other machines without TLS and a password.
    pub(crate) fn check_listening(
        &self,
        text: &str,
        address: SocketAddr,
        database: &Database,
    ) -> io::Result<()> {
        let superuser = database.store().role(nacre_sql::BOOTSTRAP_ROLE);
        let missing = match (&self.identity, superuser.is_some_and(|role| role.verifier.is_some()))
        {
            _ if address.ip().to_canonical().is_loopback() => return Ok(()),
            (Some(_), true) => return Ok(()),
            (None, _) => "TLS: do not turn it off".to_owned(),
            (_, false) => format!(
                "a password of the superuser: set one by `nacre password DIR` or {}",
                "the environment variable NACRE_PASSWORD"
            ),
        };
        Err(invalid(format!(
            "refusing to listen on {text}, which other machines reach, without {missing}"
        )))
    }

    /// Returns what a connection from there is encrypted by, if it may be.
    pub(crate) fn tls(&self, peer: SocketAddr) -> Option<Arc<tokio_rustls::rustls::ServerConfig>> {
        let is_local = peer.ip().to_canonical().is_loopback();
        let identity = self.identity.as_ref();
        identity.filter(|_| self.tls != TlsMode::Remote || !is_local).map(Identity::config)
    }

    /// Returns the fingerprint of the certificate.
    pub(crate) fn fingerprint(&self) -> Option<String> {
        self.identity.as_ref().map(Identity::fingerprint)
    }

    /// Returns what proofs of a connection are bound to.
    pub(crate) fn binding(&self, is_tls: bool) -> Binding {
        let identity = self.identity.as_ref().filter(|_| is_tls);
        identity.map_or(Binding::None, Identity::binding)
    }

    /// Says what a connection has to do before it may begin a session of `role`, if that is there.
    pub(crate) fn demand(
        &self,
        attempt: Attempt<'_>,
        role: Option<&RoleDef>,
        database: &Database,
    ) -> Demand {
        if self.tls == TlsMode::Require && !attempt.is_tls {
            return Demand::Refused("this server takes encrypted connections only".to_owned());
        }
        let has_password = |role: &RoleDef| role.verifier.is_some();
        match self.rules.admission(attempt) {
            Admission::Trust => Demand::Nothing,
            Admission::PasswordIfAny => {
                let superuser = database.store().role(nacre_sql::BOOTSTRAP_ROLE);
                let is_open = !superuser.is_some_and(|role| has_password(&role));
                match role {
                    Some(role) if is_open && role.name == nacre_sql::BOOTSTRAP_ROLE => {
                        Demand::Nothing
                    }
                    role => Demand::Proof(verifier(role)),
                }
            }
            Admission::Password => Demand::Proof(verifier(role)),
            Admission::Reject => {
                Demand::Refused(described("access.conf rejects connection", attempt))
            }
            Admission::NoEntry => Demand::Refused(described("no access.conf entry", attempt)),
        }
    }
}

/// Returns what a password of the role is checked by, unless its time is over.
fn verifier(role: Option<&RoleDef>) -> Option<Verifier> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
    let role = role.filter(|role| role.valid_until.is_none_or(|until| now < until))?;
    Verifier::parse(role.verifier.as_deref()?)
}

fn described(what: &str, attempt: Attempt<'_>) -> String {
    let Attempt { address, is_tls, database, user } = attempt;
    let encryption = if is_tls { "SSL encryption" } else { "no encryption" };
    let address = address.to_canonical();
    format!("{what} for host \"{address}\", user \"{user}\", database \"{database}\", {encryption}")
}

fn rules(directory: &Path) -> io::Result<Rules> {
    let path = directory.join(RULES);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            Rules::parse(&text).map_err(|error| invalid(format!("{}, {error}", path.display())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Rules::safe()),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
