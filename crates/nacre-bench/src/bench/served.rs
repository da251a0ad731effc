//! A server of our own program, as a process of its own.
//!
//! It listens on a free port of the loopback device, and is killed when it is dropped.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::pgbench::Address;
use crate::error::{Error, Result};
use crate::process::this_program;

/// What a server says of each of its ports.
const LISTENING: &str = "listening on ";

/// A running `nacre serve`.
pub(super) struct Served {
    process: Child,
    address: Address,
}

impl Served {
    /// Starts a server over a database, which is created if absent.
    ///
    /// # Errors
    /// [`Error::Child`] if it ends before it listens.
    pub(super) fn start(database: &Path) -> Result<Self> {
        let program = this_program()?;
        let mut command = Command::new(&program);
        command.arg("serve").arg(database);
        command.args(["--listen", "127.0.0.1:0", "--log-level", "error"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(Error::io("start", &program))?;
        let port = process.stdout.take().and_then(|stdout| {
            let mut lines = BufReader::new(stdout).lines().map_while(std::io::Result::ok);
            lines.find_map(|line| line.strip_prefix(LISTENING)?.rsplit(':').next()?.parse().ok())
        });
        let host = "127.0.0.1".to_owned();
        let address = port.map(|port| Address { host, port, user: "nacre", database: "nacre" });
        match address {
            Some(address) => Ok(Self { process, address }),
            None => {
                let _ = process.kill();
                let _ = process.wait();
                Err(Error::Child("nacre serve ended before it listened".into()))
            }
        }
    }

    pub(super) fn address(&self) -> Address {
        self.address.clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is what we want.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
