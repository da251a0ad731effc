//! How a connection begins: encryption, who is there, and what the session is told at first.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use nacre_sql::{Joined, Notice, Participant, Session, SessionInfo};
use pgwire::messages::response::{GssEncResponse, SslResponse};
use pgwire::messages::startup::{
    Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tracing::{debug, warn};

use super::openings::ConnectionPlace;
use super::serving::{Connection, End, REFUSAL_TIMEOUT, Shared, Stream};
use super::thread_wait::{SessionSocket, within};
use super::watch::Watch;
use crate::report::{self, Severity};
use crate::sessions::{
    Applicant, NoPlace, Registered, SECRET_BYTES_3_0, SECRET_BYTES_3_2, Sessions,
};
use crate::wire::backend::Outbox;
use crate::wire::frames::{Frames, OPENING_BYTES_MAX};
use crate::wire::frontend;

/// Version of the protocol.
const MAJOR: i32 = 3;

/// Newest minor version of it.
const MINOR_MAX: u16 = 2;

/// What clients are told while the server ends.
pub(crate) const SHUTTING_DOWN: &str = "the database system is shutting down";

/// A connection that has not begun its session.
pub(super) struct Opening {
    pub(super) shared: Arc<Shared>,
    pub(super) peer: SocketAddr,
    /// Where the client has reached us.
    local: SocketAddr,
    pub(super) is_tls: bool,
    socket: SessionSocket,
    pub(super) stream: Box<dyn Stream>,
    pub(super) frames: Frames,
    pub(super) out: Outbox,
}

/// What a client asked for.
pub(super) struct Asked {
    minor: u16,
    parameters: Vec<(String, String)>,
}

/// A session that may begin.
pub(super) struct Started {
    user: String,
    session: Arc<Session>,
    registered: Registered,
    activity: Joined,
}

impl Opening {
    pub(super) fn new(socket: SessionSocket, peer: SocketAddr, shared: Arc<Shared>) -> Self {
        let (frames, out) = (Frames::new(OPENING_BYTES_MAX), Outbox::default());
        // A socket that has gone already ends the connection when it is read.
        let local = socket.stream().local_addr().unwrap_or(peer);
        let stream = Box::new(socket.clone());
        Self { shared, peer, local, is_tls: false, socket, stream, frames, out }
    }

    /// Hears the client, lets it in, and tells it what it has to know; `None` if it only wanted to
    /// cancel something.
    pub(super) async fn begin(&mut self) -> Result<Option<Started>, End> {
        let Some(asked) = self.hear().await? else { return Ok(None) };
        let asked = self.negotiate(asked);
        let value = |name: &str| {
            let found = asked.parameters.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
        };
        let Some(user) = value("user") else {
            let message = "no PostgreSQL user name specified in startup packet".to_owned();
            return Err(End::Fatal { code: "28000", message });
        };
        let database = value("database");
        let role = self.authenticate(database.unwrap_or(user), user).await?;
        check_database(database, user)?;
        let secret_bytes = if asked.minor < 2 { SECRET_BYTES_3_0 } else { SECRET_BYTES_3_2 };
        let secret = secret(secret_bytes)?;
        let applicant = Applicant {
            role: role.oid,
            is_superuser: role.is_superuser,
            limit: role.connection_limit,
        };
        let registered = self.shared.sessions.register(secret.clone(), applicant);
        let registered = registered.map_err(|reason| no_place(reason, user))?;
        let session = self.shared.database.session_for(SessionInfo {
            user: user.to_owned(),
            role: Some(role.oid),
            process_id: registered.process_id,
            client: Some(self.peer),
            server: Some(self.local),
            ..SessionInfo::default()
        });
        let warnings = apply(&asked.parameters, &session)?;
        let info = session.info();
        let participant = Participant {
            process_id: info.process_id,
            user: info.user.clone(),
            database: info.database.clone(),
            address: info.client,
            is_encrypted: self.is_tls,
        };
        let signals = Arc::clone(&registered.signals);
        let activity = self.shared.database.join(participant, move |request| signals.take(request));
        self.out.put(&Authentication::Ok);
        let key = match <[u8; 4]>::try_from(secret.as_ref()) {
            Ok(four) => SecretKey::I32(i32::from_be_bytes(four)),
            Err(_) => SecretKey::Bytes(secret),
        };
        self.out.put(&BackendKeyData::new(registered.process_id, key));
        warnings.iter().for_each(|warning| self.out.put(&report::notice(warning)));
        let (id, peer, is_tls) = (registered.process_id, self.peer, self.is_tls);
        self.shared.counters.session();
        debug!(session = id, %peer, user, is_tls, "session began");
        let user = user.to_owned();
        Ok(Some(Started { user, session: Arc::new(session), registered, activity }))
    }

    /// Answers questions about encryption and cancel requests, until a session is asked for.
    pub(super) async fn hear(&mut self) -> Result<Option<Asked>, End> {
        loop {
            let body = loop {
                if let Some(body) = self.frames.next_opening()? {
                    break body;
                }
                if self.frames.fill(&mut self.stream).await? == 0 {
                    return Err(End::Closed);
                }
            };
            match frontend::Opening::decode(body)? {
                frontend::Opening::Tls => match self.shared.access.tls(self.peer) {
                    Some(config) if !self.is_tls => self.encrypt(config).await?,
                    _ => self.out.put(&SslResponse::Refuse),
                },
                frontend::Opening::Gss => self.out.put(&GssEncResponse::Refuse),
                frontend::Opening::Cancel { process_id, secret } => {
                    self.shared.sessions.cancel(process_id, &secret);
                    return Ok(None);
                }
                frontend::Opening::Startup { minor, parameters } => {
                    return Ok(Some(Asked { minor, parameters }));
                }
                frontend::Opening::Version { major, minor } => {
                    let message = format!(
                        "unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.2"
                    );
                    return Err(End::Fatal { code: "0A000", message });
                }
            }
            self.out.send(&mut self.stream).await?;
        }
    }

    /// Goes on encrypted.
    async fn encrypt(&mut self, config: Arc<ServerConfig>) -> Result<(), End> {
        self.out.put(&SslResponse::Accept);
        self.out.send(&mut self.stream).await?;
        // What came in clear behind the question may be somebody else's.
        if !self.frames.is_empty() {
            return Err(End::protocol_violation("received unencrypted data after SSL request"));
        }
        let stream = std::mem::replace(&mut self.stream, Box::new(tokio::io::empty()));
        self.stream = Box::new(TlsAcceptor::from(config).accept(stream).await?);
        self.is_tls = true;
        Ok(())
    }

    /// Tells a client that asks for a newer version, or for options of it, what is spoken here.
    fn negotiate(&mut self, asked: Asked) -> Asked {
        let Asked { minor, parameters } = asked;
        let (unknown, parameters): (Vec<_>, Vec<_>) =
            parameters.into_iter().partition(|(name, _)| name.starts_with("_pq_."));
        // 3.1 was never spoken by anybody.
        let spoken = if minor >= MINOR_MAX { MINOR_MAX } else { 0 };
        if minor != spoken || !unknown.is_empty() {
            let names = unknown.into_iter().map(|(name, _)| name).collect();
            let version = (MAJOR << 16) | i32::from(spoken);
            self.out.put(&NegotiateProtocolVersion::new(version, names));
        }
        Asked { minor: spoken, parameters }
    }

    /// Says why there will be no session.
    pub(super) async fn refuse(&mut self, code: &str, message: &str) {
        self.shared.counters.refusal();
        warn!(peer = %self.peer, sqlstate = code, error = message, "connection refused");
        self.out.put(&report::plain(Severity::Fatal, code, message));
        // A client that does not listen does not hear it.
        let _ = within(REFUSAL_TIMEOUT, self.out.send(&mut self.stream)).await;
    }

    pub(super) fn into_connection(self, started: Started, place: ConnectionPlace) -> Connection {
        let Self { shared, socket, stream, mut frames, out, is_tls, .. } = self;
        let look = Some(Arc::clone(socket.stream())).filter(|_| !is_tls);
        let watch = Watch::new(look, Arc::clone(&shared.watchers));
        frames.set_limit(shared.options.message_bytes_max);
        let Started { user, session, registered, activity } = started;
        Connection {
            shared,
            socket,
            stream,
            frames,
            watch,
            out,
            session,
            registered,
            activity,
            user,
            unnamed: None,
            named: Default::default(),
            portals: Default::default(),
            is_skipping: false,
            deadline: None,
            idle: None,
            _place: place,
        }
    }
}

impl Connection {
    /// Tells the client the settings that changed since it was told last.
    pub(super) fn report_settings(&mut self) {
        for (name, value) in self.session.reported_changes() {
            if name == "application_name" {
                self.activity.set_application(&value);
            }
            self.out.put(&ParameterStatus::new(name, value));
        }
    }
}

/// Refuses a connection outside of a session. Cancel requests for one of `sessions` are served.
pub(crate) async fn dismiss(
    mut stream: TcpStream,
    code: &str,
    message: &str,
    sessions: Option<&Sessions>,
) {
    let (mut frames, mut out) = (Frames::new(OPENING_BYTES_MAX), Outbox::default());
    let told = async {
        loop {
            let Some(body) = frames.next_opening()? else {
                if !out.is_empty() {
                    out.send(&mut stream).await?;
                }
                match frames.fill(&mut stream).await? {
                    0 => return Err(End::Closed),
                    _ => continue,
                }
            };
            match frontend::Opening::decode(body)? {
                frontend::Opening::Tls => out.put(&SslResponse::Refuse),
                frontend::Opening::Gss => out.put(&GssEncResponse::Refuse),
                frontend::Opening::Cancel { process_id, secret } => {
                    if let Some(sessions) = sessions {
                        sessions.cancel(process_id, &secret);
                    }
                    return Ok(());
                }
                frontend::Opening::Startup { .. } | frontend::Opening::Version { .. } => {
                    out.put(&report::plain(Severity::Fatal, code, message));
                    out.send(&mut stream).await?;
                    return Ok::<(), End>(());
                }
            }
        }
    };
    // Whoever does not listen does not hear it.
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, told).await;
}

