//! A PostgreSQL server in a temporary directory, on a socket in it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// User and group `nobody`: the server refuses to run as root.
const NOBODY: u32 = 65_534;

const SETTINGS: &str = "
listen_addresses = ''
fsync = off
timezone = 'UTC'
max_stack_depth = 6MB
";

/// Evaluates an expression to its text; of an error its SQLSTATE, message and detail.
const EVALUATE: &str = r"
create function pg_temp.evaluate(expression text) returns text language plpgsql as $$
declare answer text; state text; message text; detail text;
begin
  execute 'select ''='' || format(''%s'', v) from (select (' || expression || ') as v) s'
    into answer;
  return answer;
exception when others then
  get stacked diagnostics state = returned_sqlstate, message = message_text,
    detail = pg_exception_detail;
  return state || '|' || message || '|' || detail;
end $$;
";

/// A running server.
pub(super) struct PostgresServer {
    programs: PathBuf,
    directory: PathBuf,
    is_root: bool,
}

impl PostgresServer {
    /// Starts a server; `None` without its programs.
    pub(super) fn start() -> Option<Self> {
        let programs = find_programs()?;
        let directory = std::env::temp_dir().join(format!("nacre-types-{}", std::process::id()));
        fs::create_dir(&directory).expect("directory");
        let is_root = fs::metadata(&directory).expect("directory").uid() == 0;
        if is_root {
            chown(&directory, Some(NOBODY), Some(NOBODY)).expect("chown");
        }
        let server = Self { programs, directory, is_root };
        let data = server.data();
        let mut initialize = server.command("initdb");
        initialize.args(["-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "-N", "-D"]);
        run(initialize.arg(&data));
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(data.join("postgresql.conf"))
            .expect("settings");
        let socket = server.directory.display();
        writeln!(file, "{SETTINGS}unix_socket_directories = '{socket}'").expect("settings");
        let log = server.directory.join("log");
        let mut start = server.command("pg_ctl");
        start.arg("-D").arg(&data).arg("-l").arg(log).args(["-w", "start"]);
        // The server keeps what it inherits; a pipe would never end.
        assert!(start.stderr(Stdio::null()).status().expect("pg_ctl").success(), "start");
        Some(server)
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir(&self.directory).stdin(Stdio::null()).stdout(Stdio::null());
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Runs a script; returns what it prints.
    pub(super) fn script(&self, script: &str) -> String {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-X", "-q", "-A", "-t", "-U", "postgres", "-d", "postgres", "-h"]);
        command.arg(&self.directory).args(["-v", "ON_ERROR_STOP=1", "-f", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("psql");
        let mut input = child.stdin.take().expect("pipe");
        let script = script.to_owned();
        let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
        let output = child.wait_with_output().expect("psql");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "psql: {errors}");
        writer.join().expect("writer").expect("script");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Evaluates expressions under some settings.
    pub(super) fn evaluate(&self, settings: &str, expressions: &[&str]) -> Vec<String> {
        let mut script = String::from("set client_min_messages = error;\n");
        script.push_str(EVALUATE);
        script.push_str("create temp table questions (place serial, expression text);\n");
        script.push_str("copy questions (expression) from stdin;\n");
        for expression in expressions {
            script.push_str(&escape(expression));
            script.push('\n');
        }
        script.push_str("\\.\n");
        script.push_str(settings);
        script.push_str(
            "\ncopy (select pg_temp.evaluate(expression) from questions order by place) \
             to stdout;\n",
        );
        self.script(&script).lines().map(unescape).collect()
    }
}

/// Stops the server of this process when its tests are done: statics are not dropped.
pub(super) fn stop_at_exit(server: &PostgresServer) {
    let pid = fs::read_to_string(server.data().join("postmaster.pid")).unwrap_or_default();
    let Some(pid) = pid.lines().next().and_then(|pid| pid.trim().parse::<u32>().ok()) else {
        return;
    };
    // A watcher that outlives us: it waits for our end, stops the server by its pid and removes
    // the directory.
    let script = format!(
        "while kill -0 {ours} 2>/dev/null; do sleep 0.2; done; \
         kill -QUIT {pid}; sleep 0.5; rm -rf '{path}'",
        ours = std::process::id(),
        path = server.directory.display()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.process_group(0).spawn();
}

fn run(command: &mut Command) {
    let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output().expect("program");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns where the programs of version 15 are.
fn find_programs() -> Option<PathBuf> {
    let is_version = |folder: &Path| {
        let output = Command::new(folder.join("postgres")).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(") 15."))
    };
    let configured = Command::new("pg_config")
        .arg("--bindir")
        .output()
        .ok()
        .map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let installed = Some(PathBuf::from("/usr/lib/postgresql/15/bin"));
    [installed, configured].into_iter().flatten().find(|folder| is_version(folder))
}

/// Writes a text as `COPY` reads it.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r")
}

/// Reads a text as `COPY` writes it.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(one) = chars.next() {
        match one {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('b') => out.push('\u{8}'),
                Some('f') => out.push('\u{c}'),
                Some('v') => out.push('\u{b}'),
                Some(other) => out.push(other),
                None => {}
            },
            one => out.push(one),
        }
    }
    out
}
