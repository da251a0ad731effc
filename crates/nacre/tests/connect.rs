//! `nacre --connect`: the shell as a client of `nacre serve`, from outside.

#![allow(clippy::unwrap_used, reason = "a failed test may panic where it stands")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use support::{Ran, nacre, ran, run, run_with_input, signal, wait_for_exit};
use tempfile::TempDir;

/// A server of a database `db` in a directory of its own, ended when it is dropped.
struct Served {
    directory: TempDir,
    server: Child,
    url: String,
}

impl Served {
    fn start(options: &[&str]) -> Self {
        Self::of(tempfile::tempdir().unwrap(), options)
    }

    fn of(directory: TempDir, options: &[&str]) -> Self {
        let mut server = nacre(directory.path())
            .args(["serve", "db", "--listen", "127.0.0.1:0"])
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        let url = format!("postgres://{address}");
        Self { directory, server, url }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with_input(arguments, "")
    }

    fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let arguments = [&["--connect", self.url.as_str()], arguments].concat();
        run_with_input(self.directory.path(), &arguments, input)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if self.server.try_wait().unwrap().is_none() {
            signal(&self.server, "TERM");
            wait_for_exit(&mut self.server);
        }
    }
}

#[test]
fn statements_rows_and_formats_are_those_of_the_embedded_shell() {
    let served = Served::start(&[]);
    let script = "create table shell (name text primary key, layers integer, is_rare boolean);\n\
                  insert into shell values ('nautilus', 30, true), ('paua', null, false);\n\
                  select * from shell order by name;\n\
                  update shell set layers = 3 where name = 'paua' returning layers;\n\
                  begin; delete from shell; rollback;\n\
                  select 'a b' as \"two words\", 1.50::numeric(6,2) as n, null as nothing;\n\
                  select from shell;\n";
    fs::write(served.directory.path().join("script.sql"), script).unwrap();
    for mode in ["box", "csv", "json", "jsonlines", "line", "list", "markdown"] {
        let of_server = served.run(&["--mode", mode, "-f", "script.sql", "-c", "drop table shell"]);
        let arguments = ["--mode", mode, "-f", "script.sql"];
        let of_embedded = run(served.directory.path(), &arguments);
        let out = of_server.out.strip_suffix("DROP TABLE\n").unwrap_or(&of_server.out);
        assert_eq!(out, of_embedded.out, "{mode}: {}", of_server.err);
        assert_eq!((of_server.code, of_embedded.code), (0, 0), "{mode}: {}", of_embedded.err);
    }
}

#[test]
fn errors_of_a_server_name_the_place_and_the_way_out() {
    let served = Served::start(&[]);
    let script = "select 1 as one;\nselect\n  colour from nowhere;\nselect 2;\n";
    fs::write(served.directory.path().join("script.sql"), script).unwrap();
    let of_server = served.run(&["--csv", "-f", "script.sql"]);
    let of_embedded = run(served.directory.path(), &["--csv", "-f", "script.sql"]);
    assert_eq!((of_server.code, of_server.out.as_str()), (3, "one\n1\n"));
    assert!(of_server.err.contains("script.sql:3:"), "{}", of_server.err);
    assert_eq!(of_server.err, of_embedded.err);
    let on = served.run(&["--csv", "--continue-on-error", "-f", "script.sql"]);
    assert_eq!((on.code, on.out.as_str()), (3, "one\n1\n?column?\n2\n"), "{}", on.err);
    // A limit of the server is no Ctrl-C.
    let late = "set statement_timeout = '50ms'; select sum(a * b) from \
                generate_series(1, 100000000) a cross join generate_series(1, 1000) b;";
    let ran = served.run_with_input(&[], late);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("canceling statement due to statement timeout"), "{}", ran.err);
}

#[test]
fn tables_are_described_as_in_the_embedded_shell() {
    let served = Served::start(&[]);
    let script = "create table family (id integer primary key, name text not null unique);\n\
                  create table shell (name text default 'none',\n\
                  layers integer check (layers > 0),\n\
                  family integer references family on delete cascade, primary key (name));\n\
                  create index by_layers on shell (layers);\n\
                  create index by_family on shell using hybrid (family, layers);\n\
                  create view rare as select name from shell where layers > 20;\n\
                  \\d\n\\d shell\n\\d family\n\\d rare\n\\d *a*\n\
                  .schema shell\n.schema rare\n.tables\n";
    fs::write(served.directory.path().join("script.sql"), script).unwrap();
    let of_server = served.run(&["-f", "script.sql"]);
    let of_embedded = run(served.directory.path(), &["-f", "script.sql"]);
    assert_eq!(of_server.code, 0, "{}", of_server.err);
    assert_eq!(of_server.out, of_embedded.out);
    for line in [
        "\"by_layers\" art (layers)",
        "CHECK ((layers > 0))",
        "REFERENCES family(id) ON DELETE CASCADE",
        "Referenced by:",
        "View \"rare\"",
    ] {
        assert!(of_server.out.contains(line), "{line}: {}", of_server.out);
    }
    // What `.schema` writes makes the same again.
    let created = served.run(&["-c", ".schema"]).out;
    fs::write(served.directory.path().join("schema.sql"), &created).unwrap();
    let arguments = ["-q", "-f", "schema.sql", "-c", ".schema"];
    let copied = run(served.directory.path(), &arguments);
    assert_eq!((copied.code, copied.out), (0, created), "{}", copied.err);
    let missing = served.run(&["-c", "\\d nowhere"]);
    assert_eq!(missing.code, 3);
    assert!(missing.err.contains("nowhere"), "{}", missing.err);
}

