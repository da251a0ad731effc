//! PostgreSQL 15 as an oracle: a server of its own in a temporary directory, asked to parse only.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where Debian keeps the programs; `NACRE_POSTGRES_BIN` is another place.
const BINARIES: &str = "/usr/lib/postgresql/15/bin";

/// Functions of PostgreSQL that raise errors while a text is parsed.
const GRAMMAR_ROUTINES: [&str; 7] = [
    "scanner_yyerror",
    "core_yylex",
    "base_yyparse",
    "str_udeescape",
    "processCASbits",
    "SplitColQualList",
    "insertSelectOptions",
];

const START_TIME_MAX: Duration = Duration::from_secs(120);

/// A server that ends with the value.
pub(crate) struct OracleServer {
    directory: PathBuf,
    child: Child,
    stream: UnixStream,
}

/// An error of PostgreSQL.
#[derive(Debug, Default)]
pub(crate) struct OracleError {
    pub(crate) code: String,
    pub(crate) message: String,
    /// In characters from 1; 0 without one.
    pub(crate) position: usize,
    pub(crate) routine: String,
}

impl OracleError {
    /// Whether the text was refused before names were looked up.
    pub(crate) fn is_of_grammar(&self) -> bool {
        GRAMMAR_ROUTINES.contains(&self.routine.as_str())
    }
}

impl OracleServer {
    /// Starts a server; `None` where PostgreSQL 15 is not installed, which is printed.
    pub(crate) fn start(name: &str) -> Option<Self> {
        let configured = std::env::var_os("NACRE_POSTGRES_BIN").map(PathBuf::from);
        let binaries = configured.unwrap_or_else(|| PathBuf::from(BINARIES));
        if !binaries.join("initdb").exists() {
            println!("skipped: no PostgreSQL 15 in {}", binaries.display());
            return None;
        }
        let directory =
            std::env::temp_dir().join(format!("nacre-syntax-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let owner = owner(&directory);
        let data = directory.join("data");
        let mut initdb = command(&binaries, "initdb", owner);
        initdb.arg("-D").arg(&data);
        initdb.args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-N"]);
        let output = initdb.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut postgres = command(&binaries, "postgres", owner);
        postgres.arg("-D").arg(&data).arg("-k").arg(&directory).arg("-F");
        postgres.args(["-c", "listen_addresses=", "-c", "log_min_messages=panic"]);
        let child = postgres.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let stream = connect(&directory);
        Some(Self { directory, child, stream })
    }

    /// Has a text parsed and its names looked up; nothing is run.
    pub(crate) fn parse(&mut self, sql: &str) -> Result<(), OracleError> {
        let body = [b"\0", sql.as_bytes(), b"\0\0\0"].concat();
        self.send(b'P', &body);
        self.send(b'S', &[]);
        self.receive().map(|_| ())
    }

    /// Runs a text and returns its values as texts.
    pub(crate) fn query(&mut self, sql: &str) -> Result<Vec<String>, OracleError> {
        self.send(b'Q', &[sql.as_bytes(), b"\0"].concat());
        self.receive()
    }

    fn send(&mut self, kind: u8, body: &[u8]) {
        let length = u32::try_from(body.len() + 4).unwrap();
        self.stream.write_all(&[&[kind], &length.to_be_bytes()[..], body].concat()).unwrap();
    }

    /// Reads up to the message that the server is ready.
    fn receive(&mut self) -> Result<Vec<String>, OracleError> {
        let mut error = None;
        let mut values = Vec::new();
        loop {
            let (kind, body) = read_message(&mut self.stream).unwrap();
            match kind {
                b'E' => error = Some(read_error(&body)),
                b'D' => read_row(&body, &mut values),
                b'Z' => return error.map_or(Ok(values), Err),
                _ => {}
            }
        }
    }
}

impl Drop for OracleServer {
    fn drop(&mut self) {
        // The terminate message ends the session; the server is ours alone.
        let _ = self.stream.write_all(&[b'X', 0, 0, 0, 4]);
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Gives the directory to the user `postgres` if this is root, as whom no server runs.
fn owner(directory: &Path) -> Option<(u32, u32)> {
    let is_root = fs::metadata("/proc/self")
        .is_ok_and(|process| std::os::unix::fs::MetadataExt::uid(&process) == 0);
    if !is_root {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let mut fields = users.lines().find(|line| line.starts_with("postgres:"))?.split(':').skip(2);
    let uid = fields.next()?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    chown(directory, Some(uid), Some(gid)).unwrap();
    Some((uid, gid))
}

fn command(binaries: &Path, program: &str, owner: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(binaries.join(program));
    command.current_dir("/");
    if let Some((uid, gid)) = owner {
        command.uid(uid).gid(gid);
    }
    command
}

fn connect(directory: &Path) -> UnixStream {
    let started = Instant::now();
    loop {
        match try_connect(directory) {
            Ok(stream) => return stream,
            Err(error) => assert!(started.elapsed() < START_TIME_MAX, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn try_connect(directory: &Path) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(directory.join(".s.PGSQL.5432"))?;
    let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0client_encoding\0UTF8\0\0";
    let length = u32::try_from(body.len() + 4).unwrap();
    stream.write_all(&[&length.to_be_bytes()[..], body].concat())?;
    loop {
        match read_message(&mut stream)? {
            (b'Z', _) => return Ok(stream),
            (b'E', body) => return Err(io::Error::other(read_error(&body).message)),
            _ => {}
        }
    }
}

fn read_message(stream: &mut UnixStream) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
    let mut body = vec![0; length - 4];
    stream.read_exact(&mut body)?;
    Ok((head[0], body))
}

fn read_error(body: &[u8]) -> OracleError {
    let mut error = OracleError::default();
    for field in body.split(|byte| *byte == 0) {
        let Some((kind, text)) = field.split_first() else { continue };
        let text = String::from_utf8_lossy(text).into_owned();
        match kind {
            b'C' => error.code = text,
            b'M' => error.message = text,
            b'P' => error.position = text.parse().unwrap(),
            b'R' => error.routine = text,
            _ => {}
        }
    }
    error
}

fn read_row(body: &[u8], values: &mut Vec<String>) {
    let mut rest = &body[2..];
    while let Some((length, behind)) = rest.split_at_checked(4) {
        let length = i32::from_be_bytes(length.try_into().unwrap());
        let bytes = usize::try_from(length).unwrap_or(0);
        let value =
            if length < 0 { "NULL".into() } else { String::from_utf8_lossy(&behind[..bytes]) };
        values.push(value.into_owned());
        rest = &behind[bytes..];
    }
}
