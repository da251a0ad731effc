//! The interactive shell, typed at through a pseudo-terminal.

#![allow(clippy::unwrap_used, reason = "a failed test may panic where it stands")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

const PROMPT: &str = "nacre=> ";

/// A shell and the terminal it runs in.
struct Shell {
    child: Child,
    terminal: File,
    /// All that was shown.
    shown: Arc<Mutex<String>>,
    /// How much of it was looked at.
    seen: usize,
}

impl Shell {
    fn start(directory: &Path, arguments: &[&str]) -> Self {
        let size = Winsize { ws_row: 50, ws_col: 250, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).unwrap();
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        let child = Command::new(env!("CARGO_BIN_EXE_nacre"))
            .current_dir(directory)
            .args(arguments)
            .env("TERM", "xterm")
            .env("NACRE_HISTORY", directory.join("history"))
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let terminal = File::from(pty.master);
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut reader, copy) = (terminal.try_clone().unwrap(), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                copy.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        let mut shell = Self { child, terminal, shown, seen: 0 };
        shell.expect(PROMPT);
        shell
    }

    /// Waits until a text is shown after what was waited for last; returns all up to its end.
    fn expect(&mut self, text: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let shown = self.shown.lock().unwrap().clone();
            if let Some(at) = shown[self.seen..].find(text) {
                let end = self.seen + at + text.len();
                let found = shown[self.seen..end].to_owned();
                self.seen = end;
                return found;
            }
            assert!(Instant::now() < deadline, "no {text:?} in {:?}", &shown[self.seen..]);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn type_keys(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line and returns what is shown up to the next prompt.
    fn line(&mut self, line: &str) -> String {
        self.type_keys(&format!("{line}\r"));
        // The line editor shows its prompt again while it is typed at; the end of editing is when
        // the terminal's bracketed paste goes off.
        self.expect("\x1b[?2004l");
        self.expect(PROMPT)
    }

    fn leave(mut self) -> i32 {
        self.type_keys("\x04");
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < deadline, "the shell does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Nothing to do for one that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn statements_take_several_lines_and_are_remembered_whole() {
    let directory = tempfile::tempdir().unwrap();
    let mut shell = Shell::start(directory.path(), &[]);
    shell.type_keys("select 40 + 2\r");
    shell.expect("nacre-> ");
    assert!(shell.line("as answer;").contains("42"));
    assert!(shell.line("\\timing").contains("Timing is on."));
    assert!(shell.line("select 1;").contains("Time: "));
    assert!(shell.line("select nothing;").contains("ERROR:  "));
    assert_eq!(shell.leave(), 0);
    let history = fs::read_to_string(directory.path().join("history")).unwrap();
    assert!(history.contains("select 40 + 2\\nas answer;\n\\\\timing\n"), "{history}");
}

#[test]
fn banner_tells_whether_anything_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let shell = Shell::start(directory.path(), &[]);
    assert!(shell.shown.lock().unwrap().contains("volatile database in memory"));
    assert_eq!(shell.leave(), 0);
    let shell = Shell::start(directory.path(), &["db"]);
    assert!(shell.shown.lock().unwrap().contains("database in db"));
    assert_eq!(shell.leave(), 0);
}

#[test]
fn shell_outlives_a_pool_that_is_cut_under_it() {
    let directory = tempfile::tempdir().unwrap();
    let csv: String = (0..20_000).map(|row| format!("{row},text {row}\n")).collect();
    fs::write(directory.path().join("in.csv"), csv).unwrap();
    let mut shell = Shell::start(directory.path(), &["db"]);
    for (table, options) in [("cut", " with (replicas = 'auto')"), ("other", "")] {
        shell.line(&format!("create table {table} (k integer, v text){options};"));
        assert!(shell.line(&format!("copy {table} from 'in.csv' csv;")).contains("COPY 20000"));
        assert!(shell.line(&format!("select max(v) from {table};")).contains("text 9999"));
    }
    // The oldest pool is the only one of the first table, then come those of the second, of which
    // the background may be writing one anew.
    let entries = fs::read_dir(directory.path().join("db")).unwrap();
    let mut pools: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    pools.retain(|path| path.extension().is_some_and(|extension| extension == "pool"));
    pools.sort();
    assert!(pools.len() >= 3, "{pools:?}");
    let whole = fs::read(&pools[0]).unwrap();
    for pool in &pools[..2] {
        File::options().write(true).open(pool).unwrap().set_len(0).unwrap();
    }
    for query in ["select max(v || '') from cut;", "select * from cut;"] {
        let shown = shell.line(query);
        assert!(shown.contains("ERROR:  ") && shown.contains("table \"cut\", column"), "{shown}");
        assert!(shown.contains(".pool"), "{shown}");
    }
    assert!(shell.line("select max(v) from other;").contains("text 9999"));
    fs::write(&pools[0], whole).unwrap();
    assert!(shell.line("select max(v) from cut;").contains("text 9999"));
    assert_eq!(shell.leave(), 0);
}

#[test]
fn tab_completes_tables_and_commands() {
    let directory = tempfile::tempdir().unwrap();
    let mut shell = Shell::start(directory.path(), &[]);
    shell.line("create table nautilus (layers integer);");
    shell.type_keys("select count(*) as n from nau\t");
    shell.expect("from nautilus");
    assert!(shell.line(";").contains("(1 row)"));
    shell.type_keys(".tab\t");
    shell.expect(".tables");
    assert!(shell.line("").contains("nautilus"));
    assert_eq!(shell.leave(), 0);
}

#[test]
fn interrupt_clears_the_line_and_cancels_the_query() {
    let directory = tempfile::tempdir().unwrap();
    let mut shell = Shell::start(directory.path(), &[]);
    shell.type_keys("select 'half\r");
    shell.expect("nacre'> ");
    shell.type_keys("\x03");
    shell.expect(PROMPT);

    let sql = "select count(*) from generate_series(1, 100000) a(n), \
               generate_series(1, 100000) b(n) where a.n % 7 + b.n % 3 = 2;\r";
    shell.type_keys(sql);
    shell.expect("\x1b[?2004l");
    std::thread::sleep(Duration::from_millis(300));
    // The test's terminal controls no process, so the signal that it would send is sent here.
    let id = shell.child.id().to_string();
    for _ in 0..2 {
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }
    let interrupted = Instant::now();
    shell.expect("cancelled by Ctrl-C");
    shell.expect(PROMPT);
    assert!(interrupted.elapsed() < Duration::from_secs(10));
    // The second signal may have come at the prompt, which it clears.
    std::thread::sleep(Duration::from_millis(300));
    shell.type_keys("select 40 + 2 as answer;\r");
    shell.expect(" 42 ");
    shell.expect(PROMPT);
    assert_eq!(shell.leave(), 0);
}

#[test]
fn data_can_be_typed_or_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let mut shell = Shell::start(directory.path(), &[]);
    shell.line("create table shell (name text);");
    shell.type_keys("copy shell from stdin (format csv);\r");
    shell.expect(">> ");
    shell.type_keys("nautilus\r");
    shell.expect(">> ");
    assert!(shell.line("\\.").contains("COPY 1"));
    shell.type_keys("copy shell from stdin (format csv);\r");
    shell.expect(">> ");
    shell.type_keys("abalone\r");
    shell.expect(">> ");
    shell.type_keys("\x03");
    assert!(shell.expect(PROMPT).contains("given up with Ctrl-C"));
    assert!(shell.line("select count(*) as n from shell;").contains(" 1 "));
    assert_eq!(shell.leave(), 0);
}
