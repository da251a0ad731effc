//! `nacre doctor`: what this machine offers and how safe data in a directory is.
//!
//! It changes nothing: directories are probed without leaving a file, a database is opened
//! read-only, and a directory that is absent is judged by its nearest parent.

use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use nacre_pmem::switch::{Profile, SwitchReport};
use nacre_pmem::{Access, Domain, ErrorKind, FlushFlavour, StreamFlavour};
use nacre_simd::Flavour;
use nacre_store::{IsolationLevel, MAIN_DOMAIN, OpenOptions, ReplicaInfo, ReplicaState, Store};

use super::describe::bytes_text;
use super::output::Output;
use crate::settings;

/// Prints the report.
pub(crate) fn run(directory: Option<&Path>, domains: &[(String, PathBuf)]) {
    let text = report(directory, domains);
    let mut output = Output::stdout();
    // Nobody is left to tell if standard output is closed.
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

fn report(directory: Option<&Path>, domains: &[(String, PathBuf)]) -> String {
    let mut text = format!("nacre {}\n", env!("CARGO_PKG_VERSION"));
    push_machine(&mut text);
    let here = Path::new(".");
    push_directory(MAIN_DOMAIN, directory.unwrap_or(here), &mut text);
    for (name, path) in domains {
        push_directory(name, path, &mut text);
    }
    push_domain(&Domain::dram("memory"), "without a directory", &mut text);
    if let Some(directory) = directory {
        push_database(directory, &mut text);
    }
    let _ = write!(text, "\n{}", settings::table());
    text
}

fn push_machine(text: &mut String) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|info| {
        let line = info.lines().find(|line| line.starts_with("model name"))?;
        line.split_once(':').map(|(_, model)| model.trim().to_owned())
    });
    text.push_str("\nProcessor\n");
    push_line(text, "model", model.as_deref().unwrap_or(std::env::consts::ARCH));
    push_line(text, "threads", threads);
    push_line(text, "NUMA nodes", numa_nodes());
    match Flavour::from_env() {
        Ok(flavour) => {
            push_choice(text, "SIMD", flavour, &Flavour::available(), "NACRE_SIMD");
        }
        Err(error) => push_line(text, "SIMD", format!("ERROR: {error}")),
    }
    let instructions: Vec<FlushFlavour> =
        FlushFlavour::available().into_iter().filter(|flavour| flavour.is_instruction()).collect();
    push_choice(text, "flush", FlushFlavour::best(), &instructions, "NACRE_FLUSH");
    let streams = StreamFlavour::available();
    push_choice(text, "streaming", StreamFlavour::best(), &streams, "NACRE_STREAM");
}

fn push_choice<T: Display>(
    text: &mut String,
    name: &str,
    chosen: T,
    available: &[T],
    variable: &str,
) {
    let available: Vec<String> = available.iter().map(T::to_string).collect();
    let forced = std::env::var_os(variable).filter(|value| !value.is_empty());
    let chosen = match forced {
        Some(value) => format!("{} (forced by {variable})", value.to_string_lossy()),
        None => format!("{chosen} (force with {variable})"),
    };
    push_line(text, name, format!("{chosen}; available: {}", available.join(", ")));
}

/// Appends what a directory, or the nearest parent that is there, is as a domain.
fn push_directory(name: &str, path: &Path, text: &mut String) {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = absolute.ancestors().find(|ancestor| ancestor.exists());
    let existing = existing.unwrap_or(&absolute);
    let place = if existing == absolute {
        absolute.display().to_string()
    } else {
        let (absolute, existing) = (absolute.display(), existing.display());
        format!("{absolute} (absent; it would be like {existing})")
    };
    let opened =
        Domain::open(name, existing, Access::ReadWrite).or_else(|error| match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnly => {
                Domain::open(name, existing, Access::ReadOnly)
            }
            _ => Err(error),
        });
    match opened {
        Ok(domain) => push_domain(&domain, &place, text),
        Err(error) => {
            let _ = writeln!(text, "\nDomain {name}: {place}");
            push_line(text, "ERROR", error);
        }
    }
}