/// Applies the settings of a startup packet; returns warnings for the client.
fn apply(parameters: &[(String, String)], session: &Session) -> Result<Vec<Notice>, End> {
    let fatal = |error: nacre_sql::Error| End::Fatal {
        code: error.sqlstate(),
        message: error.message().to_owned(),
    };
    let mut warnings = Vec::new();
    for (name, value) in parameters {
        match name.as_str() {
            "user" | "database" => {}
            "options" => {
                for (name, value) in options(value)? {
                    warnings.extend(session.set_setting(&name, &value).map_err(fatal)?);
                }
            }
            "replication" if matches!(value.as_str(), "false" | "off" | "no" | "0") => {}
            "replication" => {
                let message = "not supported: replication connections".to_owned();
                return Err(End::Fatal { code: "0A000", message });
            }
            name => warnings.extend(session.set_setting(name, value).map_err(fatal)?),
        }
    }
    Ok(warnings)
}

/// Reads `-c name=value` and `--name=value`; a backslash takes a blank as it is.
fn options(text: &str) -> Result<Vec<(String, String)>, End> {
    let mut words = vec![String::new()];
    let mut characters = text.chars();
    while let Some(one) = characters.next() {
        match (one, words.last_mut()) {
            ('\\', Some(word)) => word.extend(characters.next()),
            (one, _) if one.is_whitespace() => words.push(String::new()),
            (one, Some(word)) => word.push(one),
            (_, None) => {}
        }
    }
    let invalid = |word: &str| End::Fatal {
        code: "42601",
        message: format!("invalid command-line argument for server process: {word}"),
    };
    let mut settings = Vec::new();
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("-c").or_else(|| word.strip_prefix("--")) {
            Some("") => words.next().ok_or_else(|| invalid(&word))?,
            Some(setting) => setting.to_owned(),
            None => return Err(invalid(&word)),
        };
        let (name, value) = setting.split_once('=').ok_or_else(|| invalid(&setting))?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

/// Refuses databases that are not here. Tools ask for `postgres`, clients that are not told a name
/// ask for that of the user.
fn check_database(asked: Option<&str>, user: &str) -> Result<(), End> {
    match asked {
        None | Some("nacre" | "postgres") => Ok(()),
        Some(asked) if asked == user => Ok(()),
        Some(asked) => {
            let message = format!(
                "database \"{asked}\" does not exist: the database of this server is \"nacre\""
            );
            Err(End::Fatal { code: "3D000", message })
        }
    }
}

/// Returns what a client is told for whom there is no session.
fn no_place(reason: NoPlace, user: &str) -> End {
    let (code, message) = match reason {
        NoPlace::Ending => ("57P03", SHUTTING_DOWN.to_owned()),
        NoPlace::TooMany => ("53300", "sorry, too many clients already".to_owned()),
        NoPlace::Reserved => (
            "53300",
            "remaining connection slots are reserved for non-replication superuser connections"
                .to_owned(),
        ),
        NoPlace::OfRole => ("53300", format!("too many connections for role \"{user}\"")),
    };
    End::Fatal { code, message }
}

fn secret(bytes: usize) -> Result<Bytes, End> {
    let mut secret = vec![0; bytes];
    getrandom::fill(&mut secret).map_err(|error| End::Fatal {
        code: "58000",
        message: format!("could not generate random cancel key: {error}"),
    })?;
    Ok(Bytes::from(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_settings() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let read = options("-c a=1 -cb=x\\ y  --search-path=public").unwrap();
        assert_eq!(read, [pair("a", "1"), pair("b", "x y"), pair("search_path", "public")]);
        assert!(options("-x").is_err() && options("-c a").is_err() && options("-c").is_err());
        assert!(options("").unwrap().is_empty());
    }
}
