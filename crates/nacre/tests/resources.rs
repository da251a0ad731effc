//! What a server takes of the machine: file descriptors and memory of its sessions.

#![allow(clippy::unwrap_used, reason = "a failed test may panic where it stands")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::{nacre, signal, wait_for_exit};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of a new database, ended when it is dropped.
struct ServedProcess {
    process: Child,
    address: String,
}

impl ServedProcess {
    /// Starts one; `limits` are run by a shell before.
    fn start(directory: &Path, limits: &str) -> Self {
        let program = nacre(directory).get_program().to_owned();
        let mut command = Command::new("sh");
        command.current_dir(directory).args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")]);
        command.arg(program).args(["serve", "db", "--listen", "127.0.0.1:0"]);
        command.env_remove("NACRE_LOG").stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(fs::File::create(directory.join("log")).unwrap());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").map(str::to_owned);
        let served = Self { process, address: address.unwrap_or_default() };
        assert!(!served.address.is_empty(), "{line}{}", log_of(directory));
        served
    }

    /// Begins a session, or returns the code of the error.
    fn connect(&self) -> Result<RawSession, String> {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut session = RawSession(stream);
        // A connection that is closed unheard may be gone by now.
        let sent = session.0.write_all(b"\0\0\0\x14\0\x03\0\0user\0nacre\0\0");
        sent.map_err(|error| error.to_string())?;
        session.until_ready().map(|()| session)
    }

    /// Returns a figure of the process in KiB.
    fn kib_of(&self, file: &str, name: &str) -> u64 {
        let path = format!("/proc/{}/{file}", self.process.id());
        let text = fs::read_to_string(path).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches("kB").trim().parse().unwrap()
    }

    fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }

    fn session_threads(&self) -> usize {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let names =
            tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
        names.filter(|name| name.trim() == "nacre-session").count()
    }
}

impl Drop for ServedProcess {
    fn drop(&mut self) {
        if self.process.try_wait().unwrap().is_none() {
            signal(&self.process, "TERM");
            wait_for_exit(&mut self.process);
        }
    }
}

fn log_of(directory: &Path) -> String {
    fs::read_to_string(directory.join("log")).unwrap()
}

/// Waits until something holds.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A session that is spoken to by bytes.
struct RawSession(TcpStream);

impl RawSession {
    fn query(&mut self, sql: &str) -> Result<(), String> {
        let mut message = vec![b'Q'];
        message.extend_from_slice(&(sql.len() as u32 + 5).to_be_bytes());
        message.extend_from_slice(sql.as_bytes());
        message.push(0);
        self.0.write_all(&message).unwrap();
        self.until_ready()
    }

    /// Reads messages until the server is ready, or has ended the connection; returns the error.
    fn until_ready(&mut self) -> Result<(), String> {
        let mut outcome = Ok(());
        let mut head = [0; 5];
        while head[0] != b'Z' {
            if let Err(error) = self.0.read_exact(&mut head) {
                return Err(outcome.err().unwrap_or_else(|| error.to_string()));
            }
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; length as usize - 4];
            self.0.read_exact(&mut body).map_err(|error| error.to_string())?;
            if head[0] == b'E' {
                let code = body.split(|byte| *byte == 0).find(|field| field.starts_with(b"C"));
                outcome = Err(String::from_utf8_lossy(&code.unwrap()[1..]).into_owned());
            }
        }
        outcome
    }
}

