//! The files under `packaging/` and what they expect of the program.

#![allow(clippy::unwrap_used, reason = "a failed test may panic where it stands")]

mod support;

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use support::{nacre, signal, wait_for_exit};

/// Longest wait for a server.
const PATIENCE: Duration = Duration::from_secs(60);

fn packaging() -> PathBuf {
    PathBuf::from("../../packaging")
}

#[test]
fn systemd_knows_all_of_the_unit() {
    let directory = tempfile::tempdir().unwrap();
    let unit = fs::read_to_string(packaging().join("systemd/nacre.service")).unwrap();
    assert!(unit.contains("\nExecStart=/usr/bin/nacre serve /var/lib/nacre/data"));
    assert!(unit.contains("\nType=notify\n"));
    let unit = unit.replace("/usr/bin/nacre", env!("CARGO_BIN_EXE_nacre"));
    let path = directory.path().join("nacre.service");
    fs::write(&path, unit).unwrap();
    let verify = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output();
    // Without systemd the texts above are all that is checked.
    let Ok(verified) = verify else { return };
    let told = String::from_utf8_lossy(&verified.stderr);
    // Unknown keys are only told; so is what is wrong with units of this machine.
    let of_ours: Vec<&str> = told.lines().filter(|line| line.contains("nacre.service")).collect();
    assert!(of_ours.is_empty(), "{told}");
}

#[test]
fn scripts_of_the_package_are_scripts() {
    for script in ["postinst", "postrm"] {
        let path = packaging().join("debian").join(script);
        assert!(fs::read_to_string(&path).unwrap().contains("\n#DEBHELPER#\n"), "{script}");
        let checked = Command::new("sh").arg("-n").arg(&path).status().unwrap();
        assert!(checked.success(), "{script}");
    }
}

#[test]
fn package_has_files_that_are_there() {
    let manifest = Path::new(".");
    let text = fs::read_to_string(manifest.join("Cargo.toml")).unwrap();
    let paths = text.split('"').filter(|word| word.starts_with("../../") && !word.contains('*'));
    let paths: Vec<&str> = paths.collect();
    assert!(paths.len() >= 5, "{paths:?}");
    for path in paths {
        assert!(manifest.join(path).exists(), "{path}");
    }
}

#[test]
fn service_manager_is_told_of_readiness_and_of_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut server = nacre(directory.path())
        .args(["serve", "db", "--listen", "127.0.0.1:0"])
        .env("NOTIFY_SOCKET", &socket)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let hear = || {
        let mut heard = [0; 64];
        let bytes = manager.recv(&mut heard).unwrap_or_default();
        String::from_utf8_lossy(&heard[..bytes]).into_owned()
    };
    let began = hear();
    signal(&server, "TERM");
    let ended = hear();
    assert!(wait_for_exit(&mut server).success());
    assert_eq!((began.as_str(), ended.as_str()), ("READY=1", "STOPPING=1"));
}
