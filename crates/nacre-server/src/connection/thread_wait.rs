//! Waits of a session's thread: for its socket, for deadlines, and for wakers.
//!
//! One `poll(2)` over the socket and an eventfd takes the place of a runtime with a reactor of its
//! own: two descriptors instead of six, and no memory worth counting. The thread is woken right
//! where the client's bytes are, or rung by another thread that finished work for it.
//!
//! # Invariants
//! 1. One thread at a time polls the reads and writes of a socket, and waits for it.
//! 2. A wake-up between the last poll of the future and the wait is not lost: it leaves the bell
//!    [`RUNG`], and the thread does not wait.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const AWAKE: u8 = 0;
const ASLEEP: u8 = 1;
const RUNG: u8 = 2;

thread_local! {
    static WAITS: RefCell<ThreadWaits> = RefCell::default();
}

/// Wakers of this thread's future.
#[derive(Default)]
struct ThreadWaits {
    readable: Option<Waker>,
    writable: Option<Waker>,
    timers: Vec<ThreadTimer>,
    timers_made: u64,
}

struct ThreadTimer {
    id: u64,
    deadline: Instant,
    waker: Waker,
}

impl ThreadWaits {
    /// Calls `change` with those of this thread; without effect while the thread ends.
    fn with<T: Default>(change: impl FnOnce(&mut Self) -> T) -> T {
        WAITS.try_with(|waits| change(&mut waits.borrow_mut())).unwrap_or_default()
    }

    /// Takes the wakers whose events have happened.
    fn take_ready(&mut self, is_readable: bool, is_writable: bool) -> Vec<Waker> {
        let readable = self.readable.take_if(|_| is_readable);
        let writable = self.writable.take_if(|_| is_writable);
        let now = Instant::now();
        let passed = self.timers.extract_if(.., |timer| timer.deadline <= now);
        let mut ready: Vec<Waker> = passed.map(|timer| timer.waker).collect();
        ready.extend(readable);
        ready.extend(writable);
        ready
    }
}

/// Wakes a thread that waits in [`block_on`].
#[derive(Debug)]
struct ThreadBell {
    state: AtomicU8,
    event: EventFd,
}

impl ThreadBell {
    fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let event = EventFd::from_value_and_flags(0, flags)?;
        Ok(Self { state: AtomicU8::new(AWAKE), event })
    }
}

impl Wake for ThreadBell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // ORDERING: releases the work of this thread to the woken one, whose exchange of the state
        // acquires it.
        if self.state.swap(RUNG, Ordering::AcqRel) == ASLEEP {
            // A full counter wakes the thread, too.
            let _ = self.event.write(1);
        }
    }
}

/// The socket of a session, and the bell of its thread; clones share both.
///
/// The session keeps the bell while it has no thread, so that it can always go on.
#[derive(Clone, Debug)]
pub(super) struct SessionSocket {
    stream: Arc<TcpStream>,
    bell: Arc<ThreadBell>,
}

impl SessionSocket {
    /// Takes a socket whose reads and writes do not block.
    ///
    /// # Errors
    /// The descriptor for the bell cannot be made.
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        Ok(Self { stream: Arc::new(stream), bell: Arc::new(ThreadBell::new()?) })
    }

    /// Returns the socket, to look at it beside the waits of the thread.
    pub(super) fn stream(&self) -> &Arc<TcpStream> {
        &self.stream
    }
}

impl AsyncRead for SessionSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match retried(|| (&*self.stream).read(buffer.initialize_unfilled())) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                ThreadWaits::with(|waits| waits.readable = Some(context.waker().clone()));
                Poll::Pending
            }
            read => Poll::Ready(read.map(|length| buffer.advance(length))),
        }
    }
}

impl AsyncWrite for SessionSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match retried(|| (&*self.stream).write(bytes)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                ThreadWaits::with(|waits| waits.writable = Some(context.waker().clone()));
                Poll::Pending
            }
            written => Poll::Ready(written),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown(Shutdown::Write))
    }
}

/// Repeats a call that a signal interrupted.
fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Runs a future that reads and writes `socket` to its end on this thread.
///
/// # Errors
/// The system cannot wait.
pub(super) fn block_on<F: Future>(socket: &SessionSocket, future: F) -> io::Result<F::Output> {
    let bell = &socket.bell;
    // Of a future that ran on this thread before.
    ThreadWaits::with(|waits| *waits = ThreadWaits::default());
    let waker = Waker::from(Arc::clone(bell));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        // ORDERING: acquires the work of threads that rang before this poll.
        bell.state.swap(AWAKE, Ordering::AcqRel);
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Ok(output);
        }
        wait(socket)?;
    }
}