/// Appends how replicas are written in a domain, and why.
fn push_replication(domain: &Domain, text: &mut String) {
    let report = match SwitchReport::load(Profile::path().as_deref(), domain.flush_flavour()) {
        Ok(report) => report,
        Err(error) => return push_line(text, "profile", format!("ERROR: {error}")),
    };
    let path = report.path.as_ref().map_or("none".to_owned(), |path| path.display().to_string());
    match &report.reason {
        None => push_line(text, "profile", path),
        Some(reason) => push_line(text, "profile", format!("built-in; {path}: {reason}")),
    }
}

fn push_domain(domain: &Domain, place: &str, text: &mut String) {
    let _ = writeln!(text, "\nDomain {}: {place}", domain.name());
    push_line(text, "kind", format!("{} on {}", domain.kind(), domain.file_system()));
    push_line(text, "granularity", domain.granularity());
    push_line(text, "flush", domain.flush_flavour());
    push_line(
        text,
        "pages",
        match domain.maps_large_pages() {
            true => "2 MiB where pools are long enough and memory is not fragmented",
            false => "those of the file system",
        },
    );
    push_replication(domain, text);
    let node = domain.numa_node().map_or("unknown".to_owned(), |node| node.to_string());
    push_line(text, "NUMA node", node);
    match domain.free_bytes() {
        Ok(Some(bytes)) => push_line(text, "free", bytes_text(bytes)),
        Ok(None) => {}
        Err(error) => push_line(text, "free", format!("unknown: {error}")),
    }
    if domain.access() == Access::ReadOnly {
        push_line(text, "access", "read-only for this user");
    }
    push_line(text, "durability", domain.durability());
    for advice in domain.advice() {
        push_line(text, "to improve", advice);
    }
}

/// Tells whether a directory holds a database, sound or not.
pub(super) fn has_database(directory: &Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|mut entries| {
        entries.any(|entry| {
            entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().starts_with(b"manifest."))
        })
    })
}

/// Appends what database a directory holds, if it holds one.
fn push_database(directory: &Path, text: &mut String) {
    text.push_str("\nDatabase\n");
    if !has_database(directory) {
        push_line(text, "state", format!("none in {} yet", directory.display()));
        return;
    }
    let options = OpenOptions {
        directory: Some(directory.to_owned()),
        domains: Vec::new(),
        is_read_only: true,
        ..OpenOptions::default()
    };
    let store = match Store::open(options) {
        Ok(store) => store,
        Err(error) => return push_line(text, "state", format!("cannot be opened: {error}")),
    };
    for note in store.notes() {
        push_line(text, "note", note);
    }
    let (tables, now) = (store.tables(), store.begin(IsolationLevel::RepeatableRead));
    let (mut rows, mut bytes) = (0, 0);
    for table in &tables {
        let snapshot = now.table_snapshot(table);
        rows += snapshot.rows();
        bytes += snapshot.pool_bytes();
        // Maps every pool and reads its directory, so what is cut or gone is found here.
        if let Err(error) = snapshot.chunks() {
            push_line(text, "LOST", error);
        }
    }
    push_line(text, "tables", tables.len());
    push_line(text, "rows", rows);
    push_line(text, "bytes", format!("{bytes} ({})", bytes_text(bytes)));
    let replicas = store.replicas();
    for domain in store.domains() {
        push_use(&domain, &replicas, text);
    }
    for name in store.missing_domains() {
        let path =
            store.domain_path(&name).map_or(String::new(), |path| path.display().to_string());
        push_line(text, &format!("domain {name}"), format!("missing, its path is {path}"));
    }
    push_archive(&store, text);
    push_line(text, "written", "what a process writes is in its view nacre_wear, while it runs");
    for replica in replicas.iter().filter(|replica| replica.state != ReplicaState::Good) {
        let ReplicaInfo { table, column, replica, domain, state, .. } = replica;
        let what = format!(
            "table \"{table}\", column \"{column}\", replica {replica} in domain {domain}: {state}"
        );
        push_line(text, "not whole", what);
    }
}

