//! A server whose address space ends: statements that want too much fail alone.

#![allow(clippy::unwrap_used, reason = "a failed test may panic where it stands")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use support::{nacre, signal, wait_for_exit};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Address space that the server may grow by.
const MORE_BYTES: u64 = 512 << 20;

struct Session(TcpStream);

impl Session {
    fn start(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut session = Self(stream);
        session.0.write_all(b"\0\0\0\x14\0\x03\0\0user\0nacre\0\0").unwrap();
        session.answer();
        session
    }

    /// Runs a statement; returns the fields of its rows and of an error, one behind the other.
    fn query(&mut self, sql: &str) -> String {
        let mut message = vec![b'Q'];
        message.extend_from_slice(&(sql.len() as u32 + 5).to_be_bytes());
        message.extend_from_slice(sql.as_bytes());
        message.push(0);
        self.0.write_all(&message).unwrap();
        self.answer()
    }

    fn answer(&mut self) -> String {
        let mut told = String::new();
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head).unwrap();
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; length as usize - 4];
            self.0.read_exact(&mut body).unwrap();
            match head[0] {
                b'Z' => return told,
                b'D' | b'E' => told.push_str(&String::from_utf8_lossy(&body)),
                _ => {}
            }
        }
    }
}

/// Ends the process also if the test fails.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Functions made long texts without asking: a failing allocation aborted the process, and all
/// sessions with it.
#[test]
fn texts_that_the_system_has_no_memory_for_fail_alone() {
    let directory = tempfile::tempdir().unwrap();
    let process = nacre(directory.path())
        .args(["serve", "db", "--listen", "127.0.0.1:0"])
        .env("NACRE_QUERY_MEMORY_MIB", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut server = Server(process);
    let lines = BufReader::new(server.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut addresses =
        lines.filter_map(|line| line.strip_prefix("listening on ").map(str::to_owned));
    let address = addresses.next().unwrap();
    let (mut one, mut other) = (Session::start(&address), Session::start(&address));
    assert!(one.query("select length(repeat('a', 1000000) || 'b')").contains("1000001"));

    let id = server.0.id();
    let pages = fs::read_to_string(format!("/proc/{id}/statm")).unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    let limit = Some(pages * rustix::param::page_size() as u64 + MORE_BYTES);
    let pid = Pid::from_raw(i32::try_from(id).unwrap());
    let maximum = getrlimit(Resource::As).maximum;
    prlimit(pid, Resource::As, Rlimit { current: limit, maximum }).unwrap();

    let mut refused = 0;
    for sql in [
        "select length(repeat('a', 150000000) || repeat('b', 150000000))",
        "select length(repeat('a', 400000000))",
        "select length(concat_ws(',', repeat('a', 150000000), repeat('b', 150000000)))",
        "select length(upper(repeat('a', 150000000)))",
        // Constants that are no literals: the planner computed them, and copied what it got.
        "select length(repeat(chr(97), 150000000) || repeat(chr(98), 150000000) \
         || repeat(chr(99), 150000000))",
        "select length(lpad(chr(97), 15 * 10000000, chr(98)) || rpad('a', 15 * 10000000))",
        "select sum(length(x || x)) from (select repeat('a', 20000) as x \
         from generate_series(1, 7000) g) q",
    ] {
        let told = one.query(sql);
        // The allocator may have kept enough of what it had before the limit.
        refused += usize::from(told.contains("53200"));
        assert!(told.contains("53200") || told.contains("0000000"), "{sql}: {told}");
        // The session goes on, and so do the others.
        assert!(one.query("select length(repeat('a', 1000000) || 'b')").contains("1000001"));
        assert!(other.query("select 6 * 7").contains("42"), "{sql}");
    }
    assert!(refused > 0, "nothing was refused");
    drop((one, other));
    signal(&server.0, "TERM");
    assert!(wait_for_exit(&mut server.0).success());
}
