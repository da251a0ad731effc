//! A server as an operator sees it: its log and its metrics.

#![allow(clippy::unwrap_used, reason = "a failed test may panic where it stands")]

mod support;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;
use support::{Ran, nacre, ran, signal, wait_for_exit};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose log is a file.
struct Server {
    process: Child,
    address: String,
    metrics: Option<String>,
}

impl Server {
    fn start(directory: &Path, options: &[&str]) -> Self {
        let mut process = nacre(directory)
            .args(["serve", "db", "--listen", "127.0.0.1:0"])
            .args(options)
            .env_remove("NACRE_LOG")
            .stdout(Stdio::piped())
            .stderr(File::create(directory.join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        // Ends the process if it does not say where it is.
        let mut server = Self { process, address: String::new(), metrics: None };
        let mut after = |start: &str| {
            let said = lines.by_ref().map_while(Result::ok);
            let mut said = said.filter_map(|line| line.strip_prefix(start).map(str::to_owned));
            said.next().unwrap()
        };
        server.address = after("listening on ");
        if options.contains(&"--metrics") {
            let url = after("metrics on http://");
            server.metrics = url.strip_suffix("/metrics").map(str::to_owned);
        }
        server
    }

    fn session(&self) -> Session {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut session = Session(stream);
        session.0.write_all(b"\0\0\0\x14\0\x03\0\0user\0nacre\0\0").unwrap();
        session.until_ready();
        session
    }

    /// Asks for a path over HTTP; returns the status and the body.
    fn get(&self, path: &str) -> (String, String) {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n"))
    }

    fn ask(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.metrics.as_ref().unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.lines().next().unwrap().strip_prefix("HTTP/1.1 ").unwrap();
        (status.to_owned(), body.to_owned())
    }

    fn stop(mut self) {
        signal(&self.process, "TERM");
        assert!(wait_for_exit(&mut self.process).success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Of a test that failed; else it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A session that is spoken to by bytes.
struct Session(TcpStream);

impl Session {
    fn query(&mut self, sql: &str) {
        let mut message = vec![b'Q'];
        message.extend_from_slice(&(sql.len() as u32 + 5).to_be_bytes());
        message.extend_from_slice(sql.as_bytes());
        message.push(0);
        self.0.write_all(&message).unwrap();
        self.until_ready();
    }

    fn until_ready(&mut self) {
        let mut head = [0; 5];
        while head[0] != b'Z' {
            self.0.read_exact(&mut head).unwrap();
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; length as usize - 4];
            self.0.read_exact(&mut body).unwrap();
        }
    }
}

fn lines_of(directory: &Path) -> Vec<Value> {
    let log = fs::read_to_string(directory.join("log")).unwrap();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn with_message<'a>(lines: &'a [Value], message: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["message"] == message).collect()
}

#[test]
fn log_tells_what_happened_and_no_password() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--log-format", "json", "--log-level", "debug", "--log-min-duration", "0"];
    let server = Server::start(directory.path(), &options);
    let mut session = server.session();
    session.query("create table shell (layers integer)");
    session.query("insert into shell values (3)");
    session.query("select layers / 0 from shell");
    session.query("alter role nacre pasword 'hunter2\n{\"message\": \"forged\"}'");
    session.query("checkpoint");
    let mut stranger = TcpStream::connect(&server.address).unwrap();
    stranger.write_all(b"\0\0\0\x22\0\x03\0\0user\0nacre\0database\0none\0\0").unwrap();
    stranger.read_to_end(&mut Vec::new()).unwrap();
    drop(session);
    server.stop();
    let text = fs::read_to_string(directory.path().join("log")).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    let lines = lines_of(directory.path());
    for message in ["starting", "ready to accept connections", "checkpoint", "session began"] {
        assert_eq!(with_message(&lines, message).len(), 1, "{message}: {text}");
    }
    let failed = with_message(&lines, "statement failed");
    assert_eq!(failed.len(), 2, "{text}");
    assert_eq!(failed[0]["level"], "WARN");
    assert_eq!(failed[0]["sqlstate"], "22012");
    assert_eq!(failed[0]["user"], "nacre");
    assert_eq!(failed[0]["statement"], "select layers / 0 from shell");
    assert_eq!(failed[1]["statement"], "alter role nacre pasword <redacted>");
    let slow = with_message(&lines, "slow statement");
    assert!(slow.iter().any(|line| line["statement"] == "checkpoint"), "{text}");
    assert!(slow[0]["duration_ms"].is_f64());
    let refused = with_message(&lines, "connection refused");
    assert_eq!(refused.len(), 1, "{text}");
    assert_eq!(refused[0]["sqlstate"], "3D000");
    assert_eq!(lines.last().unwrap()["message"], "stopped");
}

#[test]
fn log_of_text_has_a_line_for_each_event() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--log-level", "warn"]);
    let mut session = server.session();
    session.query("select 'a\nb' from nowhere");
    drop(session);
    server.stop();
    let log = fs::read_to_string(directory.path().join("log")).unwrap();
    // The server may see its end before that of the session, which is an event, too.
    assert!(log.lines().all(|line| line.contains(" WARN ")), "{log}");
    let failed: Vec<&str> = log.lines().filter(|line| line.contains("statement failed")).collect();
    assert_eq!(failed.len(), 1, "{log}");
    for word in ["sqlstate=\"42P01\"", "user=\"nacre\"", "nowhere"] {
        assert!(failed[0].contains(word), "{log}");
    }
}

#[test]
fn levels_that_are_none_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let serve = |options: &[&str], variable: &str| {
        let mut command = nacre(directory.path());
        command.args(["serve", "db"]).args(options).env("NACRE_LOG", variable);
        ran(command.output().unwrap())
    };
    for Ran { code, err: told, .. } in [serve(&["--log-level", "loud"], ""), serve(&[], "loud")] {
        assert_eq!(code, 1, "{told}");
        assert!(told.contains("\"loud\" is none of"), "{told}");
    }
}