#[test]
fn files_of_this_side_are_loaded_and_written() {
    let served = Served::start(&[]);
    let file = served.directory.path().join("shells.csv");
    fs::write(&file, "name,layers\nnautilus,30\npaua,\n").unwrap();
    let script = "create table shell (name text primary key, layers integer);\n\
                  \\copy shell from shells.csv (format csv, header)\n\
                  \\copy (select name from shell order by name) to out.txt\n\
                  .import shells.csv other\n\
                  copy shell from stdin (format csv);\n\"abalone, red\",12\n\\.\n\
                  copy (select name from shell order by name desc) to stdout;\n";
    let ran = served.run_with_input(&["--csv"], script);
    assert_eq!((ran.code, ran.out.as_str()), (0, "paua\nnautilus\nabalone, red\n"), "{}", ran.err);
    let written = fs::read_to_string(served.directory.path().join("out.txt")).unwrap();
    assert_eq!(written, "nautilus\npaua\n");
    let other = served.run(&["--csv", "-c", "select sum(layers) as s, count(*) as c from other"]);
    assert_eq!(other.out, "s,c\n30,2\n", "{}", other.err);
    // Twice the same rows: nothing of them is there, and the session goes on.
    let arguments = [
        "--csv",
        "--continue-on-error",
        "-c",
        "\\copy shell from shells.csv (format \
                     csv, header)",
        "-c",
        "\\copy shell from nowhere.csv",
        "-c",
        "select count(*) as c from shell",
    ];
    let twice = served.run(&arguments);
    assert_eq!((twice.code, twice.out.as_str()), (3, "c\n3\n"), "{}", twice.err);
    assert!(twice.err.contains("shell_pkey") && twice.err.contains("nowhere.csv"), "{}", twice.err);
}

