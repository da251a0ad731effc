//! How a session waits for its client.
//!
//! To be put to sleep and woken costs more than a short statement: tens of microseconds where
//! processors are virtual. So a session whose client tends to go on at once looks at its connection
//! for a moment, and lets others have the processor between two looks, before it sleeps. A client
//! that lets it wait for longer than that moment is slept for from then on, until it is quick
//! again; and nobody looks while more sessions are awake than there are processors.
//!
//! Encrypted connections are not looked at: what arrives there need not be a message.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::wire::frames::Frames;

/// Sessions that do not sleep.
#[derive(Debug)]
pub(crate) struct Watchers {
    awake: AtomicUsize,
    /// More of them and nobody looks.
    most: usize,
    /// How long each one looks.
    moment: Duration,
}

/// How one session waits.
pub(super) struct Watch {
    /// The connection, if it is not encrypted; reading does not block.
    connection: Option<Arc<TcpStream>>,
    watchers: Arc<Watchers>,
    /// Whether the client's last message came within the moment.
    is_quick: bool,
}

impl Watchers {
    pub(crate) fn new(moment: Duration) -> Self {
        let most = std::thread::available_parallelism().map_or(1, usize::from);
        Self { awake: AtomicUsize::new(0), most, moment }
    }

    /// Whether there is a processor for a session that only looks.
    fn have_room(&self) -> bool {
        // ORDERING: a count that nothing else depends on.
        self.awake.load(Ordering::Relaxed) <= self.most
    }

    fn wake(&self) {
        // ORDERING: see `have_room`.
        self.awake.fetch_add(1, Ordering::Relaxed);
    }

    fn sleep(&self) {
        // ORDERING: see `have_room`.
        self.awake.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Watch {
    pub(super) fn new(connection: Option<Arc<TcpStream>>, watchers: Arc<Watchers>) -> Self {
        let connection = connection.filter(|_| !watchers.moment.is_zero());
        watchers.wake();
        Self { connection, watchers, is_quick: true }
    }

    /// Looks for bytes for a moment; `None` if there were none, or if that is not to be done.
    pub(super) fn look(&mut self, frames: &mut Frames) -> Option<io::Result<usize>> {
        let connection = self.connection.as_ref().filter(|_| self.is_quick)?;
        let begin = Instant::now();
        loop {
            match frames.fill_now(&mut &**connection) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Some(read),
            }
            if !self.watchers.have_room() || begin.elapsed() >= self.watchers.moment {
                return None;
            }
            std::thread::yield_now();
        }
    }

    /// Begins to sleep.
    pub(super) fn sleep(&self) -> Sleeping {
        self.watchers.sleep();
        let watchers = Arc::clone(&self.watchers);
        Sleeping { watchers, began: self.connection.as_ref().map(|_| Instant::now()) }
    }

    /// Ends a sleep, and notes how long it was.
    pub(super) fn wake(&mut self, sleeping: Sleeping) {
        if let Some(began) = sleeping.began {
            self.is_quick = began.elapsed() <= self.watchers.moment * QUICK;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watchers.sleep();
    }
}

/// A session that sleeps, until this is dropped.
pub(super) struct Sleeping {
    watchers: Arc<Watchers>,
    began: Option<Instant>,
}

impl Drop for Sleeping {
    fn drop(&mut self) {
        self.watchers.wake();
    }
}

/// A client is quick whose message comes within so many moments: it is slept for the longer when
/// the processor is busy.
const QUICK: u32 = 4;

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (TcpStream, Arc<TcpStream>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        (client, Arc::new(server))
    }

    #[test]
    fn quick_client_is_looked_for_and_a_slow_one_is_not() {
        let (mut client, server) = pair();
        let watchers = Arc::new(Watchers::new(Duration::from_secs(60)));
        let mut watch = Watch::new(Some(server), Arc::clone(&watchers));
        let mut frames = Frames::new(100);
        client.write_all(b"S\0\0\0\x04").unwrap();
        assert_eq!(watch.look(&mut frames).unwrap().unwrap(), 5);
        assert_eq!(frames.next().unwrap().unwrap().kind, b'S');
        drop(client);
        assert_eq!(watch.look(&mut frames).unwrap().unwrap(), 0);
        watch.is_quick = false;
        assert!(watch.look(&mut frames).is_none());
        let sleeping = watch.sleep();
        watch.wake(sleeping);
        assert!(watch.is_quick);
    }

    #[test]
    fn nobody_looks_while_more_are_awake_than_there_are_processors() {
        let long = Duration::from_secs(60);
        let watchers = Arc::new(Watchers { most: 1, ..Watchers::new(long) });
        let (_client, server) = pair();
        let mut one = Watch::new(Some(server), Arc::clone(&watchers));
        let other = Watch::new(Some(pair().1), Arc::clone(&watchers));
        assert!(!watchers.have_room() && one.look(&mut Frames::new(100)).is_none());
        let sleeping = other.sleep();
        assert!(watchers.have_room());
        drop(sleeping);
        assert!(!watchers.have_room());
        drop((one, other));
        assert_eq!(watchers.awake.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn silent_client_is_given_up_after_the_moment() {
        let (_client, server) = pair();
        let watchers = Arc::new(Watchers::new(Duration::from_micros(50)));
        let mut watch = Watch::new(Some(server), watchers);
        assert!(watch.look(&mut Frames::new(100)).is_none());
        let never = Arc::new(Watchers::new(Duration::ZERO));
        assert!(Watch::new(Some(pair().1), never).look(&mut Frames::new(100)).is_none());
    }
}
