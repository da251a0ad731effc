//! What our own processes do when the demo or a benchmark starts them; see [`crate::process`].
//!
//! | arguments | does | lines to the parent |
//! |---|---|---|
//! | `load DIR TABLE CSV` | opens DIR, loads CSV | `progress DONE TOTAL` often, `loaded ROWS` |
//! | `hello` | nothing: how long a process takes to start | `hello` |
//! | `query DIR SQL` | opens DIR, runs SQL | `answer CELLS` |
//! | `hold DIR SQL` | the same, then waits to be killed | `answer CELLS` |
//! | `transact DIR COUNT` | commits COUNT times, then waits to be killed | what a reader finds |
//! | `serve DIR COUNT` | opens DIR, reads it, commits an update | what it found, `served` |
//!
//! DONE and TOTAL are bytes of the CSV file; DIR is a database and is created if absent.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use nacre_ingest::Progress;

use crate::bench::recovery;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::process::LINE_PREFIX;

/// Time between two looks at the progress of a load.
const PROGRESS_PERIOD: Duration = Duration::from_millis(1);

/// How long a child waits to be killed; ends it if its parent is gone.
const HOLD_MAX: Duration = Duration::from_secs(600);

/// Runs a child's part and returns the exit code of its process.
pub fn run(arguments: &[String]) -> ExitCode {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(part(&arguments)),
        Err(source) => Err(Error::Io { action: "start worker threads".into(), source }),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell if standard error is closed.
            let _ = writeln!(std::io::stderr(), "nacre demo, child process: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn part(arguments: &[&str]) -> Result<()> {
    match *arguments {
        ["hello"] => tell("hello"),
        ["load", directory, table, csv] => load(directory, table, csv).await,
        ["query", directory, sql] => answer(directory, sql).await.map(drop),
        ["hold", directory, sql] => {
            let _engine = answer(directory, sql).await?;
            tokio::time::sleep(HOLD_MAX).await;
            Ok(())
        }
        ["transact", directory, commits] => {
            let commits = commits.parse().unwrap_or_default();
            let (_database, answer) = recovery::transact(Path::new(directory), commits)?;
            tell(&answer)?;
            tokio::time::sleep(HOLD_MAX).await;
            Ok(())
        }
        ["serve", directory, _] => {
            recovery::serve(Path::new(directory), tell)?;
            tell("served")
        }
        _ => Err(Error::Usage("this command is for `nacre demo` and `nacre bench` only".into())),
    }
}

async fn answer(directory: &str, sql: &str) -> Result<Engine> {
    let engine = Engine::open(Path::new(directory), None).await?;
    tell(&format!("answer {}", engine.line(sql).await?))?;
    Ok(engine)
}

async fn load(directory: &str, table: &str, csv: &str) -> Result<()> {
    let engine = Engine::open(Path::new(directory), None).await?;
    let progress = Arc::new(Progress::default());
    let mut load = std::pin::pin!(engine.load(table, Path::new(csv), Arc::clone(&progress)));
    let mut told = 0;
    loop {
        tokio::select! {
            loaded = &mut load => return tell(&format!("loaded {}", loaded?.rows)),
            () = tokio::time::sleep(PROGRESS_PERIOD) => {
                // ORDERING: figures to look at; nothing else depends on them.
                let done = progress.bytes_done.load(Ordering::Relaxed);
                let total = progress.bytes_total.load(Ordering::Relaxed);
                if done > told {
                    tell(&format!("progress {done} {total}"))?;
                    told = done;
                }
            }
        }
    }
}

/// Writes a line to the parent.
fn tell(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{LINE_PREFIX}{text}")
        .and_then(|()| stdout.flush())
        .map_err(|source| Error::Io { action: "write to the parent process".into(), source })
}
