//! SIGBUS: failed memory is contained, and what is not ours goes where it would have gone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::single_range_in_vec_init)]

mod support;

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nacre_pmem::{Access, Domain, ErrorKind, Pool, Settings};
use rustix::mm::{MapFlags, ProtFlags};
use support::{Over, child_directory, spawn_child};

const PAGE: usize = 4096;
const PAGES: usize = 64;
const BUS_MCEERR_AR: i32 = 4;
const BUS_MCEERR_AO: i32 = 5;

fn pool(directory: &Path, access: Access) -> Pool {
    let domain = Domain::create_with("d", directory, &Settings::default()).unwrap();
    let mut pool = domain.create_pool("root", (PAGES * PAGE) as u64).unwrap();
    pool.write(0, &[7; PAGES * PAGE]).unwrap();
    pool.persist(0, (PAGES * PAGE) as u64).unwrap();
    drop(pool);
    domain.open_pool("root", access).unwrap()
}

/// Sends this thread the signal that the kernel sends for failed memory at `address`.
fn poison(address: usize, code: i32) {
    // SAFETY: all zeros is a valid value of this C struct.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    info.si_signo = libc::SIGBUS;
    info.si_code = code;
    // SAFETY: the address of a fault lies 16 bytes into the struct of 128 bytes on 64-bit machines.
    unsafe { ptr::from_mut(&mut info).cast::<usize>().add(2).write(address) };
    // SAFETY: no arguments.
    let (process, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
    let info = ptr::from_ref(&info);
    let signal = libc::SIGBUS;
    // SAFETY: `info` is valid; a process may send itself any code.
    let sent = unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, info) };
    assert_eq!(sent, 0);
}

#[test]
fn poisoned_page_is_lost_whether_it_was_read_or_only_reported() {
    for code in [BUS_MCEERR_AR, BUS_MCEERR_AO] {
        let directory = tempfile::tempdir().unwrap();
        let pool = pool(directory.path(), Access::ReadOnly);
        let bytes = pool.read(0, pool.bytes()).unwrap();
        poison(bytes.as_ptr() as usize + 5 * PAGE + 123, code);
        assert!(pool.is_faulted());
        assert_eq!(pool.read(5 * PAGE as u64, 1).unwrap(), [0]);
        assert_eq!(pool.read(6 * PAGE as u64, 1).unwrap(), [7]);
        assert_eq!(pool.lost_ranges(), [5 * PAGE as u64..6 * PAGE as u64]);
        let error = pool.check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Lost);
        assert!(error.to_string().contains("offset 20480: its memory failed"), "{error}");
    }
}

#[test]
fn poisoned_page_of_a_writable_pool_is_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut pool = pool(directory.path(), Access::ReadWrite);
    let base = pool.read(0, 1).unwrap().as_ptr() as usize;
    poison(base + 9 * PAGE, BUS_MCEERR_AR);
    poison(base + 9 * PAGE, BUS_MCEERR_AR);
    pool.write(9 * PAGE as u64, b"gone").unwrap();
    assert_eq!(pool.drain().unwrap_err().kind(), ErrorKind::Lost);
    let lost = pool.remap().unwrap();
    assert_eq!(lost, [9 * PAGE as u64..10 * PAGE as u64]);
    assert_eq!(pool.read(9 * PAGE as u64, 4).unwrap(), [0; 4]);
    assert_eq!(pool.read(8 * PAGE as u64, 1).unwrap(), [7]);
    pool.write(9 * PAGE as u64, b"anew").unwrap();
    pool.persist(9 * PAGE as u64, 4).unwrap();
}