#[test]
fn store_keeps_descriptors_when_connections_have_taken_theirs() {
    let directory = tempfile::tempdir().unwrap();
    let server = ServedProcess::start(directory.path(), "ulimit -n 128");
    let mut first = server.connect().unwrap();
    let mut sessions = Vec::new();
    let refused = loop {
        match server.connect() {
            Ok(session) => sessions.push(session),
            Err(code) => break code,
        }
        assert!(sessions.len() < 128, "no connection is refused");
    };
    assert_eq!(refused, "53300");
    assert!(sessions.len() >= 8, "{} sessions", sessions.len());
    // Connections that say nothing are refused as well.
    let silent: Vec<_> = (0..64).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    wait_until("refusals are told beside them", || {
        server.connect().err().as_deref() == Some("53300")
    });
    first.query("create table t (id int primary key, v text)").unwrap();
    first.query("insert into t select i, 'v' from generate_series(1, 200000) g(i)").unwrap();
    first.query("checkpoint").unwrap();
    let rows: String = (0..100_000).map(|row| format!("{row},w\n")).collect();
    fs::write(directory.path().join("rows.csv"), rows).unwrap();
    first.query("create table u (id int primary key, v text)").unwrap();
    let path = directory.path().join("rows.csv");
    first.query(&format!("copy u from '{}' (format csv)", path.display())).unwrap();
    for session in &mut sessions {
        session.query("update t set v = 'w' where id = 1").unwrap();
    }
    first.query("alter table u add column w int default 5").unwrap();
    drop((silent, sessions));
    wait_until("connections are taken again", || server.connect().is_ok());
    let log = log_of(directory.path());
    assert!(log.contains("file descriptors are short"), "{log}");
}

#[test]
fn soft_limit_of_descriptors_is_raised_and_sessions_take_two() {
    let directory = tempfile::tempdir().unwrap();
    let server = ServedProcess::start(directory.path(), "ulimit -S -n 64");
    let before = server.descriptors();
    let mut sessions: Vec<_> = (0..50).map(|_| server.connect().unwrap()).collect();
    for session in &mut sessions {
        session.query("select 1").unwrap();
    }
    let descriptors = server.descriptors() - before;
    assert!(descriptors <= 2 * sessions.len() + 4, "{descriptors}");
    let silent: Vec<_> = (0..50).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    sessions[0].query("select 1").unwrap();
    let descriptors = server.descriptors() - before;
    assert!(descriptors <= 2 * (sessions.len() + silent.len()) + 4, "{descriptors}");
    drop((sessions, silent));
    wait_until("descriptors are given back", || server.descriptors() <= before + 4);
}

#[test]
fn idle_sessions_take_little_memory_and_give_it_back() {
    const SESSIONS: usize = 90;
    const MIB: u64 = 1 << 10;
    let directory = tempfile::tempdir().unwrap();
    let server = ServedProcess::start(directory.path(), "true");
    let mut first = server.connect().unwrap();
    let statements = |session: &mut RawSession, id: usize| {
        session.query(&format!("insert into t values ({id}, 'v')")).unwrap();
        session.query(&format!("select * from t where id = {id}")).unwrap();
        session.query("select v, count(*), max(id) from t group by v order by 2 desc").unwrap();
        session.query("begin; update t set v = 'w' where id < 5; rollback").unwrap();
        session
            .query("select relname from pg_class c join pg_namespace n on n.oid = relnamespace")
            .unwrap();
    };
    first.query("create table t (id int primary key, v text)").unwrap();
    statements(&mut first, 0);
    wait_until("the first session rests", || server.session_threads() == 0);
    let before = server.kib_of("smaps_rollup", "Pss:");
    let mut sessions: Vec<_> = (0..SESSIONS).map(|_| server.connect().unwrap()).collect();
    for (id, session) in sessions.iter_mut().enumerate() {
        statements(session, id + 1);
    }
    let busy = server.kib_of("smaps_rollup", "Pss:");
    let mut idle = 0;
    let peak = server.kib_of("status", "VmHWM:");
    wait_until("idle sessions take at most 100 MiB", || {
        idle = server.kib_of("smaps_rollup", "Pss:").saturating_sub(before);
        idle <= 100 * MIB
    });
    let per_session = idle / SESSIONS as u64;
    eprintln!("KiB: before {before}, busy {busy}, peak {peak}, idle {idle}, each {per_session}");
    for session in &mut sessions {
        session.query("select 1").unwrap();
    }
    drop(sessions);
    let mut after = 0;
    wait_until("memory is given back", || {
        after = server.kib_of("smaps_rollup", "Pss:").saturating_sub(before);
        // The allocator keeps what so many sessions at once need, however few there were before:
        // 10 MiB on an idle machine, more on a busy one.
        after <= idle.max(50 * MIB)
    });
    eprintln!("KiB: after {after}");
}