#[test]
fn interrupt_ends_the_statement_at_the_server_too() {
    let served = Served::start(&[]);
    let sql = "select sum(a * b) from generate_series(1, 100000000) a \
               cross join generate_series(1, 1000) b";
    let client = nacre(served.directory.path())
        .args(["--connect", &served.url, "--csv", "-c", "select 'begun'", "-c", sql])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut client = client.unwrap();
    let mut begun = [0; 20];
    client.stdout.as_mut().unwrap().read_exact(&mut begun[..8]).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    signal(&client, "INT");
    let ended = ran(client.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert!(ended.err.contains("cancelled by Ctrl-C"), "{}", ended.err);
    // Its place is free: the server, which has room for no other, takes the next one at once.
    assert_eq!(served.run(&["--csv", "-c", "select 1 as x"]).out, "x\n1\n");
}

#[test]
fn interrupt_ends_a_load_whose_data_does_not_come() {
    let served = Served::start(&[]);
    assert_eq!(served.run(&["-c", "create table t (x integer)"]).code, 0);
    let client = nacre(served.directory.path())
        .args(["--connect", &served.url, "-c", "\\echo begun", "-c", "copy t from stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut client = client.unwrap();
    let mut stdin = client.stdin.take().unwrap();
    stdin.write_all(b"1\n2\n").unwrap();
    let mut begun = [0; 6];
    client.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    signal(&client, "INT");
    assert_eq!(wait_for_exit(&mut client).code(), Some(130));
    drop(stdin);
    assert_eq!(served.run(&["--csv", "-c", "select count(*) as c from t"]).out, "c\n0\n");
}

#[test]
fn what_cannot_be_reached_is_named_with_a_hint() {
    let directory = tempfile::tempdir().unwrap();
    // A port that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("postgres://{address}");
    let ran = run(directory.path(), &["--connect", &url, "-c", "select 1"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains(&format!("connection to {address} failed")), "{}", ran.err);
    assert!(ran.err.contains("nacre serve"), "{}", ran.err);
    for (target, word) in [
        ("postgres://h:x", "invalid value \"x\" of \"port\""),
        ("postgres://h/?hots=a", "unknown connection option \"hots\""),
        ("shells", "no keyword=value"),
    ] {
        let ran = run(directory.path(), &["--connect", target, "-c", "select 1"]);
        assert_eq!(ran.code, 1, "{target}");
        assert!(ran.err.contains(word), "{target}: {}", ran.err);
    }
    let ran = run(directory.path(), &["db", "--connect", &url, "-c", "select 1"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("cannot be used with"), "{}", ran.err);
}

#[test]
fn readiness_is_told_by_the_exit_code() {
    let served = Served::start(&[]);
    let place = served.url.strip_prefix("postgres://").unwrap();
    let directory = served.directory.path();
    let ran = run(directory, &["ready", &served.url]);
    let told = format!("{place} - accepting connections\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, told.as_str()), "{}", ran.err);
    let (host, port) = place.split_once(':').unwrap();
    let quiet = support::ran(
        nacre(directory)
            .env("PGHOST", host)
            .env("PGPORT", port)
            .args(["ready", "-q"])
            .output()
            .unwrap(),
    );
    assert_eq!((quiet.code, quiet.out.as_str()), (0, ""));

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let url = format!("postgres://{place}");
    let starting = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut length = [0; 4];
        client.read_exact(&mut length).unwrap();
        let mut rest = vec![0; u32::from_be_bytes(length) as usize - 4];
        client.read_exact(&mut rest).unwrap();
        client.write_all(b"E\0\0\0\x1dSFATAL\0C57P03\0Mstarting\0\0").unwrap();
        // The next one hears nothing.
        let (client, _) = listener.accept().unwrap();
        std::thread::sleep(Duration::from_millis(1_500));
        drop(client);
    });
    let ran = run(directory, &["ready", &url]);
    let told = format!("{place} - rejecting connections\n");
    assert_eq!((ran.code, ran.out.as_str()), (1, told.as_str()), "{}", ran.err);
    for arguments in [&["ready", "-t", "1", url.as_str()][..], &["ready", url.as_str()]] {
        let ran = run(directory, arguments);
        let told = format!("{place} - no response\n");
        assert_eq!((ran.code, ran.out.as_str()), (2, told.as_str()), "{}", ran.err);
    }
    starting.join().unwrap();
    for arguments in [&["ready", "--frobnicate"][..], &["ready", "postgres://h:x"]] {
        assert_eq!(run(directory, arguments).code, 3, "{arguments:?}");
    }
}

#[test]
fn locked_directory_names_the_server_that_has_it() {
    let served = Served::start(&[]);
    let ran = run(served.directory.path(), &["db", "-c", "select 1"]);
    assert_eq!(ran.code, 1);
    let hint = format!("`nacre --connect {}` works with it", served.url);
    assert!(ran.err.contains(&hint), "{}", ran.err);
}

#[test]
fn passwords_come_from_where_libpq_takes_them() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(directory.path(), &["db", "-c", "select 1"]).code, 0);
    let set = run_with_input(directory.path(), &["password", "db"], "pearl\n");
    assert_eq!(set.code, 0, "{}", set.err);
    let served = Served::of(directory, &["--tls", "prefer"]);
    let place = served.url.strip_prefix("postgres://").unwrap();
    let conninfo = "\\conninfo";
    let refused = served.run(&["-c", conninfo]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("password"), "{}", refused.err);
    let wrong = format!("postgres://nacre:shell@{place}");
    let ran = run(served.directory.path(), &["--connect", &wrong, "-c", conninfo]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("password authentication failed"), "{}", ran.err);
    let right = format!("postgres://nacre:pearl@{place}");
    let ran = run(served.directory.path(), &["--connect", &right, "-c", conninfo]);
    let told = format!("Connected to database nacre at {place} as nacre, encrypted.\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, told.as_str()), "{}", ran.err);
    let strict = format!("{right}/nacre?sslmode=verify-full&sslrootcert=nowhere.pem");
    let ran = run(served.directory.path(), &["--connect", &strict, "-c", conninfo]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("nowhere.pem"), "{}", ran.err);

    let file = served.directory.path().join("passfile");
    fs::write(&file, "*:*:*:nacre:pearl\n").unwrap();
    for (mode, code) in [(0o600, 0), (0o644, 1)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let mut command = nacre(served.directory.path());
        command.env("PGPASSFILE", &file).env("PGSSLMODE", "disable");
        let ended = support::ran(
            command.args(["--connect", &served.url, "-c", conninfo]).output().unwrap(),
        );
        assert_eq!(ended.code, code, "{mode:o}: {}", ended.err);
        assert_eq!(ended.err.contains("group or world access"), code == 1, "{}", ended.err);
    }
    let mut command = nacre(served.directory.path());
    let (host, port) = place.split_once(':').unwrap();
    command.env("PGPASSWORD", "pearl").env("PGHOST", host).env("PGPORT", port);
    let ended = support::ran(command.args(["--connect", "-c", "select 1"]).output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
}

#[test]
fn lost_connection_is_told_and_the_shell_goes_on() {
    let mut served = Served::start(&[]);
    let mut client = nacre(served.directory.path())
        .args(["--connect", &served.url, "--csv", "--continue-on-error"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = client.stdin.take().unwrap();
    stdin.write_all(b"select 'begun';\n").unwrap();
    let mut begun = [0; 8];
    client.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    signal(&served.server, "KILL");
    served.server.wait().unwrap();
    stdin.write_all(b"select 2;\nselect 3;\n\\echo here\n").unwrap();
    drop(stdin);
    let ended = ran(client.wait_with_output().unwrap());
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.err.contains("was lost: "), "{}", ended.err);
    assert!(ended.err.contains("Attempting reset"), "{}", ended.err);
    assert!(ended.out.ends_with("here\n"), "{}", ended.out);
}
