//! Who is let in, and how.

use std::future::Future;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use nacre_server::{AccessOptions, Server, ServerOptions, TlsMode};
use nacre_sql::{Database, OpenOptions, RoleDef};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_postgres::config::{ChannelBinding as Wanted, Config, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{ChannelBinding, NoTls, TlsConnect, TlsStream};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio_rustls::{TlsConnector, client};

use crate::support::{Fixture, field, message, startup, workers};

/// Connects as `user` and says what comes of it.
async fn connect(fixture: &Fixture, user: &str, password: &str) -> Result<(), SqlState> {
    let mut config = Config::new();
    config.user(user).dbname("nacre").password(password);
    let stream = TcpStream::connect(fixture.address).await.unwrap();
    match config.connect_raw(stream, NoTls).await {
        Ok((client, connection)) => {
            let connection = tokio::spawn(connection);
            client.batch_execute("select 1").await.unwrap();
            drop(client);
            connection.await.unwrap().unwrap();
            Ok(())
        }
        Err(error) => Err(error.code().unwrap_or_else(|| panic!("{error}")).clone()),
    }
}

async fn fixture(directory: Option<&Path>, tls: TlsMode) -> (Fixture, Database) {
    let database = Database::open(OpenOptions::default()).unwrap();
    let directory = directory.map(Path::to_path_buf);
    let access = AccessOptions { directory, tls, certificate: None };
    let options = ServerOptions { access, ..ServerOptions::default() };
    (Fixture::start_over(database.clone(), options).await, database)
}

#[tokio::test(flavor = "multi_thread")]
async fn password_is_asked_for_once_there_is_one() {
    let (fixture, database) = fixture(None, TlsMode::Off).await;
    assert_eq!(connect(&fixture, "nacre", "any").await, Ok(()));
    // Who needs a password does not learn who is there.
    let nacre = RoleDef::clone(&database.store().role("nacre").unwrap());
    let there = RoleDef { oid: 20, name: "there".into(), is_superuser: false, ..nacre };
    database.store().define_role(there).unwrap();
    for name in ["there", "nobody"] {
        assert_eq!(connect(&fixture, name, "any").await, Err(SqlState::INVALID_PASSWORD));
    }
    database.set_password("nacre", "s3cret").unwrap();
    assert_eq!(connect(&fixture, "nacre", "s3cret").await, Ok(()));
    assert_eq!(connect(&fixture, "nacre", "other").await, Err(SqlState::INVALID_PASSWORD));
    assert_eq!(connect(&fixture, "nobody", "s3cret").await, Err(SqlState::INVALID_PASSWORD));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_that_may_not_log_in_and_passwords_that_ended_are_refused() {
    let (fixture, database) = fixture(None, TlsMode::Off).await;
    database.set_password("nacre", "s3cret").unwrap();
    let nacre = RoleDef::clone(&database.store().role("nacre").unwrap());
    let other = |oid, name: &str| RoleDef { oid, name: name.into(), ..nacre.clone() };
    let group = RoleDef { can_login: false, ..other(20, "staff") };
    let past = RoleDef { valid_until: Some(1), ..other(21, "past") };
    let future = RoleDef { valid_until: Some(i64::MAX - 1), ..other(22, "future") };
    for role in [group, past, future] {
        database.store().define_role(role).unwrap();
    }
    let staff = connect(&fixture, "staff", "s3cret").await;
    assert_eq!(staff, Err(SqlState::INVALID_AUTHORIZATION_SPECIFICATION));
    assert_eq!(connect(&fixture, "past", "s3cret").await, Err(SqlState::INVALID_PASSWORD));
    assert_eq!(connect(&fixture, "future", "s3cret").await, Ok(()));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_role_is_asked_as_any_other_is() {
    let (fixture, database) = fixture(None, TlsMode::Off).await;
    database.set_password("nacre", "s3cret").unwrap();
    let mut asked = Vec::new();
    for user in ["nacre", "nobody", "nobody"] {
        let mut raw = fixture.raw().await;
        raw.send(&startup(3 << 16, &[("user", user)])).await;
        let (_, mechanisms) = raw.next().await.unwrap();
        let first = b"SCRAM-SHA-256\0\0\0\0\x0bn,,n=,r=abc";
        raw.send(&message(b'p', first)).await;
        let (kind, continued) = raw.next().await.unwrap();
        let text = String::from_utf8(continued[4..].to_vec()).unwrap();
        let (nonce, rest) = text.split_once(",s=").unwrap();
        asked.push((mechanisms, kind, nonce.len(), rest.len(), rest.to_owned()));
    }
    let (nacre, nobody, again) = (&asked[0], &asked[1], &asked[2]);
    assert_eq!((&nacre.0, nacre.1, nacre.2, nacre.3), (&nobody.0, nobody.1, nobody.2, nobody.3));
    assert_eq!(nobody.4, again.4, "the salt that is made up stays the same");
    assert_ne!(nobody.4, nacre.4);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guessing_is_slowed_down() {
    let (fixture, database) = fixture(None, TlsMode::Off).await;
    database.set_password("nacre", "s3cret").unwrap();
    // The machine's own addresses are not counted, but the role is.
    for _ in 0..22 {
        assert_eq!(connect(&fixture, "nacre", "guess").await, Err(SqlState::INVALID_PASSWORD));
    }
    let begin = std::time::Instant::now();
    assert_eq!(connect(&fixture, "nacre", "s3cret").await, Ok(()));
    assert!(begin.elapsed().as_millis() >= 400, "{:?}", begin.elapsed());
    let begin = std::time::Instant::now();
    assert_eq!(connect(&fixture, "nacre", "s3cret").await, Ok(()));
    assert!(begin.elapsed().as_millis() < 400, "there is no queue");
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_the_file_hold() {
    let directory = tempfile::tempdir().unwrap();
    let rules = "host all nobody all reject\nhost nacre nacre loopback trust\n";
    std::fs::write(directory.path().join("access.conf"), rules).unwrap();
    let (fixture, database) = fixture(Some(directory.path()), TlsMode::Off).await;
    database.set_password("nacre", "s3cret").unwrap();
    assert_eq!(connect(&fixture, "nacre", "wrong").await, Ok(()), "trusted");
    let mut raw = fixture.raw().await;
    raw.send(&startup(3 << 16, &[("user", "nobody")])).await;
    let (_, body) = raw.next().await.unwrap();
    let text = field(&body, b'M').unwrap();
    assert_eq!(
        text,
        "access.conf rejects connection for host \"127.0.0.1\", user \"nobody\", database \
         \"nobody\", no encryption"
    );
    let mut raw = fixture.raw().await;
    raw.send(&startup(3 << 16, &[("user", "nacre"), ("database", "postgres")])).await;
    let (_, body) = raw.next().await.unwrap();
    assert!(field(&body, b'M').unwrap().starts_with("no access.conf entry for host"));
    assert_eq!(field(&body, b'C').as_deref(), Some("28000"));
    fixture.stop().await;
}

async fn cannot_start(options: ServerOptions, database: &Database) -> String {
    match Server::bind(database.clone(), options, workers()).await {
        Ok(_) => panic!("it starts"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_others_reach_needs_tls_and_a_password() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(OpenOptions::default()).unwrap();
    let options = |tls| ServerOptions {
        // No server is ever made of it that takes a connection.
        listen: vec!["0.0.0.0:0".into()],
        access: AccessOptions {
            directory: Some(directory.path().into()),
            tls,
            ..AccessOptions::default()
        },
        ..ServerOptions::default()
    };
    let error = cannot_start(options(TlsMode::Prefer), &database).await;
    assert!(error.contains("without a password of the superuser"), "{error}");
    database.set_password("nacre", "s3cret").unwrap();
    let error = cannot_start(options(TlsMode::Off), &database).await;
    assert!(error.contains("without TLS"), "{error}");
    std::fs::write(directory.path().join("access.conf"), "\nhost all all\n").unwrap();
    let error = cannot_start(options(TlsMode::Require), &database).await;
    assert!(error.contains("access.conf, line 2: expected TYPE"), "{error}");
    std::fs::remove_file(directory.path().join("access.conf")).unwrap();
    let key = directory.path().join("server.pem");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let error = cannot_start(options(TlsMode::Prefer), &database).await;
    assert!(error.contains("group or world access"), "{error}");
}

/// Connects by TLS, trusting the certificate of the server only.
async fn connect_by_tls(
    fixture: &Fixture,
    directory: &Path,
    wanted: Wanted,
) -> Result<(), tokio_postgres::Error> {
    let pem = std::fs::read(directory.join("server.pem")).unwrap();
    let certificate = CertificateDer::from_pem_slice(&pem).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let hash = Sha256::digest(&certificate).to_vec();
    let tls = Tls { connector: TlsConnector::from(Arc::new(client)), hash };
    let mut config = Config::new();
    config.user("nacre").dbname("nacre").password("s3cret");
    config.ssl_mode(SslMode::Require).channel_binding(wanted);
    let stream = TcpStream::connect(fixture.address).await.unwrap();
    let (client, connection) = config.connect_raw(stream, tls).await?;
    tokio::spawn(connection);
    client.batch_execute("select 1").await
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_encrypted_and_bound_to_the_certificate() {
    let directory = tempfile::tempdir().unwrap();
    let (fixture, database) = fixture(Some(directory.path()), TlsMode::Require).await;
    database.set_password("nacre", "s3cret").unwrap();
    for wanted in [Wanted::Require, Wanted::Disable] {
        connect_by_tls(&fixture, directory.path(), wanted).await.unwrap();
    }
    let in_clear = connect(&fixture, "nacre", "s3cret").await;
    assert_eq!(in_clear, Err(SqlState::INVALID_AUTHORIZATION_SPECIFICATION));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_sent_before_tls_begins_are_not_taken_for_encrypted_ones() {
    let directory = tempfile::tempdir().unwrap();
    let (fixture, _database) = fixture(Some(directory.path()), TlsMode::Prefer).await;
    let mut raw = fixture.raw().await;
    let mut both = vec![0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f];
    both.extend(startup(3 << 16, &[("user", "nacre")]));
    raw.send(&both).await;
    let mut answer = [0];
    tokio::io::AsyncReadExt::read_exact(&mut raw.0, &mut answer).await.unwrap();
    assert_eq!(&answer, b"S");
    assert_eq!(raw.end().await.as_deref(), Some("08P01"));
    fixture.stop().await;
}

struct Tls {
    connector: TlsConnector,
    hash: Vec<u8>,
}

struct Encrypted(client::TlsStream<TcpStream>, Vec<u8>);

impl TlsConnect<TcpStream> for Tls {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, stream: TcpStream) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
            Ok(Encrypted(self.connector.connect(name, stream).await?, self.hash))
        })
    }
}

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::tls_server_end_point(self.1.clone())
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
