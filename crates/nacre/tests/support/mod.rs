//! Running the `nacre` program in tests.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// What a run gave.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn nacre(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacre"));
    command.current_dir(directory).stdin(Stdio::null()).env_remove("NACRE_SIMD");
    for variable in ["PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGPASSFILE", "PGDATABASE"] {
        command.env_remove(variable);
    }
    command
}

pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `nacre` with arguments in a directory.
pub(crate) fn run(directory: &Path, arguments: &[&str]) -> Ran {
    ran(nacre(directory).args(arguments).output().unwrap())
}

/// Runs `nacre` with arguments and a text on standard input.
pub(crate) fn run_with_input(directory: &Path, arguments: &[&str], input: &str) -> Ran {
    let mut child = nacre(directory)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        // A program that has failed reads no further.
        let _ = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    ran(output)
}

/// Waits until a program ends, for a minute at most.
pub(crate) fn wait_for_exit(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < deadline, "the program does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal to a program that was started.
pub(crate) fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
}
