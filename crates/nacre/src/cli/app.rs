//! From arguments to an exit code.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use nacre_bench::calibrate::CalibrateArgs;
use nacre_bench::demo::DemoArgs;
use nacre_simd::{Flavour, SIMD_VARIABLE};
use nacre_sql::OpenOptions;

use super::arguments::{Arguments, BenchSubject, Task, Tool};
use super::console::{Behaviour, Console, Flow};
use super::place::Place;
use super::remote::Target;
use super::render::Style;
use super::{doctor, password, ready, report, restore, script, serve, shell, upkeep};

/// Wrong usage, or the database cannot be opened.
const EXIT_UNUSABLE: u8 = 1;
/// A statement failed.
const EXIT_SCRIPT: u8 = 3;

/// Runs the `nacre` program.
pub fn main() -> ExitCode {
    let (arguments, tasks) = match Arguments::parse_from_os(std::env::args_os()) {
        Ok(parsed) => parsed,
        Err(error) => {
            // Nobody is left to tell if the output is closed.
            let _ = error.print();
            let is_ready = std::env::args_os().nth(1).is_some_and(|name| name == "ready");
            let wrong = if is_ready { ready::EXIT_NO_ATTEMPT } else { EXIT_UNUSABLE };
            return if error.use_stderr() { wrong.into() } else { ExitCode::SUCCESS };
        }
    };
    match arguments.tool {
        Some(tool) => run_tool(tool),
        None => run_database(arguments, &tasks).into(),
    }
}

fn run_tool(tool: Tool) -> ExitCode {
    let outcome = match tool {
        Tool::Doctor { directory, domains } => {
            doctor::run(directory.as_deref(), &domains);
            return ExitCode::SUCCESS;
        }
        Tool::Scrub { place, readonly } => return upkeep::scrub(place, readonly).into(),
        Tool::Repair { place, forgotten } => return upkeep::repair(place, &forgotten).into(),
        Tool::Ready(given) => return ready::run(&given).into(),
        Tool::Serve(given) => return serve::run(given).into(),
        Tool::Password(given) => return password::run(given).into(),
        Tool::Restore(given) => return restore::run(given).into(),
        Tool::DemoChild { arguments } => return nacre_bench::demo::child(&arguments),
        Tool::Demo { scale_factor, directory, keep } => {
            nacre_bench::demo::run(DemoArgs { scale_factor, directory, keep })
        }
        Tool::Bench { subject } => bench(subject),
        Tool::Calibrate(given) => nacre_bench::calibrate::run(&CalibrateArgs {
            directory: given.directory,
            output: given.output,
            is_quick: given.quick,
        }),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(nacre_bench::Error::Interrupted) => super::interrupt::EXIT_CODE.into(),
        Err(error) => {
            report::print_message(&error.to_string(), None, &Place::Typed);
            EXIT_UNUSABLE.into()
        }
    }
}

fn bench(subject: BenchSubject) -> nacre_bench::Result<()> {
    let args = match subject {
        BenchSubject::Clickbench(given) => given.into_bench(),
        BenchSubject::Formats(given) => given.named("formats"),
        BenchSubject::Limits(given) => given.named("limits"),
        BenchSubject::Load(given) => given.named("load"),
        BenchSubject::Mvcc(given) => given.named("mvcc"),
        BenchSubject::Open(given) => given.named("open"),
        BenchSubject::Pcr(given) => given.named("pcr"),
        BenchSubject::Planning(given) => given.into_bench(),
        BenchSubject::Recovery(given) => given.named("recovery"),
        BenchSubject::Scans(given) => given.named("scans"),
        BenchSubject::Server(given) => given.named("server"),
        BenchSubject::Ssb(given) => given.named("ssb"),
        BenchSubject::Tatp(given) => given.named("tatp"),
        BenchSubject::Tpcc(given) => given.named("tpcc"),
        BenchSubject::Tpcds(given) => given.into_bench(),
        BenchSubject::Tpch(given) => given.into_bench(),
        BenchSubject::Replication(given) => {
            return nacre_bench::replication::run(&(*given).into());
        }
    };
    nacre_bench::bench::run(args)
}

fn run_database(arguments: Arguments, tasks: &[Task]) -> u8 {
    let is_interactive = tasks.is_empty() && std::io::stdin().is_terminal();
    let style = Style {
        mode: arguments.format.mode(),
        null: None,
        has_header: !arguments.format.no_header,
    };
    let behaviour = Behaviour {
        is_interactive,
        is_quiet: arguments.work.quiet,
        is_echoing: arguments.work.echo,
        continues_on_error: arguments.work.continue_on_error,
        has_timer: false,
    };
    if let Err(error) = Flavour::from_env() {
        let message = format!("setting {SIMD_VARIABLE}: {error}");
        report::print_message(&message, None, &Place::Typed);
        return EXIT_UNUSABLE;
    }
    let opened = match arguments.connect {
        Some(text) => match Target::new(&text, |name| std::env::var(name).ok()) {
            Ok(target) => Console::connect(target, style, behaviour),
            Err(problem) => {
                let message = format!("--connect: {problem}");
                report::print_message(&message, None, &Place::Typed);
                return EXIT_UNUSABLE;
            }
        },
        None => {
            let options = OpenOptions {
                directory: arguments.directory,
                domains: arguments.domains,
                is_read_only: arguments.readonly,
                threads: arguments.threads.map(usize::from),
                ..OpenOptions::default()
            };
            Console::open(options, style, behaviour)
        }
    };
    let mut console = match opened {
        Ok(console) => console,
        Err(error) => {
            report::print_error(&error, "", &Place::Typed);
            return EXIT_UNUSABLE;
        }
    };
    console.tell_notes();
    let flow = if is_interactive {
        shell::run(&mut console)
    } else if tasks.is_empty() {
        script::run_stdin(&mut console)
    } else {
        run_tasks(&mut console, tasks)
    };
    let code = exit_code(&mut console, flow);
    console.close();
    code
}

fn run_tasks(console: &mut Console, tasks: &[Task]) -> Flow {
    let mut has_failed = false;
    for task in tasks {
        let flow = match task {
            Task::Command(text) => script::run_command(console, text),
            Task::File(path) => script::run_file(console, path, &Place::Typed),
        };
        match flow {
            Flow::Continue | Flow::Quit => {}
            Flow::Failed if console.behaviour.continues_on_error => has_failed = true,
            Flow::Failed | Flow::Exit(_) => return flow,
        }
    }
    if has_failed { Flow::Failed } else { Flow::Continue }
}

fn exit_code(console: &mut Console, flow: Flow) -> u8 {
    match flow {
        Flow::Exit(code) => code,
        Flow::Failed => EXIT_SCRIPT,
        Flow::Continue | Flow::Quit => match console.output.flush() {
            Err(error) if !console.output.is_closed() => {
                let message = format!("cannot write the answer: {error}");
                report::print_message(&message, None, &Place::Typed);
                EXIT_SCRIPT
            }
            _ => 0,
        },
    }
}
