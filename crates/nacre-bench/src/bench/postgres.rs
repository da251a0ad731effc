//! A PostgreSQL server of our own, if its programs happen to be there.
//!
//! Looked for at run time: in the search path, then where Debian installs them. The server keeps
//! its data in a fresh directory, listens on a socket in it and on a free port of the loopback
//! device, and is stopped when it is dropped. It refuses to run as root, so for root it runs as
//! nobody.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::pgbench::{Address, Programs, run_program};
use crate::error::{Error, Result};

/// Where Debian keeps the programs, by version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// User and group `nobody`.
const NOBODY: u32 = 65_534;

/// What differs from the defaults, which are made for small machines: nothing that a commit
/// promises.
const SETTINGS: &str = "
shared_buffers = 1GB
max_wal_size = 4GB
listen_addresses = '127.0.0.1'
";

/// A running server.
pub(super) struct Server {
    programs: Programs,
    port: u16,
    directory: TempDir,
    is_root: bool,
}

impl Server {
    /// Starts a server whose data lies in a new directory in `parent`; `None` if there are no
    /// programs.
    ///
    /// # Errors
    /// [`Error::Child`] with the last words of the program that failed.
    pub(super) fn start(parent: &Path) -> Result<Option<Self>> {
        let Some(programs) = programs() else { return Ok(None) };
        let directory = tempfile::Builder::new().prefix("nacre-postgres-").tempdir_in(parent);
        let directory = directory.map_err(Error::io("create a directory in", parent))?;
        let path = directory.path();
        let failed = || Error::io("prepare", path);
        let is_root = fs::metadata(path).map_err(failed())?.uid() == 0;
        if is_root {
            chown(path, Some(NOBODY), Some(NOBODY)).map_err(failed())?;
        }
        let port = free_port().map_err(failed())?;
        let server = Self { programs: Programs(programs), port, is_root, directory };
        server.initialize()?;
        server.control(&["start", "-w", "-l"])?;
        Ok(Some(server))
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Makes a command for one of the programs.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.0.join(program));
        command.current_dir(self.path()).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// As [`Server::command`], for the user that the server has to run as.
    fn server_command(&self, program: &str) -> Command {
        let mut command = self.command(program);
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    fn initialize(&self) -> Result<()> {
        let mut command = self.server_command("initdb");
        command.args(["-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "-D"]);
        run_program(command.arg(self.data()))?;
        let path = self.data().join("postgresql.conf");
        let mut file =
            fs::OpenOptions::new().append(true).open(&path).map_err(Error::io("open", &path))?;
        let socket = self.path().to_string_lossy().replace('\'', "''");
        let port = self.port;
        let settings = format!("{SETTINGS}port = {port}\nunix_socket_directories = '{socket}'\n");
        file.write_all(settings.as_bytes()).map_err(Error::io("write", &path))
    }

    /// Starts the server, with the file of its log, or stops it.
    fn control(&self, arguments: &[&str]) -> Result<()> {
        let mut command = self.server_command("pg_ctl");
        command.arg("-D").arg(self.data()).args(arguments);
        if arguments.contains(&"-l") {
            command.arg(self.path().join("log"));
            // The server keeps what it inherits; a pipe would never end.
            command.stderr(Stdio::null());
            let status = command.status().map_err(Error::io("start", Path::new("pg_ctl")))?;
            return match status.success() {
                true => Ok(()),
                false => Err(Error::Child(format!("PostgreSQL does not start: {}", self.log()))),
            };
        }
        run_program(&mut command).map(drop)
    }

    /// Returns the last line of the server's log.
    fn log(&self) -> String {
        let log = fs::read_to_string(self.path().join("log")).unwrap_or_default();
        log.lines().last().unwrap_or("no message").to_owned()
    }

    /// Returns where clients find it: on the loopback device.
    pub(super) fn address(&self) -> Address {
        Address { host: "127.0.0.1".to_owned(), ..self.socket() }
    }

    /// Returns where clients find it without the network.
    pub(super) fn socket(&self) -> Address {
        let host = self.path().to_string_lossy().into_owned();
        Address { host, port: self.port, user: "postgres", database: "postgres" }
    }

    /// Returns its programs.
    pub(super) fn programs(&self) -> &Programs {
        &self.programs
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // If that fails the server ends by itself when its directory is gone.
        let _ = self.control(&["stop", "-m", "fast", "-w"]);
    }
}

/// Returns a port that nobody listens on now.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Returns where the programs are, if anywhere; empty for the search path.
fn programs() -> Option<PathBuf> {
    let is_there = |folder: &PathBuf| {
        let mut command = Command::new(folder.join("initdb"));
        run_program(command.arg("--version").stdout(Stdio::null())).is_ok()
    };
    let entries = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let mut installed: Vec<PathBuf> = entries.map(|entry| entry.path().join("bin")).collect();
    installed.sort();
    std::iter::once(PathBuf::new()).chain(installed.into_iter().rev()).find(is_there)
}
