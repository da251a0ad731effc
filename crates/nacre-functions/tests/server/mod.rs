//! A PostgreSQL server of our own, if its programs are there.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Where Debian keeps the programs.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// User and group `nobody`: the server refuses to run as root.
const NOBODY: u32 = 65_534;

/// Describes an expression without running it.
const TYPE_OF: &str = "
create function pg_temp.type_of(expression text) returns text language plpgsql as $$
declare answer text;
begin
    execute 'select pg_typeof(case when false then ' || expression || ' end)::oid' into answer;
    return answer;
exception when others then
    return sqlstate;
end $$;
create temp table questions (number serial, expression text);
copy questions (expression) from stdin;
";

/// Computes an expression: `=` and the text in hexadecimal digits, `NULL`, or the SQLSTATE.
const VALUE_OF: &str = "
create function pg_temp.value_of(expression text) returns text language plpgsql as $$
declare answer text; nothing boolean;
begin
    execute 'select format(''%s'', x), num_nulls(x) > 0 from (select ' || expression || ' as x) s'
        into answer, nothing;
    return case when nothing then 'NULL'
        else '=' || encode(convert_to(answer, 'UTF8'), 'hex') end;
exception when others then
    return sqlstate;
end $$;
create temp table calls (number serial, expression text);
copy calls (expression) from stdin;
";

/// A running server; it ends with this value.
pub(crate) struct TestServer {
    directory: TempDir,
}

impl TestServer {
    /// Starts a server; `None`, with a line that says so, if its programs are not there.
    pub(crate) fn start() -> Option<Self> {
        if !Path::new(PROGRAMS).join("initdb").exists() {
            println!("not compared with PostgreSQL: {PROGRAMS} is not there");
            return None;
        }
        let directory = TempDir::new().unwrap();
        if fs::metadata(directory.path()).unwrap().uid() == 0 {
            chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let server = Self { directory };
        let data = server.data();
        let mut initialize = server.command("initdb");
        initialize.args(["-U", "postgres", "--auth=trust", "-E", "UTF8"]);
        initialize.args(["--lc-collate=C", "--lc-ctype=C.UTF-8"]);
        assert!(initialize.arg("-N").arg("-D").arg(&data).status().unwrap().success());
        let options =
            format!("-c listen_addresses= -c fsync=off -k {}", server.directory.path().display());
        let mut start = server.command("pg_ctl");
        start.args(["start", "-w", "-o", &options, "-l"]).arg(server.directory.path().join("log"));
        assert!(start.arg("-D").arg(&data).stderr(Stdio::null()).status().unwrap().success());
        Some(server)
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(Path::new(PROGRAMS).join(program));
        command.current_dir(self.directory.path()).stdin(Stdio::null()).stdout(Stdio::null());
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Returns for each statement what it answers, without running it: a line of SQLSTATE and
    /// message if it is refused, else a line of name and type for each column.
    pub(crate) fn describe(&self, definitions: &str, statements: &[String]) -> Vec<Vec<String>> {
        use std::fmt::Write as _;
        let mut script = format!("\\set ON_ERROR_STOP off\n{definitions}\n");
        for statement in statements {
            let _ = write!(script, "\\echo @@\n{statement} \\gdesc\n");
            script.push_str(
                "\\if :ERROR\n\\echo :LAST_ERROR_SQLSTATE :LAST_ERROR_MESSAGE\n\\endif\n",
            );
        }
        self.run_apart(&script)
    }

    /// Returns the rows of each query, fields apart by tabs and nulls as `NULL`; `None` for what
    /// fails.
    pub(crate) fn answers(
        &self,
        definitions: &str,
        queries: &[String],
    ) -> Vec<Option<Vec<String>>> {
        use std::fmt::Write as _;
        let mut script = format!("\\set ON_ERROR_STOP off\n\\pset null NULL\n{definitions}\n");
        for query in queries {
            let _ = write!(script, "\\echo @@\n{query};\n\\if :ERROR\n\\echo @!\n\\endif\n");
        }
        let failed = |answer: &Vec<String>| answer.last().is_some_and(|line| line == "@!");
        self.run_apart(&script).into_iter().map(|one| (!failed(&one)).then_some(one)).collect()
    }

    /// Returns what comes after each line `@@`.
    fn run_apart(&self, script: &str) -> Vec<Vec<String>> {
        let mut answers: Vec<Vec<String>> = Vec::new();
        for line in self.run(script) {
            match answers.last_mut() {
                _ if line == "@@" => answers.push(Vec::new()),
                Some(answer) => answer.push(line),
                None => {}
            }
        }
        answers
    }

    /// Returns the client, which reads statements and writes rows with fields apart by tabs.
    pub(crate) fn psql(&self) -> Command {
        let mut psql = self.command("psql");
        psql.args(["-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h"]);
        psql.arg(self.directory.path()).arg("postgres");
        psql
    }

    fn run(&self, script: &str) -> Vec<String> {
        let mut psql = self.psql();
        psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = psql.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let script = script.to_owned();
        let writer = std::thread::spawn(move || stdin.write_all(script.as_bytes()).unwrap());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// Returns the rows of a query, fields apart by tabs.
    pub(crate) fn rows(&self, query: &str) -> Vec<String> {
        self.run(&format!("{query};"))
    }

    /// Returns for each expression its value: `=` and the text in hexadecimal digits, `NULL`, or
    /// the SQLSTATE that refuses it.
    pub(crate) fn values_of(&self, zone: &str, expressions: &[String]) -> Vec<String> {
        let mut script = format!("set timezone = '{zone}';\n{VALUE_OF}");
        for expression in expressions {
            script.push_str(&expression.replace('\\', "\\\\").replace('\n', "\\n"));
            script.push('\n');
        }
        script.push_str("\\.\nselect pg_temp.value_of(expression) from calls order by number;\n");
        self.run(&script)
    }

    /// Returns for each expression the OID of its type, or the SQLSTATE that refuses it.
    pub(crate) fn types_of(&self, expressions: &[String]) -> Vec<String> {
        let copied = expressions.join("\n").replace('\\', "\\\\");
        self.run(&format!(
            "{TYPE_OF}{copied}\n\\.\n\
             select pg_temp.type_of(expression) from questions order by number;\n"
        ))
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let mut stop = self.command("pg_ctl");
        let stopped = stop.args(["stop", "-m", "immediate", "-w", "-D"]).arg(self.data()).status();
        assert!(stopped.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}
