use std::pin::Pin;
use std::task::{Context, Waker};

use super::*;

use LockMode::{Exclusive, Shared};
use LockScope::{Session, Transaction};

const KEY: LockKey = LockKey::Number(7);

fn sessions<const N: usize>() -> (Arc<AdvisoryLocks>, [LockOwner; N]) {
    let locks = Arc::<AdvisoryLocks>::default();
    let owners =
        std::array::from_fn(|at| LockOwner::new(Arc::clone(&locks), i32::try_from(at).unwrap()));
    (locks, owners)
}

fn try_lock(owner: &LockOwner, mode: LockMode) -> bool {
    owner.locks().try_lock(KEY, mode, Session).unwrap()
}

fn is_pending(future: Pin<&mut impl Future<Output = Result<()>>>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn exclusive_lock_keeps_others_out_until_each_hold_is_released() {
    let (_, [a, b]) = sessions();
    assert!(try_lock(&a, Exclusive) && try_lock(&a, Exclusive));
    assert!(!try_lock(&b, Exclusive) && !try_lock(&b, Shared));
    assert!(a.locks().unlock(KEY, Exclusive));
    assert!(!try_lock(&b, Shared));
    assert!(a.locks().unlock(KEY, Exclusive));
    assert!(!a.locks().unlock(KEY, Exclusive));
    assert!(try_lock(&b, Shared) && try_lock(&a, Shared) && !try_lock(&a, Exclusive));
}

#[test]
fn keys_of_one_and_of_two_numbers_are_different() {
    let (_, [a, b]) = sessions();
    assert!(a.locks().try_lock(LockKey::Number(1), Exclusive, Session).unwrap());
    assert!(b.locks().try_lock(LockKey::Pair(0, 1), Exclusive, Session).unwrap());
}

#[test]
fn locks_of_a_transaction_go_with_it_and_those_of_the_session_stay() {
    let (_, [a, b]) = sessions();
    let transaction = a.locks().begin_transaction();
    assert!(a.locks().try_lock(KEY, Exclusive, Transaction).unwrap());
    let holds = a.locks().transaction_holds();
    assert!(a.locks().try_lock(LockKey::Number(8), Exclusive, Transaction).unwrap());
    assert!(a.locks().try_lock(LockKey::Number(9), Exclusive, Session).unwrap());
    a.locks().release_since(holds);
    assert!(b.locks().try_lock(LockKey::Number(8), Exclusive, Session).unwrap());
    assert!(!try_lock(&b, Exclusive));
    // A session-level release does not touch the hold of the transaction.
    assert!(!a.locks().unlock(KEY, Exclusive));
    drop(transaction);
    assert!(try_lock(&b, Exclusive));
    assert!(!b.locks().try_lock(LockKey::Number(9), Exclusive, Session).unwrap());
}

#[test]
fn ended_session_holds_nothing_and_takes_nothing() {
    let (locks, [a, b]) = sessions();
    assert!(try_lock(&a, Exclusive));
    let left_behind = Arc::clone(a.locks());
    drop(a);
    assert!(locks.entries().is_empty());
    assert!(left_behind.try_lock(KEY, Exclusive, Session).is_err());
    assert!(try_lock(&b, Exclusive));
}

#[tokio::test]
async fn waiting_requests_are_granted_in_order() {
    let (locks, [a, b, c]) = sessions();
    assert!(try_lock(&a, Shared));
    let exclusive = b.locks().lock(KEY, Exclusive, Session, None);
    let shared = c.locks().lock(KEY, Shared, Session, None);
    tokio::pin!(exclusive, shared);
    assert!(is_pending(exclusive.as_mut()));
    // Comes behind the exclusive request, which would wait for ever otherwise.
    assert!(is_pending(shared.as_mut()));
    assert_eq!(locks.entries().iter().filter(|entry| !entry.is_granted).count(), 2);
    a.locks().unlock(KEY, Shared);
    exclusive.await.unwrap();
    assert!(is_pending(shared.as_mut()));
    b.locks().unlock(KEY, Exclusive);
    shared.await.unwrap();
}

#[tokio::test]
async fn dropped_request_lets_the_next_one_go_on() {
    let (locks, [a, b, c]) = sessions();
    assert!(try_lock(&a, Shared));
    let shared = c.locks().lock(KEY, Shared, Session, None);
    tokio::pin!(shared);
    {
        let exclusive = b.locks().lock(KEY, Exclusive, Session, None);
        tokio::pin!(exclusive);
        assert!(is_pending(exclusive.as_mut()));
        assert!(is_pending(shared.as_mut()));
    }
    shared.await.unwrap();
    assert!(locks.entries().iter().all(|entry| entry.is_granted));
}

#[tokio::test]
async fn circle_of_waiting_sessions_is_refused() {
    let (_, [a, b]) = sessions();
    let other = LockKey::Pair(1, 2);
    assert!(try_lock(&a, Exclusive));
    assert!(b.locks().try_lock(other, Exclusive, Session).unwrap());
    let waiting = b.locks().lock(KEY, Exclusive, Session, None);
    tokio::pin!(waiting);
    assert!(is_pending(waiting.as_mut()));
    let error = a.locks().lock(other, Exclusive, Session, None).await.unwrap_err();
    assert_eq!(error.sqlstate(), "40P01");
    a.locks().unlock(KEY, Exclusive);
    waiting.await.unwrap();
}

#[tokio::test]
async fn request_ends_behind_its_timeout() {
    let (locks, [a, b]) = sessions();
    assert!(try_lock(&a, Exclusive));
    let timeout = Some(Duration::from_millis(1));
    let error = b.locks().lock(KEY, Shared, Session, timeout).await.unwrap_err();
    assert_eq!(error.sqlstate(), "55P03");
    assert_eq!(locks.entries().len(), 1);
}
