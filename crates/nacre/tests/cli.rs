//! The `nacre` program from outside: what it prints, where, and with which exit code.

#![allow(clippy::unwrap_used, reason = "a failed test may panic where it stands")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{nacre, ran, run, run_with_input, wait_for_exit};
use tempfile::TempDir;

const SHELLS: &str =
    "create table shell (name text primary key, layers integer, width decimal(6,2));";

/// A directory with a database `db` that holds three shells.
fn shells() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let csv = "nautilus,30,210.50\nabalone,12,\npaua,,180.25\n";
    fs::write(directory.path().join("shells.csv"), csv).unwrap();
    let load = "copy shell from 'shells.csv' (format csv)";
    let ran = run(directory.path(), &["db", "-c", SHELLS, "-c", load]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "CREATE TABLE\nCOPY 3\n"), "{}", ran.err);
    directory
}

#[test]
fn help_and_version_end_with_code_zero() {
    let directory = tempfile::tempdir().unwrap();
    let help = run(directory.path(), &["--help"]);
    assert_eq!(help.code, 0);
    for word in ["Examples:", "--readonly", "doctor", "NACRE_SIMD", "Exit codes"] {
        assert!(help.out.contains(word), "{word}: {}", help.out);
    }
    assert!(!help.out.contains("demo-child"));
    let version = run(directory.path(), &["--version"]);
    assert_eq!(version.out, format!("nacre {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_ends_with_code_one() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in
        [&["--frobnicate"][..], &["--csv", "--json"], &["--domain", "x"], &["--mode", "html"]]
    {
        let ran = run(directory.path(), arguments);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}");
        assert!(ran.err.contains("error:"), "{}", ran.err);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn commands_and_files_run_in_their_order() {
    let directory = shells();
    let script = "-- a script\nselect 2 as n;\n";
    fs::write(directory.path().join("two.sql"), script).unwrap();
    let arguments =
        ["--csv", "--no-header", "db", "-c", "select 1", "-f", "two.sql", "-c", "select 3"];
    let ran = run(directory.path(), &arguments);
    assert_eq!((ran.code, ran.out.as_str()), (0, "1\n2\n3\n"), "{}", ran.err);
}

#[test]
fn standard_input_is_a_script() {
    let directory = shells();
    let input = "select name\nfrom shell\norder by name; select count(*) from shell";
    for arguments in [&["--csv", "db"][..], &["--csv", "db", "-f", "-"]] {
        let ran = run_with_input(directory.path(), arguments, input);
        assert_eq!(ran.out, "name\nabalone\nnautilus\npaua\ncount\n3\n", "{}", ran.err);
        assert_eq!(ran.code, 0);
    }
}

#[test]
fn rows_are_a_box_unless_told_otherwise() {
    let directory = shells();
    let ran = run(directory.path(), &["db", "-c", "select * from shell order by name"]);
    let ascii: String = ran
        .out
        .chars()
        .map(|c| match c {
            '\u{2500}' => '-',
            '\u{2502}' => '|',
            '\u{250c}'..='\u{253c}' => '+',
            other => other,
        })
        .collect();
    let expected = "\
+----------+--------+--------+
| name     | layers | width  |
+----------+--------+--------+
| abalone  |     12 |   NULL |
| nautilus |     30 | 210.50 |
| paua     |   NULL | 180.25 |
+----------+--------+--------+
(3 rows)
";
    assert_eq!(ascii, expected, "{}", ran.err);
}

#[test]
fn formats_are_as_documented() {
    let directory = shells();
    let sql = "select name, layers from shell where layers is null or layers > 20 order by name";
    let shown = |format: &[&str]| {
        let mut arguments = vec!["db", "-c", sql];
        arguments.extend(format);
        run(directory.path(), &arguments).out
    };
    assert_eq!(shown(&["--csv"]), "name,layers\nnautilus,30\npaua,\n");
    assert_eq!(
        shown(&["--json"]),
        "[{\"name\":\"nautilus\",\"layers\":30},\n{\"name\":\"paua\",\"layers\":null}]\n"
    );
    assert_eq!(
        shown(&["--mode", "jsonlines"]),
        "{\"name\":\"nautilus\",\"layers\":30}\n{\"name\":\"paua\",\"layers\":null}\n"
    );
    assert_eq!(
        shown(&["--markdown"]),
        "| name | layers |\n|---|---:|\n| nautilus | 30 |\n| paua | NULL |\n"
    );
    assert_eq!(shown(&["--mode", "list", "--no-header"]), "nautilus|30\npaua|\n");
    assert_eq!(
        shown(&["--mode", "line"]),
        "  name = nautilus\nlayers = 30\n\n  name = paua\nlayers = NULL\n"
    );
}

#[test]
fn json_numbers_keep_every_digit() {
    let directory = tempfile::tempdir().unwrap();
    let sql = "select 12345678901234567.89 as d, cast('NaN' as double precision) as n, 'a\"b' as t";
    let ran = run(directory.path(), &["--json", "-c", sql]);
    assert!(ran.out.contains("\"d\":12345678901234567.89"), "{}{}", ran.out, ran.err);
    let parsed: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((parsed[0]["n"].as_str(), parsed[0]["t"].as_str()), (Some("NaN"), Some("a\"b")));
}

#[test]
fn first_failing_statement_ends_the_script_with_code_three() {
    let directory = shells();
    let script = "select 1;\n\nselect nothing\n  from shell;\nselect 2;\n";
    fs::write(directory.path().join("bad.sql"), script).unwrap();
    let ran = run(directory.path(), &["--csv", "db", "-f", "bad.sql", "-c", "select 3"]);
    assert_eq!(ran.code, 3);
    assert!(!ran.out.contains('2') && !ran.out.contains('3'), "{}", ran.out);
    assert!(ran.err.starts_with("nacre:bad.sql:3: ERROR:  "), "{}", ran.err);
    assert!(ran.err.contains("nothing"), "{}", ran.err);

    let goes_on = ["--csv", "--continue-on-error", "db", "-f", "bad.sql", "-c", "select 3 as n"];
    let ran = run(directory.path(), &goes_on);
    assert_eq!(ran.code, 3);
    assert!(ran.out.ends_with("2\nn\n3\n"), "{}", ran.out);
}

#[test]
fn errors_show_the_line_and_a_caret() {
    let directory = shells();
    let ran = run(directory.path(), &["db", "-c", "select name\nfrom shell\n  order name"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(lines[0].starts_with("ERROR:  syntax error"), "{}", ran.err);
    assert_eq!(lines[1], "LINE 3:   order name", "{}", ran.err);
    assert_eq!(lines[2].find('^'), lines[1].find("name"), "{}", ran.err);

    let ran = run(directory.path(), &["db", "-c", "select nam from shell"]);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(lines[0].contains("\"nam\" does not exist"), "{}", ran.err);
    assert_eq!(lines[1], "LINE 1: select nam from shell", "{}", ran.err);
    assert_eq!(lines[2].find('^'), Some(15), "{}", ran.err);
    assert!(ran.err.contains("HINT:"), "{}", ran.err);
}

#[test]
fn unfinished_work_is_not_supported_and_says_so() {
    let directory = shells();
    let ran = run(directory.path(), &["db", "-c", "create schema s"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.starts_with("ERROR:  not supported: "), "{}", ran.err);
}

#[test]
fn data_comes_in_on_standard_input_and_goes_out_on_standard_output() {
    let directory = shells();
    let copy_in = "copy shell from stdin (format csv)";
    let ran = run_with_input(directory.path(), &["db", "-c", copy_in], "trochus,5,80.00\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "COPY 1\n"), "{}", ran.err);
    let copy_out = "copy (select name, layers from shell order by name) to stdout (format csv)";
    let ran = run(directory.path(), &["db", "-c", copy_out]);
    assert_eq!(ran.out, "abalone,12\nnautilus,30\npaua,\ntrochus,5\n", "{}", ran.err);
}

#[test]
fn script_carries_inline_data() {
    let directory = tempfile::tempdir().unwrap();
    let script = format!(
        "{SHELLS}\ncopy shell from stdin (format csv);\nnautilus,30,1.50\n\"select 1;\",1,\n\\.\n\
         \\echo loaded\nselect count(*) as n from shell;\nselect broken;\n"
    );
    fs::write(directory.path().join("load.sql"), &script).unwrap();
    let ran = run(directory.path(), &["-f", "load.sql", "--csv"]);
    assert_eq!(ran.out, "loaded\nn\n2\n", "{}", ran.err);
    assert!(ran.err.starts_with("nacre:load.sql:8: ERROR:  "), "{}", ran.err);
    let ran = run_with_input(directory.path(), &["--csv"], &script);
    assert!(ran.err.starts_with("nacre:<stdin>:8: ERROR:  "), "{}", ran.err);
}

#[test]
fn failed_load_leaves_nothing_and_names_the_place() {
    let directory = shells();
    let csv = "trochus,5,80.00\nlimpet,many,1.00\n";
    fs::write(directory.path().join("bad.csv"), csv).unwrap();
    let ran = run(directory.path(), &["db", "-c", "copy shell from 'bad.csv' (format csv)"]);
    assert_eq!(ran.code, 3);
    for word in ["COPY shell", "line 2", "layers", "many", "integer"] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
    let ran = run(directory.path(), &["db", "--csv", "-c", "select count(*) as n from shell"]);
    assert_eq!(ran.out, "n\n3\n");
}

#[test]
fn meta_commands_of_both_families_answer() {
    let directory = shells();
    let described = run(directory.path(), &["db", "-c", "\\d shell"]);
    for word in ["Table \"shell\"", "numeric(6,2)", "not null", "\"shell_pkey\" PRIMARY KEY (name)"]
    {
        assert!(described.out.contains(word), "{word}: {}{}", described.out, described.err);
    }
    let input = ".tables\n.mode csv\n.headers off\nselect 1;\n\\pset null (none)\n\
                 select cast(null as integer), 'x';\n\\x\nselect 1 as one;\n.schema shell\n";
    let ran = run_with_input(directory.path(), &["db"], input);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.starts_with("shell\n1\n(none),x\none = 1\nCREATE TABLE shell (\n"),
        "{}",
        ran.out
    );
    let created = run(directory.path(), &["db", "-c", ".schema shell"]).out;
    let again = run_with_input(directory.path(), &["-c", &created, "-c", ".schema"], "");
    assert_eq!(again.out, format!("CREATE TABLE\n{created}"), "{}", again.err);
}

#[test]
fn lists_show_tables_and_domains() {
    let directory = shells();
    let ran = run(directory.path(), &["db", "-c", "\\dt", "-c", "\\l", "-c", "\\conninfo"]);
    assert!(ran.out.contains("shell") && ran.out.contains("main"), "{}", ran.out);
    assert!(ran.out.contains("Database in db."), "{}", ran.out);
    let ran = run(directory.path(), &["-c", "\\dt", "-c", "\\l"]);
    assert!(ran.out.starts_with("There are no tables.\n"), "{}", ran.out);
    assert!(ran.out.contains("dram"), "{}", ran.out);
}

#[test]
fn lists_show_roles_and_privileges() {
    let directory = tempfile::tempdir().unwrap();
    let sql = "create role staff; create user ann connection limit 1 in role staff; \
               create table t (a int); grant select, insert on t to staff; \
               create view v as select 1";
    let ran = run(directory.path(), &["-c", sql, "-c", "\\du", "-c", "\\dp", "-c", "\\z v"]);
    assert!(ran.out.contains("List of roles\n") && ran.out.contains("Access privileges\n"));
    for words in [
        &["Role name", "Attributes", "Member of"][..],
        &["ann", "1 connection", "{staff}"],
        &["nacre", "Superuser, Create role, Create DB, Replication, Bypass RLS", "{}"],
        &["staff", "Cannot login", "{}"],
        &["Schema", "Name", "Type", "Access privileges"],
        &["public", "t", "table", "nacre=arwdDxt/nacre"],
        &["staff=ar/nacre"],
        &["public", "v", "view"],
    ] {
        let has_all = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(ran.out.lines().any(has_all), "{words:?}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn unknown_meta_command_is_an_error_with_a_hint() {
    let directory = tempfile::tempdir().unwrap();
    let ran = run(directory.path(), &["-c", "\\tables", "-c", "select 1"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    assert!(ran.err.contains("unknown command \\tables"), "{}", ran.err);
    assert!(ran.err.contains("HINT:  Did you mean .tables?"), "{}", ran.err);
    let ran = run_with_input(directory.path(), &[], "\n\\d nothing\n");
    assert_eq!(ran.code, 3);
    assert!(ran.err.starts_with("nacre:<stdin>:2: ERROR:  relation \"nothing\""), "{}", ran.err);
}

#[test]
fn timing_and_echo_are_printed() {
    let directory = tempfile::tempdir().unwrap();
    let ran = run(directory.path(), &["--csv", "--echo", "-c", "\\timing on\nselect 1 as n;"]);
    assert!(ran.out.starts_with("select 1 as n;\nn\n1\nTime: "), "{}", ran.out);
}

#[test]
fn scripts_include_one_another_but_not_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("inner.sql"), "select 2 as n;\n\\q\nselect 9;\n").unwrap();
    let outer = "select 1 as n;\n\\i inner.sql\n.read 'inner.sql'\nselect 3 as n;\n";
    fs::write(directory.path().join("outer.sql"), outer).unwrap();
    fs::write(directory.path().join("circle.sql"), "\\i circle.sql\n").unwrap();
    let ran = run(directory.path(), &["--csv", "--no-header", "-f", "outer.sql"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "1\n2\n2\n3\n"), "{}", ran.err);
    let ran = run(directory.path(), &["-f", "circle.sql"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("nacre:circle.sql:1: ERROR:  scripts include"), "{}", ran.err);
    let ran = run(directory.path(), &["-f", "absent.sql"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("absent.sql"), "{}", ran.err);
}

#[test]
fn import_creates_a_table_or_fills_one() {
    let directory = shells();
    let new = "Name,Found On\nconch,2024-05-01\nwhelk,2024-06-01\n";
    fs::write(directory.path().join("new.csv"), new).unwrap();
    fs::write(directory.path().join("more.csv"), "width,name\n1.25,chiton\n").unwrap();
    fs::write(directory.path().join("bare.csv"), "limpet,2,3.00\n").unwrap();
    let input = ".import new.csv found\n.import more.csv shell\n.import bare.csv shell\n\
                 .mode csv\n.headers off\nselect name, \"found on\" from found order by 1;\n\
                 select name, layers, width from shell where width < 100 order by 1;\n";
    let ran = run_with_input(directory.path(), &["db"], input);
    let expected = "COPY 2\nCOPY 1\nCOPY 1\nconch,2024-05-01\nwhelk,2024-06-01\n\
                    chiton,,1.25\nlimpet,2,3.00\n";
    assert_eq!((ran.code, ran.out.as_str()), (0, expected), "{}", ran.err);
}

#[test]
fn import_that_fails_leaves_no_table() {
    let directory = tempfile::tempdir().unwrap();
    let mut csv = String::from("n\n");
    for number in 0..10_500 {
        csv.push_str(&format!("{number}\n"));
    }
    csv.push_str("many\n");
    fs::write(directory.path().join("n.csv"), csv).unwrap();
    let ran = run_with_input(directory.path(), &["db"], ".import n.csv n\n");
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("many") && ran.err.contains("HINT:"), "{}", ran.err);
    assert_eq!(run(directory.path(), &["db", "-c", ".tables"]).out, "");
}

#[test]
fn copy_of_the_shell_needs_no_quotes() {
    let directory = shells();
    let out = "\\copy (select name from shell order by name) to out.csv (format csv)";
    let ran = run(directory.path(), &["db", "-c", out]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "COPY 3\n"), "{}", ran.err);
    let written = fs::read_to_string(directory.path().join("out.csv")).unwrap();
    assert_eq!(written, "abalone\nnautilus\npaua\n");
}

#[test]
fn output_goes_to_a_file_and_back() {
    let directory = tempfile::tempdir().unwrap();
    let input = "\\o rows.csv\nselect 1 as a;\n\\o\nselect 2 as b;\n";
    let ran = run_with_input(directory.path(), &["--csv"], input);
    assert_eq!(ran.out, "b\n2\n", "{}", ran.err);
    assert_eq!(fs::read_to_string(directory.path().join("rows.csv")).unwrap(), "a\n1\n");
}

#[test]
fn readonly_database_refuses_changes() {
    let directory = shells();
    let ran =
        run(directory.path(), &["--readonly", "db", "--csv", "-c", "select count(*) n from shell"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "n\n3\n"), "{}", ran.err);
    let ran = run(directory.path(), &["--readonly", "db", "-c", "drop table shell"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("read-only") && ran.err.contains("HINT:"), "{}", ran.err);
    let ran = run(directory.path(), &["--readonly", "absent", "-c", "select 1"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(!directory.path().join("absent").exists());
}

#[test]
fn foreign_directory_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "not a database").unwrap();
    let ran = run(directory.path(), &["file", "-c", "select 1"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.starts_with("ERROR:  "), "{}", ran.err);
}

#[test]
fn second_writer_is_told_who_the_first_is() {
    let directory = shells();
    let mut first = nacre(directory.path())
        .arg("db")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = first.stdin.take().unwrap();
    stdin.write_all(b"\\echo ready\n").unwrap();
    let mut ready = [0; 6];
    first.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    assert_eq!(&ready, b"ready\n");
    let ran = run(directory.path(), &["db", "-c", "select 1"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains(&first.id().to_string()), "{}", ran.err);
    drop(stdin);
    assert!(wait_for_exit(&mut first).success());
    assert_eq!(run(directory.path(), &["db", "-c", "select 1"]).code, 0);
}

#[test]
fn closed_output_ends_the_program_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let sql = "select * from generate_series(1, 20000000) as t(n)";
    let copy = format!("copy ({sql}) to stdout (format csv)");
    for (mode, sql) in [("csv", sql), ("box", sql), ("csv", copy.as_str())] {
        let mut child = nacre(directory.path())
            .args(["--mode", mode, "-c", sql, "-c", "select 1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 1];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let status = wait_for_exit(&mut child);
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((status.code(), err.as_str()), (Some(0), ""), "{mode} {sql}");
    }
}

#[test]
fn interrupt_cancels_a_script_with_code_130() {
    let directory = tempfile::tempdir().unwrap();
    let sql =
        "select count(*) from generate_series(1, 100000) a(n), generate_series(1, 100000) b(n)
               where a.n % 7 + b.n % 3 = 2";
    let mut child = nacre(directory.path())
        .args(["-c", "\\echo ready", "-c", sql])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let interrupted = Instant::now();
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(wait_for_exit(&mut child).code(), Some(130));
    assert!(interrupted.elapsed() < Duration::from_secs(10));
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert!(err.contains("cancelled by Ctrl-C"), "{err}");
}

#[test]
fn server_says_where_it_listens_and_ends_on_sigterm() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = nacre(directory.path())
        .args(["serve", "db", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
    let mut client = TcpStream::connect(&address).unwrap();
    client.write_all(b"\0\0\0\x14\0\x03\0\0user\0nacre\0\0").unwrap();
    let mut kind = [0; 1];
    client.read_exact(&mut kind).unwrap();
    assert_eq!(kind, *b"R");
    // One process writes a directory at a time, one server has a port.
    let second = run(directory.path(), &["db", "-c", "select 1"]);
    assert_eq!(second.code, 1);
    assert!(second.err.contains(&server.id().to_string()), "{}", second.err);
    let other = run(directory.path(), &["serve", "other", "--listen", &address]);
    assert_eq!(other.code, 1);
    assert!(other.err.contains(&format!("cannot listen on {address}")), "{}", other.err);
    let elsewhere = run(directory.path(), &["serve", "other", "--listen", "0.0.0.0:0"]);
    assert_eq!(elsewhere.code, 1);
    assert!(elsewhere.err.contains("refusing to listen on 0.0.0.0:0"), "{}", elsewhere.err);
    let kill = Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert!(wait_for_exit(&mut server).success());
    assert_eq!(run(directory.path(), &["db", "-c", "select 1"]).code, 0);
}

#[test]
fn doctor_reports_on_machine_directory_and_database() {
    let directory = shells();
    let ran = run(directory.path(), &["doctor", "db", "--domain", "second=."]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for word in ["SIMD", "flush", "granularity", "durability", "NUMA node", "free", "Domain second"]
    {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
    assert!(
        ran.out.contains("tables       1") && ran.out.contains("rows         3"),
        "{}",
        ran.out
    );
    let files = |path: PathBuf| fs::read_dir(path).unwrap().count();
    let before = files(directory.path().to_owned());
    assert_eq!(run(directory.path(), &["doctor", "absent"]).code, 0);
    assert_eq!(files(directory.path().to_owned()), before);
}

#[test]
fn wrong_setting_is_an_error_not_a_fallback() {
    let directory = tempfile::tempdir().unwrap();
    let output =
        nacre(directory.path()).args(["-c", "select 1"]).env("NACRE_SIMD", "mmx").output().unwrap();
    let ran = ran(output);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("NACRE_SIMD") && ran.err.contains("mmx"), "{}", ran.err);
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let sql = "select chr(27) || '[31m' || chr(10) as t";
    let ran = run(directory.path(), &["-c", sql]);
    assert!(
        !ran.out.contains('\x1b') && ran.out.contains("\\x1b[31m\\n"),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn load_that_meets_the_file_size_limit_fails_cleanly_and_loses_nothing() {
    let directory = shells();
    let rows: String =
        (0..100_000).map(|row| format!("shell {row:040},{row},{}.25\n", row % 1_000)).collect();
    fs::write(directory.path().join("many.csv"), rows).unwrap();
    let before = names(&directory.path().join("db"));
    let script = format!(
        "ulimit -f 1024; exec '{}' db -c \"copy shell from 'many.csv' (format csv)\"",
        env!("CARGO_BIN_EXE_nacre")
    );
    let mut shell = Command::new("sh");
    shell.current_dir(directory.path()).stdin(Stdio::null()).args(["-c", &script]);
    let limited = ran(shell.output().unwrap());
    assert_eq!(limited.code, 3, "{}", limited.err);
    assert!(limited.err.contains("file size limit"), "{}", limited.err);
    assert_eq!(names(&directory.path().join("db")), before, "no part of the load is left");
    let count = "select count(*), sum(layers) from shell";
    let ran = run(directory.path(), &["db", "--csv", "--no-header", "-c", count]);
    assert_eq!(ran.out, "3,42\n", "{}", ran.err);
    let load = "copy shell from 'many.csv' (format csv)";
    let ran = run(directory.path(), &["db", "-c", load]);
    assert_eq!(ran.out, "COPY 100000\n", "{}", ran.err);
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The files with blocks in a database directory.
fn pools(database: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(database).unwrap().map(|entry| entry.unwrap().path());
    let mut pools: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "pool")).collect();
    pools.sort();
    pools
}

#[test]
fn lost_replicas_are_found_and_written_again() {
    let directory = shells();
    let database = directory.path().join("db");
    let ran = run(directory.path(), &["scrub", "db"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("all whole"), "{}", ran.out);
    let two = pools(&database);
    assert_eq!(two.len(), 2);

    for lost in two {
        fs::remove_file(lost).unwrap();
        let ran = run(directory.path(), &["scrub", "--readonly", "db"]);
        assert_eq!(ran.code, 4, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("DAMAGED: table \"shell\", column \"name\""), "{}", ran.out);
        assert!(!ran.out.contains("LOST"), "{}", ran.out);
        let ran = run(directory.path(), &["repair", "db"]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("written"), "{}", ran.out);
        let ran = run(directory.path(), &["scrub", "-q", "db"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    }
    let rows = run(directory.path(), &["--csv", "db", "-c", "select sum(layers) from shell"]);
    assert_eq!(rows.out, "sum\n42\n", "{}", rows.err);
}

#[test]
fn what_stays_lost_is_named_with_code_four() {
    let directory = shells();
    let database = directory.path().join("db");
    for pool in pools(&database) {
        fs::File::options().write(true).open(pool).unwrap().set_len(100).unwrap();
    }
    for command in ["repair", "scrub"] {
        let ran = run(directory.path(), &[command, "-q", "db"]);
        assert_eq!(ran.code, 4, "{command}: {}{}", ran.out, ran.err);
        assert!(ran.out.starts_with("LOST: table \"shell\""), "{command}: {}", ran.out);
    }
    let ran = run(directory.path(), &["repair", "absent"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("there is no database in absent"), "{}", ran.err);
    assert!(!directory.path().join("absent").exists());
}

#[test]
fn transaction_block_spans_the_statements_of_a_script() {
    let directory = tempfile::tempdir().unwrap();
    let script = "create table t (a integer); begin; insert into t values (1), (2); \
                  select count(*) from t; rollback; select count(*) from t; commit;";
    let ran = run(directory.path(), &["--csv", "--no-header", "-c", script]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "2\n0\n"), "{}", ran.err);
    assert!(ran.err.contains("WARNING:  there is no transaction in progress"), "{}", ran.err);
    // The first failure ends the run, and with it the block.
    let script = "create table t (a integer); begin; insert into t values ('x'); commit;";
    let ran = run(directory.path(), &["-c", script]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("invalid input syntax for type integer: \"x\""), "{}", ran.err);
}

/// The path is relative, and the database is used from elsewhere later.
#[test]
fn missing_domain_is_told_with_the_way_out() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    fs::write(at.join("shells.csv"), "nautilus,30,210.50\nabalone,12,\n").unwrap();
    let alone = "create table alone (n integer) with (replicas = 'plain@fast')";
    let load = "copy shell from 'shells.csv' (format csv)";
    let opened = ["-q", "db", "--domain", "fast=fast", "-c", SHELLS, "-c", load, "-c", alone];
    let ran = run_with_input(at, &[&opened[..], &["-c", "copy alone from stdin"]].concat(), "7\n");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let elsewhere = tempfile::tempdir().unwrap();
    let database = at.join("db").display().to_string();
    let ran = run(elsewhere.path(), &["scrub", "-q", &database]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);

    fs::rename(at.join("fast"), at.join("away")).unwrap();
    let ran = run(at, &["scrub", "-q", "db"]);
    let text = "memory domain \"fast\" is missing: 4 blocks of 2 tables have one replica less, 1 \
                cannot be read until it is back; then: nacre repair db --domain fast=PATH\n";
    assert_eq!((ran.code, ran.out.as_str()), (4, text), "{}", ran.err);
    fs::write(at.join("more.csv"), "paua,,180.25\n").unwrap();
    let more = "copy shell from 'more.csv' (format csv)";
    let ran = run(at, &["db", "-c", "\\l", "-c", more, "-c", "select * from alone"]);
    assert!(ran.out.contains("missing"), "{}", ran.out);
    assert!(ran.err.contains("has no replica in memory domain \"fast\""), "{}", ran.err);
    assert!(ran.err.contains("--domain fast=PATH"), "{}", ran.err);
    let ran = run(at, &["db", "--domain", "fast=absent/fast", "-c", "select 1"]);
    assert!(ran.code == 1 && ran.err.contains("make an empty directory"), "{}", ran.err);
    let ran = run(at, &["repair", "db", "--forget-domain", "fast"]);
    assert!(ran.code == 1 && ran.err.contains("of these tables: \"alone\""), "{}", ran.err);
    let ran = run(at, &["repair", "-q", "db", "--domain", "fast=away"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    let drop = run(at, &["-q", "db", "-c", "drop table alone"]);
    assert_eq!(drop.code, 0, "{}", drop.err);
    let ran = run(at, &["repair", "-q", "db", "--forget-domain", "fast"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
}

#[test]
fn database_is_restored_of_a_backup_and_an_archive() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let script = "create table t (a integer); insert into t values (1); \
                  archive database to 'archive'; backup database to 'backup'; \
                  insert into t values (2); create table late (b integer);";
    let ran = run(at, &["db", "-c", script]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // Between the runs the archive is whole.
    let end = "select archived_lsn from nacre_archive";
    let ran = run(at, &["db", "--csv", "--no-header", "-c", end]);
    let end = ran.out.trim().to_owned();
    let ran = run(at, &["db", "-c", "insert into t values (3); drop table late"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let restore = |to: &[&str], into: &str| {
        let arguments = ["restore", "backup", "--archive", "archive", "--into", into];
        run(at, &[&arguments, to].concat())
    };
    let ran = restore(&["--to", &end], "then");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("restored up to commit"), "{}", ran.out);
    let count = "select sum(a) as a from t; select count(*) as n from late";
    let ran = run(at, &["then", "--csv", "--no-header", "-c", count]);
    assert_eq!(ran.out, "3\n0\n", "{}", ran.err);
    let ran = restore(&[], "now");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = run(at, &["now", "--csv", "--no-header", "-c", "select sum(a) as a from t"]);
    assert_eq!(ran.out, "6\n", "{}", ran.err);
    let ran = restore(&["--to", "2020-01-01"], "never");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("before the end of the backup"), "{}", ran.err);
    assert!(!at.join("never").exists());
    let ran = run(at, &["doctor", "db"]);
    assert!(ran.out.contains("archive, up to byte"), "{}", ran.out);
}