/// Waits until the bell rings, the socket is as it is wanted, or a deadline passes.
fn wait(socket: &SessionSocket) -> io::Result<()> {
    let bell = &socket.bell;
    // ORDERING: see `ThreadBell::wake_by_ref`.
    let slept =
        bell.state.compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_ok();
    if !slept {
        return Ok(());
    }
    let (flags, deadline) = ThreadWaits::with(|waits| {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::POLLIN, waits.readable.is_some());
        flags.set(PollFlags::POLLOUT, waits.writable.is_some());
        (flags.bits(), waits.timers.iter().map(|timer| timer.deadline).min())
    });
    let flags = PollFlags::from_bits_truncate(flags);
    let bell_fd = PollFd::new(bell.event.as_fd(), PollFlags::POLLIN);
    let mut waited = [bell_fd, PollFd::new(socket.stream.as_fd(), flags)];
    // Without an interest in the socket its errors would wake the thread.
    let count = if flags.is_empty() { 1 } else { 2 };
    match poll(&mut waited[..count], until(deadline)) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    if waited[0].any().unwrap_or(false) {
        let _ = bell.event.read();
    }
    let events = waited[1].revents().unwrap_or(PollFlags::empty());
    let is_broken = events.intersects(PollFlags::POLLERR | PollFlags::POLLHUP);
    let is_readable = is_broken || events.contains(PollFlags::POLLIN);
    let is_writable = is_broken || events.contains(PollFlags::POLLOUT);
    // ORDERING: awake before wakers are called, which do not write to the eventfd then.
    bell.state.swap(AWAKE, Ordering::AcqRel);
    let ready = ThreadWaits::with(|waits| waits.take_ready(is_readable, is_writable));
    ready.into_iter().for_each(Waker::wake);
    Ok(())
}

/// Returns how long `poll` is to wait, in whole milliseconds that do not end before the deadline.
fn until(deadline: Option<Instant>) -> PollTimeout {
    let Some(deadline) = deadline else { return PollTimeout::NONE };
    let micros = deadline.saturating_duration_since(Instant::now()).as_micros();
    PollTimeout::try_from(micros.div_ceil(1_000)).unwrap_or(PollTimeout::MAX)
}

/// Ends at a deadline, on a thread that runs [`block_on`].
#[derive(Debug)]
pub(super) struct ThreadSleep {
    deadline: Instant,
    /// Id of the timer, once it is set.
    id: Option<u64>,
}

/// Ends at a deadline.
pub(super) fn sleep_until(deadline: Instant) -> ThreadSleep {
    ThreadSleep { deadline, id: None }
}

/// Ends after a time; pends forever if the deadline is beyond the clock.
pub(super) async fn sleep(time: Duration) {
    match Instant::now().checked_add(time) {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Runs a future to its end, or gives it up after a time: `None`.
pub(super) async fn within<F: Future>(time: Duration, future: F) -> Option<F::Output> {
    tokio::select! {
        biased;
        output = future => Some(output),
        () = sleep(time) => None,
    }
}

impl Future for ThreadSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.deadline <= Instant::now() {
            return Poll::Ready(());
        }
        let (id, deadline) = (self.id, self.deadline);
        let waker = context.waker();
        self.id = ThreadWaits::with(|waits| {
            if let Some(timer) = waits.timers.iter_mut().find(|timer| Some(timer.id) == id) {
                timer.waker.clone_from(waker);
                return id;
            }
            waits.timers_made += 1;
            let id = waits.timers_made;
            waits.timers.push(ThreadTimer { id, deadline, waker: waker.clone() });
            Some(id)
        });
        Poll::Pending
    }
}

impl Drop for ThreadSleep {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            ThreadWaits::with(|waits| waits.timers.retain(|timer| timer.id != id));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn pair() -> (TcpStream, SessionSocket) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        (client, SessionSocket::new(server).unwrap())
    }

    #[test]
    fn bytes_of_the_client_wake_the_thread() {
        let (mut client, socket) = pair();
        let mut reader = socket.clone();
        let writer = std::thread::spawn(move || {
            client.write_all(b"ab").unwrap();
            client
        });
        let mut bytes = [0; 2];
        block_on(&socket, reader.read_exact(&mut bytes)).unwrap().unwrap();
        assert_eq!(&bytes, b"ab");
        drop(writer.join().unwrap());
        assert_eq!(block_on(&socket, reader.read(&mut bytes)).unwrap().unwrap(), 0);
    }

    #[test]
    fn full_socket_is_written_to_when_the_client_reads() {
        let (mut client, socket) = pair();
        let mut writer = socket.clone();
        const BYTES: usize = 16 << 20;
        let reader = std::thread::spawn(move || {
            let mut bytes = vec![0; BYTES];
            client.read_exact(&mut bytes).unwrap();
            bytes.iter().all(|byte| *byte == 7)
        });
        block_on(&socket, writer.write_all(&vec![7; BYTES])).unwrap().unwrap();
        assert!(reader.join().unwrap());
    }

    #[test]
    fn other_threads_ring_and_deadlines_pass() {
        let (_client, socket) = pair();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let ringer = std::thread::spawn(move || sender.send(5).unwrap());
        assert_eq!(block_on(&socket, receiver).unwrap(), Ok(5));
        ringer.join().unwrap();
        let never = within(Duration::from_millis(5), std::future::pending::<()>());
        assert_eq!(block_on(&socket, never).unwrap(), None);
        let at_once = within(Duration::MAX, std::future::ready(3));
        assert_eq!(block_on(&socket, at_once).unwrap(), Some(3));
        assert!(ThreadWaits::with(|waits| waits.timers.is_empty()));
    }

    #[test]
    fn ring_before_the_wait_is_not_lost() {
        let (_client, socket) = pair();
        let mut polls = 0;
        let future = std::future::poll_fn(|context| {
            polls += 1;
            context.waker().wake_by_ref();
            if polls < 3 { Poll::Pending } else { Poll::Ready(()) }
        });
        block_on(&socket, future).unwrap();
        assert_eq!(polls, 3);
    }
}
