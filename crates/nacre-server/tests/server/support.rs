//! Servers and clients for the tests.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

use nacre_server::{Server, ServerOptions, Shutdown};
use nacre_sql::{Database, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls};

/// Longest wait for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Threads of queries, others than those of servers and clients: all tests share them.
pub(crate) fn workers() -> Handle {
    static WORKERS: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
    WORKERS.handle().clone()
}

/// Threads of this process that have the name now, also for other tests.
pub(crate) fn threads_named(name: &str) -> BTreeSet<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| {
        let path = task.ok()?.path();
        let is_named = std::fs::read_to_string(path.join("comm")).ok()?.trim_end() == name;
        is_named.then(|| path.display().to_string())
    });
    names.collect()
}

/// Waits until there is at least one more thread of the name than those.
pub(crate) async fn until_thread_begun(name: &str, before: &BTreeSet<String>) {
    let begun = async {
        while threads_named(name).is_subset(before) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, begun).await.unwrap();
}

/// Waits until none of these threads is there any more.
pub(crate) async fn until_threads_ended(threads: &BTreeSet<String>) {
    let is_there = |path: &String| std::fs::exists(path).unwrap();
    let ended = async {
        while threads.iter().any(is_there) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, ended).await.unwrap();
}

/// A server over a volatile database.
pub(crate) struct Fixture {
    pub(crate) address: SocketAddr,
    pub(crate) shutdown: Shutdown,
    pub(crate) running: JoinHandle<()>,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::start_with(ServerOptions::default()).await
    }

    pub(crate) async fn start_with(options: ServerOptions) -> Self {
        Self::start_over(Database::open(OpenOptions::default()).unwrap(), options).await
    }

    pub(crate) async fn start_over(database: Database, options: ServerOptions) -> Self {
        let options = ServerOptions { listen: vec!["127.0.0.1:0".into()], ..options };
        let server = Server::bind(database, options, workers()).await.unwrap();
        let (address, shutdown) = (server.addresses()[0], server.shutdown());
        let running = tokio::spawn(server.run());
        Self { address, shutdown, running }
    }

    pub(crate) async fn client(&self) -> Client {
        let url = self.url();
        let connecting = tokio_postgres::connect(&url, NoTls);
        let (client, connection) = timeout(PATIENCE, connecting).await.unwrap().unwrap();
        tokio::spawn(connection);
        client
    }

    pub(crate) fn url(&self) -> String {
        format!("host=127.0.0.1 port={} user=nacre dbname=nacre", self.address.port())
    }

    /// A connection that is spoken to by hand.
    pub(crate) async fn raw(&self) -> Raw {
        Raw(TcpStream::connect(self.address).await.unwrap())
    }

    /// Ends the server and waits for its end.
    pub(crate) async fn stop(self) {
        self.shutdown.begin();
        timeout(PATIENCE, self.running).await.unwrap().unwrap();
    }
}

/// A connection of bytes.
pub(crate) struct Raw(pub(crate) TcpStream);

impl Raw {
    /// Begins a session and waits until it is ready.
    pub(crate) async fn begin(&mut self) {
        self.send(&startup(3 << 16, &[("user", "nacre"), ("database", "nacre")])).await;
        let messages = self.until(b'Z').await;
        assert_eq!(messages.last().unwrap(), &(b'Z', b"I".to_vec()));
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// Reads messages up to one of that kind.
    pub(crate) async fn until(&mut self, kind: u8) -> Vec<(u8, Vec<u8>)> {
        let mut messages = Vec::new();
        while messages.last().is_none_or(|(last, _)| *last != kind) {
            let next = timeout(PATIENCE, self.next()).await.unwrap();
            messages.push(next.unwrap_or_else(|| panic!("the server ended: {messages:?}")));
        }
        messages
    }

    /// Reads messages until the server was ready so many times.
    pub(crate) async fn messages(&mut self, ready: usize) -> Vec<(u8, Vec<u8>)> {
        let mut messages = Vec::new();
        for _ in 0..ready {
            messages.extend(self.until(b'Z').await);
        }
        messages
    }

    /// Reads a message; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let kind = self.0.read_u8().await.ok()?;
        let length = self.0.read_u32().await.ok()?;
        let mut body = vec![0; length as usize - 4];
        self.0.read_exact(&mut body).await.ok()?;
        Some((kind, body))
    }

    /// Reads to the end and returns the code of the last error.
    pub(crate) async fn end(&mut self) -> Option<String> {
        let mut code = None;
        let all = async {
            while let Some((kind, body)) = self.next().await {
                if kind == b'E' {
                    code = field(&body, b'C');
                }
            }
        };
        timeout(PATIENCE, all).await.unwrap();
        code
    }
}

/// Returns a field of an error.
pub(crate) fn field(body: &[u8], code: u8) -> Option<String> {
    let found = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&code))?;
    Some(String::from_utf8(found[1..].to_vec()).unwrap())
}

/// The kinds of messages.
pub(crate) fn kinds(messages: &[(u8, Vec<u8>)]) -> String {
    messages.iter().map(|(kind, _)| char::from(*kind)).collect()
}

/// The message that begins a session.
pub(crate) fn startup(version: i32, parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    for (name, value) in parameters {
        body.extend_from_slice(name.as_bytes());
        body.push(0);
        body.extend_from_slice(value.as_bytes());
        body.push(0);
    }
    body.push(0);
    let mut message = (body.len() as u32 + 4).to_be_bytes().to_vec();
    message.extend(body);
    message
}

/// A message of a session.
pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(body);
    message
}

pub(crate) fn query(sql: &str) -> Vec<u8> {
    message(b'Q', format!("{sql}\0").as_bytes())
}

pub(crate) fn parse(name: &str, sql: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{sql}\0\0\0").as_bytes())
}

/// Binds a statement without parameters.
pub(crate) fn bind(portal: &str, statement: &str) -> Vec<u8> {
    message(b'B', format!("{portal}\0{statement}\0\0\0\0\0\0\0").as_bytes())
}

pub(crate) fn describe(portal: &str) -> Vec<u8> {
    message(b'D', format!("P{portal}\0").as_bytes())
}

pub(crate) fn describe_statement(name: &str) -> Vec<u8> {
    message(b'D', format!("S{name}\0").as_bytes())
}

pub(crate) fn execute(portal: &str, rows_max: u32) -> Vec<u8> {
    let mut body = format!("{portal}\0").into_bytes();
    body.extend_from_slice(&rows_max.to_be_bytes());
    message(b'E', &body)
}

pub(crate) fn sync() -> Vec<u8> {
    message(b'S', b"")
}
