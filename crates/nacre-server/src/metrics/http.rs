//! Answers HTTP requests for metrics and health: one for each connection, GET and HEAD, no body.
//!
//! Heads are read by `httparse`. A whole HTTP server would weigh more than what is needed here: to
//! answer three paths within bounds.
//!
//! # Invariants
//! Whoever is slow or wrong is answered or closed within [`HEAD_TIMEOUT`] and [`TIMEOUT`], and
//! costs at most [`HEAD_BYTES_MAX`] bytes and one of [`CONNECTIONS_MAX`] places. Nobody waits for a
//! place: if there is none, the oldest connection ends.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::text;
use crate::connection::Shared;

/// Bytes of the head of a request.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// Lines of a head.
const HEADERS_MAX: usize = 64;

/// Requests at a time; the oldest one goes for the next.
const CONNECTIONS_MAX: usize = 16;

/// Longest time until the head of a request is there.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest time of an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long taking connections rests when the system has no room for one.
const ACCEPT_REST: Duration = Duration::from_millis(100);

const PLAIN: &str = "text/plain; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is answered.
struct Answer {
    status: &'static str,
    content_type: &'static str,
    body: String,
}

impl Answer {
    fn plain(status: &'static str, body: &str) -> Self {
        Self { status, content_type: PLAIN, body: format!("{body}\n") }
    }
}

/// What the head of a request says.
#[derive(Debug, PartialEq, Eq)]
enum Head {
    /// More bytes have to come.
    Partial,
    Malformed,
    Request {
        method: String,
        path: String,
    },
}

/// Answers requests until it is dropped; `is_ready` tells whether sessions may begin.
pub(crate) async fn answer(
    listener: TcpListener,
    shared: Arc<Shared>,
    is_ready: impl Fn() -> bool + Clone + Send + 'static,
) {
    // Dropped with this, and so are those whom it answers.
    let mut answering = JoinSet::new();
    let mut places: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        while answering.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_REST).await;
            continue;
        };
        let (shared, is_ready) = (Arc::clone(&shared), is_ready.clone());
        places.retain(|place| !place.is_finished());
        if places.len() >= CONNECTIONS_MAX
            && let Some(oldest) = places.pop_front()
        {
            oldest.abort();
        }
        // Whoever does not listen does not hear it.
        places.push_back(answering.spawn(async move {
            let _ = serve(stream, shared, is_ready).await;
        }));
    }
}

async fn serve(
    mut stream: TcpStream,
    shared: Arc<Shared>,
    is_ready: impl Fn() -> bool,
) -> io::Result<()> {
    let head = match timeout(HEAD_TIMEOUT, read_head(&mut stream)).await?? {
        Some(Head::Partial) => return Ok(()),
        head => head,
    };
    let (answer, has_body) = match head {
        Some(Head::Request { method, path }) => {
            (of_path(&method, &path, shared, is_ready).await, method != "HEAD")
        }
        Some(_) => (Answer::plain("400 Bad Request", "this is no request"), true),
        None => {
            let status = "431 Request Header Fields Too Large";
            (Answer::plain(status, "the head of the request is too long"), true)
        }
    };
    let Answer { status, content_type, body } = answer;
    let mut text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    if has_body {
        text.push_str(&body);
    }
    let sent = async {
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await
    };
    timeout(TIMEOUT, sent).await?
}

/// Reads a head: `Partial` if the client went before it was there, `None` if it is too long.
async fn read_head(stream: &mut TcpStream) -> io::Result<Option<Head>> {
    let mut bytes = Vec::new();
    loop {
        if bytes.len() > HEAD_BYTES_MAX {
            return Ok(None);
        }
        match parse(&bytes) {
            Head::Partial if stream.read_buf(&mut bytes).await? > 0 => {}
            head => return Ok(Some(head)),
        }
    }
}

fn parse(bytes: &[u8]) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) => Head::Partial,
        Ok(httparse::Status::Complete(_)) => match (request.method, request.path) {
            (Some(method), Some(path)) => {
                let path = path.split('?').next().unwrap_or_default().to_owned();
                Head::Request { method: method.to_owned(), path }
            }
            _ => Head::Malformed,
        },
        Err(_) => Head::Malformed,
    }
}

async fn of_path(
    method: &str,
    path: &str,
    shared: Arc<Shared>,
    is_ready: impl Fn() -> bool,
) -> Answer {
    match path {
        "/metrics" | "/health" | "/ready" if !matches!(method, "GET" | "HEAD") => {
            Answer::plain("405 Method Not Allowed", "GET and HEAD are allowed")
        }
        "/health" => Answer::plain("200 OK", "alive"),
        "/ready" if is_ready() => Answer::plain("200 OK", "accepting connections"),
        "/ready" => Answer::plain("503 Service Unavailable", "shutting down"),
        "/metrics" => {
            let written = tokio::task::spawn_blocking(move || {
                let Shared { database, counters, options, sessions, .. } = &*shared;
                text::metrics(database, counters, options, sessions.count())
            });
            match written.await {
                Ok(body) => Answer { status: "200 OK", content_type: PROMETHEUS, body },
                Err(_) => Answer::plain("500 Internal Server Error", "the metrics failed"),
            }
        }
        _ => Answer::plain("404 Not Found", "there are /metrics, /health and /ready"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_read_when_it_is_whole() {
        let request = |method: &str, path: &str| Head::Request {
            method: method.to_owned(),
            path: path.to_owned(),
        };
        assert_eq!(parse(b""), Head::Partial);
        assert_eq!(parse(b"GET /metrics HTTP/1.1\r\nHost: a\r\n"), Head::Partial);
        assert_eq!(parse(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), request("GET", "/metrics"));
        assert_eq!(parse(b"HEAD /ready?x=1 HTTP/1.0\r\n\r\n"), request("HEAD", "/ready"));
        assert_eq!(parse(b"\0\0\0\x08\x04\xd2\x16\x2f"), Head::Malformed);
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(parse(many.as_bytes()), Head::Malformed);
    }
}