/// Runs the child below in a role; returns how it ended and what it printed.
fn play(role: &str) -> (ExitStatus, String) {
    let directory = tempfile::tempdir().unwrap();
    let output =
        spawn_child("child_in_a_role", &directory.path().join(role)).wait_with_output().unwrap();
    (output.status, String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn faults_elsewhere_end_the_process_as_they_would_have() {
    for role in ["default", "default-sent", "rust", "ignored", "reset-hand"] {
        let (status, text) = play(role);
        assert_eq!(status.signal(), Some(libc::SIGBUS), "{role}: {status} {text}");
        assert!(text.contains("contained"), "{role}: {text}");
    }
}

#[test]
fn faults_elsewhere_go_to_the_handler_that_was_there_before() {
    for role in ["handler", "plain-handler", "no-defer"] {
        let (status, text) = play(role);
        assert!(status.success(), "{role}: {status} {text}");
        assert!(text.contains("contained") && text.contains("handed on"), "{role}: {text}");
    }
}

#[test]
fn handler_of_somebody_who_came_later_may_hand_on_to_ours() {
    let (status, text) = play("later");
    assert!(status.success() && text.contains("contained"), "{status} {text}");
}

#[test]
fn mapping_is_given_up_as_a_whole_when_no_page_can_be_replaced() {
    let (status, text) = play("full-map");
    assert!(status.success() && text.contains("given up"), "{status} {text}");
}

#[test]
fn reports_of_poison_race_with_unmapping() {
    let (status, text) = play("race");
    assert!(status.success() && text.contains("never touched"), "{status} {text}");
}

/// Where the foreign handler's fault was, and how often it was called.
static FOREIGN: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

fn act(handler: usize, flags: i32) -> libc::sigaction {
    // SAFETY: all zeros is a valid value of this C struct.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    // SAFETY: as above.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: both are valid, and the handlers below are async-signal-safe.
    assert_eq!(unsafe { libc::sigaction(libc::SIGBUS, &action, &mut old) }, 0);
    old
}

fn repair() {
    CALLS.fetch_add(1, Ordering::SeqCst);
    let address = FOREIGN.load(Ordering::SeqCst) as *mut libc::c_void;
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: replaces the page that the test mapped for this.
    unsafe { rustix::mm::mmap_anonymous(address, PAGE, ProtFlags::READ, flags) }.unwrap();
}

extern "C" fn plain_handler(_: i32) {
    repair();
}

extern "C" fn info_handler(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: valid with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    assert_eq!(address, FOREIGN.load(Ordering::SeqCst));
    repair();
}

extern "C" fn counting_handler(_: i32) {
    CALLS.fetch_add(1, Ordering::SeqCst);
}

static EARLIER: AtomicUsize = AtomicUsize::new(0);

extern "C" fn later_handler(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
    let earlier = EARLIER.load(Ordering::SeqCst) as *const ();
    // SAFETY: set below to the address of our handler, which has this type.
    let earlier = unsafe { std::mem::transmute::<*const (), Handler>(earlier) };
    CALLS.fetch_add(1, Ordering::SeqCst);
    earlier(signal, info, context);
}

/// Loads from a mapping of ours that has nothing behind it.
fn fault_elsewhere() -> u8 {
    let file =
        File::from(rustix::fs::memfd_create("foreign", rustix::fs::MemfdFlags::empty()).unwrap());
    file.set_len(PAGE as u64).unwrap();
    // SAFETY: the kernel chooses a free range.
    let base = unsafe {
        rustix::mm::mmap(ptr::null_mut(), PAGE, ProtFlags::READ, MapFlags::SHARED, file.as_fd(), 0)
    };
    let base = base.unwrap();
    file.set_len(0).unwrap();
    FOREIGN.store(base as usize, Ordering::SeqCst);
    // SAFETY: mapped above; the handler under test decides what happens.
    unsafe { base.cast::<u8>().read_volatile() }
}

fn send() {
    // SAFETY: the signal exists.
    unsafe { libc::raise(libc::SIGBUS) };
}

/// Cuts the pool's file and reads a lost page.
fn contain(pool: &Pool, directory: &Path) {
    let file = File::options().write(true).open(directory.join("root")).unwrap();
    file.set_len(10 * PAGE as u64).unwrap();
    assert_eq!(pool.read(30 * PAGE as u64, 1).unwrap(), [0]);
    assert_eq!(pool.check().unwrap_err().kind(), ErrorKind::Lost);
    println!("contained");
}

#[test]
fn child_in_a_role() {
    let Some(directory) = child_directory() else {
        return;
    };
    let no_core = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::setrlimit(rustix::process::Resource::Core, no_core).unwrap();
    let role = directory.file_name().unwrap().to_str().unwrap();
    let (plain, counting) = (plain_handler as *const (), counting_handler as *const ());
    let info = info_handler as *const () as usize;
    match role {
        "default" | "default-sent" => drop(act(libc::SIG_DFL, 0)),
        // A report that comes too late goes on to the earlier action.
        "ignored" | "race" => drop(act(libc::SIG_IGN, 0)),
        "handler" => drop(act(info, libc::SA_SIGINFO | libc::SA_ONSTACK)),
        "no-defer" => drop(act(info, libc::SA_SIGINFO | libc::SA_NODEFER)),
        "plain-handler" => drop(act(plain as usize, 0)),
        "reset-hand" => drop(act(counting as usize, libc::SA_RESETHAND)),
        _ => {}
    }
    let pool = pool(&directory, Access::ReadOnly);
    if role == "race" {
        drop(pool);
        return race(&directory);
    }
    if role == "full-map" {
        return exhaust_the_map(&pool, &directory);
    }
    if role == "later" {
        let old = act(later_handler as *const () as usize, libc::SA_SIGINFO | libc::SA_ONSTACK);
        EARLIER.store(old.sa_sigaction, Ordering::SeqCst);
        contain(&pool, &directory);
        assert_eq!(CALLS.load(Ordering::SeqCst), 1);
        return;
    }
    contain(&pool, &directory);
    match role {
        "default-sent" => send(),
        "ignored" | "reset-hand" => {
            send();
            println!("survived the first");
        }
        _ => {}
    }
    fault_elsewhere();
    assert_eq!(CALLS.load(Ordering::SeqCst), 1);
    // The containment outlives a foreign fault.
    assert_eq!(pool.read(40 * PAGE as u64, 1).unwrap(), [0]);
    assert_eq!(pool.lost_ranges().len(), 2);
    println!("handed on");
}

/// Reports poison in a mapping while it goes, and looks whether anything else is touched.
fn race(directory: &Path) {
    let domain = Domain::create_with("d", directory, &Settings::default()).unwrap();
    let base = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                match base.load(Ordering::Acquire) {
                    0 => std::thread::yield_now(),
                    base => {
                        poison(base + PAGE, BUS_MCEERR_AO);
                        std::thread::yield_now();
                    }
                }
            }
        });
        let _over = Over(&is_over);
        for _ in 0..200 {
            let pool = domain.open_pool("root", Access::ReadOnly).unwrap();
            base.store(pool.read(0, 1).unwrap().as_ptr() as usize, Ordering::Release);
            std::thread::yield_now();
            drop(pool);
            // Takes the place of the mapping, most likely.
            let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let bytes = PAGES * PAGE;
            // SAFETY: the kernel chooses a free range.
            let other =
                unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, protection, flags) };
            let other = other.unwrap();
            // SAFETY: mapped above, of this length, used by nobody else.
            let slice = unsafe { std::slice::from_raw_parts_mut(other.cast::<u8>(), bytes) };
            slice.fill(9);
            std::thread::yield_now();
            base.store(0, Ordering::Release);
            assert!(slice.iter().all(|&byte| std::hint::black_box(byte) == 9));
            // SAFETY: mapped above; `slice` is not used any more.
            unsafe { rustix::mm::munmap(other, bytes) }.unwrap();
        }
    });
    println!("never touched");
}

