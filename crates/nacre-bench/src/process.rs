//! Processes of our own program, started to be timed or killed.
//!
//! A child talks to us in lines on its standard output that begin with [`LINE_PREFIX`]; a thread
//! reads them and notes when each one came. A child that is dropped is killed with SIGKILL.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::error::{Error, Result};

/// Begins each line that a child means for its parent.
pub const LINE_PREFIX: &str = "nacre-child: ";

/// Hidden subcommand of `nacre` that runs [`crate::child::run`].
pub const CHILD_COMMAND: &str = "demo-child";

/// A line of a child.
#[derive(Debug)]
pub struct Line {
    pub text: String,
    /// When it was read.
    pub at: Instant,
}

/// A running child.
pub struct Child {
    process: std::process::Child,
    lines: UnboundedReceiver<Line>,
    started: Instant,
}

impl Child {
    /// Starts this program with the hidden subcommand.
    pub fn start(arguments: &[OsString]) -> Result<Self> {
        let mut command = Command::new(this_program()?);
        command.arg(CHILD_COMMAND).args(arguments);
        Self::start_command(command)
    }

    /// Starts any command that talks in our lines; its standard error is ours.
    pub fn start_command(mut command: Command) -> Result<Self> {
        let program = PathBuf::from(command.get_program());
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let started = Instant::now();
        let mut process = command.spawn().map_err(Error::io("start", &program))?;
        let stdout = process.stdout.take();
        let (sender, lines) = unbounded_channel();
        if let Some(stdout) = stdout {
            // Ends with the pipe, that is, with the child.
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines() {
                    let at = Instant::now();
                    let Ok(line) = line else { return };
                    let Some(text) = line.strip_prefix(LINE_PREFIX) else {
                        continue;
                    };
                    if sender.send(Line { text: text.to_owned(), at }).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { process, lines, started })
    }

    /// Returns when the child was started: just before the system was asked to.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Waits for the child's next line; an error if it ends without one.
    pub async fn line(&mut self) -> Result<Line> {
        match self.lines.recv().await {
            Some(line) => Ok(line),
            None => Err(self.ended_early()),
        }
    }

    fn ended_early(&mut self) -> Error {
        match self.process.wait() {
            Ok(status) => Error::Child(format!("the child process ended early: {status}")),
            Err(source) => Error::Io { action: "wait for the child process".into(), source },
        }
    }

    /// Kills the child with SIGKILL and waits until it is gone.
    ///
    /// Returns the lines that it had written and nobody had read.
    pub async fn kill(&mut self) -> Result<Vec<Line>> {
        let gone = |source| Error::Io { action: "kill the child process".into(), source };
        self.process.kill().map_err(gone)?;
        self.process.wait().map_err(gone)?;
        let mut lines = Vec::new();
        while let Some(line) = self.lines.recv().await {
            lines.push(line);
        }
        Ok(lines)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Both fail only if the child is gone already, which is what we want.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the path of the running program.
pub(crate) fn this_program() -> Result<PathBuf> {
    std::env::current_exe()
        .map_err(|source| Error::Io { action: "find our own program".into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Child::start_command(command).unwrap()
    }

    #[tokio::test]
    async fn only_lines_meant_for_us_are_seen() {
        let mut child = shell("echo noise; echo 'nacre-child: one'; echo 'x nacre-child: no'");
        assert_eq!(child.line().await.unwrap().text, "one");
        assert!(child.line().await.unwrap_err().to_string().contains("ended early"));
    }

    #[tokio::test]
    async fn killed_child_hands_over_what_it_had_written() {
        let mut child = shell("echo 'nacre-child: 1'; echo 'nacre-child: 2'; exec sleep 60");
        let first = child.line().await.unwrap();
        assert_eq!(first.text, "1");
        assert!(first.at >= child.started());
        // Both lines are in the pipe once the shell has become `sleep`; the second may still come.
        let rest = child.kill().await.unwrap();
        assert!(rest.iter().all(|line| line.text == "2"));
    }
}