#[test]
fn metrics_and_health_are_told_over_http() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--metrics", "0"]);
    assert!(server.metrics.as_ref().unwrap().starts_with("127.0.0.1:"));
    let mut session = server.session();
    session.query("create table shell (layers integer)");
    session.query("insert into shell values (3), (4)");
    session.query("select * from nowhere");
    session.query("checkpoint");
    let (status, body) = server.get("/metrics");
    assert_eq!(status, "200 OK");
    for sample in [
        "nacre_sessions 1",
        "nacre_sessions_max 100",
        "nacre_sessions_begun_total 1",
        "nacre_statements_total{kind=\"insert\"} 1",
        "nacre_statements_total{kind=\"definition\"} 1",
        "nacre_statement_errors_total{sqlstate=\"42P01\"} 1",
        "nacre_transactions 0",
        "nacre_missing_domains 0",
    ] {
        assert!(body.lines().any(|line| line == sample), "{sample}: {body}");
    }
    for name in ["nacre_checkpoint_age_seconds ", "nacre_replica_bytes{domain=\"main\"} "] {
        assert!(body.contains(name), "{name}: {body}");
    }
    assert_eq!(server.get("/health"), ("200 OK".to_owned(), "alive\n".to_owned()));
    assert_eq!(server.get("/ready?a=b").0, "200 OK");
    assert_eq!(server.get("/").0, "404 Not Found");
    assert_eq!(server.ask("POST /metrics HTTP/1.1\r\n\r\n").0, "405 Method Not Allowed");
    assert_eq!(server.ask("HEAD /health HTTP/1.1\r\n\r\n"), ("200 OK".to_owned(), String::new()));
    assert_eq!(server.ask("\0\0\0\x08").0, "400 Bad Request");
    drop(session);
    server.stop();
}

#[test]
fn long_head_is_refused_and_others_are_answered() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--metrics", "127.0.0.1:0"]);
    let address = server.metrics.clone().unwrap();
    // These say nothing and stay; the oldest ones go for who comes next.
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(8 << 10));
    assert_eq!(server.ask(&long).0, "431 Request Header Fields Too Large");
    assert_eq!(server.get("/health").0, "200 OK");
    drop(silent);
    server.stop();
}
