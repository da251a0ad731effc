//! Begins a session: network, TLS, who we are.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use nacre_access::certificate_hash;
use nacre_sql::{Error, ErrorKind, Result};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::messages::{Report, Stream, Wire};
use super::passfile;
use super::target::{Target, TlsUse};
use super::trust;

/// Wait for a connection unless the target says otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Asks the user for a password; `None` if there is nobody to ask.
pub(super) type Ask<'a> = &'a mut (dyn FnMut(&Target) -> Option<String> + Send);

/// A session that has begun.
pub(super) struct Begun {
    pub(super) wire: Wire,
    /// What a cancel request has to show.
    pub(super) key: Option<(i32, i32)>,
    pub(super) server_version: String,
    pub(super) is_encrypted: bool,
}

/// Why a session did not begin.
enum Failure {
    Io(io::Error),
    /// What the server answered.
    Refused(Box<Report>),
    /// What we do not go along with.
    Unfit(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Begins a session.
///
/// # Errors
/// [`ErrorKind::Open`], naming the server and what it answered.
pub(super) async fn connect(target: &Target, ask: Ask<'_>) -> Result<Begun> {
    let error = match begin(target, ask).await {
        Ok(begun) => return Ok(begun),
        Err(Failure::Refused(report)) => {
            let error = report.into_error("");
            let message = format!("connection to {} failed: {}", target.place(), error.message());
            let refused = Error::new(ErrorKind::Open, message);
            return Err(match error.hint() {
                Some(hint) => refused.with_hint(hint),
                None => refused,
            });
        }
        Err(Failure::Unfit(message)) => message,
        Err(Failure::Io(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            let message = format!("connection to {} failed: {error}", target.place());
            let hint = "Is a server running there? `nacre serve DIR` starts one.";
            return Err(Error::new(ErrorKind::Open, message).with_hint(hint));
        }
        Err(Failure::Io(error)) => error.to_string(),
    };
    let message = format!("connection to {} failed: {error}", target.place());
    Err(Error::new(ErrorKind::Open, message))
}

async fn begin(target: &Target, ask: Ask<'_>) -> std::result::Result<Begun, Failure> {
    let limit = target.connect_timeout.unwrap_or(TIMEOUT);
    let late = || io::Error::new(io::ErrorKind::TimedOut, "timeout expired");
    let opened = tokio::time::timeout(limit, open(target)).await.map_err(|_| late())?;
    let (stream, certificate) = opened?;
    let is_encrypted = certificate.is_some();
    let mut wire = Wire::new(stream);
    let mut parameters = vec![
        ("user", target.user.as_str()),
        ("database", target.database.as_str()),
        ("application_name", target.application_name.as_str()),
        ("client_encoding", "UTF8"),
    ];
    parameters.extend(target.options.as_deref().map(|options| ("options", options)));
    let mut out = BytesMut::new();
    frontend::startup_message(parameters, &mut out)?;
    wire.send(&out).await?;
    let mut begun = Begun { wire, key: None, server_version: String::new(), is_encrypted };
    authenticate(&mut begun.wire, target, certificate, ask).await?;
    loop {
        match begun.wire.receive().await? {
            Message::BackendKeyData(key) => begun.key = Some((key.process_id(), key.secret_key())),
            Message::ParameterStatus(status) if status.name()? == "server_version" => {
                status.value()?.clone_into(&mut begun.server_version);
            }
            Message::ErrorResponse(body) => {
                return Err(Failure::Refused(Box::new(Report::new(body.fields())?)));
            }
            Message::NoticeResponse(body) => {
                crate::cli::report::print(&Report::new(body.fields())?.text());
            }
            Message::ReadyForQuery(_) => return Ok(begun),
            _ => {}
        }
    }
}

/// Opens the stream of bytes, and returns with it what a proof is bound to if it is encrypted.
async fn open(
    target: &Target,
) -> std::result::Result<(Box<dyn Stream>, Option<Option<Vec<u8>>>), Failure> {
    let mut stream = TcpStream::connect((target.host.as_str(), target.port)).await?;
    stream.set_nodelay(true)?;
    if target.tls == TlsUse::Disable {
        return Ok((Box::new(stream), None));
    }
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request).await?;
    match stream.read_u8().await? {
        b'S' => {}
        b'N' if target.tls == TlsUse::Prefer => return Ok((Box::new(stream), None)),
        b'N' => return Err(Failure::Unfit("server does not support SSL".to_owned())),
        _ => return Err(Failure::Unfit("the server does not speak PostgreSQL's protocol".into())),
    }
    let config = trust::config(target).map_err(Failure::Unfit)?;
    let name = ServerName::try_from(target.host.clone())
        .map_err(|_| Failure::Unfit(format!("\"{}\" is no name of a host", target.host)))?;
    let stream = TlsConnector::from(config).connect(name, stream).await?;
    let certificates = stream.get_ref().1.peer_certificates();
    let binding = certificates.and_then(|found| certificate_hash(found.first()?));
    Ok((Box::new(stream), Some(binding)))
}

async fn authenticate(
    wire: &mut Wire,
    target: &Target,
    certificate: Option<Option<Vec<u8>>>,
    ask: Ask<'_>,
) -> std::result::Result<(), Failure> {
    let mut scram: Option<ScramSha256> = None;
    loop {
        let mut out = BytesMut::new();
        match wire.receive().await? {
            Message::AuthenticationOk => return Ok(()),
            Message::AuthenticationCleartextPassword => {
                if certificate.is_none() {
                    let message = "the server asks for the password in clear, without encryption";
                    return Err(Failure::Unfit(message.to_owned()));
                }
                frontend::password_message(password(target, ask)?.as_bytes(), &mut out)?;
            }
            Message::AuthenticationMd5Password(body) => {
                let password = password(target, ask)?;
                let hash = md5_hash(target.user.as_bytes(), password.as_bytes(), body.salt());
                frontend::password_message(hash.as_bytes(), &mut out)?;
            }
            Message::AuthenticationSasl(body) => {
                let password = password(target, ask)?;
                let (mechanism, binding) = mechanism(&body, certificate.as_ref())?;
                let begun = ScramSha256::new(password.as_bytes(), binding);
                frontend::sasl_initial_response(mechanism, begun.message(), &mut out)?;
                scram = Some(begun);
            }
            Message::AuthenticationSaslContinue(body) => {
                let scram = scram.as_mut().ok_or_else(unexpected)?;
                scram.update(body.data())?;
                frontend::sasl_response(scram.message(), &mut out)?;
            }
            Message::AuthenticationSaslFinal(body) => {
                scram.as_mut().ok_or_else(unexpected)?.finish(body.data())?;
            }
            Message::ErrorResponse(body) => {
                return Err(Failure::Refused(Box::new(Report::new(body.fields())?)));
            }
            Message::NoticeResponse(_) | Message::ParameterStatus(_) => {}
            _ => return Err(Failure::Unfit("unsupported authentication method".to_owned())),
        }
        if !out.is_empty() {
            wire.send(&out).await?;
        }
    }
}

fn unexpected() -> Failure {
    Failure::Unfit("unexpected message during authentication".to_owned())
}

/// Chooses how to prove that we know the password.
fn mechanism(
    body: &AuthenticationSaslBody,
    certificate: Option<&Option<Vec<u8>>>,
) -> std::result::Result<(&'static str, ChannelBinding), Failure> {
    let (mut has_plain, mut has_bound) = (false, false);
    let mut mechanisms = body.mechanisms();
    while let Some(mechanism) = mechanisms.next()? {
        has_plain |= mechanism == SCRAM_SHA_256;
        has_bound |= mechanism == SCRAM_SHA_256_PLUS;
    }
    match certificate {
        Some(Some(hash)) if has_bound => {
            Ok((SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash.clone())))
        }
        Some(Some(_)) if has_plain => Ok((SCRAM_SHA_256, ChannelBinding::unrequested())),
        _ if has_plain => Ok((SCRAM_SHA_256, ChannelBinding::unsupported())),
        _ => Err(Failure::Unfit("the server asks for no mechanism that we know".to_owned())),
    }
}

/// Returns the password: given, from the password file, or asked for.
fn password(target: &Target, ask: Ask<'_>) -> std::result::Result<String, Failure> {
    let given = target.password.clone().or_else(|| passfile::password(target));
    given.or_else(|| ask(target)).ok_or_else(|| {
        Failure::Unfit("no password supplied; PGPASSWORD, ~/.pgpass or the URL may give it".into())
    })
}