/// Appends where a database is archived and how far, if it is.
fn push_archive(store: &Store, text: &mut String) {
    let Some(status) = store.archive_status() else {
        return;
    };
    let (directory, archived) = (status.directory.display(), status.archived.0);
    let what = format!("{directory}, up to byte {archived} of the redo log");
    push_line(text, "archive", what);
    if let Some(problem) = status.problem {
        push_line(text, "NOT ARCHIVED", problem);
    }
}

/// Appends what a database keeps in a domain.
fn push_use(domain: &Domain, replicas: &[ReplicaInfo], text: &mut String) {
    let name = domain.name();
    let path = domain.path().map_or("memory".to_owned(), |path| path.display().to_string());
    let node = domain.numa_node().map_or("unknown".to_owned(), |node| node.to_string());
    let what = format!("{} at {path}, node {node}, {}", domain.kind(), domain.durability());
    push_line(text, &format!("domain {name}"), what);
    let bytes: u64 = replicas.iter().filter(|r| r.domain == name).map(|r| r.bytes).sum();
    push_line(text, "  replicas", bytes_text(bytes));
}

fn push_line(text: &mut String, name: &str, value: impl Display) {
    let _ = writeln!(text, "  {name:12} {value}");
}

fn numa_nodes() -> usize {
    let nodes = std::fs::read_dir("/sys/devices/system/node").map_or(0, |entries| {
        let is_node = |name: &str| {
            name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok())
        };
        entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_node)).count()
    });
    nodes.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_on_an_absent_directory_creates_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let absent = parent.path().join("a/b");
        let text = report(Some(&absent), &[]);
        assert!(text.contains("absent; it would be like"), "{text}");
        assert!(text.contains("none in"), "{text}");
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
        for word in [
            "Processor",
            "SIMD",
            "NACRE_SIMD",
            "granularity",
            "durability",
            "NUMA node",
            "pages",
            "profile",
        ] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }

    #[test]
    fn pool_that_was_cut_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let options = || nacre_sql::OpenOptions {
            directory: Some(directory.path().to_owned()),
            ..nacre_sql::OpenOptions::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let database = nacre_sql::Database::open(options()).unwrap();
        let session = database.session();
        for (table, data) in [("whole", &b"1\n"[..]), ("cut", &b"2\n"[..])] {
            let create = format!("create table {table} (k integer)");
            let copy = format!("copy {table} from stdin");
            let io = nacre_sql::StatementIo {
                copy_in: Some(nacre_sql::CopyIn::Reader(Box::new(data))),
                ..nacre_sql::StatementIo::default()
            };
            runtime.block_on(session.execute(&create, Default::default())).unwrap();
            runtime.block_on(session.execute(&copy, io)).unwrap();
        }
        drop((session, database));
        assert!(!report(Some(directory.path()), &[]).contains("LOST"));
        let entries = std::fs::read_dir(directory.path()).unwrap();
        let pools = entries.map(|entry| entry.unwrap().path());
        let cut = pools.filter(|path| path.extension().is_some_and(|end| end == "pool")).max();
        std::fs::File::options().write(true).open(cut.unwrap()).unwrap().set_len(10).unwrap();
        let text = report(Some(directory.path()), &[]);
        assert!(text.contains("not whole") && text.contains("table \"cut\""), "{text}");
        assert!(!text.contains("table \"whole\""), "{text}");
    }

    #[test]
    fn file_in_place_of_a_directory_is_an_error_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = report(Some(file.path()), &[]);
        assert!(text.contains("ERROR"), "{text}");
    }
}