/// Uses up the mappings that a process may have, so that none can be split any more.
fn exhaust_the_map(pool: &Pool, directory: &Path) {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    if limit > 1 << 20 {
        println!("skipped, given up: {limit} mappings are too many to use up");
        return;
    }
    let (bytes, flags) = ((limit + 16) * 2 * PAGE, MapFlags::PRIVATE | MapFlags::NORESERVE);
    let none = ProtFlags::empty();
    // SAFETY: the kernel chooses a free range.
    let base = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, none, flags) }.unwrap();
    let file = File::options().write(true).open(directory.join("root")).unwrap();
    file.set_len(10 * PAGE as u64).unwrap();
    for page in 0..limit + 16 {
        // SAFETY: lies in the range mapped above, which nobody uses.
        let changed = unsafe {
            let page = base.add(page * 2 * PAGE);
            rustix::mm::mprotect(page, PAGE, rustix::mm::MprotectFlags::READ)
        };
        if changed.is_err() {
            break;
        }
    }
    let read = pool.read(30 * PAGE as u64, 1).unwrap()[0];
    let first = pool.read(0, 1).unwrap()[0];
    // SAFETY: mapped above, used by nobody.
    unsafe { rustix::mm::munmap(base, bytes) }.unwrap();
    assert_eq!((read, first), (0, 0));
    assert_eq!(pool.lost_ranges(), [0..(PAGES * PAGE) as u64]);
    println!("given up");
}
